-- What the paper prints ("A Case for Partitioned Bloom Filters", Almeida 2022), digit by digit. n is the nominal
-- occupation, m/k ln 2 rounded down, over the divisor of the occupation. The numbers of tables are the paper's.

CREATE TABLE paper_rate (m int, k int, fa text, fs text, fp text, ratio text); -- table 1
INSERT INTO paper_rate VALUES
	(64, 4, '0.06244514', '0.06423247', '0.06676410', '1.03941360'),
	(64, 8, '0.00227672', '0.00260362', '0.00316870', '1.21703762'),
	(512, 4, '0.06126247', '0.06148344', '0.06176528', '1.00458411'),
	(512, 8, '0.00375309', '0.00381650', '0.00389940', '1.02172097'),
	(512, 16, '0.00001409', '0.00001513', '0.00001661', '1.09783475'),
	(4096, 4, '0.06233016', '0.06235819', '0.06239353', '1.00056676'),
	(4096, 8, '0.00385474', '0.00386284', '0.00387308', '1.00265094'),
	(4096, 16, '0.00001486', '0.00001499', '0.00001516', '1.01143019');

CREATE TABLE paper_occupation (m int, k int, divisor int, ratio text); -- table 2
INSERT INTO paper_occupation
SELECT m, k, divisor, ratio
FROM (VALUES (64, 4, '4.42059447', '1.11720759', '1.03941360'), (64, 8, '8.91227883', '1.77601565', '1.21703762'),
		(512, 4, '1.00616297', '1.00527287', '1.00458411'), (512, 8, '1.02790590', '1.02512045', '1.02172097'),
		(512, 16, '1.13309283', '1.11474124', '1.09783475'), (4096, 4, '1.00069246', '1.00064963', '1.00056676'),
		(4096, 8, '1.00324437', '1.00303940', '1.00265094'), (4096, 16, '1.01404449', '1.01313731', '1.01143019')) v (m, k, quarter, half, whole),
	LATERAL (VALUES (4, quarter), (2, half), (1, whole)) o (divisor, ratio);

CREATE TABLE paper_element (divisor int, m int, k int, c int, ratio text); -- table 3
INSERT INTO paper_element
SELECT divisor, m, k, c - 1, ratio
FROM (VALUES (1, 64, 4, '{0.91,1.88,3.85,7.78}'::text[]), (1, 64, 8, '{0.59,1.39,3.25,7.47}'), (1, 512, 8, '{0.95,1.92,3.89,7.88}'),
		(1, 512, 16, '{0.79,1.62,3.31,6.78}'), (2, 64, 4, '{0.76,3.21,12.92,50.00}'), (2, 64, 8, '{0.14,1.09,7.50,47.38}'),
		(2, 512, 8, '{0.87,3.09,10.87,38.10}'), (2, 512, 16, '{0.56,2.03,7.41,26.86}'), (4, 64, 4, '{0.38,5.90,74.86,804.25}'),
		(4, 64, 8, '{0.00,0.07,4.45,134.33}'), (4, 512, 8, '{0.74,5.03,33.76,224.42}'), (4, 512, 16, '{0.23,1.87,15.28,123.08}')) v (divisor, m, k, ratios),
	unnest(ratios) WITH ORDINALITY r (ratio, c);

CREATE TABLE paper_collision (m int, k int, c int, share text); -- table 4; c = -1: some
INSERT INTO paper_collision
SELECT m, k, c - 2, share
FROM (VALUES (64, 4, '{0.0911,0.9089,0.0894,0.0017,0.0000}'::text[]), (64, 8, '{0.3660,0.6340,0.3115,0.0510,0.0034}'),
		(512, 8, '{0.0535,0.9465,0.0525,0.0010,0.0000}'), (512, 16, '{0.2108,0.7892,0.1905,0.0192,0.0011}')) v (m, k, shares),
	unnest(shares) WITH ORDINALITY s (share, c);

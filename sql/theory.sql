--
-- Theory: the formulas against the figures printed in the paper, against each other, at their limits, and with bad
-- arguments. Exactness is tested in test/unit/test_theory.c, measured rates in test/paper.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA theory;
SET search_path = theory, public;
\pset null 'NULL'

-- n at nominal occupation: m/k ln 2, rounded down.
CREATE FUNCTION nominal(m int, k int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT floor(m / k::float8 * ln(2))::bigint';
CREATE TABLE size (m int, k int);
INSERT INTO size VALUES (64, 4), (64, 8), (512, 4), (512, 8), (512, 16), (4096, 4), (4096, 8), (4096, 16);

-- Table 1 of the paper.
SELECT m, k, round(fa::numeric, 8) AS "F_a", round(fs::numeric, 8) AS "F_s", round(fp::numeric, 8) AS "F_p", round((fp / fs)::numeric, 8) AS "F_p / F_s"
FROM size, nominal(m, k) n, pbf_fpr_standard_approx(n, m, k) fa, pbf_fpr_standard(n, m, k) fs, pbf_fpr_partitioned(n, m, k) fp ORDER BY m, k;

-- Table 3 at full occupation: elements with c collisions against all.
SELECT m, k, c, round((pbf_fpr_standard_element(nominal(m, k), m, k, k - c) / pbf_fpr_standard(nominal(m, k), m, k))::numeric, 2) AS ratio
FROM size, generate_series(0, 3) c WHERE m = 64 OR (m = 512 AND k >= 8) ORDER BY m, k, c;

-- Table 4: collisions.
SELECT m, k, round((1 - pbf_collision_probability(m, k, 0))::numeric, 4) AS some,
	(SELECT array_agg(round(pbf_collision_probability(m, k, c)::numeric, 4) ORDER BY c) FROM generate_series(0, 3) c) AS "0 to 3"
FROM size WHERE m = 64 OR (m = 512 AND k >= 8) ORDER BY m, k;

-- The mean over elements is the rate of the filter: 13 digits.
SELECT bool_and(abs(s / pbf_fpr_standard(n, m, k) - 1) < 1e-13) AS mean_of_elements
FROM size, (VALUES (1), (10), (100), (1000)) v(n),
	LATERAL (SELECT sum(pbf_collision_probability(m, k, c) * pbf_fpr_standard_element(n, m, k, k - c)) FROM generate_series(0, k - 1) c) e(s);

-- One hash function, one part: all formulas are one.
SELECT bool_and(abs(pbf_fpr_standard(n, 1000, 1) / e - 1) < 1e-13 AND abs(pbf_fpr_standard_approx(n, 1000, 1) / e - 1) < 1e-13
	AND abs(pbf_fpr_standard_element(n, 1000, 1, 1) / e - 1) < 1e-13 AND abs(pbf_fpr_blocked(n, 10, 1, 100) / e - 1) < 1e-13) AS one_part
FROM generate_series(1, 20000, 371) n, pbf_fpr_partitioned(n, 1000, 1) e;

-- A blocked filter of one block is a plain one, and more blocks of the same bits are worse, a little.
SELECT pbf_fpr_blocked(40, 1, 8, 64) = pbf_fpr_partitioned(40, 512, 8) AS one_block,
	pbf_fpr_blocked(40000, 1000, 8, 64) / pbf_fpr_partitioned(40000, 512000, 8) BETWEEN 1.1 AND 1.6 AS thousand_blocks;

-- Two single elements overlap if their bits do.
SELECT round(pbf_false_overlap_standard(1, 1, 512, 8)::numeric, 12) AS standard, round(pbf_false_overlap_partitioned(1, 1, 512, 8)::numeric, 18) AS partitioned;

-- Nothing added, everything full, no collisions to be seen, all hashes on the only bit.
SELECT pbf_fpr_standard(0, 64, 8), pbf_fpr_standard_approx(0, 64, 8), pbf_fpr_standard_element(0, 64, 8, 3), pbf_fpr_partitioned(0, 64, 8),
	pbf_fpr_blocked(0, 10, 8, 64), pbf_false_overlap_standard(0, 10, 64, 8), pbf_false_overlap_partitioned(10, 0, 64, 8);
SELECT pbf_fpr_standard(n, 64, 8), pbf_fpr_standard_approx(n, 64, 8), pbf_fpr_standard_element(n, 64, 8, 3), pbf_fpr_partitioned(n, 64, 8),
	pbf_fpr_blocked(n, 10, 8, 64), pbf_false_overlap_standard(n, n, 64, 8), pbf_false_overlap_partitioned(n, n, 64, 8)
FROM (VALUES (9223372036854775807)) v(n);
SELECT pbf_fpr_standard(1, 1, 64), pbf_fpr_standard_element(1, 1, 64, 1), pbf_collision_probability(1, 64, 63), pbf_collision_probability(1, 64, 0),
	pbf_collision_probability(9223372036854775807, 64, 0), pbf_fpr_partitioned(1, 64, 64), pbf_fpr_blocked(1, 1, 64, 1);
-- The largest sizes; a rate below what a double can hold.
SELECT pbf_fpr_standard(1000000000, 1000000000, 64)::numeric(20, 18), pbf_fpr_blocked(9000000000000000000, 9000000000000000000, 64, 9000000000000000000),
	pbf_fpr_standard(1, 9223372036854775807, 64), pbf_fpr_partitioned(1, 9223372036854775807, 64);

-- NULL for NULL.
SELECT pbf_fpr_standard(NULL, 64, 8), pbf_fpr_standard_approx(1, NULL, 8), pbf_fpr_standard_element(1, 64, 8, NULL), pbf_fpr_partitioned(1, 64, NULL),
	pbf_fpr_blocked(1, NULL, 8, 64), pbf_collision_probability(64, 8, NULL), pbf_false_overlap_standard(NULL, 1, 64, 8), pbf_false_overlap_partitioned(1, 1, 64, NULL);

-- What is refused: value, range, meaning.
SELECT pbf_fpr_standard(-1, 64, 8);
SELECT pbf_fpr_standard(1, 0, 8);
SELECT pbf_fpr_standard(1, 64, 0);
SELECT pbf_fpr_standard(1, 64, 65);
SELECT pbf_fpr_standard_approx(1, -9223372036854775808, 8);
SELECT pbf_fpr_standard_element(1, 64, 8, 0);
SELECT pbf_fpr_standard_element(1, 64, 8, 9);
SELECT pbf_fpr_standard_element(1, 3, 8, 4);
SELECT pbf_fpr_partitioned(1, 7, 8);
SELECT pbf_fpr_blocked(-1, 1, 8, 64);
SELECT pbf_fpr_blocked(1, 0, 8, 64);
SELECT pbf_fpr_blocked(1, 1, 65, 64);
SELECT pbf_fpr_blocked(1, 1, 8, 0);
SELECT pbf_collision_probability(64, 8, -1);
SELECT pbf_collision_probability(64, 8, 8);
SELECT pbf_false_overlap_standard(1, -1, 64, 8);
SELECT pbf_false_overlap_partitioned(-1, 1, 64, 8);
\set VERBOSITY sqlstate
SELECT pbf_false_overlap_partitioned(1, 1, 64, 2147483647);

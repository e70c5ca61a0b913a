--
-- Functions: each with usual arguments, at its limits, and with NULL. What is exact is compared bit by bit, what is
-- an estimate within its tolerance, and nothing that was ever added may be missing anywhere.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA functions;
SET search_path = functions, public;
\pset null 'NULL'

-- The numbers a..b, as an array.
CREATE FUNCTION numbers(a int, b int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
	'SELECT coalesce(array_agg(i), ''{}'') FROM generate_series(a, b) i';
-- A filter of them in a given geometry.
CREATE FUNCTION filled(layout text, size bigint, parts int, a int, b int) RETURNS pbf LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE layout WHEN 'blocked' THEN pbf_new_geometry(size::int, parts, 64, layout)
		ELSE pbf_new_geometry(1, parts, size, layout) END + numbers(a, b)
$$;
-- How many of them a filter denies: a false negative each.
CREATE FUNCTION missing(f pbf, a int, b int) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT b - a + 1 - coalesce(array_length(pbf_matching(f, numbers(a, b)), 1), 0)
$$;
CREATE FUNCTION geometry(f pbf) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('%s %s x %s x %s', layout, blocks, parts, part_bits) FROM pbf_info(f)
$$;
-- The size that a filter says to have: a short one is stored with 3 bytes less.
CREATE FUNCTION bytes(f pbf) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT (pbf_info(f)).bytes';
CREATE FUNCTION near(a float8, b float8, tolerance float8) RETURNS bool LANGUAGE sql IMMUTABLE AS
	'SELECT abs(a - b) <= tolerance * abs(b)';

--
-- New filters
--

-- By capacity and rate: always empty, of no kind, in the layout asked for, and as pbf_optimal says.
SELECT a.layout, count(*) AS filters, count(*) FILTER (WHERE NOT pbf_is_empty(f)) AS not_empty,
		count(*) FILTER (WHERE i.kind <> 'none' OR i.set_bits <> 0 OR i.fill <> 0 OR i.cardinality <> 0
			OR i.fpr <> 0) AS not_new,
		count(*) FILTER (WHERE a.layout <> 'auto' AND i.layout <> a.layout) AS other_layout,
		count(*) FILTER (WHERE a.layout = 'auto' AND (o.layout, o.blocks, o.parts, o.part_bits, o.bytes)
			IS DISTINCT FROM (i.layout, i.blocks, i.parts, i.part_bits, i.bytes)) AS not_as_announced,
		count(*) FILTER (WHERE i.bits <> i.blocks::bigint * i.parts * i.part_bits OR i.bytes < 24 + i.bits / 8
			OR i.bytes > 24 + i.bits / 8 + 8 * i.parts OR i.bytes <> length(f::bytea) + 4) AS bytes
	FROM unnest('{auto,plain,blocked}'::text[]) AS a (layout),
		unnest('{0,1,1,2,7,63,64,65,1000,12345,1e5}'::float8[]) n,
		unnest('{0.999,0.5,0.1,0.01,0.001,1e-5}'::float8[]) p, pbf_new(n, p, a.layout) f, pbf_info(f) i,
		pbf_optimal(n, p) o
	GROUP BY a.layout ORDER BY a.layout;

-- Very low rates are for the plain layout; auto knows that. No filter is much larger than it must be.
SELECT p, layout, bytes * 8 / (10000 * -ln(p) / ln(2)) BETWEEN 1 AND 1.7 AS sensible
	FROM unnest('{0.1,0.01,1e-6,1e-9,1e-12,1e-15}'::float8[]) p, pbf_optimal(10000, p);
-- The layout and the number of parts depend on the rate alone: filters of one rate unite without loss.
SELECT p, count(DISTINCT (layout, parts)) AS shapes, count(DISTINCT bytes) > 3 AS sizes
	FROM unnest('{0.5,0.1,0.01,0.001,1e-5,1e-9,1e-15}'::float8[]) p,
		unnest('{0,1,5,10,50,100,1000,12345,1e5,1e6}'::float8[]) n, pbf_optimal(n, p)
	GROUP BY p ORDER BY p DESC;
-- 1e6 elements at one in a hundred: 10 bits each.
SELECT layout, bytes BETWEEN 1.2e6 AND 1.4e6 AS sensible FROM pbf_optimal(1e6, 0.01);

-- Full, a filter has the rate that was asked for: by its own count, which is right: 30,000 other values were tried.
SELECT layout, n, p, missing(f, 1, n) AS missing, pbf_fpr(f) <= 1.25 * p AS fpr,
		near(pbf_cardinality(f), n, 0.05) AS cardinality,
		abs(1 - missing(f, n + 1, n + 30000) / 30000.0 - pbf_fpr(f)) < 4 * sqrt(pbf_fpr(f) / 30000) AS measured
	FROM unnest('{plain,blocked}'::text[]) layout, unnest('{2000,30000}'::int[]) n,
		unnest('{0.5,0.1,0.01,0.001}'::float8[]) p,
		LATERAL (SELECT pbf_new(n, p, layout) + numbers(1, n) AS f) x
	ORDER BY layout, n, p DESC;
SELECT p, missing(f, 1, 10000) AS missing, pbf_fpr(f) <= 1.25 * p AS fpr
	FROM unnest('{1e-4,1e-5,1e-7,1e-10,1e-15}'::float8[]) p,
		LATERAL (SELECT pbf_new(10000, p) + numbers(1, 10000) AS f) x ORDER BY p DESC;
-- Of small filters the mean has.
SELECT n, p, avg(pbf_fpr(pbf_new(n, p) + numbers(1 + i * n, n + i * n))) <= 1.25 * p AS fpr
	FROM unnest('{1,10,100}'::int[]) n, unnest('{0.1,0.01,1e-4,1e-7}'::float8[]) p, generate_series(1, 40) i
	GROUP BY n, p ORDER BY n, p DESC;
-- Whatever the size, what was added is there.
SELECT count(*) AS filters, sum(missing(pbf_new(n, p, layout) + numbers(1, n), 1, n)) AS missing
	FROM unnest('{plain,blocked}'::text[]) layout, generate_series(0, 60) n,
		unnest('{0.9999,0.5,0.01,0.0001}'::float8[]) p;
-- A capacity of 0 is a tiny filter that can be used; beyond its capacity a filter fills up, but does not forget.
SELECT pg_column_size(f) < 100 AS tiny, f @> 1 AS empty, missing(f + 1, 1, 1) AS one,
	missing(f + numbers(1, 5000), 1, 5000) AS many
	FROM pbf_new(0) f;
-- The defaults.
SELECT pbf_new(1000) = pbf_new(1000, 0.01) AS fpr, pbf_new(1000, 0.01) = pbf_new(1000, 0.01, 'auto') AS layout,
	pbf_new(1e3) = pbf_new(capacity => 1000, fpr => 1e-2) AS named;

-- By geometry: the limits of each layout, and which one auto is.
SELECT b, p, w, l, geometry(f), (pbf_info(f)).bytes FROM (VALUES
	(1, 1, 1, 'auto'), (1, 64, 1, 'auto'), (1, 1, 63, 'auto'), (1, 1, 64, 'auto'), (1, 1, 65, 'auto'),
	(1, 8, 64, 'auto'), (1, 9, 64, 'auto'), (1, 8, 64, 'plain'), (1, 1, 64, 'plain'), (1, 8, 64, 'blocked'),
		(1, 64, 100, 'plain'),
	(2, 1, 64, 'auto'), (3, 8, 64, 'auto'), (1000, 5, 64, 'blocked'), (1, 3, 1000000, 'auto')) v (b, p, w, l),
		pbf_new_geometry(b, p, w, l) f;
SELECT pbf_new_geometry(2, 3, 64) = pbf_new_geometry(2, 3, 64, 'blocked') AS layout;
SELECT geometry(pbf_new_like(f + 1)), pbf_is_empty(pbf_new_like(f + 1)), (pbf_info(pbf_new_like(f + 1))).kind,
	pbf_new_like(f + 1) = f AS same
	FROM (VALUES (pbf_new_geometry(3, 5, 64)), (pbf_new_geometry(1, 8, 64, 'plain')),
		(pbf_new_geometry(1, 8, 64, 'blocked'))) v (f);
-- From an array, sized by the number of its distinct elements.
SELECT pbf_build(array_fill(7, ARRAY[1000])) = pbf_build('{7}'::int[]) AS duplicates,
	pbf_build('{1,NULL,2,NULL}'::int[]) = pbf_build('{2,1}'::int[]) AS nulls,
	pbf_build('{{1,2},{2,3}}'::int[]) = pbf_build('{1,2,3}'::int[]) AS dimensions,
	pbf_build(numbers(1, 1000)) = pbf_new(1000) + numbers(1, 1000) AS size,
	pbf_build(numbers(1, 1000), 0.0001) = pbf_new(1000, 0.0001) + numbers(1, 1000) AS fpr,
	pbf_build(numbers(1, 1000)::int8[]) = pbf_build(numbers(1, 1000)) AS width;
SELECT pbf_build('{}'::int[]) = pbf_new(0) AS empty, pbf_build('{NULL}'::text[]) = pbf_new(0) AS only_null,
	pbf_is_empty(pbf_build('{}'::text[]));
-- A bare literal is an array of text where only an array can be meant, else text.
SELECT pbf_build('{a,b}') = pbf_build('{a,b}'::text[]) AS build, pbf_matching(pbf_build('{a,b}'), '{a,z}') AS matching,
	pbf_contains_all(pbf_build('{a,b}'), '{a,b}') AS "all", pbf_contains_any(pbf_build('{a,b}'), '{b,z}') AS "any",
	pbf_contains(pbf_add(pbf_new(10), '{a,b}'), '{a,b}') AS element;
SELECT n, p, missing(pbf_build(numbers(1, n), p), 1, n) AS missing,
	pbf_fpr(pbf_build(numbers(1, n), p)) < 1.4 * p AS fpr
	FROM unnest('{1,2,1000,100000}'::int[]) n, unnest('{0.3,0.01,1e-6}'::float8[]) p ORDER BY n, p DESC;

--
-- Elements and hashes
--
SELECT pbf_add(f, 5) = f + 5 AS one, pbf_add(f, '{5,6}'::int[]) = f + 5 + 6 AS "array",
	pbf_add(f, 5::int2) = f + 5 AS width,
	pbf_add_hash(f + 1, pbf_hash(5)) = f + 1 + 5 AS hash, pbf_add(f + 1, '{}'::int[]) = f + 1 AS nothing
	FROM (VALUES (pbf_new_geometry(7, 8, 64)), (pbf_new_geometry(1, 5, 333))) v (f);
SELECT pbf_hash('alice') = pbf_hash('alice'::varchar) AS literal, pbf_hash(1) = pbf_hash(1::int8) AS width,
	pbf_hash(NULL), pbf_hash(NULL::int);
-- Hashes alone: their kind is not known; a hash may be looked for in any filter, and be added to one.
SELECT (pbf_info(f)).kind, pbf_contains_hash(f, h) AS h, pbf_contains_hash(f, h # 1) AS other,
		pbf_contains_hash(pbf_new_geometry(3, 8, 64) + 1, pbf_hash(1)) AS of_integer,
		pbf_contains_hash(pbf_new(1), h) AS of_none,
		pbf_contains_hash(pbf_new_geometry(3, 8, 64) + 1, pbf_hash(2)) AS not_of_integer
	FROM unnest('{0,1,-1,9223372036854775807,-9223372036854775808}'::int8[]) h,
		pbf_add_hash(pbf_new_geometry(3, 8, 64), h) f;
SELECT (pbf_info(pbf_add_hash(pbf_new(1) + 'a', pbf_hash('b')))).kind,
	pbf_contains(pbf_add_hash(pbf_new(2) + 'a', pbf_hash('b')), 'b');

SELECT pbf_contains(f, 'a') AS a, pbf_contains(f, 'z') AS z, pbf_contained('a', f) AS contained,
	pbf_contains_all(f, '{a,b}'::text[]) AS "all", pbf_contains_all(f, '{a,z}'::text[]) AS not_all,
	pbf_contained_all('{a,b}'::text[], f) AS contained_all,
	pbf_contains_any(f, '{z,b}'::text[]) AS "any", pbf_contains_any(f, '{y,z}'::text[]) AS not_any,
	pbf_contained_any('{z,b}'::text[], f) AS contained_any
	FROM (VALUES (pbf_new_geometry(2, 8, 64) + '{a,b,c}'::text[]),
		(pbf_new_geometry(1, 30, 64) + '{a,b,c}'::text[])) v (f);

-- The elements that may be in it: in order, with duplicates, without NULLs, in one dimension, of the same type.
SELECT f.layout, pbf_matching(f.f, '{z,b,NULL,a,a,y}'::text[]) AS text,
		pbf_matching(f.f, '{{a,x},{y,c}}'::varchar[]) AS varchar,
		pbf_matching(f.f, '{a,z}'::char(3)[]) AS "char", pbf_matching(f.f, '{}'::text[]) AS empty,
		pbf_matching(f.f, '{z,NULL}'::text[]) AS none,
		pbf_matching(f.f, '[5:6]={b,c}'::text[]) AS bounds, pg_typeof(pbf_matching(f.f, '{a}'::name[])) AS type
	FROM (VALUES ('blocked', pbf_new_geometry(2, 8, 64) + '{a,b,c}'::text[]),
		('plain', pbf_new_geometry(1, 30, 64) + '{a,b,c}'::text[])) f (layout, f);
SELECT pbf_matching(pbf_new(10), numbers(1, 100)) AS of_none,
	pbf_matching(pbf_new(10) + 'a', '{}'::int[]) AS other_kind;
-- One answer, however it is asked: singly, in short and long arrays, by hash.
SELECT v.f, geometry(x.f), count(*) FILTER (WHERE x.f @> i) BETWEEN 500 AND 4000 AS some,
		count(*) FILTER (WHERE (x.f @> i) <> pbf_contains_hash(x.f, pbf_hash(i))) AS by_hash,
		count(*) FILTER (WHERE (x.f @> i) <> (x.f && ARRAY[i])) AS "any",
		count(*) FILTER (WHERE (x.f @> i) <> (x.f @> (numbers(1, 20) || i))) AS "all",
		array_agg(i ORDER BY i) FILTER (WHERE x.f @> i) = pbf_matching(x.f, numbers(1, 4000)) AS matching
	FROM (VALUES (1, 'blocked', 60, 8), (2, 'blocked', 61, 5), (3, 'blocked', 80, 1), (4, 'plain', 700, 7),
		(5, 'plain', 512, 3), (6, 'plain', 801, 20)) v (f, layout, size, parts),
		filled(v.layout, v.size, v.parts, 1, 500) AS x (f), generate_series(1, 4000) i
	GROUP BY v.f, x.f ORDER BY v.f;

--
-- What a filter says of itself
--
SELECT kind, layout, blocks, parts, part_bits, bits, bytes, set_bits, round(fill::numeric, 6) AS fill,
		round(cardinality::numeric, 3) AS cardinality,
		round(fpr::numeric, 9) AS fpr
	FROM (VALUES (1, pbf_new_geometry(1, 1, 1)), (2, pbf_new_geometry(1, 3, 100) + 'x'),
		(3, pbf_new_geometry(10, 8, 64) + 1),
		(4, filled('blocked', 10, 8, 1, 60)), (5, filled('plain', 1000, 5, 1, 400)),
			(6, pbf_add_hash(pbf_new_geometry(2, 1, 64), 0))) v (n, f),
		pbf_info(f) ORDER BY n;
-- Its numbers are those of the single functions.
SELECT count(*) FILTER (WHERE (fill, cardinality, fpr) IS DISTINCT FROM (pbf_fill(f), pbf_cardinality(f), pbf_fpr(f))
		OR near(fill, set_bits::float8 / bits, 1e-12) IS NOT TRUE OR length(pbf_send(f)) + 4 <> bytes) AS different
	FROM unnest('{blocked,plain}'::text[]) l, generate_series(64, 200, 9) s, generate_series(1, 8) p,
		generate_series(1, 200, 40) n, filled(l, s, p, 1, n) f, pbf_info(f);
-- The rate is the product of the fills of the parts; with blocks the mean over them.
SELECT near(pbf_fpr(f), (SELECT exp(sum(ln(pbf_fill(f -> p) * p -
	CASE WHEN p > 1 THEN pbf_fill(f -> (p - 1)) * (p - 1) ELSE 0 END))) FROM generate_series(1, 7) p), 1e-9) AS plain
	FROM filled('plain', 500, 7, 1, 300) f;
SELECT near(pbf_fpr(pbf_new_geometry(10, 8, 64) + 1), power(1 / 64.0::float8, 8) / 10, 1e-9) AS blocked;

-- Every bit set: infinitely many elements may be in it. (A part of one bit is full with the first element.)
SELECT geometry(f), pbf_fill(f), pbf_fpr(f), pbf_cardinality(f), f @> 4711 AS contains, pbf_is_empty(f),
		pbf_union_cardinality(f, f) AS "union", pbf_intersection_cardinality(f, f) AS intersection,
		pbf_jaccard(f, f) AS jaccard
	FROM (VALUES (pbf_new_geometry(1, 1, 1) + 1), (pbf_new_geometry(1, 5, 1) + 1), (filled('plain', 7, 3, 1, 1000)),
		(filled('blocked', 2, 8, 1, 2000))) v (f);
SELECT pbf_union_cardinality(f, g) AS "union", near(pbf_intersection_cardinality(f, g), 10, 0.05) AS intersection,
		pbf_jaccard(f, g) AS jaccard,
		pbf_union_cardinality(g, f) AS commuted, f && g AS overlaps, pbf_contains_filter(f, g) AS contains,
		pbf_contains_filter(g, f) AS contained
	FROM filled('blocked', 2, 8, 1, 2000) f, filled('blocked', 2, 8, 1, 10) g;
-- Empty ones, of a kind and of none.
SELECT pbf_is_empty(f), pbf_cardinality(f), pbf_fpr(f), pbf_fill(f), pbf_union_cardinality(f, f) AS "union",
		pbf_intersection_cardinality(f, f) AS intersection,
		pbf_jaccard(f, f) AS jaccard, pbf_overlaps(f, f) AS overlaps, pbf_disjoint(f, f) AS disjoint,
		pbf_contains_filter(f, f) AS contains
	FROM (VALUES (pbf_new(100)), ((pbf_new_geometry(50, 8, 64) + 1) & (pbf_new_geometry(50, 8, 64) + 2)),
		(pbf_new_geometry(1, 1, 1))) v (f);
SELECT pbf_union_cardinality(f, e) = pbf_cardinality(f) AS "union",
		pbf_intersection_cardinality(f, e) AS intersection, pbf_jaccard(f, e) AS jaccard,
		pbf_overlaps(f, e) AS overlaps, pbf_disjoint(e, f) AS disjoint, pbf_contains_filter(f, e) AS contains,
		pbf_contains_filter(e, f) AS contained
	FROM filled('blocked', 50, 8, 1, 10) f,
		(VALUES (pbf_new(100)), ((pbf_new_geometry(50, 8, 64) + 1) & (pbf_new_geometry(50, 8, 64) + 2)),
		(pbf_new_geometry(1, 1, 1))) v (e);

--
-- Size reduction: every fold and every number of parts is the filter that would have been built there, bit for bit
--
CREATE TABLE reducible (id int, layout text, size int, parts int, n int, f pbf);
INSERT INTO reducible SELECT row_number() OVER (), layout, size, parts, n, filled(layout, size, parts, 1, n)
	FROM (VALUES
	('blocked', 1, 8), ('blocked', 2, 1), ('blocked', 3, 5), ('blocked', 24, 8), ('blocked', 64, 8),
	('blocked', 96, 6),
	('plain', 1, 1), ('plain', 2, 7), ('plain', 63, 5), ('plain', 64, 9), ('plain', 96, 64), ('plain', 192, 7),
	('plain', 640, 3), ('plain', 1024, 10), ('plain', 1000, 1)
	) g (layout, size, parts), unnest('{1,20,100,400}'::int[]) n;
CREATE FUNCTION max_folds(size int) RETURNS int LANGUAGE sql IMMUTABLE AS
	'SELECT max(k) FROM generate_series(0, 30) k WHERE size % (1::bigint << k) = 0';
CREATE TABLE reductions AS
	SELECT id, layout, size, r.parts, n, folds, p AS kept, pbf_reduce(pbf_fold(f, folds), p) AS reduced,
		pbf_fold(pbf_reduce(f, p), folds) AS other_way,
			filled(layout, size >> folds, p, 1, n) AS built, bytes(pbf_reduce(pbf_fold(f, folds), p)),
			pbf_fpr(pbf_reduce(pbf_fold(f, folds), p)) AS fpr
		FROM reducible r, generate_series(0, max_folds(size)) folds, generate_series(1, r.parts) p;
SELECT layout, count(*) AS reductions, count(*) FILTER (WHERE reduced <> built) AS not_exact,
		count(*) FILTER (WHERE reduced <> other_way) AS do_not_commute,
		sum(missing(reduced, 1, n)) AS missing, count(*) FILTER (WHERE (pbf_info(reduced)).kind <> 'integer') AS kind
	FROM reductions GROUP BY layout ORDER BY layout;
SELECT count(*) FILTER (WHERE pbf_fold(f, 0) <> f) AS no_fold,
		count(*) FILTER (WHERE pbf_reduce(f, parts) <> f) AS all_parts,
		count(*) FILTER (WHERE size % 2 = 0 AND pbf_fold(f) <> pbf_fold(f, 1)) AS one_fold FROM reducible;
SELECT count(*) AS filters, count(*) FILTER (WHERE pbf_fold(pbf_fold(f)) <> pbf_fold(f, 2)) AS two_folds
	FROM reducible WHERE size % 4 = 0;
SELECT pbf_fold(f, times => 2) = pbf_fold(f, 2) AS fold, pbf_reduce(f, parts => 2) = f -> 2 AS reduce,
	pbf_shrink(f, max_bytes => 200) = pbf_shrink(f, 200) AS shrink,
	pbf_shrink_to_fpr(f, fpr => 0.5) = pbf_shrink_to_fpr(f, 0.5) AS to_fpr FROM filled('blocked', 8, 8, 1, 50) f;

-- pbf_shrink finds the lowest rate of all that are small enough.
WITH shrunk AS MATERIALIZED (
	SELECT r.id, r.n, max_bytes, pbf_shrink(r.f, max_bytes) AS f,
			(SELECT min(fpr) FROM reductions s WHERE s.id = r.id AND bytes <= max_bytes) AS best
		FROM reducible r, LATERAL (SELECT DISTINCT bytes + d AS max_bytes FROM reductions s,
			generate_series(0, 7, 7) d WHERE s.id = r.id) b)
SELECT count(*) AS shrunk, count(*) FILTER (WHERE bytes(f) > max_bytes) AS too_large,
		count(*) FILTER (WHERE NOT near(pbf_fpr(f), best, 1e-9)) AS not_best,
		sum(missing(f, 1, n)) AS missing
	FROM shrunk;
-- Full filters lose parts, sparse ones are folded; a mix where that is better.
SELECT n, max_bytes, geometry(pbf_shrink(f, max_bytes)) FROM unnest('{10,30,100,300,700}'::int[]) n,
	filled('blocked', 64, 8, 1, n) f, unnest('{4120,2100,1100,500}'::int[]) max_bytes
	ORDER BY n, max_bytes DESC;
-- Enough room: as it is.
SELECT count(*) FILTER (WHERE pbf_shrink(f, bytes(f)) <> f) AS changed,
		count(*) FILTER (WHERE pbf_shrink(f, 9223372036854775807) <> pbf_shrink(f, bytes(f))) AS more_room
		FROM reducible;
-- An empty filter has rate 0 at any size: it keeps what fits, and is the smallest one where that is asked for.
SELECT geometry(pbf_shrink(f, 1000000)) AS shrink, geometry(pbf_shrink(f, bytes(f) / 2)) AS half, geometry(pbf_shrink_to_fpr(f, 0.01)) AS to_fpr,
	(pbf_info(pbf_shrink(f, 1000000))).kind
	FROM (VALUES (pbf_new_geometry(24, 8, 64)), (pbf_new_geometry(1, 7, 192))) v (f);

-- pbf_shrink_to_fpr finds the smallest of all whose rate is low enough, and leaves alone what is above it already.
WITH shrunk AS MATERIALIZED (
	SELECT r.n, r.f AS original, p AS fpr, pbf_shrink_to_fpr(r.f, p) AS f,
			(SELECT min(bytes) FROM reductions s WHERE s.id = r.id AND s.fpr <= p) AS smallest
		FROM reducible r, unnest('{1e-15,1e-9,1e-4,0.01,0.3,0.9999}'::float8[]) p)
SELECT smallest IS NULL AS hopeless, count(*) AS shrunk,
		count(*) FILTER (WHERE smallest IS NOT NULL AND pbf_fpr(f) > fpr) AS rate,
		count(*) FILTER (WHERE bytes(f) <> coalesce(smallest, bytes(original))) AS size,
		count(*) FILTER (WHERE smallest IS NULL AND f <> original) AS changed, sum(missing(f, 1, n)) AS missing
	FROM shrunk GROUP BY 1 ORDER BY 1;
-- A filter of 1,000,000 elements' size with 1,000 in it shrinks to a size like that which 1,000 need.
SELECT bytes(s) < 4 * bytes(pbf_new(1000, 0.01)) AS small, pbf_fpr(s) <= 0.01 AS fpr, missing(s, 1, 1000) AS missing
	FROM (VALUES (pbf_new(1e6, 0.01)), (pbf_new(1e6, 1e-9))) v (f), pbf_shrink_to_fpr(f + numbers(1, 1000), 0.01) s;
DROP TABLE reducible, reductions;

--
-- Sets of different sizes: all pairs of these, coprime or not, of different numbers of parts
--
-- a holds 1..30, b holds 21..50, c (in the geometry of b) holds only 1..5, d only 1000..1004.
CREATE TABLE shapes (id int, layout text, size int, parts int, a pbf, b pbf, c pbf, d pbf);
INSERT INTO shapes SELECT row_number() OVER (), layout, size, parts, filled(layout, size, parts, 1, 30),
		filled(layout, size, parts, 21, 50),
		filled(layout, size, parts, 1, 5), filled(layout, size, parts, 1000, 1004) FROM (
	SELECT 'blocked', size, parts FROM unnest('{1,2,3,5,7,8,12,16,63,97,100,128}'::int[]) size,
		unnest('{8,5,1}'::int[]) parts
	UNION ALL SELECT 'plain', size, parts
		FROM unnest('{1,2,3,7,63,64,65,100,127,128,192,1000,4096,5001}'::int[]) size,
		unnest('{1,4,13}'::int[]) parts
	) g (layout, size, parts);
CREATE TABLE meetings AS
	SELECT x.layout, x.size AS size_x, x.parts AS parts_x, y.size AS size_y, y.parts AS parts_y, x.a AS a, y.b AS b,
		y.c AS c, y.d AS d,
			x.a | y.b AS united, x.a & y.b AS common
		FROM shapes x JOIN shapes y ON x.layout = y.layout;
-- What must be the case without exception.
SELECT layout, count(*) AS pairs,
		sum(missing(united, 1, 50)) AS missing_in_union, sum(missing(common, 21, 30)) AS missing_in_intersection,
		count(*) FILTER (WHERE NOT a && b) AS overlap_denied, count(*) FILTER (WHERE a !&& b) AS called_disjoint,
		count(*) FILTER (WHERE NOT pbf_contains_filter(a, c)) AS containment_denied,
		count(*) FILTER (WHERE NOT pbf_contains_filter(united, a)
		OR NOT pbf_contains_filter(united, b)) AS not_in_union,
		count(*) FILTER (WHERE NOT pbf_contains_filter(a, common) AND parts_x <= parts_y
		AND size_x = size_y) AS not_in_both,
		count(*) FILTER (WHERE united <> b | a OR common <> (b & a)) AS order_matters,
		count(*) FILTER (WHERE (pbf_info(united)).parts <> least(parts_x, parts_y)) AS parts
	FROM meetings GROUP BY layout ORDER BY layout;
-- Where something certain can be said, it is: large filters do not overlap with or contain what they do not hold.
SELECT layout, count(*) AS pairs, count(*) FILTER (WHERE a && d) AS overlap,
	count(*) FILTER (WHERE pbf_contains_filter(a, d)) AS contained
	FROM meetings WHERE parts_x >= 5 AND parts_y >= 5 AND least(size_x, size_y) >= CASE layout WHEN 'plain' THEN 1000
		ELSE 60 END GROUP BY layout ORDER BY layout;
-- Of one geometry everything is exact; so is what halves to it, where folding was chosen.
SELECT count(*) AS pairs, count(*) FILTER (WHERE united <> filled(layout, size_x, parts_x, 1, 50)) AS not_exact
	FROM meetings WHERE size_x = size_y AND parts_x = parts_y;
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE united <> filled(layout, least(size_x, size_y),
	least(parts_x, parts_y), 1, 50)) AS not_exact FROM meetings
	WHERE greatest(size_x, size_y) % least(size_x, size_y) = 0
		AND (pbf_info(united)).bits = least(size_x, size_y) * least(parts_x,
		parts_y) * (CASE layout WHEN 'blocked' THEN 64 ELSE 1 END);
-- The better of both ways: not worse than folding down by hand.
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE pbf_fpr(united) > pbf_fpr(filled(layout, least(size_x, size_y),
	least(parts_x, parts_y), 1, 50)) * 1.000001) AS worse FROM meetings
	WHERE greatest(size_x, size_y) % least(size_x, size_y) = 0;
DROP TABLE meetings;

-- A million elements and ten: the large one stays useful.
SELECT pbf_agg(i, 1e6, 0.01) AS million FROM generate_series(1, 1000000) i \gset
SELECT pbf_build(numbers(-10, -1)) AS ten \gset
SELECT pbf_fpr(u) < 0.03 AS low, missing(u, -10, -1) AS missing_few,
		(SELECT count(*) FROM generate_series(1, 1000000, 7) i WHERE NOT u @> i) AS missing_many,
		near(pbf_union_cardinality(:'million', :'ten'), 1000010, 0.01) AS cardinality
	FROM pbf_union(:'million', :'ten') u;
SELECT pbf_overlaps(:'million', :'ten') AS overlaps,
	pbf_contains_filter(:'million', pbf_build(numbers(5, 14))) AS contains,
	pbf_overlaps(:'million', pbf_build(numbers(5, 14))) AS overlaps_part;

-- Layouts cannot meet, whatever is in them; without a kind there is nothing to meet.
SELECT pbf_new_geometry(1, 8, 64, 'plain') | pbf_new_geometry(1, 8, 64, 'blocked') =
	pbf_new_geometry(1, 8, 64, 'blocked') | pbf_new_geometry(1, 8, 64, 'plain') AS both_empty,
	(pbf_new_geometry(1, 8, 64, 'plain') | pbf_new_geometry(1, 8, 64, 'blocked') + 1) = pbf_new_geometry(1, 8, 64,
	'blocked') + 1 AS one_empty;
-- None is the identity of union on both sides, and leaves nothing of an intersection.
SELECT count(*) FILTER (WHERE a | pbf_new(1000) <> a OR pbf_new(1000) | a <> a OR NOT pbf_is_empty(a & pbf_new(1000))
		OR NOT pbf_is_empty(pbf_new(5) & a)
		OR a && pbf_new(1000) OR pbf_new(7) && a OR NOT pbf_contains_filter(a, pbf_new(3))
		OR pbf_contains_filter(pbf_new(3), a)) AS wrong FROM shapes;
SELECT (pbf_info(pbf_new(1) & (pbf_new(1) + 1))).kind AS intersection,
	(pbf_info(pbf_new(1) | (pbf_new(1) + 1))).kind AS "union",
	(pbf_info(pbf_new(1) | pbf_new(1))).kind AS none;
SELECT pbf_same_geometry(pbf_new(100), pbf_new(100) + 1) AS same,
	pbf_same_geometry(pbf_new(100), pbf_new(10000)) AS size,
	pbf_same_geometry(pbf_new_geometry(1, 8, 64, 'plain'), pbf_new_geometry(1, 8, 64)) AS layout,
	pbf_same_geometry(pbf_new_geometry(9, 8, 64), pbf_new_geometry(9, 7, 64)) AS parts;
-- The named forms of the operators.
SELECT count(*) FILTER (WHERE pbf_union(a, b) <> (a | b) OR pbf_intersect(a, b) <> (a & b)
		OR pbf_overlaps(a, b) <> (a && b) OR pbf_disjoint(a, b) <> (a !&& b)
		OR pbf_reduce(a, 1) <> a -> 1) AS different FROM shapes;
DROP TABLE shapes;

--
-- Estimates: sets of n elements of which m are common, in filters of one size and of several
--
SELECT layout, sa, sb, n, m, near(pbf_cardinality(a), n, 0.05) AS a, near(pbf_cardinality(b), n, 0.05) AS b,
		near(pbf_union_cardinality(a, b), 2 * n - m, 0.05) AS "union",
		abs(pbf_intersection_cardinality(a, b) - m) <= 0.04 * n AS intersection,
		abs(pbf_jaccard(a, b) - m::float8 / (2 * n - m)) < 0.05 AS jaccard,
		pbf_union_cardinality(a, b) = pbf_union_cardinality(b, a)
		AND pbf_intersection_cardinality(a, b) = pbf_intersection_cardinality(b, a)
			AND pbf_jaccard(a, b) = pbf_jaccard(b, a) AS commute
	FROM (VALUES ('blocked', 2000, 2000), ('blocked', 2000, 1000), ('blocked', 1200, 2000), ('plain', 150000, 150000),
		('plain', 150000, 75000), ('plain', 80000, 150000)) v (layout, sa, sb),
		unnest('{10000}'::int[]) n, unnest('{0,1000,5000,10000}'::int[]) m, filled(layout, sa, 5, 1, n) a,
		filled(layout, sb, 5, n - m + 1, 2 * n - m) b
	ORDER BY layout, sa, sb, m;
-- Few elements are counted exactly.
SELECT count(*) FILTER (WHERE round(pbf_cardinality(f)) <> n) AS wrong FROM unnest('{blocked,plain}'::text[]) l,
	generate_series(0, 40) n, pbf_new(100000, 0.001, l) e, LATERAL (SELECT e + numbers(1, n)) x (f);
-- Reduced and folded filters still count.
SELECT near(pbf_cardinality(f -> 2), 3000, 0.06) AS reduced, near(pbf_cardinality(pbf_fold(f)), 3000, 0.06) AS folded
	FROM filled('blocked', 500, 8, 1, 3000) f;

--
-- NULL in, NULL out: every function with each of its arguments NULL
--
CREATE FUNCTION null_calls(OUT call text, OUT result text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	p record;
	args text[];
BEGIN
	FOR p IN SELECT proname, proargtypes::oid[] AS types FROM pg_proc
		JOIN pg_depend ON objid = pg_proc.oid AND classid = 'pg_proc'::regclass
			WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pbf') AND prokind = 'f'
				AND 'internal'::regtype <> ALL (proargtypes::oid[])
				AND 'cstring'::regtype NOT IN (prorettype, proargtypes[0])
				AND proname !~ '^pbfidx|_(trans|combine|final)$' LOOP
		FOR i IN 0 .. cardinality(p.types) - 1 LOOP
			SELECT array_agg(format('%s::%s', CASE WHEN n - 1 = i THEN 'NULL' WHEN t = 'pbf'::regtype
				THEN 'pbf_new(1)'
						WHEN t = 'anycompatiblearray'::regtype THEN '''{1}''' WHEN t = 'text'::regtype THEN '''auto'''
						WHEN t = 'bytea'::regtype THEN 'pbf_new(1)'
						WHEN t = 'float8'::regtype THEN '0.5' WHEN p.proname = 'pbf_new_geometry' AND n = 3 THEN '64'
						ELSE '1' END,
					CASE WHEN t IN ('anycompatible'::regtype, 'anycompatiblenonarray'::regtype) THEN 'int'
						WHEN t = 'anycompatiblearray'::regtype THEN 'int[]' ELSE t::regtype::text END) ORDER BY n)
				FROM unnest(p.types) WITH ORDINALITY u (t, n) INTO args;
			call := format('%s(%s)', p.proname, array_to_string(args, ', '));
			EXECUTE format('SELECT (%s)::text', call) INTO result;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT count(*) > 80 AS calls, count(result) AS not_null FROM null_calls();

DROP SCHEMA functions CASCADE;

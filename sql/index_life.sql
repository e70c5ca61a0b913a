--
-- The life of a small index of each kind, in few rows: also run where every statement takes a hundred times as long
-- (test/asserts.sh). What the index finds is what the sequential scan finds.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA index_life;
SET search_path = index_life, public;
-- find, finds, pages: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

-- Two rows a page: a slab has 240 rows.
CREATE FUNCTION double(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 * 2; END';
CREATE TABLE t (id int, a int, b text, tags int[], doc jsonb, words tsvector, pad text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
CREATE FUNCTION more(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, i % 100, nullif('b' || i, 'b7'), ARRAY[i, i % 10], jsonb_build_object('i', i, 's', 'x' || i % 10), to_tsvector('simple', 'all w' || i), repeat('x', 3000)
	FROM generate_series(first, last) i
$$;
SELECT more(1, 60);
CREATE INDEX t_all ON t USING pbfidx (a, b, tags, doc, words) WITH (pages_per_range = 1);
CREATE INDEX t_double ON t USING pbfidx (double(a)) WITH (pages_per_range = 1) WHERE a < 50;
CREATE TABLE conditions AS SELECT * FROM unnest(ARRAY['a = 5', 'a IN (1, 99, 1000)', 'b = ''b77''', 'b IS NULL', 'tags @> ''{55}''', 'tags && ''{3,1000}''', 'doc @> ''{"i": 9}''', 'doc ? ''i''', 'words @@ ''w12 & all''',
	'a = 5 AND tags @> ''{5}''', 'double(a) = 20 AND a < 50']) c;
CREATE VIEW differences AS SELECT count(*) AS conditions, count(*) FILTER (WHERE used) AS used, sum(rows) > 10 AS rows, sum(missing) AS missing, sum(extra) AS extra FROM conditions, find('t', c);
TABLE differences;
-- Growth, in a transaction that is rolled back and in one that stays; updates, also HOT; what is deleted.
BEGIN;
SELECT more(1001, 1060);
SAVEPOINT s;
SELECT more(2001, 2200);
ROLLBACK TO s;
TABLE differences;
ROLLBACK;
SELECT more(61, 300);
UPDATE t SET a = a + 1, b = b || 'x' WHERE id % 7 = 0;
UPDATE t SET id = -id WHERE id % 11 = 0;
DELETE FROM t WHERE id % 3 = 0;
TABLE differences;
VACUUM t;
SELECT more(301, 400);
SELECT pbfidx_check('t_all'), pbfidx_check('t_double');
SELECT pbfidx_resummarize('t_all') > 4 AS "all", pbfidx_resummarize('t_double', 0, 10) AS one;
TABLE differences;
PREPARE p(int) AS SELECT count(*) FROM t WHERE a = $1;
SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan;
EXECUTE p(8); EXECUTE p(8);
REINDEX INDEX t_all;
EXECUTE p(8);
RESET plan_cache_mode;
REINDEX INDEX CONCURRENTLY t_double;
SELECT count(*) FROM (VALUES (1), (8), (NULL)) v(x), LATERAL (SELECT FROM t WHERE a = x AND tags @> ARRAY[x] OFFSET 0) l;
RESET enable_seqscan;
DROP INDEX t_double;
CREATE INDEX CONCURRENTLY t_double ON t USING pbfidx (double(a)) WITH (pages_per_range = 1) WHERE a < 50;
TABLE differences;
SELECT column_group, leaf_slabs, saturated_ranges FROM pbfidx_stats('t_all');
SELECT count(*) > 4 AS slabs FROM pbfidx_slabs('t_all');
SELECT pages_per_range FROM pbfidx_estimate('t', '{a,tags}');
TRUNCATE t;
SELECT more(1, 30);
SELECT pbfidx_check('t_all');

-- Filters of its values.
CREATE TABLE f AS SELECT id % 3 AS g, pbf_agg(a) AS a, pbf_agg(b, 100) AS b, pbf_agg_like(id, pbf_new(50)) AS id FROM t GROUP BY 1;
SELECT count(*) FILTER (WHERE f.a @> t.a) AS a, count(*) FILTER (WHERE f.b @> t.b) AS b, count(*) FILTER (WHERE f.id @> t.id) AS id, count(*) FROM t JOIN f ON g = t.id % 3;
SELECT pbf_union_agg(f.id) @> 17, pbf_is_empty(pbf_intersect_agg(f.id)), (pbf_info(pbf_union_agg(a))).kind FROM f;
SELECT pbf_agg(id) OVER (ORDER BY id ROWS 1 PRECEDING) @> id AS own FROM t WHERE id < 3;
SELECT f.a::text::pbf = f.a AS text, f.a::bytea::pbf = f.a AS bytes, (f.b -> 1) @> 'b3' AS shrunk FROM f WHERE g = 0;

DROP SCHEMA index_life CASCADE;

--
-- pbfidx: every way in which rows come, change and go, and every way to ask for them. After each step the index is
-- checked (every row has its bits) and its answers are compared with the sequential scan's.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA index_paths;
SET search_path = index_paths, public;
SET max_parallel_workers_per_gather = 0;

-- find, finds, pages: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

-- Checks the pbfidx indexes of a table (of its partitions) and compares conditions. wrong: rows missing or too many.
CREATE FUNCTION verify(tab regclass, VARIADIC conds text[]) RETURNS TABLE (indexes bigint, conditions bigint, used bigint, rows numeric, wrong numeric)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(pbfidx_check(i.indexrelid)) INTO indexes FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
	WHERE a.amname = 'pbfidx' AND c.relkind = 'i' AND i.indisvalid AND i.indrelid IN (SELECT tab UNION ALL SELECT relid FROM pg_partition_tree(tab));
	RETURN QUERY SELECT verify.indexes, count(*), count(*) FILTER (WHERE f.used), sum(f.rows), sum(f.missing + f.extra)
		FROM unnest(verify.conds) c, find(tab::text, c) f;
END $$;

-- ---- rows come and go ----
CREATE TABLE w (id int PRIMARY KEY, a int, b text, c numeric, pad char(600) DEFAULT '') WITH (autovacuum_enabled = off);
CREATE INDEX w_abc ON w USING pbfidx (a, b, c) WITH (pages_per_range = 1);
SELECT * FROM verify('w', 'a = 1', 'b = ''x''', 'a IS NULL', 'a = 1 AND b = ''x'' AND c = 2');
SELECT heap_pages, leaf_slabs, upper_slabs, index_pages FROM pbfidx_stats('w_abc');
INSERT INTO w SELECT i, i % 50, 'b' || i % 70, i / 10.0 FROM generate_series(1, 500) i;
INSERT INTO w (id) VALUES (501), (502);
SELECT * FROM verify('w', 'a = 1', 'b = ''b1''', 'c = 1.00', 'a IS NULL', 'b IS NULL', 'a = 1 AND b = ''b1''', 'a = 1 AND c = 0.1', 'b = ''b1'' AND c = 0.10',
	'a = 1 AND b = ''b1'' AND c = 0.100', 'a IS NULL AND b IS NULL AND c IS NULL', 'a IN (1, 2, 77) AND c IN (0.1, 0.2)', 'a = 9999');
COPY w (id, a, b, c) FROM stdin;
1001	7	copied	1
1002	\N	copied	2
1003	7777	\N	3
\.
SELECT * FROM verify('w', 'b = ''copied''', 'a = 7', 'a = 7777', 'a IS NULL', 'b IS NULL', 'c = 3.0');
-- HOT (the key stays) and not.
UPDATE w SET pad = 'x' WHERE id % 3 = 0;
SELECT * FROM verify('w', 'a = 3', 'b = ''b3''', 'c = 0.3');
UPDATE w SET a = a + 1000 WHERE id % 5 = 0;
UPDATE w SET b = NULL WHERE id % 100 = 1;
UPDATE w SET c = -c, b = b || '!' WHERE id % 7 = 0;
SELECT * FROM verify('w', 'a = 1005', 'a = 5', 'b IS NULL', 'b = ''b7!''', 'c = -0.7', 'c = 0.7', 'a = 1035 AND b = ''b35!''');
DELETE FROM w WHERE id % 11 = 0;
SELECT * FROM verify('w', 'a = 11', 'b = ''b11''', 'c = 1.1', 'a = 12');
INSERT INTO w (id, a, b) VALUES (1, 1, 'conflict'), (2, 2, 'conflict'), (2001, 3, 'new') ON CONFLICT (id) DO UPDATE SET b = excluded.b, a = 4242;
INSERT INTO w (id, a, b) VALUES (1, 1, 'nothing'), (2002, 3, 'nothing') ON CONFLICT DO NOTHING;
SELECT * FROM verify('w', 'b = ''conflict''', 'b = ''new''', 'b = ''nothing''', 'a = 4242', 'a = 3');
MERGE INTO w USING (SELECT i FROM generate_series(2000, 2010) i) s ON w.id = s.i
	WHEN MATCHED AND w.id = 2001 THEN DELETE WHEN MATCHED THEN UPDATE SET b = 'merged' WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (s.i, 9, 'inserted');
SELECT * FROM verify('w', 'b = ''merged''', 'b = ''inserted''', 'b = ''new''', 'a = 9 AND b = ''inserted''');
-- Rolled back, in part.
BEGIN;
INSERT INTO w (id, a, b) VALUES (3001, 31, 'kept');
SAVEPOINT s;
INSERT INTO w (id, a, b) VALUES (3002, 31, 'undone');
UPDATE w SET b = 'undone' WHERE id = 3001;
SELECT * FROM verify('w', 'b = ''kept''', 'b = ''undone''', 'a = 31');
ROLLBACK TO s;
SELECT * FROM verify('w', 'b = ''kept''', 'b = ''undone''', 'a = 31');
COMMIT;
SELECT * FROM verify('w', 'b = ''kept''', 'b = ''undone''', 'a = 31');
-- The same row again and again, so that line pointers are reused.
DO $$ BEGIN FOR i IN 1..300 LOOP UPDATE w SET a = 5000 + i WHERE id = 3001; UPDATE w SET pad = i::text WHERE id = 7; END LOOP; END $$;
SELECT * FROM verify('w', 'a = 5300', 'a = 5299', 'a = 7', 'b = ''b7!''');
VACUUM w;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'a IS NULL');
INSERT INTO w SELECT i, i % 50, 'b' || i % 70, i / 10.0 FROM generate_series(4001, 4200) i;
SELECT * FROM verify('w', 'a = 1', 'c = 400.1', 'b = ''b12''');
SELECT pbfidx_resummarize('w_abc');
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'a IS NULL', 'c = 400.1');
SELECT pbfidx_resummarize('w_abc', 0, 0), pbfidx_resummarize('w_abc', 1, 1000000), pbfidx_resummarize('w_abc', NULL), pbfidx_resummarize('w_abc', 0, NULL);
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'c = 400.1');
REINDEX INDEX w_abc;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'c = 400.1');
REINDEX INDEX CONCURRENTLY w_abc;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'c = 400.1');
CREATE INDEX CONCURRENTLY w_b ON w USING pbfidx (b);
SELECT * FROM verify('w', 'b = ''kept''', 'b = ''b12''', 'a = 7 AND b = ''copied''');
VACUUM FULL w;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'c = 400.1');
CLUSTER w USING w_pkey;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'a = 1005', 'b = ''kept''', 'c = 400.1');
DELETE FROM w WHERE id > 20;
VACUUM w;
SELECT * FROM verify('w', 'a = 5300', 'a = 7', 'b = ''kept''', 'a = 3');
SELECT pbfidx_resummarize('w_abc') AS rebuilt;
INSERT INTO w SELECT i, i % 50, 'b' || i % 70, i / 10.0 FROM generate_series(101, 300) i;
SELECT * FROM verify('w', 'a = 7', 'a = 3', 'b = ''b30''');
BEGIN;
TRUNCATE w;
INSERT INTO w VALUES (1, 1, 'one', 1);
SELECT * FROM verify('w', 'a = 1', 'b = ''one''', 'a = 7');
ROLLBACK;
SELECT * FROM verify('w', 'a = 1', 'b = ''one''', 'a = 7');
TRUNCATE w;
SELECT * FROM verify('w', 'a = 1', 'b = ''one''', 'a = 7');
INSERT INTO w VALUES (1, 1, 'one', 1);
SELECT * FROM verify('w', 'a = 1', 'b = ''one''', 'a = 7');
DROP TABLE w;
-- Made, filled, truncated and indexed in one transaction.
BEGIN;
CREATE TABLE w (a int);
CREATE INDEX ON w USING pbfidx (a);
INSERT INTO w SELECT generate_series(1, 2000);
TRUNCATE w;
INSERT INTO w SELECT generate_series(1, 1000);
SELECT * FROM verify('w', 'a = 1', 'a = 1000', 'a = 1001');
SAVEPOINT s;
TRUNCATE w;
INSERT INTO w VALUES (5);
ROLLBACK TO s;
SELECT * FROM verify('w', 'a = 1', 'a = 1000', 'a = 1001');
COMMIT;
SELECT * FROM verify('w', 'a = 1', 'a = 1000', 'a = 1001');
DROP TABLE w;

-- Foreign keys: the cascades look for rows by the referencing column.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE, pad char(900) DEFAULT '');
INSERT INTO parent SELECT generate_series(1, 100);
INSERT INTO child SELECT i, i % 100 + 1 FROM generate_series(1, 400) i;
CREATE INDEX child_parent ON child USING pbfidx (parent) WITH (pages_per_range = 1);
SET enable_seqscan = off;
UPDATE parent SET id = id + 1000 WHERE id <= 10;
DELETE FROM parent WHERE id BETWEEN 11 AND 20 OR id > 1005;
RESET enable_seqscan;
SELECT count(*), count(*) FILTER (WHERE parent > 1000) AS moved FROM child;
SELECT * FROM verify('child', 'parent = 1', 'parent = 1001', 'parent = 1006', 'parent = 15', 'parent = 50');

-- ---- partial and expression indexes ----
CREATE TABLE p (id int, a int, b text, open bool, pad char(600) DEFAULT '') WITH (autovacuum_enabled = off);
INSERT INTO p SELECT i, i % 100, 'B' || i % 30, i % 10 = 0 FROM generate_series(1, 1000) i WHERE i < 300 OR i > 700;
CREATE INDEX p_a ON p USING pbfidx (a) WHERE b = 'B5';
CREATE INDEX p_lower ON p USING pbfidx (lower(b), (a * 2)) WITH (pages_per_range = 1);
CREATE INDEX p_open ON p USING pbfidx (id) WHERE open AND a IS NOT NULL;
CREATE INDEX p_none ON p USING pbfidx (id) WHERE a < 0;
INSERT INTO p SELECT i, i % 100, 'B' || i % 30, i % 10 = 0 FROM generate_series(301, 700) i;
SELECT * FROM verify('p', 'a = 5 AND b = ''B5''', 'b = ''B5''', 'a IS NULL AND b = ''B5''', 'lower(b) = ''b5''', 'a * 2 = 10', 'lower(b) = ''b5'' AND a * 2 = 10',
	'open AND a IS NOT NULL', 'open AND a IS NOT NULL AND id = 500', 'open AND a IS NOT NULL AND id IN (1, 10, 500)', 'a < 0', 'a < 0 AND id = 5', 'a < 0 AND id IS NULL');
-- A row enters and leaves the predicate, by updates of columns that are no keys.
UPDATE p SET open = true WHERE id = 501;
UPDATE p SET open = false WHERE id = 500;
UPDATE p SET a = -1 WHERE id = 77;
UPDATE p SET b = 'B5' WHERE id = 78;
SELECT * FROM verify('p', 'open AND a IS NOT NULL', 'open AND a IS NOT NULL AND id = 500', 'open AND a IS NOT NULL AND id = 501', 'a < 0', 'a < 0 AND id = 77',
	'a = 78 AND b = ''B5''', 'b = ''B5''', 'lower(b) = ''b5''');
VACUUM p;
SELECT pbfidx_resummarize('p_a') + pbfidx_resummarize('p_lower') + pbfidx_resummarize('p_open') + pbfidx_resummarize('p_none') >= 0 AS no_error;
SELECT * FROM verify('p', 'open AND a IS NOT NULL', 'open AND a IS NOT NULL AND id = 500', 'open AND a IS NOT NULL AND id = 501', 'a < 0', 'a < 0 AND id = 77',
	'a = 78 AND b = ''B5''', 'b = ''B5''', 'lower(b) = ''b5''', 'a * 2 = -2');
REINDEX TABLE p;
SELECT * FROM verify('p', 'open AND a IS NOT NULL', 'open AND a IS NOT NULL AND id = 501', 'a < 0', 'a = 78 AND b = ''B5''', 'lower(b) = ''b5''');
-- An expression that fails for a row that is gone. VACUUM must not.
CREATE TABLE fails (id int, d int) WITH (autovacuum_enabled = off);
CREATE INDEX fails_d ON fails USING pbfidx ((100 / d));
INSERT INTO fails SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO fails VALUES (0, 0);
UPDATE fails SET d = 5 WHERE id = 7;
DELETE FROM fails WHERE id = 8;
VACUUM fails;
SELECT pbfidx_resummarize('fails_d') >= 0 AS no_error;
SELECT * FROM verify('fails', '100 / d = 20', '100 / d = 14', '100 / d IS NULL');

-- Nor must a row that is dead to everybody stop a build.
INSERT INTO fails VALUES (101, 101);
CREATE TABLE fails2 (id int, d int) WITH (autovacuum_enabled = off);
INSERT INTO fails2 SELECT i, i FROM generate_series(0, 100) i;
DELETE FROM fails2 WHERE d = 0;
CREATE INDEX fails2_d ON fails2 USING pbfidx ((100 / d));
CREATE INDEX fails2_id ON fails2 USING pbfidx (id) WHERE 100 / d > 5;
SELECT * FROM verify('fails2', '100 / d = 20', '100 / d > 5', '100 / d > 5 AND id = 7');
-- An index that could not be built is left behind, not used and not worked on.
INSERT INTO fails2 VALUES (0, 50);
ALTER TABLE fails2 ADD zero int DEFAULT 0;
CREATE INDEX CONCURRENTLY fails2_zero ON fails2 USING pbfidx ((1 / zero));
SELECT pbfidx_stats('fails2_zero');
SELECT pbfidx_slabs('fails2_zero');
SELECT pbfidx_check('fails2_zero');
SELECT pbfidx_resummarize('fails2_zero');
VACUUM fails2;
DROP INDEX fails2_zero;

-- ---- columns that come, go and change their type ----
CREATE TABLE cols (id int, gone int, v varchar(10), n numeric(10, 2), net cidr, i int, e text, pad char(900) DEFAULT '');
INSERT INTO cols SELECT i, i, 'v' || i, i, ('10.0.' || i || '.0/24')::cidr, i, 'e' || i FROM generate_series(1, 100) i;
CREATE INDEX cols_all ON cols USING pbfidx (v, n, net, i, e) WITH (pages_per_range = 1);
ALTER TABLE cols DROP COLUMN gone;
ALTER TABLE cols ADD COLUMN added int DEFAULT 42;
CREATE INDEX cols_added ON cols USING pbfidx (added) WITH (pages_per_range = 1);
INSERT INTO cols SELECT i, 'v' || i, i, ('10.0.' || i || '.0/24')::cidr, i, 'e' || i, '', i FROM generate_series(101, 120) i;
SELECT * FROM verify('cols', 'added = 42', 'added = 110', 'v = ''v5''', 'n = 5.0', 'net = ''10.0.5.0/24''', 'i = 110');
-- These keep the file of the index.
SELECT relfilenode AS old FROM pg_class WHERE oid = 'cols_all'::regclass \gset
ALTER TABLE cols ALTER v TYPE text, ALTER n TYPE numeric, ALTER net TYPE inet;
SELECT relfilenode = :old AS kept FROM pg_class WHERE oid = 'cols_all'::regclass;
SELECT * FROM verify('cols', 'v = ''v5''', 'n = 5.0', 'net = ''10.0.5.0/24''', 'i = 110', 'v = ''v110'' AND n = 110');
CREATE DOMAIN dtext AS text;
ALTER TABLE cols ALTER v TYPE dtext;
SELECT * FROM verify('cols', 'v = ''v5''', 'n = 5.0', 'net = ''10.0.5.0/24''', 'i = 110', 'v = ''v110'' AND n = 110');
-- These do not.
ALTER TABLE cols ALTER i TYPE bigint, ALTER e TYPE bytea USING convert_to(e, 'UTF8'), ALTER n TYPE float8;
SELECT * FROM verify('cols', 'v = ''v5''', 'n = 5.0', 'net = ''10.0.5.0/24''', 'i = 110', 'i = 110::smallint', 'e = ''\x6535''', 'v = ''v110'' AND n = 110');
ALTER TABLE cols DROP COLUMN v;
SELECT count(*) FROM pg_class WHERE relname IN ('cols_all', 'cols_added');

-- ---- partitions ----
CREATE TABLE part (k int, a int, b text, pad char(600) DEFAULT '') PARTITION BY RANGE (k);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE INDEX part_ab ON part USING pbfidx (a, b);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (100) TO (200);
CREATE TABLE part3 (x int, b text, a int, k int, pad char(600) DEFAULT '');
ALTER TABLE part3 DROP COLUMN x;
INSERT INTO part3 SELECT 'b' || i, i, i FROM generate_series(200, 299) i;
CREATE INDEX part3_ab ON part3 USING pbfidx (a, b);
ALTER TABLE part ATTACH PARTITION part3 FOR VALUES FROM (200) TO (300);
INSERT INTO part SELECT i, i, 'b' || i FROM generate_series(0, 199) i;
SELECT * FROM verify('part', 'a = 5', 'a = 105', 'b = ''b205''', 'a IN (5, 105, 205)', 'a = 205 AND b = ''b205''');
UPDATE part SET k = k + 100 WHERE k IN (5, 6, 107); -- to another partition
SELECT * FROM verify('part', 'a = 5', 'a = 6', 'a = 107', 'b = ''b107''');
ALTER TABLE part DETACH PARTITION part2;
SELECT * FROM verify('part', 'a = 5', 'a = 105', 'a = 205');
SELECT * FROM verify('part2', 'a = 5', 'a = 105', 'a = 205');
REINDEX TABLE part;
SELECT * FROM verify('part', 'a = 5', 'a = 107', 'a = 205');
SELECT pbfidx_check('part_ab');
SELECT pbfidx_stats('part_ab');
SELECT pbfidx_resummarize('part_ab');
SELECT pbfidx_estimate('part', '{a}');
SELECT pbfidx_estimate('pg_views', '{viewname}');
SELECT pbfidx_estimate('part_ab', '{a}');

-- ---- temporary and unlogged tables ----
CREATE TEMP TABLE te (a int, b text, pad char(600) DEFAULT '');
CREATE INDEX te_ab ON te USING pbfidx (a, b) WITH (pages_per_range = 1);
INSERT INTO te SELECT i, 'b' || i FROM generate_series(1, 2000) i;
SELECT * FROM verify('te', 'a = 5', 'b = ''b1999''', 'a = 700 AND b = ''b700''');
UPDATE te SET a = -a WHERE a % 3 = 0;
VACUUM te;
SELECT pbfidx_resummarize('te_ab') > 0 AS rebuilt;
SELECT * FROM verify('te', 'a = -6', 'a = 6', 'b = ''b1999''');
REINDEX INDEX te_ab;
SELECT * FROM verify('te', 'a = -6', 'a = 6', 'b = ''b1999''');
CREATE TEMP TABLE odr (a int) ON COMMIT DELETE ROWS;
CREATE INDEX odr_a ON odr USING pbfidx (a);
CREATE INDEX odr_a_part ON odr USING pbfidx ((a + 1)) WHERE a > 10;
INSERT INTO odr SELECT generate_series(1, 1000);
SELECT * FROM verify('odr', 'a = 5');
BEGIN;
INSERT INTO odr SELECT generate_series(1, 1000);
SELECT * FROM verify('odr', 'a = 5', 'a = 1000', 'a + 1 = 50 AND a > 10', 'a > 10');
COMMIT;
BEGIN;
INSERT INTO odr SELECT generate_series(500, 5000);
SELECT * FROM verify('odr', 'a = 5', 'a = 1000', 'a = 5000', 'a + 1 = 600 AND a > 10', 'a > 10');
COMMIT;
CREATE UNLOGGED TABLE un (a int, pad char(600) DEFAULT '');
CREATE INDEX un_a ON un USING pbfidx (a) WITH (pages_per_range = 1);
INSERT INTO un SELECT generate_series(1, 2000);
SELECT * FROM verify('un', 'a = 5', 'a = 2000');
VACUUM un;
SELECT pbfidx_resummarize('un_a') > 0 AS rebuilt;
ALTER TABLE un SET LOGGED;
SELECT * FROM verify('un', 'a = 5', 'a = 2000');
ALTER TABLE un SET UNLOGGED;
INSERT INTO un SELECT generate_series(2001, 2100);
SELECT * FROM verify('un', 'a = 5', 'a = 2000', 'a = 2100');
-- What it writes is not logged, if it grows or is made anew either.
CREATE FUNCTION logs(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'WAL Records')::int > 0;
END $$;
SELECT logs('INSERT INTO un SELECT generate_series(2101, 9000)') AS inserted, logs('SELECT pbfidx_resummarize(''un_a'')') AS rebuilt;
ALTER TABLE un SET LOGGED;
SELECT logs('INSERT INTO un SELECT generate_series(9001, 9100)') AS inserted, logs('SELECT pbfidx_resummarize(''un_a'')') AS rebuilt;

-- ---- options ----
CREATE TABLE o (a int, pad char(600) DEFAULT '') WITH (autovacuum_enabled = off);
INSERT INTO o SELECT generate_series(1, 1000);
CREATE INDEX ON o USING pbfidx (a) WITH (pages_per_range = -1);
CREATE INDEX ON o USING pbfidx (a) WITH (pages_per_range = 131073);
CREATE INDEX ON o USING pbfidx (a) WITH (false_positive_rate = 0);
CREATE INDEX ON o USING pbfidx (a) WITH (false_positive_rate = 0.6);
CREATE INDEX ON o USING pbfidx (a) WITH (false_positive_rate = 'NaN');
CREATE INDEX ON o USING pbfidx (a) WITH (false_positive_rate = '-1e-5');
CREATE INDEX ON o USING pbfidx (a) WITH (fillfactor = 50);
-- Ranges that cross the heap's end, that are longer than the heap, and the loosest and tightest rates.
CREATE INDEX o_7 ON o USING pbfidx (a) WITH (pages_per_range = 7);
SELECT pages_per_range, ranges = (heap_pages + 6) / 7 AS ranges FROM pbfidx_stats('o_7');
SELECT * FROM verify('o', 'a = 1', 'a = 1000', 'a IN (1, 500, 999, 1001)', 'a IS NULL');
INSERT INTO o SELECT generate_series(1001, 1030);
SELECT * FROM verify('o', 'a = 1', 'a = 1000', 'a = 1001', 'a = 1030');
DROP INDEX o_7;
CREATE INDEX o_big ON o USING pbfidx (a) WITH (pages_per_range = 131072);
SELECT * FROM verify('o', 'a = 1', 'a = 1030', 'a = 2000');
INSERT INTO o SELECT generate_series(1031, 1100);
SELECT pbfidx_resummarize('o_big');
SELECT * FROM verify('o', 'a = 1', 'a = 1100', 'a = 2000');
DROP INDEX o_big;
CREATE INDEX o_half ON o USING pbfidx (a) WITH (false_positive_rate = 0.5, pages_per_range = 1);
SELECT * FROM verify('o', 'a = 1', 'a = 1100', 'a = 2000');
DROP INDEX o_half;
CREATE INDEX o_tight ON o USING pbfidx (a) WITH (false_positive_rate = 1e-9);
SELECT * FROM verify('o', 'a = 1', 'a = 1100', 'a = 2000');
-- A change of options waits for REINDEX.
ALTER INDEX o_tight SET (pages_per_range = 5);
SELECT pages_per_range <> 5 AS unchanged FROM pbfidx_stats('o_tight');
INSERT INTO o SELECT generate_series(1101, 1200);
SELECT * FROM verify('o', 'a = 1', 'a = 1200', 'a = 2000');
REINDEX INDEX o_tight;
SELECT pages_per_range FROM pbfidx_stats('o_tight');
SELECT * FROM verify('o', 'a = 1', 'a = 1200', 'a = 2000');
DROP TABLE o;
-- As many columns as an index can have.
DO $$ BEGIN
	EXECUTE (SELECT format('CREATE TABLE wide (%s)', string_agg('c' || i || ' int', ', ')) FROM generate_series(1, 32) i);
	EXECUTE (SELECT format('CREATE INDEX wide_all ON wide USING pbfidx (%s)', string_agg('c' || i, ', ')) FROM generate_series(1, 32) i);
	EXECUTE (SELECT format('INSERT INTO wide SELECT %s FROM generate_series(1, 3000) i', string_agg('i % ' || i * 30, ', ')) FROM generate_series(1, 32) i);
END $$;
SELECT * FROM verify('wide', 'c1 = 5', 'c32 = 900', 'c16 = 5 AND c17 = 7', 'c1 = 5 AND c32 = 5', 'c7 IS NULL', 'c3 = 1 AND c4 = 1 AND c5 = 1 AND c6 = 1 AND c31 = 1');
REINDEX INDEX wide_all;
SELECT * FROM verify('wide', 'c1 = 5', 'c32 = 900', 'c16 = 5 AND c17 = 7', 'c1 = 5 AND c32 = 5', 'c7 IS NULL', 'c3 = 1 AND c4 = 1 AND c5 = 1 AND c6 = 1 AND c31 = 1');
VACUUM wide;
DROP TABLE wide;

-- ---- a table of more than one region (14,400 ranges), its pages all but empty ----
CREATE TABLE big (id int, a int, b text, pad char(700) DEFAULT '') WITH (fillfactor = 10, autovacuum_enabled = off);
CREATE INDEX big_ab ON big USING pbfidx (a, b) WITH (pages_per_range = 1);
CREATE FUNCTION shape(OUT heap_pages bigint, OUT leaf_slabs bigint, OUT upper_slabs bigint) LANGUAGE sql AS
	'SELECT heap_pages, leaf_slabs, upper_slabs FROM pbfidx_stats(''big_ab'')';
INSERT INTO big SELECT i, i, 'b' || i % 1000 FROM generate_series(1, 7000) i;
VACUUM big;
SELECT * FROM shape();
SELECT * FROM verify('big', 'a = 1', 'a = 7000', 'b = ''b77''', 'a IS NULL', 'a IN (1, 2, 5000, 7000, 7001)', 'a = 77 AND b = ''b77''');
-- From 60 slabs on VACUUM makes the region an upper.
INSERT INTO big SELECT i, i, 'b' || i % 1000 FROM generate_series(7001, 7300) i;
SELECT * FROM shape();
VACUUM big;
SELECT * FROM shape();
SELECT * FROM verify('big', 'a = 1', 'a = 7100', 'a = 7300', 'b = ''b77''', 'a IS NULL', 'a IN (1, 2, 5000, 7100, 7101)', 'a = 77 AND b = ''b77''');
-- The second region gets its upper with its first leaf slab.
INSERT INTO big SELECT i, i, 'b' || i % 1000 FROM generate_series(7301, 14800) i;
SELECT * FROM shape();
SELECT * FROM verify('big', 'a = 1', 'a = 7100', 'a = 14400', 'a = 14401', 'a = 14800', 'b = ''b77''', 'a IN (1, 2, 5000, 7100, 14800, 14801)');
VACUUM big;
SELECT * FROM shape();
SELECT * FROM verify('big', 'a = 1', 'a = 7100', 'a = 14400', 'a = 14401', 'a = 14800', 'b = ''b77''');
-- Every row is changed several times; the slabs fill up and are rebuilt.
UPDATE big SET a = a + 100000;
VACUUM big;
UPDATE big SET a = a + 100000, b = b || 'x';
VACUUM big;
UPDATE big SET a = a + 100000;
VACUUM big;
-- (A VACUUM does a share of the work only.)
VACUUM big;
VACUUM big;
VACUUM big;
SELECT upper_slabs, leaf_slabs > 120 AS leaf_slabs, overfull_slabs FROM pbfidx_stats('big_ab');
SELECT * FROM verify('big', 'a = 1', 'a = 100001', 'a = 300001', 'a = 307100', 'a = 314401', 'a = 314800', 'b = ''b77''', 'b = ''b77x''', 'a IN (300001, 314800, 314801)');
SELECT pbfidx_resummarize('big_ab') > 120 AS rebuilt;
SELECT * FROM verify('big', 'a = 1', 'a = 100001', 'a = 300001', 'a = 307100', 'a = 314401', 'a = 314800', 'b = ''b77x''');
-- The index does not grow without end.
SELECT index_pages AS pages FROM pbfidx_stats('big_ab') \gset
SELECT pbfidx_resummarize('big_ab') > 120 AS rebuilt;
SELECT pbfidx_resummarize('big_ab') > 120 AS rebuilt;
SELECT index_pages <= 2 * :pages AS reused FROM pbfidx_stats('big_ab');
SELECT * FROM verify('big', 'a = 300001', 'a = 307100', 'a = 314401', 'a = 314800', 'b = ''b77x''');
-- The end of the table is cut off and comes again. (VACUUM leaves what autovacuum, at work on another table, could see.)
DELETE FROM big WHERE a > 301000;
DO $$
BEGIN
	FOR i IN 1..600 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid());
		PERFORM pg_sleep(0.1), pg_stat_clear_snapshot();
	END LOOP;
END $$;
VACUUM big;
SELECT heap_pages < 14000 AS shorter FROM pbfidx_stats('big_ab');
SELECT * FROM verify('big', 'a = 300001', 'a = 301000', 'a = 314800', 'b = ''b77x''', 'b IS NULL');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM verify('big', 'a = 300001', 'a = 301000', 'a = 314800', 'b = ''b77x''', 'b IS NULL');
COMMIT;
INSERT INTO big SELECT i, i, 'again' FROM generate_series(1, 15000) i;
SELECT * FROM verify('big', 'a = 300001', 'a = 1', 'a = 15000', 'b = ''b77x''', 'a IN (1, 301000, 15000)');
SELECT count(*) FROM find('big', 'b = ''again''') WHERE used AND rows = 15000 AND missing + extra = 0;
VACUUM big;
SELECT * FROM verify('big', 'a = 300001', 'a = 1', 'a = 15000', 'b = ''b77x''', 'a IN (1, 301000, 15000)');
-- All rows, one by one, by a nested loop.
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM generate_series(1, 15000, 10) i JOIN big ON big.a = i;
SELECT count(*) FROM generate_series(1, 15000, 10) i JOIN big ON big.a = i;
SELECT count(*) FROM generate_series(1, 15000, 100) i JOIN big ON big.a = ANY (ARRAY[i, i + 1, NULL]);
SELECT i, (SELECT count(*) FROM big WHERE a = i AND b = 'again') FROM unnest('{1,NULL,15000,15001,7}'::int[]) i;
RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;

-- Built at once: serial and parallel.
CREATE INDEX big_a ON big USING pbfidx (a) WITH (pages_per_range = 1);
ALTER TABLE big SET (parallel_workers = 2);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX big_a_parallel ON big USING pbfidx (a) WITH (pages_per_range = 1);
CREATE INDEX big_part_parallel ON big USING pbfidx ((a + 0)) WITH (pages_per_range = 1) WHERE b = 'again';
RESET max_parallel_maintenance_workers;
SELECT count(*) AS different FROM (SELECT level, slab, blocks, columns, fill, est_fpr FROM pbfidx_slabs('big_a')
	EXCEPT SELECT level, slab, blocks, columns, fill, est_fpr FROM pbfidx_slabs('big_a_parallel')) d;
SELECT upper_slabs, leaf_slabs > 120 AS leaf_slabs FROM pbfidx_stats('big_a_parallel');
SELECT pbfidx_check('big_a'), pbfidx_check('big_a_parallel'), pbfidx_check('big_part_parallel');
DROP INDEX big_ab, big_a;
SELECT * FROM verify('big', 'a = 300001', 'a = 1', 'a = 15000', 'a IN (1, 301000, 15000)', 'a + 0 = 7 AND b = ''again''', 'b = ''again'' AND a + 0 IS NULL');
INSERT INTO big SELECT i, i, 'again' FROM generate_series(20001, 20100) i;
SELECT * FROM verify('big', 'a = 20001', 'a = 20100', 'a + 0 = 20100 AND b = ''again''');
VACUUM (PARALLEL 2) big;
SELECT * FROM verify('big', 'a = 20001', 'a = 20100', 'a + 0 = 20100 AND b = ''again''');
REINDEX INDEX CONCURRENTLY big_a_parallel;
SELECT * FROM verify('big', 'a = 20001', 'a = 20100', 'a = 1');

-- ---- kinds of plans ----
CREATE INDEX big_id ON big (id);
CREATE INDEX big_b ON big USING pbfidx (b) WITH (pages_per_range = 1);
ANALYZE big;
SELECT indexes, conditions, rows, wrong FROM verify('big', 'a = 20001 AND id = 20001', 'a = 20001 OR id = 5', 'a = 5 OR b = ''b77x''', '(a = 5 OR id = 6) AND b = ''again''', 'a = 5 AND b = ''again'' AND id = 5',
	'a = 5 OR a = 6 OR b = ''nothing''', 'a = 5 OR id BETWEEN 10 AND 20');
SET enable_seqscan = off;
-- Generic plans.
SET plan_cache_mode = force_generic_plan;
PREPARE one(int) AS SELECT count(*) FROM big WHERE a = $1;
PREPARE many(int[]) AS SELECT count(*) FROM big WHERE a = ANY ($1);
PREPARE two(text, int) AS SELECT count(*) FROM big WHERE b = $1 AND a = $2;
EXPLAIN (COSTS OFF) EXECUTE one(1);
EXECUTE one(1);
EXECUTE one(15000);
EXECUTE one(NULL);
EXECUTE many('{1,15000,15001,NULL,1}');
EXECUTE many('{}');
EXECUTE many(NULL);
EXECUTE many('{NULL}');
EXECUTE two('again', 5);
EXECUTE two('b77x', 300077);
EXECUTE two(NULL, 5);
RESET plan_cache_mode;
-- A bitmap that does not fit into memory.
SET work_mem = '64kB';
SELECT count(*), sum(a) FROM big WHERE b = 'again';
SELECT count(*), sum(a) FROM big WHERE b = 'again' AND id = 5;
SELECT count(*), sum(a) FROM big WHERE b = 'again' OR id = 5;
RESET work_mem;
-- A cursor keeps its rows while others come.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a FROM big WHERE b = 'again' AND a < 6;
FETCH 2 FROM c;
INSERT INTO big SELECT i, 3, 'again' FROM generate_series(1, 50) i;
SELECT pbfidx_resummarize('big_b') > 0 AS rebuilt;
FETCH 10 FROM c;
ROLLBACK;
DECLARE held CURSOR WITH HOLD FOR SELECT a FROM big WHERE b = 'again' AND a < 4;
FETCH ALL FROM held;
CLOSE held;
-- Parallel bitmap scans.
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*), sum(a) FROM big WHERE b = 'again';
SELECT count(*), sum(a) FROM big WHERE b = 'again' AND a IN (1, 2, 3, 15000) OR id = 7;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; SET max_parallel_workers_per_gather = 0;
-- Another isolation level.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM big WHERE a = 5;
INSERT INTO big VALUES (5, 5, 'again');
SELECT count(*) FROM big WHERE a = 5;
ROLLBACK;
RESET enable_seqscan;
-- Rows of a plan that locks or changes them.
BEGIN;
SELECT a FROM big WHERE a = 5 FOR UPDATE;
UPDATE big SET a = 6000000 WHERE a = 5 RETURNING a;
SELECT * FROM verify('big', 'a = 6000000', 'a = 5');
DELETE FROM big WHERE a = 6000000 RETURNING a;
SELECT * FROM verify('big', 'a = 6000000', 'a = 5');
ROLLBACK;

-- ---- when it is chosen ----
CREATE FUNCTION uses(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line ~ 'Bitmap Index Scan';
	END LOOP;
	RETURN found;
END $$;
CREATE TABLE chosen AS SELECT i AS id, i AS u, i % 3 AS few, i % 5000 AS many FROM generate_series(1, 200000) i;
CREATE INDEX chosen_all ON chosen USING pbfidx (u, few, many);
CREATE TABLE tiny AS SELECT i AS u FROM generate_series(1, 50) i;
CREATE INDEX ON tiny USING pbfidx (u);
VACUUM ANALYZE chosen, tiny;
SELECT uses('SELECT * FROM chosen WHERE u = 77') AS one, uses('SELECT * FROM chosen WHERE many = 77') AS many, uses('SELECT * FROM chosen WHERE u IN (1, 2, 3)') AS in_list,
	uses('SELECT * FROM chosen WHERE many = 77 AND few = 1') AS two, uses('SELECT * FROM chosen WHERE u IS NULL') AS is_null;
SELECT uses('SELECT * FROM tiny WHERE u = 7') AS tiny, uses('SELECT * FROM chosen WHERE few = 1') AS few, uses('SELECT * FROM chosen WHERE u IS NOT NULL') AS not_null,
	uses('SELECT * FROM chosen WHERE u > 7') AS greater, uses('SELECT * FROM chosen') AS no_condition;
SET pbf.enable_index = off;
SELECT uses('SELECT * FROM chosen WHERE u = 77') AS switched_off;
SET enable_seqscan = off;
SELECT uses('SELECT * FROM chosen WHERE u = 77') AS switched_off;
RESET enable_seqscan;
RESET pbf.enable_index;
CREATE INDEX chosen_btree ON chosen (u);
SELECT uses('SELECT * FROM chosen WHERE u = 77') AS btree_is_better;
DROP INDEX chosen_btree;
-- What the rows cost that the executor gets: elements that all, some and few rows have.
CREATE TABLE tagged AS SELECT i AS id, ARRAY['all', 's' || i % 3, 'f' || i % 1000] AS tags FROM generate_series(1, 100000) i;
CREATE INDEX ON tagged USING pbfidx (tags);
VACUUM ANALYZE tagged;
SELECT tag, uses(format('SELECT * FROM tagged WHERE tags @> ARRAY[%L]', tag)) FROM unnest('{all,s1,f5}'::text[]) tag;
-- A range of a partial index is read as a whole, even where less than a row is expected: each page counts.
CREATE INDEX chosen_some ON chosen USING pbfidx (many) WITH (pages_per_range = 32) WHERE few = 1 AND u % 100 = 1;
ANALYZE chosen;
CREATE FUNCTION planned(query text, what text DEFAULT 'Total Cost') RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->what;
END $$;
DROP INDEX chosen_all;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM chosen WHERE many = 77 AND few = 1 AND u % 100 = 1;
SELECT planned('SELECT * FROM chosen WHERE many = 77 AND few = 1 AND u % 100 = 1') > 32 AS range_counts;
RESET enable_seqscan;
DROP INDEX chosen_some;
CREATE INDEX chosen_all ON chosen USING pbfidx (u, few, many);
-- An array without elements; a partial index whose condition is all there is; values that come side by side.
CREATE TABLE placed AS SELECT i AS id, i / 20000 AS tenant, i % 10 AS turn, hashint4(i) & 511 AS a, hashint4(i + 1000000) & 511 AS b FROM generate_series(0, 199999) i;
CREATE INDEX placed_all ON placed USING pbfidx (tenant, turn, a, b);
CREATE INDEX placed_some ON placed USING pbfidx (id) WHERE a = 7 AND b = 9;
VACUUM ANALYZE placed;
SELECT uses('SELECT * FROM placed WHERE a = ANY (''{}'')') AS empty_array, uses('SELECT * FROM placed WHERE tenant = 3') AS side_by_side,
	uses('SELECT * FROM placed WHERE turn = 3') AS in_turn, uses('SELECT * FROM placed WHERE tenant = 3 AND turn = 3') AS "both";
DROP INDEX placed_all;
SELECT uses('SELECT * FROM placed WHERE a = 7 AND b = 9') AS condition, uses('SELECT * FROM placed WHERE a = 7 AND b = 9 AND id IS NOT NULL') AS not_null,
	uses('SELECT * FROM placed WHERE a = 7') AS less;
DROP INDEX placed_some;
-- Pages where one row meets one condition and another row the other one are read as well: the planner expects as many.
CREATE INDEX placed_all ON placed USING pbfidx (tenant, turn, a, b);
CREATE FUNCTION pages(query text, OUT expected float8, OUT actual float8) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, ANALYZE) ' || query INTO plan;
	expected := plan->0->'Plan'->'Plans'->0->'Plan Rows';
	actual := coalesce((plan->0->'Plan'->>'Lossy Heap Blocks')::int, 0) + coalesce((plan->0->'Plan'->>'Exact Heap Blocks')::int, 0);
END $$;
SET pbf.filter_rows = off;
SET enable_seqscan = off;
SELECT condition, CASE WHEN expected BETWEEN 0.5 * actual - 2 AND 2 * actual + 2 THEN 'near' ELSE expected || ' instead of ' || actual END AS pages FROM unnest(ARRAY[
	'a = 7', 'a = 7 AND b = 9', 'a IN (1, 2) AND b IN (3, 4)', 'tenant = 3', 'tenant = 3 AND a = 7', 'tenant = 3 AND a = 7 AND b = 9', 'tenant IN (2, 4)']) condition,
	pages('SELECT * FROM placed WHERE ' || condition);
-- One condition more is not much dearer: the slabs in which the rarer one cannot be met are not asked for the other.
SELECT planned('SELECT * FROM placed WHERE a = -1 AND turn = 3 AND tenant = 2') < 3 * planned('SELECT * FROM placed WHERE tenant = 2 AND a = -1') AS one_more;
RESET enable_seqscan;
RESET pbf.filter_rows;
-- Rows with NULL are not where the order of the others says. Where pages have no rows any more each counts all the same.
CREATE TABLE shipped WITH (autovacuum_enabled = off) AS SELECT i AS id, CASE WHEN hashint4(i) % 100 <> 0 THEN i END AS at, repeat('x', 400) AS pad FROM generate_series(1, 50000) i;
CREATE INDEX shipped_at ON shipped USING pbfidx (at);
VACUUM ANALYZE shipped;
SET enable_seqscan = off;
SELECT expected BETWEEN 0.5 * actual AND 2 * actual AS nulls FROM pages('SELECT * FROM shipped WHERE at IS NULL');
RESET enable_seqscan;
DELETE FROM shipped WHERE id % 80 <> 7;
VACUUM ANALYZE shipped;
SELECT uses('SELECT * FROM shipped WHERE at IS NOT NULL') AS all_pages, uses('SELECT * FROM shipped WHERE at = 647') AS one_page;
DROP TABLE shipped;
-- What excludes nothing is no help to a B-tree that does.
CREATE TABLE wide WITH (autovacuum_enabled = off) AS SELECT i AS id, hashint4(i) & 255 AS u, repeat('x', 700) AS pad FROM generate_series(1, 30000) i;
CREATE INDEX wide_u ON wide (u);
CREATE INDEX wide_pad ON wide USING pbfidx (pad);
VACUUM ANALYZE wide;
EXPLAIN (COSTS OFF) SELECT * FROM wide WHERE u = 7 AND pad IS NOT NULL;
-- Switched off, an index is not used, but the statistics of its expressions are; it is not even opened.
CREATE INDEX wide_expr ON wide USING pbfidx ((u % 4));
ANALYZE wide;
SELECT abs(planned('SELECT * FROM wide WHERE u % 4 = 1', 'Plan Rows') / 7500 - 1) < 0.2 AS on;
SET pbf.enable_index = off;
SET enable_seqscan = off;
SELECT abs(planned('SELECT * FROM wide WHERE u % 4 = 1', 'Plan Rows') / 7500 - 1) < 0.2 AS off, uses('SELECT * FROM wide WHERE u % 4 = 1') AS used;
RESET enable_seqscan;
RESET pbf.enable_index;
DROP TABLE wide;
-- One row of a small table: the B-tree's.
CREATE TABLE small AS SELECT i AS u, repeat('x', 100) AS x FROM generate_series(1, 5000) i;
CREATE INDEX ON small USING pbfidx (u);
CREATE INDEX ON small (u);
VACUUM ANALYZE small;
SELECT uses('SELECT * FROM small WHERE u = 77') AS small;
DROP TABLE small, placed;

-- Each scan is counted.
SELECT pg_stat_force_next_flush();
SELECT idx_scan AS before FROM pg_stat_user_indexes WHERE indexrelname = 'chosen_all' \gset
SELECT count(*) FROM chosen WHERE u = 77;
SELECT count(*) FROM chosen WHERE u = 78;
SELECT pg_stat_force_next_flush();
SELECT idx_scan - :before AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'chosen_all';

-- ---- functions: arguments and rights ----
CREATE INDEX chosen_bt ON chosen (many);
CREATE VIEW v AS SELECT 1;
SELECT pbfidx_stats('chosen');
SELECT pbfidx_stats('chosen_bt');
SELECT pbfidx_stats('v');
SELECT pbfidx_stats(0);
SELECT * FROM pbfidx_slabs('chosen');
SELECT * FROM pbfidx_slabs('chosen_bt');
SELECT pbfidx_check('chosen');
SELECT pbfidx_check('chosen_bt');
SELECT pbfidx_check('v');
SELECT pbfidx_check(4294967295);
SELECT pbfidx_resummarize('chosen');
SELECT pbfidx_resummarize('chosen_bt');
SELECT pbfidx_resummarize('v');
SELECT pbfidx_resummarize('chosen_all', -1);
SELECT pbfidx_resummarize('chosen_all', 4294967295);
SELECT pbfidx_resummarize('chosen_all', 0, 4294967295);
SELECT pbfidx_resummarize('chosen_all', 5, 4);
SELECT pbfidx_resummarize('chosen_all', 4294967294);
SELECT pbfidx_resummarize('chosen_all', 4294967294, 4294967294);
SELECT pbfidx_resummarize('chosen_all', 0, -1);
SELECT (SELECT count(*) FROM pbfidx_stats(NULL)) AS stats, pbfidx_check(NULL) IS NULL AS check, pbfidx_resummarize(NULL) IS NULL AS resummarize;
SELECT s.heap_pages = pg_relation_size('chosen') / current_setting('block_size')::int AS heap, s.index_pages = pg_relation_size('chosen_all') / current_setting('block_size')::int AS index,
	s.ranges = s.heap_pages AS ranges, s.leaf_slabs = ceil(s.heap_pages / 120.0) AS leaf_slabs, s.upper_slabs, s.overfull_slabs,
	s.bits_per_key BETWEEN 15 AND 45 AS bits, s.est_false_positive_rate BETWEEN 0 AND 1e-3 AS rate, s.est_false_pages < 10 AS pages FROM pbfidx_stats('chosen_all') s;
SELECT count(*) = (SELECT leaf_slabs FROM pbfidx_stats('chosen_all')) AS all_leaves, min(columns) > 0 AS used, max(columns) AS columns, min(level) AS min, max(level) AS max
FROM pbfidx_slabs('chosen_all');
CREATE ROLE pbfidx_nobody;
CREATE ROLE pbfidx_reader IN ROLE pg_stat_scan_tables;
GRANT USAGE ON SCHEMA index_paths TO pbfidx_nobody, pbfidx_reader;
SET ROLE pbfidx_nobody;
SELECT pbfidx_stats('chosen_all');
SELECT pbfidx_slabs('chosen_all');
SELECT pbfidx_check('chosen_all');
SELECT pbfidx_resummarize('chosen_all');
SET ROLE pbfidx_reader;
SELECT heap_pages > 0 AS allowed FROM pbfidx_stats('chosen_all');
SELECT count(*) > 0 AS allowed FROM pbfidx_slabs('chosen_all');
SELECT pbfidx_check('chosen_all');
SELECT pbfidx_resummarize('chosen_all');
RESET ROLE;
-- Expressions run with the rights of the table's owner and a safe search path, whoever asks.
GRANT CREATE ON SCHEMA index_paths TO pbfidx_nobody;
SET ROLE pbfidx_nobody;
CREATE TABLE theirs (a int);
INSERT INTO theirs VALUES (1);
CREATE FUNCTION who(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE NOTICE 'as %, path %', current_user, current_setting('search_path');
	RETURN 'x';
END $$;
CREATE INDEX theirs_a ON theirs USING pbfidx (who(a));
RESET ROLE;
SET client_min_messages = notice;
SELECT pbfidx_check('theirs_a');
SELECT pbfidx_resummarize('theirs_a');
SET client_min_messages = warning;
-- What does not find its functions there is told why.
CREATE FUNCTION inner_one(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''x''::text';
CREATE FUNCTION outer_one(a int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN inner_one(a); END';
CREATE TABLE ours (a int);
CREATE INDEX ours_a ON ours USING pbfidx (outer_one(a));
INSERT INTO ours VALUES (1);
DO $$
DECLARE
	context text;
BEGIN
	PERFORM pbfidx_check('ours_a');
EXCEPTION WHEN undefined_function THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RAISE WARNING '%: %', SQLERRM, substring(context, 'functions of index[^\n]*');
END $$;
-- A function of the index that rebuilds it: the inner rebuild is done, the outer one must not go on.
CREATE FUNCTION rebuilds(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('test.rebuild', true) = 'on' THEN
		PERFORM set_config('test.rebuild', 'off', false), public.pbfidx_resummarize('index_paths.ours_r');
	END IF;
	RETURN a;
END $$;
CREATE INDEX ours_r ON ours USING pbfidx (rebuilds(a));
SET test.rebuild = on;
SELECT pbfidx_resummarize('ours_r');
SET test.rebuild = on;
SET client_min_messages = error;
VACUUM ours;
SET client_min_messages = warning;
RESET test.rebuild;
SELECT pbfidx_check('ours_r'), pbfidx_resummarize('ours_r');
-- Columns have the names of today.
CREATE TABLE renamed (a int, b text, "C d" int);
CREATE INDEX renamed_idx ON renamed USING pbfidx (a, lower(b), "C d", a);
ALTER TABLE renamed RENAME a TO aa;
SELECT index_columns FROM pbfidx_stats('renamed_idx');
-- Nondeterministic collations, where there is ICU.
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS icu \gset
\if :icu
CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE nd (a text COLLATE insensitive, b text, c text[] COLLATE insensitive);
DO $$ BEGIN
	CREATE INDEX ON nd USING pbfidx (a);
	RAISE EXCEPTION 'not refused';
EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
DO $$ BEGIN
	CREATE INDEX ON nd USING pbfidx (c);
	RAISE EXCEPTION 'not refused';
EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
DO $$ BEGIN
	CREATE INDEX ON nd USING pbfidx (b COLLATE insensitive);
	RAISE EXCEPTION 'not refused';
EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
-- The condition's collation decides whether the index is used.
DO $$ BEGIN
	CREATE INDEX ON nd USING pbfidx (b);
	INSERT INTO nd (b) VALUES ('abc'), ('ABC');
	IF (SELECT f.used OR f.rows <> 2 OR f.missing <> 0 FROM find('nd', 'b = ''Abc'' COLLATE insensitive') f) THEN RAISE EXCEPTION 'wrong'; END IF;
	-- Inside ranges equality follows their own collation.
	CREATE TYPE ndrange AS RANGE (subtype = text, collation = insensitive);
	CREATE TABLE nd2 (r ndrange);
	INSERT INTO nd2 SELECT ndrange('abc', 'abd');
	BEGIN
		CREATE INDEX ON nd2 USING pbfidx (r);
	EXCEPTION WHEN feature_not_supported THEN NULL; END;
	IF (SELECT f.rows <> 1 OR f.missing <> 0 FROM find('nd2', 'r = ndrange(''ABC'', ''ABD'')') f) THEN RAISE EXCEPTION 'range missed'; END IF;
END $$;
\endif

DROP SCHEMA index_paths CASCADE;
DROP ROLE pbfidx_nobody, pbfidx_reader;

-- ---- VACUUM is not kept from its work by an expression that fails without a search_path ----

CREATE TABLE unqualified(i int) WITH (autovacuum_enabled = off, fillfactor = 10);
CREATE FUNCTION unqualified_inner(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE FUNCTION unqualified_outer(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.unqualified_inner($1); END';
INSERT INTO unqualified SELECT i FROM generate_series(1, 600) i;
CREATE INDEX unqualified_i ON unqualified USING pbfidx (unqualified_outer(i)) WITH (pages_per_range = 1);
ALTER TABLE unqualified SET (fillfactor = 100);
-- (From 17 on CREATE INDEX, too, runs under a search_path of its own, so it is made unqualified afterwards.)
CREATE OR REPLACE FUNCTION unqualified_outer(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF to_regprocedure('unqualified_inner(int)') IS NULL THEN
		RAISE EXCEPTION 'no such function: unqualified_inner';
	END IF;
	RETURN public.unqualified_inner($1);
END $$;
INSERT INTO unqualified SELECT i FROM generate_series(1, 100000) i;
SELECT overfull_slabs > 0 AS overfull FROM pbfidx_stats('unqualified_i');
VACUUM unqualified;
SELECT overfull_slabs > 0 AS overfull FROM pbfidx_stats('unqualified_i');
ALTER FUNCTION unqualified_outer SET search_path = public;
VACUUM unqualified;
SELECT overfull_slabs FROM pbfidx_stats('unqualified_i');
SELECT pbfidx_check('unqualified_i');
DROP TABLE unqualified;
DROP FUNCTION unqualified_outer, unqualified_inner;

-- What a build says of the table's rows, the same as a B-tree's: also of those of the same transaction, before and after a rewrite.
-- (0 would have the planner take the table for empty.)
BEGIN;
CREATE TABLE filled AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE TABLE filled_too AS SELECT * FROM filled;
CREATE VIEW rows_are_told AS SELECT f.reltuples = t.reltuples AS as_btree FROM pg_class f, pg_class t WHERE f.oid = 'filled'::regclass AND t.oid = 'filled_too'::regclass;
CREATE INDEX filled_k ON filled USING pbfidx (k);
CREATE INDEX filled_too_k ON filled_too (k);
SELECT * FROM rows_are_told;
DELETE FROM filled WHERE k <= 1000;
DELETE FROM filled_too WHERE k <= 1000;
REINDEX INDEX filled_k;
REINDEX INDEX filled_too_k;
SELECT * FROM rows_are_told;
COMMIT;
ALTER TABLE filled ALTER k TYPE bigint;
ALTER TABLE filled_too ALTER k TYPE bigint;
SELECT * FROM rows_are_told;
BEGIN;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_maintenance_workers = 2;
INSERT INTO filled SELECT i FROM generate_series(20001, 21000) i;
INSERT INTO filled_too SELECT i FROM generate_series(20001, 21000) i;
SAVEPOINT s;
INSERT INTO filled SELECT i FROM generate_series(30001, 32000) i;
INSERT INTO filled_too SELECT i FROM generate_series(30001, 32000) i;
ROLLBACK TO s;
REINDEX INDEX filled_k;
REINDEX INDEX filled_too_k;
SELECT * FROM rows_are_told;
COMMIT;
SELECT pbfidx_check('filled_k');
DROP VIEW rows_are_told;
DROP TABLE filled, filled_too;
-- ---- nor by one whose SQL function cannot be put in its place without a search_path ----
CREATE TABLE inlined(i int) WITH (autovacuum_enabled = off, fillfactor = 10);
CREATE FUNCTION inlined_inner(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
CREATE FUNCTION inlined_outer(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT public.inlined_inner($1)';
INSERT INTO inlined SELECT i FROM generate_series(1, 600) i;
CREATE INDEX inlined_i ON inlined USING pbfidx (inlined_outer(i)) WITH (pages_per_range = 1);
CREATE OR REPLACE FUNCTION inlined_outer(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT inlined_inner($1)';
\c -
SET search_path = '';
\set VERBOSITY terse
VACUUM public.inlined;
RESET search_path;
DROP TABLE inlined;
DROP FUNCTION inlined_outer, inlined_inner;

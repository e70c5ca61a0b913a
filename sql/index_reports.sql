--
-- Kinds of faults that users of similar software reported and that no other file has; test/README.md has the list.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA index_reports;
SET search_path = index_reports, public;
-- Rows of a condition that the index and the sequential scan do not agree on; how many there are; whether the index was used.
CREATE FUNCTION differ(condition text, OUT used bool, OUT rows bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	scanned tid[];
	found tid[];
BEGIN
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	EXECUTE format('SELECT array_agg(ctid) FROM t WHERE %s', condition) INTO scanned;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	used = false;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT ctid FROM t WHERE %s', condition) LOOP
		used = used OR line ~ 'Bitmap Index Scan on t_(k|part)';
	END LOOP;
	EXECUTE format('SELECT array_agg(ctid) FROM t WHERE %s', condition) INTO found;
	rows = coalesce(cardinality(scanned), 0);
	SELECT count(*) INTO wrong FROM unnest(scanned) s FULL JOIN unnest(found) f ON s = f WHERE s IS NULL OR f IS NULL;
END $$;
CREATE TABLE t (id int, a int, b text, c float4, d numeric, pad text DEFAULT repeat('x', 200)) WITH (fillfactor = 50);
INSERT INTO t SELECT i, nullif(i % 500, 7), nullif('w' || i % 300, 'w9'), i % 100, i % 50 FROM generate_series(1, 6000) i;
CREATE INDEX t_k ON t USING pbfidx (a, b, c, d) WITH (pages_per_range = 1);
CREATE INDEX t_id ON t (id);
CREATE INDEX t_a_btree ON t (a);

-- Together with other indexes, and with itself, under AND and OR; negated; beside conditions that it cannot serve.
CREATE TABLE answer AS SELECT c, d.* FROM unnest(ARRAY[
	'a = 5 OR id = 17', 'a = 5 OR b = ''w6''', '(a = 5 OR b = ''w6'') AND (c = 5 OR d = 6)', 'b = ''w5'' AND id BETWEEN 100 AND 4000',
	'b = ''w5'' AND a > 100', 'a IN (1, 2) OR b IN (''w3'', NULL) OR id IN (4, 5)', 'a = 5 AND b <> ''w5''', 'NOT (a = 5) AND b = ''w5''',
	'a IS NULL AND b = ''w7''', 'a IS NOT NULL AND b IS NULL', 'a IS NULL OR b IS NULL', 'a = 5 AND b IS NOT DISTINCT FROM ''w5''', 'a = NULL',
	'a = ANY (NULL::int[])', 'a = ANY (''{NULL}'')', 'a = ANY (''{}'') OR b = ''w1''', 'a = ANY (ARRAY(SELECT a FROM t WHERE id < 5))', 'a <> ALL (''{1,2}'') AND b = ''w2''',
	-- Constants of other types: 5.0 makes numerics, and float8 of a float4 column.
	'a = 5::bigint AND b = ''w5''::varchar', 'c = 5::float8', 'd = 5', 'd = 5.000', 'b = ''w5''::name', 'a = 5::smallint', 'd = 4.999999999999999999999',
	'c = 16777217::float8', 'a = 9223372036854775807']) WITH ORDINALITY u (c, n), differ(c) d ORDER BY n;
-- (Which plans take the index depends on the version.)
SELECT c, rows, wrong FROM answer;
SELECT count(*) FILTER (WHERE used) > 8 AS used FROM answer;

-- A column that is asked for twice, with values that agree and that do not.
SELECT c, rows, wrong FROM unnest(ARRAY['a = 5 AND a = 5', 'a = 5 AND a = 6', 'a = 5 AND a IN (5, 6)', 'a = 5 AND a IS NULL', 'a = 5 AND a IS NOT NULL']) c, differ(c) d;

-- The last page and the last row, also with a partial index; pages without any row of the index at the end and in between.
CREATE INDEX t_part ON t USING pbfidx (id) WITH (pages_per_range = 1) WHERE id BETWEEN 1000 AND 2000 OR id = 6000;
DROP INDEX t_id;
SELECT c, d.* FROM unnest(ARRAY['id = 6000 AND (id BETWEEN 1000 AND 2000 OR id = 6000)', 'id = 1000 AND (id BETWEEN 1000 AND 2000 OR id = 6000)',
	'id BETWEEN 1000 AND 2000 OR id = 6000']) c, differ(c) d;
INSERT INTO t (id, a) SELECT i, 1 FROM generate_series(6001, 8000) i;
INSERT INTO t (id, a) VALUES (6000, 1), (1500, 2);
SELECT c, d.* FROM unnest(ARRAY['id = 6000 AND (id BETWEEN 1000 AND 2000 OR id = 6000)', 'id = 1500 AND (id BETWEEN 1000 AND 2000 OR id = 6000)']) c, differ(c) d;

SELECT pbfidx_check('t_k'), pbfidx_check('t_part');

-- A scan that is begun and never run, and one that is rescanned without having been run.
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
SELECT count(*) FROM t WHERE false AND a = 5;
SELECT count(*) FROM (SELECT 1 AS x WHERE false) s, LATERAL (SELECT * FROM t WHERE a = s.x AND b = 'w' || s.x OFFSET 0) q;
SELECT s, (SELECT count(*) FROM t WHERE a = s AND b = 'w' || s) FROM unnest(ARRAY[1, NULL, 2, 1]) s;
SELECT count(*) FROM t x LEFT JOIN t y ON x.id < 0 AND y.a = x.a WHERE x.id < 20;
-- Any of a column of arrays: with NULLs, without elements, NULL, out of line.
CREATE TEMP TABLE lists (n int, l text[]);
INSERT INTO lists VALUES (1, '{w5,w7,NULL}'), (2, '{}'), (3, NULL), (4, '{NULL}'), (5, '{w5,w5,w6000}'), (6, (SELECT array_agg('w' || i * 7) FROM generate_series(1, 20000) i)), (7, '{-1}');
CREATE FUNCTION index_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index' THEN
			RETURN NEXT trim(line, ' ->');
		END IF;
	END LOOP;
END $$;
SELECT index_lines('SELECT n, t.id FROM lists, t WHERE b = ANY (l)');
CREATE TEMP TABLE by_index AS SELECT n, t.id FROM lists, t WHERE b = ANY (l);
SET enable_bitmapscan = off; SET enable_seqscan = on;
SELECT count(*) > 20 AS rows, count(*) = (SELECT count(*) FROM by_index) AS as_many, count(*) = (SELECT count(*) FROM by_index JOIN lists USING (n) JOIN t USING (id) WHERE b = ANY (l)) AS same
FROM lists, t WHERE b = ANY (l);
RESET enable_bitmapscan;
RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;

-- Another table access method, be it only another name for the server's own: refused, nothing is read.
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE too (k int) USING heap_too;
INSERT INTO too VALUES (1);
CREATE INDEX ON too USING pbfidx (k);
SELECT pbfidx_estimate('too', '{k}');
-- Nor is there an index on a generated column that is not stored (18 and newer).
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE 'CREATE TABLE virtual (a int, b int GENERATED ALWAYS AS (a) VIRTUAL)';
		PERFORM pbfidx_estimate('virtual', '{b}');
		RAISE 'not refused';
	END IF;
EXCEPTION WHEN feature_not_supported THEN
END $$;
DROP TABLE too;
DROP ACCESS METHOD heap_too;

-- What an index cannot be: unique, ordered, included columns, an exclusion constraint, clustered by.
CREATE UNIQUE INDEX ON t USING pbfidx (a);
\set VERBOSITY sqlstate
CREATE INDEX ON t USING pbfidx (a DESC);
\set VERBOSITY default
\echo :LAST_ERROR_MESSAGE
CREATE INDEX ON t USING pbfidx (a) INCLUDE (b);
ALTER TABLE t ADD EXCLUDE USING pbfidx (a WITH =);
CLUSTER t USING t_k;

DROP TABLE t, answer;
DROP FUNCTION differ;

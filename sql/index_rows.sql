--
-- pbfidx: rows of the pages that an index scan has found are looked at before they are returned, for arrays of values, several
-- conditions and array columns. find() compares with the sequential scan twice, with and without that.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA index_rows;
SET search_path = index_rows, public;
SET max_parallel_workers_per_gather = 0;

-- find, finds: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

-- Heap pages as EXPLAIN tells them, and rows that the executor compared in vain.
CREATE FUNCTION blocks(cond text, tab text DEFAULT 't') RETURNS TABLE (exact bool, lossy bool, removed bool) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, FORMAT json, TIMING off) SELECT FROM %s WHERE %s', tab, cond) INTO plan;
	plan := plan #> '{0,Plan}';
	RETURN QUERY SELECT (plan ->> 'Exact Heap Blocks')::int > 0, (plan ->> 'Lossy Heap Blocks')::int > 0, (plan ->> 'Rows Removed by Index Recheck')::int > 0;
END $$;

-- ---- when rows are looked at ----
CREATE TABLE t (id int, a int, b text, tags text[], doc jsonb) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, i / 2, 'b' || i % 500, ARRAY['t' || i % 700, 'u' || i % 11], jsonb_build_object('k', i % 300) FROM generate_series(1, 20000) i;
INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL), (20001, NULL, 'b1', '{}', '{}'), (20002, 1, NULL, '{NULL}', '{"k": null}');
CREATE INDEX t_all ON t USING pbfidx (id, a, b, tags, doc) WITH (pages_per_range = 1);
VACUUM ANALYZE t;
SELECT c AS cond, x.* FROM unnest(ARRAY['id = 77', 'id IN (77, 15000)', 'a = 9 AND b = ''b18''', 'tags @> ''{t5}''', 'tags && ''{t5,t6}''', 'doc @> ''{"k": 5}''', 'doc @> ''{"k": 5}'' AND id = 5', 'a IS NULL AND b = ''b1''', 'id = 77 AND a IS NOT NULL',
	'id IN (-1, -2)', 'id = ANY (''{77}'')', 'id = ANY (''{77,77}'')', 'id = ANY (''{NULL,77}'')']) c, blocks(c) x;
SELECT * FROM finds('t', 'id = ANY (''{77}'')', 'id = ANY (''{77,77}'')', 'id = ANY (''{NULL,77}'')', 'id = ANY (''{NULL,NULL}'')', 'a = ANY (''{9,9,9}'') AND b = ANY (''{NULL,b18,b18,b17}'')');
-- Not when that was forbidden, nor for an expression, nor for more pages than a query for the first rows could want.
SET pbf.filter_rows = off;
SELECT * FROM blocks('id IN (77, 15000)');
RESET pbf.filter_rows;
CREATE INDEX t_half ON t USING pbfidx ((id / 2), (a + 1));
SELECT * FROM blocks('id / 2 IN (5, 6)');
SELECT * FROM blocks('id / 2 = 5 AND a + 1 = 6');
DROP INDEX t_half;
CREATE TABLE wide (a int, b int, t text, pad char(7000) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE wide ALTER pad SET STORAGE PLAIN;
INSERT INTO wide SELECT (i % 42 > 0)::int, i, (i % 42 > 0)::int FROM generate_series(1, 4200) i;
CREATE INDEX wide_abt ON wide USING pbfidx (a, b, t);
ANALYZE wide;
SELECT relpages FROM pg_class WHERE oid = 'wide'::regclass;
SELECT c AS cond, x.* FROM unnest(ARRAY['a = 1', 'a = 0', 'b = 7', 't = ''1''', 't = ''0''', 'a IN (1, 7)', 'b IN (1, 7)', 'a = 1 AND b = 1999']) c, blocks(c, 'wide') x;
-- The server compares each row with what is there several times as well.
SELECT n, x.* FROM unnest('{16,17}'::int[]) n, blocks(format('a = ANY (array_fill(1, ARRAY[%s]))', n), 'wide') x;
SELECT * FROM finds('wide', 'a = 1', 'a = 0', 'b = 7', 't = ''1''', 't = ''0''', 'a = ANY (array_fill(1, ARRAY[17]))', 'a IN (1, 7)', 'b IN (1, 7)', 'a = 1 AND b = 1999', 'a = 0 AND b = 1999');
DROP TABLE wide;
-- In partial indexes the server asks the condition of the index. Not with hash functions of users.
CREATE TABLE half (a int, ok bool) WITH (autovacuum_enabled = off);
INSERT INTO half SELECT i, i % 2 = 0 FROM generate_series(1, 2000) i;
CREATE INDEX half_a ON half USING pbfidx (a) WHERE ok;
SELECT * FROM blocks('a IN (7, 8) AND ok', 'half');
SELECT * FROM finds('half', 'a IN (7, 8) AND ok', 'a = ANY (ARRAY(SELECT generate_series(1, 3000, 7))) AND ok', 'a = ANY (ARRAY(SELECT generate_series(1, 3000, 7)))', 'ok');
CREATE FUNCTION picky(x text, seed bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE plpgsql AS $$ BEGIN
	IF x = 'bad' THEN RAISE 'no hash for %', x; END IF;
	RETURN pbf_hash(x);
END $$;
CREATE OPERATOR CLASS picky_ops FOR TYPE text USING pbfidx AS OPERATOR 1 =, FUNCTION 1 picky (text, bigint);
CREATE TABLE picky (x text, n int) WITH (autovacuum_enabled = off);
CREATE INDEX picky_x ON picky USING pbfidx (x picky_ops, n);
INSERT INTO picky SELECT 'good' || i, i FROM generate_series(1, 100) i;
INSERT INTO picky VALUES ('bad', 1);
SELECT * FROM blocks('x IN (''good1'', ''good2'')', 'picky');
SELECT * FROM finds('picky', 'x IN (''good1'', ''good2'')', 'x = ''good1'' AND n = 1');

-- ---- right answers ----
SELECT * FROM finds('t', 'id IN (1, 2, 3, 20000, 20001, -5)', 'id = ANY (ARRAY[5, NULL, 6])', 'id = ANY (''{}''::int[])', 'id = ANY (ARRAY[5, 9000000000])', 'a IN (1, 2) AND b IN (''b2'', ''b3'', ''b1'')',
	'a IS NULL AND b = ''b1''', 'a IS NULL AND b IS NULL', 'a = 1 AND b IS NULL', 'id IS NULL AND tags IS NULL', 'a IN (1, 2) AND a IN (2, 3)', 'a = 5 AND a = a + 1',
	'tags @> ''{t5,u5}''', 'tags && ''{t5,u3}'' AND id IN (5, 6, 7)', 'tags = ''{}''', 'tags @> ''{}'' AND id = 5', 'tags <@ ''{t5,u5,u3}''', 'tags = ''{t5,u5}''', 'tags && ''{}''',
	'tags @> ARRAY[NULL::text]', 'tags = ''{NULL}''', 'tags IS NULL AND a IS NULL', 'tags IS NULL', 'doc @> ''{"k": 5}'' AND b IN (''b5'', ''b305'')', 'doc @> ''{"k": null}'' AND id IN (20002, 20001)',
	'id IN (1, 2) OR a IN (77, 78)', 'id IN (1, 2) AND (a = 0 OR b = ''b2'')');
-- Every row by an array in which it is one of many.
SELECT count(*) AS wrong FROM generate_series(1, 20000, 500) i, find('t', format('id = ANY (ARRAY(SELECT generate_series(%s, %s)))', i, i + 49)) f WHERE NOT used OR rows < 49 OR missing + extra > 0;
PREPARE many (int[], text[]) AS SELECT count(*), count(DISTINCT id) FROM t WHERE id = ANY ($1) AND b = ANY ($2);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SELECT array_agg(i) AS ids, array_agg(DISTINCT 'b' || i % 500 / 5 * 5) AS bs FROM generate_series(1, 20000, 3) i \gset
EXECUTE many (:'ids', :'bs');
SET pbf.filter_rows = off;
EXECUTE many (:'ids', :'bs');
RESET pbf.filter_rows;
EXECUTE many (NULL, '{b1}');
EXECUTE many ('{}', '{b1}');
-- In a nested loop, where the same scan is begun again, and with another bitmap.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(t.id) FROM (SELECT i, 'b' || i % 500 AS b FROM generate_series(1, 300) i) s JOIN t ON t.id IN (s.i, s.i + 500) AND t.b = s.b;
SELECT count(*) FROM (SELECT i FROM generate_series(1, 300) i) s, LATERAL (SELECT FROM t WHERE t.id IN (s.i, s.i + 1) OR t.a IN (s.i, 7) OFFSET 0) x;
CREATE INDEX t_btree ON t (b);
SET enable_indexscan = off;
SELECT count(*) FROM t WHERE id IN (5, 505, 1006) AND b = 'b5';
DROP INDEX t_btree;
RESET enable_indexscan;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_seqscan;
RESET plan_cache_mode;
DEALLOCATE many;

-- ---- chains of versions ----
CREATE TABLE hot (id int, a int, b int, n int DEFAULT 0) WITH (autovacuum_enabled = off, fillfactor = 40);
CREATE INDEX hot_ab ON hot USING pbfidx (a, b) WITH (pages_per_range = 1);
INSERT INTO hot SELECT i, i, i % 10 FROM generate_series(1, 400) i;
UPDATE hot SET n = n + 1;
SELECT * FROM finds('hot', 'a = 5 AND b = 5', 'a IN (5, 6, 7, 400)');
UPDATE hot SET n = n + 1 WHERE id % 3 = 0;
-- Pruned: roots are redirected.
VACUUM hot;
UPDATE hot SET n = n + 1 WHERE id % 2 = 0;
SELECT * FROM finds('hot', 'a = 5 AND b = 5', 'a = 6 AND b = 6', 'a IN (5, 6, 7, 400)', 'b IN (1, 2)');
-- Aborted, and tried again.
BEGIN;
UPDATE hot SET n = -1 WHERE a IN (5, 6, 7);
SELECT * FROM finds('hot', 'a IN (5, 6, 7)', 'a = 5 AND b = 5');
ROLLBACK;
SELECT * FROM finds('hot', 'a IN (5, 6, 7)', 'a = 5 AND b = 5');
UPDATE hot SET n = n + 1 WHERE a IN (5, 6);
SELECT * FROM finds('hot', 'a IN (5, 6, 7)', 'a = 5 AND b = 5');
-- The columns themselves: HOT updates from 16 on. An older snapshot sees the old values, a younger one the new.
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE hot SET a = a + 1000 WHERE id BETWEEN 5 AND 10;
DECLARE old CURSOR FOR SELECT id, a FROM hot WHERE a IN (1006, 1007, 8) ORDER BY id;
UPDATE hot SET a = a + 1000, b = -1 WHERE id BETWEEN 5 AND 10;
SELECT * FROM finds('hot', 'a IN (1006, 1007, 2006, 6)', 'a IN (2005, 2010, 1005)', 'a = 2007 AND b = -1', 'a = 1007 AND b = 7', 'a = 7 AND b = 7');
FETCH ALL old;
COMMIT;
SELECT * FROM finds('hot', 'a IN (1006, 1007, 2006, 6)', 'a IN (2005, 2010, 1005)', 'a = 2007 AND b = -1', 'a = 1007 AND b = 7', 'a = 7 AND b = 7');
DO $$ BEGIN FOR i IN 1 .. 50 LOOP UPDATE hot SET a = 3000 + i, b = i WHERE id = 7; UPDATE hot SET n = n + 1 WHERE id = 8; END LOOP; END $$;
SELECT * FROM finds('hot', 'a IN (3050, 3049, 2007)', 'a = 3050 AND b = 50', 'a = 2008 AND b = -1');
VACUUM hot;
SELECT * FROM finds('hot', 'a IN (3050, 3049, 2007)', 'a = 3050 AND b = 50', 'a = 2008 AND b = -1');
-- Locked, deleted by somebody who gave up, and frozen rows.
BEGIN;
SELECT count(*) FROM (SELECT FROM hot WHERE a IN (20, 21) FOR UPDATE) l;
SAVEPOINT s;
DELETE FROM hot WHERE a IN (20, 22);
SELECT * FROM finds('hot', 'a IN (20, 21, 22)');
ROLLBACK TO s;
UPDATE hot SET n = -1 WHERE a = 20;
SELECT * FROM finds('hot', 'a IN (20, 21, 22)', 'a = 20 AND b = 0');
COMMIT;
SELECT * FROM finds('hot', 'a IN (20, 21, 22)', 'a = 20 AND b = 0');
VACUUM FREEZE hot;
SELECT * FROM finds('hot', 'a IN (20, 21, 22)', 'a = 20 AND b = 0');

-- ---- values of all sizes; columns that come and go ----
CREATE TABLE long (id int, gone int, v text, n numeric, c char(8)) WITH (autovacuum_enabled = off);
ALTER TABLE long ALTER v SET STORAGE EXTERNAL;
INSERT INTO long SELECT i, i, repeat(md5(i::text), CASE i % 4 WHEN 0 THEN 1 WHEN 1 THEN 40 ELSE 300 END), i / 7.0, 'c' || i % 9 FROM generate_series(1, 200) i;
ALTER TABLE long ALTER v SET STORAGE MAIN;
INSERT INTO long SELECT i, i, repeat(md5(i::text), 300), i, 'c' || i % 9 FROM generate_series(201, 300) i;
CREATE INDEX long_all ON long USING pbfidx (v, n, c) WITH (pages_per_range = 1);
ALTER TABLE long DROP COLUMN gone;
ALTER TABLE long ADD added int DEFAULT 5;
CREATE INDEX long_added ON long USING pbfidx (added, n) WITH (pages_per_range = 1);
INSERT INTO long VALUES (301, 'short', 301, 'c1', 6), (302, 'short', 302.000, 'c1', NULL);
SELECT count(*) AS wrong FROM generate_series(1, 300, 4) i, find('long', format('v IN (repeat(%L, 1), repeat(%1$L, 40), repeat(%1$L, 300))', md5(i::text))) f WHERE NOT used OR rows <> 1 OR missing + extra > 0;
SELECT * FROM finds('long', 'v = ''short'' AND n = 302', 'v = repeat(md5(''250''), 300) AND n = 250.00', 'c IN (''c1'', ''c2  '')', 'c = ''c1'' AND n IN (1, 301)', 'added = 5 AND n = 7/7.0',
	'added IN (5, 7) AND n IN (210, 211)', 'added IS NULL AND n = 302', 'added = 6 AND n = 301');

-- What was left by an aborted ALTER TABLE has values of another type in the place of a column.
CREATE TABLE altered (a int) WITH (autovacuum_enabled = off);
INSERT INTO altered SELECT generate_series(1, 3000);
BEGIN;
ALTER TABLE altered ADD x int, ADD y int;
INSERT INTO altered SELECT i, 2147483644, i FROM generate_series(3001, 3100) i;
ROLLBACK;
BEGIN;
SAVEPOINT s;
ALTER TABLE altered ADD x int, ADD y int;
UPDATE altered SET x = 2147483644, y = 3 WHERE a % 100 = 5;
ROLLBACK TO s;
ALTER TABLE altered ADD x text, ADD y int[];
INSERT INTO altered SELECT i, 'v' || i, ARRAY[i, i % 7] FROM generate_series(3001, 3500) i;
UPDATE altered SET x = 'u' || a, y = ARRAY[a] WHERE a % 200 = 5;
CREATE INDEX altered_all ON altered USING pbfidx (a, x, y);
SELECT * FROM finds('altered', 'a IN (3001, 3002, 5, 205) AND x IN (''v3001'', ''v3002'', ''u5'')', 'y @> ''{5}'' AND a IN (5, 6)', 'y && ''{3001,5}''', 'x IN (''u5'', ''u105'')', 'x IS NULL AND a IN (105, 3001)');
COMMIT;
SELECT * FROM finds('altered', 'a IN (3001, 3002, 5, 205) AND x IN (''v3001'', ''v3002'', ''u5'')', 'y @> ''{5}'' AND a IN (5, 6)', 'y && ''{3001,5}''', 'x IN (''u5'', ''u105'')', 'x IS NULL AND a IN (105, 3001)');

-- ---- types ----
CREATE TABLE types (i2 int2, i8 int8, f4 float4, f8 float8, u uuid, d date, ts timestamptz, e varchar(9), r int4range, ip inet, j int[]) WITH (autovacuum_enabled = off);
INSERT INTO types SELECT i % 100, i, i, CASE WHEN i % 2 = 0 THEN 0.0 ELSE -0.0 END, md5(i::text)::uuid, date '2020-01-01' + i, timestamptz '2020-01-01 UTC' + i * interval '1 hour', 'v' || i, int4range(i, i + 1),
	('10.0.0.' || i % 250)::inet, ARRAY[i, NULL, i] FROM generate_series(1, 500) i;
CREATE INDEX types_all ON types USING pbfidx (i2, i8, f4, f8, u, d, ts, e, r, ip, j) WITH (pages_per_range = 1);
SELECT count(*) AS conditions, count(*) FILTER (WHERE used) AS used, sum(rows) AS rows, sum(missing + extra) AS wrong FROM finds('types', 'i2 = ANY (ARRAY[5, 6])', 'i2 = 5::bigint AND i8 = 105::smallint', 'i8 IN (5, 1::smallint, 7)',
	'f4 IN (5, 6)', 'f4 = 5::float8 AND i8 = 5', 'f8 = 0 AND i8 IN (5, 6)', 'f8 IN (-0.0, 1)', 'u IN (md5(''5'')::uuid, md5(''6'')::uuid)', 'd IN (''2020-01-06'', ''2020-01-07'')', 'd = timestamp ''2020-01-06'' AND i8 = 5',
	'ts = ANY (ARRAY[timestamptz ''2020-01-01 07:00+02'', ''2020-01-01 08:00+02''])', 'e IN (''v5'', ''v6'')', 'e = ''v5''::text AND i8 = 5', 'r IN (''[5,5]'', ''(5,6]'')', 'r = ''[5,6)'' AND i8 = 5', 'ip IN (''10.0.0.5'', ''10.0.0.6/32'')',
	'j @> ''{5,NULL}''', 'j @> ''{5}'' AND i8 = 5', 'j && ''{5,6,7}''', 'j = ''{5,NULL,5}'' AND i2 = 5', 'i2 IS NULL AND i8 = 5');

-- ---- bytes that rows have to contain ----
-- plain: the columns begin at the same place in all rows. mixed: after NULLs and texts. Some values are compressed, some out of
-- line, some are the defaults of columns that came later, some rows are what was updated.
CREATE FUNCTION word(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE i % 13 WHEN 0 THEN '' WHEN 1 THEN repeat('w' || i, 30) WHEN 2 THEN 'ü' || i ELSE 'w' || i END $$;
CREATE FUNCTION words(i int) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 50 = 0 THEN array_fill(word(i), ARRAY[400]) WHEN i % 51 = 0 THEN (SELECT array_agg(md5(j::text)) FROM generate_series(i, i + 100) j) || word(i)
		WHEN i % 17 = 0 THEN ARRAY[NULL, word(i), NULL] WHEN i % 18 = 0 THEN '{}' WHEN i % 19 = 0 THEN NULL ELSE ARRAY[word(i), word(i % 40), 'w' || i || '0'] END
$$;
CREATE FUNCTION document(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE i % 5 WHEN 0 THEN to_jsonb(words(i)) WHEN 1 THEN to_jsonb(word(i)) WHEN 2 THEN jsonb_build_object(word(i), i, 'deep', jsonb_build_object('x', jsonb_build_array(word(i), i % 7)))
		ELSE jsonb_build_object('name', word(i), 'n', i % 9, 'long', repeat(word(i), i % 3 * 200)) END
$$;
CREATE TABLE plain (id bigint, t text[]) WITH (autovacuum_enabled = off);
CREATE TABLE mixed (id int, pad text, t text[], n int[], big bigint[], u uuid[], d date[], b bytea[], v varchar(200)[], c char(9)[], f float8[], doc jsonb, q tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX plain_t ON plain USING pbfidx (t) WITH (pages_per_range = 1);
CREATE INDEX mixed_1 ON mixed USING pbfidx (id, t, n, big, u, d) WITH (pages_per_range = 1);
CREATE INDEX mixed_2 ON mixed USING pbfidx (b, v, c, f, doc, q) WITH (pages_per_range = 1);
INSERT INTO plain SELECT i, words(i) FROM generate_series(1, 1500) i;
ALTER TABLE plain ALTER t SET STORAGE EXTERNAL;
INSERT INTO plain SELECT i, words(i) FROM generate_series(1501, 1700) i;
INSERT INTO mixed SELECT i, CASE WHEN i % 3 > 0 THEN repeat('p', i % 100) END, words(i), ARRAY[i, i % 7, NULL, i * 1000], ARRAY[i, -i, 5000000000 + i], ARRAY[md5(i::text)::uuid], ARRAY[date '2020-01-01' + i],
	ARRAY[decode(md5(i::text), 'hex'), '\x00'], words(i)::varchar(200)[], ARRAY['c' || i, ''], ARRAY[i, 0.0, '-0.0', 'NaN'], document(i), to_tsvector('simple', coalesce(array_to_string(words(i), ' '), '') || ' deep x' || i)
FROM generate_series(1, 700) i;
UPDATE mixed SET pad = 'new' WHERE id % 10 = 3;
UPDATE plain SET t = words((id + 1)::int) WHERE id % 100 = 7;
ALTER TABLE plain ADD later text[] DEFAULT '{w1,later}', ADD doc jsonb DEFAULT '{"name": "later"}';
CREATE INDEX plain_later ON plain USING pbfidx (later, doc) WITH (pages_per_range = 1);
INSERT INTO plain SELECT i, words(i), words(i), document(i) FROM generate_series(1701, 1800) i;
CREATE INDEX plain_half ON plain USING pbfidx (t) WHERE id % 2 = 0;
CREATE TABLE asked (tab text, cond text, n int GENERATED ALWAYS AS IDENTITY);
INSERT INTO asked SELECT tab, format('%s %s %L', col, op, x) FROM generate_series(1, 1800, 29) i, (VALUES ('plain', 't'), ('mixed', 't'), ('mixed', 'v'), ('plain', 'later')) c (tab, col), unnest('{@>,&&,=}'::text[]) op,
	LATERAL (VALUES (ARRAY[word(i)]), (ARRAY[word(i), word(i % 40)]), (ARRAY[word(i), NULL]), ((words(i))[:20])) y (x) WHERE (i <= 700 OR tab = 'plain') AND x IS NOT NULL;
INSERT INTO asked SELECT 'mixed', format('%s %s %L', col, op, x) FROM generate_series(1, 700, 31) i, unnest('{@>,&&,=}'::text[]) op,
	LATERAL (VALUES ('n', ARRAY[i]::text), ('n', ARRAY[i, i % 7]::text), ('n', ARRAY[i * 1000, i]::text), ('n', ARRAY[i, i % 7, NULL, i * 1000]::text), ('big', ARRAY[-i]::text), ('big', ARRAY[i, 5000000000 + i]::text),
		('u', ARRAY[md5(i::text)]::text), ('d', ARRAY[date '2020-01-01' + i]::text), ('b', ARRAY['\x00'::bytea, decode(md5(i::text), 'hex')]::text), ('c', ARRAY['c' || i]::text), ('f', ARRAY[i, 0]::text),
		('f', ARRAY['NaN', '-0']::text)) y (col, x);
INSERT INTO asked SELECT tab, format('doc %s %L%s', op, x, CASE WHEN op IN ('?|', '?&') THEN '::text[]' ELSE '' END) FROM generate_series(1, 700, 23) i, LATERAL (VALUES ('mixed', i), ('plain', i + 1300)) c (tab, j),
	LATERAL (VALUES ('@>', document(j)::text), ('@>', to_jsonb(word(j))::text), ('@>', jsonb_build_object('name', word(j))::text), ('@>', '{"name": "later"}'),
		('@>', jsonb_build_object('deep', jsonb_build_object('x', jsonb_build_array(word(j), j % 7)))::text), ('?', word(j)), ('?', 'name'), ('?|', ARRAY[word(j), word(j + 2)]::text), ('?&', ARRAY[word(j), 'deep']::text),
		('?|', ARRAY[word(j), '']::text)) y (op, x) WHERE x IS NOT NULL;
INSERT INTO asked SELECT 'mixed', format('q @@ %L', x) FROM generate_series(1, 700, 23) i, unnest(ARRAY['w' || i, 'w' || i || ' & deep', 'w' || i || ' | x' || i + 1, 'deep <-> x' || i, '!w' || i, 'deep & !x' || i, 'x' || i || ':*',
	'(w' || i || ' | x' || i + 1 || ') & (deep | nothing)', '(w' || i || ' & deep) | x' || i + 2, 'w' || i || ' | !deep', '(w1 | w2 | w3 | w4 | w5) | (x1 | x2 | x3 | x4 | x' || i || ')', '(!w1 & (x5 | x6)) | (x7 & x' || i || ')',
	'(x' || i || ' | !deep) & x' || i]) x;
CREATE TABLE answered AS SELECT a.*, f.* FROM asked a, find(tab, cond) f;
SELECT * FROM answered WHERE missing + extra > 0;
SELECT tab, split_part(cond, ' ', 1) AS col, split_part(cond, ' ', 2) AS op, count(*), count(*) FILTER (WHERE used) AS used, sum(rows) AS rows FROM answered GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- Which rows are out of line, and so returned unseen, is not the same everywhere.
SELECT c AS cond, exact, lossy FROM unnest(ARRAY['t @> ''{w1234}''', 't && ''{w1234,w777}''', 't @> ''{w1234}'' AND id % 2 = 0', 'later @> ''{w1720}''', 'doc @> ''{"name": "w1733"}''', 'doc @> ''{"n": 5}''', 'doc ? ''w1702''']) c,
	blocks(c, 'plain') x;
SELECT c AS cond, exact, lossy FROM unnest(ARRAY['t @> ''{w123}''', 'n && ''{123}''', 'c @> ''{c123}''', 'f @> ''{123}''', 'q @@ ''x123''', 'q @@ ''!x123 & deep''']) c, blocks(c, 'mixed') x;
-- Words that begin or end like the one that is asked for are not compared.
CREATE TABLE alike AS SELECT i AS id, ARRAY['w12' || i, i || 'w12'] AS t, jsonb_build_object('k', i) AS doc FROM generate_series(1, 200) i UNION ALL SELECT 0, '{w12,x}', '{"k": "w12"}';
CREATE INDEX alike_all ON alike USING pbfidx (t, doc);
SELECT c AS cond, x.* FROM unnest(ARRAY['t @> ''{w12}''', 't && ''{w12,w13}''', 'doc @> ''{"k": "w12"}''']) c, blocks(c, 'alike') x;
-- Bytes that are in an array, but are no element: in its header, across elements, behind bytes as before an element. The server does
-- not compare again what was found, so these must not be found.
CREATE TABLE inside (id int, t text[], n int[], big bigint[], b bytea[], u uuid[]) WITH (autovacuum_enabled = off);
INSERT INTO inside VALUES (1, '{x,wx}', '{1,2,3,23,67305985}', '{1,20,4294967297}', ARRAY['\x78', '\x1800'::bytea], ARRAY[md5('1')::uuid]),
	(2, ARRAY[E'a\x05x', 'wwx', E'\x05x'], ARRAY[x'02010000'::int, x'0403'::int], ARRAY[x'0100000000000000'::bigint, 1::bigint << 32], ARRAY['\x1400000078'::bytea, '\x18000000', '\x180000001800'], ARRAY[substr(md5('2'), 1, 16) || substr(md5('1'), 1, 16), substr(md5('1'), 17) || substr(md5('2'), 1, 16)]::uuid[]),
	(3, '{{x,y},{z,""}}', '{{9,2},{3,4}}', '{{1,2}}', ARRAY[['\x78'::bytea], ['\x'::bytea]], NULL), (4, '{NULL,yy,x,NULL}', '{NULL,7,NULL,23}', '{NULL,20}', ARRAY[NULL, '\x78'::bytea], ARRAY[NULL, md5('1')::uuid]),
	(5, array_fill('yy'::text, ARRAY[100]) || '{x}', array_fill(5, ARRAY[100]) || 2, array_fill(20::bigint, ARRAY[50]), array_fill('\x79'::bytea, ARRAY[60]) || '\x78'::bytea, array_fill(md5('1')::uuid, ARRAY[20])),
	(6, '{}', '{}', '{}', '{}', '{}'), (7, '[5:6]={yy,x}', '[-1:0]={4,5}', '[0:0]={8}', '{}', ARRAY[md5('3')::uuid]), (8, array_fill('q'::text, ARRAY[100]), array_fill(9, ARRAY[100]), array_fill(8::bigint, ARRAY[100]), array_fill('\x7a'::bytea, ARRAY[100]), NULL);
ALTER TABLE inside ALTER t SET STORAGE MAIN, ALTER n SET STORAGE MAIN;
INSERT INTO inside SELECT id + 10, t, n, big, b, u FROM inside WHERE id IN (5, 8);
CREATE INDEX inside_all ON inside USING pbfidx (t, n, big, b, u);
CREATE INDEX inside_some ON inside USING pbfidx (t) WHERE id IN (2, 3, 4);
CREATE TEMP TABLE elements AS SELECT 't' AS col, x::text AS x FROM unnest(ARRAY['x', 'wx', 'y', 'yy', 'z', 'q', E'\x05x', E'a\x05x', '', 'no']) x UNION ALL SELECT 'n', x::text FROM unnest('{0,1,2,3,4,5,7,8,9,23,67305985,1027,20,24}'::int[]) x
	UNION ALL SELECT 'big', x::text FROM unnest(ARRAY[0, 1, 2, 8, 20, 4294967297, 4294967296, x'0100000000000000'::bigint]) x UNION ALL SELECT 'b', x::text FROM unnest(ARRAY['\x78', '\x79', '\x7a', '\x1800', '\x18000000', '\x180000001800', '\x']::bytea[]) x
	UNION ALL SELECT 'u', md5(x::text) FROM generate_series(1, 4) x;
SELECT col, op, count(*), bool_and(used) AS used, sum(rows) AS rows, sum(missing + extra) AS wrong
FROM (SELECT a.col, op, ARRAY[a.x, b.x]::text AS x FROM elements a JOIN elements b USING (col), unnest('{@>,&&}'::text[]) op) y, find('inside', format('%s %s %L', col, op, x)) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM finds('inside', 't @> ''{x}'' AND n @> ''{23}''', 't @> ''{x,NULL}''', 't && ''{x,NULL}''', 't @> ''{{x},{wx}}''', 't @> ''{x}'' AND t && ''{y,yy}'' AND n && ''{2,3}''',
	't @> ''{x}'' AND n = ''{1,2,3,23,67305985}''', 't = ''{x,wx}''');
-- What had not been compared: one for a word in another place would be "removed".
SELECT c AS cond, x.* FROM unnest(ARRAY['t @> ''{x}''', 'n && ''{23,1}''', 't = ''{x,wx}''']) c, blocks(c, 'inside') x;
-- Of a partial index, rows that are not in it are found too, and the server compares them.
DROP INDEX inside_all;
SELECT * FROM finds('inside', 't @> ''{x}'' AND id IN (2, 3, 4)', 't && ''{q,y}'' AND id IN (2, 3, 4)', 't @> ''{x}'' AND id = 4');
SELECT * FROM blocks('t @> ''{x}'' AND id IN (2, 3, 4)', 'inside');
-- Pages are searched piece by piece: elements that begin in one and end in the next, and whose header is in one and the
-- bytes are in the next. Lengths without a period, and arrays at odd places, have them everywhere.
CREATE TABLE places AS SELECT i::bigint AS id, ARRAY[md5(i::text) || left(md5((-i)::text), hashint4(i) & 31)] AS t FROM generate_series(1, 5000) i;
CREATE INDEX ON places USING pbfidx (t);
VACUUM (ANALYZE) places;
CREATE FUNCTION misplaced(OUT asked bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
DECLARE p record; found bigint[];
BEGIN
	asked := 0; wrong := 0;
	FOR p IN SELECT * FROM places LOOP
		SELECT array_agg(id) INTO found FROM places WHERE t @> p.t;
		asked := asked + 1;
		wrong := wrong + (found IS DISTINCT FROM ARRAY[p.id])::int;
	END LOOP;
END $$;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT array_agg(id) FROM places WHERE t @> '{x}';
SELECT * FROM misplaced();
RESET enable_seqscan;
-- The setting pbf.simd changes how bytes are looked for, not what is found.
SET pbf.simd = scalar;
SELECT count(*) > 300 AS enough, sum(missing + extra) AS wrong FROM asked, find(tab, cond) WHERE n % 5 = 0;
RESET pbf.simd;

-- Temporary tables, partitions; serializable transactions, to which the server shows whole pages.
CREATE TEMP TABLE tmp AS SELECT i AS a, i % 7 AS b FROM generate_series(1, 3000) i;
CREATE INDEX ON tmp USING pbfidx (a, b);
SELECT * FROM finds('tmp', 'a IN (5, 2999)', 'a = 5 AND b = 5', 'a = 5 AND b = 6');
CREATE TABLE part (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE part1 (b int, a int);
ALTER TABLE part ATTACH PARTITION part1 FOR VALUES FROM (0) TO (1000);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (1000) TO (2000);
CREATE INDEX ON part USING pbfidx (a, b);
INSERT INTO part SELECT i, i % 7 FROM generate_series(1, 1999) i;
SELECT * FROM finds('part', 'a IN (5, 1005, 1999)', 'a = 1005 AND b = 4');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM blocks('id IN (77, 15000)');
SELECT * FROM finds('part', 'a IN (5, 1005, 1999)', 'a = 1005 AND b = 4');
COMMIT;

-- ---- equal, not only of one hash ----
-- What the scan itself has found equal the server does not compare again. Two uuids of one hash; a number and a uuid
-- whose keys are those of NULL in the first and the second column.
SELECT 'b93942ea-7b73-8267-d59f-3d805cf975ae' AS u1, 'b81a078d-f2d8-4f88-3a52-96093bbc56af' AS u2, 5536266026373275796 AS null_like,
	'b93942ea-7b73-8267-9a44-65081f026e23' AS null_u \gset
SELECT pbf_hash(:'u1'::uuid) = pbf_hash(:'u2'::uuid) AS collide;
CREATE TABLE same (k int8, u uuid, b text, tags text[], n numeric) WITH (autovacuum_enabled = off, fillfactor = 70);
INSERT INTO same SELECT i % 500, md5((i % 700)::text)::uuid, CASE i % 5 WHEN 0 THEN repeat('b', i) || i WHEN 1 THEN 'b' || i % 50 WHEN 2 THEN (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 100) j) ELSE 'c' || i END,
	ARRAY['t' || i % 90], i / 10.0 FROM generate_series(1, 3000) i;
INSERT INTO same VALUES (:null_like, :'u1', 'null_like', NULL, 'NaN'), (NULL, :'u2', NULL, '{}', 1.00), (NULL, :'u1', 'b5', '{t5}', NULL), (7, NULL, 'b5', '{t5}', 1.0), (7, :'u2', 'b5  ', NULL, 1), (-1, :'null_u', NULL, NULL, NULL), (-2, :'u2', 'b6', NULL, 1), (-3, :'u1', 'b6', NULL, 1);
CREATE INDEX same_all ON same USING pbfidx (k, u, b, tags, n) WITH (pages_per_range = 1);
ANALYZE same;
SELECT c AS cond, x.* FROM unnest(ARRAY[format('u IN (%L, %L)', :'u1', md5('800')), format('u = %L AND k = 7', :'u1'), format('k IN (%s, -1)', :null_like), format('k IS NULL AND u = %L', :'u1'), 'k IN (7, 8) AND b IN (''b5'', ''b7'')', format('b = ''b6'' AND u IN (%L, %L)', :'u1', md5('800'))]) c, blocks(c, 'same') x;
SELECT * FROM finds('same', format('u IN (%L, %L)', :'u1', md5('800')), format('u IN (%L, %L, %1$L)', :'u2', :'u1'), format('u = ANY (ARRAY[%L, NULL, %L]::uuid[])', :'u2', md5('5')), format('u = %L AND k = 7', :'u1'), format('u = %L AND k = 7', :'u2'),
	format('k IN (%s, -1)', :null_like), format('k IS NULL AND u = %L', :'u1'), format('k IS NULL AND u IN (%L, %L)', :'u1', :'u2'), format('k IS NULL AND k = %s', :null_like), format('u IN (%L, %L)', :'null_u', :'u1'), format('u IS NULL AND k IN (7, -1)'), format('k IS NOT NULL AND u IN (%L, %L)', :'u1', :'u2'),
	format('k IN (%s, 7) AND u IN (%L, %L)', :null_like, :'u1', :'u2'), format('k IN (%s, 7) OR u IN (%L, %L)', :null_like, :'u1', md5('5')), 'k = 7 AND b = ''b5''', format('b = ''b6'' AND u IN (%L, %L)', :'u1', md5('800')), format('b = ''b5  '' AND k = 7 AND u IN (%L, %L)', :'u2', md5('800')), 'b = ''b5'' AND k IN (5, 6, 7, 105, 205)', 'k = 7::int2 AND b IN (''b5'', ''b5  '')', 'k IN (7, 9) AND tags @> ''{t5}''',
	'k = ANY (''{7,7,7,8,7}''::int[]) AND k = ANY (''{8,7,8}''::int2[])', 'n IN (1, 2.50, ''NaN'')', 'n = 1.000 AND k = 7', 'k IN (7, 8) AND k % 2 = 1');
-- Long values, some of them stored out of line; more values than pages.
SELECT count(*) AS wrong FROM generate_series(0, 9, 4) i, find('same', format('b = ANY (ARRAY(SELECT b FROM same WHERE ascii(md5(b)) %% 10 = %s))', i)) f WHERE NOT used OR rows = 0 OR missing + extra > 0;
SELECT count(*) AS wrong FROM generate_series(1, 3000, 1000) i, find('same', format('n = ANY (ARRAY(SELECT n / 10.0 FROM generate_series(%s, %s) n)) AND k = ANY (ARRAY(SELECT generate_series(0, 499, 3)))', i, i + 99)) f WHERE NOT used OR rows = 0 OR missing + extra > 0;
-- Every kind of scalar column.
SELECT count(*) AS kinds, sum(f.rows) AS rows, sum(f.missing + f.extra) AS wrong FROM (VALUES ('i2', 'int2'), ('i8', 'int8'), ('f4', 'float4'), ('f8', 'float8'), ('u', 'uuid'), ('d', 'date'), ('ts', 'timestamptz'), ('e', 'varchar'), ('ip', 'inet')) c (name, type),
	find('types', format('%s = ANY (ARRAY(SELECT %1$s FROM types WHERE i8 %% 3 = 0)::%s[])', c.name, c.type)) f;
-- Arrays that are parameters, and what was updated since.
UPDATE same SET n = n + 1 WHERE k % 3 = 0;
UPDATE same SET k = k + 1 WHERE k % 50 = 0;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE several (int8[], uuid[]) AS SELECT count(*), sum(n) FILTER (WHERE n <> 'NaN') FROM same WHERE k = ANY ($1) OR u = ANY ($2);
SELECT array_agg(i % 900) AS ks FROM generate_series(1, 4000, 3) i \gset
SELECT array_agg(md5(i::text)::uuid) AS us FROM generate_series(1, 400, 3) i \gset
EXECUTE several (:'ks', :'us');
SET pbf.filter_rows = off;
EXECUTE several (:'ks', :'us');
RESET enable_seqscan;
SET pbf.enable_index = off;
DISCARD PLANS;
EXECUTE several (:'ks', :'us');
RESET pbf.enable_index;
RESET pbf.filter_rows;
RESET plan_cache_mode;
DEALLOCATE several;

DROP SCHEMA index_rows CASCADE;

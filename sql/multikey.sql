--
-- pbfidx: operator classes with several keys for a value. What the index finds is what the sequential scan finds, for
-- each operator, with all that can be missing: NULL values, NULL elements, empty values, queries without keys.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA multikey;
SET search_path = multikey, public;
SET max_parallel_workers_per_gather = 0;

SELECT opcname, opcdefault, opckeytype::regtype AS storage, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
WHERE a.amname = 'pbfidx' AND c.opckeytype <> 0 AND pg_opclass_is_visible(c.oid) ORDER BY opcname::text COLLATE "C";

-- find, finds, pages: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

-- How many conditions, and what went wrong with them.
CREATE FUNCTION verify(tab text, conds text[], OUT conditions bigint, OUT used bigint, OUT rows numeric, OUT missing numeric,
	OUT extra numeric) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE f.used), sum(f.rows), sum(f.missing), sum(f.extra)
	FROM unnest(conds) c, find(tab, c) f
$$;

-- ---- arrays ----

-- Few rows a page; half of the rows are there when the index is built.
CREATE TABLE a (id int GENERATED ALWAYS AS IDENTITY, x int[], pad char(1500) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE a ALTER pad SET STORAGE PLAIN;
CREATE FUNCTION more_arrays() RETURNS void LANGUAGE sql AS $$
	INSERT INTO a (x) SELECT ARRAY[i, i + 1, i % 7] FROM generate_series(1, 100) i;
	INSERT INTO a (x) VALUES (NULL), ('{}'), ('{NULL}'), ('{NULL,NULL}'), ('{1,NULL}'), ('{1,1,1,1}'), ('{{1,2},{3,4}}'), ('[5:6]={5,6}'),
		('{2147483647,-2147483648}'), ('{1000}'), ('{1000,1001}'), ('{1001,1000}'), ('{1000,1000,1001}'), (NULL);
	INSERT INTO a (x) SELECT array_agg(i) FROM generate_series(2000, 9000) i;
$$;
SELECT more_arrays();
CREATE INDEX a_x ON a USING pbfidx (x) WITH (pages_per_range = 1);
SELECT more_arrays();
SELECT pbfidx_check('a_x');
SELECT * FROM finds('a', 'x @> ''{5}''', 'x @> ''{1000,1001}''', 'x @> ''{1000,1000}''', 'x @> ''{}''', 'x @> ''{NULL}''', 'x @> ''{1,NULL}''',
	'x @> ''{12345}''', 'x @> ''{8999,2000}''', 'x @> ''{5,2000}''', 'x @> NULL',
	'x && ''{5}''', 'x && ''{1000,8888,12345}''', 'x && ''{}''', 'x && ''{NULL}''', 'x && ''{1,NULL}''', 'x && ''{12345,12346}''',
	'x <@ ''{1000,1001,1002}''', 'x <@ ''{}''', 'x <@ ''{NULL}''', 'x <@ ''{1,2,3,4}''', 'x <@ ''{1,NULL}''',
	'x = ''{1000,1001}''', 'x = ''{1001,1000}''', 'x = ''{}''', 'x = ''{NULL}''', 'x = ''{1,NULL}''', 'x = ''{{1,2},{3,4}}''', 'x = ''{1,2,3,4}''',
	'x = ''[5:6]={5,6}''', 'x = ''{5,6}''', 'x = ''{2147483647,-2147483648}''',
	'x IS NULL', 'x IS NOT NULL', 'NOT x @> ''{5}''', 'x @> ''{5}'' OR x IS NULL', 'x @> ''{5}'' AND x @> ''{6}''', 'x @> ''{1000}'' AND x IS NULL',
	'x IN (''{1000}'', ''{1000,1001}'', NULL)');
SELECT * FROM verify('a', (SELECT array_agg(format('x %s %L', o, ARRAY[i, j])) FROM unnest('{@>,&&,<@,=}'::text[]) o,
	unnest('{1,5,77,1000,1001,4444,NULL}'::int[]) i, unnest('{2,6,0,1001,NULL}'::int[]) j));
-- It narrows where it can.
SELECT pages('a', 'x @> ''{5,6}''') < 20 AS contains, pages('a', 'x && ''{1000,1001}''') < 12 AS overlaps, pages('a', 'x <@ ''{1000,1001}''') < 12 AS contained,
	pages('a', 'x = ''{}''') < 8 AS empty, pages('a', 'x @> ''{12345}''') < 5 AS absent, pages('a', 'x @> ''{}''') > 40 AS every;
-- Large queries: beyond what is examined key by key.
SELECT * FROM verify('a', (SELECT array_agg(format('x %s %L', o, (SELECT array_agg(i) FROM generate_series(f, t) i)))
	FROM unnest('{@>,&&,<@,=}'::text[]) o, (VALUES (2000, 2255), (2000, 2260), (2000, 9000), (1999, 9000), (100, 1000), (20000, 21000)) v (f, t)));
VACUUM a;
SELECT pbfidx_check('a_x');
SELECT pbfidx_resummarize('a_x') AS rebuilt;
SELECT pbfidx_check('a_x');
SELECT * FROM finds('a', 'x @> ''{5}''', 'x <@ ''{}''', 'x = ''{}''', 'x IS NULL', 'x @> ''{8999,2000}''');
UPDATE a SET x = x || 777 WHERE id % 10 = 0;
DELETE FROM a WHERE id % 11 = 0;
SELECT * FROM finds('a', 'x @> ''{777}''', 'x @> ''{10,777}''', 'x && ''{777,5}''');
SELECT pbfidx_check('a_x');
DROP TABLE a;

-- Elements of other types; equal ones that look different.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN short AS text CHECK (length(VALUE) < 10);
CREATE TABLE e (t text[], v varchar(20)[], c char(6)[], n numeric[], f float8[], u uuid[], d date[], m mood[], s short[], b bytea[], iv interval[]);
INSERT INTO e VALUES ('{a,"",NULL,äöü}', '{a,b}', '{a,b}', '{1.0,2}', '{0,NaN}', ARRAY[md5('a')::uuid], '{2020-01-01,infinity}', '{sad,ok}', '{x,y}', '{"\\x00",""}', '{1 day,24:00}'),
	('{}', NULL, '{}', '{1.00,NULL}', '{-0}', '{}', NULL, '{}', '{}', '{}', '{30 days}');
CREATE INDEX e_1 ON e USING pbfidx (t, v, c, n);
CREATE INDEX e_2 ON e USING pbfidx (f, u, d, m);
CREATE INDEX e_3 ON e USING pbfidx (s, b, iv);
INSERT INTO e SELECT * FROM e;
SELECT pbfidx_check('e_1'), pbfidx_check('e_2'), pbfidx_check('e_3');
SELECT * FROM finds('e', 't @> ''{a}''', 't @> ''{""}''', 't @> ''{äöü}''', 't <@ ''{b}''', 'v @> ARRAY[''b''::varchar]', 'c @> ''{"a "}''', 'n @> ''{1}''', 'n && ''{2.000}''',
	'f @> ''{-0}''', 'f && ''{NaN}''', 'u @> ARRAY[md5(''a'')::uuid]', 'd @> ''{infinity}''', 'm && ''{ok,happy}''', 's && ARRAY[''x''::short]', 'b @> ''{"\\x00"}''',
	'iv @> ''{24:00}''', 'iv && ''{1 mon}''', 't @> ''{a}'' AND n @> ''{2}''', 'v IS NULL AND t = ''{}''');
-- Refused: keys without a hash that can be trusted.
CREATE TYPE pair AS (a int, b int);
CREATE TABLE refused (p pair[], j json[], x text[], pt point[]);
CREATE INDEX ON refused USING pbfidx (p);
CREATE INDEX ON refused USING pbfidx (j);
CREATE INDEX ON refused USING pbfidx (pt);
DO $$ BEGIN
	EXECUTE 'CREATE COLLATION nd (provider = icu, locale = ''und'', deterministic = false)';
	EXECUTE 'CREATE INDEX ON refused USING pbfidx (x COLLATE nd)';
EXCEPTION WHEN feature_not_supported THEN RAISE WARNING 'not supported';
END $$;
DROP TABLE refused;
-- Whole arrays and documents are values for other classes.
CREATE TABLE whole (x int[], j jsonb);
INSERT INTO whole VALUES ('{1,2}', '{"a": 1}'), ('{2,1}', '{"a": 1.0}'), ('{}', '{}'), (NULL, NULL);
CREATE INDEX whole_eq ON whole USING pbfidx (x array_eq_ops, j jsonb_eq_ops);
SELECT * FROM finds('whole', 'x = ''{1,2}''', 'x = ''{}''', 'j = ''{"a": 1.00}''', 'x @> ''{1}''');
DROP TABLE e, whole;

-- ---- jsonb ----
CREATE TABLE j (id int GENERATED ALWAYS AS IDENTITY, doc jsonb, pad char(1200) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE j ALTER pad SET STORAGE PLAIN;
CREATE FUNCTION more_documents() RETURNS void LANGUAGE sql AS $$
	INSERT INTO j (doc) SELECT jsonb_build_object('user', i, 'name', 'n' || i % 20, 'tags', jsonb_build_array('t' || i % 5, i % 3), 'in', jsonb_build_object('deep', jsonb_build_object('er', i % 11)))
	FROM generate_series(1, 150) i;
	INSERT INTO j (doc) VALUES (NULL), ('{}'), ('[]'), ('null'), ('1'), ('1.00'), ('"user"'), ('"x"'), ('true'), ('[1, 2, [3, {"user": 42}]]'), ('{"user": null}'), ('{"user": {"user": 42}}'),
		('{"user": [42, "42"]}'), ('{"": ""}'), ('{"user": 42.0}'), ('["user", "name"]'), ('{"schön": "äöü€😀"}'), (('{"long": "' || repeat('x', 500) || '"}')::jsonb), ('[[], {}, null]');
	INSERT INTO j (doc) SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 3000) i;
$$;
SELECT more_documents();
CREATE INDEX j_doc ON j USING pbfidx (doc);
SELECT more_documents();
SELECT pbfidx_check('j_doc');
CREATE TABLE j_conditions (cond text);
INSERT INTO j_conditions VALUES ('doc @> ''{"user": 42}'''), ('doc @> ''{"user": 42.00}'''), ('doc @> ''{"user": "42"}'''), ('doc @> ''{}'''), ('doc @> ''[]'''), ('doc @> ''null'''), ('doc @> ''1'''),
	('doc @> ''"user"'''), ('doc @> ''{"user": 42, "name": "n2"}'''), ('doc @> ''{"in": {"deep": {"er": 3}}}'''), ('doc @> ''{"in": {"deep": {}}}'''), ('doc @> ''{"in": {}}'''),
	('doc @> ''{"tags": ["t1"]}'''), ('doc @> ''{"tags": ["t1", 1]}'''), ('doc @> ''[1]'''), ('doc @> ''[[3]]'''), ('doc @> ''{"user": null}'''), ('doc @> ''{"user": [42]}'''), ('doc @> ''{"": ""}'''),
	('doc @> ''{"schön": "äöü€😀"}'''), ('doc @> (''{"long": "'' || repeat(''x'', 500) || ''"}'')::jsonb'), ('doc @> ''{"k77": 77}'''), ('doc @> ''{"user": 9999}'''), ('doc @> ''[[], {}]'''),
	('doc ? ''user'''), ('doc ? ''k77'''), ('doc ? '''''), ('doc ? ''schön'''), ('doc ? ''nosuch'''), ('doc ?| ''{k1,nosuch}'''), ('doc ?| ''{}'''), ('doc ?| ''{NULL}'''), ('doc ?| ''{NULL,user}'''),
	('doc ?& ''{user,name}'''), ('doc ?& ''{}'''), ('doc ?& ''{user,NULL}'''), ('doc ?& ''{user,k1}'''),
	('doc @? ''$.user ? (@ == 42)'''), ('doc @? ''$.user'''), ('doc @? ''$.nosuch'''), ('doc @? ''$'''), ('doc @? ''$.* ? (@ == 42)'''), ('doc @? ''$.** ? (@ == 42)'''), ('doc @? ''$.tags[*] ? (@ == "t1")'''),
	('doc @? ''$.user ? (@ == 42 || @ == 43)'''), ('doc @? ''$.user ? (!(@ == 42))'''), ('doc @? ''$.user ? (@ > 140)'''), ('doc @? ''$ ? (@.user == 42 && @.name == "n2")'''), ('doc @? ''$ ? (exists (@.in.deep))'''),
	('doc @@ ''$.user == 42'''), ('doc @@ ''$.user == 42 && $.name == "n2"'''), ('doc @@ ''$.user == 42 || $.name == "n3"'''), ('doc @@ ''!($.user == 42)'''), ('doc @@ ''exists ($.in.deep.er)'''),
	('doc @@ ''$.in.deep.er == 3'''), ('doc @@ ''$.user == null'''), ('doc @@ ''$ == 1'''), ('doc @@ ''$.name starts with "n1"'''), ('doc @@ ''$.user > 140'''),
	('doc IS NULL'), ('doc @> ANY (ARRAY[''{"user": 1}'', ''{"user": 2, "name": "n2"}'', NULL]::jsonb[])'), ('doc @> ANY (ARRAY[''{"user": 1}'', ''{}'']::jsonb[])'), ('doc ? ANY (''{k1,nosuch}''::text[])'),
	('doc @> ANY (''{}''::jsonb[])'), ('doc @@ ANY (ARRAY[''$.user == 42 || $.name == "n3"'', ''$.in.deep.er == 3 && $.user == 3'']::jsonpath[])');
SELECT f.* FROM finds('j', VARIADIC (SELECT array_agg(cond) FROM j_conditions)) f WHERE missing > 0 OR extra > 0 OR NOT used;
SELECT * FROM verify('j', (SELECT array_agg(cond) FROM j_conditions));
SELECT pages('j', 'doc @> ''{"user": 77}''') < 10 AS contains, pages('j', 'doc ? ''k77''') < 6 AS has, pages('j', 'doc @@ ''$.user == 77 || $.user == 78''') < 15 AS path;
DROP INDEX j_doc;
CREATE INDEX j_path ON j USING pbfidx (doc jsonb_path_ops);
SELECT pbfidx_check('j_path');
SELECT * FROM verify('j', (SELECT array_agg(cond) FROM j_conditions));
SELECT f.* FROM finds('j', VARIADIC (SELECT array_agg(cond) FROM j_conditions WHERE cond !~ 'doc \?')) f WHERE missing > 0 OR extra > 0 OR NOT used;
-- Scalar columns are asked first, whatever their place in the index: pages of the index that are read.
CREATE TABLE ordered AS SELECT i, ARRAY['all', 's' || i % 3] AS tags, ''::char(1000) AS pad FROM generate_series(1, 10000) i;
ALTER TABLE ordered ALTER pad SET STORAGE PLAIN;
CREATE INDEX ordered_ti ON ordered USING pbfidx (tags, i) WITH (pages_per_range = 1);
ANALYZE ordered;
CREATE FUNCTION index_pages(cond text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM ordered WHERE %s', cond) INTO plan;
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM ordered WHERE %s', cond) INTO plan;
	plan := plan->0->'Plan'->'Plans'->0;
	RETURN (plan->>'Shared Hit Blocks')::int + (plan->>'Shared Read Blocks')::int;
END $$;
SELECT index_pages('tags @> ''{all}'' AND i = 77') < index_pages('i = 77') + 8 AS few, pages('ordered', 'tags @> ''{all}'' AND i = 77') <= pages('ordered', 'i = 77') AS "both";
SELECT * FROM finds('ordered', 'tags @> ''{all}'' AND i = 77', 'tags @> ''{s1}'' AND i IN (77, 76, 79)', 'tags && ''{s2,none}'' AND i = 77');
DROP TABLE ordered;

-- What the server extracts of a path may be too much: of these it was in 15.18, for GIN too.
CREATE TABLE jp (id int GENERATED ALWAYS AS IDENTITY, doc jsonb, pad char(3000) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE jp ALTER pad SET STORAGE PLAIN;
INSERT INTO jp (doc) SELECT '{"a": 1.5, "s": "string", "n": 5, "b": 7}' FROM generate_series(1, 10);
INSERT INTO jp (doc) SELECT '"x"' FROM generate_series(1, 10);
INSERT INTO jp (doc) VALUES ('{"b": 2}');
CREATE TABLE jp_conditions (cond text);
INSERT INTO jp_conditions SELECT format('doc %s %L', op, path) FROM (VALUES
	('@@', '!($.n == 1 && !($.b == 2))'), ('@?', '$ ? (!(@.n == 1 && !(@.b == 2)))'), ('@@', '!(!($.b == 2) && $.n == 1)'), ('@@', '!(exists($.x) && !($.b == 2))'), ('@@', '$.a == "1.5".double()'),
	('@@', '"1.5".double() == $.a'), ('@@', '$.s == "abc".type()'), ('@?', '$ ? (@.a == (-1.5).abs())'), ('@@', 'strict $ == "x"'), ('@?', 'strict $ ? (@ == "x")'), ('@?', 'strict $.s ? ($ == "x")'),
	('@@', '$ == "x"'), ('@@', 'strict $.s == "string"'), ('@?', 'strict $.s ? (@ == "string")'), ('@@', '!(!($.b == 2))'), ('@@', '!(!($.b == 2) || $.n == 1)')) v (op, path);
CREATE INDEX jp_doc ON jp USING pbfidx (doc) WITH (pages_per_range = 1);
SELECT * FROM finds('jp', VARIADIC (SELECT array_agg(cond) FROM jp_conditions));
DROP INDEX jp_doc;
-- And random ones.
CREATE FUNCTION pick(VARIADIC of text[]) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT of[1 + floor(random() * cardinality(of))::int] $$;
CREATE FUNCTION random_document(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int := floor(random() * 3);
BEGIN
	IF depth = 0 OR random() < 0.3 THEN
		RETURN multikey.pick('1', '2', '"1"', '"a"', '"b"', 'true', 'null', '1.5', '"1.5"', '-1', '""', '"number"');
	ELSIF random() < 0.35 THEN
		RETURN '[' || coalesce((SELECT string_agg(multikey.random_document(depth - 1), ',') FROM generate_series(1, n)), '') || ']';
	END IF;
	RETURN '{' || coalesce((SELECT string_agg('"' || multikey.pick('a', 'b', 'c') || '":' || multikey.random_document(depth - 1), ',') FROM generate_series(1, n)), '') || '}';
END $$;
CREATE FUNCTION random_literal() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT multikey.pick('1', '2', '"1"', '"a"', '"b"', 'true', 'null', '1.5', '-1', '""', '"1.5".double()', '(-1).abs()', '"a".type()', '1 ? (@ > 0)')
$$;
CREATE FUNCTION random_path(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	path text := multikey.pick('$', '@', '@');
BEGIN
	FOR i IN 1..floor(random() * 4)::int LOOP
		path := path || CASE WHEN depth > 0 AND random() < 0.3 THEN ' ? (' || multikey.random_predicate(depth - 1) || ')'
			ELSE multikey.pick('.a', '.b', '.c', '.a', '.b', '[*]', '.*', '.**', '[0]', '[last]', '.**{1 to last}', '.size()', '.type()', '.double()') END;
	END LOOP;
	RETURN path;
END $$;
CREATE FUNCTION random_predicate(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	kind float8 := CASE WHEN depth > 0 THEN random() ELSE 1 END;
BEGIN
	RETURN CASE WHEN kind < 0.2 THEN '(' || multikey.random_predicate(depth - 1) || ' && ' || multikey.random_predicate(depth - 1) || ')'
		WHEN kind < 0.35 THEN '(' || multikey.random_predicate(depth - 1) || ' || ' || multikey.random_predicate(depth - 1) || ')'
		WHEN kind < 0.55 THEN '!(' || multikey.random_predicate(depth - 1) || ')'
		WHEN kind < 0.62 THEN 'exists(' || multikey.random_path(depth - 1) || ')'
		WHEN kind < 0.66 THEN '(' || multikey.random_predicate(depth - 1) || ') is unknown'
		WHEN random() < 0.75 THEN multikey.random_path(depth - 1) || multikey.pick(' == ', ' == ', ' == ', ' != ', ' > ') || multikey.random_literal()
		WHEN random() < 0.7 THEN multikey.random_literal() || ' == ' || multikey.random_path(depth - 1)
		ELSE multikey.random_path(depth - 1) || multikey.pick(' starts with "a"', ' like_regex "a"', ' == $.a') END;
END $$;
CREATE FUNCTION is_path(path text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM path::jsonpath;
	RETURN true;
EXCEPTION WHEN syntax_error THEN
	RETURN false;
END $$;
SELECT setseed(0.3);
INSERT INTO jp (doc) SELECT random_document(1 + i % 4)::jsonb FROM generate_series(1, 60) i;
INSERT INTO jp_conditions SELECT format('doc %s %L', pick('@?', '@@'), path)
	FROM (SELECT pick('', '', 'strict ') || CASE WHEN random() < 0.6 THEN replace(random_predicate(3), '@', '$') ELSE regexp_replace(random_path(3), '^@', '$') END AS path FROM generate_series(1, 600)) p
	WHERE is_path(path);
CREATE INDEX jp_doc ON jp USING pbfidx (doc) WITH (pages_per_range = 1);
SELECT conditions > 300 AS enough, rows > 1000 AS found, missing, extra, used = conditions AS used FROM verify('jp', (SELECT array_agg(cond) FROM jp_conditions));
SELECT f.* FROM finds('jp', VARIADIC (SELECT array_agg(cond) FROM jp_conditions)) f WHERE missing > 0 OR extra > 0;
DROP INDEX jp_doc;
CREATE INDEX jp_path ON jp USING pbfidx (doc jsonb_path_ops) WITH (pages_per_range = 1);
SELECT conditions > 300 AS enough, rows > 1000 AS found, missing, extra, used = conditions AS used FROM verify('jp', (SELECT array_agg(cond) FROM jp_conditions));
SELECT f.* FROM finds('jp', VARIADIC (SELECT array_agg(cond) FROM jp_conditions)) f WHERE missing > 0 OR extra > 0;
-- Those that are right are still looked up.
SELECT pages('jp', 'doc @@ ''$.b == 2''') < 20 AS equal, pages('jp', 'doc @@ ''!(!($.b == 2))''') < 20 AS twice, pages('jp', 'doc @? ''strict $.s ? (@ == "string")''') < 20 AS strict;
DROP TABLE j, j_conditions, jp, jp_conditions;

-- ---- full text ----
CREATE TABLE d (id int GENERATED ALWAYS AS IDENTITY, body text, tsv tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED) WITH (autovacuum_enabled = off);
CREATE FUNCTION more_texts() RETURNS void LANGUAGE sql AS $$
	INSERT INTO d (body) SELECT 'word' || i % 50 || ' common item' || i || ' quick brown fox ' || CASE WHEN i % 3 = 0 THEN 'jumps' ELSE 'sleeps' END || ' übung' || i % 9 || repeat(' pad', 100)
	FROM generate_series(1, 400) i;
	INSERT INTO d (body) VALUES (NULL), (''), ('!!!'), ('fox brown quick'), ('alone');
	INSERT INTO d (body) SELECT string_agg('long' || i, ' ') FROM generate_series(1, 5000) i;
$$;
SELECT more_texts();
CREATE INDEX d_tsv ON d USING pbfidx (tsv);
SELECT more_texts();
SELECT pbfidx_check('d_tsv');
CREATE TABLE d_queries (q text);
INSERT INTO d_queries VALUES ('word7'), ('word7 & item7'), ('word7 & item8'), ('word7 | alone'), ('!common'), ('!common & fox'), ('fox & !common'), ('!fox'), ('!(fox & quick)'), ('word7 & !jumps'), ('quick <-> brown'),
	('brown <-> quick'), ('quick <2> fox'), ('quick <-> brown <-> fox & word7'), ('item12:*'), ('item12:* & jumps'), ('nosuch:*'), ('nosuch'), ('nosuch | item5'), ('nosuch & item5'), (''), ('übung3 & item3'),
	('long4999'), ('long4999 & long1'), ('word7 & (item7 | item57 | item107) & !sleeps'), ('!nosuch'), ('!item12:*'), ('(word1 | word2) & (jumps | alone)'), ('common:A'), ('word7 <-> !jumps'), ('!!item7'),
	('item1 | item2 | item3 | item4 | item5 | item6 | item7 | item8 | item9 | item10 | item11 | item12 | item13 & !common');
SELECT f.* FROM finds('d', VARIADIC (SELECT array_agg(format('tsv @@ %L::tsquery', q)) FROM d_queries)) f WHERE missing > 0 OR extra > 0 OR NOT used;
SELECT * FROM verify('d', (SELECT array_agg(format('tsv @@ %L::tsquery', q)) FROM d_queries));
SELECT * FROM finds('d', 'tsv IS NULL', 'tsv = ''''', 'tsv @@ ANY (ARRAY[''alone'', ''item7 & word7'', ''!fox & !alone & !item9'']::tsquery[])', 'tsv @@ ANY (ARRAY[''alone'', ''item7'']::tsquery[])',
	'tsv @@ ''item7'' AND tsv @@ ''jumps | sleeps''', 'tsv @@ NULL::tsquery');
SELECT pages('d', 'tsv @@ ''item77''') < 10 AS word, pages('d', 'tsv @@ ''item77 & !nosuch''') < 10 AS negation, pages('d', 'tsv @@ ''(item77 | item78) & (sleeps | jumps)''') < 14 AS both,
	pages('d', 'tsv @@ ''!item77''') > 30 AS not_narrowed;
DROP TABLE d, d_queries;

-- ---- scalar and multi-key columns in one index ----
CREATE TABLE mixed (k int, tags text[], doc jsonb, tsv tsvector, t text, pad char(300) DEFAULT '') WITH (autovacuum_enabled = off);
CREATE FUNCTION more_mixed(n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO mixed SELECT i, ARRAY['t' || i % 100, 'u' || i], jsonb_build_object('a', i % 10, 'b', i), to_tsvector('simple', 'w' || i % 30 || ' x' || i), 's' || i % 40
	FROM generate_series(n, n + 999) i;
	INSERT INTO mixed VALUES (NULL, '{}', '{}', '', ''), (n, NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL, NULL);
$$;
SELECT more_mixed(1);
CREATE INDEX m_all ON mixed USING pbfidx (k, tags, doc, tsv, t);
SELECT more_mixed(1001);
SELECT pbfidx_check('m_all');
SELECT * FROM finds('mixed', 'k = 7', 'tags @> ''{u7}''', 'k = 7 AND tags @> ''{u7}''', 'k = 7 AND tags @> ''{u8}''', 'tags @> ''{t7}'' AND doc @> ''{"a": 7}''', 't = ''s7'' AND tsv @@ ''w7''',
	't = ''s7'' AND k = 7 AND tags @> ''{t7}'' AND doc @> ''{"b": 7}'' AND tsv @@ ''x7''', 'k IS NULL AND tags IS NULL', 'k IS NULL AND tags = ''{}'' AND doc IS NOT NULL', 'k IN (5, 6, NULL) AND tags && ''{t5,t6}''',
	'tsv IS NULL AND doc IS NULL', 'doc = ''{}'' AND k IS NULL', 'k = 5 OR tags @> ''{u6}''', 'tags @> ''{u1500}'' AND t = ''s20''', 't = ''''');
SELECT column_group, index_columns, leaf_slabs, saturated_ranges, est_false_positive_rate < 0.1 AS rate FROM pbfidx_stats('m_all');
SELECT DISTINCT column_group, level FROM pbfidx_slabs('m_all') ORDER BY 1;
-- A parallel build, group by group, gives the same.
CREATE INDEX m_serial ON mixed USING pbfidx (k, tags, doc, tsv, t);
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
CREATE INDEX m_parallel ON mixed USING pbfidx (k, tags, doc, tsv, t);
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;
SELECT pbfidx_check('m_parallel');
SELECT count(*) AS different FROM (SELECT level, slab, blocks, columns, fill, column_group FROM pbfidx_slabs('m_serial')
	EXCEPT SELECT level, slab, blocks, columns, fill, column_group FROM pbfidx_slabs('m_parallel')) d;
DROP INDEX m_serial, m_parallel;
VACUUM mixed;
SELECT pbfidx_resummarize('m_all') AS rebuilt;
SELECT pbfidx_check('m_all');
SELECT * FROM finds('mixed', 'k = 1007 AND tags @> ''{u1007}''', 'doc @> ''{"b": 1999}''', 'tsv @@ ''x1999''');
REINDEX INDEX CONCURRENTLY m_all;
SELECT pbfidx_check('m_all');
TRUNCATE mixed;
SELECT * FROM finds('mixed', 'k = 7', 'tags @> ''{u7}''');
SELECT more_mixed(5);
SELECT * FROM finds('mixed', 'k = 7', 'tags @> ''{u7}''');
SELECT pbfidx_check('m_all');
DROP INDEX m_all;
-- Partial: the row key is in the first group, whatever that is.
CREATE INDEX m_partial ON mixed USING pbfidx (tags, k) WHERE t = 's7';
SELECT more_mixed(2001);
SELECT pbfidx_check('m_partial');
SELECT * FROM finds('mixed', 't = ''s7''', 't = ''s7'' AND tags @> ''{t7}''', 't = ''s7'' AND tags @> ''{}''', 't = ''s7'' AND k = 7');
DROP INDEX m_partial;
-- Expressions.
CREATE INDEX m_expr ON mixed USING pbfidx (to_tsvector('simple', t), (doc -> 'a'), k);
SELECT more_mixed(3001);
SELECT pbfidx_check('m_expr');
SELECT * FROM finds('mixed', 'to_tsvector(''simple'', t) @@ ''s7''', 'doc -> ''a'' @> ''7'' AND k = 7');
VACUUM mixed;
SELECT pbfidx_resummarize('m_expr') > 0 AS rebuilt;
SELECT pbfidx_check('m_expr');
DROP TABLE mixed;
-- Eight groups are possible.
CREATE TABLE many (k int, a int[], b int[], c int[], d int[], e int[], f int[], g int[], h int[]);
INSERT INTO many SELECT i, ARRAY[i], ARRAY[i], ARRAY[i], ARRAY[i], ARRAY[i], ARRAY[i], ARRAY[i], ARRAY[i] FROM generate_series(1, 500) i;
CREATE INDEX ON many USING pbfidx (k, a, b, c, d, e, f, g, h);
CREATE INDEX many_8 ON many USING pbfidx (a, b, c, d, e, f, g, h);
INSERT INTO many SELECT * FROM many;
SELECT pbfidx_check('many_8');
SELECT * FROM finds('many', 'h @> ''{7}''', 'a @> ''{7}'' AND b @> ''{7}'' AND c @> ''{7}'' AND h @> ''{7}''', 'a @> ''{7}'' AND h @> ''{8}''');
DROP TABLE many;

-- ---- options ----
CREATE TABLE o (x int[]) WITH (autovacuum_enabled = off);
INSERT INTO o SELECT ARRAY[i, i * 3, i * 5, i % 1000] FROM generate_series(1, 20000) i;
CREATE INDEX o_4 ON o USING pbfidx (x array_ops (bits_per_key = 4));
CREATE INDEX o_default ON o USING pbfidx (x);
CREATE INDEX o_24 ON o USING pbfidx (x array_ops (bits_per_key = 24));
SELECT pg_relation_size('o_4') < pg_relation_size('o_default') AS smaller, pg_relation_size('o_default') < pg_relation_size('o_24') AS larger;
SELECT (SELECT est_false_positive_rate FROM pbfidx_stats('o_4')) > 10 * (SELECT est_false_positive_rate FROM pbfidx_stats('o_default')) AS worse;
SELECT pbfidx_check('o_4'), pbfidx_check('o_24');
CREATE INDEX ON o USING pbfidx (x array_ops (bits_per_key = 0.5));
CREATE INDEX ON o USING pbfidx (x array_ops (bits_per_key = 33));
CREATE INDEX ON o USING pbfidx (x array_ops (siglen = 3));
DO $$ -- the name is qualified from 17 on
BEGIN
    CREATE INDEX ON o USING pbfidx (x array_eq_ops (bits_per_key = 3));
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE WARNING '%', replace(SQLERRM, 'public.', '');
END $$;
DROP TABLE o;

-- ---- saturation: every page has every key, of a slab that was sized for few ----
CREATE TABLE sat (x int[]) WITH (autovacuum_enabled = off);
CREATE INDEX sat_x ON sat USING pbfidx (x array_ops (bits_per_key = 1));
INSERT INTO sat SELECT (SELECT array_agg(j) FROM generate_series(1, 30000) j WHERE (j + i) % 3 > 0) FROM generate_series(1, 30) i;
INSERT INTO sat VALUES ('{40000}');
SELECT saturated_ranges > 0 AS saturated FROM pbfidx_stats('sat_x');
SELECT pbfidx_check('sat_x');
SELECT * FROM finds('sat', 'x @> ''{5}''', 'x @> ''{40000}''', 'x && ''{40000,5}''', 'x = ''{40000}''', 'x @> ''{5,6,7}''');
VACUUM sat;
SELECT pbfidx_check('sat_x');
SELECT * FROM finds('sat', 'x @> ''{5}''', 'x @> ''{40000}''');
DROP TABLE sat;

-- ---- values with very many keys: what is kept of them in memory has its limits ----
CREATE TABLE wide (x int[]) WITH (autovacuum_enabled = off);
INSERT INTO wide SELECT (SELECT array_agg(j) FROM generate_series(1, 200000) j) FROM generate_series(1, 3);
INSERT INTO wide SELECT ARRAY[i] FROM generate_series(300001, 300500) i;
SET maintenance_work_mem = '1MB';
CREATE INDEX wide_x ON wide USING pbfidx (x) WITH (pages_per_range = 1);
INSERT INTO wide SELECT (SELECT array_agg(j) FROM generate_series(1000000, 1100000) j);
INSERT INTO wide SELECT (SELECT array_agg(7) FROM generate_series(1, 100000) j);
SELECT pbfidx_check('wide_x');
SELECT * FROM finds('wide', 'x @> ''{200000}''', 'x @> ''{1100000,1000000}''', 'x @> ''{300007}''', 'x && ''{300007,300009}''', 'x @> ''{7}''', 'x @> ''{5000000}''');
SELECT pbfidx_resummarize('wide_x') AS rebuilt;
VACUUM wide;
SELECT pbfidx_check('wide_x');
SELECT * FROM finds('wide', 'x @> ''{200000}''', 'x @> ''{1100000,1000000}''', 'x @> ''{300007}''', 'x @> ''{7}''');
RESET maintenance_work_mem;
DROP TABLE wide;

-- ---- a class of one's own: GIN's functions, without triConsistent ----
CREATE OPERATOR CLASS binary_tsvector_ops FOR TYPE tsvector USING pbfidx AS
	OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 2 gin_extract_tsvector(tsvector, internal, internal),
	FUNCTION 3 gin_extract_tsquery(tsvector, internal, smallint, internal, internal, internal, internal),
	FUNCTION 4 gin_tsquery_consistent(internal, smallint, tsvector, int, internal, internal, internal, internal),
	STORAGE text;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'binary_tsvector_ops';
CREATE TABLE b (tsv tsvector, pad char(900) DEFAULT '');
ALTER TABLE b ALTER pad SET STORAGE PLAIN;
INSERT INTO b SELECT to_tsvector('simple', 'w' || i || ' v' || i % 7 || ' all') FROM generate_series(1, 200) i;
INSERT INTO b VALUES (''), (NULL);
CREATE INDEX b_tsv ON b USING pbfidx (tsv binary_tsvector_ops) WITH (pages_per_range = 1);
INSERT INTO b SELECT tsv FROM b;
SELECT pbfidx_check('b_tsv');
SELECT * FROM finds('b', 'tsv @@ ''w5''', 'tsv @@ ''w5 & v5''', 'tsv @@ ''w5 & v6''', 'tsv @@ ''w5 | w6''', 'tsv @@ ''!all''', 'tsv @@ ''!w5 & v5''', 'tsv @@ ''w5:*''', 'tsv @@ ''v5 & !w5 & !w12''', 'tsv @@ ''w5 <-> v5''',
	'tsv @@ ''w1 | w2 | w3 | w4 | w5 | w6 | w7 | w8 | w9 | w10 | w11 | w12''', 'tsv @@ ''w1 & w2 & w3 & w4 & w5 & w6 & w7 & w8 & w9 & w10 & w11 & w12''');
SELECT pages('b', 'tsv @@ ''w77''') < 6 AS one, pages('b', 'tsv @@ ''w77 & v0''') < 6 AS two, pages('b', 'tsv @@ ''w77 | w78''') < 12 AS any, pages('b', 'tsv @@ ''(w77 | w78) & !nosuch''') < 12 AS consulted;
-- Random queries of all shapes, by both classes: few words, so that all of them matter.
CREATE FUNCTION random_tsquery(depth int) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	dice float8 := random();
	word text := chr(97 + (random() * 9)::int) || CASE WHEN random() < 0.1 THEN ':*' ELSE '' END;
BEGIN
	IF depth = 0 OR dice < 0.2 THEN
		RETURN word;
	ELSIF dice < 0.4 THEN
		RETURN '!(' || random_tsquery(depth - 1) || ')';
	END IF;
	RETURN '(' || random_tsquery(depth - 1) || (ARRAY[' & ', ' & ', ' | ', ' <-> '])[1 + (random() * 3)::int] || random_tsquery(depth - 1) || ')';
END $$;
SELECT setseed(0.5);
CREATE TABLE r (tsv tsvector, tags text[], pad char(1800) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE r ALTER pad SET STORAGE PLAIN;
INSERT INTO r SELECT to_tsvector('simple', array_to_string(w, ' ')), w
FROM (SELECT i, ARRAY(SELECT CASE WHEN random() < 0.05 THEN NULL ELSE chr(97 + (random() * 9)::int) END FROM generate_series(1, (i % 5)) j) AS w FROM generate_series(1, 200) i) x;
CREATE INDEX r_tri ON r USING pbfidx (tsv) WITH (pages_per_range = 1);
SELECT conditions, used = conditions AS all_used, rows > 0 AS some_rows, missing, extra
FROM verify('r', (SELECT array_agg(format('tsv @@ %L::tsquery', random_tsquery(1 + i % 4))) FROM generate_series(1, 300) i));
DROP INDEX r_tri;
CREATE INDEX r_binary ON r USING pbfidx (tsv binary_tsvector_ops) WITH (pages_per_range = 1);
SELECT conditions, used = conditions AS all_used, rows > 0 AS some_rows, missing, extra
FROM verify('r', (SELECT array_agg(format('tsv @@ %L::tsquery', random_tsquery(1 + i % 4))) FROM generate_series(1, 300) i));
CREATE INDEX r_tags ON r USING pbfidx (tags) WITH (pages_per_range = 1);
SELECT conditions, used = conditions AS all_used, rows > 0 AS some_rows, missing, extra
FROM verify('r', (SELECT array_agg(format('tags %s %L::text[]', (ARRAY['@>', '&&', '<@', '='])[1 + i % 4], ARRAY(SELECT CASE WHEN random() < 0.1 THEN NULL ELSE chr(97 + (random() * 10)::int) END
	FROM generate_series(1, (random() * 4)::int + i * 0)))) FROM generate_series(1, 300) i));
DROP TABLE r;
-- Classes that do not make sense.
CREATE OPERATOR CLASS no_query_ops FOR TYPE tsvector USING pbfidx AS
	OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 2 gin_extract_tsvector(tsvector, internal, internal), STORAGE text;
CREATE OPERATOR CLASS no_value_ops FOR TYPE tsvector USING pbfidx AS
	OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 3 gin_extract_tsquery(tsvector, internal, smallint, internal, internal, internal, internal), STORAGE text;
CREATE OPERATOR CLASS compare_ops FOR TYPE tsvector USING pbfidx AS
	OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 1 gin_cmp_tslexeme(text, text),
	FUNCTION 2 gin_extract_tsvector(tsvector, internal, internal),
	FUNCTION 3 gin_extract_tsquery(tsvector, internal, smallint, internal, internal, internal, internal),
	FUNCTION 4 gin_tsquery_consistent(internal, smallint, tsvector, int, internal, internal, internal, internal),
	STORAGE text;
SET client_min_messages = info;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname IN ('no_query_ops', 'no_value_ops', 'compare_ops') ORDER BY 1;
SET client_min_messages = warning;
CREATE INDEX ON b USING pbfidx (tsv compare_ops);
-- A class that changes its kind after the index was built is noticed.
DROP TABLE b;
CREATE TABLE changed (x int[]);
INSERT INTO changed VALUES ('{1}'), ('{1,2}');
CREATE OPERATOR CLASS changed_ops FOR TYPE anyarray USING pbfidx AS OPERATOR 1 =, STORAGE anyelement;
CREATE INDEX changed_x ON changed USING pbfidx (x changed_ops);
DROP INDEX changed_x;
DROP OPERATOR FAMILY changed_ops USING pbfidx CASCADE;
CREATE OPERATOR CLASS changed_ops FOR TYPE anyarray USING pbfidx AS OPERATOR 1 =;
CREATE INDEX changed_x ON changed USING pbfidx (x changed_ops);
SELECT * FROM finds('changed', 'x = ''{1}''');
ALTER OPERATOR FAMILY changed_ops USING pbfidx ADD
	FUNCTION 2 (anyarray, anyarray) ginarrayextract(anyarray, internal, internal);
\connect -
SET search_path = multikey, public;
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SET enable_seqscan = off;
SELECT * FROM changed WHERE x = '{1}';
INSERT INTO changed VALUES ('{3}');
SELECT pbfidx_check('changed_x');
-- The same of a hash function that a class in use gets, with any other type of the family.
CREATE TABLE rehashed AS SELECT i FROM generate_series(1, 100) i;
CREATE OPERATOR CLASS rehashed_ops FOR TYPE int USING pbfidx AS OPERATOR 1 =;
CREATE INDEX rehashed_i ON rehashed USING pbfidx (i rehashed_ops);
-- Of several columns, too, one of which had such a function before.
CREATE TABLE rehashed_two AS SELECT i, int4range(i, i + 9) AS r FROM generate_series(1, 100) i;
CREATE INDEX rehashed_ri ON rehashed_two USING pbfidx (r, i rehashed_ops);
-- Even if another function of the server or a user hashed the column before.
CREATE FUNCTION range_hash(int4range, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hash_range_extended($1, $2 + 1)';
CREATE OPERATOR CLASS reranged_ops FOR TYPE int4range USING pbfidx AS OPERATOR 1 = (anyrange, anyrange);
CREATE INDEX rehashed_r ON rehashed_two USING pbfidx (r reranged_ops);
SELECT * FROM finds('rehashed', 'i = 77');
ALTER OPERATOR FAMILY rehashed_ops USING pbfidx ADD FUNCTION 1 (int, int) hashint4extended(int, bigint);
ALTER OPERATOR FAMILY reranged_ops USING pbfidx ADD FUNCTION 1 (int4range, int4range) range_hash(int4range, bigint);
\connect -
SET search_path = multikey, public;
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SET enable_seqscan = off;
SELECT * FROM rehashed WHERE i = 77;
INSERT INTO rehashed VALUES (101);
SELECT pbfidx_check('rehashed_i');
SELECT * FROM rehashed_two WHERE i = 77;
INSERT INTO rehashed_two VALUES (101, 'empty');
SELECT pbfidx_check('rehashed_ri');
SELECT i FROM rehashed_two WHERE r = int4range(77, 86);
REINDEX INDEX rehashed_ri;
SELECT * FROM rehashed_two WHERE i = 77;
DROP INDEX rehashed_ri;
SELECT pbfidx_check('rehashed_r');
SELECT i FROM rehashed_two WHERE r = int4range(77, 86);
REINDEX INDEX rehashed_r;
SELECT i FROM rehashed_two WHERE r = int4range(77, 86);
REINDEX INDEX rehashed_i;
SELECT * FROM rehashed WHERE i = 77;
RESET enable_seqscan;
DROP TABLE changed, rehashed, rehashed_two;

-- ---- estimate ----
CREATE TABLE est (x int[], k int) WITH (autovacuum_enabled = off);
INSERT INTO est SELECT ARRAY[i, i % 500, i % 77], i FROM generate_series(1, 100000) i;
CREATE INDEX est_x ON est USING pbfidx (x);
CREATE INDEX est_xk ON est USING pbfidx (x, k);
CREATE INDEX est_eq ON est USING pbfidx (x array_eq_ops);
SELECT abs(bytes::float8 / pg_relation_size(i) - 1) < 0.3 AS close, bytes::float8 / pg_relation_size(i) BETWEEN 0.5 AND 2 AS not_far
FROM (VALUES ('est_x'::regclass, '{x}'::text[], '{}'::text[]), ('est_xk', '{x,k}', '{}'), ('est_eq', '{x}', '{array_eq_ops}'), ('est_xk', '{x,k}', '{NULL,int4_ops}')) v (i, c, o),
	pbfidx_estimate('est', c, 2e-6, o);
SELECT pbfidx_estimate('est', '{x}', 2e-6, '{nosuch}');
SELECT pbfidx_estimate('est', '{x}', 2e-6, '{int4_ops}');
SELECT pbfidx_estimate('est', '{x}', 2e-6, '{array_ops,array_ops}');
SELECT pbfidx_estimate('pg_attribute', '{attmissingval}');
DROP TABLE est;

-- Keys that all ranges have are on the same pages of all slabs: statistics take another page of each.
CREATE TABLE m_common AS
SELECT jsonb_build_object('sku', 'S' || i * 7919 % 50000, 'qty', i % 10, 'src', (ARRAY['web', 'app', 'shop'])[1 + i % 3], 'trace', md5('t' || i)) AS doc
FROM generate_series(1, 100000) i;
CREATE INDEX m_common_i ON m_common USING pbfidx (doc);
VACUUM ANALYZE m_common;
CREATE FUNCTION pages_in_vain(n int) RETURNS float8 LANGUAGE plpgsql SET enable_seqscan = off SET pbf.filter_rows = off AS $$
DECLARE
	plan json;
	pages float8 = 0;
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE format('EXPLAIN (ANALYZE, FORMAT json, TIMING off) SELECT FROM m_common WHERE doc ? %L', 'absent' || i) INTO plan;
		pages = pages + (plan #>> '{0,Plan,Lossy Heap Blocks}')::float8;
	END LOOP;
	RETURN pages / n;
END $$;
SELECT est_false_pages / pages_in_vain(300) BETWEEN 0.7 AND 1.4 AS estimated, keys BETWEEN 0.9 * 228000 AND 1.1 * 228000 AS keys FROM pbfidx_stats('m_common_i');
DROP TABLE m_common;
DROP FUNCTION pages_in_vain;

-- ---- Sizes: an upper from 60 slabs on, whatever the number of keys; VACUUM finds nothing to do ----
CREATE FUNCTION some_keys(i int, n int, m int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$ SELECT array_agg(((i * 7919::bigint + j * 104729) % m)::int) FROM generate_series(1, n) j $$;
CREATE TABLE sized (few int[], mid int[], larger int[], many int[], own int[], word int[], pad text) WITH (autovacuum_enabled = off);
ALTER TABLE sized ALTER few SET STORAGE PLAIN, ALTER mid SET STORAGE PLAIN, ALTER larger SET STORAGE PLAIN, ALTER many SET STORAGE PLAIN, ALTER own SET STORAGE PLAIN, ALTER word SET STORAGE PLAIN, ALTER pad SET STORAGE PLAIN;
INSERT INTO sized SELECT some_keys(i, 20, 600), some_keys(i, 74, 2000), some_keys(i, 90, 2000), some_keys(i, 130, 3000), ARRAY(SELECT i * 100 + j FROM generate_series(1, 60) j), some_keys(i, 5, 40), repeat('x', 4000) FROM generate_series(1, 7300) i;
CREATE INDEX sized_all ON sized USING pbfidx (few, mid, larger, many, own, word) WITH (pages_per_range = 1);
SELECT column_group, upper_slabs, round(keys / heap_pages) AS range_keys, bits_per_key BETWEEN 9 AND 120 AS bits FROM pbfidx_stats('sized_all');
CREATE TEMP TABLE slabs AS SELECT * FROM pbfidx_slabs('sized_all');
VACUUM sized;
VACUUM sized;
SELECT count(*) > 360 AS slabs, count(*) FILTER (WHERE a.start_block IS DISTINCT FROM b.start_block) AS rebuilt FROM slabs a FULL JOIN pbfidx_slabs('sized_all') b USING (column_group, level, slab);
SELECT * FROM finds('sized', 'few @> ''{5}''', 'mid && ''{77,78}''', 'larger @> ''{5,734}''', 'many @> ''{2999}''', 'own @> ''{7205}''', 'word @> ''{39}''', 'own @> ''{-1}''');
DROP TABLE sized;

SET client_min_messages = warning;
DROP SCHEMA multikey CASCADE;

--
-- pbf_trgm: trigrams; and how to wrap an operator class of another extension, tested with hstore. What the index finds is
-- what the sequential scan finds.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pbf_trgm;
CREATE SCHEMA trgm;
SET search_path = trgm, public;
SET max_parallel_workers_per_gather = 0;

SELECT opcname, opcdefault, opckeytype::regtype AS storage, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod WHERE a.amname = 'pbfidx' AND opcname ~ 'trgm';
-- The strategies are those of GIN, for all that can be answered.
SELECT amopstrategy, amopopr::regoperator FROM pg_amop o JOIN pg_opfamily f ON f.oid = amopfamily JOIN pg_am a ON a.oid = opfmethod
WHERE amname = 'gin' AND opfname = 'gin_trgm_ops' AND amoppurpose = 's'
EXCEPT SELECT amopstrategy, amopopr::regoperator FROM pg_amop o JOIN pg_opfamily f ON f.oid = amopfamily WHERE opfname = 'pbf_trgm_ops' ORDER BY 1;

-- find, finds, pages: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

-- ---- lines of a log ----
CREATE TABLE log (id int GENERATED ALWAYS AS IDENTITY, line text) WITH (autovacuum_enabled = off);
CREATE FUNCTION more_lines(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO log (line) SELECT format('2024-05-%s 12:%s:%s %s [%s] %s request %s from 10.0.%s.%s took %s ms', 1 + i % 28, i % 60, i * 7 % 60,
		(ARRAY['INFO', 'WARN', 'ERROR', 'DEBUG'])[1 + i % 4], (ARRAY['db', 'web', 'auth', 'queue'])[1 + i / 3 % 4],
		(ARRAY['GET /index.html', 'POST /login', 'connection timeout', 'user logged in', 'cache miss'])[1 + i % 5], md5(i::text), i % 256, i * 3 % 256, i % 997)
	FROM generate_series(first, last) i;
	INSERT INTO log (line) VALUES (NULL), (''), (' '), ('x'), ('ab'), ('%'), ('100% sure_thing'), ('back\slash'), ('Grüße aus Köln, ÄÖÜ und ß'), ('日本語のログ行'), ('emoji 😀😀 here'),
		(E'tab\there'), (E'two\nlines'), ('TIMEOUT in Upper Case'), ('...!!!...'), ('a.b.c-d_e/f'), ('foobar foobaz'), (repeat('long line ', 400) || 'needle'),
		((SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 800) i) || ' haystack');
$$;
SELECT more_lines(1, 1200);
CREATE INDEX log_trgm ON log USING pbfidx (line pbf_trgm_ops);
SELECT more_lines(1201, 2400);
SELECT pbfidx_check('log_trgm');
CREATE TABLE conditions (cond text);
INSERT INTO conditions SELECT format('line %s %L', o, p) FROM unnest('{LIKE,ILIKE,NOT LIKE}'::text[]) o, unnest(ARRAY['%timeout%', '%TIMEOUT%', '%Timeout in%', 'x', 'x%', '%x', '%ab', 'ab%', '', '%', '_', '__', '%\%%', '%\_%', '%100\%%', 'back\\slash',
	'%' || md5('77') || '%', '%' || md5('-1') || '%', '%request ' || left(md5('99'), 12) || '%', '2024-05-1%ERROR%timeout%', '%Köln%', '%ÄÖÜ%', '%äöü%', '%日本語%', '%のログ%', '%😀%', E'%tab\there%', E'%two\nlines', '%needle', '%haystack%',
	'%a.b.c-d_e/f%', '%foo%baz%', '%oba%', '%ob%', '%...%', '%took 99 ms', '%10.0.7.%', '% ms%', '_oobar%', '%o__ar%', '%GET /index.html%', '%[db]%', '%nosuchthing%', '%no such thing at all%']) p;
INSERT INTO conditions SELECT format('line %s %L', o, p) FROM unnest('{~,~*,!~}'::text[]) o, unnest(ARRAY['timeout', 'time.*out', '^2024-05-1.*ERROR', 'took (99|98) ms', 'ERR(OR)?', '[0-9]{3} ms$', 'foo(bar|baz)', 'a+b*c?', '.', '', '^$', '^.$', 'x|y|timeout', '\d+',
	'Köln|ÄÖÜ', 'nosuch(thing|one)', '(INFO|WARN) \[web\]', '[^a-z]', 'haystack', '\mneedle\M', md5('55'), '(' || md5('55') || '|' || md5('56') || ')', '\y(get|post)\y']) p;
INSERT INTO conditions SELECT format('line %s %L', o, p) FROM unnest('{%,%>,%>>}'::text[]) o, unnest('{foobar foobaz,timeout in upper,emoji here,nosuchthing,"",x}'::text[]) p;
INSERT INTO conditions VALUES ('line LIKE ANY (ARRAY[''%needle'', ''%Köln%'', NULL])'), ('line LIKE ANY (ARRAY[''%needle'', ''%''])'), ('line ILIKE ANY (ARRAY[''%KÖLN%'', ''%haystack%'', ''%logged in%took 5 ms''])'),
	('line ~ ANY (ARRAY[''took (99|98) ms'', ''needle$''])'), ('line LIKE ANY (''{}''::text[])'), ('line LIKE ALL (ARRAY[''%foobar%'', ''%foobaz%''])'), ('line IS NULL'), ('line LIKE NULL'), ('line LIKE ''%timeout%'' AND line LIKE ''%ERROR%'''),
	('line = ''foobar foobaz'''), ('line = '''''), ('line = ''x'''), ('line IN (''ab'', ''back\slash'', NULL)'),
	('line LIKE ''%timeout%'' AND line !~ ''ERROR'''), ('line LIKE ''%needle'' OR line IS NULL'), ('line LIKE ''%ms'' AND line ~ ''took 99''');
SELECT c.cond, used, rows, missing, extra FROM conditions c, find('log', cond) f WHERE missing > 0 OR extra > 0;
SELECT count(*), count(*) FILTER (WHERE used) AS used, sum(rows) AS rows, sum(missing) AS missing, sum(extra) AS extra FROM conditions, find('log', cond);
SELECT count(*) AS too_many FROM conditions WHERE cond ~ 'md5|[0-9a-f]{12}' AND cond !~ 'NOT|!' AND pages('log', cond) > 15;
-- A threshold that changes.
SET pg_trgm.similarity_threshold = 0.8;
SELECT * FROM finds('log', 'line % ''foobar foobaz''', 'line % ''foobar''', 'line % ''timeout''');
SET pg_trgm.similarity_threshold = 0.05;
SELECT * FROM finds('log', 'line % ''foobar foobaz''', 'line % ''foobar''', 'line % ''timeout''');
RESET pg_trgm.similarity_threshold;
SET pg_trgm.word_similarity_threshold = 0.3;
SELECT * FROM finds('log', 'line %> ''upper case''', 'line %>> ''timeout''');
RESET pg_trgm.word_similarity_threshold;
-- Generic plans, nested loops.
-- Rows have to contain the longest part of a pattern before they are returned: wildcards and escapes within and beside it, values
-- stored in all ways, what is left of a table that another type was tried in.
CREATE TABLE stored (id int, line text) WITH (autovacuum_enabled = off);
CREATE INDEX stored_trgm ON stored USING pbfidx (line pbf_trgm_ops);
INSERT INTO stored SELECT i, repeat('request ' || i || ' ', 1 + i % 3 * 400) || 'took 100% of it_' || i FROM generate_series(1, 300) i;
ALTER TABLE stored ALTER line SET STORAGE EXTERNAL;
INSERT INTO stored SELECT i, repeat('request ' || i || ' ', 300) || 'back\slash ' || i FROM generate_series(301, 310) i;
BEGIN;
ALTER TABLE stored ADD other int;
UPDATE stored SET other = 2147483644 WHERE id = 7;
INSERT INTO stored VALUES (311, 'request 311', 311);
ROLLBACK;
ALTER TABLE stored ADD other text DEFAULT 'request of others';
CREATE INDEX stored_other ON stored USING pbfidx (other pbf_trgm_ops, id);
UPDATE stored SET other = 'request ' || id WHERE id % 10 = 0;
SELECT * FROM finds('stored', 'line LIKE ''%request 77 %''', 'line LIKE ''%100\% of it\_77''', 'line LIKE ''%100_ of it_78''', 'line LIKE ''request 7%took 100% of it_7''', 'line LIKE ''%ack\\slash 30_''', 'line LIKE ''%\r\e\q\u\e\s\t 78 took%''',
	'line LIKE ''%ack\slash%''', 'line LIKE ''%REQUEST 77%''', 'line LIKE ''%request 77 %'' AND line LIKE ''%it_77%'' AND line LIKE ''re%'' AND line LIKE ''%ok%'' AND line LIKE ''%too%'' AND line LIKE ''%took%''', 'line LIKE ''request 78 took 100% of it_78''',
	'other LIKE ''%of others%'' AND id IN (1, 2, 10)', 'other LIKE ''%request 7_''', 'other LIKE ''%request%'' AND line LIKE ''%request 77 %''', 'line ILIKE ''%REQUEST 77 %''');
SELECT count(*) AS wrong FROM generate_series(1, 310, 6) i, find('stored', format('line LIKE ''%%request %s %%''', i)) f WHERE NOT used OR rows <> 1 OR missing + extra > 0;
SET enable_seqscan = off;
SELECT count(*) FROM stored WHERE line LIKE '%request 77\';
CREATE FUNCTION blocks(cond text) RETURNS TABLE (exact bool, lossy bool) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json, TIMING off) SELECT FROM stored WHERE ' || cond INTO plan;
	RETURN QUERY SELECT (plan #>> '{0,Plan,Exact Heap Blocks}')::int > 0, (plan #>> '{0,Plan,Lossy Heap Blocks}')::int > 0;
END $$;
SELECT c AS cond, b.* FROM unnest(ARRAY['line LIKE ''%request 77 %''', 'line ILIKE ''%request 77 %''', 'line ~ ''request 77 ''', 'line LIKE ANY (ARRAY[''%request 77 %''])']) c, blocks(c) b;
RESET enable_seqscan;
DROP FUNCTION blocks;
DROP TABLE stored;

PREPARE p AS SELECT count(*) FROM log WHERE line LIKE $1;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE p('%needle%');
EXECUTE p('%');
EXECUTE p('%nosuchthing%');
EXECUTE p(NULL);
EXECUTE p('%n%');
SELECT p, count(*) FROM unnest(ARRAY['%needle%', '%Köln%', '%', NULL, '%' || md5('77') || '%']) p JOIN log ON line LIKE p GROUP BY p ORDER BY p COLLATE "C";
RESET enable_seqscan;
UPDATE log SET line = line || ' seen' WHERE id % 50 = 0;
DELETE FROM log WHERE id % 3 = 0;
VACUUM log;
SELECT pbfidx_check('log_trgm');
SELECT pbfidx_resummarize('log_trgm') > 0 AS rebuilt;
SELECT pbfidx_check('log_trgm');
SELECT * FROM finds('log', 'line LIKE ''% seen''', 'line LIKE ''%' || md5('77') || '%''', 'line ILIKE ''%KÖLN%''', 'line ~ ''haystack''');
-- Beside a scalar column; other bits.
CREATE INDEX log_both ON log USING pbfidx (id, line pbf_trgm_ops (bits_per_key = 3));
SELECT pbfidx_check('log_both');
DROP INDEX log_trgm;
SELECT * FROM finds('log', 'id = 77 AND line LIKE ''%' || md5('77') || '%''', 'id IN (77, 79, 80) AND line ~* ''request''', 'line LIKE ''%timeout%''', 'id = 79 AND line LIKE ''%timeout%''', 'line LIKE ''%'' AND id = 80');
SELECT index_columns, leaf_slabs FROM pbfidx_stats('log_both');
CREATE INDEX log_fresh ON log USING pbfidx (id, line pbf_trgm_ops);
SELECT abs(bytes::float8 / pg_relation_size('log_fresh') - 1) < 0.5 AS estimated FROM pbfidx_estimate('log', '{id,line}', 2e-6, '{int4_ops,pbf_trgm_ops}');
DROP TABLE log, conditions;

-- ---- hstore, wrapped ----
CREATE EXTENSION hstore;
CREATE OPERATOR CLASS pbf_hstore_ops DEFAULT FOR TYPE hstore USING pbfidx AS
	OPERATOR 7 @>, OPERATOR 9 ? (hstore, text), OPERATOR 10 ?| (hstore, text[]), OPERATOR 11 ?& (hstore, text[]),
	FUNCTION 2 gin_extract_hstore(hstore, internal), FUNCTION 3 gin_extract_hstore_query(hstore, internal, smallint, internal, internal),
	FUNCTION 4 gin_consistent_hstore(internal, smallint, hstore, int, internal, internal),
	FUNCTION 7 (hstore, hstore) pbfidx_document_options(internal), STORAGE text;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'pbf_hstore_ops';
CREATE TABLE h (x hstore, pad char(700) DEFAULT '') WITH (autovacuum_enabled = off);
ALTER TABLE h ALTER pad SET STORAGE PLAIN;
CREATE FUNCTION more_pairs() RETURNS void LANGUAGE sql AS $$
	INSERT INTO h SELECT hstore(ARRAY['user', i::text, 'a', (i % 7)::text, 'only' || i, NULL]) FROM generate_series(1, 300) i;
	INSERT INTO h VALUES (NULL), (''), ('user=>NULL'), ('""=>""'), ('user=>77,b=>1'), ('"schön"=>"äöü"');
$$;
SELECT more_pairs();
CREATE INDEX h_x ON h USING pbfidx (x) WITH (pages_per_range = 1);
SELECT more_pairs();
SELECT pbfidx_check('h_x');
SELECT * FROM finds('h', 'x @> ''user=>77''', 'x @> ''user=>77,a=>0''', 'x @> ''user=>NULL''', 'x @> ''''', 'x @> ''user=>77,a=>0,only77=>NULL''', 'x @> ''user=>77,a=>1''', 'x @> ''only77=>NULL''', 'x @> ''nosuch=>1''',
	'x @> ''"schön"=>"äöü"''', 'x @> ''""=>""''', 'x ? ''only77''', 'x ? ''nosuch''', 'x ? ''user''', 'x ?| ''{only77,only78,nosuch}''', 'x ?| ''{}''', 'x ?| ''{NULL}''', 'x ?& ''{only77,user}''', 'x ?& ''{}''', 'x ?& ''{only77,NULL}''',
	'x ?& ''{only77,only78}''', 'x ?& ''{user,a,only77,only78,only79,only80,only81,only82,only83,only84}''', 'x ?| ''{only1,only2,only3,only4,only5,only6,only7,only8,only9,only10}''', 'x IS NULL', 'x @> ANY (ARRAY[''user=>77'', ''b=>1'', NULL]::hstore[])');
SELECT pages('h', 'x @> ''user=>77''') < 8 AS pair, pages('h', 'x ? ''only77''') < 8 AS key, pages('h', 'x ?& ''{only77,user}''') < 8 AS keys;
INSERT INTO h SELECT hstore('k' || i, 'v') || x FROM h, generate_series(1, 3) i WHERE x IS NOT NULL;
SELECT pbfidx_check('h_x');
SELECT * FROM finds('h', 'x @> ''user=>77''', 'x ? ''k2''');
DROP TABLE h;

-- Thresholds of 0: every row qualifies, also one that has no trigram of the query. (GIN returns none of these.)
CREATE TABLE similar_texts (x text) WITH (autovacuum_enabled = off);
INSERT INTO similar_texts SELECT md5(i::text) FROM generate_series(1, 3000) i;
INSERT INTO similar_texts VALUES (''), (NULL), ('zzz');
CREATE INDEX similar_x ON similar_texts USING pbfidx (x pbf_trgm_ops);
SET pg_trgm.similarity_threshold = 0;
SET pg_trgm.word_similarity_threshold = 0;
SET pg_trgm.strict_word_similarity_threshold = 0;
SELECT * FROM finds('similar_texts', 'x % ''zzz''', 'x %> ''zzz''', 'x %>> ''zzz''', '''zzz'' <% x', 'x % ''''');
SET pg_trgm.similarity_threshold = 0.1;
SET pg_trgm.word_similarity_threshold = 0.1;
SET pg_trgm.strict_word_similarity_threshold = 0.1;
SELECT * FROM finds('similar_texts', 'x % ''zzz''', 'x %> ''zzz''', 'x %>> ''zzz''', '''zzz'' <% x', 'x % ''''');
RESET pg_trgm.similarity_threshold;
RESET pg_trgm.word_similarity_threshold;
RESET pg_trgm.strict_word_similarity_threshold;
DROP TABLE similar_texts;

SET client_min_messages = warning;
DROP SCHEMA trgm CASCADE;
DROP EXTENSION pbf_trgm;
DROP EXTENSION pg_trgm;

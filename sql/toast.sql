--
-- Filters in tables: out of line, compressed, short. A probe reads slices of a large filter, after some probes all of
-- it, and keeps that for the query: the answer must always be that of the same filter in memory.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA toast;
SET search_path = toast, public;
SET default_toast_compression = 'pglz';

CREATE FUNCTION numbers(a int, b int) RETURNS int[]
	LANGUAGE sql IMMUTABLE AS 'SELECT array_agg(i) FROM generate_series(a, b) i';

-- n: 1..n are in it. Rows are made in memory; the column's storage decides how they lie.
CREATE TABLE filters (id int PRIMARY KEY, n int, f pbf);
INSERT INTO filters VALUES
	(1, 100000, pbf_new_geometry(20000, 8, 64) + numbers(1, 100000)),
	(2, 30000, pbf_new_geometry(6001, 5, 64) + numbers(1, 30000)),
	(3, 100000, pbf_new_geometry(32768, 1, 64) + numbers(1, 100000)),
	(4, 100000, pbf_new_geometry(1, 7, 1500007) + numbers(1, 100000)),
	(5, 10000, pbf_new_geometry(1, 64, 20011) + numbers(1, 10000)),
	(6, 1000, pbf_new_geometry(100, 8, 64) + numbers(1, 1000)),
	(7, 1000, pbf_new_geometry(1, 3, 20000) + numbers(1, 1000)),
	(8, 10, pbf_new_geometry(1, 5, 64) + numbers(1, 10)),
	(9, 10, pbf_new_geometry(1, 4, 50) + numbers(1, 10)),
	(10, 1000, pbf_new_geometry(4000, 8, 64) + numbers(1, 1000)),
	(11, 0, pbf_new_geometry(5000, 8, 64)),
	(12, 5000, pbf_new_geometry(12, 8, 64) + numbers(1, 5000)),
	-- the state of an aggregate as it travels between servers: a set of hashes
	(13, 3000, (SELECT decode('010202' || '00' || 'b80b0000' || '00000000' || '7b14ae47e17a843f'
			|| string_agg(encode(substr(h, 8, 1) || substr(h, 7, 1) || substr(h, 6, 1) || substr(h, 5, 1)
			|| substr(h, 4, 1) || substr(h, 3, 1) || substr(h, 2, 1) || substr(h, 1, 1), 'hex'), '' ORDER BY h),
			'hex')::pbf
		FROM generate_series(1, 3000) i, int8send(pbf_hash(i)) h)),
	-- and a large filter yet to be folded
	(14, 5000, (SELECT set_byte(overlay(b PLACING '\x7b14ae47e17a843f' FROM 13), 1, 5)::pbf
		FROM CAST(pbf_new_geometry(2048, 8, 64) + numbers(1, 5000) AS bytea) b));

-- The numbers to be tried: some of each, and some that are in none.
CREATE TABLE probes AS SELECT i FROM
	unnest('{1,2,3,9,10,11,500,999,1000,1001,5000,9999,10000,10001,29999,30000,30001,99999,100000,100001,600000}'::int[]) i
	UNION SELECT i * 7919 % 700000 FROM generate_series(1, 80) i;
-- What the same filters say that never were in a table.
CREATE TABLE answers AS SELECT id, i, answer FROM filters,
	LATERAL (SELECT pbf_matching(pbf_fold(f, 0), array_agg(i)) AS all_matching FROM probes) m,
	LATERAL (SELECT i, i = ANY (all_matching) AS answer FROM probes) x;
SELECT id, count(*) FILTER (WHERE answer) > 0 AS some, count(*) FILTER (WHERE NOT answer) > 0 AS others,
	count(*) FILTER (WHERE i <= n AND i > 0 AND NOT answer) AS missing
	FROM answers JOIN filters USING (id) GROUP BY id ORDER BY id;

-- The same in each storage.
CREATE TABLE external (id int PRIMARY KEY, n int, f pbf);
CREATE TABLE extended (LIKE external);
CREATE TABLE main (LIKE external);
CREATE TABLE plain (LIKE external);
ALTER TABLE extended ALTER f SET STORAGE EXTENDED;
ALTER TABLE main ALTER f SET STORAGE MAIN;
ALTER TABLE plain ALTER f SET STORAGE PLAIN;
-- A large tuple of a narrow table is kept in line as long as a page holds it.
CREATE TABLE wide (LIKE external) WITH (toast_tuple_target = 8160);
INSERT INTO external SELECT * FROM filters;
INSERT INTO extended SELECT id, n, pbf_fold(f, 0) FROM filters WHERE id < 13;
INSERT INTO extended SELECT * FROM filters WHERE id >= 13;
INSERT INTO main SELECT * FROM extended;
INSERT INTO plain SELECT id, n, f FROM filters WHERE id IN (6, 7, 8, 9, 12);
INSERT INTO wide SELECT * FROM filters;
-- How they lie: size in the table or out of line, of that in memory.
CREATE FUNCTION lies(f pbf) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN f IS NULL THEN '' WHEN pg_column_compression(f) IS NOT NULL THEN 'compressed'
		WHEN pg_column_size(f) < 127 THEN 'short' WHEN pg_column_size(f) > 8000 THEN 'out of line' ELSE 'as it is' END
$$;
SELECT id, lies(x.f) AS external, lies(e.f) AS extended, lies(m.f) AS main, lies(p.f) AS plain, lies(w.f) AS wide
	FROM external x LEFT JOIN extended e USING (id) LEFT JOIN main m USING (id) LEFT JOIN plain p USING (id) LEFT
		JOIN wide w USING (id) ORDER BY id;
SELECT relname, pg_relation_size(reltoastrelid) > 0 AS out_of_line FROM pg_class
	WHERE relname IN ('external', 'extended', 'main', 'plain', 'wide') AND relnamespace = 'toast'::regnamespace
	ORDER BY 1;

CREATE VIEW stored AS SELECT 'external' AS kept, * FROM external UNION ALL SELECT 'extended', * FROM extended
	UNION ALL SELECT 'main', * FROM main
	UNION ALL SELECT 'plain', * FROM plain UNION ALL SELECT 'wide', * FROM wide;
SELECT kept, count(*) AS filters, count(*) FILTER (WHERE s.f <> f.f) AS differ,
		count(*) FILTER (WHERE pbf_hash_value(s.f) <> pbf_hash_value(f.f)) AS hash_differs,
		count(*) FILTER (WHERE s.f::text <> f.f::text) AS text_differs,
		count(*) FILTER (WHERE pbf_info(s.f) IS DISTINCT FROM pbf_info(f.f)) AS info_differs
	FROM stored s JOIN filters f USING (id) GROUP BY kept ORDER BY kept;

--
-- One probe a query: slices
--
CREATE FUNCTION one_by_one(kept text) RETURNS TABLE (id int, asked bigint, wrong bigint) LANGUAGE plpgsql
	SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	a record;
	answer bool;
BEGIN
	FOR id IN EXECUTE format('SELECT id FROM %I ORDER BY id', kept) LOOP
		asked := 0;
		wrong := 0;
		FOR a IN SELECT * FROM answers x WHERE x.id = one_by_one.id AND i % 5 = 0 LOOP
			EXECUTE format('SELECT f @> $2 FROM %I WHERE id = $1', kept) USING id, a.i INTO answer;
			asked := asked + 1;
			wrong := wrong + (answer IS DISTINCT FROM a.answer)::int;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM one_by_one('external');
SELECT sum(wrong) AS wrong FROM one_by_one('extended');
SELECT sum(wrong) AS wrong FROM one_by_one('main');
SELECT sum(wrong) AS wrong FROM one_by_one('plain');
SELECT sum(wrong) AS wrong FROM one_by_one('wide');

-- It reads slices only: a few chunks, where the filter has hundreds of them. Thousands of probes read it once.
CREATE FUNCTION chunks_read() RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(idx_tup_fetch), 0)::bigint FROM pg_stat_xact_all_tables
		WHERE relid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'external'::regclass)
$$;
CREATE FUNCTION chunks(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := chunks_read();
BEGIN
	EXECUTE query;
	RETURN chunks_read() - before;
END $$;
SELECT id, (pbf_info(f)).bytes / 1996 > 100 AS many FROM external WHERE id IN (1, 2, 3, 4) ORDER BY id;
BEGIN;
SELECT id, chunks(format('SELECT f @> 77 FROM external WHERE id = %s', id)) <= 4 AS element,
		chunks(format('SELECT pbf_contains_hash(f, 77) FROM external WHERE id = %s', id)) <= 4 AS hash,
		chunks(format('SELECT f @> ''{1,2,3,4}''::int[] FROM external WHERE id = %s', id)) <= 10 AS "all",
		chunks(format('SELECT f && ''{-1,-2,-3,-4}''::int[] FROM external WHERE id = %s', id)) <= 10 AS "any",
		chunks(format('SELECT count(*) FROM external, generate_series(1, 5000) i WHERE id = %s AND f @> i', id)) < 1000
			AS probes
	FROM unnest('{1,2,3}'::int[]) id;
-- So do long arrays, which often an early element decides; filters that take turns are remembered.
SELECT id, chunks(format('SELECT f @> numbers(-100, -1) FROM external WHERE id = %s', id)) <= 10 AS "all",
		chunks(format('SELECT f && numbers(1, 100) FROM external WHERE id = %s', id)) <= 20 AS "any",
		chunks(format('SELECT pbf_matching(f, numbers(-5, -1)) FROM external WHERE id = %s', id)) <= 60 AS matching
	FROM generate_series(1, 4) id;
SET LOCAL work_mem = '16MB';
SELECT chunks('SELECT count(*) FROM generate_series(1, 3000) i WHERE EXISTS (SELECT FROM external WHERE f @> -i OFFSET 0)') < 4000 AS in_turn;
SELECT chunks('SELECT f @> 77 FROM external WHERE id = 4') <= 16 AS plain_member,
	chunks('SELECT f @> 700001 FROM external WHERE id = 4') <= 10 AS plain_other;
COMMIT;

--
-- All probes of one filter in a query: slices, then the whole
--
SELECT kept, s.id, count(*) FILTER (WHERE (f @> i) <> answer) AS wrong,
		count(*) FILTER (WHERE (i <@ f) <> answer) AS commuted,
		count(*) FILTER (WHERE pbf_contains_hash(f, pbf_hash(i)) <> answer) AS hash,
		count(*) FILTER (WHERE (f @> ARRAY[i]) <> answer) AS "all",
		count(*) FILTER (WHERE (f && ARRAY[i, NULL]) <> answer) AS "any"
	FROM stored s JOIN answers a ON s.id = a.id GROUP BY kept,
		s.id HAVING count(*) FILTER (WHERE (f @> i) <> answer OR (i <@ f) <> answer
		OR pbf_contains_hash(f, pbf_hash(i)) <> answer OR (f @> ARRAY[i]) <> answer
		OR (f && ARRAY[i, NULL]) <> answer) > 0;
SELECT kept, count(*) AS filters, count(*) FILTER (WHERE pbf_matching(f,
	(SELECT array_agg(i ORDER BY i) FROM probes)) <> (SELECT coalesce(array_agg(i ORDER BY i) FILTER (WHERE answer),
	'{}') FROM answers a WHERE a.id = s.id)) AS wrong
	FROM stored s GROUP BY kept ORDER BY kept;
SELECT id, n, count(*) FILTER (WHERE NOT f @> i) AS missing FROM external, LATERAL generate_series(1, n) i
	GROUP BY id, n ORDER BY id;
-- Arrays, short and long.
SELECT kept, count(*) AS filters, count(*) FILTER (WHERE n > 0
	AND NOT (f @> numbers(1, least(n, 16)) AND f @> numbers(1, n) AND numbers(n - 1, n) <@ f AND f && ARRAY[-1, -2, n]
	AND f && (numbers(-100, -1) || n))) AS wrong
	FROM stored GROUP BY kept ORDER BY kept;

--
-- Several filters in one query, changing from row to row: nothing of one filter may be used for another
--
-- Elements outside, filters inside and the other way round; each order of the filters.
CREATE FUNCTION wrong_answers(filters text, every int = 1) RETURNS TABLE (sequence text, asked bigint, wrong bigint)
	LANGUAGE plpgsql AS $$
BEGIN
	FOR sequence IN SELECT unnest('{"i, id","i, id DESC","id, i","i, n, id DESC",
			"md5(format(''%s %s'', i, id))"}'::text[]) LOOP
		EXECUTE format('SELECT count(*), count(*) FILTER (WHERE found <> answer) FROM (
				SELECT f @> i AS found, answer FROM (SELECT * FROM (%s) s JOIN answers a USING (id) WHERE i %% %s = 0
					ORDER BY %s OFFSET 0) x OFFSET 0) y',
			filters, every, sequence) INTO asked, wrong;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM wrong_answers('SELECT * FROM external');
SELECT sum(asked), sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM wide', 2);
SELECT sum(asked), sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM extended', 15);
SELECT sum(asked), sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM main', 30);
-- Some out of line, some compressed, some in memory only: rows of all in turn.
SELECT * FROM wrong_answers($$SELECT id, n, f FROM external WHERE id % 2 = 0 UNION ALL SELECT id, n, f FROM extended
	WHERE id % 4 = 1
	UNION ALL SELECT id, n, pbf_fold(f, 0) FROM external WHERE id % 4 = 3$$, 5);
SELECT * FROM wrong_answers($$SELECT id, n, f FROM external WHERE id IN (1, 4, 6) UNION ALL SELECT id, n,
	pbf_fold(f, 0) FROM external WHERE id IN (2, 3, 5, 7)$$, 3);
-- Two filters taking turns at one call: one out of line, the other in memory only, short, or out of line too.
SELECT o.id, m.what, count(*) AS asked, count(*) FILTER (WHERE NOT x.f @> x.i) AS missing
	FROM (SELECT * FROM external WHERE id IN (1, 2, 4, 5, 6)) o,
		(VALUES ('blocked', pbf_new_geometry(19000, 8, 64) + numbers(1, 30)),
		('one part', pbf_new_geometry(90000, 1, 64) + numbers(1, 30)),
			('plain', pbf_new_geometry(1, 64, 30000) + numbers(1, 30)),
			('short', pbf_new_geometry(1, 3, 64) + numbers(1, 30)),
			('out of line', (SELECT f FROM external WHERE id = 3))) m (what, f),
		LATERAL (SELECT i, x.f FROM generate_series(1, 30) i,
		LATERAL (SELECT o.f UNION ALL SELECT m.f WHERE i > 0) x OFFSET 0) x
	GROUP BY o.id, m.what ORDER BY o.id, m.what;
-- Filters of different kinds of element.
CREATE TABLE kinds (id int, f pbf);
INSERT INTO kinds VALUES (1, pbf_new_geometry(20000, 8, 64) + numbers(1, 1000)),
	(2, pbf_new_geometry(20000, 8, 64) + numbers(1, 1000)::text[]);
SELECT f @> 5 FROM kinds WHERE id = 1;
SELECT f @> 5 FROM kinds WHERE id = 2;
SELECT f @> '{5}'::int[] FROM kinds WHERE id = 2;
SELECT f @> '5' FROM kinds WHERE id = 2;
SELECT count(*) FILTER (WHERE f @> 5) FROM kinds;
SELECT k.id, count(*) FROM kinds k, generate_series(1, 2000) i WHERE CASE k.id WHEN 1 THEN k.f @> i
	ELSE k.f @> i::text END GROUP BY k.id ORDER BY k.id;
-- Pairs of filters.
SELECT count(*) AS pairs, count(*) FILTER (WHERE NOT pbf_contains_filter(a.f | b.f, a.f)
	OR (n1 > 0 AND n2 > 0) <> (a.f && b.f)) AS wrong
	FROM (SELECT id, n AS n1, f FROM external WHERE id IN (1, 2, 3, 6, 8, 11)) a,
		(SELECT id, n AS n2, f FROM external WHERE id IN (1, 2, 3, 6, 8, 11)) b;

-- In PL/pgSQL an expression lives as long as the transaction: filters of several tables, changed between its calls.
CREATE FUNCTION changing() RETURNS TABLE (round int, missing bigint, wrong bigint) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	a record;
	answer bool;
BEGIN
	FOR k IN 1 .. 3 LOOP
		round := k;
		missing := 0;
		wrong := 0;
		FOR r IN SELECT * FROM external WHERE id IN (1, 2, 4, 6, 8)
			ORDER BY id * (CASE round % 2 WHEN 1 THEN 1 ELSE -1 END) LOOP
			FOR i IN 1 .. 20 LOOP
				answer := r.f @> (700000 + round * 100 + i);
				wrong := wrong + (answer AND r.id IN (1, 4))::int;
				missing := missing + (NOT r.f @> i AND i <= r.n)::int;
			END LOOP;
		END LOOP;
		UPDATE external SET f = f + numbers(700000 + round * 100 + 1, 700000 + round * 100 + 20)
		WHERE id IN (1, 2, 4, 6);
		FOR r IN SELECT * FROM external WHERE id IN (1, 2, 4, 6) ORDER BY id LOOP
			FOR i IN 1 .. 20 LOOP
				missing := missing + (NOT r.f @> (700000 + round * 100 + i))::int;
			END LOOP;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
BEGIN;
SELECT * FROM changing();
SELECT count(*) FILTER (WHERE f @> 700101) AS added FROM external WHERE id IN (1, 2, 4, 6);
ROLLBACK;
SELECT count(*) FILTER (WHERE f @> 700101) AS added FROM external WHERE id IN (1, 4);

-- Changed and probed in one transaction, with what is undone.
BEGIN;
SELECT f @> 1 AS old, f @> 700001 AS new FROM external WHERE id = 1;
UPDATE external SET f = f + 700001 WHERE id = 1;
SELECT f @> 1 AS old, f @> 700001 AS new FROM external WHERE id = 1;
SAVEPOINT s;
UPDATE external SET f = pbf_new_like(f) + 700002 WHERE id = 1;
SELECT f @> 1 AS old, f @> 700001 AS new, f @> 700002 AS newest FROM external WHERE id = 1;
ROLLBACK TO s;
SELECT f @> 1 AS old, f @> 700001 AS new, f @> 700002 AS newest FROM external WHERE id = 1;
UPDATE external SET f = pbf_reduce(f, 4) WHERE id = 1;
SELECT f @> 1 AS old, f @> 700001 AS new, (pbf_info(f)).parts FROM external WHERE id = 1;
UPDATE external SET f = pbf_shrink(f, 1000) WHERE id = 6;
SELECT f @> 1 AS old, lies(f) FROM external WHERE id = 6;
ROLLBACK;
SELECT * FROM wrong_answers('SELECT * FROM external', 7) WHERE wrong > 0;

-- Read from an old snapshot while newer versions exist: a cursor.
BEGIN;
DECLARE c CURSOR FOR SELECT id, f @> 700001 AS added, f @> 1 AS kept FROM external WHERE id IN (1, 2, 4) ORDER BY id;
FETCH c;
UPDATE external SET f = f + 700001 WHERE id IN (1, 2, 4);
FETCH ALL c;
SELECT id, f @> 700001 AS added, f @> 1 AS kept FROM external WHERE id IN (1, 2, 4) ORDER BY id;
ROLLBACK;

-- Inside arrays and rows, from a materialised view, after a rewrite of the table.
CREATE TYPE holder AS (name text, f pbf);
CREATE TABLE held AS SELECT id, ARRAY[f, pbf_new_like(f)] AS a, ROW('x' || id, f)::holder AS h FROM external
	WHERE id IN (2, 5, 6, 8, 9, 13);
SELECT count(*) AS asked, count(*) FILTER (WHERE (a[1] @> i) <> answer OR ((h).f @> i) <> answer
	OR a[2] @> i) AS wrong
	FROM held JOIN answers USING (id) WHERE i % 5 = 0;
CREATE MATERIALIZED VIEW seen AS SELECT id, n, f FROM external;
SELECT sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM seen', 5);
VACUUM FULL external;
SELECT sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM external', 10);
DROP VIEW stored;
DROP MATERIALIZED VIEW seen;
ALTER TABLE external ALTER n TYPE bigint;
SELECT sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM external', 10);
ALTER TABLE external ALTER f SET STORAGE EXTENDED;
UPDATE external SET f = pbf_fold(f, 0) WHERE id IN (2, 3, 7, 10);
SELECT sum(wrong) AS wrong FROM wrong_answers('SELECT * FROM external', 20);

-- Sorting and grouping what is out of line.
SELECT count(*) AS rows, count(DISTINCT f) AS "distinct"
	FROM (SELECT f FROM external UNION ALL SELECT f FROM extended UNION ALL SELECT f FROM wide) x;
SELECT count(*) AS joined FROM wide a JOIN extended b ON a.f = b.f;

DROP SCHEMA toast CASCADE;

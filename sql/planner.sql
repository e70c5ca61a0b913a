--
-- What the planner is told about membership: estimates near the truth where statistics allow it, for the operator and
-- for the function, and nothing that the user may not see.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA planner;
SET search_path = planner, public;
SET max_parallel_workers_per_gather = 0;
SET default_statistics_target = 100;

-- Rows that the planner expects of a query (of its topmost node).
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
-- How far the estimate is from the truth; fifty rows are neither here nor there.
CREATE FUNCTION judge(query text, OUT estimate float8, OUT actual float8, OUT verdict text) LANGUAGE plpgsql AS $$
BEGIN
	estimate := planner.estimate(query);
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO actual;
	verdict := CASE WHEN (estimate + 50) / (actual + 50) BETWEEN 0.5 AND 2 THEN 'within 2'
		WHEN (estimate + 50) / (actual + 50) BETWEEN 1/3.0 AND 3 THEN 'within 3' ELSE format('%s instead of %s', estimate, actual) END;
END $$;

-- So many rows that ANALYZE takes them all: statistics are the same each time.
CREATE TABLE t (id int, uniform int, skewed int, few int, nulls int, word text, name varchar(10), flag bool, day date, amount numeric, tags int[])
	WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, i * 7919::bigint % 20000, CASE WHEN i % 10 < 4 THEN 1 WHEN i % 10 < 7 THEN 2 WHEN i % 10 < 8 THEN 3 ELSE 1000 + i END,
		i % 50, nullif(i % 4, 0) * (i % 1000), 'w' || i % 200, 'w' || i * 7919::bigint % 20000, i % 5 = 0, date '2020-01-01' + i % 1000, i % 300 / 10.0,
		ARRAY[i % 10, i % 100, 100 + i % 7]
	FROM generate_series(1, 20000) i;
CREATE INDEX ON t (upper(word));
ANALYZE t;
-- Filters by name, as constants in the queries: no statement here reads them from a table.
CREATE TABLE filters (name text PRIMARY KEY, f pbf);
INSERT INTO filters
	SELECT 'half', pbf_agg(i, 10000, 1e-6) FROM generate_series(0, 9999) i UNION ALL
	SELECT 'tenth', pbf_agg(i, 3000, 1e-6) FROM generate_series(0, 19999) i WHERE pbf_hash(i) % 10 = 0 UNION ALL
	SELECT 'everything', pbf_agg(i, 30000) FROM generate_series(-1000, 30000) i UNION ALL
	SELECT 'one', pbf_new(100, 1e-6) + 1 UNION ALL
	SELECT 'two', pbf_new(100, 1e-6) + 2 UNION ALL
	SELECT 'one and two', pbf_new(100, 1e-6) + '{1,2}'::int[] UNION ALL
	SELECT 'rare', pbf_new(100, 1e-9) + 1008 UNION ALL
	SELECT 'five', pbf_new(100, 1e-6) + '{0,10,20,30,40}'::int[] UNION ALL
	SELECT 'absent', pbf_new(100, 1e-9) + '{-1,-2,-3}'::int[] UNION ALL
	SELECT 'empty', pbf_new(100) UNION ALL
	SELECT 'full', ('\x010102010100000040000000' || repeat('0', 16) || repeat('f', 16))::pbf UNION ALL
	SELECT 'words', pbf_agg('w' || i, 100, 1e-6) FROM generate_series(0, 49) i UNION ALL
	SELECT 'WORDS', pbf_agg('W' || i, 100, 1e-6) FROM generate_series(0, 49) i UNION ALL
	SELECT 'names', pbf_agg('w' || i, 5000, 1e-6) FROM generate_series(0, 4999) i UNION ALL
	SELECT 'true', pbf_new(100, 1e-6) + true UNION ALL
	SELECT 'year', pbf_agg(date '2020-01-01' + i, 400, 1e-6) FROM generate_series(0, 364) i UNION ALL
	SELECT 'amounts', pbf_agg(i / 10.0, 200, 1e-6) FROM generate_series(0, 99) i UNION ALL
	SELECT 'tags', pbf_agg(i, 200, 1e-6) FROM generate_series(0, 49) i UNION ALL
	SELECT 'all tags', pbf_agg(i, 200, 1e-6) FROM generate_series(0, 120) i UNION ALL
	SELECT 'two tags', pbf_new(200, 1e-6) + '{3,101}'::int[];
-- A clause with the filters that it names between < and > put in.
CREATE FUNCTION expand(clause text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT name, f FROM planner.filters LOOP
		clause := replace(clause, '<' || r.name || '>', quote_literal(r.f) || '::pbf');
	END LOOP;
	RETURN clause;
END $$;

-- Common values, histograms, NULLs, arrays; clauses together.
SELECT v.clause, j.verdict FROM unnest(ARRAY[
	'<half> @> uniform', '<tenth> @> uniform', '<everything> @> uniform', '<empty> @> uniform', '<absent> @> uniform', '<full> @> uniform',
	'<one> @> skewed', '<two> @> skewed', '<one and two> @> skewed', '<rare> @> skewed', '<absent> @> skewed', '<everything> @> skewed',
	'<five> @> few', '<one> @> few', '<absent> @> few', '<everything> @> nulls', '<tenth> @> nulls',
	'<words> @> word', '<words> @> word::varchar', '<names> @> name', '<WORDS> @> upper(word)', '<true> @> flag', '<year> @> day', '<amounts> @> amount',
	'<tags> @> tags', '<all tags> @> tags', '<tags> && tags', '<two tags> && tags', '<two tags> @> tags', '<absent> && tags',
	'uniform <@ <half>', 'skewed <@ <one>', 'tags <@ <all tags>', 'tags && <two tags>',
	'NOT <half> @> uniform', 'NOT <one> @> skewed', '<one> @> skewed AND <half> @> uniform', '<one> @> skewed OR <two> @> skewed',
	'<one> @> skewed IS TRUE', '(<half> | <tenth>) @> uniform', '(pbf_new(10) + 1 + 2) @> skewed', 'pbf_build(''{1,2}''::int[]) @> skewed'
]) WITH ORDINALITY v (clause, n), judge('SELECT * FROM t WHERE ' || expand(v.clause)) j ORDER BY v.n;

-- The functions are planned like the operators.
SELECT v.*, estimate('SELECT * FROM t WHERE ' || expand(operator)) = estimate('SELECT * FROM t WHERE ' || expand(function)) AS same FROM (VALUES
	('<half> @> uniform', 'pbf_contains(<half>, uniform)'),
	('<one> @> skewed', 'pbf_contains(<one>, skewed)'),
	('skewed <@ <one>', 'pbf_contained(skewed, <one>)'),
	('<all tags> @> tags', 'pbf_contains_all(<all tags>, tags)'),
	('tags <@ <all tags>', 'pbf_contained_all(tags, <all tags>)'),
	('<two tags> && tags', 'pbf_contains_any(<two tags>, tags)'),
	('tags && <two tags>', 'pbf_contained_any(tags, <two tags>)'),
	('<one> @> skewed', 'skewed <@ <one>'),
	('<two tags> && tags', 'tags && <two tags>'),
	('NOT <one> @> skewed', 'NOT pbf_contains(<one>, skewed)')
) v (operator, function);

-- Nothing to go by: one row in a hundred. (Estimates, as a share of all rows.)
CREATE TABLE unknown WITH (autovacuum_enabled = off) AS SELECT id, uniform, tags, pbf_new(1) AS f FROM t LIMIT 10000;
CREATE FUNCTION share(query text) RETURNS numeric LANGUAGE sql AS $$
	SELECT round((planner.estimate(query) / planner.estimate(regexp_replace(query, 'WHERE.*', '')))::numeric, 4)
$$;
SELECT v.clause, share('SELECT 1 FROM ' || expand(v.clause)) FROM unnest(ARRAY[
	'unknown WHERE <half> @> uniform', 'unknown WHERE pbf_contains(<half>, uniform)', 'unknown WHERE tags && <tags>', 'unknown WHERE f @> uniform',
	'unknown WHERE f @> 1', 'unknown WHERE pbf_contains(f, 1)', 'unknown WHERE <half> @> (uniform + id)', 'unknown WHERE NOT f @> 1',
	't WHERE (SELECT f FROM filters WHERE name = ''half'') @> uniform', 't WHERE pbf_contains((SELECT f FROM filters WHERE name = ''half''), uniform)',
	't WHERE (pbf_new(10) + id) @> uniform', 't WHERE <half> @> (uniform + 1)',
	't a, unknown b WHERE b.f @> a.uniform', 't a, unknown b WHERE pbf_contains(b.f, a.uniform)', 't a, unknown b WHERE a.tags && b.f'
]) WITH ORDINALITY v (clause, n) ORDER BY v.n;

-- NULL is never contained.
SELECT v.clause, j.estimate <= 1 AS none, j.actual FROM unnest(ARRAY[
	'NULL::pbf @> uniform', 'pbf_contains(NULL::pbf, uniform)', 'uniform <@ NULL::pbf', 'tags && NULL::pbf', '<half> @> NULL::int', '<half> @> (NULL::int + uniform)'
]) WITH ORDINALITY v (clause, n), judge('SELECT * FROM t WHERE ' || expand(v.clause)) j ORDER BY v.n;

-- Prepared statements: a filter that is a parameter counts as a constant only in a custom plan.
PREPARE probe(pbf) AS SELECT * FROM t WHERE $1 @> skewed;
PREPARE probe_function(pbf) AS SELECT * FROM t WHERE pbf_contains($1, skewed);
CREATE FUNCTION explain_probe(statement text, filter text) RETURNS float8 LANGUAGE sql AS $$
	SELECT planner.estimate(format('EXECUTE %s(%s)', statement, planner.expand(filter)))
$$;
SET plan_cache_mode = force_custom_plan;
SELECT s AS statement, explain_probe(s, '<one>') BETWEEN 7000 AND 9000 AS one, explain_probe(s, '<absent>') < 100 AS absent, explain_probe(s, 'NULL') <= 1 AS "null"
	FROM unnest('{probe,probe_function}'::text[]) s;
SET plan_cache_mode = force_generic_plan;
SELECT s AS statement, explain_probe(s, '<one>') AS one, explain_probe(s, '<absent>') AS absent, explain_probe(s, 'NULL') AS "null"
	FROM unnest('{probe,probe_function}'::text[]) s;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Another kind of element is found while planning, if there are values to try; never in an empty table.
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE empty (word text, tags int[]) WITH (autovacuum_enabled = off);
ANALYZE empty;
SELECT v.query, try(expand(v.query)) FROM unnest(ARRAY[
	'EXPLAIN SELECT * FROM t WHERE <half> @> word', 'SELECT * FROM t WHERE <half> @> word', 'EXPLAIN SELECT * FROM t WHERE <words> && tags',
	'EXPLAIN SELECT * FROM t WHERE pbf_contains(<half>, word)', 'EXPLAIN SELECT * FROM t WHERE <empty> @> word', 'SELECT * FROM t WHERE <empty> @> word',
	'EXPLAIN SELECT * FROM empty WHERE <half> @> word', 'SELECT * FROM empty WHERE <half> @> word', 'SELECT * FROM empty WHERE <words> && tags'
]) WITH ORDINALITY v (query, n) ORDER BY v.n;

--
-- Statistics that the user may not see are not looked at
--
CREATE ROLE regress_pbf_reader;
GRANT USAGE ON SCHEMA planner TO regress_pbf_reader;
GRANT SELECT ON filters TO regress_pbf_reader;
CREATE TABLE secrets (id int, secret int, owner text) WITH (autovacuum_enabled = off);
INSERT INTO secrets SELECT i, CASE WHEN i % 2 = 0 THEN 42 ELSE i END, 'someone' FROM generate_series(1, 10000) i;
ANALYZE secrets;
CREATE VIEW plain_view AS SELECT * FROM secrets;
CREATE VIEW barrier_view WITH (security_barrier) AS SELECT * FROM secrets WHERE id > 0;
CREATE TABLE guarded (LIKE secrets) WITH (autovacuum_enabled = off);
INSERT INTO guarded TABLE secrets;
ANALYZE guarded;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON guarded USING (id > 0);
CREATE TABLE hidden (LIKE secrets) WITH (autovacuum_enabled = off);
INSERT INTO hidden TABLE secrets;
ANALYZE hidden;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON hidden USING (owner = current_user);
GRANT SELECT ON plain_view, barrier_view, guarded, hidden TO regress_pbf_reader;
GRANT SELECT (id) ON secrets TO regress_pbf_reader;
INSERT INTO filters SELECT '42', pbf_new(10, 1e-6) + 42;
-- Half of the rows, if one may know it; otherwise one in a hundred.
SELECT v.relation, estimate(expand('SELECT * FROM ' || v.relation || ' WHERE <42> @> secret')) AS operator,
		estimate(expand('SELECT * FROM ' || v.relation || ' WHERE pbf_contains(<42>, secret)')) AS function
	FROM unnest('{secrets,plain_view,guarded}'::text[]) v (relation);
SET ROLE regress_pbf_reader;
SELECT v.relation, estimate(expand('SELECT * FROM ' || v.relation || ' WHERE <42> @> secret')) AS operator,
		estimate(expand('SELECT * FROM ' || v.relation || ' WHERE pbf_contains(<42>, secret)')) AS function
	FROM unnest('{barrier_view,guarded}'::text[]) v (relation);
-- Neither an estimate nor an error tells of rows or columns that are hidden.
SELECT v.query, try(expand(v.query)) FROM unnest(ARRAY[
	'EXPLAIN SELECT id FROM secrets WHERE <42> @> secret', 'EXPLAIN SELECT id FROM secrets WHERE <words> @> secret', 'EXPLAIN SELECT id FROM secrets WHERE <42> @> id',
	'EXPLAIN SELECT id FROM guarded WHERE <words> @> secret', 'EXPLAIN SELECT id FROM hidden WHERE <words> @> secret',
	'SELECT id FROM hidden WHERE <words> @> secret', 'SELECT id FROM hidden WHERE pbf_contains(<words>, secret)',
	'EXPLAIN SELECT id FROM barrier_view WHERE <words> @> secret'
]) WITH ORDINALITY v (query, n) ORDER BY v.n;
RESET ROLE;
DROP OWNED BY regress_pbf_reader;
DROP ROLE regress_pbf_reader;

-- Filters of several kinds in a column: what another condition keeps from meeting does not meet in the planner either.
CREATE TABLE kinds_of_filters AS
	SELECT 'int' AS kind, pbf_build('{1}'::int[]) AS f FROM generate_series(1, 100)
	UNION ALL SELECT 'text', pbf_build('{a}'::text[]) FROM generate_series(1, 100);
ANALYZE kinds_of_filters;
SELECT count(*) FILTER (WHERE f && pbf_build('{1}'::int[])) AS overlap, count(*) FILTER (WHERE f !&& pbf_build('{2}'::int[])) AS disjoint
FROM kinds_of_filters WHERE kind = 'int';
SELECT count(*) FROM (SELECT f FROM kinds_of_filters WHERE kind = 'int' OFFSET 0) i WHERE NOT f && pbf_build('{2}'::int[]);
SELECT count(*) FROM kinds_of_filters a JOIN kinds_of_filters b ON a.kind = b.kind AND NOT a.f !&& b.f WHERE a.kind = 'int';
SELECT count(*) FROM kinds_of_filters a JOIN kinds_of_filters b ON a.kind = b.kind AND a.f !&& b.f WHERE a.kind = 'int';

DROP SCHEMA planner CASCADE;

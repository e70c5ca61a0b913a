--
-- Aggregates: the same filter as adding the elements one by one, for every type, in every kind of plan, group and
-- window frame; states that travel between servers; what is refused.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA aggregates;
SET search_path = aggregates, public;

-- The value of an expression, or why there is none.
CREATE FUNCTION try(expr text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT ' || expr INTO result;
	RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', state || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;

-- What matters of a filter, in short.
CREATE FUNCTION brief(f pbf, OUT kind text, OUT geometry text, OUT elements float8) LANGUAGE sql IMMUTABLE STRICT AS $$
	SELECT i.kind, format('%s %s x %s x %s', i.layout, i.blocks, i.parts, i.part_bits), round(i.cardinality)
	FROM pbf_info(f) i
$$;

-- A filter without the kind of its elements: as if only hashes had been added.
CREATE FUNCTION bits(f pbf) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
	SELECT set_byte(f::bytea, 2, 1)
$$;

-- The state of an aggregate as it travels, and states made one again.
CREATE AGGREGATE state(anycompatiblenonarray) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE state(anycompatiblenonarray, float8) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE state(anycompatiblenonarray, float8, float8) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE state_hash(bigint) (SFUNC = pbf_agg_hash_trans, STYPE = pbf);
CREATE AGGREGATE merge(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf, FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine,
	PARALLEL = SAFE);
CREATE AGGREGATE merge_state(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf);

--
-- What there is: each signature for each type, and all of them can be combined and run in parallel
--
CREATE VIEW all_aggregates AS
	SELECT p.oid::regprocedure AS signature, p.proname, p.pronargs, p.proargtypes[0]::regtype AS element, p.proparallel, a.*
	FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_depend d ON d.classid = 'pg_proc'::regclass
		AND d.objid = p.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pbf');
SELECT proname, string_agg(pronargs::text, ',' ORDER BY pronargs) AS arguments, element
	FROM all_aggregates GROUP BY proname, element ORDER BY proname, element::text COLLATE "C";
SELECT signature FROM all_aggregates
	WHERE aggtranstype <> 'pbf'::regtype OR aggcombinefn = 0 OR aggserialfn <> 0 OR aggfinalfn = 0 OR aggfinalmodify <> 'r'
		OR agginitval IS NOT NULL OR aggtransspace = 0 OR aggkind <> 'n' OR proparallel <> 's'
		OR (SELECT proisstrict FROM pg_proc WHERE oid = aggtransfn) OR (SELECT proisstrict FROM pg_proc WHERE oid = aggcombinefn);

--
-- Every type and signature: the filter that comes of adding the elements one by one
--
CREATE FUNCTION one_by_one(f pbf, elements text) RETURNS pbf LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	EXECUTE format('SELECT cardinality(%s)', elements) INTO n;
	FOR i IN 1..n LOOP
		EXECUTE format('SELECT coalesce(pbf_add($1, (%s)[$2]), $1)', elements) USING f, i INTO f;
	END LOOP;
	RETURN f;
END $$;

-- The names of those forms of an aggregate that differ from that; elements: an array, written in SQL.
CREATE FUNCTION differing(elements text, OUT kind text, OUT distinct_elements bigint, OUT differ text) LANGUAGE plpgsql AS $$
DECLARE
	-- Small filters and large ones are filled in different ways.
	forms text[] = '{pbf_agg(x),           "pbf_agg(x, 1000)",      "pbf_agg(x, 20000, 0.001)",      "pbf_agg(x, NULL, 0.001)",
		"pbf_agg_like(x, plain)", "pbf_agg_like(x, blocked)",
		pbf_agg(y),                        "pbf_agg(y, 1000)",      "pbf_agg(y, 20000, 0.001)",      "pbf_agg(y, NULL, 0.001)",
		"pbf_agg_like(y, plain)", "pbf_agg_like(y, blocked)",
		state(x),                          "state(x, 1000)",        "state(x, 20000, 0.001)",        "state(x, NULL, 0.001)"}';
	hash_forms text[] = '{pbf_agg_hash(h), "pbf_agg_hash(h, 1000)", "pbf_agg_hash(h, 20000, 0.001)", "pbf_agg_hash(h, NULL, 0.001)"}';
	plain pbf = pbf_new_geometry(1, 3, 77777);
	blocked pbf = pbf_new_geometry(3, 5, 64);
	expected pbf[];
	ok bool;
BEGIN
	EXECUTE format('SELECT count(DISTINCT a[i]) FROM (SELECT %s AS a) s, generate_subscripts(a, 1) i', elements)
		INTO distinct_elements;
	expected := ARRAY[one_by_one(pbf_new(distinct_elements), elements), one_by_one(pbf_new(1000), elements),
		one_by_one(pbf_new(20000, 0.001), elements), one_by_one(pbf_new(distinct_elements, 0.001), elements),
		one_by_one(plain, elements), one_by_one(blocked, elements)];
	kind := (pbf_info(expected[1])).kind;
	FOR i IN 1..cardinality(forms) LOOP
		EXECUTE format('WITH v (plain, blocked) AS (SELECT $2, $3)
			SELECT %s = $1 FROM (SELECT a[i] AS x, ARRAY[a[i], NULL, a[i]] AS y FROM (SELECT %s AS a) s, generate_subscripts(a, 1) i) e',
			replace(replace(forms[i], 'plain', '(SELECT plain FROM v)'), 'blocked', '(SELECT blocked FROM v)'), elements)
			USING expected[(i - 1) % 6 + 1], plain, blocked INTO ok;
		IF ok IS DISTINCT FROM true THEN
			differ := concat_ws('; ', differ, forms[i]);
		END IF;
	END LOOP;
	FOR i IN 1..cardinality(hash_forms) LOOP
		EXECUTE format('SELECT bits(%s) = bits($1) FROM (SELECT pbf_hash(a[i]) AS h FROM (SELECT %s AS a) s, generate_subscripts(a, 1) i) e',
			hash_forms[i], elements)
			USING expected[i] INTO ok;
		IF ok IS DISTINCT FROM true THEN
			differ := concat_ws('; ', differ, hash_forms[i]);
		END IF;
	END LOOP;
	EXECUTE format('SELECT $1 = pbf_build(%s)', elements) USING expected[1] INTO ok;
	IF ok IS DISTINCT FROM true THEN
		differ := concat_ws('; ', differ, 'pbf_build');
	END IF;
END $$;

CREATE TYPE mood AS ENUM ('happy', 'sad', 'so so');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN label AS varchar(20);

SELECT v.elements, d.* FROM unnest(ARRAY[
	-- the types of the typed forms
	$$'{1,NULL,-32768,32767,1,0}'::int2[]$$,
	$$'{1,NULL,-2147483648,2147483647,1,0}'::int4[]$$,
	$$'{1,NULL,-9223372036854775808,9223372036854775807,1,0}'::int8[]$$,
	$$'{1,NULL,0,4294967295,1}'::oid[]$$,
	$$ARRAY['a', NULL, '', 'a ', repeat('long ', 1000), 'a', U&'\2603']::text[]$$,
	$$'{a,NULL,b,"",a}'::"char"[]$$,
	$$'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL,00000000-0000-0000-0000-000000000000}'::uuid[]$$,
	$$ARRAY['\x00ff', NULL, '', '\x00', repeat('long', 1000)]::bytea[]$$,
	$$'{1.0,NULL,1.00,-5,0,NaN,Infinity,-Infinity,1e100,1e-100}'::numeric[]$$,
	$$'{1.5,NULL,0,-0,NaN,Infinity,0.1,1.5}'::float4[]$$,
	$$'{1.5,NULL,0,-0,NaN,Infinity,0.1,1e300}'::float8[]$$,
	$$'{2024-01-01,NULL,infinity,-infinity,0001-01-01 BC,2024-01-01}'::date[]$$,
	$$'{2024-01-01 12:00,NULL,infinity,-infinity,2024-01-01 00:00}'::timestamp[]$$,
	$$'{2024-01-01 12:00+00,NULL,infinity,-infinity,2024-01-01 13:00+01}'::timestamptz[]$$,
	-- a selection of all the others
	$$'{a,NULL,b,a}'::varchar[]$$,
	$$'{a,NULL,b,"a "}'::char(3)[]$$,
	$$'{a,NULL,b,a}'::name[]$$,
	$$'{t,NULL,f,t}'::bool[]$$,
	$$'{pg_class,NULL,pg_type,pg_class}'::regclass[]$$,
	$$'{12:00,NULL,24:00,00:00}'::time[]$$,
	$$'{12:00+00,NULL,13:00+01}'::timetz[]$$,
	$$'{1 day,NULL,24 hours,1 mon,30 days}'::interval[]$$,
	$$'{1.2.3.4,NULL,1.2.3.4/32,::1}'::inet[]$$,
	$$'{10/8,NULL,10.0.0.0/9}'::cidr[]$$,
	$$'{08:00:2b:01:02:03,NULL}'::macaddr[]$$,
	$$'{101,NULL,1010}'::varbit[]$$,
	$$'{1.50,NULL,-3}'::money[]$$,
	$$'{7,NULL,8}'::xid8[]$$,
	$$'{0/A,NULL,0/0A}'::pg_lsn[]$$,
	$$'{happy,NULL,"so so",happy}'::mood[]$$,
	$$'{1,NULL,2,1}'::positive[]$$,
	$$'{x,NULL,y,x}'::label[]$$,
	$$'{"[1,3)",NULL,"[1,2]",empty}'::int4range[]$$,
	$$ARRAY['{"a": 1}', NULL, '{"a": 1.0}', 'null']::jsonb[]$$,
	$$ARRAY[(1, 'a'), NULL, (1, NULL), (1, 'a')]::pair[]$$,
	$$ARRAY[NULL, NULL]::text[]$$
]) WITH ORDINALITY v (elements, n), differing(v.elements) d ORDER BY v.n;

-- More elements than fit a first set of hashes, than a block, than a part.
SELECT n, d.kind, d.distinct_elements, d.differ
	FROM unnest('{2,3,4,5,6,7,10,100,300}'::int[]) n, differing(format('(SELECT array_agg(i) FROM generate_series(1, %s) i)', n)) d;

-- Arrays: several dimensions, a domain over an array, arrays that are NULL or empty; elements of arrays count once.
CREATE DOMAIN ints AS int[];
SELECT pbf_agg(a) = pbf_build('{1,2,3,4}'::int[]) AS dimensions FROM (VALUES ('{{1,2},{3,NULL}}'::int[]), ('[5:5]={4}')) v (a);
SELECT pbf_agg(a) = pbf_build('{1,2}'::int[]) AS domain FROM (VALUES ('{1,2}'::ints), ('{}'), (NULL)) v (a);
SELECT b.* FROM (SELECT pbf_agg(a) AS f FROM (VALUES ('{}'::int[]), (NULL), ('{NULL,NULL}')) v (a)) s, brief(f) b;
SELECT pbf_agg(a) = pbf_build((SELECT array_agg(i) FROM generate_series(1, 100000) i)) AS overlapping
	FROM (SELECT (SELECT array_agg(i) FROM generate_series(k * 9000, k * 9000 + 10000) i WHERE i BETWEEN 1 AND 100000) AS a
		FROM generate_series(0, 11) k) s;

--
-- NULL and nothing
--
-- NULL elements only; a capacity is kept all the same.
SELECT v.aggregate, b.* FROM unnest(ARRAY[
	'pbf_agg(x)', 'pbf_agg(x, 1000)', 'pbf_agg(x, NULL)', 'pbf_agg(x, 1000, 0.001)', 'pbf_agg(x, NULL, 0.001)',
	'pbf_agg_like(x, pbf_new(1000))', 'pbf_agg(ARRAY[x], 1000)', 'pbf_agg(x::text, 1000)', 'pbf_agg(x::bool, 1000)',
	'pbf_agg_hash(x)', 'pbf_agg_hash(x, 1000)', 'pbf_agg_hash(x, NULL, 0.001)',
	'pbf_union_agg(NULL::pbf)', 'pbf_intersect_agg(NULL::pbf)'
]) WITH ORDINALITY v (aggregate, n), try(format('%s FROM generate_series(1, 3) i, (SELECT NULL::int) v (x)', v.aggregate)) t,
	brief(t::pbf) b ORDER BY v.n;
-- No row: an empty filter, not NULL; its arguments were never seen.
SELECT v.aggregate, b.*, t::pbf = pbf_new(0) AS is_smallest FROM unnest(ARRAY[
	'pbf_agg(x)', 'pbf_agg(x, 1000)', 'pbf_agg(x, 1000, 0.001)', 'pbf_agg_like(x, pbf_new(1000))', 'pbf_agg(ARRAY[x])',
	'pbf_agg_like(ARRAY[x], pbf_new(1000))', 'pbf_agg(x::text)', 'pbf_agg(x::bool, 1000)', 'pbf_agg_hash(x)', 'pbf_union_agg(pbf_new(x))',
	'pbf_intersect_agg(pbf_new(x))', 'pbf_agg(x, -1)', 'pbf_agg(x, 1, NULL)', 'pbf_agg_like(x, NULL)'
]) WITH ORDINALITY v (aggregate, n), try(v.aggregate || ' FROM generate_series(1, 0) x') t, brief(t::pbf) b ORDER BY v.n;
-- A NULL capacity is none; the rate is kept.
SELECT pbf_agg(x, NULL) = pbf_agg(x) AS capacity, pbf_agg(x, NULL, 0.01) = pbf_agg(x) AS default_rate,
		pbf_agg(x, NULL, 1e-6) = pbf_build(array_agg(x), 1e-6) AS rate
	FROM generate_series(1, 100) x;
SELECT b.* FROM (SELECT pbf_union_agg(f) AS f FROM (VALUES (NULL::pbf), (pbf_build('{1,2}'::int[])), (NULL)) v (f)) s, brief(f) b;
SELECT b.* FROM (SELECT pbf_intersect_agg(f) AS f FROM (VALUES (NULL::pbf), (pbf_build('{1,2}'::int[])), (NULL)) v (f)) s, brief(f) b;
-- Filters of nothing are the identity of union, whatever their size. What has nothing in common with them is empty.
SELECT b.* FROM (SELECT pbf_union_agg(f) AS f FROM (VALUES (pbf_new(1e6)), (pbf_build('{1,2}'::int[])), (pbf_new(10))) v (f)) s, brief(f) b;
SELECT b.* FROM (SELECT pbf_intersect_agg(f) AS f FROM (VALUES (pbf_new(1e4)), (pbf_build('{1,2}'::int[])), (pbf_new(10))) v (f)) s, brief(f) b;

--
-- What is refused
--
\pset format unaligned
\pset tuples_only on
\pset fieldsep '\n'
SELECT v.expr, t, '' FROM unnest(ARRAY[
	'pbf_agg(1, -1)', 'pbf_agg(1, ''NaN'')', 'pbf_agg(1, ''Infinity'')', 'pbf_agg(1, 1.1e18)', 'pbf_agg(1, 1e18)', 'pbf_agg(1, 1e9, 1e-9)',
	'pbf_agg(1, 100, 0)', 'pbf_agg(1, 100, 1)', 'pbf_agg(1, 100, -0.01)', 'pbf_agg(1, 100, ''NaN'')', 'pbf_agg(1, 100, 1e-16)', 'pbf_agg(1, NULL, 2)',
	'pbf_agg(1, 0.01, 100)',
	'pbf_agg(1, 100, NULL)', 'pbf_agg(NULL::int, NULL, NULL)', 'pbf_agg(''{}''::int[], 100, NULL)', 'pbf_agg_hash(1, 100, NULL)',
	'pbf_agg(true, 100, NULL)', 'pbf_agg(ARRAY[true], 100, 7)', 'pbf_agg_hash(1, -1)',
	'pbf_agg_like(1, NULL)', 'pbf_agg_like(true, NULL)', 'pbf_agg_like(''{}''::int[], NULL)',
	'pbf_agg(pbf_new(1))', 'pbf_agg(''{}''::json)', 'pbf_agg(ARRAY[pbf_new(1)])',
	'pbf_union_agg(f) FROM (VALUES (pbf_build(''{1}''::int[])), (pbf_build(''{a}''::text[]))) v (f)',
	'pbf_intersect_agg(f) FROM (VALUES (pbf_build(''{1}''::int[])), (pbf_build(''{a}''::text[]))) v (f)',
	'pbf_union_agg(f) FROM (VALUES (pbf_new(10, 0.01, ''plain'') + 1), (pbf_new(10, 0.01, ''blocked'') + 1)) v (f)',
	'merge(s) FROM (SELECT state(x) AS s FROM generate_series(1, 3) x UNION ALL SELECT state(x) FROM unnest(''{a,b}''::text[]) x) v',
	'merge(s) FROM (SELECT state(x, 100) AS s FROM generate_series(1, 3) x UNION ALL SELECT state(x, 100) FROM unnest(''{a,b}''::text[]) x) v'
]) WITH ORDINALITY v (expr, n), try(v.expr) t ORDER BY v.n;
-- Outside of an aggregate the first argument would be changed in place.
SELECT expr || ': ' || try(expr) FROM unnest(ARRAY[
	'pbf_agg_trans(pbf_new(1), 1)', 'pbf_agg_trans(NULL, 1)', 'pbf_agg_trans(NULL, 1, 2, 0.1)', 'pbf_agg_trans(NULL, true)', 'pbf_agg_trans(NULL, ''{1}''::int[])',
	'pbf_agg_like_trans(pbf_new(1), 1, pbf_new(1))', 'pbf_agg_like_trans(NULL, true, pbf_new(1))', 'pbf_agg_like_trans(NULL, ''{1}''::int[], pbf_new(1))',
	'pbf_agg_hash_trans(NULL, 1)', 'pbf_agg_combine(pbf_new(1), pbf_new(1))', 'pbf_agg_combine(NULL, NULL)', 'pbf_agg_final(pbf_new(1))',
	'pbf_agg_final(NULL)', 'pbf_union_trans(pbf_new(1), pbf_new(1))', 'pbf_intersect_trans(NULL, NULL)']) expr;
\pset format aligned
\pset tuples_only off
-- Strings that are equal although their bytes are not. Only with ICU there are such collations.
DO $$
DECLARE
	a text;
	r text;
BEGIN
	BEGIN
		CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	EXCEPTION WHEN feature_not_supported THEN
		RETURN;
	END;
	FOREACH a IN ARRAY '{pbf_agg(x), "pbf_agg(x, 10)", "pbf_agg(x, 10, 0.1)", "pbf_agg_like(x, pbf_new(1))", pbf_agg(ARRAY[x]),
			"pbf_agg_like(ARRAY[x], pbf_new(1))", state(x), pbf_agg(x::varchar), pbf_agg(x::name), pbf_agg(x::char(3))}'::text[] LOOP
		r := try(a || ' FROM (VALUES (''a'' COLLATE ignore_case), (''A'')) v (x)');
		ASSERT r LIKE '0A000 nondeterministic collation "ignore_case" is not supported%COLLATE "C"%', a || ': ' || r;
		r := try(replace(a, 'x', 'x COLLATE "C"') || ' @> ''A''::text FROM (VALUES (''a'' COLLATE ignore_case), (''A'')) v (x)');
		ASSERT r = 'true', a || ': ' || r;
	END LOOP;
END $$;

--
-- DISTINCT, ORDER BY, FILTER, GROUP BY, GROUPING SETS
--
CREATE TABLE facts AS
	SELECT i AS id, i % 3 AS a, i % 7 AS b, nullif(i * 7919 % 1000, 0) AS x, 'w' || i * 7919 % 500 AS w FROM generate_series(1, 6000) i;
ANALYZE facts;
SELECT pbf_agg(DISTINCT x) = pbf_agg(x) AS "distinct", pbf_agg(x ORDER BY x DESC) = pbf_agg(x) AS ordered,
		pbf_agg(DISTINCT x, 500) = pbf_agg(x, 500) AS distinct_capacity, pbf_agg(x, 500 ORDER BY w, x) = pbf_agg(x, 500) AS ordered_capacity,
		pbf_agg(DISTINCT w ORDER BY w) = pbf_agg(w) AS words, pbf_agg(DISTINCT ARRAY[x, b]) = pbf_agg(ARRAY[x, b]) AS arrays,
		pbf_agg_like(DISTINCT x, pbf_new(500)) = pbf_agg(x, 500) AS alike,
		pbf_agg(x) FILTER (WHERE x < 100) = (SELECT pbf_agg(i) FROM generate_series(1, 99) i) AS filtered,
		pbf_agg(x) FILTER (WHERE false) = pbf_new(0) AS all_filtered
	FROM facts;

-- Every group, of every set of groupings, as if it had been asked for alone.
CREATE FUNCTION alone(a int, b int, capacity float8) RETURNS pbf LANGUAGE sql AS $$
	SELECT pbf_agg(x, capacity) FROM aggregates.facts WHERE (alone.a IS NULL OR facts.a = alone.a) AND (alone.b IS NULL OR facts.b = alone.b)
$$;
CREATE FUNCTION groupings(how text, OUT setting text, OUT groups bigint, OUT wrong bigint, OUT shared bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOREACH setting IN ARRAY '{both, enable_sort, enable_hashagg}'::text[] LOOP
		IF setting <> 'both' THEN
			PERFORM set_config(setting, 'off', true);
		END IF;
		EXECUTE format('SELECT count(*), count(*) FILTER (WHERE f <> alone(a, b, NULL)), count(*) FILTER (WHERE g <> alone(a, b, 250000))
			FROM (SELECT a, b, pbf_agg(x) AS f, pbf_agg(x, 250000) AS g FROM facts GROUP BY %s) s', how) INTO groups, wrong, shared;
		IF setting <> 'both' THEN
			PERFORM set_config(setting, 'on', true);
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT how, g.setting AS off, g.groups, g.wrong, g.shared AS wrong_with_capacity
	FROM unnest('{"a, b", "ROLLUP (a, b)", "CUBE (a, b)", "GROUPING SETS ((a), (b), ())"}'::text[]) WITH ORDINALITY h (how, n), groupings(h.how) g
	ORDER BY h.n;

-- Many groups: in a hash table that stays in memory, in one that does not, and sorted.
CREATE TABLE many AS
	SELECT (i * 7919::bigint % 100000)::int AS g, i % 10 AS t, (i % 1000) AS thousandth, i AS x FROM generate_series(1, 300000) i;
ANALYZE many;
CREATE TABLE grouped (aggregate text, how text, batches bool, groups bigint, digest text);
-- Groups, and keeps how that was done and a digest of all the filters.
CREATE PROCEDURE group_many() LANGUAGE plpgsql AS $$
DECLARE
	r grouped;
	column_name text;
	plan text;
BEGIN
	FOR r.aggregate, column_name IN VALUES ('pbf_agg(x)', 'g'), ('pbf_agg(x, 3)', 'g'), ('pbf_agg(x, 20000)', 'thousandth'), ('pbf_agg(x, 250000)', 't') LOOP
		EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) CREATE TEMP TABLE made AS SELECT %I AS g, %s AS f FROM aggregates.many GROUP BY 1',
			column_name, r.aggregate) INTO plan;
		r.how := substring(plan from '"Strategy": "(Hashed|Sorted)"');
		r.batches := substring(plan from '"HashAgg Batches": (\d+)')::int > 1;
		SELECT count(*), md5(string_agg(f::text, ',' ORDER BY g)) FROM made INTO r.groups, r.digest;
		DROP TABLE made;
		INSERT INTO grouped SELECT r.*;
	END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '256MB';
CALL group_many();
SET work_mem = '1MB';
SET enable_sort = off;
CALL group_many();
RESET enable_sort;
SET enable_hashagg = off;
CALL group_many();
RESET enable_hashagg;
RESET work_mem;
RESET max_parallel_workers_per_gather;
SELECT aggregate, how, batches, groups, count(*) OVER (PARTITION BY digest) AS same_result FROM grouped
	ORDER BY aggregate, how, batches;
CREATE TABLE group_filters AS SELECT g, pbf_agg(x) AS f FROM many GROUP BY g;
SELECT count(*) AS elements, count(*) FILTER (WHERE NOT f @> x) AS lost FROM many JOIN group_filters USING (g);
SELECT b.kind, b.geometry, count(*) FROM group_filters, brief(f) b GROUP BY b.kind, b.geometry;

-- A group's capacity is that of its first row.
SELECT a, b.geometry, b.elements FROM (SELECT a, pbf_agg(x, 10 ^ (a + 2)) AS f FROM facts GROUP BY a) s, brief(f) b ORDER BY a;
SELECT b.geometry FROM (SELECT pbf_agg(x, x * 1000 ORDER BY x) AS f FROM generate_series(1, 3) x) s, brief(f) b;
SELECT b.geometry FROM (SELECT pbf_agg(x, x * 1000 ORDER BY x DESC) AS f FROM generate_series(1, 3) x) s, brief(f) b;

--
-- Window functions: each row's filter against one of the rows of its frame
--
CREATE TABLE readings AS SELECT i AS id, i % 4 AS series, i / 3 AS at, CASE WHEN i % 5 > 0 THEN i * 31 % 60 END AS x FROM generate_series(1, 120) i;
CREATE FUNCTION windows(aggregate text, frame text, max_id int DEFAULT 120, OUT frames bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE f IS DISTINCT FROM (SELECT %1$s FROM readings r WHERE r.id = ANY (s.ids)))
			FROM (SELECT %1$s OVER w AS f, array_agg(id) OVER w AS ids FROM readings WHERE id <= %3$s WINDOW w AS (%2$s)) s',
		aggregate, frame, max_id) INTO frames, wrong;
END $$;
SELECT f.frame, sum(w.frames) AS frames, sum(w.wrong) AS wrong, string_agg(a.aggregate, '; ') FILTER (WHERE w.wrong > 0) AS culprits
	FROM unnest(ARRAY[
			'ORDER BY id',
			'PARTITION BY series ORDER BY id',
			'PARTITION BY series',
			'ORDER BY at',
			'ORDER BY id ROWS BETWEEN 5 PRECEDING AND CURRENT ROW',
			'ORDER BY id ROWS BETWEEN 3 FOLLOWING AND 10 FOLLOWING',
			'ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
			'PARTITION BY series ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW',
			'ORDER BY at RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING',
			'ORDER BY at GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES'
		]) WITH ORDINALITY f (frame, n),
		unnest('{pbf_agg(x), "pbf_agg(x, 50)", "pbf_agg(x, 20000)", "pbf_agg(x, NULL, 0.001)", "pbf_agg(x % 2 = 0)", "pbf_agg(ARRAY[x, id])", "pbf_agg(''w'' || x, 30)",
			"pbf_agg_hash(x)", "pbf_agg_like(x, pbf_new(20, 0.1, ''plain''))", "pbf_union_agg(pbf_new(100) + x)",
			"pbf_intersect_agg(pbf_new(100) + ARRAY[x, id % 7, 1])"}'::text[]) a (aggregate),
		windows(a.aggregate, f.frame) w
	GROUP BY f.n, f.frame ORDER BY f.n;
SELECT w.* FROM windows('pbf_agg(x) FILTER (WHERE x > 20)', 'ORDER BY id') w;
-- Large filters.
SELECT f.frame, w.* FROM unnest(ARRAY['ORDER BY id', 'ORDER BY id ROWS BETWEEN 40 PRECEDING AND CURRENT ROW']) f (frame), windows('pbf_agg(x, 500000)', f.frame, 90) w;

--
-- One state, several results; none of them changes it
--
SELECT count(*) AS groups, count(*) FILTER (WHERE a <> b OR s <> b OR m <> b) AS small_wrong,
		count(*) FILTER (WHERE la <> lb OR ls <> lb OR (la <> pbf_new(500000)) <> (a <> pbf_new(0))) AS large_wrong
	FROM (SELECT id % 10 AS g, pbf_agg(x) AS a, state(x) AS s, pbf_agg(x) AS b, merge_state(pbf_new(0)) AS e,
			(SELECT merge(t) FROM (VALUES (state(x)), (NULL), (state(x))) v (t)) AS m,
			pbf_agg(x, 500000) AS la, state(x, 500000) AS ls, pbf_agg(x, 500000) AS lb
		FROM readings GROUP BY 1) v;
SELECT count(*) AS frames, count(*) FILTER (WHERE a <> s) AS wrong FROM (SELECT pbf_agg(x, 20) OVER w AS a, state(x, 20) OVER w AS s FROM readings WINDOW w AS (ORDER BY id)) v;
SELECT count(*) AS frames, count(*) FILTER (WHERE a <> s) AS wrong FROM (SELECT pbf_agg(x, 20000) OVER w AS a, state(x, 20000) OVER w AS s FROM readings WINDOW w AS (ORDER BY id)) v;

--
-- Filters that are aggregated stay as they are: short, TOASTed, and in a variable
--
CREATE TABLE stored (id int, f pbf, copy text);
INSERT INTO stored SELECT i, f, f::text FROM generate_series(1, 6) i,
	LATERAL (SELECT pbf_agg(k, c) AS f FROM generate_series(i * 10, i * 15) k, (SELECT CASE WHEN i % 2 = 1 THEN 10 ELSE 20000 END) v (c)) v;
SELECT (SELECT pbf_union_agg(f) FROM (SELECT f FROM stored WHERE id % 2 = 0 ORDER BY id) s) @> ARRAY(SELECT generate_series(60, 90)) AS even,
	(SELECT pbf_union_agg(f) FROM (SELECT f FROM stored WHERE id % 2 = 1 ORDER BY id) s) @> ARRAY(SELECT generate_series(50, 75)) AS odd,
	(SELECT pbf_union_agg(f) FROM (SELECT f FROM stored ORDER BY id) s) @> ARRAY(SELECT generate_series(10, 15)) AS "all",
	(SELECT pbf_intersect_agg(f) FROM (SELECT f FROM stored WHERE id IN (4, 6)) s) @> 60 AS common,
	(SELECT pbf_is_empty(pbf_intersect_agg(f)) FROM (SELECT f FROM stored WHERE id IN (2, 6)) s) AS nothing;
SELECT count(*) AS filters, bool_and(u @> ARRAY(SELECT generate_series(id * 10, id * 15))) AS complete, bool_and(l @> id AND NOT l @> id * 10) AS alike
	FROM (SELECT id, pbf_union_agg(f) OVER (ORDER BY id) AS u, pbf_agg_like(id, f) OVER (ORDER BY id) AS l FROM stored) s;
SELECT id, pbf_agg_like(id, f) = pbf_new_like(f) + id AS alike, merge(f) = f AS merged, pbf_union_agg(f) = f AS united, pbf_intersect_agg(f) = f AS intersected
	FROM stored GROUP BY id, f ORDER BY id;
DO $$
DECLARE
	f pbf = pbf_new(100) + 1;
	before pbf = f;
	u pbf;
BEGIN
	SELECT pbf_union_agg(v) FROM (VALUES (f), (pbf_new(100) + 2)) s (v) INTO u;
	ASSERT u @> '{1,2}'::int[] AND f = before;
	SELECT pbf_agg_like(i, f) FROM generate_series(2, 9) i INTO u;
	ASSERT u @> 9 AND f = before;
	SELECT merge(v) FROM (VALUES (f), (pbf_new(100) + 2)) s (v) INTO u;
	ASSERT u @> '{1,2}'::int[] AND f = before;
END $$;
SELECT count(*) AS unchanged FROM stored WHERE f::text = copy;

--
-- Parallel plans: the same filters, bit for bit
--
CREATE TABLE big (x int, h bigint, w text) WITH (parallel_workers = 4);
INSERT INTO big SELECT i, pbf_hash(i) * (i % 1000 <> 0)::int, CASE WHEN i > 1050000 THEN 'w' || i END FROM generate_series(1, 1100000) i;
CREATE TABLE sets (f pbf, g pbf, a int[], t int) WITH (parallel_workers = 4);
INSERT INTO sets SELECT pbf_new(2000) + a, pbf_new(400) + ARRAY[i, 7, 8], a, i % 5
	FROM generate_series(1, 3000) i, LATERAL (SELECT ARRAY[i, NULL, i + 1, -i] AS a) v;
ANALYZE big, sets;
-- Runs a query serially (unless its result is known) and in parallel: whether the second plan was parallel and the results are the same.
CREATE FUNCTION parallel(query text, leader bool DEFAULT true, serial text DEFAULT NULL, OUT in_parallel bool, OUT same bool, OUT result text) LANGUAGE plpgsql
	SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 SET min_parallel_table_scan_size = 0 SET max_parallel_workers = 8
	SET enable_partitionwise_aggregate = on AS $$
DECLARE
	plan text;
	wrapped text = format('SELECT md5(string_agg(q::text, E''\n'' ORDER BY q)) FROM (%s) q', query);
BEGIN
	IF serial IS NULL THEN
		PERFORM set_config('max_parallel_workers_per_gather', '0', true);
		EXECUTE wrapped INTO serial;
	END IF;
	PERFORM set_config('max_parallel_workers_per_gather', '4', true), set_config('parallel_leader_participation', leader::text, true);
	EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) ' || wrapped INTO plan;
	in_parallel := plan ~ '"Partial Mode": "Partial"' AND plan ~ '"Partial Mode": "Finalize"' AND plan ~ '"Gather( Merge)?"';
	EXECUTE wrapped INTO result;
	same := result = serial;
END $$;
SELECT v.query, leader, p.in_parallel, p.same FROM (VALUES
	(1, 'SELECT pbf_agg(x, 300000) FROM many', '{t,f}'::bool[]),
	(2, 'SELECT pbf_agg(x, 3000000) FROM many', '{t,f}'),
	(3, 'SELECT pbf_agg(x, 300000, 1e-9) FROM many', '{f}'),
	(4, 'SELECT pbf_agg(x) FROM many', '{t,f}'),
	(5, 'SELECT pbf_agg(x, NULL, 0.0001) FROM many', '{t}'),
	(6, 'SELECT pbf_agg(g) FROM many', '{f}'),
	(7, 'SELECT pbf_agg(x::text), pbf_agg(x::numeric, 400000), pbf_agg(x % 2 = 0), pbf_agg(ARRAY[g]) FROM many', '{t}'),
	(8, 'SELECT t, pbf_agg(x), pbf_agg(x, 1000) FROM many GROUP BY t', '{f}'),
	(9, 'SELECT pbf_agg(x) FILTER (WHERE x < 100), pbf_agg(x, 1000) FILTER (WHERE x < 100) FROM many', '{t}'),
	(10, 'SELECT pbf_agg_like(x, (SELECT pbf_new(1e5))) FROM many', '{f}'),
	(11, 'SELECT pbf_agg_hash(h), pbf_agg_hash(h, 1e6), pbf_agg_hash(h) FILTER (WHERE h = 0) FROM big WHERE x < 200000', '{t,f}'),
	-- some workers see only NULLs, or no row
	(12, 'SELECT pbf_agg(w), pbf_agg(w, 50000) FROM big', '{t,f}'),
	(13, 'SELECT pbf_agg(w), pbf_agg(w, 50000), pbf_union_agg(NULL::pbf), pbf_intersect_agg(NULL::pbf) FROM big WHERE x < 3', '{t,f}'),
	(14, 'SELECT pbf_agg(w), pbf_agg(w, 50000), pbf_agg(ARRAY[w]), pbf_agg_hash(h), pbf_agg_like(x, pbf_new(7)) FROM big WHERE x < 0', '{t,f}'),
	(15, 'SELECT pbf_union_agg(f), pbf_union_agg(g), pbf_intersect_agg(g), pbf_intersect_agg(f) FROM sets', '{t,f}'),
	(16, 'SELECT t, pbf_union_agg(f), pbf_intersect_agg(g) FROM sets GROUP BY t', '{t}'),
	(17, 'SELECT pbf_intersect_agg(g) @> 7 AND pbf_intersect_agg(g) @> 8, pbf_intersect_agg(f) FROM sets WHERE a[1] > 2990', '{t,f}'),
	(18, 'SELECT pbf_agg(a), pbf_agg(a, 10000), pbf_agg_like(a, f) FROM sets', '{t,f}')
) v (n, query, leaders), unnest(v.leaders) leader, parallel(v.query, leader) p ORDER BY v.n, leader DESC;
-- Workers have really been at work.
SET max_parallel_workers_per_gather = 4;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE FUNCTION explained(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
SELECT substring(explained('SELECT pbf_agg(x, 300000) FROM many')::text from '"Workers Launched": (\d+)')::int > 0 AS launched;

-- Partitions, each aggregated on its own.
CREATE TABLE parted (p int, t int, x int) PARTITION BY LIST (p);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
CREATE TABLE parted_without_rows PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT i % 3, i % 7, i FROM generate_series(1, 30000) i;
ANALYZE parted;
SELECT v.query, p.in_parallel, p.same FROM unnest(ARRAY[
	'SELECT pbf_agg(x), pbf_agg(x, 250000), pbf_union_agg(pbf_new(100) + x) FROM parted',
	'SELECT t, pbf_agg(x), pbf_agg(x, 250000), pbf_intersect_agg(pbf_new(100) + ARRAY[t, x % 100]) FROM parted GROUP BY t'
]) WITH ORDINALITY v (query, n), parallel(v.query) p ORDER BY v.n;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
SELECT explained('SELECT t, pbf_agg(x) FROM parted GROUP BY t')::text ~ '"Partial Mode": "Partial".*"Partial Mode": "Partial"' AS partial,
	(SELECT pbf_agg(x) FROM parted) = (SELECT pbf_agg(x) FROM generate_series(1, 30000) x) AS same,
	(SELECT string_agg(f::text, ',' ORDER BY t) FROM (SELECT t, pbf_agg(x) AS f FROM parted GROUP BY t) s)
		= (SELECT string_agg(f::text, ',' ORDER BY t) FROM (SELECT x % 7 AS t, pbf_agg(x) AS f FROM generate_series(1, 30000) x GROUP BY 1) s) AS same_groups;
RESET enable_partitionwise_aggregate;
SET max_parallel_workers_per_gather = 4;

-- Where a set of hashes becomes a filter: 2^20 are kept, one more is not.
SET max_parallel_workers_per_gather = 0;
CREATE TABLE bounds AS SELECT n, (SELECT pbf_agg(x) FROM big WHERE x <= n) AS f FROM unnest('{1048575,1048576,1048577,1100000}'::int[]) n;
SELECT n, b.kind, b.elements BETWEEN n * 0.99 AND n * 1.01 AS counted, pbf_fpr(f) < 0.01 AS rate,
		f = (SELECT pbf_build(array_agg(i)) FROM generate_series(1, n) i) AS as_built, (SELECT count(*) FROM big WHERE x <= n AND NOT f @> x) AS lost
	FROM bounds, brief(f) b;
SET max_parallel_workers_per_gather = 4;
SELECT n, p.in_parallel, p.same FROM bounds, parallel(format('SELECT pbf_agg(x) FROM big WHERE x <= %s', n), serial => md5(ROW(f)::text)) p WHERE n <= 1048577;
-- Hashes among which there is a 0: without it this would be a division by zero.
SELECT p.in_parallel, p.same FROM parallel('SELECT 1 / pbf_contains_hash(pbf_agg_hash(h), 0)::int, pbf_agg_hash(h) FROM big') p;
-- One worker sees everything, and outgrows its set alone. (Such a plan is not made, but it can be kept.)
SET max_parallel_workers_per_gather = 1;
PREPARE one_worker AS SELECT md5(pbf_agg(x)::text) FROM big;
DO $$
DECLARE
	plan text;
	result text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) EXECUTE one_worker' INTO plan;
	ASSERT plan ~ '"Workers Planned": 1\M' AND plan ~ '"Partial Mode": "Partial"', plan;
	SET LOCAL parallel_leader_participation = off;
	EXECUTE 'EXECUTE one_worker' INTO result;
	ASSERT result = (SELECT md5(f::text) FROM bounds WHERE n = 1100000);
END $$;
DEALLOCATE one_worker;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

--
-- States on their way from one server to another: as text, and in a table
--
-- A merge of states, shipped as text, is what one aggregate makes of all elements.
CREATE FUNCTION shipped(aggregate text, state text, source text, OUT states bigint, OUT same bool, OUT same_again bool, OUT from_table bool) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE shipped AS SELECT t, %s AS s FROM (SELECT row_number() OVER () %% 7 AS t, x FROM %s) v GROUP BY t', state, source);
	EXECUTE format('SELECT count(*), merge(s::text::pbf ORDER BY t) = (SELECT %1$s FROM %2$s), merge(s::text::pbf ORDER BY t DESC) = (SELECT %1$s FROM %2$s),
		merge(s) = (SELECT %1$s FROM %2$s) FROM shipped', aggregate, source) INTO states, same, same_again, from_table;
	DROP TABLE shipped;
END $$;
SELECT v.aggregate, v.source, s.* FROM (VALUES
	('pbf_agg(x)', 'state(x)', 'generate_series(1, 20) x'),
	('pbf_agg(x)', 'state(x)', 'generate_series(1, 100000) x'),
	('pbf_agg(x, NULL, 1e-7)', 'state(x, NULL, 1e-7)', 'generate_series(1, 1000) x'),
	('pbf_agg(x, 2000)', 'state(x, 2000)', 'generate_series(1, 2000) x'),
	('pbf_agg(x, 1000000)', 'state(x, 1000000)', 'generate_series(1, 2000) x'),
	('pbf_agg(x, 2000, 1e-12)', 'state(x, 2000, 1e-12)', 'generate_series(1, 2000) x'),
	('pbf_agg(x)', 'state(x)', '(SELECT CASE WHEN i % 7 > 1 THEN ''w'' || i % 13 END AS x FROM generate_series(0, 1000) i) v'),
	('pbf_agg(x, 100)', 'state(x, 100)', '(SELECT CASE WHEN i % 7 > 1 THEN ''w'' || i % 13 END AS x FROM generate_series(0, 1000) i) v'),
	('pbf_agg(x)', 'state(x)', '(SELECT NULL::int AS x FROM generate_series(0, 1000) i) v'),
	('pbf_agg_hash(x)', 'state_hash(x)', 'generate_series(-20, 20) x'),
	('pbf_agg(x)', 'state(x)', 'generate_series(1, 0) x')
) v (aggregate, state, source), shipped(v.aggregate, v.state, v.source) s;

-- The state without a capacity is a set of hashes, written in ascending order.
SELECT state_hash(x) FROM (VALUES (3), (0), (-1), (3), (256)) v (x);
-- A state can be used like a filter everywhere, right where it comes out of the aggregate: it counts as the filter that it would become.
CREATE FUNCTION everywhere(state text, filter text, OUT hit bool, OUT miss bool, OUT hits bool, OUT many bool, OUT hash bool, OUT matching int[],
		OUT united bool, OUT added bool, OUT equal bool, OUT as_text bool, OUT as_bytea bool, OUT rate bool, OUT reduced bool, OUT counted bool) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT s @> 5, s @> 5000, s && ''{0,7}''::int[], s @> numbers(1, 100), pbf_contains_hash(s, pbf_hash(9)), pbf_matching(s, ''{3,5000,4}''::int[]),
		s | f = f, (s + 1000) = (f + 1000), s = f, s::text::pbf = f, s::bytea::pbf = f, pbf_fpr(s) = pbf_fpr(f), (s -> 1) = (f -> 1), pbf_info(s) = pbf_info(f)
		FROM (SELECT %s AS s, %s AS f FROM generate_series(1, 100) i) v', state, filter)
		INTO hit, miss, hits, many, hash, matching, united, added, equal, as_text, as_bytea, rate, reduced, counted;
END $$;
CREATE FUNCTION numbers(low int, high int) RETURNS int[] LANGUAGE sql AS 'SELECT ARRAY(SELECT generate_series(low, high))';
SELECT e.* FROM (VALUES ('state(i)', 'pbf_agg(i)'), ('state(i, 1000)', 'pbf_agg(i, 1000)'), ('state(i, 20000)', 'pbf_agg(i, 20000)')) v (s, f), everywhere(s, f) e;
SELECT count(*) AS groups, sum(n) AS rows FROM (SELECT count(*) AS n FROM (SELECT state(i) AS f FROM generate_series(1, 100) i
	UNION ALL SELECT pbf_agg(i) FROM generate_series(1, 100) i UNION ALL SELECT state(i, 500000) FROM generate_series(1, 100) i
	UNION ALL SELECT pbf_agg(i, 500000) FROM generate_series(1, 100) i) v GROUP BY f) v;

-- States of aggregates that were called with other arguments meet as filters do: nothing is lost in any order.
CREATE TABLE states (n serial, s pbf, elements int[]);
INSERT INTO states (s, elements)
	SELECT (SELECT state(i) FROM unnest(e) i), e FROM numbers(1, 100) e UNION ALL
	SELECT (SELECT state(i, NULL, 0.02) FROM unnest(e) i), e FROM numbers(101, 200) e UNION ALL
	SELECT (SELECT state(i, 300) FROM unnest(e) i), e FROM numbers(201, 300) e UNION ALL
	SELECT (SELECT state(i, 30000, 0.001) FROM unnest(e) i), e FROM numbers(301, 400) e UNION ALL
	SELECT (SELECT state(i, 500000) FROM unnest(e) i), e FROM numbers(401, 500) e UNION ALL
	SELECT (SELECT pbf_agg(i) FROM unnest(e) i), e FROM numbers(501, 600) e UNION ALL
	SELECT (SELECT state(NULL::int)), '{}' UNION ALL
	SELECT (SELECT state(NULL::text, 10)), '{}' UNION ALL
	SELECT NULL, '{}' UNION ALL
	-- a large unfinished filter, by its header; by its size it is small
	SELECT overlay(set_byte((pbf_new_geometry(16, 8, 64) + e)::bytea, 1, 5) PLACING '\x7b14ae47e17a843f' FROM 13)::pbf, e FROM numbers(601, 700) e UNION ALL
	SELECT overlay(set_byte((pbf_new_geometry(24, 7, 64) + e)::bytea, 1, 5) PLACING '\x7b14ae47e17a843f' FROM 13)::pbf, e FROM numbers(701, 800) e;
SELECT count(*) AS merges, count(*) FILTER (WHERE NOT f @> (a.elements || b.elements || c.elements)) AS lossy
	FROM states a, states b, states c, LATERAL (SELECT merge(s) AS f FROM (VALUES (a.s), (b.s), (c.s)) v (s)) m;
SELECT merge(s) @> numbers(1, 800) AS merged, pbf_union_agg(s) @> numbers(1, 800) AS united FROM states;

-- Every group starts with a copy of its own.
DO $$
BEGIN
	EXECUTE format('CREATE AGGREGATE more(int) (SFUNC = pbf_agg_trans, STYPE = pbf, INITCOND = %L)', (SELECT state(i) FROM generate_series(1, 3) i));
	EXECUTE format('CREATE AGGREGATE more_dense(int) (SFUNC = pbf_agg_trans, STYPE = pbf, INITCOND = %L)', pbf_new(10000) + '{1,2,3}'::int[]);
END $$;
SELECT count(*) AS groups, bool_and(m = pbf_build(ARRAY[1, 2, 3, x, -x])) AS sets, bool_and(d = pbf_new(10000) + ARRAY[1, 2, 3, x, -x]) AS filters
	FROM (SELECT abs(x) AS x, more(x) AS m, more_dense(x) AS d FROM generate_series(-50, 50) x WHERE abs(x) > 3 GROUP BY 1) v;

-- Sets that have become filters, before and after they were shipped.
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE large AS SELECT 1 AS n, state(x) AS s FROM big WHERE x <= 1050000;
INSERT INTO large SELECT 2, state(x) FROM big WHERE x > 1040000;
SELECT merge(s ORDER BY n) = (SELECT f FROM bounds WHERE bounds.n = 1100000) AS filter_and_set, merge(s::text::pbf ORDER BY n DESC) = (SELECT f FROM bounds WHERE bounds.n = 1100000) AS set_and_filter
	FROM large;
SELECT merge(l.s) = (SELECT f FROM bounds WHERE bounds.n = 1100000) AS two_filters FROM large l, generate_series(1, 2) i WHERE n = 1 OR i = 1;
-- Ten sets together become a filter, with which more sets and filters are merged.
SELECT merge(s ORDER BY n) = (SELECT f FROM bounds WHERE bounds.n = 1100000) AS ten_sets_and_more
	FROM (SELECT x % 10 - 10 AS n, state(x) AS s FROM big GROUP BY 1 UNION ALL SELECT 3 - n, s FROM large) v;
RESET max_parallel_workers_per_gather;

-- When even the largest filter is too small, that is said. (This one is small, and full.)
SELECT b.* FROM (SELECT merge(s) AS f FROM (VALUES ('\x0105020101000000400000007b14ae47e17a843fffffffffffffffff'::pbf)) v (s)) s, brief(f) b;

DROP SCHEMA aggregates CASCADE;

-- implicit casts to text do not get around what is refused
CREATE DOMAIN agg_word AS text;
SELECT pbf_agg(v::varchar(10)) @> 'a', pbf_agg(v::agg_word) @> 'a', pbf_agg(v::bpchar) @> 'a', pbf_agg(v::name) @> 'a'
	FROM (VALUES ('a'), ('b')) t(v);
CREATE TYPE agg_ci;
CREATE FUNCTION agg_ci_in(cstring) RETURNS agg_ci AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION agg_ci_out(agg_ci) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE agg_ci (INPUT = agg_ci_in, OUTPUT = agg_ci_out, LIKE = text, CATEGORY = 'S');
CREATE CAST (agg_ci AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION agg_ci_eq(agg_ci, agg_ci) RETURNS bool AS 'SELECT lower($1::text) = lower($2::text)' LANGUAGE sql IMMUTABLE;
CREATE FUNCTION agg_ci_hash(agg_ci) RETURNS int AS 'SELECT hashtext(lower($1::text))' LANGUAGE sql IMMUTABLE;
CREATE FUNCTION agg_ci_hash64(agg_ci, bigint) RETURNS bigint AS 'SELECT hashtextextended(lower($1::text), $2)' LANGUAGE sql IMMUTABLE;
CREATE OPERATOR = (LEFTARG = agg_ci, RIGHTARG = agg_ci, FUNCTION = agg_ci_eq, HASHES);
CREATE OPERATOR CLASS agg_ci_ops DEFAULT FOR TYPE agg_ci USING hash AS
	OPERATOR 1 =, FUNCTION 1 agg_ci_hash(agg_ci), FUNCTION 2 agg_ci_hash64(agg_ci, bigint);
SELECT pbf_agg(v::agg_ci) FROM (VALUES ('a'), ('B')) t(v);
SELECT pbf_agg(v::agg_ci, 100) FROM (VALUES ('a'), ('B')) t(v);
SELECT pbf_agg_like(v::agg_ci, pbf_new(10)) FROM (VALUES ('a'), ('B')) t(v);
SELECT pbf_agg(lower(v::agg_ci::text)) @> 'b' FROM (VALUES ('a'), ('B')) t(v);
DROP TYPE agg_ci CASCADE;
DROP DOMAIN agg_word;

-- a state that is a set of hashes, where a user's own aggregate makes it meet finished filters
CREATE AGGREGATE agg_state(int) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE agg_merge(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf, FINALFUNC = pbf_agg_final);
DO $$ BEGIN
	EXECUTE format('CREATE AGGREGATE agg_union_from(pbf) (SFUNC = pbf_union_trans, STYPE = pbf, INITCOND = %L)',
		(SELECT agg_state(i) FROM generate_series(1, 3) i));
	EXECUTE format('CREATE AGGREGATE agg_common_from(pbf) (SFUNC = pbf_intersect_trans, STYPE = pbf, INITCOND = %L)',
		(SELECT agg_state(i) FROM generate_series(1, 3) i));
END $$;
SELECT agg_union_from(pbf_new(10) + 4) @> ARRAY[1, 2, 3, 4], agg_common_from(pbf_new(10) + 2) @> 2;
SELECT agg_union_from(pbf_new(10, 0.01, 'plain') + 4);
-- the hashes of a set are added to a filter as they are: nothing is lost, in either order
SELECT (SELECT agg_merge(s ORDER BY o) FROM (VALUES (1, (SELECT agg_state(i) FROM generate_series(1, 1000) i)),
			(2, pbf_new(1e5) + 1001)) v(o, s))
		= (SELECT pbf_agg(i, 1e5) FROM generate_series(1, 1001) i) AS set_first,
	(SELECT agg_merge(s ORDER BY o DESC) FROM (VALUES (1, (SELECT agg_state(i) FROM generate_series(1, 1000) i)),
			(2, pbf_new(1e5) + 1001)) v(o, s))
		= (SELECT pbf_agg(i, 1e5) FROM generate_series(1, 1001) i) AS filter_first;
DROP AGGREGATE agg_state(int), agg_merge(pbf), agg_union_from(pbf), agg_common_from(pbf);

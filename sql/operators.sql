--
-- Operators: what they mean, with every form of argument, and that they leave the expressions of others alone.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA operators;
SET search_path = operators, public;

-- The operator classes are sound.
SELECT am.amname, opc.opcname, amvalidate(opc.oid)
	FROM pg_opclass opc JOIN pg_am am ON am.oid = opc.opcmethod
		JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = opc.oid
	WHERE opc.opcintype = 'pbf'::regtype AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pbf')
	ORDER BY 1, 2;

-- All operators; the commutator of each takes the same types the other way round.
SELECT o.oprname AS name, o.oprleft::regtype AS left_type, o.oprright::regtype AS right_type,
		o.oprresult::regtype AS result,
		c.oprname AS commutator, n.oprname AS negator, o.oprrest AS restrict, o.oprjoin AS "join",
		o.oprcanhash AS hash, o.oprcanmerge AS merge,
		c.oprname IS NULL OR (c.oprleft, c.oprright, c.oprcom) = (o.oprright, o.oprleft, o.oid) AS sound
	FROM pg_operator o
		LEFT JOIN pg_operator c ON c.oid = o.oprcom
		LEFT JOIN pg_operator n ON n.oid = o.oprnegate
	WHERE 'pbf'::regtype IN (o.oprleft, o.oprright)
	ORDER BY o.oprname COLLATE "C", o.oprleft::regtype::text COLLATE "C", o.oprright::regtype::text COLLATE "C";

-- The value of an expression, or why there is none. (Of the parser's own errors only the message: hints vary.)
CREATE FUNCTION try(expr text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || expr || ')::text' INTO result;
	RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	IF state IN ('42883', '42725', '42601') THEN
		RETURN state || ' ' || message;
	END IF;
	RETURN concat_ws(E'\n    ', state || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;

-- Filters by name, plain and blocked, so sparse that no test meets a false positive.
CREATE TABLE filters (name text PRIMARY KEY, f pbf);
INSERT INTO filters VALUES
	('words', pbf_new_geometry(1, 30, 64, 'plain') + '{alice,bob,carol}'::text[]),
	('letters', pbf_new_geometry(1, 20, 100) + '{a,b,c,d}'::text[]),
	('ints', pbf_new_geometry(2, 8, 64) + '{1,2,3,100000}'::int[]),
	('many', pbf_new_geometry(150, 8, 64) + (SELECT array_agg(i) FROM generate_series(1, 1000) i)),
	('numerics', pbf_new_geometry(1, 30, 64) + '{1,2.5,3}'::numeric[]),
	('reals', pbf_new_geometry(1, 8, 64) + '{1,2.5,3}'::float8[]),
	('dates', pbf_new_geometry(1, 8, 64) + '{2024-01-01,2024-02-29}'::date[]),
	('times', pbf_new_geometry(1, 8, 64) + timestamp '2024-01-01 12:00'),
	('instants', pbf_new_geometry(1, 8, 64) + timestamptz '2024-01-01 12:00+00'),
	('oids', pbf_new_geometry(1, 30, 64) + '{1259,1247}'::oid[]),
	('uuids', pbf_new_geometry(1, 8, 64) + 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid),
	('bytes', pbf_new_geometry(1, 8, 64) + '\x00ff'::bytea),
	('bools', pbf_new_geometry(1, 8, 64) + true),
	('chars', pbf_new_geometry(1, 8, 64) + 'a'::"char"),
	('nothing', pbf_new_geometry(10, 8, 64)),
	('hashes', pbf_add_hash(pbf_new_geometry(10, 8, 64), pbf_hash(1)));
CREATE FUNCTION filter(n text) RETURNS pbf LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN (SELECT f FROM operators.filters WHERE name = n);
END $$;
-- Abbreviations: words @> 'alice' is written as it would be with a column of that name.
CREATE FUNCTION with_filters(expr text) RETURNS text LANGUAGE sql AS $$
	SELECT try(regexp_replace(expr, '\m(' || (SELECT string_agg(name, '|') FROM filters) || ')\M', 'filter(''\1'')',
		'g'))
$$;

\pset format unaligned
\pset tuples_only on
\pset fieldsep '  =>  '

--
-- Membership of an element
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	-- every way to write a string
	$$words @> 'alice'$$,
	$$words @> 'alice'::text$$,
	$$words @> 'alice'::varchar$$,
	$$words @> 'alice'::varchar(5)$$,
	$$words @> 'alice'::name$$,
	$$words @> 'alice'::char(9)$$,
	$$words @> 'alice '$$,
	$$words @> U&'\0061lice'$$,
	$$words @> concat('al', 'ice')$$,
	$$words @> 'dave'$$,
	$$words @> ''$$,
	$$'alice' <@ words$$,
	$$'alice'::varchar <@ words$$,
	$$'alice'::char(9) <@ words$$,
	$$'dave' <@ words$$,
	-- whole numbers of any width
	$$ints @> 1$$,
	$$ints @> 1::int2$$,
	$$ints @> 1::int8$$,
	$$ints @> 100000$$,
	$$ints @> 4$$,
	$$ints @> -1$$,
	$$2 <@ ints$$,
	$$2::int2 <@ ints$$,
	$$4 <@ ints$$,
	-- other kinds
	$$numerics @> 1.00$$,
	$$numerics @> 2.5$$,
	$$numerics @> 25e-1$$,
	$$reals @> 2.5::float4$$,
	$$reals @> 2.5::float8$$,
	$$dates @> date '2024-02-29'$$,
	$$dates @> date '2024-02-28'$$,
	$$times @> timestamp '2024-01-01 12:00'$$,
	$$instants @> timestamptz '2024-01-01 14:00+02'$$,
	$$oids @> 1259::oid$$,
	$$oids @> 'pg_class'::regclass$$,
	$$oids @> 'pg_type'::regclass$$,
	$$uuids @> 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid$$,
	$$bytes @> '\x00ff'::bytea$$,
	$$bools @> true$$,
	$$bools @> (1 > 2)$$,
	$$chars @> 'a'::"char"$$,
	-- NULL
	$$words @> NULL$$,
	$$words @> NULL::text$$,
	$$NULL <@ words$$,
	$$NULL::text <@ words$$,
	$$NULL::pbf @> 'alice'$$,
	$$'alice' <@ NULL::pbf$$,
	$$dates @> NULL$$,
	-- a filter that nothing was added to has no kind: nothing is in it
	$$nothing @> 'alice'$$,
	$$nothing @> 1$$,
	$$1.5 <@ nothing$$
]) e;

--
-- Another kind than the filter's is an error, with the way out
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	$$dates @> '2024-01-01'$$,
	$$'2024-01-01' <@ dates$$,
	$$ints @> '1'$$,
	$$uuids @> 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'$$,
	$$words @> 1$$,
	$$ints @> 1.0$$,
	$$1.0 <@ ints$$,
	$$numerics @> 1$$,
	$$numerics @> 1::float8$$,
	$$reals @> 1.0$$,
	$$reals @> 1$$,
	$$ints @> 1::oid$$,
	$$oids @> 1259$$,
	$$oids @> 'pg_class'$$,
	$$times @> timestamptz '2024-01-01 12:00+00'$$,
	$$instants @> timestamp '2024-01-01 12:00'$$,
	$$times @> date '2024-01-01'$$,
	$$words @> 'a'::"char"$$,
	$$chars @> 'a'$$,
	$$bytes @> '\x00ff'$$,
	$$bools @> 't'$$,
	$$hashes @> 1$$,
	$$1 <@ hashes$$,
	$$ints @> '{a}'::text[]$$,
	$$'{a}'::text[] <@ ints$$,
	$$ints && '{a}'::text[]$$,
	$$'{a}'::text[] && ints$$,
	$$many && (SELECT array_agg(i::text) FROM generate_series(1, 100) i)$$,
	$$ints + 'a'$$,
	$$ints + 1.5$$,
	$$numerics + 1$$,
	$$words + 1$$,
	$$ints + '{1.5}'::numeric[]$$,
	$$hashes + 1$$,
	$$ints | words$$,
	$$ints & words$$,
	$$ints && words$$,
	$$ints !&& words$$,
	$$hashes | ints$$,
	-- a filter is no element; a filter in a filter is a function
	$$words @> words$$,
	$$words <@ words$$,
	$$words + words$$,
	$$words @> ARRAY[words]$$,
	$$words && ARRAY[words]$$,
	$$pbf_contains_filter(words, words)$$,
	-- beside these operators a bare literal is taken for a filter, or for a number of parts
	$$words && 'alice'$$,
	$$words | 'alice'$$,
	$$words = 'alice'$$,
	$$words -> 'alice'$$
]) e;

--
-- Membership of arrays: all (@>, <@) and any (&&); NULL elements count for nothing
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	$$words @> '{alice,carol}'::text[]$$,
	$$words @> '{alice,dave}'::text[]$$,
	$$words @> ARRAY['alice','bob']$$,
	$$words @> ARRAY['alice','bob']::varchar[]$$,
	$$words @> ARRAY['alice','bob']::name[]$$,
	$$words @> ARRAY['alice','bob']::char(7)[]$$,
	$$'{alice,carol}'::text[] <@ words$$,
	$$'{alice,dave}'::text[] <@ words$$,
	$$words && '{dave,carol}'::text[]$$,
	$$words && '{dave,erin}'::text[]$$,
	$$'{dave,carol}'::text[] && words$$,
	$$'{dave,erin}'::text[] && words$$,
	$$ints @> '{1,2}'::int2[]$$,
	$$ints @> '{1,2}'::int8[]$$,
	$$ints @> ARRAY[1, 100000::bigint]$$,
	$$ints && ARRAY[0, 3]$$,
	$$ints && '[0:1]={0,3}'::int[]$$,
	-- NULL elements
	$$words @> '{alice,NULL}'::text[]$$,
	$$words @> '{dave,NULL}'::text[]$$,
	$$words @> '{NULL,NULL}'::text[]$$,
	$$'{NULL}'::text[] <@ words$$,
	$$words && '{NULL,alice}'::text[]$$,
	$$words && '{NULL}'::text[]$$,
	$$'{NULL}'::text[] && words$$,
	-- empty, also of another kind: nothing in it could be missing
	$$words @> '{}'::text[]$$,
	$$'{}'::text[] <@ words$$,
	$$words && '{}'::text[]$$,
	$$'{}'::text[] && words$$,
	$$words @> '{}'::int[]$$,
	$$words @> ARRAY[]::text[]$$,
	-- NULL
	$$words @> NULL::text[]$$,
	$$NULL::text[] <@ words$$,
	$$words && NULL::text[]$$,
	$$NULL::text[] && words$$,
	$$NULL::pbf @> '{alice}'::text[]$$,
	$$NULL::pbf && '{alice}'::text[]$$,
	-- more than one dimension
	$$words @> '{{alice,bob},{carol,NULL}}'::text[]$$,
	$$words @> '{{alice,bob},{carol,dave}}'::text[]$$,
	$$words && '{{dave,erin},{frank,carol}}'::text[]$$,
	$$'{{{1},{2}}}'::int[] <@ ints$$,
	-- a filter of no kind
	$$nothing @> '{a}'::text[]$$,
	$$nothing @> '{}'::text[]$$,
	$$nothing && '{1}'::int[]$$,
	-- longer arrays go another way than short ones
	$$many @> (SELECT array_agg(i) FROM generate_series(1, 16) i)$$,
	$$many @> (SELECT array_agg(i) FROM generate_series(1, 17) i)$$,
	$$many @> (SELECT array_agg(i) FROM generate_series(1, 1000) i)$$,
	$$many @> (SELECT array_agg(nullif(i, 1001)) FROM generate_series(1, 1001) i)$$,
	$$many @> (SELECT array_agg(i) FROM generate_series(1, 1001) i)$$,
	$$many @> (SELECT array_agg(i) FROM generate_series(0, 16) i)$$,
	$$many @> (SELECT array_agg(i) FROM generate_series(0, 1000) i)$$,
	$$many && (SELECT array_agg(i) FROM generate_series(1000, 2000) i)$$,
	$$many && (SELECT array_agg(i) FROM generate_series(1001, 2000) i)$$,
	$$many && (SELECT array_agg(i) FROM generate_series(-15, 0) i)$$,
	$$many && (SELECT array_agg(i) FROM generate_series(-15, 1) i)$$,
	$$nothing && (SELECT array_agg(i) FROM generate_series(1, 100) i)$$,
	-- a literal that looks like an array is a string
	$$letters @> '{a,b}'$$,
	$$letters + '{a,b}' @> '{a,b}'$$,
	$$letters @> '{a,b}'::text[]$$,
	-- the server's own ANY and ALL
	$$words @> ANY ('{dave,carol}'::text[])$$,
	$$words @> ALL ('{dave,carol}'::text[])$$,
	$$words @> ALL ('{}'::text[])$$,
	$$'alice' <@ ANY (ARRAY[letters, words])$$,
	$$'alice' <@ ALL (ARRAY[letters, words])$$,
	$$ints @> ANY ('{NULL,7}'::int[])$$,
	$$words = ANY (ARRAY[letters, words])$$,
	$$'{alice}'::text[] <@ ANY (ARRAY[letters, words])$$
]) e;

--
-- Adding
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	$$words + 'dave' @> 'dave'$$,
	$$words + 'dave'::varchar @> '{alice,bob,carol,dave}'::text[]$$,
	$$words + 'alice' = words$$,
	$$words + '{dave,erin}'::text[] @> '{alice,bob,carol,dave,erin}'::text[]$$,
	$$words + '{{dave,NULL},{NULL,erin}}'::text[] = words + 'erin' + 'dave'$$,
	$$words + '{}'::text[] = words$$,
	$$words + '{NULL}'::text[] = words$$,
	$$words + NULL$$,
	$$words + NULL::text$$,
	$$words + NULL::text[]$$,
	$$NULL::pbf + 'alice'$$,
	$$ints + 5::int2 + 6 + 7::int8 @> '{1,2,3,5,6,7,100000}'::int[]$$,
	$$nothing + 1 @> 1$$,
	$$nothing + 1 @> '1'$$,
	$$(pbf_info(nothing + 1)).kind$$,
	$$(pbf_info(nothing + '{}'::int[])).kind$$,
	$$(pbf_info(nothing + '{NULL}'::int[])).kind$$,
	$$(pbf_info(nothing + 'x')).kind$$,
	$$nothing + '{1}'::int[] = nothing + 1$$
]) e;
-- The filter on the left is left alone.
SELECT count(*) FROM filters WHERE name = 'words' AND f + 'dave' <> f AND NOT f @> 'dave';

--
-- Sets of filters
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	$$words | pbf_new_like(words) + 'dave' @> '{alice,bob,carol,dave}'::text[]$$,
	$$words | words = words$$,
	$$words & words = words$$,
	$$(words & (pbf_new_like(words) + '{bob,dave}'::text[])) @> 'bob'$$,
	$$(words & (pbf_new_like(words) + '{bob,dave}'::text[])) @> 'dave'$$,
	$$words && pbf_new_like(words) + 'bob'$$,
	$$words && pbf_new_like(words) + 'dave'$$,
	$$words !&& pbf_new_like(words) + 'bob'$$,
	$$words !&& pbf_new_like(words) + 'dave'$$,
	$$words !&& letters$$,
	$$words && pbf_new_like(words)$$,
	$$words !&& pbf_new_like(words)$$,
	$$nothing && nothing$$,
	-- what has no kind unites with everything
	$$words | nothing = words$$,
	$$nothing | words = words$$,
	$$nothing | pbf_new_geometry(3, 8, 64) = pbf_new_geometry(3, 8, 64) | nothing$$,
	$$nothing & pbf_new_geometry(3, 8, 64) = pbf_new_geometry(3, 8, 64) & nothing$$,
	$$pbf_new_geometry(1, 6, 64, 'plain') | pbf_new_geometry(1, 6, 64) = pbf_new_geometry(1, 6, 64) | pbf_new_geometry(1, 6, 64, 'plain')$$,
	$$pbf_is_empty(words & nothing)$$,
	$$words && nothing$$,
	$$words !&& nothing$$,
	-- NULL
	$$words | NULL$$,
	$$NULL & words$$,
	$$words && NULL::pbf$$,
	$$words !&& NULL$$,
	$$words = NULL$$,
	-- first parts
	$$(words -> 1) @> '{alice,bob,carol}'::text[]$$,
	$$words -> 2 -> 1 = words -> 1$$,
	$$words -> (pbf_info(words)).parts = words$$,
	$$(pbf_info(words -> 2)).parts$$,
	$$words -> 1 | words = words -> 1$$,
	$$words -> NULL$$,
	$$NULL::pbf -> 1$$,
	$$words -> 2::smallint = pbf_reduce(words, 2)$$,
	$$pbf_new_geometry(9, 5, 64) -> 0$$,
	$$pbf_new_geometry(9, 5, 64) -> 6$$,
	$$pbf_new_geometry(9, 5, 64) -> -1$$,
	$$pbf_new_geometry(9, 5, 64) -> 2147483647$$,
	$$pbf_new_geometry(9, 5, 64) -> 2::bigint$$
]) e;

-- Commutators and negators, over all pairs of filters that may meet.
WITH p AS MATERIALIZED (
	SELECT a.f AS a, b.f AS b FROM unnest('{1,2,3,5}'::int[]) n, unnest('{3,5,8}'::int[]) m, generate_series(1, 12) i,
		LATERAL (SELECT pbf_new_geometry(n, 8, 64) + i + (i + 1) AS f) a,
		LATERAL (SELECT pbf_new_geometry(m, 5, 64) + 6 AS f) b)
SELECT count(*) AS pairs, count(*) FILTER (WHERE a && b) > 0 AS some_overlap,
		count(*) FILTER (WHERE a !&& b) > 0 AS some_do_not,
		count(*) FILTER (WHERE (a && b) <> (b && a)) AS overlap,
		count(*) FILTER (WHERE (a !&& b) = (a && b)) AS disjoint,
		count(*) FILTER (WHERE a | b <> b | a) AS "union", count(*) FILTER (WHERE (a & b) <> (b & a)) AS intersection
	FROM p;

--
-- The order of filters is one: exactly one of <, =, >, and the operators agree with pbf_cmp
--
WITH v AS MATERIALIZED (
	SELECT row_number() OVER () AS n, f FROM (
		SELECT f FROM filters UNION ALL SELECT f -> 1 FROM filters
		UNION ALL SELECT pbf_new_geometry(1, p, w) FROM generate_series(1, 8) p, unnest('{1,63,64,65,300}'::int[]) w
		UNION ALL SELECT pbf_new_geometry(1, 3, 20) + i FROM generate_series(1, 9) i) x)
SELECT count(*) AS pairs,
		count(*) FILTER (WHERE (a.f < b.f)::int + (a.f = b.f)::int + (a.f > b.f)::int <> 1) AS trichotomy,
		count(*) FILTER (WHERE (a.f <= b.f) = (a.f > b.f) OR (a.f >= b.f) = (a.f < b.f)
		OR (a.f <> b.f) = (a.f = b.f)) AS negators,
		count(*) FILTER (WHERE (a.f < b.f) <> (b.f > a.f) OR (a.f <= b.f) <> (b.f >= a.f)) AS commutators,
		count(*) FILTER (WHERE sign(pbf_cmp(a.f, b.f)) <> (a.f > b.f)::int - (a.f < b.f)::int) AS cmp,
		count(*) FILTER (WHERE a.n = b.n AND a.f <> b.f) AS reflexive,
		count(*) FILTER (WHERE (a.f = b.f) <> (a.f::text = b.f::text)) AS by_text,
		count(*) FILTER (WHERE a.f = b.f AND pbf_hash_value(a.f) <> pbf_hash_value(b.f)) AS hash
	FROM v a, v b;

--
-- How expressions read: the operators of words and signs have one precedence, left to right
--
SELECT e, with_filters(e) FROM unnest(ARRAY[
	$$words @> 'al' || 'ice'$$,
	$$words @> ('al' || 'ice')$$,
	$$'al' || 'ice' <@ words$$,
	$$words | letters + 'x' & words @> 'x'$$,
	$$(words | (letters & words)) @> '{alice,bob}'::text[]$$,
	$$(words | letters & words) = ((words | letters) & words)$$,
	$$words @> '{"k": "alice"}'::json ->> 'k'$$,
	$$words @> ('{"k": "alice"}'::json ->> 'k')$$,
	$$ints @> 1 + 1$$,
	$$ints + 9 @> 9$$,
	$$ints @> 3 - 2 AND NOT ints @> 3 * 3$$,
	$$ints -> 2 @> 3$$,
	$$3 <@ ints -> 2$$,
	$$3 <@ (ints -> 2)$$,
	$$ints @> 1 = true$$,
	$$ints @> 1 IS NOT NULL$$,
	$$ints && '{1}' || '{2}'::int[]$$,
	$$ints && ('{7}' || '{2}'::int[])$$
]) e;

--
-- Parameters, columns, and other places where an operator is called from
--
\pset format aligned
\pset tuples_only off
\pset null 'NULL'
PREPARE contains AS SELECT f @> $1 AS contains, f + $1 = f AS "add", $1 <@ f AS contained FROM filters
	WHERE name = 'words';
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'contains';
EXECUTE contains('alice');
EXECUTE contains('dave');
EXECUTE contains(NULL);
PREPARE contains_array(text[]) AS SELECT f @> $1 AS "all", f && $1 AS "any" FROM filters WHERE name = 'words';
EXECUTE contains_array('{alice,dave}');
EXECUTE contains_array(NULL);
-- By the sixth time with a generic plan, too.
SET plan_cache_mode = force_generic_plan;
EXECUTE contains('alice');
EXECUTE contains_array('{alice,bob}');
PREPARE in_filter(pbf, int) AS SELECT count(*) FROM generate_series(0, $2) i WHERE $1 @> i;
SELECT f AS many FROM filters WHERE name = 'many' \gset
EXECUTE in_filter(:'many', 2000);
RESET plan_cache_mode;
DEALLOCATE ALL;

CREATE TABLE people (id int, name text, short varchar(10), fixed char(10), tags text[]);
INSERT INTO people SELECT i, n, n, n, ARRAY[n, n || i]
	FROM unnest('{alice,bob,carol,dave,erin,NULL}'::text[]) WITH ORDINALITY u (n, i);
SELECT id, f @> p.name AS name, p.short <@ f AS short, f @> p.fixed AS fixed, f @> tags AS "all", f && tags AS "any"
	FROM people p, filters WHERE filters.name = 'words' ORDER BY id;
-- The same, the filter being a constant; with statistics, which the planner tries it on.
ANALYZE people;
SELECT f AS words FROM filters WHERE name = 'words' \gset
SELECT array_agg(id ORDER BY id) FROM people WHERE :'words'::pbf @> name;
SELECT array_agg(id ORDER BY id) FROM people WHERE name <@ :'words'::pbf;
SELECT array_agg(id ORDER BY id) FROM people WHERE NOT :'words'::pbf @> short;
SELECT array_agg(id ORDER BY id) FROM people WHERE :'words'::pbf @> fixed;
SELECT array_agg(id ORDER BY id) FROM people WHERE :'words'::pbf && tags;
SELECT array_agg(id ORDER BY id) FROM people WHERE tags <@ :'words'::pbf;
SELECT array_agg(id ORDER BY id) FROM people WHERE pbf_contains(:'words', name);
SELECT array_agg(id ORDER BY id) FROM people WHERE pbf_contains_any(:'words', tags);
SELECT array_agg(id ORDER BY id) FROM people WHERE NULL::pbf @> name;
SELECT array_agg(id ORDER BY id) FROM people WHERE :'words'::pbf @> id;
-- A filter as a join condition.
SELECT p.id, array_agg(f.name ORDER BY f.name) FROM people p
	JOIN filters f ON f.f @> p.name AND f.name IN ('words', 'nothing', 'letters')
	GROUP BY p.id ORDER BY p.id;

-- The planner's estimate is near the truth: constant filter of one in a hundred, one in three, nothing.
CREATE TABLE numbers AS SELECT i, i % 10 AS digit FROM generate_series(1, 10000) i;
ANALYZE numbers, filters;
CREATE FUNCTION estimated_rows(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
END $$;
SELECT pbf_build(array_agg(i)) AS some FROM generate_series(1, 10000, 100) i \gset
SELECT pbf_build(array_agg(i)) AS third FROM generate_series(1, 10000, 3) i \gset
SELECT pbf_build('{1,2,3}'::int[]) AS digits \gset
SELECT estimated_rows(format('SELECT FROM numbers WHERE %L::pbf @> i', :'some')) BETWEEN 10 AND 400 AS some,
	estimated_rows(format('SELECT FROM numbers WHERE i <@ %L::pbf', :'third')) BETWEEN 2000 AND 5000 AS third,
	estimated_rows(format('SELECT FROM numbers WHERE %L::pbf @> digit', :'digits')) BETWEEN 2500 AND 3500 AS digits,
	estimated_rows(format('SELECT FROM numbers WHERE pbf_contains(%L::pbf, digit)', :'digits')) BETWEEN 2500
	AND 3500 AS by_function,
	estimated_rows(format('SELECT FROM numbers WHERE %L::pbf @> i', pbf_new(100))) BETWEEN 1 AND 100 AS "nothing",
	estimated_rows('SELECT FROM numbers WHERE NULL::pbf @> i') <= 1 AS "null",
	estimated_rows('SELECT FROM numbers, filters WHERE f @> i') BETWEEN 100 AND 10000 AS "join";

-- Constraints, generated columns, partial and expression indexes, domains, functions in SQL and PL/pgSQL.
CREATE DOMAIN word_filter AS pbf CHECK (VALUE @> 'alice');
SELECT :'words'::word_filter @> 'bob' AS member, :'words'::word_filter + 'dave' @> 'dave' AS added;
SELECT (pbf_new_geometry(1, 30, 64) + 'bob')::word_filter;
CREATE TABLE checked (allowed word_filter, name text CHECK (name <> ''),
	ok bool GENERATED ALWAYS AS (allowed @> name) STORED,
	CHECK (allowed @> name));
CREATE INDEX ON checked (name) WHERE allowed @> name;
CREATE INDEX ON checked ((allowed && ARRAY['bob', name]));
INSERT INTO checked VALUES (:'words', 'bob');
INSERT INTO checked VALUES (:'words', 'dave');
SELECT name, ok FROM checked;
CREATE FUNCTION in_sql(pbf, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 @> $2';
CREATE FUNCTION in_plpgsql(f pbf, VARIADIC names text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	n text;
	result text[];
BEGIN
	FOREACH n IN ARRAY names LOOP
		IF f @> n THEN
			result := result || n;
		END IF;
		f := f + n;
		ASSERT f @> n;
	END LOOP;
	RETURN result;
END $$;
SELECT in_sql(f, 'alice'), in_sql(f, 'dave'), in_plpgsql(f, 'carol', 'dave', 'bob', 'dave') FROM filters
	WHERE name = 'words';

--
-- Beside other extensions: their expressions resolve as they do without pbf, and ours as they do without them.
-- An extension that this server does not have is left out. Rows are shown only if something differs.
--
CREATE TABLE expressions (needs text, expr text, expected text);
INSERT INTO expressions VALUES
	(NULL, $$'id-' || 42$$, 'id-42'),
	(NULL, $$42 || '-id'$$, '42-id'),
	(NULL, $$ARRAY[1] || 2$$, '{1,2}'),
	(NULL, $$1 || ARRAY[2]$$, '{1,2}'),
	(NULL, $$'{1}'::int[] || '{2}'$$, '{1,2}'),
	(NULL, $$'{1,2}'::int[] && '{2}'::int[]$$, 'true'),
	(NULL, $$'{1,2}'::int[] @> '{2}'$$, 'true'),
	(NULL, $$'{1,2}' @> '{2}'::int[]$$, 'true'),
	(NULL, $$'{1,2}' && ARRAY[1]$$, 'true'),
	(NULL, $$ARRAY['a'] <@ ARRAY['a','b']$$, 'true'),
	(NULL, $$ARRAY['a'] && '{b}'$$, 'false'),
	(NULL, $$'{a}'::text[] && NULL$$, 'NULL'),
	(NULL, $$int4range(1, 5) @> 3$$, 'true'),
	(NULL, $$3 <@ int4range(1, 5)$$, 'true'),
	(NULL, $$'[1,5)'::int4range && '[4,9)'$$, 'true'),
	(NULL, $$'[1,5)'::int4range @> '[2,3)'$$, 'true'),
	(NULL, $$'{"a": [10, 20]}'::jsonb -> 'a' -> 1$$, '20'),
	(NULL, $$'[7, 8]'::jsonb -> 1$$, '8'),
	(NULL, $$'{"a": 1}'::jsonb @> '{"a": 1}'$$, 'true'),
	(NULL, $$'{"a": 1}' <@ '{"a": 1, "b": 2}'::jsonb$$, 'true'),
	(NULL, $$'{"a": 1}'::json ->> 'a'$$, '1'),
	(NULL, $$6 & 3$$, '2'),
	(NULL, $$6 | 3$$, '7'),
	(NULL, $$B'110' | B'011'$$, '111'),
	(NULL, $$1 + 2$$, '3'),
	(NULL, $$'1' + 2$$, '3'),
	(NULL, $$'2024-01-01'::date + 1 = '2024-01-02'$$, 'true'),
	(NULL, $$date '2024-01-01' + time '12:00' = '2024-01-01 12:00'$$, 'true'),
	(NULL, $$'(0,0),(2,2)'::box @> '(1,1)'::point$$, 'true'),
	(NULL, $$'10/8'::inet && '10.1/16'$$, 'true'),
	(NULL, $$'cat & rat'::tsquery && 'hat'$$, $$'cat' & 'rat' & 'hat'$$),
	(NULL, $$'cat'::tsquery @> 'cat'$$, 'true'),
	(NULL, $$'a' = 'a'$$, 'true'),
	(NULL, $$'{1}' = ARRAY[1]$$, 'true'),
	('intarray', $$'{1,2,3}'::int[] && '{3}'::int[]$$, 'true'),
	('intarray', $$'{1,2,3}'::int[] @> '{3}'::int[]$$, 'true'),
	('intarray', $$'{1,2,3}'::int[] + 4$$, '{1,2,3,4}'),
	('intarray', $$'{1,2,3}'::int[] + '{9}'::int[]$$, '{1,2,3,9}'),
	('intarray', $$'{1,2,3}'::int[] | 7$$, '{1,2,3,7}'),
	('intarray', $$'{1,2,3}'::int[] | '{7}'$$, '{1,2,3,7}'),
	('intarray', $$'{1,2,3}'::int[] & '{3,4}'$$, '{3}'),
	('intarray', $$'{1,2,3}'::int[] @@ '1 & 2'::query_int$$, 'true'),
	('hstore', $$'a=>1, b=>2'::hstore -> 'a'$$, '1'),
	('hstore', $$'a=>1, b=>2'::hstore -> 'a'::text$$, '1'),
	('hstore', $$'a=>1, b=>2'::hstore -> ARRAY['a','b']$$, '{1,2}'),
	('hstore', $$'a=>1, b=>2'::hstore @> 'a=>1'$$, 'true'),
	('hstore', $$'a=>1' <@ 'a=>1, b=>2'::hstore$$, 'true'),
	('hstore', $$'a=>1'::hstore || 'c=>3'$$, '"a"=>"1", "c"=>"3"'),
	('ltree', $$'a.b.c'::ltree <@ 'a.b'$$, 'true'),
	('ltree', $$'a.b' @> 'a.b.c'::ltree$$, 'true'),
	('ltree', $$'a.b'::ltree || 'c'$$, 'a.b.c'),
	('ltree', $$ARRAY['a.b'::ltree] @> 'a.b.c'::ltree$$, 'true'),
	('citext', $$'Alice'::citext = 'alice'$$, 'true'),
	('citext', $$'Alice'::citext || 'x'$$, 'Alicex'),
	('citext', $$ARRAY['A'::citext] @> ARRAY['a'::citext]$$, 'true'),
	('citext', $$ARRAY['A'::citext] && '{a}'$$, 'true'),
	('hll', $$hll_cardinality(hll_empty() || hll_hash_integer(1))$$, '1'),
	(NULL, $$words @> 'alice'$$, 'true'),
	(NULL, $$words @> NULL$$, 'NULL'),
	(NULL, $$'alice' <@ words$$, 'true'),
	(NULL, $$words @> ARRAY['alice','dave']$$, 'false'),
	(NULL, $$ARRAY['alice','dave'] && words$$, 'true'),
	(NULL, $$words && ARRAY['alice','dave']$$, 'true'),
	(NULL, $$words && words$$, 'true'),
	(NULL, $$words !&& letters$$, 'true'),
	(NULL, $$words + 'x' @> 'x'$$, 'true'),
	(NULL, $$words + '{x,y}'::text[] @> 'y'$$, 'true'),
	(NULL, $$words | letters @> 'd'$$, 'true'),
	(NULL, $$(words & letters) @> 'd'$$, 'false'),
	(NULL, $$words -> 1 @> 'bob'$$, 'true'),
	(NULL, $$ints @> 2$$, 'true'),
	(NULL, $$ints @> '{1,2}'::int[]$$, 'true'),
	(NULL, $$ints && '{1,7}'::int[]$$, 'true'),
	(NULL, $$'{1,2}'::int[] <@ ints$$, 'true'),
	(NULL, $$'{1,7}'::int[] && ints$$, 'true'),
	(NULL, $$ints + 8 @> 8$$, 'true'),
	(NULL, $$ints + '{8,9}'::int[] @> 9$$, 'true'),
	(NULL, $$pbf_contains(ints, 2)$$, 'true'),
	(NULL, $$pbf_matching(words, '{alice,dave}'::text[])$$, '{alice}'),
	('hstore', $$pbf_build(ARRAY['a=>1, b=>2'::hstore]) @> 'b=>2, a=>1'::hstore$$, 'true'),
	('citext', $$words @> 'alice'::citext$$, $$0A000 values of type citext cannot be stored in a Bloom filter
    It is a string type with an equality of its own.
    Use the text by which its values compare, for example lower(x)::text.$$),
	('citext', $$words @> 'Alice'::citext::text$$, 'false');

CREATE FUNCTION mismatches(OUT needs text, OUT expr text, OUT expected text, OUT result text) RETURNS SETOF record
	LANGUAGE sql
	SET search_path = operators, public AS $$
	SELECT e.needs, e.expr, e.expected, r FROM expressions e, with_filters(e.expr) r
		WHERE (e.needs IS NULL OR e.needs IN (SELECT extname FROM pg_extension)) AND e.expected IS DISTINCT FROM r
$$;
SELECT * FROM mismatches();
-- All in one schema, and ours.
DO $$
DECLARE
	x text;
BEGIN
	FOREACH x IN ARRAY '{intarray,hstore,ltree,citext,hll}'::text[] LOOP
		IF x IN (SELECT name FROM pg_available_extensions) THEN
			EXECUTE format('CREATE EXTENSION IF NOT EXISTS %I', x);
		END IF;
	END LOOP;
END $$;
SELECT * FROM mismatches();

DROP SCHEMA operators CASCADE;

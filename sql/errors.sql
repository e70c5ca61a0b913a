--
-- Arguments out of range are refused: by name, with the value and the range, and before anything is allocated.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA errors;
SET search_path = errors, public;

-- SQLSTATE, message, detail and hint of what an expression raises; its value if it does not.
CREATE FUNCTION refusal(expr text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || expr || ')::text' INTO result;
	RETURN 'not refused: ' || coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n    ', state || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;

\pset format unaligned
\pset tuples_only on
\pset fieldsep '\n    '

-- The rate.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_new(100, 0)$$,
	$$pbf_new(100, -0.0::float8)$$,
	$$pbf_new(100, 1)$$,
	$$pbf_new(100, -1)$$,
	$$pbf_new(100, 2)$$,
	$$pbf_new(100, 'NaN')$$,
	$$pbf_new(100, 'Infinity')$$,
	$$pbf_new(100, '-Infinity')$$,
	$$pbf_new(100, 1e-20)$$,
	$$pbf_new(100, 9.9e-16)$$,
	$$pbf_new(100, 1e-320)$$,
	$$pbf_new(0, 1)$$,
	$$pbf_new(0.01, 1000)$$,
	$$pbf_new(fpr => 1.5, capacity => 1, layout => 'plain')$$,
	$$pbf_optimal(100, 0)$$,
	$$pbf_optimal(100, 'NaN')$$,
	$$pbf_build('{1}'::int[], 0)$$,
	$$pbf_build('{1}'::int[], 1)$$,
	$$pbf_build('{}'::int[], 'NaN')$$,
	$$pbf_shrink_to_fpr(pbf_new(100), 0)$$,
	$$pbf_shrink_to_fpr(pbf_new(100), 1)$$,
	$$pbf_shrink_to_fpr(pbf_new(100), 'NaN')$$,
	$$pbf_shrink_to_fpr(pbf_new(100), 1e-16)$$
]) e;

-- The capacity: out of range, or in range but too much for a filter of 512 MB.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_new(-1)$$,
	$$pbf_new(-1e-300)$$,
	$$pbf_new('NaN')$$,
	$$pbf_new('Infinity')$$,
	$$pbf_new('-Infinity')$$,
	$$pbf_new(1e19)$$,
	$$pbf_new(1.0000000000000002e18)$$,
	$$pbf_new(1e300, 0.5)$$,
	$$pbf_new(-1, -1)$$,
	$$pbf_new(-9223372036854775808)$$,
	$$pbf_optimal(-1, 0.01)$$,
	$$pbf_optimal('NaN', 0.01)$$,
	$$pbf_optimal(1e19, 0.01)$$
]) e;
-- (What a filter of such a size would need depends on how sizes are chosen: not shown.)
SELECT e, regexp_replace(refusal(e), 'needs [0-9]+ MB|about [0-9.e+]+ elements', '...', 'g') FROM unnest(ARRAY[
	$$pbf_new(1e18)$$,
	$$pbf_new(1e18, 0.9999999999999999)$$,
	$$pbf_new(1e10)$$,
	$$pbf_new(1e9, 0.01, 'plain')$$,
	$$pbf_new(1e9, 0.01, 'blocked')$$,
	$$pbf_new(1e8, 1e-15)$$,
	$$pbf_new(9223372036854775807 / 1000, 0.01)$$,
	$$pbf_optimal(1e18, 0.01)$$,
	$$pbf_optimal(1e9, 0.01)$$
]) e;
-- The layout.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_new(100, 0.01, 'standard')$$,
	$$pbf_new(100, 0.01, '')$$,
	$$pbf_new(100, 0.01, 'Blocked')$$,
	$$pbf_new(100, 0.01, ' auto')$$,
	$$pbf_new_geometry(1, 1, 1, 'plane')$$
]) e;

-- Geometries.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_new_geometry(0, 8, 64)$$,
	$$pbf_new_geometry(-1, 8, 64)$$,
	$$pbf_new_geometry(-2147483648, 8, 64)$$,
	$$pbf_new_geometry(2147483647, 8, 64)$$,
	$$pbf_new_geometry(2147483647, 1, 64)$$,
	$$pbf_new_geometry(8388608, 8, 64)$$,
	$$pbf_new_geometry(1, 0, 64)$$,
	$$pbf_new_geometry(1, -1, 64)$$,
	$$pbf_new_geometry(1, 65, 100)$$,
	$$pbf_new_geometry(1, 2147483647, 100)$$,
	$$pbf_new_geometry(1, -2147483648, 100)$$,
	$$pbf_new_geometry(1, 256, 64)$$,
	$$pbf_new_geometry(1, 257, 64)$$,
	$$pbf_new_geometry(1, 1, 0)$$,
	$$pbf_new_geometry(1, 1, -1)$$,
	$$pbf_new_geometry(1, 1, -9223372036854775808)$$,
	$$pbf_new_geometry(1, 1, 9223372036854775807)$$,
	$$pbf_new_geometry(1, 1, 4294967296)$$,
	$$pbf_new_geometry(1, 1, 4294967297)$$,
	$$pbf_new_geometry(1, 1, 4294967360)$$,
	$$pbf_new_geometry(1, 1, 4294967295)$$,
	$$pbf_new_geometry(1, 64, 4294967295)$$,
	$$pbf_new_geometry(1, 64, 67108864)$$,
	$$pbf_new_geometry(2147483647, 64, 4294967295)$$,
	-- not of that layout
	$$pbf_new_geometry(2, 8, 63)$$,
	$$pbf_new_geometry(2, 8, 65)$$,
	$$pbf_new_geometry(2, 9, 64)$$,
	$$pbf_new_geometry(1, 8, 100, 'blocked')$$,
	$$pbf_new_geometry(1, 9, 64, 'blocked')$$,
	$$pbf_new_geometry(2, 8, 64, 'plain')$$
]) e;

-- Size reduction.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), 0)$$,
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), 9)$$,
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), -1)$$,
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), 2147483647)$$,
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), -2147483648)$$,
	$$pbf_reduce(pbf_new_geometry(12, 8, 64), 257)$$,
	$$pbf_fold(pbf_new_geometry(12, 8, 64), -1)$$,
	$$pbf_fold(pbf_new_geometry(12, 8, 64), 3)$$,
	$$pbf_fold(pbf_new_geometry(12, 8, 64), 2147483647)$$,
	$$pbf_fold(pbf_new_geometry(12, 8, 64), -2147483648)$$,
	$$pbf_fold(pbf_new_geometry(12, 8, 64), 32)$$,
	$$pbf_fold(pbf_new_geometry(1, 8, 64))$$,
	$$pbf_fold(pbf_new_geometry(7, 8, 64))$$,
	$$pbf_fold(pbf_new_geometry(1, 3, 100), 3)$$,
	$$pbf_fold(pbf_new_geometry(1, 3, 101))$$,
	$$pbf_shrink(pbf_new_geometry(12, 8, 64), 47)$$,
	$$pbf_shrink(pbf_new_geometry(12, 8, 64), 0)$$,
	$$pbf_shrink(pbf_new_geometry(12, 8, 64), -1)$$,
	$$pbf_shrink(pbf_new_geometry(12, 8, 64), -9223372036854775808)$$,
	$$pbf_shrink(pbf_new_geometry(1, 3, 100), 31)$$,
	$$pg_column_size(pbf_shrink(pbf_new_geometry(12, 8, 64), 48))$$,
	$$pg_column_size(pbf_shrink(pbf_new_geometry(1, 3, 100), 32))$$
]) e;

-- Filters that cannot meet: of other kinds of element, in other layouts.
CREATE TABLE pairs (what text, a pbf, b pbf);
INSERT INTO pairs VALUES
	('kind', pbf_new_geometry(10, 8, 64) + 1, pbf_new_geometry(10, 8, 64) + 'a'),
	('hash', pbf_add_hash(pbf_new_geometry(10, 8, 64), 1), pbf_new_geometry(10, 8, 64) + 1),
	('layout', pbf_new_geometry(10, 8, 64) + 1, pbf_new_geometry(1, 5, 1000) + 1),
	('layout alone', pbf_new_geometry(1, 8, 64, 'plain') + 1, pbf_new_geometry(1, 8, 64, 'blocked') + 1);
CREATE FUNCTION a(w text) RETURNS pbf LANGUAGE sql AS 'SELECT a FROM pairs WHERE what = w';
CREATE FUNCTION b(w text) RETURNS pbf LANGUAGE sql AS 'SELECT b FROM pairs WHERE what = w';
SELECT format('%s(%s)', f, what), refusal(format('%s(a(%L), b(%L))', f, what, what)) FROM pairs,
	unnest('{pbf_union,pbf_intersect,pbf_overlaps,pbf_disjoint,pbf_contains_filter,pbf_union_cardinality,
			pbf_intersection_cardinality,pbf_jaccard}'::text[])
		WITH ORDINALITY u (f, n)
	ORDER BY what, n;
SELECT what, refusal(format('(SELECT pbf_union_agg(f) FROM (SELECT a(%1$L) UNION ALL SELECT b(%1$L)) x (f))', what))
	FROM pairs ORDER BY what;
SELECT what, refusal(format('(SELECT pbf_intersect_agg(f) FROM (SELECT a(%1$L) UNION ALL SELECT b(%1$L)) x (f))',
	what)) FROM pairs ORDER BY what;

-- Elements of another kind.
SELECT e, refusal(e) FROM unnest(ARRAY[
	$$pbf_add(pbf_new(1) + 1, 'a')$$,
	$$pbf_add(pbf_new(1) + 1, '{a}'::text[])$$,
	$$pbf_add(pbf_add_hash(pbf_new(1), 1), 1)$$,
	$$pbf_contains(pbf_new(1) + 1, '1')$$,
	$$pbf_contained('1', pbf_new(1) + 1)$$,
	$$pbf_contains_all(pbf_new(1) + 1, '{1}'::text[])$$,
	$$pbf_contained_all('{1}'::text[], pbf_new(1) + 1)$$,
	$$pbf_contains_any(pbf_new(1) + 1, '{1}'::text[])$$,
	$$pbf_contained_any('{1}'::text[], pbf_new(1) + 1)$$,
	$$pbf_matching(pbf_new(1) + 1, '{1}'::text[])$$,
	$$pbf_contains(pbf_add_hash(pbf_new(1), 1), 1)$$,
	$$pbf_matching(pbf_add_hash(pbf_new(1), 1), '{1}'::int[])$$
]) e;

-- The functions behind aggregates are for aggregates: each of them, called otherwise, says so.
CREATE FUNCTION outside_calls() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	p record;
BEGIN
	FOR p IN SELECT proname, string_agg('NULL::' ||
		CASE t::regtype::text WHEN 'anycompatiblenonarray' THEN 'text' WHEN 'anycompatiblearray' THEN 'text[]'
					ELSE t::regtype::text END, ', ' ORDER BY n) AS args
			FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid AND classid = 'pg_proc'::regclass,
				unnest(proargtypes::oid[]) WITH ORDINALITY u (t, n)
			WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pbf') AND prokind = 'f'
				AND proname ~ '_(trans|combine|final)$'
			GROUP BY pg_proc.oid, proname LOOP
		RETURN NEXT refusal(format('%s(%s)', p.proname, p.args));
	END LOOP;
END $$;
SELECT count(*) > 60 FROM outside_calls();
SELECT DISTINCT outside_calls();

\pset format aligned
\pset tuples_only off
-- The limits themselves are in range.
SELECT e, length((pbf_new(capacity, fpr, layout))::text) < 400000 AS fine FROM (VALUES
	('no elements', 0::float8, 0.01::float8, 'auto'), ('lowest rate', 100, 1e-15, 'auto'),
	('lowest rate, blocked', 100, 1e-15, 'blocked'),
	('highest rate', 100, 0.9999999999999999, 'auto'), ('highest rate, plain', 100, 0.9999999999999999, 'plain'),
	('highest rate, much', 1e9, 0.9999999999999999, 'auto'), ('denormal', 5e-324, 0.5, 'auto')) v (e, capacity, fpr,
	layout);
-- Filters that cannot meet have an order, and a geometry to compare.
SELECT what, count(*) FILTER (WHERE a = b), count(*) FILTER (WHERE a < b OR a > b) FROM pairs GROUP BY what
	ORDER BY what;
SELECT pbf_same_geometry(a, b) FROM pairs WHERE what = 'layout';

-- The setting.
SET pbf.simd = 'sse';
SET pbf.simd = '';
SET pbf.no_such_setting = 1;
SET pbf.simd = 'SCALAR';
SHOW pbf.simd;
SET pbf.simd = auto;
SHOW pbf.simd;
RESET pbf.simd;

DROP SCHEMA errors CASCADE;

--
-- The hash contract: every type's canonical bytes. Values that are equal by `=` hash alike, however they are
-- written or stored. The golden hashes were made by another program (xxhsum -H3) from the bytes that
-- doc/format.md lists. What cannot keep the contract is refused.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA kinds;
SET search_path = kinds, public;

-- What a filter makes of an element.
CREATE FUNCTION describe(expr text, OUT kind text, OUT hash text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT (pbf_info(pbf_add(pbf_new(1, 0.01), %1$s))).kind, pbf_hash(%1$s)', expr) INTO kind, hash;
	hash := lpad(to_hex(hash::bigint), 16, '0');
END $$;

-- Whether two values are equal, and whether their hashes are.
CREATE FUNCTION compare(a text, b text, OUT equal bool, OUT same_hash bool) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT (%1$s) = (%2$s), pbf_hash(%1$s) = pbf_hash(%2$s)', a, b) INTO equal, same_hash;
END $$;

-- All pairs of an array's elements: how many there are, how many are equal, of how many the hashes say otherwise.
CREATE FUNCTION pairs(expr text, OUT pairs bigint, OUT equal bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH v AS MATERIALIZED (SELECT x, pbf_hash(x) AS h FROM unnest(%s) u (x))
		SELECT count(*), count(*) FILTER (WHERE a.x = b.x), count(*) FILTER (WHERE (a.x = b.x) <> (a.h = b.h))
		FROM v a, v b', expr) INTO pairs, equal, wrong;
END $$;

-- Stores a value in each way of a column's STORAGE: how it lies there, and whether it hashes as before.
CREATE FUNCTION stored(expr text) RETURNS TABLE (storage text, lies text, same_hash bool) LANGUAGE plpgsql AS $$
DECLARE
	out_of_line bool;
BEGIN
	FOREACH storage IN ARRAY '{plain, extended, external, main}'::text[] LOOP
		EXECUTE format('CREATE TABLE kept AS SELECT %s AS x LIMIT 0', expr);
		EXECUTE format('ALTER TABLE kept ALTER x SET STORAGE %s', storage);
		EXECUTE format('INSERT INTO kept SELECT %s', expr);
		SELECT pg_relation_size(reltoastrelid) > 0 FROM pg_class WHERE oid = 'kept'::regclass INTO out_of_line;
		SELECT concat_ws(' ', CASE WHEN pg_column_compression(x) <> '' THEN 'compressed' END,
						 CASE WHEN out_of_line THEN 'out of line' ELSE 'inline' END) FROM kept INTO lies;
		EXECUTE format('SELECT pbf_hash(x) = pbf_hash(%s) FROM kept', expr) INTO same_hash;
		DROP TABLE kept;
		RETURN NEXT;
	END LOOP;
END $$;

-- Why an expression is refused.
CREATE FUNCTION refusal(expr text, OUT state text, OUT message text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expr;
	message := 'NOT REFUSED';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END $$;

CREATE TYPE mood AS ENUM ('happy', 'sad');

--
-- Golden hashes
--
SELECT v.value, d.* FROM unnest(ARRAY[
	$$42::int4$$,
	$$(-1)::int2$$,
	$$'-9223372036854775808'::int8$$,
	$$1.5::float8$$,
	$$0.1::float4$$,
	$$'-0'::float8$$,
	$$'NaN'::float8$$,
	$$-12345.67$$,
	$$0.00$$,
	$$1e8$$,
	$$0.00005$$,
	$$'NaN'::numeric$$,
	$$'Infinity'::numeric$$,
	$$'-Infinity'::numeric$$,
	$$12.34::numeric::money$$,
	$$'4294967295'::oid$$,
	$$'pg_class'::regclass$$,
	$$'4294967295'::xid$$,
	$$'18446744073709551615'::xid8$$,
	$$'7'::cid$$,
	$$'16/B374D848'::pg_lsn$$,
	$$true$$,
	$$false$$,
	$$'a'::"char"$$,
	$$'\377'::"char"$$,
	$$'alice'::text$$,
	$$''::text$$,
	$$U&'na\00efve \2603'$$,
	$$'\x00ff'::bytea$$,
	$$B'101'$$,
	$$''::varbit$$,
	$$'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid$$,
	$$'2024-02-29'::date$$,
	$$'infinity'::date$$,
	$$'-infinity'::date$$,
	$$'12:34:56.789'::time$$,
	$$'12:34:56+02'::timetz$$,
	$$'2024-02-29 12:00'::timestamp$$,
	$$'2024-02-29 12:00+00'::timestamptz$$,
	$$'-infinity'::timestamptz$$,
	$$'1 day'::interval$$,
	$$'-1 microsecond'::interval$$,
	$$'178000000 years'::interval$$,
	$$'192.168.1.5/24'::inet$$,
	$$'2001:db8::/32'::cidr$$,
	$$'08:00:2b:01:02:03'::macaddr$$,
	$$'08:00:2b:01:02:03:04:05'::macaddr8$$,
	$$'happy'::mood$$
]) WITH ORDINALITY v (value, n), describe(value) d ORDER BY n;

-- Kinds that the server's own functions hash. These are as stable as those functions: no golden hashes.
SELECT v.value, d.kind FROM unnest(ARRAY[
	$$'[1,3)'::int4range$$,
	$$'{[1,3),[5,7)}'::int4multirange$$,
	$$ROW(1, 'a'::text)$$,
	$$'{"a": 1}'::jsonb$$,
	$$'(1,2)'::tid$$
]) WITH ORDINALITY v (value, n), describe(value) d ORDER BY n;

--
-- Equal values hash alike; unequal ones do not
--
SELECT v.a, v.b, c.* FROM (VALUES
	($$'-0'::float8$$, $$0::float8$$),
	($$'-0'::float4$$, $$0::float8$$),
	($$'NaN'::float8$$, $$-'NaN'::float8$$),
	($$'NaN'::float4$$, $$'Infinity'::float8 - 'Infinity'::float8$$),
	($$0.5::float4$$, $$0.5::float8$$),
	($$0.1::float4$$, $$0.1::float8$$),
	($$'-Infinity'::float4$$, $$'-Infinity'::float8$$),
	($$1.0$$, $$1.00$$),
	($$1::numeric$$, $$1e0$$),
	($$10000.0$$, $$1e4$$),
	($$0.0001$$, $$1e-4$$),
	($$0.00$$, $$-0.0000$$),
	($$1.0$$, $$-1.0$$),
	($$1.0$$, $$10000.0$$),
	($$0001.5000$$, $$1.5$$),
	($$5::numeric(10, 2)$$, $$5::numeric(20, 10)$$),
	($$1e1000$$, $$1e1000 + 0.000$$),
	($$'NaN'::numeric$$, $$'NaN'::numeric(10, 2)$$),
	($$'Infinity'::numeric$$, $$'-Infinity'::numeric$$),
	($$'abc'::char(3)$$, $$'abc'::char(10)$$),
	($$'abc'::char(10)$$, $$'abc'::text$$),
	($$'abc  '::text$$, $$'abc'::text$$),
	($$''::char(4)$$, $$''::text$$),
	($$U&'\00e9'::char(4)$$, $$U&'\00e9'::varchar$$),
	($$'abc'::varchar(10)$$, $$'abc'::text$$),
	($$'abc'::name$$, $$'abc'::text$$),
	($$'abc'::name$$, $$'abc'::char(5)$$),
	($$'abc'$$, $$'abc'::text$$),
	($$'abc'::text$$, $$'abc' COLLATE "POSIX"$$),
	($$'\x61'::bytea$$, $$'a'::bytea$$),
	($$B'101'$$, $$B'101'::varbit$$),
	($$B'101'$$, $$B'1010'$$),
	($$B'00000000'$$, $$B'0000000'$$),
	($$true$$, $$'yes'::bool$$),
	($$'12.34'::money$$, $$12.34::numeric::money$$),
	($$1259::oid$$, $$'pg_class'::regclass$$),
	($$'int4'::regtype$$, $$23::oid$$),
	($$'0/A'::pg_lsn$$, $$'0/0a'::pg_lsn$$),
	($$'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid$$, $$'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'::uuid$$),
	($$'2024-02-29'::date$$, $$'20240229'::date$$),
	($$'24:00'::time$$, $$'00:00'::time$$),
	($$'12:00+00'::timetz$$, $$'13:00+01'::timetz$$),
	($$'12:00+01'::timetz$$, $$'12:00+01:00'::timetz$$),
	($$'2024-02-29 12:00+00'::timestamptz$$, $$'2024-02-29 13:00+01'::timestamptz$$),
	($$'1 day'::interval$$, $$'24 hours'::interval$$),
	($$'1 mon'::interval$$, $$'30 days'::interval$$),
	($$'1 mon'::interval$$, $$'720 hours'::interval$$),
	($$'1 mon'::interval$$, $$'31 days'::interval$$),
	($$'1 mon -30 days'::interval$$, $$'0'::interval$$),
	($$'-1 day 24 hours'::interval$$, $$'0'::interval$$),
	($$'-1 day +1 hour'::interval$$, $$'-23 hours'::interval$$),
	($$'1 day -1 microsecond'::interval$$, $$'23:59:59.999999'::interval$$),
	($$'1000000 years'::interval$$, $$'360000000 days'::interval$$),
	($$'-1000000 years'::interval$$, $$'-360000000 days'::interval$$),
	($$'1 year'::interval$$, $$'365 days'::interval$$),
	($$'10.0.0.0/8'::inet$$, $$'10/8'::cidr$$),
	($$'10.0.0.1'::inet$$, $$'10.0.0.1/32'::inet$$),
	($$'10.0.0.1/8'::inet$$, $$'10.0.0.0/8'::inet$$),
	($$'10.0.0.0/8'::inet$$, $$'10.0.0.0/9'::inet$$),
	($$'::1'::inet$$, $$'0:0:0:0:0:0:0:1/128'::cidr$$),
	($$'::ffff:1.2.3.4'::inet$$, $$'1.2.3.4'::inet$$),
	($$'08:00:2b:01:02:03'::macaddr$$, $$'08002B-010203'::macaddr$$),
	($$'08:00:2b:01:02:03'::macaddr8$$, $$'08:00:2b:ff:fe:01:02:03'::macaddr8$$),
	($$'{"a": 1.0, "b": [2]}'::jsonb$$, $$'{"b": [2.00], "a": 1}'::jsonb$$),
	($$'[1,3)'::int4range$$, $$'[1,2]'::int4range$$),
	($$'[1.0,2)'::numrange$$, $$'[1.00,2.0)'::numrange$$),
	($$'(1,1)'::numrange$$, $$'empty'::numrange$$),
	($$'{[1,2),[2,3)}'::int4multirange$$, $$'{[1,3)}'::int4multirange$$),
	($$ROW(1, 1.0, 'a'::char(2))$$, $$ROW(1, 1.00, 'a'::char(3))$$),
	($$ARRAY[1.0, NULL]$$, $$ARRAY[1.00, NULL]$$),
	($$ARRAY['-0'::float8]$$, $$ARRAY[0::float8]$$),
	($$ARRAY['1 day'::interval]$$, $$ARRAY['24 hours'::interval]$$),
	($$ARRAY['a'::char(3)]$$, $$ARRAY['a'::char(9)]$$),
	($$ARRAY['a' COLLATE "POSIX"]$$, $$ARRAY['a'::text]$$)
) v (a, b), compare(v.a, v.b) c;

-- Whole numbers of all widths, up to their limits.
SELECT i, pbf_hash(i) = pbf_hash(i::int4) AND pbf_hash(i) = pbf_hash(i::int8) AS same_hash
	FROM unnest('{0, 1, -1, 32767, -32768}'::int2[]) i;
SELECT i, pbf_hash(i) = pbf_hash(i::int8) AS same_hash
	FROM unnest('{32768, -32769, 2147483647, -2147483648}'::int4[]) i;
SELECT count(DISTINCT pbf_hash(i)) AS hashes
	FROM unnest('{2147483648, 4294967295, -1, 65535, 9223372036854775807, -9223372036854775808}'::int8[]) i;

-- All pairs of many values.
SELECT v.what, p.* FROM (VALUES
	('int4', $$(SELECT array_agg(i) FROM generate_series(-2147483648, 2147483647, 30000001) i)$$),
	('float8', $$'{NaN, -Infinity, Infinity, -0, 0, 1, -1, 1e-320, 5e-324, 1e308, 0.1}'::float8[]
		|| -'NaN'::float8 || 0.1::float4::float8$$),
	('float4', $$'{NaN, -Infinity, Infinity, -0, 0, 1, -1, 1e-45, 3.4e38, 0.1}'::float4[] || -'NaN'::float4$$),
	('numeric', $$(SELECT array_agg(round(i * power(10::numeric, e), s))
		FROM generate_series(-3, 3) i, generate_series(-9, 9, 3) e, generate_series(0, 10, 5) s)$$),
	('long numeric', $$(SELECT array_agg(i * power(10::numeric, e) + ('1e-' || f)::numeric)
		FROM generate_series(-2, 2) i, generate_series(0, 900, 150) e, generate_series(0, 400, 200) f)$$),
	('text', $$(SELECT array_agg(repeat('x', n % 300) || repeat(' ', n % 2)) FROM generate_series(0, 650, 5) n)$$),
	('char(n)', $$(SELECT array_agg((repeat('x', n % 300) || repeat(' ', n % 7))::bpchar)
		FROM generate_series(0, 650, 5) n)$$),
	('varbit', $$(SELECT array_agg(substring(B'0001000000010000'::varbit, i, n))
		FROM generate_series(1, 8) i, generate_series(0, 8) n)$$),
	('timetz', $$'{12:00+00, 13:00+01, 12:00+01, 12:00+01:00, 11:00-01, 00:00+00, 24:00+00,
		12:00:00.000001+00}'::timetz[]$$),
	('interval', $$(SELECT array_agg(make_interval(months => m, days => d, hours => h))
		FROM generate_series(-2, 2) m, generate_series(-60, 60, 15) d, generate_series(-720, 720, 240) h)$$),
	('large interval', $$(SELECT array_agg(make_interval(months => m, days => d, secs => s))
		FROM unnest('{-2147483640, 0, 2147483640}'::int[]) m, unnest('{-2147483640, -1, 0, 1, 2147483640}'::int[]) d,
			unnest('{-9e12, -86400, 0, 86400, 9e12}'::float8[]) s)$$),
	('inet', $$(SELECT array_agg(set_masklen(a, m))
		FROM unnest('{10.0.0.0, 10.0.0.1, 10.0.0.0/8, 0.0.0.0, ::, ::1, 10::}'::inet[]) a,
			unnest('{0, 8, 31, 32}'::int[]) m)$$),
	('enum', $$enum_range(NULL::mood) || enum_range(NULL::mood)$$)
) v (what, expr), pairs(v.expr) p;

--
-- One value, however it is stored: short header, full header, compressed, moved out of line
--
SELECT v.value, s.* FROM unnest(ARRAY[
	$$'short'::text$$,
	$$repeat('long text ', 700)$$,
	$$repeat('long char ', 700)::char(7500)$$,
	$$repeat('long bytes', 700)::bytea$$,
	$$123.4500$$,
	$$repeat('1234567890', 1400)::numeric$$,
	$$B'10110'::varbit$$,
	$$repeat('10110', 11000)::varbit$$,
	$$'10.1.2.3/8'::inet$$,
	$$'{1, 2, 3}'::int[]$$,
	$$array_fill(7, ARRAY[1700])$$,
	$$to_jsonb(array_fill(7.00, ARRAY[400]))$$,
	$$ROW('x', 1)::text$$
]) WITH ORDINALITY v (value, n), stored(value) s ORDER BY n;

-- Compressed and moved out of line.
CREATE TABLE large AS SELECT repeat('very long text', 50000) AS t, repeat('very long bytes', 50000)::bytea AS b;
SELECT pg_column_compression(t) <> '' AS compressed, pg_column_size(t) > 2100 AS out_of_line,
	pbf_hash(t) = pbf_hash(repeat('very long text', 50000)) AS text,
	pbf_hash(b) = pbf_hash(repeat('very long bytes', 50000)::bytea) AS bytea
	FROM large;

--
-- Users' types
--

-- Domains go by their base type, of any depth.
CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100);
CREATE DOMAIN small_percent AS percent CHECK (VALUE < 10);
CREATE DOMAIN code AS char(8);
CREATE DOMAIN feeling AS mood;
SELECT v.value, d.kind, d.hash = lpad(to_hex(v.hash), 16, '0') AS as_base FROM (VALUES
	($$5::percent$$, pbf_hash(5)),
	($$5::small_percent$$, pbf_hash(5)),
	($$'xy'::code$$, pbf_hash('xy'::text)),
	($$'sad'::feeling$$, pbf_hash('sad'::mood))
) v (value, hash), describe(v.value) d;

-- Enums go by their label: the same after dump and restore, another one after RENAME VALUE.
CREATE TYPE restored_mood AS ENUM ('happy', 'sad');
SELECT pbf_hash('sad'::mood) = pbf_hash('sad'::restored_mood) AS restored,
	pbf_hash('sad'::mood) = pbf_hash('sad'::text) AS as_label;
ALTER TYPE restored_mood RENAME VALUE 'sad' TO 'blue';
SELECT pbf_hash('sad'::mood) = pbf_hash('blue'::restored_mood) AS renamed;

-- A base type made of the server's own functions.
CREATE PROCEDURE make_type(name text, "like" text, options text) LANGUAGE plpgsql AS $$
DECLARE
	io text := (SELECT typname FROM pg_type WHERE oid = "like"::regtype);
BEGIN
	EXECUTE format('CREATE TYPE %s', name);
	EXECUTE format('CREATE FUNCTION %1$s_in(cstring) RETURNS %1$s LANGUAGE internal IMMUTABLE STRICT AS %2$L',
		name, io || 'in');
	EXECUTE format('CREATE FUNCTION %1$s_out(%1$s) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS %2$L',
		name, io || 'out');
	EXECUTE format('CREATE TYPE %1$s (INPUT = %1$s_in, OUTPUT = %1$s_out, LIKE = %2$s%3$s)', name, "like", options);
END $$;

-- Without operators of its own, binary coercible: it compares as the other type does, and hashes as that.
CALL make_type('label', 'text', ', CATEGORY = ''S'', COLLATABLE = true');
CREATE CAST (label AS text) WITHOUT FUNCTION AS IMPLICIT;
CALL make_type('ident', 'int8', '');
CREATE CAST (ident AS int8) WITHOUT FUNCTION AS IMPLICIT;
SELECT v.value, d.kind, d.hash = lpad(to_hex(v.hash), 16, '0') AS as_base FROM (VALUES
	($$'abc'::label$$, pbf_hash('abc'::text)),
	($$'42'::ident$$, pbf_hash(42))
) v (value, hash), describe(v.value) d;

-- With a hash operator class of its own.
CREATE TYPE point3 AS (x int, y int, z numeric);
CREATE TYPE labels AS RANGE (subtype = label, subtype_opclass = text_ops, multirange_type_name = label_sets);
SELECT v.value, d.kind FROM unnest(ARRAY[
	$$ROW(1, 2, 3)::point3$$,
	$$'[a,b)'::labels$$,
	$$'{[a,b)}'::label_sets$$
]) WITH ORDINALITY v (value, n), describe(value) d ORDER BY n;
SELECT pbf_hash(ROW(1, 2, 3.0)::point3) = pbf_hash(ROW(1, 2, 3.00)::point3) AS named,
	pbf_hash(ROW(1, 2, 3.0)::point3) = pbf_hash(ROW(1, 2, 3.0)) AS anonymous;

-- A string type that ignores case (citext in miniature).
CALL make_type('caseless', 'text', ', CATEGORY = ''S''');
CREATE CAST (caseless AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION caseless_eq(caseless, caseless) RETURNS bool LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT lower($1::text COLLATE "C") = lower($2::text COLLATE "C")';
CREATE FUNCTION caseless_cmp(caseless, caseless) RETURNS int LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT bttextcmp(lower($1::text COLLATE "C"), lower($2::text COLLATE "C"))';
CREATE FUNCTION caseless_hash(caseless) RETURNS int LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT hashtext(lower($1::text COLLATE "C"))';
CREATE FUNCTION caseless_hash(caseless, int8) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT hashtextextended(lower($1::text COLLATE "C"), $2)';
CREATE OPERATOR = (LEFTARG = caseless, RIGHTARG = caseless, FUNCTION = caseless_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING btree
	AS OPERATOR 3 =, FUNCTION 1 caseless_cmp(caseless, caseless);
CREATE OPERATOR CLASS caseless_ops DEFAULT FOR TYPE caseless USING hash
	AS OPERATOR 1 =, FUNCTION 1 caseless_hash(caseless), FUNCTION 2 caseless_hash(caseless, int8);
CREATE DOMAIN caseless_domain AS caseless;
-- Inside an array its own function does the hashing. Inside a composite value it does only if it is written in C: the server
-- does not tell others that their second argument is not NULL.
CREATE TYPE caseless_pair AS (a int, b caseless);
CREATE TYPE caseless_pairs AS (a int, b caseless_pair[]);
SELECT v.a, v.b, c.* FROM (VALUES
	($$ARRAY['Abc'::caseless]$$, $$ARRAY['aBC'::caseless]$$)
) v (a, b), compare(v.a, v.b) c;
SELECT e, r.* FROM unnest(ARRAY[
	$$pbf_hash(ROW(1, 'Abc')::caseless_pair)$$,
	$$pbf_hash(ARRAY[ROW(1, 'Abc')::caseless_pair])$$,
	$$pbf_hash(ROW(1, '{}')::caseless_pairs)$$
]) e, refusal(e) r;
-- Nor does an aggregate take it for the text that it is cast to, as a window function either.
CREATE TABLE caseless_words AS SELECT 'A'::caseless AS c, 'A'::text AS t;
SELECT e, r.* FROM unnest(ARRAY[
	$$(SELECT pbf_agg(c) FROM caseless_words)$$,
	$$(SELECT pbf_agg(c) OVER () FROM caseless_words)$$,
	$$pbf_agg(t) OVER (), pbf_agg(t, 10) OVER (ORDER BY t), pbf_agg(c, 10) OVER () FROM caseless_words$$,
	$$(SELECT pbf_agg(c::text) OVER (ORDER BY t) IS NULL FROM caseless_words)$$
]) e, refusal(e) r;
-- A function of the cast, or the type's output, makes no difference.
DROP CAST (caseless AS text);
CREATE CAST (caseless AS text) WITH INOUT AS IMPLICIT;
CREATE TABLE caseless_casts AS SELECT 'A'::caseless AS c, 'A'::caseless_domain AS d;
SELECT e, r.* FROM unnest(ARRAY[
	$$(SELECT pbf_agg(c) @> 'a' FROM caseless_casts)$$,
	$$(SELECT pbf_agg(d) @> 'a' FROM caseless_casts)$$,
	$$(SELECT pbf_agg_like(c, pbf_new(10)) OVER () FROM caseless_casts)$$
]) e, refusal(e) r;
SELECT pbf_agg(c::text) @> 'A'::text AS as_text, pbf_agg(ARRAY[c]) @> 'a'::caseless AS as_own FROM caseless_casts;
DROP CAST (caseless AS text);
CREATE FUNCTION caseless_text(caseless) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN textin(caseless_out($1)); END $$;
CREATE CAST (caseless AS text) WITH FUNCTION caseless_text(caseless) AS IMPLICIT;
SELECT e, r.* FROM unnest(ARRAY[
	$$(SELECT pbf_agg(c) @> 'a' FROM caseless_casts)$$,
	$$(SELECT pbf_agg(c::text) IS NULL FROM caseless_casts)$$
]) e, refusal(e) r;
DROP CAST (caseless AS text);
CREATE CAST (caseless AS text) WITHOUT FUNCTION AS IMPLICIT;

-- A hash function that is not IMMUTABLE.
CALL make_type('shaky', 'int4', '');
CREATE FUNCTION shaky_eq(shaky, shaky) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION shaky_hash(shaky) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION shaky_hash(shaky, int8) RETURNS int8 LANGUAGE internal STABLE STRICT AS 'hashint4extended';
CREATE OPERATOR = (LEFTARG = shaky, RIGHTARG = shaky, FUNCTION = shaky_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS shaky_ops DEFAULT FOR TYPE shaky USING hash
	AS OPERATOR 1 =, FUNCTION 1 shaky_hash(shaky), FUNCTION 2 shaky_hash(shaky, int8);
CREATE TYPE shaky_pair AS (a int, b shaky);

-- No extended hash function.
CALL make_type('old', 'int4', '');
CREATE FUNCTION old_eq(old, old) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION old_hash(old) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE OPERATOR = (LEFTARG = old, RIGHTARG = old, FUNCTION = old_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS old_ops DEFAULT FOR TYPE old USING hash AS OPERATOR 1 =, FUNCTION 1 old_hash(old);

-- Sorts and compares by its own operators, but would hash as the type that it is coercible to.
CALL make_type('odd', 'int8', '');
CREATE CAST (odd AS int8) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION odd_eq(odd, odd) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1::int8 / 2 = $2::int8 / 2';
CREATE FUNCTION odd_cmp(odd, odd) RETURNS int LANGUAGE sql IMMUTABLE STRICT
	AS 'SELECT btint8cmp($1::int8 / 2, $2::int8 / 2)';
CREATE OPERATOR = (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_eq, COMMUTATOR = =);
CREATE OPERATOR CLASS odd_ops DEFAULT FOR TYPE odd USING btree AS OPERATOR 3 =, FUNCTION 1 odd_cmp(odd, odd);

CREATE TYPE with_json AS (a int, b json);
CREATE DOMAIN filter AS pbf;

--
-- What is refused, and the way out
--
SELECT v.expr, r.* FROM unnest(ARRAY[
	$$pbf_hash('{}'::json)$$,
	$$pbf_hash('(1,2)'::point)$$,
	$$pbf_hash(to_tsvector('simple', 'a'))$$,
	$$pbf_hash(ARRAY['{}'::json])$$,
	$$pbf_hash(ARRAY[12::money])$$,
	$$pbf_hash(ROW(1, '{}')::with_json)$$,
	$$pbf_hash(ROW(1, '{}'::json))$$,
	$$pbf_hash(ARRAY[ROW(1, 2)])$$,
	$$pbf_hash(textout('abc'))$$,
	$$pbf_hash(pbf_new(1, 0.01))$$,
	$$pbf_add(pbf_new(1, 0.01), pbf_new(1, 0.01))$$,
	$$pbf_new(1, 0.01) @> ARRAY[pbf_new(1, 0.01)]$$,
	$$pbf_hash(pbf_new(1, 0.01)::filter)$$,
	$$pbf_hash('abc'::caseless)$$,
	$$pbf_hash('abc'::caseless_domain)$$,
	$$pbf_hash('1'::shaky)$$,
	$$pbf_hash(ARRAY['1'::shaky])$$,
	$$pbf_hash(ROW(1, '1')::shaky_pair)$$,
	$$pbf_hash(ARRAY[ROW(1, '1')::shaky_pair])$$,
	$$pbf_hash('1'::old)$$,
	$$pbf_hash('1'::odd)$$
]) WITH ORDINALITY v (expr, n), refusal(expr) r ORDER BY n;

-- Nondeterministic collations, in servers that have them: with the others this checks nothing.
DO $$
DECLARE
	r record;
BEGIN
	BEGIN
		CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	EXCEPTION WHEN feature_not_supported THEN
		RETURN;
	END;
	CREATE DOMAIN ignorant AS text COLLATE ignore_case;
	FOR r IN SELECT e.*, f.* FROM unnest(ARRAY[
			$q$'abc' COLLATE ignore_case$q$,
			$q$'abc'::varchar COLLATE ignore_case$q$,
			$q$'abc'::char(5) COLLATE ignore_case$q$,
			$q$'abc'::name COLLATE ignore_case$q$,
			$q$'abc'::ignorant$q$,
			$q$ARRAY['abc' COLLATE ignore_case]$q$]) e (expr), refusal('pbf_hash(' || expr || ')') f LOOP
		ASSERT r.state = '0A000' AND r.hint LIKE '%COLLATE "C"%', r.expr || ': ' || r.message;
	END LOOP;
	ASSERT pbf_hash('abc' COLLATE ignore_case COLLATE "C") = pbf_hash('abc'::text);
END $$;

DROP SCHEMA kinds CASCADE;

--
-- pbfidx: every operator class. What the index finds is what the sequential scan finds: no row less (that would be a
-- false negative), and no row more. Values are compared in all their representations, through all kinds of conditions.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA index_types;
SET search_path = index_types, public;
SET max_parallel_workers_per_gather = 0;

-- Our own operator classes are sound.
SELECT count(*) > 35 AS many, count(*) FILTER (WHERE NOT amvalidate(c.oid)) AS invalid
FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod WHERE a.amname = 'pbfidx';

-- Which of them are the default for their type, and which have no partner in a family.
SELECT count(*) FILTER (WHERE NOT opcdefault) AS not_default,
	string_agg(opcname::text, ' ' ORDER BY opcname::text COLLATE "C") FILTER (WHERE n > 1) AS in_families
FROM (SELECT c.*, count(*) OVER (PARTITION BY opcfamily) AS n FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
	WHERE a.amname = 'pbfidx') c;

-- find, finds, pages: test/compare.sql
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set compare :srcdir '/test/compare.sql'
\i :compare
\set ECHO all

CREATE FUNCTION put(type text, vals text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO tried SELECT '''', v::%s FROM unnest($1) v', type) USING vals;
END $$;

-- A table with each of the values three times, NULLs among them, few rows a page, half of the rows there when the index
-- is built, half inserted later. Then all conditions on all values.
CREATE FUNCTION try(type text, VARIADIC vals text[]) RETURNS TABLE (kind text, conds bigint, used bigint, rows numeric,
	missing numeric, extra numeric) LANGUAGE plpgsql AS $$
DECLARE
	half int := (cardinality(vals) + 1) / 2;
	list text := (SELECT string_agg(format('%L::%s', x, type), ', ') FROM unnest(vals) x);
	is_array bool := type ~ '\[\]' OR type = 'tags';
	class text := CASE WHEN is_array THEN 'array_eq_ops' WHEN type = 'jsonb' THEN 'jsonb_eq_ops' ELSE '' END;
BEGIN
	EXECUTE format('CREATE TABLE tried (pad char(2500), x %s) WITH (autovacuum_enabled = off)', type);
	ALTER TABLE tried ALTER pad SET STORAGE PLAIN;
	PERFORM put(type, vals), put(type, vals[1:half]), put(type, '{NULL}');
	EXECUTE format('CREATE INDEX tried_x ON tried USING pbfidx (x %s) WITH (pages_per_range = 1)', class);
	PERFORM put(type, vals[half + 1:]), put(type, '{NULL}'), put(type, vals);
	PERFORM pbfidx_check('tried_x');
	RETURN QUERY SELECT w.kind, count(*), count(*) FILTER (WHERE f.used), sum(f.rows), sum(f.missing), sum(f.extra)
		FROM (
			SELECT 1, '=', format('x = %L::%s', x, type) FROM unnest(vals) x
			UNION ALL SELECT 2, '= any', format('x = ANY (ARRAY[%L, NULL, %L, %L]::%s[])', x, vals[1], x, type)
				FROM unnest(vals) x WHERE NOT is_array
			UNION ALL SELECT 2, '= any', format('x IN (%s)', list)
			UNION ALL SELECT 2, '= any', format('x IN (%L::%s, NULL)', vals[2], type)
			UNION ALL SELECT 2, '= any', format('x = ANY (ARRAY[NULL]::%s[])', type) WHERE NOT is_array
			UNION ALL SELECT 2, '= any', format('x = ANY (''{}''::%s[])', type) WHERE NOT is_array
			UNION ALL SELECT 2, '= any', format('x = ANY (NULL::%s[])', type) WHERE NOT is_array
			UNION ALL SELECT 3, 'null', 'x IS NULL'
			UNION ALL SELECT 4, 'or', format('x = %L::%s OR x IS NULL OR x = %L::%s', vals[1], type, vals[2], type)
			UNION ALL SELECT 5, 'other', 'x IS NOT NULL'
			UNION ALL SELECT 5, 'other', format('NOT (x = %L::%s)', vals[1], type)
			UNION ALL SELECT 5, 'other', format('x IS NOT DISTINCT FROM %L::%s', vals[1], type)
			UNION ALL SELECT 5, 'other', format('x IS DISTINCT FROM %L::%s', vals[1], type)
			UNION ALL SELECT 5, 'other', format('(x = %L::%s) IS NOT TRUE', vals[1], type)
		) w (n, kind, cond), find('tried', w.cond) f
		GROUP BY w.n, w.kind ORDER BY w.n;
	DROP TABLE tried;
END $$;

-- ---- numbers ----
SELECT * FROM try('smallint', '0', '-1', '1', '32767', '-32768');
SELECT * FROM try('int', '0', '-1', '1', '2147483647', '-2147483648', '65536');
SELECT * FROM try('bigint', '0', '-1', '1', '9223372036854775807', '-9223372036854775808', '4294967296');
SELECT * FROM try('real', '0', '-0', 'NaN', 'Infinity', '-Infinity', '0.1', '1e-45', '3.4e38', '1');
SELECT * FROM try('float8', '0', '-0', 'NaN', 'Infinity', '-Infinity', '0.1', '5e-324', '1.7e308', '1');
SELECT * FROM try('numeric', '1', '1.0', '1.00000', '0', '-0.000', 'NaN', 'Infinity', '-Infinity', '1e30', '1000000000000000000000000000000.0',
	'123.4500', '123.45', '-1', '0.0001', '1e-20', '10000', '10000.00');
SELECT * FROM try('numeric(10,3)', '1', '1.000', '2.5', '-2.500');
SELECT * FROM try('money', '0', '1.50', '-1.50', '92233720368547758.07');
SELECT * FROM try('oid', '0', '1', '4294967295', '2147483648');
SELECT * FROM try('xid', '0', '3', '4294967295');
SELECT * FROM try('xid8', '0', '3', '18446744073709551615');
SELECT * FROM try('cid', '0', '3', '4294967295');
SELECT * FROM try('tid', '(0,1)', '(1,0)', '(4294967295,65535)');
SELECT * FROM try('pg_lsn', '0/0', '0/1', 'FFFFFFFF/FFFFFFFF');
SELECT * FROM try('regclass', 'pg_class', 'pg_proc', 'pg_type');

-- ---- strings ----
SELECT * FROM try('text', '', 'a', 'A', 'a ', ' a', 'äöü', repeat('x', 1500), repeat('x', 1501));
SELECT * FROM try('varchar', '', 'a', 'A', 'a ', repeat('x', 1500));
SELECT * FROM try('varchar(5)', '', 'a', 'abcde', 'a ');
SELECT * FROM try('char(5)', '', 'a', 'a  ', 'abcde', ' a');
SELECT * FROM try('bpchar', '', 'a', 'a  ', 'abcde        ', ' a');
SELECT * FROM try('name', '', 'a', 'A', repeat('n', 63));
SELECT * FROM try('"char"', 'a', 'A', '\377', '');
SELECT * FROM try('bytea', '', '\x00', '\x0000', '\xff');
SELECT * FROM try('bit(4)', '1010', '0000', '1111');
SELECT * FROM try('varbit', '', '1', '10', '100', '00000000', '000000000');
-- (Whether x = true uses the index depends on the version, see below.)
SELECT kind, conds, rows, missing, extra FROM try('bool', 't', 'f');

-- ---- times ----
SELECT * FROM try('date', '2000-01-01', '1999-12-31', 'infinity', '-infinity', '4713-01-01 BC');
SELECT * FROM try('time', '00:00', '24:00', '12:34:56.789');
SELECT * FROM try('timetz', '00:00+00', '01:00+01', '12:00-08', '12:00:00-08:00');
SELECT * FROM try('timestamp', '2000-01-01', 'infinity', '-infinity', '1999-12-31 23:59:59.999999');
SELECT * FROM try('timestamptz', '2000-01-01 00:00+00', '2000-01-01 01:00+01', 'infinity', '-infinity');
SELECT * FROM try('interval', '1 month', '30 days', '720 hours', '1 day', '24 hours', '0', '-1 day', '1 day -24 hours', '1 year', '360 days',
	'178000000 years');

-- ---- network, uuid ----
SELECT * FROM try('inet', '10.0.0.1', '10.0.0.1/32', '10.0.0.1/8', '10.0.0.0/8', '::1', '::ffff:10.0.0.1');
SELECT * FROM try('cidr', '10.0.0.0/8', '10.0.0.0/9', '::1', '::/0', '0.0.0.0/0');
SELECT * FROM try('macaddr', '08:00:2b:01:02:03', '08002b010203', '00:00:00:00:00:00');
SELECT * FROM try('macaddr8', '08:00:2b:01:02:03:04:05', '08:00:2b:01:02:03', '08:00:2b:ff:fe:01:02:03');
SELECT * FROM try('uuid', '00000000-0000-0000-0000-000000000000', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
	'{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}');

-- ---- polymorphic operator classes ----
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
SELECT * FROM try('mood', 'sad', 'ok', 'happy');
SELECT * FROM try('int4range', '[1,5)', '[1,4]', '(0,5)', 'empty', '(,)', '[1,)', '(,5)', '[5,5)');
SELECT * FROM try('numrange', '[1,5)', '[1.0,5.00)', '[1.00,5]', 'empty', '[2,2)', '(,)');
SELECT * FROM try('tstzrange', '[2000-01-01 00:00+00,)', '[2000-01-01 01:00+01,)', 'empty');
SELECT * FROM try('textrange', '[a,b)', '["a",b)', 'empty', '(,)');
SELECT * FROM try('int4multirange', '{}', '{[1,3),[5,7)}', '{[5,6],[1,2]}', '{[1,2),[2,3),[5,7)}', '{(,)}');
SELECT * FROM try('int[]', '{}', '{1}', '{1,2}', '{2,1}', '{NULL}', '{1,NULL}', '{{1,2}}', '[0:1]={1,2}');
SELECT * FROM try('text[]', '{}', '{a}', '{"a "}', '{NULL}', '{"NULL"}', '{a,b}');
SELECT * FROM try('varchar[]', '{}', '{a}', '{a,b}');
SELECT * FROM try('char(3)[]', '{a}', '{"a  "}', '{a,b}');
SELECT * FROM try('numeric[]', '{1,2}', '{1.0,2.00}', '{NaN}', '{0}', '{-0.0}');
SELECT * FROM try('float8[]', '{0}', '{-0}', '{NaN}');
SELECT * FROM try('interval[]', '{1 month}', '{30 days}');
SELECT * FROM try('mood[]', '{sad}', '{sad,happy}', '{NULL}');
SELECT * FROM try('jsonb', '1', '1.0', '1.00', '"a"', 'null', 'true', '{}', '[]', '{"a": 1, "b": 2}', '{"b": 2.0, "a": 1.0}', '[1, 2]',
	'[2, 1]', '{"a": 0, "a": 1, "b": 2}');

-- ---- domains ----
CREATE DOMAIN amount AS numeric CHECK (VALUE IS NULL OR VALUE >= 0);
CREATE DOMAIN amount2 AS amount;
CREATE DOMAIN code AS char(4);
CREATE DOMAIN moody AS mood;
CREATE DOMAIN tags AS text[];
CREATE DOMAIN spans AS int4range;
SELECT * FROM try('amount', '1', '1.0', '2');
SELECT * FROM try('amount2', '1', '1.0', '2');
SELECT * FROM try('code', 'a', 'a  ', 'abcd');
SELECT * FROM try('tags', '{a}', '{a,b}');
SELECT * FROM try('spans', '[1,5)', '[1,4]');

-- ---- other types in the condition ----
CREATE TABLE cross_type (i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, t text, v varchar(20), n name, c char(8), amount amount2, code code, moody moody,
	r regclass, o oid, ci cidr, d date, ts timestamp, tz timestamptz, vb varbit);
INSERT INTO cross_type SELECT i, i, i, i / 4.0, i / 4.0, 'v' || i, 'v' || i, 'v' || i, 'v' || i, i, 'v' || i, (enum_range(NULL::mood))[i % 3 + 1], i::oid, i, ('10.' || i || '.0.0/16')::cidr,
	date '2000-01-01' + i, date '2000-01-01' + i, timestamptz '2000-01-01 00:00+00' + i * interval '1 day', i::bit(8)::varbit
	FROM generate_series(-100, 100) i WHERE i >= 0;
INSERT INTO cross_type (i2, i4, i8, f4, f8) VALUES (-5, -5, -5, -1.25, -1.25), (NULL, NULL, NULL, '-0', '-0'), (NULL, NULL, NULL, 'NaN', 'NaN'),
	(NULL, NULL, NULL, 0.1, 0.1::real);
CREATE INDEX ON cross_type USING pbfidx (i2, i4, i8, f4, f8, t, v, n, c, amount, code, moody, r, o, ci, d, ts, tz, vb);
SELECT * FROM finds('cross_type',
	'i2 = 5', 'i2 = 5::bigint', 'i2 = -5::int', 'i4 = -5::smallint', 'i4 = -5::bigint', 'i8 = 5::smallint', 'i8 = -5', 'i2 = 70000',
	'i4 = 4294967301', 'i2 = 5.0', 'i2 = ANY (ARRAY[5, -5, NULL]::bigint[])', 'i8 IN (1, 2, -5)', 'i4 = ANY (''{1,2,-5}''::smallint[])',
	'f4 = 1.25', 'f4 = 1.25::float8', 'f4 = 0.1', 'f4 = 0.1::real', 'f8 = 0.1::real', 'f8 = 0.1', 'f4 = 0::float8', 'f8 = ''-0''::real',
	'f4 = ''NaN''::float8', 'f8 = ''NaN''::real', 'f8 = ANY (ARRAY[1.25, NULL, 0.1]::real[])', 'f8 = 1',
	't = ''v5''', 't = ''v5''::varchar', 't = ''v5''::name', 'v = ''v5''', 'v = ''v5''::text', 'v::text = ''v5''', 'v = ''v5''::name',
	'n = ''v5''', 'n = ''v5''::text', 'n = ''v5''::varchar', 'n = ANY (ARRAY[''v5'', NULL, ''v6'']::text[])',
	't = ANY (ARRAY[''v5'', NULL, ''v6'']::name[])', 'v IN (''v5'', ''v6'')', 't = ''v5     ''::char(8)',
	'c = ''v5''', 'c = ''v5   ''', 'c = ''v5''::text', 'c::text = ''v5''', 'c = ANY (''{v5,"v6   "}''::bpchar[])', 'c = ''v5''::varchar',
	'amount = 5.00', 'amount = 5::amount2', 'amount::numeric = 5', 'amount IN (5.0, 6)', 'amount = 5',
	'moody::mood = ''ok''', 'moody::mood = ANY (''{sad,happy}'')', 'code = ''v5''', 'code = ''v5  ''::code', 'r = ''5''::regclass', 'r = 5::oid', 'r IN (5, 6)', 'o = 5', 'o = ''5''::regclass',
	'ci = ''10.5.0.0/16''::inet', 'ci = ''10.5.0.0/16''', 'd = ''2000-01-06''', 'd = ''2000-01-06''::timestamp', 'ts = ''2000-01-06''::date',
	'ts = ''2000-01-06''', 'tz = ''2000-01-06 00:00+00''', 'tz = ''2000-01-05 16:00''', 'vb = B''00000101''');

-- Two or more columns at once.
SELECT * FROM finds('cross_type', 'i2 = 5 AND t = ''v5''', 'i2 = 5 AND t = ''v6''', 'i8 = ANY (''{5,6}'') AND n IN (''v6'', ''v7'')',
	'i2 IS NULL AND f4 = 0', 'i2 IS NULL AND i4 = 5', 'i2 = 5 OR t = ''v6'' OR n IS NULL', 'i2 = 5 AND i2 IN (5, 6) AND i2 IS NOT NULL',
	'i2 = NULL', 'i2 = 5 AND NULL', 'ROW(i2, t) = ROW(5, ''v5'')', 'i2 = 5 AND t <> ''v5''', '(i2, i4) IN ((5, 5), (6, 6))');

-- ---- ORs of parameters: from 18 on an array of them, which has the type that they have before they are relabelled ----
CREATE DOMAIN dtext AS text;
CREATE FUNCTION own_hash(text, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hashtextextended($1, $2)';
CREATE OPERATOR CLASS own_ops FOR TYPE text USING pbfidx AS OPERATOR 1 =, FUNCTION 1 own_hash(text, bigint);
CREATE TABLE ored (c char(10), o oid, t text, own text, i int, pad char(2500));
INSERT INTO ored SELECT 'c' || i, CASE WHEN i = 50 THEN 4294967295 ELSE i END, 't' || i, 'o' || i, i, '' FROM generate_series(1, 100) i;
CREATE INDEX ON ored USING pbfidx (c, o, t, own own_ops, i) WITH (pages_per_range = 1);
PREPARE or_c(varchar, varchar) AS SELECT c FROM ored WHERE c = $1 OR c = $2;
PREPARE or_o(int, int) AS SELECT o FROM ored WHERE o = $1 OR o = $2;
PREPARE or_t(dtext, dtext) AS SELECT t FROM ored WHERE t = $1 OR t = $2;
PREPARE or_v(varchar, varchar) AS SELECT t FROM ored WHERE t = $1 OR t = $2;
PREPARE or_own(varchar, varchar) AS SELECT own FROM ored WHERE own = $1 OR own = $2;
PREPARE or_i(smallint, bigint) AS SELECT i FROM ored WHERE i = $1 OR i = $2;
PREPARE or_moved(varchar) AS SELECT a.c FROM ored a JOIN ored b ON a.c = (b.c || $1)::varchar OR a.c = (b.t || $1)::varchar WHERE b.i = 50;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE or_c('c50       ', 'none');
EXECUTE or_o(-1, 0);
EXECUTE or_t('t50', 'none');
EXECUTE or_v('t50', 'none');
EXECUTE or_own('o50', 'none');
EXECUTE or_i(50::smallint, 0);
EXECUTE or_moved('   ');
RESET enable_seqscan;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- ---- boolean columns; WHERE flag reaches an index of an extension from 16 on only ----
CREATE TABLE flags (id int, flag bool, pad char(2500));
INSERT INTO flags SELECT i, CASE WHEN i % 10 = 0 THEN NULL ELSE i % 7 = 0 END, '' FROM generate_series(1, 200) i;
CREATE INDEX ON flags USING pbfidx (flag) WITH (pages_per_range = 1);
SELECT cond, rows, missing, extra FROM finds('flags', 'flag', 'NOT flag', 'flag = true', 'flag = false', 'flag IS TRUE', 'flag IS FALSE',
	'flag IS NOT TRUE', 'flag IS NOT FALSE', 'flag IS UNKNOWN', 'flag IS NULL', 'flag IS NOT NULL', 'flag <> true', 'flag = (id > 0)',
	'flag IN (true, NULL)', 'flag IS NOT DISTINCT FROM true', 'flag = ANY (''{t,f}'')', '(flag = true) IS NULL', 'NOT (flag = true)');
SELECT used FROM find('flags', 'flag IS NULL');

-- ---- enums are known by their OID ----
CREATE TABLE moods (id int, m mood, ms mood[], pad char(2500));
INSERT INTO moods SELECT i, (enum_range(NULL::mood))[i % 3 + 1], ARRAY[(enum_range(NULL::mood))[i % 3 + 1]], '' FROM generate_series(1, 60) i;
CREATE INDEX moods_m ON moods USING pbfidx (m, ms) WITH (pages_per_range = 1);
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT * FROM finds('moods', 'm = ''fine''', 'm IN (''fine'', ''sad'')', 'ms = ''{fine}''', 'm = ''happy''');
ALTER TYPE mood ADD VALUE 'great' BEFORE 'happy';
INSERT INTO moods VALUES (61, 'great', '{great}', '');
SELECT * FROM finds('moods', 'm = ''great''', 'm = ANY (''{great,fine}'')', 'ms = ''{great}''', 'm = ''happy''');
SELECT pbfidx_check('moods_m');

-- ---- stored forms: short, compressed, out of line, out of line and compressed ----
CREATE TABLE stored (id int, how text, x text, y bytea, j jsonb, a text[], n numeric, pad char(2500));
CREATE FUNCTION fill(how text, storage text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER TABLE stored ALTER x SET STORAGE %1$s, ALTER y SET STORAGE %1$s, ALTER j SET STORAGE %1$s, ALTER a SET STORAGE %1$s, ALTER n SET STORAGE %2$s',
		storage, CASE storage WHEN 'plain' THEN 'main' ELSE storage END);
	INSERT INTO stored SELECT i, how, v, v::bytea, to_jsonb(v), ARRAY[v, NULL], (repeat('7', length(v)))::numeric, ''
	FROM (SELECT i, repeat(i::text, CASE WHEN storage = 'plain' THEN 100 ELSE 3000 END) AS v FROM generate_series(1, 4) i) s;
	INSERT INTO stored SELECT 10 + i, how, v, v::bytea, to_jsonb(v), ARRAY[v, NULL], i, ''
	FROM (SELECT i, repeat(i::text, 100) AS v FROM generate_series(1, 4) i) s;
END $$;
SELECT fill('external before', 'external'), fill('extended before', 'extended'), fill('main before', 'main'), fill('plain before', 'plain');
CREATE INDEX stored_all ON stored USING pbfidx (x, y, j jsonb_eq_ops, a array_eq_ops, n) WITH (pages_per_range = 1);
SELECT fill('external after', 'external'), fill('extended after', 'extended'), fill('main after', 'main'), fill('plain after', 'plain');
SELECT * FROM finds('stored', 'x = repeat(''1'', 3000)', 'x = repeat(''2'', 100)', 'y = repeat(''1'', 3000)::bytea', 'y = repeat(''2'', 100)::bytea');
SELECT * FROM finds('stored', 'j = to_jsonb(repeat(''1'', 3000))', 'j = to_jsonb(repeat(''2'', 100))', 'a = ARRAY[repeat(''1'', 3000), NULL]',
	'a = ARRAY[repeat(''2'', 100), NULL]', 'n = repeat(''7'', 3000)::numeric', 'n = 2', 'x = ANY (ARRAY[repeat(''1'', 3000), repeat(''2'', 100), NULL])');
SELECT pbfidx_check('stored_all'), pbfidx_resummarize('stored_all') > 0 AS rebuilt;
DELETE FROM stored WHERE how ~ 'before';
SELECT pbfidx_check('stored_all'), pbfidx_resummarize('stored_all') >= 0 AS no_error;
VACUUM stored;
SELECT pbfidx_check('stored_all'), pbfidx_resummarize('stored_all') > 0 AS rebuilt;
SELECT * FROM finds('stored', 'x = repeat(''1'', 3000)', 'j = to_jsonb(repeat(''1'', 3000))', 'n = repeat(''7'', 3000)::numeric');

-- ---- types that are binary coercible to one with an operator class, but compare in their own way ----
-- myint is an int, equal modulo 10. The index is one over ints, by its operators: those conditions, and only those, use it.
CREATE TYPE myint;
CREATE FUNCTION myint_in(cstring) RETURNS myint LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION myint_out(myint) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE myint (INPUT = myint_in, OUTPUT = myint_out, INTERNALLENGTH = 4, PASSEDBYVALUE, ALIGNMENT = int4);
CREATE CAST (myint AS int) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION my_eq(myint, myint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::int % 10 = $2::int % 10';
CREATE FUNCTION my_lt(myint, myint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::int % 10 < $2::int % 10';
CREATE FUNCTION my_le(myint, myint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::int % 10 <= $2::int % 10';
CREATE FUNCTION my_ge(myint, myint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::int % 10 >= $2::int % 10';
CREATE FUNCTION my_gt(myint, myint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::int % 10 > $2::int % 10';
CREATE FUNCTION my_cmp(myint, myint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($1::int % 10, $2::int % 10)';
CREATE FUNCTION my_hash(myint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT hashint4($1::int % 10)';
CREATE FUNCTION my_hash(myint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hashint4extended($1::int % 10, $2)';
CREATE OPERATOR = (LEFTARG = myint, RIGHTARG = myint, FUNCTION = my_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR < (LEFTARG = myint, RIGHTARG = myint, FUNCTION = my_lt);
CREATE OPERATOR <= (LEFTARG = myint, RIGHTARG = myint, FUNCTION = my_le);
CREATE OPERATOR >= (LEFTARG = myint, RIGHTARG = myint, FUNCTION = my_ge);
CREATE OPERATOR > (LEFTARG = myint, RIGHTARG = myint, FUNCTION = my_gt);
CREATE OPERATOR CLASS myint_ops DEFAULT FOR TYPE myint USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 my_cmp(myint, myint);
CREATE OPERATOR CLASS myint_ops DEFAULT FOR TYPE myint USING hash AS OPERATOR 1 =, FUNCTION 1 my_hash(myint), FUNCTION 2 my_hash(myint, bigint);
CREATE TABLE mine (x myint, pad char(2500));
INSERT INTO mine SELECT i::text::myint, '' FROM generate_series(1, 100) i;
CREATE INDEX mine_x ON mine USING pbfidx (x) WITH (pages_per_range = 1);
SELECT cond, rows, missing, extra FROM finds('mine', 'x::int = 55', 'x = ''55''::myint', 'x::int = ANY (''{55,56}'')', 'x::int = 55::bigint');

-- ---- a user's own operator class ----
CREATE FUNCTION lower_hash(text, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hashtextextended(lower($1), $2)';
CREATE FUNCTION lower_eq(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN lower($1) = lower($2); END';
CREATE OPERATOR ~~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_eq, COMMUTATOR = ~~~, RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR CLASS lower_ops FOR TYPE text USING pbfidx AS OPERATOR 1 ~~~, FUNCTION 1 lower_hash(text, bigint);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'lower_ops';
CREATE TABLE lowered (x text, pad char(2500));
INSERT INTO lowered SELECT CASE i % 2 WHEN 0 THEN 'Name' ELSE 'nAME' END || i / 2, '' FROM generate_series(1, 60) i;
CREATE INDEX lowered_x ON lowered USING pbfidx (x lower_ops);
INSERT INTO lowered VALUES ('NAME7', '');
SELECT * FROM finds('lowered', 'x ~~~ ''name7''', 'x ~~~ ANY (''{NAME7,name8}'')', 'x = ''Name7''', 'x IS NULL');
SELECT pbfidx_check('lowered_x');

-- What is no operator class of pbfidx.
SET client_min_messages = notice;
CREATE OPERATOR CLASS bad1_ops FOR TYPE int USING pbfidx AS FUNCTION 1 hashint4extended(int, bigint);
CREATE OPERATOR CLASS bad2_ops FOR TYPE int USING pbfidx AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
CREATE OPERATOR CLASS bad3_ops FOR TYPE int USING pbfidx AS OPERATOR 1 =, OPERATOR 2 <;
CREATE OPERATOR CLASS bad4_ops FOR TYPE int USING pbfidx AS OPERATOR 1 =, FUNCTION 4 hashint4extended(int, bigint);
-- A hash function hashes values of one type: no other type may come with it.
CREATE OPERATOR CLASS bad5_ops FOR TYPE int USING pbfidx AS OPERATOR 1 =, OPERATOR 1 = (int, bigint), FUNCTION 1 hashint4extended(int, bigint);
CREATE OPERATOR CLASS bad6_ops FOR TYPE text USING pbfidx AS OPERATOR 1 =, OPERATOR 1 = (text, name), FUNCTION 1 hashtextextended(text, bigint);
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c WHERE opcname ~ '^bad\d_ops$' ORDER BY opcname;

-- ---- refused ----
-- Composite values, anywhere inside: ALTER TYPE changes which of them are equal.
CREATE TYPE pairs AS (a int, p pair);
CREATE DOMAIN dpair AS pair;
CREATE TYPE pairrange AS RANGE (subtype = pair);
CREATE TABLE refused_row (a int);
CREATE TABLE composites (p pair, ps pair[], d dpair, ds dpair[], r pairrange, m pairmultirange, pp pairs, t refused_row);
\set VERBOSITY terse
CREATE INDEX ON composites USING pbfidx (p);
CREATE INDEX ON composites USING pbfidx (ps);
CREATE INDEX ON composites USING pbfidx (d);
CREATE INDEX ON composites USING pbfidx (ds);
CREATE INDEX ON composites USING pbfidx (r);
CREATE INDEX ON composites USING pbfidx (m);
CREATE INDEX ON composites USING pbfidx (pp);
CREATE INDEX ON composites USING pbfidx (t);
CREATE INDEX ON composites USING pbfidx ((ROW(1, p)));
\set VERBOSITY default
CREATE TABLE refused (x xml, p point, f pbf, j json, b box, t text);
CREATE INDEX ON refused USING pbfidx (x);
CREATE INDEX ON refused USING pbfidx (p);
CREATE INDEX ON refused USING pbfidx (f);
CREATE INDEX ON refused USING pbfidx (j);
CREATE INDEX ON refused USING pbfidx (b);
CREATE UNIQUE INDEX ON refused USING pbfidx (t);
\set VERBOSITY sqlstate
CREATE INDEX ON refused USING pbfidx (t DESC);
\set VERBOSITY default
\echo :LAST_ERROR_MESSAGE
CREATE INDEX ON refused USING pbfidx (t) INCLUDE (x);
ALTER TABLE refused ADD EXCLUDE USING pbfidx (t WITH =);
CREATE INDEX refused_t ON refused USING pbfidx (t);
CLUSTER refused USING refused_t;

-- ---- operators and ranges that compare otherwise than the values are hashed ----

CREATE TABLE dated AS SELECT date '2000-01-01' + i AS d FROM generate_series(1, 100) i;
CREATE INDEX ON dated USING pbfidx (d);
ALTER OPERATOR FAMILY date_ops USING pbfidx ADD OPERATOR 1 = (date, timestamp);
SET enable_seqscan = off;
SELECT count(*) FROM dated WHERE d = timestamp '2000-01-06';
ALTER OPERATOR FAMILY date_ops USING pbfidx DROP OPERATOR 1 (date, timestamp);
SELECT count(*) FROM dated WHERE d = timestamp '2000-01-06' AND d = date '2000-01-06';
-- Enums are hashed by their type, and so is what is in an array.
CREATE TYPE weather AS ENUM ('bad', 'ok');
CREATE TYPE state AS ENUM ('ok', 'broken');
CREATE FUNCTION same_label(weather, state) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1::text = $2::text';
CREATE OPERATOR = (LEFTARG = weather, RIGHTARG = state, FUNCTION = same_label);
CREATE TABLE days AS SELECT 'ok'::weather AS m;
CREATE INDEX ON days USING pbfidx (m);
ALTER OPERATOR FAMILY enum_ops USING pbfidx ADD OPERATOR 1 = (weather, state);
SELECT count(*) FROM days WHERE m = 'ok'::state;
ALTER OPERATOR FAMILY enum_ops USING pbfidx DROP OPERATOR 1 (weather, state);
SELECT count(*) FROM days WHERE m = 'ok'::weather;
DROP TABLE days;
DROP OPERATOR = (weather, state);
DROP FUNCTION same_label;
DROP TYPE weather, state;
RESET enable_seqscan;
DROP TABLE dated;

CREATE FUNCTION lower_cmp(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT bttextcmp(lower($1), lower($2))';
CREATE FUNCTION lower_lt(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) < lower($2)';
CREATE FUNCTION lower_le(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) <= lower($2)';
CREATE FUNCTION lower_same(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) = lower($2)';
CREATE FUNCTION lower_ge(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) >= lower($2)';
CREATE FUNCTION lower_gt(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1) > lower($2)';
CREATE OPERATOR <# (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_lt);
CREATE OPERATOR <=# (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_le);
CREATE OPERATOR =# (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_same);
CREATE OPERATOR >=# (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_ge);
CREATE OPERATOR ># (LEFTARG = text, RIGHTARG = text, FUNCTION = lower_gt);
CREATE OPERATOR CLASS lower_ops FOR TYPE text USING btree AS OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#, FUNCTION 1 lower_cmp(text, text);
CREATE TYPE lower_range AS RANGE (subtype = text, subtype_opclass = lower_ops, collation = "C");
CREATE TYPE pattern_range AS RANGE (subtype = text, subtype_opclass = text_pattern_ops, collation = "C");
SELECT lower_range('a', 'c') = lower_range('A', 'C') AS equal;
SELECT pbf_hash(lower_range('a', 'c'));
SELECT pbf_hash(ARRAY[lower_range('a', 'c')]);
SELECT pbf_hash(lower_multirange(lower_range('a', 'c')));
CREATE TABLE ranged (r lower_range, p pattern_range);
-- (The type's name is qualified from 17 on: CREATE INDEX has a search path of its own there.)
\set VERBOSITY sqlstate
CREATE INDEX ON ranged USING pbfidx (r);
\set VERBOSITY default
CREATE INDEX ON ranged USING pbfidx (p);
SELECT pbf_hash(pattern_range('a', 'c')) IS NOT NULL AS hashed;
-- An operator that is no equality needs a hash function.
CREATE OPERATOR CLASS like_ops FOR TYPE text USING pbfidx AS OPERATOR 1 ~~*;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'like_ops';
DROP TABLE ranged;
DROP OPERATOR FAMILY like_ops USING pbfidx;
DROP TYPE lower_range, pattern_range;
DROP OPERATOR FAMILY lower_ops USING btree;

SET client_min_messages = warning;
DROP SCHEMA index_types CASCADE;

--
-- The hash contract: every type's canonical bytes. Values that are equal by `=` hash alike, in whatever way
-- they are written or stored; each kind has golden hashes, made from the bytes in doc/format.md by another
-- program (xxhsum -H3); what cannot keep the contract is refused.
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

-- All pairs of the elements of an array: how many there are, how many are equal, how many of the hashes disagree.
CREATE FUNCTION pairs(expr text, OUT pairs bigint, OUT equal bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH v AS MATERIALIZED (SELECT x, pbf_hash(x) AS h FROM unnest(%s) x)
		SELECT count(*), count(*) FILTER (WHERE a.x = b.x), count(*) FILTER (WHERE (a.x = b.x) <> (a.h = b.h))
		FROM v a, v b', expr) INTO pairs, equal, wrong;
END $$;

-- Why a value is refused.
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
	'42::int4',
	'(-1)::int2',
	'''-9223372036854775808''::int8',
	'1.5::float8',
	'0.1::float4',
	'''-0''::float8',
	'''NaN''::float8',
	'-12345.67',
	'0.00',
	'1e8',
	'0.00005',
	'''NaN''::numeric',
	'''Infinity''::numeric',
	'''-Infinity''::numeric',
	'12.34::numeric::money',
	'''4294967295''::oid',
	'''pg_class''::regclass',
	'''4294967295''::xid',
	'''18446744073709551615''::xid8',
	'''7''::cid',
	'''16/B374D848''::pg_lsn',
	'true',
	'false',
	'''a''::"char"',
	'''\377''::"char"',
	'''alice''::text',
	'''''::text',
	'U&''na\00efve \2603''',
	'''\x00ff''::bytea',
	'B''101''',
	'''''::varbit',
	'''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''::uuid',
	'''2024-02-29''::date',
	'''infinity''::date',
	'''-infinity''::date',
	'''12:34:56.789''::time',
	'''12:34:56+02''::timetz',
	'''2024-02-29 12:00''::timestamp',
	'''2024-02-29 12:00+00''::timestamptz',
	'''-infinity''::timestamptz',
	'''1 day''::interval',
	'''-1 microsecond''::interval',
	'''178000000 years''::interval',
	'''192.168.1.5/24''::inet',
	'''2001:db8::/32''::cidr',
	'''08:00:2b:01:02:03''::macaddr',
	'''08:00:2b:01:02:03:04:05''::macaddr8',
	'''happy''::mood'
]) WITH ORDINALITY v (value, n), describe(value) d ORDER BY n;

-- Kinds that are hashed by the server's own functions: as stable as those are, so no golden hashes.
SELECT v.value, d.kind FROM unnest(ARRAY[
	'''[1,3)''::int4range',
	'''{[1,3),[5,7)}''::int4multirange',
	'ROW(1, ''a''::text)',
	'''{"a": 1}''::jsonb',
	'''(1,2)''::tid'
]) WITH ORDINALITY v (value, n), describe(value) d ORDER BY n;

--
-- Equal values hash alike; unequal ones do not
--
SELECT v.a, v.b, c.* FROM (VALUES
	('''-0''::float8', '0::float8'),
	('''-0''::float4', '0::float8'),
	('''NaN''::float8', '-''NaN''::float8'),
	('''NaN''::float4', '''Infinity''::float8 - ''Infinity''::float8'),
	('0.5::float4', '0.5::float8'),
	('0.1::float4', '0.1::float8'),
	('''-Infinity''::float4', '''-Infinity''::float8'),
	('1.0', '1.00'),
	('1', '1::int8'),
	('1::numeric', '1e0'),
	('10000.0', '1e4'),
	('0.0001', '1e-4'),
	('0', '-0'),
	('0.00', '-0.0000'),
	('1', '-1'),
	('1.0', '-1.0'),
	('1.0', '10000.0'),
	('0001.5000', '1.5'),
	('5::numeric(10, 2)', '5::numeric(20, 10)'),
	('1e1000', '1e1000 + 0.000'),
	('''NaN''::numeric', '''NaN''::numeric(10, 2)'),
	('''Infinity''::numeric', '''-Infinity''::numeric'),
	('''abc''::char(3)', '''abc''::char(10)'),
	('''abc''::char(10)', '''abc''::text'),
	('''abc  ''::text', '''abc''::text'),
	('''''::char(4)', '''''::text'),
	('U&''\00e9''::char(4)', 'U&''\00e9''::varchar'),
	('''abc''::varchar(10)', '''abc''::text'),
	('''abc''::name', '''abc''::text'),
	('''abc''::name', '''abc''::char(5)'),
	('''abc'' COLLATE "C"', '''abc'' COLLATE "POSIX"::text COLLATE "C"'),
	('''abc''', '''abc''::text'),
	('''\x61''::bytea', '''a''::bytea'),
	('B''101''', 'B''101''::varbit'),
	('B''101''', 'B''1010'''),
	('B''00000000''', 'B''0000000'''),
	('true', '''yes''::bool'),
	('''$12.34''::money', '12.34::numeric::money'),
	('1259::oid', '''pg_class''::regclass'),
	('''int4''::regtype', '23::oid'),
	('''0/A''::pg_lsn', '''0/0a''::pg_lsn'),
	('''A0EEBC999C0B4EF8BB6D6BB9BD380A11''::uuid', '''{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}''::uuid'),
	('''2024-02-29''::date', '''20240229''::date'),
	('''24:00''::time', '''00:00''::time'),
	('''12:00+00''::timetz', '''13:00+01''::timetz'),
	('''12:00+01''::timetz', '''12:00+01:00''::timetz'),
	('''2024-02-29 12:00+00''::timestamptz', '''2024-02-29 13:00+01''::timestamptz'),
	('''1 day''::interval', '''24 hours''::interval'),
	('''1 mon''::interval', '''30 days''::interval'),
	('''1 mon''::interval', '''720 hours''::interval'),
	('''1 mon''::interval', '''31 days''::interval'),
	('''1 mon -30 days''::interval', '''0''::interval'),
	('''-1 day 24 hours''::interval', '''0''::interval'),
	('''-1 day 1 hour''::interval', '''-23 hours''::interval'),
	('''1 day -1 microsecond''::interval', '''23:59:59.999999''::interval'),
	('''1000000 years''::interval', '''360000000 days''::interval'),
	('''-1000000 years''::interval', '''-360000000 days''::interval'),
	('''1 year''::interval', '''365 days''::interval'),
	('''10.0.0.0/8''::inet', '''10/8''::cidr'),
	('''10.0.0.1''::inet', '''10.0.0.1/32''::inet'),
	('''10.0.0.1/8''::inet', '''10.0.0.0/8''::inet'),
	('''10.0.0.0/8''::inet', '''10.0.0.0/9''::inet'),
	('''::1''::inet', '''0:0:0:0:0:0:0:1/128''::cidr'),
	('''::ffff:1.2.3.4''::inet', '''1.2.3.4''::inet'),
	('''08:00:2b:01:02:03''::macaddr', '''08002B-010203''::macaddr'),
	('''08:00:2b:01:02:03''::macaddr8', '''08:00:2b:ff:fe:01:02:03''::macaddr8'),
	('''{"a": 1.0, "b": [2]}''::jsonb', '''{"b": [2.00], "a": 1}''::jsonb'),
	('''[1,3)''::int4range', '''[1,2]''::int4range'),
	('''[1.0,2)''::numrange', '''[1.00,2.0)''::numrange'),
	('''(1,1)''::numrange', '''empty''::numrange'),
	('''{[1,2),[2,3)}''::int4multirange', '''{[1,3)}''::int4multirange'),
	('ROW(1, 1.0, NULL::text)', 'ROW(1, 1.00, NULL::text)'),
	('ARRAY[1.0, NULL]', 'ARRAY[1.00, NULL]'),
	('ARRAY[''-0''::float8]', 'ARRAY[0::float8]'),
	('ARRAY[''1 day''::interval]', 'ARRAY[''24 hours''::interval]'),
	('ARRAY[''a''::char(3)]', 'ARRAY[''a''::char(9)]'),
	('ARRAY[''a'' COLLATE "C"]', 'ARRAY[''a''::text]')
) v (a, b), compare(v.a, v.b) c;

-- Whole numbers of all widths, up to their limits.
SELECT i AS smallint, pbf_hash(i) = pbf_hash(i::int4) AND pbf_hash(i) = pbf_hash(i::int8) AS same_hash
	FROM unnest('{0, 1, -1, 32767, -32768}'::int2[]) i;
SELECT i AS int, pbf_hash(i) = pbf_hash(i::int8) AS same_hash
	FROM unnest('{32768, -32769, 2147483647, -2147483648}'::int4[]) i;
SELECT count(DISTINCT pbf_hash(i)) AS hashes
	FROM unnest('{2147483648, 4294967295, -1, 9223372036854775807, -9223372036854775808}'::int8[]) i;

-- All pairs of many values.
SELECT v.what, p.* FROM (VALUES
	('smallint', '(SELECT array_agg(i::int2) FROM generate_series(-32768, 32767, 911) i)'),
	('float8', 'ARRAY[''NaN'', ''-Infinity'', ''Infinity'', -0.0, 0, 1, -1, 1e-320, 5e-324, 1e308, 0.1, 0.1::float4::float8, -''NaN''::float8,
		''-0''::float4]::float8[]'),
	('float4', 'ARRAY[''NaN'', ''-Infinity'', ''Infinity'', ''-0'', 0, 1, -1, 1e-45, 3.4e38, 0.1, -''NaN''::float4]::float4[]'),
	('numeric', '(SELECT array_agg(round(i * power(10::numeric, e), s))
		FROM generate_series(-3, 3) i, generate_series(-9, 9, 3) e, generate_series(0, 10, 5) s)'),
	('long numeric', '(SELECT array_agg(i * power(10::numeric, e) + power(10::numeric, -f))
		FROM generate_series(-2, 2) i, generate_series(0, 900, 150) e, generate_series(0, 400, 200) f)'),
	('text', '(SELECT array_agg(repeat(''x'', n % 300) || repeat('' '', n % 2)) FROM generate_series(0, 650, 10) n)'),
	('char(n)', '(SELECT array_agg(repeat(''x'', n % 300)::char(400) || repeat('' '', n % 2)) FROM generate_series(0, 650, 10) n)::bpchar[]'),
	('bit', '(SELECT array_agg(substring(B''0001000000010000''::varbit, i, n)) FROM generate_series(1, 8) i, generate_series(0, 8) n)'),
	('timetz', '(SELECT array_agg(make_time(h, 0, 0) + z) FROM generate_series(0, 23, 4) h,
		unnest(''{2000-01-01 00:00+00}''::timestamptz[]) t, unnest(ARRAY[t::timetz - t::timetz::time]) z)'),
	('interval', '(SELECT array_agg(make_interval(months => m, days => d, hours => h)) FROM generate_series(-2, 2) m,
		generate_series(-60, 60, 15) d, generate_series(-720, 720, 240) h)'),
	('large interval', '(SELECT array_agg(make_interval(months => m, days => d, secs => s)) FROM unnest(''{-2147483640, 0, 2147483640}''::int[]) m,
		unnest(''{-2147483640, -1, 0, 1, 2147483640}''::int[]) d, unnest(''{-9e12, -86400, 0, 86400, 9e12}''::float8[]) s)'),
	('inet', '(SELECT array_agg(set_masklen(a, m)) FROM unnest(''{10.0.0.0, 10.0.0.1, 0.0.0.0, ::, ::1, 10::}''::inet[]) a, unnest(''{0, 8, 31, 32}''::int[]) m)'),
	('enum', 'enum_range(NULL::mood) || enum_range(NULL::mood)')
) v (what, expr), pairs(v.expr) p;

--
-- One value, all the ways it can be stored: short header, plain, compressed, moved out, moved out compressed
--
CREATE TABLE stored (form text, t text, b bytea, n numeric, v varbit, c char(5000), a inet);
CREATE FUNCTION sample(size int) RETURNS SETOF stored LANGUAGE sql AS $$
	SELECT NULL, s, s::bytea, (left(s, 8000) || '1')::numeric, s::bytea::text::varbit, left(s, 5000), '10.1.2.3/8'
	FROM (SELECT repeat('10', size / 2)) x (s) $$;
-- (a bit string is written with the digits of the text)
CREATE OR REPLACE FUNCTION sample(size int) RETURNS SETOF stored LANGUAGE sql AS $$
	SELECT NULL, s, s::bytea, (left(s, 8000) || '1')::numeric, s::varbit, left(s, 5000), '10.1.2.3/8'::inet
	FROM (SELECT repeat('10', size / 2)) x (s) $$;

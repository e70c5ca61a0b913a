--
-- The stored form: text, binary and bytea, the golden examples that pin it, and what becomes of bytes that are none.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pbf;
CREATE SCHEMA io;
SET search_path = io, public;
\pset null 'NULL'

--
-- Golden filters. Made by another program from the text of the contract (xxhsum -H3 for the hashes): version, flags,
-- kind, parts, blocks, part_bits, 8 zero bytes, then the words, all little-endian. These bytes must never change.
--
CREATE TABLE golden (id int, what text, stored text, made pbf);
-- Blanks and line ends are for the reader.
INSERT INTO golden SELECT id, what, '\x' || translate(stored, E' \n\t', ''), made FROM (VALUES
	(1, 'blocked, integers', '0101020803000000400000000000000000000000
		0000000000005000 4000000080200000 0400000000010020 0000000008400000 0800210000000000 0400820000000000
		0000000801010000 0010000000060000 0000004000000010 2040000000000000 00000000000000c0 1000000800000000
		0000000401000000 0000000100000020 0000000000600000 0000020200000000 0000000001000000 0800000000000000
		0000000000001000 0080000000000000 0000000000000800 0010000000000000 0000000000000200 0000000000400000',
		pbf_new_geometry(3, 8, 64) + '{1,2,3,-7,2147483648,-9223372036854775808}'::int8[]),
	(2, 'its first 2 parts', '0101020203000000400000000000000000000000
		0000000000005000 4000000080200000 0000004000000010 2040000000000000 0000000001000000 0800000000000000',
		(pbf_new_geometry(3, 8, 64) + '{1,2,3,-7,2147483648,-9223372036854775808}'::int8[]) -> 2),
	(3, 'plain, strings', '01000d0301000000640000000000000000000000
		0000000008002000 0400000100000000 0000000000000208 0400010000000000 0000000000004400 0004080000000000',
		pbf_new_geometry(1, 3, 100) + ARRAY['alice', 'bob', U&'na\00efve', '']),
	(4, 'folded', '01000d0301000000320000000000000000000000
		0000020402100000 0000002102010000 0000000a20020000',
		pbf_fold(pbf_new_geometry(1, 3, 100) + ARRAY['alice', 'bob', U&'na\00efve', ''])),
	(5, 'blocked, hashes', '0101010301000000400000000000000000000000
		0100000002100000 0100000000100010 0100000020100000',
		pbf_add_hash(pbf_add_hash(pbf_add_hash(pbf_new_geometry(1, 3, 64), 0), 1), -1)),
	(6, 'plain, hashes', '0100010501000000070000000000000000000000
		4800000000000000 6800000000000000 4300000000000000 4c00000000000000 1900000000000000',
		pbf_add_hash(pbf_add_hash(pbf_add_hash(pbf_new_geometry(1, 5, 7), 0), 1), -1)),
	(7, 'blocked, empty', '0101000202000000400000000000000000000000
		0000000000000000 0000000000000000 0000000000000000 0000000000000000',
		pbf_new_geometry(2, 2, 64)),
	(8, 'plain, empty', '0100000101000000010000000000000000000000 0000000000000000', pbf_new_geometry(1, 1, 1))
	) v (id, what, stored, made);
SELECT id, what, made::text = stored AS text, stored::pbf = made AS input,
		('\x' || upper(substr(stored, 3)))::pbf = made AS upper_case, (E' \t' || stored || E'\r\n\n')::pbf = made AS spaced,
		made::bytea = decode(substr(stored, 3), 'hex') AS bytea,
		decode(substr(stored, 3), 'hex')::pbf = made AS from_bytea, pbf_send(made) = made::bytea AS send
	FROM golden ORDER BY id;
-- Probes of the stored text; the hashes are golden too.
SELECT i, pbf_hash(i), g.stored::pbf @> i AS blocked, h.stored::pbf @> i AS first_parts
	FROM unnest('{1,2,3,-7,2147483648,-9223372036854775808,4,0,-1}'::int8[]) i, golden g, golden h
		WHERE g.id = 1 AND h.id = 2;
SELECT t, pbf_hash(t), g.stored::pbf @> t AS plain, h.stored::pbf @> t AS folded
	FROM unnest(ARRAY['alice', 'bob', U&'na\00efve', '', 'carol', 'dave', 'Alice']) t, golden g, golden h
		WHERE g.id = 3 AND h.id = 4;
SELECT id, bool_and(pbf_contains_hash(stored::pbf, h)) AS added,
	bool_or(pbf_contains_hash(stored::pbf, h + 100)) AS others
	FROM golden, unnest('{0,1,-1}'::int8[]) h WHERE id IN (5, 6) GROUP BY id ORDER BY id;
-- What came in can be added to, and goes on as what was built here.
SELECT id, stored::pbf + 5 = made + 5 AS "add", (stored::pbf | made + 5) = made + 5 AS "union" FROM golden
	WHERE id IN (1, 2, 7, 8) ORDER BY id;

--
-- Round trips
--
CREATE TABLE filters (id int PRIMARY KEY, f pbf);
INSERT INTO filters SELECT id, made FROM golden;
INSERT INTO filters SELECT 10 * b + p, pbf_new_geometry(b, p, 64) + '{1,2,3,4,5,6,7}'::int[]
	FROM generate_series(1, 9) b, generate_series(1, 8) p;
INSERT INTO filters SELECT 10000 + 100 * w + p, pbf_new_geometry(1, p, w) + '{a,b,c,d,e}'::text[]
	FROM unnest('{1,2,63,64,65,127,128,129,1000}'::int[]) w, unnest('{1,2,9,64}'::int[]) p;
INSERT INTO filters SELECT 20000 + n, pbf_build((SELECT array_agg(i) FROM generate_series(1, n) i))
	FROM unnest('{1000,10000,100000}'::int[]) n;
INSERT INTO filters VALUES (0, NULL);
CREATE FUNCTION round_trips() RETURNS TABLE (filters bigint, text_differs bigint, bytea_differs bigint,
	send_differs bigint, text_form bigint)
	LANGUAGE sql AS $$
	SELECT count(f), count(*) FILTER (WHERE f::text::pbf <> f OR f::text::pbf::text <> f::text),
		count(*) FILTER (WHERE f::bytea::pbf <> f OR f::bytea::pbf::bytea <> f::bytea),
			count(*) FILTER (WHERE pbf_send(f) <> f::bytea),
			count(*) FILTER (WHERE f::text !~ '^\\x[0-9a-f]*$' OR length(f::text) <> 2 + 2 * length(f::bytea))
		FROM filters
$$;
SELECT * FROM round_trips();
-- The setting that decides how bytea is written has no say.
SET bytea_output = 'escape';
SELECT * FROM round_trips();
SELECT f FROM filters WHERE id = 8;
RESET bytea_output;
-- COPY, text and binary, of filters alone, in arrays and in rows.
CREATE TYPE holder AS (n int, f pbf);
CREATE TABLE copied (id int PRIMARY KEY, f pbf, a pbf[], h holder);
INSERT INTO copied SELECT id, f, ARRAY[f, NULL, f], ROW(id, f)::holder FROM filters;
CREATE TABLE copied_text (LIKE copied);
CREATE TABLE copied_binary (LIKE copied);
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
\copy copied to 'results/io_text.data'
\copy copied_text from 'results/io_text.data'
\copy copied to 'results/io_binary.data' (format binary)
\copy copied_binary from 'results/io_binary.data' (format binary)
SELECT count(*) AS rows, count(*) FILTER (WHERE (o.f, o.a, o.h) IS DISTINCT FROM (t.f, t.a, t.h)) AS text_differs,
		count(*) FILTER (WHERE (o.f, o.a, o.h) IS DISTINCT FROM (b.f, b.a, b.h)) AS binary_differs
	FROM copied o LEFT JOIN copied_text t USING (id) LEFT JOIN copied_binary b USING (id);
-- Added to after the trip as before.
SELECT count(*) AS filters, count(*) FILTER (WHERE pbf_add_hash(b.f, 77) <> pbf_add_hash(o.f, 77)
	OR NOT pbf_contains_hash(pbf_add_hash(b.f, 77), 77)) AS differ
	FROM copied o JOIN copied_binary b USING (id);
-- Binary input takes the bytes from the wire: a table of bytea makes them.
CREATE TABLE raw (b bytea);
CREATE TABLE received (f pbf);
INSERT INTO raw SELECT made::bytea FROM golden ORDER BY id;
\copy raw to 'results/io_raw.data' (format binary)
\copy received from 'results/io_raw.data' (format binary)
SELECT count(*) AS good FROM received JOIN golden ON f = made;
TRUNCATE raw;
INSERT INTO raw SELECT substr(made::bytea, 1, 30) FROM golden WHERE id = 1;
\copy raw to 'results/io_raw.data' (format binary)
\copy received from 'results/io_raw.data' (format binary)
UPDATE raw SET b = '\x';
\copy raw to 'results/io_raw.data' (format binary)
\copy received from 'results/io_raw.data' (format binary)

--
-- Equality and order: sorting, grouping, joins, indexes, partitions
--
SELECT count(*) AS rows, count(DISTINCT f) AS "distinct"
	FROM (SELECT f FROM filters UNION ALL SELECT f::text::pbf FROM filters) x;
SELECT count(*) AS groups, min(n) AS min, max(n) AS max
	FROM (SELECT f, count(*) AS n FROM (SELECT f FROM filters UNION ALL SELECT f::bytea::pbf FROM filters) x
	GROUP BY f) g;
CREATE FUNCTION joins() RETURNS TABLE (joined bigint, wrong bigint) LANGUAGE sql AS
	'SELECT count(*), count(*) FILTER (WHERE a.f::text <> b.f::text)
		FROM filters a JOIN copied_binary b ON a.f = b.f';
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT * FROM joins();
RESET enable_mergejoin; SET enable_hashjoin = off;
SELECT * FROM joins();
SET enable_mergejoin = off; RESET enable_nestloop;
SELECT * FROM joins();
RESET enable_mergejoin; RESET enable_hashjoin;
SELECT count(*) FILTER (WHERE f < before) AS out_of_order
	FROM (SELECT f, lag(f) OVER (ORDER BY f) AS before FROM filters) x;
CREATE TABLE small AS SELECT id, f FROM filters WHERE pg_column_size(f) < 1000;
CREATE UNIQUE INDEX small_unique ON small (f);
CREATE INDEX small_hash ON small USING hash (f);
INSERT INTO small SELECT 0, made FROM golden WHERE id = 8;
INSERT INTO small SELECT 0, made + 1 FROM golden WHERE id = 8;
SET enable_seqscan = off;
SELECT id FROM small WHERE f = '\x01000001010000000100000000000000000000000000000000000000';
SELECT count(*) FROM filters x JOIN small s ON s.f = x.f;
RESET enable_seqscan;
CREATE TABLE parted (id int, f pbf) PARTITION BY HASH (f);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parted SELECT * FROM filters;
SELECT count(*), count(DISTINCT tableoid) AS partitions,
	(SELECT count(*) FROM parted p JOIN filters f ON p.f = f.f) AS found FROM parted;

--
-- Text that is no filter
--
-- What comes in, as text or as bytes: the filter, or why there is none.
CREATE FUNCTION text_in(t text, OUT fault text, OUT f pbf) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	f := t::pbf;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS fault = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL;
	fault := fault || ' ' || detail;
END $$;
CREATE FUNCTION bytes_in(b bytea, OUT fault text, OUT f pbf) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	f := b::pbf;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS fault = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL;
	fault := fault || ' ' || detail;
END $$;
SELECT ''::pbf;
SELECT '\x0100'::bytea::pbf;
-- (_ is a valid filter, the plain empty one of one bit.)
SELECT t, (text_in(replace(t, '_', stored))).fault FROM golden,
		unnest(ARRAY['_', '', ' ', 'x', '\', '\x', '\X01', 'alice', '{}', '[1,2]', '\x0', '\x01', '\xgg', '\_',
		'\x_', ' _', '_ ', '_ _', '_ 00', U&'_\00a0', '_0', '_00', '_g', '_0g', '_gg', E'_\n', E'_\\x', '_00000000']) WITH ORDINALITY u (t, n)
	WHERE id = 8 ORDER BY n;
SELECT (text_in(substr(stored, 3))).fault AS without_prefix,
		(text_in(overlay(stored PLACING ' ' FROM 10 FOR 1))).fault AS blank_in_header,
		(text_in(overlay(stored PLACING ' ' FROM 50 FOR 1))).fault AS blank_in_words,
		(text_in(overlay(stored PLACING 'G' FROM 58 FOR 1))).fault AS last_digit
	FROM golden WHERE id = 8;
-- Where the server can ask without raising the error, it may.
CREATE FUNCTION valid(t text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	result bool;
BEGIN
	IF current_setting('server_version_num')::int < 160000 THEN
		RETURN (text_in(t)).fault IS NULL;
	END IF;
	EXECUTE 'SELECT pg_input_is_valid($1, ''pbf'')' INTO result USING t;
	RETURN result;
END $$;
SELECT valid(''), valid('\x01'), valid(stored) AS fine, valid(stored || '00') AS longer,
	valid(overlay(stored PLACING 'x' FROM 50)) AS digit FROM golden WHERE id = 1;

--
-- Bytes that are no filter. Whatever is taken for one must go through every operation.
--
CREATE AGGREGATE combine_states(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf, FINALFUNC = pbf_agg_final);
CREATE FUNCTION survives(f pbf) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	g pbf := pbf_add_hash(f, 4711);
	i record;
	s pbf;
BEGIN
	ASSERT f = f AND f <= f AND f >= f AND NOT f <> f AND NOT f < f AND NOT f > f AND pbf_cmp(f, f) = 0, 'order';
	ASSERT f::text::pbf = f AND f::text::pbf::text = f::text AND f::bytea::pbf::bytea = f::bytea
		AND pbf_send(f) = f::bytea, 'form';
	ASSERT pbf_hash_value(f) = pbf_hash_value(f::text::pbf)
		AND pbf_hash_value(f, 1) = pbf_hash_value(f::text::pbf, 1), 'hash';
	ASSERT pbf_contains_hash(g, 4711) AND pbf_contains_filter(g, f) AND pbf_overlaps(g, g) AND NOT pbf_disjoint(g, g),
		'add';
	ASSERT pbf_contains_hash(g | f, 4711) AND pbf_contains_hash(f | g, 4711) AND pbf_contains_hash(g & g, 4711),
		'sets';
	ASSERT (f && g) <> (f !&& g) AND pbf_contains_filter(g | f, f), 'overlap';
	ASSERT (pbf_info(f)).kind = 'none' OR ((f | pbf_new(1)) = f AND (pbf_new(1) | f) = f), 'identity';
	ASSERT pbf_is_empty(f & pbf_new(1)) AND NOT f && pbf_new(1), 'none';
	ASSERT pbf_same_geometry(f, pbf_new_like(f)), 'geometry';
	i := pbf_info(f);
	ASSERT i.set_bits BETWEEN 0 AND i.bits AND i.fill BETWEEN 0 AND 1 AND i.fpr BETWEEN 0 AND 1
		AND i.cardinality >= 0, 'info';
	ASSERT pbf_union_cardinality(f, g) >= 0 AND pbf_intersection_cardinality(f, g) >= 0
		AND pbf_jaccard(f, g) BETWEEN 0 AND 1, 'estimates';
	ASSERT pbf_contains_hash(pbf_reduce(g, 1), 4711) AND pbf_fold(g, 0) = g, 'reduce';
	ASSERT pbf_contains_hash(pbf_shrink(g, 9223372036854775807), 4711)
		AND pbf_contains_hash(pbf_shrink_to_fpr(g, 0.3), 4711), 'shrink';
	s := (SELECT pbf_union_agg(x) FROM unnest(ARRAY[f, g, NULL, f]) x);
	ASSERT pbf_contains_hash(s, 4711), 'union_agg';
	s := (SELECT pbf_intersect_agg(x) FROM unnest(ARRAY[g, g]) x);
	ASSERT pbf_contains_hash(s, 4711), 'intersect_agg';
	s := (SELECT combine_states(x) FROM unnest(ARRAY[f, NULL, f]) x);
	ASSERT s = f AND (SELECT pbf_contains_hash(combine_states(x), 4711) FROM unnest(ARRAY[f, g]) x), 'combine';
	s := (SELECT pbf_agg_like(x, f) FROM generate_series(1, 3) x);
	ASSERT s @> '{1,2,3}'::int[], 'agg_like';
	PERFORM pbf_contains_hash(f, 1), pbf_add_hash(s, 1);
	RETURN true;
END $$;
-- What is tried: the same both ways, with the SQLSTATE of each, or a filter that survives. Returns the fault, if any.
CREATE FUNCTION tried(b bytea) RETURNS text LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	t record := text_in('\x' || encode(b, 'hex'));
	r record := bytes_in(b);
BEGIN
	IF t.fault IS NULL THEN
		ASSERT r.fault IS NULL AND r.f = t.f AND t.f::bytea = b AND r.f::bytea = b, 'other form ' || b::text;
		ASSERT survives(t.f), b::text;
		RETURN NULL;
	END IF;
	ASSERT t.fault LIKE '22P02 %' AND r.fault = '22P03' || substr(t.fault, 6),
		concat_ws(' / ', b::text, t.fault, r.fault);
	RETURN substr(t.fault, 7);
END $$;

SELECT count(*) AS filters, count(tried(f::bytea)) AS faults FROM filters WHERE id BETWEEN 1 AND 10000;

-- The unfinished states of aggregates: a set of ascending hashes, and a large filter yet to be folded. Both carry the
-- rate to be reached. They come in and go out as they are; to everything else they are the finished filter.
CREATE FUNCTION le(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg(substr(b, length(b) - i, 1), '' ORDER BY i) FROM generate_series(0, length(b) - 1) i$$;
CREATE FUNCTION header(flags int, kind int, parts int, blocks int, part_bits int, target float8 = 0) RETURNS bytea
	LANGUAGE sql IMMUTABLE AS
	$$SELECT set_byte(set_byte(set_byte('\x01000000', 1, flags), 2, kind), 3, parts) || le(int4send(blocks))
	|| le(int4send(part_bits)) || le(float8send(target))$$;
CREATE FUNCTION words(w bigint[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT coalesce(string_agg(le(int8send(x)), '' ORDER BY n), '') FROM unnest(w) WITH ORDINALITY u (x, n)$$;
CREATE FUNCTION hash_set(kind int, hashes bigint[], target float8 = 0.01) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT header(2, kind, 0, cardinality(hashes), 0, target) || words(hashes)$$;
CREATE FUNCTION large(f pbf, target float8) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$SELECT set_byte(overlay(f::bytea PLACING le(float8send(target)) FROM 13), 1, get_byte(f::bytea, 1) | 4)$$;
CREATE TABLE states (id int, what text, b bytea, finished pbf);
INSERT INTO states VALUES
	(1, 'no hash', hash_set(0, '{}'), pbf_new(0)),
	(2, 'no hash, of a kind', hash_set(2, '{}'), NULL),
	(3, 'hash 0', hash_set(1, '{0}'), pbf_add_hash(pbf_new(1), 0)),
	(4, 'four', hash_set(1, '{0,1,5,-1}'), pbf_add_hash(pbf_add_hash(pbf_add_hash(pbf_add_hash(pbf_new(4), 0), 1), 5),
		-1)),
	(5, 'integers', hash_set(2, ARRAY[pbf_hash(2), pbf_hash(1)]), pbf_build('{1,2}'::int[])),
	(6, 'low rate', hash_set(1, '{1,2}', 1e-15), pbf_add_hash(pbf_add_hash(pbf_new(2, 1e-15), 1), 2)),
	(7, 'high rate', hash_set(1, '{1,2}', 0.999), pbf_add_hash(pbf_add_hash(pbf_new(2, 0.999), 1), 2)),
	(8, 'many', (SELECT hash_set(1, array_agg(i)) FROM generate_series(1, 5000) i),
		(SELECT pbf_agg_hash(i, 5000) FROM generate_series(1, 5000) i)),
	(9, 'large, blocked', (SELECT large(f, 0.01) FROM filters WHERE id = 88),
		(SELECT pbf_fold(f, 3) FROM filters WHERE id = 88)),
	(10, 'large, plain', (SELECT large(f, 0.5) FROM filters WHERE id = 16409),
		(SELECT pbf_fold(f, 4) FROM filters WHERE id = 16409)),
	(11, 'large, empty', large(pbf_new_geometry(4, 8, 64), 0.5), pbf_new_geometry(1, 8, 64));
SELECT id, what, tried(b) AS fault, b::pbf = finished AS finished, (pbf_info(b::pbf)).kind, (pbf_info(b::pbf)).layout
	FROM states ORDER BY id;
SELECT b::pbf @> '{1,2}'::int[] AS "all", b::pbf @> 1 AS one, b::pbf @> 3 AS other, b::pbf && '{2,3}'::int[] AS "any",
	2 <@ b::pbf AS contained,
	pbf_matching(b::pbf, '{0,1,2}'::int[]) AS matching, b::pbf + 3 @> '{1,2,3}'::int[] AS "add",
	(b::pbf | pbf_build('{7}'::int[])) @> '{1,2,7}'::int[] AS "union" FROM states WHERE id = 5;
SELECT b::pbf @> '1' FROM states WHERE id = 5;
-- Stored, and read from a table: probed row by row, in both orders.
CREATE TABLE stored_states AS SELECT id, b::pbf AS f FROM states WHERE id IN (3, 4, 8, 9);
SELECT s.id, count(*) AS probes, count(*) FILTER (WHERE NOT pbf_contains_hash(s.f, h)) AS missing
	FROM stored_states s, unnest('{0,1,5}'::int8[]) h
		WHERE s.id <> 9 AND (s.id <> 3 OR h = 0) AND (s.id <> 8 OR h > 0) GROUP BY s.id ORDER BY s.id;
SELECT count(*) AS probes, count(*) FILTER (WHERE NOT pbf_contains_hash(s.f, h)) AS missing
	FROM generate_series(1, 5000, 3) h, stored_states s WHERE s.id = 8;
-- One that is too full for its rate is left as it is, and says so.
SELECT large(f, 1e-15)::pbf = f AS unchanged FROM filters WHERE id = 28;

-- A filter cut short or followed by more.
CREATE TABLE bases (base text, b bytea);
INSERT INTO bases SELECT what, made::bytea FROM golden WHERE id IN (1, 3, 5, 7, 8) UNION ALL SELECT what, b
	FROM states WHERE id IN (4, 9);
SELECT base, length(b), count(*) AS tries, count(tried(substr(b, 1, n))) AS faults FROM bases,
	LATERAL generate_series(0, length(b) - 1) n GROUP BY base, b ORDER BY base COLLATE "C";
SELECT base, count(*) AS tries, count((text_in(substr('\x' || encode(b, 'hex'), 1, n))).fault) AS faults,
	min(left((text_in(substr('\x' || encode(b, 'hex'), 1, n))).fault, 5)) AS state
	FROM bases, LATERAL generate_series(0, 2 * length(b) + 1) n GROUP BY base ORDER BY base COLLATE "C";
SELECT count(*) AS tries, count(tried(b || decode(repeat('00', n), 'hex'))) AS faults FROM bases,
	generate_series(1, 20) n;

-- Every byte of the header, every other value it could have.
SET client_min_messages = error;
CREATE TABLE flips AS SELECT base, byte, value, tried(set_byte(b, byte, value)) AS fault FROM bases,
	generate_series(0, 19) byte, generate_series(0, 255) value WHERE get_byte(b, byte) <> value;
SELECT base, field, coalesce(fault, '(a filter)') AS fault, count(*) FROM flips,
	LATERAL (SELECT CASE WHEN byte < 4 THEN byte WHEN byte < 12 THEN byte / 4 * 4 ELSE 12 END AS field) x
	GROUP BY base, field, fault ORDER BY base COLLATE "C", field, fault COLLATE "C" NULLS FIRST;

-- Every bit after the header: those of the padding and those of a filter of no kind must be zero.
SELECT base, (length(b) - 20) * 8 AS bits, count(*) FILTER (WHERE fault IS NULL) AS fine,
		count(*) FILTER (WHERE fault = 'unused bits are not zero.') AS padding,
		count(*) FILTER (WHERE fault = 'a filter of no kind is not empty.') AS no_kind,
		count(*) FILTER (WHERE fault = 'hashes do not ascend.') AS order
	FROM bases, LATERAL generate_series(0, (length(b) - 20) * 8 - 1) n,
		LATERAL tried(set_bit(b, 160 + n, 1 - get_bit(b, 160 + n))) fault
	GROUP BY base, b ORDER BY base COLLATE "C";

-- Headers made by hand: sizes that are too large or not there, states that are none.
SELECT what, tried(b) AS fault FROM (VALUES
	(1, 'blocks 0', header(1, 0, 8, 0, 64)),
	(2, 'blocks 2^32-1', header(1, 0, 8, -1, 64)),
	(3, 'blocks 2^31', header(1, 0, 8, -2147483648, 64)),
	(4, '512 MB, nothing there', header(1, 0, 8, 8388607, 64)),
	(5, 'just too large', header(1, 0, 8, 8388608, 64)),
	(6, 'blocks * parts * 8 = 2^35', header(1, 0, 8, 536870912, 64)),
	(7, 'part_bits 0', header(0, 0, 1, 1, 0)),
	(8, 'part_bits 2^32-1', header(0, 0, 1, 1, -1)),
	(9, '64 parts of 2^32-1', header(0, 0, 64, 1, -1)),
	(10, '64 parts of 2^26', header(0, 0, 64, 1, 67108864)),
	(11, '63 parts of 2^26, nothing there', header(0, 0, 63, 1, 67108864)),
	(12, 'parts 65', header(0, 0, 65, 1, 64)),
	(13, 'parts 255', header(0, 0, 255, 1, 64)),
	(14, 'plain with blocks', header(0, 0, 1, 2, 64) || words('{0,0}')),
	(15, 'blocked, 9 parts', header(1, 0, 9, 1, 64) || words(array_fill(0, ARRAY[9]))),
	(16, 'blocked, 32 bits', header(1, 0, 8, 1, 32) || words(array_fill(0, ARRAY[8]))),
	(17, 'no kind, a bit', header(1, 0, 1, 1, 64) || words('{1}')),
	(18, 'kind 33', header(1, 33, 1, 1, 64) || words('{1}')),
	(19, 'rate of a finished filter', header(1, 1, 1, 1, 64, 0.01) || words('{1}')),
	(20, 'minus zero', header(1, 1, 1, 1, 64, '-0') || words('{1}')),
	(21, 'flag 8', header(9, 1, 1, 1, 64) || words('{1}')),
	(22, 'flag 8, with room for its window', header(9, 1, 1, 1, 64, 0.01) || words(array_fill(1, ARRAY[34]))),
	(23, 'flag 128', header(129, 1, 1, 1, 64) || words('{1}')),
	(30, 'set of 2^32-1', header(2, 1, 0, -1, 0, 0.01)),
	(31, 'set of 2^20+1', header(2, 1, 0, 1048577, 0, 0.01) || words('{1}')),
	(32, 'set of 2^20, nothing there', header(2, 1, 0, 1048576, 0, 0.01)),
	(33, 'set of 2, one there', header(2, 1, 0, 2, 0, 0.01) || words('{1}')),
	(34, 'set of 1, two there', header(2, 1, 0, 1, 0, 0.01) || words('{1,2}')),
	(35, 'descending', hash_set(1, '{2,1}')),
	(36, 'signed order', hash_set(1, '{-1,1}')),
	(37, 'duplicate', hash_set(1, '{1,1}')),
	(38, 'duplicate 0', hash_set(1, '{0,0}')),
	(39, '0 last', hash_set(1, '{1,0}')),
	(40, 'no kind', hash_set(0, '{1}')),
	(41, 'kind 33', hash_set(33, '{1}')),
	(42, 'rate 0', hash_set(1, '{1}', 0)),
	(43, 'rate 1', hash_set(1, '{1}', 1)),
	(44, 'rate -0.01', hash_set(1, '{1}', -0.01)),
	(45, 'rate 1e-16', hash_set(1, '{1}', 1e-16)),
	(46, 'rate NaN', hash_set(1, '{1}', 'NaN')),
	(47, 'rate Infinity', hash_set(1, '{1}', 'Infinity')),
	(48, 'set with parts', header(2, 1, 1, 1, 0, 0.01) || words('{1}')),
	(49, 'set with part_bits', header(2, 1, 0, 1, 64, 0.01) || words('{1}')),
	(50, 'set, blocked', header(3, 1, 0, 1, 0, 0.01) || words('{1}')),
	(51, 'set, large', header(6, 1, 0, 1, 0, 0.01) || words('{1}')),
	(52, 'large, rate 0', header(5, 1, 1, 1, 64) || words('{1}')),
	(53, 'large, rate NaN', header(5, 1, 1, 1, 64, 'NaN') || words('{1}')),
	(54, 'large, no kind, a bit', header(5, 0, 1, 1, 64, 0.5) || words('{1}'))) v (n, what, b) ORDER BY n;

-- Anything else: one to four bytes anywhere, changed at random (but always alike).
CREATE FUNCTION mutated(b bytea, seed int) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	r bytea := decode(md5(seed::text), 'hex');
BEGIN
	FOR i IN 0 .. get_byte(r, 0) % 4 LOOP
		b := set_byte(b, (get_byte(r, 3 * i + 1) * 256 + get_byte(r, 3 * i + 2)) % (CASE WHEN i % 2 = 0 THEN 20
			ELSE length(b) END), CASE WHEN seed % 3 = 0 THEN get_byte(r, 3 * i + 3) % 10
			ELSE get_byte(r, 3 * i + 3) END);
	END LOOP;
	RETURN b;
END $$;
SELECT count(*) AS tries, count(*) - count(tried(mutated(b, seed))) > 50 AS some_filters FROM bases,
	generate_series(1, 600) seed;

SET client_min_messages = warning;
DROP SCHEMA io CASCADE;

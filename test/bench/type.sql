--
-- Sections 1 to 4 of test/bench/type.sh. psql variable: rows.
-- Needs measure.sql. Every table is about as narrow as it can be: the cost of reading a row hides nothing.
--
SELECT :rows / 10 AS elements \gset

-- hashint8extended only serves to shuffle: 64 bits, so distinct for all that matters here.
CREATE TABLE ints AS SELECT hashint8extended(i, 42) AS x FROM generate_series(1, :rows) i;
VACUUM (FREEZE, ANALYZE) ints;

-- ---- 1. aggregates ---------------------------------------------------------------------------------------------

CREATE PROCEDURE aggregate_cases(tab text, rows int, hll_hash text) LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT * FROM (VALUES
        ('pbf_agg(x)', 'pbf_agg(x)', ''),
        ('pbf_agg(x, n)', format('pbf_agg(x, %s)', rows), ''),
        ('pbf_agg(x, n, 1e-4)', format('pbf_agg(x, %s, 1e-4)', rows), ''),
        ('count(DISTINCT x)', 'count(DISTINCT x)', ''),
        ('count(DISTINCT x), work_mem 4 MB', 'count(DISTINCT x)', 'SET work_mem = ''4MB'''),
        ('array_agg(x)', 'array_agg(x)', ''),
        (format('hll_add_agg(%s(x))', hll_hash), format('hll_add_agg(%s(x))', hll_hash), ''),
        ('count(x)', 'count(x)', '')) v (name, aggregate, settings) LOOP
        CONTINUE WHEN c.name LIKE 'hll%' AND to_regtype('hll') IS NULL;
        INSERT INTO bench_case (grp, name, query, work, settings)
        VALUES (tab, c.name, format('SELECT pg_column_size(%s) FROM %I', c.aggregate, tab), rows, c.settings);
    END LOOP;
END $$;

CREATE FUNCTION aggregate_report(tab text) RETURNS SETOF text LANGUAGE sql AS $$
    WITH r AS (SELECT * FROM bench_result WHERE grp = tab),
    peer AS (SELECT min(ms) FILTER (WHERE name LIKE 'hll%') AS hll,
                    min(ms) FILTER (WHERE name LIKE 'count(DISTINCT%') AS distinct_ FROM r)
    SELECT md_head('aggregate', 'M rows/s', 'ms', 'CPU ms', 'spread', 'time / hll_add_agg', 'time / count(DISTINCT), the faster',
                   'bytes of the result')
    UNION ALL
    (SELECT md(code(name), num(millions_per_second), num(ms), num(cpu_ms), pct(spread), num(ms / hll), num(ms / distinct_),
               num(answer::bigint))
     FROM r, peer ORDER BY ord)
$$;

\echo '## 1. Aggregates'
\echo
SELECT format('`SELECT pg_column_size(aggregate) FROM t`; t has one column of %s distinct random values, unsorted. '
              '`count(x)` is what reading the rows costs.', num(:rows::bigint));

CALL aggregate_cases('ints', :rows, 'hll_hash_bigint');
CALL measure('ints', 9, 'SELECT count(x) FROM ints');
\echo
\echo bigint:
\echo
SELECT aggregate_report('ints');

CREATE TABLE texts AS SELECT md5(x::text) AS x FROM ints;
VACUUM (FREEZE, ANALYZE) texts;
CALL aggregate_cases('texts', :rows, 'hll_hash_text');
CALL measure('texts', 5, 'SELECT count(x) FROM texts');
DROP TABLE texts;
\echo
\echo text, 32 characters each:
\echo
SELECT aggregate_report('texts');

CREATE TABLE uuids AS SELECT md5(x::text)::uuid AS x FROM ints;
VACUUM (FREEZE, ANALYZE) uuids;
CALL aggregate_cases('uuids', :rows, 'hll_hash_any');
CALL measure('uuids', 5, 'SELECT count(x) FROM uuids');
DROP TABLE uuids;
\echo
\echo uuid:
\echo
SELECT aggregate_report('uuids');

-- ---- 2. membership ---------------------------------------------------------------------------------------------

\echo
\echo '## 2. Membership'
\echo

-- One row in ten is in the set. Sorted, so that the order of the set says nothing about that of the rows.
CREATE TABLE keys AS SELECT hashint8extended(i, 42) AS y FROM generate_series(10, :rows, 10) i ORDER BY 1;
VACUUM (FREEZE, ANALYZE) keys;
CREATE TABLE filters (id int PRIMARY KEY, f pbf);
INSERT INTO filters SELECT 1, pbf_agg(y, :elements) FROM keys;
VACUUM (FREEZE, ANALYZE) filters;

INSERT INTO bench_case (grp, name, query, work, argument, settings)
SELECT 'member', name, 'SELECT count(*) FROM ints WHERE ' || condition, :rows,
       CASE WHEN condition LIKE '%$1%' THEN f END, settings
FROM filters, (VALUES
    (1, 'x <> 0', 'x <> 0', ''),
    (2, 'x = 0', 'x = 0', ''),
    (3, 'f @> x, f constant', '$1 @> x', ''),
    (4, 'f @> x, f = (SELECT ...)', '(SELECT f FROM filters WHERE id = 1) @> x', ''),
    (5, 'hash semi-join', 'x IN (SELECT y FROM keys)', ''),
    (6, 'hashed subplan', 'x IN (SELECT y FROM keys) OR false', '')) v (ord, name, condition, settings)
ORDER BY ord;

-- The same under each instruction set; its own group, so that the settings of a case stay one.
INSERT INTO bench_case (grp, name, query, work, argument, settings)
SELECT 'simd', enumval, 'SELECT count(*) FROM ints WHERE $1 @> x', :rows, f, 'SET pbf.simd = ' || enumval
FROM filters, (SELECT unnest(enumvals) AS enumval FROM pg_settings WHERE name = 'pbf.simd') s
WHERE can_simd(enumval);
INSERT INTO bench_case (grp, name, query, work) VALUES ('simd', 'x <> 0', 'SELECT count(*) FROM ints WHERE x <> 0', :rows);

CALL measure('member', 9, 'SELECT count(x) FROM ints');
CALL measure('simd', 9, 'SELECT count(x) FROM ints');

SELECT format('`SELECT count(*) FROM ints WHERE ...`, %s rows of one bigint; the set has %s elements, all of them among '
              'the rows; filter for that capacity at the default rate: %s bytes, fpr %s.',
              num(:rows::bigint), num((:elements)::bigint), num(bytes), num(fpr))
FROM filters, pbf_info(f) WHERE id = 1;
\echo
SELECT md_head('condition', 'M rows/s', 'ms', 'CPU ms', 'spread', 'time / `x <> 0`', 'time / semi-join', 'time / subplan', 'rows found');
SELECT md(code(name), num(millions_per_second), num(ms), num(cpu_ms), pct(spread), num(ms / ms('member', 'x <> 0')),
          num(ms / ms('member', 'hash semi-join')), num(ms / ms('member', 'hashed subplan')), num(answer::bigint))
FROM bench_result WHERE grp = 'member' ORDER BY ord;
\echo
\echo The constant filter under each instruction set:
\echo
SELECT md_head('pbf.simd', 'M rows/s', 'ms', 'CPU ms', 'spread', 'time / `x <> 0`');
SELECT md(code(name), num(millions_per_second), num(ms), num(cpu_ms), pct(spread), num(ms / ms('simd', 'x <> 0')))
FROM bench_result WHERE grp = 'simd' ORDER BY ord;
\echo
SELECT format('Batches of the semi-join''s hash table: %s. Plans:',
              hash_batches((SELECT query FROM bench_case WHERE grp = 'member' AND name = 'hash semi-join')));
\echo
SELECT format('- `%s`: %s%s', name, plan,
              CASE WHEN name = 'hash semi-join' AND plan !~ 'Hash (Right )?Semi Join' OR name = 'hashed subplan' AND plan !~ 'hashed SubPlan'
                   THEN ' **not the plan that was meant**' END)
FROM bench_case, LATERAL (SELECT plan_of(grp, name)) p (plan) WHERE grp = 'member' ORDER BY ord;

-- ---- 3. TOASTed filters ----------------------------------------------------------------------------------------

\echo
\echo '## 3. TOASTed filters'
\echo

-- 10 bits an element. The same bytes as bytea: what detoasting costs when nothing of pbf is involved.
CREATE TABLE toasted (id int PRIMARY KEY, name text, f pbf, b bytea);
ALTER TABLE toasted ALTER b SET STORAGE EXTERNAL;
INSERT INTO toasted (id, name, f)
SELECT 1, '1 MB blocked', pbf_agg_like(i, pbf_new_geometry(15625, 8, 64)) FROM generate_series(1::bigint, 800000) i;
INSERT INTO toasted (id, name, f)
SELECT 10, '10 MB blocked', pbf_agg_like(i, pbf_new_geometry(156250, 8, 64)) FROM generate_series(1::bigint, 8000000) i;
INSERT INTO toasted (id, name, f)
SELECT 11, '10 MB plain', pbf_agg_like(i, pbf_new_geometry(1, 8, 10000000, 'plain')) FROM generate_series(1::bigint, 8000000) i;
UPDATE toasted SET b = f::bytea;
VACUUM (FULL, FREEZE, ANALYZE) toasted;

CREATE TABLE probes AS SELECT hashint8extended(i, 7) AS x FROM generate_series(1, 1000000) i;
CREATE TABLE probes_few AS SELECT * FROM probes LIMIT 10;
CREATE TABLE probes_some AS SELECT * FROM probes LIMIT 100;
CREATE TABLE probes_more AS SELECT * FROM probes LIMIT 1000;
VACUUM (FREEZE, ANALYZE) probes;

-- n queries, each with an executor of its own, so nothing is kept from one to the next; keys in turn in and not in.
CREATE FUNCTION loop_nothing(filter int, n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    answer bool;
BEGIN
    FOR i IN 1..n LOOP
        SELECT f IS NOT NULL INTO answer FROM toasted WHERE id = filter;
    END LOOP;
    RETURN n;
END $$;
CREATE FUNCTION loop_probe(filter int, n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    answer bool;
    key bigint;
BEGIN
    FOR i IN 1..n LOOP
        key := i * CASE WHEN i % 2 = 0 THEN 331 ELSE 1000000007::bigint END;
        SELECT f @> key INTO answer FROM toasted WHERE id = filter;
    END LOOP;
    RETURN n;
END $$;
CREATE FUNCTION loop_detoast(filter int, n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    answer int;
BEGIN
    FOR i IN 1..n LOOP
        SELECT get_byte(b, i) INTO answer FROM toasted WHERE id = filter;
    END LOOP;
    RETURN n;
END $$;
CREATE FUNCTION loop_fill(filter int, n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    answer float8;
BEGIN
    FOR i IN 1..n LOOP
        SELECT pbf_fill(f) INTO answer FROM toasted WHERE id = filter;
    END LOOP;
    RETURN n;
END $$;

-- Detoasting is repeated less often: it takes long enough.
INSERT INTO bench_case (grp, name, query, work, settings)
SELECT 'toast ' || id, v.name, format('SELECT %s(%s, %s)', v.function, id, n), n, 'SET plan_cache_mode = force_generic_plan'
FROM toasted, (VALUES (1, 'no probe', 'loop_nothing', 5000, 5000), (2, 'one probe', 'loop_probe', 5000, 5000),
                      (3, 'detoast', 'loop_detoast', 200, 30), (4, 'pbf_fill', 'loop_fill', 200, 30))
              v (ord, name, function, n1, n10), LATERAL (SELECT CASE id WHEN 1 THEN n1 ELSE n10 END) w (n)
ORDER BY id, ord;
INSERT INTO bench_case (grp, name, query, work)
SELECT 'toast ' || id, n || ' probes', format('SELECT count(*) FROM %s WHERE (SELECT f FROM toasted WHERE id = %s) @> x', tab, id), n
FROM toasted, (VALUES (10, 'probes_few'), (100, 'probes_some'), (1000, 'probes_more'), (1000000, 'probes')) v (n, tab) ORDER BY id, n;
INSERT INTO bench_case (grp, name, query, work)
SELECT 'toast ' || id, 'joined', format('SELECT count(*) FROM probes, toasted WHERE id = %s AND f @> x', id), 1000000
FROM toasted;
INSERT INTO bench_case (grp, name, query, work)
SELECT 'toast ' || id, 'x <> 0', 'SELECT count(*) FROM probes WHERE x <> 0', 1000000 FROM toasted;
CALL measure('toast 1', 7);
CALL measure('toast 10', 7);
CALL measure('toast 11', 7);

CREATE TABLE toast_pages AS
SELECT id, pages_of(format('SELECT f IS NOT NULL FROM toasted WHERE id = %s', id)) AS nothing,
       pages_of(format('SELECT f @> 331::bigint FROM toasted WHERE id = %s', id)) AS probe,
       pages_of(format('SELECT get_byte(b, 0) FROM toasted WHERE id = %s', id)) AS detoast
FROM toasted;

\echo 'One probe per query, each query started anew, buffers warm. "no probe" is the same query with `f IS NOT NULL`;'
\echo '"detoast" is `get_byte(b, i)` of the same bytes in a column of type bytea with the same storage. Times are CPU times in'
\echo 'microseconds per query with all its overhead; pages are those that one query reads beyond the ones of "no probe".'
\echo
SELECT md_head('filter', 'bytes', 'no probe', 'one probe', 'detoast', '`pbf_fill(f)`', 'probe / detoast', 'TOAST pages of a probe', 'of detoasting');
SELECT md(name, num(pg_column_size(f)::bigint), num(ns_each(g, 'no probe') / 1e3), num(ns_each(g, 'one probe') / 1e3),
          num(ns_each(g, 'detoast') / 1e3), num(ns_each(g, 'pbf_fill') / 1e3), pct(ns_each(g, 'one probe') / ns_each(g, 'detoast')),
          num((probe - nothing)::bigint), num((detoast - nothing)::bigint))
FROM toasted JOIN toast_pages USING (id), LATERAL (SELECT 'toast ' || id) t (g) ORDER BY id;
\echo
\echo 'Many probes in one query, `(SELECT f FROM ...) @> x`; "joined": the same million with `FROM probes, toasted WHERE f @> x`. For few probes'
\echo 'the time of the whole query in ms (parsing and planning included), for a million the CPU time of each in ns, beside that of `x <> 0`.'
\echo
SELECT md_head('filter', '10 probes, ms', '100, ms', '1000, ms', '1,000,000, ns each', 'joined, ns each', '`x <> 0`, ns each');
SELECT md(name, num(ms(g, '10 probes')), num(ms(g, '100 probes')), num(ms(g, '1000 probes')), num(ns_each(g, '1000000 probes')),
          num(ns_each(g, 'joined')), num(ns_each(g, 'x <> 0')))
FROM toasted, LATERAL (SELECT 'toast ' || id) t (g) ORDER BY id;

-- ---- 4. unions -------------------------------------------------------------------------------------------------

\echo
\echo '## 4. Unions'
\echo

-- The peer is the server's own OR of bit strings of the same length.
CREATE TABLE parts (id int PRIMARY KEY, f pbf);
CREATE TABLE strings (id int PRIMARY KEY, s bit(819200));
ALTER TABLE strings ALTER s SET STORAGE EXTERNAL;
INSERT INTO parts
SELECT id, (SELECT pbf_agg_like(id * 1000::bigint + i, pbf_new_geometry(1600, 8, 64)) FROM generate_series(1, 100) i)
FROM generate_series(1, 1000) id;
INSERT INTO strings SELECT id, ('x' || repeat(md5(id::text), 6400))::bit(819200) FROM generate_series(1, 1000) id;
VACUUM (FREEZE, ANALYZE) parts, strings;

INSERT INTO bench_case (grp, name, query, work) VALUES
    ('union', 'pbf_union_agg(f)', 'SELECT pg_column_size(pbf_union_agg(f)) FROM parts', 1000),
    ('union', 'bit_or(s)', 'SELECT pg_column_size(bit_or(s)) FROM strings', 1000),
    ('union', 'pbf_is_empty(f)', 'SELECT count(pbf_is_empty(f)) FROM parts', 1000),
    ('union', 'pbf_union(a.f, b.f)', 'SELECT count(pbf_union(a.f, b.f)) FROM parts a JOIN parts b ON b.id = a.id + 1', 999),
    ('union', 'a.s | b.s', 'SELECT count(a.s | b.s) FROM strings a JOIN strings b ON b.id = a.id + 1', 999);
CALL measure('union', 7);
SELECT format('%s filters of %s bytes, geometry %s x %s x %s, TOASTed; bit strings `s` of as many bits. `pbf_is_empty(f)` is about what detoasting costs.',
              num(count(*)), num(max(bytes)), max(blocks), max(parts), max(part_bits))
FROM parts, pbf_info(f);
\echo
SELECT md_head('', 'ms', 'CPU ms', 'CPU us each', 'spread', 'time / that of bit strings');
SELECT md(code(name), num(ms), num(cpu_ms), num(ns_each / 1e3), pct(spread),
          CASE name WHEN 'pbf_union_agg(f)' THEN num(ms / ms('union', 'bit_or(s)'))
                    WHEN 'pbf_union(a.f, b.f)' THEN num(ms / ms('union', 'a.s | b.s')) END)
FROM bench_result WHERE grp = 'union' ORDER BY ord;

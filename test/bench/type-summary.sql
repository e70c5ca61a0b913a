--
-- Section 6 of test/bench/type.sh: what had to hold, and what was measured. psql variables: rows, elements; kernel, lines
-- of "size <tab> kernel <tab> column <tab> value" from the output of the kernel benchmark.
--
-- cpu: the same ratio of the times on a CPU, which other work on the machine disturbs less.
CREATE TABLE must_hold (
    ord int GENERATED ALWAYS AS IDENTITY, what text, measured float8, cpu float8, target float8, note text
);

CREATE FUNCTION ratio_must_hold(what text, g text, this text, that text, target float8) RETURNS void LANGUAGE sql AS $$
    INSERT INTO must_hold (what, measured, cpu, target)
    VALUES (what, ms(g, this) / ms(g, that), cpu_ms(g, this) / cpu_ms(g, that), target)
$$;

CREATE TABLE kernel_lines (line text);
INSERT INTO kernel_lines SELECT string_to_table(:'kernel', E'\n');
CREATE VIEW kernel_result AS
SELECT split_part(line, E'\t', 1) AS size, split_part(line, E'\t', 2) AS kernel, split_part(line, E'\t', 3) AS measure,
       split_part(line, E'\t', 4)::float8 AS value
FROM kernel_lines WHERE line <> '';

\o /dev/null
-- aggregates
SELECT ratio_must_hold('`pbf_agg(x, n)` : `hll_add_agg(hll_hash_bigint(x))`, bigint', 'ints', 'pbf_agg(x, n)',
                       'hll_add_agg(hll_hash_bigint(x))', 1);
SELECT ratio_must_hold(format('`pbf_agg(x)` : `%s`, bigint', name), 'ints', 'pbf_agg(x)', name, 1)
FROM bench_case WHERE grp = 'ints' AND name LIKE 'count(DISTINCT%' ORDER BY ord;

-- membership
SELECT ratio_must_hold(format('%s : %s', code(f), peer), 'member', f, peer, target)
FROM (VALUES ('f @> x, f constant'), ('f @> x, f = (SELECT ...)')) v (f),
     (VALUES (1, 'x <> 0', 1.4), (2, 'hash semi-join', 1 / 3.0), (3, 'hashed subplan', 1 / 3.0)) w (ord, peer, target)
ORDER BY f, ord;
\o

-- no false negative; the rate at capacity, here
INSERT INTO must_hold (what, measured, target)
SELECT 'elements that the filter misses, of ' || num(:elements::bigint), :elements - count(*), 0
FROM keys, filters WHERE id = 1 AND f @> y;
INSERT INTO must_hold (what, measured, target)
SELECT 'false positive rate at capacity : the 0.01 asked for', (answer::float8 - :elements) / (:rows - :elements) / 0.01, 1.25
FROM bench_result WHERE grp = 'member' AND name = 'f @> x, f constant';

-- TOAST: the loops of both differ in length
INSERT INTO must_hold (what, measured, cpu, target)
SELECT 'one probe : detoasting, ' || t.name, p.ms / p.work / (d.ms / d.work), p.cpu_ms / p.work / (d.cpu_ms / d.work), 0.05
FROM toasted t JOIN bench_result p ON p.grp = 'toast ' || id AND p.name = 'one probe'
     JOIN bench_result d ON d.grp = p.grp AND d.name = 'detoast'
WHERE id = 10;
INSERT INTO must_hold (what, measured, target, note)
SELECT 'TOAST pages of one probe, ' || name, probe - nothing, 10, 'a handful'
FROM toasted JOIN toast_pages USING (id) WHERE id = 10;

-- kernels: what can be judged within one run. Absolute figures were measured on another machine.
INSERT INTO must_hold (what, measured, target)
SELECT format('%s, %s: %s', size, kernel, measure), value, 1.25
FROM kernel_result WHERE measure LIKE '%/ limit' AND kernel NOT IN ('scalar', 'loop') AND size IN ('16 MiB', '256 MiB')
ORDER BY kernel, size, measure DESC;
INSERT INTO must_hold (what, measured, target)
SELECT format('%s, %s : %s: %s', size, a.kernel, b.kernel, measure), a.value / b.value, 0.5
FROM kernel_result a JOIN kernel_result b USING (size, measure)
WHERE a.kernel NOT IN ('scalar', 'loop') AND size IN ('32 KiB', '1 MiB') AND measure LIKE 'cheap hash: %'
      AND (b.kernel = 'scalar' OR b.kernel = 'loop' AND measure LIKE '%probe one')
ORDER BY a.kernel, measure DESC, b.kernel, size DESC;

\echo
\echo '## 6. What must hold'
\echo
SELECT 'Ratios are of median times, this : that; lower is better. "unclear": time and CPU time disagree.'
       || CASE WHEN :rows < 10000000 THEN ' **The limits are meant for 10 million rows; these are fewer.**' ELSE '' END;
\echo
SELECT md('', 'of times', 'of CPU times', 'at most', '') || E'\n| --- | ---: | ---: | ---: | --- |';
SELECT md(what, num(measured), num(cpu), coalesce(note || ', ' || num(target), num(target)),
          CASE WHEN measured IS NULL THEN 'not measured'
               WHEN greatest(measured, cpu) <= target THEN 'met'
               WHEN least(measured, cpu) > target THEN '**not met**'
               ELSE '**unclear**' END)
FROM must_hold ORDER BY ord;

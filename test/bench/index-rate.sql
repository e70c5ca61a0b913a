--
-- False positives, growth, small tables and plans of test/bench/index.sh; t_pbfidx is the only index of t in use.
--
\o /dev/null
CREATE TABLE rate (ord int GENERATED ALWAYS AS IDENTITY, state text, ranges bigint, bytes bigint, est float8, est_pages float8, measured float8, pages float8, n int, overfull bigint);

-- Heap pages that n look-ups of what is not there read; each is one range read in vain.
CREATE FUNCTION false_pages(tab regclass, n int) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET pbf.filter_rows = off AS $$
DECLARE
    plan json;
    pages bigint = 0;
BEGIN
    FOR i IN 1..n LOOP
        EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) SELECT FROM %s WHERE id = %L', tab, md5('miss ' || i)) INTO plan;
        IF plan->0->'Plan'->>'Node Type' <> 'Bitmap Heap Scan' THEN
            RAISE 'not a bitmap scan: %', plan;
        END IF;
        pages := pages + (plan->0->'Plan'->>'Exact Heap Blocks')::int + (plan->0->'Plan'->>'Lossy Heap Blocks')::int;
    END LOOP;
    RETURN pages;
END $$;

CREATE PROCEDURE judge_rate(what text, tab regclass, idx regclass, n int) LANGUAGE plpgsql AS $$
DECLARE
    s record;
    pages bigint = false_pages(tab, n);
BEGIN
    SELECT * INTO s FROM pbfidx_stats(idx);
    INSERT INTO rate (state, ranges, bytes, est, est_pages, measured, pages, n, overfull)
    VALUES (what, s.ranges, s.index_pages * 8192, s.est_false_positive_rate, s.est_false_pages,
            pages::float8 / n / s.ranges / s.pages_per_range, pages::float8 / n, n, s.overfull_slabs);
END $$;

CALL judge_rate('t at build', 't', 't_pbfidx', 10000);

-- Tenfold growth, then updates. i is there to find new keys for.
SELECT least(200000, :rows / 10) AS small \gset
CREATE TABLE grown AS SELECT * FROM make_rows(1, :small);
VACUUM (ANALYZE) grown;
CREATE INDEX grown_idx ON grown USING pbfidx (id);
CALL judge_rate(num(:small::bigint) || ' rows at build', 'grown', 'grown_idx', 20000);
INSERT INTO grown SELECT * FROM make_rows(:small + 1, 9 * :small);
CALL judge_rate('grown tenfold by INSERT, no VACUUM', 'grown', 'grown_idx', 10000);
VACUUM (ANALYZE) grown;
CALL judge_rate('then VACUUM', 'grown', 'grown_idx', 10000);
UPDATE grown SET g = g + 1 WHERE k % 2 = 0;
VACUUM (ANALYZE) grown;
CALL judge_rate('then 50 % updated (other column) and VACUUM', 'grown', 'grown_idx', 10000);
UPDATE grown SET id = md5('new' || id::text)::uuid WHERE k % 2 = 1;
VACUUM (ANALYZE) grown;
CALL judge_rate('then the other 50 % given new keys and VACUUM', 'grown', 'grown_idx', 10000);
UPDATE grown SET id = md5('newer' || id::text)::uuid WHERE k % 2 = 0;
VACUUM (ANALYZE) grown;
CALL judge_rate('then the first 50 % given new keys and VACUUM', 'grown', 'grown_idx', 10000);
VACUUM (ANALYZE) grown;
CALL judge_rate('then VACUUM again', 'grown', 'grown_idx', 10000);
SELECT pbfidx_check('grown_idx'), pbfidx_check('t_pbfidx');
REINDEX INDEX grown_idx;
CALL judge_rate('then REINDEX', 'grown', 'grown_idx', 10000);

CREATE TABLE tiny AS SELECT * FROM make_rows(1, 1000);
VACUUM (ANALYZE) tiny;
CREATE INDEX tiny_idx ON tiny USING pbfidx (id);
CREATE TABLE few AS SELECT * FROM tiny LIMIT 50;
VACUUM (ANALYZE) few;
CREATE INDEX few_idx ON few USING pbfidx (id);
CREATE TABLE coarse AS SELECT id, (g % 2)::int AS half, g FROM make_rows(1, :small);
VACUUM (ANALYZE) coarse;
CREATE INDEX coarse_idx ON coarse USING pbfidx (half);
INSERT INTO index_size VALUES ('tiny', pg_relation_size('tiny_idx'));

-- Plans under the default settings.
CREATE TABLE plan (ord int GENERATED ALWAYS AS IDENTITY, query text, plan text, wanted text);
CREATE PROCEDURE judge_plan(query text, wanted text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text[] = '{}';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        CONTINUE WHEN line ~ '(Cond|Filter):';
        lines := lines || trim(line, ' ->');
    END LOOP;
    INSERT INTO plan (query, plan, wanted) VALUES (query, array_to_string(lines, ' / '), wanted);
END $$;
SELECT md5('1')::uuid AS one \gset
CALL judge_plan(format('SELECT * FROM t WHERE id = %L', :'one'), 't_pbfidx');
CALL judge_plan(format('SELECT * FROM t WHERE id IN (%L, %L)', :'one', md5('2')), 't_pbfidx');
CALL judge_plan(format('SELECT * FROM grown WHERE id = %L', :'one'), 'grown_idx');
CALL judge_plan(format('SELECT * FROM few WHERE id = %L', :'one'), 'Seq Scan');
CALL judge_plan('SELECT * FROM coarse WHERE half = 1', 'Seq Scan');
CALL judge_plan('SELECT * FROM t WHERE id > md5(''1'')::uuid', 'Seq Scan');
CALL judge_plan(format('SELECT * FROM tiny WHERE id = %L', :'one'), '');
CALL use_index('t', 't_pbfidx', 't_btree');
CALL judge_plan(format('SELECT * FROM t WHERE id = %L', :'one'), 't_btree');
CALL use_index('t', 't_pbfidx', 't_brin_tuned');
CALL judge_plan(format('SELECT * FROM t WHERE id = %L', :'one'), 't_pbfidx');
CALL use_index('t', 't_pbfidx');
SET pbf.enable_index = off;
CALL judge_plan(format('SELECT * FROM t WHERE id = %L /* pbf.enable_index = off */', :'one'), 'Seq Scan');
RESET pbf.enable_index;
\o

\echo
\echo '## 6. False positives'
\echo
\echo 'Heap pages read in vain by look-ups of keys that are not there, over pages and look-ups; beside what pbfidx_stats'
\echo 'says. Asked for: the default, that is 2e-6, in a table of more than 500,000 pages 1 / pages. pbfidx_check had nothing to object to. All but the first line are of another,'
\echo 'smaller table.'
\echo
SELECT md_head('state', 'ranges', 'index, MB', 'look-ups', 'pages in vain of one', 'est_false_pages', 'measured rate', 'est_false_positive_rate', 'est. / measured', 'measured / asked', 'overfull slabs');
SELECT md(state, num(ranges), mb(bytes), num(n), num(pages), num(est_pages), num(measured), num(est),
          CASE WHEN measured > 0 THEN num(est / measured) END, num(measured / least(2e-6, 1.0 / ranges)), overfull::text)
FROM rate ORDER BY ord;
\echo
\echo '## 7. Plans'
\echo
\echo 'Under the default settings; few has 50 rows, tiny 1,000, coarse two values in its column.'
\echo
SELECT md('query', 'plan', 'wanted', '') || E'\n| --- | --- | --- | --- |';
SELECT md(code(query), code(plan), code(nullif(wanted, '')), CASE WHEN wanted = '' THEN 'either' WHEN plan ~ wanted THEN 'as wanted' ELSE '**not as wanted**' END)
FROM plan ORDER BY ord;

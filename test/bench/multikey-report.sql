--
-- The report of test/bench/multikey.sh.
--
\o /dev/null
CREATE VIEW command AS
SELECT grp, name, percentile_cont(.5) WITHIN GROUP (ORDER BY ms) AS ms, percentile_cont(.5) WITHIN GROUP (ORDER BY cpu_ms) AS cpu_ms,
       percentile_cont(.5) WITHIN GROUP (ORDER BY answer::float8) AS wal
FROM bench_time GROUP BY grp, name;
CREATE VIEW size AS
SELECT tab, max(bytes) FILTER (WHERE name = 'pbfidx')::float8 AS pbfidx, max(bytes) FILTER (WHERE name = 'gin')::float8 AS gin, max(bits_per_key) AS bits
FROM index_size GROUP BY tab;
CREATE FUNCTION cmd(g text, n text) RETURNS command LANGUAGE sql STABLE AS $$ SELECT c FROM command c WHERE grp = g AND name = n $$;
-- A query's medians, then those of the queries of a kind.
CREATE VIEW looked AS
SELECT tab, name, peer, min(ord) AS ord, count(*) AS n, percentile_cont(.5) WITHIN GROUP (ORDER BY rows) AS rows,
       percentile_cont(.5) WITHIN GROUP (ORDER BY ms) AS ms, percentile_cont(.5) WITHIN GROUP (ORDER BY cpu_ms) AS cpu_ms,
       percentile_cont(.5) WITHIN GROUP (ORDER BY index_ms) AS index_ms
FROM (SELECT q.*, peer, percentile_cont(.5) WITHIN GROUP (ORDER BY l.ms) AS ms, percentile_cont(.5) WITHIN GROUP (ORDER BY l.cpu_ms) AS cpu_ms,
             percentile_cont(.5) WITHIN GROUP (ORDER BY l.index_ms) AS index_ms
      FROM bench_look l JOIN query q USING (ord) GROUP BY q.tab, q.ord, q.name, q.cond, q.rows, peer) x
GROUP BY tab, name, peer;
CREATE TABLE tables (ord int, tab text, title text, size_target float8);
INSERT INTO tables VALUES (1, 'log', 'trigrams', 1 / 6.0), (2, 'words', 'tsvector', 1 / 4.0), (3, 'tags', 'arrays', 1 / 4.0), (4, 'docs', 'jsonb', 1 / 3.0);
\o
\echo '### 1. Size, build, insert, VACUUM'
\echo
SELECT format('Tables: log, %s lines; words, their tsvector (simple); tags, arrays of 3 to 8 of 50,000 tags, most of them rare; docs, documents of '
              'seven values. Inserts: %s rows at a time, microseconds a row over those without an index; "pending list": fastupdate on, the work is '
              'left to VACUUM. VACUUM after deleting 2.5 %% of the rows, the table included.', num((SELECT count(*) FROM log)), num((SELECT count(*) FROM log_more)));
\echo
SELECT md_head('', 'pbfidx, MB', 'bits a key', 'GIN, MB', 'pbfidx / GIN', 'build, s', 'GIN, s', '/ GIN', 'CPU / CPU');
SELECT md(title, num(pbfidx / 1e6), num(bits), num(gin / 1e6), num(pbfidx / gin), num(p.ms / 1000), num(g.ms / 1000), num(p.ms / g.ms), num(p.cpu_ms / g.cpu_ms))
FROM tables t JOIN size USING (tab), cmd('build ' || t.tab, 'pbfidx') p, cmd('build ' || t.tab, 'gin') g ORDER BY ord;
\echo
SELECT md_head('', 'insert, us', 'GIN, us', '/ GIN', 'CPU / CPU', 'pending list, us', '/ pending list', 'WAL / GIN', 'VACUUM, ms', 'GIN, ms', '/ GIN');
SELECT md(title, num((p.ms - n.ms) * 1000 / m), num((o.ms - n.ms) * 1000 / m), num((p.ms - n.ms) / (o.ms - n.ms)), num((p.cpu_ms - n.cpu_ms) / (o.cpu_ms - n.cpu_ms)),
          num((g.ms - n.ms) * 1000 / m), num((p.ms - n.ms) / (g.ms - n.ms)), num((p.wal - n.wal) / (o.wal - n.wal)), num(vp.ms), num(vg.ms), num(vp.ms / vg.ms))
FROM tables t, (SELECT count(*) AS m FROM log_more) x, cmd('insert ' || t.tab, 'none') n, cmd('insert ' || t.tab, 'pbfidx') p, cmd('insert ' || t.tab, 'gin') g, cmd('insert ' || t.tab, 'gin_off') o,
     cmd('vacuum ' || t.tab, 'pbfidx') vp, cmd('vacuum ' || t.tab, 'gin') vg ORDER BY ord;
\echo
\echo 'How often a range of four pages that lacks a tag is read all the same, in leaf slabs that have no upper:'
\echo
SELECT md_head('bits_per_key', 'bits a key', 'rate');
SELECT md(num(asked), num(bits), num(rate)) FROM rates ORDER BY asked;
\echo
\echo '### 2. Look-ups'
\echo
\echo '`SELECT count(*)`, planning included, all in shared buffers. Medians of the queries of a kind; "index": the time in the'
\echo 'Bitmap Index Scan alone, for pbfidx with a look at the rows of the pages found, where it takes one. "Few rows": at most one of 1,000.'
\echo
SELECT md_head('', 'query', 'queries', 'rows', 'pbfidx, ms', 'index, ms', 'GIN, ms', 'index, ms', '/ GIN', 'CPU / CPU', 'seq scan, ms');
SELECT md(title, p.name, num(p.n), num(p.rows), num(p.ms), num(p.index_ms), num(g.ms), num(g.index_ms), num(p.ms / g.ms), num(p.cpu_ms / g.cpu_ms), num(s.ms))
FROM tables t JOIN looked p USING (tab) JOIN looked g USING (tab, name) LEFT JOIN looked s ON s.tab = p.tab AND s.name = p.name AND s.peer = 'none'
WHERE p.peer = 'pbfidx' AND g.peer = 'gin' ORDER BY t.ord, p.ord;
\echo
SELECT format('To name at most as many wrong rows of the table tags as right ones, any structure that loses none needs log2(n / r) bits for each key '
              'of a tag that r of n rows have (Carter et al. 1978), a Bloom filter 1.44 times that. For tags of at most one row of 1,000, with none for the '
              'others: %s and %s bits for each of the %s keys in the rows. A quarter of GIN''s size is %s.',
              num(r.bits / keys), num(1.44 * r.bits / keys), num(keys), num(gin * 8 / 4 / keys))
FROM row_filter r, size WHERE tab = 'tags';
\o /dev/null
CREATE TABLE must_hold (ord int GENERATED ALWAYS AS IDENTITY, what text, measured float8, cpu float8, target float8);
INSERT INTO must_hold (what, measured, target) SELECT 'size : GIN, ' || title, pbfidx / gin, size_target FROM tables JOIN size USING (tab) ORDER BY ord;
INSERT INTO must_hold (what, measured, cpu, target) SELECT 'build : GIN, ' || title, p.ms / g.ms, p.cpu_ms / g.cpu_ms, 0.5
FROM tables t, cmd('build ' || t.tab, 'pbfidx') p, cmd('build ' || t.tab, 'gin') g ORDER BY ord;
INSERT INTO must_hold (what, measured, cpu, target) SELECT 'insert : GIN without pending list, ' || title, (p.ms - n.ms) / (o.ms - n.ms), (p.cpu_ms - n.cpu_ms) / (o.cpu_ms - n.cpu_ms), 1 / 3.0
FROM tables t, cmd('insert ' || t.tab, 'none') n, cmd('insert ' || t.tab, 'pbfidx') p, cmd('insert ' || t.tab, 'gin_off') o ORDER BY ord;
INSERT INTO must_hold (what, measured, cpu, target)
SELECT 'look-up : GIN, ' || title || ', ' || p.name, p.ms / g.ms, p.cpu_ms / g.cpu_ms, CASE WHEN p.name LIKE 'LIKE%' THEN 1 / 3.0 ELSE 2 END
FROM tables t JOIN looked p USING (tab) JOIN looked g USING (tab, name)
WHERE p.peer = 'pbfidx' AND g.peer = 'gin' AND p.name !~ 'frequent|regular|ILIKE|many rows' ORDER BY t.ord, p.ord;
\o
\echo
\echo '### 3. What must hold'
\echo
\echo 'Ratios are of medians, pbfidx : GIN; lower is better. "unclear": time and CPU time disagree.'
\echo
SELECT md('', 'measured', 'of CPU times', 'at most', '') || E'\n| --- | ---: | ---: | ---: | --- |';
SELECT md(what, num(measured), num(cpu), num(target),
          CASE WHEN greatest(measured, cpu) <= target THEN 'met' WHEN least(measured, cpu) > target THEN '**not met**' ELSE '**unclear**' END)
FROM must_hold ORDER BY ord;

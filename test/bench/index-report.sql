--
-- Sections 1 to 4 of the report of test/bench/index.sh.
--
SELECT num(:rows::bigint) AS rows_text, num(:more::bigint) AS more_text \gset
\echo '## 1. Size and build'
\echo
SELECT format('Table t: %s rows of (id uuid, k bigint, h int, g int, note text), %s pages when the indexes were built, %s MB; ids are random. '
              'contrib/bloom knows int, not uuid: its indexes are on h, a hash of the id. "Tuned" is the best known of BRIN: %s '
              'Parallel: with two workers (and the leader), beside serial builds made in turn with them; where fewer cores are free than that, the leader''s share of the CPU time says more than the time.',
              :'rows_text', num(s.heap_pages), mb(s.heap_pages * 8192), (SELECT code(substring(ddl FROM 'brin.*')) FROM peer WHERE name = 'brin_tuned') || '.')
FROM stats_at_build s;
\echo
SELECT md_head('index', 'MB', 'bits a row', 'size / btree', 'build, s', 'CPU s', 'spread', 'builds', 'build / btree', 'serial in turn, s', '2 workers, s', 'spread', 'builds of each', '/ serial', 'leader''s CPU / serial CPU');
SELECT md(title, mb(bytes), num(bytes * 8.0::float8 / :rows), num(bytes::float8 / (SELECT bytes FROM index_size WHERE name = 'btree')),
          num(b.ms / 1000), num(b.cpu_ms / 1000), pct(b.range_ms / b.ms), peer.runs::text,
          num(b.ms / (SELECT ms FROM bench_command WHERE grp = 'build' AND name = 'btree')), num(s.ms / 1000), num(p.ms / 1000), pct(p.range_ms / p.ms), nullif(peer.turns, 0)::text, num(p.ms / s.ms), num(p.cpu_ms / s.cpu_ms))
FROM peer JOIN index_size USING (name) JOIN bench_command b ON b.grp = 'build' AND b.name = peer.name
     LEFT JOIN bench_command s ON s.grp = 'serial' AND s.name = peer.name LEFT JOIN bench_command p ON p.grp = 'parallel' AND p.name = peer.name
ORDER BY ord;
\echo
SELECT format('%spbfidx_stats of the big one: %s leaf slabs, %s upper slabs, %s bits a key.',
              (SELECT format('pbfidx on 1,000 rows: %s pages. ', bytes / 8192) FROM index_size WHERE name = 'tiny'), leaf_slabs, upper_slabs, num(bits_per_key))
FROM stats_at_build;
\echo
\echo '## 2. Look-ups'
\echo
\echo 'One row by its id, warm (up to 10 million rows all is in shared buffers), executor included: a static `SELECT k INTO v FROM t WHERE id = key` in a'
\echo 'PL/pgSQL loop, timed with clock_timestamp() on either side; generic plan. CPU: of the whole loop, over the look-ups.'
\echo
SELECT md_head('index', 'hit, ms', 'p99', 'CPU', 'miss, ms', 'p99', 'CPU', 'hits, misses timed', 'hit / btree', 'CPU / btree');
SELECT md(title, us(h.us), us(h.p99), us(h.cpu_us), us(m.us), us(m.p99), us(m.cpu_us), num(h.n) || ', ' || num(m.n),
          num(h.us / b.us), num(h.cpu_us / b.cpu_us))
FROM peer JOIN look h ON h.peer = name AND h.want = 'hit' JOIN look m ON m.peer = name AND m.want = 'miss'
     JOIN look b ON b.peer = 'btree' AND b.want = 'hit'
ORDER BY ord;
\echo
\echo 'IN of 100 and of 10,000, all of them hits. As a parameter (generic plan), the server compares every row that it rechecks with all of'
\echo 'them; as constants, planned each time, it looks them up in a hash table (planning included). "-": would take too long.'
\echo 'Sessions are new, and most of the pages that a list wants new to them: the system maps each into the process, which may take longer'
\echo 'than anything else.'
\echo
SELECT md_head('index', 'parameter, ms', 'p99', '/ btree', 'constants, ms', 'p99', '/ btree', '10,000 as parameter, ms', 'p99', '/ btree', 'timed');
SELECT md(title, us(i.us), us(i.p99), num(i.us / ib.us), us(c.us), us(c.p99), num(c.us / cb.us), us(l.us), us(l.p99), num(l.us / lb.us),
          num(coalesce(i.n, 0) + coalesce(c.n, 0) + coalesce(l.n, 0)))
FROM peer LEFT JOIN look i ON i.peer = name AND i.want = 'in' LEFT JOIN look c ON c.peer = name AND c.want = 'in_const'
     LEFT JOIN look l ON l.peer = name AND l.want = 'in_long'
     JOIN look ib ON ib.peer = 'btree' AND ib.want = 'in' JOIN look cb ON cb.peer = 'btree' AND cb.want = 'in_const'
     JOIN look lb ON lb.peer = 'btree' AND lb.want = 'in_long'
ORDER BY ord;
\echo
SELECT format('The same from pgbench -M prepared, one client over a Unix socket: the time the client waits, protocol, process switches '
              'and md5() of the argument included. `SELECT 1` takes %s ms.', us(us))
FROM client WHERE peer = 'protocol';
\echo
SELECT md_head('index', 'hit, ms', 'p99', 'miss, ms', 'p99', 'hits, misses timed', 'hit / btree');
SELECT md(title, us(h.us), us(h.p99), us(m.us), us(m.p99), num(h.n) || ', ' || num(m.n),
          num(h.us / (SELECT us FROM client WHERE peer = 'btree' AND want = 'hit')))
FROM peer JOIN client h ON h.peer = name AND h.want = 'hit' JOIN client m ON m.peer = name AND m.want = 'miss'
ORDER BY ord;
\echo
\echo 'Cold: after a restart of the server, its buffers empty, the operating system''s cache not; catalogs read before. Hits,'
\echo 'one after the other, of up to 100 different keys.'
\echo
SELECT md_head('index', 'first, ms', 'median, ms', 'p99', 'timed', 'median / btree');
SELECT md(title, us(first_us), us(us), us(p99), num(n), num(us / (SELECT us FROM look WHERE peer = 'btree' AND want = 'cold')))
FROM peer JOIN look ON peer = name AND want = 'cold' ORDER BY ord;
\echo
\if :short
\q
\endif
\echo '## 3. Writing'
\echo
SELECT format('Into t with that index alone. INSERT INTO t SELECT of %s rows, 3 times, with new random ids; COPY of as many from a text file, 3 '
              'times; UPDATE of another column of one row in %s, 3 times, rolled back, pages full, so that every row version gets '
              'index entries. Microseconds are medians, less those without an index. BRIN summarizes new pages only in VACUUM: '
              'its cost is not in here, and look-ups read those pages.', :'more_text', :share);
\echo
SELECT md_head('index', 'INSERT, ms', 'CPU ms', 'spread', 'us a row over none', 'CPU us', '/ btree', 'CPU / btree', 'COPY, ms', 'us a row over none', 'CPU us', '/ btree', 'UPDATE, ms', 'CPU ms', 'ms over none', '/ btree');
WITH w AS (
    SELECT c.*, c.ms - n.ms AS over, c.cpu_ms - n.cpu_ms AS cpu_over FROM bench_command c JOIN bench_command n USING (grp) WHERE n.name = 'none'
)
SELECT md(coalesce(title, 'none'), num(i.ms), num(i.cpu_ms), pct(i.range_ms / i.ms), num(i.over * 1000 / :more), num(i.cpu_over * 1000 / :more),
          num(i.over / ib.over), num(i.cpu_over / ib.cpu_over), num(c.ms), num(c.over * 1000 / :more), num(c.cpu_over * 1000 / :more),
          num(c.over / cb.over), num(u.ms), num(u.cpu_ms), num(u.over), num(u.over / ub.over))
FROM w i LEFT JOIN peer USING (name) JOIN w ib ON ib.grp = i.grp AND ib.name = 'btree'
     JOIN w c ON c.grp = 'copy' AND c.name = i.name JOIN w cb ON cb.grp = 'copy' AND cb.name = 'btree'
     JOIN w u ON u.grp = 'update' AND u.name = i.name JOIN w ub ON ub.grp = 'update' AND ub.name = 'btree'
WHERE i.grp = 'insert' ORDER BY ord NULLS FIRST;
\echo
\echo 'Bytes of WAL for a row, heap and index together, full_page_writes on. "Steady": long after the last checkpoint, so that pages'
\echo 'are hardly ever logged as a whole. "After a checkpoint": the first such INSERT after one, and the time it took.'
\echo
SELECT md_head('index', 'INSERT, steady', '/ btree', 'after a checkpoint', '/ btree', 'ms', 'COPY', 'UPDATE, of a row updated');
SELECT md(coalesce(title, 'none'), num(i.wal / :more), num(i.wal / (SELECT wal FROM bench_command WHERE grp = 'insert' AND name = 'btree')),
          num(f.answer::float8 / :more), num(f.answer::float8 / (SELECT answer::float8 FROM bench_time WHERE grp = 'insert' AND name = 'btree' AND run = 0)),
          num(f.ms), num(c.wal / :more), num(u.wal / :rows * :share))
FROM bench_command i LEFT JOIN peer USING (name) JOIN bench_time f ON f.grp = 'insert' AND f.name = i.name AND f.run = 0
     JOIN bench_command c ON c.grp = 'copy' AND c.name = i.name JOIN bench_command u ON u.grp = 'update' AND u.name = i.name
WHERE i.grp = 'insert' ORDER BY ord NULLS FIRST;
\echo
\echo '## 4. VACUUM'
\echo
\echo 'What VACUUM does for the index after 10 % of the rows were deleted, 3 times, on a copy of t: from the times of its messages in'
\echo 'the server''s log (milliseconds, to the nearest). All these indexes are on that table, and VACUUM took them one by one.'
\echo
SELECT md_head('index', 'delete, ms', 'clean-up, ms', 'together', '/ btree');
CREATE VIEW vacuumed AS
SELECT peer, percentile_cont(.5) WITHIN GROUP (ORDER BY d) AS deletion, percentile_cont(.5) WITHIN GROUP (ORDER BY c) AS cleanup,
       percentile_cont(.5) WITHIN GROUP (ORDER BY d + c) AS ms
FROM (SELECT run, peer, coalesce(sum(ms) FILTER (WHERE phase = 'delete'), 0) AS d, coalesce(sum(ms) FILTER (WHERE phase = 'cleanup'), 0) AS c
      FROM bench_vacuum GROUP BY 1, 2) x
GROUP BY peer;
SELECT md(title, num(deletion), num(cleanup), num(ms), num(ms / (SELECT ms FROM vacuumed WHERE peer = 'btree')))
FROM vacuumed JOIN peer ON name = peer ORDER BY ord;

--
-- Section 8 of test/bench/index.sh: what had to hold, and what was measured.
--
\o /dev/null
CREATE TABLE must_hold (ord int GENERATED ALWAYS AS IDENTITY, what text, measured float8, cpu float8, target float8, note text);
CREATE FUNCTION bytes_of(n text) RETURNS float8 LANGUAGE sql AS $$ SELECT bytes::float8 FROM index_size WHERE name = n $$;
CREATE FUNCTION cmd(g text, n text) RETURNS bench_command LANGUAGE sql AS $$ SELECT c FROM bench_command c WHERE grp = g AND name = n $$;
CREATE FUNCTION looked(p text, w text) RETURNS look LANGUAGE sql AS $$ SELECT l FROM look l WHERE peer = p AND want = w $$;
CREATE FUNCTION asked(p text, w text) RETURNS client LANGUAGE sql AS $$ SELECT l FROM client l WHERE peer = p AND want = w $$;

INSERT INTO must_hold (what, measured, target) VALUES
('size : btree', bytes_of('pbfidx') / bytes_of('btree'), 1 / 8.0);
INSERT INTO must_hold (what, measured, cpu, target) VALUES
('build, serial : btree', (cmd('build', 'pbfidx')).ms / (cmd('build', 'btree')).ms, (cmd('build', 'pbfidx')).cpu_ms / (cmd('build', 'btree')).cpu_ms, 1 / 4.0);
INSERT INTO must_hold (what, measured, target) VALUES
('build, 2 workers : serial', (cmd('parallel', 'pbfidx')).ms / (cmd('serial', 'pbfidx')).ms, 0.65);
INSERT INTO must_hold (what, measured, cpu, target, note)
SELECT format('look-up, %s : %s', w, title), (looked('pbfidx', w)).us / (looked(name, w)).us, (looked('pbfidx', w)).cpu_us / (looked(name, w)).cpu_us,
       CASE name WHEN 'btree' THEN CASE WHEN :rows > 30000000 THEN 3 ELSE 2 END WHEN 'brin_tuned' THEN 1 / 50.0 ELSE 1 / 300.0 END,
       CASE WHEN w = 'miss' THEN 'not asked of misses' END
FROM peer, unnest('{hit,miss}'::text[]) w WHERE name IN ('btree', 'brin_tuned', 'bloom32', 'bloom64') ORDER BY ord, w;
INSERT INTO must_hold (what, measured, target, note) VALUES
('look-up from pgbench, hit : btree', (asked('pbfidx', 'hit')).us / (asked('btree', 'hit')).us, CASE WHEN :rows > 30000000 THEN 3 ELSE 2 END, 'protocol included');
INSERT INTO must_hold (what, measured, cpu, target)
SELECT 'insert cost over no index : btree', ((cmd('insert', 'pbfidx')).ms - (cmd('insert', 'none')).ms) / ((cmd('insert', 'btree')).ms - (cmd('insert', 'none')).ms),
       ((cmd('insert', 'pbfidx')).cpu_ms - (cmd('insert', 'none')).cpu_ms) / ((cmd('insert', 'btree')).cpu_ms - (cmd('insert', 'none')).cpu_ms), 0.35;
INSERT INTO must_hold (what, measured, target)
SELECT 'WAL of an inserted row, steady : btree', (cmd('insert', 'pbfidx')).wal / (cmd('insert', 'btree')).wal, 1.25;
INSERT INTO must_hold (what, measured, target)
SELECT 'WAL of an inserted row, after a checkpoint : btree', max(answer::float8) FILTER (WHERE name = 'pbfidx') / max(answer::float8) FILTER (WHERE name = 'btree'), 1.25
FROM bench_time WHERE grp = 'insert' AND run = 0;
INSERT INTO must_hold (what, measured, target)
SELECT 'VACUUM after deleting 10 %, index phase : btree', p.ms / b.ms, 1 / 20.0 FROM vacuumed p, vacuumed b WHERE p.peer = 'pbfidx' AND b.peer = 'btree';
INSERT INTO must_hold (what, measured, target, note)
VALUES ('1,000-row table: pages of the index', bytes_of('tiny') / 8192, 10, 'pages');
INSERT INTO must_hold (what, measured, target, note)
SELECT 'est_false_positive_rate and the measured one, ' || state || ': factor between them', greatest(est / measured, measured / est), 2, 'a factor'
FROM rate WHERE measured > 0 ORDER BY ord;
INSERT INTO must_hold (what, measured, target)
SELECT 'rate : the one asked for, ' || state, measured / least(2e-6, 1.0 / ranges), 2 FROM rate WHERE state LIKE '%VACUUM' AND state NOT LIKE '%no VACUUM' ORDER BY ord;
INSERT INTO must_hold (what, measured, target, note)
SELECT 'plans not as wanted', count(*) FILTER (WHERE plan !~ wanted), 0, 'plans' FROM plan;
\o

\echo
\echo '## 8. What must hold'
\echo
SELECT 'Ratios are of medians, pbfidx : peer; lower is better. "unclear": time and CPU time disagree.'
       || CASE WHEN :rows < 10000000 THEN ' **The limits are meant for 10 million rows; these are fewer.**' ELSE '' END;
\echo
SELECT md('', 'measured', 'of CPU times', 'at most', '') || E'\n| --- | ---: | ---: | ---: | --- |';
SELECT md(what, num(measured), num(cpu), coalesce(note || ', ' || num(target), num(target)),
          CASE WHEN measured IS NULL THEN 'not measured'
               WHEN greatest(measured, cpu) <= target THEN 'met'
               WHEN least(measured, cpu) > target THEN '**not met**'
               ELSE '**unclear**' END)
FROM must_hold ORDER BY ord;

# The index keeps in mind in which buffers its pages were (src/index/recent.h). Here buffers are so few that a page is
# seldom where it was, and files come and go: still all rows are found, and reads are counted as the server counts them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 1MB\njit = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;

# All in one session: what it keeps in mind is its own.
my $wrong = $node->safe_psql('postgres', <<'SQL');
SET client_min_messages = warning;
CREATE EXTENSION pbf;
SET enable_seqscan = off;
CREATE TABLE a (n int, id uuid);
CREATE TABLE b (n int, id uuid);
CREATE TABLE c (n int, id uuid);
CREATE INDEX a_i ON a USING pbfidx (id);
CREATE INDEX b_i ON b USING pbfidx (id);
CREATE INDEX c_i ON c USING pbfidx (id);
INSERT INTO a SELECT i, md5(i::text)::uuid FROM generate_series(1, 60000) i;
INSERT INTO b SELECT i, md5(i::text)::uuid FROM generate_series(1, 60000) i;

-- Look-ups in two tables in turn, of rows that are there and of such that are not; returns how many were wrong.
CREATE FUNCTION look_up(look_ups int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    wrong int = 0;
    found int;
    want int;
BEGIN
    FOR i IN 1..look_ups LOOP
        want = 1 + (random() * 79999)::int;
        SELECT n INTO found FROM a WHERE id = md5(want::text)::uuid;
        wrong = wrong + (coalesce(found, -1) <> CASE WHEN want <= (SELECT max(n) FROM maximum WHERE t = 'a') THEN want ELSE -1 END)::int;
        SELECT n INTO found FROM b WHERE id = md5(want::text)::uuid;
        wrong = wrong + (coalesce(found, -1) <> CASE WHEN want <= (SELECT max(n) FROM maximum WHERE t = 'b') THEN want ELSE -1 END)::int;
    END LOOP;
    RETURN wrong;
END $$;
CREATE TABLE maximum (t text, n int);
INSERT INTO maximum VALUES ('a', 60000), ('b', 60000);
SELECT setseed(.5);

SELECT 'with few buffers', look_up(2000);
VACUUM a, b;
SELECT 'after VACUUM', look_up(1000);
-- Slabs move within the file ...
SELECT 'rebuilt' WHERE pbfidx_resummarize('a_i') = 0;
SELECT 'after a rebuild', look_up(1000);
-- ... the file is another one ...
REINDEX INDEX a_i;
TRUNCATE b;
UPDATE maximum SET n = 0 WHERE t = 'b';
SELECT 'after REINDEX and TRUNCATE', look_up(1000);
-- ... it goes with its buffers, and others take them ...
DROP INDEX a_i;
INSERT INTO c SELECT i, md5((-i)::text)::uuid FROM generate_series(1, 60000) i;
CREATE INDEX a_i ON a USING pbfidx (id);
INSERT INTO b SELECT i, md5(i::text)::uuid FROM generate_series(1, 70000) i;
UPDATE maximum SET n = 70000 WHERE t = 'b';
SELECT 'after DROP and CREATE INDEX', look_up(1000);
-- ... a transaction that made one is rolled back.
BEGIN;
TRUNCATE a;
INSERT INTO a SELECT i, md5(i::text)::uuid FROM generate_series(1, 1000) i;
UPDATE maximum SET n = 1000 WHERE t = 'a';
SELECT 'in a transaction', look_up(500);
ROLLBACK;
SELECT 'rolled back', look_up(1000);
SQL
$wrong =~ s/^\n//mg;
like($wrong, qr/^(?:[^|\n]+\|0\n?){7}$/, 'nothing is missing, nothing is found that is not there') or diag($wrong);

# A session that has seen the pages: most are found where they were.
my $counted = $node->safe_psql('postgres', <<'SQL');
SET enable_seqscan = off;
SET pbf.filter_rows = off; -- which reads pages of the table
CREATE FUNCTION pages_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json, TIMING off) ' || query INTO plan;
    plan = plan #> '{0,Plan,Plans,0}';
    RETURN (plan ->> 'Shared Hit Blocks')::bigint + (plan ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE TABLE seen (pages bigint);
SELECT pages_of(format('SELECT n FROM a WHERE id = %L', md5('1')));    -- reads catalogs, too
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset();
INSERT INTO seen SELECT sum(pages_of(format('SELECT n FROM a WHERE id = %L', md5((i % 10)::text)))) FROM generate_series(1, 200) i;
SELECT pg_stat_force_next_flush();
-- The planner reads a page of the directory, each time the same. A server for tests may forget what it knows of an index as soon as
-- nobody uses it: there it reads the metapage, too.
SELECT pages >= 400, CASE WHEN current_setting('debug_assertions')::bool THEN pages < reads ELSE pages + 200 = reads END
FROM seen, (SELECT idx_blks_hit + idx_blks_read AS reads FROM pg_statio_user_indexes WHERE indexrelname = 'a_i') s;
SQL
is((split /\n/, $counted)[-1], 't|t', 'pages read are counted, by EXPLAIN and by the statistics');

# As few buffers as a server can have, some of them pinned by the rest of the plan.
$node->append_conf('postgresql.conf', "shared_buffers = 128kB\n");
$node->restart;
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM a s1, a s2 WHERE s1.n < 50 AND s2.id = md5((s1.n + 100)::text)::uuid'), 49, 'with 16 buffers');
$node->stop;
done_testing();

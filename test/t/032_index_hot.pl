# An update of columns that only pbfidx indexes have is a HOT update from 16 on, as for BRIN: no other index gets an entry, and
# the new keys are looked up all the same. Before, and where a B-tree has the column, it is none.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\n");
$node->start;
my $hot_updates = $node->pg_version >= 16 ? 1000 : 0;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE TABLE t (id int PRIMARY KEY, k int, tags int[], plain int, pad text DEFAULT repeat('x', 100)) WITH (fillfactor = 20);
INSERT INTO t SELECT i, i, ARRAY[i, -i], i FROM generate_series(1, 1000) i;
CREATE INDEX t_k ON t USING pbfidx (k) WITH (pages_per_range = 1);
CREATE INDEX t_tags ON t USING pbfidx (tags, (k + 0)) WITH (pages_per_range = 1);
CREATE INDEX t_expr ON t USING pbfidx ((k * 2)) WITH (pages_per_range = 1);
CREATE INDEX t_part ON t USING pbfidx (plain) WITH (pages_per_range = 1) WHERE k > 50000;
SQL

# How many of the updates are HOT.
sub hot
{
	my ($change) = @_;
	return $node->safe_psql('postgres', "BEGIN; UPDATE t SET $change; SELECT pg_stat_get_xact_tuples_hot_updated('t'::regclass); COMMIT");
}

# Rows that are not found, by each index; the indexes are checked.
sub lost
{
	my ($rc, $out, $err) = $node->psql('postgres', <<'SQL');
SELECT pbfidx_check('t_k'), pbfidx_check('t_tags'), pbfidx_check('t_expr'), pbfidx_check('t_part') \g /dev/null
SET enable_seqscan = off; SET enable_indexscan = off; SET enable_tidscan = off;
SELECT count(*) FILTER (WHERE a.n <> 1 OR b.n <> 1 OR c.n <> 1 OR d.n <> (s.k > 50000)::int) || ' of ' || count(*) FROM (SELECT id, k, tags, ctid FROM t OFFSET 0) s,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.ctid = s.ctid) a,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.tags @> s.tags AND t.ctid = s.ctid) b,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.k * 2 = s.k * 2 AND t.ctid = s.ctid) c,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.plain = s.id AND t.k > 50000 AND t.ctid = s.ctid) d
SQL
	return $out . $err;
}

is(lost(), '0 of 1000', 'before');
is(hot('k = k + 1 + 100000 * (id % 2)'), $hot_updates, 'a column of pbfidx indexes; half of the rows enter the partial one');
is(lost(), '0 of 1000', 'each row is found');
is(hot('tags = ARRAY[id + 5000, -id - 5000]'), $hot_updates, 'an array');
is(lost(), '0 of 1000', 'each row is found');
is(hot("pad = repeat('y', 100)"), 1000, 'a column of no index');
is(lost(), '0 of 1000', 'each row is found');
$node->safe_psql('postgres', 'CREATE INDEX t_btree ON t (k); VACUUM t');
is(hot('k = k + 1000000'), 0, 'a B-tree has it');
is(lost(), '0 of 1000', 'each row is found');
$node->safe_psql('postgres', 'DROP INDEX t_btree; VACUUM t');
is(hot('k = -k'), $hot_updates, 'it has not any more');
is(lost(), '0 of 1000', 'each row is found');
$node->safe_psql('postgres', "SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_tags'), pbfidx_resummarize('t_part')");
is(lost(), '0 of 1000', 'rebuilt: each row is found');
my $plan = $node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_tidscan = off;
	" . join '; ', map { "EXPLAIN SELECT FROM t WHERE $_ AND ctid = '(1,1)'" } 'k = 5', "tags \@> '{5}'", 'k * 2 = 5', 'plain = 5 AND k > 50000');
like($plan, qr/on t_k .* on t_tags .* on t_expr .* on t_part /s, 'they were looked for in the indexes');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

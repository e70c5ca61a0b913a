# A base backup that is taken while the index grows and is rebuilt; a standby of a standby; promotion; pg_rewind of a primary whose
# index went its own way; logical replication into a table with indexes. Everywhere the index answers as the sequential scan.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %node;
my @load;

sub new_node
{
	my ($name) = @_;
	return $node{$name} = PostgreSQL::Test::Cluster->new($name);
}

my $rows = <<'SQL';
CREATE FUNCTION rows(a int, b int) RETURNS TABLE (id int, k int, w text, pad text) LANGUAGE sql AS
	$$SELECT i, i % 5000, md5((i % 3000)::text), repeat('x', 1500) FROM generate_series(a, b) i$$;
SQL
my $table = <<'SQL';
CREATE EXTENSION pbf;
CREATE TABLE t (id int PRIMARY KEY, k int, w text, pad text);
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
CREATE INDEX t_expr ON t USING pbfidx ((k % 100)) WITH (pages_per_range = 2) WHERE k % 2 = 0;
CREATE UNLOGGED TABLE u AS SELECT generate_series(1, 5000) AS k;
CREATE INDEX u_k ON u USING pbfidx (k);
SQL

# Rows that the sequential scan sees and the index does not find, and what a check says.
sub right
{
	my ($n, $when) = @_;
	my ($rc, $out, $err) = $n->psql('postgres', <<'SQL', timeout => 600);
SELECT pbfidx_check('t_k'), pbfidx_check('t_expr');
SET enable_seqscan = off; SET enable_indexscan = off; SET jit = off;
SELECT count(*) || ' of ' || (SELECT count(*) > 1000 FROM t)
FROM (SELECT id, k, w FROM t WHERE id % 7 = 0 OFFSET 0) s,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.id + 0 = s.id) b,
	LATERAL (SELECT count(*) AS n FROM t WHERE t.k % 100 = s.k % 100 AND k % 2 = 0 AND t.id + 0 = s.id) c
WHERE a.n <> 1 OR b.n <> 1 OR c.n <> 1 - abs(s.k % 2);
SQL
	is("$out$err", "|\n0 of true", "$when: the index is right on the " . $n->name);
	my $plan = $n->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_indexscan = off;
		EXPLAIN SELECT FROM t WHERE k = 1; EXPLAIN SELECT FROM t WHERE w = $$x$$; EXPLAIN SELECT FROM t WHERE k % 100 = 1 AND k % 2 = 0');
	like($plan, qr/Bitmap Index Scan on t_k.*Bitmap Index Scan on t_k.*Bitmap Index Scan on t_expr/s, "$when: and looked in");
	return;
}

my $a = new_node('a');
$a->init(allows_streaming => 1);
$a->append_conf('postgresql.conf', <<'CONF');
wal_log_hints = on
wal_level = logical
wal_consistency_checking = all
wal_keep_size = 1GB
max_wal_size = 4GB
autovacuum = off
CONF
$a->start;
$a->safe_psql('postgres', $rows . $table . 'INSERT INTO t SELECT * FROM rows(1, 2000)');

# --- a base backup in the midst of it ------------------------------------------------------------------------------

my $busy = $a->basedir . '/busy.sql';
open my $f, '>', $busy or die $!;
for my $n (1 .. 60)
{
	print $f "INSERT INTO t SELECT * FROM rows(100000 + 20 * $n, 100019 + 20 * $n);\n";
	print $f "SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_expr');\n" if $n % 10 == 0;
	print $f "SELECT pg_sleep(0.2);\n";
}
close $f;
my $said = '';
push @load, IPC::Run::start([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $a->connstr('postgres'), '-f', $busy ], '<', '/dev/null', '>&', \$said);
$a->poll_query_until('postgres', 'SELECT max(id) > 100000 FROM t') or die 'no load';
$a->backup('during');
ok($load[0]->pumpable, 'the table grows while the backup is taken');
$load[0]->finish;
is($load[0]->result(0), 0, 'the load ended') or diag($said);

my $b = new_node('b');
$b->init_from_backup($a, 'during', has_streaming => 1);
$b->start;
$a->safe_psql('postgres', 'CHECKPOINT');
$a->wait_for_catchup($b, 'replay', $a->lsn('write'));
right($b, 'base backup');

# --- a standby of the standby -----------------------------------------------------------------------------------------

$b->backup('cascade');
my $c = new_node('c');
$c->init_from_backup($b, 'cascade', has_streaming => 1);
$c->start;
$a->safe_psql('postgres', "UPDATE t SET k = k + 1 WHERE id % 3 = 0; DELETE FROM t WHERE id % 11 = 1; INSERT INTO t SELECT * FROM rows(10001, 12000)");
$a->safe_psql('postgres', 'VACUUM t');
$a->safe_psql('postgres', "SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_expr')");
$a->wait_for_catchup($b, 'replay', $a->lsn('write'));
$b->wait_for_catchup($c, 'replay', $a->lsn('write'));
right($b, 'changes');
right($c, 'cascaded');
for my $call ("pbfidx_stats('u_k')", "pbfidx_slabs('u_k')", "pbfidx_check('u_k')", "pbfidx_estimate('u', '{k}')")
{
	my ($rc, $out, $err) = $b->psql('postgres', "SELECT $call");
	like($err, qr/^psql:<stdin>:1: ERROR:  cannot access unlogged relation "u(_k)?" during recovery\nHINT/, "$call on a standby");
}

# --- promotion, and a primary that goes its own way --------------------------------------------------------------------

$b->promote;
$b->safe_psql('postgres', "INSERT INTO t SELECT * FROM rows(20001, 22000)");
$b->safe_psql('postgres', "SELECT pbfidx_resummarize('t_k')");
$b->wait_for_catchup($c, 'replay', $b->lsn('write'));
right($b, 'promoted');
right($c, 'cascaded, promoted');
# Of an unlogged table and its index the standby has the empty forms.
is($b->safe_psql('postgres', "SELECT count(*) FROM u; INSERT INTO u SELECT generate_series(1, 3000); SELECT pbfidx_check('u_k') IS NOT NULL; SET enable_seqscan = off; SELECT count(*) FROM u WHERE k = 7"),
	"0\nt\n1", 'an unlogged table after promotion');
$a->safe_psql('postgres', "INSERT INTO t SELECT * FROM rows(30001, 33000); UPDATE t SET w = w || 'x' WHERE id < 5000");
$a->safe_psql('postgres', "SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_expr')");
$a->stop('fast');

# (The program replaces the configuration, too.)
my $conf = slurp_file($a->data_dir . '/postgresql.conf');
command_ok([ 'pg_rewind', '--source-server', $b->connstr('postgres'), '--target-pgdata', $a->data_dir, '--no-sync' ], 'pg_rewind');
open $f, '>', $a->data_dir . '/postgresql.conf' or die $!;
print $f $conf;
close $f;
$a->enable_streaming($b);
$a->set_standby_mode;
$a->start;
$b->safe_psql('postgres', "INSERT INTO t SELECT * FROM rows(40001, 40100)");
$b->wait_for_catchup($a, 'replay', $b->lsn('write'));
right($a, 'rewound');
is($a->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id BETWEEN 30001 AND 33000'), '0', 'what it had done alone is gone');
is($a->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM t WHERE k = 1 AND w LIKE '%x'"), '0', 'from its index too');

# --- logical replication ------------------------------------------------------------------------------------------------

my $d = new_node('d');
$d->init;
$d->append_conf('postgresql.conf', "autovacuum = off\nwal_consistency_checking = all\n");
$d->start;
$d->safe_psql('postgres', $table);
$b->safe_psql('postgres', 'CREATE TABLE full_row (k int, w text); ALTER TABLE full_row REPLICA IDENTITY FULL; INSERT INTO full_row SELECT k, w FROM rows(1, 300); CREATE PUBLICATION p FOR TABLE t, full_row');
# Without a key a row is looked for by all of its columns.
$d->safe_psql('postgres', 'CREATE TABLE full_row (k int, w text); CREATE INDEX full_row_idx ON full_row USING pbfidx (k, w)');
$d->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $b->connstr . " dbname=postgres' PUBLICATION p");
$d->wait_for_subscription_sync($b, 's');
right($d, 'copied by a subscription');
$b->safe_psql('postgres', "UPDATE t SET k = k + 7 WHERE id % 5 = 0; DELETE FROM t WHERE id % 13 = 0; INSERT INTO t SELECT * FROM rows(50001, 51000)");
$b->safe_psql('postgres', "UPDATE full_row SET k = -k WHERE k % 2 = 0; DELETE FROM full_row WHERE k % 3 = 0");
$b->wait_for_catchup('s');
right($d, 'applied by a subscription');
my $sum = 'SELECT count(*), sum(k), md5(string_agg(k || w, NULL ORDER BY k)) FROM full_row';
is($d->safe_psql('postgres', $sum), $b->safe_psql('postgres', $sum), 'rows without a key');
is($d->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM full_row WHERE k = -2; SELECT pbfidx_check('full_row_idx')"), "1\n", 'found by the index');

unlike(slurp_file($_->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log of ' . $_->name) for values %node;

END
{
	my $status = $?;
	$_->kill_kill for @load;
	$_->stop('immediate', fail_ok => 1) for values %node;
	$? = $status;
}
done_testing();

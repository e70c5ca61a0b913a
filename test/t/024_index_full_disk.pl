# The disk is full, a file has reached its limit, memory is short: statements fail, and the table and its index go on as if they had
# never been tried.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no prlimit' if !-d "/proc/$$" || system('prlimit > /dev/null 2>&1') != 0;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\nmax_parallel_maintenance_workers = 0\nrestart_after_crash = off\n");
$node->start;
my $more = join ', ', map { "(k + $_)" } 1 .. 28;
$node->safe_psql('postgres', <<'SQL' =~ s/@/$more/r);
CREATE EXTENSION pbf;
-- An index that grows faster than its table: many columns, a tiny rate.
CREATE TABLE t (id int, k int, w text);
CREATE INDEX t_k ON t USING pbfidx (k, w, @) WITH (pages_per_range = 1, false_positive_rate = 1e-9);
INSERT INTO t SELECT i, i, md5(i::text) FROM generate_series(1, 30000) i;
SQL

sub right
{
	my ($when) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', <<'SQL', timeout => 600);
SELECT pbfidx_check(indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE amname = 'pbfidx' AND indisvalid;
SET enable_seqscan = off;
SELECT count(*) || ' of ' || (SELECT count(*) FROM t) FROM (SELECT * FROM t OFFSET 0) s, LATERAL (SELECT count(*) AS n FROM t WHERE k = s.k AND w = s.w) a WHERE n <> 1;
SQL
	my ($rows) = $out =~ / of (\d+)/;
	like("$out$err", qr/^\s*0 of [1-9]\d*$/, "$when: all rows are found");
	like($node->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT FROM t WHERE k = 1 AND w = 'x'"), qr/Bitmap Index Scan on t_k/, "$when: by the index");
	return $rows;
}

my $rows = right('before');

# A limit for each file, for all backends from now on: a write beyond it is an error, as on a full disk. (The signal for it is
# ignored by the server.)
sub limit_files
{
	my ($bytes) = @_;
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	system_or_bail('prlimit', '--pid', $postmaster, "--fsize=$bytes:unlimited");
	return;
}

sub file_of { return $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_[0]')"); }

# Grows until the index has no room any more.
limit_files(24 * 1024 * 1024);
my $file = file_of('t_k');
my ($failed, $done) = (0, 0);
for my $batch (1 .. 60)
{
	my $first = 20001 + 10000 * $batch;
	my ($rc, $out, $err) = $node->psql('postgres', "INSERT INTO t SELECT i, i, md5(i::text) FROM generate_series($first, $first + 9999) i", timeout => 600);
	$rc ? $failed++ : $done++;
	like($err, qr/could not extend file "$file"/, "a full disk: batch $batch fails, by the index") if $rc;
	last if $failed == 3;
}
cmp_ok($failed, '>', 0, 'there was no room');
cmp_ok(right('full'), '==', $rows + 10000 * $done, 'the rows that were committed are there');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('t')"), '<', 23 * 1024 * 1024, 'the table has room');
for my $statement ("SELECT pbfidx_resummarize('t_k')", 'VACUUM t', 'REINDEX INDEX t_k', 'REINDEX INDEX CONCURRENTLY t_k',
	"CREATE INDEX other ON t USING pbfidx (w, id, $more) WITH (pages_per_range = 1, false_positive_rate = 1e-9)")
{
	# Indexes that are made anew have no room for half of it; a WAL segment has to fit.
	limit_files(16 * 1024 * 1024) if $statement =~ /INDEX/;
	my ($rc, $out, $err) = $node->psql('postgres', $statement, timeout => 600);
	if ($statement =~ /VACUUM/) { is($rc, 0, "full: $statement succeeds"); }
	else { like($err, qr/^psql:.*ERROR:  could not extend file/m, "full: $statement fails"); }
	$node->safe_psql('postgres', 'DROP INDEX t_k_ccnew') if $statement =~ /CONCURRENTLY/;
	right("full, after $statement");
}
limit_files('unlimited');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, i, md5(i::text) FROM generate_series(5000001, 5010000) i");
$node->safe_psql('postgres', "SELECT pbfidx_resummarize('t_k')");
right('with room again');

# --- VACUUM ---------------------------------------------------------------------------------------------------------

# More rows in the old pages than the index was made for: VACUUM wants to rebuild slabs of it and has no room.
# What it does for the table must not depend on that. (In parallel mode, which other indexes bring, only from 17 on.)
my @columns = map { "a$_" } 1 .. 30;
my $rows_of = sub { return 'SELECT ' . join(', ', map { "($_ + 30 * i) % 30000" } 1 .. 30) . " FROM generate_series($_[0]) i" };
$node->safe_psql('postgres', 'CREATE TABLE u (' . join(', ', map { "$_ smallint" } @columns) . ');
	INSERT INTO u ' . $rows_of->('1, 240000') . ';
	CREATE INDEX u_k ON u USING pbfidx (' . join(', ', @columns) . ') WITH (pages_per_range = 1, false_positive_rate = 1e-9)');
$node->safe_psql('postgres', 'DELETE FROM u WHERE (a1 - 1) / 30 % 4 = 0');
$node->safe_psql('postgres', 'VACUUM u');
$node->safe_psql('postgres', 'INSERT INTO u ' . $rows_of->('1, 58000') . '; DELETE FROM u WHERE (a1 - 1) / 30 % 9 = 0;
	CREATE INDEX ON u (a1); CREATE INDEX ON u (a2)');
my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('u_k')");
cmp_ok($size, '>', 16 * 1024 * 1024, 'a WAL segment is smaller than the index');
is($node->safe_psql('postgres', "SELECT overfull_slabs > 0 FROM pbfidx_stats('u_k')"), 't', 'there is something to rebuild');
limit_files($size);
my ($rc, $out, $err) = $node->psql('postgres', 'VACUUM (VERBOSE, PARALLEL 0) u');
is($rc, 0, 'VACUUM goes on');
like($err, qr/WARNING:  maintenance of index "u_k" was given up: could not extend file/, 'and says what it could not do');
like($err, qr/tuples: \d{4,} removed/, 'dead rows are gone');
is($node->safe_psql('postgres', "SELECT overfull_slabs > 0 FROM pbfidx_stats('u_k')"), 't', 'it is left to be done');
($rc, $out, $err) = $node->psql('postgres', "DELETE FROM u WHERE (a1 - 1) / 30 % 9 = 1;\nSET min_parallel_index_scan_size = 0;\nSET max_parallel_maintenance_workers = 2;\nVACUUM (VERBOSE, PARALLEL 2) u");
like($err, qr/launched \d+ parallel vacuum worker/, 'VACUUM is parallel');
like($err, qr/ERROR:  could not extend file/, 'as it should be, in parallel mode');
$node->safe_psql('postgres', "SELECT pbfidx_check('u_k')");
limit_files('unlimited');
is(($node->psql('postgres', 'VACUUM u'))[2], '', 'with room again: no warning');
is($node->safe_psql('postgres', "SELECT overfull_slabs FROM pbfidx_stats('u_k')"), '0', 'all is done');
$node->safe_psql('postgres', "SELECT pbfidx_check('u_k'); DROP TABLE u");

# --- memory ---------------------------------------------------------------------------------------------------------

# A backend may have no more address space than it has, and a little. What fails says so, and nothing else happens.
sub size_of
{
	my ($pid) = @_;
	return slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m ? $1 * 1024 : die "no size of $pid";
}

my ($wrong, $refused, $fine) = ('', 0, 0);
for my $megabytes (1, 4, 16, 64, 256)
{
	my $session = $node->background_psql('postgres', on_error_stop => 0, timeout => 1800);
	my $pid = $session->query("SELECT pg_backend_pid() FROM (SELECT pbf_new(10)) f");
	system_or_bail('prlimit', '--pid', $pid, '--as=' . (size_of($pid) + $megabytes * 1024 * 1024));
	for my $statement ("SELECT pbfidx_resummarize('t_k')", 'REINDEX INDEX t_k', "SELECT pbfidx_check('t_k')",
		'SELECT pbf_fill(pbf_agg(i)) FROM generate_series(1, 2000000) i', 'SELECT pbf_fill(pbf_new(1e8))',
		'SELECT pbf_fill(pbf_agg(i, 1e7)) FROM generate_series(1, 10) i',
		'SELECT sum(pbf_fill(f)) FROM (SELECT pbf_agg(i, 5000) AS f FROM generate_series(1, 20000) i GROUP BY i % 10000) g',
		'SELECT count(*) FROM t WHERE k = ANY (ARRAY(SELECT generate_series(-300000, 10))) AND id < 10')
	{
		$session->{stderr} = '';
		$session->query($statement);
		my $err = $session->{stderr};
		$err =~ s/^(WARNING|NOTICE|LOG|background_psql).*\n//mg;
		$err ? $refused++ : $fine++;
		$wrong .= "$megabytes MB, $statement: $err\n" if $err && $err !~ /out of memory|Cannot allocate memory/;
	}
	$session->quit;
}
is($wrong, '', 'what fails for want of memory says so');
cmp_ok($refused, '>', 5, "memory was short: $refused statements failed, $fine did not");
right('after that');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

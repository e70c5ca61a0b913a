# kill -9 at random moments of growth, maintenance and ordinary load: after every recovery each row is found and the
# index accounts for each of its blocks. The replay of every record is compared with the page it was made of.
#
# PBF_CRASH_ROUNDS: how often (default 5).

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $rounds = $ENV{PBF_CRASH_ROUNDS} || 5;
my $seed = $ENV{PBF_CRASH_SEED} || int(time);
srand($seed);
note("PBF_CRASH_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
autovacuum = off
max_wal_size = 4GB
checkpoint_timeout = 1h
shared_buffers = 64MB
maintenance_work_mem = 64MB
max_parallel_workers = 2
CONF
$node->start;

# Two rows a page, so that a few megabytes reach 60 leaf slabs (7200 pages: VACUUM makes region 0 an upper slab) and
# region 1 (14400 pages: an INSERT makes its upper slab).
my $pages_of_upper  = 7200;
my $pages_of_region = 14400;

my @load;       # what runs beside, [ harness, output ]
my $copy_file = $node->basedir . '/rows';

sub write_file
{
	my ($path, $content) = @_;
	open my $f, '>', $path or die "$path: $!";
	print $f $content;
	close $f;
	return $path;
}

sub make_table
{
	# Recovery must not begin before the DROP: what VACUUM logged of pages whose file is gone by now would fail the server's own
	# wal_consistency_checking, which compares them with pages full of zeroes.
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS t, u');
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->safe_psql('postgres', <<'SQL');
		CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, k int NOT NULL DEFAULT random() * 1e9, w text DEFAULT md5(random()::text),
			keys int[] GENERATED ALWAYS AS (ARRAY[k / 1000, -(k % 1000)]) STORED, pad text NOT NULL DEFAULT repeat('x', 260)) WITH (fillfactor = 10);
		ALTER TABLE t ALTER pad SET STORAGE PLAIN;
		CREATE INDEX t_id ON t (id);
		CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
		CREATE INDEX t_expr ON t USING pbfidx ((k % 1000000)) WITH (pages_per_range = 1) WHERE k % 2 = 0;
		CREATE INDEX t_keys ON t USING pbfidx (keys, w) WITH (pages_per_range = 1);
		CREATE UNLOGGED TABLE u (id int GENERATED ALWAYS AS IDENTITY, k int NOT NULL DEFAULT random() * 1e9);
		CREATE INDEX u_k ON u USING pbfidx (k) WITH (pages_per_range = 1);
SQL
	return;
}

sub heap_pages { return $node->safe_psql('postgres', "SELECT pg_relation_size('t') / current_setting('block_size')::int"); }

# Fills the table up to just before a threshold, so that the load crosses it.
sub grow_to
{
	my ($pages) = @_;
	my $missing = $pages - heap_pages();
	$node->safe_psql('postgres', "INSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 2 * $missing)") if $missing > 0;
	return;
}

# --- load ---------------------------------------------------------------------------------------------------------

write_file($copy_file, join('', map { $_ * 7919 . "\n" } 1 .. 20));
my %script = (
	insert => "INSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 10);\nINSERT INTO u (k) SELECT random() * 1e9 FROM generate_series(1, 10);\n",
	copy   => "COPY t (k) FROM '$copy_file';\n",
	update => "\\set a random(1, 30000)\nUPDATE t SET k = random() * 1e9 WHERE id BETWEEN :a AND :a + 5;\n",
	hot    => "\\set a random(1, 30000)\nUPDATE t SET pad = repeat('y', 260) WHERE id BETWEEN :a AND :a + 5;\n",
	delete => "\\set a random(1, 30000)\nDELETE FROM t WHERE id BETWEEN :a AND :a + 2;\n",
	abort  => "\\set a random(1, 30000)\nBEGIN;\nINSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 10);\nSAVEPOINT s;\n"
	  . "UPDATE t SET k = random() * 1e9 WHERE id BETWEEN :a AND :a + 5;\nROLLBACK TO s;\nINSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 10);\nCOMMIT;\n",
	vacuum      => "VACUUM (INDEX_CLEANUP on) t;\n",
	resummarize => "\\set a random(0, 14000)\nSELECT pbfidx_resummarize('t_k', :a, :a + 1200);\nSELECT pbfidx_resummarize('t_expr', :a, :a + 1200);\n"
	  . "SELECT pbfidx_resummarize('t_keys', :a, :a + 1200);\n",
	all         => "SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_keys');\n",
	reindex     => "REINDEX INDEX CONCURRENTLY t_k;\nREINDEX INDEX CONCURRENTLY t_keys;\n",
	checkpoint  => "CHECKPOINT;\n");
$script{$_} = write_file($node->basedir . "/$_.sql", $script{$_}) for keys %script;

sub start_load
{
	my ($clients, $rate, %weight) = @_;
	my @command = ('pgbench', '-n', '-c', $clients, '-j', 1, '-T', 60, '-R', $rate, '-p', $node->port, '-h', $node->host);
	push @command, '-f', "$script{$_}\@$weight{$_}" for sort keys %weight;
	my $out = '';
	push @load, [ IPC::Run::start([ @command, 'postgres' ], '<', '/dev/null', '>&', \$out), \$out ];
	return;
}

# The load ends when its server does. Returns what it had to say.
sub end_load
{
	my $said = '';
	for my $l (@load)
	{
		eval { $l->[0]->kill_kill(grace => 5); };
		$said .= ${ $l->[1] };
	}
	@load = ();
	return $said;
}

# --- crash and recovery -------------------------------------------------------------------------------------------

# Processes whose parent that is.
sub children_of
{
	my ($parent) = @_;
	my @children;
	for my $stat (glob '/proc/[0-9]*/stat')
	{
		open my $f, '<', $stat or next;
		my $line = <$f> // '';
		push @children, $1 if $line =~ /^(\d+) \(.*\) \S (\d+) / && $2 == $parent;
	}
	return @children;
}

# The whole server at once; or the postmaster alone, whose children go on until they notice.
sub crash
{
	my ($everything) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my @children = $everything ? children_of($pid) : ();
	kill 'STOP', @children;
	$node->kill9;
	kill 'KILL', @children;
	return;
}

# Until the last child of the killed server is gone the new one does not start.
sub recover
{
	for (1 .. 300)
	{
		return 1 if $node->start(fail_ok => 1);
		$node->stop('fast', fail_ok => 1);
		usleep(100_000);
	}
	return 0;
}

# --- what must hold -----------------------------------------------------------------------------------------------

# Rows that the sequential scan sees and the index does not find, by each index and condition; of a share of all rows.
sub lost_rows
{
	my ($every) = @_;
	my $rest = int(rand($every));
	return $node->safe_psql('postgres', <<"SQL");
		SET enable_seqscan = off; SET enable_indexscan = off; SET jit = off;
		SELECT count(*) || ' of ' || (SELECT count(*) > 100 FROM t)
		FROM (SELECT id, k, w, keys FROM t WHERE id % $every = $rest OFFSET 0) s,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.id + 0 = s.id) b,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.k % 1000000 = s.k % 1000000 AND k % 2 = 0 AND t.id + 0 = s.id) c,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.keys @> s.keys AND t.w = s.w AND t.id + 0 = s.id) d
		WHERE a.n <> 1 OR b.n <> 1 OR c.n <> 1 - s.k % 2 OR d.n <> 1
SQL
}

sub plan_uses
{
	my ($index, $condition) = @_;
	my $plan = $node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_indexscan = off; EXPLAIN SELECT id FROM t WHERE $condition");
	return $plan =~ /Bitmap Index Scan on $index/;
}

# The row that a check complained about: whether anybody sees it, and what its page says.
sub describe_row
{
	my ($err) = @_;
	my ($block, $offset) = $err =~ /\((\d+),(\d+)\)/ or return;
	diag('visible: ' . $node->safe_psql('postgres', "SELECT id, k, w, xmin, xmax FROM t WHERE ctid = '($block,$offset)'"));
	my ($rc, $out) = $node->psql('postgres', "CREATE EXTENSION IF NOT EXISTS pageinspect;
		SELECT lp, lp_flags, t_xmin, t_xmax, t_ctid, t_infomask2, to_hex(t_infomask) FROM heap_page_items(get_raw_page('t', $block))");
	diag("page $block:\n$out");
	return;
}

sub check_server
{
	my ($when) = @_;

	# What an interrupted REINDEX CONCURRENTLY left.
	my $invalid = $node->safe_psql('postgres', "SELECT string_agg(indexrelid::regclass::text, ', ') FROM pg_index WHERE indrelid = 't'::regclass AND NOT indisvalid");
	$node->safe_psql('postgres', "DROP INDEX $invalid") if $invalid ne '';
	for my $index ('t_k', 't_expr', 't_keys')
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_check('$index')");
		is("$rc$err", '0', "$when: check of $index") or describe_row($err);
	}
	is(lost_rows(31), '0 of true', "$when: each row is found");
	return;
}

sub check_unlogged
{
	my ($when) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), '0', "$when: unlogged table is empty");
	is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM u WHERE k = 1'), '0', "$when: so is its index");
	$node->safe_psql('postgres', 'INSERT INTO u (k) SELECT generate_series(1, 30000)');
	is($node->safe_psql('postgres', <<'SQL'), '300', "$when: and works");
		SET enable_seqscan = off;
		SELECT sum(n) FROM generate_series(1, 30000, 100) i, LATERAL (SELECT count(*) AS n FROM u WHERE k = i) c
SQL
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_check('u_k')");
	is("$rc$err", '0', "$when: check of u_k");
	return;
}

# What was going on just before the server was killed, by all rounds.
my %met;

sub note_activity
{
	my $queries = $node->safe_psql('postgres', "SELECT query FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()");
	for my $kind ('INSERT', 'COPY', 'UPDATE', 'DELETE', 'VACUUM', 'resummarize', 'REINDEX')
	{
		$met{$kind}++ if $queries =~ /$kind/;
	}
	return;
}

# --- rounds -------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE EXTENSION pbf');
for my $round (1 .. $rounds)
{
	my $stage = $round % 5;
	make_table() if $stage == 1;
	grow_to($pages_of_upper - 150) if $stage == 1;
	grow_to($pages_of_region - 150) if $stage == 3;
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 2 == 0;
	my $before = heap_pages();

	start_load(4, 200, insert => 10, copy => 5, update => 5, hot => 3, delete => 2, abort => 5);
	start_load(1, 50, vacuum => 3, resummarize => 6, all => 1, reindex => 1, checkpoint => 1);
	for (1 .. 600) { last if heap_pages() > $before; usleep(100_000); }
	usleep(int(rand(1_500_000)));
	for (1 .. 5) { note_activity(); usleep(20_000); }
	crash($round % 3 != 0);
	my $said = end_load();
	unlike($said, qr/ERROR/, "round $round: the load met no error") or diag($said);
	ok(recover(), "round $round: recovery") or last;
	cmp_ok(heap_pages(), '>', $before, "round $round: there was load") or diag($said);

	check_server("round $round");
	check_unlogged("round $round");
	# Interrupted rebuilds are resumed.
	$node->safe_psql('postgres', "VACUUM t; SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_expr'), pbfidx_resummarize('t_keys')");
	check_server("round $round, resumed");
}
note('before it was killed: ' . join(', ', map { "$_ $met{$_}" } sort keys %met));
is(scalar keys %met, 7, 'it was killed in every kind of work') if $rounds >= 50;
ok(plan_uses('t_k', 'k = 5'), 'the rows were looked for in the index');
ok(plan_uses('t_keys', "keys \@> '{5}' AND w = 'x'"), 'in that on arrays');
ok(plan_uses('t_expr', 'k % 1000000 = 5 AND k % 2 = 0'), 'and in that on an expression');
# (REINDEX gives region 1 none while it is short, so look at the other index.)
is($node->safe_psql('postgres', "SELECT upper_slabs FROM pbfidx_stats('t_expr')"), '2', 'two regions with upper slabs') if $rounds % 5 == 0;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	end_load();
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

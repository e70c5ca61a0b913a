# A standby that streams from before CREATE INDEX, through growth, upper slabs made by VACUUM and by INSERT, rebuilds
# that recycle pages, and REINDEX: its index answers as its sequential scan, also to an old snapshot. Then it is promoted
# in the middle of a rebuild and goes on with it. The replay of every record is compared with the primary's page.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @sessions;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
autovacuum = off
max_wal_size = 4GB
wal_keep_size = 4GB
shared_buffers = 64MB
max_standby_streaming_delay = 60s
CONF
$primary->start;
$primary->backup('before');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'before', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->start;

sub run_sql { return $primary->safe_psql('postgres', $_[0]); }
sub catch_up { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); return; }

# A psql that stays.
sub session
{
	my ($node) = @_;
	my %s = (in => '', out => '');
	$s{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$s{in}, '>&', \$s{out}, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	push @sessions, \%s;
	return \%s;
}

sub say_to
{
	my ($s, $sql) = @_;
	$s->{out} = '';
	$s->{in} .= "$sql\n\\echo done\n";
	$s->{run}->pump until $s->{out} =~ /^done$/m;
	return $s->{out} =~ s/\n?^done\n//mr;
}

# Rows that the sequential scan of a snapshot sees, or a share of them.
sub rows_looked_for
{
	my ($every, $rest) = @_;
	return <<"SQL";
		FROM (SELECT id, k, w, keys FROM t WHERE id % $every = $rest OFFSET 0) s,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.id + 0 = s.id) b,
			LATERAL (SELECT count(*) AS n FROM t WHERE t.keys @> s.keys AND t.w = s.w AND t.id + 0 = s.id) c
SQL
}
my $is_lost = 'a.n <> 1 OR b.n <> 1 OR c.n <> 1';

# Those that the index does not find; and whether there were enough to compare.
sub lost_rows { return "SELECT count(*) FILTER (WHERE $is_lost) || ' of ' || (count(*) > 100)" . rows_looked_for($_[0], 0) . ';'; }
my $index_only = 'SET enable_seqscan = off; SET jit = off;';

sub checked
{
	my ($node, $index, $when) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_check('$index')");
	is("$rc$err", '0', "$when: check of $index on the " . $node->name);
	return;
}

my $old;

sub compare
{
	my ($when) = @_;
	catch_up();
	is($standby->safe_psql('postgres', $index_only . lost_rows(17)), '0 of true', "$when: each row is found on the standby");
	checked($standby, $_, $when) for qw(t_k t_keys);
	is(say_to($old, lost_rows(13)), '0 of true', "$when: and to the old snapshot") if $old;
	return;
}

sub stats { return run_sql("SELECT $_[0] FROM pbfidx_stats('t_k')"); }
sub slabs { return run_sql("SELECT string_agg(level || '/' || slab || ':' || start_block, ' ' ORDER BY level, slab) FROM pbfidx_slabs('t_k')"); }
sub rows_to_pages { return "INSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 2 * ($_[0] - (SELECT heap_pages FROM pbfidx_stats('t_k'))))"; }

# --- growth ---------------------------------------------------------------------------------------------------------

run_sql(<<'SQL');
	CREATE EXTENSION pbf;
	-- Two rows a page: 7200 pages are 60 leaf slabs, 14400 a region.
	CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, k int NOT NULL, w text DEFAULT md5(random()::text),
		keys int[] GENERATED ALWAYS AS (ARRAY[k / 1000, -(k % 1000)]) STORED, pad text NOT NULL DEFAULT repeat('x', 260))
		WITH (fillfactor = 10);
	ALTER TABLE t ALTER pad SET STORAGE PLAIN;
	INSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 2000);
	CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
	CREATE INDEX t_keys ON t USING pbfidx (keys, w) WITH (pages_per_range = 1);
SQL
compare('CREATE INDEX');
like($standby->safe_psql('postgres', "$index_only EXPLAIN SELECT FROM t WHERE k = 5"), qr/Bitmap Index Scan on t_k/, 'the standby looks in the index');
run_sql(rows_to_pages(7300));
is(stats('upper_slabs'), '0', 'no upper slab yet');
compare('growth');
run_sql('VACUUM t');
is(stats('upper_slabs'), '1', 'VACUUM made the upper slab of region 0');
compare('upper slab');
run_sql(rows_to_pages(14500));
is(stats('upper_slabs'), '2', 'INSERT made that of region 1');
compare('region 1');

# --- an old snapshot on the standby while slabs are rebuilt and pages recycled -----------------------------------------

$old = session($standby);
say_to($old, "$index_only BEGIN ISOLATION LEVEL REPEATABLE READ;");
# Another one that has locked nothing yet: REINDEX on the primary would wait for its end on the standby.
my $unlocked = session($standby);
say_to($unlocked, "$index_only BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;");
my $sum = say_to($old, 'SELECT sum(hashint4(k)::bigint), count(*) FROM t;');
# Rows get new keys, often: the slabs become overfull. The old versions are still the old snapshot's.
$primary->poll_query_until('postgres', 'SELECT bool_and(backend_xmin IS NOT NULL) FROM pg_stat_replication');
run_sql("UPDATE t SET k = random() * 1e9, w = md5(random()::text) WHERE ctid < '(700,0)'") for 1 .. 4;
run_sql("DELETE FROM t WHERE id % 11 = 0 AND ctid < '(500,0)'");
compare('new keys');
my $before = slabs();
run_sql('VACUUM t');
isnt(slabs(), $before, 'VACUUM rebuilt what was overfull');
compare('VACUUM under an old snapshot');
my $size = stats('index_pages');
for my $round (1 .. 3)
{
	$before = slabs();
	run_sql("SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_keys')");
	isnt(slabs(), $before, "round $round: rebuilt");
	run_sql("UPDATE t SET k = random() * 1e9 WHERE id % 97 = $round");
	compare("round $round, rebuilt");
}
# Checks and look-ups while replay moves slabs about and keys change: one of a hundred checks or so meets a slab whose pages
# were given to another one.
{
	my @runs;
	my $look = "SELECT 1 / (count(*) FILTER (WHERE $is_lost) = 0 AND count(*) > 100)::int" . rows_looked_for(97, ':rest') . ";\n";
	$before = slabs();
	for ([ $primary, "\\set a random(0, 14000)\nSELECT pbfidx_resummarize('t_k', :a, :a + 300), pbfidx_resummarize('t_keys', :a, :a + 300);\n" ],
		[ $primary, "\\set a random(0, 25000)\nUPDATE t SET k = random() * 1e9 WHERE id BETWEEN :a AND :a + 20;\n" ],
		[ $primary, "VACUUM t;\n" ],
		[ $standby, "\\set rest random(0, 96)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSET LOCAL enable_seqscan = off;\nSET LOCAL jit = off;\n$look\\sleep 50 ms\n${look}COMMIT;\n" ],
		[ $standby, "SELECT pbfidx_check('t_k', false), pbfidx_check('t_keys', false);\n" ])
	{
		my ($node, $sql) = @$_;
		my $script = $node->basedir . '/script' . @runs . '.sql';
		open my $f, '>', $script or die "$script: $!";
		print $f $sql;
		close $f;
		my $out = '';
		push @runs, { node => $node, out => \$out,
			run => IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 8, '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ], '<', '/dev/null', '>&', \$out) };
	}
	for my $r (@runs)
	{
		ok($r->{run}->finish && ${ $r->{out} } !~ /ERROR/, 'rebuilds, changes, checks and look-ups together on the ' . $r->{node}->name) or diag(${ $r->{out} });
		note(${ $r->{out} } =~ /(actually processed: \d+)/);
	}
}
isnt(slabs(), $before, 'slabs were moved');
cmp_ok(stats('index_pages'), '<', $size * 1.8, 'and the pages are recycled: ' . stats('index_pages') . " after $size");
my $plain = 'SET enable_bitmapscan = off; SET enable_seqscan = on; SELECT sum(hashint4(k)::bigint), count(*) FROM t; SET enable_bitmapscan = on; SET enable_seqscan = off;';
is(say_to($old, $plain), $sum, 'nothing has changed for the old snapshot');
say_to($old, 'COMMIT;');
$old = undef;
run_sql('REINDEX INDEX t_k; REINDEX INDEX t_keys; CREATE INDEX t_late ON t USING pbfidx (k) WITH (pages_per_range = 1)');
compare('REINDEX');
checked($standby, 't_late', 'CREATE INDEX');
is(say_to($unlocked, lost_rows(11)), '0 of true', 'REINDEX and CREATE INDEX: and to an old snapshot');
is(say_to($unlocked, $plain), $sum, 'which is as old as it was');
say_to($unlocked, 'COMMIT;');
$_->{run}->kill_kill for @sessions;
@sessions = ();
run_sql('DROP INDEX t_late');
run_sql('VACUUM t');
compare('VACUUM without an old snapshot');
run_sql("REINDEX INDEX CONCURRENTLY $_") for qw(t_k t_keys);
compare('REINDEX CONCURRENTLY');

# --- without feedback: rows that are dead on the primary, not pruned yet, and belong to a snapshot on the standby -----

$standby->append_conf('postgresql.conf', 'hot_standby_feedback = off');
$standby->reload;
$primary->poll_query_until('postgres', 'SELECT bool_and(backend_xmin IS NULL) FROM pg_stat_replication');
# One page with much room, so that nobody prunes it.
run_sql('CREATE TABLE h (id int, k int); INSERT INTO h SELECT i, i FROM generate_series(1, 20) i; CREATE INDEX h_k ON h USING pbfidx (k) WITH (pages_per_range = 1)');
catch_up();
my $unseen = session($standby);
say_to($unseen, "$index_only BEGIN ISOLATION LEVEL REPEATABLE READ;");
my $count = 'SELECT sum(n) FROM generate_series(1, 20) i, LATERAL (SELECT count(*) AS n FROM h WHERE k = i) c;';
is(say_to($unseen, $count), '20', 'a snapshot that the primary does not know of');
run_sql('UPDATE h SET k = k + 1000');
run_sql("SELECT pbfidx_resummarize('h_k')");
catch_up();
is(say_to($unseen, $count), '20', 'finds its rows after a rebuild');
checked($standby, 'h_k', 'rows that are dead on the primary');
say_to($unseen, 'COMMIT;');
$unseen->{run}->kill_kill;
@sessions = ();

# --- promotion in the middle of a rebuild -----------------------------------------------------------------------------

run_sql(<<'SQL');
	CREATE FUNCTION slow(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN IF x = 5 AND current_setting('test.slow', true) = 'on' THEN PERFORM pg_sleep(600); END IF; RETURN x; END $$;
	CREATE TABLE s (k int, pad text DEFAULT repeat('x', 500)) WITH (fillfactor = 10);
	CREATE INDEX s_k ON s USING pbfidx (slow(k)) WITH (pages_per_range = 1);
	INSERT INTO s SELECT generate_series(0, 300);
SQL
# The slab that replaces slab 0, from the directory's record of region 0 in block 1: first and number of pages.
sub next_slab
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $hex = $node->safe_psql('postgres', "SELECT encode(pg_read_binary_file(pg_relation_filepath('s_k'), current_setting('block_size')::int + 24 + 32 + 12, 8), 'hex')");
	return join ' ', unpack 'LL', pack 'H*', $hex;
}
is(next_slab($primary), '0 0', 'no rebuild is under way');
# Row 5 is not on one of the pages that are sampled for the size (every tenth): the sleep is after the new pages were made.
my $rebuild = session($primary);
$rebuild->{in} .= "SET test.slow = on;\nSELECT pbfidx_resummarize('s_k');\n";
$rebuild->{run}->pump_nb;
$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
my $next = next_slab($primary);
isnt($next, '0 0', 'a rebuild is under way');
run_sql('INSERT INTO s SELECT generate_series(1001, 1100)'); # in both
run_sql('UPDATE s SET k = k + 5000 WHERE k < 300 AND k % 7 = 0');
catch_up();
my $lost_s = "$index_only SELECT count(*) FILTER (WHERE n <> 1) || ' of ' || count(*) FROM (SELECT k FROM s OFFSET 0) o, LATERAL (SELECT count(*) AS n FROM s WHERE slow(s.k) = slow(o.k)) c";
is($standby->safe_psql('postgres', $lost_s), '0 of 401', 'half rebuilt: each row is found on the standby');
checked($standby, 's_k', 'half rebuilt');
$primary->stop('immediate');
$rebuild->{run}->kill_kill;
@sessions = ();
$standby->promote;
is(next_slab($standby), $next, 'the promoted server knows of the rebuild');
is($standby->safe_psql('postgres', $lost_s), '0 of 401', 'promoted: each row is found');
$standby->safe_psql('postgres', 'INSERT INTO s SELECT generate_series(2001, 2100); INSERT INTO t (k) SELECT random() * 1e9 FROM generate_series(1, 2000); UPDATE t SET k = k + 1 WHERE id % 50 = 0');
checked($standby, $_, 'promoted, with new rows') for qw(s_k t_k t_keys h_k);
$standby->safe_psql('postgres', 'VACUUM s, t, h');
is(next_slab($standby), '0 0', 'VACUUM finished the rebuild');
is($standby->safe_psql('postgres', "SELECT start_block || ' ' || blocks FROM pbfidx_slabs('s_k') WHERE level = 0 AND slab = 0"), $next, 'with the pages that it had');
$standby->safe_psql('postgres', 'INSERT INTO s SELECT generate_series(3001, 3100)');
checked($standby, $_, 'resumed') for qw(s_k t_k t_keys h_k);
is($standby->safe_psql('postgres', $lost_s), '0 of 601', 'resumed: each row is found');
is($standby->safe_psql('postgres', $index_only . lost_rows(17)), '0 of true', 'resumed: also in the large table');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|inconsistent page|corrupted|signal 11|signal 6/, 'nothing worse in the log of the standby');

END
{
	my $status = $?;
	for my $s (@sessions) { eval { $s->{run}->kill_kill; }; }
	for my $node ($standby, $primary) { $node->stop('immediate', fail_ok => 1) if defined $node; }
	$? = $status;
}
done_testing();

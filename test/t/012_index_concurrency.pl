# Eight writers, some of whose work is rolled back, VACUUM, rebuilds and rebuilds that are cancelled or killed, all at
# once: readers never miss a row that the sequential scan of the same snapshot sees, and in the end the index accounts
# for each row and for each of its blocks.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $seconds = $ENV{PBF_CONCURRENCY_SECONDS} || 20;
my $seed = $ENV{PBF_FUZZ_SEED} || int(rand(2**31));
srand($seed);
note("PBF_FUZZ_SEED=$seed");
my @load;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_wal_size = 4GB
max_connections = 40
shared_buffers = 64MB
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pbf_trgm;
-- Two rows a page: 60 leaf slabs, from which on VACUUM makes an upper, are passed on the way.
CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, k int NOT NULL, w text DEFAULT md5(random()::text),
	keys int[] GENERATED ALWAYS AS (ARRAY[k / 1000, -(k % 1000)]) STORED, pad text NOT NULL DEFAULT repeat('x', 260))
	WITH (fillfactor = 10);
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
CREATE INDEX t_id ON t (id);
CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
CREATE INDEX t_keys ON t USING pbfidx (keys, w) WITH (pages_per_range = 1);
CREATE INDEX t_like ON t USING pbfidx (w pbf_trgm_ops) WITH (pages_per_range = 1);
-- Slow for those who rebuild: so that many write while a slab is rebuilt.
CREATE FUNCTION half(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$ BEGIN IF current_setting('test.slow', true) = 'on' THEN PERFORM pg_sleep(0.0001); END IF; RETURN x / 2; END $$;
CREATE INDEX t_half ON t USING pbfidx (half(k)) WITH (pages_per_range = 1) WHERE k % 2 = 0;
INSERT INTO t (k) SELECT random() * 1e6 FROM generate_series(1, 14000);
CREATE TABLE compared (rows bigint);

-- Rows of one snapshot that the index does not find. The answers of the sequential scan are in s.
CREATE FUNCTION lost(part int, parts int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE lost bigint; seen bigint;
BEGIN
	SELECT count(*) FILTER (WHERE a.n <> 1 OR b.n <> 1 OR c.n <> 1 - s.k % 2 OR d.n <> 1 OR e.n <> 1 OR f.n <> 1), count(*) INTO lost, seen
	FROM (SELECT id, k, w, keys FROM t WHERE id % parts = part OFFSET 0) s,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.k + 0 = s.k AND t.id + 0 = s.id) b,
		LATERAL (SELECT count(*) AS n FROM t WHERE half(t.k) = half(s.k) AND t.k % 2 = 0 AND t.id + 0 = s.id) c,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.keys @> s.keys AND t.w = s.w AND t.id + 0 = s.id) d,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = ANY (ARRAY[s.k, s.k + 1, -1]) AND t.id + 0 = s.id) e,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.w LIKE '%' || substr(s.w, 5, 20) || '%' AND t.id + 0 = s.id) f;
	IF lost > 0 THEN
		RAISE EXCEPTION '% of % rows are not found', lost, seen;
	END IF;
	INSERT INTO compared VALUES (seen);
	RETURN lost;
END $$ SET enable_seqscan = off SET enable_indexscan = off SET jit = off;
SQL
my $plan = $node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_indexscan = off; EXPLAIN SELECT FROM t WHERE k = 5; EXPLAIN SELECT FROM t WHERE half(k) = 5 AND k % 2 = 0; EXPLAIN SELECT FROM t WHERE keys @> ARRAY[5]; EXPLAIN SELECT FROM t WHERE w LIKE \'%0123456789abcdef%\'');
like($plan, qr/Bitmap Index Scan on t_k.*Bitmap Index Scan on t_half.*Bitmap Index Scan on t_keys.*Bitmap Index Scan on t_like/s, 'readers look in the index');

# --- who runs -----------------------------------------------------------------------------------------------------

my %script = (
	insert => "INSERT INTO t (k) SELECT random() * 1e6 FROM generate_series(1, 3);\n",
	update => "\\set a random(1, 4000)\nUPDATE t SET k = random() * 1e6 WHERE id BETWEEN :a AND :a + 3;\n",
	hot    => "\\set a random(1, 4000)\nUPDATE t SET pad = repeat('y', 260) WHERE id = :a;\n",
	delete => "\\set a random(1, 4000)\nDELETE FROM t WHERE id = :a;\n",
	abort  => "\\set a random(1, 4000)\nBEGIN;\nINSERT INTO t (k) VALUES (random() * 1e6);\nSAVEPOINT s;\nUPDATE t SET k = random() * 1e6 WHERE id = :a;\n"
	  . "INSERT INTO t (k) VALUES (random() * 1e6);\nROLLBACK TO s;\nUPDATE t SET w = md5(random()::text) WHERE id = :a;\nCOMMIT;\n",
	back        => "\\set a random(1, 4000)\nBEGIN;\nINSERT INTO t (k) SELECT random() * 1e6 FROM generate_series(1, 3);\nDELETE FROM t WHERE id = :a;\nROLLBACK;\n",
	vacuum      => "VACUUM t;\n",
	resummarize => "\\set a random(0, 2000)\nSELECT pbfidx_resummarize('t_k', :a, :a + 1000), pbfidx_resummarize('t_keys', :a, :a + 1000);\n",
	slow        => "\\set a random(0, 2000)\nSELECT pbfidx_resummarize('t_half', :a, :a);\n",
	reader => "\\set part random(0, 99)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT lost(:part, 100);\n\\sleep 200 ms\nSELECT lost(:part, 100);\nCOMMIT;\n");
for my $name (keys %script)
{
	my $path = $node->basedir . "/$name.sql";
	open my $f, '>', $path or die "$path: $!";
	print $f $script{$name};
	close $f;
	$script{$name} = $path;
}

sub start_load
{
	my ($what, $clients, $rate, %weight) = @_;
	my @command = ('pgbench', "--random-seed=$seed", '-n', '-c', $clients, '-j', 1, '-T', $seconds, '-p', $node->port, '-h', $node->host);
	push @command, '-R', $rate if $rate;
	push @command, '-f', "$script{$_}\@$weight{$_}" for sort keys %weight;
	my $out = '';
	push @load, { what => $what, out => \$out, run => IPC::Run::start([ @command, 'postgres' ], '<', '/dev/null', '>&', \$out) };
	return;
}

start_load('writers', 8, 300, insert => 4, update => 4, hot => 2, delete => 2, abort => 4, back => 2);
start_load('readers', 2, 0, reader => 1);
start_load('maintenance', 1, 0, vacuum => 1, resummarize => 4);
{
	local $ENV{PGOPTIONS} = '-c test.slow=on';
	start_load('slow maintenance', 1, 0, slow => 1);
}

# Rebuilds that are cancelled, or killed, or run into a timeout, in a subtransaction: what they hold is to be let go by
# its abort alone, and the next one in the same transaction finds it.
my ($interrupted, $finished) = (0, 0);
my $end = time + $seconds - 1;
while (time < $end)
{
	my $out = '';
	my $how = ('pg_cancel_backend', 'pg_terminate_backend', 'statement_timeout')[ int rand 3 ];
	my $ms = 5 + int rand 150;
	my $rebuild = "PERFORM pbfidx_resummarize('t_k'), pbfidx_resummarize('t_keys'), pbfidx_resummarize('t_half', 0, 2000);";
	my @command = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'victim'", '-c', 'SET test.slow = ' . (rand() < 0.5 ? 'on' : 'off'));
	push @command, '-c', "SET statement_timeout = $ms" if $how eq 'statement_timeout';
	push @command, '-c', "DO \$\$ BEGIN BEGIN $rebuild EXCEPTION WHEN query_canceled THEN RAISE NOTICE 'canceling'; END; "
	  . "PERFORM pbfidx_resummarize('t_k', 0, 1000); END \$\$";
	my $victim = IPC::Run::start(\@command, '<', '/dev/null', '>&', \$out);
	usleep(1000 * $ms);
	$node->safe_psql('postgres', "SELECT $how(pid) FROM pg_stat_activity WHERE application_name = 'victim'") if $how ne 'statement_timeout';
	$victim->finish;
	if   ($out =~ /terminating|canceling/) { $interrupted++; }
	else                                   { $finished++; }
	unlike($out, qr/corrupted|PANIC/, 'a rebuild that is interrupted') if $out =~ /corrupted|PANIC/;
}
for my $l (@load)
{
	ok($l->{run}->finish, "$l->{what} met no error") or diag(${ $l->{out} });
	unlike(${ $l->{out} }, qr/ERROR|FATAL/, "$l->{what}: nor complained of one");
}
@load = ();
note("rebuilds from outside: $interrupted interrupted, $finished finished");
cmp_ok($interrupted, '>', 0, 'rebuilds were interrupted');
note('rows compared: ' . $node->safe_psql('postgres', 'SELECT sum(rows) FROM compared') . ', heap pages: ' . $node->safe_psql('postgres', "SELECT heap_pages FROM pbfidx_stats('t_k')"));
cmp_ok($node->safe_psql('postgres', 'SELECT sum(rows) FROM compared'), '>', 1000, 'readers compared many rows');

# --- in the end ---------------------------------------------------------------------------------------------------

sub check
{
	my ($when) = @_;
	for my $index ('t_k', 't_half', 't_keys', 't_like')
	{
		my ($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_check('$index')");
		is("$rc$err", '0', "$when: check of $index");
	}
	is($node->safe_psql('postgres', 'SELECT lost(0, 10)'), '0', "$when: each row is found");
	return;
}
check('afterwards');
$node->safe_psql('postgres', "VACUUM t; SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_half'), pbfidx_resummarize('t_keys')");
check('after VACUUM and rebuild');
# All that was cancelled has been taken up again: the size comes to rest. Slabs of t_keys differ in size, so that it can take some
# rounds until each has found a place that fits; the checks account for every page, free or not.
my ($sizes, $same, $rounds) = ('', 0, 0);
while ($same < 4 && $rounds++ < 40)
{
	my $now = $node->safe_psql('postgres',
		"SELECT pbfidx_resummarize('t_k'), pbfidx_resummarize('t_keys'); SELECT pg_relation_size('t_k'), pg_relation_size('t_keys')");
	$same = $now eq $sizes ? $same + 1 : 0;
	$sizes = $now;
}
is($same, 4, "rebuilds reuse the space that they free: four rounds in a row change nothing, after $rounds");
check('after more of them');
is($node->safe_psql('postgres', "SELECT upper_slabs FROM pbfidx_stats('t_k')"), '1', 'there is an upper slab');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|corrupted|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	for my $l (@load) { eval { $l->{run}->kill_kill; }; }
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

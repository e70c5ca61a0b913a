# Long tables, where one upper slab stands over 2, 4 and 8 regions. The tables are holes with some rows in them.

use strict;
use warnings;

use IPC::Run;
use FindBin;
use lib $FindBin::RealBin;

use LongTable;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $region = 120 * 120;         # heap pages, one a range
my $seed = $ENV{PBF_FUZZ_SEED} || int(rand(2**31));
my $seconds = $ENV{PBF_CONCURRENCY_SECONDS} || 10;
srand($seed);
note("PBF_FUZZ_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
shared_buffers = 64MB
wal_consistency_checking = all
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pbf');
plan skip_all => 'files have other sizes' if !has_usual_files($node);

# All rows of the tables, which take long to be read: k is some number i, tags are {i, -(i % 10)}.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE rows (t text, at tid, k int);
CREATE FUNCTION missing(t text) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off SET enable_tidscan = off SET enable_indexscan = off AS $$
DECLARE
    r record;
    n bigint = 0;
    found bigint;
BEGIN
    FOR r IN SELECT at, k FROM rows WHERE rows.t = missing.t LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE k = $1 AND ctid = $2', t) USING r.k, r.at INTO found;
        n = n + 1 - found;
        EXECUTE format('SELECT count(*) FROM %I WHERE tags @> ARRAY[$1] AND k = $1 AND ctid = $2', t) USING r.k, r.at INTO found;
        n = n + 1 - found;
    END LOOP;
    EXECUTE format('SELECT count(*) FROM %I WHERE tags @> ARRAY[-7]', t) INTO found;
    RETURN n + abs(found - (SELECT count(*) FROM rows WHERE rows.t = missing.t AND k % 10 = 7));
END $$;
SQL

sub insert
{
	my ($table, $first, $last) = @_;
	return "WITH new AS (INSERT INTO $table SELECT i, ARRAY[i, -(i % 10)] FROM generate_series($first, $last) i RETURNING ctid, k) INSERT INTO rows SELECT '$table', ctid, k FROM new;";
}

sub is_right
{
	my ($table, $what, $whole) = @_;
	is($node->safe_psql('postgres', "SELECT missing('$table')"), 0, "$what: the index finds every row");
	is(() = $node->safe_psql('postgres', "SET enable_seqscan = off; SET enable_tidscan = off; SET enable_indexscan = off;
		EXPLAIN SELECT FROM $table WHERE k = 1 AND ctid = '(1,1)'; EXPLAIN SELECT FROM $table WHERE tags @> ARRAY[1]") =~ /Bitmap Index Scan on ${table}_i/g, 2, "$what: by the index");
	is($node->safe_psql('postgres', "SELECT pbfidx_check('${table}_i', " . ($whole ? 'true' : 'false') . ')'), '', "$what: check");
	return;
}

# Rows in these blocks. Some are new, some have keys that other regions have.
my $id = 0;
sub grow
{
	my ($table, @blocks) = @_;
	for my $block (sort { $a <=> $b } @blocks)
	{
		lengthen($node, $table, $block + 1) if $block > 0;
		$node->safe_psql('postgres', insert($table, $id + 1, $id + 2) . insert($table, 1 + $id % 7, 1 + $id % 7));
		$id += 2;
	}
	return;
}

# First regions of the areas, as the uppers say.
sub uppers { return $node->safe_psql('postgres', "SELECT string_agg(slab::text, ' ' ORDER BY slab) FROM pbfidx_slabs('$_[0]_i') WHERE level = 1 AND column_group = $_[1]"); }

# ---- growth ----

$node->safe_psql('postgres', 'CREATE TABLE grown (k int, tags int[]); CREATE INDEX grown_i ON grown USING pbfidx (k, tags) WITH (pages_per_range = 1)');
my $regions = 75;
my @blocks = (0, map { $_ * $region, $_ * $region - 1, $_ * $region + 1 } 1, 15, 16, 17, 18, 30, 32, 36, 37, 60, 64, 65, 72, 74);
push @blocks, map { int(rand($regions * $region)) } 1 .. 60;
grow('grown', @blocks);
is_right('grown', 'grown', 1);

# 16 areas of one region, 8 each of 2 and 4, then those of 8.
my %begins = map { $_ => 1 } 0 .. 15, (map { 16 + 2 * $_, 32 + 4 * $_ } 0 .. 7), 64, 72;
my %seen = map { $_ => 1 } split / /, uppers('grown', 0);
is(join(' ', grep { !$begins{$_} } sort { $a <=> $b } keys %seen), '', 'uppers stand at the beginnings of areas');
is(join(' ', map { $seen{$_} // 0 } 1, 15, 16, 17, 18, 30, 32, 36, 37, 60, 64, 65, 72), '1 1 1 0 1 1 1 1 0 1 1 0 1', 'of wide areas, too');
is($node->safe_psql('postgres', "SELECT count(*) FROM pbfidx_slabs('grown_i') WHERE level = 1 AND column_group = 1 AND slab IN (17, 65, 74)"),
	3, 'areas of a multi-key column are narrow');

# ---- rebuild, crash, VACUUM, REINDEX ----

cmp_ok($node->safe_psql('postgres', "SELECT pbfidx_resummarize('grown_i', 17 * $region, 40 * $region)"), '>', 10, 'some slabs are rebuilt');
is_right('grown', 'rebuilt in part');
$node->safe_psql('postgres', "SELECT pbfidx_resummarize('grown_i')");
is_right('grown', 'rebuilt');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', insert('grown', $id + 1, $id + 500) . "SELECT pbfidx_resummarize('grown_i', 60 * $region)");
$node->stop('immediate');
$node->start;
is_right('grown', 'after a crash', 1);
$node->safe_psql('postgres', "SET enable_seqscan = off; DELETE FROM grown WHERE ctid = ANY (SELECT at FROM rows WHERE t = 'grown' AND k % 3 = 0); DELETE FROM rows WHERE t = 'grown' AND k % 3 = 0; VACUUM (TRUNCATE off) grown");
is_right('grown', 'after VACUUM');
for my $workers (0, 2)
{
	$node->safe_psql('postgres', "SET max_parallel_maintenance_workers = $workers; SET maintenance_work_mem = '" . ($workers ? 96 : 1) . "MB'; REINDEX INDEX grown_i");
	is_right('grown', "built with $workers workers", $workers);
}
is($node->safe_psql('postgres', "SELECT pbfidx_estimate('grown', '{k,tags}') IS NOT NULL"), 't', 'estimated');
is($node->safe_psql('postgres', "SELECT upper_slabs || ' ' || (est_false_positive_rate BETWEEN 0 AND 1) FROM pbfidx_stats('grown_i') WHERE column_group = 0"), '10 true', 'built over so many regions, all areas are wide');

# ---- built over a long table, then grown ----

for my $built ([ 15, '0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18' ], [ 17, '0 2 4 6 8 10 12 14 16 18 20' ], [ 33, '0 4 8 12 16 20 24 28 32 36' ])
{
	my ($length, $begins) = @$built;
	my $table = "built$length";
	$node->safe_psql('postgres', "CREATE TABLE $table (k int, tags int[])");
	grow($table, map { int($_ * $region + rand($region / 2)) } 0 .. $length - 1);
	lengthen($node, $table, $length * $region);
	$node->safe_psql('postgres', "CREATE INDEX ${table}_i ON $table USING pbfidx (k, tags) WITH (pages_per_range = 1)");
	is_right($table, "$table: at first");
	grow($table, map { int($_ * $region + rand($region / 2)) } $length .. $length + 4);
	is_right($table, "$table: grown", 1);
	is(uppers($table, 0), $begins, "$table: areas are as wide as was chosen when it was built");
}

# ---- the rate, where none is asked for ----

my $pages = 1_000_000;
$node->safe_psql('postgres', "CREATE TABLE long (k int, pad text DEFAULT repeat('x', 128)); INSERT INTO long SELECT i FROM generate_series(1, $region * 48) i");
# An estimate looks at pages behind the first third.
lengthen($node, 'long', $pages / 3 + 1);
$node->safe_psql('postgres', 'INSERT INTO long SELECT -i FROM generate_series(1, 20000) i');
lengthen($node, 'long', $pages);
$node->safe_psql('postgres', 'CREATE INDEX long_i ON long USING pbfidx (k); CREATE INDEX long_usual ON long USING pbfidx (k) WITH (false_positive_rate = 2e-6)');
my %in_vain = map { $_ => $pages * $node->safe_psql('postgres', "SELECT est_false_positive_rate FROM pbfidx_stats('$_')") } 'long_i', 'long_usual';
note("pages in vain: chosen $in_vain{long_i}, usual $in_vain{long_usual}");
cmp_ok($in_vain{long_i}, '<', 2, 'a look-up in a long table reads one page in vain, within the factor of 2');
cmp_ok($in_vain{long_usual}, '>', 1.5 * $in_vain{long_i}, 'but more where another rate was asked for');
is($node->safe_psql('postgres', "SELECT pbfidx_estimate('long', '{k}') = pbfidx_estimate('long', '{k}', 1e-6), pbfidx_estimate('long', '{k}') = pbfidx_estimate('long', '{k}', 2e-6)"),
	't|f', 'estimated by the same rate');
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM generate_series(-20000, $region * 48, 997) i WHERE EXISTS (SELECT FROM long WHERE k = i AND pad IS NOT NULL)"),
	int(($region * 48 + 20000) / 997) + 1, 'rows of the long table are found');

# ---- concurrency ----

$node->safe_psql('postgres', "CREATE TABLE busy (k int, tags int[]); CREATE INDEX busy_i ON busy USING pbfidx (k, tags) WITH (pages_per_range = 1); CREATE SEQUENCE n START 1");
lengthen($node, 'busy', 17 * $region - 20);
# Each client runs its script again and again.
sub start_client
{
	my ($script) = @_;
	my %client = (script => $script, out => '');
	$client{run} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ], '<', \$client{script}, '>&', \$client{out});
	return \%client;
}

my $end = time() + $seconds;
my $writer = 'INSERT INTO busy SELECT i, ARRAY[i, -(i % 10)] FROM (SELECT nextval(\'n\')::int AS i FROM generate_series(1, 100)) x;' x 20;
my @clients = map { start_client($_) } $writer, $writer, "SELECT pbfidx_resummarize('busy_i', 16 * $region); SELECT pg_sleep(0.05);",
	'VACUUM busy; SELECT pg_sleep(0.1);', "SELECT pbfidx_check('busy_i');";
my $failed = '';
while (my $client = shift @clients)
{
	$client->{run}->finish or $failed .= $client->{out};
	push @clients, start_client($client->{script}) if time() < $end;
}
is($failed, '', 'writers, rebuilds, VACUUM and checks side by side');
cmp_ok($node->safe_psql('postgres', "SELECT max((ctid::text::point)[0]) FROM busy"), '>', 17 * $region, 'in a wide area');
note($node->safe_psql('postgres', 'SELECT count(*) FROM busy') . ' rows, uppers ' . uppers('busy', 0));
is($node->safe_psql('postgres', "SELECT pbfidx_check('busy_i')"), '', 'check after that');
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM (SELECT DISTINCT ON (k % 997) k FROM busy ORDER BY k % 997, k DESC) x WHERE NOT EXISTS (SELECT FROM busy b WHERE b.k = x.k)"), 0, 'look-ups after that');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log');
$node->stop('immediate');
done_testing();

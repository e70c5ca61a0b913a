# Building, rebuilding, vacuuming and checking an index take no more memory for a table four times as long, but for what
# maintenance_work_mem allows, and read some four times as many pages, or twice that if the longer one has uppers; not sixteen times.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc' if !-r "/proc/$$/status";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
fsync = off
jit = off
max_wal_size = 4GB
shared_buffers = 16MB
maintenance_work_mem = 16MB
max_parallel_maintenance_workers = 0
wal_consistency_checking = ''
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pbf');

# The most memory that a process had so far, in MB.
sub most_memory
{
	my ($pid) = @_;
	return slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 / 1024 : die "nothing is known of $pid";
}

# What statements take, each in a session of its own, in a table of so many rows.
sub measure
{
	my ($rows) = @_;
	my (%memory, %pages);
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t;
CREATE TABLE t (id int, tags int[], a int, b int, c int, d uuid, w text) WITH (fillfactor = 50);
INSERT INTO t SELECT i, ARRAY(SELECT i * j % 1000003 FROM generate_series(1, 30) j), i, i * 7, i % 1000, md5(i::text)::uuid, md5('w' || i) FROM generate_series(1, $rows) i;
SQL
	for my $statement ('CREATE INDEX t_idx ON t USING pbfidx (tags, a, b, c, d, w)', "SELECT pbfidx_resummarize('t_idx')", "SELECT pbfidx_check('t_idx')",
		'UPDATE t SET a = -a, tags = tags || -id; UPDATE t SET a = a + 1, tags = tags || id', 'VACUUM t', 'REINDEX INDEX CONCURRENTLY t_idx')
	{
		my $session = $node->background_psql('postgres', timeout => 1800);
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		my $slabs = "SELECT string_agg(start_block::text, ' ' ORDER BY level, slab) FROM pbfidx_slabs('t_idx')";
		my $were = $statement eq 'VACUUM t' ? $node->safe_psql('postgres', $slabs) : '';
		my $before = $node->safe_psql('postgres', "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 't'");
		$session->query_safe($statement);
		$session->query_safe('SELECT pg_stat_force_next_flush()');
		$memory{$statement} = most_memory($pid);
		$session->quit;
		isnt($node->safe_psql('postgres', $slabs), $were, "$rows rows: VACUUM rebuilt slabs") if $were;
		$pages{$statement} = $node->safe_psql('postgres', "SELECT heap_blks_read + heap_blks_hit - $before FROM pg_statio_user_tables WHERE relname = 't'");
	}
	return (\%memory, \%pages);
}

my ($memory, $pages) = measure(40_000);
my ($more_memory, $more_pages) = measure(160_000);
for my $statement (sort keys %$memory)
{
	next if $statement =~ /^UPDATE/;
	cmp_ok($more_memory->{$statement}, '<', $memory->{$statement} + 16, "$statement: memory");
	cmp_ok($more_memory->{$statement}, '<', 100, "$statement: in all");
	cmp_ok($more_pages->{$statement}, '<', 10 * $pages->{$statement}, "$statement: $pages->{$statement} pages, then $more_pages->{$statement}");
	cmp_ok($pages->{$statement}, '>', 1000, "$statement: they were counted");
}

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

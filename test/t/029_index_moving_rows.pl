# Rows that pruning, VACUUM and replay move on their pages while scans look at these: each row is seen once, whatever the
# snapshot, on the primary and on a standby.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{PBF_MOVING_SECONDS} || 8;
my $rows = 500;
my @load;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_wal_size = 4GB
CONF
$primary->start;
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# So small that replay puts images of pages into buffers that it has to make room for.
$standby->append_conf('postgresql.conf', "shared_buffers = 256kB\nmax_standby_streaming_delay = -1");
$standby->start;

# Nothing but fixed columns before those that are looked for: that a page does not have the bytes then decides.
$primary->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pbf;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pbf_trgm;
CREATE TABLE line (id bigint, w text, n int DEFAULT 0);
CREATE TABLE list (id bigint, w text[], n int DEFAULT 0);
INSERT INTO line SELECT i, md5(i::text) FROM generate_series(1, $rows) i;
INSERT INTO list SELECT id, ARRAY[w, 'x'] FROM line;
CREATE INDEX line_id ON line (id);
CREATE INDEX list_id ON list (id);
CREATE INDEX line_w ON line USING pbfidx (w pbf_trgm_ops) WITH (pages_per_range = 1);
CREATE INDEX list_w ON list USING pbfidx (w) WITH (pages_per_range = 1);
VACUUM ANALYZE line, list;
SQL
my %script = (
	write => "\\set a random(1, $rows)\nUPDATE line SET n = n + 1 WHERE id = :a;\nUPDATE list SET n = n + 1 WHERE id = :a;\n",
	vacuum => "VACUUM line;\nVACUUM list;\n",
	checkpoint => "CHECKPOINT;\n\\sleep 50 ms\n",
	read => "\\set a random(1, $rows)\nSELECT count(*) AS c FROM line WHERE w LIKE '%' || substr(md5(:a::text), 3, 20) || '%' \\gset\n"
	  . "SELECT count(*) AS d FROM list WHERE w @> ARRAY[md5(:a::text)] \\gset\nSELECT 1 / (:c = 1 AND :d = 1)::int AS each_row_once;\n");
for my $name (keys %script)
{
	my $path = $primary->basedir . "/$name.sql";
	open my $f, '>', $path or die "$path: $!";
	print $f $script{$name};
	close $f;
	$script{$name} = $path;
}

sub start_load
{
	my ($node, $what, $clients) = @_;
	my $out = '';
	push @load, { what => "$what, " . $node->name, out => \$out,
		run => IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '-p', $node->port, '-h', $node->host, '-f', $script{$what}, 'postgres' ], '<', '/dev/null', '>&', \$out) };
	return;
}

$primary->wait_for_catchup($standby);
my $plan = $primary->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT FROM line WHERE w LIKE '%0123456789abcdef%'; EXPLAIN SELECT FROM list WHERE w @> '{x}'");
like($plan, qr/Bitmap Index Scan on line_w.*Bitmap Index Scan on list_w/s, 'readers look in the index');
start_load($primary, 'write', 2);
start_load($primary, 'vacuum', 1);
start_load($primary, 'checkpoint', 1);
{
	local $ENV{PGOPTIONS} = '-c enable_seqscan=off';
	start_load($primary, 'read', 3);
	start_load($standby, 'read', 2);
}
for my $l (@load)
{
	ok($l->{run}->finish, "$l->{what}: no error") or diag(${ $l->{out} });
	my ($done) = ${ $l->{out} } =~ /transactions actually processed: (\d+)/;
	cmp_ok($done // 0, '>', 10, "$l->{what}: ran");
	note("$l->{what}: " . ($done // 0));
}
@load = ();
done_testing();

END
{
	my $status = $?;
	for my $l (@load) { eval { $l->{run}->kill_kill; }; }
	for my $node ($standby, $primary) { $node->stop('immediate', fail_ok => 1) if defined $node; }
	$? = $status;
}

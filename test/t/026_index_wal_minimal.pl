# wal_level = minimal: an index in a table that was made or truncated in the same transaction is not logged but written to disk at its
# commit. It is there after a crash, and rows that come later are, too; what was rolled back leaves nothing.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
wal_level = minimal
max_wal_senders = 0
autovacuum = off
jit = off
wal_consistency_checking = all
min_parallel_table_scan_size = 0
CONF

for my $threshold ('0', '2MB', '1GB')    # from this size on a file is synced, below it is logged after all
{
	my $name = 't' . lc($threshold);
	$node->append_conf('postgresql.conf', "wal_skip_threshold = $threshold");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pbf');
	my $rows = "SELECT i AS k, md5(i::text) AS w FROM generate_series(1, 30000) i";
	$node->safe_psql('postgres', <<"SQL");
		CREATE TABLE old_$name AS $rows;
		CREATE INDEX ON old_$name USING pbfidx (k, w) WITH (pages_per_range = 1);
		BEGIN;
		CREATE TABLE built_$name AS $rows;
		CREATE INDEX ON built_$name USING pbfidx (k, w) WITH (pages_per_range = 1);
		INSERT INTO built_$name SELECT i, 'later' FROM generate_series(30001, 40000) i;
		COMMIT;
		BEGIN;
		CREATE TABLE grown_$name (k int, w text);
		CREATE INDEX ON grown_$name USING pbfidx (k, w) WITH (pages_per_range = 1);
		INSERT INTO grown_$name $rows;
		SAVEPOINT s;
		TRUNCATE grown_$name;
		ROLLBACK TO s;
		COMMIT;
		BEGIN;
		TRUNCATE old_$name;
		INSERT INTO old_$name SELECT -i, 'new' FROM generate_series(1, 20000) i;
		COMMIT;
		BEGIN;
		REINDEX TABLE grown_$name;
		ALTER TABLE grown_$name SET (fillfactor = 90);
		SELECT pbfidx_resummarize(indexrelid) FROM pg_index WHERE indrelid = 'grown_$name'::regclass;
		COMMIT;
		INSERT INTO grown_$name SELECT i, 'later' FROM generate_series(30001, 33000) i;
		BEGIN;
		TRUNCATE built_$name;
		INSERT INTO built_$name SELECT -i, 'never' FROM generate_series(1, 20000) i;
		ROLLBACK;
SQL
	$node->stop('immediate');
	$node->start;
	my %expected = ("built_$name" => 40000, "grown_$name" => 33000, "old_$name" => 20000);
	for my $table (sort keys %expected)
	{
		is($node->safe_psql('postgres', <<"SQL"), "\n0 of $expected{$table}", "wal_skip_threshold $threshold: $table after a crash");
			SELECT pbfidx_check(indexrelid) FROM pg_index WHERE indrelid = '$table'::regclass;
			SET enable_seqscan = off;
			SELECT count(*) || ' of ' || (SELECT count(*) FROM $table) FROM (SELECT * FROM $table WHERE k % 7 = 0 OFFSET 0) s,
				LATERAL (SELECT count(*) AS n FROM $table WHERE k = s.k AND w = s.w) a WHERE n <> 1;
SQL
		like($node->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT FROM $table WHERE k = 1 AND w = 'x'"),
			qr/Bitmap Index Scan on ${table}_k_w_idx/, "$table: by the index");
	}
	$node->stop('fast');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

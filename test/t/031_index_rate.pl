# The false positive rate that was asked for, measured: pages that look-ups of values which are not there read in vain. Of an
# index as it was built, after the table has grown tenfold, and after half of its rows have been updated.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\njit = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
-- Pages that n look-ups of values that are not there read.
CREATE FUNCTION read_in_vain(tab text, n int) RETURNS float8 LANGUAGE plpgsql SET enable_seqscan = off SET pbf.filter_rows = off AS $$
DECLARE
	plan json;
	pages float8 := 0;
BEGIN
	FOR i IN 1..n LOOP
		EXECUTE format('EXPLAIN (ANALYZE, FORMAT json, TIMING off, COSTS off) SELECT FROM %I WHERE k = %L', tab, md5('absent' || i)) INTO plan;
		pages := pages + coalesce((plan->0->'Plan'->>'Lossy Heap Blocks')::int, 0) + coalesce((plan->0->'Plan'->>'Exact Heap Blocks')::int, 0);
	END LOOP;
	RETURN pages;
END $$;
SQL

# Measured by so many look-ups that chance makes a few percent, between the bounds; the estimate of pbfidx_stats too.
sub rate
{
	my ($table, $asked, $when) = @_;
	my ($heap, $estimate) = split /\|/, $node->safe_psql('postgres', "SELECT heap_pages, est_false_positive_rate FROM pbfidx_stats('${table}_k_idx')");
	my $n = int(600 / ($heap * $asked)) + 1;
	my $rate = $node->safe_psql('postgres', "SELECT read_in_vain('$table', $n)") / $n / $heap;
	cmp_ok($rate, '<', 2 * $asked, "$table, $when: $rate of $heap pages in vain, of $n look-ups; asked: $asked");
	cmp_ok($estimate, '>', $rate / 2, "$table, $when: estimated $estimate");
	cmp_ok($estimate, '<', $rate * 2, "$table, $when: no more than twice of it");
	return;
}

# With an upper slab and without; an ordinary rate and a low one.
for my $case ([ 'large', 60_000, 120, 1e-4 ], [ 'small', 8_000, 40, 1e-3 ])
{
	my ($table, $rows, $pad, $asked) = @$case;
	$node->safe_psql('postgres', "CREATE TABLE $table (id int, k uuid, pad text); INSERT INTO $table SELECT i, md5(i::text)::uuid, repeat('x', $pad) FROM generate_series(1, $rows) i;
		CREATE INDEX ON $table USING pbfidx (k) WITH (false_positive_rate = $asked); VACUUM ANALYZE $table");
	rate($table, $asked, 'built');
	$node->safe_psql('postgres', "INSERT INTO $table SELECT i, md5(i::text)::uuid, repeat('x', $pad) FROM generate_series($rows + 1, 10 * $rows) i; VACUUM ANALYZE $table");
	rate($table, $asked, 'grown tenfold');
	$node->safe_psql('postgres', "UPDATE $table SET k = md5(id || 'new')::uuid WHERE id % 2 = 0; VACUUM ANALYZE $table");
	rate($table, $asked, 'half of the rows updated');
	is($node->safe_psql('postgres', "SELECT pbfidx_check('${table}_k_idx') IS NOT NULL"), 't', "$table: right");
}

# An index that was made with the first row is made for what will come; so is the slab at the end of a table that has begun a
# page of it: 185 rows are a page, 120 pages a slab.
for my $case ([ 'first', 1, 200_000 ], [ 'tail', 6 * 120 * 185 + 2, 119 * 185 ])
{
	my ($table, $rows, $more) = @$case;
	$node->safe_psql('postgres', "CREATE TABLE $table (k uuid); INSERT INTO $table SELECT md5(i::text)::uuid FROM generate_series(1, $rows) i;
		CREATE INDEX ON $table USING pbfidx (k) WITH (false_positive_rate = 0.001)");
	is($node->safe_psql('postgres', "SELECT heap_pages % 120, pages_per_range FROM pbfidx_stats('${table}_k_idx')"), '1|1', "$table: a page more than slabs");
	$node->safe_psql('postgres', "INSERT INTO $table SELECT md5(i::text)::uuid FROM generate_series($rows + 1, $rows + $more) i");
	rate($table, 0.001, 'grown');
}

done_testing();

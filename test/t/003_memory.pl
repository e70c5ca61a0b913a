# Nothing leaks: neither from row to row while a query runs, nor from query to query in a backend.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
shared_buffers = 256MB
max_wal_size = 4GB
max_parallel_workers_per_gather = 0
jit = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
-- Memory of this backend at this moment. The portal that looks is part of it, always alike.
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';
CREATE TABLE filters AS SELECT i AS id, pbf_agg(k, CASE WHEN i % 2 = 0 THEN 100 ELSE 20000 END) AS f FROM generate_series(1, 50) i, generate_series(1, 100) k GROUP BY i;
CREATE TABLE one AS SELECT pbf_agg(k, 1000000) AS f, pbf_agg_like(k, pbf_new(100000, 0.01, 'plain')) AS p FROM generate_series(1, 10000) k;
CREATE TABLE kept AS SELECT pbf_agg(k, 20000) AS compressed FROM generate_series(1, 10) k LIMIT 0;
ALTER TABLE kept ALTER compressed SET STORAGE EXTENDED;
INSERT INTO kept SELECT pbf_agg(k, 20000) FROM generate_series(1, 10) k;
CREATE TABLE words AS SELECT i AS x, repeat('w' || i, CASE WHEN i % 1000 = 0 THEN 2000 ELSE 1 END) AS w, (i * 1.5)::numeric AS n FROM generate_series(1, 200000) i;
CREATE AGGREGATE state(bigint) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE TABLE states AS SELECT x % 500 AS g, state(x) AS s FROM words GROUP BY 1;
CREATE AGGREGATE merge(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf, FINALFUNC = pbf_agg_final);
SQL

# --- from row to row ----------------------------------------------------------------------------------------------
#
# Each query is run over many rows and tells how much memory the backend has early on and at the end: the difference must
# not depend on the number of rows. MEMORY stands for an expression that says so at two rows and is NULL otherwise.

my $slack = 300_000;

# What a query tells, in a backend that has told its memory before: that leaves something in caches.
sub growth
{
	return $node->safe_psql('postgres', "DO 'BEGIN PERFORM memory(), memory(); END';\n$_[0]");
}

my $memory = 'CASE WHEN i IN (20000, 200000) THEN memory() END';
my %queries = (
	'membership, constant'              => 'SELECT pbf_new(100) + 1 @> i AS r, MEMORY AS m FROM ROWS',
	'membership, TOASTed filter'        => 'SELECT f @> i AS r, MEMORY AS m FROM one, ROWS',
	'membership, TOASTed plain filter'  => 'SELECT p @> i AS r, MEMORY AS m FROM one, ROWS',
	'membership, compressed filter'     => 'SELECT compressed @> i AS r, MEMORY AS m FROM kept, ROWS',
	'membership, another filter a row'  => 'SELECT (SELECT f FROM filters WHERE id = 1 + i % 50) @> i AS r, MEMORY AS m FROM ROWS',
	'membership, arrays'                => 'SELECT f && ARRAY[i, -i] AS r, f @> ARRAY(SELECT generate_series(1, 20)) AS s, MEMORY AS m FROM one, ROWS',
	'membership, hashes'                => 'SELECT pbf_contains_hash(f, i) AS r, MEMORY AS m FROM one, ROWS',
	'membership, long text and numeric' => "SELECT (SELECT pbf_new(10) + 'a'::text) \@> w AS r, (SELECT pbf_new(10) + 1.5) \@> n AS s, MEMORY AS m FROM words, LATERAL (SELECT x AS i) x",
	'membership, states'                => 'SELECT (SELECT s FROM states WHERE g = 1) @> i AS r, MEMORY AS m FROM ROWS WHERE i % 100 = 0',
	'hashes'                            => "SELECT pbf_hash(w), pbf_hash(n), pbf_hash(ARRAY[i]), MEMORY AS m FROM words, LATERAL (SELECT x AS i) x",
	'arrays that match'                 => 'SELECT pbf_matching(f, ARRAY[i, 1, 2]) AS r, MEMORY AS m FROM one, ROWS WHERE i % 10 = 0',
	'adding'                            => 'SELECT (pbf_new(100) + i) + ARRAY[i, 1] AS r, MEMORY AS m FROM ROWS',
	'operators on filters'              => 'SELECT (a | b) & a AS r, a && b, a !&& b, a = b, a -> 1, pbf_info(a | b), MEMORY AS m FROM ROWS, LATERAL (SELECT pbf_new(100) + i AS a, pbf_new(50) + 1 AS b) v',
	'text and bytes'                    => 'SELECT (pbf_new(100) + i)::text::pbf::bytea::pbf AS r, MEMORY AS m FROM ROWS');
for my $name (sort keys %queries)
{
	my $query = $queries{$name};
	$query =~ s/MEMORY/$memory/;
	$query =~ s/ROWS/generate_series(1, 200000) i/;
	# OFFSET 0 keeps the columns from being left out.
	my $growth = growth("SELECT max(m) - min(m) FROM (SELECT q.*, q IS NULL FROM ($query OFFSET 0) q OFFSET 0) q WHERE m IS NOT NULL");
	cmp_ok($growth, '<', $slack, "$name: $growth bytes more after 180000 rows");
}

# The same within one group of an aggregate, whose state may not grow either.
my %aggregates = (
	'pbf_agg, capacity'           => 'pbf_agg(i, 1000)',
	'pbf_agg, large'              => 'pbf_agg(i, 1000000)',
	'pbf_agg, few distinct'       => 'pbf_agg(i % 100)',
	'pbf_agg, polymorphic'        => "pbf_agg(i * interval '1 s', 1000)",
	'pbf_agg, text'               => "pbf_agg(repeat('w' || i, 100), 1000)",
	'pbf_agg, numeric'            => 'pbf_agg(i::numeric, 1000)',
	'pbf_agg, arrays'             => 'pbf_agg(ARRAY[i, -i], 1000)',
	'pbf_agg_like, TOASTed'       => 'pbf_agg_like(i, (SELECT f FROM one))',
	'pbf_agg_hash'                => 'pbf_agg_hash(i, 1000)',
	'pbf_union_agg'               => 'pbf_union_agg(pbf_new(100) + i)',
	'pbf_union_agg, other sizes'  => 'pbf_union_agg(pbf_new(100 * (1 + i % 3)) + i)',
	'pbf_union_agg, TOASTed'      => '(pbf_union_agg((SELECT f FROM filters WHERE id = 1 + 2 * (i % 20))) FILTER (WHERE i % 20 = 0))',
	'pbf_intersect_agg'           => 'pbf_intersect_agg(pbf_new(100) + i)',
	'combining'                   => 'merge(pbf_new(100) + i)',
	'combining states'            => '(merge((SELECT s FROM states WHERE g = i % 50)) FILTER (WHERE i % 20 = 0))');
for my $name (sort keys %aggregates)
{
	my $growth = growth(<<SQL);
		SELECT m FROM (SELECT $aggregates{$name} AS r, max($memory) FILTER (WHERE i = 200000) - max($memory) FILTER (WHERE i = 20000) AS m
			FROM generate_series(1, 200000) i) q WHERE r IS NOT NULL
SQL
	cmp_ok($growth, '<', $slack, "$name: $growth bytes more after 180000 rows");
}

# And as a window function, where each row's filter is handed out. (A frame that is the whole partition so far.)
for my $aggregate ('pbf_agg(i, 1000)', 'pbf_agg(i, 20000)', 'pbf_agg(i % 100)', 'pbf_agg_like(i, pbf_new(1000))', 'pbf_union_agg(pbf_new(100) + i)')
{
	my $growth = growth(<<SQL);
		SELECT max(m) - min(m) FROM (SELECT pbf_fill($aggregate OVER (ORDER BY i)) AS r, CASE WHEN i IN (2000, 20000) THEN memory() END AS m
			FROM generate_series(1, 20000) i OFFSET 0) q WHERE r IS NOT NULL AND m IS NOT NULL
SQL
	cmp_ok($growth, '<', $slack, "window, $aggregate: $growth bytes more after 18000 rows");
}

# And while an index is built, which hashes all values in one context.
my ($rc, $out, $err) = $node->psql('postgres', <<'SQL');
CREATE FUNCTION noted(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF i IN (50, 400) THEN
		RAISE NOTICE 'memory %', (SELECT sum(total_bytes)::bigint FROM pg_catalog.pg_backend_memory_contexts);
	END IF;
	RETURN true;
END $$;
CREATE TABLE hashed AS SELECT i AS id, pbf_agg(k, 20000) AS f FROM generate_series(1, 400) i, generate_series(1, 10) k GROUP BY i ORDER BY i;
CREATE INDEX ON hashed USING hash (f) WHERE noted(id);
SQL
my @memory = $err =~ /memory (\d+)/g;
is(scalar(@memory), 2, 'memory was looked at twice while a hash index was built');
cmp_ok($memory[1] - $memory[0], '<', $slack, 'hash index: ' . ($memory[1] - $memory[0]) . ' bytes more after 350 rows');

# --- a million groups ---------------------------------------------------------------------------------------------
#
# In one hash table, what a group takes, and that nothing of it is left afterwards. These aggregates differ from pbf_agg
# only in the size that they tell the server beforehand: it would divide the work otherwise.

$node->safe_psql('postgres', <<'SQL');
CREATE AGGREGATE small_agg(int) (SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 64, FINALFUNC = pbf_agg_final);
CREATE AGGREGATE small_agg(int, float8) (SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 64, FINALFUNC = pbf_agg_final);
CREATE AGGREGATE small_agg(text, float8) (SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 64, FINALFUNC = pbf_agg_final);
SQL
for my $case (
	# aggregate, groups, rows a group, bytes a group
	[ 'small_agg(i)',            1_000_000, 2, 400 ],
	[ 'small_agg(i, 3)',         1_000_000, 3, 400 ],
	[ "small_agg('w' || i, 10)", 1_000_000, 2, 400 ],
	[ 'small_agg(i, 100)',       1_000_000, 1, 600 ],
	[ 'small_agg(i, 20000)',     5000,      9, 40_000 ])
{
	my ($aggregate, $total, $rows, $limit) = @$case;
	# Groups, and the memory while one of them is looked at; :rows rows in all.
	my $query = <<SQL;
		INSERT INTO result SELECT count(r), max(m) FROM (
			SELECT r, CASE WHEN g = 7 THEN memory() END AS m FROM (
				SELECT i % $total AS g, $aggregate AS r FROM (SELECT generate_series(0, :rows - 1) AS i) i GROUP BY 1 OFFSET 0) q OFFSET 0) q;
SQL
	my $output = growth(<<SQL);
		SET work_mem = '2000MB';
		SET enable_sort = off;
		CREATE TEMP TABLE result (groups bigint, peak bigint);
		\\set rows 1000
		$query
		TRUNCATE result;
		SELECT memory() AS before \\gset
		\\set rows $rows * $total
		$query
		SELECT groups, (peak - :before) / groups, memory() - :before FROM result;
SQL
	my ($groups, $each, $left) = split /\|/, $output;
	is($groups, $total, "$aggregate: $total groups");
	# The hash table itself takes about 100 bytes a group.
	cmp_ok($each, '<', $limit, "$aggregate: $each bytes a group");
	cmp_ok($left, '<', $slack, "$aggregate: $left bytes left behind");
}

# --- from query to query ------------------------------------------------------------------------------------------

my $round = <<'SQL';
SELECT pbf_agg(i), pbf_agg(i, 1000), pbf_agg(i::text), pbf_agg(i::numeric), pbf_agg(ARRAY[i]), pbf_agg(i * interval '1 s') FROM generate_series(1, 1000) i;
SELECT pbf_agg(i, 500000) FROM generate_series(1, 1000) i;
SELECT count(*) FROM one, generate_series(1, 1000) i WHERE f @> i AND p @> i AND f && ARRAY[i, 0];
SELECT count(*) FROM filters, words WHERE x < 100 AND f @> x;
SELECT pbf_union_agg(f), pbf_intersect_agg(f) FROM filters;
SELECT merge(s) FROM states WHERE g < 50;
SELECT count(*) FROM words WHERE pbf_build('{1,2}'::int[]) @> x;
SELECT pbf_agg(x) OVER (ORDER BY x), pbf_agg(x, 1000) OVER (ORDER BY x) FROM words WHERE x < 100;
SELECT pbf_info(pbf_shrink(f, 1000)), pbf_shrink_to_fpr(f, 0.1), f::text::pbf = f, f::bytea::pbf = f FROM filters WHERE id < 5;
DO $$ DECLARE f pbf = pbf_new(10); BEGIN FOR i IN 1..1000 LOOP f := f + i; PERFORM f @> i; END LOOP; END $$;
DO $$ BEGIN PERFORM pbf_new(-1); EXCEPTION WHEN OTHERS THEN NULL; END $$;
DO $$ BEGIN PERFORM 'x'::pbf; EXCEPTION WHEN OTHERS THEN NULL; END $$;
DO $$ BEGIN PERFORM pbf_agg(x, 10, NULL) FROM words; EXCEPTION WHEN OTHERS THEN NULL; END $$;
DO $$ BEGIN PERFORM pbf_new(10) + 1 @> w FROM words; EXCEPTION WHEN OTHERS THEN NULL; END $$;
SQL
my $rounds = 20;
my $left = $node->safe_psql('postgres',
	"\\o /dev/null\n" . $round x 3 . "\\o\nSELECT memory() AS before \\gset\n\\o /dev/null\n" . $round x $rounds . "\\o\nSELECT memory() - :before");
cmp_ok($left, '<', 50_000, "$left bytes left behind by $rounds rounds of queries");

$node->stop;
done_testing();

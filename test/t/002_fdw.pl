# Through postgres_fdw: operators, functions and aggregates are evaluated where the data is, although there only pg_catalog
# is in the search_path; filters built on several servers merge into the one that a single server would have built.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;

if ($node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") eq '0')
{
	$node->stop;
	plan skip_all => 'no postgres_fdw';
}

# --- two shards, which choose their instruction set themselves; in both the extension is in another schema than public

my @shards = (0, 1);
for my $shard (@shards)
{
	$node->safe_psql('postgres', "CREATE DATABASE shard$shard");
	$node->safe_psql("shard$shard", <<SQL);
		CREATE SCHEMA bloom;
		CREATE EXTENSION pbf SCHEMA bloom;
		CREATE TYPE colour AS ENUM ('red', 'green');
		CREATE TABLE t (shard int, x int, g int, w text, tags int[], c colour, f bloom.pbf, d date);
		INSERT INTO t SELECT $shard, x, x % 10, 'w' || x, ARRAY[x, -x], CASE WHEN x % 3 = 0 THEN 'red' ELSE 'green' END::colour,
				bloom.pbf_add(bloom.pbf_new(10, 1e-9), x), date '2000-01-01' + x
			FROM generate_series(1, 20000) x WHERE x % 2 = $shard;
		ANALYZE t;
SQL
}

$node->safe_psql('postgres', 'CREATE DATABASE coordinator');
my ($host, $port) = ($node->host, $node->port);
$node->safe_psql('coordinator', <<SQL);
	CREATE SCHEMA bloom;
	CREATE EXTENSION pbf SCHEMA bloom;
	CREATE EXTENSION postgres_fdw;
	CREATE TYPE colour AS ENUM ('red', 'green');
	CREATE SERVER shard0 FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'shard0', extensions 'pbf', async_capable 'true', options '-c pbf.simd=scalar');
	CREATE SERVER shard1 FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'shard1', extensions 'pbf', async_capable 'true', options '-c pbf.simd=auto');
	CREATE SERVER ignorant FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'shard0');
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard0;
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard1;
	CREATE USER MAPPING FOR CURRENT_USER SERVER ignorant;
	CREATE TABLE t (shard int, x int, g int, w text, tags int[], c colour, f bloom.pbf, d date) PARTITION BY LIST (shard);
	CREATE FOREIGN TABLE t0 PARTITION OF t FOR VALUES IN (0) SERVER shard0 OPTIONS (table_name 't');
	CREATE FOREIGN TABLE t1 PARTITION OF t FOR VALUES IN (1) SERVER shard1 OPTIONS (table_name 't');
	CREATE FOREIGN TABLE far (shard int, x int, g int, w text, tags int[], c colour, f bloom.pbf, d date) SERVER ignorant OPTIONS (table_name 't');
	CREATE TABLE filters AS SELECT 'numbers' AS name, bloom.pbf_agg(i, 100, 1e-9) AS f FROM generate_series(1, 100) i;
	INSERT INTO filters SELECT 'words', bloom.pbf_agg('w' || i, 100, 1e-9) FROM generate_series(1, 100) i;
	INSERT INTO filters SELECT 'dates', bloom.pbf_agg(date '2000-01-01' + i, 100, 1e-9) FROM generate_series(1, 100) i;
	CREATE TABLE local AS TABLE t;
	ANALYZE t, t0, t1, far, local;
SQL
$node->safe_psql('postgres', "ALTER DATABASE coordinator SET search_path = public, bloom");
$node->safe_psql('postgres', "ALTER DATABASE coordinator SET enable_partitionwise_aggregate = on");
is($node->safe_psql('coordinator', 'SELECT count(*) FROM local'), '20000', 'all rows are there');

sub plan_of { return $node->safe_psql('coordinator', "EXPLAIN (VERBOSE, COSTS OFF) $_[0]"); }

# A filter as a constant.
sub constant
{
	return $node->safe_psql('coordinator', "SELECT quote_literal(f) || '::pbf' FROM filters WHERE name = '$_[0]'");
}
my %filter = map { $_ => constant($_) } qw(numbers words dates);

# --- conditions go to where the data is ---------------------------------------------------------------------------

my @conditions = (
	[ "$filter{numbers} \@> x", 'OPERATOR\(bloom\.@>\)', 100 ],
	[ "x <@ $filter{numbers}", 'OPERATOR\(bloom\.<@\)', 100 ],
	[ "$filter{numbers} \@> tags", 'OPERATOR\(bloom\.@>\)', 0 ],
	[ "tags <@ $filter{numbers}", 'OPERATOR\(bloom\.<@\)', 0 ],
	[ "$filter{numbers} && tags", 'OPERATOR\(bloom\.&&\)', 100 ],
	[ "tags && $filter{numbers}", 'OPERATOR\(bloom\.&&\)', 100 ],
	[ "$filter{words} \@> w", 'OPERATOR\(bloom\.@>\)', 100 ],
	[ "$filter{words} \@> (w || '')", 'OPERATOR\(bloom\.@>\)', 100 ],
	[ "$filter{dates} \@> d", 'OPERATOR\(bloom\.@>\)', 100 ],
	[ "NOT $filter{numbers} \@> x", 'NOT .*OPERATOR\(bloom\.@>\)', 19900 ],
	[ 'f @> x', 'f OPERATOR\(bloom\.@>\) x', 20000 ],
	[ 'f @> 17', 'OPERATOR\(bloom\.@>\) 17', 1 ],
	[ "f && $filter{numbers} AND x <= 200", 'OPERATOR\(bloom\.&&\)', undef ],
	[ "pbf_contains($filter{numbers}, x)", 'bloom\.pbf_contains\(', 100 ],
	[ "pbf_contains_any($filter{numbers}, tags)", 'bloom\.pbf_contains_any\(', 100 ],
	[ "pbf_contains_hash($filter{numbers}, pbf_hash(x))", 'bloom\.pbf_contains_hash\(.*bloom\.pbf_hash\(', 100 ],
	[ "(f | $filter{numbers}) \@> 50 AND x < 10", 'OPERATOR\(bloom\.\|\)', 9 ],
	[ 'f + 1 @> 1 AND x < 10', 'OPERATOR\(bloom\.\+\)', 9 ],
	[ 'pbf_cardinality(f) > 0.5', 'bloom\.pbf_cardinality\(', 20000 ],
	[ 'f = pbf_new(10, 1e-9) + 17', 'OPERATOR\(bloom\.=\)', 1 ],
	[ "(SELECT f FROM filters WHERE name = 'numbers') \@> x", '\$1::bloom\.pbf OPERATOR\(bloom\.@>\) x|OPERATOR\(bloom\.@>\) x', 100 ]);
for my $c (@conditions)
{
	my ($condition, $remote, $rows) = @$c;
	my $name = $condition =~ s/'\\?x?[0-9a-f]{50,}'|E?'\\+x[0-9a-f]+'/'...'/gr;
	my $plan = plan_of("SELECT x FROM t WHERE $condition");
	my $sent = () = $plan =~ /Remote SQL: SELECT .* WHERE .*$remote/g;
	is($sent, 2, "both shards evaluate: $name") or diag(substr($plan, 0, 2000));
	my $count = $node->safe_psql('coordinator', "SELECT count(*) FROM t WHERE $condition");
	is($count, $node->safe_psql('coordinator', "SELECT count(*) FROM local WHERE $condition"), "as here: $name");
	is($count, $rows, "$rows rows: $name") if defined $rows;
}
unlike(plan_of("SELECT x FROM far WHERE $filter{numbers} \@> x"), qr/Remote SQL: .*\@>/, "not without extensions 'pbf'");
is($node->safe_psql('coordinator', "SELECT count(*) FROM far WHERE $filter{numbers} \@> x"), '50', '... but right');
my ($rc, $out, $err) = $node->psql('coordinator', "SELECT count(*) FROM t WHERE $filter{numbers} \@> w");
like($err, qr/cannot look for text elements in a filter of integer elements/, 'another kind of element is an error there, too');

# A join with filters: each filter is looked up at the shards.
is($node->safe_psql('coordinator', "SELECT count(*) FROM filters, t WHERE name = 'numbers' AND filters.f \@> x"), '100', 'join');

# --- aggregates ---------------------------------------------------------------------------------------------------

# One shard: the whole aggregate is computed there.
for my $aggregate (
	'pbf_agg(x)', 'pbf_agg(x, 10000)', 'pbf_agg(x, 10000, 0.001)', 'pbf_agg(w, 10000)', 'pbf_agg(d, 10000)', 'pbf_agg(tags)',
	'pbf_agg(tags, 20000)', 'pbf_agg(x::bigint % 7 = 0)', 'pbf_agg_hash(pbf_hash(x))', 'pbf_agg_like(x, pbf_new(5000))', 'pbf_union_agg(f)',
	'pbf_intersect_agg(f + 5)', 'pbf_agg(DISTINCT g)', 'pbf_agg(x) FILTER (WHERE x < 100)', 'pbf_agg(x, 100000)')
{
	like(plan_of("SELECT $aggregate FROM t0"), qr/Remote SQL: SELECT bloom\.pbf_\w+\(.* FROM public\.t/, "shard computes $aggregate");
	is( $node->safe_psql('coordinator', "SELECT (SELECT $aggregate FROM t0) = (SELECT $aggregate FROM local WHERE shard = 0)"),
		't', "as here: $aggregate");
	is($node->safe_psql('coordinator', "SELECT (SELECT $aggregate FROM far) = (SELECT $aggregate FROM t0)"), 't', "as without push-down: $aggregate");
	# Over all shards the rows are fetched: partial aggregates are not shipped.
	is($node->safe_psql('coordinator', "SELECT (SELECT $aggregate FROM t) = (SELECT $aggregate FROM local)"), 't', "over all shards: $aggregate");
}

# All shards: each builds its filter, they are merged here. With a capacity it is the filter that one server would have built.
for my $case ([ 'x', '20000, 0.01' ], [ 'x', '1000000, 0.01' ], [ 'w', '20000, 0.0001' ], [ 'tags', '40000' ], [ 'd', '20000' ], [ 'x', '100' ])
{
	my ($column, $size) = @$case;
	my $query = "SELECT pbf_union_agg(f) FROM (SELECT shard, pbf_agg($column, $size) AS f FROM t GROUP BY shard) s";
	my $plan = plan_of($query);
	my $sent = () = $plan =~ /Remote SQL: SELECT .*bloom\.pbf_agg\(.* GROUP BY/g;
	is($sent, 2, "both shards build: $column, $size") or diag($plan);
	like($plan, qr/Async Foreign Scan/, 'at the same time');
	is($node->safe_psql('coordinator', "SELECT ($query) = (SELECT pbf_agg($column, $size) FROM local)"), 't', "merged, bit for bit: $column, $size");
}
is( $node->safe_psql('coordinator', <<'SQL'), '0', 'without a capacity nothing is lost');
	SELECT count(*) FROM local, (SELECT pbf_union_agg(f) AS f FROM (SELECT shard, pbf_agg(x) AS f FROM t GROUP BY shard) s) s WHERE NOT s.f @> x
SQL
is( $node->safe_psql('coordinator', <<'SQL'), '0|t', 'filters of groups');
	SELECT count(*) FILTER (WHERE NOT f @> g OR f <> e), count(*) = 10 FROM
		(SELECT shard, g, pbf_agg(g, 10) AS f, pbf_agg_like(g, pbf_new(10)) AS e FROM t GROUP BY shard, g) s
SQL
# An enum's values have other OIDs on each server; their labels are what counts.
is( $node->safe_psql('coordinator', <<'SQL'), 't|t', 'enums');
	SELECT f = (SELECT pbf_agg(c, 10) FROM local), f @> 'red'::colour FROM (SELECT pbf_union_agg(f) AS f FROM (SELECT shard, pbf_agg(c, 10) AS f FROM t GROUP BY shard) s) s
SQL

# --- filters are written through, too -----------------------------------------------------------------------------

is( $node->safe_psql('coordinator', <<'SQL'), '2|t', 'INSERT, UPDATE, DELETE');
	INSERT INTO t (shard, x, f) SELECT i, 1000000 + i, pbf_agg(k, 50000) FROM generate_series(0, 1) i, generate_series(1, 100) k GROUP BY i;
	UPDATE t SET f = f + x WHERE f @> 100 AND x >= 1000000;
	DELETE FROM t WHERE f @> 17 AND x < 1000000;
	SELECT count(*), bool_and(f = pbf_new(50000) + ARRAY(SELECT generate_series(1, 100)) + x) FROM t WHERE x >= 1000000
SQL
is($node->safe_psql('coordinator', 'SELECT count(*) FROM t WHERE x = 17'), '0', 'deleted');

$node->stop;
done_testing();

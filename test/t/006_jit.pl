# Every function gives the same result when queries are compiled and functions of the extension inlined into them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;
if ($node->safe_psql('postgres', 'SET jit = on; SELECT pg_jit_available()') ne 't')
{
	plan skip_all => 'this server has no JIT compiler';
}
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE TABLE t AS SELECT i AS x, i::bigint AS b, 'w' || i AS w, md5(i::text)::uuid AS u, ARRAY[i, i + 1] AS a, i / 7.0 AS n FROM generate_series(1, 3000) i;
CREATE INDEX t_i ON t USING pbfidx (x, w, u);
CREATE INDEX t_a ON t USING pbfidx (a);
CREATE TABLE f AS SELECT x % 5 AS id, pbf_agg(x, 5000) AS f, pbf_agg(x) AS s, pbf_agg_like(w, pbf_new_geometry(1, 6, 6400)) AS g FROM t GROUP BY 1;
ANALYZE;
SQL
my $jit = 'SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;';
my @queries = (
	'SELECT sum(pbf_hash(x)::numeric), sum(pbf_hash(b)::numeric), sum(pbf_hash(w)::numeric), sum(pbf_hash(u)::numeric), sum(pbf_hash(n)::numeric), sum(pbf_hash(a)::numeric) FROM t',
	'SELECT count(*) FROM t, f WHERE f.f @> t.x', 'SELECT count(*) FROM t, f WHERE f.g @> t.w', 'SELECT count(*) FROM t, f WHERE f.f @> t.a', 'SELECT count(*) FROM t, f WHERE f.f && t.a',
	'SELECT md5(string_agg(f::text || s::text || g::text, $$,$$ ORDER BY id)) FROM (SELECT x % 3 AS id, pbf_agg(x, 900) AS f, pbf_agg(b) AS s, pbf_agg(w, 10, 0.1) AS g FROM t GROUP BY 1) q',
	'SELECT md5(string_agg((f | s)::text || (f & s)::text || (f && s) || (f !&& s) || (f = s) || (f < s) || (f + 7)::text || (f + $${1,2}$$::int[])::text, $$,$$ ORDER BY id)) FROM f',
	'SELECT md5(string_agg(row(pbf_cardinality(f), pbf_fpr(f), pbf_fill(f), pbf_is_empty(g), pbf_shrink(f, 1000), pbf_info(g), pbf_info(f))::text, $$,$$ ORDER BY id)) FROM f',
	'SELECT md5(string_agg(row(pbf_union_cardinality(f, s), pbf_intersection_cardinality(f, s), pbf_jaccard(f, s), pbf_contains_filter(f, s), pbf_same_geometry(f, g), pbf_reduce(g, 3), pbf_fold(g, 2))::text, $$,$$ ORDER BY id)) FROM f',
	'SELECT pbf_union_agg(f)::text, pbf_intersect_agg(f)::text FROM f',
	'SELECT md5(string_agg(f::bytea::pbf::text, $$,$$ ORDER BY id)), count(DISTINCT f) FROM f',
	'SELECT pbfidx_check(i), pbfidx_stats(i)::text FROM unnest($${t_i,t_a}$$::regclass[]) i', 'SELECT sum(blocks) FROM unnest($${t_i,t_a}$$::regclass[]) i, pbfidx_slabs(i)',
	'SELECT pbfidx_estimate($$t$$, ARRAY[c])::text FROM unnest($${x,w,a}$$::name[]) c', 'SELECT pbfidx_resummarize(i) > 0 FROM unnest($${t_i,t_a}$$::regclass[]) i',
	'SELECT count(*) FROM t WHERE x = 77 AND w = $$w77$$', 'SELECT count(*) FROM t WHERE a @> $${7}$$', 'SELECT count(*) FROM t a JOIN t b ON a.x = b.x + 1 WHERE a.w = $$w9$$',
);
for my $query (@queries)
{
	my ($code, $out, $err) = $node->psql('postgres', "SET enable_seqscan = off; SET jit = off; $query");
	my ($jit_code, $jit_out, $jit_err) = $node->psql('postgres', "SET enable_seqscan = off; $jit $query");

	is("$jit_code $jit_out $jit_err", "0 $out ", $query);
}
like($node->safe_psql('postgres', "$jit EXPLAIN (ANALYZE) SELECT sum(pbf_hash(x)::numeric) FROM t"), qr/Inlining true/, 'functions were inlined where that is possible');

done_testing();

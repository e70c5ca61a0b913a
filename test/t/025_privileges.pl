# What an ordinary role may do: everything with filters, nothing with the indexes of others. And an install script that is not led
# astray by what others have put into the schema.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE ROLE owner;
CREATE ROLE other;
CREATE ROLE looker IN ROLE pg_stat_scan_tables;
CREATE SCHEMA own AUTHORIZATION owner;
GRANT USAGE ON SCHEMA own TO PUBLIC;
SET ROLE owner;
CREATE TABLE own.t AS SELECT i AS k FROM generate_series(1, 1000) i;
CREATE INDEX t_k ON own.t USING pbfidx (k);
CREATE TABLE own.f AS SELECT pbf_agg(k) AS f FROM own.t;
SQL

sub as
{
	my ($role, $statement) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SET ROLE $role; $statement");
	return $rc ? $err =~ /permission denied|must be owner/ ? 'refused' : $err : 'done';
}

# --- functions ----------------------------------------------------------------------------------------------------------

is(as('other', 'SELECT pbf_agg(i) @> 1, pbf_new(10) | pbf_build(ARRAY[1]), pbf_cardinality(pbf_agg(i)) FROM generate_series(1, 9) i'), 'done', 'filters are for everybody');
is(as('other', 'SELECT f FROM own.f'), 'refused', 'but not those in tables of others');
my %reader = map { $_ => 1 } my @reading = ("pbfidx_stats('own.t_k')", "pbfidx_slabs('own.t_k')", "pbfidx_check('own.t_k')", "pbfidx_check('own.t_k', false)");
for my $call (@reading, "pbfidx_resummarize('own.t_k')", "pbfidx_resummarize('own.t_k', 0, 0)")
{
	is(as('owner', "SELECT $call"), 'done', "owner: $call");
	is(as('other', "SELECT $call"), 'refused', "other: $call");
	is(as('looker', "SELECT $call"), $reader{$call} ? 'done' : 'refused', "looker: $call");
}
is(as('owner', "SELECT pbfidx_estimate('own.t', '{k}')"), 'done', 'owner: pbfidx_estimate');
is(as('other', "SELECT pbfidx_estimate('own.t', '{k}')"), 'refused', 'other: pbfidx_estimate');
$node->safe_psql('postgres', 'GRANT SELECT ON own.t TO other');
is(as('other', "SELECT pbfidx_estimate('own.t', '{k}')"), 'done', 'who may read the table may estimate');
$node->safe_psql('postgres', 'ALTER TABLE own.t ENABLE ROW LEVEL SECURITY');
is(as('other', "SELECT pbfidx_estimate('own.t', '{k}')"), 'refused', 'but not if policies hide rows');
is(as('owner', "SELECT pbfidx_estimate('own.t', '{k}')"), 'done', 'for the owner they do not');
$node->safe_psql('postgres', 'ALTER TABLE own.t DISABLE ROW LEVEL SECURITY');
is(as('other', "SELECT pbfidx_stats('own.t_k')"), 'refused', 'that is not enough for statistics of the index');
is(as('other', 'CREATE INDEX ON own.t USING pbfidx (k)'), 'refused', 'nor for an index');
is(as('other', 'REINDEX INDEX own.t_k'), 'refused', 'nor for REINDEX');

# All functions of the index that can be called from SQL were tried above; those with an argument of type internal cannot.
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc WHERE proname ~ '^pbfidx_' AND 'internal'::regtype <> ALL (proargtypes)"),
	'pbfidx_check pbfidx_estimate pbfidx_resummarize pbfidx_slabs pbfidx_stats', 'no function of the index was forgotten');
like(as('other', "SELECT pbfidx_handler(NULL::internal)"), qr/cannot|internal/, 'the handler is not called from SQL');

# --- row security ---------------------------------------------------------------------------------------------------------

# A condition that is not leakproof comes after the policy, index or not.
$node->safe_psql('postgres', <<'SQL');
ALTER TABLE own.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON own.t TO other USING (k % 2 = 0);
SQL
is($node->safe_psql('postgres', "SET ROLE other; SET enable_seqscan = off; SELECT count(*) FILTER (WHERE k = 3), count(*) FROM own.t WHERE k IN (3, 4)"), '0|1', 'row security holds with the index');

# --- a hostile schema -------------------------------------------------------------------------------------------------------

# Operators and functions that would be better matches than the server's, if a name in the script were looked up in the schema first;
# whoever calls them is written down.
$node->safe_psql('postgres', 'DROP EXTENSION pbf CASCADE; CREATE DATABASE clean; CREATE DATABASE hostile');
$node->safe_psql('clean', 'CREATE SCHEMA x; CREATE EXTENSION pbf SCHEMA x');
my @types = qw(int bigint smallint text bytea uuid date timestamptz timestamp float8 real numeric oid name inet);
my $trap = "CREATE SCHEMA x; GRANT ALL ON SCHEMA x TO other; SET ROLE other; SET search_path = x, pg_temp;
	CREATE FUNCTION never(anyelement, anyelement) RETURNS bool LANGUAGE plpgsql AS \$\$BEGIN RAISE EXCEPTION 'trapped'; END\$\$;\n";
for my $type (@types)
{
	$trap .= "CREATE FUNCTION never_$type($type, $type) RETURNS bool LANGUAGE plpgsql AS \$\$BEGIN RAISE EXCEPTION 'trapped'; END\$\$;\n";
	$trap .= "CREATE OPERATOR $_ (LEFTARG = $type, RIGHTARG = $type, FUNCTION = never_$type);\n" for '=', '<', '||';
}
$trap .= "CREATE FUNCTION $_() RETURNS text LANGUAGE plpgsql AS \$\$BEGIN RAISE EXCEPTION 'trapped'; END\$\$;\n" for qw(current_database version pg_backend_pid);
$node->safe_psql('hostile', $trap);
$node->safe_psql('hostile', 'CREATE EXTENSION pbf SCHEMA x');

# What the members refer to.
my $refers = <<'SQL';
SET search_path = '';
SELECT 'operator', o.oprname, o.oprcode::oid::regprocedure, o.oprrest::oid::regprocedure, o.oprjoin::oid::regprocedure FROM pg_operator o
	JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e';
SELECT 'family', f.opfname, amopopr::regoperator FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily
	JOIN pg_depend d ON d.classid = 'pg_opfamily'::regclass AND d.objid = f.oid AND d.deptype = 'e';
SELECT 'aggregate', aggfnoid::regprocedure, aggtransfn::oid::regprocedure, aggfinalfn::oid::regprocedure, aggcombinefn::oid::regprocedure FROM pg_aggregate
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = aggfnoid::oid AND d.deptype = 'e';
SELECT 'function', p.oid::regprocedure, p.prosupport::oid::regprocedure, p.prosrc FROM pg_proc p
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e';
SQL
sub referred { return join("\n", sort split(/\n/, $node->safe_psql($_[0], $refers))); }
my $clean = referred('clean');
cmp_ok(length $clean, '>', 10000, 'members found');
is(referred('hostile'), $clean, 'installed into a hostile schema: refers to the same');
is($node->safe_psql('hostile', "CREATE TABLE t AS SELECT i AS k, 'w' || i AS w FROM generate_series(1, 3000) i; CREATE INDEX ON t USING pbfidx (k, w);
	SET enable_seqscan = off; SELECT count(*) FROM t WHERE k = 5 AND w = 'w5'; SELECT x.pbf_agg(k) OPERATOR(x.@>) 7 FROM t"), "1\nt", 'and works');
# pbf_trgm names the operators and functions of pg_trgm: those, and not what somebody has where it is installed.
$node->safe_psql('hostile', <<'SQL');
CREATE SCHEMA trgm;
CREATE EXTENSION pg_trgm SCHEMA trgm;
SET ROLE other;
CREATE OPERATOR x.% (LEFTARG = text, RIGHTARG = text, FUNCTION = x.never_text);
CREATE OPERATOR x.%> (LEFTARG = text, RIGHTARG = text, FUNCTION = x.never_text);
CREATE OPERATOR x.%>> (LEFTARG = text, RIGHTARG = text, FUNCTION = x.never_text);
CREATE OPERATOR x.~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = x.never_text);
CREATE FUNCTION x.gin_extract_value_trgm(text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1';
SET search_path = x;
RESET ROLE;
CREATE EXTENSION pbf_trgm SCHEMA x;
SQL
is($node->safe_psql('hostile', "SELECT count(*), count(*) FILTER (WHERE o.oprnamespace IN ('trgm'::regnamespace, 'pg_catalog'::regnamespace)) FROM pg_amop
	JOIN pg_opfamily f ON f.oid = amopfamily JOIN pg_operator o ON o.oid = amopopr WHERE opfname = 'pbf_trgm_ops'"), '8|8', 'pbf_trgm: operators of pg_trgm and the server');
is($node->safe_psql('hostile', "SELECT string_agg(n.nspname, ' ' ORDER BY amprocnum) FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily
	JOIN pg_proc p ON p.oid = amproc JOIN pg_namespace n ON n.oid = pronamespace WHERE opfname = 'pbf_trgm_ops'"), 'trgm trgm trgm x', 'and their functions');
is($node->safe_psql('hostile', "CREATE INDEX ON t USING pbfidx (w x.pbf_trgm_ops); SET enable_seqscan = off; SELECT count(*) FROM t WHERE w LIKE '%2999%'"), '1', 'and works');
for my $object ('CREATE FUNCTION x.pbf_in(cstring) RETURNS name LANGUAGE internal AS $$namein$$', 'CREATE TYPE x.pbf', 'CREATE FUNCTION x.pbfidx_handler(internal) RETURNS index_am_handler LANGUAGE internal AS $$bthandler$$')
{
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS taken; CREATE DATABASE taken');
	$node->safe_psql('taken', "CREATE SCHEMA x; GRANT ALL ON SCHEMA x TO other; $object");
	my ($rc, $out, $err) = $node->psql('taken', 'CREATE EXTENSION pbf SCHEMA x');
	like($err, qr/already exists|is not a member/, "what is there is not taken over: $object");
}

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

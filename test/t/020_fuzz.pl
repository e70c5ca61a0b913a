# Every function, operator and aggregate of the type and every function of the index, called with random arguments: NULL,
# extreme and absurd values, filters of all shapes, filters whose bytes were changed. No call may crash, hang, raise an
# internal error or leave memory behind; and what was in a filter stays in it whatever becomes of that filter.
#
# PBF_FUZZ_CALLS: how many (default 3000); PBF_FUZZ_SEED: to repeat a run.

use strict;
use warnings;

use List::Util qw(first);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{PBF_FUZZ_CALLS} || 3000;
my $seed = $ENV{PBF_FUZZ_SEED} || int(time);
srand($seed);
note("PBF_FUZZ_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
jit = off
restart_after_crash = off
statement_timeout = '10min'
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TYPE pair AS (a int, b text);

-- Changes some bytes of a filter, or cuts it short, or makes it longer. Most of what comes out is no filter.
CREATE FUNCTION mutated(f pbf, seed int) RETURNS pbf LANGUAGE plpgsql AS $$
DECLARE
	b bytea = f::bytea;
	n int = length(b);
	at int;
BEGIN
	FOR i IN 1 .. seed % 3 + 1 LOOP
		-- The header twice as often as chance would have it.
		at = CASE WHEN seed % 2 = 0 THEN random() * (n - 1) ELSE random() * least(n - 1, 24) END;
		b = CASE seed % 7
			WHEN 0 THEN substr(b, 1, at)
			WHEN 1 THEN b || substr(b, 1, at)
			WHEN 2 THEN set_bit(b, (at * 8)::bigint, 1)
			ELSE set_byte(b, at, (random() * 255)::int)
		END;
		n = length(b);
		EXIT WHEN n < 2;
	END LOOP;
	RETURN b::pbf;
END $$;

-- What a query raises, or gives.
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN 'ok ' || coalesce(left(result, 5), 'NULL');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS 'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';

CREATE AGGREGATE state(int) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE state(text) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE TABLE t AS SELECT i AS k, 'w' || i AS w, ARRAY[i] AS a FROM generate_series(1, 3000) i;
CREATE INDEX t_k ON t USING pbfidx (k, w);
CREATE INDEX t_partial ON t USING pbfidx ((k + 1)) WHERE k > 10;
CREATE INDEX t_btree ON t (k);
CREATE VIEW v AS SELECT * FROM t;
CREATE SEQUENCE s;
CREATE TABLE p (k int) PARTITION BY RANGE (k);
CREATE INDEX p_k ON p USING pbfidx (k);
CREATE TABLE failed AS SELECT 0 AS z;
CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
CREATE UNLOGGED TABLE nothing (k int);
CREATE INDEX nothing_k ON nothing USING pbfidx (k);
SQL
$node->psql('postgres', 'CREATE INDEX CONCURRENTLY failed_z ON failed USING pbfidx ((1 / z))');
# A filter per shape: small, large, blocked, plain, empty, full, with a kind and without one, unfinished states.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE filter AS SELECT row_number() OVER () - 1 AS id, f FROM (
	SELECT pbf_new(c, r, l) AS f FROM unnest(ARRAY[1, 100, 5000]) c, unnest(ARRAY[0.5, 0.01, 1e-6]) r, unnest(ARRAY['blocked', 'plain']) l
	UNION ALL SELECT f + 1 + 2 FROM (SELECT pbf_new(c, 0.01, l) AS f FROM unnest(ARRAY[1, 100]) c, unnest(ARRAY['blocked', 'plain']) l) x
	UNION ALL SELECT pbf_new(100) + 'a'::text + 'b'::text
	UNION ALL SELECT pbf_new(100) + 1.5
	UNION ALL SELECT pbf_new(100) + 'ok'::mood
	UNION ALL SELECT pbf_new(100) + ROW(1, 'x')::pair
	UNION ALL SELECT pbf_add_hash(pbf_new(100), 42)
	UNION ALL SELECT pbf_agg(i, 10) FROM generate_series(1, 10000) i
	UNION ALL SELECT pbf_agg(i, 300000) FROM generate_series(1, 10000) i
	UNION ALL SELECT pbf_agg_like(i, pbf_new(10, 0.3, 'plain')) FROM generate_series(1, 1000) i
	UNION ALL SELECT pbf_agg(i) FROM generate_series(1, 10) i
	UNION ALL SELECT pbf_agg_hash(i) FROM generate_series(1, 10) i
	UNION ALL SELECT state(i) FROM generate_series(1, 10) i
	UNION ALL SELECT state(i::text) FROM generate_series(1, 300) i
	UNION ALL SELECT pbf_new_geometry(3, 7, 64, 'blocked')
	UNION ALL SELECT pbf_new_geometry(1, 5, 999, 'plain') + 3) x;
SQL
my $filters = $node->safe_psql('postgres', 'SELECT count(*) FROM filter');

# --- arguments ----------------------------------------------------------------------------------------------------

sub pick { return $_[ rand @_ ]; }

sub filter
{
	my $f = '(SELECT f FROM filter WHERE id = ' . int(rand $filters) . ')';
	my $how = rand;
	return "mutated($f, " . int(rand 1000) . ')' if $how < 0.3;
	return "$f\::text::pbf" if $how < 0.35;
	return $f;
}

my %pool = (
	bool => [qw(true false)],
	smallint => [qw(0 1 -1 32767 (-32768)::smallint)],
	integer => [qw(0 1 2 3 8 42 100 -1 2147483647 (-2147483648)::int 65536)],
	bigint => [qw(0 1 2 64 1000 -1 4294967294 4294967295 4294967296 9223372036854775807 (-9223372036854775808)::bigint)],
	real => [qw(0 -0 1.5 'NaN' 'Infinity' '-Infinity' 1e-40 3e38)],
	'double precision' => [qw(0 -0.0 1 10 1000 0.01 0.5 0.99999 1e-15 1e-300 1e18 1e300 -1 'NaN' 'Infinity' '-Infinity' 100000)],
	numeric => [qw(0 1.0 1.00 'NaN' 'Infinity' 1e-30 123456789012345678901234567890)],
	text => [qw('' 'a' 'b' 'auto' 'plain' 'blocked'), "'x y'", "repeat('long', 5000)", "E'\\\\x0102'"],
	varchar => [ "'a'", "'b   '" ],
	bpchar => [ "'a'", "'b   '" ],
	name => [ "'a'" ],
	'"char"' => [ "'a'", "''" ],
	bytea => [ "''", "'\\x00'", "'\\xdeadbeef'", "decode(repeat('00', 100000), 'hex')" ],
	uuid => [ 'md5(1::text)::uuid', "'00000000-0000-0000-0000-000000000000'" ],
	date => [qw('2000-01-01' 'infinity' '-infinity'), "'4713-01-01 BC'" ],
	timestamp => [qw('2000-01-01' 'infinity' '-infinity')],
	timestamptz => [qw('2000-01-01' 'infinity' '-infinity')],
	interval => [ "'1 day'", "'24 hours'", "'-1 month 30 days'" ],
	inet => [qw('10.0.0.1' '::1/128' '10.0.0.1/8')],
	oid => [qw(0 1 4294967295)],
	mood => [qw('sad' 'happy')],
	small => [qw(1 7)],
	pair => [ "ROW(1, 'x')", 'ROW(NULL, NULL)' ],
	jsonb => [ "'{}'", "'1'", "'[1,2]'", "'null'" ],
	int4range => [ "'[1,3)'", "'empty'" ],
	xml => [ "'<a/>'" ],
	point => [ "'(1,2)'" ],
	'integer[]' => [ "'{}'", "'{1,2,NULL}'", 'ARRAY(SELECT generate_series(1, 500))', "'{{1,2},{3,4}}'", "'[5:6]={1,2}'" ],
	'text[]' => [ "'{}'", "'{a,b}'", "'{k}'", "'{k,w,NULL}'", "'{k,k,nosuch}'", "'{ctid}'" ],
	'double precision[]' => [ "'{}'", "'{0,-0,NaN}'" ],
	regclass => [ map { "'$_'" } qw(t t_k t_partial t_btree v s p p_k failed_z m nothing_k pg_class pg_class_oid_index pg_toast.pg_toast_1255 0 4000000000) ],
	cstring => [ "''", "'\\x'", "'\\x01'", "'\\x0100000100'", "'nonsense'", "pbf_out((SELECT f FROM filter WHERE id = 7))" ]);
my @element = grep { !/\[\]|regclass|cstring/ } sort keys %pool;
my @array = grep { /\[\]/ } sort keys %pool;

# An argument of a type; `any` is what the polymorphic types of this call stand for.
our $nulls = 0.08;
sub argument
{
	my ($type, $any) = @_;
	return 'NULL' if $type eq 'internal';
	if ($type =~ /^any(compatible)?(nonarray|array|)$/)
	{
		# Now and then the types do not agree.
		$any = pick(@element) if rand() < 0.05;
		$type = $2 eq 'array' ? (rand() < 0.5 ? pick(@array) : "$any\[]") : $any;
		return 'ARRAY[' . join(', ', map { argument($any) } 1 .. 1 + rand 4) . "]::$type" if $type =~ /\[\]$/ && !$pool{$type};
	}
	return "NULL::$type" if rand() < $nulls;
	return filter() if $type eq 'pbf';
	$type =~ s/^boolean$/bool/;
	$type =~ s/^character varying$/varchar/;
	$type =~ s/^character$/bpchar/;
	$type =~ s/^(timestamp|time) without time zone$/$1/;
	$type =~ s/^timestamp with time zone$/timestamptz/;
	die "no values of type $type" if !$pool{$type};
	return '(' . pick(@{ $pool{$type} }) . ")::$type";
}

my @functions = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT p.oid::regproc, p.prokind, array_to_string(ARRAY(SELECT format_type(x, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY a (x, i) ORDER BY i), ';')
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pbf'
ORDER BY p.oid::regprocedure::text
SQL
my @operators = map { [ split /\t/ ] } split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT concat_ws(E'\t', oprname, format_type(oprleft, NULL), format_type(oprright, NULL))
FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pbf'
ORDER BY 1
SQL
cmp_ok(scalar @functions, '>', 190, 'functions found');
cmp_ok(scalar @operators, '>', 15, 'operators found');

# Each in turn, so that none is left out.
my ($next_function, $next_operator) = (0, 0);

sub function_call
{
	my ($name, $kind, $types) = @{ $functions[ $next_function++ % @functions ] };
	my @types = split /;/, $types // '';
	my $any = pick(@element);
	if ($kind eq 'a')
	{
		my $rows = join ', ', map { '(' . join(', ', map { argument($_, $any) } @types) . ')' } 1 .. 1 + rand 4;
		my $arguments = join ', ', map { "v.column$_" } 1 .. @types;
		my $variant = pick('', '', "FILTER (WHERE random() < 2)", "OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "OVER (ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)");
		my $distinct = $variant eq '' && rand() < 0.1 ? 'DISTINCT ' : '';
		return "SELECT (SELECT string_agg(r::text, '') FROM (SELECT $name($distinct$arguments) $variant AS r FROM (VALUES $rows) v) q)";
	}
	return "SELECT $name(" . join(', ', map { argument($_, $any) } @types) . ')::text';
}

sub operator_call
{
	my ($name, $left, $right) = @{ $operators[ $next_operator++ % @operators ] };
	my $any = pick(@element);
	return 'SELECT (' . argument($left, $any) . " $name " . argument($right, $any) . ')::text';
}

# Functions of functions, of filters that are likely to fit together.
my @unary = ('%s', 'pbf_fold(%s)', 'pbf_reduce(%s, 2)', 'pbf_shrink(%s, 300)', 'pbf_shrink_to_fpr(%s, 0.5)', '%s::text::pbf',
	'%s::bytea::pbf', '%1$s | %1$s', '%1$s & %1$s', 'pbf_agg_final(%s)', '%s -> 1', '(SELECT pbf_union_agg(x) FROM (VALUES (%1$s), (%1$s)) v (x))');

sub nested
{
	my ($f) = @_;
	$f = sprintf(pick(@unary), $f) for 0 .. rand 3;
	return "($f)";
}

# These are never false. A call that cannot be (other kind of element, no such number of parts) raises an error.
sub promise
{
	my $f = filter();
	my $x = pick(@element);
	local $nulls = 0;
	my $v = argument($x);
	my $a = nested("($f + $v)");
	return 'SELECT ' . pick(
		"coalesce($a \@> $v, true)",
		"coalesce($a && ARRAY[$v]::$x\[], true)",
		"coalesce($v <@ $a, true)",
		"(SELECT a \@> a AND a = a AND a && a = NOT pbf_is_empty(a) AND pbf_fpr(a) BETWEEN 0 AND 1 AND pbf_cardinality(a) >= 0 FROM (SELECT $a AS a OFFSET 0) s)",
		"(SELECT a::text::pbf = a AND a::bytea::pbf = a AND pbf_hash_value(a) = pbf_hash_value(a::text::pbf) FROM (SELECT $a AS a OFFSET 0) s)",
		"(SELECT coalesce((a | b) \@> $v AND (a | b) \@> b, true) FROM (SELECT $a AS a, $f AS b OFFSET 0) s)",
		"(SELECT (a < b)::int + (a = b)::int + (a > b)::int = 1 AND (a < b) = (b > a) FROM (SELECT $a AS a, " . filter() . " AS b OFFSET 0) s)");
}

# --- calls --------------------------------------------------------------------------------------------------------

my @queries = map { rand() < 0.55 ? function_call() : rand() < 0.4 ? operator_call() : promise() } 1 .. $calls;
my $script = "SELECT try(q) FROM (VALUES (''), ('')) v (q) \\g /dev/null\n";
$script .= "SELECT try(\$query\$$_\$query\$);\n" for @queries;

# Twice, with a look at the memory between.
my $memory = "SELECT 'memory ' || memory();\n";
my ($rc, $out, $err) = $node->psql('postgres', "$script$memory$script$memory", on_error_stop => 0);
is($rc, 0, 'the server lives');
is($err, '', 'nothing escaped') or diag(substr($err, 0, 2000));
my @answers = split /\n/, $out;
my @memory = map { /^memory (\d+)/ ? $1 : () } @answers;
@answers = grep { !/^memory/ } @answers;
is(scalar @answers, 2 * $calls, 'every call ended') or diag('the next one: ' . ($queries[ @answers % $calls ] // ''));

my (%count, %succeeded);
my @bad;
for my $i (0 .. $#answers)
{
	my ($state, $rest) = split / /, $answers[$i], 2;
	my $kind = $queries[ $i % $calls ] =~ /^SELECT (coalesce|\(SELECT (?!string_agg))/ ? 'promise' : 'call';
	$count{"$kind $state"}++;
	$succeeded{$1} = 1 if $state eq 'ok' && $queries[ $i % $calls ] =~ /\b(pbf\w*)\(/;
	push @bad, "$answers[$i]\n    $queries[$i % $calls]"
	  if $state =~ /^XX|^5[378]|^P0|^42601/ || ($kind eq 'promise' && "$state $rest" =~ /^ok (false|f|NULL)$/);
}
note("$_: $count{$_}") for sort keys %count;
is(scalar @bad, 0, 'no internal error, no broken promise') or diag(join("\n", @bad[ 0 .. ($#bad < 20 ? $#bad : 20) ]));
cmp_ok($count{'call ok'} // 0, '>', $calls / 5, 'many calls succeeded');
my %names = map { ($_->[0] =~ s{.*\.}{}r => 1) } grep { ($_->[2] // '') !~ /internal|cstring/ } @functions;
my @never = grep { !$succeeded{$_} } sort keys %names;
cmp_ok(scalar @never, '<', keys(%names) / 4, 'of most functions at least one: never of ' . join(', ', @never)) if $calls >= 3000;
cmp_ok($count{'promise ok'} // 0, '>', $calls / 20, 'many promises were tried');
cmp_ok($memory[1] - $memory[0], '<', 1_000_000, 'memory left behind by the second round: ' . ($memory[1] - $memory[0]));

my ($status, $said, $complaint) = $node->psql('postgres', "SELECT pbfidx_check('t_k'), pbfidx_check('t_partial')");
is("$status$complaint", '0', 'the indexes are right');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|signal 1?\d\b/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

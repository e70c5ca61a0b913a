# Random tables, random pbfidx indexes, random statements and random conditions: after each statement the index is checked and
# answers as the sequential scan; at the end of each table also after a crash, for which all that was logged is replayed and
# compared with the pages: all of the index is. (Of the table's pages the server itself would complain, whose files are gone
# before the replay ends.)
#
# PBF_FUZZ_ROUNDS: how many tables (default 4); PBF_FUZZ_SEED: to repeat a run.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PBF_FUZZ_ROUNDS} || 4;
my $seed = $ENV{PBF_FUZZ_SEED} || int(time);
srand($seed);
note("PBF_FUZZ_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
jit = off
wal_consistency_checking = generic
max_wal_size = 4GB
checkpoint_timeout = 1h
shared_buffers = 16MB
maintenance_work_mem = 8MB
min_parallel_table_scan_size = 0
restart_after_crash = off
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE TYPE mood AS ENUM ('a', 'b', 'c', 'd', 'e');
CREATE DOMAIN small AS int;

-- Rows of t for which a condition holds, by the index and by the sequential scan: what differs. used: whether the index can serve it.
CREATE FUNCTION compare(condition text, OUT used bool, OUT rows bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	scanned tid[];
	found tid[];
BEGIN
	PERFORM set_config('enable_seqscan', 'on', true), set_config('pbf.enable_index', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT array_agg(ctid) FROM t WHERE %s', condition) INTO scanned;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('pbf.enable_index', 'on', true), set_config('enable_bitmapscan', 'on', true);
	used = false;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT ctid FROM t WHERE %s', condition) LOOP
		used = used OR line LIKE '%Bitmap Index Scan on t_idx%';
	END LOOP;
	EXECUTE format('SELECT array_agg(ctid) FROM t WHERE %s', condition) INTO found;
	rows = coalesce(cardinality(scanned), 0);
	SELECT count(*) INTO wrong FROM unnest(scanned) s FULL JOIN unnest(found) f ON s = f WHERE s IS NULL OR f IS NULL;
END $$;
SQL

my $has_trgm = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'");
$node->safe_psql('postgres', 'CREATE EXTENSION pbf_trgm CASCADE') if $has_trgm;

sub pick { return $_[ rand @_ ]; }

# How a value of a type is made of an integer x.
my %make = (
	smallint => '(%s %% 30000)::smallint', int => '(%s)::int', bigint => '(%s * 5000000000)::bigint', numeric => '(%s / 2.0)::numeric(20,2)',
	real => '(%s / 3.0)::real', float8 => '(%s / 3.0)::float8', text => "('w' || %s)::text", varchar => "('v' || %s)::varchar(20)",
	'char(8)' => "('c' || %s)::char(8)", name => "('n' || %s)::name", bytea => "decode(md5((%s)::text), 'hex')", uuid => 'md5((%s)::text)::uuid',
	date => "(date '2020-01-01' + (%s)::int %% 20000)", timestamptz => "(timestamptz '2020-01-01 00:00+0' + (%s) * interval '1 hour')",
	interval => "((%s) * interval '1 hour')", inet => "(inet '10.0.0.0' + (%s))", mood => "(ARRAY['a', 'b', 'c', 'd', 'e']::mood[])[1 + (%s) %% 5]",
	bool => '((%s) %% 2 = 0)', small => '(%s)::small', 'int[]' => 'ARRAY[%s, 1]::int[]', jsonb => "jsonb_build_object('x', %s)",
	int4range => 'int4range(%s::int, %1$s::int + 5)', tsvector => "to_tsvector('simple', 'w' || %s || ' v' || (%1\$s) %% 50)", trigrams => "('number ' || %s || '!')::text", bit => "((%s) %% 2)::int::bit(1)", oid => '(%s)::oid');
my @types = grep { $_ ne 'trigrams' || $has_trgm } sort keys %make;

# Conditions on types with several keys; %s: an integer.
my %conditions = (
	'int[]' => [ 'COL @> ARRAY[%s]::int[]', 'COL && ARRAY[%s, -1]::int[]', 'COL <@ ARRAY[%s, 1]::int[]', 'COL = ARRAY[%s, 1]::int[]' ],
	jsonb => [ q(COL @> jsonb_build_object('x', %s)), q(COL ? 'x'), q(COL ?| '{y,x}'), q(COL @? '$.x ? (@ == %s)'), q(COL @@ '$.x == %s || $.x < 3') ],
	tsvector => [ q(COL @@ to_tsquery('simple', 'w%s')), q(COL @@ to_tsquery('simple', 'w%s | v7 & !w3')), q(COL @@ to_tsquery('simple', 'w%s:*')), q(COL @@ phraseto_tsquery('simple', 'w3 v3')) ],
	trigrams => [ q(COL LIKE '%%number %s!%%'), q(COL ILIKE '%%BER %s%%'), q(COL ~ 'ber %s[0-9]*!'), q(COL ~* '^NUMBER (%s|17)'), q(COL = 'number %s!') ]);

sub value { my ($type, $x) = @_; return sprintf($make{$type}, $x); }

my (@columns, $distinct, $tail);

# A table of random columns; distinct: how many values there are.
sub make_table
{
	@columns = map { pick(@types) } 1 .. 1 + rand 5;
	$distinct = pick(1, 20, 1000, 100000);
	my $definition = join ', ', map { "c$_ " . ($columns[$_] eq 'trigrams' ? 'text' : $columns[$_]) } 0 .. $#columns;
	my $fill = pick(10, 50, 100);
	my $kind = pick('', '', '', 'UNLOGGED');
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS t; CREATE $kind TABLE t (id bigserial, $definition, pad text NOT NULL DEFAULT repeat('x', "
		. pick(1, 100, 700) . ")) WITH (fillfactor = $fill); CREATE INDEX t_id ON t (id)");
	return;
}

sub values_of_row
{
	my ($x) = @_;
	return join ', ', map { "CASE WHEN ($x + $_) % 17 = 0 THEN NULL ELSE " . value($columns[$_], $x) . ' END' } 0 .. $#columns;
}

sub insert
{
	my ($rows) = @_;
	my $names = join ', ', map { "c$_" } 0 .. $#columns;
	return "INSERT INTO t ($names) SELECT " . values_of_row('x') . " FROM (SELECT (random() * $distinct)::bigint AS x FROM generate_series(1, $rows) OFFSET 0) r";
}

sub make_index
{
	my $concurrently = pick('', '', 'CONCURRENTLY');
	my @keys = map { "c$_" . ($columns[$_] eq 'trigrams' ? ' pbf_trgm_ops' : '') } 0 .. $#columns;
	push @keys, pick('(md5(pad))', '(id % 100)') if rand() < 0.2;
	my $predicate = rand() < 0.2 ? 'WHERE id % 2 = 0' : '';
	$tail = $predicate ? ' AND id % 2 = 0' : '';
	my @options;
	push @options, 'pages_per_range = ' . pick(1, 2, 7, 128) if rand() < 0.7;
	push @options, 'false_positive_rate = ' . pick('1e-9', '1e-4', '0.1', '0.5') if rand() < 0.7;
	my $options = @options ? 'WITH (' . join(', ', @options) . ')' : '';
	return "CREATE INDEX $concurrently t_idx ON t USING pbfidx (" . join(', ', @keys) . ") $options $predicate";
}

sub some_rows { return 'id % ' . pick(2, 3, 10, 50) . ' = ' . int(rand 2); }

sub set_column
{
	my $i = int(rand @columns);
	return "c$i = (SELECT " . value($columns[$i], 'x') . " FROM (SELECT (random() * $distinct)::bigint + t.id * 0 AS x OFFSET 0) r)";
}

sub statement
{
	my $first = int(rand 2000);
	return pick(
		sub { insert(pick(1, 100, 3000)) },
		sub { insert(pick(1, 100, 3000)) },
		sub { 'UPDATE t SET ' . set_column() . ' WHERE ' . some_rows() },
		sub { 'UPDATE t SET ' . set_column() . ', ' . "pad = pad WHERE id < 100" },
		sub { "UPDATE t SET pad = repeat('y', length(pad)) WHERE " . some_rows() },
		sub { 'DELETE FROM t WHERE ' . some_rows() },
		sub { 'DELETE FROM t WHERE id > (SELECT max(id) / 2 FROM t)' },
		sub { 'VACUUM t' },
		sub { 'VACUUM (FREEZE, TRUNCATE, PARALLEL 0, INDEX_CLEANUP on) t' },
		sub { 'VACUUM FULL t' },
		sub { 'CLUSTER t USING t_id' },
		sub { 'REINDEX INDEX t_idx' },
		sub { 'REINDEX INDEX CONCURRENTLY t_idx' },
		sub { 'SET max_parallel_maintenance_workers = 0; REINDEX TABLE t' },
		sub { "SELECT pbfidx_resummarize('t_idx')" },
		sub { "SELECT pbfidx_resummarize('t_idx', $first, " . ($first + int(rand 500)) . ')' },
		sub { 'BEGIN; ' . insert(500) . '; SAVEPOINT a; UPDATE t SET ' . set_column() . '; ROLLBACK TO a; ' . insert(200) . '; ' . pick('COMMIT', 'ROLLBACK') },
		sub { 'BEGIN; TRUNCATE t; ' . insert(1000) . '; ' . pick('COMMIT', 'ROLLBACK') },
		sub { 'ALTER INDEX t_idx SET (false_positive_rate = ' . pick('0.3', '1e-6') . ', pages_per_range = ' . pick(1, 5) . ')' },
		sub { 'MERGE INTO t USING (SELECT id FROM t WHERE ' . some_rows() . ') s ON t.id = s.id WHEN MATCHED AND s.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET ' . set_column() })->();
}

sub literal { my ($type) = @_; return '(SELECT ' . value($type, int(rand $distinct)) . ')'; }

sub term
{
	my $i = int(rand @columns);
	my $type = $columns[$i];
	my $constant = value($type, int(rand $distinct));
	return sprintf(pick(@{ $conditions{$type} }) =~ s/COL/c$i/r, (int(rand $distinct)) x 2) if $conditions{$type} && rand() < 0.7;
	return pick(
		"c$i = $constant", "c$i = $constant", "c$i = " . literal($type),
		"c$i IN ($constant, " . value($type, int(rand $distinct)) . ", NULL)",
		# (= ANY looks into an array of arrays.)
		$type =~ /\[\]$/ ? "c$i = $constant" : "c$i = ANY (ARRAY(SELECT c$i FROM t WHERE id % 97 = 1 ORDER BY id LIMIT " . pick(1, 5, 300) . '))',
		"c$i IS NULL", "c$i IS NOT NULL AND c$i = $constant",
		"c$i IS NOT DISTINCT FROM $constant", "c$i <> $constant",
		"NOT (c$i = $constant)");
}

sub condition
{
	my $c = join ' AND ', map { term() } 1 .. 1 + rand 3;
	$c = "($c OR " . term() . ')' if rand() < 0.2;
	return $c . (rand() < 0.8 ? $tail : '');
}

my ($compared, $used, $rows) = (0, 0, 0);

sub compare
{
	my ($history) = @_;
	my @conditions = map { condition() } 1 .. 6;
	my $query = join ";\n", map { "SELECT * FROM compare(\$c\$$_\$c\$)" } @conditions;
	my ($rc, $out, $err) = $node->psql('postgres', "$query;\nSELECT pbfidx_check('t_idx')");
	my @answers = split /\n/, $out;
	for my $i (0 .. $#conditions)
	{
		my ($u, $n, $wrong) = split /\|/, $answers[$i] // '||';
		$compared++;
		$used += $u eq 't';
		$rows += $n || 0;
		next if $wrong eq '0';
		fail("differs: $conditions[$i]");
		diag(join(";\n", @$history, $err));
		return 0;
	}
	return 1 if $rc == 0 && $err eq '';
	fail('check');
	diag(join(";\n", @$history, $err));
	return 0;
}

for my $round (1 .. $rounds)
{
	make_table();
	my @history = (insert(pick(0, 1, 1000, 20000)), make_index());
	my $broken = 0;
	for (1 .. 25)
	{
		push @history, statement() if @history > 1 && $_ > 2;
		my ($rc, $out, $err) = $node->psql('postgres', $history[ $_ > 2 ? -1 : $_ - 1 ]);
		$broken = $rc != 0;
		diag("$err\n" . join(";\n", @history)) if $broken;
		$broken ||= !compare(\@history) if $_ > 1;
		last if $broken;
	}
	ok(!$broken, "round $round: " . join(', ', @columns));
	last if $broken;
	# Of an unlogged relation whose creation was rolled back the server leaves an empty file until the next checkpoint; where the
	# WAL that is replayed ends between the creation and the rollback it finds that file and does not start.
	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	$node->stop('immediate');
	$node->start;
	next if $node->safe_psql('postgres', "SELECT relpersistence FROM pg_class WHERE oid = 't'::regclass") eq 'u';
	ok(compare(\@history), "round $round, replayed") or last;
}
note("$compared conditions, $used by the index, $rows rows");
cmp_ok($used, '>', $compared / 3, 'the index was used');
cmp_ok($rows, '>', $compared, 'rows were found');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 1?\d\b/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

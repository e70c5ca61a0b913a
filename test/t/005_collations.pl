# ILIKE and regular expressions by trigrams, where the condition's collation takes other letters for the same as the
# database's does: letters beyond ASCII under C, the Turkish I, the final sigma, the Kelvin sign.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], no_data_checksums => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;
my ($major) = $node->pg_version =~ /^(\d+)/;
plan skip_all => 'no pg_trgm' if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'") == 0;
my $icu = $node->safe_psql('postgres', "SELECT count(*) FROM pg_collation WHERE collname = 'tr-x-icu'");

my %database = (c => "LOCALE 'C'", c_utf8 => "LOCALE 'C.UTF-8'");
if ($icu)
{
	$database{icu} = "LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C.UTF-8'";
	$database{icu_lt} = "LOCALE_PROVIDER icu ICU_LOCALE 'lt' LOCALE 'C.UTF-8'";
	$database{icu_tr} = "LOCALE_PROVIDER icu ICU_LOCALE 'tr' LOCALE 'C.UTF-8'";
	$database{icu_c} = "LOCALE_PROVIDER icu ICU_LOCALE 'und' LC_COLLATE 'C' LC_CTYPE 'C'";
}
$database{builtin} = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'" if $major >= 17;
$database{unicode} = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST' LOCALE 'C'" if $major >= 18;

my @collations = ('default', 'C', $icu ? qw(en-x-icu tr-x-icu el-x-icu) : ());

# Lines, and patterns that are pieces of them in all cases that there are.
my $set_up = q{
	SET client_min_messages = warning;
	CREATE EXTENSION pbf_trgm CASCADE;
	CREATE TABLE line (n int GENERATED ALWAYS AS IDENTITY, s text);
	INSERT INTO line (s) SELECT prefix || ' ' || w || ' ' || suffix
	FROM unnest('{kiste frische Äpfel,ÄPFEL UND BIRNEN,город Москва,ГОРОД МОСКВА,ΟΔΟΣ ΑΒΓ,οδος αβγ,οδοσ,ΟΔΟΣ.ΑΒ,DIŞ KAPI,dış kapı,diş kapi,İSTANBUL,istanbul,'
		'ISTANBUL,ıstanbul,273 Kelvin,273 kelvin,KILO,kilo,Straße,STRASSE,STRAẞE,ǅungla,ǆungla,ﬁnal,FINAL,aÄb,aab,error,ERROR,Error}'::text[]) w,
		unnest('{x,nosuch,ÖÄ}'::text[]) prefix, unnest('{y,ω}'::text[]) suffix;
	INSERT INTO line (s) SELECT unnest('{EFGH,xyzw Error,xAyz,xayz,xbyz,xByz,x9yz,x Istanbul,x ıstanbul,ΟΔΟΣΑΒ,οδοσαβ,xΣyz,ISTANBUL,XDİŞ,RODRÍGUEZ,rodríguez,FĨRK,ÌRISH}'::text[]);
	CREATE TABLE pattern AS
	SELECT DISTINCT op, replace(shape, '*', b.piece) AS p
	FROM (SELECT substr(s, k, len) AS piece FROM line, generate_series(1, 14, 4) k, unnest('{4,8}'::int[]) len WHERE n % 6 < 2) a,
		LATERAL (VALUES (a.piece), (lower(a.piece)), (upper(a.piece)), (lower(a.piece COLLATE "C"))) b (piece),
		(VALUES ('~~*', '%*%'), ('~~*', '*%'), ('~~', '%*%'), ('~', '*'), ('~*', '*'), ('~', 'nosuch|*'), ('~*', '(x|y) *')) c (op, shape)
	WHERE b.piece !~ '[.]' OR op = '~~*'
	UNION VALUES ('~*', 'x [h-j]stan'), ('~', 'x [H-J]STAN'), ('~*', '[[:upper:]]stan'), ('~', '\u00c4PFEL'), ('~', 'x \w+anbul'), ('~', 'a[^[:alpha:]]b'), ('~*', 'a[^a-z]b'),
		('~', 'a\Wb'), ('~*', '[[:xdigit:]]rror'), ('~*', 'x.elvin'), ('~*', '273\s+.elvin'), ('~*', '\mist'), ('~', 'İ?STANBUL'), ('~*', 'i?stanbul'), ('~', '[A-Z]rror'), ('~*', 'm[[:alpha:]]skva'),
		('~', 'м[[:lower:]]сква'), ('~', 'error'), ('~*', 'error'), ('~~*', '%error%'), ('~*', 'e[r]+or'), ('~', '(?c)abcd|EFGH'), ('~', '(?c)xyzw Error'), ('~*', '(?c)xyzw Error'), ('~', '***:(?c)xyzw Error'), ('~', '***=xyzw Error'), ('~*', '(?:xyzw) error'),
		('~', 'x(?!a)[aAbB]yz'), ('~', 'x(?!a)[A-Fa-f]yz'), ('~', 'x(?=[^a])[aAbB]yz'), ('~', 'x(?!a)\wyz'), ('~', 'x(?<!a)[aA]yz'), ('~', 'x[^[:upper:]\W]yz'), ('~', 'x[^\Wa]yz'),
		('~', '[[:upper:]]st'), ('~', '\wst'), ('~', '[[:ascii:]]st'), ('~~', 'ΟΔΟΣ%'), ('~~', '%ΟΔΟΣ%'), ('~~', '%ΔΟΣ%'), ('~~*', '%xdi%'), ('~*', 'xdi'), ('~~*', '%rodri%'), ('~*', 'rodri'), ('~~*', '%fi%'), ('~~*', 'i%'), ('~', 'x[^ab]yz'), ('~*', 'x[a-z]yz');
	-- Rows that the index does not find: of how many.
	CREATE FUNCTION lost(tab text, OUT n bigint, OUT matches bigint, OUT indexed bigint, OUT example text) LANGUAGE plpgsql AS $$
	DECLARE
		q pattern;
		expected int[];
		got int[];
		line text;
	BEGIN
		n := 0; matches := 0; indexed := 0;
		FOR q IN SELECT * FROM pattern LOOP
			SET LOCAL enable_bitmapscan = off;
			SET LOCAL enable_seqscan = on;
			EXECUTE format('SELECT coalesce(array_agg(n ORDER BY n), ''{}'') FROM %I WHERE s %s %L', tab, q.op, q.p) INTO expected;
			SET LOCAL enable_bitmapscan = on;
			SET LOCAL enable_seqscan = off;
			EXECUTE format('SELECT coalesce(array_agg(n ORDER BY n), ''{}'') FROM %I WHERE s %s %L', tab, q.op, q.p) INTO got;
			matches := matches + cardinality(expected);
			IF got <> expected THEN
				n := n + 1;
				example := format('%s %s', q.op, q.p);
			END IF;
		END LOOP;
		FOR line IN EXECUTE format('EXPLAIN SELECT * FROM %I WHERE s ~ ''error''', tab) LOOP
			indexed := indexed + CASE WHEN line ~ 'Bitmap Index Scan' THEN 1 ELSE 0 END;
		END LOOP;
	END $$;
};

for my $db (sort keys %database)
{
	$node->safe_psql('postgres', "CREATE DATABASE $db ENCODING UTF8 TEMPLATE template0 $database{$db}");
	$node->safe_psql($db, $set_up);
	for my $collation (@collations)
	{
		$node->safe_psql($db, qq{DROP TABLE IF EXISTS t;
			CREATE TABLE t (n int, s text COLLATE "$collation", pad char(1900) DEFAULT '');
			INSERT INTO t SELECT n, s FROM line;
			CREATE INDEX ON t USING pbfidx (s pbf_trgm_ops) WITH (pages_per_range = 1)});
		my ($lost, $found, $indexed, $example) = split /\|/, $node->safe_psql($db, "SELECT * FROM lost('t')");
		is($lost, 0, "$db, $collation: no row lost of $found" . ($example ? ", by $example" : ''));
		cmp_ok($found, '>', 5000, "$db, $collation: there are rows to be found");
		is($indexed, 1, "$db, $collation: by the index");
	}
}

# What all locales understand alike is looked up by its trigrams under any; under the database's own everything is.
my $pages = q{
	SET enable_seqscan = off;
	SELECT string_agg(CASE WHEN plan::text ~ ('"Lossy Heap Blocks": ' || pg_relation_size('t') / 8192) THEN 'all' ELSE 'tested' END, ' ')
	FROM (SELECT explain(c) AS plan FROM unnest(ARRAY['s ~ ''error''', 's ~* ''error''', 's ILIKE ''%error%''', 's ILIKE ''%Äpfel%''', 's ~* ''Äpfel''', 's ILIKE ''%kilo%''']) c) e;
};
for my $case ([ 'c_utf8', 'default', 'tested tested tested tested tested tested' ], [ 'c_utf8', 'C', 'tested tested tested tested all tested' ],
	$icu ? ([ 'c_utf8', 'tr-x-icu', 'tested tested tested all all all' ], [ 'icu', 'default', 'tested tested tested all all tested' ]) : ())
{
	my ($db, $collation, $expected) = @$case;
	$node->safe_psql($db, qq{DROP TABLE IF EXISTS t;
		CREATE OR REPLACE FUNCTION explain(c text, OUT plan json) LANGUAGE plpgsql AS \$\$
		BEGIN EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF) SELECT * FROM t WHERE ' || c INTO plan; END \$\$;
		CREATE TABLE t (n int, s text COLLATE "$collation", pad char(1900) DEFAULT '');
		INSERT INTO t SELECT n, s FROM line;
		CREATE INDEX ON t USING pbfidx (s pbf_trgm_ops) WITH (pages_per_range = 1)});
	is($node->safe_psql($db, $pages), $expected, "$db, $collation: what is tested by trigrams");
}

# The server's functions under another name, as citext has them.
my $citext = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'");
for my $case (!$icu ? () : ([ 'bpchar', 4, '~~*', 'text', '%οδος%' ], [ 'text', 5, '~?', 'text', '(?i)ÄPFEL' ], [ 'text', 5, '~??', 'text', '(?c)(ABCDE|xyzzy)' ]),
	$citext && $icu ? ([ 'citext', 3, '~~', 'citext', '%οδος%' ], [ 'citext', 11, '=', 'citext', 'οδος' ]) : ())
{
	my ($type, $strategy, $operator, $right, $pattern) = @$case;
	my $query = "SELECT count(*) FROM as_$type WHERE s $operator '$pattern'::$right";
	$node->safe_psql('icu', 'CREATE EXTENSION IF NOT EXISTS citext') if $type eq 'citext';
	$node->safe_psql('icu', 'CREATE OPERATOR ~? (LEFTARG = text, RIGHTARG = text, FUNCTION = regexp_like)') if $operator eq '~?';
	$node->safe_psql('icu', q{CREATE FUNCTION matches(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 ~ $2; END';
		CREATE OPERATOR ~?? (LEFTARG = text, RIGHTARG = text, FUNCTION = matches)}) if $operator eq '~??';
	$node->safe_psql('icu', "DROP TABLE IF EXISTS as_$type; DROP OPERATOR FAMILY IF EXISTS ${type}_trgm_ops USING pbfidx");
	my $rows = $node->safe_psql('icu', qq{
		CREATE OPERATOR CLASS ${type}_trgm_ops FOR TYPE $type USING pbfidx AS OPERATOR $strategy $operator ($type, $right),
			FUNCTION 2 ($type, $type) gin_extract_value_trgm(text, internal), FUNCTION 3 ($type, $type) gin_extract_query_trgm(text, internal, int2, internal, internal, internal, internal),
			FUNCTION 4 ($type, $type) gin_trgm_consistent(internal, int2, text, int4, internal, internal, internal, internal), STORAGE int4;
		CREATE TABLE as_$type (s $type, pad char(1900) DEFAULT '');
		INSERT INTO as_$type SELECT s FROM line;
		INSERT INTO as_$type SELECT unnest('{ΟΔΟΣ,ABCDE}'::text[]) FROM generate_series(1, 7);
		CREATE INDEX ON as_$type USING pbfidx (s ${type}_trgm_ops) WITH (pages_per_range = 1);
		SET enable_bitmapscan = off; $query});
	cmp_ok($rows, '>', 6, "$operator of $type");
	is($node->safe_psql('icu', "SET enable_seqscan = off; $query"), $rows, 'by the index');
	like($node->safe_psql('icu', "SET enable_seqscan = off; EXPLAIN $query"), qr/Bitmap Index Scan/, 'in earnest');
}

# An index without a collation serves conditions under any: under this one strings of other bytes are equal.
if ($icu)
{
	my $query = q{SELECT count(*) FROM plain WHERE s = 'ABC'::text COLLATE insensitive};
	my $rows = $node->safe_psql('icu', qq{
		CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TYPE plain_text;
		CREATE FUNCTION plain_in(cstring) RETURNS plain_text LANGUAGE internal IMMUTABLE STRICT AS 'textin';
		CREATE FUNCTION plain_out(plain_text) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
		CREATE TYPE plain_text (INPUT = plain_in, OUTPUT = plain_out, LIKE = text);
		CREATE FUNCTION plain_same(plain_text, text) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'texteq';
		CREATE OPERATOR = (LEFTARG = plain_text, RIGHTARG = text, FUNCTION = plain_same);
		CREATE FUNCTION plain_hash(plain_text, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashvarlenaextended';
		CREATE FUNCTION text_hash(text, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashvarlenaextended';
		CREATE OPERATOR CLASS plain_text_ops DEFAULT FOR TYPE plain_text USING pbfidx AS OPERATOR 1 = (plain_text, text),
			FUNCTION 1 (plain_text, plain_text) plain_hash(plain_text, bigint), FUNCTION 1 (text, text) text_hash(text, bigint);
		CREATE TABLE plain (s plain_text, pad char(1900) DEFAULT '');
		INSERT INTO plain SELECT ('abc' || i)::plain_text FROM generate_series(1, 300) i;
		INSERT INTO plain VALUES ('abc');
		CREATE INDEX ON plain USING pbfidx (s) WITH (pages_per_range = 1);
		SET enable_bitmapscan = off; $query});
	is($rows, 1, 'a row under a nondeterministic collation');
	is($node->safe_psql('icu', "SET enable_seqscan = off; $query"), $rows, 'by the index');
	like($node->safe_psql('icu', "SET enable_seqscan = off; EXPLAIN $query"), qr/Bitmap Index Scan/, 'in earnest');
}

# An index that was built under another version of the locale: it returns all rows until it is rebuilt.
SKIP:
{
	skip 'no ICU', 12 if !$icu;
	skip 'checksums are on', 12 if $node->safe_psql('postgres', 'SHOW data_checksums') eq 'on';
	my $query = q{SET enable_seqscan = off; SELECT count(*) FROM t WHERE s ILIKE '%error%'};
	my ($expected, $file) = split /\|/, $node->safe_psql('icu', q{SELECT count(*), pg_relation_filepath('t_s_idx') FROM t WHERE s ILIKE '%error%'});
	my $place = 24 + 24 + 8 * 24 + 32;    # layout.h: locale_version
	my $path = $node->data_dir . "/$file";

	$node->stop;
	my $image = slurp_file($path);
	my $version = unpack('L', substr($image, $place, 4));
	isnt($version, 0, 'the version of the locale is noted');
	substr($image, $place, 4) = pack('L', $version ^ 2);
	open(my $out, '>:raw', $path) or die $!;
	print $out $image;
	close($out);
	$node->start;
	my ($code, $rows, $warning) = $node->psql('icu', $query);
	is("$code $rows", "0 $expected", 'all rows are found');
	like($warning, qr/WARNING:  index "t_s_idx" was built with another version of the database's locale/, 'and it is said why');
	is(() = $warning =~ /WARNING/g, 1, 'once');
	($code, $rows, $warning) = $node->psql('icu', q{EXPLAIN (COSTS OFF) SELECT * FROM t WHERE s ILIKE '%error%'});
	like("$rows $warning", qr/Seq Scan.*WARNING:  index "t_s_idx" was built/s, 'the planner knows, and says so');
	($code, $rows, $warning) = $node->psql('icu', q{SELECT pbfidx_check('t_s_idx')});
	like("$code $warning", qr/^0 .*rows are not looked for in index "t_s_idx", which was built with another version/, 'so does a check');
	$node->safe_psql('icu', 'CREATE TABLE w (s text, a text[]); CREATE INDEX w_s ON w USING pbfidx (s); CREATE INDEX w_a ON w USING pbfidx (a)');
	($code, $rows, $warning) = $node->psql('icu', q{CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TYPE folded_range AS RANGE (subtype = text, collation = folded); SELECT pbf_hash(folded_range('a', 'b'))});
	like($warning, qr/nondeterministic collation "folded" is not supported/, 'ranges under it, neither');
	# What is added now has keys of this version: from here on neither is trusted.
	$node->safe_psql('icu', q{INSERT INTO t VALUES (0, 'nothing')});
	$node->stop;
	is(unpack('L', substr(slurp_file($path), $place, 4)), 2, 'keys of two versions are noted');
	$node->start;
	($code, $rows, $warning) = $node->psql('icu', $query);
	like("$code $rows $warning", qr/^0 $expected .*WARNING/s, 'and all rows found');
	$node->safe_psql('icu', 'REINDEX TABLE t');
	($code, $rows, $warning) = $node->psql('icu', $query);
	is("$code $rows $warning", "0 $expected ", 'REINDEX heals it');
	my @these;
	if ($citext)
	{
		$node->safe_psql('icu', 'CREATE TYPE words AS RANGE (subtype = citext); CREATE TABLE v (a citext[], r words);
			CREATE INDEX v_a ON v USING pbfidx (a array_eq_ops); CREATE INDEX v_r ON v USING pbfidx (r)');
		@these = map { $node->data_dir . '/' . $node->safe_psql('icu', "SELECT pg_relation_filepath('$_')") } qw(v_a v_r);
	}
	my @others = map { $node->data_dir . '/' . $node->safe_psql('icu', "SELECT pg_relation_filepath('$_')") } qw(w_s w_a);
	$node->stop;
	is(unpack('L', substr(slurp_file($_), $place, 4)), 0, 'keys that are bytes do not depend on it') for @others;
	isnt(unpack('L', substr(slurp_file($_), $place, 4)), 0, 'those that a type like citext makes do') for @these;
}

done_testing();

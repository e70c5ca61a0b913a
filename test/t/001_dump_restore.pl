# Filters survive dump and restore, whatever holds them and whatever form the dump has: the same bytes, no element
# lost. So do the views, functions, constraints and indexes that use them; the extension in any schema, moved to
# another, or installed by the ordinary owner of a database.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_wal_size = 2GB\n");
$node->start;
my $dir = $node->basedir;

# --- what is dumped ---------------------------------------------------------------------------------------------

# The extension lives in a schema that no search_path leads to.
my $setup = <<'SQL';
CREATE SCHEMA bloom;
CREATE EXTENSION pbf SCHEMA bloom;
SET search_path = public, bloom;

-- Empty to toasted, both layouts; each column stores them in its own way.
CREATE TABLE sizes (n int PRIMARY KEY, capacity float8, fpr float8, layout text, f pbf, p pbf, m pbf, x pbf);
ALTER TABLE sizes ALTER p SET STORAGE PLAIN, ALTER m SET STORAGE MAIN, ALTER x SET STORAGE EXTENDED;
INSERT INTO sizes
	SELECT row_number() OVER (), c, r, l, f, CASE WHEN c < 1000 THEN f END, f, f
	FROM unnest('{0,1,7,100,1000,30000}'::float8[]) c, unnest('{0.5,0.01,1e-9}'::float8[]) r, unnest('{plain,blocked,auto}'::text[]) l,
		LATERAL (SELECT CASE WHEN c = 0 THEN pbf_new(c, r, l) ELSE pbf_agg_like(i, pbf_new(c, r, l)) END AS f
			FROM generate_series(1, greatest(c, 1)::int) i) v;
INSERT INTO sizes SELECT 1000, 1000000, 0.01, 'auto', pbf_agg(i, 1000000) FROM generate_series(1, 1000000) i;

-- Every kind of element.
CREATE TYPE colour AS ENUM ('blue', 'green', 'gone');
CREATE DOMAIN word AS text CHECK (VALUE <> '');
CREATE TABLE kinds (kind text PRIMARY KEY, f pbf);
INSERT INTO kinds VALUES ('integer', pbf_build('{1,-1,9223372036854775807}'::bigint[])), ('text', pbf_build('{alice,wörd,"",☃}'::text[])),
	('domain', pbf_build('{alice,wörd}'::word[])), ('numeric', pbf_build('{1.50,NaN,1e100}'::numeric[])), ('real', pbf_build('{-0,1.5,Infinity}'::float8[])),
	('uuid', pbf_build('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'::uuid[])), ('bytea', pbf_build(ARRAY['\x00ff'::bytea])),
	('date', pbf_build('{2024-02-29,infinity}'::date[])), ('timestamptz', pbf_build('{2024-02-29 12:00+00}'::timestamptz[])),
	('interval', pbf_build('{1 mon,30 days}'::interval[])), ('inet', pbf_build('{10.0.0.1/8,::1}'::inet[])), ('boolean', pbf_build('{t}'::bool[])),
	('jsonb', pbf_build(ARRAY['{"a": 1}'::jsonb])), ('range', pbf_build(ARRAY[int4range(1, 5)])), ('array', pbf_new(5) + 'x'::text),
	('hash', pbf_add_hash(pbf_new(9), 0)), ('nothing', pbf_new(1e4));
INSERT INTO kinds SELECT 'full', pbf_agg(i, 1) FROM generate_series(1, 1000) i;
-- An enum's values get new OIDs in the copy; its labels stay. One of them came late, one was renamed before the filter was built.
ALTER TYPE colour ADD VALUE 'red' BEFORE 'blue';
ALTER TYPE colour RENAME VALUE 'gone' TO 'grey';
CREATE TABLE colours AS SELECT pbf_build('{red,grey}'::colour[]) AS f;

-- States of aggregates as a user may have stored them.
CREATE AGGREGATE partial(bigint) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE partial(bigint, float8) (SFUNC = pbf_agg_trans, STYPE = pbf);
CREATE AGGREGATE merge(pbf) (SFUNC = pbf_agg_combine, STYPE = pbf, FINALFUNC = pbf_agg_final);
CREATE TABLE states AS SELECT i % 5 AS part, partial(i) AS s, partial(i, 500000) AS d FROM generate_series(0, 99999) i GROUP BY 1;

-- Where else filters may be: keys, defaults, generated columns, constraints, partitions, composites, arrays.
CREATE TYPE pair AS (name text, f pbf);
CREATE TABLE held (
	id int, tags text[], f pbf DEFAULT pbf_new(10, 0.001), g pbf GENERATED ALWAYS AS (pbf_build(tags, 0.001)) STORED, list pbf[], composite pair,
	CHECK (g @> tags), CHECK (NOT f @> -1), CHECK (pbf_info(f) IS NOT NULL)
);
INSERT INTO held (id, tags, list, composite) SELECT i, ARRAY['t' || i, 'ü'], ARRAY[pbf_new(1) + i, NULL], ROW('x', pbf_new(1) + i)::pair FROM generate_series(1, 20) i;
CREATE UNIQUE INDEX held_unique ON held (g);
CREATE INDEX held_hash ON held USING hash (f);
CREATE INDEX held_partial ON held (id) WHERE g @> 't7'::text;
CREATE TABLE parted (f pbf, id int) PARTITION BY HASH (f);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parted SELECT pbf_new(10) + i, i FROM generate_series(1, 50) i;

-- What uses them.
CREATE VIEW hits AS
	SELECT n, f @> 1 AS one, 1 <@ f AS commuted, f && '{1,2}'::int[] AS any, '{1,2}'::int[] <@ f AS all, f && (f | f) AS overlap, f !&& (f & f) AS disjoint,
		f = (f + 1) AS same, (f -> 1) <> f AS reduced, f < p AS less, (pbf_info(f)).kind
	FROM sizes;
CREATE VIEW totals AS
	SELECT capacity, layout, pbf_union_agg(f) AS u, pbf_intersect_agg(f) AS i, (SELECT pbf_agg(k, capacity) FROM generate_series(1, 10) k) AS a, (SELECT pbf_agg(k::text) FROM generate_series(1, 10) k) AS b
	FROM sizes WHERE layout <> 'auto' GROUP BY capacity, layout;
CREATE MATERIALIZED VIEW kept AS SELECT pbf_agg(tag) AS f FROM held, unnest(tags) tag;
CREATE FUNCTION has(f pbf, i int) RETURNS bool LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT f @> i; END;
CREATE FUNCTION has_word(f pbf, w text) RETURNS bool LANGUAGE plpgsql SET search_path = public, bloom AS 'BEGIN RETURN f @> w; END';

-- Indexes: each kind of key, options of indexes and classes, expressions, partitions.
CREATE EXTENSION pg_trgm SCHEMA bloom;
CREATE EXTENSION pbf_trgm SCHEMA bloom;
CREATE TABLE indexed (id int, c colour, u uuid, tags text[], doc jsonb, line text) PARTITION BY RANGE (id);
CREATE TABLE indexed_1 PARTITION OF indexed FOR VALUES FROM (0) TO (1500);
CREATE TABLE indexed_2 PARTITION OF indexed DEFAULT;
INSERT INTO indexed SELECT i, ('{red,blue,grey}'::colour[])[1 + i % 3], md5(i::text)::uuid, ARRAY['t' || i % 100, 'u' || i], jsonb_build_object('n', i % 50, 'deep', ARRAY[i]), 'line ' || md5(i::text)
	FROM generate_series(0, 2999) i;
CREATE INDEX ON indexed USING pbfidx (u, c) WITH (pages_per_range = 2, false_positive_rate = 1e-4);
CREATE INDEX ON indexed USING pbfidx (c) WHERE id % 2 = 0;
CREATE INDEX ON indexed USING pbfidx (tags array_ops (bits_per_key = 13), id);
CREATE INDEX ON indexed USING pbfidx (doc jsonb_path_ops);
CREATE INDEX ON indexed USING pbfidx (upper(line));
CREATE INDEX ON indexed USING pbfidx (line pbf_trgm_ops);
-- Their definitions, whether they are right, and whether they answer.
CREATE FUNCTION indexes() RETURNS text LANGUAGE plpgsql SET search_path = public, bloom SET enable_seqscan = off AS $$
DECLARE
	condition text;
	plan text;
	n int;
	result text;
BEGIN
	SELECT string_agg(pg_get_indexdef(indexrelid) || (pbfidx_check(indexrelid) IS NULL), E'\n' ORDER BY indexrelid::regclass::text) INTO result
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid::regclass::text LIKE 'indexed_%' AND relkind = 'i';
	FOREACH condition IN ARRAY ARRAY['u = md5(''77'')::uuid', 'c = ''grey'' AND id % 2 = 0 AND u = md5(''8'')::uuid', 'tags @> ''{t5,u105}''', 'doc @> ''{"n": 3}''',
		'upper(line) = upper(''line '' || md5(''2000''))', 'line LIKE ''%'' || substr(md5(''1234''), 5, 12) || ''%'''] LOOP
		EXECUTE 'SELECT count(*) FROM indexed WHERE ' || condition INTO n;
		EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM indexed WHERE ' || condition INTO plan;
		result := result || E'\n' || n || ' ' || condition || (plan LIKE '%Bitmap Index Scan%' AND plan NOT LIKE '%Seq Scan%');
	END LOOP;
	RETURN result;
END $$;

-- How many elements are not found any more.
CREATE FUNCTION lost() RETURNS bigint LANGUAGE sql SET search_path = public, bloom AS $$
	SELECT (SELECT count(*) FROM sizes, generate_series(1, capacity::int) i WHERE NOT f @> i)
		+ (SELECT count(*) FROM sizes, generate_series(1, capacity::int) i WHERE n < 1000 AND NOT (x @> i AND m @> i))
		+ (SELECT count(*) FROM kinds WHERE NOT CASE kind WHEN 'integer' THEN f @> '{1,-1,9223372036854775807}'::bigint[]
			WHEN 'text' THEN f @> '{alice,wörd,"",☃}'::text[] WHEN 'domain' THEN f @> '{alice,wörd}'::word[]
			WHEN 'numeric' THEN f @> '{1.5,NaN,1e100}'::numeric[] WHEN 'real' THEN f @> '{0,1.5,Infinity}'::float8[]
			WHEN 'uuid' THEN f @> 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid WHEN 'bytea' THEN f @> '\x00ff'::bytea
			WHEN 'date' THEN f @> '{2024-02-29,infinity}'::date[] WHEN 'timestamptz' THEN f @> '2024-02-29 13:00+01'::timestamptz
			WHEN 'interval' THEN f @> '{720 hours,30 days}'::interval[] WHEN 'inet' THEN f @> '{10.0.0.1/8,::1}'::inet[]
			WHEN 'boolean' THEN f @> true WHEN 'jsonb' THEN f @> '{"a": 1.0}'::jsonb WHEN 'range' THEN f @> '[1,4]'::int4range
			WHEN 'array' THEN f @> 'x'::text WHEN 'hash' THEN pbf_contains_hash(f, 0) WHEN 'nothing' THEN pbf_is_empty(f) WHEN 'full' THEN f @> 1000 END)
		+ (SELECT count(*) FROM colours, unnest('{red,grey}'::colour[]) c WHERE NOT f @> c)
		+ (SELECT count(*) FROM states, generate_series(part, 99999, 5) i WHERE NOT (s @> i AND d @> i))
		+ (SELECT count(*) FROM held WHERE NOT (g @> tags AND list[1] @> id AND (composite).f @> id AND g @> ('t' || id)))
		+ (SELECT count(*) FROM parted WHERE NOT f @> id)
		+ (SELECT count(*) FROM kept, unnest(ARRAY['ü', 't1', 't20']) w WHERE NOT f @> w)
$$;
-- A digest of all that there is.
CREATE FUNCTION digest() RETURNS text LANGUAGE plpgsql SET search_path = public, bloom AS $$
DECLARE
	relation text;
	line text;
	result text = '';
BEGIN
	FOREACH relation IN ARRAY '{sizes,kinds,colours,states,held,parted_0,parted_1,parted_2,hits,totals,kept}'::text[] LOOP
		EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(r::text, '','' ORDER BY r::text)) FROM %I r', relation) INTO line;
		result := result || relation || ': ' || line || E'\n';
	END LOOP;
	SELECT count(*) || ' ' || md5(merge(s ORDER BY part)::text || merge(d ORDER BY part)::text) FROM states INTO line;
	RETURN result || 'merged: ' || line;
END $$;
SQL
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', $setup);

sub digest { return $node->safe_psql(shift, 'SELECT digest()'); }

sub dump_as_text
{
	my ($db, @options) = @_;
	my ($out, $err) = run_command([ 'pg_dump', '-h', $node->host, '-p', $node->port, @options, $db ]);
	die "pg_dump $db: $err" if $err;
	$out =~ s/^\\(un)?restrict .*$//mg;
	return $out;
}

my $indexed;

# What must hold in a copy.
sub check_copy
{
	my ($db, $how, $expected) = @_;
	is($node->safe_psql($db, 'SELECT lost()'), '0', "$how: no element lost");
	is(digest($db), $expected, "$how: same bytes");
	is($node->safe_psql($db, 'SELECT bool_and(has(f, 1)) FROM sizes WHERE capacity > 0'), 't', "$how: function with a parsed body");
	is($node->safe_psql($db, "SELECT has_word(f, 'alice') FROM kinds WHERE kind = 'text'"), 't', "$how: function with a text body");
	# COPY of tables brought no rows of this one.
	return if $how eq 'binary COPY';
	my $indexes = $node->safe_psql($db, 'SELECT indexes()');
	$indexes =~ s/"Other Place"\./bloom./g;
	is($indexes, $indexed, "$how: indexes");
}

my $original = digest('source');
$indexed = $node->safe_psql('source', 'SELECT indexes()');
is(() = $indexed =~ /^CREATE INDEX .*false$/mg, 12, 'all indexes are right');
is(() = $indexed =~ /^[1-9]\d* .*true$/mg, 6, 'and answer');
is($node->safe_psql('source', 'SELECT lost()'), '0', 'before: no element lost');
like($original, qr/sizes: 55 /, 'all sizes are there');
cmp_ok($node->safe_psql('source', "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'sizes'"), '>', 1_000_000, 'large filters are TOASTed');
my $text = dump_as_text('source');

# --- every form of dump -----------------------------------------------------------------------------------------

my @connect = ('-h', $node->host, '-p', $node->port);
my %forms = (
	plain    => [ [], [] ],
	inserts  => [ ['--inserts'], [] ],
	columns  => [ [ '--column-inserts', '--rows-per-insert=7' ], [] ],
	custom   => [ ['--format=custom'], [] ],
	parallel => [ [ '--format=directory', '--jobs=2' ], ['--jobs=2'] ]);
for my $form (sort keys %forms)
{
	my ($dump, $restore) = @{ $forms{$form} };
	my $file = "$dir/$form";
	$node->safe_psql('postgres', "CREATE DATABASE $form TEMPLATE template0");
	$node->command_ok([ 'pg_dump', @$dump, '-f', $file, 'source' ], "$form: dump");
	if ("@$dump" =~ /format/)
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', @$restore, '-d', $form, $file ], "$form: restore");
	}
	else
	{
		$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $form, '-f', $file, '-o', "$file.out" ], "$form: restore");
	}
	check_copy($form, $form, $original);
	is(dump_as_text($form), $text, "$form: dumped again it is the same");
}
my $oids = "SELECT string_agg(oid::text, ',' ORDER BY enumsortorder) FROM pg_enum";
isnt($node->safe_psql('plain', $oids), $node->safe_psql('source', $oids), 'enum values have other OIDs now');
# In the copy filters go on being used: the same elements give the same bytes, also those of the enum.
is( $node->safe_psql('plain', <<'SQL'), 't|t|t', 'filters built anew are the same');
SELECT (SELECT f OPERATOR(bloom.=) bloom.pbf_build('{red,grey}'::colour[]) FROM colours),
	(SELECT f FROM sizes WHERE n = 1000) OPERATOR(bloom.=) (SELECT bloom.pbf_agg(i, 1000000) FROM generate_series(1, 1000000) i),
	(SELECT f OPERATOR(bloom.=) bloom.pbf_build('{alice,wörd,"",☃}'::text[]) FROM kinds WHERE kind = 'text')
SQL
is($node->safe_psql('plain', "SELECT count(*) FROM held WHERE g OPERATOR(bloom.@>) 't7'::text"), '1', 'index predicate');

# --- the extension moves ----------------------------------------------------------------------------------------

$node->safe_psql('plain', 'CREATE SCHEMA "Other Place"; ALTER EXTENSION pbf SET SCHEMA "Other Place"; ALTER EXTENSION pg_trgm SET SCHEMA "Other Place"; ALTER EXTENSION pbf_trgm SET SCHEMA "Other Place"; DROP SCHEMA bloom');
$node->safe_psql('plain', "ALTER FUNCTION $_ SET search_path = public, \"Other Place\"") for ('lost', 'digest', 'has_word', 'indexes');
check_copy('plain', 'moved', $original);
$node->safe_psql('postgres', 'CREATE DATABASE moved TEMPLATE template0');
$node->command_ok([ 'pg_dump', '--format=custom', '-f', "$dir/moved", 'plain' ], 'moved: dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'moved', "$dir/moved" ], 'moved: restore');
check_copy('moved', 'moved and restored', $original);
is($node->safe_psql('moved', "SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pbf'"), '"Other Place"', 'in the other schema');

# --- COPY in binary form ----------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE template0');
my ($schema) = run_command([ 'pg_dump', @connect, '--schema-only', 'source' ]);
$node->safe_psql('copied', $schema);
for my $table (qw(sizes kinds colours states parted))
{
	$node->safe_psql('source', "COPY (SELECT * FROM $table) TO '$dir/$table' (FORMAT binary)");
	$node->safe_psql('copied', "COPY $table FROM '$dir/$table' (FORMAT binary)");
	is( $node->safe_psql('copied', "SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM $table r"),
		$node->safe_psql('source', "SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM $table r"),
		"binary COPY of $table: same bytes");
}
$node->safe_psql('source', "COPY held (id, tags, f, list, composite) TO '$dir/held' (FORMAT binary)");
$node->safe_psql('copied', "COPY held (id, tags, f, list, composite) FROM '$dir/held' (FORMAT binary); REFRESH MATERIALIZED VIEW kept");
check_copy('copied', 'binary COPY', $original);
# Changed on the way, it is refused: here the number of blocks, 29 bytes from the beginning.
my $copy = slurp_file("$dir/colours");
substr($copy, 29, 1) = "\xee";
open(my $fh, '>:raw', "$dir/damaged") or die;
print $fh $copy;
close($fh);
my ($rc, $out, $err) = $node->psql('copied', "COPY colours FROM '$dir/damaged' (FORMAT binary)");
like($err, qr/invalid binary form of type pbf/, 'a damaged binary form is refused');

# --- an ordinary owner of a database ----------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner TEMPLATE template0');
my @as_owner = (extra_params => [ '-U', 'owner' ]);
$node->safe_psql('owned', $setup, @as_owner);
is($node->safe_psql('owned', "SELECT usesuper FROM pg_user WHERE usename = current_user", @as_owner), 'f', 'the owner is no superuser');
check_copy('owned', 'owned', $original);
is($node->safe_psql('owned', 'SELECT lost()', @as_owner), '0', 'owned: as the owner');
# A restore by an owner has to create the extension, too.
$node->safe_psql('postgres', 'CREATE DATABASE owned_copy OWNER owner TEMPLATE template0');
$node->command_ok([ 'pg_dump', '-U', 'owner', '--format=custom', '-f', "$dir/owned", 'owned' ], 'owned: dump');
# Comments on the extension's objects belong to it; the comment on the extension itself only a superuser may set.
$node->command_ok([ 'pg_restore', '-U', 'owner', '--no-comments', '--exit-on-error', '-d', 'owned_copy', "$dir/owned" ], 'owned: restore');
check_copy('owned_copy', 'owned and restored', $original);
($rc, $out, $err) = $node->psql('owned_copy', 'DROP EXTENSION pbf', @as_owner);
isnt($rc, 0, 'the extension is not dropped while it is used');
$node->safe_psql('owned_copy', 'DROP EXTENSION pbf CASCADE', @as_owner);
is($node->safe_psql('owned_copy', "SELECT count(*) FROM pg_proc WHERE proname LIKE 'pbf%'"), '0', 'nothing of it is left');

$node->stop;
done_testing();

# Indexes whose keys were made by functions of another major version of the server: until they are built anew all rows of the
# table are looked at, a session is told once, and nothing is lost, whatever is inserted meanwhile.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(no_data_checksums => 1);    # without checksums: a page of each index is changed
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;
plan skip_all => 'checksums are on' if $node->safe_psql('postgres', 'SHOW data_checksums') eq 'on';
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pbf_trgm;
CREATE FUNCTION own_hash(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT hashint8extended($1, 7)';
CREATE OPERATOR CLASS own_ops FOR TYPE bigint USING pbfidx AS OPERATOR 1 =, FUNCTION 1 own_hash(bigint, bigint);
CREATE TABLE t (id int, r int4range, m money, own bigint, tags text[], doc jsonb, words tsvector, line text);
CREATE FUNCTION make(first int, last int) RETURNS SETOF t LANGUAGE sql AS $$
	SELECT i, int4range(i, i + 3), i::money, i, ARRAY['t' || i], jsonb_build_object('n', i), to_tsvector('simple', 'w' || i), 'line ' || md5(i::text)
	FROM generate_series(first, last) i
$$;
INSERT INTO t SELECT * FROM make(1, 3000);
CREATE INDEX t_id ON t USING pbfidx (id);
CREATE INDEX t_r ON t USING pbfidx (r);
CREATE INDEX t_own ON t USING pbfidx (own own_ops);
CREATE INDEX t_tags ON t USING pbfidx (tags);
CREATE INDEX t_doc ON t USING pbfidx (doc);
CREATE INDEX t_words ON t USING pbfidx (words);
CREATE INDEX t_line ON t USING pbfidx (line pbf_trgm_ops);
SQL

# The condition that finds row i, for each index; the first one does not need the server's functions.
my %condition = (
	t_id    => 'id = %d',
	t_r     => 'r = int4range(%1$d, %1$d + 3)',
	t_own   => 'own = %d::bigint',
	t_tags  => "tags @> ARRAY['t%d']",
	t_doc   => 'doc @> \'{"n": %d}\'',
	t_words => "words @@ 'w%d'",
	t_line  => "line LIKE '%%' || substr(md5('%d'), 1, 20) || '%%'");
my $place = 24 + 16;    # layout.h: server_major
my %path = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") } sort keys %condition;

# Strings of most encodings are converted by the server before they are hashed.
my %converted = (latin2 => 1, euc_jp => 1, latin1 => 0, sql_ascii => 0);
for my $encoding (sort keys %converted)
{
	$node->safe_psql('postgres', "CREATE DATABASE $encoding ENCODING '$encoding' TEMPLATE template0 LOCALE 'C'");
	$node->safe_psql($encoding, "CREATE EXTENSION pbf; CREATE TABLE s AS SELECT i, 'w' || i AS w FROM generate_series(1, 3000) i;
		CREATE INDEX s_w ON s USING pbfidx (i, w)");
	$path{$encoding} = $node->data_dir . '/' . $node->safe_psql($encoding, "SELECT pg_relation_filepath('s_w')");
}

$node->stop;
for my $index (sort keys %path)
{
	my $image = slurp_file($path{$index});
	is(unpack('L', substr($image, $place, 4)), $node->pg_version =~ s/\D.*//r, "$index: the server's version is noted");
	substr($image, $place, 4) = pack('L', 14);
	open(my $out, '>:raw', $path{$index}) or die $!;
	print $out $image;
	close($out);
}
$node->start;
$node->safe_psql('postgres', 'SET client_min_messages = error; INSERT INTO t SELECT * FROM make(3001, 3200)');

for my $index (sort keys %condition)
{
	my $own = $index eq 't_id';
	my ($old, $new) = map { sprintf $condition{$index}, $_ } 77, 3100;
	my $warning = qr/^[^\n]*WARNING:  index "$index" was built by PostgreSQL 14 and uses hash functions of the server\n/;
	my ($rc, $rows, $err) = $node->psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM t WHERE $old; SELECT count(*) FROM t WHERE $new");
	is($rows, "1\n1", "$index: rows are found");
	$own ? is($err, '', "$index: no warning") : like($err, $warning, "$index: a warning");
	is(() = $err =~ /WARNING/g, $own ? 0 : 1, "$index: once in a session");
	is($node->safe_psql('postgres', "SET client_min_messages = error; SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT FROM t WHERE $old") =~ /Bitmap Index Scan on $index/, 1,
		"$index: it was the index");
	# By itself the planner reads the table, and says why.
	($rc, $rows, $err) = $node->psql('postgres', "EXPLAIN (COSTS OFF) SELECT FROM t WHERE $old");
	$own ? unlike($rows, qr/Seq Scan/, "$index: is used") : like("$rows$err", qr/Seq Scan.*WARNING/s, "$index: is not used");
	($rc, $rows, $err) = $node->psql('postgres', "SELECT pbfidx_check('$index')");
	is($rc, 0, "$index: the check succeeds");
	$own ? is($err, '', "$index: of all rows") : like($err, qr/WARNING:  rows are not looked for in index "$index"/, "$index: of the structure");
	$node->safe_psql('postgres', "REINDEX INDEX $index");
	($rc, $rows, $err) = $node->psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM t WHERE $old; SELECT count(*) FROM t WHERE $new; SELECT pbfidx_check('$index') IS NOT NULL");
	is("$rows $err", "1\n1\nt ", "$index: REINDEX mends it");
}

for my $encoding (sort keys %converted)
{
	my $warning = qr/WARNING:  index "s_w" was built by PostgreSQL 14 and uses hash functions of the server\n/;
	my ($rc, $rows, $err) = $node->psql($encoding, "SET enable_seqscan = off; SELECT count(*) FROM s WHERE w = 'w77'");
	is($rows, 1, "$encoding: the row is found");
	$converted{$encoding} ? like($err, $warning, "$encoding: a warning") : is($err, '', "$encoding: no warning");
}

done_testing();

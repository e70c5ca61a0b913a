# Databases of all kinds of encodings: what a server stores can be hashed, indexed and found, also what has no form in
# UTF-8; what has one is the same element everywhere.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;

# Every character of one byte, and of two bytes some of each lead byte: as far as the server takes them for text.
my $characters = q{
	CREATE TABLE t (x text);
	DO $$
	DECLARE
		first int;
		second int;
	BEGIN
		FOR first IN 1..255 LOOP
			FOR second IN SELECT -1 UNION ALL SELECT generate_series(161, 254, 31) LOOP
				BEGIN
					INSERT INTO t VALUES (convert_from(CASE WHEN second < 0 THEN '' ELSE set_byte('\x00', 0, second) END
						|| set_byte('\x00', 0, first) || convert_to('x', getdatabaseencoding()), getdatabaseencoding()));
				EXCEPTION WHEN character_not_in_repertoire THEN NULL;
				END;
			END LOOP;
		END LOOP;
	END $$;
};

my %hash;
for my $encoding (qw(UTF8 SQL_ASCII LATIN1 LATIN2 WIN1252 WIN1253 KOI8R EUC_JP EUC_CN EUC_KR EUC_TW),
	$node->pg_version =~ /^1[5-8]/ ? 'MULE_INTERNAL' : ()) # gone in 19
{
	my $db = lc($encoding);
	$node->safe_psql('postgres', "CREATE DATABASE $db ENCODING '$encoding' TEMPLATE template0 LOCALE 'C'");
	$node->safe_psql($db, "SET client_encoding = '$encoding'; CREATE EXTENSION pbf; $characters
		CREATE INDEX t_x ON t USING pbfidx (x)");
	$node->safe_psql($db, "INSERT INTO t SELECT x || 'y' FROM t");
	is($node->safe_psql($db, "SET client_encoding = '$encoding'; SET enable_seqscan = off;
		SELECT count(*) > 200, count(*) FILTER (WHERE NOT found), count(*) FILTER (WHERE NOT contained)
		FROM (SELECT n > 0 AS found, f \@> q.x AS contained
			FROM (SELECT x FROM t OFFSET 0) q, LATERAL (SELECT count(*) AS n FROM t s WHERE s.x = q.x) c, (SELECT pbf_agg(x) AS f FROM t) a) r"),
		't|0|0', "$encoding: every value is found, and in a filter of all");
	like($node->safe_psql($db, "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT FROM t WHERE x = 'a'"),
		qr/Bitmap Index Scan on t_x/, "$encoding: by the index");
	is($node->safe_psql($db, "SELECT pbfidx_check('t_x') IS NOT NULL"), 't', "$encoding: the index is right");
	$hash{$encoding} = $node->safe_psql($db, "SELECT pbf_hash('abc'::text)");
}
is(join(' ', sort values %hash), join(' ', ($hash{UTF8}) x keys %hash), 'ASCII is the same everywhere');

my $umlaut = "SET client_encoding = 'UTF8'; SELECT pbf_hash(U&'stra\\00dfe'::text)";
for my $db (qw(latin1 latin2 win1252))
{
	is($node->safe_psql($db, $umlaut), $node->safe_psql('utf8', $umlaut), "$db: a word with a letter beyond ASCII as in UTF-8");
}

done_testing();

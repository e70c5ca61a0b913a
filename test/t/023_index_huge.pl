# Tables of up to 2^32 pages: nothing in them but a hole, so that the numbers of blocks, ranges and regions are as large as they can be.
# Rows at the ends of the directory's parts (its first page, its first indirect page, its last one) and of the arithmetic.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LongTable;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nwal_consistency_checking = all\njit = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pbf');
plan skip_all => 'files have other sizes' if !has_usual_files($node);

# Where the index finds rows; one session for all of them, since it opens 32768 files.
sub found
{
	my ($table, @ids) = @_;
	return $node->safe_psql('postgres', join(';', 'SET enable_seqscan = off; SET enable_tidscan = off', map { "SELECT ctid, k, w FROM $table WHERE k = $_ AND w = 'w$_'" } @ids));
}

for my $case ([ 'one', 'pages_per_range = 1' ], [ 'many', 'pages_per_range = 100' ])
{
	my ($table, $options) = @$case;
	$node->safe_psql('postgres', "CREATE TABLE $table (k int, w text); CREATE INDEX ${table}_i ON $table USING pbfidx (k, w) WITH ($options)");
	my %where;
	my $id = 0;
	# Blocks: first of all; a region's first; a segment's last; the last of the direct pages; the first of the indirect ones; where the
	# next indirect page begins; 2^31; the last.
	for my $block (0, 14400, $SEGMENT - 1, 256 * 2 * 14400 - 1, 256 * 2 * 14400, (256 + 2036) * 2 * 14400 - 2, (256 + 2036) * 2 * 14400 + 50,
		2147483647, 2147483648, 4294967294)
	{
		$id++;
		lengthen($node, $table, $block + 1) if $block > 0;
		$where{$id} = "($block,1)|$id|w$id";
		is($node->safe_psql('postgres', "INSERT INTO $table VALUES ($id, 'w$id') RETURNING ctid"), "($block,1)", "$table: a row in block $block");
	}
	my $all = join("\n", map { $where{$_} } 1 .. $id);
	is(found($table, 1 .. $id, 4711), $all, "$table: all rows are there, and none else");
	my $last = 4294967294;
	cmp_ok($node->safe_psql('postgres', "SELECT pbfidx_resummarize('${table}_i', " . ($last - 10) . ", $last)"), '>=', 1, "$table: the end is rebuilt");
	is($node->safe_psql('postgres', "SELECT pbfidx_check('${table}_i', false)"), '', "$table: structure");
	is($node->safe_psql('postgres', "SELECT heap_pages || ' ' || leaf_slabs FROM pbfidx_stats('${table}_i')"),
		'4294967295 ' . ($table eq 'one' ? 9 : 7), "$table: statistics");

	$node->stop('immediate');
	$node->start;
	is(found($table, 1 .. $id), $all, "$table: all rows are there after a crash");
	is($node->safe_psql('postgres', "SELECT pbfidx_check('${table}_i', false)"), '', "$table: structure after a crash");
	# With data checksums (default from 18 on) reading logged its pages. Replayed without the table's files, that would make the
	# server write them anew, 32 TB of zeroes.
	$node->safe_psql('postgres', "DROP TABLE $table");
	$node->safe_psql('postgres', 'CHECKPOINT');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();

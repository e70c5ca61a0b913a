# Damaged pages: whatever is in them, the server does not crash and nothing grows without end. Every statement ends, with an
# answer or an error, pbfidx_check finds what the metapage and the directory must not say, and REINDEX mends it.
#
# PBF_CORRUPT_ROUNDS: random damages (default 25); PBF_CORRUPT_SEED.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{PBF_CORRUPT_ROUNDS} || 25;
my $seed = $ENV{PBF_CORRUPT_SEED} || int(time);
srand($seed);
note("PBF_CORRUPT_SEED=$seed");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(no_data_checksums => 1);    # without checksums: the damage is to reach us
$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\nrestart_after_crash = off\nstatement_timeout = 20s\nfsync = off\n");
$node->start;
# Two rows a page: 14400 pages are a region.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE TABLE t (id int, k int, keys int[], pad text NOT NULL DEFAULT repeat('x', 260)) WITH (fillfactor = 10);
ALTER TABLE t ALTER pad SET STORAGE PLAIN;
INSERT INTO t SELECT i, i % 5000, ARRAY[i % 1000, -i] FROM generate_series(1, 29500) i;
CREATE INDEX t_i ON t USING pbfidx (k, keys) WITH (pages_per_range = 1);
SQL
plan skip_all => 'checksums are on' if $node->safe_psql('postgres', 'SHOW data_checksums') eq 'on';
plan skip_all => 'pages have another size' if $node->safe_psql('postgres', 'SHOW block_size') ne '8192';
my $right = $node->safe_psql('postgres', 'SET enable_indexscan = off; SELECT count(*) FROM t WHERE k = 77; SELECT count(*) FROM t WHERE keys @> ARRAY[77]');

my ($k, $keys) = split /\n/, $right;

my ($file, $good, $pages);

# Stops the server, with free extents in the index, and remembers what is right.
sub prepare
{
	$node->safe_psql('postgres', "VACUUM t; SELECT pbfidx_resummarize('t_i', 0, 1500)");
	$file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_i')");
	$node->stop;
	$good = slurp_file($file);
	$pages = length($good) / 8192;
	return;
}
prepare();

# Where things are (layout.h).
my $meta = 24;
my $column_group = $meta + 24 + 8 * 24;
my $growth = $column_group + 32 + 16;
my $free = $growth + 12 + 4 * 256 + 4 * 588;

sub entry
{
	my ($block, $region, $slab) = @_;    # slab 0: the upper
	return $block * 8192 + 24 + $region * 121 * 32 + $slab * 32;
}

my @statements = (
	'SET enable_seqscan = off; SELECT count(*) FROM t WHERE k = 77',
	'SET enable_seqscan = off; SELECT count(*) FROM t WHERE keys @> ARRAY[77]',
	'SELECT * FROM pbfidx_stats($$t_i$$)', 'SELECT count(*) FROM pbfidx_slabs($$t_i$$)', 'SELECT pbfidx_check($$t_i$$)',
	'BEGIN; INSERT INTO t SELECT i, i, ARRAY[i] FROM generate_series(1, 500) i; ROLLBACK', 'VACUUM t', 'SELECT pbfidx_resummarize($$t_i$$)',
	'SELECT pbfidx_check($$t_i$$)', 'SET enable_seqscan = off; EXPLAIN SELECT FROM t WHERE k = 5 AND keys && ARRAY[1]');

my $given_up = 0;

# damage NAME, IMAGE, whether the check has to find it.
sub damage
{
	my ($name, $image, $found) = @_;
	open my $f, '>:raw', $file or die "$file: $!";
	print $f $image;
	close $f;
	$node->start;
	my ($said, $answers) = ('', '');
	for my $statement (@statements)
	{
		my ($rc, $out, $err) = $node->psql('postgres', $statement);
		$said .= $err;
		$answers .= "$rc $out;" if $statement =~ /count\(\*\) FROM t/;
		is($rc, 0, "$name: VACUUM goes on") if $statement eq 'VACUUM t';
		if ($statement eq 'VACUUM t' && $err =~ /was given up/)
		{
			like($err, qr/^HINT: .*REINDEX/m, "$name: VACUUM says what mends it");
			$given_up++;
		}
		# The server's own words for pages whose header is damaged are data_corrupted; ours have a name and a hint.
		unlike($err, qr/server closed|terminat|statement timeout|out of memory|invalid memory alloc|could not extend/, "$name: $statement") if $err ne '';
	}
	like($said, qr/(is corrupted|format version).*REINDEX/s, "$name: is found") if $found;
	# What the metapage and the directory must not say is no wrong answer but an error.
	like($answers, qr/^(0 $k|[^0] );(0 $keys|[^0] );$/, "$name: right answers or none") if $found;
	my ($rc, $plan, $err) = $node->psql('postgres', 'SET pbf.enable_index = off; EXPLAIN SELECT count(*) FROM t WHERE k = 77');
	is("$rc$err", '0', "$name: an index that is switched off is not opened") if $found;
	cmp_ok((-s $file) / 8192, '<', $pages * 3 + 100, "$name: the file does not grow");
	is($node->safe_psql('postgres', 'REINDEX INDEX t_i; SELECT pbfidx_check($$t_i$$); SET enable_seqscan = off; SET enable_indexscan = off; SELECT count(*) FROM t WHERE k = 77; SELECT count(*) FROM t WHERE keys @> ARRAY[77]'),
		"\n$right", "$name: REINDEX mends it");
	prepare();
	return;
}

# --- bits that are missing --------------------------------------------------------------------------------------------

# The column of a matrix that the given block of the table is in, cleared on all pages of its slab.
sub without_bits
{
	my ($image, $entry, $column) = @_;
	my ($start, $blocks) = unpack 'LL', substr($image, $entry, 8);
	for my $block ($start .. $start + $blocks - 1)
	{
		for my $row (0 .. 542)
		{
			my $at = $block * 8192 + 24 + $row * 15 + int($column / 8);
			substr($image, $at, 1) = chr(ord(substr($image, $at, 1)) & ~(1 << $column % 8));
		}
	}
	return $image;
}

sub write_image
{
	my ($image) = @_;
	open my $f, '>:raw', $file or die "$file: $!";
	print $f $image;
	close $f;
	return;
}

# Block 250 is in column 10 of leaf slab 2, which is column 2 of the upper. Of blocks after it nothing is damaged, of those
# before only in the upper.
for my $case ([ 'leaf', 0, 3, 10, 250 ], [ 'leaf', 1, 3, 10, 250 ], [ 'upper', 0, 0, 2, 240 ], [ 'upper', 1, 0, 2, 240 ])
{
	my ($level, $group, $slab, $column, $block) = @$case;
	my $image = without_bits($good, entry(1, $group, $slab), $column);
	isnt($image, $good, "$level of group $group: there were bits");
	write_image($image);
	$node->start;
	my ($rc, $out, $err) = $node->psql('postgres', '\set VERBOSITY verbose' . "\nSELECT pbfidx_check('t_i')");
	like($err, qr/XX002.*row \($block,1\) is not in the $level slab/s, "$level of group $group: the check misses the row");
	is($node->safe_psql('postgres', "SELECT pbfidx_check('t_i', false) IS NOT NULL"), 't', "$level of group $group: the structure is right");
	$node->stop;
	write_image($good);
}

# Pages of slabs that are not what they should be.
{
	my ($start) = unpack 'L', substr($good, entry(1, 0, 3), 4);
	my ($other) = unpack 'L', substr($good, entry(1, 1, 3), 4);
	my ($empty, $swapped) = ($good, $good);
	substr($empty, $start * 8192, 8192) = "\0" x 8192;
	substr($swapped, $start * 8192, 8192) = substr($good, $other * 8192, 8192);
	damage('a page of nothing in a slab', $empty, 1);
	damage('a page of another slab', $swapped, 1);
}

# --- what no page must say ------------------------------------------------------------------------------------------

for my $case (
	[ 'no magic', $meta, 'L', 1 ], [ 'a version to come', $meta + 4, 'L', 99 ], [ 'no range', $meta + 8, 'L', 0 ], [ 'a huge range', $meta + 8, 'L', 0xffffffff ],
	[ 'no groups', $meta + 20, 'L', 0 ], [ 'groups without values', $meta + 20, 'L', 8 ], [ 'a rate of nothing', $meta + 24, 'd', 1e-300 ], [ 'parts of another matrix', $meta + 24 + 16, 'L', 2 ],
	[ 'endless bits a key', $meta + 24 + 24 + 8, 'f', 1e30 ], [ 'a group that is not there', $column_group, 'C', 5 ], [ 'one far out', $column_group, 'C', 0x55 ],
	[ 'the group of another column', $column_group + 1, 'C', 0x80 ], [ 'hwm behind the file', $growth + 4, 'L', 0xfffffff0 ], [ 'hwm not far behind the file, nothing free', $growth + 4, 'LL', $pages + 100000, 0 ], [ 'hwm in the middle', $growth + 4, 'L', $pages / 2 ],
	[ 'more free extents than fit', $growth + 8, 'L', 513 ], [ 'an absurd free extent', $free, 'LL', 2, 0xfffffff0 ], [ 'the metapage among the free', $free, 'LL', 0, $pages ], [ 'upper: next without pages', entry(1, 0, 0) + 12, 'LLL', 5, 0, 7 ],
	[ 'leaf: next without pages', entry(1, 0, 1) + 12, 'LLL', 5, 0, 7 ], [ 'upper: next of 16 million pages', entry(1, 0, 0) + 12, 'LLL', 5, 0xffffff, 7 ],
	[ 'leaf: next of 4 billion pages', entry(1, 0, 1) + 12, 'LLL', 5, 0xf0000000, 7 ], [ 'leaf without pages', entry(1, 0, 1) + 4, 'L', 0 ], [ 'upper of all pages', entry(1, 0, 0) + 4, 'L', 0xffffffff ],
	[ 'leaf at the end of the world', entry(1, 0, 1), 'L', 0xfffffffe ], [ 'leaf in the metapage', entry(1, 0, 1), 'L', 1 ], [ 'leaf of another generation', entry(1, 0, 1) + 8, 'L', 0x7fffffff ])
{
	my ($name, $offset, $format, @values) = @$case;
	my $image = $good;
	my $bytes = pack $format, @values;
	substr($image, $offset, length $bytes) = $bytes;
	damage($name, $image, 1);
}

# --- at random ------------------------------------------------------------------------------------------------------

for my $round (1 .. $rounds)
{
	my $image = $good;
	# The metapage, the directory, any page; single bits, bytes, words of all ones, a page of nothing, a page of another place.
	my $block = (0, 1, int rand $pages)[ int rand 3 ];
	my $at = $block * 8192 + ($block < 2 ? int rand 2000 : int rand 8192);
	my $how = int rand 5;
	if ($how == 0) { substr($image, $at, 1) = chr(ord(substr($image, $at, 1)) ^ (1 << int rand 8)); }
	elsif ($how == 1) { substr($image, $at, 1) = chr(int rand 256); }
	elsif ($how == 2) { $at -= $at % 4; substr($image, $at, 4) = "\xff" x 4; }
	elsif ($how == 3) { substr($image, $block * 8192, 8192) = "\0" x 8192; }
	else { substr($image, $block * 8192, 8192) = substr($good, 8192 * int(rand $pages), 8192); }
	damage("round $round: block $block, offset " . ($at % 8192) . ", way $how", $image, 0);
}
cmp_ok($given_up, '>', 0, 'VACUUM has met damaged pages');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|signal 11|signal 6/, 'nothing worse in the log');

done_testing();

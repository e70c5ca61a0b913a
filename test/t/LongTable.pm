# Tables that are long without taking space: holes in their files, for tests of what depends on the number of pages.
package LongTable;

use strict;
use warnings;

use Exporter 'import';
our @EXPORT = qw(has_usual_files lengthen $SEGMENT);

our $SEGMENT = 131072;    # pages of a file

# Whether files and pages of the server are as large as assumed here.
sub has_usual_files
{
	my ($node) = @_;
	return $node->safe_psql('postgres', "SELECT current_setting('segment_size') || current_setting('block_size')") eq '1GB8192';
}

# Makes the table that long, if it is shorter.
sub lengthen
{
	my ($node, $table, $pages) = @_;
	my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$table')");
	for (my $n = 0; $n * $SEGMENT < $pages; $n++)
	{
		my $name = $n ? "$file.$n" : $file;
		my $length = $pages - $n * $SEGMENT;
		$length = $SEGMENT if $length > $SEGMENT;
		open my $f, '>>', $name or die "$name: $!";
		if (-s $name < $length * 8192) { truncate($f, $length * 8192) or die "$name: $!"; }
		close $f;
	}
	return;
}

1;

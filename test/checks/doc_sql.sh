#!/bin/bash
# the SQL in the documentation gives the output shown there, and the reference names every function and operator
#
# Runs README.md and doc/*.md, each in a new database, as psql would: all blocks of a file in their order, in one
# session. What is compared:
#
#   a block that begins with ```sql          with the ```text block that follows it (no such block: no output);
#   `statement;` → `result`, within a line   with that result: columns separated by ", ", NULL for null; an error is
#                                            written `ERROR sqlstate: message`.
#
# A block that begins with ```sql no-run is skipped, for what needs other servers. Row counts are left out; blank lines and blanks at the end of
# lines do not matter. In the diff, - is what the file says and + what the server says.
set -euo pipefail

# extract FILE SCRIPT EXPECTED: the statements for psql, and what they are to print.
extract()
{
	perl -we '
		use strict;
		my ($file, $script, $expected) = @ARGV;
		open(my $in, "<", $file) or die "$file: $!\n";
		open(my $run, ">", $script) or die "$script: $!\n";
		open(my $want, ">", $expected) or die "$expected: $!\n";
		my $inline = "\\pset format unaligned\n\\pset fieldsep \x27, \x27\n\\pset tuples_only on\n\\pset null NULL\n"
			. "\\set VERBOSITY sqlstate\n";
		my $block = "\\pset format aligned\n\\pset tuples_only off\n\\pset null \x27\x27\n\\set VERBOSITY default\n";
		my $mode = "";       # what kind of block we are in
		my $after_sql = 0;   # nothing but blank lines since a block of SQL
		my $count = 0;

		# Names the line in both, so that a difference can be found and an unfinished statement harms one block only.
		sub start { print $run "\\r\n\\echo == line $.\n"; print $want "== line $.\n"; $count++ }

		while (my $line = <$in>) {
			chomp $line;
			die "$file, line $.: a block of SQL must not be indented\n" if $line =~ /^\s+```sql/;
			if ($line =~ /^```(.*)/) {
				if ($mode) { $after_sql = $mode eq "sql"; $mode = ""; next }
				my $language = $1;
				die "$file, line $.: a block of $language?\n" if $language =~ /^sql./i && $language ne "sql no-run";
				$mode = $language eq "sql" ? "sql" : $language eq "text" && $after_sql ? "output" : "other";
				$after_sql = 0;
				if ($mode eq "sql") { start(); print $run $block }
			}
			elsif ($mode eq "sql") { print $run "$line\n" }
			elsif ($mode eq "output") { print $want "$line\n" }
			elsif (!$mode) {
				$after_sql = 0 if $line =~ /\S/;
				while ($line =~ /`([^`]+;)` → `([^`]*)`/g) {
					my ($statement, $result) = ($1, $2);
					start();
					print $run "$inline$statement\n\\if :ERROR\n\\echo :LAST_ERROR_MESSAGE\n\\endif\n";
					$result =~ s/^ERROR (\w{5}): /ERROR:  $1\n/;
					print $want "$result\n";
				}
			}
		}
		die "$file: a block is not closed\n" if $mode;
		print "$count\n";
	' "$@"
}

tidy()
{
	sed -e 's/[[:space:]]*$//' -e '/^$/d'
}

if [ "$(psql -XAtqc 'SELECT max_data_alignment FROM pg_control_init()')" != 8 ]; then
	echo "rows are shorter on a 32-bit server than where the documentation was written"
	exit 77
fi
export PGTZ=UTC PGDATESTYLE=ISO PGCLIENTENCODING=UTF8 PGOPTIONS="-c jit=off" # without JIT only to save time
failed=
total=0
for file in README.md doc/*.md; do
	name=$(basename "$file" .md)
	db=${PGDATABASE}_${name,,}
	count=$(extract "$file" "$SCRATCH/$name.sql" "$SCRATCH/$name.expected")
	total=$((total + count))
	createdb -T template0 "$db"
	# A lost connection shows in the output.
	psql -Xq -P footer=off -d "$db" <"$SCRATCH/$name.sql" >"$SCRATCH/$name.actual" 2>&1 || true
	dropdb "$db"
	diff -U 2 --label "$file" --label "the server" <(tidy <"$SCRATCH/$name.expected") <(tidy <"$SCRATCH/$name.actual") ||
		failed="$failed $file"
done

# Each name stands in the reference between backquotes, or in a signature between a backquote and a parenthesis.
names=$(psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
SELECT DISTINCT coalesce(p.proname, replace(o.oprname, '|', '\|'))
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e' AND e.extname = 'pbf'
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
LEFT JOIN pg_operator o ON d.classid = 'pg_operator'::regclass AND o.oid = d.objid
WHERE p.oid IS NOT NULL OR o.oid IS NOT NULL;
SQL
)
[ -n "$names" ] || { echo "where are the functions?"; exit 1; }
while read -r name; do
	grep -qF -e "\`$name\`" -e "\`$name(" doc/reference.md || { echo "doc/reference.md: no $name"; failed="$failed $name"; }
done <<<"$names"

[ -z "$failed" ] || { echo "not as documented:$failed"; exit 1; }
[ "$total" -gt 0 ] || { echo "no SQL found"; exit 1; }
echo "$total blocks and examples"

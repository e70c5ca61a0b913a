#!/bin/bash
#
# The paper's tables and figures, computed and measured: bash test/paper/run.sh [--quick] [--write]
#
# Prints the tables as Markdown, with what the paper prints, what the SQL functions compute, and what was measured with
# this code. Fails if a figure is wrong: an SQL function is not exact, table 1, table 4 or table 3 at full occupation is
# not the paper's, or a measurement is more than 3 standard errors from its formula. Sets up what it needs and leaves
# nothing behind, like check.sh.
#
#   --quick   a twentieth of the measuring
#   --write   put tables and plots into doc/paper.md and doc/paper/
#
# Environment: PG_CONFIG, TMPDIR, KEEP (see test/lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/lib.sh
. test/lib.sh

SCALE=1 KEYS=4000000 WRITE=
for arg; do
	case $arg in
	--quick) SCALE=0.05 KEYS=200000 ;;
	--write) WRITE=1 ;;
	-h | --help)
		sed -n '3,14s/^# \{0,1\}//p' test/paper/run.sh
		exit 0
		;;
	*) die "unknown argument: $arg (see --help)" ;;
	esac
done
# shellcheck source=test/bench/common.sh
. test/bench/common.sh

machine()
{
	facts
	echo "| result | $1 |"
}

# Puts each NAME.md between its marks in doc/paper.md.
write_document()
{
	OUT=$W/out perl -i -pe '
		if (/^<!-- table (\w+) -->/) {
			open(my $table, "<", "$ENV{OUT}/$1.md") or die "$1: $!\n";
			$_ .= "\n" . join("", <$table>) . "\n";
			$inside = 1;
		}
		elsif (/^<!-- end -->/) { $inside = 0 }
		elsif ($inside) { $_ = "" }' doc/paper.md
	mkdir -p doc/paper
	cp "$W"/out/*.svg doc/paper/
}

prepare_machine python3
want_packages gnuplot-nox
make_workdir
LOAD=$(load)
copy_tree "$W/src"
step build_tree "$W/src"
step install_tree "$W/src" "$W/stage"
step start_server "$W/stage"
use_server
sql -c "CREATE EXTENSION pbf"
say "measuring"
run as_server env -C "$W/src" bash test/paper/reproduce.sh "$SCALE" "$KEYS" "$W/out" >"$W/log/result" || true
cat "$W/log/result" >&2
[ "$STATUS" = 0 ] || die "the paper is not reproduced"
machine "$(cat "$W/log/result")" >"$W/out/machine.md"
for name in machine rates occupations elements collisions tail double_rates double_issue1 double_issues overlap intersection \
	reduction compared; do
	printf '\n%s:\n\n' "$name"
	cat "$W/out/$name.md"
done
[ -z "$WRITE" ] || write_document

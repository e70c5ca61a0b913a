#!/bin/bash
#
# How fast the pbf type is, beside what one would use without it: bash test/bench/type.sh [rows]
#
# Markdown on stdout, what it is doing on stderr. Sets up what it needs and leaves nothing behind, like check.sh. With
# the default of 10000000 rows (1000 to 20000000) it takes about 15 minutes, 5 GB of memory and 5 GB of disk. A report,
# not a test: the exit status only says whether it came to its end.
#
# Environment: PG_CONFIG, TMPDIR, KEEP (see test/lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/lib.sh
. test/lib.sh

case ${1:-} in -h | --help)
	sed -n '3,9s/^# \{0,1\}//p' test/bench/type.sh
	exit 0
	;;
esac
ROWS=${1:-10000000}
if ! [[ $ROWS =~ ^[1-9][0-9]{3,7}$ ]] || [ "$ROWS" -gt 20000000 ]; then
	die "rows must be a number from 1000 to 20000000: $ROWS"
fi
BENCH=test/bench
# shellcheck source=test/bench/common.sh
. test/bench/common.sh

# Tables below a quarter of shared_buffers stay there, and work_mem is such that no peer needs a temporary file.
settings()
{
	quiet_settings
	cat <<-END
		shared_buffers = $(min $((ROWS * 320 / 1000000 + 512)) $(($(memory_mb) / 3)))MB
		work_mem = $(min 2047 $(($(memory_mb) / 6)))MB
		hash_mem_multiplier = 1
		maintenance_work_mem = 512MB
		wal_level = minimal
		max_wal_senders = 0
		max_wal_size = 16GB
	END
}

header()
{
	cat <<-END
		# The pbf type: measurements

		$(facts)
		| hll | $(sql -At -c "SELECT coalesce(max(extversion), 'not installed') FROM pg_extension WHERE extname = 'hll'") |
		| pbf.simd | $(show pbf.simd)${AUTO:+, that is $AUTO} |
		| settings | shared_buffers $(show shared_buffers), work_mem $(show work_mem), no parallel query, no JIT compilation |

		Times are taken by the server and are medians of 5 to 9 runs after one that does not count. Within a run all cases
		take turns, in alternating order; in sections 1 and 2 each after a count(x) that does not count. "spread" is the slowest run less the fastest, as a share of the median: above some
		10 % the machine was busy with other things, and "CPU ms", the time that the server process was on a CPU, tells more.

	END
}

# kernel_bench [options of kernel.c]
kernel_bench()
{
	as_server make -s -C "$W/src/test/unit" bench BUILD="$W/kernel" BENCH_OPTIONS="$*"
}

# "size <tab> kernel <tab> column <tab> value" for each figure of the kernel benchmark's table.
kernel_figures()
{
	awk -F ' *[|] *' -v OFS='\t' '
		/^\| filter / { for (i = 4; i < NF; i++) column[i] = $i }
		/^\| [0-9.]+ [KM]iB / { for (i = 4; i < NF; i++) print $2, $3, column[i], $i }' "$W/kernel.md"
}

prepare_machine >&2
want_packages "postgresql-$PG_MAJOR-hll" >&2
make_workdir
copy_tree "$W/src"
step build_tree "$W/src"
step install_tree "$W/src" "$W/stage"
mapfile -t lines < <(settings)
step start_server "$W/stage" "${lines[@]}"
use_server
sql -c 'CREATE EXTENSION pbf'
sql -c 'CREATE EXTENSION hll' 2>/dev/null || say "no hll: going on without"

say "kernels"
run kernel_bench -r 1 0.03125 >"$W/log/kernel" 2>&1
[ "$STATUS" = 0 ] || { cat "$W/log/kernel" >&2; die "the kernel benchmark failed"; }
AUTO=$(sed -n 's/.*auto = \([a-z0-9]*\).*/\1/p' "$W/log/kernel")

header
step sql -f "$W/src/$BENCH/measure.sql"
say "aggregates, membership, TOAST, unions"
run sql -At -v rows="$ROWS" -f "$W/src/$BENCH/type.sql"
[ "$STATUS" = 0 ] || die "a measurement failed"

echo
echo "## 5. Kernels"
echo
say "kernels"
run kernel_bench >"$W/kernel.md"
[ "$STATUS" = 0 ] || die "the kernel benchmark failed"
cat "$W/kernel.md"

say "summary"
run sql -At -v elements=$((ROWS / 10)) -v rows="$ROWS" -v kernel="$(kernel_figures)" -f "$W/src/$BENCH/type-summary.sql"
[ "$STATUS" = 0 ] || die "the summary failed"
echo
echo "Load at the end: $(load)."

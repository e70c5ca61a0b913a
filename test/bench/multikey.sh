#!/bin/bash
#
# pbfidx over trigrams, words, arrays and documents beside GIN: bash test/bench/multikey.sh [--lines FILE] [rows]
#
# Markdown on stdout, what it is doing on stderr. Sets up what it needs and leaves nothing behind, like check.sh. With
# the default of 1000000 rows (10000 to 10000000) in each of four tables it takes about 15 minutes, most of them to build
# GIN indexes. A report, not a test: the exit status only says whether it came to its end.
#
# --lines FILE  text whose lines, repeated with other digits each time, are the log; without it they are made up.
# Environment: PG_CONFIG, TMPDIR, KEEP (see test/lib.sh).

set -euo pipefail
STARTED_IN=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/lib.sh
. test/lib.sh
# shellcheck source=test/bench/common.sh
. test/bench/common.sh

LINES_FILE=
ROWS=1000000
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		sed -n '3,10s/^# \{0,1\}//p' test/bench/multikey.sh
		exit 0
		;;
	--lines)
		[ -n "${2:-}" ] || die "--lines wants a file"
		LINES_FILE=$2
		[[ $LINES_FILE = /* ]] || LINES_FILE=$STARTED_IN/$LINES_FILE
		[ -s "$LINES_FILE" ] || die "no text in $LINES_FILE"
		shift
		;;
	*) ROWS=$1 ;;
	esac
	shift
done
if ! [[ $ROWS =~ ^[1-9][0-9]{4,7}$ ]] || [ "$ROWS" -gt 10000000 ]; then
	die "rows must be a number from 10000 to 10000000: $ROWS"
fi
BENCH=test/bench
TABLES=(log words tags docs)
WRITERS=(none pbfidx gin gin_off)

settings()
{
	quiet_settings
	cat <<-END
		shared_buffers = $(min $((ROWS / 400 + 512)) $(($(memory_mb) / 4)))MB
		work_mem = 64MB
		maintenance_work_mem = 256MB
		max_parallel_maintenance_workers = 0
		full_page_writes = on
		max_wal_size = 64GB
	END
}

header()
{
	cat <<-END
		## Multi-key operator classes: measurements

		$(facts)
		| settings | shared_buffers $(show shared_buffers), maintenance_work_mem $(show maintenance_work_mem), work_mem $(show work_mem), no parallel query or build, no JIT compilation, no autovacuum, fsync off |

		Peers take turns on one table with the same rows; of its indexes one at a time is marked valid and ready in pg_index.
		Medians. "CPU" is the time that the server process was on a CPU: on a busy machine it tells more than the time.

	END
}

# The log's lines as a table `raw`.
load_lines()
{
	if [ -z "$LINES_FILE" ]; then
		sql -c 'INSERT INTO raw (line) SELECT * FROM made_up_lines(12000)'
		return
	fi
	# Invalid bytes and line ends of other systems are left out; COPY wants backslashes doubled.
	iconv -c -f UTF-8 -t UTF-8 "$LINES_FILE" | tr -d '\r\000' | sed 's/\\/\\\\/g; s/\t/\\t/g' >"$W/log/lines"
	sql -c "\\copy raw (line) FROM '$W/log/lines'"
}

# use TABLE WRITER: that index alone; gin_off is gin without its pending list.
use()
{
	case $2 in
	gin) sql -c "ALTER INDEX $1_gin SET (fastupdate = on)" ;;
	gin_off) sql -c "ALTER INDEX $1_gin SET (fastupdate = off)" ;;
	esac
	sql -c "CALL use_index('$1', '$1_${2%_off}')"
}

# build_round TABLE RUN: the last one's indexes stay. GIN is built once.
build_round()
{
	local peer
	for peer in $(in_turn "$2" pbfidx gin); do
		[ "$peer" = pbfidx ] || [ "$2" = 3 ] || continue
		sql -c "CALL build('$1', '$peer', $2)"
	done
}

look_round()
{
	local peer
	for peer in $(in_turn "$2" pbfidx gin); do
		use "$1" "$peer"
		sql -c "CALL look_up('$1', '$peer', $2)"
	done
}

# A sequential scan, once: for arrays and documents, where one might do without an index.
seqscan()
{
	use "$1" none
	sql -c "CALL look_up('$1', 'none', 1)"
}

write_round()
{
	local writer
	for writer in $(in_turn "$2" "${WRITERS[@]}"); do
		use "$1" "$writer"
		sql -c "CALL timed('insert $1', '$writer', $2, 'INSERT INTO $1 ($(column "$1")) SELECT $(column "$1") FROM $1_more')"
	done
}

vacuum_round()
{
	local peer
	for peer in $(in_turn "$2" pbfidx gin); do
		use "$1" "$peer"
		sql -c "DELETE FROM $1 WHERE id % 20 = $2 AND (id / 20) % 2 = $([ "$peer" = gin ] && echo 0 || echo 1)"
		sql -At <<-END
			SELECT cpu_ms() AS cpu \gset
			SELECT clock_timestamp() AS start \gset
			VACUUM $1;
			INSERT INTO bench_time VALUES ('vacuum $1', '$peer', $2,
				extract(epoch FROM clock_timestamp() - :'start')::float8 * 1000, cpu_ms() - :'cpu', NULL);
		END
	done
}

column()
{
	case $1 in log) echo line ;; words) echo tsv ;; tags) echo tags ;; docs) echo doc ;; esac
}

prepare_machine >&2
make_workdir
copy_tree "$W/src"
step build_tree "$W/src"
step install_tree "$W/src" "$W/stage"
mapfile -t lines < <(settings)
step start_server "$W/stage" "${lines[@]}"
use_server
sql -c 'CREATE EXTENSION pbf'
sql -c 'CREATE EXTENSION pg_trgm' -c 'CREATE EXTENSION pbf_trgm' || die "PostgreSQL's contrib modules are not installed"

header
step sql -f "$W/src/$BENCH/measure.sql"
step sql -f "$W/src/$BENCH/multikey.sql"
step load_lines
step sql -v rows="$ROWS" -c "CALL fill($ROWS)" -c 'VACUUM ANALYZE'
for table in "${TABLES[@]}"; do
	for i in 1 2 3; do
		step build_round "$table" $i
	done
	step sql -c "CALL choose_queries('$table')"
	for i in 1 2; do
		step look_round "$table" $i
	done
	case $table in tags | docs) step seqscan "$table" ;; esac
	[ "$table" != tags ] || step sql -c "CALL count_bits()" -c "CALL measure_rates()"
	for i in 1 2 3; do
		step write_round "$table" $i
	done
	for i in 1 2 3; do
		step vacuum_round "$table" $i
	done
done
say "report"
run sql -At -f "$W/src/$BENCH/multikey-report.sql"
[ "$STATUS" = 0 ] || die "failed: multikey-report.sql"
echo
echo "Load at the end: $(load)."

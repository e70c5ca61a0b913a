#!/bin/bash
#
# The index access method pbfidx beside its peers: bash test/bench/index.sh [--plot FILE] [--without PEERS] [--short] [rows]
#
# Markdown on stdout, what it is doing on stderr. Sets up what it needs and leaves nothing behind, like check.sh. With
# the default of 10000000 rows (100000 to 200000000) it takes about 20 minutes, 6 GB of memory and 20 GB of disk. A
# report, not a test: the exit status only says whether it came to its end.
#
# --plot FILE draws index size against look-up time into FILE, an SVG (needs gnuplot).
# --without PEERS leaves some out, "hash,brin,bloom32,bloom64" for example: with 100 million rows they take hours.
# --short: one build, serial, and look-ups; nothing else.
# Environment: PG_CONFIG, TMPDIR, KEEP (see test/lib.sh).

set -euo pipefail
STARTED_IN=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=test/lib.sh
. test/lib.sh
# shellcheck source=test/bench/common.sh
. test/bench/common.sh

PLOT=
WITHOUT=
SHORT=0
ROWS=10000000
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		sed -n '3,12s/^# \{0,1\}//p' test/bench/index.sh
		exit 0
		;;
	--plot)
		[ -n "${2:-}" ] || die "--plot wants a file"
		PLOT=$2
		[[ $PLOT = /* ]] || PLOT=$STARTED_IN/$PLOT
		shift
		;;
	--without)
		[[ ${2:-} =~ ^(hash|brin|brin_tuned|bloom32|bloom64)(,(hash|brin|brin_tuned|bloom32|bloom64))*$ ]] ||
			die "--without wants some of hash,brin,brin_tuned,bloom32,bloom64: ${2:-}"
		WITHOUT=$2
		shift
		;;
	--short) SHORT=1 ;;
	*) ROWS=$1 ;;
	esac
	shift
done
if ! [[ $ROWS =~ ^[1-9][0-9]{5,8}$ ]] || [ "$ROWS" -gt 200000000 ]; then
	die "rows must be a number from 100000 to 200000000: $ROWS"
fi
BENCH=test/bench
MORE=$(min 1000000 $((ROWS / 10))) # rows that INSERT and COPY add at a time
SHARE=$((ROWS > 20000000 ? ROWS / 500000 : 20)) # UPDATE takes one row of so many

# those NAME...: without those left out.
those()
{
	local name
	for name; do
		[[ ,$WITHOUT, = *,$name,* ]] || echo "$name"
	done
}
mapfile -t PEERS < <(those pbfidx btree hash brin brin_tuned bloom32 bloom64) # names of the table "peer"
mapfile -t WRITERS < <(those none pbfidx btree hash brin_tuned bloom32)       # what writing is measured with

# Nothing is ever evicted up to some 10 M rows: what writing adds included. No checkpoint but those asked for, up to some
# 20 M rows: WAL of more would fill the disk.
settings()
{
	quiet_settings
	cat <<-END
		shared_buffers = $(min $((ROWS / 1600 + 512)) $(($(memory_mb) / 4)))MB
		work_mem = 64MB
		maintenance_work_mem = 256MB
		max_parallel_maintenance_workers = 0
		wal_level = replica
		full_page_writes = on
		max_wal_size = $((ROWS > 20000000 ? 24 : 64))GB
		log_line_prefix = '%n [%p] '
		log_checkpoints = off
	END
}

header()
{
	cat <<-END
		# pbfidx: measurements

		$(facts)
		| settings | shared_buffers $(show shared_buffers), maintenance_work_mem $(show maintenance_work_mem), work_mem $(show work_mem), no parallel query (but for the parallel build), no JIT compilation, no autovacuum, fsync off, full_page_writes on, wal_level replica, checkpoints only where said |

		Peers take turns on one table with the same rows. Of its indexes only one at a time is marked valid and ready in
		pg_index, so the others neither serve nor cost anything.${WITHOUT:+ Left out, as they take too long: $WITHOUT.} "CPU" is the time that the server process was on a CPU: on
		a busy machine it tells more than the time. "spread" is the slowest run less the fastest, as a share of the median.

	END
}

restart()
{
	as_server "$BINDIR/pg_ctl" -D "$W/data" -l "$W/log/server" -w -m fast restart
}

# prewarm TABLE: all of it and of its indexes into shared buffers.
prewarm()
{
	sql -At -c "SELECT sum(pg_prewarm(indexrelid::regclass)) FROM pg_index WHERE indrelid = '$1'::regclass" \
		-c "SELECT pg_prewarm('$1')"
}

# round PEER RUN: hits, misses, IN of 100 and of 10,000 in a session of their own, so that no plan is left of another peer.
round()
{
	sql -At -c "CALL use_index('t', 't_$1')" \
		-c "CALL look_up('$1', 'hit', $2, 3000, 2)" -c "CALL look_up('$1', 'miss', $2, 3000, 2)" \
		-c "CALL look_up_many('$1', $2, 100, 20, 2)" -c "CALL look_up_many('$1', $2, 10000, 4, 4)"
}

# through_pgbench PEER: a client of its own, protocol and executor included; microseconds for each look-up.
through_pgbench()
{
	local want first query
	sql -c "CALL use_index('t', 't_$1')"
	for want in hit miss; do
		first=$([ $want = hit ] && echo 1 || echo $((ROWS * 3)))
		# Sub-selects, so that md5() is called once, not for every row that is rechecked.
		query='SELECT k FROM t WHERE id = (SELECT md5(:i)::uuid)'
		case $1 in bloom*) query+=' AND h = (SELECT uuid_hash(md5(:i)::uuid))' ;; esac
		printf '\\set i random(%s, %s)\n%s;\n' "$first" "$((first + ROWS - 1))" "$query" >"$W/log/script"
		pgbench_times "$1" $want "$(case $1 in brin*) echo 2 ;; *) echo 1 ;; esac)"
	done
}

# pgbench_times NAME WANT SECONDS: runs $W/log/script.
pgbench_times()
{
	as_server rm -f "$W"/tmp/pgbench.*
	as_server env PGOPTIONS='-c plan_cache_mode=force_generic_plan -c enable_seqscan=off' \
		pgbench -n -M prepared -c 1 -T "$3" -l --log-prefix="$W/tmp/pgbench" -f "$W/log/script"
	# The first plans, and does not count, except where few are made at all.
	cat "$W"/tmp/pgbench.* | awk -v OFS='\t' -v name="$1" -v want="$2" 'NR > 1 || name ~ /^(brin|bloom)/ { print name, want, $3 }' >"$W/log/times"
	sql -c "\\copy bench_client (peer, want, us) FROM '$W/log/times'"
}

protocol()
{
	printf '\\set i random(1, 1000)\nSELECT :i::int;\n' >"$W/log/script"
	pgbench_times 'protocol' hit 1
}

# The server's cache is empty, that of the operating system is not.
cold()
{
	sql -c "CALL use_index('t', 't_$1')"
	restart
	sql -At -c "CALL explain_only('$1')" -c "CALL look_up('$1', 'cold', 1, 100, 5)"
}

# vacuum_round RUN: deletes a tenth, then reads from the server's log when VACUUM was done with which index. v_first, an
# empty index, marks the beginning.
vacuum_round()
{
	local from
	sql -c "DELETE FROM v WHERE g % 10 = $1"
	from=$(wc -l <"$W/log/server")
	sql -c 'SET log_min_messages = debug2' -c 'VACUUM (PARALLEL 0) v'
	tail -n +$((from + 1)) "$W/log/server" | awk -v OFS='\t' -v run="$1" '
		/scanned index|now contains/ {
			match($0, /index "v_[^"]*"/); name = substr($0, RSTART + 9, RLENGTH - 10)
			if (name != "first") print run, name, /scanned/ ? "delete" : "cleanup", ($1 - last) * 1000
			last = $1
		}' >"$W/log/times"
	sql -c "\\copy bench_vacuum FROM '$W/log/times'"
}

# write_round RUN: one turn of all writers; run 0 comes straight after a checkpoint.
write_round()
{
	local peer
	for peer in $(in_turn "$1" "${WRITERS[@]}"); do
		[ "$1" != 0 ] || sql -c CHECKPOINT
		sql -c "CALL use_index('t', 't_$peer')" \
			-c "CALL timed('insert', '$peer', $1, 'INSERT INTO t SELECT * FROM more_$1')"
	done
}

copy_round()
{
	local peer
	for peer in $(in_turn "$1" "${WRITERS[@]}"); do
		sql -c "CALL use_index('t', 't_$peer')" \
			-c "CALL timed('copy', '$peer', $1, 'COPY t FROM ''$W/tmp/more_$1''')"
	done
}

# Rolled back, so that all find the same rows on full pages.
update_round()
{
	local peer
	for peer in $(in_turn "$1" "${WRITERS[@]}"); do
		sql -c "CALL use_index('t', 't_$peer')" -c BEGIN \
			-c "CALL timed('update', '$peer', $1, 'UPDATE t SET g = g + 1 WHERE k % $SHARE = $1 AND ctid < ''($HEAP_PAGES,0)''')" \
			-c 'CREATE TEMP TABLE kept AS TABLE bench_time' -c 'COPY kept TO STDOUT' -c ROLLBACK |
			grep "^update	$peer	$1	" >"$W/log/times"
		sql -c "\\copy bench_time FROM '$W/log/times'"
	done
}

# section FILE: measures and prints.
section()
{
	run sql -At -v rows="$ROWS" -v more="$MORE" -v share="$SHARE" -v short="$SHORT" -f "$W/src/$BENCH/$1"
	[ "$STATUS" = 0 ] || die "failed: $1"
}

# Sections 5 to 7.
look_further()
{
	say "false positives, planner"
	sql -c "CALL use_index('t', 't_pbfidx')"
	section index-rate.sql >"$W/log/rate.md"
	if [ "$ROWS" -le 30000000 ]; then # builds take too long
		say "two columns"
		section index-and.sql >"$W/log/and.md"
	fi
}

# Sections 3 and 4. Writing comes last: it makes the table another one.
write_all()
{
	local i
	step prewarm v
	for i in 0 1 2; do
		step vacuum_round $i
	done
	step sql -c 'DROP TABLE v'
	step prewarm t
	for i in 0 1 2 3; do
		step write_round $i
	done
	for i in 4 5 6; do
		sql -c "COPY more_$i TO '$W/tmp/more_$i'"
		step copy_round $i
	done
	for i in 7 8 9; do
		step update_round $i
	done
}

plot()
{
	sql -At -F ' ' -f "$W/src/$BENCH/index-plot.sql" >"$W/log/points"
	gnuplot -e "points='$W/log/points'; rows='$ROWS'; out='$PLOT'" "$W/src/$BENCH/index.gp"
	say "drawn: $PLOT"
}

prepare_machine >&2
[ -z "$PLOT" ] || want_packages gnuplot-nox >&2
make_workdir
copy_tree "$W/src"
step build_tree "$W/src"
step install_tree "$W/src" "$W/stage"
mapfile -t lines < <(settings)
step start_server "$W/stage" "${lines[@]}"
use_server
sql -c 'CREATE EXTENSION pbf'
sql -c 'CREATE EXTENSION bloom' -c 'CREATE EXTENSION pg_prewarm' || die "PostgreSQL's contrib modules are not installed"

header
step sql -f "$W/src/$BENCH/measure.sql"
step sql -v rows="$ROWS" -v more="$MORE" -v short="$SHORT" -f "$W/src/$BENCH/index-prepare.sql" -c "DELETE FROM peer WHERE name = ANY ('{$WITHOUT}')"
HEAP_PAGES=$(sql -At -c "SELECT pg_relation_size('t') / 8192")
say "builds"
section index-build.sql
step prewarm t

for i in 1 2 3; do
	for peer in $(in_turn $i "${PEERS[@]}"); do
		step round "$peer" $i
	done
done
for i in 1 2 3; do
	for peer in $(in_turn $i "${PEERS[@]}"); do
		step through_pgbench "$peer"
	done
	step protocol
done
if [ "$SHORT" = 0 ]; then
	look_further
fi
for peer in "${PEERS[@]}"; do
	step cold "$peer"
done
if [ "$SHORT" = 0 ]; then
	write_all
fi

say "report"
section index-report.sql >"$W/log/report.md"
cat "$W/log/report.md"
cat "$W"/log/{and,rate}.md 2>/dev/null || true
[ "$SHORT" = 1 ] || section index-summary.sql
echo
echo "Load at the end: $(load)."
[ -z "$PLOT" ] || ! command -v gnuplot >/dev/null || plot

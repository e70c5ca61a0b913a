#!/bin/bash
#
# Many sessions for a long time: bash test/soak.sh MINUTES
#
# pgbench writes (inserts, updates, HOT updates, deletes, work that is rolled back), autovacuum has nothing else to do, slabs are
# rebuilt and the index is made anew all the time, and readers compare the index with the sequential scan of the same
# repeatable-read snapshot. Fails if a row is ever missed, if a session meets an error, if pbfidx_check finds anything in
# the end, or if the memory of a session grows.
#
# Environment: PG_CONFIG, TMPDIR, KEEP, PBF_SETTINGS (see lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh

[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || die "usage: soak.sh MINUTES"
SECONDS_TO_RUN=$(($1 * 60))

# client NAME CLIENTS RATE SCRIPT...: pgbench in the background, its output in $W/log/NAME. RATE 0: as fast as it can.
client()
{
	local name=$1 clients=$2 rate=() script files=() n=0
	[ "$3" = 0 ] || rate=(-R "$3")
	shift 3
	for script; do
		n=$((n + 1))
		printf '%s\n' "$script" >"$W/$name$n.sql"
		files+=(-f "$W/$name$n.sql")
	done
	background as_server pgbench -n -c "$clients" -j 1 -T "$SECONDS_TO_RUN" "${rate[@]}" "${files[@]}" >"$W/log/$name" 2>&1
}

# Every twentieth transaction or so tells the memory of its session, in a transaction of its own.
tell='INSERT INTO memory (bytes) SELECT sum(total_bytes) FROM pg_backend_memory_contexts;'
memory="\\set look random(1, 20)
\\if :look = 1
$tell
\\endif"

check="SELECT pbfidx_check('t_k'), pbfidx_check('t_tags'), pbfidx_check('t_half'), pbfidx_check('t_keys'), pbfidx_check('t_doc');"

start_all()
{
	client writers 6 400 "SELECT add(4);
$memory" '\set a random(1, 20000)
UPDATE t SET k = random() * 1e6 WHERE id BETWEEN :a AND :a + 3;' '\set a random(1, 20000)
UPDATE t SET pad = repeat($$y$$, 300) WHERE id BETWEEN :a AND :a + 3;' '\set a random(1, 20000)
UPDATE t SET tags = tags || $$ x$$ WHERE id = :a;' '\set a random(1, 100000)
DELETE FROM t WHERE id BETWEEN :a AND :a + 4;' 'BEGIN;
SELECT add(3);
SAVEPOINT s;
SELECT add(3);
ROLLBACK TO s;
SELECT add(1);
ROLLBACK;'
	client readers 2 0 '\set part random(0, 499)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare(:part, 500);
\sleep 100 ms
SELECT compare(:part, 500);
COMMIT;
'"$memory"
	# In one session: REINDEX CONCURRENTLY puts an index with another OID into the place.
	client maintenance 1 0 '\set a random(0, 3000)
SELECT pbfidx_resummarize($$t_k$$, :a, :a + 500), pbfidx_resummarize($$t_tags$$, :a, :a + 500), pbfidx_resummarize($$t_half$$, :a, :a + 500),
	pbfidx_resummarize($$t_keys$$, :a, :a + 500), pbfidx_resummarize($$t_doc$$, :a, :a + 500);
'"$tell" "SELECT pbfidx_resummarize('t_k');" 'REINDEX INDEX CONCURRENTLY t_k;' 'REINDEX INDEX CONCURRENTLY t_tags;' 'REINDEX INDEX CONCURRENTLY t_keys;' 'REINDEX INDEX CONCURRENTLY t_doc;' \
		"$check $tell"
	# Old rows go, so that the table stays as large as it is; its end is cut off now and then.
	client renewal 1 0.2 'DELETE FROM t WHERE id < (SELECT max(id) - 30000 FROM t);' 'SELECT count(*) FROM t;'
}

fail()
{
	echo "FAILED   $*"
	FAILED=$((FAILED + 1))
}

prepare_machine
make_workdir
copy_tree "$W/src"
build_tree "$W/src"
install_tree "$W/src" "$W/stage"
start_server "$W/stage" "autovacuum_naptime = 1s" "autovacuum_max_workers = 5" "shared_buffers = 64MB" "autovacuum_vacuum_cost_limit = 10000" "jit = off"
use_server
sql -f "$W/src/test/soak.sql" >/dev/null
echo "pbf on $("$PG_CONFIG" --version): $1 minutes"

FAILED=0
start_all
while [ ${#CHILDREN[@]} -gt 0 ]; do
	reap
	[ "$STATUS" = 0 ] || fail "a client ended with status $STATUS"
done
for log in "$W"/log/{writers,readers,maintenance,renewal}; do
	! grep -E "ERROR|aborted|WARNING|terminated" "$log" || fail "$(basename "$log") met an error"
done
! grep -E "PANIC|TRAP|terminated by signal|corrupted" "$W/log/server" || fail "worse in the server's log"
sql -Atc "$check" >/dev/null || fail "pbfidx_check"
sql -Atc "SELECT compare(0, 1)" >/dev/null || fail "rows are missed in the end"

# After the first fifth of the time caches are full.
grown=$(sql -At <<'SQL'
WITH bounds AS (SELECT min(at) + (max(at) - min(at)) / 5 AS warm, max(at) - (max(at) - min(at)) / 5 AS late FROM memory),
	m AS (SELECT pid, max(bytes) FILTER (WHERE at < warm) AS before, max(bytes) FILTER (WHERE at > late) AS after FROM memory, bounds GROUP BY pid)
SELECT count(*) FILTER (WHERE after > before + 2000000) || ' of ' || count(*) || ' sessions grew; most: ' || coalesce(max(after - before), 0) || ' bytes' FROM m WHERE before > 0 AND after > 0
SQL
)
case $grown in
"0 of 9 "*) ;;
"0 of 0 "*) [ "$1" -lt 5 ] || fail "nothing is known of memory" ;;
"0 of "*) [ "$1" -lt 30 ] || fail "little is known of memory: $grown" ;;
*) fail "$grown" ;;
esac
sql -At -c "SELECT 'compared ' || sum(rows) || ' rows in ' || count(*) || ' readings; rows written: ' || (SELECT max(id) FROM t) ||
	'; autovacuum: ' || (SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = 't') FROM compared" -c "SELECT '$grown'"
[ "$(sql -Atc 'SELECT count(*) > 20 FROM compared')" = t ] || fail "readers compared nothing"
[ "$(sql -Atc "SELECT autovacuum_count >= $1 / 2 FROM pg_stat_user_tables WHERE relname = 't'")" = t ] || fail "autovacuum did little"
echo "$FAILED failed"
[ "$FAILED" = 0 ]

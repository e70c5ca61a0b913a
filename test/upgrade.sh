#!/bin/bash
#
# pg_upgrade: bash test/upgrade.sh OLD NEW, with two major versions that are installed here.
#
# Filters and indexes made by the old server answer on the new one; an index whose columns are hashed by the server's own
# functions, which may change between majors, says so and returns the whole table until it is rebuilt.
#
# Environment: TMPDIR, KEEP (see lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh

[ $# = 2 ] || die "usage: upgrade.sh OLD NEW"
PASSED=0
FAILED=0

# is NAME ACTUAL EXPECTED
is()
{
	if [ "$2" = "$3" ]; then
		PASSED=$((PASSED + 1))
		echo "ok       $1"
	else
		FAILED=$((FAILED + 1))
		printf 'FAILED   %s\n%s\n' "$1" "$(diff -U 1 <(echo "$3") <(echo "$2"))"
	fi
}

# version MAJOR: builds and stages for it and makes a data directory.
version()
{
	local checksums=()
	PG_CONFIG=/usr/lib/postgresql/$1/bin/pg_config
	prepare_machine
	# From 18 on a data directory has checksums unless one asks for none; both must agree.
	[ "$PG_MAJOR" -lt 18 ] || checksums=(--no-data-checksums)
	copy_tree "$W/src$1"
	build_tree "$W/src$1"
	install_tree "$W/src$1" "$W/stage$1"
	# pg_upgrade carries the functions over as they are: their library must be looked for in dynamic_library_path by either server.
	sed -i "s/^module_pathname.*/module_pathname = 'pbf'/" "$W/stage$1$SHAREDIR/extension/pbf.control"
	as_server "$BINDIR/initdb" -D "$W/data$1" -U postgres -A trust --encoding=UTF8 --locale=C --no-sync "${checksums[@]}" >"$W/log/initdb" 2>&1
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$W'"
		echo "fsync = off"
		stage_settings "$W/stage$1"
	} >>"$W/data$1/postgresql.conf"
}

start()
{
	as_server "/usr/lib/postgresql/$1/bin/pg_ctl" -D "$W/data$1" -l "$W/log/server$1" -w start >/dev/null
}

stop()
{
	as_server "/usr/lib/postgresql/$1/bin/pg_ctl" -D "$W/data$1" -w stop >/dev/null
}

# What must be the same before and after.
answers()
{
	sql -At <<-'SQL' 2>"$W/log/warnings"
		SET enable_seqscan = off; SET enable_indexscan = off;
		SELECT id, md5(f::text), pbf_cardinality(f), f @> id, (SELECT count(*) FROM generate_series(1, 1000) i WHERE f @> i) FROM filters ORDER BY id;
		SELECT s @> 'a5'::text, md5(s::text) FROM states;
		SELECT count(*), count(DISTINCT f) FROM filters WHERE f @> 7;
		SELECT id FROM t WHERE k = 17 ORDER BY id;
		SELECT id FROM t WHERE w = 'w99' AND d = date '2020-01-01' + 99 ORDER BY id;
		SELECT count(*) FROM t WHERE r = int4range(55, 60);
		SELECT count(*) FROM t WHERE m = 'ok';
		SELECT count(*) FROM part WHERE k IN (5, 6, 7);
		SELECT count(*) FROM (SELECT * FROM t OFFSET 0) s, LATERAL (SELECT count(*) AS n FROM t WHERE k = s.k AND w = s.w AND id + 0 = s.id) a WHERE n <> 1;
		SELECT id FROM d WHERE tags @> '{17}' ORDER BY id;
		SELECT count(*) FROM d WHERE tags && '{7, -1}' AND doc @> '{"w": "w7"}';
		SELECT id FROM d WHERE doc @? '$.k ? (@ == 99)' ORDER BY id;
		SELECT id FROM d WHERE line LIKE '%number 123!%' OR line ~ 'ber 77[0-9]!' ORDER BY id;
		EXPLAIN (COSTS OFF) SELECT * FROM t WHERE k = 17;
		EXPLAIN (COSTS OFF) SELECT * FROM d WHERE tags @> '{17}' AND doc @> '{"w": "w7"}' AND line LIKE '%number 123!%';
	SQL
}

check_all()
{
	sql -Atc "SELECT count(pbfidx_check(indexrelid)::text) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE amname = 'pbfidx' AND relkind = 'i'" 2>&1
}

make_workdir
version "$2"
version "$1"
use_server
PATH="/usr/lib/postgresql/$2/bin:$PATH"
start "$1"
sql <<-'SQL'
	CREATE EXTENSION pbf;
	CREATE TYPE mood AS ENUM ('sad', 'ok');
	CREATE TABLE filters AS SELECT id, (SELECT pbf_agg(i) FROM generate_series(id, id * 5) i) AS f FROM generate_series(1, 200) id;
	INSERT INTO filters SELECT 500, pbf_agg(i, 100000) FROM generate_series(1, 50000) i;
	CREATE AGGREGATE state(text) (SFUNC = pbf_agg_trans, STYPE = pbf);
	CREATE TABLE states AS SELECT state('a' || i) AS s FROM generate_series(1, 10) i;
	CREATE TABLE t AS SELECT i AS id, i % 1000 AS k, 'w' || i % 500 AS w, date '2020-01-01' + i % 500 AS d, int4range(i % 100, i % 100 + 5) AS r,
		(ARRAY['sad', 'ok'])[1 + i % 2]::mood AS m FROM generate_series(1, 30000) i;
	CREATE INDEX t_idx ON t USING pbfidx (k, w, d);
	CREATE INDEX t_range ON t USING pbfidx (r);
	CREATE INDEX t_mood ON t USING pbfidx (m) WHERE id % 2 = 1;
	CREATE TABLE part (k int) PARTITION BY RANGE (k);
	CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10000);
	CREATE INDEX ON part USING pbfidx (k);
	INSERT INTO part SELECT generate_series(1, 9000);
	INSERT INTO t SELECT i, i, 'w' || i, date '2020-01-01' + i, int4range(i, i + 5), 'ok' FROM generate_series(30001, 32000) i;
	CREATE EXTENSION pg_trgm;
	CREATE EXTENSION pbf_trgm;
	CREATE TABLE d AS SELECT i AS id, ARRAY[i, i % 10] AS tags, jsonb_build_object('k', i, 'w', 'w' || i % 50) AS doc, 'line number ' || i || '!' AS line
		FROM generate_series(1, 5000) i;
	CREATE INDEX d_idx ON d USING pbfidx (tags, doc, line pbf_trgm_ops);
	VACUUM ANALYZE t, d;
SQL
answers >"$W/before"
is "$1 answers" "$(grep -c 'Bitmap Index Scan on [td]_idx' "$W/before")" 2
is "indexes before" "$(check_all)" 5
stop "$1"

# Runs in $W, where it leaves files.
as_server "/usr/lib/postgresql/$2/bin/pg_upgrade" -b "/usr/lib/postgresql/$1/bin" -B "/usr/lib/postgresql/$2/bin" \
	-d "$W/data$1" -D "$W/data$2" -U postgres -s "$W" >"$W/log/upgrade" 2>&1 || { tail -n 30 "$W/log/upgrade" >&2; die "pg_upgrade failed"; }
start "$2"
answers >"$W/after"
is "answers as before" "$(<"$W/after")" "$(<"$W/before")"
is "a warning where the server's hash functions are used" "$(grep -o 'index "[a-z_]*" was built by PostgreSQL [0-9]*' "$W/log/warnings" | sort -u)" \
	"$(printf 'index "%s" was built by PostgreSQL %s\n' d_idx "$1" t_range "$1")"
sql -c "INSERT INTO t SELECT i, i, 'w' || i, date '2020-01-01' + i % 9, int4range(i, i + 5), 'ok' FROM generate_series(40001, 44000) i" \
	-c "UPDATE t SET k = -k WHERE id % 10 = 0" -c "REINDEX INDEX t_range" -c "REINDEX INDEX d_idx" -c "INSERT INTO d SELECT i, ARRAY[i, 17], '{\"k\": 99}', 'more' FROM generate_series(5001, 6000) i" -c "VACUUM t, d" -c "SELECT pbfidx_resummarize('t_idx')" >/dev/null
is "indexes after changes" "$(check_all)" 5
is "rows after changes" "$(sql -Atc "SET enable_seqscan = off" -c "SELECT count(*) FROM (SELECT * FROM t OFFSET 0) s,
	LATERAL (SELECT count(*) AS n FROM t WHERE k = s.k AND w = s.w AND id + 0 = s.id) a,
	LATERAL (SELECT count(*) AS n FROM t WHERE r = s.r AND id + 0 = s.id LIMIT 1) b WHERE a.n <> 1 OR b.n <> 1")" 0
is "rows of documents after changes" "$(sql -Atc "SET enable_seqscan = off" -c "SELECT count(*) FROM (SELECT * FROM d OFFSET 0) s,
	LATERAL (SELECT count(*) AS n FROM d WHERE tags @> s.tags AND doc @> s.doc AND id + 0 = s.id) a,
	LATERAL (SELECT count(*) AS n FROM d WHERE line LIKE '%' || s.line AND id + 0 = s.id) b WHERE a.n <> 1 OR b.n <> 1")" 0
is "no warning after REINDEX" "$(sql -Atc "SET enable_seqscan = off" -c "SELECT count(*) FROM t WHERE r = int4range(40001, 40006)" 2>&1)" 1
is "the old server's build is the new one's" "$(sql -Atc "SELECT f = (SELECT pbf_agg(i) FROM generate_series(7, 35) i) FROM filters WHERE id = 7")" t
stop "$2"
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]

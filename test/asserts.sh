#!/bin/bash
#
# The tests on a server that watches itself: bash test/asserts.sh [-v MAJOR] [STEP...]
#
# Builds PostgreSQL from Debian's source package with assertions, with memory that is random when it is new and overwritten when
# it is freed, with relation cache entries that are dropped when nobody holds them, and with valgrind's requests. That
# takes 5 minutes, once: the server stays in $PBF_CACHE. Steps:
#
#   suites     check.sh --quick, with wal_consistency_checking = all in what crashes or has a standby
#   replay     regression tests of the index on a server with a standby that compares what it replays with the pages
#   discard    regression tests with debug_discard_caches = 1: whatever a cache invalidation could take away is taken away at once;
#              one and a half to two and a half hours
#   valgrind   regression tests under valgrind: use of uninitialised or freed memory, inside palloc's chunks too
#
# Without STEP: all of these. (Undefined behaviour is looked for by check.sh itself.)
#
#   -v MAJOR   version of PostgreSQL: 15 (default), 17, 18
#   -t TESTS   the regression tests of replay, discard and valgrind (default: those that are not too long for them; some
#              would take hours)
#
# Environment: PBF_CACHE (default ~/.cache/pbf), TMPDIR, KEEP (see lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh
# shellcheck source=test/versions.sh
. test/versions.sh

MAJOR=15
TESTS= # see regress_here
while getopts v:t:h option; do
	case $option in
	v) MAJOR=$OPTARG ;;
	t) TESTS=$OPTARG ;;
	h)
		sed -n '3,23s/^# \{0,1\}//p' test/asserts.sh
		exit 0
		;;
	*) die "see -h" ;;
	esac
done
shift $((OPTIND - 1))
STEPS=("$@")
[ $# -gt 0 ] || STEPS=(suites replay discard valgrind)

# --- the server -----------------------------------------------------------------------------------------------------

# fetch_source DIR: the source as DIR/source. Of Debian's patches it gets the one by which servers up to 17 find staged
# extensions; another one would install everything under /usr.
fetch_source()
{
	own_apt "$1/apt" "$(release_of "$MAJOR")"
	(cd "$1" && apt-get -c apt/apt.conf -qq source --download-only "postgresql-$MAJOR")
	dpkg-source --no-check --skip-patches -x "$1"/*.dsc "$1/source"
	[ ! -e "$1/source/debian/patches/extension_destdir" ] || patch -d "$1/source" -p1 <"$1/source/debian/patches/extension_destdir"
}

# What contrib modules are tested with needs neither ICU nor Perl.
build_server()
{
	local dir=$1 flags="-O1 -g -fno-omit-frame-pointer -DUSE_VALGRIND -DRANDOMIZE_ALLOCATED_MEMORY -DRELCACHE_FORCE_RELEASE"
	fetch_source "$dir"
	chown -R "$SERVER_USER" "$dir"
	(
		cd "$dir/source"
		as_builder ./configure --prefix="$dir/server" --enable-cassert --enable-debug --enable-tap-tests --enable-injection-points \
			--without-icu --without-readline CFLAGS="$flags"
		as_builder make -s -j "$(nproc)" world-bin
		for target in src/test/regress src/test/isolation; do
			as_builder make -s -C "$target" -j "$(nproc)"
			as_builder make -s -C "$target" install
		done
		as_builder make -s install-world-bin
		# From 18 on a test module brings the SQL functions of injection points.
		[ ! -d src/test/modules/injection_points ] || as_builder make -s -C src/test/modules/injection_points install
		as_builder cp src/tools/valgrind.supp "$dir/server/"
	)
	rm -rf "$dir/source" "$dir/apt"
}

# A server that root builds is not the server's user's to read otherwise.
as_builder()
{
	local prefix=()
	[ "$(id -un)" = "$SERVER_USER" ] || prefix=(setpriv --reuid "$SERVER_USER" --regid "$(id -g "$SERVER_USER")" --init-groups)
	"${prefix[@]}" env HOME=/nonexistent "$@"
}

make_server()
{
	local dir=$CACHE/asserts-$MAJOR log
	PG_CONFIG=$dir/server/bin/pg_config
	export PG_CONFIG
	[ ! -e "$dir/complete" ] || return 0
	need_packages gcc make perl bison flex patch dpkg-dev libxml2-utils zlib1g-dev libipc-run-perl
	echo "building PostgreSQL $MAJOR in $dir"
	rm -rf "$dir"
	mkdir -p "$dir"
	log=$dir/log
	run build_server "$dir" >"$log" 2>&1
	[ "$STATUS" = 0 ] || { tail -n 40 "$log" >&2; die "cannot build the server, see $log"; }
	touch "$dir/complete"
}

# --- steps ----------------------------------------------------------------------------------------------------------

suites()
{
	PBF_SETTINGS="wal_consistency_checking = all" PBF_LIMIT=3600 bash test/check.sh --quick
}

replay()
{
	local standby=$W/standby end i
	start_server "$W/stage" "wal_consistency_checking = all" "autovacuum = off"
	as_server "$BINDIR/pg_basebackup" -h "$W" -U postgres -D "$standby" -R -C -S standby --checkpoint=fast
	echo "unix_socket_directories = '$standby'" >>"$standby/postgresql.conf"
	as_server "$BINDIR/pg_ctl" -D "$standby" -l "$W/log/standby" -w start >/dev/null
	regress_here "index_reports index_types index_paths index_rows multikey trgm"
	end=$(sql -Atc 'SELECT pg_current_wal_flush_lsn()')
	for ((i = 0; i < 3600; i++)); do
		[ "$(sql -h "$standby" -Atc "SELECT pg_last_wal_replay_lsn() >= '$end'")" != t ] || break
		sleep 1
	done
	[ "$i" -lt 3600 ] || die "the standby is behind"
	as_server "$BINDIR/pg_ctl" -D "$standby" -m fast -w stop >/dev/null
	! grep -E "PANIC|TRAP|inconsistent page|terminated by signal" "$W/log/standby" || die "worse in the standby's log"
}

discard()
{
	start_server "$W/stage" "debug_discard_caches = 1" "autovacuum = off"
	regress_here "errors index_life index_reports kinds"
}

# Every process of the server writes a file, which stays empty if nothing is wrong.
valgrind_all()
{
	local reports
	need_packages valgrind
	as_server mkdir "$W/valgrind"
	start_server "$W/stage" "autovacuum = off" "jit = off" "shared_buffers = 32MB"
	as_server "$BINDIR/pg_ctl" -D "$W/data" -w stop >/dev/null
	background as_server valgrind --quiet --leak-check=no --error-limit=no --gen-suppressions=all --trace-children=yes \
		--suppressions="$CACHE/asserts-$MAJOR/server/valgrind.supp" --log-file="$W/valgrind/%p" "$BINDIR/postgres" -D "$W/data" \
		>"$W/log/server" 2>&1
	for ((i = 0; i < 300; i++)); do
		! "$BINDIR/pg_isready" -q -h "$W" || break
		sleep 1
	done
	regress_here "index_life index_reports index_rows kinds planner"
	as_server "$BINDIR/pg_ctl" -D "$W/data" -w -t 600 stop >/dev/null
	reap
	reports=$(find "$W/valgrind" -type f -size +0)
	[ -n "$(ls "$W/valgrind")" ] || die "valgrind wrote nothing"
	# shellcheck disable=SC2086 # a list of files
	[ -z "$reports" ] || { head -n 100 $reports >&2; die "valgrind has something to say"; }
}

# regress_here TESTS: these, or the ones asked for, on a server that is running.
regress_here()
{
	local rc=0 tests=${TESTS:-$1}
	use_server
	as_server createdb contrib_regression # the name that PGXS takes
	as_server make -s -C "$W/src" installcheck with_llvm=no ISOLATION= TAP_TESTS= REGRESS="$tests" \
		EXTRA_REGRESS_OPTS="--use-existing --outputdir=$W/out" || rc=$?
	if [ "$rc" != 0 ]; then
		head -n 100 "$W/out/regression.diffs" >&2 || true
		die "regression tests failed"
	fi
	! grep -E "PANIC|TRAP|terminated by signal" "$W/log/server" || die "worse in the server's log"
}

# own_step FUNCTION: in a process of its own, with a directory of its own.
own_step()
{
	CHILDREN=()
	prepare_machine
	make_workdir # within that of the main process, which ends all there is if it is interrupted
	copy_tree "$W/src"
	build_tree "$W/src"
	install_tree "$W/src" "$W/stage"
	"$1"
}

use_cache
make_server
make_workdir
PASSED=0
FAILED=0
for step in "${STEPS[@]}"; do
	SECONDS=0
	case $step in
	suites) run suites ;;
	replay) run own_step replay ;;
	discard) run own_step discard ;;
	valgrind) run own_step valgrind_all ;;
	*) die "no such step: $step" ;;
	esac
	if [ "$STATUS" = 0 ]; then
		PASSED=$((PASSED + 1))
		echo "ok       $step ($SECONDS s)"
	else
		FAILED=$((FAILED + 1))
		echo "FAILED   $step ($SECONDS s)"
	fi
done
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]

#!/bin/bash
#
# Every test of pbf: bash test/check.sh [--quick] [--long] [--only REGEX] [--also VERSION]
#
# Sets up what it needs (Debian packages as root, or by sudo if that needs no password), works in a temporary directory on a
# server of its own, and leaves nothing behind. The last line is "N passed, N failed"; the exit status says the same.
#
#   --quick        leave out the sanitizers, the other architecture, the repetitions under each instruction set and the faults
#   --long         as much as README.md says of longer runs: some hours
#   --only REGEX   only tests whose name matches, as it is printed
#   --also VERSION also the quick tests on that version of PostgreSQL, as matrix.sh runs them (root only)
#
# Environment: PG_CONFIG, TMPDIR, KEEP, PBF_SETTINGS (see lib.sh); PBF_LIMIT: seconds for one test (default 1800).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh

# What tests do in a long run, unless the caller says otherwise.
longer()
{
	export PBF_LIMIT="${PBF_LIMIT:-86400}" PBF_CRASH_ROUNDS="${PBF_CRASH_ROUNDS:-50}" PBF_FAULT_POINTS="${PBF_FAULT_POINTS:-1000}" \
		PBF_FUZZ_CALLS="${PBF_FUZZ_CALLS:-100000}" PBF_FUZZ_ROUNDS="${PBF_FUZZ_ROUNDS:-100}" PBF_CORRUPT_ROUNDS="${PBF_CORRUPT_ROUNDS:-1000}" \
		PBF_CONCURRENCY_SECONDS="${PBF_CONCURRENCY_SECONDS:-600}" PBF_MOVING_SECONDS="${PBF_MOVING_SECONDS:-300}"
}

QUICK=
ONLY=
ALSO=
while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--long) longer ;;
	--only)
		ONLY=${2:?--only needs a pattern}
		shift
		;;
	--also)
		ALSO=${2:?--also needs a version}
		shift
		;;
	-h | --help)
		sed -n '3,14s/^# \{0,1\}//p' test/check.sh
		exit 0
		;;
	*) die "unknown argument: $1 (see --help)" ;;
	esac
	shift
done

PASSED=0
FAILED=0
COUNT=0
JOBS=$(nproc)
LIMIT=${PBF_LIMIT:-1800} # seconds for one test
NAMES=() # what CHILDREN (see lib.sh) are
LOGS=()

# start NAME COMMAND...: one test, beside others if there are processors for it.
start()
{
	local log
	[[ $1 =~ $ONLY ]] || return 0
	while [ ${#NAMES[@]} -ge "$JOBS" ]; do
		finish
	done
	COUNT=$((COUNT + 1))
	log=$W/log/$(printf '%02d' "$COUNT")-${1//[^A-Za-z0-9.]/_}
	NAMES+=("$1")
	LOGS+=("$log")
	shift
	background timed "$log" "$@"
}

# timed LOG COMMAND...: what runs in the background, as a process group of its own.
timed()
{
	LOG=$1
	SECONDS=0
	shift
	watchdog >>"$LOG" 2>&1 &
	WATCHDOG=$!
	trap 'echo "$SECONDS" >"$LOG.seconds"; kill "$WATCHDOG" 2>/dev/null' EXIT
	"$@" >>"$LOG" 2>&1
}

# A test that hangs is a test that fails.
watchdog()
{
	read -r -t "$LIMIT" <> <(:) || true # sleeps, but without a process that would outlive this one
	echo "no end after $LIMIT s, stopped"
	kill -TERM 0
}

# Waits for the oldest test and reports it. The end of its output is printed only if it fails.
finish()
{
	local name=${NAMES[0]} log=${LOGS[0]} seconds
	reap
	NAMES=("${NAMES[@]:1}")
	LOGS=("${LOGS[@]:1}")
	seconds=$(cat "$log.seconds" 2>/dev/null || echo "$LIMIT")
	if [ "$STATUS" = 0 ]; then
		PASSED=$((PASSED + 1))
		echo "ok       $name ($seconds s)"
	elif [ "$STATUS" = 77 ]; then
		skip "$name" "$(tail -n 1 "$log")"
	else
		FAILED=$((FAILED + 1))
		echo "FAILED   $name (status $STATUS, $seconds s)"
		tail -n 200 "$log" | sed 's/^/         | /'
	fi
}

finish_all()
{
	while [ ${#NAMES[@]} -gt 0 ]; do
		finish
	done
}

# check NAME COMMAND...: one test alone.
check()
{
	finish_all
	start "$@"
	finish_all
}

skip()
{
	echo "skipped  $1: $2"
}

have()
{
	command -v "$1" >/dev/null
}

# --- kinds of tests -------------------------------------------------------------------------------------------------

# build COMPILER: everything with warnings as errors, the bitcode for JIT too if the server uses it. Then installs that,
# and sees whether uninstalling forgets nothing.
build()
{
	copy_tree "$W/$1"
	as_server make -s -k -C "$W/$1" -j "$(nproc)" CC="$1" COPT=-Werror
	as_server make -s -C "$W/$1" install CC="$1" COPT=-Werror DESTDIR="$W/$1-stage"
	as_server make -s -C "$W/$1" uninstall DESTDIR="$W/$1-stage"
	find "$W/$1-stage" ! -type d >"$W/$1-left"
	diff /dev/null "$W/$1-left"
}

# build_staged SRC STAGE [make arguments]: what the tests with a server use.
build_staged()
{
	local src=$1 stage=$2
	shift 2
	[ -d "$src" ] || copy_tree "$src"
	build_tree "$src" "$@"
	install_tree "$src" "$stage"
}

# unit COMPILER TARGET [make arguments]: the core, without a server.
unit()
{
	local compiler=$1 target=$2
	shift 2
	as_server make -s -C "$W/src/test/unit" "$target" CC="$compiler" BUILD="$W/unit-$compiler-$target" "$@"
}

# installcheck NAME SRC STAGE OUTPUT [configuration lines] -- make arguments: on an instance that pg_regress makes.
installcheck()
{
	local name=$1 src=$2 stage=$3 out=$4 rc=0
	shift 4
	stage_settings "$stage" >"$W/$name.conf"
	while [ "$1" != -- ]; do
		echo "$1" >>"$W/$name.conf"
		shift
	done
	shift
	as_server make -s -C "$src" installcheck with_llvm=no TAP_TESTS= \
		EXTRA_REGRESS_OPTS="--temp-instance=$W/instance-$name --temp-config=$W/$name.conf --outputdir=$out" "$@" || rc=$?
	if [ "$rc" != 0 ]; then
		head -n 150 "$out/regression.diffs" || true
		grep -E 'PANIC|FATAL|signal|runtime error|TRAP' "$out/log/postmaster.log" || true
	fi
	rm -rf "${W:?}/instance-$name"
	return "$rc"
}

# regress NAME SRC STAGE [configuration lines]: the pg_regress suite.
regress()
{
	installcheck "$1" "$2" "$3" "$W/out-$1" "${@:4}" -- ISOLATION=
}

# A server that needs a real installation has one, of the ordinary build.
need_staging()
{
	[ "$(staging_kind)" != none ] || { echo "this server cannot use a staged installation"; exit 77; }
}

# The same with an extension that dies of undefined behaviour, and random input.
regress_ubsan()
{
	local file
	need_staging
	build_staged "$W/ubsan" "$W/ubsan-stage" COPT="-fsanitize=undefined -fno-sanitize-recover=undefined"
	regress ubsan "$W/ubsan" "$W/ubsan-stage" || return
	for file in 020_fuzz 021_index_fuzz 027_index_corrupt; do
		tap_in "$W/ubsan" "$W/ubsan-stage" "test/t/$file.pl" || return
	done
}

isolation()
{
	installcheck isolation "$W/src" "$W/stage" "$W/out-isolation" -- REGRESS=
}

# tap FILE: one TAP test, which makes its own servers. One that leaves out everything is skipped.
tap()
{
	local reason
	tap_in "$W/src" "$W/stage" "$1" || return
	reason=$(sed -n 's/.* skipped: //p' "$LOG")
	[ -z "$reason" ] || { echo "$reason"; return 77; }
}

# tap_in SRC STAGE FILE
tap_in()
{
	local rc=0 log
	stage_settings "$2" >"$1/tap.conf"
	as_server env TEMP_CONFIG="$1/tap.conf" make -s -C "$1" installcheck with_llvm=no REGRESS= ISOLATION= PROVE_TESTS="$3" 2>&1 | tee "$1/tap.log" || rc=$?
	log=$1/tmp_check/log/regress_log_$(basename "$3" .pl)
	[ "$rc" = 0 ] || tail -n 100 "$log"
	# A server without --enable-tap-tests runs none and says so.
	[ "$rc" != 0 ] || grep -q '^Result: ' "$1/tap.log" || { echo "no TAP test was run"; return 1; }
	return "$rc"
}

# other_version NAME: the chroot that it takes is made in $W and gone at the end.
other_version()
{
	PBF_CACHE=$W/cache bash "$ROOT/test/matrix.sh" "$1"
}

# A library with faults built in.
faults()
{
	need_staging
	build_faults "$W/faults" "$W/faults-stage"
	tap_in "$W/faults" "$W/faults-stage" "test/faults/*.pl"
}

# script FILE: one of test/checks, in a database of its own that has the extension.
script()
{
	local db
	db=check_$(basename "$1" .sh)
	sql -c "CREATE DATABASE $db"
	sql -d "$db" -c "CREATE EXTENSION pbf"
	as_server mkdir "$W/$db"
	as_server env PGDATABASE="$db" SCRATCH="$W/$db" env -C "$W/src" bash "$1"
}

# Whether this machine can run an instruction set; the server knows.
can_simd()
{
	sql -c "LOAD 'pbf'" -c "SET pbf.simd = '$1'" >/dev/null 2>&1
}

# --- all of them, in order ------------------------------------------------------------------------------------------

formatter=clang-format-14 # the formatter is pinned, see .clang-format
prepare_machine clang libclang-rt-dev libipc-run-perl python3-xxhash
optional=("$formatter" shellcheck)
if [ -z "$QUICK" ] && [ "$(uname -m)" != aarch64 ]; then
	# These cannot be had beside gcc-multilib; see apt() for who wins.
	optional+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
fi
for package in "${optional[@]}"; do
	want_packages "$package"
done
make_workdir
copy_tree "$W/src"
echo "pbf on $("$PG_CONFIG" --version), $(uname -m), as $(id -un)"

if have "$formatter"; then
	start "format" as_server make -s -C "$W/src" format-check CLANG_FORMAT="$formatter"
else
	skip "format" "no $formatter"
fi

for compiler in gcc clang; do
	if have "$compiler"; then
		start "build with $compiler, warnings are errors" build "$compiler"
	else
		skip "build with $compiler" "not installed"
	fi
done

start "unit tests" unit gcc run
if [ -z "$QUICK" ]; then
	start "unit tests, gcc, address sanitizer" unit gcc run-asan
	start "unit tests, gcc, undefined behaviour sanitizer" unit gcc run-ubsan
	if have clang; then
		start "unit tests, clang" unit clang run
		start "unit tests, clang, address sanitizer" unit clang run-asan
		start "unit tests, clang, undefined behaviour sanitizer" unit clang run-ubsan
		start "fuzz of the core" unit clang run-fuzz
	fi
	if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
		start "unit tests, aarch64" unit gcc cross
	elif [ "$(uname -m)" != aarch64 ]; then
		skip "unit tests, aarch64" "no cross compiler and emulator"
	fi
fi

ONLY='' check "staged installation" build_staged "$W/src" "$W/stage"
ONLY='' check "server starts" start_server "$W/stage"
use_server

for file in test/checks/*.sh; do
	start "$(sed -n '2s/^# *//p' "$file")" script "$file"
done

files=("$W"/src/sql/*.sql)
suite="regression suite of ${#files[@]} files"
if [ -n "$QUICK" ]; then
	check "$suite" regress auto "$W/src" "$W/stage"
else
	for simd in scalar avx2 avx512 neon; do
		if can_simd "$simd"; then
			start "$suite, pbf.simd = $simd" regress "$simd" "$W/src" "$W/stage" "pbf.simd = $simd"
		elif [ "$simd" = scalar ]; then
			check "pbf.simd = scalar" can_simd scalar
		else
			skip "$suite, pbf.simd = $simd" "not on this machine"
		fi
	done
	start "$suite, undefined behaviour sanitizer" regress_ubsan
fi

if compgen -G "$W/src/test/isolation/specs/*.spec" >/dev/null; then
	check "isolation tests" isolation
fi
for file in test/t/*.pl; do
	[ -e "$file" ] || continue
	check "$file" tap "$file"
done

if [ -z "$QUICK" ]; then
	check "faults at every record, allocation and read" faults
fi

if [ -n "$ALSO" ]; then
	LIMIT=$((3 * LIMIT)) check "PostgreSQL $ALSO, quick tests" other_version "$ALSO"
fi

finish_all
echo "$PASSED passed, $FAILED failed"
[ "$PASSED" -gt 2 ] || die "no test matches $ONLY" # those two make the server
[ "$FAILED" = 0 ]

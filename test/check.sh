#!/bin/bash
#
# Every test of pbf: bash test/check.sh [--quick]
#
# Sets up what it needs (Debian packages only as root), works in a temporary directory on a server of its own, and
# leaves nothing behind. The last line is "N passed, N failed"; the exit status says the same.
#
#   --quick   leave out the sanitizers, the other architecture and the repetitions under each instruction set
#
# Environment: PG_CONFIG, TMPDIR, KEEP (see lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh

QUICK=
for arg; do
	case $arg in
	--quick) QUICK=1 ;;
	-h | --help)
		sed -n '3,11s/^# \{0,1\}//p' test/check.sh
		exit 0
		;;
	*) die "unknown argument: $arg (see --help)" ;;
	esac
done

PASSED=0
FAILED=0

# check NAME COMMAND...: one test. The end of its output is printed only if it fails.
check()
{
	local name=$1 log start=$SECONDS
	shift
	log=$W/log/$(printf '%02d' $((PASSED + FAILED + 1)))-${name//[^A-Za-z0-9.]/_}
	run "$@" >"$log" 2>&1
	if [ "$STATUS" = 0 ]; then
		PASSED=$((PASSED + 1))
		echo "ok       $name ($((SECONDS - start)) s)"
	else
		FAILED=$((FAILED + 1))
		echo "FAILED   $name (status $STATUS, $((SECONDS - start)) s)"
		tail -n 200 "$log" | sed 's/^/         | /'
	fi
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
	find "$W/$1-stage" ! -type d | { ! grep .; }
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
		EXTRA_REGRESS_OPTS="--temp-instance=$W/instance --temp-config=$W/$name.conf --outputdir=$out" "$@" || rc=$?
	if [ "$rc" != 0 ]; then
		head -n 150 "$out/regression.diffs" || true
		grep -E 'PANIC|FATAL|signal|runtime error|TRAP' "$out/log/postmaster.log" || true
	fi
	rm -rf "$W/instance"
	return "$rc"
}

# regress NAME SRC STAGE [configuration lines]: the pg_regress suite.
regress()
{
	installcheck "$1" "$2" "$3" "$W/out-$1" "${@:4}" -- ISOLATION=
}

isolation()
{
	installcheck isolation "$W/src" "$W/stage" "$W/out-isolation" -- REGRESS=
}

# tap FILE: one TAP test, which makes its own servers.
tap()
{
	stage_settings "$W/stage" >"$W/tap.conf"
	as_server env TEMP_CONFIG="$W/tap.conf" make -s -C "$W/src" installcheck with_llvm=no REGRESS= ISOLATION= \
		PROVE_TESTS="$1"
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
prepare_machine clang libclang-rt-dev libipc-run-perl
optional=("$formatter" shellcheck)
if [ -z "$QUICK" ] && [ "$(uname -m)" != aarch64 ]; then
	optional+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
fi
for package in "${optional[@]}"; do
	want_packages "$package"
done
make_workdir
copy_tree "$W/src"
echo "pbf on $("$PG_CONFIG" --version), $(uname -m), as $(id -un)"

if have "$formatter"; then
	check "format" as_server make -s -C "$W/src" format-check CLANG_FORMAT="$formatter"
else
	skip "format" "no $formatter"
fi

for compiler in gcc clang; do
	if have "$compiler"; then
		check "build with $compiler, warnings are errors" build "$compiler"
	else
		skip "build with $compiler" "not installed"
	fi
done

check "unit tests" unit gcc run
if [ -z "$QUICK" ]; then
	check "unit tests, gcc, address sanitizer" unit gcc run-asan
	check "unit tests, gcc, undefined behaviour sanitizer" unit gcc run-ubsan
	if have clang; then
		check "unit tests, clang" unit clang run
		check "unit tests, clang, address sanitizer" unit clang run-asan
		check "unit tests, clang, undefined behaviour sanitizer" unit clang run-ubsan
	fi
	if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
		check "unit tests, aarch64" unit gcc cross
	elif [ "$(uname -m)" != aarch64 ]; then
		skip "unit tests, aarch64" "no cross compiler and emulator"
	fi
fi

check "staged installation" build_staged "$W/src" "$W/stage"
check "server starts" start_server "$W/stage"
use_server

for file in test/checks/*.sh; do
	check "$(sed -n '2s/^# *//p' "$file")" script "$file"
done

files=("$W"/src/sql/*.sql)
suite="regression suite of ${#files[@]} files"
if [ -n "$QUICK" ]; then
	check "$suite" regress auto "$W/src" "$W/stage"
else
	for simd in scalar avx2 avx512 neon; do
		if can_simd "$simd"; then
			check "$suite, pbf.simd = $simd" regress "$simd" "$W/src" "$W/stage" "pbf.simd = $simd"
		elif [ "$simd" = scalar ]; then
			check "pbf.simd = scalar" can_simd scalar
		else
			skip "$suite, pbf.simd = $simd" "not on this machine"
		fi
	done
	parallel=force_parallel_mode
	[ "$PG_MAJOR" -lt 16 ] || parallel=debug_parallel_query
	check "$suite, forced parallel plans" regress parallel "$W/src" "$W/stage" "$parallel = regress"
	check "build with gcc, undefined behaviour sanitizer" build_staged "$W/ubsan" "$W/ubsan-stage" \
		COPT="-fsanitize=undefined -fno-sanitize-recover=undefined"
	check "$suite, undefined behaviour sanitizer" regress ubsan "$W/ubsan" "$W/ubsan-stage"
fi

if compgen -G "$W/src/test/isolation/specs/*.spec" >/dev/null; then
	check "isolation tests" isolation
fi
for file in test/t/*.pl; do
	[ -e "$file" ] || continue
	check "$file" tap "$file"
done

echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ]

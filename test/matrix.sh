#!/bin/bash
#
# The tests on other versions of PostgreSQL: bash test/matrix.sh [--long] [--faults] [NAME...]
#
# NAME: 15, 17, 18, 19, 15-i386 (a 32-bit server). Default: 15, 17 and 18; with --long all of them. For each: builds without
# warnings, regression, isolation and TAP tests, that is check.sh --quick; on 18 also pg_upgrade from 15. --faults: those of
# check.sh, too, which take some 10 minutes.
#
# A version that is installed here is tested here. For the others chroots are made of Debian packages (as root, 2 minutes and
# 1.5 GB each); they stay in $PBF_CACHE. The exit status is 77 if one of the versions could not be had.
#
# Environment: PBF_CACHE (default ~/.cache/pbf), TMPDIR, KEEP (see lib.sh), and what the tests look at: PBF_... (see README.md)

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh
# shellcheck source=test/versions.sh
. test/versions.sh

NAMES=()
LONG=
FAULTS=
for arg; do
	case $arg in
	--long) LONG=1 ;;
	--faults) FAULTS=1 ;;
	-h | --help)
		sed -n '3,14s/^# \{0,1\}//p' test/matrix.sh
		exit 0
		;;
	15 | 17 | 18 | 19 | 15-i386) NAMES+=("$arg") ;;
	*) die "unknown version: $arg (see --help)" ;;
	esac
done
if [ ${#NAMES[@]} = 0 ]; then
	NAMES=(15 17 18)
	[ -z "$LONG" ] || NAMES+=(19 15-i386)
fi

OK=()
BAD=()
SKIPPED=()

# here NAME: whether the version is installed on this machine.
here()
{
	[ -x "/usr/lib/postgresql/$1/bin/postgres" ] && [ -f "/usr/lib/postgresql/$1/lib/pgxs/src/makefiles/pgxs.mk" ]
}

# What is run in a version's chroot, or here.
commands()
{
	local check="PG_CONFIG=/usr/lib/postgresql/${1%-*}/bin/pg_config bash test/check.sh"
	echo "$check --quick"
	[ -z "$FAULTS" ] || echo "$check --only ^faults"
	# The chroot of 18 has both.
	if [ "$1" = 18 ] && { here 15 || ! here 18; }; then
		echo "bash test/upgrade.sh 15 18"
	fi
}

in_this_machine()
{
	(set -e; cd "$W/src"; bash -ec "$(commands "$1")")
}

test_version()
{
	echo "== PostgreSQL $1"
	if here "$1"; then
		run in_this_machine "$1"
	elif [ "$(id -u)" = 0 ]; then
		make_chroot "$1" || { SKIPPED+=("$1: no chroot"); return 0; }
		run in_chroot "$1" "$W/src" "$(commands "$1")"
	else
		SKIPPED+=("$1: not installed, and a chroot takes root")
		return 0
	fi
	if [ "$STATUS" = 0 ]; then OK+=("$1"); else BAD+=("$1"); fi
}

use_cache
make_workdir
copy_tree "$W/src"
for name in "${NAMES[@]}"; do
	test_version "$name"
done
echo "versions: ${#OK[@]} passed (${OK[*]}), ${#BAD[@]} failed (${BAD[*]}), ${#SKIPPED[@]} skipped (${SKIPPED[*]})"
[ ${#BAD[@]} = 0 ] || exit 1
[ ${#SKIPPED[@]} = 0 ] || exit 77

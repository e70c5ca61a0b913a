#!/bin/bash
#
# A tour of pbf over real word lists: bash test/demo.sh
#
# Builds the extension in a temporary directory, starts a server there, loads the word lists that Debian packages ship
# and runs test/demo.sql. Needs no root: a word list that is not installed is unpacked into the temporary directory.
# Leaves nothing behind. Fails if a filter ever forgets an element or errs more often than it promised, and if the index
# ever gives another answer than the sequential scan.
#
# Environment: PG_CONFIG, TMPDIR, KEEP (see lib.sh).

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=test/lib.sh
. test/lib.sh

# list NAME PACKAGE FILE: the words of a list, each once, as $W/words/NAME.
list()
{
	local file=/usr/share/dict/$3
	if [ ! -r "$file" ] && unpack "$2"; then
		file=$W/unpacked$file
	elif [ ! -r "$file" ]; then
		need_packages "$2"
	fi
	[ -r "$file" ] || die "package $2 has no $file"
	grep -v '^$' "$file" | LC_ALL=C sort -u >"$W/words/$1"
	printf '  %-10s %7d words of %s (package %s)\n' "$1" "$(wc -l <"$W/words/$1")" "/usr/share/dict/$3" "$2"
}

# unpack PACKAGE: gets a package and unpacks it without installing it.
unpack()
{
	is_debian || return 1
	if ! download "$1" && may_install; then
		apt_update
		download "$1"
	fi
	dpkg-deb -x "$W/unpacked/$1"_*.deb "$W/unpacked" 2>/dev/null
}

download()
{
	mkdir -p "$W/unpacked"
	(cd "$W/unpacked" && apt-get -qq download "$1" >/dev/null 2>&1)
}

prepare_machine # no more than for any build
make_workdir
mkdir "$W/words"
echo "pbf on $("$PG_CONFIG" --version), $(uname -m), over the word lists"
list american wamerican-insane american-english-insane
list british wbritish-insane british-english-insane
list french wfrench french
list german wngerman ngerman
list passwords cracklib-runtime cracklib-small

# step COMMAND...: what is not worth seeing unless it fails.
step()
{
	run "$@" >"$W/log/step" 2>&1
	[ "$STATUS" = 0 ] || { cat "$W/log/step" >&2; die "failed: $*"; }
}

copy_tree "$W/src"
step build_tree "$W/src"
step install_tree "$W/src" "$W/stage"
step start_server "$W/stage" "shared_buffers = 256MB" "maintenance_work_mem = 256MB"
use_server

run sql -v words="$W/words" -f "$W/src/test/demo.sql"
[ "$STATUS" = 0 ] || die "something is wrong, see above"

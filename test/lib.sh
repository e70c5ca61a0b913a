# Shared by all scripts: packages, a private copy of the tree, a throwaway server.
# shellcheck shell=bash disable=SC2034,SC2119,SC2120
#
# Sourced, not run. What it promises: everything happens in one temporary directory ($W) and on a server whose socket
# is in there; both are gone at the end, also after an error or an interrupt. Nothing is installed into the server's
# own directories: it is told to look for the extension in a staged installation below $W.
#
# From the environment:
#   PG_CONFIG      which PostgreSQL (default: the newest one that is installed with its development files)
#   TMPDIR         where the temporary directory goes
#   KEEP=1         leave the temporary directory behind, for a look at the logs
#   PBF_SETTINGS   configuration lines for every server of every test

umask 022
export LC_ALL=C.UTF-8
unset MAKEFLAGS MFLAGS MAKELEVEL COPT PROFILE DESTDIR CDPATH PROVE_FLAGS
for name in $(compgen -e PG); do
	[ "$name" = PG_CONFIG ] || unset "$name"
done

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SERVER_USER=$(id -un)
if [ "$(id -u)" = 0 ]; then
	SERVER_USER=postgres # initdb and postgres refuse root
fi
W=            # the temporary directory
STATUS=0      # what run() ran ended with
CHILDREN=()   # process groups of what runs at the moment, oldest first

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# --- packages -------------------------------------------------------------------------------------------------------

is_debian()
{
	command -v dpkg-query >/dev/null && command -v apt-get >/dev/null
}

# Which of the packages named are not installed.
missing_packages()
{
	local p
	for p; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

# Runs apt-get as root, quietly; its output appears only if it fails. Never at the cost of another package.
apt()
{
	local log sudo=()
	[ "$(id -u)" = 0 ] || sudo=(sudo -n)
	log=$(mktemp)
	if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 \
		apt-get -qq -y --no-remove -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null; then
		cat "$log" >&2
		rm -f "$log"
		return 1
	fi
	rm -f "$log"
}

may_install()
{
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

FORBIDDEN= # the file that says so, if it was not there before
# Debian creates and starts a cluster when a server is installed; ours is a throwaway one, so ask it not to.
forbid_main_cluster()
{
	local conf=/etc/postgresql-common/createcluster.conf
	[ ! -e "$conf" ] || return 0
	[ "$(id -u)" = 0 ] || return 0
	mkdir -p "$(dirname "$conf")"
	echo 'create_main_cluster = false' >"$conf"
	FORBIDDEN=$conf
}

# Of the server that somebody installs later that must not be true.
allow_main_cluster()
{
	[ -z "$FORBIDDEN" ] || rm -f "$FORBIDDEN"
	FORBIDDEN=
}

APT_UPDATED=
apt_update()
{
	[ -z "$APT_UPDATED" ] || return 0
	apt update || return 1
	APT_UPDATED=1
}

# Makes sure of the packages named: installs what is missing, or says what is missing and gives up.
need_packages()
{
	local missing
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	may_install || die "packages are missing and only root can install them:
    apt-get install $missing"
	echo "installing: $missing"
	case $missing in *postgresql-*) forbid_main_cluster ;; esac
	# shellcheck disable=SC2086 # a list of words
	{ apt_update && apt install --no-install-recommends $missing; } || { allow_main_cluster; die "cannot install: $missing"; }
	allow_main_cluster
}

# The same for packages that are only good to have: without them a test is skipped.
want_packages()
{
	local missing
	is_debian || return 0
	missing=$(missing_packages "$@" | tr '\n' ' ')
	if [ -z "$missing" ] || ! may_install; then
		return 0
	fi
	echo "installing: $missing"
	# shellcheck disable=SC2086
	{ apt_update && apt install --no-install-recommends $missing; } || echo "not available, going on without: $missing"
}

# The major version that the distribution means by "postgresql".
default_major()
{
	local major
	major=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
	if [ -z "$major" ] && may_install; then
		apt_update || true
		major=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
	fi
	echo "${major:-15}"
}

# Sets PG_CONFIG if the caller did not.
choose_server()
{
	local dir
	[ -z "${PG_CONFIG:-}" ] || return 0
	for dir in $(printf '%s\n' /usr/lib/postgresql/*/ | sort -V); do
		if [ -x "${dir}bin/postgres" ] && [ -f "${dir}lib/pgxs/src/makefiles/pgxs.mk" ]; then
			PG_CONFIG=${dir}bin/pg_config
		fi
	done
	if [ -z "${PG_CONFIG:-}" ]; then
		if is_debian; then
			PG_CONFIG=/usr/lib/postgresql/$(default_major)/bin/pg_config
		else
			PG_CONFIG=$(command -v pg_config) || die "no pg_config: install PostgreSQL with its development files or set PG_CONFIG"
		fi
	fi
}

# Packages that any build and any server needs, then those named; sets BINDIR and so on.
prepare_machine()
{
	local packages=(gcc make perl libxxhash-dev) cmd
	choose_server
	if is_debian; then
		if [[ $PG_CONFIG =~ ^/usr/lib/postgresql/([0-9]+)/ ]]; then
			packages+=("postgresql-${BASH_REMATCH[1]}" "postgresql-server-dev-${BASH_REMATCH[1]}")
		fi
		need_packages "${packages[@]}" "$@"
	fi
	for cmd in make perl "$PG_CONFIG"; do
		command -v "$cmd" >/dev/null || die "not found: $cmd"
	done
	BINDIR=$("$PG_CONFIG" --bindir)
	SHAREDIR=$("$PG_CONFIG" --sharedir)
	PKGLIBDIR=$("$PG_CONFIG" --pkglibdir)
	PG_MAJOR=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	[ -x "$BINDIR/postgres" ] || die "no server in $BINDIR"
	[ "$PG_MAJOR" -ge 15 ] || die "pbf needs PostgreSQL 15 or newer, this is $("$PG_CONFIG" --version)"
	id "$SERVER_USER" >/dev/null 2>&1 || die "a server cannot run as root and there is no user $SERVER_USER"
	export PG_CONFIG
}

# --- the temporary directory and what runs in it --------------------------------------------------------------------

# Ends every postmaster whose data directory is below $W, whoever started it (pg_regress, a TAP test, start_server).
stop_servers()
{
	local file pid tries
	while IFS= read -r file; do
		pid=$(head -n 1 "$file" 2>/dev/null) || continue
		[[ $pid =~ ^[0-9]+$ ]] || continue
		# Without /proc the file has to do.
		! [ -e /proc/self/cwd ] || [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$W"/* ]] || continue
		kill -QUIT "$pid" 2>/dev/null || continue
		for ((tries = 0; tries < 100; tries++)); do
			kill -0 "$pid" 2>/dev/null || break
			[ -e "$file" ] || break
			sleep 0.1
		done
	done < <(find "$W" -name postmaster.pid 2>/dev/null)
}

cleanup()
{
	local rc=$? child
	trap - EXIT
	trap '' INT TERM HUP
	set +e
	for child in "${CHILDREN[@]}"; do
		kill -TERM -- "-$child" 2>/dev/null
	done
	[ ${#CHILDREN[@]} = 0 ] || sleep 0.3
	if [ -n "$W" ]; then
		stop_servers
		[ ! -e "$W/installed" ] || make -s -C "$(<"$W/installed")" uninstall >/dev/null 2>&1
		if [ -n "${KEEP:-}" ]; then
			echo "kept: $W" >&2
		else
			for child in "${CHILDREN[@]}"; do
				kill -KILL -- "-$child" 2>/dev/null
			done
			rm -rf "$W" || { sleep 1; rm -rf "$W"; }
		fi
	fi
	exit "$rc"
}

# Creates $W, owned by the server's user and readable for all.
make_workdir()
{
	local base=${TMPDIR:-/tmp}
	# A socket's path has about 100 characters at most, and make cannot live with blanks.
	if [ ${#base} -gt 50 ] || [[ $base =~ [^A-Za-z0-9/._-] ]]; then
		base=/tmp
	fi
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	W=$(mktemp -d "$base/pbf.XXXXXXXX")
	W=$(cd "$W" && pwd -P)
	chmod 755 "$W"
	export TMPDIR=$W/tmp # for what others leave behind
	mkdir "$W/log" "$W/tmp"
	chown "$SERVER_USER" "$W" "$W/log" "$W/tmp"
}

# Starts a command or function in a process group of its own, so that an interrupt ends it with all its children.
background()
{
	set -m
	"$@" </dev/null &
	CHILDREN+=($!)
	set +m
}

# Waits for the oldest of them. Its exit status is left in $STATUS, not returned: bash forgets "set -e" within anything
# whose status is looked at.
reap()
{
	STATUS=0
	wait "${CHILDREN[0]}" || STATUS=$?
	CHILDREN=("${CHILDREN[@]:1}")
}

run()
{
	background "$@"
	reap
}

# Runs a command as the server's user, from $W.
as_server()
{
	local prefix=()
	[ "$(id -un)" = "$SERVER_USER" ] || prefix=(setpriv --reuid "$SERVER_USER" --regid "$(id -g "$SERVER_USER")" --init-groups)
	(cd "$W" && exec "${prefix[@]}" env HOME="$W" "$@")
}

# copy_tree DIR: the working tree without what git or a build put there.
copy_tree()
{
	mkdir "$1"
	tar -C "$ROOT" --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude=./results \
		--exclude=./output_iso --exclude='./tmp_check*' --exclude='./test/unit/build*' --exclude='./regression.*' \
		--exclude=./log -cf - . | tar -C "$1" --no-same-owner -xf -
	chown -R "$SERVER_USER" "$1"
}

# How a server finds a staged installation: Debian's patch up to 17, PostgreSQL's own setting from 18 on.
staging_kind()
{
	if grep -q extension_destdir "$SHAREDIR/postgresql.conf.sample"; then
		echo destdir
	elif grep -q extension_control_path "$SHAREDIR/postgresql.conf.sample"; then
		echo control_path
	else
		echo none
	fi
}

# stage_settings STAGE: configuration lines for a server that is to use that staged installation.
stage_settings()
{
	[ -z "${PBF_SETTINGS:-}" ] || echo "$PBF_SETTINGS"
	case $(staging_kind) in
	destdir) echo "extension_destdir = '$1'" ;;
	control_path) echo "extension_control_path = '$1$SHAREDIR:\$system'" ;;
	none) return 0 ;;
	esac
	echo "dynamic_library_path = '$1$PKGLIBDIR:\$libdir'"
}

# install_tree SRC STAGE: installs what was built in SRC, staged if the server can use that.
install_tree()
{
	if [ "$(staging_kind)" != none ]; then
		as_server make -s -C "$1" install DESTDIR="$2" with_llvm=no
		return
	fi
	if [ ! -w "$SHAREDIR/extension" ] || [ ! -w "$PKGLIBDIR" ]; then
		die "this server needs a real installation, but $SHAREDIR/extension and $PKGLIBDIR are not writable"
	fi
	[ ! -e "$SHAREDIR/extension/pbf.control" ] ||
		die "this server needs a real installation, and there is one already: uninstall that first"
	echo "$1" >"$W/installed"
	make -s -C "$1" install with_llvm=no
}

# build_tree SRC [make arguments]: without the bitcode for JIT, which takes as long as the rest.
build_tree()
{
	local src=$1
	shift
	as_server make -s -C "$src" -j "$(nproc)" with_llvm=no "$@"
}

# start_server STAGE [configuration lines]: a server of our own, with its socket in $W.
start_server()
{
	local conf="$W/data/postgresql.conf" stage=$1
	shift
	as_server "$BINDIR/initdb" -D "$W/data" -U postgres -A trust --encoding=UTF8 --locale=C --no-sync \
		>"$W/log/initdb" 2>&1 || { cat "$W/log/initdb" >&2; return 1; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$W'"
		echo "fsync = off"
		echo "autovacuum_naptime = 1h"
		echo "max_wal_size = 4GB"
		stage_settings "$stage"
		[ $# = 0 ] || printf '%s\n' "$@"
	} >>"$conf"
	as_server "$BINDIR/pg_ctl" -D "$W/data" -l "$W/log/server" -w start >"$W/log/start" 2>&1 ||
		{ cat "$W/log/start" "$W/log/server" >&2; return 1; }
}

# Lets psql and the like find that server.
use_server()
{
	export PGHOST=$W PGUSER=postgres PGDATABASE=postgres PATH="$BINDIR:$PATH"
}

# psql against the throwaway server, stopping at the first error.
sql()
{
	as_server psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# build_faults SRC STAGE: a tree like any other, whose library has test/faults/points.c in front of the server's functions.
build_faults()
{
	local wrap="XLogInsert log_newpage_buffer GenericXLogFinish UnlockReleaseBuffer palloc palloc0 palloc_extended repalloc repalloc_huge \
		MemoryContextAlloc MemoryContextAllocHuge MemoryContextAllocZero MemoryContextAllocExtended AllocSetContextCreateInternal \
		ReadBuffer ReadBufferExtended read_stream_next_buffer" name link=test/faults/points.o
	for name in $wrap; do
		link+=" -Wl,--wrap=$name"
	done
	[ -d "$1" ] || copy_tree "$1"
	as_server make -s -C "$1" with_llvm=no test/faults/points.o
	build_tree "$1" SHLIB_LINK="$link"
	install_tree "$1" "$2"
}

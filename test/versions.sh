# Shared by asserts.sh and matrix.sh: other versions of PostgreSQL, from Debian.
# shellcheck shell=bash disable=SC2034
#
# Sourced after lib.sh, not run. What takes minutes to make, chroots and servers built from source, stays in $PBF_CACHE.

# The Debian release that has a major version; none has 14 or 16.
release_of()
{
	case $1 in
	15) echo bookworm ;;
	17) echo trixie ;;
	18) echo forky ;;
	19) echo experimental ;;
	*) die "no Debian release has PostgreSQL $1" ;;
	esac
}

# Sets CACHE, readable for the server's user.
use_cache()
{
	CACHE=${PBF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pbf}
	mkdir -p "$CACHE"
	CACHE=$(cd "$CACHE" && pwd)
	W=/ as_server test -x "$CACHE" -a -r "$CACHE" || die "$SERVER_USER cannot read $CACHE: set PBF_CACHE to another directory"
}

# The mirror that the machine's own sources name.
mirror()
{
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | sort -u | head -n 1)
	uri=${uri%/} # apt prints it with one
	echo "${uri:-http://deb.debian.org/debian}"
}

# own_apt DIR RELEASE: DIR/apt.conf, for sources of that release, apart from the machine's own.
own_apt()
{
	mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $2 main" >"$1/sources.list"
	cat >"$1/apt.conf" <<-CONF
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State "$1/state";
		Dir::Cache "$1/cache";
		APT::Sandbox::User "root";
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
	CONF
	apt-get -c "$1/apt.conf" -qq update
}

# --- chroots --------------------------------------------------------------------------------------------------------

# make_chroot NAME: a Debian with that server and what the tests need, as $CACHE/NAME (2 minutes, 1.5 GB). Names: 15, 17, 18, 19,
# 15-i386. That of 18 has 15, too, from an older release, for pg_upgrade.
make_chroot()
{
	local name=$1 root=$CACHE/$1 major=${1%-*} release mirror options=() sources=()
	local packages=(gcc make perl libxxhash-dev libipc-run-perl clang libclang-rt-dev)
	[ ! -e "$root/complete" ] || return 0
	need_packages mmdebstrap arch-test
	echo "making a chroot with PostgreSQL $name"
	release=$(release_of "$major")
	mirror=$(mirror)
	packages+=("postgresql-$major" "postgresql-server-dev-$major")
	sources=("deb $mirror $release main")
	case $name in
	15) sources+=("deb $mirror-security bookworm-security main") ;;
	15-i386) options+=(--architectures=i386) ;;
	18)
		sources+=("deb $mirror bookworm main")
		packages+=(postgresql-15 postgresql-server-dev-15)
		;;
	19)
		release=sid
		sources=("deb $mirror sid main" "deb $mirror experimental main")
		options+=('--aptopt=APT::Default-Release "sid"')
		packages=("${packages[@]/%-19/-19/experimental}" libpq-dev/experimental)
		;;
	esac
	rm -rf "$root"
	mmdebstrap --quiet --variant=apt --mode=root --components=main --include="$(IFS=,; echo "${packages[*]}")" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
		--essential-hook='mkdir -p "$1/etc/postgresql-common"; echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"' \
		"${options[@]}" "$release" "$root" "${sources[@]}" >"$root.log" 2>&1 || { tail -n 30 "$root.log" >&2; return 1; }
	cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
	touch "$root/complete"
}

# in_chroot NAME SRC COMMAND: runs it as root in SRC. What it started ends with it.
in_chroot()
{
	local root=$CACHE/$1
	mkdir -p "$root/src"
	# What the tests look at goes with it.
	# shellcheck disable=SC2016 # expanded inside
	R=$root SRC=$2 CMD="$(for name in $(compgen -e PBF_); do [ "$name" = PBF_CACHE ] || printf 'export %s=%q; ' "$name" "${!name}"; done)$3" unshare --mount --pid --fork --kill-child --propagation private bash -ec '
		mount -t proc proc "$R/proc"
		mkdir -p "$R/dev/shm"
		mount -t tmpfs tmpfs "$R/dev/shm"
		mount --bind "$SRC" "$R/src"
		exec chroot "$R" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -ec "cd /src; $CMD"'
	rm -rf "$root"/tmp/pbf.*
}

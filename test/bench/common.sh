# Shared by the benchmarks: what they say, and what they run on. Sourced after test/lib.sh, not run.
# shellcheck shell=bash

say()
{
	echo "$(date +%T) $*" >&2
}

# step COMMAND...: its output is worth seeing only if it fails.
step()
{
	say "$*"
	run "$@" >"$W/log/step" 2>&1
	[ "$STATUS" = 0 ] || { cat "$W/log/step" >&2; die "failed: $*"; }
}

memory_mb()
{
	awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo
}

min()
{
	echo $(($1 < $2 ? $1 : $2))
}

cpu()
{
	lscpu | awk -F': *' -v key="$1" '$1 ~ "^ *" key "$" { print $2; exit }'
}

load()
{
	cut -d ' ' -f 1-3 /proc/loadavg
}

commit()
{
	git -c safe.directory='*' describe --always --dirty 2>/dev/null || echo unknown
}

show()
{
	sql -At -c "LOAD 'pbf'" -c "SHOW $1"
}

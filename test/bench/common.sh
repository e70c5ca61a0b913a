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
	lscpu | awk -F': *' -v key="$1" '$1 ~ "^ *" key "$" && !told { print $2; told = 1 } END { if (!told) print "unknown" }'
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

# facts: rows of a table in two columns: what was measured, when and where. LOAD: the load, if it was taken earlier.
facts()
{
	cat <<-END
		| | |
		| --- | --- |
		| date | $(date -u '+%Y-%m-%d %H:%M') UTC |
		| pbf | $(sed -n "s/^default_version *= *'\(.*\)'/\1/p" pbf.control), commit $(commit) |
		| PostgreSQL | $(show server_version) |
		| machine | $(cpu 'Model name'), family $(cpu 'CPU family') model $(cpu Model), $(nproc) cores, $(cpu Hypervisor.vendor) |
		| caches | L1d $(cpu 'L1d cache'), L2 $(cpu 'L2 cache'), L3 $(cpu 'L3 cache') |
		| memory | $(($(memory_mb) / 1024)) GB |
		| load at the start | ${LOAD:-$(load)} |
	END
}

# quiet_settings: what would run beside a measurement is off.
quiet_settings()
{
	cat <<-END
		max_parallel_workers_per_gather = 0
		jit = off
		autovacuum = off
		synchronize_seqscans = off
		checkpoint_timeout = 1h
	END
}

# in_turn RUN NAME...: forward and backward in turn, so that a drift hits all alike.
in_turn()
{
	local run=$1
	shift
	if [ $((run % 2)) = 0 ]; then
		printf '%s\n' "$@"
	else
		printf '%s\n' "$@" | tac
	fi
}

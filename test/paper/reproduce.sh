#!/bin/bash
#
# The work of run.sh, in a database that has the extension: reproduce.sh SCALE KEYS OUT
#
# Computes, measures, compares, and writes to the directory OUT: a file NAME.md for each table of doc/paper.md, NAME.svg
# for each plot, and NAME.fixed, the lines of the table without what was measured. Fails if anything is wrong, see the
# view of that name in tables.sql. psql finds the server by PGHOST and so on.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
SCALE=$1 KEYS=$2 OUT=$3

# NAME COLUMNS: the tables, and how many of their columns do not depend on measuring.
TABLES="rates 8 occupations 6 elements 6 collisions 5 tail 4 double_rates 2 double_issue1 1 double_issues 1 overlap 7
	intersection 3 reduction 4 compared 2"

sql()
{
	psql -X -q -v ON_ERROR_STOP=1 "$@"
}

# build NAME: a program of this directory, with the filter core.
build()
{
	"${CC:-cc}" -O2 -std=c11 -Wall -Wextra -Werror -Isrc/core "test/paper/$1.c" src/core/*.c -lm -o "$OUT/$1"
}

compute_exactly()
{
	python3 test/paper/exact.py >"$OUT/exact.tsv"
	sql -c "\\copy exact FROM '$OUT/exact.tsv'"
}

EXPERIMENTS="rates elements double_hashing overlaps reductions"

# measure EXPERIMENT BATCH
measure()
{
	"$OUT/experiment" "$1" "$SCALE" "$2" | sed "s/^/$1\t/" >"$OUT/batch.tsv"
	sql -c "\\copy batch FROM '$OUT/batch.tsv'"
}

# Among 200 measurements one that is beyond 3 standard errors by chance is to be expected in every second run. If an
# experiment has one, it goes on with other keys, three times as long, and all is counted together.
measure_longer()
{
	local experiment batch
	for experiment in $(sql -At -c "SELECT DISTINCT program FROM deviation WHERE abs(sigmas) > 3 AND program <> 'compare'"); do
		for batch in 1 2 3; do
			measure "$experiment" "$batch"
		done
	done
}

compare()
{
	local rate
	for rate in 0.01 0.0001; do
		"$OUT/compare" "$KEYS" "$rate" | sed "s/^/$rate\t/"
	done >"$OUT/compared.tsv"
	sql -c "\\copy compared (target, variant, k, bits, build, absent, present, expected, rate, sigma, weak, weak_rate, half) FROM '$OUT/compared.tsv'"
}

# table NAME COLUMNS: a view as Markdown, right-aligned; and its first columns.
table()
{
	sql -A -F ' | ' -P footer=off -c "TABLE doc_$1" | awk '
		{ print "| " $0 " |" }
		NR == 1 { for (i = split($0, column, " [|] "); i > 0; i--) rule = rule "| ---: "; print rule "|" }' >"$OUT/$1.md"
	awk -F ' [|] ' -v n="$2" 'NR != 2 { line = $1; for (i = 2; i <= n; i++) line = line " | " $i; print line }' \
		"$OUT/$1.md" >"$OUT/$1.fixed"
}

tables()
{
	# shellcheck disable=SC2086 # a list of words
	set -- $TABLES
	while [ $# -gt 0 ]; do
		table "$1" "$2"
		shift 2
	done
}

# What the plots draw, by the names of their files.
plot_data()
{
	sql -At -F ' ' >"$OUT/ratio.dat" <<'SQL'
SELECT m, pbf_fpr_partitioned(n, m, k) / pbf_fpr_standard(n, m, k), k
FROM (VALUES (2), (4), (8), (16)) p (k), generate_series(60, 120) i, LATERAL (SELECT round(2 ^ (i / 10.0) / k)::int * k) s (m),
	occupied(m, k, 1) n
WHERE n >= 4 ORDER BY k, m;
SQL
	sql -At -F ' ' >"$OUT/tail.dat" <<'SQL'
SELECT ratio, share, m, k, c FROM tail WHERE share >= 1e-7 ORDER BY m, k, c;
SQL
	sql -At -F ' ' >"$OUT/tail_measured.dat" <<'SQL'
SELECT e.value / pbf_fpr_standard(e.n, e.m, e.k), (SELECT 1 - coalesce(sum(value), 0) FROM measured c
		WHERE c.experiment = 'collisions' AND (c.m, c.k) = (e.m, e.k) AND c.argument < e.argument), e.m, e.k
FROM measured e WHERE experiment = 'element' AND what = '1/1' AND e.m IN (64, 512) ORDER BY e.m, e.k, argument;
SQL
	sql -At -F ' ' >"$OUT/reduction.dat" <<'SQL'
SELECT 1.0 / (1 << halvings), max(value) FILTER (WHERE what = '0 folds'), min(value) FILTER (WHERE what <> 'modulo'),
	max(value) FILTER (WHERE what = 'modulo'), n FROM reduced GROUP BY n, halvings ORDER BY n DESC, halvings;
SQL
}

plots()
{
	plot_data
	if ! command -v gnuplot >/dev/null; then
		echo "no gnuplot: no plots" >&2
		return 0
	fi
	gnuplot -e "out='$OUT'" test/paper/plots.gp
}

mkdir -p "$OUT"
build experiment
build compare
sql -f test/paper/figures.sql -f test/paper/tables.sql
compute_exactly
for experiment in $EXPERIMENTS; do
	measure "$experiment" 0
done
compare
measure_longer
tables
plots
wrong=$(sql -At -c "TABLE wrong")
[ -z "$wrong" ] || { printf 'wrong:\n%s\n' "$wrong" >&2; exit 1; }
sql -At -c "SELECT format('%s measurements agree with their formulas: %s beyond 2 sigma, the farthest at %s sigma', count(*),
	count(*) FILTER (WHERE abs(sigmas) > 2), max(abs(sigmas))::numeric(9, 2)) FROM deviation"

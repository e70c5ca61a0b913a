#!/bin/bash
# functions of the type and options are immutable and parallel safe, those of the index volatile; all are named pbf or pbfidx
set -euo pipefail

# Selectivity functions look at statistics: of the type's functions those alone may be stable. What looks at an index or
# at a table changes with it; a worker may do so as long as it only reads, but sees no temporary tables: restricted.
wrong=$(psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
WITH f AS (
    SELECT p.*, proname ~ '^pbfidx_' AND proname !~ '_options$' AS of_index,
           'internal'::regtype = ANY (p.proargtypes) AND p.prorettype = 'float8'::regtype AS selectivity
    FROM pg_proc p
    JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'pbf'
), complaint AS (
    SELECT oid,
           CASE WHEN NOT of_index AND (provolatile = 'v' OR (provolatile = 's' AND NOT selectivity)) THEN 'not immutable' END AS a,
           CASE WHEN NOT of_index AND proparallel <> 's' THEN 'not parallel safe' END AS b,
           CASE WHEN of_index AND provolatile <> 'v' THEN 'not volatile' END AS c,
           CASE WHEN of_index AND proparallel <>
                     CASE WHEN proname IN ('pbfidx_handler', 'pbfidx_resummarize') THEN 'u' ELSE 'r' END
                THEN 'parallel ' || proparallel::text END AS d,
           CASE WHEN NOT of_index AND proname !~ '^pbf(idx)?(_|$)' THEN 'not named pbf' END AS e,
           CASE WHEN prosecdef THEN 'security definer' END AS f
    FROM f
)
SELECT oid::regprocedure || ': ' || concat_ws(', ', a, b, c, d, e, f)
FROM complaint
WHERE concat_ws(', ', a, b, c, d, e, f) <> ''
ORDER BY 1;
SQL
)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
[ "$(psql -XAtqc "SELECT count(*) > 50 FROM pg_proc WHERE proname ~ '^pbf_'")" = t ] || { echo "where are the functions?"; exit 1; }
[ "$(psql -XAtqc "SELECT count(*) >= 6 FROM pg_proc WHERE proname ~ '^pbfidx_'")" = t ] || { echo "where are the index's functions?"; exit 1; }

#!/bin/bash
# functions of the extension are immutable, parallel safe and named pbf
set -euo pipefail

# Selectivity functions look at statistics: those alone may be stable.
wrong=$(psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
WITH f AS (
    SELECT p.*, 'internal'::regtype = ANY (p.proargtypes) AND p.prorettype = 'float8'::regtype AS selectivity
    FROM pg_proc p
    JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'pbf'
)
SELECT oid::regprocedure || ': ' ||
       concat_ws(', ',
                 CASE WHEN provolatile = 'v' OR (provolatile = 's' AND NOT selectivity) THEN 'not immutable' END,
                 CASE WHEN proparallel <> 's' THEN 'not parallel safe' END,
                 CASE WHEN proname !~ '^pbf(_|$)' THEN 'not named pbf' END,
                 CASE WHEN prosecdef THEN 'security definer' END)
FROM f
WHERE provolatile = 'v' OR (provolatile = 's' AND NOT selectivity) OR proparallel <> 's' OR proname !~ '^pbf(_|$)'
   OR prosecdef
ORDER BY 1;
SQL
)
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
[ "$(psql -XAtqc "SELECT count(*) > 50 FROM pg_proc WHERE proname ~ '^pbf_'")" = t ] || { echo "where are the functions?"; exit 1; }

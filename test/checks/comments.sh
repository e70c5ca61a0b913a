#!/bin/bash
# every object of the extensions has a comment
set -euo pipefail

psql -XAtq -v ON_ERROR_STOP=1 -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION pbf_trgm CASCADE'
missing=$(psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
LEFT JOIN pg_description c ON c.classoid = d.classid AND c.objoid = d.objid AND c.objsubid = 0
WHERE e.extname IN ('pbf', 'pbf_trgm') AND c.description IS NULL
      -- Array types are made by the server; from 17 on they count as members.
      AND NOT (d.classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type t WHERE t.typarray = d.objid))
ORDER BY 1;
SQL
)
[ -z "$missing" ] || { printf 'no comment on:\n%s\n' "$missing"; exit 1; }

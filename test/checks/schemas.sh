#!/bin/bash
# the extension lives in any schema, can be moved, and an ordinary owner of a database can create it
set -euo pipefail

db=${PGDATABASE}_owner
role=${PGDATABASE}_role
psql -Xq -v ON_ERROR_STOP=1 -c "CREATE ROLE $role LOGIN" -c "CREATE DATABASE $db OWNER $role"
as_owner=(psql -XAtq -v ON_ERROR_STOP=1 -d "$db" -U "$role")

"${as_owner[@]}" >"$SCRATCH/out" <<'SQL'
CREATE SCHEMA "odd Schema";
CREATE EXTENSION pbf SCHEMA "odd Schema";
SET search_path = pg_catalog;
CREATE TABLE public.t AS
    SELECT i, (SELECT "odd Schema".pbf_agg(j) FROM generate_series(1, i) j) AS f FROM generate_series(1, 3) i;
SELECT count(*) FROM public.t WHERE f OPERATOR("odd Schema".@>) 3;
SELECT count(*) FROM public.t WHERE NOT f OPERATOR("odd Schema".@>) i;
CREATE SCHEMA elsewhere;
SQL

# The objects of a trusted extension belong to the superuser, so only a superuser can move it.
psql -Xq -v ON_ERROR_STOP=1 -d "$db" -c "ALTER EXTENSION pbf SET SCHEMA elsewhere"

"${as_owner[@]}" >>"$SCRATCH/out" <<'SQL'
SET search_path = pg_catalog;
SELECT count(*) FROM public.t WHERE f OPERATOR(elsewhere.@>) 3;
SELECT (elsewhere.pbf_info(elsewhere.pbf_union_agg(f))).cardinality > 2 FROM public.t;
-- Nothing may be left behind, and creating it again must work.
DROP TABLE public.t;
DROP EXTENSION pbf;
CREATE EXTENSION pbf SCHEMA elsewhere;
SQL
printf '1\n0\n1\nt\n' | diff - "$SCRATCH/out"

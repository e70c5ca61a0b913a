#!/bin/bash
# an updated extension is the same as one newly installed
#
# Every older version that has a full script here is installed and updated, and compared with a new installation. So that
# this is tested before there is an older version, it is also done for a version after this one that is made up here,
# with a right update script and with wrong ones.
set -euo pipefail

version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" pbf.control)
# Where the server looks: Debian's setting up to 17, PostgreSQL's own from 18 on, or its own directory.
extensions=$(psql -XAtc "SELECT coalesce(nullif(current_setting('extension_destdir', true), '') || '$("$PG_CONFIG" --sharedir)',
	nullif(split_part(current_setting('extension_control_path', true), ':', 1), '\$system'), '$("$PG_CONFIG" --sharedir)') || '/extension'")
[ -f "$extensions/pbf.control" ] || { echo "no pbf.control in $extensions"; exit 1; }
[ -w "$extensions" ] || { echo "$extensions is not writable"; exit 77; }
trap 'rm -f "$extensions"/pbf*--*made.up*.sql' EXIT

NAME=pbf # the extension that is compared

# Everything that belongs to the extension, without OIDs.
describe()
{
	psql -XAtq -v ON_ERROR_STOP=1 <<-SQL | LC_ALL=C sort
		SET search_path = pg_catalog;
		CREATE TEMP TABLE member AS SELECT classid, objid FROM pg_depend
			WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = '$NAME') AND deptype = 'e';
		SELECT 'member', pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name) FROM member;
		SELECT 'function', oid::regprocedure, prokind, provolatile, proparallel, proisstrict, proretset, proleakproof, prosecdef, procost, prorows,
			prosupport, prosrc, probin, proacl, proconfig, pg_get_function_result(oid), pg_get_function_arguments(oid)
			FROM pg_proc JOIN member ON objid = oid AND classid = 'pg_proc'::regclass;
		SELECT 'aggregate', aggfnoid::regprocedure, aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggmtransfn, aggtranstype::regtype, aggtransspace, agginitval,
			aggfinalmodify, aggfinalextra FROM pg_aggregate JOIN member ON objid = aggfnoid AND classid = 'pg_proc'::regclass;
		SELECT 'operator', oid::regoperator, oprcode, oprrest, oprjoin, oprcom::regoperator, oprnegate::regoperator, oprcanmerge, oprcanhash
			FROM pg_operator JOIN member ON objid = oid AND classid = 'pg_operator'::regclass;
		SELECT 'type', oid::regtype, typlen, typbyval, typcategory, typispreferred, typinput, typoutput, typreceive, typsend, typmodin, typanalyze, typalign, typstorage, typacl
			FROM pg_type JOIN member ON objid = oid AND classid = 'pg_type'::regclass;
		SELECT 'access method', amname, amhandler, amtype FROM pg_am JOIN member ON objid = oid AND classid = 'pg_am'::regclass;
		SELECT 'cast', castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod
			FROM pg_cast JOIN member ON objid = oid AND classid = 'pg_cast'::regclass;
		SELECT 'class', opcname, amname, opcintype::regtype, opcdefault, opckeytype::regtype, opfname
			FROM pg_opclass c JOIN member ON objid = c.oid AND classid = 'pg_opclass'::regclass JOIN pg_am a ON a.oid = opcmethod JOIN pg_opfamily f ON f.oid = opcfamily;
		SELECT 'of a family', f.opfname, a.amname, amopstrategy, amoppurpose, amopopr::regoperator
			FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily JOIN member ON objid = f.oid AND classid = 'pg_opfamily'::regclass JOIN pg_am a ON a.oid = opfmethod;
		SELECT 'of a family', f.opfname, a.amname, amprocnum, amproc::regprocedure, amproclefttype::regtype
			FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily JOIN member ON objid = f.oid AND classid = 'pg_opfamily'::regclass JOIN pg_am a ON a.oid = opfmethod;
	SQL
}

# describe_version VERSION [FROM]: newly installed, or installed as FROM and updated.
describe_version()
{
	psql -Xq -v ON_ERROR_STOP=1 -c "DROP EXTENSION IF EXISTS $NAME CASCADE" -c "CREATE EXTENSION $NAME VERSION '${2:-$1}' CASCADE" 2>/dev/null
	[ -z "${2:-}" ] || psql -Xq -v ON_ERROR_STOP=1 -c "ALTER EXTENSION $NAME UPDATE TO '$1'"
	describe
}

# change NAME STATEMENTS: an update script to a version of that name.
change()
{
	printf '%s\n' "$2" >"$extensions/$NAME--$version--$1.sql"
}

# compare_older: every older version with a full script.
compare_older()
{
	local script old
	describe_version "$version" >"$SCRATCH/new"
	for script in "$NAME"--*.sql; do
		old=${script#"$NAME"--}
		old=${old%.sql}
		case $old in "$version" | *--*) continue ;; esac
		older=$((older + 1))
		describe_version "$version" "$old" >"$SCRATCH/updated"
		diff -U 0 "$SCRATCH/new" "$SCRATCH/updated" || { echo "$NAME $old, updated to $version, differs"; exit 1; }
	done
}

# compare_made_up MORE WRONG...: a version with MORE, updated to by that, and by what is wrong.
compare_made_up()
{
	local more=$1 wrong
	shift
	{ cat "$NAME--$version.sql"; echo "$more"; } >"$extensions/$NAME--made.up.sql"
	describe_version made.up >"$SCRATCH/new"
	change made.up "$more"
	describe_version made.up "$version" >"$SCRATCH/updated"
	diff -U 0 "$SCRATCH/new" "$SCRATCH/updated" || { echo "$NAME: a right update differs"; exit 1; }
	for wrong; do
		change made.up "$wrong"
		describe_version made.up "$version" >"$SCRATCH/updated"
		! cmp -s "$SCRATCH/new" "$SCRATCH/updated" || { echo "not seen: $wrong"; exit 1; }
	done
}

older=0
compare_older
[ "$(grep -c '^function' "$SCRATCH/new")" -gt 150 ] || { echo "where are the functions?"; exit 1; }
more="CREATE FUNCTION pbf_more(pbf) RETURNS bool AS 'MODULE_PATHNAME', 'pbf_is_empty' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_more(pbf) IS 'more';
COMMENT ON TYPE pbf IS 'a filter';
CREATE ACCESS METHOD pbf_more TYPE INDEX HANDLER pbfidx_handler;"
compare_made_up "$more" "${more/IMMUTABLE/VOLATILE}" "${more/a filter/a bloom filter}" "${more/pbf_is_empty/pbf_fill}" "${more/pbfidx_handler/bthandler}" \
	"$more REVOKE ALL ON FUNCTION pbf_more FROM PUBLIC;" "$more ALTER OPERATOR && (pbf, pbf) SET (RESTRICT = NONE);"

[ "$(psql -XAtqc "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")" = 1 ] || { echo "no pg_trgm"; exit 77; }
NAME=pbf_trgm
compare_older
[ "$(grep -c '^class' "$SCRATCH/new")" = 1 ] || { echo "where is the class?"; exit 1; }
more="COMMENT ON OPERATOR FAMILY pbf_trgm_ops USING pbfidx IS 'more';"
compare_made_up "$more" "${more/more/less}" "$more ALTER OPERATOR FAMILY pbf_trgm_ops USING pbfidx ADD OPERATOR 63 <> (text, text);"
echo "$older older versions, 1 made up of each"

/*
 * selfuncs.c: what the planner is told about membership.
 *
 * With a constant filter the operator is tried on the column's most common values and histogram bounds, by
 * the server's own routines, which also check that the user may see the statistics. The server's matchingsel
 * does the same, but it calls the operator without an expression, where a polymorphic one cannot know its
 * types.
 */
#include "postgres.h"

#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "access/htup_details.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_contains_sel);
PG_FUNCTION_INFO_V1(pbf_contains_joinsel);
PG_FUNCTION_INFO_V1(pbf_contains_support);

/* Without anything to go by: filters are there to sort out most rows. */
#define DEFAULT_MEMBERSHIP_SEL 0.01
#define MIN_HISTOGRAM_VALUES 10 /* fewer bounds than that say nothing */
#define FULL_HISTOGRAM_VALUES \
	100 /* fewer bounds than that are blended with the default, as the server does */

/* Whether argument i of the function is declared polymorphic: that is the element, the other one the filter.
 */
static bool
argument_is_element(Oid function, int i)
{
	Oid *types;
	int n;

	get_func_signature(function, &types, &n);
	return n == 2 && IsPolymorphicType(types[i]);
}

/* Share of the rows outside the most common values for which the operator is true, judged by the histogram.
 */
static double
histogram_share(VariableStatData *var, FmgrInfo *function, Oid collation, Datum filter, bool var_on_left)
{
	int values;
	double share = histogram_selectivity(var, function, collation, filter, var_on_left, MIN_HISTOGRAM_VALUES,
	                                     1, &values);
	double weight = values / (double) FULL_HISTOGRAM_VALUES;

	if (share < 0)
		return DEFAULT_MEMBERSHIP_SEL;
	if (weight < 1)
		share = share * weight + DEFAULT_MEMBERSHIP_SEL * (1 - weight);
	/* No bound being in the filter does not mean that no row is. */
	return Max(share, 0.1 / FULL_HISTOGRAM_VALUES);
}

static double
share_of_column(VariableStatData *var, Oid function, List *args, Oid collation, Datum filter,
                bool var_on_left)
{
	FmgrInfo finfo;
	double common, share, nulls = 0;

	fmgr_info(function, &finfo);
	fmgr_info_set_expr(
	    (Node *) makeFuncExpr(function, BOOLOID, args, InvalidOid, collation, COERCE_EXPLICIT_CALL), &finfo);
	share = mcv_selectivity(var, &finfo, collation, filter, var_on_left, &common);
	if (HeapTupleIsValid(var->statsTuple))
		nulls = ((Form_pg_statistic) GETSTRUCT(var->statsTuple))->stanullfrac;
	share += histogram_share(var, &finfo, collation, filter, var_on_left) * Max(0, 1 - nulls - common);
	CLAMP_PROBABILITY(share);
	return share;
}

static double
membership_selectivity(PlannerInfo *root, Oid function, List *args, int varRelid, Oid collation)
{
	VariableStatData var;
	Node *other;
	bool var_on_left;
	double result = DEFAULT_MEMBERSHIP_SEL;

	if (!get_restriction_variable(root, args, varRelid, &var, &other, &var_on_left))
		return result;
	if (IsA(other, Const) && ((Const *) other)->constisnull)
		result = 0;
	else if (IsA(other, Const) && argument_is_element(function, var_on_left ? 0 : 1))
		result = share_of_column(&var, function, args, collation, ((Const *) other)->constvalue, var_on_left);
	ReleaseVariableStats(var);
	return result;
}

Datum
pbf_contains_sel(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid function = get_opcode(PG_GETARG_OID(1));
	List *args = (List *) PG_GETARG_POINTER(2);

	PG_RETURN_FLOAT8(membership_selectivity(root, function, args, PG_GETARG_INT32(3), PG_GET_COLLATION()));
}

Datum
pbf_contains_joinsel(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_FLOAT8(DEFAULT_MEMBERSHIP_SEL);
}

Datum
pbf_contains_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSelectivity *s;

	if (!IsA(request, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	s = (SupportRequestSelectivity *) request;
	s->selectivity = s->is_join
	                     ? DEFAULT_MEMBERSHIP_SEL
	                     : membership_selectivity(s->root, s->funcid, s->args, s->varRelid, s->inputcollid);
	PG_RETURN_POINTER(s);
}

/*
 * construct.c: new filters, and what size they would have.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "core/theory.h"
#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_new);
PG_FUNCTION_INFO_V1(pbf_new_geometry);
PG_FUNCTION_INFO_V1(pbf_new_like);
PG_FUNCTION_INFO_V1(pbf_optimal);

static PbfLayoutChoice
layout_choice(text *t)
{
	char *name = text_to_cstring(t);

	if (strcmp(name, "auto") == 0)
		return PBF_CHOOSE_AUTO;
	if (strcmp(name, "plain") == 0)
		return PBF_CHOOSE_PLAIN;
	if (strcmp(name, "blocked") == 0)
		return PBF_CHOOSE_BLOCKED;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown layout: \"%s\"", name),
	        errhint("layout must be 'auto', 'plain' or 'blocked'."));
	return PBF_CHOOSE_AUTO;
}

Datum
pbf_new(PG_FUNCTION_ARGS)
{
	PbfGeometry g =
	    pbf_geometry_for(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1), layout_choice(PG_GETARG_TEXT_PP(2)));

	PG_RETURN_PBF(pbf_allocate(&g, PBF_KIND_NONE));
}

static void
check_range(const char *name, int64 value, int64 max)
{
	if (value < 1 || value > max)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("%s out of range: %lld", name, (long long) value),
		        errdetail("%s must be between 1 and %lld.", name, (long long) max));
}

/* 64-bit parts, at most 8 of them, are the blocked layout, everything else is plain, unless the layout is
 * named. */
static PbfGeometry
geometry_from_arguments(int32 blocks, int32 parts, int64 part_bits, PbfLayoutChoice choice)
{
	PbfGeometry g;
	const char *why;

	check_range("blocks", blocks, PG_INT32_MAX);
	check_range("parts", parts, PBF_PLAIN_MAX_PARTS);
	check_range("part_bits", part_bits, PG_UINT32_MAX);
	if (choice == PBF_CHOOSE_AUTO)
		choice = blocks > 1 || (part_bits == PBF_BLOCKED_PART_BITS && parts <= PBF_BLOCKED_MAX_PARTS)
		             ? PBF_CHOOSE_BLOCKED
		             : PBF_CHOOSE_PLAIN;
	g = (PbfGeometry){choice == PBF_CHOOSE_BLOCKED ? PBF_BLOCKED : PBF_PLAIN, blocks, parts, part_bits};
	if (!pbf_geometry_valid(&g, &why))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("no such geometry: %s", pbf_geometry_text(&g)), errdetail("%s.", why),
		        errhint("Blocked filters have any number of blocks with 1 to 8 parts of 64 bits; plain "
		                "filters have one "
		                "block with 1 to 64 parts of any length."));
	return g;
}

Datum
pbf_new_geometry(PG_FUNCTION_ARGS)
{
	PbfGeometry g = geometry_from_arguments(PG_GETARG_INT32(0), PG_GETARG_INT32(1), PG_GETARG_INT64(2),
	                                        layout_choice(PG_GETARG_TEXT_PP(3)));

	PG_RETURN_PBF(pbf_allocate(&g, PBF_KIND_NONE));
}

Datum
pbf_new_like(PG_FUNCTION_ARGS)
{
	PbfGeometry g = pbf_geometry_of(PG_GETARG_PBF(0));

	PG_RETURN_PBF(pbf_allocate(&g, PBF_KIND_NONE));
}

Datum
pbf_optimal(PG_FUNCTION_ARGS)
{
	PbfGeometry g;
	TupleDesc desc;
	Datum values[5];
	bool nulls[5] = {false};

	pbf_check_capacity("n", PG_GETARG_FLOAT8(0));
	g = pbf_geometry_for(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1), PBF_CHOOSE_AUTO);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = CStringGetTextDatum(g.layout == PBF_BLOCKED ? "blocked" : "plain");
	values[1] = Int32GetDatum(g.blocks);
	values[2] = Int32GetDatum(g.parts);
	values[3] = Int64GetDatum(g.part_bits);
	values[4] = Int64GetDatum(pbf_stored_bytes(&g));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * estimate.c: what the bits of filters tell: cardinalities, rates, fill.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_cardinality);
PG_FUNCTION_INFO_V1(pbf_union_cardinality);
PG_FUNCTION_INFO_V1(pbf_intersection_cardinality);
PG_FUNCTION_INFO_V1(pbf_jaccard);
PG_FUNCTION_INFO_V1(pbf_fpr);
PG_FUNCTION_INFO_V1(pbf_fill);
PG_FUNCTION_INFO_V1(pbf_info);

static double
cardinality(const PbfFilter *f)
{
	PbfGeometry g = pbf_geometry_of(f);

	return pbf_cardinality_of(&g, pbf_filter_popcount(&g, f->words));
}

double
pbf_current_fpr(const PbfFilter *f)
{
	PbfGeometry g = pbf_geometry_of(f);
	double fpr[PBF_PLAIN_MAX_PARTS];

	pbf_filter_fpr(&g, f->words, fpr);
	return fpr[g.parts - 1];
}

Datum
pbf_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(cardinality(PG_GETARG_PBF(0)));
}

/* What two filters tell about the sizes of their sets. */
typedef struct Overlap
{
	double a, b;         /* elements in each */
	double intersection; /* in both */
	double all;          /* in either */
} Overlap;

/*
 * A bit stays empty with probability exp(-rate), the rate being proportional to the elements that can set it.
 * An element in both sets is counted once in the rate of a | b, twice in rate(a) + rate(b); so the
 * intersection is what the rates lack. This holds as well where the smaller filter had to be spread over the
 * larger geometry, as long as its rate is taken there.
 */
static Overlap
estimate_overlap(FunctionCallInfo fcinfo)
{
	PbfFilter *a = PG_GETARG_PBF(0), *b = PG_GETARG_PBF(1);
	Overlap o = {cardinality(a), cardinality(b), 0, 0};

	if (o.a == 0 || o.b == 0)
		pbf_merged_kind(a, b);
	else
	{
		PbfGeometry g = pbf_larger_geometry(a, b);
		const PbfFilter *wide_a = pbf_converted(a, &g), *wide_b = pbf_converted(b, &g);

		o.intersection =
		    cardinality(wide_a) + cardinality(wide_b) - cardinality(pbf_combine(wide_a, wide_b, PBF_UNION));
		o.intersection = fmax(0, fmin(o.intersection, fmin(o.a, o.b)));
	}
	/* Of two filters with every bit set, both sizes and the intersection are infinite. */
	o.all = isinf(o.a) || isinf(o.b) ? INFINITY : o.a + o.b - o.intersection;
	return o;
}

Datum
pbf_union_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate_overlap(fcinfo).all);
}

Datum
pbf_intersection_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate_overlap(fcinfo).intersection);
}

/* 1 for two empty sets, which are the same set, and for two filters that say nothing any more. */
Datum
pbf_jaccard(PG_FUNCTION_ARGS)
{
	Overlap o = estimate_overlap(fcinfo);

	PG_RETURN_FLOAT8(o.all > 0 && !isinf(o.intersection) ? o.intersection / o.all : 1);
}

Datum
pbf_fpr(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(pbf_current_fpr(PG_GETARG_PBF(0)));
}

Datum
pbf_fill(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	PbfGeometry g = pbf_geometry_of(f);

	PG_RETURN_FLOAT8((double) pbf_filter_popcount(&g, f->words) / pbf_bits(&g));
}

#define INFO_COLUMNS 11

Datum
pbf_info(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	PbfGeometry g = pbf_geometry_of(f);
	uint64 set_bits = pbf_filter_popcount(&g, f->words);
	TupleDesc desc;
	Datum values[INFO_COLUMNS];
	bool nulls[INFO_COLUMNS] = {false};
	int i = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != INFO_COLUMNS)
		elog(ERROR, "return type must be a row of %d columns", INFO_COLUMNS);
	values[i++] = CStringGetTextDatum(pbf_kind_name(f->kind));
	values[i++] = CStringGetTextDatum(g.layout == PBF_BLOCKED ? "blocked" : "plain");
	values[i++] = Int32GetDatum(g.blocks);
	values[i++] = Int32GetDatum(g.parts);
	values[i++] = Int64GetDatum(g.part_bits);
	values[i++] = Int64GetDatum(pbf_bits(&g));
	values[i++] = Int64GetDatum(VARSIZE(f));
	values[i++] = Int64GetDatum(set_bits);
	values[i++] = Float8GetDatum((double) set_bits / pbf_bits(&g));
	values[i++] = Float8GetDatum(pbf_cardinality_of(&g, set_bits));
	values[i++] = Float8GetDatum(pbf_current_fpr(f));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

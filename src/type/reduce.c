/*
 * reduce.c: smaller filters of the same elements: fewer parts, folded in half, or the best mix of both.
 *
 * Both moves are exact and they commute. Dropping parts is optimal for a full filter, folding for an
 * underfilled one, so the best mix is found by trying: a filter can be folded a few times only, and one pass
 * over the bits gives the rates for every number of parts.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_reduce);
PG_FUNCTION_INFO_V1(pbf_fold);
PG_FUNCTION_INFO_V1(pbf_shrink);
PG_FUNCTION_INFO_V1(pbf_shrink_to_fpr);

static PbfFilter *
with_parts(const PbfFilter *f, uint32 parts)
{
	PbfGeometry from = pbf_geometry_of(f), to = from;
	PbfFilter *result;

	to.parts = parts;
	result = pbf_allocate_as(&to, f);
	pbf_filter_reduce(&from, f->words, parts, result->words);
	return result;
}

Datum
pbf_reduce(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	int32 parts = PG_GETARG_INT32(1);

	if (parts < 1 || parts > f->parts)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("parts out of range: %d", parts),
		        errdetail("parts must be between 1 and %d, the parts that the filter has.", f->parts));
	PG_RETURN_PBF(with_parts(f, parts));
}

PbfGeometry
pbf_folded_geometry(const PbfGeometry *g, uint32 times)
{
	PbfGeometry folded = *g;

	if (g->layout == PBF_BLOCKED)
		folded.blocks >>= times;
	else
		folded.part_bits >>= times;
	return folded;
}

/* How often the geometry can be halved. */
static uint32
max_folds(const PbfGeometry *g)
{
	return (uint32) __builtin_ctz(g->layout == PBF_BLOCKED ? g->blocks : g->part_bits);
}

bool
pbf_can_fold(const PbfGeometry *g, uint32 times)
{
	return times <= max_folds(g);
}

PbfFilter *
pbf_folded(const PbfFilter *f, uint32 times)
{
	PbfGeometry from = pbf_geometry_of(f), to = pbf_folded_geometry(&from, times);

	return pbf_resized(f, &to);
}

Datum
pbf_fold(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	int32 times = PG_GETARG_INT32(1);
	PbfGeometry g = pbf_geometry_of(f);

	if (times < 0 || !pbf_can_fold(&g, times))
		ereport(
		    ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("times out of range: %d", times),
		    errdetail("times must be between 0 and %u, as often as a %s filter can be halved.", max_folds(&g),
		              pbf_geometry_text(&g)),
		    errhint("The larger a filter of pbf_new or pbf_agg, the more often it can be halved; see also "
		            "pbf_reduce."));
	PG_RETURN_PBF(pbf_folded(f, times));
}

/* A way to shrink, and what it gives. */
typedef struct Reduction
{
	uint32 folds;
	uint32 parts;
	uint64 bytes;
	double fpr;
} Reduction;

/* Whether a is to be preferred to b; limits: a must keep to both. */
typedef bool (*Preference)(const Reduction *a, const Reduction *b);

static bool
lower_fpr(const Reduction *a, const Reduction *b)
{
	/* Of an empty or a full filter all are alike: what need not shrink stays as it is. */
	return a->fpr < b->fpr || (a->fpr == b->fpr && a->bytes > b->bytes);
}

static bool
fewer_bytes(const Reduction *a, const Reduction *b)
{
	return a->bytes < b->bytes || (a->bytes == b->bytes && a->fpr < b->fpr);
}

/* The preferred reduction among those within both limits; false if there is none. */
static bool
best_reduction(const PbfFilter *f, uint64 max_bytes, double max_fpr, Preference better, Reduction *best)
{
	PbfGeometry g = pbf_geometry_of(f);
	uint32 last = max_folds(&g);
	bool found = false;
	PbfFilter *folded = (PbfFilter *) f;

	for (uint32 folds = 0; folds <= last; folds++)
	{
		double fpr[PBF_PLAIN_MAX_PARTS];
		PbfGeometry fg;
		PbfFilter *half;

		CHECK_FOR_INTERRUPTS();
		fg = pbf_geometry_of(folded);
		pbf_filter_fpr(&fg, folded->words, fpr);
		for (uint32 parts = 1; parts <= g.parts; parts++)
		{
			Reduction r = {folds, parts, 0, fpr[parts - 1]};
			PbfGeometry rg = fg;

			rg.parts = parts;
			r.bytes = pbf_stored_bytes(&rg);
			if (r.bytes > max_bytes || r.fpr > max_fpr || (found && !better(&r, best)))
				continue;
			*best = r;
			found = true;
		}
		if (folds == last)
			break;
		half = pbf_folded(folded, 1);
		if (folded != f)
			pfree(folded);
		folded = half;
	}
	return found;
}

static PbfFilter *
apply_reduction(const PbfFilter *f, const Reduction *r)
{
	PbfFilter *folded = pbf_folded(f, r->folds);

	return r->parts < f->parts ? with_parts(folded, r->parts) : folded;
}

/* Bytes of the smallest filter that f can be reduced to. */
static uint64
smallest_bytes(const PbfFilter *f)
{
	PbfGeometry g = pbf_geometry_of(f);

	g = pbf_folded_geometry(&g, max_folds(&g));
	g.parts = 1;
	return pbf_stored_bytes(&g);
}

Datum
pbf_shrink(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	int64 max_bytes = PG_GETARG_INT64(1);
	Reduction best;

	if (max_bytes < (int64) smallest_bytes(f))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("max_bytes out of range: %lld", (long long) max_bytes),
		        errdetail("max_bytes must be at least %llu, the size of this filter after every possible "
		                  "fold with one part.",
		                  (unsigned long long) smallest_bytes(f)));
	if (!best_reduction(f, max_bytes, 1, lower_fpr, &best))
		elog(ERROR, "no reduction within %lld bytes", (long long) max_bytes);
	PG_RETURN_PBF(apply_reduction(f, &best));
}

Datum
pbf_shrink_to_fpr(PG_FUNCTION_ARGS)
{
	double fpr = PG_GETARG_FLOAT8(1);
	PbfFilter *f;
	Reduction best;

	pbf_check_fpr(fpr);
	f = PG_GETARG_PBF(0);
	/* A filter that is above the rate already cannot be helped: it stays as it is. */
	if (!best_reduction(f, PBF_MAX_BYTES, fpr, fewer_bytes, &best))
		PG_RETURN_PBF(PG_GETARG_PBF_COPY(0));
	PG_RETURN_PBF(apply_reduction(f, &best));
}

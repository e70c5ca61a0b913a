/*
 * setops.c: union, intersection, overlap, and how filters of different geometry meet.
 *
 * Same kind of element and same layout are enough. First both are cut to their common parts. Then sizes are
 * made equal in one of two ways, neither of which loses an element:
 *
 *   fold    the larger one down, where its size is a multiple of the smaller one's: exact;
 *   spread  the smaller one over the larger geometry: each of its blocks (bits, if plain) is OR-ed into every
 *           block whose hash interval overlaps it. A nearly empty small filter costs a large one almost
 * nothing.
 *
 * Where both are possible the result with the lower false positive rate is taken.
 */
#include "postgres.h"

#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_union);
PG_FUNCTION_INFO_V1(pbf_intersect);
PG_FUNCTION_INFO_V1(pbf_overlaps);
PG_FUNCTION_INFO_V1(pbf_disjoint);
PG_FUNCTION_INFO_V1(pbf_contains_filter);
PG_FUNCTION_INFO_V1(pbf_same_geometry);
PG_FUNCTION_INFO_V1(pbf_is_empty);

/* What blocks are to a blocked filter, bits of a part are to a plain one. */
static inline uint32
size_of(const PbfGeometry *g)
{
	return g->layout == PBF_BLOCKED ? g->blocks : g->part_bits;
}

static inline void
set_size(PbfGeometry *g, uint32 size)
{
	if (g->layout == PBF_BLOCKED)
		g->blocks = size;
	else
		g->part_bits = size;
}

const PbfFilter *
pbf_converted(const PbfFilter *f, const PbfGeometry *to)
{
	PbfGeometry from = pbf_geometry_of(f);
	PbfFilter *cut, *resized;

	if (pbf_geometry_equal(&from, to))
		return f;
	cut = (PbfFilter *) f;
	if (from.parts != to->parts)
	{
		PbfGeometry fewer = from;

		fewer.parts = to->parts;
		cut = pbf_allocate_as(&fewer, f);
		pbf_filter_reduce(&from, f->words, to->parts, cut->words);
		from = fewer;
	}
	if (size_of(&from) == size_of(to))
		return cut;
	resized = pbf_resized(cut, to);
	if (cut != f)
		pfree(cut);
	return resized;
}

bool
pbf_same_shape(const PbfFilter *a, const PbfFilter *b)
{
	PbfGeometry ga = pbf_geometry_of(a), gb = pbf_geometry_of(b);

	return pbf_geometry_equal(&ga, &gb);
}

/* The geometries of both, cut to their common parts. ERRCODE_DATATYPE_MISMATCH if they cannot meet. */
static void
common_geometries(const PbfFilter *a, const PbfFilter *b, PbfGeometry *ga, PbfGeometry *gb)
{
	*ga = pbf_geometry_of(a);
	*gb = pbf_geometry_of(b);
	pbf_merged_kind(a, b);
	if (ga->layout != gb->layout)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		        errmsg("filters of different layout cannot meet: %s and %s", pbf_geometry_text(ga),
		               pbf_geometry_text(gb)),
		        errdetail("Sizes and numbers of parts may differ, the layout may not."),
		        errhint("Build both for the same false positive rate, or with pbf_agg_like."));
	ga->parts = gb->parts = Min(ga->parts, gb->parts);
}

/* a and b in geometry g, combined; a new datum. */
static PbfFilter *
combine_in(const PbfGeometry *g, const PbfFilter *a, const PbfFilter *b, PbfSetOp op)
{
	PbfFilter *result = pbf_allocate(g, pbf_merged_kind(a, b));
	const PbfFilter *side = pbf_converted(a, g);

	memcpy(result->words, side->words, pbf_words(g) * sizeof(uint64));
	if (side != a)
		pfree((void *) side);
	side = pbf_converted(b, g);
	if (op == PBF_UNION)
		pbf_filter_union(g, result->words, side->words);
	else
		pbf_filter_intersect(g, result->words, side->words);
	if (side != b)
		pfree((void *) side);
	return result;
}

/* An element-less filter of no kind: the identity of union. */
static bool
is_identity(const PbfFilter *f)
{
	return f->kind == PBF_KIND_NONE;
}

/* Union leaves the other one as it is, intersection leaves nothing of it. */
static PbfFilter *
combine_with_identity(const PbfFilter *other, PbfSetOp op)
{
	PbfGeometry g = pbf_geometry_of(other);
	PbfFilter *result = pbf_allocate_as(&g, other);

	if (op == PBF_UNION)
		memcpy(result->words, other->words, pbf_words(&g) * sizeof(uint64));
	return result;
}

/* Of two without a kind the larger one, so that it does not matter which comes first. */
static const PbfFilter *
larger_identity(const PbfFilter *a, const PbfFilter *b)
{
	if (VARSIZE(a) != VARSIZE(b))
		return VARSIZE(a) > VARSIZE(b) ? a : b;
	return memcmp(a, b, PBF_HEADER_BYTES) >= 0 ? a : b;
}

PbfFilter *
pbf_combine(const PbfFilter *a, const PbfFilter *b, PbfSetOp op)
{
	PbfGeometry small, large;
	PbfFilter *spread, *folded;

	if (is_identity(a) && is_identity(b))
		return combine_with_identity(larger_identity(a, b), op);
	if (is_identity(a) || is_identity(b))
		return combine_with_identity(is_identity(b) ? a : b, op);
	common_geometries(a, b, &small, &large);
	if (size_of(&small) > size_of(&large))
	{
		uint32 size = size_of(&small);

		set_size(&small, size_of(&large));
		set_size(&large, size);
	}
	spread = combine_in(&large, a, b, op);
	if (size_of(&small) == size_of(&large) || size_of(&large) % size_of(&small) != 0)
		return spread;
	folded = combine_in(&small, a, b, op);
	if (pbf_current_fpr(folded) <= pbf_current_fpr(spread))
	{
		pfree(spread);
		return folded;
	}
	pfree(folded);
	return spread;
}

Datum
pbf_union(PG_FUNCTION_ARGS)
{
	PG_RETURN_PBF(pbf_combine(PG_GETARG_PBF(0), PG_GETARG_PBF(1), PBF_UNION));
}

Datum
pbf_intersect(PG_FUNCTION_ARGS)
{
	PG_RETURN_PBF(pbf_combine(PG_GETARG_PBF(0), PG_GETARG_PBF(1), PBF_INTERSECTION));
}

PbfGeometry
pbf_larger_geometry(const PbfFilter *a, const PbfFilter *b)
{
	PbfGeometry ga, gb;

	common_geometries(a, b, &ga, &gb);
	return size_of(&gb) > size_of(&ga) ? gb : ga;
}

/* false: certainly disjoint. */
static bool
overlap(const PbfFilter *a, const PbfFilter *b)
{
	PbfGeometry g;

	if (is_identity(a) || is_identity(b))
		return false;
	g = pbf_larger_geometry(a, b);
	a = pbf_converted(a, &g);
	b = pbf_converted(b, &g);
	return pbf_filter_overlaps(&g, a->words, b->words);
}

Datum
pbf_overlaps(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(overlap(PG_GETARG_PBF(0), PG_GETARG_PBF(1)));
}

Datum
pbf_disjoint(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!overlap(PG_GETARG_PBF(0), PG_GETARG_PBF(1)));
}

/*
 * b's bits are compared where b has them, a is brought to b's size: spreading b would invent bits that a need
 * not have, and deny a containment that holds.
 */
Datum
pbf_contains_filter(PG_FUNCTION_ARGS)
{
	const PbfFilter *a = PG_GETARG_PBF(0);
	const PbfFilter *b = PG_GETARG_PBF(1);
	PbfGeometry ga, gb;

	if (is_identity(b))
		PG_RETURN_BOOL(true);
	if (is_identity(a))
	{
		gb = pbf_geometry_of(b);
		PG_RETURN_BOOL(pbf_filter_is_empty(&gb, b->words));
	}
	common_geometries(a, b, &ga, &gb);
	a = pbf_converted(a, &gb);
	b = pbf_converted(b, &gb);
	PG_RETURN_BOOL(pbf_filter_contains_filter(&gb, a->words, b->words));
}

Datum
pbf_same_geometry(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(pbf_same_shape(PG_GETARG_PBF(0), PG_GETARG_PBF(1)));
}

Datum
pbf_is_empty(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	PbfGeometry g = pbf_geometry_of(f);

	PG_RETURN_BOOL(pbf_filter_is_empty(&g, f->words));
}

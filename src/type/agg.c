/*
 * agg.c: aggregates over elements and over filters.
 *
 * The transition state is a pbf, changed in place: returning the pointer that came in tells the executor that
 * nothing needs copying. A new state is left in the current context; the executor copies it into the
 * aggregate's and frees the old one. So an input filter is never modified, and a state belongs to one group.
 *
 * With a capacity the state is the filter itself. Without one it is a set of hashes (core/sparse.h) until
 * there are more than PBF_SPARSE_MAX distinct ones, then a filter of LARGE_BYTES; both carry the rate asked
 * for in their header and are finished at the end. Which of the two it is depends on the distinct hashes
 * alone, not on how rows were spread over workers: parallel results equal serial ones bit for bit.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "core/sparse.h"
#include "core/window.h"
#include "type/element.h"

#define DEFAULT_FPR 0.01

/*
 * The filter of an aggregate that outgrew its set of hashes. It holds 100 M elements at 0.01; beyond, or
 * for a lower rate earlier, a capacity has to be given.
 */
#define LARGE_BYTES (UINT64CONST(128) * 1024 * 1024)
#define LARGE_FOLDS 10 /* halvings that the plain layout's part length allows for */

PG_FUNCTION_INFO_V1(pbf_agg_element);
PG_FUNCTION_INFO_V1(pbf_agg_array);
PG_FUNCTION_INFO_V1(pbf_agg_hash);
PG_FUNCTION_INFO_V1(pbf_agg_like_element);
PG_FUNCTION_INFO_V1(pbf_agg_like_array);
PG_FUNCTION_INFO_V1(pbf_agg_combine);
PG_FUNCTION_INFO_V1(pbf_agg_final);
PG_FUNCTION_INFO_V1(pbf_union_trans);
PG_FUNCTION_INFO_V1(pbf_intersect_trans);

static inline bool
is_unfinished(const PbfFilter *f)
{
	return (f->flags & (PBF_FLAG_SPARSE | PBF_FLAG_LARGE)) != 0;
}

/* ---- states ---- */

/* An empty filter that elements will be added to one at a time. */
static PbfFilter *
new_dense(const PbfGeometry *g, PbfKind kind)
{
	uint64 bytes = pbf_stored_bytes(g);
	bool windowed = bytes >= PBF_WINDOW_WORTH;
	PbfFilter *f = pbf_allocate_bytes(windowed ? bytes + PBF_WINDOW_BYTES : bytes);

	pbf_header_init(f, g, kind);
	if (windowed)
		f->flags |= PBF_FLAG_WINDOW;
	return f;
}

PbfFilter *
pbf_without_window(const PbfFilter *state)
{
	PbfGeometry g = pbf_geometry_of(state);
	uint64 bytes = pbf_stored_bytes(&g);
	const uint64 *window = pbf_window(state, VARSIZE(state));
	PbfFilter *f = palloc(bytes);

	memcpy(f, state, bytes);
	SET_VARSIZE(f, bytes);
	f->flags &= ~PBF_FLAG_WINDOW;
	pbf_filter_add_many(&g, f->words, window + 1, window[0]);
	return f;
}

static PbfFilter *
new_sparse(uint64 count, PbfKind kind, double target)
{
	uint64 bytes = pbf_sparse_bytes(count);
	PbfFilter *f = pbf_allocate_bytes(bytes);

	pbf_sparse_init(f, bytes, kind, target);
	return f;
}

static uint64 *
sparse_hashes(const PbfFilter *f)
{
	uint64 *hashes = palloc(Max(f->blocks, 1) * sizeof(uint64));

	pbf_sparse_hashes(f, VARSIZE(f), hashes);
	return hashes;
}

/* A set with the same hashes and room for more. */
static PbfFilter *
grown_sparse(const PbfFilter *f)
{
	PbfFilter *grown = new_sparse((uint64) f->blocks + 1, (PbfKind) f->kind, f->target);
	uint64 *hashes = sparse_hashes(f);

	for (uint32 i = 0; i < f->blocks; i++)
		pbf_sparse_add(grown, VARSIZE(grown), hashes[i]);
	pfree(hashes);
	return grown;
}

/* LARGE_BYTES in the layout and number of parts that suit the rate. */
static PbfGeometry
large_geometry(double target)
{
	PbfGeometry g = pbf_geometry_for(PBF_SPARSE_MAX, target, PBF_CHOOSE_AUTO);

	if (g.layout == PBF_BLOCKED)
		g.blocks = LARGE_BYTES / (PBF_BLOCKED_MAX_PARTS * sizeof(uint64));
	else
		g.part_bits = (uint32) (LARGE_BYTES * 8 / g.parts) & ~((PBF_WORD_BITS << LARGE_FOLDS) - 1);
	return g;
}

static PbfFilter *
large_from_sparse(const PbfFilter *sparse)
{
	PbfGeometry g = large_geometry(sparse->target);
	PbfFilter *large = new_dense(&g, (PbfKind) sparse->kind);
	uint64 *hashes = sparse_hashes(sparse);

	large->flags |= PBF_FLAG_LARGE;
	large->target = sparse->target;
	pbf_filter_add_many(&g, large->words, hashes, sparse->blocks);
	pfree(hashes);
	return large;
}

/* Adds to a set; returns it, or what it had to become. */
static PbfFilter *
add_to_sparse(PbfFilter *state, const uint64 *hashes, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (!pbf_sparse_has_room(state, VARSIZE(state)))
			state = grown_sparse(state);
		if (pbf_sparse_add(state, VARSIZE(state), hashes[i]) && state->blocks > PBF_SPARSE_MAX)
		{
			PbfGeometry g;

			state = large_from_sparse(state);
			g = pbf_geometry_of(state);
			pbf_filter_add_many(&g, state->words, hashes + i + 1, n - i - 1);
			break;
		}
	}
	return state;
}

/* Adds in place, or into a new state if this one is too small. */
static PbfFilter *
add_to_state(PbfFilter *state, PbfKind kind, const uint64 *hashes, int n)
{
	PbfGeometry g;

	if (n == 0)
		return state;
	if (unlikely(state->kind != kind))
	{
		pbf_check_add_kind(state->kind, kind);
		state->kind = (uint8) kind;
	}
	if (state->flags & PBF_FLAG_SPARSE)
		return add_to_sparse(state, hashes, n);
	if (n == 1 && (state->flags & PBF_FLAG_WINDOW))
	{
		pbf_window_add(state, VARSIZE(state), hashes[0]);
		return state;
	}
	g = pbf_geometry_of(state);
	pbf_filter_add_many(&g, state->words, hashes, n);
	return state;
}

/* ---- arguments ---- */

/*
 * The state so far, NULL if none yet. It may have come through a tuple, so it may need detoasting. Otherwise
 * it is the executor's own copy of what was returned here, and is not checked again in every row.
 */
static inline PbfFilter *
state_argument(FunctionCallInfo fcinfo)
{
	if (AggCheckCallContext(fcinfo, NULL) == 0)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("aggregate support function called outside of an aggregate"));
	if (PG_ARGISNULL(0))
		return NULL;
	if (likely(!VARATT_IS_EXTENDED(PG_GETARG_POINTER(0))))
		return (PbfFilter *) PG_GETARG_POINTER(0);
	return pbf_fetch_raw(PG_GETARG_DATUM(0));
}

/* (state, element [, capacity [, fpr]]): an empty state for these arguments. */
static PbfFilter *
initial_state(FunctionCallInfo fcinfo)
{
	double fpr = DEFAULT_FPR;
	PbfGeometry g;

	if (PG_NARGS() > 3)
	{
		if (PG_ARGISNULL(3))
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("fpr must not be NULL"),
			        errhint("Leave it out for a false positive rate of %g.", DEFAULT_FPR));
		fpr = PG_GETARG_FLOAT8(3);
	}
	pbf_check_fpr(fpr);
	if (PG_NARGS() < 3 || PG_ARGISNULL(2))
		return new_sparse(0, PBF_KIND_NONE, fpr);
	g = pbf_geometry_for(PG_GETARG_FLOAT8(2), fpr, PBF_CHOOSE_AUTO);
	return new_dense(&g, PBF_KIND_NONE);
}

/* (state, element, filter): an empty filter of that geometry. */
static PbfFilter *
initial_state_like(FunctionCallInfo fcinfo)
{
	PbfGeometry g;

	if (PG_ARGISNULL(2))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		        errmsg("the filter to be like must not be NULL"));
	g = pbf_geometry_of(PG_GETARG_PBF(2));
	return new_dense(&g, PBF_KIND_NONE);
}

typedef PbfFilter *(*InitialState)(FunctionCallInfo fcinfo);

/* ---- transition functions ---- */

/* One element, the hasher being ready for its type. */
static Datum
add_element(FunctionCallInfo fcinfo, PbfHasher *hasher, InitialState initial)
{
	PbfFilter *state = state_argument(fcinfo);
	uint64 h;

	if (state == NULL)
		state = initial(fcinfo);
	if (PG_ARGISNULL(1))
		PG_RETURN_PBF(state);
	h = pbf_hash_value(hasher, PG_GETARG_DATUM(1));
	PG_RETURN_PBF(add_to_state(state, hasher->kind, &h, 1));
}

/* The hasher of a polymorphic call, kept in fn_extra; not yet initialised at first. */
static PbfHasher *
kept_hasher(FunctionCallInfo fcinfo)
{
	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(PbfHasher));
	return fcinfo->flinfo->fn_extra;
}

static Datum
add_polymorphic(FunctionCallInfo fcinfo, InitialState initial)
{
	PbfHasher *hasher = kept_hasher(fcinfo);

	if (!OidIsValid(hasher->type))
		pbf_hasher_init(hasher, pbf_argument_type(fcinfo, 1), PG_GET_COLLATION(), PBF_ENUM_BY_LABEL,
		                fcinfo->flinfo->fn_mcxt);
	return add_element(fcinfo, hasher, initial);
}

static Datum
add_array(FunctionCallInfo fcinfo, InitialState initial)
{
	PbfHasher *hasher = kept_hasher(fcinfo);
	PbfFilter *state = state_argument(fcinfo);
	uint64 *hashes;
	int n;

	if (state == NULL)
		state = initial(fcinfo);
	if (PG_ARGISNULL(1))
		PG_RETURN_PBF(state);
	hashes = pbf_hash_array(hasher, fcinfo->flinfo->fn_mcxt, PG_GETARG_ARRAYTYPE_P(1), PG_GET_COLLATION(), &n,
	                        NULL);
	PG_RETURN_PBF(add_to_state(state, hasher->kind, hashes, n));
}

Datum
pbf_agg_element(PG_FUNCTION_ARGS)
{
	return add_polymorphic(fcinfo, initial_state);
}

Datum
pbf_agg_like_element(PG_FUNCTION_ARGS)
{
	return add_polymorphic(fcinfo, initial_state_like);
}

Datum
pbf_agg_array(PG_FUNCTION_ARGS)
{
	return add_array(fcinfo, initial_state);
}

Datum
pbf_agg_like_array(PG_FUNCTION_ARGS)
{
	return add_array(fcinfo, initial_state_like);
}

Datum
pbf_agg_hash(PG_FUNCTION_ARGS)
{
	PbfFilter *state = state_argument(fcinfo);
	uint64 h;

	if (state == NULL)
		state = initial_state(fcinfo);
	if (PG_ARGISNULL(1))
		PG_RETURN_PBF(state);
	h = (uint64) PG_GETARG_INT64(1);
	PG_RETURN_PBF(add_to_state(state, PBF_KIND_HASH, &h, 1));
}

/* A hasher for one type that lasts as long as the process. */
typedef struct TypedHasher
{
	PbfHasher hasher;
	Oid collation;
} TypedHasher;

/*
 * The same for one type, which is known without looking at the call: a distributed engine calls transition
 * functions with no expression and nothing kept from row to row. Hashers of these types own no memory.
 */
static inline Datum
add_typed(FunctionCallInfo fcinfo, TypedHasher *typed, Oid type, InitialState initial)
{
	if (unlikely(!OidIsValid(typed->hasher.type) || typed->collation != PG_GET_COLLATION()))
	{
		typed->hasher.type = InvalidOid;
		pbf_hasher_init(&typed->hasher, type, PG_GET_COLLATION(), PBF_ENUM_BY_LABEL, CurrentMemoryContext);
		typed->collation = PG_GET_COLLATION();
	}
	return add_element(fcinfo, &typed->hasher, initial);
}

#define TYPED_AGGREGATE(name, type)                                         \
	static TypedHasher name##_hasher;                                       \
	PG_FUNCTION_INFO_V1(pbf_agg_##name);                                    \
	Datum pbf_agg_##name(PG_FUNCTION_ARGS)                                  \
	{                                                                       \
		return add_typed(fcinfo, &name##_hasher, type, initial_state);      \
	}                                                                       \
	PG_FUNCTION_INFO_V1(pbf_agg_like_##name);                               \
	Datum pbf_agg_like_##name(PG_FUNCTION_ARGS)                             \
	{                                                                       \
		return add_typed(fcinfo, &name##_hasher, type, initial_state_like); \
	}

TYPED_AGGREGATE(int2, INT2OID)
TYPED_AGGREGATE(int4, INT4OID)
TYPED_AGGREGATE(int8, INT8OID)
TYPED_AGGREGATE(oid, OIDOID)
TYPED_AGGREGATE(text, TEXTOID)
TYPED_AGGREGATE(char, CHAROID)
TYPED_AGGREGATE(uuid, UUIDOID)
TYPED_AGGREGATE(bytea, BYTEAOID)
TYPED_AGGREGATE(numeric, NUMERICOID)
TYPED_AGGREGATE(float4, FLOAT4OID)
TYPED_AGGREGATE(float8, FLOAT8OID)
TYPED_AGGREGATE(date, DATEOID)
TYPED_AGGREGATE(timestamp, TIMESTAMPOID)
TYPED_AGGREGATE(timestamptz, TIMESTAMPTZOID)

/* ---- combining states ---- */

/* The union (intersection) of two finished filters into a, in place where the geometries allow it. */
static PbfFilter *
merge_into(PbfFilter *a, const PbfFilter *b, PbfSetOp op)
{
	PbfGeometry g = pbf_geometry_of(a);

	if (op == PBF_UNION && b->kind == PBF_KIND_NONE)
		return a;
	if (a->kind == PBF_KIND_NONE || b->kind == PBF_KIND_NONE || !pbf_same_shape(a, b))
		return pbf_combine(a, b, op);
	pbf_merged_kind(a, b);
	if (op == PBF_UNION)
		pbf_filter_union(&g, a->words, b->words);
	else
		pbf_filter_intersect(&g, a->words, b->words);
	return a;
}

static PbfFilter *
add_sparse(PbfFilter *state, const PbfFilter *sparse)
{
	return add_to_state(state, (PbfKind) sparse->kind, sparse_hashes(sparse), sparse->blocks);
}

/* Two states of aggregates without a capacity. */
static PbfFilter *
combine_unfinished(PbfFilter *a, PbfFilter *b)
{
	bool a_sparse = (a->flags & PBF_FLAG_SPARSE) != 0, b_sparse = (b->flags & PBF_FLAG_SPARSE) != 0;

	if (a->target != b->target)
		return merge_into(pbf_finish(a), pbf_finish(b), PBF_UNION);
	if (b_sparse)
		return add_sparse(a, b);
	if (a_sparse)
		return add_sparse((PbfFilter *) memcpy(palloc(VARSIZE(b)), b, VARSIZE(b)), a);
	pbf_merged_kind(a, b);
	return merge_into(a, b, PBF_UNION);
}

Datum
pbf_agg_combine(PG_FUNCTION_ARGS)
{
	PbfFilter *a = state_argument(fcinfo), *b;

	if (PG_ARGISNULL(1))
	{
		if (a == NULL)
			PG_RETURN_NULL();
		PG_RETURN_PBF(a);
	}
	b = pbf_fetch_raw(PG_GETARG_DATUM(1));
	if (a == NULL)
		PG_RETURN_PBF(b);
	if (a->flags & PBF_FLAG_WINDOW)
		pbf_window_flush(a, VARSIZE(a));
	if (is_unfinished(a) && is_unfinished(b))
		PG_RETURN_PBF(combine_unfinished(a, b));
	if (is_unfinished(a))
		a = pbf_finish(a);
	if (is_unfinished(b))
		b = pbf_finish(b);
	PG_RETURN_PBF(merge_into(a, b, PBF_UNION));
}

static Datum
filter_transition(FunctionCallInfo fcinfo, PbfSetOp op)
{
	PbfFilter *state = state_argument(fcinfo);

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_PBF(state);
	}
	if (state == NULL)
		PG_RETURN_PBF(PG_GETARG_PBF(1));
	PG_RETURN_PBF(merge_into(state, PG_GETARG_PBF(1), op));
}

Datum
pbf_union_trans(PG_FUNCTION_ARGS)
{
	return filter_transition(fcinfo, PBF_UNION);
}

Datum
pbf_intersect_trans(PG_FUNCTION_ARGS)
{
	return filter_transition(fcinfo, PBF_INTERSECTION);
}

/* ---- results ---- */

static PbfFilter *
finish_sparse(const PbfFilter *state)
{
	PbfGeometry g = pbf_geometry_for(state->blocks, state->target, PBF_CHOOSE_AUTO);
	PbfFilter *f = pbf_allocate(&g, (PbfKind) state->kind);
	uint64 *hashes = sparse_hashes(state);

	pbf_filter_add_many(&g, f->words, hashes, state->blocks);
	pfree(hashes);
	return f;
}

/* Folds as long as the rate stays within what was asked. */
static PbfFilter *
finish_large(const PbfFilter *state)
{
	PbfFilter *f = pbf_folded(state, 0); /* a copy without the flags of a state */
	double fpr = pbf_current_fpr(f);

	if (fpr > state->target)
		ereport(WARNING,
		        errmsg("filter has a false positive rate of %.3g, more than the %.3g asked for", fpr,
		               state->target),
		        errdetail("Without a capacity at most %d MB are used for a filter.",
		                  (int) (LARGE_BYTES / (1024 * 1024))),
		        errhint("Give the expected number of distinct elements as the capacity."));
	for (;;)
	{
		PbfGeometry g = pbf_geometry_of(f);
		PbfFilter *half;

		if (!pbf_can_fold(&g, 1))
			return f;
		half = pbf_folded(f, 1);
		if (pbf_current_fpr(half) > state->target)
			return f;
		pfree(f);
		f = half;
	}
}

PbfFilter *
pbf_finish(const PbfFilter *state)
{
	if (state->flags & PBF_FLAG_WINDOW)
		state = pbf_without_window(state);
	if (state->flags & PBF_FLAG_SPARSE)
		return finish_sparse(state);
	if (state->flags & PBF_FLAG_LARGE)
		return finish_large(state);
	return (PbfFilter *) state;
}

Datum
pbf_agg_final(PG_FUNCTION_ARGS)
{
	PbfFilter *state = state_argument(fcinfo);

	if (state == NULL)
	{
		PbfGeometry g = pbf_geometry_for(0, DEFAULT_FPR, PBF_CHOOSE_AUTO);

		PG_RETURN_PBF(pbf_allocate(&g, PBF_KIND_NONE));
	}
	if (state->flags & PBF_FLAGS_UNFINISHED)
		PG_RETURN_PBF(pbf_finish(state));
	/* In a window function the state goes on changing after its value was given out. */
	if (AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW)
		PG_RETURN_PBF(pbf_folded(state, 0));
	PG_RETURN_PBF(state);
}

/*
 * agg.c: aggregates over elements and over filters.
 *
 * The transition state is a pbf, changed in place: returning the datum that came in tells the executor that
 * nothing needs copying. A large filter is an expanded object (state.h). A small one, and a set of hashes, is
 * a plain datum: a new one is left in the current context, and the executor copies it into the aggregate's
 * and frees the old one. So an input filter is never modified, and a state belongs to one group.
 *
 * With a capacity the state is the filter itself. Without one it is a set of hashes (core/sparse.h) until
 * there are more than PBF_SPARSE_MAX distinct ones, then a filter of LARGE_BYTES; both carry the rate asked
 * for in their header and are finished at the end. Which of the two it is depends on the distinct hashes
 * alone, not on how rows were spread over workers: parallel results equal serial ones bit for bit.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/execnodes.h"
#include "nodes/memnodes.h"
#include "nodes/nodeFuncs.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "core/sparse.h"
#include "core/theory.h"
#include "type/element.h"
#include "type/state.h"

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

/* A state as the functions here see it. */
typedef struct State
{
	Datum datum;        /* what the executor has or gets; 0: none yet */
	PbfFilter *filter;  /* what is in it */
	PbfState *expanded; /* NULL: filter is the datum */
} State;

static inline bool
is_unfinished(const PbfFilter *f)
{
	return (f->flags & PBF_FLAGS_UNFINISHED) != 0;
}

/* ---- states ---- */

static inline State
flat_state(PbfFilter *f)
{
	return (State){PointerGetDatum(f), f, NULL};
}

static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext mcxt;

	if (AggCheckCallContext(fcinfo, &mcxt) == 0)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("aggregate support function called outside of an aggregate"));
	return mcxt;
}

/* Whether a filter of that size should be an expanded object, beside those that are there. */
static bool
should_expand(uint64 bytes, MemoryContext mcxt)
{
	int groups = 0;

	for (MemoryContext c = mcxt->firstchild; c != NULL && groups < PBF_EXPANDED_GROUPS; c = c->nextchild)
		groups++;
	return bytes >= (groups < PBF_EXPANDED_GROUPS ? PBF_EXPANDED_WORTH : PBF_EXPANDED_WORTH_MANY);
}

/* An empty filter that elements will be added to one at a time. */
static State
new_dense(FunctionCallInfo fcinfo, const PbfGeometry *g, PbfKind kind)
{
	PbfState *expanded;

	if (pbf_stored_bytes(g) < PBF_EXPANDED_WORTH ||
	    !should_expand(pbf_stored_bytes(g), aggregate_context(fcinfo)))
		return flat_state(pbf_allocate(g, kind));
	expanded = pbf_new_state(g, kind, aggregate_context(fcinfo));
	return (State){EOHPGetRWDatum(&expanded->header), expanded->filter, expanded};
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

/* At most LARGE_BYTES in the layout and number of parts that suit the rate; can be halved often. */
static PbfGeometry
large_geometry(double target)
{
	PbfGeometry g = pbf_geometry_for(PBF_SPARSE_MAX, target, PBF_CHOOSE_AUTO);

	if (g.layout == PBF_BLOCKED)
		g.blocks = pg_prevpower2_32((uint32) (LARGE_BYTES / (g.parts * sizeof(uint64))));
	else
		g.part_bits = (uint32) (LARGE_BYTES * 8 / g.parts) & ~((PBF_WORD_BITS << LARGE_FOLDS) - 1);
	return g;
}

static State
large_from_sparse(FunctionCallInfo fcinfo, const PbfFilter *sparse)
{
	PbfGeometry g = large_geometry(sparse->target);
	State large = new_dense(fcinfo, &g, (PbfKind) sparse->kind);
	uint64 *hashes = sparse_hashes(sparse);

	large.filter->flags |= PBF_FLAG_LARGE;
	large.filter->target = sparse->target;
	pbf_filter_add_many(&g, large.filter->words, hashes, sparse->blocks);
	pfree(hashes);
	return large;
}

static void
add_to_dense(State *state, const uint64 *hashes, int n)
{
	PbfGeometry g = pbf_geometry_of(state->filter);

	if (n == 1 && state->expanded != NULL)
		pbf_add_to_state(state->expanded, hashes[0]);
	else
		pbf_filter_add_many(&g, state->filter->words, hashes, n);
}

/* Adds to a set, which may have to become larger or a filter. */
static void
add_to_sparse(FunctionCallInfo fcinfo, State *state, const uint64 *hashes, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (!pbf_sparse_has_room(state->filter, VARSIZE(state->filter)))
			*state = flat_state(grown_sparse(state->filter));
		if (pbf_sparse_add(state->filter, VARSIZE(state->filter), hashes[i]) &&
		    state->filter->blocks > PBF_SPARSE_MAX)
		{
			*state = large_from_sparse(fcinfo, state->filter);
			if (i + 1 < n)
				add_to_dense(state, hashes + i + 1, n - i - 1);
			return;
		}
	}
}

/* Adds in place, or to a new state if this one is too small. Returns what the executor gets. */
static Datum
add_to_state(FunctionCallInfo fcinfo, State *state, PbfKind kind, const uint64 *hashes, int n)
{
	if (n == 0)
		return state->datum;
	if (state->filter->kind != kind)
	{
		pbf_check_add_kind(state->filter->kind, kind);
		state->filter->kind = (uint8) kind;
	}
	if (state->filter->flags & PBF_FLAG_SPARSE)
		add_to_sparse(fcinfo, state, hashes, n);
	else
		add_to_dense(state, hashes, n);
	return state->datum;
}

/* ---- arguments ---- */

/* Whether the caller is an aggregate; for the most frequent kind without a call. */
static inline void
require_aggregate(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->context == NULL || !IsA(fcinfo->context, AggState)))
		(void) aggregate_context(fcinfo);
}

/*
 * The state so far. It may have come through a tuple, so it may need detoasting. Otherwise it is the
 * executor's own copy of what was returned here, and is not checked again in every row.
 */
static inline State
state_argument(FunctionCallInfo fcinfo)
{
	Datum d;
	PbfState *expanded;

	require_aggregate(fcinfo);
	if (unlikely(PG_ARGISNULL(0)))
		return (State){0, NULL, NULL};
	d = PG_GETARG_DATUM(0);
	expanded = pbf_datum_state(d);
	if (expanded != NULL)
		return (State){d, expanded->filter, expanded};
	if (VARATT_IS_EXTENDED(DatumGetPointer(d)))
		return flat_state(pbf_fetch_raw(d));
	return flat_state((PbfFilter *) DatumGetPointer(d));
}

/* (state, element [, capacity [, fpr]]): an empty state for these arguments. */
static State
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
		return flat_state(new_sparse(0, PBF_KIND_NONE, fpr));
	g = pbf_geometry_for(PG_GETARG_FLOAT8(2), fpr, PBF_CHOOSE_AUTO);
	return new_dense(fcinfo, &g, PBF_KIND_NONE);
}

/* (state, element, filter): an empty filter of that geometry. */
static State
initial_state_like(FunctionCallInfo fcinfo)
{
	PbfGeometry g;

	if (PG_ARGISNULL(2))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		        errmsg("the template filter must not be NULL"));
	g = pbf_geometry_of(PG_GETARG_PBF(2));
	return new_dense(fcinfo, &g, PBF_KIND_NONE);
}

typedef State (*InitialState)(FunctionCallInfo fcinfo);

/* ---- transition functions ---- */

/* One element, where there is more to do than to hold its hash back. */
static pg_noinline Datum
add_slowly(FunctionCallInfo fcinfo, InitialState initial, PbfKind kind, bool isnull, uint64 h)
{
	State state = state_argument(fcinfo);

	if (state.filter == NULL)
		state = initial(fcinfo);
	return isnull ? state.datum : add_to_state(fcinfo, &state, kind, &h, 1);
}

/* One element of a type that may be known at compile time, the hasher being ready for it. */
static inline Datum
add_element(FunctionCallInfo fcinfo, PbfHasher *hasher, Oid type, InitialState initial)
{
	PbfState *state;
	uint64 h;

	require_aggregate(fcinfo);
	if (unlikely(PG_ARGISNULL(1)))
		return add_slowly(fcinfo, initial, (PbfKind) hasher->kind, true, 0);
	h = pbf_hash_value_of(hasher, type, PG_GETARG_DATUM(1));
	state = PG_ARGISNULL(0) ? NULL : pbf_datum_state(PG_GETARG_DATUM(0));
	if (unlikely(state == NULL || state->filter->kind != hasher->kind))
		return add_slowly(fcinfo, initial, (PbfKind) hasher->kind, false, h);
	pbf_add_to_state(state, h);
	return PG_GETARG_DATUM(0);
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
	return add_element(fcinfo, hasher, InvalidOid, initial);
}

static Datum
add_array(FunctionCallInfo fcinfo, InitialState initial)
{
	PbfHasher *hasher = kept_hasher(fcinfo);
	State state = state_argument(fcinfo);
	uint64 *hashes;
	int n;

	if (state.filter == NULL)
		state = initial(fcinfo);
	if (PG_ARGISNULL(1))
		return state.datum;
	hashes = pbf_hash_array(hasher, fcinfo->flinfo->fn_mcxt, PG_GETARG_ARRAYTYPE_P(1), PG_GET_COLLATION(), &n,
	                        NULL);
	return add_to_state(fcinfo, &state, hasher->kind, hashes, n);
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
	State state = state_argument(fcinfo);
	uint64 h;

	if (state.filter == NULL)
		state = initial_state(fcinfo);
	if (PG_ARGISNULL(1))
		return state.datum;
	h = (uint64) PG_GETARG_INT64(1);
	return add_to_state(fcinfo, &state, PBF_KIND_HASH, &h, 1);
}

/* A hasher for one type that lasts as long as the process. */
typedef struct TypedHasher
{
	PbfHasher hasher;
	Oid collation;
} TypedHasher;

/* A user's type that a function, or its output as text, turns into text without being asked. */
static void
refuse_implicit_conversion(Node *argument)
{
	CoerceViaIO *output = IsA(argument, CoerceViaIO) ? (CoerceViaIO *) argument : NULL;
	FuncExpr *function = IsA(argument, FuncExpr) ? (FuncExpr *) argument : NULL;
	Oid type;

	if (output != NULL && output->coerceformat == COERCE_IMPLICIT_CAST)
		type = exprType((Node *) output->arg);
	else if (function != NULL && function->funcformat == COERCE_IMPLICIT_CAST)
		type = exprType(linitial(function->args));
	else
		return;
	if (getBaseType(type) >= FirstNormalObjectId)
		ereport(
		    ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		    errmsg("values of type %s are not stored in a Bloom filter as text without being asked to",
		           format_type_be(type)),
		    errdetail("The type may have an equality of its own, other than that of the text."),
		    errhint("Cast to text if values whose texts differ are different, else use pbf_agg(ARRAY[x])."));
}

/*
 * pbf_agg(text) also takes what is implicitly cast to text. Not all of that may: a case-insensitive string,
 * say, has an equality of its own.
 */
static void
refuse_implicit_cast(Node *argument)
{
	RelabelType *relabel;
	PbfHasher hasher;
	Oid collation;

	refuse_implicit_conversion(argument);
	if (!IsA(argument, RelabelType))
		return;
	/* The planner makes one of all that only change what a value is called; who writes COLLATE casts as well.
	 */
	relabel = (RelabelType *) argument;
	collation = exprCollation((Node *) relabel->arg);
	if (relabel->relabelformat == COERCE_IMPLICIT_CAST &&
	    (!OidIsValid(collation) || relabel->resultcollid == collation))
		pbf_hasher_init(&hasher, exprType((Node *) relabel->arg), InvalidOid, PBF_ENUM_BY_LABEL,
		                CurrentMemoryContext);
}

/* Whether a window function is an aggregate with this transition function. */
static bool
has_transition(const WindowFunc *wfunc, Oid function)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(wfunc->winfnoid));
	bool result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn == function;
	ReleaseSysCache(tuple);
	return result;
}

/* Looks at the argument, once a call site, where the executor tells it; of window functions at those of all.
 */
static void
check_implicit_cast(FunctionCallInfo fcinfo)
{
	Aggref *aggref = AggGetAggref(fcinfo);
	ListCell *lc;

	fcinfo->flinfo->fn_extra = fcinfo->flinfo; /* looked at */
	if (aggref != NULL && aggref->args != NIL)
		refuse_implicit_cast((Node *) linitial_node(TargetEntry, aggref->args)->expr);
	if (fcinfo->context == NULL || !IsA(fcinfo->context, WindowAggState))
		return;
	foreach (lc, ((WindowAggState *) fcinfo->context)->funcs)
	{
		WindowFunc *wfunc = lfirst_node(WindowFuncExprState, lc)->wfunc;

		if (wfunc->args != NIL && has_transition(wfunc, fcinfo->flinfo->fn_oid))
			refuse_implicit_cast(linitial(wfunc->args));
	}
}

/*
 * The same for one type, which is known without looking at the call: a distributed engine calls transition
 * functions with no expression and nothing kept from row to row. Hashers of these types own no memory.
 */
static inline Datum
add_typed(FunctionCallInfo fcinfo, TypedHasher *typed, Oid type, InitialState initial)
{
	if (unlikely(!OidIsValid(typed->hasher.type) ||
	             (type == TEXTOID && typed->collation != PG_GET_COLLATION())))
	{
		typed->hasher.type = InvalidOid;
		pbf_hasher_init(&typed->hasher, type, PG_GET_COLLATION(), PBF_ENUM_BY_LABEL, CurrentMemoryContext);
		typed->collation = PG_GET_COLLATION();
	}
	if (type == TEXTOID && fcinfo->flinfo->fn_extra == NULL)
		check_implicit_cast(fcinfo);
	return add_element(fcinfo, &typed->hasher, type, initial);
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

/* The union (intersection) of a finished filter and b: in place where the geometries allow it. */
static PbfFilter *
merge_into(PbfFilter *a, const PbfFilter *b, PbfSetOp op)
{
	PbfGeometry g = pbf_geometry_of(a);

	if (op == PBF_UNION && b->kind == PBF_KIND_NONE && (a->kind != PBF_KIND_NONE || pbf_same_shape(a, b)))
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

/* What the executor gets after the state's filter was merged into `merged`. */
static Datum
merged_datum(const State *state, PbfFilter *merged)
{
	return merged == state->filter ? state->datum : PointerGetDatum(merged);
}

static Datum
add_sparse(FunctionCallInfo fcinfo, State *state, const PbfFilter *sparse)
{
	return add_to_state(fcinfo, state, (PbfKind) sparse->kind, sparse_hashes(sparse), sparse->blocks);
}

static State
copied_state(const PbfFilter *f)
{
	return flat_state(pbf_copy(f));
}

/* Two states of aggregates without a capacity. */
static Datum
combine_unfinished(FunctionCallInfo fcinfo, State *a, PbfFilter *b)
{
	State copy;

	if (a->filter->target != b->target)
		return PointerGetDatum(merge_into(pbf_finish(a->filter), pbf_finish(b), PBF_UNION));
	if (b->flags & PBF_FLAG_SPARSE)
		return add_sparse(fcinfo, a, b);
	if (!(a->filter->flags & PBF_FLAG_SPARSE))
		return merged_datum(a, merge_into(a->filter, b, PBF_UNION));
	copy = copied_state(b);
	return add_sparse(fcinfo, &copy, a->filter);
}

/*
 * A set of hashes and a filter that was given a capacity: its hashes are added to the filter. Any other
 * unfinished state is finished first.
 */
static Datum
combine_mixed(FunctionCallInfo fcinfo, State *a, PbfFilter *b)
{
	State copy;

	if (b->flags & PBF_FLAG_SPARSE)
		return add_sparse(fcinfo, a, b);
	if (b->flags & PBF_FLAG_LARGE)
		return merged_datum(a, merge_into(a->filter, pbf_finish(b), PBF_UNION));
	if (a->filter->flags & PBF_FLAG_LARGE)
		PG_RETURN_PBF(merge_into(pbf_finish(a->filter), b, PBF_UNION));
	copy = copied_state(b);
	return add_sparse(fcinfo, &copy, a->filter);
}

Datum
pbf_agg_combine(PG_FUNCTION_ARGS)
{
	State a = state_argument(fcinfo);
	PbfFilter *b;

	if (PG_ARGISNULL(1))
	{
		if (a.filter == NULL)
			PG_RETURN_NULL();
		return a.datum;
	}
	b = pbf_fetch_raw(PG_GETARG_DATUM(1));
	if (a.filter == NULL)
		PG_RETURN_PBF(b);
	if (a.expanded != NULL)
		pbf_flush_state(a.expanded);
	if (is_unfinished(a.filter) && is_unfinished(b))
		return combine_unfinished(fcinfo, &a, b);
	if (is_unfinished(a.filter) || is_unfinished(b))
		return combine_mixed(fcinfo, &a, b);
	return merged_datum(&a, merge_into(a.filter, b, PBF_UNION));
}

static Datum
filter_transition(FunctionCallInfo fcinfo, PbfSetOp op)
{
	State state = state_argument(fcinfo);

	if (PG_ARGISNULL(1))
	{
		if (state.filter == NULL)
			PG_RETURN_NULL();
		return state.datum;
	}
	if (state.filter == NULL)
		PG_RETURN_PBF(PG_GETARG_PBF(1));
	if (state.expanded != NULL)
		pbf_flush_state(state.expanded);
	/* Not by our own aggregates, but a user's may begin with any state. */
	if (is_unfinished(state.filter))
		PG_RETURN_PBF(merge_into(pbf_finish(state.filter), PG_GETARG_PBF(1), op));
	return merged_datum(&state, merge_into(state.filter, PG_GETARG_PBF(1), op));
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

/* How often a filter can be folded with its rate still within `target`, as its bits let expect. */
static uint32
expected_folds(const PbfFilter *f, double target)
{
	PbfGeometry g = pbf_geometry_of(f);
	double n = pbf_cardinality_of(&g, pbf_filter_popcount(&g, f->words));
	uint32 folds = 0;

	for (; isfinite(n) && pbf_can_fold(&g, folds + 1); folds++)
	{
		PbfGeometry folded = pbf_folded_geometry(&g, folds + 1);

		if (pbf_fpr_of(&folded, n) > target)
			break;
	}
	return folds;
}

static void
warn_of_rate(double fpr, double target)
{
	ereport(WARNING,
	        errmsg("filter has a false positive rate of %.3g, more than the %.3g asked for", fpr, target),
	        errdetail("Without a capacity at most %d MB are used for a filter.",
	                  (int) (LARGE_BYTES / (1024 * 1024))),
	        errhint("Give the expected number of distinct elements as the capacity."));
}

/* Folded as often as the rate stays within `target`; the filter itself is freed. */
static PbfFilter *
folded_further(PbfFilter *f, double target)
{
	for (;;)
	{
		PbfGeometry g = pbf_geometry_of(f);
		PbfFilter *half;

		if (!pbf_can_fold(&g, 1))
			return f;
		half = pbf_folded(f, 1);
		if (pbf_current_fpr(half) > target)
		{
			pfree(half);
			return f;
		}
		pfree(f);
		f = half;
	}
}

/*
 * Folded as often as the rate stays within what was asked. Each attempt takes time and memory, so the first
 * is the expected one: nearly always it is right, and one more fold shows that.
 */
static PbfFilter *
finish_large(const PbfFilter *state)
{
	uint32 folds = expected_folds(state, state->target);
	PbfFilter *f = pbf_folded(state, folds);
	double fpr = pbf_current_fpr(f);
	bool refuted = fpr > state->target;

	for (; fpr > state->target && folds > 0; fpr = pbf_current_fpr(f))
	{
		pfree(f);
		f = pbf_folded(state, --folds);
	}
	if (fpr > state->target)
		warn_of_rate(fpr, state->target);
	return refuted ? f : folded_further(f, state->target);
}

PbfFilter *
pbf_finish(const PbfFilter *state)
{
	if (state->flags & PBF_FLAG_SPARSE)
		return finish_sparse(state);
	if (state->flags & PBF_FLAG_LARGE)
		return finish_large(state);
	return (PbfFilter *) state;
}

/* The filter of a state, in its place if it is an object. Final functions must not change a state; to add
 * what is held back does not. */
static PbfFilter *
fetch_state(Datum d)
{
	PbfState *expanded;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(d)))
		return pbf_fetch_raw(d);
	expanded = (PbfState *) DatumGetEOHP(d);
	pbf_flush_state(expanded);
	return expanded->filter;
}

Datum
pbf_agg_final(PG_FUNCTION_ARGS)
{
	Datum state;
	PbfFilter *f;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
	{
		PbfGeometry g = pbf_geometry_for(0, DEFAULT_FPR, PBF_CHOOSE_AUTO);

		PG_RETURN_PBF(pbf_allocate(&g, PBF_KIND_NONE));
	}
	state = PG_GETARG_DATUM(0);
	f = fetch_state(state);
	if (is_unfinished(f))
		PG_RETURN_PBF(pbf_finish(f));
	/* In a window function the state goes on changing after its value was given out. */
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)) ||
	    AggCheckCallContext(fcinfo, NULL) == AGG_CONTEXT_WINDOW)
		PG_RETURN_PBF(pbf_copy(f));
	PG_RETURN_PBF(f);
}

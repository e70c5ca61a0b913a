/*
 * query.c: the right side of a multi-key condition.
 *
 * What a class means by its strategies is not known here, so the consistent function is asked. One question a
 * key, with that key absent and all others perhaps present, finds the keys that every qualifying row has: the
 * masks of these are simply ANDed. If no key beyond these matters that is all; if any one of the others will
 * do, their masks are ORed. Only what is neither is asked about column by column.
 *
 * That FALSE is the answer for "absent" and MAYBE for "perhaps present" keys is what GIN asks of
 * triConsistent too: it may say FALSE only if the condition is false whatever the MAYBEs are.
 *
 * Search modes: by default a qualifying row has one of the keys, with INCLUDE_EMPTY one of them or none at
 * all in its value (which has a key of its own), with ALL nothing is said.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "index/folding.h"
#include "index/paths.h"
#include "index/query.h"

/* Answers are remembered for so many tested keys: 1024 subsets. */
#define REMEMBERED_KEYS 10
/* A function without MAYBE is called for each subset of the keys that may be present, up to 256 of them. */
#define BINARY_KEYS 8

void
pbfidx_init_query_class(PbfidxQueryClass *class, Relation index, int column, MemoryContext mcxt)
{
	AttrNumber attribute = (AttrNumber) (column + 1);

	pbfidx_init_hasher(&class->hasher, index, column, InvalidOid, mcxt);
	pbfidx_require_same_kind(index, &class->hasher);
	class->ternary = OidIsValid(index_getprocid(index, attribute, PBFIDX_TRICONSISTENT_PROC));
	fmgr_info_copy(&class->extract_query, index_getprocinfo(index, attribute, PBFIDX_EXTRACT_QUERY_PROC),
	               mcxt);
	fmgr_info_copy(&class->consistent,
	               index_getprocinfo(index, attribute,
	                                 class->ternary ? PBFIDX_TRICONSISTENT_PROC : PBFIDX_CONSISTENT_PROC),
	               mcxt);
}

/* ---- asking ---- */

static bool
ask_ternary(PbfidxQuery *q)
{
	PbfidxQueryClass *class = q->class;
	Datum answer =
	    FunctionCall7Coll(&class->consistent, class->hasher.support_collation, PointerGetDatum(q->check),
	                      UInt16GetDatum(q->strategy), q->query, UInt32GetDatum(q->n),
	                      PointerGetDatum(q->extra), PointerGetDatum(q->values), PointerGetDatum(q->nulls));

	return DatumGetChar(answer) != GIN_FALSE;
}

static bool
ask_binary(PbfidxQuery *q, const bool *present)
{
	PbfidxQueryClass *class = q->class;
	bool recheck = true;

	return DatumGetBool(FunctionCall8Coll(
	    &class->consistent, class->hasher.support_collation, PointerGetDatum(present),
	    UInt16GetDatum(q->strategy), q->query, UInt32GetDatum(q->n), PointerGetDatum(q->extra),
	    PointerGetDatum(&recheck), PointerGetDatum(q->values), PointerGetDatum(q->nulls)));
}

/* Every subset of the MAYBEs, until one qualifies. Nothing may be assumed of the function: not that more keys
 * never harm. */
static bool
ask_for_all_subsets(PbfidxQuery *q)
{
	int maybe[BINARY_KEYS];
	bool *present = palloc0(Max(q->n, 1) * sizeof(bool));
	int n = 0;
	bool possible = false;

	for (int i = 0; i < q->n; i++)
	{
		if (q->check[i] == GIN_FALSE)
			continue;
		if (n == BINARY_KEYS)
		{
			pfree(present);
			return true;
		}
		maybe[n++] = i;
	}
	for (int subset = 0; subset < 1 << n && !possible; subset++)
	{
		for (int i = 0; i < n; i++)
			present[maybe[i]] = (subset >> i) & 1;
		possible = ask_binary(q, present);
	}
	pfree(present);
	return possible;
}

/* Whether a row may qualify, for what is in q->check. */
static bool
ask(PbfidxQuery *q)
{
	return q->class->ternary ? ask_ternary(q) : ask_for_all_subsets(q);
}

/* q->check with all keys of that role FALSE, the others MAYBE. */
static void
set_check(PbfidxQuery *q, PbfidxKeyRole absent)
{
	for (int i = 0; i < q->n; i++)
		q->check[i] = q->roles[i] == absent ? GIN_FALSE : GIN_MAYBE;
}

/* ---- examining ---- */

static void
find_required(PbfidxQuery *q)
{
	bool *required = palloc0(q->n * sizeof(bool));

	memset(q->check, GIN_MAYBE, q->n);
	for (int i = 0; i < Min(q->n, PBFIDX_EXAMINED_KEYS); i++)
	{
		if (q->roles[i] != PBFIDX_KEY_TESTED)
			continue;
		CHECK_FOR_INTERRUPTS();
		q->check[i] = GIN_FALSE;
		required[i] = !ask(q);
		q->check[i] = GIN_MAYBE;
	}
	for (int i = 0; i < q->n; i++)
	{
		if (required[i])
			q->roles[i] = PBFIDX_KEY_REQUIRED;
		q->nrequired += required[i];
	}
	pfree(required);
}

/* Whether the first of the tested keys does alone, next to the required ones. */
static bool
does_one_do(PbfidxQuery *q)
{
	int first = 0;

	while (first < q->n && q->roles[first] != PBFIDX_KEY_TESTED)
		first++;
	if (first == q->n)
		return false;
	set_check(q, PBFIDX_KEY_TESTED);
	q->check[first] = GIN_MAYBE;
	return ask(q);
}

/* Whether each of the tested keys does alone, next to the required ones. */
static bool
does_any_do(PbfidxQuery *q)
{
	if (q->n > PBFIDX_EXAMINED_KEYS)
	{
		q->one_does = does_one_do(q);
		return false;
	}
	set_check(q, PBFIDX_KEY_TESTED);
	for (int i = 0; i < q->n; i++)
	{
		bool possible;

		if (q->roles[i] != PBFIDX_KEY_TESTED)
			continue;
		q->check[i] = GIN_MAYBE;
		possible = ask(q);
		q->check[i] = GIN_FALSE;
		if (!possible)
			return false;
	}
	return true;
}

static void
set_any(PbfidxQuery *q, bool empty)
{
	q->any = true;
	for (int i = 0; i < q->n; i++)
		q->any_of[i] = q->roles[i] == PBFIDX_KEY_TESTED;
	q->any_of[q->n] = empty;
}

static void
prepare_consulting(PbfidxQuery *q)
{
	q->consult = true;
	q->tested = palloc(q->n * sizeof(int));
	for (int i = 0; i < q->n; i++)
	{
		if (q->roles[i] == PBFIDX_KEY_TESTED)
			q->tested[q->ntested++] = i;
	}
	if (q->ntested <= REMEMBERED_KEYS)
		q->answers = palloc0((Size) 1 << q->ntested);
}

/* By the consistent function. Returns whether a row may qualify without any of the keys. */
static bool
examine(PbfidxQuery *q)
{
	if (q->n == 0)
		return false;
	set_check(q, PBFIDX_KEY_TESTED);
	if (ask(q))
		return true;
	find_required(q);
	set_check(q, PBFIDX_KEY_TESTED);
	if (ask(q))
		return false; /* the required ones are all that counts */
	if (does_any_do(q))
		set_any(q, false);
	else
		prepare_consulting(q);
	return false;
}

/*
 * By the search mode. By default a row without any of the keys does not qualify, and consistent functions
 * need not know: many say yes to anything. A ternary one that says yes to no key at all knows better, as that
 * of pg_trgm's % does under a threshold of 0, where GIN loses rows.
 */
static void
examine_mode(PbfidxQuery *q, int32 mode, bool keyless)
{
	if (mode == GIN_SEARCH_MODE_ALL || q->nrequired > 0 || q->any)
		return;
	if (mode == GIN_SEARCH_MODE_DEFAULT && keyless && q->class->ternary)
		return;
	for (int i = 0; i < q->n; i++)
	{
		if (q->roles[i] == PBFIDX_KEY_UNKNOWN)
			return;
	}
	set_any(q, mode == GIN_SEARCH_MODE_INCLUDE_EMPTY);
}

/* ---- making ---- */

static void
set_keys(PbfidxQuery *q, const bool *partial)
{
	PbfidxHasher *hasher = &q->class->hasher;

	q->keys = palloc((q->n + 1) * sizeof(uint64));
	q->roles = palloc((q->n + 1) * sizeof(uint8));
	q->any_of = palloc0((q->n + 1) * sizeof(bool));
	q->check = palloc(Max(q->n, 1) * sizeof(GinTernaryValue));
	for (int i = 0; i < q->n; i++)
	{
		bool unknown = partial != NULL && partial[i];

		q->roles[i] = unknown ? PBFIDX_KEY_UNKNOWN : PBFIDX_KEY_TESTED;
		q->keys[i] = unknown       ? 0
		             : q->nulls[i] ? pbfidx_null_item_key(hasher->column)
		                           : pbfidx_value_key(hasher, q->values[i]);
	}
	q->roles[q->n] = PBFIDX_KEY_TESTED;
	q->keys[q->n] = pbfidx_empty_key(hasher->column);
}

/* The server's function behind another name, for char(n) or as citext declares them: the first one of them.
 */
static Oid
internal_function(Oid function)
{
	HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid internal = InvalidOid;
	bool isnull;
	Datum source;

	if (!HeapTupleIsValid(row))
		return function;
	source = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_prosrc, &isnull);
	if (((Form_pg_proc) GETSTRUCT(row))->prolang == INTERNALlanguageId && !isnull)
		internal = fmgr_internal_function(TextDatumGetCString(source));
	ReleaseSysCache(row);
	return OidIsValid(internal) ? internal : function;
}

PbfidxQuery *
pbfidx_make_query(PbfidxQueryClass *class, Oid function, Oid collation, StrategyNumber strategy, Datum query)
{
	PbfidxQuery *q = palloc0(sizeof(PbfidxQuery));
	bool *partial = NULL;
	int32 mode = GIN_SEARCH_MODE_DEFAULT;

	q->class = class;
	q->strategy = strategy;
	q->query = query;
	function = internal_function(function);
	if (!OidIsValid(collation))
		collation = class->hasher.support_collation;
	if (!pbfidx_folds_alike(function, class->extract_query.fn_oid, strategy, collation, query) ||
	    !pbfidx_is_path_sound(function, query))
		return q;
	q->values = (Datum *) DatumGetPointer(
	    FunctionCall7Coll(&class->extract_query, class->hasher.support_collation, query,
	                      PointerGetDatum(&q->n), UInt16GetDatum(strategy), PointerGetDatum(&partial),
	                      PointerGetDatum(&q->extra), PointerGetDatum(&q->nulls), PointerGetDatum(&mode)));
	if (mode < GIN_SEARCH_MODE_DEFAULT || mode > GIN_SEARCH_MODE_ALL)
		mode = GIN_SEARCH_MODE_ALL; /* what GIN makes of it */
	if (q->values == NULL || q->n < 0)
		q->n = 0;
	if (q->n == 0 && mode == GIN_SEARCH_MODE_DEFAULT)
		return NULL;
	if (q->nulls == NULL)
		q->nulls = palloc0(Max(q->n, 1) * sizeof(bool));
	set_keys(q, partial);
	examine_mode(q, mode, examine(q));
	return q;
}

/* ---- filtering ---- */

/* Whether a column with these of the tested keys may match. */
static bool
consult(PbfidxQuery *q, const PbfidxMask *masks, int column)
{
	uint32 subset = 0;
	bool possible;

	for (int t = 0; t < q->ntested; t++)
	{
		bool present = pbfidx_mask_test(&masks[q->tested[t]], column);

		q->check[q->tested[t]] = present ? GIN_MAYBE : GIN_FALSE;
		subset |= t < REMEMBERED_KEYS ? (uint32) present << t : 0;
	}
	if (q->answers == NULL)
		return ask(q);
	if (q->answers[subset] != 0)
		return q->answers[subset] == 2;
	possible = ask(q);
	q->answers[subset] = possible ? 2 : 1;
	return possible;
}

static void
consult_columns(PbfidxQuery *q, const PbfidxMask *masks, PbfidxMask *columns)
{
	memset(q->check, GIN_MAYBE, q->n);
	for (int column = -1; (column = pbfidx_mask_next(columns, column + 1)) >= 0;)
	{
		if (!consult(q, masks, column))
			pbfidx_mask_clear(columns, column);
	}
}

/* By the required keys and `any`. */
static void
narrow_columns(const PbfidxQuery *q, const PbfidxMask *masks, PbfidxMask *columns)
{
	PbfidxMask any = {{0}};

	for (int i = 0; i < q->n; i++)
	{
		if (q->roles[i] == PBFIDX_KEY_REQUIRED)
			pbfidx_mask_and(columns, &masks[i]);
	}
	for (int slot = 0; slot <= q->n; slot++)
	{
		if (q->any_of[slot])
			pbfidx_mask_or(&any, &masks[slot]);
	}
	if (q->any)
		pbfidx_mask_and(columns, &any);
}

void
pbfidx_filter_columns(PbfidxQuery *q, const PbfidxMask *masks, PbfidxMask *columns)
{
	if (!q->narrowed)
		narrow_columns(q, masks, columns);
	if (q->consult)
		consult_columns(q, masks, columns);
}

/*
 * conditions.c: from scan keys to conditions (conditions.h).
 *
 * A condition is a set of keys of one column, one of which the row must have: one key for `=`, several for
 * `= ANY`, the NULL key for IS NULL. A multi-key condition (query.h) becomes a condition for each key that it
 * requires, one for keys of which any will do, and where that does not say all, a condition on which its
 * consistent function is consulted. So does one of `operator ANY`, with a query for each element.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/conditions.h"
#include "index/directory.h"
#include "index/keys.h"
#include "type/distinct.h"

/* How values of one scan key become keys; kept while its type stays the same. */
struct PbfidxKeyHasher
{
	Oid type;
	bool ready;
	PbfidxHasher hasher;     /* scalar */
	PbfidxQueryClass *class; /* multi-key */
};

void
pbfidx_init_conditions(PbfidxConditions *set, int scan_keys)
{
	memset(set, 0, sizeof(*set));
	set->mcxt = AllocSetContextCreate(CurrentMemoryContext, "pbfidx scan", ALLOCSET_SMALL_SIZES);
	set->temp = AllocSetContextCreate(CurrentMemoryContext, "pbfidx consistent", ALLOCSET_SMALL_SIZES);
	set->hashers = palloc0(Max(scan_keys, 1) * sizeof(PbfidxKeyHasher));
	set->owner = CurrentMemoryContext;
}

void
pbfidx_free_conditions(PbfidxConditions *set)
{
	MemoryContextDelete(set->mcxt);
	MemoryContextDelete(set->temp);
	pfree(set->hashers);
}

/* ---- keys ---- */

/* Duplicates of IN lists need no probes of their own. */
static void
sort_unique(PbfidxConditions *set, PbfidxCondition *c)
{
	c->n = pbf_distinct_hashes(set->keys + c->first, c->n);
	set->nkeys = c->first + c->n;
}

static void
add_key(PbfidxConditions *set, uint64 key, bool probed)
{
	if (set->nkeys == set->keys_room)
	{
		set->keys_room = Max(64, set->keys_room * 2);
		set->keys = set->keys == NULL ? palloc(set->keys_room * sizeof(uint64))
		                              : repalloc_huge(set->keys, set->keys_room * sizeof(uint64));
		set->probed = set->probed == NULL ? palloc(set->keys_room * sizeof(bool))
		                                  : repalloc_huge(set->probed, set->keys_room * sizeof(bool));
	}
	set->probed[set->nkeys] = probed;
	set->keys[set->nkeys++] = key;
}

/* What a condition is on. */
typedef struct Column
{
	int number; /* from 0; -1: the row key */
	int group;
	bool multikey;
} Column;

/* A new condition, on keys to be added. */
static PbfidxCondition *
begin_condition(PbfidxConditions *set, Column column)
{
	if (set->n == set->list_room)
	{
		set->list_room = Max(16, set->list_room * 2);
		set->list = set->list == NULL ? palloc(set->list_room * sizeof(PbfidxCondition))
		                              : repalloc_huge(set->list, set->list_room * sizeof(PbfidxCondition));
	}
	set->list[set->n] = (PbfidxCondition){
	    .column = column.number, .group = column.group, .multikey = column.multikey, .first = set->nkeys};
	return &set->list[set->n++];
}

/* All keys since begin_condition are its. */
static void
end_condition(PbfidxConditions *set, PbfidxCondition *c)
{
	c->n = set->nkeys - c->first;
	if (c->nqueries == 0)
		sort_unique(set, c);
}

static void
add_single_key(PbfidxConditions *set, Column column, uint64 key)
{
	PbfidxCondition *c = begin_condition(set, column);

	add_key(set, key, true);
	end_condition(set, c);
}

/* ---- conditions on scalar columns ---- */

static PbfidxHasher *
key_hasher(PbfidxKeyHasher *kept, Relation index, int column, Oid type, MemoryContext mcxt)
{
	if (!kept->ready || kept->type != type)
	{
		kept->ready = false;
		pbfidx_init_hasher(&kept->hasher, index, column, type, mcxt);
		pbfidx_require_same_kind(index, &kept->hasher);
		if (type != index->rd_opcintype[column])
		{
			PbfidxHasher stored;

			pbfidx_init_hasher(&stored, index, column, InvalidOid, mcxt);
			pbfidx_require_same_hash(&kept->hasher, &stored);
		}
		kept->type = type;
		kept->ready = true;
	}
	return &kept->hasher;
}

/*
 * The elements of an array that are not NULL; *all: how many there are with those. They are of the type that
 * the operator takes, whatever the array calls them: of an OR that became an array it has the type before a
 * relabelling.
 */
static Datum *
array_elements(Datum argument, int *n, int *all)
{
	ArrayType *array = DatumGetArrayTypeP(argument);
	int16 typlen;
	bool typbyval, *nulls;
	char typalign;
	Datum *elements;
	int kept = 0;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elements, &nulls, all);
	for (int i = 0; i < *all; i++)
	{
		if (!nulls[i])
			elements[kept++] = elements[i];
	}
	*n = kept;
	return elements;
}

static void
add_scalar_condition(PbfidxConditions *set, Relation index, Column column, const ScanKeyData *key,
                     PbfidxKeyHasher *kept)
{
	PbfidxCondition *c = begin_condition(set, column);
	const Datum *values = &key->sk_argument;
	PbfidxHasher *hasher = key_hasher(kept, index, column.number, key->sk_subtype, set->owner);
	int n = 1, all = 1;

	if (key->sk_flags & SK_SEARCHARRAY)
		values = array_elements(key->sk_argument, &n, &all);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_key(set, pbfidx_value_key(hasher, values[i]), true);
	}
	set->impossible = set->impossible || n == 0;
	if (!set->impossible)
		c->equality = pbfidx_make_equality(key, values, set->keys + c->first, n);
	end_condition(set, c);
	set->repeated += all - c->n;
}

/* ---- conditions on multi-key columns ---- */

static PbfidxQueryClass *
query_class(PbfidxKeyHasher *kept, Relation index, int column, MemoryContext mcxt)
{
	if (!kept->ready)
	{
		kept->class = MemoryContextAlloc(mcxt, sizeof(PbfidxQueryClass));
		pbfidx_init_query_class(kept->class, index, column, mcxt);
		kept->ready = true;
	}
	return kept->class;
}

/* All slots of a query, as its filter wants their masks; probed are those that it looks at, or that a
 * consultation alone does. */
static void
add_slots(PbfidxConditions *set, const PbfidxQuery *q, bool consulted_only)
{
	for (int slot = 0; slot <= q->n; slot++)
	{
		bool tested = q->consult && slot < q->n && q->roles[slot] == PBFIDX_KEY_TESTED;
		bool required = slot < q->n && q->roles[slot] == PBFIDX_KEY_REQUIRED;

		add_key(set, q->keys[slot], tested || (!consulted_only && (required || (q->any && q->any_of[slot]))));
	}
}

/* One query: what it requires becomes conditions of their own. */
static void
add_query(PbfidxConditions *set, Column column, PbfidxQuery *q)
{
	PbfidxCondition *c;

	for (int i = 0; i < q->n; i++)
	{
		if (q->roles[i] == PBFIDX_KEY_REQUIRED)
			add_single_key(set, column, q->keys[i]);
	}
	if (q->any)
	{
		c = begin_condition(set, column);
		for (int slot = 0; slot <= q->n; slot++)
		{
			if (q->any_of[slot])
				add_key(set, q->keys[slot], true);
		}
		end_condition(set, c);
	}
	q->narrowed = true;
	if (q->consult)
	{
		c = begin_condition(set, column);
		c->queries = palloc(sizeof(PbfidxQuery *));
		c->queries[c->nqueries++] = q;
		add_slots(set, q, true);
		end_condition(set, c);
	}
}

/* Several queries, one of which must be met. */
static void
add_queries(PbfidxConditions *set, Column column, PbfidxQuery **queries, int n)
{
	PbfidxCondition *c;

	for (int i = 0; i < n; i++)
	{
		if (pbfidx_is_unrestricted(queries[i]))
			return;
	}
	c = begin_condition(set, column);
	c->queries = queries;
	c->nqueries = n;
	for (int i = 0; i < n; i++)
		add_slots(set, queries[i], false);
	end_condition(set, c);
}

static void
add_multikey_condition(PbfidxConditions *set, Relation index, Column column, const ScanKeyData *key,
                       PbfidxKeyHasher *kept)
{
	PbfidxQueryClass *class = query_class(kept, index, column.number, set->owner);
	const Datum *values = &key->sk_argument;
	PbfidxQuery **queries;
	int n = 1, all, possible = 0;

	if (key->sk_flags & SK_SEARCHARRAY)
		values = array_elements(key->sk_argument, &n, &all);
	queries = palloc(Max(n, 1) * sizeof(PbfidxQuery *));
	for (int i = 0; i < n; i++)
	{
		queries[possible] =
		    pbfidx_make_query(class, key->sk_func.fn_oid, key->sk_collation, key->sk_strategy, values[i]);
		possible += queries[possible] != NULL;
	}
	set->impossible = set->impossible || possible == 0;
	if (possible == 1)
		add_query(set, column, queries[0]);
	else if (possible > 1)
		add_queries(set, column, queries, possible);
}

/* ---- all conditions ---- */

bool
pbfidx_compares_as_hashed(Oid index_collation, bool multikey, Oid collation)
{
	if (!OidIsValid(collation) || collation == DEFAULT_COLLATION_OID || collation == C_COLLATION_OID ||
	    (collation == index_collation && !multikey))
		return true;
	return get_collation_isdeterministic(collation);
}

/* What one scan key asks for, appended. */
static void
add_condition(PbfidxConditions *set, Relation index, const ScanKeyData *key, PbfidxKeyHasher *kept)
{
	int number = key->sk_attno - 1;
	uint8 code = pbfidx_cache(index)->column_group[number];
	Column column = {number, code & PBFIDX_GROUP_NUMBER, (code & PBFIDX_GROUP_MULTIKEY) != 0};

	if ((key->sk_flags & SK_SEARCHNOTNULL) ||
	    !pbfidx_compares_as_hashed(index->rd_indcollation[number], column.multikey, key->sk_collation))
		return; /* says nothing about keys */
	if (key->sk_flags & SK_SEARCHNULL)
		add_single_key(set, column, pbfidx_null_key(number));
	else if (key->sk_flags & SK_ISNULL)
		set->impossible = true;
	else if (column.multikey)
		add_multikey_condition(set, index, column, key, kept);
	else
		add_scalar_condition(set, index, column, key, kept);
}

/* The order in which conditions are looked at: group by group, consultations last, else column by column.
 * What scalar columns rule out, at rates a thousand times lower, the others are not asked for. */
static int
compare_conditions(const void *a, const void *b)
{
	const PbfidxCondition *x = a, *y = b;

	if (x->multikey != y->multikey)
		return x->multikey - y->multikey;
	if (x->group != y->group)
		return x->group - y->group;
	if ((x->nqueries > 0) != (y->nqueries > 0))
		return (x->nqueries > 0) - (y->nqueries > 0);
	return x->column - y->column;
}

void
pbfidx_make_conditions(PbfidxConditions *set, Relation index, const ScanKeyData *keys, int n)
{
	MemoryContext old;

	MemoryContextReset(set->mcxt);
	old = MemoryContextSwitchTo(set->mcxt);
	set->keys = NULL;
	set->probed = NULL;
	set->list = NULL;
	set->nkeys = set->repeated = set->keys_room = set->n = set->list_room = 0;
	set->impossible = false;
	for (int i = 0; i < n && !set->impossible; i++)
		add_condition(set, index, &keys[i], &set->hashers[i]);
	if (set->n == 0 && (pbfidx_cache(index)->flags & PBFIDX_ROW_KEY))
		add_single_key(set, (Column){-1, PBFIDX_ROW_KEY_GROUP, false}, PBFIDX_ROW_KEY_VALUE);
	if (set->n > 0)
		qsort(set->list, set->n, sizeof(PbfidxCondition), compare_conditions);
	MemoryContextSwitchTo(old);
}

/* ---- masks ---- */

/* Columns out of which a condition rules those that no key or no query speaks for. masks: of its keys. */
void
pbfidx_apply_condition(PbfidxConditions *set, const PbfidxCondition *c, const PbfidxMask *masks,
                       PbfidxMask *columns)
{
	PbfidxMask any = {{0}};
	MemoryContext old;

	if (c->nqueries == 0)
	{
		for (int i = 0; i < c->n; i++)
			pbfidx_mask_or(&any, &masks[i]);
		pbfidx_mask_and(columns, &any);
		return;
	}
	old = MemoryContextSwitchTo(set->temp);
	for (int i = 0; i < c->nqueries; i++)
	{
		PbfidxMask left = *columns;

		pbfidx_filter_columns(c->queries[i], masks, &left);
		pbfidx_mask_or(&any, &left);
		masks += c->queries[i]->n + 1;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(set->temp);
	pbfidx_mask_and(columns, &any);
}

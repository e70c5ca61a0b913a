/*
 * equality.c: whether a value of a row is equal to one of those that a condition on a scalar column allows.
 *
 * Values of one key are a list: first[] of each key, next[] of each value. It is made when the first row
 * asks.
 */
#include "postgres.h"

#include "access/transam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/equality.h"
#include "type/distinct.h"

struct PbfidxEquality
{
	FmgrInfo *function; /* of the operator, whose left side is the column */
	Oid collation;
	const Datum *values;
	uint64 *keys; /* one a value */
	int n;
	int *first; /* values by the positions of their keys, -1: none; NULL: not yet known */
	int *next;
	MemoryContext mcxt;
};

PbfidxEquality *
pbfidx_make_equality(const ScanKeyData *condition, const Datum *values, const uint64 *keys, int n)
{
	PbfidxEquality *e;
	Size size = n * sizeof(uint64);

	if (condition->sk_func.fn_oid >= FirstNormalObjectId)
		return NULL;
	e = palloc0(sizeof(*e));
	e->function = unconstify(FmgrInfo *, &condition->sk_func);
	e->collation = condition->sk_collation;
	e->values = values;
	e->keys = memcpy(MemoryContextAllocHuge(CurrentMemoryContext, size), keys, size);
	e->n = n;
	e->mcxt = CurrentMemoryContext;
	return e;
}

static void
list_values(PbfidxEquality *e, const uint64 *distinct, int ndistinct)
{
	int *first = MemoryContextAllocHuge(e->mcxt, ndistinct * sizeof(int));

	e->next = MemoryContextAllocHuge(e->mcxt, e->n * sizeof(int));
	for (int i = 0; i < ndistinct; i++)
		first[i] = -1;
	for (int i = 0; i < e->n; i++)
	{
		int position = pbf_find_hash(distinct, ndistinct, e->keys[i]);

		CHECK_FOR_INTERRUPTS();
		e->next[i] = first[position];
		first[position] = i;
	}
	e->first = first;
}

bool
pbfidx_is_any_equal(PbfidxEquality *e, const uint64 *distinct, int ndistinct, int position, Datum value)
{
	if (e->first == NULL)
		list_values(e, distinct, ndistinct);
	for (int i = e->first[position]; i >= 0; i = e->next[i])
	{
		CHECK_FOR_INTERRUPTS(); /* many values can have been given one key on purpose */
		if (DatumGetBool(FunctionCall2Coll(e->function, e->collation, value, e->values[i])))
			return true;
	}
	return false;
}

/*
 * conditions.h: what a scan looks for: conditions, each of them on keys of one group, all of which a row must
 * meet.
 */
#ifndef PBF_INDEX_CONDITIONS_H
#define PBF_INDEX_CONDITIONS_H

#include "access/skey.h"

#include "index/equality.h"
#include "index/query.h"
#include "index/slab.h"

/* Keys first..first + n - 1: without queries, in order, one of them the row must have; with queries, the
 * slots of each, one after the other, and one of the queries must be met. */
typedef struct PbfidxCondition
{
	int column; /* from 0; -1: the row key */
	int group;
	bool multikey; /* the group's column */
	int first;
	int n;
	PbfidxQuery **queries;
	int nqueries;
	PbfidxEquality *equality; /* all that one of the scan's conditions asks for; NULL: not known */
} PbfidxCondition;

typedef struct PbfidxKeyHasher PbfidxKeyHasher;

typedef struct PbfidxConditions
{
	uint64 *keys;
	bool *probed; /* whether the masks of the key are needed at all */
	int nkeys;
	int repeated; /* values of arrays that are NULL or have a key that was there before */
	int keys_room;
	PbfidxCondition *list; /* group by group, the scalar one first; in each those with queries last, else
	                          column by column */
	int n;
	int list_room;
	bool impossible; /* a condition that no row meets: the rest is undefined */

	MemoryContext mcxt;       /* of the keys; reset when others are made */
	MemoryContext temp;       /* reset after every call of a consistent function */
	PbfidxKeyHasher *hashers; /* one a scan key, */
	MemoryContext owner;      /* whose memory is here */
} PbfidxConditions;

/* For a scan with so many scan keys at most, in the current memory context. */
extern void pbfidx_init_conditions(PbfidxConditions *set, int scan_keys);
extern void pbfidx_free_conditions(PbfidxConditions *set);

/* Those of these scan keys, in the place of those that were there. None: every row qualifies. */
extern void pbfidx_make_conditions(PbfidxConditions *set, Relation index, const ScanKeyData *keys, int n);

/*
 * Whether a condition under that collation (InvalidOid: none) says something about the hashes of a column. An
 * index without a collation serves conditions under any, and under some strings of other bytes are equal. A
 * scalar one with such a collation has a hash function of its own for it.
 */
extern bool pbfidx_compares_as_hashed(Oid index_collation, bool multikey, Oid collation);

/* Takes out of the columns those in which no key or query of the condition speaks for a row. masks: of its
 * keys, which columns may have them. */
extern void pbfidx_apply_condition(PbfidxConditions *set, const PbfidxCondition *c, const PbfidxMask *masks,
                                   PbfidxMask *columns);

#endif

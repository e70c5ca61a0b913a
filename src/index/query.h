/*
 * query.h: the right side of a multi-key condition: its keys, and which ranges may hold a row that meets it.
 *
 * GIN's support functions decide. extractQuery gives the keys; triConsistent says whether the condition can
 * be true where each key is absent (FALSE) or perhaps present (MAYBE). A range without a key has no row with
 * it, so FALSE is certain; a key that is present, perhaps by a false positive, is in some row of the range,
 * and nobody knows which other keys are in the same one: never TRUE.
 */
#ifndef PBF_INDEX_QUERY_H
#define PBF_INDEX_QUERY_H

#include "access/gin.h"
#include "access/stratnum.h"

#include "index/keys.h"
#include "index/slab.h"

/* So many keys are asked about one by one; each question costs the function a walk over all keys. */
#define PBFIDX_EXAMINED_KEYS 256

/* The support functions of a column; kept from scan to scan. */
typedef struct PbfidxQueryClass
{
	PbfidxHasher hasher;
	FmgrInfo extract_query;
	FmgrInfo consistent; /* triConsistent, or consistent where the class has only that */
	bool ternary;
} PbfidxQueryClass;

typedef enum PbfidxKeyRole
{
	PBFIDX_KEY_UNKNOWN,  /* a partial match: stands for keys that nobody knows */
	PBFIDX_KEY_REQUIRED, /* without it no row qualifies */
	PBFIDX_KEY_TESTED    /* it depends on the others */
} PbfidxKeyRole;

/* Slots 0 .. n - 1 are the keys of the query; slot n is that of values without keys. */
typedef struct PbfidxQuery
{
	PbfidxQueryClass *class;
	StrategyNumber strategy;
	Datum query;
	int32 n;
	Datum *values;
	bool *nulls;
	Pointer *extra;
	GinTernaryValue *check;

	uint64 *keys; /* by slot */
	uint8 *roles; /* by slot, PbfidxKeyRole */
	bool *any_of; /* by slot: a row has one of these, */
	bool any;     /* if that is set */
	int nrequired;
	bool narrowed;  /* required keys and `any` are looked after elsewhere: pbfidx_filter_columns leaves them
	                   out */
	bool one_does;  /* of too many keys to be examined: it looks as if a row needs but one */
	bool consult;   /* beyond these, the consistent function has to be asked, */
	int ntested;    /* and its answer depends on that many keys */
	int *tested;    /* their slots */
	uint8 *answers; /* remembered, by the subset of these keys that is present; NULL: too many subsets */
} PbfidxQuery;

extern void pbfidx_init_query_class(PbfidxQueryClass *class, Relation index, int column, MemoryContext mcxt);

/*
 * Extracts the keys and finds out what can be tested. function, collation: of the condition's operator;
 * invalid collation: that of the class. The query lives in the current context, and so does what the support
 * functions allocate. NULL if no row can qualify.
 */
extern PbfidxQuery *pbfidx_make_query(PbfidxQueryClass *class, Oid function, Oid collation,
                                      StrategyNumber strategy, Datum query);

/* Whether nothing can be tested: every range stays. */
static inline bool
pbfidx_is_unrestricted(const PbfidxQuery *q)
{
	return q->nrequired == 0 && !q->any && !q->consult;
}

/* Of the columns those that may match. masks: by slot, the columns that may have the key. */
extern void pbfidx_filter_columns(PbfidxQuery *q, const PbfidxMask *masks, PbfidxMask *columns);

#endif

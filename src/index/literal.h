/*
 * literal.h: bytes that a value has to contain to match a condition.
 *
 * They are found in a row, or on a page, much faster than any operator of the server would tell.
 */
#ifndef PBF_INDEX_LITERAL_H
#define PBF_INDEX_LITERAL_H

#include "access/skey.h"

#include "core/kernel.h"

#define PBFIDX_MOST_ALTERNATIVES 8

/* One of these is in every value that matches. */
typedef struct PbfidxClause
{
	bool elements; /* they are whole elements of an array, of variable length */
	int n;
	PbfNeedle any[PBFIDX_MOST_ALTERNATIVES];
} PbfidxClause;

/*
 * What is known of the values that match a scan key, as at most `room` clauses, all of which hold. Their
 * bytes are allocated in the current memory context. Returns how many; 0: nothing is known. All values have
 * to be there as they are, neither compressed nor stored out of line.
 *
 * Of text = and LIKE, of arrays, jsonb and tsvector, under collations that compare bytes.
 */
extern int pbfidx_literals(const ScanKeyData *key, PbfidxClause *clauses, int room);

/* Whether there may be clauses for a scan key of this function. */
extern bool pbfidx_may_have_literals(Oid function);

/* Where one of the clause's literals begins first in bytes .. end - 1, or NULL. */
extern const char *pbfidx_find_literal(const PbfidxClause *clause, const char *bytes, const char *end);

#endif

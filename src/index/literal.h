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
	int16
	    element; /* they are whole elements of an array, of that many bytes, -1: of variable length; 0: no */
	char align;  /* of the elements */
	int n;
	PbfNeedle any[PBFIDX_MOST_ALTERNATIVES];
} PbfidxClause;

/*
 * What is known of the values that match a scan key, as at most `room` clauses, all of which hold. Their
 * bytes are allocated in the current memory context. Returns how many; 0: nothing is known. *exact: whether
 * all values that have a literal of each clause (pbfidx_has_literal) match.
 *
 * Of text = and LIKE, of arrays, jsonb and tsvector, under collations that compare bytes.
 */
extern int pbfidx_literals(const ScanKeyData *key, PbfidxClause *clauses, int room, bool *exact);

/* Whether there may be clauses for a scan key of this function. */
extern bool pbfidx_may_have_literals(Oid function);

/* Where in bytes .. end - 1, which may be anything that has the value, neither compressed nor out of line,
 * literal i may begin first, at or after `from`, or NULL. */
extern const char *pbfidx_find_literal(const PbfidxClause *clause, int i, const char *bytes, const char *from,
                                       const char *end);
/* Whether a value, of variable length and detoasted, has one of the clause's literals. */
extern bool pbfidx_has_literal(const PbfidxClause *clause, const struct varlena *value);

#endif

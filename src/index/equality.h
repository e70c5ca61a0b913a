/*
 * equality.h: whether a value of a row is equal to one of those that a condition on a scalar column allows.
 * That its hash is among theirs says so but for collisions; the operator itself is asked about the few values
 * of that hash, where the server compares with one after the other, of an array that is a parameter.
 */
#ifndef PBF_INDEX_EQUALITY_H
#define PBF_INDEX_EQUALITY_H

#include "access/skey.h"

typedef struct PbfidxEquality PbfidxEquality;

/*
 * Of n values, which live as long as what is returned, in the current memory context; their keys are copied.
 * NULL: the operator's function does not come with the server, and may cost or do anything.
 */
extern PbfidxEquality *pbfidx_make_equality(const ScanKeyData *condition, const Datum *values,
                                            const uint64 *keys, int n);

/*
 * A value of the column, not NULL, whose key is distinct[position], of the keys of all values in order and
 * without duplicates: always the same ones. May leave garbage in the current context.
 */
extern bool pbfidx_is_any_equal(PbfidxEquality *equality, const uint64 *distinct, int ndistinct, int position,
                                Datum value);

#endif

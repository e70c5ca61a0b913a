/*
 * keys.h: from the columns of a row, or the conditions of a scan, to 64-bit keys.
 *
 * All columns share the slabs, so a key is the value's hash mixed with the number of its column. NULL has a
 * key of its own in each column. Rows of partial indexes also have the row key, which scans without any
 * condition look for.
 */
#ifndef PBF_INDEX_KEYS_H
#define PBF_INDEX_KEYS_H

#include "utils/rel.h"

#include "core/position.h"
#include "type/value.h"

/* The support function of an operator class that brings a hash function of its own: (value, bigint seed) ->
 * bigint. */
#define PBFIDX_HASH_PROC 1
/* 2 to 6 are numbered as in GIN; 7 is for options of an operator class. */
#define PBFIDX_OPTIONS_PROC 7
#define PBFIDX_PROCS 7

#define PBFIDX_EQUAL_STRATEGY 1

/* Hashes values of one column. */
typedef struct PbfidxHasher
{
	PbfHasher value; /* by the hash contract, enums by OID */
	bool own;        /* by the operator class's function instead */
	FmgrInfo function;
	Oid collation;
	int column; /* from 0 */
} PbfidxHasher;

/* One for every column; lives in mcxt. */
extern PbfidxHasher *pbfidx_hashers(Relation index, MemoryContext mcxt);
/* Sets up hashing of values of another type of the column's family; InvalidOid or a pseudo-type: the column's
 * own. */
extern void pbfidx_init_hasher(PbfidxHasher *hasher, Relation index, int column, Oid type,
                               MemoryContext mcxt);
/* Refuses types that are or contain a composite type. */
extern void pbfidx_refuse_composite(Oid type);
/* Whether a hash of this index comes from a function of the server or a user. */
extern bool pbfidx_uses_server_hash(const PbfidxHasher *hashers, int n);

static inline uint64
pbfidx_column_key(int column, uint64 hash)
{
	return pbf_mix(hash + (uint64) (column + 1) * PBF_PLAIN_STEP);
}

/* Odd constants that no mixed hash is more likely to hit than any other number. */
static inline uint64
pbfidx_null_key(int column)
{
	return pbfidx_column_key(column, UINT64CONST(0x8f3c1e7b5a9d2460)) ^ UINT64CONST(0x5bf0363594e1f2a7);
}

#define PBFIDX_ROW_KEY_VALUE UINT64CONST(0x3c6ef372fe94f82b)

extern uint64 pbfidx_value_key(PbfidxHasher *hasher, Datum value);

/* The keys of a row into keys[] (room for one more than there are columns); returns how many. */
extern int pbfidx_row_keys(PbfidxHasher *hashers, int columns, bool row_key, const Datum *values,
                           const bool *isnull, uint64 *keys);

#endif

/*
 * keys.h: from the columns of a row, or the conditions of a scan, to 64-bit keys.
 *
 * A scalar column has one key for each value, its hash. A multi-key column, of a class with GIN's support
 * functions, has one for each of the keys that extractValue finds in the value. The hash is mixed with the
 * number of the column. NULL, a NULL among the keys of a value, and a value without keys have keys of their
 * own in each column. Rows of partial indexes also have the row key, which scans without any condition look
 * for.
 */
#ifndef PBF_INDEX_KEYS_H
#define PBF_INDEX_KEYS_H

#include "utils/rel.h"

#include "core/position.h"
#include "index/layout.h"
#include "type/value.h"

/* The support function of an operator class that brings a hash function of its own: (value, bigint seed) ->
 * bigint. */
#define PBFIDX_HASH_PROC 1
/* 2 to 7 are numbered as in GIN. */
#define PBFIDX_EXTRACT_VALUE_PROC 2
#define PBFIDX_EXTRACT_QUERY_PROC 3
#define PBFIDX_CONSISTENT_PROC 4
#define PBFIDX_COMPARE_PARTIAL_PROC 5 /* allowed, never called */
#define PBFIDX_TRICONSISTENT_PROC 6
#define PBFIDX_OPTIONS_PROC 7
#define PBFIDX_PROCS 7

#define PBFIDX_EQUAL_STRATEGY 1

/* Makes keys of the values of one column. */
typedef struct PbfidxHasher
{
	PbfHasher value;  /* by the hash contract, enums by OID */
	bool own;         /* by the operator class's function instead */
	bool by_locale;   /* keys are made of text as the database's locale has it */
	bool interpreted; /* the hash takes a function that is not written in C, or may do so */
	FmgrInfo function;
	Oid collation;
	int column; /* from 0 */
	int group;  /* of columns that share slabs, see layout.h */
	bool multikey;
	/* Multi-key: */
	FmgrInfo extract;      /* extractValue */
	Oid support_collation; /* GIN's functions are called under this one */
	double default_bits;   /* bits for a key if the column has no option */
} PbfidxHasher;

/* Keys of one row, as many as there are. */
typedef struct PbfidxKeyList
{
	uint64 *keys;
	int n;
	int room;
} PbfidxKeyList;

extern void pbfidx_init_key_list(PbfidxKeyList *list, MemoryContext mcxt);

/*
 * One for every column, with the groups assigned; lives in mcxt. Refuses more multi-key columns than there
 * can be groups.
 */
extern PbfidxHasher *pbfidx_hashers(Relation index, MemoryContext mcxt);
/* Sets up hashing of values of another type of the column's family; InvalidOid or a pseudo-type: the column's
 * own. */
extern void pbfidx_init_hasher(PbfidxHasher *hasher, Relation index, int column, Oid type,
                               MemoryContext mcxt);
/* The same for a column that has no index yet, of an operator class. */
extern void pbfidx_init_class_hasher(PbfidxHasher *hasher, Oid opclass, int column, Oid type, Oid collation,
                                     MemoryContext mcxt);
/* Gives every column its group; returns how many groups there are. */
extern int pbfidx_assign_groups(PbfidxHasher *hashers, int n);
/* What the metapage says of the column. */
extern uint8 pbfidx_column_code(const PbfidxHasher *hasher);
/*
 * That the column is of the kind that it was when the index was built: support functions that were added to a
 * class since change its keys.
 */
extern void pbfidx_require_same_kind(Relation index, const PbfidxHasher *hasher);
/* That a value to look for is hashed as those of the column are, of whatever type the operator makes it. */
extern void pbfidx_require_same_hash(const PbfidxHasher *hasher, const PbfidxHasher *column);
/* Whether the functions that made the keys of the index are those of this server, as far as that is known. If
 * not, `why`, where that is not NULL, says how it was built. */
extern bool pbfidx_are_hashes_trusted(Relation index, const char **why);
/* The same; a session is told once of each index that is not trusted. */
extern bool pbfidx_trust_or_warn(Relation index);
/* Before keys are added to an index: if they are made under another version of the locale than those that are
 * there, it is not to be trusted under either. */
extern void pbfidx_note_locale(Relation index);
/* Whether a hash of this index comes from a function of the server or a user. */
extern bool pbfidx_uses_server_hash(const PbfidxHasher *hashers, int n);
/* Whether a function that makes keys of these columns is not written in C: it may do anything. */
extern bool pbfidx_is_any_interpreted(const PbfidxHasher *hashers, int n);
/* Whether keys take functions that may look for something in tables: hash functions that are not written in
 * C, or in expressions any that do not come with the server. */
extern bool pbfidx_may_look_up(const PbfidxHasher *hashers, int n, List *expressions, List *predicate);

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

/* A NULL among the keys of a value. */
static inline uint64
pbfidx_null_item_key(int column)
{
	return pbfidx_column_key(column, UINT64CONST(0x2545f4914f6cdd1d)) ^ UINT64CONST(0x9fb21c651e98df25);
}

/* A value without keys. */
static inline uint64
pbfidx_empty_key(int column)
{
	return pbfidx_column_key(column, UINT64CONST(0xda942042e4dd58b5)) ^ UINT64CONST(0x1b03738712fad5c9);
}

#define PBFIDX_ROW_KEY_VALUE UINT64CONST(0x3c6ef372fe94f82b)
#define PBFIDX_ROW_KEY_GROUP 0

/* The key of a value; in a multi-key column of one of the keys of a value. */
extern uint64 pbfidx_value_key(PbfidxHasher *hasher, Datum value);

/* Appends the keys of a value of the column. May leave garbage in the current context. */
extern void pbfidx_column_keys(PbfidxHasher *hasher, Datum value, bool isnull, PbfidxKeyList *list);

/*
 * Appends the keys of a row in one group. May leave garbage in the current context.
 * row_key: in the group that has it.
 */
extern void pbfidx_row_keys(PbfidxHasher *hashers, int columns, int group, bool row_key, const Datum *values,
                            const bool *isnull, PbfidxKeyList *list);

#endif

/*
 * value.h: from a value of any SQL type to its kind and its 64-bit hash: the server's side of the hash
 * contract (doc/format.md). Values that are equal under their type's default equality hash alike.
 */
#ifndef PBF_TYPE_VALUE_H
#define PBF_TYPE_VALUE_H

#include "postgres.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "core/format.h"
#include "core/hash.h"

#pragma GCC visibility push(protected)

/* How enums are hashed: labels survive dump and restore, OIDs survive ALTER TYPE ... RENAME VALUE. */
typedef enum PbfEnumHash
{
	PBF_ENUM_BY_LABEL, /* filters: a stored value must outlive the cluster */
	PBF_ENUM_BY_OID    /* indexes: rebuilt by a restore anyway */
} PbfEnumHash;

typedef struct PbfHasher PbfHasher;

struct PbfHasher
{
	uint64 (*hash)(PbfHasher *hasher, Datum value);
	Oid type; /* the type that pbf_hasher_init was given; InvalidOid before */
	PbfKind kind;
	FmgrInfo fallback; /* the type's extended hash function, for kinds without canonical bytes of our own */
	bool interpreted;  /* that, or one that it calls, is not written in C: it may do anything, wait for locks
	                      too */
	bool by_locale;    /* that calls one of a user's string type, which may go by the locale */
};

/* Whether strings are hashed as what functions of the server convert them to. In LATIN1 a byte is a code
 * point. */
extern bool pbf_converts_text(void);

/* Whether a function is written in C. */
extern bool pbf_is_compiled(Oid function);

/*
 * Prepares hashing of values of `type` (any type; domains are looked through) under `collation`
 * (InvalidOid: not collatable or not known). No catalog access for the common built-in types, so that it
 * is cheap enough to do for every row. mcxt must live as long as the hasher.
 * Errors: a type without a default hash operator class or extended hash function, one whose function is
 * not IMMUTABLE, a nondeterministic collation, a case-insensitive string type, pbf itself and pseudo-types:
 * each with a hint.
 */
extern void pbf_hasher_init(PbfHasher *hasher, Oid type, Oid collation, PbfEnumHash enums,
                            MemoryContext mcxt);

/* Toasted, compressed, short-header and plain forms of a value hash alike. May leave garbage in the current
 * context. */
static inline uint64
pbf_hash_value(PbfHasher *hasher, Datum value)
{
	return hasher->hash(hasher, value);
}

/* The same where the type is a constant: whole numbers, the most frequent elements, without a call. */
static inline uint64
pbf_hash_value_of(PbfHasher *hasher, Oid type, Datum value)
{
	switch (type)
	{
		case INT8OID:
			return pbf_hash_int64(DatumGetInt64(value));
		case INT4OID:
			return pbf_hash_int64(DatumGetInt32(value));
		case INT2OID:
			return pbf_hash_int64(DatumGetInt16(value));
		default:
			return hasher->hash(hasher, value);
	}
}

#pragma GCC visibility pop

#endif

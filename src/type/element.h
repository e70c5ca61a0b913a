/*
 * element.h: hashing of arguments and adding of hashes, for element.c and agg.c.
 */
#ifndef PBF_TYPE_ELEMENT_H
#define PBF_TYPE_ELEMENT_H

#include "utils/array.h"

#include "type/type.h"
#include "type/value.h"

#pragma GCC visibility push(protected)

/* The type of an argument of a polymorphic function; ERRCODE_INDETERMINATE_DATATYPE if the caller did not
 * say. */
extern Oid pbf_argument_type(FunctionCallInfo fcinfo, int argument);

/*
 * The hashes of an array's elements, *n of them, palloc'd; NULL elements are left out. Initialises the hasher
 * (in mcxt) if it was for another type. If values is not NULL it receives the elements, in step with the
 * hashes.
 */
extern uint64 *pbf_hash_array(PbfHasher *hasher, MemoryContext mcxt, ArrayType *array, Oid collation, int *n,
                              Datum **values);

/* Adds in place to a finished filter, after checking the kind. */
extern void pbf_add_hashes(PbfFilter *f, PbfKind kind, const uint64 *hashes, int n);

#pragma GCC visibility pop

#endif

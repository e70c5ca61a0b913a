/*
 * compare.c: the bytewise order of filters: equality, btree and hash operator classes.
 *
 * Two filters are equal when their stored bytes are: geometry, kind and bits. The order has no meaning
 * beyond being one.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "type/type.h"

static int
compare_filters(FunctionCallInfo fcinfo)
{
	PbfFilter *a = PG_GETARG_PBF(0);
	PbfFilter *b = PG_GETARG_PBF(1);
	Size bytes_a = VARSIZE(a) - VARHDRSZ, bytes_b = VARSIZE(b) - VARHDRSZ;
	int result = memcmp(&a->version, &b->version, Min(bytes_a, bytes_b));

	if (result == 0 && bytes_a != bytes_b)
		result = bytes_a < bytes_b ? -1 : 1;
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

#define COMPARISON(name, test)                        \
	PG_FUNCTION_INFO_V1(name);                        \
	Datum name(PG_FUNCTION_ARGS)                      \
	{                                                 \
		PG_RETURN_BOOL(compare_filters(fcinfo) test); \
	}

COMPARISON(pbf_eq, == 0)
COMPARISON(pbf_ne, != 0)
COMPARISON(pbf_lt, < 0)
COMPARISON(pbf_le, <= 0)
COMPARISON(pbf_gt, > 0)
COMPARISON(pbf_ge, >= 0)

PG_FUNCTION_INFO_V1(pbf_cmp);
Datum
pbf_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_filters(fcinfo));
}

PG_FUNCTION_INFO_V1(pbf_hash_value32);
Datum
pbf_hash_value32(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	Datum hash = hash_any(&f->version, VARSIZE(f) - VARHDRSZ);

	/* Hash indexes call it in a context that lasts as long as they take to build. */
	PG_FREE_IF_COPY(f, 0);
	return hash;
}

PG_FUNCTION_INFO_V1(pbf_hash_value64);
Datum
pbf_hash_value64(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF(0);
	Datum hash = hash_any_extended(&f->version, VARSIZE(f) - VARHDRSZ, PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(f, 0);
	return hash;
}

/*
 * element.c: single elements and arrays of them: hashing, adding, membership.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "type/distinct.h"
#include "type/element.h"
#include "type/probe.h"

#define INTERRUPTIBLE_EVERY 4096 /* elements of an array */

PG_FUNCTION_INFO_V1(pbf_hash);
PG_FUNCTION_INFO_V1(pbf_add);
PG_FUNCTION_INFO_V1(pbf_add_array);
PG_FUNCTION_INFO_V1(pbf_add_hash);
PG_FUNCTION_INFO_V1(pbf_build);
PG_FUNCTION_INFO_V1(pbf_contains);
PG_FUNCTION_INFO_V1(pbf_contained);
PG_FUNCTION_INFO_V1(pbf_contains_hash);
PG_FUNCTION_INFO_V1(pbf_contains_all);
PG_FUNCTION_INFO_V1(pbf_contained_all);
PG_FUNCTION_INFO_V1(pbf_contains_any);
PG_FUNCTION_INFO_V1(pbf_contained_any);
PG_FUNCTION_INFO_V1(pbf_matching);

/* What a call remembers from row to row, in fn_extra. */
typedef struct ElementCall
{
	PbfHasher hasher;
	PbfProbe probe;
} ElementCall;

static ElementCall *
element_call(FunctionCallInfo fcinfo)
{
	ElementCall *call = fcinfo->flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(ElementCall));
		call->probe.mcxt = fcinfo->flinfo->fn_mcxt;
		fcinfo->flinfo->fn_extra = call;
	}
	return call;
}

Oid
pbf_argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	if (!OidIsValid(type))
		ereport(ERROR, errcode(ERRCODE_INDETERMINATE_DATATYPE),
		        errmsg("could not determine the type of the element"),
		        errhint("Call a variant of the function that is declared for the element's type."));
	return type;
}

/* The call's hasher for the type of that argument. */
static PbfHasher *
argument_hasher(FunctionCallInfo fcinfo, ElementCall *call, int argument)
{
	if (unlikely(!OidIsValid(call->hasher.type)))
		pbf_hasher_init(&call->hasher, pbf_argument_type(fcinfo, argument), PG_GET_COLLATION(),
		                PBF_ENUM_BY_LABEL, fcinfo->flinfo->fn_mcxt);
	return &call->hasher;
}

uint64 *
pbf_hash_array(PbfHasher *hasher, MemoryContext mcxt, ArrayType *array, Oid collation, int *n, Datum **values)
{
	Oid type = ARR_ELEMTYPE(array);
	int16 typlen;
	bool typbyval, *nulls;
	char typalign;
	Datum *elements;
	uint64 *hashes;
	int count, kept = 0;

	if (hasher->type != type)
		pbf_hasher_init(hasher, type, collation, PBF_ENUM_BY_LABEL, mcxt);
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &elements, &nulls, &count);
	hashes = palloc_extended(Max(count, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	for (int i = 0; i < count; i++)
	{
		if (i % INTERRUPTIBLE_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		hashes[kept] = pbf_hash_value(hasher, elements[i]);
		elements[kept++] = elements[i];
	}
	*n = kept;
	if (values != NULL)
		*values = elements;
	else
		pfree(elements);
	pfree(nulls);
	return hashes;
}

/* The hashes of an array argument; *hasher is the call's, set for the elements. */
static uint64 *
argument_hashes(FunctionCallInfo fcinfo, ElementCall *call, int argument, int *n)
{
	return pbf_hash_array(&call->hasher, fcinfo->flinfo->fn_mcxt, PG_GETARG_ARRAYTYPE_P(argument),
	                      PG_GET_COLLATION(), n, NULL);
}

Datum
pbf_hash(PG_FUNCTION_ARGS)
{
	PbfHasher *hasher = argument_hasher(fcinfo, element_call(fcinfo), 0);

	PG_RETURN_INT64((int64) pbf_hash_value(hasher, PG_GETARG_DATUM(0)));
}

void
pbf_add_hashes(PbfFilter *f, PbfKind kind, const uint64 *hashes, int n)
{
	PbfGeometry g = pbf_geometry_of(f);

	if (n == 0)
		return;
	/* A hash may stand for an element of any kind. */
	if (kind != PBF_KIND_HASH || f->kind == PBF_KIND_NONE)
	{
		pbf_check_add_kind(f->kind, kind);
		f->kind = (uint8) kind;
	}
	pbf_filter_add_many(&g, f->words, hashes, n);
}

Datum
pbf_add(PG_FUNCTION_ARGS)
{
	PbfHasher *hasher = argument_hasher(fcinfo, element_call(fcinfo), 1);
	PbfFilter *f = PG_GETARG_PBF_COPY(0);
	uint64 h = pbf_hash_value(hasher, PG_GETARG_DATUM(1));

	pbf_add_hashes(f, hasher->kind, &h, 1);
	PG_RETURN_PBF(f);
}

Datum
pbf_add_array(PG_FUNCTION_ARGS)
{
	ElementCall *call = element_call(fcinfo);
	PbfFilter *f = PG_GETARG_PBF_COPY(0);
	int n;
	uint64 *hashes = argument_hashes(fcinfo, call, 1, &n);

	pbf_add_hashes(f, call->hasher.kind, hashes, n);
	PG_RETURN_PBF(f);
}

Datum
pbf_add_hash(PG_FUNCTION_ARGS)
{
	PbfFilter *f = PG_GETARG_PBF_COPY(0);
	uint64 h = (uint64) PG_GETARG_INT64(1);

	pbf_add_hashes(f, PBF_KIND_HASH, &h, 1);
	PG_RETURN_PBF(f);
}

Datum
pbf_build(PG_FUNCTION_ARGS)
{
	ElementCall *call = element_call(fcinfo);
	double fpr = PG_GETARG_FLOAT8(1);
	PbfGeometry g;
	PbfFilter *f;
	uint64 *hashes;
	int n;

	pbf_check_fpr(fpr);
	hashes = argument_hashes(fcinfo, call, 0, &n);
	n = pbf_distinct_hashes(hashes, n);
	g = pbf_geometry_for(n, fpr, PBF_CHOOSE_AUTO);
	f = pbf_allocate(&g, PBF_KIND_NONE);
	pbf_add_hashes(f, call->hasher.kind, hashes, n);
	PG_RETURN_PBF(f);
}

static Datum
contains(FunctionCallInfo fcinfo, int filter, int element)
{
	ElementCall *call = element_call(fcinfo);
	PbfHasher *hasher = argument_hasher(fcinfo, call, element);
	uint64 h = pbf_hash_value(hasher, PG_GETARG_DATUM(element));

	PG_RETURN_BOOL(pbf_probe(&call->probe, PG_GETARG_DATUM(filter), hasher->kind, h));
}

Datum
pbf_contains(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, 0, 1);
}

Datum
pbf_contained(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, 1, 0);
}

Datum
pbf_contains_hash(PG_FUNCTION_ARGS)
{
	ElementCall *call = element_call(fcinfo);

	PG_RETURN_BOOL(pbf_probe(&call->probe, PG_GETARG_DATUM(0), PBF_KIND_HASH, (uint64) PG_GETARG_INT64(1)));
}

/* How many of n hashes the filter may contain; hit[i] says which. */
static int
count_hits(ElementCall *call, Datum filter, const uint64 *hashes, int n, uint8 *hit)
{
	const PbfFilter *f;
	PbfGeometry g;
	int hits = 0, done = 0;

	for (; done < n && pbf_probe_one_by_one(&call->probe, filter, n - done); done++)
		hits += hit[done] = pbf_probe(&call->probe, filter, call->hasher.kind, hashes[done]);
	if (done == n)
		return hits;
	f = pbf_probe_whole(&call->probe, filter);
	g = pbf_geometry_of(f);
	pbf_check_probe_kind(f->kind, call->hasher.kind);
	pbf_filter_contains_many(&g, f->words, hashes + done, n - done, hit + done);
	for (; done < n; done++)
		hits += hit[done];
	return hits;
}

/* The first elements often decide: one by one they may do with slices of a TOASTed filter. */
static Datum
contains_array(FunctionCallInfo fcinfo, int filter, int array, bool all)
{
	ElementCall *call = element_call(fcinfo);
	Datum d = PG_GETARG_DATUM(filter);
	int n, hits;
	uint64 *hashes = argument_hashes(fcinfo, call, array, &n);
	uint8 *hit;

	for (; n > 0 && pbf_probe_one_by_one(&call->probe, d, n); n--, hashes++)
	{
		if (pbf_probe(&call->probe, d, call->hasher.kind, *hashes) != all)
			PG_RETURN_BOOL(!all);
	}
	if (n == 0)
		PG_RETURN_BOOL(all);
	hit = palloc(n);
	hits = count_hits(call, d, hashes, n, hit);
	pfree(hit);
	PG_RETURN_BOOL(all ? hits == n : hits > 0);
}

Datum
pbf_contains_all(PG_FUNCTION_ARGS)
{
	return contains_array(fcinfo, 0, 1, true);
}

Datum
pbf_contained_all(PG_FUNCTION_ARGS)
{
	return contains_array(fcinfo, 1, 0, true);
}

Datum
pbf_contains_any(PG_FUNCTION_ARGS)
{
	return contains_array(fcinfo, 0, 1, false);
}

Datum
pbf_contained_any(PG_FUNCTION_ARGS)
{
	return contains_array(fcinfo, 1, 0, false);
}

Datum
pbf_matching(PG_FUNCTION_ARGS)
{
	ElementCall *call = element_call(fcinfo);
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
	Oid type = ARR_ELEMTYPE(array);
	int16 typlen;
	bool typbyval;
	char typalign;
	Datum *values;
	int n, kept = 0;
	uint64 *hashes =
	    pbf_hash_array(&call->hasher, fcinfo->flinfo->fn_mcxt, array, PG_GET_COLLATION(), &n, &values);
	uint8 *hit = palloc(Max(n, 1));

	count_hits(call, PG_GETARG_DATUM(0), hashes, n, hit);
	for (int i = 0; i < n; i++)
	{
		if (hit[i])
			values[kept++] = values[i];
	}
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	PG_RETURN_ARRAYTYPE_P(construct_array(values, kept, type, typlen, typbyval, typalign));
}

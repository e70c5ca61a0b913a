/*
 * theory.c: the formulas of core/theory.h as SQL functions: checks of arguments, nothing else. core/ has the
 * names of the SQL functions already, so these are pbf_sql_... here.
 */
#include "postgres.h"

#include "fmgr.h"

#include "core/geometry.h"
#include "core/theory.h"

PG_FUNCTION_INFO_V1(pbf_sql_fpr_standard);
PG_FUNCTION_INFO_V1(pbf_sql_fpr_standard_approx);
PG_FUNCTION_INFO_V1(pbf_sql_fpr_standard_element);
PG_FUNCTION_INFO_V1(pbf_sql_fpr_partitioned);
PG_FUNCTION_INFO_V1(pbf_sql_fpr_blocked);
PG_FUNCTION_INFO_V1(pbf_sql_collision_probability);
PG_FUNCTION_INFO_V1(pbf_sql_false_overlap_standard);
PG_FUNCTION_INFO_V1(pbf_sql_false_overlap_partitioned);

/* A number of keys, bits or blocks: no upper limit. `what` tells the user what it counts. */
static double
count_argument(const char *name, int64 value, int64 min, const char *what)
{
	if (value < min)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("%s out of range: %lld", name, (long long) value),
		        errdetail("%s must be at least %lld.", name, (long long) min),
		        errhint("%s is the number of %s.", name, what));
	return (double) value;
}

/* A number of hash functions, parts or positions. */
static unsigned
small_argument(const char *name, int32 value, int32 min, int32 max, const char *what)
{
	if (value < min || value > max)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s out of range: %d", name, value),
		        errdetail("%s must be between %d and %d.", name, min, max),
		        errhint("%s is the number of %s.", name, what));
	return (unsigned) value;
}

static double
keys_argument(const char *name, int64 value)
{
	return count_argument(name, value, 0, "distinct elements");
}

static double
bits_argument(int64 value)
{
	return count_argument("m", value, 1, "bits of the whole filter");
}

static unsigned
hashes_argument(int32 value)
{
	return small_argument("k", value, 1, PBF_PLAIN_MAX_PARTS, "hash functions, or parts");
}

/* Bits of a partitioned filter: at least one a part. */
static double
partitioned_bits_argument(int64 value, unsigned k)
{
	return count_argument("m", value, k, "bits of the whole filter, at least one for each of the k parts");
}

Datum
pbf_sql_fpr_standard(PG_FUNCTION_ARGS)
{
	double n = keys_argument("n", PG_GETARG_INT64(0));
	double m = bits_argument(PG_GETARG_INT64(1));
	unsigned k = hashes_argument(PG_GETARG_INT32(2));

	PG_RETURN_FLOAT8(pbf_fpr_standard(n, m, k));
}

Datum
pbf_sql_fpr_standard_approx(PG_FUNCTION_ARGS)
{
	double n = keys_argument("n", PG_GETARG_INT64(0));
	double m = bits_argument(PG_GETARG_INT64(1));
	unsigned k = hashes_argument(PG_GETARG_INT32(2));

	PG_RETURN_FLOAT8(pbf_fpr_standard_approx(n, m, k));
}

Datum
pbf_sql_fpr_standard_element(PG_FUNCTION_ARGS)
{
	double n = keys_argument("n", PG_GETARG_INT64(0));
	double m = bits_argument(PG_GETARG_INT64(1));
	unsigned k = hashes_argument(PG_GETARG_INT32(2));
	unsigned d = small_argument("d", PG_GETARG_INT32(3), 1, (int32) Min(k, m),
	                            "distinct positions of the element, at most k and at most m");

	PG_RETURN_FLOAT8(pbf_fpr_standard_element(n, m, k, d));
}

Datum
pbf_sql_fpr_partitioned(PG_FUNCTION_ARGS)
{
	double n = keys_argument("n", PG_GETARG_INT64(0));
	unsigned k = hashes_argument(PG_GETARG_INT32(2));
	double m = partitioned_bits_argument(PG_GETARG_INT64(1), k);

	PG_RETURN_FLOAT8(pbf_fpr_plain(n, k, m / k));
}

Datum
pbf_sql_fpr_blocked(PG_FUNCTION_ARGS)
{
	double n = keys_argument("n", PG_GETARG_INT64(0));
	double blocks = count_argument("blocks", PG_GETARG_INT64(1), 1, "blocks of the filter");
	unsigned parts = small_argument("parts", PG_GETARG_INT32(2), 1, PBF_PLAIN_MAX_PARTS, "parts of a block");
	double part_bits = count_argument("part_bits", PG_GETARG_INT64(3), 1, "bits of a part");

	PG_RETURN_FLOAT8(pbf_fpr_blocked(n, blocks, parts, part_bits));
}

Datum
pbf_sql_collision_probability(PG_FUNCTION_ARGS)
{
	double m = bits_argument(PG_GETARG_INT64(0));
	unsigned k = hashes_argument(PG_GETARG_INT32(1));
	unsigned c = small_argument("c", PG_GETARG_INT32(2), 0, (int32) k - 1,
	                            "collisions: k less the number of distinct positions");

	PG_RETURN_FLOAT8(pbf_collision_probability(m, k, c));
}

Datum
pbf_sql_false_overlap_standard(PG_FUNCTION_ARGS)
{
	double n1 = keys_argument("n1", PG_GETARG_INT64(0));
	double n2 = keys_argument("n2", PG_GETARG_INT64(1));
	double m = bits_argument(PG_GETARG_INT64(2));
	unsigned k = hashes_argument(PG_GETARG_INT32(3));

	PG_RETURN_FLOAT8(pbf_false_overlap_standard(n1, n2, m, k));
}

Datum
pbf_sql_false_overlap_partitioned(PG_FUNCTION_ARGS)
{
	double n1 = keys_argument("n1", PG_GETARG_INT64(0));
	double n2 = keys_argument("n2", PG_GETARG_INT64(1));
	unsigned k = hashes_argument(PG_GETARG_INT32(3));
	double m = partitioned_bits_argument(PG_GETARG_INT64(2), k);

	PG_RETURN_FLOAT8(pbf_false_overlap_partitioned(n1, n2, m, k));
}

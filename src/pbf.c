/*
 * pbf.c: the module: magic, settings.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "fmgr.h"
#include "utils/guc.h"

#include "core/kernel.h"
#include "core/sparse.h"
#include "index/cost.h"
#include "index/options.h"
#include "index/rows.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

/* In the order of simd_options. */
static const struct config_enum_entry simd_options[] = {
    {"auto", 0, false},   {"scalar", 1, false}, {"avx2", 2, false},
    {"avx512", 3, false}, {"neon", 4, false},   {NULL, 0, false},
};

static int simd = 0;

static bool
check_simd(int *value, void **extra, GucSource source)
{
	(void) extra;
	(void) source;
	if (pbf_kernel_find(simd_options[*value].name) != NULL)
		return true;
	GUC_check_errdetail("This machine cannot run the instruction set \"%s\".", simd_options[*value].name);
	GUC_check_errhint("\"auto\" takes the best one that it can run.");
	return false;
}

static void
assign_simd(int value, void *extra)
{
	(void) extra;
	pbf_kernel_use(pbf_kernel_find(simd_options[value].name));
}

void
_PG_init(void)
{
	pbf_sparse_secret = pg_prng_uint64(&pg_global_prng_state);

	DefineCustomEnumVariable(
	    "pbf.simd", "Instruction set used by Bloom filter operations.",
	    "Every one gives the same results; \"auto\" takes the fastest that this machine can run.", &simd, 0,
	    simd_options, PGC_USERSET, 0, check_simd, assign_simd, NULL);
	DefineCustomBoolVariable("pbf.enable_index", "Enables the planner's use of pbfidx indexes.", NULL,
	                         &pbfidx_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable(
	    "pbf.filter_rows", "Lets scans of pbfidx indexes look at the rows of the pages that they find.",
	    "Where that pays: for arrays of values, several conditions and multi-key columns. "
	    "Off, all rows of these pages "
	    "are compared by the executor.",
	    &pbfidx_filter_rows, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	pbfidx_init_options();
	pbfidx_init_cost();
	MarkGUCPrefixReserved("pbf");
}

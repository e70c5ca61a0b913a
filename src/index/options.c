/*
 * options.c: WITH (...) of CREATE INDEX. They are frozen in the metapage when the index is built: ALTER INDEX
 * SET takes effect with the next REINDEX.
 */
#include "postgres.h"

#include "access/reloptions.h"

#include "index/options.h"

static relopt_kind pbfidx_relopt_kind;

void
pbfidx_init_options(void)
{
	pbfidx_relopt_kind = add_reloption_kind();
	add_real_reloption(pbfidx_relopt_kind, "false_positive_rate",
	                   "Rate at which a range of heap pages is read in vain (1e-9 to 0.5).",
	                   PBFIDX_DEFAULT_FPR, PBFIDX_MIN_FPR, PBFIDX_MAX_FPR, AccessExclusiveLock);
	add_int_reloption(pbfidx_relopt_kind, "pages_per_range",
	                  "Heap pages in a range; 0 lets CREATE INDEX choose (0 to 131072).", 0, 0,
	                  PBFIDX_MAX_PAGES_PER_RANGE, AccessExclusiveLock);
}

bytea *
pbfidx_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
	    {.optname = "false_positive_rate",
	     .opttype = RELOPT_TYPE_REAL,
	     .offset = offsetof(PbfidxOptions, false_positive_rate)},
	    {.optname = "pages_per_range",
	     .opttype = RELOPT_TYPE_INT,
	     .offset = offsetof(PbfidxOptions, pages_per_range)},
	};

	return build_reloptions(reloptions, validate, pbfidx_relopt_kind, sizeof(PbfidxOptions), table,
	                        lengthof(table));
}

/*
 * options.h: WITH (...) of CREATE INDEX.
 */
#ifndef PBF_INDEX_OPTIONS_H
#define PBF_INDEX_OPTIONS_H

#include "postgres.h"
#include "utils/rel.h"

typedef struct PbfidxOptions
{
	int32 vl_len_;
	double false_positive_rate; /* of a range */
	int pages_per_range;        /* 0: chosen at build */
} PbfidxOptions;

#define PBFIDX_DEFAULT_FPR 2e-6
#define PBFIDX_MIN_FPR 1e-9
#define PBFIDX_MAX_FPR 0.5
#define PBFIDX_MAX_PAGES_PER_RANGE 131072 /* a segment of 1 GB */

extern void pbfidx_init_options(void);
extern bytea *pbfidx_options(Datum reloptions, bool validate);

static inline double
pbfidx_option_fpr(Relation index)
{
	return index->rd_options != NULL ? ((PbfidxOptions *) index->rd_options)->false_positive_rate
	                                 : PBFIDX_DEFAULT_FPR;
}

static inline int
pbfidx_option_pages_per_range(Relation index)
{
	return index->rd_options != NULL ? ((PbfidxOptions *) index->rd_options)->pages_per_range : 0;
}

#endif

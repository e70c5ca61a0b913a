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
	double false_positive_rate; /* of a range; PBFIDX_CHOSEN_FPR: chosen at build */
	int pages_per_range;        /* 0: chosen at build */
} PbfidxOptions;

#define PBFIDX_CHOSEN_FPR (-1.0)
#define PBFIDX_MIN_FPR 1e-9
#define PBFIDX_MAX_FPR 0.5
#define PBFIDX_MAX_PAGES_PER_RANGE 131072 /* a segment of 1 GB */
#define PBFIDX_MIN_BITS 1.0               /* a key, of a multi-key column */
#define PBFIDX_MAX_BITS 32.0

/*
 * Options of our multi-key operator classes, by support function 7. A class with an options function of its
 * own has the default.
 */
typedef struct PbfidxClassOptions
{
	int32 vl_len_;
	double bits_per_key;
} PbfidxClassOptions;

/* What was chosen for a multi-key column of an index. */
extern double pbfidx_bits_per_key(Relation index, int column);
/* The default of an operator class. */
extern double pbfidx_default_bits_per_key(Oid options_function);

extern void pbfidx_init_options(void);
extern bytea *pbfidx_options(Datum reloptions, bool validate);

static inline double
pbfidx_option_fpr(Relation index)
{
	return index->rd_options != NULL ? ((PbfidxOptions *) index->rd_options)->false_positive_rate
	                                 : PBFIDX_CHOSEN_FPR;
}

static inline int
pbfidx_option_pages_per_range(Relation index)
{
	return index->rd_options != NULL ? ((PbfidxOptions *) index->rd_options)->pages_per_range : 0;
}

#endif

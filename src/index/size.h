/*
 * size.h: how many pages a slab gets.
 *
 * The false positive rates of the two levels multiply where a leaf slab does not hold the key, so the split
 * of the asked rate between them is free; it is chosen for the fewest pages. Leaf slabs have few pages (3 or
 * 4 for one ordinary column), so the rounding goes to the upper level, which has many.
 *
 * The keys of a multi-key column are shared by many rows: what a range lacks the rest of its slab often has,
 * and then the leaf's rate alone counts. So what is fixed is not a rate but the pages, by bits for each
 * distinct key of a range, and both levels share them.
 */
#ifndef PBF_INDEX_SIZE_H
#define PBF_INDEX_SIZE_H

#include "index/directory.h"

#define PBFIDX_UPPER_MAX_BLOCKS 8192 /* 64 MB: beyond, leaf slabs are probed one by one */
#define PBFIDX_LEAF_MAX_BLOCKS 1024
/* Leaf slabs of a region without upper: 24 bits a key are 9e-5 a range, under one false page in such a table.
 */
#define PBFIDX_ALONE_MAX_BITS 24.0
/* An upper has room for a whole area: where that is the only region, it is worth its pages from so many leaf
 * slabs on. The longer the heap, the less the pages count beside the leaf slabs to be probed one by one.
 */
#define PBFIDX_UPPER_FROM_SLABS (PBFIDX_COLUMNS / 2)

static inline uint32
pbfidx_upper_from_slabs(PbfidxArea area)
{
	return area.regions > 1 ? 1 : Max(PBFIDX_UPPER_FROM_SLABS / (area.first + 1), 1);
}

typedef struct PbfidxPlan
{
	uint32 leaf_blocks;
	uint32 upper_blocks; /* 0: no upper */
} PbfidxPlan;

/* The rate of a range of scalar columns where none is asked for: the usual one, or what makes a look-up in a
 * long heap read at most one page in vain. */
extern double pbfidx_choose_fpr(double heap_blocks);
/* A group of scalar columns, whose rate is asked for; a multi-key column, whose bits are. */
extern PbfidxGroup pbfidx_scalar_group(double fpr);
extern PbfidxGroup pbfidx_multikey_group(double bits_per_key);

/* Heap pages of a range that together have enough keys; page_keys: distinct keys of one page. */
extern uint32 pbfidx_pages_per_range_for(double page_keys);

/* How wide the areas of a group of so many distinct keys in a range are, over a heap of so many ranges. */
extern PbfidxWidths pbfidx_widths_for(const PbfidxGroup *g, double range_keys, double ranges);

/* range_keys, column_keys: distinct keys in a range and in a column of the upper, which is `width` leaf slabs
 * of full ranges. width 0: no upper. */
extern PbfidxPlan pbfidx_plan(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width);

/* The rate of a range of that many distinct keys in a leaf slab of that many pages, taken alone. */
extern double pbfidx_leaf_fpr(const PbfidxGroup *g, double range_keys, double blocks);
/* Where one level is there already, the other one is chosen to suit it: fewest pages of a leaf slab ... */
extern uint32 pbfidx_leaf_blocks(const PbfidxGroup *g, double range_keys, double column_keys,
                                 uint32 upper_blocks);
/* ... and of an upper over leaf slabs of that mean rate. 0: more than an upper may have. */
extern uint32 pbfidx_upper_blocks(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width,
                                  double leaf_fpr);

/* Whether a slab has so many pages too many or too few that making it anew is worth it: sizes are whole
 * pages, and keys are counted anew. */
static inline bool
pbfidx_is_far_from(uint32 blocks, uint32 needed)
{
	uint64 less = Min(blocks, needed), more = Max(blocks, needed);

	return 2 * more > 3 * less;
}

/* Pages of all slabs of a group over that many ranges, and the rate of a range they would have. slab_keys:
 * distinct keys in a leaf slab. */
extern double pbfidx_planned_pages(const PbfidxGroup *g, double ranges, double range_keys, double slab_keys,
                                   double *rate);

/* Distinct keys a column, estimated from the bits of one page of a slab of that many blocks; 0 if it is
 * empty. */
extern double pbfidx_page_keys(const uint8 *matrix, int parts, uint32 blocks);
/* Mean share of set bits over the columns that have any; *used: how many those are. */
extern double pbfidx_page_fill(const uint8 *matrix, int parts, int *used);
/* Mean false positive rate over the used columns of a page; *saturated: columns that say yes to most keys. */
extern double pbfidx_page_fpr(const uint8 *matrix, int parts, int *saturated);

#endif

/*
 * fill.h: collecting the keys of many heap pages in memory and making slabs of them: for build and rebuild.
 */
#ifndef PBF_INDEX_FILL_H
#define PBF_INDEX_FILL_H

#include "index/directory.h"
#include "index/heapscan.h"

/* Distinct 64-bit keys, in the order of their arrival. */
typedef struct PbfidxKeySet
{
	uint64 *keys;
	uint32 n;
	uint32 room;
	uint32 *slots; /* open addressing: number of a key + 1, 0: free */
	uint32 mask;
} PbfidxKeySet;

extern PbfidxKeySet *pbfidx_new_keyset(void);
extern void pbfidx_clear_keyset(PbfidxKeySet *set);
extern void pbfidx_free_keyset(PbfidxKeySet *set);
/* true if the key was not there. */
extern bool pbfidx_add_key(PbfidxKeySet *set, uint64 key);

/*
 * Columns of a slab hold different numbers of keys, and the rate of a column grows with about the 6th power
 * of its keys (8 parts, filled between a third and a half). So the number that a slab is sized for is the
 * power mean: with it the mean rate is as asked.
 */
#define PBFIDX_MEAN_POWER 6

typedef struct PbfidxMean
{
	double sum;
	int n;
} PbfidxMean;

extern void pbfidx_add_to_mean(PbfidxMean *m, double keys); /* 0 keys: no column */
extern double pbfidx_mean(const PbfidxMean *m);

/* The keys of one leaf slab, by range. */
typedef struct PbfidxSlabKeys
{
	uint64 *keys; /* range after range */
	uint32 n, room;
	uint32 end[PBFIDX_COLUMNS]; /* where the keys of each range end */
	int ranges;                 /* scanned so far */
	PbfidxKeySet *range;        /* distinct keys of the range being scanned */
	PbfidxKeySet *slab;         /* distinct keys of the slab; NULL: not wanted */
} PbfidxSlabKeys;

extern PbfidxSlabKeys *pbfidx_new_slab_keys(bool want_slab);
extern void pbfidx_free_slab_keys(PbfidxSlabKeys *s);

/*
 * Scans the heap blocks of a leaf slab, up to the end of the heap. false: a rebuild that has to give up (see
 * heapscan.h). Checks for interrupts; `delay`: also for the cost-based vacuum delay.
 */
extern bool pbfidx_collect_slab(PbfidxSlabKeys *s, PbfidxHeapScan *scan, uint32 leaf, uint32 pages_per_range,
                                BlockNumber heap_blocks, bool delay);

/* Distinct keys of a range to size the slab for; the heap's last range, which may not be full, is left out.
 */
extern double pbfidx_mean_range_keys(const PbfidxSlabKeys *s);
/* Distinct keys of the slab, as if it were full. */
extern double pbfidx_full_slab_keys(const PbfidxSlabKeys *s);

/* Matrices of the slab's pages: blocks * PBFIDX_MATRIX_BYTES, palloc'd, zeroed. */
extern uint8 *pbfidx_new_matrices(uint32 blocks);
extern void pbfidx_set_leaf_keys(uint8 *matrices, uint32 blocks, const PbfidxSlabKeys *s);
extern void pbfidx_set_column_keys(uint8 *matrices, uint32 blocks, int level, int column, const uint64 *keys,
                                   uint32 n);

#endif

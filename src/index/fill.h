/*
 * fill.h: collecting the keys of many heap pages in memory and making slabs of them: for build and rebuild.
 */
#ifndef PBF_INDEX_FILL_H
#define PBF_INDEX_FILL_H

#include "index/directory.h"
#include "index/heapscan.h"
#include "index/size.h"

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

/* Distinct keys of a range that are kept to recognise others: beyond, every column is full whatever its size.
 */
#define PBFIDX_RANGE_MAX_KEYS ((uint32) PBFIDX_LEAF_MAX_BLOCKS * PBFIDX_ROWS)

/* A PbfidxTakeKeys: adds the keys of a range to the set `arg`, up to PBFIDX_RANGE_MAX_KEYS. */
extern void pbfidx_take_into_set(void *arg, OffsetNumber offset, const uint64 *keys, int n);

/*
 * Columns of a slab hold different numbers of keys, and the rate of a column grows with a power of its keys:
 * with about the 6th for 8 parts that are filled between a third and a half, the 3rd for 4. So the number
 * that a slab is sized for is the power mean: with it the mean rate is as asked.
 */
typedef struct PbfidxMean
{
	double power;
	double sum;
	int n;
} PbfidxMean;

static inline PbfidxMean
pbfidx_no_mean(const PbfidxGroup *g)
{
	return (PbfidxMean){g->parts * 0.75, 0, 0};
}

extern void pbfidx_add_to_mean(PbfidxMean *m, double keys); /* 0 keys: no column */
extern double pbfidx_mean(const PbfidxMean *m);

/* What becomes of the keys of a leaf slab. */
typedef enum PbfidxWanted
{
	PBFIDX_WANT_LEAF = 1, /* matrices of the leaf slab */
	PBFIDX_WANT_SLAB = 2  /* its distinct keys, for the upper */
} PbfidxWanted;

/*
 * The keys of one leaf slab. They are kept range after range until all are there and the size of the slab can
 * be chosen. If they take more than `memory` bytes, it is chosen for those that have come, and matrices take
 * over; so they do from the start where the size is given.
 */
typedef struct PbfidxSlabKeys
{
	const PbfidxGroup *group;
	int wanted;
	Size memory;
	bool with_upper; /* whether there is one over it: the size depends on that. Set by the caller */
	uint64 *keys;
	Size n, room;
	uint32 count[PBFIDX_COLUMNS]; /* keys of each range */
	int ranges;                   /* that have keys or come before one that has */
	int reached;                  /* ranges that the heap reaches */
	double expected;              /* distinct keys of a full range, if the caller knows; else 0 */
	PbfidxKeySet *range;          /* distinct keys of the range being scanned */
	PbfidxKeySet *slab;           /* distinct keys of the slab */
	bool too_many;                /* for any upper: `slab` is not complete */
	uint32 blocks;                /* of the matrices; 0: not chosen */
	uint8 *matrices;
} PbfidxSlabKeys;

extern PbfidxSlabKeys *pbfidx_new_slab_keys(const PbfidxGroup *group, int wanted, Size memory);
extern void pbfidx_free_slab_keys(PbfidxSlabKeys *s);

/* So many leaf slabs from a range on will be collected, one after the other: see pbfidx_begin_blocks, and end
 * it with pbfidx_end_blocks. */
extern void pbfidx_begin_slabs(PbfidxHeapScan *scan, uint64 first_range, uint32 slabs, uint32 pages_per_range,
                               BlockNumber heap_blocks);

/*
 * Scans the heap blocks of a leaf slab that begins with that range, up to the end of the heap. blocks: pages
 * of the leaf slab, 0 to have them chosen by pbfidx_slab_matrices. false: a rebuild that has to give up (see
 * heapscan.h). Checks for interrupts; `delay`: also for the cost-based vacuum delay.
 */
extern bool pbfidx_collect_slab(PbfidxSlabKeys *s, PbfidxHeapScan *scan, uint64 first_range,
                                uint32 pages_per_range, BlockNumber heap_blocks, uint32 blocks, bool delay);

/* The matrices of the leaf slab, s->blocks of them, in memory that stays the set's. */
extern const uint8 *pbfidx_slab_matrices(PbfidxSlabKeys *s);

/* Distinct keys of a range to size the slab for. The heap's last range, which may not be full, is left out,
 * or counts as what is expected of one if there is no other. */
extern double pbfidx_mean_range_keys(const PbfidxSlabKeys *s);
/* Mean fill of the used columns as an entry notes it: not known if the slab has one range that has just
 * begun. */
extern float4 pbfidx_built_fill(const PbfidxSlabKeys *s, const uint8 *matrices);
/* Distinct keys of the slab, as if the heap reached its end. */
extern double pbfidx_full_slab_keys(const PbfidxSlabKeys *s);

/*
 * Distinct keys of a column of an upper, which is `width` leaf slabs. More than one are not worth another set
 * of all their keys: there they are counted among one in SAMPLED.
 */
typedef struct PbfidxColumnKeys
{
	uint32 width;
	int ranges;           /* seen so far */
	double one_slab;      /* most of one leaf slab, as if it were full */
	PbfidxKeySet *sample; /* of several */
} PbfidxColumnKeys;

extern void pbfidx_init_column_keys(PbfidxColumnKeys *c, uint32 width);
extern void pbfidx_add_slab_keys(PbfidxColumnKeys *c, const PbfidxSlabKeys *s);
/* As if the column were full; 0 if it is empty. The next one begins. */
extern double pbfidx_take_column_keys(PbfidxColumnKeys *c);

/* Matrices of the slab's pages: blocks * PBFIDX_MATRIX_BYTES, palloc'd, zeroed. */
extern uint8 *pbfidx_new_matrices(uint32 blocks);
extern void pbfidx_set_column_keys(uint8 *matrices, uint32 blocks, int parts, int level, int column,
                                   const uint64 *keys, Size n);

#endif

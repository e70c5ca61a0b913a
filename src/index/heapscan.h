/*
 * heapscan.h: the keys of every row version on a heap page, for build, rebuild and check.
 */
#ifndef PBF_INDEX_HEAPSCAN_H
#define PBF_INDEX_HEAPSCAN_H

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "index/keys.h"

typedef enum PbfidxScanPurpose
{
	PBFIDX_BUILD,
	PBFIDX_REBUILD, /* nothing that may fail is tried: see pbfidx_scan_block */
	PBFIDX_CHECK    /* only versions that the active snapshot sees */
} PbfidxScanPurpose;

/* Gets the keys of one row version of the block being scanned; they may not be kept. */
typedef void (*PbfidxTakeKeys)(void *arg, OffsetNumber offset, const uint64 *keys, int n);

typedef struct PbfidxHeapScan
{
	Relation heap;
	IndexInfo *info;
	PbfidxHasher *hashers;
	int columns;
	int groups;
	int group; /* whose keys are wanted: the caller may change it between blocks */
	bool row_key;
	PbfidxScanPurpose purpose;
	BufferAccessStrategy strategy;
	TransactionId oldest_xmin;
	/* Of a rebuild, set by the caller: */
	bool sampling;                /* what cannot be had is left out */
	TransactionId self_inserting; /* inserts from this transaction on set their bits in what is being built */
	/* What died before it may have lost its TOAST, although a snapshot of this backend is older: others did
	 * not heed that until then. Invalid: they always did. */
	TransactionId removed_before;

	/* private */
	Relation toast; /* of a rebuild, which reads it under the lock of a page; NULL: none */
	Relation *toast_indexes;
	int toast_index_count;
	Bitmapset *attributes; /* that keys, expressions and the predicate take, offset as in pull_varattnos */
	int attributes_group;
	bool fresh;     /* of a rebuild: oldest_xmin was asked for since the page was locked */
	bool evaluates; /* expressions or a predicate */
	bool looks_up;  /* see pbfidx_may_look_up */
	bool pushed;    /* of a rebuild that looks up: the active snapshot is its own */
	Snapshot
	    latest; /* of the same: a second one, for rows that the active one does not see; NULL: none yet */
	bool stale; /* the page has a row that neither sees */
	HeapTuple *flat;         /* of a rebuild, by offset: copies with what is out of line; NULL: not needed */
	MemoryContext flat_mcxt; /* reset for every block */
	PbfBlockStream stream;
	EState *estate;
	ExprState *predicate;
	TupleTableSlot *slot;
	MemoryContext mcxt; /* reset for every row */
	PGAlignedBlock page;
	PbfidxKeyList keys;
	PbfidxTakeKeys take;
	void *arg;

	int64 live; /* live rows so far, all blocks, counted for the first group */
} PbfidxHeapScan;

/* Ready to scan; an active snapshot is needed for expressions and predicates. A rebuild pushes others on top
 * of it, until it is ended. */
extern PbfidxHeapScan *pbfidx_begin_heapscan(Relation heap, Relation index, IndexInfo *info, bool row_key,
                                             PbfidxScanPurpose purpose);
/* The same for columns that have no index yet: n hashers, and what info says of their attributes. */
extern PbfidxHeapScan *pbfidx_begin_heapscan_for(Relation heap, IndexInfo *info, PbfidxHasher *hashers, int n,
                                                 bool row_key, PbfidxScanPurpose purpose);
extern void pbfidx_end_heapscan(PbfidxHeapScan *scan);

/* Blocks first to end - 1 will be scanned, one after the other: they may be read ahead, until it is ended.
 * Worth it for thousands of blocks: to begin takes longer than to read some hundred. */
extern void pbfidx_begin_blocks(PbfidxHeapScan *scan, BlockNumber first, BlockNumber end);
extern void pbfidx_end_blocks(PbfidxHeapScan *scan);

/*
 * Calls `take` with the keys of each version on the block that some snapshot could see. A rebuild gets false
 * if a version that is not live would need its TOAST, an expression or a predicate, or one that is being
 * inserted a hash function that looks something up: these may fail, and a rebuild must not; `take` was called
 * for none then. It runs on a
 * copy of the page, when no lock is held.
 */
extern bool pbfidx_scan_block(PbfidxHeapScan *scan, BlockNumber block, PbfidxTakeKeys take, void *arg);

/* The roots of the HOT chains on the block that was scanned last, at most MaxHeapTuplesPerPage; returns how
 * many. */
extern int pbfidx_scanned_roots(const PbfidxHeapScan *scan, BlockNumber block, ItemPointerData *tids);

#endif

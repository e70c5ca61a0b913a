/*
 * heapscan.h: the keys of every row version on a heap page, for build, rebuild and check.
 */
#ifndef PBF_INDEX_HEAPSCAN_H
#define PBF_INDEX_HEAPSCAN_H

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "index/keys.h"

typedef enum PbfidxScanPurpose
{
	PBFIDX_BUILD,
	PBFIDX_REBUILD, /* nothing that may fail is tried: see pbfidx_scan_block */
	PBFIDX_CHECK    /* only versions that the active snapshot sees */
} PbfidxScanPurpose;

typedef struct PbfidxHeapScan
{
	Relation heap;
	IndexInfo *info;
	PbfidxHasher *hashers;
	int columns;
	bool row_key;
	PbfidxScanPurpose purpose;
	BufferAccessStrategy strategy;
	TransactionId oldest_xmin;

	/* private */
	EState *estate;
	ExprState *predicate;
	TupleTableSlot *slot;
	MemoryContext mcxt; /* reset for every row */
	PGAlignedBlock page;

	/* what pbfidx_scan_block found */
	uint64 *keys;
	int n;
	int room;
	OffsetNumber offsets[MaxHeapTuplesPerPage]; /* of the versions that keys were taken from, */
	int ends[MaxHeapTuplesPerPage];             /* and where the keys of each end */
	int versions;
	int64 live; /* live rows so far, all blocks */
} PbfidxHeapScan;

/* Ready to scan; an active snapshot is needed for expressions and predicates. */
extern PbfidxHeapScan *pbfidx_begin_heapscan(Relation heap, Relation index, IndexInfo *info, bool row_key,
                                             PbfidxScanPurpose purpose);
/* The same for columns that have no index yet: n hashers, and what info says of their attributes. */
extern PbfidxHeapScan *pbfidx_begin_heapscan_for(Relation heap, IndexInfo *info, PbfidxHasher *hashers, int n,
                                                 bool row_key, PbfidxScanPurpose purpose);
extern void pbfidx_end_heapscan(PbfidxHeapScan *scan);

/*
 * Leaves in scan->keys the keys of all versions on the block that some snapshot could see. A rebuild gets
 * false if a version that is not live would need its TOAST, an expression or a predicate: these may fail, and
 * a rebuild must not.
 */
extern bool pbfidx_scan_block(PbfidxHeapScan *scan, BlockNumber block);

#endif

/*
 * rebuild.h: making a slab anew under concurrent inserts.
 */
#ifndef PBF_INDEX_REBUILD_H
#define PBF_INDEX_REBUILD_H

#include "index/fill.h"
#include "index/size.h"

typedef struct PbfidxRebuild
{
	Relation heap;
	Relation index;
	uint32 pages_per_range;
	uint32 groups;
	PbfidxGroup group[PBFIDX_MAX_GROUPS];
	PbfidxHeapScan *scan;
	uint64 heap_pages; /* read so far: the price */
	bool delay;        /* within VACUUM: pay for cost-based delay */
} PbfidxRebuild;

/* The caller holds ShareUpdateExclusiveLock on the heap, and a snapshot if the index has expressions or a
 * predicate. */
extern PbfidxRebuild *pbfidx_begin_rebuild(Relation heap, Relation index, bool delay);
extern void pbfidx_end_rebuild(PbfidxRebuild *r);

/*
 * Replaces a slab, or makes an upper that is not there. false if it was given up: the slab that is there
 * stays right. (No place to note the freed space; a dead row version whose keys cannot be had; too large an
 * upper.)
 */
extern bool pbfidx_rebuild_slab(PbfidxRebuild *r, PbfidxSlabId id);

/* Whether a slab's rate is well above what it was when it was built: by one of its pages. */
extern bool pbfidx_is_overfull(Relation index, PbfidxSlabId id, const PbfidxEntry *entry,
                               BufferAccessStrategy strategy);

#endif

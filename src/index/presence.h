/*
 * presence.h: whether the keys of heap pages are in the index, a range at a time.
 */
#ifndef PBF_INDEX_PRESENCE_H
#define PBF_INDEX_PRESENCE_H

#include "access/genam.h"

#include "index/fill.h"
#include "index/heapscan.h"

typedef struct PbfidxPresence
{
	Relation index;
	PbfidxHeapScan *scan; /* PBFIDX_CHECK */
	BlockNumber heap_blocks;
	uint32 pages_per_range;
	ItemPointerData *tids; /* roots of the rows of the range that was asked for last; NULL: not wanted */
	int n;

	/* private */
	PbfidxKeySet *keys; /* distinct ones, not tested yet */
	BlockNumber block;
	bool present;
} PbfidxPresence;

/* An active snapshot is needed. */
extern void pbfidx_begin_presence(PbfidxPresence *p, Relation heap, Relation index);
extern void pbfidx_end_presence(PbfidxPresence *p);
/*
 * Whether all bits are set, in one group of columns, of the rows of a range that the active snapshot sees.
 * Each distinct key of the range is tested once.
 */
extern bool pbfidx_is_range_present(PbfidxPresence *p, int group, BlockNumber first_block);

/* Calls back for the rows that have all of their bits set, for the validation of a concurrent build: what it
 * does not hear of it inserts. Returns how many. */
extern int64 pbfidx_report_present(Relation heap, Relation index, IndexBulkDeleteCallback callback,
                                   void *state);

#endif

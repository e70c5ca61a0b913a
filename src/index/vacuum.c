/*
 * vacuum.c: VACUUM.
 *
 * Bits cannot be removed, so dead rows need no pass over the index. What VACUUM does instead, within a budget
 * of heap pages to read: rebuilds that were interrupted, upper slabs that are missing, leaf slabs that became
 * overfull.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/rebuild.h"
#include "index/vacuum.h"

/* Heap pages that one VACUUM may read for the index: a quarter of the table, and always enough for a region.
 */
#define BUDGET_FRACTION 4

/* Leaf slabs that the region has. */
static int
count_leaves(const PbfidxRegion *region)
{
	int n = 0;

	for (int i = 0; i < PBFIDX_COLUMNS; i++)
		n += region->leaf[i].now.start != 0;
	return n;
}

static bool
needs_upper(const PbfidxRegion *region)
{
	if (region->upper.next.start != 0)
		return true;
	return region->upper.now.start == 0 && count_leaves(region) >= PBFIDX_UPPER_FROM_SLABS;
}

static void
maintain_region(PbfidxRebuild *r, uint32 number, uint64 budget)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));
	PbfidxSlabId upper = {PBFIDX_UPPER, number};

	if (pbfidx_read_region(r->index, number, region))
	{
		if (needs_upper(region))
		{
			pbfidx_rebuild_slab(r, upper);
			pbfidx_read_region(r->index, number, region);
		}
		for (int i = 0; i < PBFIDX_COLUMNS && r->heap_pages < budget; i++)
		{
			PbfidxSlabId leaf = {PBFIDX_LEAF, number * PBFIDX_COLUMNS + i};

			pbf_vacuum_delay_point();
			if (region->leaf[i].next.start != 0 ||
			    (region->leaf[i].now.start != 0 && pbfidx_is_overfull(r->index, leaf, &region->leaf[i])))
				pbfidx_rebuild_slab(r, leaf);
		}
		if (region->upper.now.start != 0 && r->heap_pages < budget &&
		    pbfidx_is_overfull(r->index, upper, &region->upper))
			pbfidx_rebuild_slab(r, upper);
	}
	pfree(region);
}

static void
maintain(Relation heap, Relation index)
{
	PbfidxRebuild *r = pbfidx_begin_rebuild(heap, index, true);
	uint64 region_pages = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * r->pages_per_range;
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(heap);
	uint64 budget = Max(heap_blocks / BUDGET_FRACTION, 2 * region_pages);

	for (uint32 region = 0; region * region_pages < heap_blocks && r->heap_pages < budget; region++)
		maintain_region(r, region, budget);
	pbfidx_end_rebuild(r);
}

IndexBulkDeleteResult *
pbfidx_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
                  void *state)
{
	(void) info;
	(void) callback;
	(void) state;
	return stats != NULL ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

/* Expressions and predicates are code of the table's owner; what it may do is restricted in parallel mode. */
static bool
may_maintain(Relation index)
{
	if (!index->rd_index->indisvalid || RecoveryInProgress())
		return false;
	return !IsInParallelMode() ||
	       (RelationGetIndexExpressions(index) == NIL && RelationGetIndexPredicate(index) == NIL);
}

IndexBulkDeleteResult *
pbfidx_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	if (may_maintain(info->index))
	{
		Relation heap = table_open(info->index->rd_index->indrelid, NoLock);
		bool push = !ActiveSnapshotSet();

		if (push)
			PushActiveSnapshot(GetTransactionSnapshot());
		maintain(heap, info->index);
		if (push)
			PopActiveSnapshot();
		table_close(heap, NoLock);
	}
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}

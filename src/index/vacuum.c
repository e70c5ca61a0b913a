/*
 * vacuum.c: VACUUM.
 *
 * Bits cannot be removed, so there is nothing to do for dead rows.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "index/vacuum.h"

IndexBulkDeleteResult *
pbfidx_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	(void) info;
	(void) callback;
	(void) state;
	return stats != NULL ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

IndexBulkDeleteResult *
pbfidx_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}

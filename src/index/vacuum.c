/*
 * vacuum.c: VACUUM.
 *
 * Bits cannot be removed, so dead rows need no pass over the index. What VACUUM does instead, within a budget
 * of heap pages to read: rebuilds that were interrupted, upper slabs that are missing, slabs that became
 * overfull, leaf slabs that are larger than need be.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/vacuum.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/presence.h"
#include "index/rebuild.h"
#include "index/rights.h"
#include "index/size.h"
#include "index/vacuum.h"

/* Heap pages that one VACUUM may read for the index: half of the table, and always enough for some regions.
 */
#define BUDGET_FRACTION 2
#define BUDGET_REGIONS 4

/* Whether there are enough leaf slabs under an upper for it to be worth its pages. */
static bool
has_leaves(const PbfidxRebuild *r, PbfidxSlabId upper, PbfidxArea area)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));
	uint32 n = 0, enough = pbfidx_upper_from_slabs(area);

	for (uint32 i = 0; i < area.regions && n < enough; i++)
	{
		pbfidx_read_region(r->index, upper.slab + i * r->groups, region);
		for (int leaf = 0; leaf < PBFIDX_COLUMNS; leaf++)
			n += region->leaf[leaf].now.start != 0;
	}
	pfree(region);
	return n >= enough;
}

static bool
needs_upper(const PbfidxRebuild *r, PbfidxSlabId id, PbfidxArea area, const PbfidxEntry *upper)
{
	return upper->next.start != 0 || (upper->now.start == 0 && has_leaves(r, id, area));
}

/* A leaf slab from the time when there was no upper is much larger than it has to be now, if it is sized by a
 * rate. */
static bool
is_oversized(const PbfidxGroup *g, const PbfidxEntry *upper, const PbfidxEntry *leaf)
{
	uint32 needed;

	if (g->bits_per_key > 0 || upper->now.start == 0 || leaf->now.start == 0 || leaf->column_keys == 0)
		return false;
	needed = pbfidx_leaf_blocks(g, leaf->column_keys, upper->column_keys, upper->now.blocks);
	return leaf->now.blocks > needed && pbfidx_is_far_from(leaf->now.blocks, needed);
}

static bool
needs_rebuild(const PbfidxRebuild *r, const PbfidxEntry *upper, PbfidxSlabId leaf, const PbfidxEntry *entry)
{
	if (entry->next.start != 0)
		return true;
	return entry->now.start != 0 &&
	       (is_oversized(pbfidx_group_of(pbfidx_cache(r->index), leaf), upper, entry) ||
	        pbfidx_is_overfull(r->index, leaf, entry, r->scan->strategy));
}

/* The upper of the area is looked at with its first region. */
static void
maintain_region(PbfidxRebuild *r, uint32 number, uint64 budget)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));
	PbfidxArea area = pbfidx_area_over(pbfidx_cache(r->index), number);
	PbfidxSlabId upper_id = pbfidx_upper_of(pbfidx_cache(r->index), area, number % r->groups);
	bool first = upper_id.slab == number;
	PbfidxEntry upper;

	pbfidx_read_uppers(r->index, &upper_id, 1, &upper);
	if (first && needs_upper(r, upper_id, area, &upper))
	{
		pbfidx_rebuild_slab(r, upper_id);
		pbfidx_read_uppers(r->index, &upper_id, 1, &upper);
	}
	pbfidx_read_region(r->index, number, region);
	for (int i = 0; i < PBFIDX_COLUMNS && r->heap_pages < budget; i++)
	{
		PbfidxSlabId leaf = {PBFIDX_LEAF, number * PBFIDX_COLUMNS + i};

		pbf_vacuum_delay_point();
		if (needs_rebuild(r, &upper, leaf, &region->leaf[i]))
			pbfidx_rebuild_slab(r, leaf);
	}
	if (first && upper.now.start != 0 && r->heap_pages < budget &&
	    pbfidx_is_overfull(r->index, upper_id, &upper, r->scan->strategy))
		pbfidx_rebuild_slab(r, upper_id);
	pfree(region);
}

/* Pages of the index that nothing uses. */
static BlockNumber
free_pages(Relation index)
{
	BlockNumber pages = RelationGetNumberOfBlocks(index), n;
	PbfidxMeta *meta = palloc(sizeof(PbfidxMeta));

	pbfidx_read_meta(index, meta);
	n = pages > meta->hwm ? pages - meta->hwm : 0;
	for (uint32 i = 0; i < meta->free_count; i++)
		n += meta->free[i].blocks;
	pfree(meta);
	return n;
}

/* Starts anywhere and goes round, so that a small budget serves all regions in turn. An index that has to be
 * built anew is not worth the work. removed_before: see heapscan.h. */
static void
maintain(Relation heap, Relation index, TransactionId removed_before, IndexBulkDeleteResult *stats)
{
	PbfidxRebuild *r = pbfidx_begin_rebuild(heap, index, true);
	uint64 region_pages = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * r->pages_per_range;
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(heap);
	uint32 regions = (uint32) ((heap_blocks + region_pages - 1) / region_pages) * r->groups;
	uint32 first = regions > 0 ? (uint32) pg_prng_uint64_range(&pg_global_prng_state, 0, regions - 1) : 0;
	uint64 budget = Max(heap_blocks / BUDGET_FRACTION, BUDGET_REGIONS * region_pages);

	r->scan->removed_before = removed_before;
	if (!pbfidx_are_hashes_trusted(index, NULL))
		regions = 0;
	for (uint32 i = 0; i < regions && r->heap_pages < budget; i++)
		maintain_region(r, (first + i) % regions, budget);
	pbfidx_end_rebuild(r);
	stats->pages_free = free_pages(index);
}

/* What to do about an error; what is damaged does not mend by itself. The page may be the table's. */
static const char *
advice_for(Relation index, const ErrorData *error)
{
	switch (error->sqlerrcode)
	{
		case ERRCODE_DISK_FULL:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_INDEX_CORRUPTED:
		case ERRCODE_INVALID_OBJECT_DEFINITION:
		case ERRCODE_OBJECT_IN_USE:
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
			if (error->hint != NULL)
				return error->hint;
			break;
		case ERRCODE_DATA_CORRUPTED:
			return psprintf(
			    "If the page is of the index: REINDEX INDEX \"%s\"; nothing of the table is lost.",
			    RelationGetRelationName(index));
	}
	return "The index stays right, and the next VACUUM tries again. Expressions, predicates and support "
	       "functions run with search_path = " PBFIDX_SAFE_SEARCH_PATH ": qualify the names in them.";
}

/* What ended maintenance is told. */
static void
report_given_up(Relation index, const ErrorData *error)
{
	ereport(WARNING, errcode(error->sqlerrcode),
	        errmsg("maintenance of index \"%s\" was given up: %s", RelationGetRelationName(index),
	               error->message),
	        error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
	        errhint("%s", advice_for(index, error)));
}

/* What pg_stat_progress_vacuum shows: any subtransaction that is rolled back takes it away, one in the
 * owner's functions too. */
typedef struct Progress
{
	ProgressCommandType command;
	Oid target;
	int64 params[PGSTAT_NUM_PROGRESS_PARAM];
} Progress;

static Progress
save_progress(void)
{
	Progress p = {.command = PROGRESS_COMMAND_INVALID};

	if (MyBEEntry != NULL)
	{
		p.command = MyBEEntry->st_progress_command;
		p.target = MyBEEntry->st_progress_command_target;
		memcpy(p.params, (void *) MyBEEntry->st_progress_param, sizeof(p.params));
	}
	return p;
}

static void
restore_progress(const Progress *p)
{
	int index[PGSTAT_NUM_PROGRESS_PARAM];

	if (p->command == PROGRESS_COMMAND_INVALID || MyBEEntry->st_progress_command == p->command)
		return;
	for (int i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		index[i] = i;
	pgstat_progress_start_command(p->command, p->target);
	pgstat_progress_update_multi_param(PGSTAT_NUM_PROGRESS_PARAM, index, p->params);
}

/* A function of an index has: then this is no VACUUM any more that others need not heed. */
static bool
has_written(void)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/*
 * Others do not heed the snapshots of VACUUM, and remove what these see. A function that looks something up,
 * as the owner's may, has to find it: meanwhile they are heeded, as those of any other command.
 */
static void
set_heeded(bool heeded)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	if (heeded)
		MyProc->statusFlags &= ~PROC_IN_VACUUM;
	else
		MyProc->statusFlags |= PROC_IN_VACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

/*
 * The owner's code may fail, for example under another search_path than its author thought of; the disk may
 * be full, or a value damaged that VACUUM would not have looked at. That must not keep VACUUM from its work
 * on the table, so it runs in a subtransaction: what was begun is resumed another time.
 */
static void
maintain_guarded(Relation heap, Relation index, IndexBulkDeleteResult *stats)
{
	MemoryContext mcxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	Progress progress = save_progress();
	volatile bool heeded = false;
	PbfidxRights rights;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		TransactionId removed_before = InvalidTransactionId;

		/* The server has done so, but for the search_path before 17. */
		pbfidx_become_owner(&rights, heap, index);
		heeded = (MyProc->statusFlags & PROC_IN_VACUUM) && pbfidx_runs_owners_code(index);
		if (heeded)
		{
			removed_before = GetOldestNonRemovableTransactionId(heap);
			set_heeded(true);
		}
		PushActiveSnapshot(GetLatestSnapshot()); /* for what is evaluated to parse expressions */
		maintain(heap, index, removed_before, stats);
		PopActiveSnapshot();
		pbfidx_become_oneself(&rights);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(mcxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(mcxt);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN ||
		    error->sqlerrcode == ERRCODE_CRASH_SHUTDOWN)
			ReThrowError(error);
		report_given_up(index, error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	if (heeded && !has_written())
		set_heeded(false);
	restore_progress(&progress);
	MemoryContextSwitchTo(mcxt);
	CurrentResourceOwner = owner;
}

/*
 * The validation of a concurrent build asks by this for all rows that the index has, and inserts the others.
 * It alone reports progress; its snapshot is the active one.
 */
static bool
is_validation(const IndexVacuumInfo *info)
{
	return info->report_progress && !info->index->rd_index->indisvalid && ActiveSnapshotSet();
}

/* VACUUM has nothing to remove. */
IndexBulkDeleteResult *
pbfidx_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
                  void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	if (is_validation(info))
	{
		Relation heap = table_open(info->index->rd_index->indrelid, NoLock);

		stats->num_index_tuples = (double) pbfidx_report_present(heap, info->index, callback, state);
		table_close(heap, NoLock);
	}
	return stats;
}

/* What the owner's code may do is restricted in parallel mode. A VACUUM against wraparound, which nobody can
 * have cancelled, must not take longer for us. */
static bool
may_maintain(Relation index)
{
	if (!index->rd_index->indisvalid || RecoveryInProgress() || has_written() ||
	    (MyProc->statusFlags & PROC_VACUUM_FOR_WRAPAROUND))
		return false;
	return !IsInParallelMode() || !pbfidx_runs_owners_code(index);
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
		/* The error of a parallel worker, which may come at any time, is not ours to catch. */
		if (IsInParallelMode())
			maintain(heap, info->index, InvalidTransactionId, stats);
		else
			maintain_guarded(heap, info->index, stats);
		if (push)
			PopActiveSnapshot();
		table_close(heap, NoLock);
	}
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}

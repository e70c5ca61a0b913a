/*
 * heapscan.c: a page-at-a-time heap scan that indexes every row version under its own block.
 *
 * The server's table_index_build_range_scan will not do. It lets go of the page between tuples and skips dead
 * members of HOT chains: under ShareUpdateExclusiveLock a HOT update into a reused lower line pointer loses a
 * live row for good, old snapshots lose rows, and so does a standby for rows that the primary has not pruned.
 *
 * For each block, under one share lock, the page is copied and every version classified: what was inserted by
 * an aborted transaction is skipped, everything else is somebody's row, or may be on a standby. Keys are
 * taken from the copy. A deleted version's TOAST may be gone, and what was never evaluated may not be:
 *
 * - build: one deleted before every snapshot here, with an external indexed value or an expression to
 *   evaluate, is left out, as the server's own builds do;
 * - rebuild: gives up (the slab that is there stays right); live external values are read under the lock,
 *   which keeps them alive;
 * - check: looks only at what its own snapshot sees: that must be in the index.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/heapscan.h"

PbfidxHeapScan *
pbfidx_begin_heapscan_for(Relation heap, IndexInfo *info, PbfidxHasher *hashers, int n, bool row_key,
                          PbfidxScanPurpose purpose)
{
	PbfidxHeapScan *scan = palloc0(sizeof(PbfidxHeapScan));

	scan->heap = heap;
	scan->info = info;
	scan->hashers = hashers;
	scan->columns = n;
	scan->row_key = row_key;
	scan->purpose = purpose;
	scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	scan->estate = CreateExecutorState();
	scan->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	GetPerTupleExprContext(scan->estate)->ecxt_scantuple = scan->slot;
	scan->predicate = ExecPrepareQual(info->ii_Predicate, scan->estate);
	scan->mcxt = GetPerTupleMemoryContext(scan->estate);
	scan->room = 1024;
	scan->keys = palloc(scan->room * sizeof(uint64));
	return scan;
}

PbfidxHeapScan *
pbfidx_begin_heapscan(Relation heap, Relation index, IndexInfo *info, bool row_key, PbfidxScanPurpose purpose)
{
	return pbfidx_begin_heapscan_for(heap, info, pbfidx_hashers(index, CurrentMemoryContext),
	                                 IndexRelationGetNumberOfKeyAttributes(index), row_key, purpose);
}

void
pbfidx_end_heapscan(PbfidxHeapScan *scan)
{
	ExecDropSingleTupleTableSlot(scan->slot);
	FreeExecutorState(scan->estate);
	FreeAccessStrategy(scan->strategy);
	/* They were of this executor state. */
	scan->info->ii_ExpressionsState = NIL;
	scan->info->ii_PredicateState = NULL;
	pfree(scan->keys);
	pfree(scan);
}

/* Whether a key of the version may be stored out of line. */
static bool
has_external_key(PbfidxHeapScan *scan, HeapTuple tuple)
{
	if (!HeapTupleHasExternal(tuple))
		return false;
	if (scan->info->ii_Expressions != NIL || scan->info->ii_Predicate != NIL)
		return true;
	for (int i = 0; i < scan->columns; i++)
	{
		AttrNumber att = scan->info->ii_IndexAttrNumbers[i];
		bool isnull;
		Datum value;

		if (att <= 0 || TupleDescAttr(RelationGetDescr(scan->heap), att - 1)->attlen != -1)
			continue;
		value = heap_getattr(tuple, att, RelationGetDescr(scan->heap), &isnull);
		if (!isnull && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return true;
	}
	return false;
}

/* Appends the keys of one version. */
static void
take_keys(PbfidxHeapScan *scan, HeapTuple tuple)
{
	Datum values[INDEX_MAX_KEYS];
	bool isnull[INDEX_MAX_KEYS];
	MemoryContext old;

	if (scan->n + scan->columns + 1 > scan->room)
	{
		scan->room = 2 * (scan->room + scan->columns);
		scan->keys = repalloc(scan->keys, scan->room * sizeof(uint64));
	}
	MemoryContextReset(scan->mcxt);
	old = MemoryContextSwitchTo(scan->mcxt);
	ExecStoreHeapTuple(tuple, scan->slot, false);
	if (scan->predicate == NULL || ExecQual(scan->predicate, GetPerTupleExprContext(scan->estate)))
	{
		FormIndexDatum(scan->info, scan->slot, scan->estate, values, isnull);
		scan->n += pbfidx_row_keys(scan->hashers, scan->columns, scan->row_key, values, isnull,
		                           scan->keys + scan->n);
		scan->offsets[scan->versions] = ItemPointerGetOffsetNumber(&tuple->t_self);
		scan->ends[scan->versions++] = scan->n;
	}
	ExecClearTuple(scan->slot);
	MemoryContextSwitchTo(old);
}

typedef enum Version
{
	SKIP,   /* nobody's */
	TAKE,   /* keys from the copy of the page */
	TAKEN,  /* keys taken already, under the lock */
	GIVE_UP /* a rebuild cannot go on */
} Version;

static bool
evaluates(const PbfidxHeapScan *scan)
{
	return scan->info->ii_Expressions != NIL || scan->info->ii_Predicate != NIL;
}

/*
 * Expressions were evaluated with success for every version whose insert is complete, by that insert or by
 * the build; for one that is still being inserted that is not known yet, and one that was dead before the
 * index was built was never tried.
 */
static Version
classify_for_rebuild(PbfidxHeapScan *scan, HeapTuple tuple, HTSV_Result state, bool gone)
{
	bool live = state == HEAPTUPLE_LIVE;

	if (evaluates(scan) && (state == HEAPTUPLE_INSERT_IN_PROGRESS || gone))
		return GIVE_UP;
	if (!has_external_key(scan, tuple))
		return TAKE;
	if (!live)
		return GIVE_UP;
	/* An expression may do anything, so it cannot run under the lock. */
	if (evaluates(scan))
		return TAKE;
	take_keys(scan, tuple);
	return TAKEN;
}

/* What to do with one version; the buffer is locked. */
static Version
classify(PbfidxHeapScan *scan, HeapTuple tuple, Buffer buffer)
{
	TransactionId dead_after = InvalidTransactionId;
	HTSV_Result state;
	bool gone;

	if (scan->purpose == PBFIDX_CHECK)
		return HeapTupleSatisfiesVisibility(tuple, GetActiveSnapshot(), buffer) ? TAKE : SKIP;
	state = HeapTupleSatisfiesVacuumHorizon(tuple, buffer, &dead_after);
	gone = state == HEAPTUPLE_RECENTLY_DEAD && TransactionIdPrecedes(dead_after, scan->oldest_xmin);

	if (state == HEAPTUPLE_DEAD)
		return SKIP; /* its inserter aborted */
	if (state == HEAPTUPLE_LIVE)
		scan->live++;
	if (scan->purpose == PBFIDX_REBUILD)
		return classify_for_rebuild(scan, tuple, state, gone);
	return gone && (evaluates(scan) || has_external_key(scan, tuple)) ? SKIP : TAKE;
}

bool
pbfidx_scan_block(PbfidxHeapScan *scan, BlockNumber block)
{
	Buffer buffer = ReadBufferExtended(scan->heap, MAIN_FORKNUM, block, RBM_NORMAL, scan->strategy);
	Version versions[MaxHeapTuplesPerPage + 1];
	HeapTupleData tuple;
	Page page = BufferGetPage(buffer);
	OffsetNumber last;
	bool possible = true;

	scan->n = scan->versions = 0;
	tuple.t_tableOid = RelationGetRelid(scan->heap);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		ItemId item = PageGetItemId(page, off);

		versions[off] = SKIP;
		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, off);
		versions[off] = classify(scan, &tuple, buffer);
		possible = possible && versions[off] != GIVE_UP;
	}
	memcpy(scan->page.data, page, BLCKSZ);
	UnlockReleaseBuffer(buffer);

	page = (Page) scan->page.data;
	for (OffsetNumber off = FirstOffsetNumber; off <= last && possible; off++)
	{
		ItemId item = PageGetItemId(page, off);

		if (versions[off] != TAKE)
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		ItemPointerSet(&tuple.t_self, block, off);
		take_keys(scan, &tuple);
	}
	return possible;
}

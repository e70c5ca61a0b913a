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
 * - rebuild: gives up if no snapshot needs it (the slab that is there stays right); external values of
 *   other versions are fetched under the lock, up to FETCHED_OF_PAGE: of what is beyond, a version that dies
 *   and is vacuumed in that moment is an error;
 * - check: looks only at what its own snapshot sees: that must be in the index.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/heapscan.h"

#define MOST_SNAPSHOTS 100 /* for a page, each renewed because the one before did not see a row */
#define FETCHED_OF_PAGE (16 * 1024 * 1024) /* bytes out of line that are copied while a page is locked */

/* No lock is waited for with a page locked: nobody would find that deadlock. So those of the TOAST table come
 * first. */
static void
open_toast(PbfidxHeapScan *scan)
{
	Oid toast = scan->heap->rd_rel->reltoastrelid;

	if (scan->purpose != PBFIDX_REBUILD || !OidIsValid(toast))
		return;
	scan->toast = table_open(toast, AccessShareLock);
	toast_open_indexes(scan->toast, AccessShareLock, &scan->toast_indexes, &scan->toast_index_count);
}

/* What detoasting asks the catalog for, that too before a page is locked. */
static void
know_toast_indexes(PbfidxHeapScan *scan)
{
	if (scan->toast != NULL)
		list_free(RelationGetIndexList(scan->toast));
}

static void
close_toast(PbfidxHeapScan *scan)
{
	if (scan->toast == NULL)
		return;
	toast_close_indexes(scan->toast_indexes, scan->toast_index_count, AccessShareLock);
	table_close(scan->toast, AccessShareLock);
}

/* For functions that look something up: see classify_for_lookup. */
static void
push_own_snapshot(PbfidxHeapScan *scan)
{
	scan->pushed = scan->purpose == PBFIDX_REBUILD && scan->looks_up;
	if (scan->pushed)
		PushActiveSnapshot(GetLatestSnapshot());
}

static void
pop_own_snapshot(PbfidxHeapScan *scan)
{
	if (scan->latest != NULL)
		UnregisterSnapshot(scan->latest);
	if (scan->pushed)
		PopActiveSnapshot();
}

PbfidxHeapScan *
pbfidx_begin_heapscan_for(Relation heap, IndexInfo *info, PbfidxHasher *hashers, int n, bool row_key,
                          PbfidxScanPurpose purpose)
{
	PbfidxHeapScan *scan = palloc0(sizeof(PbfidxHeapScan));

	scan->heap = heap;
	scan->info = info;
	scan->hashers = hashers;
	scan->columns = n;
	scan->groups = pbfidx_assign_groups(hashers, n);
	scan->row_key = row_key;
	scan->purpose = purpose;
	scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	scan->estate = CreateExecutorState();
	scan->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	GetPerTupleExprContext(scan->estate)->ecxt_scantuple = scan->slot;
	scan->predicate = ExecPrepareQual(info->ii_Predicate, scan->estate);
	scan->mcxt = GetPerTupleMemoryContext(scan->estate);
	pbfidx_init_key_list(&scan->keys, CurrentMemoryContext);
	scan->evaluates = info->ii_Expressions != NIL || info->ii_Predicate != NIL;
	scan->looks_up = pbfidx_may_look_up(hashers, n, info->ii_Expressions, info->ii_Predicate);
	push_own_snapshot(scan);
	open_toast(scan);
	if (scan->toast != NULL)
	{
		scan->flat = palloc0((MaxHeapTuplesPerPage + 1) * sizeof(HeapTuple));
		scan->flat_mcxt =
		    AllocSetContextCreate(CurrentMemoryContext, "pbfidx heap page", ALLOCSET_SMALL_SIZES);
	}
	return scan;
}

PbfidxHeapScan *
pbfidx_begin_heapscan(Relation heap, Relation index, IndexInfo *info, bool row_key, PbfidxScanPurpose purpose)
{
	int columns = IndexRelationGetNumberOfKeyAttributes(index);
	PbfidxHasher *hashers = pbfidx_hashers(index, CurrentMemoryContext);

	for (int i = 0; i < columns && purpose != PBFIDX_BUILD; i++)
		pbfidx_require_same_kind(index, &hashers[i]);
	return pbfidx_begin_heapscan_for(heap, info, hashers, columns, row_key, purpose);
}

void
pbfidx_end_heapscan(PbfidxHeapScan *scan)
{
	close_toast(scan);
	pop_own_snapshot(scan);
	ExecDropSingleTupleTableSlot(scan->slot);
	FreeExecutorState(scan->estate);
	FreeAccessStrategy(scan->strategy);
	/* They were of this executor state. */
	scan->info->ii_ExpressionsState = NIL;
	scan->info->ii_PredicateState = NULL;
	pfree(scan->keys.keys);
	pfree(scan);
}

/* The attributes that the keys of a group, the expressions and the predicate take. */
static Bitmapset *
used_attributes(const PbfidxHeapScan *scan)
{
	Bitmapset *used = NULL;

	pull_varattnos((Node *) scan->info->ii_Expressions, 1, &used);
	pull_varattnos((Node *) scan->info->ii_Predicate, 1, &used);
	for (int i = 0; i < scan->columns; i++)
	{
		AttrNumber att = scan->info->ii_IndexAttrNumbers[i];

		if (att != 0 && scan->hashers[i].group == scan->group)
			used = bms_add_member(used, att - FirstLowInvalidHeapAttributeNumber);
	}
	return used;
}

/* They change with the group. */
static void
set_attributes(PbfidxHeapScan *scan)
{
	MemoryContext old;

	if (scan->attributes != NULL && scan->attributes_group == scan->group)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	bms_free(scan->attributes);
	scan->attributes = used_attributes(scan);
	scan->attributes_group = scan->group;
	MemoryContextSwitchTo(old);
}

/* A whole row takes all of them. */
static bool
is_used(const Bitmapset *used, AttrNumber att)
{
	return bms_is_member(att - FirstLowInvalidHeapAttributeNumber, used) ||
	       bms_is_member(-FirstLowInvalidHeapAttributeNumber, used);
}

/* Whether a value that keys are made of is stored out of line. */
static bool
has_external_key(PbfidxHeapScan *scan, HeapTuple tuple)
{
	TupleDesc desc = RelationGetDescr(scan->heap);

	if (!HeapTupleHasExternal(tuple))
		return false;
	for (AttrNumber att = 1; att <= desc->natts; att++)
	{
		bool isnull;
		Datum value;

		if (TupleDescAttr(desc, att - 1)->attlen != -1 || !is_used(scan->attributes, att))
			continue;
		value = heap_getattr(tuple, att, desc, &isnull);
		if (!isnull && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
			return true;
	}
	return false;
}

/* Hands out the keys of one version. */
static void
take_keys(PbfidxHeapScan *scan, HeapTuple tuple)
{
	Datum values[INDEX_MAX_KEYS];
	bool isnull[INDEX_MAX_KEYS];
	MemoryContext old;

	scan->keys.n = 0;
	MemoryContextReset(scan->mcxt);
	old = MemoryContextSwitchTo(scan->mcxt);
	ExecStoreHeapTuple(tuple, scan->slot, false);
	if (scan->predicate == NULL || ExecQual(scan->predicate, GetPerTupleExprContext(scan->estate)))
	{
		FormIndexDatum(scan->info, scan->slot, scan->estate, values, isnull);
		pbfidx_row_keys(scan->hashers, scan->columns, scan->group, scan->row_key, values, isnull,
		                &scan->keys);
	}
	ExecClearTuple(scan->slot);
	MemoryContextSwitchTo(old);
	if (scan->keys.n > 0)
		scan->take(scan->arg, ItemPointerGetOffsetNumber(&tuple->t_self), scan->keys.keys, scan->keys.n);
}

typedef enum Version
{
	SKIP,           /* nobody's */
	TAKE,           /* keys from the copy of the page */
	TAKE_NEW,       /* the same, under the snapshot `latest` */
	TAKE_IF_NEEDED, /* the same, unless no snapshot needs it by then */
	GIVE_UP         /* a rebuild cannot go on */
} Version;

/*
 * Whether a snapshot may still need what died at that transaction. The horizon moves on while a build runs;
 * in a rebuild once a page is enough. That of a TOAST table may be ahead of its table's.
 */
static bool
is_needed(PbfidxHeapScan *scan, TransactionId dead_after)
{
	if (!TransactionIdPrecedes(dead_after, scan->oldest_xmin) && !scan->fresh)
	{
		scan->oldest_xmin =
		    GetOldestNonRemovableTransactionId(scan->toast != NULL ? scan->toast : scan->heap);
		scan->fresh = scan->purpose == PBFIDX_REBUILD;
	}
	return !TransactionIdPrecedes(dead_after, scan->oldest_xmin) &&
	       !(TransactionIdIsNormal(scan->removed_before) &&
	         TransactionIdPrecedes(dead_after, scan->removed_before));
}

/*
 * Fetches what keys take that is out of line, while that is little for a page; what is more has to be fetched
 * when the page is no longer locked. Other such values are NULL in the copy: they may be gone.
 */
static void
fetch_external(PbfidxHeapScan *scan, HeapTuple tuple)
{
	TupleDesc desc = RelationGetDescr(scan->heap);
	MemoryContext old = MemoryContextSwitchTo(scan->flat_mcxt);
	Datum *values = palloc(desc->natts * sizeof(Datum));
	bool *nulls = palloc(desc->natts * sizeof(bool));
	Size bytes = MemoryContextMemAllocated(scan->flat_mcxt, false);

	heap_deform_tuple(tuple, desc, values, nulls);
	for (int i = 0; i < desc->natts; i++)
	{
		if (nulls[i] || TupleDescAttr(desc, i)->attlen != -1 ||
		    !VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			continue;
		nulls[i] = !is_used(scan->attributes, (AttrNumber) (i + 1));
		bytes += nulls[i] ? 0 : toast_datum_size(values[i]);
	}
	for (int i = 0; i < desc->natts && bytes <= FETCHED_OF_PAGE; i++)
	{
		if (!nulls[i] && TupleDescAttr(desc, i)->attlen == -1 &&
		    VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			values[i] = PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(values[i])));
	}
	if (bytes <= FETCHED_OF_PAGE)
	{
		HeapTuple flat = heap_form_tuple(desc, values, nulls);

		flat->t_self = tuple->t_self;
		flat->t_tableOid = tuple->t_tableOid;
		scan->flat[ItemPointerGetOffsetNumber(&tuple->t_self)] = flat;
	}
	MemoryContextSwitchTo(old);
}

/* They are of one page. */
static void
forget_external(PbfidxHeapScan *scan)
{
	if (scan->flat == NULL || MemoryContextIsEmpty(scan->flat_mcxt))
		return;
	memset(scan->flat, 0, (MaxHeapTuplesPerPage + 1) * sizeof(HeapTuple));
	MemoryContextReset(scan->flat_mcxt);
}

/* The first of a rebuild's two snapshots that sees what a transaction inserted; NULL: none. */
static Snapshot
snapshot_that_sees(const PbfidxHeapScan *scan, TransactionId inserter)
{
	if (!XidInMVCCSnapshot(inserter, GetActiveSnapshot()))
		return GetActiveSnapshot();
	if (scan->latest != NULL && !XidInMVCCSnapshot(inserter, scan->latest))
		return scan->latest;
	return NULL;
}

/*
 * Functions that look something up, in a table that is never changed, are called immutable now and then. What
 * they look up may be as new as the row: a snapshot that does not see the row does not see it either. And it
 * may have been deleted with it: then it takes a snapshot that still sees the row. (That is not asked for
 * hash functions: the more often rows change, the less would be rebuilt.) What died before a snapshot was
 * taken may have lost its TOAST. What our transaction wrote, no snapshot of ours sees as it is after a
 * rollback, while a slab stays.
 */
static Version
classify_for_lookup(PbfidxHeapScan *scan, HeapTuple tuple, HTSV_Result state, TransactionId dead_after)
{
	Snapshot snapshot = snapshot_that_sees(scan, HeapTupleHeaderGetXmin(tuple->t_data));
	bool external = has_external_key(scan, tuple);
	bool possible = !TransactionIdIsValid(GetTopTransactionIdIfAny());

	if (possible && snapshot == NULL)
	{
		scan->stale = true;
		return SKIP; /* the page will be looked at again */
	}
	if (state == HEAPTUPLE_RECENTLY_DEAD && (external || scan->evaluates))
		possible = possible && XidInMVCCSnapshot(dead_after, snapshot);
	if (!possible)
		return scan->sampling ? SKIP : GIVE_UP;
	if (external)
		fetch_external(scan, tuple);
	return snapshot == scan->latest ? TAKE_NEW : TAKE;
}

/*
 * What no snapshot needs any more may have lost its TOAST, and may be older than the index and never have
 * been evaluated. Whether the expressions of what is still being inserted can be evaluated is for its
 * inserter to find out; who began after the new pages were published sets the bits there.
 */
static Version
classify_for_rebuild(PbfidxHeapScan *scan, HeapTuple tuple, HTSV_Result state, TransactionId dead_after)
{
	Version impossible = scan->sampling ? SKIP : GIVE_UP;
	bool external;

	if (state == HEAPTUPLE_INSERT_IN_PROGRESS && (scan->evaluates || scan->looks_up))
		return TransactionIdIsNormal(scan->self_inserting) &&
		               TransactionIdFollowsOrEquals(HeapTupleHeaderGetXmin(tuple->t_data),
		                                            scan->self_inserting)
		           ? SKIP
		           : impossible;
	if (scan->pushed)
		return classify_for_lookup(scan, tuple, state, dead_after);
	external = has_external_key(scan, tuple);
	if (state == HEAPTUPLE_RECENTLY_DEAD && (external || scan->evaluates) && !is_needed(scan, dead_after))
		return impossible;
	/* Keys are made of it afterwards: that may take long, or wait for locks. */
	if (external)
		fetch_external(scan, tuple);
	return TAKE;
}

/*
 * What was deleted may have lost its TOAST, and an expression need not be possible for it. What is still
 * being inserted is left to the validation of a concurrent build, which adds it if it was committed.
 */
static Version
classify_for_build(PbfidxHeapScan *scan, HeapTuple tuple, HTSV_Result state)
{
	bool inserted = state == HEAPTUPLE_INSERT_IN_PROGRESS && scan->info->ii_Concurrent;
	bool deleted = state == HEAPTUPLE_RECENTLY_DEAD;

	if (!(inserted || deleted) || !(scan->evaluates || has_external_key(scan, tuple)))
		return TAKE;
	return inserted ? SKIP : TAKE_IF_NEEDED;
}

/* Whether the table has a row by this version, as the server's own builds count: its own inserts too. */
static bool
is_counted(HeapTuple tuple, HTSV_Result state)
{
	switch (state)
	{
		case HEAPTUPLE_LIVE:
			return true;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data));
		default:
			return false;
	}
}

/* What to do with one version; the buffer is locked. */
static Version
classify(PbfidxHeapScan *scan, HeapTuple tuple, Buffer buffer, TransactionId *dead_after)
{
	HTSV_Result state;

	if (scan->purpose == PBFIDX_CHECK)
		return HeapTupleSatisfiesVisibility(tuple, GetActiveSnapshot(), buffer) ? TAKE : SKIP;
	state = HeapTupleSatisfiesVacuumHorizon(tuple, buffer, dead_after);
	if (state == HEAPTUPLE_DEAD)
	{
		Assert(!HeapTupleHeaderXminCommitted(tuple->t_data));
		return SKIP; /* its inserter aborted */
	}
	if (scan->group == 0)
		scan->live += is_counted(tuple, state);
	if (scan->purpose == PBFIDX_REBUILD)
		return classify_for_rebuild(scan, tuple, state, *dead_after);
	return classify_for_build(scan, tuple, state);
}

void
pbfidx_begin_blocks(PbfidxHeapScan *scan, BlockNumber first, BlockNumber end)
{
	pbf_begin_stream(&scan->stream, scan->heap, scan->strategy, first, end);
}

void
pbfidx_end_blocks(PbfidxHeapScan *scan)
{
	pbf_end_stream(&scan->stream);
}

/* The version at an item; false: there is none. */
static bool
get_version(const PbfidxHeapScan *scan, Page page, BlockNumber block, OffsetNumber off, HeapTuple tuple)
{
	ItemId item = PageGetItemId(page, off);

	if (!ItemIdIsNormal(item))
		return false;
	tuple->t_tableOid = RelationGetRelid(scan->heap);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSet(&tuple->t_self, block, off);
	return true;
}

/* What to do with all versions of a block, of which it makes a copy; false: a rebuild cannot go on. */
static bool
classify_block(PbfidxHeapScan *scan, Buffer buffer, BlockNumber block, Version *versions,
               TransactionId *dead_after)
{
	Page page = BufferGetPage(buffer);
	OffsetNumber last;
	HeapTupleData tuple;
	bool possible = true;

	scan->fresh = scan->stale = false;
	know_toast_indexes(scan);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		versions[off] = SKIP;
		if (get_version(scan, page, block, off, &tuple))
			versions[off] = classify(scan, &tuple, buffer, &dead_after[off]);
		possible = possible && versions[off] != GIVE_UP;
	}
	memcpy(scan->page.data, page, BLCKSZ);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return possible;
}

/* The same, with snapshots that see all that is taken: who deletes something after the page was looked at is
 * not in one that is older. */
static bool
classify_seen(PbfidxHeapScan *scan, Buffer buffer, BlockNumber block, Version *versions,
              TransactionId *dead_after)
{
	for (int i = 0; i < MOST_SNAPSHOTS; i++)
	{
		bool possible = classify_block(scan, buffer, block, versions, dead_after);

		if (!scan->stale || !possible)
			return possible;
		forget_external(scan);
		if (scan->latest != NULL)
			UnregisterSnapshot(scan->latest);
		scan->latest = RegisterSnapshot(GetLatestSnapshot());
	}
	return false;
}

bool
pbfidx_scan_block(PbfidxHeapScan *scan, BlockNumber block, PbfidxTakeKeys take, void *arg)
{
	Buffer buffer = pbf_read_block(&scan->stream, scan->heap, scan->strategy, block);
	Version versions[MaxHeapTuplesPerPage + 1];
	TransactionId dead_after[MaxHeapTuplesPerPage + 1];
	HeapTupleData tuple;
	Page page = (Page) scan->page.data;
	OffsetNumber last;
	bool possible;

	scan->take = take;
	scan->arg = arg;
	set_attributes(scan);
	possible = classify_seen(scan, buffer, block, versions, dead_after);
	ReleaseBuffer(buffer);
	last = !possible || PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		if (versions[off] == SKIP || (versions[off] == TAKE_IF_NEEDED && !is_needed(scan, dead_after[off])))
			continue;
		get_version(scan, page, block, off, &tuple);
		if (versions[off] == TAKE_NEW)
			PushActiveSnapshot(scan->latest);
		take_keys(scan, scan->flat != NULL && scan->flat[off] != NULL ? scan->flat[off] : &tuple);
		if (versions[off] == TAKE_NEW)
			PopActiveSnapshot();
	}
	forget_external(scan);
	return possible;
}

int
pbfidx_scanned_roots(const PbfidxHeapScan *scan, BlockNumber block, ItemPointerData *tids)
{
	Page page = (Page) scan->page.data;
	OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	OffsetNumber roots[MaxHeapTuplesPerPage]; /* of each version; of a redirection there is none */
	bool seen[MaxHeapTuplesPerPage + 1] = {false};
	int n = 0;

	if (last > 0)
		heap_get_root_tuples(page, roots);
	for (OffsetNumber off = FirstOffsetNumber; off <= last; off++)
	{
		OffsetNumber root = roots[off - 1];

		if (!OffsetNumberIsValid(root) || seen[root])
			continue;
		seen[root] = true;
		ItemPointerSet(&tids[n], block, root);
		n++;
	}
	return n;
}

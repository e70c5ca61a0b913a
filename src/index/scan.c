/*
 * scan.c: which ranges may hold a row that meets all conditions.
 *
 * A condition is a set of keys of one column: one for `=`, several for `= ANY`, the NULL key for IS NULL. A
 * range survives if each condition has a key that the range may contain. For every region:
 *
 * 1. Read its record. (After the snapshot was taken, and anew in every call: see src/README.md.)
 * 2. Probe every key in the upper slab, if there is one: a mask of leaf slabs for each key. A slab survives
 * if it is in a mask of each condition.
 * 3. Probe, in each leaf slab that survives, the keys whose mask has it. OR within, AND between conditions.
 * 4. Return the heap pages of the ranges that survive.
 *
 * A probe is one page, and on it one row a part. Pages are pinned and rows prefetched in batches, so that
 * cache misses overlap. A page that is not what the record said was recycled since: the region is started
 * again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/directory.h"
#include "index/keys.h"
#include "index/scan.h"
#include "index/slab.h"

/* Probes in flight. Each holds a pin; buffers of temporary tables are few. */
#define BATCH 16
#define LOCAL_BATCH 8

/* Keys first..first + n - 1 of the scan, one of which the row must have. */
typedef struct Condition
{
	int first;
	int n;
} Condition;

/* How values of one scan key are hashed; kept while its type stays the same. */
typedef struct KeyHasher
{
	Oid type;
	bool ready;
	PbfidxHasher hasher;
} KeyHasher;

typedef struct PbfidxScan
{
	uint64 *keys;
	int nkeys;
	Condition *conditions;
	int nconditions;
	bool impossible;     /* a condition that no row meets */
	bool all_ranges;     /* nothing to look for, or an index whose hashes cannot be trusted */
	MemoryContext mcxt;  /* of the keys; reset by rescan */
	KeyHasher *hashers;  /* one a scan key, */
	MemoryContext owner; /* whose memory is here */

	/* while a region is looked at */
	PbfidxRegion *region;
	PbfidxMask *key_masks; /* leaf slabs that may have each key */
	PbfidxMask any[PBFIDX_COLUMNS];
} PbfidxScan;

/* One page to look at. */
typedef struct Probe
{
	PbfidxSlabId id;
	PbfidxExtent extent;
	PbfidxPlace place;
	PbfidxMask *mask; /* where the result is OR-ed into */
	Buffer buffer;
} Probe;

/* ---- conditions ---- */

IndexScanDesc
pbfidx_beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	PbfidxScan *so = palloc0(sizeof(PbfidxScan));

	so->mcxt = AllocSetContextCreate(CurrentMemoryContext, "pbfidx scan", ALLOCSET_SMALL_SIZES);
	so->region = palloc(sizeof(PbfidxRegion));
	so->hashers = palloc0(Max(nkeys, 1) * sizeof(KeyHasher));
	so->owner = CurrentMemoryContext;
	scan->opaque = so;
	return scan;
}

void
pbfidx_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	(void) nkeys;
	(void) orderbys;
	(void) norderbys;
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
pbfidx_endscan(IndexScanDesc scan)
{
	PbfidxScan *so = scan->opaque;

	MemoryContextDelete(so->mcxt);
	pfree(so->region);
	pfree(so->hashers);
	pfree(so);
}

static int
compare_keys(const void *a, const void *b)
{
	uint64 x = *(const uint64 *) a, y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* Duplicates of IN lists need no probes of their own. */
static void
sort_unique(PbfidxScan *so, Condition *c)
{
	uint64 *keys = so->keys + c->first;
	int kept = 0;

	qsort(keys, c->n, sizeof(uint64), compare_keys);
	for (int i = 0; i < c->n; i++)
	{
		if (i == 0 || keys[i] != keys[kept - 1])
			keys[kept++] = keys[i];
	}
	c->n = kept;
	so->nkeys = c->first + kept;
}

static void
reserve_keys(PbfidxScan *so, int n)
{
	Size bytes = (so->nkeys + n) * sizeof(uint64);

	so->keys = so->keys == NULL ? palloc(bytes) : repalloc(so->keys, bytes);
}

static PbfidxHasher *
key_hasher(KeyHasher *kept, Relation index, int column, Oid type, MemoryContext mcxt)
{
	if (!kept->ready || kept->type != type)
	{
		kept->ready = false;
		pbfidx_init_hasher(&kept->hasher, index, column, type, mcxt);
		kept->type = type;
		kept->ready = true;
	}
	return &kept->hasher;
}

/* The keys of one scan key, appended. */
static void
add_condition(PbfidxScan *so, Relation index, ScanKey key, KeyHasher *kept)
{
	int column = key->sk_attno - 1;
	Condition *c = &so->conditions[so->nconditions];
	PbfidxHasher *hasher;

	if (key->sk_flags & SK_SEARCHNOTNULL)
		return; /* says nothing about keys */
	c->first = so->nkeys;
	c->n = 0;
	reserve_keys(so, 1);
	if (key->sk_flags & SK_SEARCHNULL)
		so->keys[so->nkeys++] = pbfidx_null_key(column);
	else if (key->sk_flags & SK_ISNULL)
		so->impossible = true;
	else if (key->sk_flags & SK_SEARCHARRAY)
	{
		ArrayType *array = DatumGetArrayTypeP(key->sk_argument);
		Oid type = ARR_ELEMTYPE(array);
		int16 typlen;
		bool typbyval, *nulls;
		char typalign;
		Datum *elements;
		int n;

		hasher = key_hasher(kept, index, column, type, so->owner);
		get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
		deconstruct_array(array, type, typlen, typbyval, typalign, &elements, &nulls, &n);
		reserve_keys(so, n + 1);
		for (int i = 0; i < n; i++)
		{
			if (!nulls[i])
				so->keys[so->nkeys++] = pbfidx_value_key(hasher, elements[i]);
		}
		so->impossible = so->impossible || so->nkeys == c->first;
	}
	else
	{
		hasher = key_hasher(kept, index, column, key->sk_subtype, so->owner);
		so->keys[so->nkeys++] = pbfidx_value_key(hasher, key->sk_argument);
	}
	c->n = so->nkeys - c->first;
	sort_unique(so, c);
	so->nconditions++;
}

/* Hashes of another major version of the server may differ from those in the index. */
static bool
hashes_trusted(Relation index)
{
	const PbfidxCache *cache = pbfidx_cache(index);

	if (!(cache->flags & PBFIDX_SERVER_HASH) || cache->server_major == PG_VERSION_NUM / 10000)
		return true;
	ereport(WARNING,
	        errmsg("index \"%s\" was built by PostgreSQL %u and uses hash functions of the server",
	               RelationGetRelationName(index), cache->server_major),
	        errdetail("Until it is rebuilt, it returns the whole table."), errhint("REINDEX it."));
	return false;
}

static void
prepare(PbfidxScan *so, IndexScanDesc scan)
{
	Relation index = scan->indexRelation;
	MemoryContext old;

	MemoryContextReset(so->mcxt);
	old = MemoryContextSwitchTo(so->mcxt);
	so->keys = NULL;
	so->nkeys = so->nconditions = 0;
	so->impossible = false;
	so->conditions = palloc((scan->numberOfKeys + 1) * sizeof(Condition));
	for (int i = 0; i < scan->numberOfKeys && !so->impossible; i++)
		add_condition(so, index, &scan->keyData[i], &so->hashers[i]);
	if (so->nconditions == 0 && (pbfidx_cache(index)->flags & PBFIDX_ROW_KEY))
	{
		reserve_keys(so, 1);
		so->keys[0] = PBFIDX_ROW_KEY_VALUE;
		so->nkeys = 1;
		so->conditions[so->nconditions++] = (Condition){0, 1};
	}
	so->all_ranges = so->nconditions == 0 || !hashes_trusted(index);
	so->key_masks = palloc(Max(so->nkeys, 1) * sizeof(PbfidxMask));
	MemoryContextSwitchTo(old);
}

/* ---- probing ---- */

static inline void
or_mask(PbfidxMask *to, const PbfidxMask *from)
{
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		to->words[w] |= from->words[w];
}

static inline void
and_mask(PbfidxMask *to, const PbfidxMask *from)
{
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		to->words[w] &= from->words[w];
}

static inline bool
is_empty_mask(const PbfidxMask *mask)
{
	uint64 any = 0;

	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		any |= mask->words[w];
	return any == 0;
}

/* Looks at n pages; false if one is not what it should be. All pins are gone on return. */
static bool
run_probes(IndexScanDesc scan, Probe *probes, int n)
{
	bool valid = true;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < n && n > 1 && effective_io_concurrency > 0; i++)
		PrefetchBuffer(scan->indexRelation, MAIN_FORKNUM, probes[i].extent.start + probes[i].place.block);
	for (int i = 0; i < n; i++)
	{
		probes[i].buffer = ReadBuffer(scan->indexRelation, probes[i].extent.start + probes[i].place.block);
		pbfidx_prefetch(pbfidx_matrix(BufferGetPage(probes[i].buffer)), &probes[i].place,
		                PBFIDX_SCALAR_PARTS);
	}
	for (int i = 0; i < n; i++)
	{
		Page page = BufferGetPage(probes[i].buffer);
		PbfidxMask mask;

		LockBuffer(probes[i].buffer, BUFFER_LOCK_SHARE);
		pbf_test_for_old_snapshot(scan->xs_snapshot, scan->indexRelation, page);
		valid = valid && pbfidx_is_slab_page(page, probes[i].id, probes[i].extent, probes[i].place.block);
		if (valid)
		{
			pbfidx_probe(pbfidx_matrix(page), &probes[i].place, PBFIDX_SCALAR_PARTS, &mask);
			or_mask(probes[i].mask, &mask);
		}
		UnlockReleaseBuffer(probes[i].buffer);
	}
	return valid;
}

/* A queue of probes, run when it is full. */
typedef struct Queue
{
	IndexScanDesc scan;
	Probe probes[BATCH];
	int n;
	int room;
	bool valid;
} Queue;

static void
flush_queue(Queue *q)
{
	if (q->n > 0 && q->valid)
		q->valid = run_probes(q->scan, q->probes, q->n);
	q->n = 0;
}

static void
enqueue(Queue *q, PbfidxSlabId id, PbfidxExtent extent, uint64 key, PbfidxMask *mask)
{
	Probe *p = &q->probes[q->n++];

	p->id = id;
	p->extent = extent;
	p->mask = mask;
	pbfidx_locate(key, id.level, extent.blocks, PBFIDX_SCALAR_PARTS, &p->place);
	if (q->n == q->room)
		flush_queue(q);
}

/* ---- regions ---- */

/* Leaf slabs that exist: one that does not has no rows. */
static void
existing_slabs(const PbfidxRegion *region, PbfidxMask *slabs)
{
	memset(slabs, 0, sizeof(*slabs));
	for (int s = 0; s < PBFIDX_COLUMNS; s++)
		slabs->words[s / 64] |= (uint64) (region->leaf[s].now.start != 0) << (s % 64);
}

/* Leaf slabs of the region that may hold a row; the masks of the single keys in so->key_masks. */
static void
probe_upper(PbfidxScan *so, Queue *q, uint32 region, PbfidxMask *slabs)
{
	PbfidxSlabId id = {PBFIDX_UPPER, region};
	PbfidxExtent upper = so->region->upper.now;

	existing_slabs(so->region, slabs);
	for (int key = 0; key < so->nkeys; key++)
	{
		if (upper.start == 0)
			pbfidx_mask_fill(&so->key_masks[key]);
		else
		{
			memset(&so->key_masks[key], 0, sizeof(PbfidxMask));
			enqueue(q, id, upper, so->keys[key], &so->key_masks[key]);
		}
	}
	flush_queue(q);
	for (int c = 0; c < so->nconditions; c++)
	{
		PbfidxMask any = {{0}};

		for (int key = so->conditions[c].first; key < so->conditions[c].first + so->conditions[c].n; key++)
			or_mask(&any, &so->key_masks[key]);
		and_mask(slabs, &any);
	}
}

/* Of the leaf slabs in `slabs`, ranges that may hold a row; slabs without any leave the mask. */
static void
probe_leaves(PbfidxScan *so, Queue *q, uint32 region, PbfidxMask *slabs, PbfidxMask *ranges)
{
	PbfidxMask *any = so->any;

	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
		pbfidx_mask_fill(&ranges[s]);
	for (int c = 0; c < so->nconditions; c++)
	{
		for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
		{
			PbfidxSlabId id = {PBFIDX_LEAF, region * PBFIDX_COLUMNS + s};

			memset(&any[s], 0, sizeof(PbfidxMask));
			for (int key = so->conditions[c].first; key < so->conditions[c].first + so->conditions[c].n;
			     key++)
			{
				if (pbfidx_mask_test(&so->key_masks[key], s))
					enqueue(q, id, so->region->leaf[s].now, so->keys[key], &any[s]);
			}
		}
		flush_queue(q);
		for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
		{
			and_mask(&ranges[s], &any[s]);
			if (is_empty_mask(&ranges[s]))
				slabs->words[s / 64] &= ~(UINT64CONST(1) << (s % 64));
		}
	}
}

/* Adds the pages of a range; returns how many. */
static int64
add_range(TIDBitmap *tbm, uint64 range, uint32 pages_per_range, BlockNumber heap_blocks)
{
	uint64 first = range * pages_per_range;
	uint64 end = Min(first + pages_per_range, heap_blocks);

	for (uint64 block = first; block < end; block++)
		tbm_add_page(tbm, (BlockNumber) block);
	return end > first ? (int64) (end - first) : 0;
}

/* The ranges of one region; retried until the record and the pages agree. */
static void
probe_region(PbfidxScan *so, IndexScanDesc scan, uint32 region, PbfidxMask *slabs, PbfidxMask *ranges)
{
	Queue q = {.scan = scan, .room = RELATION_IS_LOCAL(scan->indexRelation) ? LOCAL_BATCH : BATCH};
	PbfidxRegion *seen = NULL;

	for (;;)
	{
		pbfidx_read_region(scan->indexRelation, region, so->region);
		if (seen != NULL && memcmp(seen, so->region, sizeof(PbfidxRegion)) == 0)
			pbfidx_corrupted(scan->indexRelation, "A page is not what the directory says");
		q.valid = true;
		probe_upper(so, &q, region, slabs);
		if (q.valid && !is_empty_mask(slabs))
			probe_leaves(so, &q, region, slabs, ranges);
		if (q.valid)
			break;
		if (seen == NULL)
			seen = palloc(sizeof(PbfidxRegion));
		*seen = *so->region;
	}
	if (seen != NULL)
		pfree(seen);
}

static BlockNumber
heap_length(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, NoLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(heap);

	table_close(heap, NoLock);
	return blocks;
}

static int64
scan_regions(PbfidxScan *so, IndexScanDesc scan, TIDBitmap *tbm)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	BlockNumber heap_blocks = heap_length(scan->indexRelation);
	uint64 per_region = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pages_per_range;
	PbfidxMask ranges[PBFIDX_COLUMNS];
	PbfidxMask slabs;
	int64 pages = 0;

	for (uint32 region = 0; region * per_region < heap_blocks; region++)
	{
		probe_region(so, scan, region, &slabs, ranges);
		for (int s = -1; (s = pbfidx_mask_next(&slabs, s + 1)) >= 0;)
		{
			uint64 first = ((uint64) region * PBFIDX_COLUMNS + s) * PBFIDX_COLUMNS;

			for (int r = -1; (r = pbfidx_mask_next(&ranges[s], r + 1)) >= 0;)
				pages += add_range(tbm, first + r, pages_per_range, heap_blocks);
		}
	}
	return pages;
}

int64
pbfidx_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	PbfidxScan *so = scan->opaque;
	int64 pages = 0;

	pgstat_count_index_scan(scan->indexRelation);
	pbf_count_index_search(scan);
	prepare(so, scan);
	if (so->impossible)
		return 0;
	if (so->all_ranges)
	{
		BlockNumber blocks = heap_length(scan->indexRelation);

		pages = add_range(tbm, 0, blocks, blocks);
	}
	else
		pages = scan_regions(so, scan, tbm);
	return pages * 10; /* rows are not known; as BRIN reports it */
}

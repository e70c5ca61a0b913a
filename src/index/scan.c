/*
 * scan.c: which ranges may hold a row that meets all conditions (conditions.h).
 *
 * A range survives if no condition rules it out. For every region, and every group of columns that has
 * conditions:
 *
 * 1. Read its record. (After the snapshot was taken, and anew in every call: see src/README.md.)
 * 2. Probe every key in the upper slab, if there is one: a mask of leaf slabs for each key. A slab survives
 * if no condition rules it out.
 * 3. Probe, in each leaf slab that survives, the keys whose mask has it, condition after condition, so that
 * later ones look only at slabs that are left.
 * 4. Return the heap pages of the ranges that survive.
 *
 * A probe is one page, and on it one row a part. Pages are pinned and rows prefetched in batches, so that
 * cache misses overlap. Most regions have nothing for a key, so many of them are looked at together (a
 * window): 2 for the first group of all, from their entries of the uppers alone, then the rest for those of
 * which something is left. A page that is not what the record said was recycled since: the region is started
 * again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/conditions.h"
#include "index/directory.h"
#include "index/scan.h"
#include "index/slab.h"

/* Probes in flight. Each holds a pin; buffers of temporary tables are few. */
#define BATCH 16
#define LOCAL_BATCH 8

/* Regions looked at together, while their masks are no more than that. */
#define WINDOW 32
#define WINDOW_MASKS 4096

typedef struct PbfidxScan
{
	PbfidxConditions conditions;
	bool all_ranges; /* nothing to look for, or an index whose hashes cannot be trusted */

	/* while a window of regions is looked at */
	PbfidxMask *window_masks; /* for each region nkeys masks: */
	uint32 window;            /* so many regions at most */
	PbfidxEntry uppers[WINDOW];

	/* while a region is looked at */
	PbfidxRegion *region;
	PbfidxMask *key_masks;   /* leaf slabs that may have each key */
	PbfidxMask *range_masks; /* of one leaf slab, ranges that may have each key of a condition */
	PbfidxMask any[PBFIDX_COLUMNS];
	PbfidxMask slabs;                  /* that may hold a row */
	PbfidxMask ranges[PBFIDX_COLUMNS]; /* of these slabs, those that may */
} PbfidxScan;

/* One page to look at. */
typedef struct Probe
{
	PbfidxSlabId id;
	PbfidxExtent extent;
	PbfidxPlace place;
	PbfidxMask *mask; /* where the result is OR-ed into */
	bool *valid;      /* turns false if the page is not what it should be */
	Buffer buffer;
} Probe;

/* ---- beginning and end ---- */

IndexScanDesc
pbfidx_beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	PbfidxScan *so = palloc0(sizeof(PbfidxScan));

	pbfidx_init_conditions(&so->conditions, nkeys);
	so->region = palloc(sizeof(PbfidxRegion));
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

	pbfidx_free_conditions(&so->conditions);
	pfree(so->region);
	pfree(so);
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
	PbfidxConditions *set = &so->conditions;
	int nkeys, widest = 1;

	pbfidx_make_conditions(set, scan->indexRelation, scan->keyData, scan->numberOfKeys);
	so->all_ranges = set->n == 0 || !hashes_trusted(scan->indexRelation);
	nkeys = Max(set->nkeys, 1);
	for (int c = 0; c < set->n; c++)
		widest = Max(widest, set->list[c].n);
	so->window = (uint32) Max(1, Min(WINDOW, WINDOW_MASKS / nkeys));
	so->window_masks = MemoryContextAllocHuge(set->mcxt, (Size) so->window * nkeys * sizeof(PbfidxMask));
	so->range_masks = MemoryContextAllocHuge(set->mcxt, widest * sizeof(PbfidxMask));
}

/* ---- probing ---- */

static inline bool
is_empty_mask(const PbfidxMask *mask)
{
	uint64 any = 0;

	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		any |= mask->words[w];
	return any == 0;
}

/* Looks at n pages. All pins are gone on return. */
static void
run_probes(IndexScanDesc scan, Probe *probes, int n, int parts)
{
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < n && n > 1 && effective_io_concurrency > 0; i++)
		PrefetchBuffer(scan->indexRelation, MAIN_FORKNUM, probes[i].extent.start + probes[i].place.block);
	for (int i = 0; i < n; i++)
	{
		probes[i].buffer = ReadBuffer(scan->indexRelation, probes[i].extent.start + probes[i].place.block);
		pbfidx_prefetch_page(BufferGetPage(probes[i].buffer));
		pbfidx_prefetch(pbfidx_matrix(BufferGetPage(probes[i].buffer)), &probes[i].place, parts);
	}
	for (int i = 0; i < n; i++)
	{
		Page page = BufferGetPage(probes[i].buffer);
		PbfidxMask mask;

		LockBuffer(probes[i].buffer, BUFFER_LOCK_SHARE);
		pbf_test_for_old_snapshot(scan->xs_snapshot, scan->indexRelation, page);
		if (pbfidx_is_slab_page(page, probes[i].id, probes[i].extent, probes[i].place.block))
		{
			pbfidx_probe(pbfidx_matrix(page), &probes[i].place, parts, &mask);
			pbfidx_mask_or(probes[i].mask, &mask);
		}
		else
			*probes[i].valid = false;
		UnlockReleaseBuffer(probes[i].buffer);
	}
}

/* A queue of probes, run when it is full. */
typedef struct Queue
{
	IndexScanDesc scan;
	Probe probes[BATCH];
	int n;
	int room;
	int parts;   /* of the matrices of the group */
	bool *valid; /* of what is enqueued at the moment */
} Queue;

static void
init_queue(Queue *q, IndexScanDesc scan, int group)
{
	Relation index = scan->indexRelation;

	q->scan = scan;
	q->n = 0;
	q->room = RELATION_IS_LOCAL(index) ? LOCAL_BATCH : BATCH;
	q->parts = (int) pbfidx_cache(index)->group[group].parts;
}

static void
flush_queue(Queue *q)
{
	if (q->n > 0)
		run_probes(q->scan, q->probes, q->n, q->parts);
	q->n = 0;
}

static void
enqueue(Queue *q, PbfidxSlabId id, PbfidxExtent extent, uint64 key, PbfidxMask *mask)
{
	Probe *p = &q->probes[q->n++];

	p->id = id;
	p->extent = extent;
	p->mask = mask;
	p->valid = q->valid;
	pbfidx_locate(key, id.level, extent.blocks, q->parts, &p->place);
	if (q->n == q->room)
		flush_queue(q);
}

/* ---- regions ---- */

/* Leaves out slabs that do not exist: they have no rows. */
static void
keep_existing(const PbfidxRegion *region, PbfidxMask *slabs)
{
	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		if (region->leaf[s].now.start == 0)
			pbfidx_mask_clear(slabs, s);
	}
}

/* Conditions first..end - 1 are of one group. */
typedef struct GroupConditions
{
	int group;
	int first;
	int end;
} GroupConditions;

/* Has the keys of the group looked for in the region's upper; their masks will be in so->key_masks. */
static void
enqueue_upper(PbfidxScan *so, Queue *q, uint32 region, PbfidxExtent upper, GroupConditions g)
{
	PbfidxSlabId id = {PBFIDX_UPPER, region};

	for (int c = g.first; c < g.end; c++)
	{
		for (int key = so->conditions.list[c].first;
		     key < so->conditions.list[c].first + so->conditions.list[c].n; key++)
		{
			if (upper.start == 0)
				pbfidx_mask_fill(&so->key_masks[key]);
			else
			{
				memset(&so->key_masks[key], 0, sizeof(PbfidxMask));
				if (so->conditions.probed[key])
					enqueue(q, id, upper, so->conditions.keys[key], &so->key_masks[key]);
			}
		}
	}
}

/* Rules out leaf slabs by what the upper said, if there is one. */
static void
apply_upper(PbfidxScan *so, PbfidxExtent upper, GroupConditions g)
{
	for (int c = g.first; c < g.end && upper.start != 0; c++)
		pbfidx_apply_condition(&so->conditions, &so->conditions.list[c],
		                       &so->key_masks[so->conditions.list[c].first], &so->slabs);
}

static void
drop_empty_slab(PbfidxMask *slabs, const PbfidxMask *ranges, int s)
{
	if (is_empty_mask(&ranges[s]))
		pbfidx_mask_clear(slabs, s);
}

/* Probes the keys of a condition in one leaf slab, as far as the upper left them; the results are OR-ed into
 * masks, `step` of them apart. */
static void
probe_condition(PbfidxScan *so, Queue *q, const PbfidxCondition *c, PbfidxSlabId id, PbfidxMask *masks,
                int step)
{
	int s = (int) (id.slab % PBFIDX_COLUMNS);

	for (int i = 0; i < c->n; i++)
	{
		int key = c->first + i;

		if (so->conditions.probed[key] && pbfidx_mask_test(&so->key_masks[key], s))
			enqueue(q, id, so->region->leaf[s].now, so->conditions.keys[key], &masks[i * step]);
	}
}

/* A condition without queries: the probes of all slabs together. */
static void
apply_any_to_leaves(PbfidxScan *so, Queue *q, uint32 region, const PbfidxCondition *c, PbfidxMask *slabs,
                    PbfidxMask *ranges)
{
	PbfidxMask *any = so->any;

	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(&any[s], 0, sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, &any[s], 0);
	}
	flush_queue(q);
	for (int s = -1; *q->valid && (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		pbfidx_mask_and(&ranges[s], &any[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* A condition with queries: slab by slab, with a mask for each key. */
static void
apply_queries_to_leaves(PbfidxScan *so, Queue *q, uint32 region, const PbfidxCondition *c, PbfidxMask *slabs,
                        PbfidxMask *ranges)
{
	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(so->range_masks, 0, c->n * sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, so->range_masks,
		                1);
		flush_queue(q);
		if (!*q->valid)
			return;
		pbfidx_apply_condition(&so->conditions, c, so->range_masks, &ranges[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* Of the leaf slabs in so->slabs, ranges that may hold a row; slabs without any leave the mask. */
static void
probe_leaves(PbfidxScan *so, Queue *q, uint32 region, GroupConditions g)
{
	keep_existing(so->region, &so->slabs);
	for (int c = g.first; c < g.end && *q->valid && !is_empty_mask(&so->slabs); c++)
	{
		const PbfidxCondition *condition = &so->conditions.list[c];

		if (condition->nqueries == 0)
			apply_any_to_leaves(so, q, region, condition, &so->slabs, so->ranges);
		else
			apply_queries_to_leaves(so, q, region, condition, &so->slabs, so->ranges);
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

/*
 * What one group leaves of the slabs and ranges of a region; retried until the record and the pages agree.
 * What a failed attempt ruled out stays ruled out: a condition is applied only if all its pages were valid.
 */
static void
probe_group(PbfidxScan *so, IndexScanDesc scan, uint32 region, GroupConditions g)
{
	Relation index = scan->indexRelation;
	PbfidxRegion *seen = NULL;
	bool valid;
	Queue q;

	init_queue(&q, scan, g.group);
	q.valid = &valid;
	for (;;)
	{
		pbfidx_read_region(index, region, so->region);
		if (seen != NULL && memcmp(seen, so->region, sizeof(PbfidxRegion)) == 0)
			pbfidx_corrupted(index, "A page is not what the directory says");
		valid = true;
		enqueue_upper(so, &q, region, so->region->upper.now, g);
		flush_queue(&q);
		if (valid)
			apply_upper(so, so->region->upper.now, g);
		if (valid)
			probe_leaves(so, &q, region, g);
		if (valid)
			break;
		if (seen == NULL)
			seen = palloc(sizeof(PbfidxRegion));
		*seen = *so->region;
	}
	if (seen != NULL)
		pfree(seen);
}

/* The conditions of the group that begin with number `first`. */
static GroupConditions
group_conditions(const PbfidxScan *so, int first)
{
	GroupConditions g = {so->conditions.list[first].group, first, first};

	while (g.end < so->conditions.n && so->conditions.list[g.end].group == g.group)
		g.end++;
	return g;
}

/* What the first group leaves of a region in the window, whose upper has been asked; false: could not be
 * read. */
static bool
probe_first_group(PbfidxScan *so, IndexScanDesc scan, uint32 region, GroupConditions g)
{
	bool valid = true;
	Queue q;

	init_queue(&q, scan, g.group);
	q.valid = &valid;
	pbfidx_read_region(scan->indexRelation, region, so->region);
	probe_leaves(so, &q, region, g);
	return valid;
}

/* The ranges of a region of the heap; so->slabs: what the upper of the first group left, if it was valid. */
static void
finish_region(PbfidxScan *so, IndexScanDesc scan, uint32 number, GroupConditions g, bool valid)
{
	uint32 groups = pbfidx_cache(scan->indexRelation)->groups;
	uint32 region = number * groups + (uint32) g.group;

	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
		pbfidx_mask_fill(&so->ranges[s]);
	if (!valid || !probe_first_group(so, scan, region, g))
		probe_group(so, scan, region, g);
	while (g.end < so->conditions.n && !is_empty_mask(&so->slabs))
	{
		g = group_conditions(so, g.end);
		probe_group(so, scan, number * groups + (uint32) g.group, g);
	}
}

static BlockNumber
heap_length(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, NoLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(heap);

	table_close(heap, NoLock);
	return blocks;
}

/* Adds what is left of a region. */
static int64
add_ranges(PbfidxScan *so, TIDBitmap *tbm, uint32 region, uint32 pages_per_range, BlockNumber heap_blocks)
{
	int64 pages = 0;

	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
	{
		uint64 first = ((uint64) region * PBFIDX_COLUMNS + s) * PBFIDX_COLUMNS;

		for (int r = -1; (r = pbfidx_mask_next(&so->ranges[s], r + 1)) >= 0;)
			pages += add_range(tbm, first + r, pages_per_range, heap_blocks);
	}
	return pages;
}

/* The masks of region i of the window. */
static void
use_masks(PbfidxScan *so, uint32 i)
{
	so->key_masks = so->window_masks + (Size) i * so->conditions.nkeys;
}

/* Looks for the keys of a group in the uppers of n regions; valid: whether each could be read. */
static void
probe_uppers(PbfidxScan *so, IndexScanDesc scan, uint32 first, uint32 n, GroupConditions g, bool *valid)
{
	uint32 groups = pbfidx_cache(scan->indexRelation)->groups;
	Queue q;

	init_queue(&q, scan, g.group);
	pbfidx_read_uppers(scan->indexRelation, first * groups + (uint32) g.group, groups, n, so->uppers);
	for (uint32 i = 0; i < n; i++)
	{
		valid[i] = true;
		q.valid = &valid[i];
		use_masks(so, i);
		enqueue_upper(so, &q, (first + i) * groups + (uint32) g.group, so->uppers[i].now, g);
	}
	flush_queue(&q);
}

/* n regions of the heap. */
static int64
scan_window(PbfidxScan *so, IndexScanDesc scan, TIDBitmap *tbm, uint32 first, uint32 n,
            BlockNumber heap_blocks)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	GroupConditions g = group_conditions(so, 0);
	bool valid[WINDOW];
	int64 pages = 0;

	probe_uppers(so, scan, first, n, g, valid);
	for (uint32 i = 0; i < n; i++)
	{
		use_masks(so, i);
		pbfidx_mask_fill(&so->slabs);
		if (valid[i])
			apply_upper(so, so->uppers[i].now, g);
		if (is_empty_mask(&so->slabs))
			continue;
		finish_region(so, scan, first + i, g, valid[i]);
		pages += add_ranges(so, tbm, first + i, pages_per_range, heap_blocks);
	}
	return pages;
}

static int64
scan_regions(PbfidxScan *so, IndexScanDesc scan, TIDBitmap *tbm)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	BlockNumber heap_blocks = heap_length(scan->indexRelation);
	uint64 per_region = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pages_per_range;
	uint32 regions = (uint32) ((heap_blocks + per_region - 1) / per_region);
	int64 pages = 0;

	for (uint32 first = 0; first < regions; first += so->window)
		pages += scan_window(so, scan, tbm, first, Min(so->window, regions - first), heap_blocks);
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
	if (so->conditions.impossible)
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

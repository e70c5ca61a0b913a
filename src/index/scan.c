/*
 * scan.c: which ranges may hold a row that meets all conditions (conditions.h).
 *
 * A range survives if no condition rules it out. For every area, and every group of columns that has
 * conditions:
 *
 * 1. Read the entry of its upper. (After the snapshot was taken, and anew in every call: see src/README.md.)
 * 2. Probe every key in the upper, if there is one: a mask of columns for each key, each column some leaf
 * slabs. A column survives if no condition rules it out.
 * 3. Read the records of the regions of which something is left. Probe, in each leaf slab that survives, the
 * keys whose mask has it, condition after condition, so that later ones look only at slabs that are left.
 * 4. Return the heap pages of the ranges that survive, or those of their rows that have the keys (rows.h).
 *
 * A probe is one page, and on it one row a part (probe.h). Most areas have nothing for a key, so many of them
 * are looked at together (a window): 2 for the first group of all, then the rest for those of which something
 * is left. A page that is not what the record said was recycled since: the region is started again.
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
#include "index/probe.h"
#include "index/rows.h"
#include "index/scan.h"
#include "index/slab.h"

/* Areas looked at together, while their masks are no more than that. */
#define WINDOW 32
#define WINDOW_MASKS 4096

/* One of them. */
typedef struct Area
{
	PbfidxArea area;
	PbfidxEntry upper;
	PbfidxMask *key_masks; /* for each key the columns of the upper that may have it */
	bool valid;            /* whether the upper could be read */
} Area;

typedef struct PbfidxScan
{
	PbfidxConditions conditions;
	PbfidxRows rows;
	bool all_ranges; /* nothing to look for, or an index whose hashes cannot be trusted */

	/* while a window of areas is looked at */
	Area areas[WINDOW];
	PbfidxMask *window_masks; /* for each area nkeys masks */
	uint32 window;            /* so many areas at most */

	/* while a region is looked at */
	const Area *area; /* where it is: */
	uint32 before;    /* leaf slabs of the area that come before those of the region */
	PbfidxRegion *region;
	PbfidxMask *retry_masks; /* as key_masks, of an area by itself */
	PbfidxMask *range_masks; /* of one leaf slab, ranges that may have each key of a condition */
	PbfidxMask any[PBFIDX_COLUMNS];
	PbfidxMask slabs;                  /* that may hold a row */
	PbfidxMask ranges[PBFIDX_COLUMNS]; /* of these slabs, those that may */
} PbfidxScan;

/* ---- beginning and end ---- */

IndexScanDesc
pbfidx_beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	PbfidxScan *so = palloc0(sizeof(PbfidxScan));

	pbfidx_init_conditions(&so->conditions, nkeys);
	pbfidx_init_rows(&so->rows, index);
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
	pbfidx_free_rows(&so->rows);
	pfree(so->region);
	pfree(so);
}

static void
prepare(PbfidxScan *so, IndexScanDesc scan)
{
	PbfidxConditions *set = &so->conditions;
	int nkeys, widest = 1;

	pbfidx_make_conditions(set, scan->indexRelation, scan->keyData, scan->numberOfKeys);
	so->all_ranges = set->n == 0 || !pbfidx_trust_or_warn(scan->indexRelation);
	nkeys = Max(set->nkeys, 1);
	for (int c = 0; c < set->n; c++)
		widest = Max(widest, set->list[c].n);
	so->window = (uint32) Max(1, Min(WINDOW, WINDOW_MASKS / nkeys));
	so->window_masks = MemoryContextAllocHuge(set->mcxt, (Size) so->window * nkeys * sizeof(PbfidxMask));
	so->retry_masks = MemoryContextAllocHuge(set->mcxt, nkeys * sizeof(PbfidxMask));
	so->range_masks = MemoryContextAllocHuge(set->mcxt, widest * sizeof(PbfidxMask));
}

static inline bool
is_empty_mask(const PbfidxMask *mask)
{
	uint64 any = 0;

	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		any |= mask->words[w];
	return any == 0;
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

/* Has the keys of the group looked for in the upper of an area, of which the entry has been read. */
static void
enqueue_upper(PbfidxScan *so, PbfidxProbes *q, PbfidxSlabId id, Area *a, GroupConditions g)
{
	for (int c = g.first; c < g.end; c++)
	{
		const PbfidxCondition *condition = &so->conditions.list[c];

		for (int key = condition->first; key < condition->first + condition->n; key++)
		{
			if (a->upper.now.start == 0)
				pbfidx_mask_fill(&a->key_masks[key]);
			else
			{
				memset(&a->key_masks[key], 0, sizeof(PbfidxMask));
				if (so->conditions.probed[key])
					pbfidx_add_probe(q, id, a->upper.now, so->conditions.keys[key], &a->key_masks[key]);
			}
		}
	}
}

/* Columns of the area's upper that it leaves; all, if there is none or it could not be read. */
static void
apply_upper(PbfidxScan *so, const Area *a, GroupConditions g, PbfidxMask *columns)
{
	pbfidx_mask_fill(columns);
	for (int c = g.first; c < g.end && a->valid && a->upper.now.start != 0; c++)
		pbfidx_apply_condition(&so->conditions, &so->conditions.list[c],
		                       &a->key_masks[so->conditions.list[c].first], columns);
}

/* From here on the region is looked at, the number `n` of the area. */
static void
enter_region(PbfidxScan *so, const Area *a, uint32 n)
{
	so->area = a;
	so->before = n * PBFIDX_COLUMNS;
}

/* The column of the area's upper that has leaf slab s of the region. */
static inline int
upper_column(const PbfidxScan *so, int s)
{
	return (int) ((so->before + (uint32) s) / so->area->area.regions);
}

/* Rules out leaf slabs of the region that are in none of these columns. */
static void
keep_columns(const PbfidxScan *so, const PbfidxMask *columns, PbfidxMask *slabs)
{
	int width = (int) so->area->area.regions;
	int first = (int) so->before / width, end = first + PBFIDX_COLUMNS / width;
	PbfidxMask kept = {{0}};

	for (int c = first - 1; (c = pbfidx_mask_next(columns, c + 1)) >= 0 && c < end;)
	{
		for (int s = (c - first) * width; s < (c - first + 1) * width; s++)
			pbfidx_mask_add(&kept, s);
	}
	pbfidx_mask_and(slabs, &kept);
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
probe_condition(PbfidxScan *so, PbfidxProbes *q, const PbfidxCondition *c, PbfidxSlabId id, PbfidxMask *masks,
                int step)
{
	int s = (int) (id.slab % PBFIDX_COLUMNS);

	for (int i = 0; i < c->n; i++)
	{
		int key = c->first + i;

		if (so->conditions.probed[key] && pbfidx_mask_test(&so->area->key_masks[key], upper_column(so, s)))
			pbfidx_add_probe(q, id, so->region->leaf[s].now, so->conditions.keys[key], &masks[i * step]);
	}
}

/* A condition without queries: the probes of all slabs together. */
static void
apply_any_to_leaves(PbfidxScan *so, PbfidxProbes *q, uint32 region, const PbfidxCondition *c,
                    PbfidxMask *slabs, PbfidxMask *ranges)
{
	PbfidxMask *any = so->any;

	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(&any[s], 0, sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, &any[s], 0);
	}
	pbfidx_flush_probes(q);
	for (int s = -1; *q->valid && (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		pbfidx_mask_and(&ranges[s], &any[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* A condition with queries: slab by slab, with a mask for each key. */
static void
apply_queries_to_leaves(PbfidxScan *so, PbfidxProbes *q, uint32 region, const PbfidxCondition *c,
                        PbfidxMask *slabs, PbfidxMask *ranges)
{
	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(so->range_masks, 0, c->n * sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, so->range_masks,
		                1);
		pbfidx_flush_probes(q);
		if (!*q->valid)
			return;
		pbfidx_apply_condition(&so->conditions, c, so->range_masks, &ranges[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* Of the leaf slabs in so->slabs, ranges that may hold a row; slabs without any leave the mask. */
static void
probe_leaves(PbfidxScan *so, PbfidxProbes *q, uint32 region, GroupConditions g)
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

/*
 * What one group leaves of the slabs and ranges of region n of an area; retried until the entries and the
 * pages agree. What a failed attempt ruled out stays ruled out: a condition is applied only if all its pages
 * were valid.
 */
static void
probe_group(PbfidxScan *so, IndexScanDesc scan, uint32 number, GroupConditions g)
{
	Relation index = scan->indexRelation;
	const PbfidxCache *cache = pbfidx_cache(index);
	uint32 region = number * cache->groups + (uint32) g.group;
	Area a = {.area = pbfidx_area_over(cache, region), .key_masks = so->retry_masks};
	PbfidxSlabId upper_id = pbfidx_upper_of(cache, a.area, (uint32) g.group);
	PbfidxRegion *seen = NULL;
	PbfidxEntry seen_upper;
	PbfidxProbes q;

	pbfidx_init_probes(&q, scan, g.group);
	q.valid = &a.valid;
	enter_region(so, &a, number - a.area.first);
	for (;;)
	{
		PbfidxMask columns;

		pbfidx_read_uppers(index, &upper_id, 1, &a.upper);
		pbfidx_read_region(index, region, so->region);
		if (seen != NULL && memcmp(seen, so->region, sizeof(PbfidxRegion)) == 0 &&
		    memcmp(&seen_upper, &a.upper, sizeof(PbfidxEntry)) == 0)
			pbfidx_corrupted(index, "A page is not what the directory says");
		a.valid = true;
		enqueue_upper(so, &q, upper_id, &a, g);
		pbfidx_flush_probes(&q);
		apply_upper(so, &a, g, &columns);
		keep_columns(so, &columns, &so->slabs);
		if (a.valid)
			probe_leaves(so, &q, region, g);
		if (a.valid)
			break;
		if (seen == NULL)
			seen = palloc(sizeof(PbfidxRegion));
		*seen = *so->region;
		seen_upper = a.upper;
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
	PbfidxProbes q;

	pbfidx_init_probes(&q, scan, g.group);
	q.valid = &valid;
	pbfidx_read_leaves(scan->indexRelation, region, &so->slabs, so->region);
	probe_leaves(so, &q, region, g);
	return valid;
}

/* The ranges of a region of the heap in the window, of which so->slabs are left. */
static void
finish_region(PbfidxScan *so, IndexScanDesc scan, uint32 number, GroupConditions g)
{
	uint32 groups = pbfidx_cache(scan->indexRelation)->groups;

	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
		pbfidx_mask_fill(&so->ranges[s]);
	if (!so->area->valid || !probe_first_group(so, scan, number * groups + (uint32) g.group, g))
		probe_group(so, scan, number, g);
	while (g.end < so->conditions.n && !is_empty_mask(&so->slabs))
	{
		g = group_conditions(so, g.end);
		probe_group(so, scan, number, g);
	}
}

/* The pages of what is left of a region. */
static void
add_ranges(PbfidxScan *so, uint32 region, uint32 pages_per_range, BlockNumber heap_blocks)
{
	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
	{
		uint64 slab = ((uint64) region * PBFIDX_COLUMNS + s) * PBFIDX_COLUMNS;

		for (int r = -1; (r = pbfidx_mask_next(&so->ranges[s], r + 1)) >= 0;)
		{
			uint64 first = (slab + r) * pages_per_range;

			if (first < heap_blocks)
				pbfidx_add_pages(&so->rows, (BlockNumber) first,
				                 (BlockNumber) Min(first + pages_per_range, heap_blocks));
		}
	}
}

/* Looks for the keys of a group in the uppers of n areas. */
static void
probe_uppers(PbfidxScan *so, IndexScanDesc scan, uint32 n, GroupConditions g)
{
	PbfidxSlabId ids[WINDOW];
	PbfidxEntry entries[WINDOW];
	PbfidxProbes q;

	pbfidx_init_probes(&q, scan, g.group);
	for (uint32 i = 0; i < n; i++)
		ids[i] = pbfidx_upper_of(pbfidx_cache(scan->indexRelation), so->areas[i].area, (uint32) g.group);
	pbfidx_read_uppers(scan->indexRelation, ids, n, entries);
	for (uint32 i = 0; i < n; i++)
	{
		Area *a = &so->areas[i];

		a->upper = entries[i];
		a->key_masks = so->window_masks + (Size) i * so->conditions.nkeys;
		a->valid = true;
		q.valid = &a->valid;
		enqueue_upper(so, &q, ids[i], a, g);
	}
	pbfidx_flush_probes(&q);
}

/* The areas of a window, as far as the heap goes. */
static void
scan_window(PbfidxScan *so, IndexScanDesc scan, uint32 n, uint32 regions, BlockNumber heap_blocks)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	GroupConditions g = group_conditions(so, 0);

	probe_uppers(so, scan, n, g);
	for (const Area *a = so->areas; a < so->areas + n; a++)
	{
		PbfidxMask columns;

		apply_upper(so, a, g, &columns);
		for (uint32 i = 0; i < a->area.regions && a->area.first + i < regions && !is_empty_mask(&columns);
		     i++)
		{
			enter_region(so, a, i);
			pbfidx_mask_fill(&so->slabs);
			keep_columns(so, &columns, &so->slabs);
			if (is_empty_mask(&so->slabs))
				continue;
			finish_region(so, scan, a->area.first + i, g);
			add_ranges(so, a->area.first + i, pages_per_range, heap_blocks);
		}
	}
}

static void
scan_regions(PbfidxScan *so, IndexScanDesc scan, BlockNumber heap_blocks)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	uint64 per_region = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pages_per_range;
	uint32 regions = (uint32) ((heap_blocks + per_region - 1) / per_region);
	int group = regions > 0 ? so->conditions.list[0].group : 0;
	PbfidxWidths widths = pbfidx_cache(scan->indexRelation)->group[group].areas;

	for (uint32 area = 0; pbfidx_area(widths, area).first < regions; area += so->window)
	{
		uint32 n = 0;

		for (; n < so->window && pbfidx_area(widths, area + n).first < regions; n++)
			so->areas[n].area = pbfidx_area(widths, area + n);
		scan_window(so, scan, n, regions, heap_blocks);
	}
}

int64
pbfidx_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	PbfidxScan *so = scan->opaque;
	Relation heap;
	BlockNumber heap_blocks;

	pgstat_count_index_scan(scan->indexRelation);
	pbfidx_refit_cache(scan->indexRelation);
	pbf_count_index_search(scan);
	prepare(so, scan);
	if (so->conditions.impossible)
		return 0;
	heap = table_open(scan->indexRelation->rd_index->indrelid, NoLock);
	heap_blocks = RelationGetNumberOfBlocks(heap);
	pbfidx_begin_rows(&so->rows, heap, scan, so->all_ranges ? NULL : &so->conditions, tbm);
	if (so->all_ranges)
		pbfidx_add_pages(&so->rows, 0, heap_blocks);
	else
		scan_regions(so, scan, heap_blocks);
	pbfidx_end_rows(&so->rows);
	table_close(heap, NoLock);
	return so->rows.returned;
}

/*
 * build.c: CREATE INDEX: one pass over the heap, one region in memory at a time.
 *
 * For every leaf slab: collect the keys of its ranges, choose its number of pages from the distinct keys seen,
 * fill and write it. The distinct keys of all its slabs become the region's upper slab at the end. Should they take
 * more than maintenance_work_mem, the size of the upper is decided on what has come so far, and its matrices take
 * over from the keys.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/build.h"
#include "index/fill.h"
#include "index/options.h"
#include "index/size.h"
#include "index/slab.h"

typedef struct Build
{
	Relation heap;
	Relation index;
	BlockNumber heap_blocks;
	uint32 pages_per_range;
	double fpr;
	PbfidxHeapScan *scan;
	PbfidxSlabKeys *slab;
	int64 keys;
} Build;

/* The upper slab of the region being built: keys of its columns, later matrices. */
typedef struct Upper
{
	uint64 *keys;
	Size n, room;
	Size end[PBFIDX_COLUMNS];
	int columns; /* leaf slabs so far */
	double slab_keys_sum, range_keys_sum;
	uint32 blocks;	   /* 0: not decided */
	uint8 *matrices; /* once decided */
} Upper;

/* ---- upper ---- */

static double
mean_slab_keys(const Upper *u)
{
	return u->columns > 0 ? u->slab_keys_sum / u->columns : 0;
}

static void
decide_upper(Build *b, Upper *u)
{
	PbfidxPlan plan = pbfidx_plan(u->range_keys_sum / u->columns, mean_slab_keys(u), b->fpr, true);

	u->blocks = plan.upper_blocks;
	if (u->blocks == 0)
		return;
	u->matrices = pbfidx_new_matrices(u->blocks);
	for (int column = 0; column < u->columns; column++)
	{
		Size first = column > 0 ? u->end[column - 1] : 0;

		pbfidx_set_column_keys(u->matrices, u->blocks, PBFIDX_UPPER, column, u->keys + first,
							   (uint32) (u->end[column] - first));
	}
	pfree(u->keys);
	u->keys = NULL;
}

static void
keep_upper_keys(Upper *u, const PbfidxKeySet *set)
{
	while (u->n + set->n > u->room)
	{
		u->room = u->room > 0 ? u->room * 2 : 65536;
		u->keys = u->keys == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, u->room * sizeof(uint64))
								  : repalloc_huge(u->keys, u->room * sizeof(uint64));
	}
	memcpy(u->keys + u->n, set->keys, set->n * sizeof(uint64));
	u->n += set->n;
}

static void
add_to_upper(Build *b, Upper *u)
{
	u->slab_keys_sum += pbfidx_full_slab_keys(b->slab);
	u->range_keys_sum += pbfidx_mean_range_keys(b->slab);
	if (u->matrices != NULL)
		pbfidx_set_column_keys(u->matrices, u->blocks, PBFIDX_UPPER, u->columns++, b->slab->slab->keys, b->slab->slab->n);
	else
	{
		keep_upper_keys(u, b->slab->slab);
		u->end[u->columns++] = u->n;
		if (u->n * sizeof(uint64) > (Size) maintenance_work_mem * 1024 / 2)
			decide_upper(b, u);
	}
}

/* ---- slabs ---- */

static void
write_and_publish(Build *b, PbfidxSlabId id, uint32 blocks, const uint8 *matrices, double column_keys)
{
	PbfidxAllocation a = pbfidx_allocate(b->index, blocks);
	int used;
	PbfidxEntry entry = {a.extent, {0, 0, 0}, (float4) pbfidx_page_fill(matrices, &used), (uint32) column_keys};

	pbfidx_write_slab(b->index, MAIN_FORKNUM, id, a.extent, PBFIDX_SCALAR_PARTS, matrices);
	pbfidx_publish(b->index, id, &entry, &a, NULL);
}

static void
build_leaf(Build *b, uint32 leaf, bool with_upper)
{
	PbfidxSlabId id = {PBFIDX_LEAF, leaf};
	double range_keys, slab_keys;
	PbfidxPlan plan;
	uint8 *matrices;

	pbfidx_collect_slab(b->slab, b->scan, leaf, b->pages_per_range, b->heap_blocks, false);
	range_keys = pbfidx_mean_range_keys(b->slab);
	slab_keys = pbfidx_full_slab_keys(b->slab);
	b->keys += b->slab->n;
	plan = pbfidx_plan(range_keys, slab_keys, b->fpr, with_upper);
	matrices = pbfidx_new_matrices(plan.leaf_blocks);
	pbfidx_set_leaf_keys(matrices, plan.leaf_blocks, b->slab);
	write_and_publish(b, id, plan.leaf_blocks, matrices, range_keys);
	pfree(matrices);
}

static void
build_region(Build *b, uint32 region, uint32 slabs)
{
	uint32 first = region * PBFIDX_COLUMNS;
	uint32 last = Min(first + PBFIDX_COLUMNS, slabs);
	/* Every later region has an upper, as the inserts that would have made it have (insert.c). */
	bool with_upper = region > 0 || last - first >= PBFIDX_UPPER_FROM_SLABS;
	Upper *u = palloc0(sizeof(Upper));
	PbfidxSlabId id = {PBFIDX_UPPER, region};

	pbfidx_reach_region(b->index, region);
	for (uint32 leaf = first; leaf < last; leaf++)
	{
		build_leaf(b, leaf, with_upper);
		if (with_upper)
			add_to_upper(b, u);
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
									 Min((int64) (leaf + 1) * PBFIDX_COLUMNS * b->pages_per_range, b->heap_blocks));
	}
	if (with_upper && u->matrices == NULL)
		decide_upper(b, u);
	if (u->matrices != NULL)
	{
		write_and_publish(b, id, u->blocks, u->matrices, mean_slab_keys(u));
		pfree(u->matrices);
	}
	if (u->keys != NULL)
		pfree(u->keys);
	pfree(u);
}

/* ---- options ---- */

#define SAMPLE_BLOCKS 300	/* enough for a mean within some percent */
#define MIN_RANGE_KEYS 32 /* keys a range should hold: below, pages of one block are mostly empty */

/* Rows that a heap page has room for, by the declared widths of the columns: all that is known of an empty table. */
static double
rows_by_width(Relation heap)
{
	int32 width = get_rel_data_width(heap, NULL);

	return Max(1, (BLCKSZ - SizeOfPageHeaderData) /
					  (double) (MAXALIGN(SizeofHeapTupleHeader) + MAXALIGN(width) + sizeof(ItemIdData)));
}

/* Distinct keys a heap page, from a sample of evenly spaced ones; *full: keys of the fullest. */
static double
sample_page_keys(Build *b)
{
	uint32 step = Max(1, b->heap_blocks / SAMPLE_BLOCKS);
	PbfidxKeySet *set = pbfidx_new_keyset();
	double sum = 0;
	int n = 0;

	for (BlockNumber block = 0; block < b->heap_blocks; block += step)
	{
		CHECK_FOR_INTERRUPTS();
		pbfidx_clear_keyset(set);
		pbfidx_scan_block(b->scan, block);
		for (int i = 0; i < b->scan->n; i++)
			pbfidx_add_key(set, b->scan->keys[i]);
		sum += set->n;
		n++;
	}
	pbfidx_free_keyset(set);
	b->scan->live = 0;
	return n > 0 ? sum / n : 0;
}

/* page_keys: distinct keys of a heap page, 0: not known. */
static PbfidxMeta *
freeze_options(Relation heap, Relation index, double page_keys)
{
	PbfidxMeta *meta = palloc0(sizeof(PbfidxMeta));
	int columns = IndexRelationGetNumberOfKeyAttributes(index);
	int wanted = pbfidx_option_pages_per_range(index);

	if (page_keys <= 0)
		page_keys = rows_by_width(heap) * columns;
	if (wanted == 0)
		wanted = (int) Min(Max(1, ceil(MIN_RANGE_KEYS / page_keys)), PBFIDX_MAX_PAGES_PER_RANGE);
	meta->false_positive_rate = pbfidx_option_fpr(index);
	meta->pages_per_range = (uint32) wanted;
	meta->column_keys = (uint32) Max(1, page_keys * wanted);
	meta->server_major = PG_VERSION_NUM / 10000;
	if (pbfidx_uses_server_hash(pbfidx_hashers(index, CurrentMemoryContext), columns))
		meta->flags |= PBFIDX_SERVER_HASH;
	if (RelationGetIndexPredicate(index) != NIL)
		meta->flags |= PBFIDX_ROW_KEY;
	return meta;
}

/* ---- the build ---- */

static void
refuse_other_tables(Relation heap)
{
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("access method \"pbfidx\" supports heap tables only"),
				errdetail("Table \"%s\" uses another table access method.", RelationGetRelationName(heap)));
}

IndexBuildResult *
pbfidx_build(Relation heap, Relation index, IndexInfo *info)
{
	Build b = {.heap = heap, .index = index, .heap_blocks = RelationGetNumberOfBlocks(heap)};
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	PbfidxMeta *meta;
	uint64 ranges;

	refuse_other_tables(heap);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	index->rd_amcache = NULL; /* of another file */
	b.scan = pbfidx_begin_heapscan(heap, index, info, RelationGetIndexPredicate(index) != NIL, PBFIDX_BUILD);
	b.slab = pbfidx_new_slab_keys(true);
	meta = freeze_options(heap, index, b.heap_blocks > 0 ? sample_page_keys(&b) : 0);
	b.pages_per_range = meta->pages_per_range;
	b.fpr = meta->false_positive_rate;
	pbfidx_init_metapage(index, MAIN_FORKNUM, meta);

	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, b.heap_blocks);
	ranges = ((uint64) b.heap_blocks + b.pages_per_range - 1) / b.pages_per_range;
	for (uint64 first = 0, region = 0; first < ranges; first += (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS, region++)
		build_region(&b, (uint32) region, (uint32) ((ranges + PBFIDX_COLUMNS - 1) / PBFIDX_COLUMNS));

	result->heap_tuples = b.scan->live;
	result->index_tuples = b.scan->live;
	pbfidx_free_slab_keys(b.slab);
	pbfidx_end_heapscan(b.scan);
	pfree(meta);
	return result;
}

/* The init fork of an unlogged index: it starts empty after a crash. */
void
pbfidx_buildempty(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, NoLock);
	PbfidxMeta *meta = freeze_options(heap, index, 0);

	pbfidx_init_metapage(index, INIT_FORKNUM, meta);
	table_close(heap, NoLock);
	pfree(meta);
}

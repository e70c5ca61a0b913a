/*
 * build.c: CREATE INDEX: one pass over the heap, one area in memory at a time.
 *
 * For every leaf slab: collect the keys of its ranges, choose its number of pages from the distinct keys
 * seen, fill and write it. The distinct keys of all slabs of an area become its upper slab at the end.
 * Should they take more than maintenance_work_mem, the size of the upper is decided on what has come so far,
 * and its matrices take over from the keys.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_proc.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "index/build.h"
#include "index/fill.h"
#include "index/folding.h"
#include "index/options.h"
#include "index/size.h"
#include "index/slab.h"

/* What the processes of a build share; in a serial build a local variable. */
typedef struct BuildShared
{
	Oid heap;
	Oid index;
	bool concurrent;
	int participants;
	BlockNumber heap_blocks; /* the heap's length, fixed by the leader */
	uint32 pages_per_range;
	uint32 groups;
	PbfidxGroup group[PBFIDX_MAX_GROUPS];
	pg_atomic_uint32 next_area;
	pg_atomic_uint64 next_block; /* of the index */
	pg_atomic_uint32 generation;
	pg_atomic_uint64 live; /* rows */
	pg_atomic_uint64 done; /* heap blocks */
} BuildShared;

/* One process of a build. */
typedef struct Build
{
	BuildShared *shared;
	Relation heap;
	Relation index;
	Size memory; /* bytes for the keys of an area */
	bool leader;
	PbfidxHeapScan *scan;
	PbfidxSlabKeys *slab; /* being built */
} Build;

/* The upper slab of the area being built: keys of its columns, later matrices. */
typedef struct Upper
{
	uint64 *keys;
	Size n, room;
	Size end[PBFIDX_COLUMNS];
	uint32 width; /* leaf slabs of a column */
	uint32 slabs; /* so far */
	PbfidxColumnKeys column;
	PbfidxMean column_keys, range_keys;
	double leaf_fpr; /* sum over the leaf slabs that have keys, which range_keys counts */
	uint32 blocks;   /* 0: not decided */
	uint8 *matrices; /* once decided */
	bool given_up;   /* not worth its pages */
} Upper;

/* ---- upper ---- */

static Upper *
new_upper(const PbfidxGroup *g, uint32 width)
{
	Upper *u = palloc0(sizeof(Upper));

	u->width = width;
	u->column_keys = u->range_keys = pbfidx_no_mean(g);
	pbfidx_init_column_keys(&u->column, width);
	return u;
}

static void
free_upper(Upper *u)
{
	if (u->matrices != NULL)
		pfree(u->matrices);
	if (u->keys != NULL)
		pfree(u->keys);
	if (u->column.sample != NULL)
		pbfidx_free_keyset(u->column.sample);
	pfree(u);
}

static void
set_upper_keys(Build *b, Upper *u, uint32 column, const uint64 *keys, Size n)
{
	pbfidx_set_column_keys(u->matrices, u->blocks, (int) b->slab->group->parts, PBFIDX_UPPER, (int) column,
	                       keys, n);
}

static void
end_column(Upper *u)
{
	pbfidx_add_to_mean(&u->column_keys, pbfidx_take_column_keys(&u->column));
}

static void
decide_upper(Build *b, Upper *u)
{
	const PbfidxGroup *g = b->slab->group;
	uint32 columns = (u->slabs + u->width - 1) / u->width;

	if (u->slabs % u->width != 0)
		end_column(u);
	u->blocks = pbfidx_upper_blocks(g, pbfidx_mean(&u->range_keys), pbfidx_mean(&u->column_keys), u->width,
	                                u->range_keys.n > 0 ? u->leaf_fpr / u->range_keys.n : 1);
	u->given_up = u->blocks == 0;
	if (!u->given_up)
		u->matrices = pbfidx_new_matrices(u->blocks);
	for (uint32 column = 0; column < columns && !u->given_up; column++)
	{
		Size first = column > 0 ? u->end[column - 1] : 0;

		set_upper_keys(b, u, column, u->keys + first, u->end[column] - first);
	}
	if (u->keys != NULL)
		pfree(u->keys);
	u->keys = NULL;
}

static void
keep_upper_keys(Upper *u, const PbfidxKeySet *set)
{
	if (set->n == 0)
		return;
	while (u->n + set->n > u->room)
	{
		u->room = u->room > 0 ? u->room * 2 : 65536;
		u->keys = u->keys == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, u->room * sizeof(uint64))
		                          : repalloc_huge(u->keys, u->room * sizeof(uint64));
	}
	memcpy(u->keys + u->n, set->keys, set->n * sizeof(uint64));
	u->n += set->n;
}

/* The keys of one more leaf slab. */
static void
add_to_upper(Build *b, Upper *u)
{
	const PbfidxKeySet *set = b->slab->slab;
	double range_keys = pbfidx_mean_range_keys(b->slab);
	uint32 column = u->slabs / u->width;

	u->given_up = u->given_up || b->slab->too_many;
	if (u->given_up)
		return;
	u->slabs++;
	pbfidx_add_slab_keys(&u->column, b->slab);
	if (u->slabs % u->width == 0)
		end_column(u);
	pbfidx_add_to_mean(&u->range_keys, range_keys);
	if (range_keys > 0)
		u->leaf_fpr += pbfidx_leaf_fpr(b->slab->group, range_keys, b->slab->blocks);
	if (u->matrices != NULL)
	{
		set_upper_keys(b, u, column, set->keys, set->n);
		return;
	}
	keep_upper_keys(u, set);
	u->end[column] = u->n;
	if (u->n * sizeof(uint64) > b->memory)
		decide_upper(b, u);
}

/* ---- slabs ---- */

static void
write_and_publish(Build *b, PbfidxSlabId id, uint32 blocks, const uint8 *matrices, float4 fill,
                  double column_keys)
{
	uint64 start = pg_atomic_fetch_add_u64(&b->shared->next_block, blocks);
	PbfidxExtent extent = {(uint32) start, blocks, pg_atomic_add_fetch_u32(&b->shared->generation, 1)};
	PbfidxAllocation a = {extent, -1};
	PbfidxEntry entry = {extent, {0, 0, 0}, fill, (uint32) ceil(column_keys)};

	pbfidx_check_end(b->index, start + blocks);
	pbfidx_write_slab(b->index, id, a.extent, (int) b->slab->group->parts, matrices);
	pbfidx_publish(b->index, id, &entry, &a, NULL);
}

static void
build_leaf(Build *b, uint32 leaf)
{
	PbfidxSlabId id = {PBFIDX_LEAF, leaf};
	const uint8 *matrices;
	double range_keys;

	pbfidx_collect_slab(b->slab, b->scan, pbfidx_first_range(b->shared->groups, leaf),
	                    b->shared->pages_per_range, b->shared->heap_blocks, 0, false);
	matrices = pbfidx_slab_matrices(b->slab);
	range_keys = pbfidx_mean_range_keys(b->slab);
	write_and_publish(b, id, b->slab->blocks, matrices, pbfidx_built_fill(b->slab, matrices), range_keys);
	if (range_keys > 0)
		b->slab->expected = range_keys; /* in the next one */
}

static void
report_progress(Build *b)
{
	uint64 done =
	    pg_atomic_add_fetch_u64(&b->shared->done, (int64) PBFIDX_COLUMNS * b->shared->pages_per_range);

	if (b->leader)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
		                             (int64) Min(done / b->shared->groups, b->shared->heap_blocks));
}

/* The upper, if it turned out to be worth its pages. */
static void
finish_upper(Build *b, Upper *u, PbfidxSlabId id)
{
	int used;

	if (u->matrices == NULL && !u->given_up)
		decide_upper(b, u);
	if (!u->given_up)
		write_and_publish(b, id, u->blocks, u->matrices,
		                  (float4) pbfidx_page_fill(u->matrices, (int) b->slab->group->parts, &used),
		                  pbfidx_mean(&u->column_keys));
}

/* The slabs of an area; slabs: leaf slabs that it has. */
static void
build_area(Build *b, PbfidxArea area, uint32 group, uint32 slabs)
{
	uint32 groups = b->shared->groups;
	PbfidxSlabId upper_id = {PBFIDX_UPPER, area.first * groups + group};
	bool with_upper = slabs >= pbfidx_upper_from_slabs(area);
	const PbfidxGroup *g = &b->shared->group[group];
	Upper *u = new_upper(g, area.regions);

	b->scan->group = (int) group;
	b->slab = pbfidx_new_slab_keys(g, with_upper ? PBFIDX_WANT_LEAF | PBFIDX_WANT_SLAB : PBFIDX_WANT_LEAF,
	                               b->memory);
	b->slab->with_upper = with_upper;
	b->slab->expected = g->column_keys;
	pbfidx_begin_slabs(b->scan, pbfidx_first_range(groups, pbfidx_leaf_under(groups, upper_id, 0)), slabs,
	                   b->shared->pages_per_range, b->shared->heap_blocks);
	for (uint32 slab = 0; slab < slabs; slab++)
	{
		build_leaf(b, pbfidx_leaf_under(groups, upper_id, slab));
		if (with_upper)
			add_to_upper(b, u);
		report_progress(b);
	}
	pbfidx_end_blocks(b->scan);
	if (with_upper)
		finish_upper(b, u, upper_id);
	pbfidx_free_slab_keys(b->slab);
	free_upper(u);
}

/* ---- options ---- */

#define SAMPLE_BLOCKS 300 /* enough for a mean within some percent */

/* Rows that a heap page has room for, by the declared widths of the columns: all that is known of an empty
 * table. */
static double
rows_by_width(Relation heap)
{
	int32 width = get_rel_data_width(heap, NULL);

	return Max(1, (BLCKSZ - SizeOfPageHeaderData) /
	                  (double) (MAXALIGN(SizeofHeapTupleHeader) + MAXALIGN(width) + sizeof(ItemIdData)));
}

/* How many times its rows a page has room for. */
static double
room_of_page(Relation heap, Page page)
{
	double used = BLCKSZ - SizeOfPageHeaderData - PageGetExactFreeSpace(page);

	return Max(1, RelationGetTargetPageUsage(heap, HEAP_DEFAULT_FILLFACTOR) / Max(used, 1));
}

/* Distinct keys of a heap page in a group, from a sample of evenly spaced ones; 0 if they have none. The last
 * one may not be full: it is left out, or counts as if it were, up to `most` keys, if there is no other. */
static double
sample_page_keys(Build *b, uint32 group, double most)
{
	uint32 full = Max(b->shared->heap_blocks - 1, 1);
	uint32 step = Max(1, full / SAMPLE_BLOCKS);
	PbfidxKeySet *set = pbfidx_new_keyset();
	PbfidxMean m = pbfidx_no_mean(&b->shared->group[group]);
	double keys;

	b->scan->group = (int) group;
	for (uint64 block = 0; block < full; block += step)
	{
		CHECK_FOR_INTERRUPTS();
		pbfidx_clear_keyset(set);
		pbfidx_scan_block(b->scan, (BlockNumber) block, pbfidx_take_into_set, set);
		pbfidx_add_to_mean(&m, set->n);
	}
	pbfidx_free_keyset(set);
	b->scan->live = 0;
	keys = pbfidx_mean(&m);
	if (b->shared->heap_blocks == 1)
		keys = Min(keys * room_of_page(b->heap, (Page) b->scan->page.data), Max(keys, most));
	return keys;
}

#define VALUE_KEYS 16 /* of a multi-key column, where nothing is known yet: VACUUM corrects it */

/* The groups of the columns, and distinct keys of a heap page in each for a table that is empty. */
static void
freeze_groups(PbfidxMeta *meta, Relation index, BlockNumber heap_blocks, double rows, double *page_keys)
{
	int columns = IndexRelationGetNumberOfKeyAttributes(index);
	double asked = pbfidx_option_fpr(index);
	double fpr = asked != PBFIDX_CHOSEN_FPR ? asked : pbfidx_choose_fpr(heap_blocks);
	PbfidxHasher *hashers = pbfidx_hashers(index, CurrentMemoryContext);

	for (int i = 0; i < columns; i++)
	{
		int g = hashers[i].group;

		meta->column_group[i] = pbfidx_column_code(&hashers[i]);
		meta->groups = Max(meta->groups, (uint32) g + 1);
		meta->group[g] = hashers[i].multikey ? pbfidx_multikey_group(pbfidx_bits_per_key(index, i))
		                                     : pbfidx_scalar_group(fpr);
		page_keys[g] += hashers[i].multikey ? rows * VALUE_KEYS : rows;
		if (hashers[i].by_locale)
			meta->locale_version = pbfidx_locale_version();
	}
	if (pbfidx_uses_server_hash(hashers, columns))
		meta->flags |= PBFIDX_SERVER_HASH;
}

/* As the group needs it that has most keys: what another one wastes is no more than that one takes. */
static uint32
choose_pages_per_range(Relation index, const PbfidxMeta *meta, const double *page_keys)
{
	int wanted = pbfidx_option_pages_per_range(index);
	double most = 0;

	for (uint32 g = 0; g < meta->groups; g++)
		most = Max(most, page_keys[g]);
	return wanted != 0 ? (uint32) wanted : pbfidx_pages_per_range_for(most);
}

/* b: NULL, or a build over a heap that is not empty, whose shared->group is set. */
static PbfidxMeta *
freeze_options(Relation heap, Relation index, Build *b)
{
	PbfidxMeta *meta = palloc0(sizeof(PbfidxMeta));
	double page_keys[PBFIDX_MAX_GROUPS] = {0};
	BlockNumber heap_blocks = b != NULL ? b->shared->heap_blocks : 0;

	freeze_groups(meta, index, heap_blocks, rows_by_width(heap), page_keys);
	if (b != NULL)
		memcpy(b->shared->group, meta->group, sizeof(meta->group));
	for (uint32 g = 0; g < meta->groups && b != NULL; g++)
	{
		double sampled = sample_page_keys(b, g, page_keys[g]);

		if (sampled > 0)
			page_keys[g] = sampled;
	}
	meta->pages_per_range = choose_pages_per_range(index, meta, page_keys);
	for (uint32 g = 0; g < meta->groups; g++)
	{
		double range_keys = Max(1, page_keys[g] * meta->pages_per_range);

		meta->group[g].column_keys = (uint32) Min(range_keys, PG_INT32_MAX);
		meta->group[g].areas =
		    pbfidx_widths_for(&meta->group[g], range_keys, (double) heap_blocks / meta->pages_per_range);
	}
	meta->server_major = PG_VERSION_NUM / 10000;
	if (RelationGetIndexPredicate(index) != NIL)
		meta->flags |= PBFIDX_ROW_KEY;
	return meta;
}

/* ---- the build ---- */

void
pbfidx_require_heap(Relation heap)
{
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("access method \"pbfidx\" supports heap tables only"),
		        errdetail("Table \"%s\" uses another table access method.", RelationGetRelationName(heap)));
}

static uint64
count_ranges(const BuildShared *shared)
{
	return ((uint64) shared->heap_blocks + shared->pages_per_range - 1) / shared->pages_per_range;
}

/* Of all groups. */
static uint32
count_regions(const BuildShared *shared)
{
	uint64 per_region = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS;

	return (uint32) ((count_ranges(shared) + per_region - 1) / per_region) * shared->groups;
}

static uint64
count_slabs(const BuildShared *shared)
{
	return (count_ranges(shared) + PBFIDX_COLUMNS - 1) / PBFIDX_COLUMNS;
}

/* Areas of all groups, each of which counts as many as the one that has most. */
static uint32
count_areas(const BuildShared *shared)
{
	uint64 slabs = count_slabs(shared);
	uint32 most = 0;

	for (uint32 g = 0; g < shared->groups; g++)
	{
		while ((uint64) pbfidx_area(shared->group[g].areas, most).first * PBFIDX_COLUMNS < slabs)
			most++;
	}
	return most * shared->groups;
}

/* One process's part: areas of all groups in turn, until there are no more. */
static void
build_areas(Build *b)
{
	BuildShared *shared = b->shared;
	uint64 slabs = count_slabs(shared);
	uint32 groups = shared->groups, n = count_areas(shared), number;

	b->memory = (Size) maintenance_work_mem * 1024 / 2 / shared->participants;
	while ((number = pg_atomic_fetch_add_u32(&shared->next_area, 1)) < n)
	{
		PbfidxArea area = pbfidx_area(shared->group[number % groups].areas, number / groups);
		uint64 first = (uint64) area.first * PBFIDX_COLUMNS;

		if (first < slabs)
			build_area(b, area, number % groups, (uint32) Min(slabs - first, area.regions * PBFIDX_COLUMNS));
	}
	pg_atomic_fetch_add_u64(&shared->live, b->scan->live);
}

/* ---- parallel ---- */

#define KEY_SHARED UINT64CONST(0xB000000000000001)
#define KEY_QUERY UINT64CONST(0xB000000000000002)
#define KEY_WAL_USAGE UINT64CONST(0xB000000000000003)
#define KEY_BUFFER_USAGE UINT64CONST(0xB000000000000004)

/* A worker's main function. */
void
pbfidx_parallel_build(dsm_segment *segment, shm_toc *toc)
{
	BuildShared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WalUsage *wal = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	Build b = {.shared = shared};
	IndexInfo *info;

	(void) segment;
	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	b.heap = table_open(shared->heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
	b.index = index_open(shared->index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	InstrStartParallelQuery();
	info = BuildIndexInfo(b.index);
	info->ii_Concurrent = shared->concurrent;
	b.scan =
	    pbfidx_begin_heapscan(b.heap, b.index, info, RelationGetIndexPredicate(b.index) != NIL, PBFIDX_BUILD);
	build_areas(&b);
	pbfidx_end_heapscan(b.scan);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	index_close(b.index, shared->concurrent ? RowExclusiveLock : AccessExclusiveLock);
	table_close(b.heap, shared->concurrent ? ShareUpdateExclusiveLock : ShareLock);
}

/* Room in the segment for n things of that size each, under a key. */
static void
estimate_chunk(ParallelContext *context, Size bytes)
{
	shm_toc_estimate_chunk(&context->estimator, bytes);
	shm_toc_estimate_keys(&context->estimator, 1);
}

static void *
insert_chunk(ParallelContext *context, uint64 key, Size bytes)
{
	void *chunk = shm_toc_allocate(context->toc, bytes);

	memset(chunk, 0, bytes);
	shm_toc_insert(context->toc, key, chunk);
	return chunk;
}

/* What workers have to load: as this process found it, wherever the library was installed. */
static char *
library_name(Relation index)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(index->rd_amhandler));
	bool isnull;
	Datum name;
	char *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", index->rd_amhandler);
	name = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (isnull)
		elog(ERROR, "function %u is in no library", index->rd_amhandler);
	result = TextDatumGetCString(name);
	ReleaseSysCache(tuple);
	return result;
}

/* Launches workers, takes part, waits. The state in *b->shared is copied into the segment and back. */
static void
build_in_parallel(Build *b, int workers)
{
	BuildShared *local = b->shared;
	Size query = debug_query_string != NULL ? strlen(debug_query_string) + 1 : 0;
	ParallelContext *context;
	WalUsage *wal;
	BufferUsage *buffers;

	EnterParallelMode();
	context = CreateParallelContext(library_name(b->index), "pbfidx_parallel_build", workers);
	estimate_chunk(context, sizeof(BuildShared));
	estimate_chunk(context, workers * sizeof(WalUsage));
	estimate_chunk(context, workers * sizeof(BufferUsage));
	if (query > 0)
		estimate_chunk(context, query);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
	{
		/* No segment to be had: alone, then. */
		DestroyParallelContext(context);
		ExitParallelMode();
		build_areas(b);
		return;
	}
	b->shared = insert_chunk(context, KEY_SHARED, sizeof(BuildShared));
	*b->shared = *local;
	b->shared->participants = context->nworkers + 1;
	wal = insert_chunk(context, KEY_WAL_USAGE, workers * sizeof(WalUsage));
	buffers = insert_chunk(context, KEY_BUFFER_USAGE, workers * sizeof(BufferUsage));
	if (query > 0)
		memcpy(insert_chunk(context, KEY_QUERY, query), debug_query_string, query);
	LaunchParallelWorkers(context);
	build_areas(b);
	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&buffers[i], &wal[i]);
	*local = *b->shared;
	b->shared = local;
	DestroyParallelContext(context);
	ExitParallelMode();
}

/* Below 17 only B-trees are given workers by the server: the same question is asked here. */
static int
workers_for(const Build *b, IndexInfo *info)
{
	int workers = pbf_index_workers(b->heap, b->index, info);

	return Min(workers, (int) count_areas(b->shared) - 1);
}

IndexBuildResult *
pbfidx_build(Relation heap, Relation index, IndexInfo *info)
{
	BuildShared shared = {.heap = RelationGetRelid(heap),
	                      .index = RelationGetRelid(index),
	                      .concurrent = info->ii_Concurrent,
	                      .participants = 1,
	                      .heap_blocks = RelationGetNumberOfBlocks(heap)};
	Build b = {.shared = &shared, .heap = heap, .index = index, .leader = true};
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	PbfidxMeta *meta;
	int workers;

	pbfidx_require_heap(heap);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	index->rd_amcache = NULL; /* of another file */
	b.scan = pbfidx_begin_heapscan(heap, index, info, RelationGetIndexPredicate(index) != NIL, PBFIDX_BUILD);
	meta = freeze_options(heap, index, shared.heap_blocks > 0 ? &b : NULL);
	shared.pages_per_range = meta->pages_per_range;
	shared.groups = meta->groups;
	memcpy(shared.group, meta->group, sizeof(shared.group));
	pbfidx_init_metapage(index, MAIN_FORKNUM, meta);
	for (uint32 region = 0; region < count_regions(&shared); region++)
		pbfidx_reach_region(index, region);
	pbfidx_read_meta(index, meta);
	pg_atomic_init_u32(&shared.next_area, 0);
	pg_atomic_init_u64(&shared.next_block, meta->hwm);
	pg_atomic_init_u32(&shared.generation, meta->generation);
	pg_atomic_init_u64(&shared.live, 0);
	pg_atomic_init_u64(&shared.done, 0);

	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, shared.heap_blocks);
	workers = workers_for(&b, info);
	if (workers > 0)
		build_in_parallel(&b, workers);
	else
		build_areas(&b);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, shared.heap_blocks);
	result->heap_tuples = result->index_tuples = (double) pg_atomic_read_u64(&shared.live);
	pbfidx_end_heapscan(b.scan);
	pfree(meta);
	return result;
}

/* The init fork of an unlogged index: it starts empty after a crash. */
void
pbfidx_buildempty(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, NoLock);
	PbfidxMeta *meta = freeze_options(heap, index, NULL);

	pbfidx_init_metapage(index, INIT_FORKNUM, meta);
	table_close(heap, NoLock);
	pfree(meta);
}

/*
 * rebuild.c: making a slab anew under concurrent inserts.
 *
 * 1. Allocate and write empty pages (growth lock).
 * 2. One record: `next` := new. From here on every insert writes both.
 * 3. Read the heap's length, scan the slab's heap pages, collect in private memory, OR into the new pages.
 * 4. One record: `now` := `next`, `next` := none, the old extent onto the free list.
 *
 * A rebuild that was interrupted, by an error, a cancel or a crash, leaves `next` behind with bits that are
 * all valid: the next rebuild of the slab goes on with it at 3.
 *
 * Why it is enough: a row is on its heap page before its insert reads the record. Record read before 2: the
 * scan of 3 sees the row. Read after 2: the insert writes both.
 */
#include "postgres.h"

#include <math.h>

#include "access/xloginsert.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/rebuild.h"
#include "index/slab.h"

#define SAMPLED_RANGES 12 /* of a slab, to find its new size */
#define OVERFULL_FPR 1.4  /* of each level: the rate of a range, their product, stays within a factor 2 */

PbfidxRebuild *
pbfidx_begin_rebuild(Relation heap, Relation index, bool delay)
{
	PbfidxRebuild *r = palloc0(sizeof(PbfidxRebuild));
	const PbfidxCache *cache = pbfidx_cache(index);
	bool row_key = (cache->flags & PBFIDX_ROW_KEY) != 0;

	r->heap = heap;
	r->index = index;
	r->pages_per_range = cache->pages_per_range;
	r->fpr = cache->false_positive_rate;
	r->delay = delay;
	r->scan = pbfidx_begin_heapscan(heap, index, BuildIndexInfo(index), row_key, PBFIDX_REBUILD);
	r->keys = pbfidx_new_slab_keys(true);
	return r;
}

void
pbfidx_end_rebuild(PbfidxRebuild *r)
{
	pbfidx_free_slab_keys(r->keys);
	pbfidx_end_heapscan(r->scan);
	pfree(r);
}

bool
pbfidx_is_overfull(Relation index, PbfidxSlabId id, const PbfidxEntry *entry)
{
	Buffer buffer = pbfidx_lock_slab_page(index, id, entry->now, 0, BUFFER_LOCK_SHARE, NULL);
	double cells = pbfidx_part_rows(PBFIDX_SCALAR_PARTS);
	/* One that was made empty is measured by the keys it was made for. */
	double built = entry->built_fill > 0 ? entry->built_fill
	                                     : -expm1(-(double) entry->column_keys / (entry->now.blocks * cells));
	double fill;
	int used;

	if (!BufferIsValid(buffer))
		return false;
	fill = pbfidx_page_fill(pbfidx_matrix(BufferGetPage(buffer)), PBFIDX_SCALAR_PARTS, &used);
	UnlockReleaseBuffer(buffer);
	return used > 0 && pow(fill / built, PBFIDX_SCALAR_PARTS) > OVERFULL_FPR;
}

/* ---- sizes ---- */

/* Mean distinct keys of a range of the leaf slab, from some of its ranges; 0 if they are empty, -1: give up.
 */
static double
sample_range_keys(PbfidxRebuild *r, uint32 leaf)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);
	PbfidxKeySet *set = pbfidx_new_keyset();
	PbfidxMean m = {0, 0};

	for (int i = 0; i < SAMPLED_RANGES; i++)
	{
		uint64 range = (uint64) leaf * PBFIDX_COLUMNS + (uint64) i * PBFIDX_COLUMNS / SAMPLED_RANGES;
		uint64 block = range * r->pages_per_range;

		pbfidx_clear_keyset(set);
		for (uint32 page = 0; page < r->pages_per_range && block < heap_blocks; page++, block++)
		{
			CHECK_FOR_INTERRUPTS();
			r->heap_pages++;
			if (!pbfidx_scan_block(r->scan, (BlockNumber) block))
			{
				pbfidx_free_keyset(set);
				return -1;
			}
			for (int k = 0; k < r->scan->n; k++)
				pbfidx_add_key(set, r->scan->keys[k]);
		}
		pbfidx_add_to_mean(&m, set->n);
	}
	pbfidx_free_keyset(set);
	return pbfidx_mean(&m);
}

/* Pages for a leaf slab; 0: give up. *column_keys: what it is sized for. */
static uint32
leaf_size(PbfidxRebuild *r, uint32 leaf, const PbfidxRegion *region, double *column_keys)
{
	*column_keys = sample_range_keys(r, leaf);
	if (*column_keys < 0)
		return 0;
	return pbfidx_leaf_blocks(*column_keys, region->upper.column_keys, r->fpr, region->upper.now.blocks);
}

/* Mean rate of the leaf slabs of a region, for the keys they were made for. */
static double
mean_leaf_fpr(const PbfidxRegion *region)
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < PBFIDX_COLUMNS; i++)
	{
		if (region->leaf[i].now.start == 0)
			continue;
		sum += pbfidx_leaf_fpr(region->leaf[i].column_keys, region->leaf[i].now.blocks);
		n++;
	}
	return n > 0 ? sum / n : 1;
}

/*
 * Pages for an upper: from the first leaf slab of the region that has rows. At least what a plan for both
 * levels gives: where leaf slabs came first and are large, they will not stay so.
 */
static uint32
upper_size(PbfidxRebuild *r, uint32 number, const PbfidxRegion *region, double *column_keys)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);
	uint64 slab_pages = (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	PbfidxPlan plan;

	for (uint32 leaf = number * PBFIDX_COLUMNS;
	     leaf < (number + 1) * PBFIDX_COLUMNS && leaf * slab_pages < heap_blocks; leaf++)
	{
		r->heap_pages += slab_pages;
		if (!pbfidx_collect_slab(r->keys, r->scan, leaf, r->pages_per_range, heap_blocks, r->delay))
			return 0;
		if (r->keys->ranges == 0)
			continue;
		*column_keys = pbfidx_full_slab_keys(r->keys);
		plan = pbfidx_plan(pbfidx_mean_range_keys(r->keys), *column_keys, r->fpr, true);
		return Max(plan.upper_blocks, pbfidx_upper_blocks(*column_keys, r->fpr, mean_leaf_fpr(region)));
	}
	return 0;
}

/* ---- steps ---- */

/* Steps 1 and 2. */
static void
publish_next(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, uint32 blocks)
{
	PbfidxAllocation a;

	pbfidx_lock_growth(r->index);
	a = pbfidx_allocate(r->index, blocks);
	pbfidx_write_slab(r->index, MAIN_FORKNUM, id, a.extent, PBFIDX_SCALAR_PARTS, NULL);
	entry->next = a.extent;
	pbfidx_publish(r->index, id, entry, &a, NULL);
	pbfidx_unlock_growth(r->index);
}

/* ORs the matrices into the pages of `next`, logged whole. */
static void
or_into_next(PbfidxRebuild *r, PbfidxSlabId id, PbfidxExtent next, const uint8 *matrices)
{
	for (uint32 block = 0; block < next.blocks; block++)
	{
		Buffer buffer = pbfidx_lock_slab_page(r->index, id, next, block, BUFFER_LOCK_EXCLUSIVE, NULL);
		const uint8 *from = matrices + (Size) block * PBFIDX_MATRIX_BYTES;
		uint8 *to;

		if (!BufferIsValid(buffer))
			pbfidx_corrupted(r->index, "A page of a slab that is being built is not what the directory says");
		to = pbfidx_matrix(BufferGetPage(buffer));
		START_CRIT_SECTION();
		for (Size i = 0; i < PBFIDX_MATRIX_BYTES; i++)
			to[i] |= from[i];
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(r->index))
			log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Step 3 for a leaf; false: give up. */
static bool
fill_leaf(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, uint8 *matrices)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);

	r->heap_pages += (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	if (!pbfidx_collect_slab(r->keys, r->scan, id.slab, r->pages_per_range, heap_blocks, r->delay))
		return false;
	pbfidx_set_leaf_keys(matrices, entry->next.blocks, r->keys);
	entry->column_keys = (uint32) pbfidx_mean_range_keys(r->keys);
	return true;
}

/* Step 3 for an upper; false: give up. */
static bool
fill_upper(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, uint8 *matrices)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);
	uint64 slab_pages = (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	PbfidxMean m = {0, 0};

	for (int column = 0; column < PBFIDX_COLUMNS; column++)
	{
		uint32 leaf = id.slab * PBFIDX_COLUMNS + column;

		if (leaf * slab_pages >= heap_blocks)
			break;
		r->heap_pages += slab_pages;
		if (!pbfidx_collect_slab(r->keys, r->scan, leaf, r->pages_per_range, heap_blocks, r->delay))
			return false;
		pbfidx_set_column_keys(matrices, entry->next.blocks, PBFIDX_UPPER, column, r->keys->slab->keys,
		                       r->keys->slab->n);
		pbfidx_add_to_mean(&m, pbfidx_full_slab_keys(r->keys));
	}
	if (m.n > 0)
		entry->column_keys = (uint32) pbfidx_mean(&m);
	return true;
}

/* Step 4; or, given up, `next` is dropped in one record. Where there is no place to note what is freed,
 * `next` stays. */
static bool
finish(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, bool done)
{
	PbfidxExtent freed = done ? entry->now : entry->next;
	bool possible;

	if (done)
		entry->now = entry->next;
	entry->next = (PbfidxExtent){0, 0, 0};
	pbfidx_lock_growth(r->index);
	possible = freed.start == 0 || pbfidx_can_free(r->index, freed);
	if (possible)
		pbfidx_publish(r->index, id, entry, NULL, freed.start != 0 ? &freed : NULL);
	pbfidx_unlock_growth(r->index);
	return done && possible;
}

/* Reads the slab's entry; false if there is nothing to rebuild. */
static bool
read_entry(PbfidxRebuild *r, PbfidxSlabId id, PbfidxRegion *region, PbfidxEntry *entry)
{
	if (!pbfidx_read_region(r->index, pbfidx_region_of(id), region))
		return false;
	*entry = *pbfidx_entry_in(region, id);
	return id.level == PBFIDX_UPPER || entry->now.start != 0;
}

bool
pbfidx_rebuild_slab(PbfidxRebuild *r, PbfidxSlabId id)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));
	PbfidxEntry entry;
	double column_keys = 0;
	uint8 *matrices;
	uint32 blocks;
	int used;
	bool done;

	if (!read_entry(r, id, region, &entry) || (entry.now.start != 0 && !pbfidx_can_free(r->index, entry.now)))
		return false;
	if (entry.next.start == 0)
	{
		blocks = id.level == PBFIDX_LEAF ? leaf_size(r, id.slab, region, &column_keys)
		                                 : upper_size(r, id.slab, region, &column_keys);
		if (blocks == 0)
			return false;
		publish_next(r, id, &entry, blocks);
	}
	matrices = pbfidx_new_matrices(entry.next.blocks);
	done = id.level == PBFIDX_LEAF ? fill_leaf(r, id, &entry, matrices) : fill_upper(r, id, &entry, matrices);
	if (done)
	{
		or_into_next(r, id, entry.next, matrices);
		entry.built_fill = (float4) pbfidx_page_fill(matrices, PBFIDX_SCALAR_PARTS, &used);
	}
	done = finish(r, id, &entry, done);
	pfree(matrices);
	pfree(region);
	return done;
}

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

#include "access/transam.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/insert.h"
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
	r->groups = cache->groups;
	memcpy(r->group, cache->group, sizeof(r->group));
	r->delay = delay;
	r->scan = pbfidx_begin_heapscan(heap, index, BuildIndexInfo(index), row_key, PBFIDX_REBUILD);
	return r;
}

void
pbfidx_end_rebuild(PbfidxRebuild *r)
{
	pbfidx_end_heapscan(r->scan);
	pfree(r);
}

bool
pbfidx_is_overfull(Relation index, PbfidxSlabId id, const PbfidxEntry *entry, BufferAccessStrategy strategy)
{
	Buffer buffer = pbfidx_lock_slab_page(index, id, entry->now, 0, BUFFER_LOCK_SHARE, strategy);
	int parts = (int) pbfidx_group_of(pbfidx_cache(index), id)->parts;
	double cells = pbfidx_part_rows(parts);
	/* One that was made empty is measured by the keys it was made for; so is an upper that was made when its
	 * columns had only begun. */
	double planned = -expm1(-(double) entry->column_keys / (entry->now.blocks * cells));
	double built = entry->built_fill > 0 ? entry->built_fill : planned;
	double fill;
	int used;

	if (id.level == PBFIDX_UPPER)
		built = Max(built, planned);
	if (!BufferIsValid(buffer))
		return false;
	fill = pbfidx_page_fill(pbfidx_matrix(BufferGetPage(buffer)), parts, &used);
	UnlockReleaseBuffer(buffer);
	return used > 0 && pow(fill / built, parts) > OVERFULL_FPR;
}

/* ---- sizes ---- */

static const PbfidxGroup *
group_of(const PbfidxRebuild *r, PbfidxSlabId id)
{
	return &r->group[pbfidx_region_of(id) % r->groups];
}

/* Mean distinct keys of a range of the leaf slab, from some of its ranges; 0 if they are empty. */
static double
sample_range_keys(PbfidxRebuild *r, uint32 leaf)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);
	PbfidxKeySet *set = pbfidx_new_keyset();
	PbfidxMean m = pbfidx_no_mean(group_of(r, (PbfidxSlabId){PBFIDX_LEAF, leaf}));

	for (int i = 0; i < SAMPLED_RANGES; i++)
	{
		uint64 range = pbfidx_first_range(r->groups, leaf) + (uint64) i * PBFIDX_COLUMNS / SAMPLED_RANGES;
		uint64 block = range * r->pages_per_range;

		pbfidx_clear_keyset(set);
		for (uint32 page = 0; page < r->pages_per_range && block < heap_blocks; page++, block++)
		{
			CHECK_FOR_INTERRUPTS();
			r->heap_pages++;
			(void) pbfidx_scan_block(r->scan, (BlockNumber) block, pbfidx_take_into_set, set);
		}
		pbfidx_add_to_mean(&m, set->n);
	}
	pbfidx_free_keyset(set);
	return pbfidx_mean(&m);
}

/* Distinct keys of a full range, as in the slab before, if the heap ends within the first one; else 0. */
static double
expected_range_keys(PbfidxRebuild *r, uint32 leaf)
{
	uint64 first = pbfidx_first_range(r->groups, leaf);
	BlockNumber blocks = RelationGetNumberOfBlocks(r->heap);

	if (first == 0 || blocks <= first * r->pages_per_range || blocks > (first + 1) * r->pages_per_range)
		return 0;
	return pbfidx_expected_range_keys(r->index, leaf);
}

/* Pages for a leaf slab of so many keys a range. */
static uint32
leaf_size_for(PbfidxRebuild *r, uint32 leaf, double range_keys)
{
	PbfidxEntry upper, present;

	pbfidx_read_entries(r->index, leaf, &upper, &present);
	return pbfidx_leaf_blocks(group_of(r, (PbfidxSlabId){PBFIDX_LEAF, leaf}), range_keys, upper.column_keys,
	                          upper.now.blocks);
}

/* Regions under an upper. */
static PbfidxArea
area_under(const PbfidxRebuild *r, PbfidxSlabId upper)
{
	return pbfidx_area_of(group_of(r, upper)->areas, upper.slab / r->groups);
}

/* Mean rate of the leaf slabs under an upper, for the keys they were made for, if any. */
static double
mean_leaf_fpr(PbfidxRebuild *r, PbfidxSlabId upper)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));
	double sum = 0;
	int n = 0;

	for (uint32 i = 0; i < area_under(r, upper).regions; i++)
	{
		pbfidx_read_region(r->index, upper.slab + i * r->groups, region);
		for (int leaf = 0; leaf < PBFIDX_COLUMNS; leaf++)
		{
			const PbfidxEntry *entry = &region->leaf[leaf];

			if (entry->now.start == 0 || entry->column_keys == 0)
				continue;
			sum += pbfidx_leaf_fpr(group_of(r, upper), entry->column_keys, entry->now.blocks);
			n++;
		}
	}
	pfree(region);
	return n > 0 ? sum / n : 1;
}

/* Collects the keys of a leaf slab, if its heap pages are there; false: give up. */
static bool
collect(PbfidxRebuild *r, PbfidxSlabKeys *keys, uint32 leaf, uint32 blocks)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);

	r->heap_pages += (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	return pbfidx_collect_slab(keys, r->scan, pbfidx_first_range(r->groups, leaf), r->pages_per_range,
	                           heap_blocks, blocks, r->delay) &&
	       !keys->too_many;
}

/* Leaf slabs under an upper that the heap reaches. */
static uint32
count_slabs(PbfidxRebuild *r, PbfidxSlabId upper)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(r->heap);
	uint64 slab_pages = (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	uint64 first = pbfidx_first_range(r->groups, upper.slab * PBFIDX_COLUMNS) * r->pages_per_range;

	return first >= heap_blocks ? 0
	                            : (uint32) Min((heap_blocks - first + slab_pages - 1) / slab_pages,
	                                           (uint64) area_under(r, upper).regions * PBFIDX_COLUMNS);
}

/* Pages for an upper over columns like the one whose keys were collected. At least what a plan for both
 * levels gives: where leaf slabs came first and are large, they will not stay so. */
static uint32
upper_size_for(PbfidxRebuild *r, PbfidxSlabId id, double range_keys, double column_keys)
{
	const PbfidxGroup *g = group_of(r, id);
	uint32 width = area_under(r, id).regions;

	return Max(pbfidx_plan(g, range_keys, column_keys, width).upper_blocks,
	           pbfidx_upper_blocks(g, range_keys, column_keys, width, mean_leaf_fpr(r, id)));
}

/* Pages for an upper, from the first of its columns that has rows; 0: give up, or none has. */
static uint32
upper_size(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id)
{
	uint32 slabs = count_slabs(r, id), width = area_under(r, id).regions;
	PbfidxMean range_keys = pbfidx_no_mean(keys->group);
	PbfidxColumnKeys column;
	bool rows = false;

	pbfidx_init_column_keys(&column, width);
	for (uint32 slab = 0; slab < slabs; slab++)
	{
		if (!collect(r, keys, pbfidx_leaf_under(r->groups, id, slab), 0))
			return 0;
		rows = rows || keys->ranges > 0;
		pbfidx_add_slab_keys(&column, keys);
		pbfidx_add_to_mean(&range_keys, pbfidx_mean_range_keys(keys));
		if (rows && (slab % width == width - 1 || slab == slabs - 1))
			return upper_size_for(r, id, pbfidx_mean(&range_keys), pbfidx_take_column_keys(&column));
	}
	return 0;
}

/* ---- steps ---- */

/* Reads the slab's entry; false if there is nothing to rebuild. */
static bool
read_entry(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry)
{
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));

	if (!pbfidx_read_region(r->index, pbfidx_region_of(id), region))
		return false;
	*entry = *pbfidx_entry_in(region, id);
	return id.level == PBFIDX_UPPER || entry->now.start != 0;
}

static bool
is_same_extent(const PbfidxExtent *a, const PbfidxExtent *b)
{
	return memcmp(a, b, sizeof(PbfidxExtent)) == 0;
}

/* Under the growth lock. The lock on the table keeps all others away, but not a function of the index that
 * rebuilds it. */
static void
require_unchanged(PbfidxRebuild *r, PbfidxSlabId id, const PbfidxEntry *entry)
{
	PbfidxEntry present;

	if (!read_entry(r, id, &present) || !is_same_extent(&present.now, &entry->now) ||
	    !is_same_extent(&present.next, &entry->next))
		ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
		        errmsg("index \"%s\" was rebuilt within its own rebuild", RelationGetRelationName(r->index)),
		        errhint("Functions of an index must not rebuild it."));
}

/* Steps 1 and 2. */
static void
publish_next(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, uint32 blocks)
{
	PbfidxAllocation a;

	pbfidx_make_room(r->index, blocks);
	pbfidx_lock_growth(r->index);
	require_unchanged(r, id, entry);
	a = pbfidx_allocate(r->index, blocks);
	pbfidx_write_slab(r->index, id, a.extent, (int) group_of(r, id)->parts, NULL);
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

/* What step 3 found. */
typedef struct Found
{
	const uint8 *matrices; /* of a leaf: those of the PbfidxSlabKeys; NULL: give up */
	uint32 blocks;         /* that so many keys take; 0: not known */
	double column_keys;    /* distinct keys a column */
} Found;

/* Step 3 for a leaf. */
static Found
fill_leaf(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id, const PbfidxEntry *entry)
{
	Found found = {NULL, 0, 0};

	if (!collect(r, keys, id.slab, entry->next.blocks))
		return found;
	found.column_keys = pbfidx_mean_range_keys(keys);
	found.blocks = found.column_keys > 0 ? leaf_size_for(r, id.slab, found.column_keys) : 0;
	found.matrices = pbfidx_slab_matrices(keys);
	return found;
}

/* Step 3 for an upper. */
static Found
fill_upper(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id, const PbfidxEntry *entry)
{
	uint32 slabs = count_slabs(r, id), width = area_under(r, id).regions;
	PbfidxMean m = pbfidx_no_mean(keys->group), range_keys = pbfidx_no_mean(keys->group);
	uint8 *matrices = pbfidx_new_matrices(entry->next.blocks);
	PbfidxColumnKeys column;
	bool possible = true;

	pbfidx_init_column_keys(&column, width);
	pbfidx_begin_slabs(r->scan, pbfidx_first_range(r->groups, pbfidx_leaf_under(r->groups, id, 0)), slabs,
	                   r->pages_per_range, RelationGetNumberOfBlocks(r->heap));
	for (uint32 slab = 0; slab < slabs; slab++)
	{
		possible = collect(r, keys, pbfidx_leaf_under(r->groups, id, slab), 0);
		if (!possible)
			break;
		pbfidx_set_column_keys(matrices, entry->next.blocks, (int) keys->group->parts, PBFIDX_UPPER,
		                       (int) (slab / width), keys->slab->keys, keys->slab->n);
		pbfidx_add_slab_keys(&column, keys);
		pbfidx_add_to_mean(&range_keys, pbfidx_mean_range_keys(keys));
		if (slab % width == width - 1 || slab == slabs - 1)
			pbfidx_add_to_mean(&m, pbfidx_take_column_keys(&column));
	}
	pbfidx_end_blocks(r->scan);
	if (!possible)
		return (Found){NULL, 0, 0};
	if (m.n == 0)
		return (Found){matrices, 0, 0};
	return (Found){matrices, upper_size_for(r, id, pbfidx_mean(&range_keys), pbfidx_mean(&m)),
	               pbfidx_mean(&m)};
}

/* Step 4; or, given up, `next` is dropped in one record. Where there is no place to note what is freed,
 * `next` stays: false. */
static bool
finish(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry *entry, bool done)
{
	PbfidxExtent freed = done ? entry->now : entry->next;
	PbfidxEntry after = *entry;
	bool possible;

	if (done)
		after.now = after.next;
	after.next = (PbfidxExtent){0, 0, 0};
	pbfidx_lock_growth(r->index);
	require_unchanged(r, id, entry);
	possible = freed.start == 0 || pbfidx_can_free(r->index, freed);
	if (possible)
	{
		pbfidx_publish(r->index, id, &after, NULL, freed.start != 0 ? &freed : NULL);
		*entry = after;
	}
	pbfidx_unlock_growth(r->index);
	return possible;
}

/* Steps 1 and 2, unless an earlier rebuild left `next` behind; false: no size can be had. */
static bool
begin_next(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id, PbfidxEntry *entry)
{
	uint32 blocks;

	if (entry->next.start != 0)
		return true;
	r->scan->sampling = true;
	if (id.level == PBFIDX_LEAF)
	{
		double sampled = sample_range_keys(r, id.slab);

		blocks = leaf_size_for(r, id.slab, Max(sampled, keys->expected));
	}
	else
		blocks = upper_size(r, keys, id);
	r->scan->sampling = false;
	if (blocks == 0)
		return false;
	publish_next(r, id, entry, blocks);
	return true;
}

/* Step 3 but for writing. */
static Found
fill_next(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id, const PbfidxEntry *entry)
{
	pbfidx_note_locale(r->index);
	r->scan->self_inserting = ReadNextTransactionId();
	return id.level == PBFIDX_LEAF ? fill_leaf(r, keys, id, entry) : fill_upper(r, keys, id, entry);
}

/* A sample may say nothing about the rows between: if `next` is far too large or small for what was found, it
 * is made anew for that. */
static Found
fill_next_well(PbfidxRebuild *r, PbfidxSlabKeys *keys, PbfidxSlabId id, PbfidxEntry *entry)
{
	Found found = fill_next(r, keys, id, entry);

	if (found.matrices == NULL || found.blocks == 0 || !pbfidx_is_far_from(entry->next.blocks, found.blocks))
		return found;
	if (!finish(r, id, entry, false))
		return found;
	if (id.level == PBFIDX_UPPER)
		pfree((void *) found.matrices);
	publish_next(r, id, entry, found.blocks);
	return fill_next(r, keys, id, entry);
}

/* For collecting, in kB. */
static int
memory_limit(void)
{
	return MyBackendType == B_AUTOVAC_WORKER && autovacuum_work_mem != -1 ? autovacuum_work_mem
	                                                                      : maintenance_work_mem;
}

/* Steps 1 to 4, in a memory context of their own. */
static bool
rebuild(PbfidxRebuild *r, PbfidxSlabId id, PbfidxEntry entry)
{
	bool leaf = id.level == PBFIDX_LEAF;
	PbfidxSlabKeys *keys = pbfidx_new_slab_keys(group_of(r, id), leaf ? PBFIDX_WANT_LEAF : PBFIDX_WANT_SLAB,
	                                            (Size) memory_limit() * 1024);
	Found found;

	r->scan->group = (int) (pbfidx_region_of(id) % r->groups);
	if (leaf)
		keys->expected = expected_range_keys(r, id.slab);
	if (!begin_next(r, keys, id, &entry))
		return false;
	found = fill_next_well(r, keys, id, &entry);
	if (found.matrices != NULL)
	{
		or_into_next(r, id, entry.next, found.matrices);
		entry.built_fill = pbfidx_built_fill(keys, found.matrices);
		entry.column_keys = (uint32) ceil(found.column_keys);
	}
	return finish(r, id, &entry, found.matrices != NULL) && found.matrices != NULL;
}

bool
pbfidx_rebuild_slab(PbfidxRebuild *r, PbfidxSlabId id)
{
	MemoryContext mcxt =
	    AllocSetContextCreate(CurrentMemoryContext, "pbfidx rebuild", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mcxt);
	PbfidxEntry entry;
	bool done = read_entry(r, id, &entry) && (entry.now.start == 0 || pbfidx_can_free(r->index, entry.now)) &&
	            rebuild(r, id, entry);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(mcxt);
	return done;
}

/*
 * check.c: whether an index keeps its promises.
 *
 * The invariant: every heap tuple version that any snapshot could see has its bits set in the slab that the
 * directory names, and in the upper if there is one. And: extents, free space, directory pages and the
 * metapage account for every block below hwm exactly once.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "index/check.h"
#include "index/directory.h"
#include "index/presence.h"
#include "index/slab.h"

/* ---- blocks ---- */

/* Below hwm, who has which block. */
typedef struct Blocks
{
	Relation index;
	uint32 hwm;
	bool *used;
	uint64 count;
	XLogRecPtr version; /* LSN of the metapage: every change of an extent changes it */
	bool standby;       /* replay does not ask for the growth lock, */
	bool moved;         /* and changed the directory in the meantime: all has to be counted again */
} Blocks;

static XLogRecPtr
metapage_lsn(Relation index)
{
	Buffer buffer = ReadBuffer(index, PBFIDX_METAPAGE);
	XLogRecPtr lsn;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	lsn = PageGetLSN(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return lsn;
}

/* Raises the error, unless what is wrong may come from reading the directory while it was changed. */
static void
complain(Blocks *b, const char *detail)
{
	b->moved = b->moved || (b->standby && metapage_lsn(b->index) != b->version);
	if (!b->moved)
		pbfidx_corrupted(b->index, detail);
}

static void
claim(Blocks *b, uint32 start, uint32 blocks, const char *what)
{
	if (start == 0)
		return;
	if (blocks == 0 || (uint64) start + blocks > b->hwm)
	{
		complain(b, psprintf("%s at block %u, %u blocks, lies outside of the %u blocks in use", what, start,
		                     blocks, b->hwm));
		return;
	}
	for (uint32 i = start; i < start + blocks && !b->moved; i++)
	{
		if (b->used[i])
			complain(b, psprintf("Block %u is used twice, by %s too", i, what));
		b->used[i] = true;
		b->count++;
	}
}

static void
claim_entry(Blocks *b, const PbfidxEntry *entry)
{
	claim(b, entry->now.start, entry->now.blocks, "a slab");
	claim(b, entry->next.start, entry->next.blocks, "a slab being built");
}

/* Calls back for each directory page that there is: number and block. */
typedef void (*DirectoryPageCallback)(void *arg, uint32 page, BlockNumber block);

static void
for_each_directory_page(Relation index, const PbfidxMeta *meta, DirectoryPageCallback call, void *arg)
{
	for (uint32 page = 0; page < PBFIDX_DIRECT; page++)
	{
		BlockNumber block = pbfidx_directory_block(index, page * PBFIDX_REGIONS_PER_PAGE);

		if (block != 0)
			call(arg, page, block);
	}
	for (int i = 0; i < PBFIDX_INDIRECT_PAGES; i++)
	{
		for (int slot = 0; slot < PBFIDX_POINTERS_PER_PAGE && meta->indirect[i] != 0; slot++)
		{
			uint32 page = PBFIDX_DIRECT + i * PBFIDX_POINTERS_PER_PAGE + slot;
			BlockNumber block = pbfidx_directory_block(index, page * PBFIDX_REGIONS_PER_PAGE);

			if (block != 0)
				call(arg, page, block);
		}
	}
}

static void
claim_directory_page(void *arg, uint32 page, BlockNumber block)
{
	Blocks *b = arg;
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));

	CHECK_FOR_INTERRUPTS();
	claim(b, block, 1, "a directory page");
	for (uint32 i = 0; i < PBFIDX_REGIONS_PER_PAGE; i++)
	{
		pbfidx_read_region(b->index, page * PBFIDX_REGIONS_PER_PAGE + i, region);
		claim_entry(b, &region->upper);
		for (int leaf = 0; leaf < PBFIDX_COLUMNS; leaf++)
			claim_entry(b, &region->leaf[leaf]);
	}
	pfree(region);
}

/* Whether every block has one owner; false: to be asked again. */
static bool
count_blocks(Relation index, bool standby)
{
	PbfidxMeta *meta = palloc(sizeof(PbfidxMeta));
	Blocks b = {.index = index, .count = 1, .standby = standby, .version = metapage_lsn(index)};

	pbfidx_read_meta(index, meta);
	b.hwm = meta->hwm;
	if (b.hwm < 1 || b.hwm > RelationGetNumberOfBlocks(index))
		pbfidx_corrupted(index, psprintf("The file has %u blocks, %u are in use",
		                                 RelationGetNumberOfBlocks(index), b.hwm));
	b.used = MemoryContextAllocExtended(CurrentMemoryContext, b.hwm, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	b.used[PBFIDX_METAPAGE] = true;
	for (uint32 i = 0; i < meta->free_count; i++)
		claim(&b, meta->free[i].start, meta->free[i].blocks, "free space");
	for (int i = 0; i < PBFIDX_INDIRECT_PAGES; i++)
		claim(&b, meta->indirect[i], 1, "an indirect directory page");
	for_each_directory_page(index, meta, claim_directory_page, &b);
	if (!b.moved && b.count != b.hwm)
		complain(&b,
		         psprintf("Of %u blocks in use only " UINT64_FORMAT " are accounted for", b.hwm, b.count));
	pfree(b.used);
	pfree(meta);
	return !b.moved;
}

/* ---- pages ---- */

/* What is wrong with the pages of an extent; NULL: nothing. */
static const char *
find_wrong_page(Relation index, PbfidxSlabId id, PbfidxExtent extent)
{
	int parts = (int) pbfidx_group_of(pbfidx_cache(index), id)->parts, found;

	for (uint32 block = 0; extent.start != 0 && block < extent.blocks; block++)
	{
		Buffer buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = pbfidx_lock_slab_page(index, id, extent, block, BUFFER_LOCK_SHARE, NULL);
		if (!BufferIsValid(buffer))
			return psprintf("Block %u is not page %u of slab %u of level %d, generation %u",
			                extent.start + block, block, id.slab, id.level, extent.generation);
		found = pbfidx_page_id(BufferGetPage(buffer))->parts;
		UnlockReleaseBuffer(buffer);
		if (found != parts)
			return psprintf("Block %u has a matrix of %d parts instead of %d", extent.start + block, found,
			                parts);
	}
	return NULL;
}

/* The pages of a slab, as the directory names them; what is wrong does not count if it no longer does. */
static void
check_slab(Relation index, PbfidxSlabId id, PbfidxRegion *region)
{
	for (;;)
	{
		PbfidxEntry seen = *pbfidx_entry_in(region, id);
		const char *wrong = find_wrong_page(index, id, seen.now);

		if (wrong == NULL)
			wrong = find_wrong_page(index, id, seen.next);
		if (wrong == NULL)
			return;
		pbfidx_read_region(index, pbfidx_region_of(id), region);
		if (memcmp(&seen, pbfidx_entry_in(region, id), sizeof(seen)) == 0)
			pbfidx_corrupted(index, wrong);
	}
}

/* Uppers are known to the first region of their area only. */
static void
check_place(Relation index, uint32 region, const PbfidxEntry *upper)
{
	const PbfidxCache *cache = pbfidx_cache(index);

	if ((upper->now.start != 0 || upper->next.start != 0) &&
	    pbfidx_area_over(cache, region).first != region / cache->groups)
		pbfidx_corrupted(index, psprintf("Region %u has an upper slab of its own within an area", region));
}

static void
check_directory_page(void *arg, uint32 page, BlockNumber block)
{
	Relation index = arg;
	PbfidxRegion *region = palloc(sizeof(PbfidxRegion));

	(void) block;
	for (uint32 number = page * PBFIDX_REGIONS_PER_PAGE; number < (page + 1) * PBFIDX_REGIONS_PER_PAGE;
	     number++)
	{
		pbfidx_read_region(index, number, region);
		check_place(index, number, &region->upper);
		check_slab(index, (PbfidxSlabId){PBFIDX_UPPER, number}, region);
		for (int leaf = 0; leaf < PBFIDX_COLUMNS; leaf++)
			check_slab(index, (PbfidxSlabId){PBFIDX_LEAF, number * PBFIDX_COLUMNS + leaf}, region);
	}
	pfree(region);
}

/* The scan takes the groups of the columns from the metapage, all others find them anew. */
static void
check_groups(Relation index)
{
	PbfidxHasher *hashers = pbfidx_hashers(index, CurrentMemoryContext);

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		int group = hashers[i].group, meta = pbfidx_cache(index)->column_group[i] & PBFIDX_GROUP_NUMBER;

		pbfidx_require_same_kind(index, &hashers[i]);
		if (group != meta)
			pbfidx_corrupted(index,
			                 psprintf("Column %d is in group %d, by the metapage in %d", i + 1, group, meta));
	}
}

/*
 * The growth lock keeps the directory and the free space as they are while blocks are counted. Replay does
 * not ask for it: there it is done again until nothing has changed in between. Pages need neither.
 */
void
pbfidx_check_structure(Relation index)
{
	PbfidxMeta *meta = palloc(sizeof(PbfidxMeta));
	bool standby = RecoveryInProgress();

	check_groups(index);
	if (!standby)
		pbfidx_lock_growth(index);
	while (!count_blocks(index, standby))
		CHECK_FOR_INTERRUPTS();
	if (!standby)
		pbfidx_unlock_growth(index);
	pbfidx_read_meta(index, meta);
	for_each_directory_page(index, meta, check_directory_page, index);
	pfree(meta);
}

/* ---- rows ---- */

/* 1: the key's bits are set; 0: not; -1: the page was recycled in between. */
static int
key_is_set(Relation index, PbfidxSlabId id, const PbfidxEntry *entry, uint64 key, int column)
{
	int parts = (int) pbfidx_group_of(pbfidx_cache(index), id)->parts;
	PbfidxPlace place;
	Buffer buffer;
	int result;

	pbfidx_locate(key, id.level, entry->now.blocks, parts, &place);
	buffer = pbfidx_lock_slab_page(index, id, entry->now, place.block, BUFFER_LOCK_SHARE, NULL);
	if (!BufferIsValid(buffer))
		return -1;
	result = pbfidx_test(pbfidx_matrix(BufferGetPage(buffer)), &place, parts, column);
	UnlockReleaseBuffer(buffer);
	return result;
}

static void
check_key(Relation index, int group, BlockNumber block, OffsetNumber offset, uint64 key)
{
	const PbfidxCache *cache = pbfidx_cache(index);
	uint32 range = block / cache->pages_per_range;
	PbfidxSlabId leaf_id = {PBFIDX_LEAF, pbfidx_leaf_of(cache->groups, (uint32) group, range)};
	int in_leaf, in_upper, upper_column;
	PbfidxSlabId upper_id = pbfidx_upper_over(cache, leaf_id.slab, &upper_column);
	PbfidxEntry leaf, upper, seen_leaf, seen_upper;

	for (bool again = false;; again = true)
	{
		CHECK_FOR_INTERRUPTS();
		if (!pbfidx_read_entries(index, leaf_id.slab, &upper, &leaf) || leaf.now.start == 0)
			pbfidx_corrupted(index, psprintf("There is no slab for the row (%u,%u)", block, offset));
		if (again && memcmp(&leaf, &seen_leaf, sizeof(leaf)) == 0 &&
		    memcmp(&upper, &seen_upper, sizeof(upper)) == 0)
			pbfidx_corrupted(index, "A page is not what the directory says");
		seen_leaf = leaf;
		seen_upper = upper;
		in_leaf = key_is_set(index, leaf_id, &leaf, key, range % PBFIDX_COLUMNS);
		in_upper = upper.now.start == 0 ? 1 : key_is_set(index, upper_id, &upper, key, upper_column);
		if (in_leaf >= 0 && in_upper >= 0)
			break;
	}
	if (!in_leaf || !in_upper)
		pbfidx_corrupted(index, psprintf("The row (%u,%u) is not in the %s slab", block, offset,
		                                 in_leaf ? "upper" : "leaf"));
}

/* Whose keys are being looked at. */
typedef struct CheckedBlock
{
	Relation index;
	int group;
	BlockNumber block;
} CheckedBlock;

static void
check_keys(void *arg, OffsetNumber offset, const uint64 *keys, int n)
{
	const CheckedBlock *c = arg;

	for (int i = 0; i < n; i++)
		check_key(c->index, c->group, c->block, offset, keys[i]);
}

/* Row by row, to name the one that is missing. */
static void
check_range(PbfidxPresence *p, BlockNumber first_block)
{
	uint64 end = Min((uint64) first_block + p->pages_per_range, p->heap_blocks);

	for (uint64 block = first_block; block < end; block++)
	{
		CheckedBlock c = {p->index, p->scan->group, (BlockNumber) block};

		CHECK_FOR_INTERRUPTS();
		pbfidx_scan_block(p->scan, c.block, check_keys, &c);
	}
}

/* Keys that a slab being built does not have yet are no fault: then row by row is what counts. */
void
pbfidx_check_heap(Relation heap, Relation index)
{
	PbfidxPresence p;

	pbfidx_begin_presence(&p, heap, index);
	for (uint64 block = 0; block < p.heap_blocks; block += p.pages_per_range)
	{
		for (int group = 0; group < p.scan->groups; group++)
		{
			if (!pbfidx_is_range_present(&p, group, (BlockNumber) block))
				check_range(&p, (BlockNumber) block);
		}
	}
	pbfidx_end_presence(&p);
}

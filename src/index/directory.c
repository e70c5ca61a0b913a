/*
 * directory.c: metapage, directory, space. See directory.h for the rules and src/README.md for the protocol.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/options.h"
#include "index/size.h"

void
pbfidx_corrupted(Relation index, const char *detail)
{
	ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
	        errmsg("index \"%s\" is corrupted", RelationGetRelationName(index)), errdetail("%s.", detail),
	        errhint("REINDEX INDEX \"%s\"; nothing of the table is lost.", RelationGetRelationName(index)));
	pg_unreachable();
}

/* ---- pages ---- */

static bool
has_identity(Page page, PbfidxLevel level)
{
	return !PageIsNew(page) && PageGetSpecialSize(page) == sizeof(PbfidxPageId) &&
	       pbfidx_page_id(page)->page_id == PBFIDX_PAGE_ID && pbfidx_page_id(page)->level == level;
}

/* A page image with identity and its whole content in use. */
static void
init_page(Page page, PbfidxPageId id, Size content)
{
	PageInit(page, BLCKSZ, sizeof(PbfidxPageId));
	*pbfidx_page_id(page) = id;
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + content;
}

void
pbfidx_init_slab_page(Page page, PbfidxSlabId id, uint32 generation, uint32 block, int parts)
{
	PbfidxPageId pid = {id.slab, block, generation, (uint8) id.level, (uint8) parts, PBFIDX_PAGE_ID};

	init_page(page, pid, PBFIDX_MATRIX_BYTES);
}

bool
pbfidx_is_slab_page(Page page, PbfidxSlabId id, PbfidxExtent extent, uint32 block)
{
	/* Where it must be: a scan that asks the page's header for it waits for one more cache line. */
	const PbfidxPageId *pid = (const PbfidxPageId *) ((const char *) page + BLCKSZ - sizeof(PbfidxPageId));

	return pid->page_id == PBFIDX_PAGE_ID && pid->level == id.level && pid->slab == id.slab &&
	       pid->block == block && pid->generation == extent.generation;
}

Buffer
pbfidx_lock_slab_page(Relation index, PbfidxSlabId id, PbfidxExtent extent, uint32 block, int mode,
                      BufferAccessStrategy strategy)
{
	Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, extent.start + block, RBM_NORMAL, strategy);

	LockBuffer(buffer, mode);
	if (pbfidx_is_slab_page(BufferGetPage(buffer), id, extent, block))
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Makes the file at least that long. */
static void
extend_to(Relation index, ForkNumber fork, BlockNumber blocks)
{
	bool lock = !RelationUsesLocalBuffers(index); /* not RELATION_IS_LOCAL: a parallel build is not */

	if (RelationGetNumberOfBlocksInFork(index, fork) >= blocks)
		return;
	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	while (RelationGetNumberOfBlocksInFork(index, fork) < blocks)
	{
		CHECK_FOR_INTERRUPTS();
		ReleaseBuffer(ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL));
	}
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
}

/* Replaces a page that nobody can know yet, and logs it. */
static void
write_new_page(Relation index, ForkNumber fork, BlockNumber block, Page image)
{
	Buffer buffer = ReadBufferExtended(index, fork, block, RBM_ZERO_AND_LOCK, NULL);

	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index) || fork == INIT_FORKNUM)
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/*
 * The same for a page that is empty, in some 150 bytes of WAL instead of a page: what is logged as a whole
 * has its matrix in the hole between pd_lower and pd_upper, which is all zeroes in replay. Then a generic
 * record (see insert.c for its format) sets pd_lower, so that replay of later ones keeps off the matrix.
 */
static void
write_empty_page(Relation index, BlockNumber block, Page image)
{
	Buffer buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	PageHeader header = (PageHeader) BufferGetPage(buffer);
	uint16 delta[3] = {offsetof(PageHeaderData, pd_lower), sizeof(header->pd_lower),
	                   ((PageHeader) image)->pd_lower};
	XLogRecPtr lsn;

	START_CRIT_SECTION();
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	header->pd_lower = SizeOfPageHeaderData;
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	header->pd_lower = ((PageHeader) image)->pd_lower;
	XLogBeginInsert();
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
	XLogRegisterBufData(0, (char *) delta, sizeof(delta));
	lsn = XLogInsert(RM_GENERIC_ID, 0);
	PageSetLSN(BufferGetPage(buffer), lsn);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

void
pbfidx_write_slab(Relation index, PbfidxSlabId id, PbfidxExtent extent, int parts, const uint8 *matrices)
{
	PGAlignedBlock image;

	extend_to(index, MAIN_FORKNUM, extent.start + extent.blocks);
	for (uint32 block = 0; block < extent.blocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		pbfidx_init_slab_page((Page) image.data, id, extent.generation, block, parts);
		if (matrices != NULL)
			memcpy(pbfidx_matrix((Page) image.data), matrices + (Size) block * PBFIDX_MATRIX_BYTES,
			       PBFIDX_MATRIX_BYTES);
		if (matrices == NULL && RelationNeedsWAL(index))
			write_empty_page(index, extent.start + block, (Page) image.data);
		else
			write_new_page(index, MAIN_FORKNUM, extent.start + block, (Page) image.data);
	}
}

/* ---- metapage ---- */

void
pbfidx_init_metapage(Relation index, ForkNumber fork, const PbfidxMeta *frozen)
{
	PbfidxPageId id = {0, 0, 0, PBFIDX_META, 0, PBFIDX_PAGE_ID};
	PGAlignedBlock image;
	PbfidxMeta *meta;

	init_page((Page) image.data, id, sizeof(PbfidxMeta));
	meta = pbfidx_meta((Page) image.data);
	*meta = *frozen;
	meta->magic = PBFIDX_MAGIC;
	meta->version = PBFIDX_VERSION;
	meta->hwm = PBFIDX_METAPAGE + 1;
	extend_to(index, fork, 1);
	write_new_page(index, fork, PBFIDX_METAPAGE, (Page) image.data);
}

static bool
is_group_sound(const PbfidxGroup *g)
{
	if (g->areas.first < 1 || g->areas.first > g->areas.most || g->areas.most > PBFIDX_MAX_AREA_REGIONS ||
	    (g->areas.first & (g->areas.first - 1)) != 0 || (g->areas.most & (g->areas.most - 1)) != 0)
		return false;
	if (g->bits_per_key == 0)
		return g->false_positive_rate >= PBFIDX_MIN_FPR && g->false_positive_rate <= PBFIDX_MAX_FPR &&
		       g->parts == PBFIDX_SCALAR_PARTS;
	return g->bits_per_key >= PBFIDX_MIN_BITS && g->bits_per_key <= PBFIDX_MAX_BITS && g->areas.most == 1 &&
	       g->false_positive_rate > 0 && g->false_positive_rate < 1 && g->parts >= 2 &&
	       g->parts <= PBFIDX_MAX_PARTS && g->parts % 2 == 0;
}

static bool
are_groups_sound(const PbfidxMeta *meta)
{
	if (meta->groups < 1 || meta->groups > PBFIDX_MAX_GROUPS)
		return false;
	for (int i = 0; i < INDEX_MAX_KEYS; i++)
	{
		uint8 code = meta->column_group[i];

		if ((code & PBFIDX_GROUP_NUMBER) >= (int) meta->groups)
			return false;
		if ((code & (PBFIDX_GROUP_MULTIKEY | PBFIDX_GROUP_OWN_HASH)) && !(code & PBFIDX_GROUP_SERVER_HASH))
			return false; /* each of these means that too */
	}
	for (uint32 i = 0; i < meta->groups; i++)
	{
		const PbfidxGroup *g = &meta->group[i];

		if (!is_group_sound(g))
			return false;
	}
	return true;
}

/* The metapage, locked and checked. */
static Buffer
lock_meta(Relation index, int mode)
{
	Buffer buffer = ReadBuffer(index, PBFIDX_METAPAGE);
	PbfidxMeta *meta;

	LockBuffer(buffer, mode);
	meta = pbfidx_meta(BufferGetPage(buffer));
	if (!has_identity(BufferGetPage(buffer), PBFIDX_META) || meta->magic != PBFIDX_MAGIC)
		pbfidx_corrupted(index, "Block 0 is not the metapage of a pbfidx index");
	if (meta->version != PBFIDX_VERSION)
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
		        errmsg("index \"%s\" has format version %u, this extension reads version %u",
		               RelationGetRelationName(index), meta->version, PBFIDX_VERSION),
		        errhint("REINDEX it."));
	if (meta->pages_per_range < 1 || meta->pages_per_range > PBFIDX_MAX_PAGES_PER_RANGE ||
	    meta->free_count > PBFIDX_FREE_MAX || !are_groups_sound(meta))
		pbfidx_corrupted(index, "The metapage holds values out of range");
	return buffer;
}

void
pbfidx_read_meta(Relation index, PbfidxMeta *copy)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_SHARE);

	*copy = *pbfidx_meta(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

/* Room for so many buffers. */
static PbfidxCache *
new_cache(Relation index, uint32 buffers)
{
	PbfidxCache *cache =
	    MemoryContextAllocZero(index->rd_indexcxt, sizeof(PbfidxCache) + buffers * sizeof(Buffer));

	cache->recent.mask = buffers - 1;
	return cache;
}

void
pbfidx_set_locale_version(Relation index, uint32 version)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);

	pbfidx_meta(GenericXLogRegisterBuffer(state, buffer, 0))->locale_version = version;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	if (index->rd_amcache != NULL)
		((PbfidxCache *) index->rd_amcache)->locale_version = version;
}

uint32
pbfidx_get_locale_version(Relation index)
{
	uint32 version = pbfidx_cache(index)->locale_version;
	Buffer buffer;

	if (version == 0 || version == PBFIDX_MIXED_LOCALES)
		return version;
	buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	version = pbfidx_meta(BufferGetPage(buffer))->locale_version;
	UnlockReleaseBuffer(buffer);
	((PbfidxCache *) index->rd_amcache)->locale_version = version;
	return version;
}

static PbfidxCache *
fill_cache(Relation index)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	PbfidxMeta *meta = pbfidx_meta(BufferGetPage(buffer));
	PbfidxCache *cache = index->rd_amcache;

	if (cache == NULL)
		cache = new_cache(index, pbfidx_recent_size(0)); /* scans make room for more */
	cache->pages_per_range = meta->pages_per_range;
	cache->flags = meta->flags;
	cache->server_major = meta->server_major;
	cache->locale_version = meta->locale_version;
	cache->groups = meta->groups;
	memcpy(cache->group, meta->group, sizeof(cache->group));
	memcpy(cache->column_group, meta->column_group, sizeof(cache->column_group));
	cache->hwm = meta->hwm;
	memcpy(cache->direct, meta->direct, sizeof(cache->direct));
	index->rd_amcache = cache;
	UnlockReleaseBuffer(buffer);
	return cache;
}

const PbfidxCache *
pbfidx_cache(Relation index)
{
	return index->rd_amcache != NULL ? (PbfidxCache *) index->rd_amcache : fill_cache(index);
}

PbfidxRecent *
pbfidx_cached_buffers(Relation index)
{
	(void) pbfidx_cache(index);
	return &((PbfidxCache *) index->rd_amcache)->recent;
}

void
pbfidx_refit_cache(Relation index)
{
	const PbfidxCache *old = pbfidx_cache(index);
	uint32 buffers = pbfidx_recent_size(old->hwm);
	PbfidxCache *cache;

	if (buffers <= old->recent.mask + 1)
		return;
	cache = new_cache(index, buffers);
	memcpy(cache, old, offsetof(PbfidxCache, recent));
	pfree(index->rd_amcache);
	index->rd_amcache = cache;
}

/* ---- finding regions ---- */

/* Entry `slot` of an indirect page. */
static BlockNumber
indirect_pointer(Relation index, BlockNumber block, uint32 slot)
{
	Buffer buffer = ReadBuffer(index, block);
	uint32 result;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!has_identity(BufferGetPage(buffer), PBFIDX_INDIRECT))
		pbfidx_corrupted(index, "An indirect directory page is not where the metapage says");
	result = ((uint32 *) PageGetContents(BufferGetPage(buffer)))[slot];
	UnlockReleaseBuffer(buffer);
	return result;
}

/* Once there is one it never moves. */
BlockNumber
pbfidx_directory_block(Relation index, uint32 region)
{
	uint32 page = region / PBFIDX_REGIONS_PER_PAGE;
	PbfidxMeta *meta;
	Buffer buffer;
	BlockNumber block;

	if (page < PBFIDX_DIRECT)
	{
		block = pbfidx_cache(index)->direct[page];
		return block != 0 ? block : fill_cache(index)->direct[page];
	}
	page -= PBFIDX_DIRECT;
	buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	meta = pbfidx_meta(BufferGetPage(buffer));
	block = meta->indirect[page / PBFIDX_POINTERS_PER_PAGE];
	UnlockReleaseBuffer(buffer);
	return block == 0 ? 0 : indirect_pointer(index, block, page % PBFIDX_POINTERS_PER_PAGE);
}

static bool
is_within(const PbfidxExtent *extent, uint32 hwm)
{
	return extent->start == 0 || (extent->blocks > 0 && (uint64) extent->start + extent->blocks <= hwm);
}

/* Memory is taken for as many pages as a slab has. */
static bool
is_slab(const PbfidxExtent *extent, uint32 hwm)
{
	return is_within(extent, hwm) && (extent->start == 0 || extent->blocks <= PBFIDX_UPPER_MAX_BLOCKS);
}

static bool
are_within(const PbfidxEntry *entries, uint32 n, uint32 hwm)
{
	bool within = true;

	for (uint32 i = 0; i < n; i++)
		within = within && is_slab(&entries[i].now, hwm) && is_slab(&entries[i].next, hwm);
	return within;
}

/*
 * Whether what was read lies below hwm; false: read again. Even then it may not, if it was given up meanwhile
 * and hwm lowered, but not again and again.
 */
static bool
is_plausible(Relation index, const PbfidxEntry *entries, uint32 n, int *tries)
{
	if (are_within(entries, n, pbfidx_cache(index)->hwm) || are_within(entries, n, fill_cache(index)->hwm))
		return true;
	if (++*tries > 100)
		pbfidx_corrupted(index, "The directory names pages that the index does not have");
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* The region's record on its locked page. */
static PbfidxRegion *
region_on(Page page, uint32 region)
{
	return (PbfidxRegion *) PageGetContents(page) + region % PBFIDX_REGIONS_PER_PAGE;
}

static bool
is_directory_page(Page page, uint32 region)
{
	return has_identity(page, PBFIDX_DIRECTORY) &&
	       pbfidx_page_id(page)->slab == region / PBFIDX_REGIONS_PER_PAGE;
}

/* Locks the pinned directory page of a region. */
static void
lock_directory_buffer(Relation index, uint32 region, Buffer buffer, int mode)
{
	LockBuffer(buffer, mode);
	if (!is_directory_page(BufferGetPage(buffer), region))
		pbfidx_corrupted(index, "A directory page is not where the metapage says");
}

/* The directory page of a region, locked to be read; InvalidBuffer if there is none. */
static Buffer
lock_directory(Relation index, uint32 region)
{
	BlockNumber block = pbfidx_directory_block(index, region);
	Buffer buffer;

	if (block == 0)
		return InvalidBuffer;
	buffer = pbfidx_read_buffer(index, pbfidx_cached_buffers(index), block);
	lock_directory_buffer(index, region, buffer, BUFFER_LOCK_SHARE);
	return buffer;
}

bool
pbfidx_read_region(Relation index, uint32 region, PbfidxRegion *copy)
{
	int tries = 0;

	do
	{
		Buffer buffer = lock_directory(index, region);

		if (!BufferIsValid(buffer))
		{
			memset(copy, 0, sizeof(*copy));
			return false;
		}
		*copy = *region_on(BufferGetPage(buffer), region);
		UnlockReleaseBuffer(buffer);
	} while (!is_plausible(index, &copy->upper, 1, &tries) ||
	         !is_plausible(index, copy->leaf, PBFIDX_COLUMNS, &tries));
	return true;
}

bool
pbfidx_peek_region(Relation index, uint32 region, PbfidxRegion *copy)
{
	BlockNumber block = pbfidx_directory_block(index, region);
	Buffer buffer;
	bool sound;

	if (block == 0 || block >= RelationGetNumberOfBlocks(index))
		return false;
	buffer = pbfidx_read_buffer(index, pbfidx_cached_buffers(index), block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	sound = is_directory_page(BufferGetPage(buffer), region);
	if (sound)
		*copy = *region_on(BufferGetPage(buffer), region);
	UnlockReleaseBuffer(buffer);
	return sound;
}

/* The entry is zeroed if the directory does not reach it. */
static bool
read_leaf(Relation index, uint32 leaf, PbfidxEntry *copy)
{
	Buffer buffer = lock_directory(index, leaf / PBFIDX_COLUMNS);

	memset(copy, 0, sizeof(*copy));
	if (!BufferIsValid(buffer))
		return false;
	*copy = region_on(BufferGetPage(buffer), leaf / PBFIDX_COLUMNS)->leaf[leaf % PBFIDX_COLUMNS];
	UnlockReleaseBuffer(buffer);
	return true;
}

void
pbfidx_read_leaves(Relation index, uint32 region, const PbfidxMask *leaves, PbfidxRegion *copy)
{
	Buffer buffer = lock_directory(index, region);
	int tries = 0;

	for (int i = -1; (i = pbfidx_mask_next(leaves, i + 1)) >= 0;)
	{
		if (BufferIsValid(buffer))
			copy->leaf[i] = region_on(BufferGetPage(buffer), region)->leaf[i];
		else
			memset(&copy->leaf[i], 0, sizeof(PbfidxEntry));
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	for (int i = -1; (i = pbfidx_mask_next(leaves, i + 1)) >= 0;)
	{
		while (!is_plausible(index, &copy->leaf[i], 1, &tries))
			(void) read_leaf(index, region * PBFIDX_COLUMNS + i, &copy->leaf[i]);
	}
}

static void
read_uppers(Relation index, const PbfidxSlabId *uppers, uint32 n, PbfidxEntry *copies)
{
	Buffer buffer = InvalidBuffer;

	memset(copies, 0, n * sizeof(PbfidxEntry));
	for (uint32 i = 0; i < n; i++)
	{
		uint32 region = uppers[i].slab;

		/* Neighbours are on the same page. */
		if (i == 0 || region / PBFIDX_REGIONS_PER_PAGE != uppers[i - 1].slab / PBFIDX_REGIONS_PER_PAGE)
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			buffer = lock_directory(index, region);
		}
		if (BufferIsValid(buffer))
			copies[i] = region_on(BufferGetPage(buffer), region)->upper;
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

void
pbfidx_read_uppers(Relation index, const PbfidxSlabId *uppers, uint32 n, PbfidxEntry *copies)
{
	int tries = 0;

	do
		read_uppers(index, uppers, n, copies);
	while (!is_plausible(index, copies, n, &tries));
}

bool
pbfidx_read_entries(Relation index, uint32 leaf, PbfidxEntry *upper_copy, PbfidxEntry *leaf_copy)
{
	int tries = 0, column;
	PbfidxSlabId upper = pbfidx_upper_over(pbfidx_cache(index), leaf, &column);

	/* In this order: the upper was there before the first of its leaf slabs. */
	do
	{
		if (!read_leaf(index, leaf, leaf_copy))
			return false;
		read_uppers(index, &upper, 1, upper_copy);
	} while (!is_plausible(index, upper_copy, 1, &tries) || !is_plausible(index, leaf_copy, 1, &tries));
	return true;
}

/* ---- growth ---- */

void
pbfidx_lock_growth(Relation index)
{
	LockPage(index, PBFIDX_METAPAGE, ExclusiveLock);
}

void
pbfidx_unlock_growth(Relation index)
{
	UnlockPage(index, PBFIDX_METAPAGE, ExclusiveLock);
}

/* The smallest that is large enough: leaf slabs must not eat up the room that an upper has left. -1: none is.
 */
static int
free_slot_for(const PbfidxMeta *meta, uint32 blocks)
{
	int slot = -1;

	for (uint32 i = 0; i < meta->free_count; i++)
	{
		if (meta->free[i].blocks >= blocks && (slot < 0 || meta->free[i].blocks < meta->free[slot].blocks))
			slot = (int) i;
	}
	return slot;
}

void
pbfidx_make_room(Relation index, uint32 blocks)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	const PbfidxMeta *meta = pbfidx_meta(BufferGetPage(buffer));
	uint64 end = free_slot_for(meta, blocks) >= 0 ? 0 : (uint64) meta->hwm + blocks;
	uint32 hwm = meta->hwm;

	UnlockReleaseBuffer(buffer);
	if (hwm > RelationGetNumberOfBlocks(index))
		pbfidx_corrupted(index, "The metapage names pages that the index does not have");
	if (end <= MaxBlockNumber)
		extend_to(index, MAIN_FORKNUM, (BlockNumber) end);
}

void
pbfidx_check_end(Relation index, uint64 end)
{
	if (end > MaxBlockNumber)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		        errmsg("index \"%s\" cannot grow any further", RelationGetRelationName(index)));
}

PbfidxAllocation
pbfidx_allocate(Relation index, uint32 blocks)
{
	BlockNumber length = RelationGetNumberOfBlocks(index); /* no system call under the lock */
	Buffer buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	PbfidxMeta *meta = pbfidx_meta(BufferGetPage(buffer));
	PbfidxAllocation a = {{meta->hwm, blocks, meta->generation + 1}, free_slot_for(meta, blocks)};

	if (a.free_slot >= 0)
		a.extent.start = meta->free[a.free_slot].start;
	if (meta->hwm > length || (a.free_slot >= 0 && (a.extent.start == 0 || !is_within(&a.extent, meta->hwm))))
		pbfidx_corrupted(index, "The metapage names free pages that the index does not have");
	UnlockReleaseBuffer(buffer);
	pbfidx_check_end(index, (uint64) a.extent.start + blocks);
	return a;
}

static void
take(PbfidxMeta *meta, const PbfidxAllocation *a)
{
	meta->generation = Max(meta->generation, a->extent.generation);
	if (a->free_slot < 0)
	{
		/* The workers of a parallel build publish in any order. */
		meta->hwm = Max(meta->hwm, a->extent.start + a->extent.blocks);
		return;
	}
	meta->free[a->free_slot].start += a->extent.blocks;
	meta->free[a->free_slot].blocks -= a->extent.blocks;
	if (meta->free[a->free_slot].blocks == 0)
		meta->free[a->free_slot] = meta->free[--meta->free_count];
}

/* Index of a free extent that ends where this one starts, or starts where it ends; -1: none. */
static int
free_neighbour(const PbfidxMeta *meta, const PbfidxFree *f)
{
	for (uint32 i = 0; i < meta->free_count; i++)
	{
		if (meta->free[i].start + meta->free[i].blocks == f->start ||
		    f->start + f->blocks == meta->free[i].start)
			return (int) i;
	}
	return -1;
}

/* Gives up an extent: merged with its neighbours; what ends at hwm lowers hwm. */
static void
give_up(PbfidxMeta *meta, const PbfidxExtent *extent)
{
	PbfidxFree f = {extent->start, extent->blocks};
	int i;

	while ((i = free_neighbour(meta, &f)) >= 0)
	{
		f.start = Min(f.start, meta->free[i].start);
		f.blocks += meta->free[i].blocks;
		meta->free[i] = meta->free[--meta->free_count];
	}
	if (f.start + f.blocks == meta->hwm)
		meta->hwm = f.start;
	else
		meta->free[meta->free_count++] = f;
}

bool
pbfidx_can_free(Relation index, PbfidxExtent extent)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_SHARE);
	PbfidxMeta *meta = pbfidx_meta(BufferGetPage(buffer));
	PbfidxFree f = {extent.start, extent.blocks};
	/* The allocation that goes with it may split a free extent, never add one. */
	bool result = meta->free_count < PBFIDX_FREE_MAX || free_neighbour(meta, &f) >= 0;

	UnlockReleaseBuffer(buffer);
	return result;
}

/* Writes an empty page of pointers or regions at hwm; the caller publishes it. */
static PbfidxAllocation
new_directory_page(Relation index, PbfidxLevel level, uint32 number)
{
	PbfidxAllocation a = pbfidx_allocate(index, 1);
	PbfidxPageId id = {number, 0, a.extent.generation, (uint8) level, 0, PBFIDX_PAGE_ID};
	PGAlignedBlock image;

	init_page((Page) image.data, id, PBFIDX_CONTENT_BYTES);
	extend_to(index, MAIN_FORKNUM, a.extent.start + 1);
	write_new_page(index, MAIN_FORKNUM, a.extent.start, (Page) image.data);
	return a;
}

/* The metapage's pointer := the new page, in one record. */
static void
publish_in_meta(Relation index, const PbfidxAllocation *a, Size offset)
{
	Buffer buffer = lock_meta(index, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);
	PbfidxMeta *meta = pbfidx_meta(GenericXLogRegisterBuffer(state, buffer, 0));

	take(meta, a);
	*(uint32 *) ((char *) meta + offset) = a->extent.start;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* An indirect page's pointer := the new page, in one record. */
static void
publish_in_indirect(Relation index, const PbfidxAllocation *a, BlockNumber indirect, uint32 slot)
{
	Buffer buffer = ReadBuffer(index, indirect); /* before the metapage is locked */
	Buffer meta_buffer = lock_meta(index, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	take(pbfidx_meta(GenericXLogRegisterBuffer(state, meta_buffer, 0)), a);
	((uint32 *) PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0)))[slot] = a->extent.start;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	UnlockReleaseBuffer(meta_buffer);
}

void
pbfidx_reach_region(Relation index, uint32 region)
{
	uint32 page = region / PBFIDX_REGIONS_PER_PAGE;
	uint32 indirect = 0;
	PbfidxAllocation a;
	PbfidxMeta *meta;

	if (pbfidx_directory_block(index, region) != 0)
		return;
	if (page < PBFIDX_DIRECT)
	{
		a = new_directory_page(index, PBFIDX_DIRECTORY, page);
		publish_in_meta(index, &a, offsetof(PbfidxMeta, direct) + page * sizeof(uint32));
		return;
	}
	indirect = (page - PBFIDX_DIRECT) / PBFIDX_POINTERS_PER_PAGE;
	meta = palloc(sizeof(PbfidxMeta));
	pbfidx_read_meta(index, meta);
	if (meta->indirect[indirect] == 0)
	{
		a = new_directory_page(index, PBFIDX_INDIRECT, indirect);
		publish_in_meta(index, &a, offsetof(PbfidxMeta, indirect) + indirect * sizeof(uint32));
		pbfidx_read_meta(index, meta);
	}
	a = new_directory_page(index, PBFIDX_DIRECTORY, page);
	publish_in_indirect(index, &a, meta->indirect[indirect],
	                    (page - PBFIDX_DIRECT) % PBFIDX_POINTERS_PER_PAGE);
	pfree(meta);
}

void
pbfidx_publish(Relation index, PbfidxSlabId id, const PbfidxEntry *entry, const PbfidxAllocation *taken,
               const PbfidxExtent *freed)
{
	uint32 region = pbfidx_region_of(id);
	BlockNumber block = pbfidx_directory_block(index, region);
	bool space = taken != NULL || freed != NULL;
	Buffer meta_buffer = InvalidBuffer;
	Buffer buffer;
	GenericXLogState *state;
	Page page;

	if (block == 0)
		pbfidx_corrupted(index, "A region of the directory has vanished");
	buffer = ReadBuffer(index, block); /* before the metapage is locked: no I/O under a lock */
	if (space)
		meta_buffer = lock_meta(index, BUFFER_LOCK_EXCLUSIVE);
	lock_directory_buffer(index, region, buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	*pbfidx_entry_in(region_on(page, region), id) = *entry;
	if (space)
	{
		PbfidxMeta *meta = pbfidx_meta(GenericXLogRegisterBuffer(state, meta_buffer, 0));

		if (taken != NULL)
			take(meta, taken);
		if (freed != NULL)
			give_up(meta, freed);
	}
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	if (space)
		UnlockReleaseBuffer(meta_buffer);
}

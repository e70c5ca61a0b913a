/*
 * directory.h: the metapage, the directory and the space of an index: who may read and change them, and how.
 *
 * Readers copy what they need under a share lock on one page and let go; an address may be stale when it is
 * used, which the identity of the page then tells. Writers hold the growth lock, a heavyweight lock on the
 * metapage, from allocation to publication; a change is published by one WAL record.
 */
#ifndef PBF_INDEX_DIRECTORY_H
#define PBF_INDEX_DIRECTORY_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "index/layout.h"
#include "index/recent.h"
#include "index/slab.h"

/* What is frozen in the metapage, the directory pages known so far, and the buffers: in rd_amcache. */
typedef struct PbfidxCache
{
	uint32 pages_per_range;
	uint32 flags;
	uint32 server_major;
	uint32 locale_version;
	uint32 groups;
	PbfidxGroup group[PBFIDX_MAX_GROUPS];
	uint8 column_group[INDEX_MAX_KEYS];
	uint32 hwm; /* may have moved since */
	uint32 direct[PBFIDX_DIRECT];
	PbfidxRecent recent;
} PbfidxCache;

/* Which slab: a leaf by its number, an upper by that of the first region of its area. */
typedef struct PbfidxSlabId
{
	int level;
	uint32 slab;
} PbfidxSlabId;

static inline uint32
pbfidx_region_of(PbfidxSlabId id)
{
	return id.level == PBFIDX_LEAF ? id.slab / PBFIDX_COLUMNS : id.slab;
}

/* The group of a region, and of a leaf slab. */
static inline const PbfidxGroup *
pbfidx_group_of(const PbfidxCache *cache, PbfidxSlabId id)
{
	return &cache->group[pbfidx_region_of(id) % cache->groups];
}

/* The leaf slab that has a range, in a group. */
static inline uint32
pbfidx_leaf_of(uint32 groups, uint32 group, uint64 range)
{
	uint64 slab = range / PBFIDX_COLUMNS;

	return (uint32) ((slab / PBFIDX_COLUMNS * groups + group) * PBFIDX_COLUMNS + slab % PBFIDX_COLUMNS);
}

/* The area over a region, in the region's group. */
static inline PbfidxArea
pbfidx_area_over(const PbfidxCache *cache, uint32 region)
{
	return pbfidx_area_of(cache->group[region % cache->groups].areas, region / cache->groups);
}

/* The upper of an area, in a group. */
static inline PbfidxSlabId
pbfidx_upper_of(const PbfidxCache *cache, PbfidxArea area, uint32 group)
{
	return (PbfidxSlabId){PBFIDX_UPPER, area.first * cache->groups + group};
}

/* The upper over a leaf slab, and its column that has it. */
static inline PbfidxSlabId
pbfidx_upper_over(const PbfidxCache *cache, uint32 leaf, int *column)
{
	uint32 region = leaf / PBFIDX_COLUMNS;
	PbfidxArea area = pbfidx_area_over(cache, region);
	uint32 slab = (region / cache->groups - area.first) * PBFIDX_COLUMNS + leaf % PBFIDX_COLUMNS;

	*column = (int) (slab / area.regions);
	return pbfidx_upper_of(cache, area, region % cache->groups);
}

/* Leaf slab number `slab` under an upper. */
static inline uint32
pbfidx_leaf_under(uint32 groups, PbfidxSlabId upper, uint32 slab)
{
	return (upper.slab + slab / PBFIDX_COLUMNS * groups) * PBFIDX_COLUMNS + slab % PBFIDX_COLUMNS;
}

/* The first range of a leaf slab. */
static inline uint64
pbfidx_first_range(uint32 groups, uint32 leaf)
{
	uint64 region = leaf / PBFIDX_COLUMNS / groups;

	return (region * PBFIDX_COLUMNS + leaf % PBFIDX_COLUMNS) * PBFIDX_COLUMNS;
}

static inline PbfidxEntry *
pbfidx_entry_in(PbfidxRegion *region, PbfidxSlabId id)
{
	return id.level == PBFIDX_LEAF ? &region->leaf[id.slab % PBFIDX_COLUMNS] : &region->upper;
}

/* Raises ERRCODE_INDEX_CORRUPTED with the index's name and a REINDEX hint. */
pg_noreturn extern void pbfidx_corrupted(Relation index, const char *detail);

/* The frozen options. Valid until the next catalog access: copy what is needed longer. */
extern const PbfidxCache *pbfidx_cache(Relation index);
/* The record of a region for who can do without: false, too, if its page is not what it should be. What it
 * says of places is not checked. */
extern bool pbfidx_peek_region(Relation index, uint32 region, PbfidxRegion *copy);
/* Where buffers are noted. As above. */
extern PbfidxRecent *pbfidx_cached_buffers(Relation index);
/* Before a scan: for an index that has grown, room for the buffers of more of its blocks. */
extern void pbfidx_refit_cache(Relation index);

/* The directory page of a region, 0 if there is none. */
extern BlockNumber pbfidx_directory_block(Relation index, uint32 region);

/* The whole record of a region; false (and a zeroed record) if the directory does not reach it yet. */
extern bool pbfidx_read_region(Relation index, uint32 region, PbfidxRegion *copy);
/* Of a region's record the leaves in the mask, the rest is undefined; none of them has a slab if the
 * directory does not reach it yet. */
extern void pbfidx_read_leaves(Relation index, uint32 region, const PbfidxMask *leaves, PbfidxRegion *copy);
/* The entries of n uppers, each read by itself; zeroed where the directory does not reach yet. */
extern void pbfidx_read_uppers(Relation index, const PbfidxSlabId *uppers, uint32 n, PbfidxEntry *copies);
/* A leaf slab's entry and that of the upper over it; false if the directory does not reach the leaf yet. */
extern bool pbfidx_read_entries(Relation index, uint32 leaf, PbfidxEntry *upper_copy, PbfidxEntry *leaf_copy);

/* The growth lock. Taken before any extension lock and with no buffer lock held. */
extern void pbfidx_lock_growth(Relation index);
extern void pbfidx_unlock_growth(Relation index);

/* An extent that nobody knows yet, under the growth lock; publish it or forget it. */
typedef struct PbfidxAllocation
{
	PbfidxExtent extent;
	int free_slot; /* where in the metapage's list it comes from, -1: from hwm */
} PbfidxAllocation;

extern PbfidxAllocation pbfidx_allocate(Relation index, uint32 blocks);
/* An error if the index would end there. */
extern void pbfidx_check_end(Relation index, uint64 end);
/* Before the growth lock is taken to allocate many: makes the file long enough, which takes the most time. */
extern void pbfidx_make_room(Relation index, uint32 blocks);

/* Whether the metapage's list can take one more extent. */
extern bool pbfidx_can_free(Relation index, PbfidxExtent extent);

/* Makes sure that the directory has a place for the region. Under the growth lock. */
extern void pbfidx_reach_region(Relation index, uint32 region);

/*
 * In one WAL record: the entry of a slab := entry, what was allocated leaves the free space, what is given up
 * enters it. Under the growth lock. taken, freed: NULL for none.
 */
extern void pbfidx_publish(Relation index, PbfidxSlabId id, const PbfidxEntry *entry,
                           const PbfidxAllocation *taken, const PbfidxExtent *freed);

/* Initialises a page image of a slab with an empty matrix. */
extern void pbfidx_init_slab_page(Page page, PbfidxSlabId id, uint32 generation, uint32 block, int parts);
/* Writes and logs all pages of an extent not published yet; matrices: PBFIDX_MATRIX_BYTES a page, NULL for
 * empty ones. */
extern void pbfidx_write_slab(Relation index, PbfidxSlabId id, PbfidxExtent extent, int parts,
                              const uint8 *matrices);

/* A locked page of a slab, or InvalidBuffer if the page now is something else. */
extern Buffer pbfidx_lock_slab_page(Relation index, PbfidxSlabId id, PbfidxExtent extent, uint32 block,
                                    int mode, BufferAccessStrategy strategy);
extern bool pbfidx_is_slab_page(Page page, PbfidxSlabId id, PbfidxExtent extent, uint32 block);

/* The metapage of a new index, into the fork. */
extern void pbfidx_init_metapage(Relation index, ForkNumber fork, const PbfidxMeta *frozen);
/* A copy of the whole metapage, checked. */
extern void pbfidx_read_meta(Relation index, PbfidxMeta *copy);
/* As the metapage has it now: that keys of another version were added may have been replayed on a standby. */
extern uint32 pbfidx_get_locale_version(Relation index);
extern void pbfidx_set_locale_version(Relation index, uint32 version);

#endif

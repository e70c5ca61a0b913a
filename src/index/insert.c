/*
 * insert.c: aminsert's work: find the pages of a row's keys, set their bits, log them.
 *
 * 1. Read the entries of the leaf slab and of the upper over it, once (directory.h).
 * 2. Locate every key in the leaf slab and in the upper, in `now` and in `next` of each: targets.
 * 3. In the order of their blocks, test the targets under share locks. Usually, for a value that the range
 * has already, all bits are set everywhere: done, nothing logged.
 * 4. Set the rest, up to MAX_LOGGED_PAGES pages to a WAL record.
 * A page that is not what the entries said was recycled in between: start again at 1.
 *
 * The record is one of the server's generic ones, written by hand: GenericXLog copies and compares whole
 * pages, seven microseconds each, where we know which bytes change. Format, the same in 13 to 19: for each
 * page a sequence of {uint16 offset, uint16 length, bytes}. Redo is the server's own.
 */
#include "postgres.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "compat.h"
#include "index/insert.h"
#include "index/size.h"
#include "index/slab.h"

#define MAX_LOGGED_PAGES 4 /* pages of one record: block references 0..3 need no preparation */

/* A key in one page. */
typedef struct Target
{
	BlockNumber block;
	PbfidxSlabId id;
	PbfidxExtent extent;
	int column;
	PbfidxPlace place;
} Target;

typedef struct Targets
{
	int parts; /* of all matrices of the group */
	Target *list;
	int n;
} Targets;

/* ---- where ---- */

static void
add_target(Targets *targets, uint64 key, PbfidxSlabId id, PbfidxExtent extent, int column)
{
	Target *t;

	if (extent.start == 0)
		return;
	t = &targets->list[targets->n++];
	t->id = id;
	t->extent = extent;
	t->column = column;
	pbfidx_locate(key, id.level, extent.blocks, targets->parts, &t->place);
	t->block = extent.start + t->place.block;
}

static int
compare_targets(const void *a, const void *b)
{
	BlockNumber x = ((const Target *) a)->block, y = ((const Target *) b)->block;

	return x < y ? -1 : x > y;
}

/* All places of the keys of a range, in the order of their blocks. */
static void
locate_all(Targets *targets, const PbfidxCache *cache, uint32 leaf_number, uint32 range,
           const PbfidxEntry *upper, const PbfidxEntry *leaf, const uint64 *keys, int n)
{
	int upper_column, column = (int) (range % PBFIDX_COLUMNS);
	PbfidxSlabId leaf_id = {PBFIDX_LEAF, leaf_number};
	PbfidxSlabId upper_id = pbfidx_upper_over(cache, leaf_number, &upper_column);

	targets->n = 0;
	for (int i = 0; i < n; i++)
	{
		add_target(targets, keys[i], leaf_id, leaf->now, column);
		add_target(targets, keys[i], leaf_id, leaf->next, column);
		add_target(targets, keys[i], upper_id, upper->now, upper_column);
		add_target(targets, keys[i], upper_id, upper->next, upper_column);
	}
	qsort(targets->list, targets->n, sizeof(Target), compare_targets);
}

/* ---- testing and setting ---- */

static bool
is_target_page(Page page, const Target *t)
{
	return pbfidx_is_slab_page(page, t->id, t->extent, t->place.block);
}

/* Drops the targets whose bits are set already; false if a page is not what it should be. */
static bool
drop_set_targets(Relation index, Targets *targets)
{
	int kept = 0;

	for (int i = 0; i < targets->n;)
	{
		BlockNumber block = targets->list[i].block;
		Buffer buffer;
		Page page;
		bool valid = true;

		CHECK_FOR_INTERRUPTS(); /* a document may have its keys on thousands of pages */
		buffer = pbfidx_read_buffer(index, pbfidx_cached_buffers(index), block);
		page = BufferGetPage(buffer);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		for (; i < targets->n && targets->list[i].block == block; i++)
		{
			Target *t = &targets->list[i];

			valid = valid && is_target_page(page, t);
			if (valid && !pbfidx_test(pbfidx_matrix(page), &t->place, targets->parts, t->column))
				targets->list[kept++] = *t;
		}
		UnlockReleaseBuffer(buffer);
		if (!valid)
			return false;
	}
	targets->n = kept;
	return true;
}

/* The changed bytes of one page, as generic redo wants them. */
typedef struct Delta
{
	char *data;
	int length;
} Delta;

/* Sets one target's bits and appends the bytes that changed. Inside the critical section. */
static void
set_target(Page page, const Target *t, int parts, Delta *delta)
{
	uint8 *matrix = pbfidx_matrix(page);
	uint8 bit = (uint8) (1 << (t->column % 8));

	for (int i = 0; i < parts; i++)
	{
		uint8 *byte = matrix + t->place.rows[i] * PBFIDX_ROW_BYTES + t->column / 8;
		uint16 header[2] = {(uint16) ((char *) byte - (char *) page), 1};

		if (*byte & bit)
			continue;
		*byte |= bit;
		memcpy(delta->data + delta->length, header, sizeof(header));
		delta->data[delta->length + sizeof(header)] = (char) *byte;
		delta->length += sizeof(header) + 1;
	}
}

#define DELTA_BYTES_PER_TARGET (PBFIDX_MAX_PARTS * (2 * sizeof(uint16) + 1))

/*
 * Sets the targets first..last, which lie on the n locked pages, and logs them in one record.
 * `room`: DELTA_BYTES_PER_TARGET for each target.
 */
static void
set_pages(Relation index, const Target *targets, int count, int parts, const Buffer *buffers, int n,
          char *room)
{
	Delta deltas[MAX_LOGGED_PAGES];
	bool logged = RelationNeedsWAL(index);
	int next = 0;

	START_CRIT_SECTION();
	for (int i = 0; i < n; i++)
	{
		BlockNumber block = BufferGetBlockNumber(buffers[i]);

		deltas[i].data = room + next * DELTA_BYTES_PER_TARGET;
		deltas[i].length = 0;
		for (; next < count && targets[next].block == block; next++)
			set_target(BufferGetPage(buffers[i]), &targets[next], parts, &deltas[i]);
		MarkBufferDirty(buffers[i]);
	}
	if (logged)
	{
		XLogRecPtr lsn;

		XLogBeginInsert();
		for (int i = 0; i < n; i++)
		{
			XLogRegisterBuffer(i, buffers[i], REGBUF_STANDARD);
			XLogRegisterBufData(i, deltas[i].data, deltas[i].length);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < n; i++)
			PageSetLSN(BufferGetPage(buffers[i]), lsn);
	}
	END_CRIT_SECTION();
}

/* Sets targets from `first` on that lie on at most MAX_LOGGED_PAGES pages; returns the first one left, -1:
 * retry. */
static int
set_some_targets(Relation index, const Targets *targets, int first, char *room)
{
	Buffer buffers[MAX_LOGGED_PAGES];
	int n = 0;
	int last;
	bool valid = true;

	/* Pin all first: reading a page while another one is locked would make others wait for our I/O. */
	for (last = first; last < targets->n; last++)
	{
		if (last > first && targets->list[last].block == targets->list[last - 1].block)
			continue;
		if (n == MAX_LOGGED_PAGES)
			break;
		buffers[n++] = pbfidx_read_buffer(index, pbfidx_cached_buffers(index), targets->list[last].block);
	}
	for (int i = 0; i < n; i++)
		LockBuffer(buffers[i], BUFFER_LOCK_EXCLUSIVE);
	for (int i = first, b = 0; i < last; i++)
	{
		while (BufferGetBlockNumber(buffers[b]) != targets->list[i].block)
			b++;
		valid = valid && is_target_page(BufferGetPage(buffers[b]), &targets->list[i]);
	}
	if (valid)
		set_pages(index, targets->list + first, last - first, targets->parts, buffers, n, room);
	for (int i = 0; i < n; i++)
		UnlockReleaseBuffer(buffers[i]);
	return valid ? last : -1;
}

/* false: a page was not what the entries said. */
static bool
set_targets(Relation index, Targets *targets)
{
	char *room;

	if (!drop_set_targets(index, targets))
		return false;
	if (targets->n == 0)
		return true;
	room = palloc(targets->n * DELTA_BYTES_PER_TARGET);
	for (int i = 0; i >= 0 && i < targets->n;)
	{
		CHECK_FOR_INTERRUPTS();
		i = set_some_targets(index, targets, i, room);
		if (i < 0)
		{
			pfree(room);
			return false;
		}
	}
	pfree(room);
	return true;
}

/* What is done with targets; false: a page was not what the entries said. */
typedef bool (*UseTargets)(Relation index, Targets *targets);

/* Some keys of a range, by one reading of the entries. Returns the targets left; -1: there is no slab. */
static int
use_some_keys(Relation index, int group, BlockNumber heap_block, const uint64 *keys, int n, UseTargets use)
{
	const PbfidxCache *cache = pbfidx_cache(index);
	uint32 range = heap_block / cache->pages_per_range;
	uint32 leaf_number = pbfidx_leaf_of(cache->groups, (uint32) group, range);
	Targets targets = {(int) cache->group[group].parts, palloc((Size) n * 4 * sizeof(Target)), 0};
	PbfidxEntry leaf, upper, seen_leaf, seen_upper;
	bool seen = false;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!pbfidx_read_entries(index, leaf_number, &upper, &leaf) || leaf.now.start == 0)
		{
			targets.n = -1;
			break;
		}
		if (seen && memcmp(&leaf, &seen_leaf, sizeof(leaf)) == 0 &&
		    memcmp(&upper, &seen_upper, sizeof(upper)) == 0)
			pbfidx_corrupted(index, "A page is not what the directory says");
		locate_all(&targets, pbfidx_cache(index), leaf_number, range, &upper, &leaf, keys, n);
		if (use(index, &targets))
			break;
		seen_leaf = leaf;
		seen_upper = upper;
		seen = true;
	}
	pfree(targets.list);
	return targets.n;
}

#define KEYS_AT_A_TIME 4096 /* bounds the memory: a value may have millions of keys */

void
pbfidx_insert_keys(Relation index, int group, BlockNumber heap_block, const uint64 *keys, int n)
{
	const PbfidxCache *cache = pbfidx_cache(index);
	uint32 leaf = pbfidx_leaf_of(cache->groups, (uint32) group, heap_block / cache->pages_per_range);

	for (int i = 0; i < n; i += KEYS_AT_A_TIME)
	{
		while (use_some_keys(index, group, heap_block, keys + i, Min(n - i, KEYS_AT_A_TIME), set_targets) < 0)
			pbfidx_grow(index, leaf);
	}
}

bool
pbfidx_are_keys_set(Relation index, int group, BlockNumber heap_block, const uint64 *keys, int n)
{
	for (int i = 0; i < n; i += KEYS_AT_A_TIME)
	{
		if (use_some_keys(index, group, heap_block, keys + i, Min(n - i, KEYS_AT_A_TIME), drop_set_targets) !=
		    0)
			return false;
	}
	return true;
}

/* ---- growth ---- */

/* The leaf slab of the same group that comes before another one; false: there is none. */
static bool
previous_leaf(const PbfidxCache *cache, uint32 leaf, uint32 *previous)
{
	bool first = leaf % PBFIDX_COLUMNS == 0;

	if (first && leaf / PBFIDX_COLUMNS < cache->groups)
		return false;
	*previous = first ? leaf - (cache->groups - 1) * PBFIDX_COLUMNS - 1 : leaf - 1;
	return true;
}

double
pbfidx_expected_range_keys(Relation index, uint32 leaf)
{
	PbfidxEntry upper, neighbour;
	PbfidxSlabId id = {PBFIDX_LEAF, leaf};
	const PbfidxGroup g = *pbfidx_group_of(pbfidx_cache(index), id);
	double keys = g.column_keys;
	Buffer buffer;

	if (!previous_leaf(pbfidx_cache(index), leaf, &id.slab) ||
	    !pbfidx_read_entries(index, id.slab, &upper, &neighbour) || neighbour.now.start == 0)
		return keys;
	buffer = pbfidx_lock_slab_page(index, id, neighbour.now, 0, BUFFER_LOCK_SHARE, NULL);
	if (!BufferIsValid(buffer))
		return neighbour.column_keys;
	keys = pbfidx_page_keys(pbfidx_matrix(BufferGetPage(buffer)), (int) g.parts, neighbour.now.blocks);
	UnlockReleaseBuffer(buffer);
	return keys > 0 ? keys : neighbour.column_keys;
}

/* Distinct keys of a column of an upper: as in the area before, else as if all ranges differed. */
static double
expected_column_keys(Relation index, PbfidxArea area, uint32 group, double range_keys)
{
	const PbfidxCache *cache = pbfidx_cache(index);
	PbfidxEntry previous;
	PbfidxSlabId id;
	PbfidxArea before;

	if (area.first == 0)
		return range_keys * PBFIDX_COLUMNS * area.regions;
	before = pbfidx_area_of(cache->group[group].areas, area.first - 1);
	id = pbfidx_upper_of(cache, before, group);
	pbfidx_read_uppers(index, &id, 1, &previous);
	if (previous.now.start == 0)
		return range_keys * PBFIDX_COLUMNS * area.regions;
	return (double) previous.column_keys * area.regions / before.regions;
}

/* Allocates, writes and publishes an empty slab. Under the growth lock. */
static void
make_slab(Relation index, PbfidxSlabId id, uint32 blocks, double column_keys)
{
	int parts = (int) pbfidx_group_of(pbfidx_cache(index), id)->parts;
	PbfidxAllocation a = pbfidx_allocate(index, blocks);
	PbfidxEntry entry = {a.extent, {0, 0, 0}, 0, (uint32) Min(ceil(column_keys), PG_UINT32_MAX)};

	pbfidx_write_slab(index, id, a.extent, parts, NULL);
	pbfidx_publish(index, id, &entry, &a, NULL);
}

/* Whether no region of an area has a leaf slab. Under the growth lock. */
static bool
is_area_empty(Relation index, PbfidxArea area, uint32 group)
{
	PbfidxRegion *record = palloc(sizeof(PbfidxRegion));
	uint32 groups = pbfidx_cache(index)->groups;
	bool empty = true;

	for (uint32 i = 0; i < area.regions && empty; i++)
	{
		pbfidx_read_region(index, (area.first + i) * groups + group, record);
		for (int leaf = 0; leaf < PBFIDX_COLUMNS; leaf++)
			empty = empty && record->leaf[leaf].now.start == 0;
	}
	pfree(record);
	return empty;
}

/*
 * The upper of an area is made with its first leaf slab, while it is certainly complete. Only area 0, which
 * is all that a small table has, waits for VACUUM. Under the growth lock.
 */
static void
grow(Relation index, uint32 leaf, double range_keys, double column_keys)
{
	uint32 region = leaf / PBFIDX_COLUMNS, group = region % pbfidx_cache(index)->groups;
	PbfidxArea area = pbfidx_area_over(pbfidx_cache(index), region);
	PbfidxSlabId upper_id = pbfidx_upper_of(pbfidx_cache(index), area, group);
	PbfidxGroup g = pbfidx_cache(index)->group[group];
	PbfidxEntry upper, present;
	PbfidxPlan plan;

	pbfidx_reach_region(index, region);
	pbfidx_reach_region(index, upper_id.slab);
	pbfidx_read_entries(index, leaf, &upper, &present);
	if (present.now.start != 0)
		return;
	/* Where an upper is being built, it is the rebuild that publishes it. */
	if (area.first > 0 && upper.now.start == 0 && upper.next.start == 0 && is_area_empty(index, area, group))
		plan = pbfidx_plan(&g, range_keys, column_keys, area.regions);
	else
		plan = (PbfidxPlan){pbfidx_leaf_blocks(&g, range_keys, column_keys, upper.now.blocks), 0};
	if (plan.upper_blocks > 0)
		make_slab(index, upper_id, plan.upper_blocks, column_keys);
	make_slab(index, (PbfidxSlabId){PBFIDX_LEAF, leaf}, plan.leaf_blocks, range_keys);
}

void
pbfidx_grow(Relation index, uint32 leaf)
{
	uint32 region = leaf / PBFIDX_COLUMNS;
	PbfidxArea area = pbfidx_area_over(pbfidx_cache(index), region);
	double range_keys = pbfidx_expected_range_keys(index, leaf);
	double column_keys = expected_column_keys(index, area, region % pbfidx_cache(index)->groups, range_keys);

	pbfidx_lock_growth(index);
	grow(index, leaf, range_keys, column_keys);
	pbfidx_unlock_growth(index);
}

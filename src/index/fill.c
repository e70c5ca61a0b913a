/*
 * fill.c: collecting the keys of many heap pages and making slabs of them.
 */
#include "postgres.h"

#include <math.h>

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/fill.h"
#include "index/slab.h"

/* ---- sets of keys ---- */

#define FIRST_SLOTS 1024

static void
set_slots(PbfidxKeySet *set, uint32 slots)
{
	set->slots = palloc0(slots * sizeof(uint32));
	set->mask = slots - 1;
	for (uint32 i = 0; i < set->n; i++)
	{
		uint32 slot = (uint32) set->keys[i] & set->mask;

		while (set->slots[slot] != 0)
			slot = (slot + 1) & set->mask;
		set->slots[slot] = i + 1;
	}
}

PbfidxKeySet *
pbfidx_new_keyset(void)
{
	PbfidxKeySet *set = palloc0(sizeof(PbfidxKeySet));

	set->room = FIRST_SLOTS / 2;
	set->keys = palloc(set->room * sizeof(uint64));
	set_slots(set, FIRST_SLOTS);
	return set;
}

void
pbfidx_clear_keyset(PbfidxKeySet *set)
{
	set->n = 0;
	memset(set->slots, 0, (set->mask + 1) * sizeof(uint32));
}

void
pbfidx_free_keyset(PbfidxKeySet *set)
{
	pfree(set->keys);
	pfree(set->slots);
	pfree(set);
}

static void
grow_keyset(PbfidxKeySet *set)
{
	uint32 slots = (set->mask + 1) * 2;

	pfree(set->slots);
	set->room *= 2;
	set->keys = repalloc_huge(set->keys, (Size) set->room * sizeof(uint64));
	set_slots(set, slots);
}

/* Keys are well mixed (keys.h): their low bits choose the slot. */
bool
pbfidx_add_key(PbfidxKeySet *set, uint64 key)
{
	uint32 slot;

	for (slot = (uint32) key & set->mask; set->slots[slot] != 0; slot = (slot + 1) & set->mask)
	{
		if (set->keys[set->slots[slot] - 1] == key)
			return false;
	}
	set->keys[set->n] = key;
	set->slots[slot] = ++set->n;
	if (set->n == set->room)
		grow_keyset(set);
	return true;
}

void
pbfidx_take_into_set(void *arg, OffsetNumber offset, const uint64 *keys, int n)
{
	PbfidxKeySet *set = arg;

	(void) offset;
	for (int i = 0; i < n && set->n < PBFIDX_RANGE_MAX_KEYS; i++)
		pbfidx_add_key(set, keys[i]);
}

/* ---- means ---- */

void
pbfidx_add_to_mean(PbfidxMean *m, double keys)
{
	if (keys <= 0)
		return;
	m->sum += pow(keys, m->power);
	m->n++;
}

double
pbfidx_mean(const PbfidxMean *m)
{
	return m->n > 0 ? pow(m->sum / m->n, 1.0 / m->power) : 0;
}

double
pbfidx_mean_range_keys(const PbfidxSlabKeys *s)
{
	/* The last range may be at the heap's end, and not full yet. */
	int full = s->ranges - 1;
	PbfidxMean m = pbfidx_no_mean(s->group);

	for (int range = 0; range < full; range++)
		pbfidx_add_to_mean(&m, s->count[range]);
	if (m.n > 0 || s->ranges == 0)
		return pbfidx_mean(&m);
	return s->reached == 1 ? Max(s->count[0], s->expected) : s->count[s->ranges - 1];
}

float4
pbfidx_built_fill(const PbfidxSlabKeys *s, const uint8 *matrices)
{
	int used;

	if (s->reached == 1 && s->count[0] < s->expected)
		return 0;
	return (float4) pbfidx_page_fill(matrices, (int) s->group->parts, &used);
}

double
pbfidx_full_slab_keys(const PbfidxSlabKeys *s)
{
	return s->reached > 0 && s->slab != NULL ? (double) s->slab->n * PBFIDX_COLUMNS / s->reached : 0;
}

/* ---- columns of an upper ---- */

#define SAMPLED 16

void
pbfidx_init_column_keys(PbfidxColumnKeys *c, uint32 width)
{
	*c = (PbfidxColumnKeys){.width = width, .sample = width > 1 ? pbfidx_new_keyset() : NULL};
}

void
pbfidx_add_slab_keys(PbfidxColumnKeys *c, const PbfidxSlabKeys *s)
{
	c->ranges += s->reached;
	c->one_slab = Max(c->one_slab, pbfidx_full_slab_keys(s));
	for (uint32 i = 0; i < s->slab->n && c->sample != NULL; i++)
	{
		/* By its high bits: the low ones choose the slot in the set. */
		if (s->slab->keys[i] >> 32 < UINT64CONST(0x100000000) / SAMPLED)
			pbfidx_add_key(c->sample, s->slab->keys[i]);
	}
}

double
pbfidx_take_column_keys(PbfidxColumnKeys *c)
{
	double keys = c->one_slab;

	if (c->sample != NULL && c->ranges > 0)
		keys = Max(keys, (double) c->sample->n * SAMPLED * c->width * PBFIDX_COLUMNS / c->ranges);
	if (c->sample != NULL)
		pbfidx_clear_keyset(c->sample);
	c->ranges = 0;
	c->one_slab = 0;
	return keys;
}

/* ---- matrices ---- */

uint8 *
pbfidx_new_matrices(uint32 blocks)
{
	/* A row of the last page is read a few bytes beyond its end. */
	return MemoryContextAllocExtended(CurrentMemoryContext,
	                                  (Size) blocks * PBFIDX_MATRIX_BYTES + sizeof(uint64),
	                                  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* From that many pages on, matrices do not stay in a core's first cache. */
#define SORTED_FROM_BLOCKS 8
#define COLUMN_WORDS (((PBFIDX_ROWS) + 63) / 64) /* of one column of a page */

/* Sets the rows of a column of one page. */
static void
set_column_rows(uint8 *matrix, int column, const uint64 *rows)
{
	uint8 bit = (uint8) (1 << (column % 8));

	for (int w = 0; w < COLUMN_WORDS; w++)
	{
		for (uint64 left = rows[w]; left != 0; left &= left - 1)
			matrix[(w * 64 + __builtin_ctzll(left)) * PBFIDX_ROW_BYTES + column / 8] |= bit;
	}
}

/* One column fits the cache where all of them do not: collected there, its bits are set in the order of
 * memory. */
static void
set_column_in_order(uint8 *matrices, uint32 blocks, int parts, int level, int column, const uint64 *keys,
                    Size n)
{
	uint64 *rows = palloc0((Size) blocks * COLUMN_WORDS * sizeof(uint64));

	for (Size i = 0; i < n; i++)
	{
		PbfidxPlace place;
		uint64 *page;

		pbfidx_locate(keys[i], level, blocks, parts, &place);
		page = rows + (Size) place.block * COLUMN_WORDS;
		for (int part = 0; part < parts; part++)
			page[place.rows[part] / 64] |= UINT64CONST(1) << (place.rows[part] % 64);
	}
	for (uint32 block = 0; block < blocks; block++)
		set_column_rows(matrices + (Size) block * PBFIDX_MATRIX_BYTES, column,
		                rows + (Size) block * COLUMN_WORDS);
	pfree(rows);
}

void
pbfidx_set_column_keys(uint8 *matrices, uint32 blocks, int parts, int level, int column, const uint64 *keys,
                       Size n)
{
	if (blocks >= SORTED_FROM_BLOCKS && n > blocks)
	{
		set_column_in_order(matrices, blocks, parts, level, column, keys, n);
		return;
	}
	for (Size i = 0; i < n; i++)
	{
		PbfidxPlace place;

		pbfidx_locate(keys[i], level, blocks, parts, &place);
		pbfidx_set(matrices + (Size) place.block * PBFIDX_MATRIX_BYTES, &place, parts, column);
	}
}

/* ---- the keys of a slab ---- */

/* No upper is made for so many distinct keys of a slab: they would have less than two bits each. */
#define SLAB_MAX_KEYS ((uint32) PBFIDX_UPPER_MAX_BLOCKS * PBFIDX_ROWS / 2)

PbfidxSlabKeys *
pbfidx_new_slab_keys(const PbfidxGroup *group, int wanted, Size memory)
{
	PbfidxSlabKeys *s = palloc0(sizeof(PbfidxSlabKeys));

	s->group = group;
	s->wanted = wanted;
	s->memory = memory;
	s->room = 8192;
	s->keys = palloc(s->room * sizeof(uint64));
	s->range = pbfidx_new_keyset();
	s->slab = (wanted & PBFIDX_WANT_SLAB) ? pbfidx_new_keyset() : NULL;
	return s;
}

static void
drop_matrices(PbfidxSlabKeys *s)
{
	if (s->matrices != NULL)
		pfree(s->matrices);
	s->matrices = NULL;
	s->blocks = 0;
}

void
pbfidx_free_slab_keys(PbfidxSlabKeys *s)
{
	drop_matrices(s);
	pbfidx_free_keyset(s->range);
	if (s->slab != NULL)
		pbfidx_free_keyset(s->slab);
	pfree(s->keys);
	pfree(s);
}

static void
set_range(PbfidxSlabKeys *s, int range, const uint64 *keys, Size n)
{
	pbfidx_set_column_keys(s->matrices, s->blocks, (int) s->group->parts, PBFIDX_LEAF, range, keys, n);
}

/* Matrices take over from the keys. */
static void
make_matrices(PbfidxSlabKeys *s, uint32 blocks)
{
	const uint64 *keys = s->keys;

	s->blocks = blocks;
	s->matrices = pbfidx_new_matrices(blocks);
	for (int range = 0; range < s->ranges && s->n > 0; range++)
	{
		set_range(s, range, keys, s->count[range]);
		keys += s->count[range];
	}
	s->n = 0;
}

const uint8 *
pbfidx_slab_matrices(PbfidxSlabKeys *s)
{
	if (s->matrices == NULL)
	{
		/* Whatever the width of its columns: an upper's share of the pages is the same. */
		PbfidxPlan plan =
		    pbfidx_plan(s->group, pbfidx_mean_range_keys(s), pbfidx_full_slab_keys(s), s->with_upper ? 1 : 0);

		make_matrices(s, plan.leaf_blocks);
	}
	return s->matrices;
}

static void
append_keys(PbfidxSlabKeys *s, const uint64 *keys, Size n)
{
	while (s->n + n > s->room)
	{
		s->room *= 2;
		s->keys = repalloc_huge(s->keys, s->room * sizeof(uint64));
	}
	memcpy(s->keys + s->n, keys, n * sizeof(uint64));
	s->n += n;
}

static void
add_to_slab(PbfidxSlabKeys *s, const PbfidxKeySet *range)
{
	for (uint32 i = 0; i < range->n && !s->too_many; i++)
	{
		pbfidx_add_key(s->slab, range->keys[i]);
		s->too_many = s->slab->n > SLAB_MAX_KEYS;
	}
}

/* Takes over what was collected of a range, all of it or a part. */
static void
flush_range(PbfidxSlabKeys *s, int range)
{
	const PbfidxKeySet *set = s->range;

	if (set->n == 0)
		return;
	s->ranges = range + 1;
	s->count[range] += set->n;
	if (s->wanted & PBFIDX_WANT_SLAB)
		add_to_slab(s, set);
	if (s->wanted & PBFIDX_WANT_LEAF)
	{
		if (s->matrices != NULL)
			set_range(s, range, set->keys, set->n);
		else
		{
			append_keys(s, set->keys, set->n);
			if (s->n * sizeof(uint64) > s->memory)
				pbfidx_slab_matrices(s);
		}
	}
	pbfidx_clear_keyset(s->range);
}

/* Keys on their way from the heap scan into a range. */
typedef struct RangeTaker
{
	PbfidxSlabKeys *s;
	int range;
} RangeTaker;

static void
take_into_range(void *arg, OffsetNumber offset, const uint64 *keys, int n)
{
	RangeTaker *taker = arg;

	(void) offset;
	for (int i = 0; i < n; i++)
	{
		pbfidx_add_key(taker->s->range, keys[i]);
		if (taker->s->range->n >= PBFIDX_RANGE_MAX_KEYS)
			flush_range(taker->s, taker->range);
	}
}

static void
clear_slab_keys(PbfidxSlabKeys *s, uint32 blocks)
{
	s->n = 0;
	s->ranges = s->reached = 0;
	s->too_many = false;
	memset(s->count, 0, sizeof(s->count));
	pbfidx_clear_keyset(s->range);
	if (s->slab != NULL)
		pbfidx_clear_keyset(s->slab);
	drop_matrices(s);
	if (blocks > 0)
		make_matrices(s, blocks);
}

void
pbfidx_begin_slabs(PbfidxHeapScan *scan, uint64 first_range, uint32 slabs, uint32 pages_per_range,
                   BlockNumber heap_blocks)
{
	uint64 first = first_range * pages_per_range;
	uint64 end = first + (uint64) slabs * PBFIDX_COLUMNS * pages_per_range;

	pbfidx_begin_blocks(scan, (BlockNumber) Min(first, heap_blocks), (BlockNumber) Min(end, heap_blocks));
}

bool
pbfidx_collect_slab(PbfidxSlabKeys *s, PbfidxHeapScan *scan, uint64 first_range, uint32 pages_per_range,
                    BlockNumber heap_blocks, uint32 blocks, bool delay)
{
	uint64 block = first_range * pages_per_range;
	uint64 end = Min(block + (uint64) PBFIDX_COLUMNS * pages_per_range, heap_blocks);
	bool possible = true;

	clear_slab_keys(s, blocks);
	for (int range = 0; range < PBFIDX_COLUMNS && possible; range++)
	{
		RangeTaker taker = {s, range};

		s->reached += block < end;
		for (uint32 page = 0; page < pages_per_range && block < end && possible; page++, block++)
		{
			CHECK_FOR_INTERRUPTS();
			if (delay)
				pbf_vacuum_delay_point();
			possible = pbfidx_scan_block(scan, (BlockNumber) block, take_into_range, &taker);
		}
		flush_range(s, range);
	}
	return possible;
}

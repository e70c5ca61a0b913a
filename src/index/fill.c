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

/* ---- the keys of a slab ---- */

PbfidxSlabKeys *
pbfidx_new_slab_keys(bool want_slab)
{
	PbfidxSlabKeys *s = palloc0(sizeof(PbfidxSlabKeys));

	s->room = 8192;
	s->keys = palloc(s->room * sizeof(uint64));
	s->range = pbfidx_new_keyset();
	s->slab = want_slab ? pbfidx_new_keyset() : NULL;
	return s;
}

void
pbfidx_free_slab_keys(PbfidxSlabKeys *s)
{
	pbfidx_free_keyset(s->range);
	if (s->slab != NULL)
		pbfidx_free_keyset(s->slab);
	pfree(s->keys);
	pfree(s);
}

static void
append_range(PbfidxSlabKeys *s)
{
	uint32 n = s->range->n;

	while (s->n + n > s->room)
	{
		s->room *= 2;
		s->keys = repalloc_huge(s->keys, (Size) s->room * sizeof(uint64));
	}
	memcpy(s->keys + s->n, s->range->keys, n * sizeof(uint64));
	s->n += n;
	for (uint32 i = 0; i < n && s->slab != NULL; i++)
		pbfidx_add_key(s->slab, s->range->keys[i]);
}

bool
pbfidx_collect_slab(PbfidxSlabKeys *s, PbfidxHeapScan *scan, uint32 leaf, uint32 pages_per_range,
                    BlockNumber heap_blocks, bool delay)
{
	uint64 block = (uint64) leaf * PBFIDX_COLUMNS * pages_per_range;

	s->n = 0;
	s->ranges = 0;
	if (s->slab != NULL)
		pbfidx_clear_keyset(s->slab);
	for (int range = 0; range < PBFIDX_COLUMNS; range++)
	{
		pbfidx_clear_keyset(s->range);
		for (uint32 page = 0; page < pages_per_range && block < heap_blocks; page++, block++)
		{
			CHECK_FOR_INTERRUPTS();
			if (delay)
				pbf_vacuum_delay_point();
			if (!pbfidx_scan_block(scan, (BlockNumber) block))
				return false;
			for (int i = 0; i < scan->n; i++)
				pbfidx_add_key(s->range, scan->keys[i]);
		}
		append_range(s);
		s->end[range] = s->n;
		if (s->range->n > 0)
			s->ranges = range + 1;
	}
	return true;
}

void
pbfidx_add_to_mean(PbfidxMean *m, double keys)
{
	if (keys <= 0)
		return;
	m->sum += pow(keys, PBFIDX_MEAN_POWER);
	m->n++;
}

double
pbfidx_mean(const PbfidxMean *m)
{
	return m->n > 0 ? pow(m->sum / m->n, 1.0 / PBFIDX_MEAN_POWER) : 0;
}

double
pbfidx_mean_range_keys(const PbfidxSlabKeys *s)
{
	/* The last range may be at the heap's end, and not full yet. */
	int full = s->ranges > 1 ? s->ranges - 1 : s->ranges;
	PbfidxMean m = {0, 0};

	for (int range = 0; range < full; range++)
		pbfidx_add_to_mean(&m, s->end[range] - (range > 0 ? s->end[range - 1] : 0));
	return pbfidx_mean(&m);
}

double
pbfidx_full_slab_keys(const PbfidxSlabKeys *s)
{
	return s->ranges > 0 && s->slab != NULL ? (double) s->slab->n * PBFIDX_COLUMNS / s->ranges : 0;
}

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
set_column_in_order(uint8 *matrices, uint32 blocks, int level, int column, const uint64 *keys, uint32 n)
{
	uint64 *rows = palloc0((Size) blocks * COLUMN_WORDS * sizeof(uint64));

	for (uint32 i = 0; i < n; i++)
	{
		PbfidxPlace place;
		uint64 *page;

		pbfidx_locate(keys[i], level, blocks, PBFIDX_SCALAR_PARTS, &place);
		page = rows + (Size) place.block * COLUMN_WORDS;
		for (int part = 0; part < PBFIDX_SCALAR_PARTS; part++)
			page[place.rows[part] / 64] |= UINT64CONST(1) << (place.rows[part] % 64);
	}
	for (uint32 block = 0; block < blocks; block++)
		set_column_rows(matrices + (Size) block * PBFIDX_MATRIX_BYTES, column,
		                rows + (Size) block * COLUMN_WORDS);
	pfree(rows);
}

void
pbfidx_set_column_keys(uint8 *matrices, uint32 blocks, int level, int column, const uint64 *keys, uint32 n)
{
	if (blocks >= SORTED_FROM_BLOCKS && n > blocks)
	{
		set_column_in_order(matrices, blocks, level, column, keys, n);
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		PbfidxPlace place;

		pbfidx_locate(keys[i], level, blocks, PBFIDX_SCALAR_PARTS, &place);
		pbfidx_set(matrices + (Size) place.block * PBFIDX_MATRIX_BYTES, &place, PBFIDX_SCALAR_PARTS, column);
	}
}

void
pbfidx_set_leaf_keys(uint8 *matrices, uint32 blocks, const PbfidxSlabKeys *s)
{
	for (int range = 0; range < s->ranges; range++)
	{
		uint32 first = range > 0 ? s->end[range - 1] : 0;

		pbfidx_set_column_keys(matrices, blocks, PBFIDX_LEAF, range, s->keys + first, s->end[range] - first);
	}
}

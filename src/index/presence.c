/*
 * presence.c: whether the keys of heap pages are in the index, a range at a time.
 *
 * The rows of a range share many keys, and all of them are tested in the order of the pages they are on. Row
 * by row it takes several times as long.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "index/insert.h"
#include "index/presence.h"

#define KEYS_AT_A_TIME 4096 /* tested together */

void
pbfidx_begin_presence(PbfidxPresence *p, Relation heap, Relation index)
{
	bool row_key = (pbfidx_cache(index)->flags & PBFIDX_ROW_KEY) != 0;

	memset(p, 0, sizeof(*p));
	p->index = index;
	p->pages_per_range = pbfidx_cache(index)->pages_per_range;
	p->heap_blocks = RelationGetNumberOfBlocks(heap);
	p->scan = pbfidx_begin_heapscan(heap, index, BuildIndexInfo(index), row_key, PBFIDX_CHECK);
	p->keys = pbfidx_new_keyset();
}

void
pbfidx_end_presence(PbfidxPresence *p)
{
	pbfidx_free_keyset(p->keys);
	pbfidx_end_heapscan(p->scan);
}

static void
test_keys(PbfidxPresence *p)
{
	p->present = p->present &&
	             pbfidx_are_keys_set(p->index, p->scan->group, p->block, p->keys->keys, (int) p->keys->n);
	pbfidx_clear_keyset(p->keys);
}

static void
take_keys(void *arg, OffsetNumber offset, const uint64 *keys, int n)
{
	PbfidxPresence *p = arg;

	(void) offset;
	for (int i = 0; i < n; i++)
	{
		pbfidx_add_key(p->keys, keys[i]);
		if (p->keys->n >= KEYS_AT_A_TIME)
			test_keys(p);
	}
}

bool
pbfidx_is_range_present(PbfidxPresence *p, int group, BlockNumber first_block)
{
	uint64 end = Min((uint64) first_block + p->pages_per_range, p->heap_blocks);

	p->scan->group = group;
	p->present = true;
	p->n = 0;
	for (uint64 block = first_block; block < end; block++)
	{
		CHECK_FOR_INTERRUPTS();
		p->block = (BlockNumber) block;
		(void) pbfidx_scan_block(p->scan, p->block, take_keys, p);
		if (p->tids != NULL)
			p->n += pbfidx_scanned_roots(p->scan, p->block, p->tids + p->n);
	}
	test_keys(p);
	return p->present;
}

int64
pbfidx_report_present(Relation heap, Relation index, IndexBulkDeleteCallback callback, void *state)
{
	PbfidxPresence p;
	Size room = (Size) pbfidx_cache(index)->pages_per_range * MaxHeapTuplesPerPage * sizeof(ItemPointerData);
	int64 reported = 0;

	if (room > (Size) maintenance_work_mem * 1024)
		return 0;
	pbfidx_begin_presence(&p, heap, index);
	p.tids = palloc(room);
	for (uint64 block = 0; block < p.heap_blocks; block += p.pages_per_range)
	{
		bool present = true;

		for (int group = 0; group < p.scan->groups && present; group++)
			present = pbfidx_is_range_present(&p, group, (BlockNumber) block);
		for (int i = 0; i < p.n && present; i++)
			(void) callback(&p.tids[i], state);
		reported += present ? p.n : 0;
	}
	pfree(p.tids);
	pbfidx_end_presence(&p);
	return reported;
}

/*
 * probe.c: keys looked for in pages of slabs, many at a time.
 *
 * 1. What the CPU will need of pages that are where they were is fetched into its caches: for that no pin is
 * needed.
 * 2. These pages are looked at, one after the other.
 * 3. The others are asked for, all of them before the first is waited for, pinned, and looked at.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "index/probe.h"

/* Pages whose memory is fetched before they are looked at: with more of them, the CPU waits for the fetching.
 */
#define AHEAD 4

/* Buffers of temporary tables are few, and a server may have as few as 16 for all. */
#define LOCAL_PROBES 8
#define SHARED_PROBES Min(PBFIDX_PROBES, NBuffers / 4)

void
pbfidx_init_probes(PbfidxProbes *probes, IndexScanDesc scan, int group)
{
	Relation index = scan->indexRelation;

	probes->scan = scan;
	probes->n = 0;
	probes->room = RelationUsesLocalBuffers(index) ? LOCAL_PROBES : SHARED_PROBES;
	probes->parts = (int) pbfidx_cache(index)->group[group].parts;
}

static BlockNumber
block_of(const PbfidxProbe *p)
{
	return p->extent.start + p->place.block;
}

static void
prefetch_memory(const PbfidxProbe *p, Buffer buffer, int parts)
{
	if (!BufferIsLocal(buffer))
		pbfidx_prefetch_buffer(buffer);
	pbfidx_prefetch(pbfidx_matrix(BufferGetPage(buffer)), &p->place, parts);
}

/* The same for a page that may still be where it was. */
static void
prefetch_recent(const PbfidxProbes *probes, PbfidxRecent *recent, int i)
{
	Buffer buffer = *pbfidx_recent(recent, block_of(&probes->list[i]));

	if (BufferIsValid(buffer))
		prefetch_memory(&probes->list[i], buffer, probes->parts);
}

/* Looks at the pinned page, and lets it go. */
static void
look(const PbfidxProbes *probes, PbfidxProbe *p)
{
	Page page = BufferGetPage(p->buffer);
	PbfidxMask mask;

	LockBuffer(p->buffer, BUFFER_LOCK_SHARE);
	pbf_test_for_old_snapshot(probes->scan->xs_snapshot, probes->scan->indexRelation, page);
	if (pbfidx_is_slab_page(page, p->id, p->extent, p->place.block))
	{
		pbfidx_probe(pbfidx_matrix(page), &p->place, probes->parts, &mask);
		pbfidx_mask_or(p->mask, &mask);
	}
	else
		*p->valid = false;
	UnlockReleaseBuffer(p->buffer);
}

/* Looks at pages that are where they were; those that are not are moved to the front. */
static void
look_at_recent(PbfidxProbes *probes)
{
	Relation index = probes->scan->indexRelation;
	PbfidxRecent *recent = pbfidx_cached_buffers(index);
	int left = 0;

	for (int i = 0; i < probes->n && i < AHEAD; i++)
		prefetch_recent(probes, recent, i);
	for (int i = 0; i < probes->n; i++)
	{
		PbfidxProbe *p = &probes->list[i];

		if (i + AHEAD < probes->n)
			prefetch_recent(probes, recent, i + AHEAD);
		p->buffer = pbfidx_try_recent(index, recent, block_of(p));
		if (BufferIsValid(p->buffer))
			look(probes, p);
		else
			probes->list[left++] = *p;
	}
	probes->n = left;
}

static void
look_at_all(PbfidxProbes *probes)
{
	Relation index = probes->scan->indexRelation;
	PbfidxRecent *recent = pbfidx_cached_buffers(index);

	for (int i = 0; i < probes->n && probes->n > 1 && effective_io_concurrency > 0; i++)
		PrefetchBuffer(index, MAIN_FORKNUM, block_of(&probes->list[i]));
	for (int i = 0; i < probes->n; i++)
	{
		PbfidxProbe *p = &probes->list[i];

		p->buffer = pbfidx_read_and_note(index, recent, block_of(p));
		prefetch_memory(p, p->buffer, probes->parts);
	}
	for (int i = 0; i < probes->n; i++)
		look(probes, &probes->list[i]);
}

void
pbfidx_flush_probes(PbfidxProbes *probes)
{
	CHECK_FOR_INTERRUPTS();
	look_at_recent(probes);
	look_at_all(probes);
	probes->n = 0;
}

void
pbfidx_add_probe(PbfidxProbes *probes, PbfidxSlabId id, PbfidxExtent extent, uint64 key, PbfidxMask *mask)
{
	PbfidxProbe *p = &probes->list[probes->n++];

	p->id = id;
	p->extent = extent;
	p->mask = mask;
	p->valid = probes->valid;
	pbfidx_locate(key, id.level, extent.blocks, probes->parts, &p->place);
	__builtin_prefetch(pbfidx_recent(pbfidx_cached_buffers(probes->scan->indexRelation), block_of(p)));
	if (probes->n == probes->room)
		pbfidx_flush_probes(probes);
}

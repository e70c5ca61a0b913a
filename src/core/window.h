/*
 * window.h: the window of an aggregate's state: hashes whose cache lines are on their way.
 *
 * A row at a time, an aggregate over a filter larger than the caches waits for memory in every row. So the
 * state holds back the last hashes: a line is prefetched when its hash comes, and used when the window is
 * full. The window follows the filter's words in memory: a count, then the hashes. It is never stored.
 */
#ifndef PBF_CORE_WINDOW_H
#define PBF_CORE_WINDOW_H

#include "filter.h"
#include "format.h"
#include "position.h"

#define PBF_WINDOW_BYTES ((1 + PBF_PREFETCH_WINDOW) * sizeof(uint64_t))
#define PBF_WINDOW_WORTH (512 * 1024) /* bytes of a filter from which on waiting costs more than the window \
	                                   */

/* The window of a state of `bytes` bytes. */
static inline uint64_t *
pbf_window(const PbfFilter *f, uint64_t bytes)
{
	return (uint64_t *) ((char *) f + bytes - PBF_WINDOW_BYTES);
}

/* Adds what is held back. */
static inline void
pbf_window_flush(PbfFilter *f, uint64_t bytes)
{
	PbfGeometry g = pbf_geometry_of(f);
	uint64_t *window = pbf_window(f, bytes);

	pbf_filter_add_many(&g, f->words, window + 1, window[0]);
	window[0] = 0;
}

static inline void
pbf_window_add(PbfFilter *f, uint64_t bytes, uint64_t h)
{
	uint64_t *window = pbf_window(f, bytes);

	if (f->flags & PBF_FLAG_BLOCKED)
	{
		const uint64_t *block = f->words + (uint64_t) pbf_block_of(h, f->blocks) * f->parts;

		__builtin_prefetch(block, 1);
		__builtin_prefetch(block + f->parts - 1, 1); /* a block may lie across two lines */
	}
	window[++window[0]] = h;
	if (window[0] == PBF_PREFETCH_WINDOW)
		pbf_window_flush(f, bytes);
}

#endif

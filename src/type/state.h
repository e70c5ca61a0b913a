/*
 * state.h: the state of an aggregate over a filter of some size, as an expanded object.
 *
 * The server keeps such an object where it is from row to row and asks for its flat form, an ordinary pbf,
 * when the state has to travel. So its memory is ours to lay out: words on a cache line, huge pages, and a
 * window of hashes that are added together. Small filters and sets of hashes are plain datums, changed in
 * place.
 */
#ifndef PBF_TYPE_STATE_H
#define PBF_TYPE_STATE_H

#include "utils/expandeddatum.h"

#include "type/type.h"

#pragma GCC visibility push(protected)

/* Hashes added together: row by row every add would wait for memory; 32 cost 15 % more a key, over 256 gain
 * nothing. A large filter holds back twice as many: while one window comes in, the blocks of the one before
 * are fetched. */
#define PBF_WINDOW_KEYS 256
/* Bytes of a filter from which on an object and its memory context are small beside it. */
#define PBF_EXPANDED_WORTH (16 * 1024)
/* A hash aggregate adds up the memory of all contexts for each new group. So beyond so many groups only
 * larger filters have one. */
#define PBF_EXPANDED_GROUPS 256
#define PBF_EXPANDED_WORTH_MANY (256 * 1024)
/* Bytes of a blocked filter from which on its blocks are fetched ahead: it would not stay in a core's own
 * cache. */
#define PBF_PREFETCH_WORTH (512 * 1024)

typedef struct PbfState
{
	ExpandedObjectHeader header;
	PbfFilter *filter;
	uint32 prefetch_blocks; /* blocks to fetch ahead from; 0: the filter stays in cache, or is plain */
	int n;                  /* hashes held back */
	int most;               /* that can be */
	uint64 hashes[FLEXIBLE_ARRAY_MEMBER];
} PbfState;

/* An empty state; its memory context is a child of parent. */
extern PbfState *pbf_new_state(const PbfGeometry *g, PbfKind kind, MemoryContext parent);
/* Adds what is held back. */
extern void pbf_flush_state(PbfState *state);
/* Makes room for more hashes: adds a window of them, and has the blocks of the next fetched. */
extern void pbf_advance_state(PbfState *state);

/* The state behind a datum, NULL if it is a flat one. */
static inline PbfState *
pbf_datum_state(Datum d)
{
	varatt_expanded pointer;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(d)))
		return NULL;
	/* DatumGetEOHP, which is no inline function and would be called for every row */
	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(d)), sizeof(pointer));
	return (PbfState *) pointer.eohptr;
}

/* Blocks are fetched a window at a time: a fetch for each row, between other work, waits for its address
 * translation by itself, which cost a tenth of an aggregate over 12 MB. */
static inline void
pbf_add_to_state(PbfState *state, uint64 h)
{
	state->hashes[state->n++] = h;
	if (unlikely(state->n == state->most))
		pbf_advance_state(state);
}

#pragma GCC visibility pop

#endif

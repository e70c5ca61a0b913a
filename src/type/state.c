/*
 * state.c: the state of an aggregate as an expanded object.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "core/position.h"
#include "type/state.h"

#define CACHE_LINE 64

static Size
flat_size(ExpandedObjectHeader *header)
{
	return VARSIZE(((PbfState *) header)->filter);
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	PbfState *state = (PbfState *) header;

	pbf_flush_state(state);
	memcpy(result, state->filter, size);
}

static const ExpandedObjectMethods state_methods = {flat_size, flatten_into};

/*
 * Memory for `bytes`, its first word after the header on a cache line. Huge pages take a quarter off an
 * aggregate over a filter of 12 MB; so a filter that fills some gets whole ones, up to its last byte.
 */
static void *
allocate_words(MemoryContext mcxt, Size bytes)
{
	Size line = bytes + CACHE_LINE;
	char *memory;

	if (bytes >= PBF_HUGE_PAGE)
	{
		Size whole = TYPEALIGN(PBF_HUGE_PAGE, line);

		memory = MemoryContextAllocHuge(mcxt, whole + PBF_HUGE_PAGE);
		memory = (char *) TYPEALIGN(PBF_HUGE_PAGE, memory);
		pbf_advise_huge_pages(memory, whole);
	}
	else
		memory = MemoryContextAlloc(mcxt, line);
	return memory + -(uintptr_t) (memory + PBF_HEADER_BYTES) % CACHE_LINE;
}

PbfState *
pbf_new_state(const PbfGeometry *g, PbfKind kind, MemoryContext parent)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "pbf aggregate", ALLOCSET_START_SMALL_SIZES);
	uint64 bytes = pbf_stored_bytes(g);
	bool prefetch = g->layout == PBF_BLOCKED && bytes >= PBF_PREFETCH_WORTH;
	int most = prefetch ? 2 * PBF_WINDOW_KEYS : PBF_WINDOW_KEYS;
	PbfState *state = MemoryContextAlloc(mcxt, offsetof(PbfState, hashes) + most * sizeof(uint64));

	EOH_init_header(&state->header, &state_methods, mcxt);
	state->filter = allocate_words(mcxt, bytes);
	state->prefetch_blocks = prefetch ? g->blocks : 0;
	state->n = 0;
	state->most = most;
	memset(state->filter, 0, bytes);
	SET_VARSIZE(state->filter, bytes);
	pbf_header_init(state->filter, g, kind);
	return state;
}

static void
add_first(PbfState *state, int n)
{
	PbfGeometry g = pbf_geometry_of(state->filter);

	pbf_filter_add_many(&g, state->filter->words, state->hashes, n);
	state->n -= n;
	memmove(state->hashes, state->hashes + n, state->n * sizeof(uint64));
}

void
pbf_flush_state(PbfState *state)
{
	add_first(state, state->n);
}

void
pbf_advance_state(PbfState *state)
{
	const PbfFilter *f = state->filter;

	for (int i = PBF_WINDOW_KEYS; i < state->n; i++)
		__builtin_prefetch(f->words +
		                   (uint64) pbf_block_of(state->hashes[i], state->prefetch_blocks) * f->parts);
	add_first(state, PBF_WINDOW_KEYS);
}

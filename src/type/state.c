/*
 * state.c: the state of an aggregate as an expanded object.
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "utils/memutils.h"

#include "type/state.h"

#define CACHE_LINE 64
#define HUGE_PAGE ((uintptr_t) 2 * 1024 * 1024)

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
 * Adds go to random places: with pages of 4 KB most of them miss the TLB. Asking for huge pages before the
 * memory is touched takes a quarter off an aggregate over a filter of 12 MB. Only advice: it may be refused.
 */
static void
advise_huge_pages(char *memory, Size bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
	uintptr_t first = ((uintptr_t) memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t end = ((uintptr_t) memory + bytes) & ~(HUGE_PAGE - 1);

	if (first < end)
		(void) madvise((void *) first, end - first, MADV_HUGEPAGE);
#else
	(void) memory;
	(void) bytes;
#endif
}

PbfState *
pbf_new_state(const PbfGeometry *g, PbfKind kind, MemoryContext parent)
{
	MemoryContext mcxt = AllocSetContextCreate(parent, "pbf aggregate", ALLOCSET_START_SMALL_SIZES);
	PbfState *state = MemoryContextAlloc(mcxt, sizeof(PbfState));
	uint64 bytes = pbf_stored_bytes(g);
	char *memory = MemoryContextAlloc(mcxt, bytes + CACHE_LINE);

	advise_huge_pages(memory, bytes + CACHE_LINE);
	EOH_init_header(&state->header, &state_methods, mcxt);
	/* The words, not the header before them, begin a line. */
	memory += -(uintptr_t) (memory + PBF_HEADER_BYTES) % CACHE_LINE;
	state->filter = (PbfFilter *) memory;
	state->n = 0;
	memset(memory, 0, bytes);
	SET_VARSIZE(state->filter, bytes);
	pbf_header_init(state->filter, g, kind);
	return state;
}

void
pbf_flush_state(PbfState *state)
{
	PbfGeometry g = pbf_geometry_of(state->filter);

	pbf_filter_add_many(&g, state->filter->words, state->hashes, state->n);
	state->n = 0;
}

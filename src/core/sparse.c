/*
 * sparse.c: the set of hashes of an unfinished aggregate.
 */
#include <string.h>

#include "sparse.h"
#include "position.h"

uint64_t pbf_sparse_secret = 0;

#define HAS_ZERO UINT64_C(1) /* in word 0 */

/* Slots are read out of order (odd: each once). In order, into another set of that secret, hashes would all
 * go to the same end of it, and each would look for room behind those that came before. */
#define STRIDE UINT64_C(0x9E3779B97F4A7C15)

/* Slots of a datum of that size; word 0 is not one. */
static inline uint64_t
slots_of(uint64_t bytes)
{
	return (bytes - PBF_HEADER_BYTES) / sizeof(uint64_t) - 1;
}

uint64_t
pbf_sparse_bytes(uint64_t count)
{
	uint64_t slots = PBF_SPARSE_MIN_SLOTS;

	while ((count + 1) * 3 > slots * 2)
		slots *= 2;
	return PBF_HEADER_BYTES + (slots + 1) * sizeof(uint64_t);
}

void
pbf_sparse_init(PbfFilter *f, uint64_t bytes, PbfKind kind, double target)
{
	PbfGeometry none = {PBF_PLAIN, 0, 0, 0};

	memset(f->words, 0, bytes - PBF_HEADER_BYTES);
	pbf_header_init(f, &none, kind);
	f->flags = PBF_FLAG_SPARSE;
	f->words[0] = pbf_sparse_secret & ~HAS_ZERO;
	f->target = target;
}

bool
pbf_sparse_has_room(const PbfFilter *f, uint64_t bytes)
{
	return ((uint64_t) f->blocks + 1) * 3 <= slots_of(bytes) * 2;
}

bool
pbf_sparse_add(PbfFilter *f, uint64_t bytes, uint64_t h)
{
	uint64_t mask = slots_of(bytes) - 1;
	uint64_t *slots = f->words + 1;
	uint64_t i;

	if (h == 0)
	{
		if (f->words[0] & HAS_ZERO)
			return false;
		f->words[0] |= HAS_ZERO;
		f->blocks++;
		return true;
	}
	for (i = pbf_mix(h ^ (f->words[0] & ~HAS_ZERO)) & mask; slots[i] != 0; i = (i + 1) & mask)
	{
		if (slots[i] == h)
			return false;
	}
	slots[i] = h;
	f->blocks++;
	return true;
}

bool
pbf_sparse_valid(const PbfFilter *f, uint64_t bytes)
{
	uint64_t n = (f->words[0] & HAS_ZERO) != 0;

	for (uint64_t i = 1; i <= slots_of(bytes); i++)
		n += f->words[i] != 0;
	return n == f->blocks;
}

void
pbf_sparse_hashes(const PbfFilter *f, uint64_t bytes, void *out)
{
	uint64_t slots = slots_of(bytes);
	uint64_t n = 0;
	uint8_t *p = out;

	if ((f->words[0] & HAS_ZERO) && f->blocks > 0)
		memset(p + n++, 0, sizeof(uint64_t));
	for (uint64_t i = 0; i < slots && n < f->blocks; i++)
	{
		const uint64_t *slot = &f->words[1 + (i * STRIDE & (slots - 1))];

		if (*slot != 0)
			memcpy(p + n++ * sizeof(uint64_t), slot, sizeof(uint64_t));
	}
}

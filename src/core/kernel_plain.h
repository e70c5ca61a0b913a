/*
 * kernel_plain.h: the plain functions of one kernel, from one function of the instruction set.
 *
 * A template, like kernel_blocked.h. The includer defines PBF_TARGET and
 *
 *   PBF_PLAIN(f)   the name of function f: contains, contains_many, add_many. They are not static: other
 *                  kernels may take them over.
 *   plain_locate   void (const PbfPlain *p, uint64_t h, uint32_t first, uint32_t n, uint64_t *bit)
 *                  bit[i] = number of the bit of part first + i, counted from the start of the words; i < n.
 * May write as many more entries as make n a multiple of PBF_PLAIN_FIRST.
 *
 * Batches keep many lines in flight: use a key's bits, then locate and prefetch those of the key that comes
 * `ahead` keys later into the same place of a ring. A batch probe does so twice: all keys are screened by
 * their first parts, the survivors by the others; asking for all lines of a key that fails in its first parts
 * would waste most of the memory's time.
 */
#include "kernel_impl.h"

/* bit[] of the n parts from `first` on of hash h, and their lines asked for. */
PBF_INLINE PBF_TARGET void
plain_fetch(const uint64_t *words, const PbfPlain *p, uint64_t h, uint32_t first, uint32_t n, uint64_t *bit)
{
	plain_locate(p, h, first, n, bit);
	pbf_plain_prefetch(words, bit, n);
}

PBF_TARGET bool
PBF_PLAIN(contains)(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);
	uint64_t bit[PBF_PLAIN_FIRST];
	uint32_t first = 0;

	for (; first + PBF_PLAIN_FIRST <= parts; first += PBF_PLAIN_FIRST)
	{
		plain_locate(&p, h, first, PBF_PLAIN_FIRST, bit);
		if (!pbf_plain_test_bits(words, bit, PBF_PLAIN_FIRST))
			return false;
	}
	plain_locate(&p, h, first, parts - first, bit);
	return pbf_plain_test_bits(words, bit, parts - first);
}

/* Writes the numbers of the keys of h[0 .. n - 1] that have the bits of the first `test` parts; returns how
 * many. */
PBF_INLINE PBF_TARGET size_t
plain_screen(const uint64_t *words, const PbfPlain *p, uint32_t test, const uint64_t *h, size_t n,
             uint32_t *passed)
{
	uint64_t ring[PBF_PREFETCH_WINDOW][PBF_PLAIN_FIRST];
	size_t count = 0;

	for (size_t i = 0; i < n && i < PBF_PREFETCH_WINDOW; i++)
		plain_fetch(words, p, h[i], 0, test, ring[i]);
	for (size_t i = 0; i < n; i++)
	{
		uint64_t *bit = ring[i % PBF_PREFETCH_WINDOW];

		passed[count] = (uint32_t) i;
		count += pbf_plain_test_bits(words, bit, test);
		if (i + PBF_PREFETCH_WINDOW < n)
			plain_fetch(words, p, h[i + PBF_PREFETCH_WINDOW], 0, test, bit);
	}
	return count;
}

/* hit[] of the n keys with numbers key[], tested in the parts from PBF_PLAIN_FIRST on. */
PBF_INLINE PBF_TARGET void
plain_confirm(const uint64_t *words, const PbfPlain *p, const uint64_t *h, const uint32_t *key, size_t n,
              uint8_t *hit)
{
	uint32_t parts = p->parts - PBF_PLAIN_FIRST;
	size_t ahead = pbf_plain_ahead(parts, n);
	uint64_t ring[PBF_PLAIN_RING];
	size_t slot = pbf_plain_slot(parts);
	uint64_t *bit = ring;

	for (size_t i = 0; i < ahead; i++)
		plain_fetch(words, p, h[key[i]], PBF_PLAIN_FIRST, parts, ring + i * slot);
	for (size_t i = 0; i < n; i++)
	{
		hit[key[i]] = pbf_plain_test_bits(words, bit, parts);
		if (i + ahead < n)
			plain_fetch(words, p, h[key[i + ahead]], PBF_PLAIN_FIRST, parts, bit);
		bit = bit + slot == ring + ahead * slot ? ring : bit + slot;
	}
}

/* One chunk: n <= PBF_PLAIN_CHUNK. */
PBF_INLINE PBF_TARGET void
plain_contains_chunk(const uint64_t *words, const PbfPlain *p, const uint64_t *h, size_t n, uint8_t *hit)
{
	uint32_t passed[PBF_PLAIN_CHUNK];
	size_t count;

	memset(hit, 0, n);
	if (p->parts > PBF_PLAIN_FIRST)
	{
		count = plain_screen(words, p, PBF_PLAIN_FIRST, h, n, passed);
		plain_confirm(words, p, h, passed, count, hit);
		return;
	}
	count = plain_screen(words, p, p->parts, h, n, passed);
	for (size_t i = 0; i < count; i++)
		hit[passed[i]] = 1;
}

PBF_TARGET void
PBF_PLAIN(contains_many)(const uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h,
                         size_t n, uint8_t *hit)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);

	for (; n > PBF_PLAIN_CHUNK; n -= PBF_PLAIN_CHUNK, h += PBF_PLAIN_CHUNK, hit += PBF_PLAIN_CHUNK)
		plain_contains_chunk(words, &p, h, PBF_PLAIN_CHUNK, hit);
	plain_contains_chunk(words, &p, h, n, hit);
}

PBF_TARGET void
PBF_PLAIN(add_many)(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h, size_t n)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);
	size_t ahead = pbf_plain_ahead(parts, n);
	uint64_t ring[PBF_PLAIN_RING];
	size_t slot = pbf_plain_slot(parts);
	uint64_t *bit = ring;

	for (size_t i = 0; i < ahead; i++)
		plain_fetch(words, &p, h[i], 0, parts, ring + i * slot);
	for (size_t i = 0; i < n; i++)
	{
		pbf_plain_set_bits(words, bit, parts);
		if (i + ahead < n)
			plain_fetch(words, &p, h[i + ahead], 0, parts, bit);
		bit = bit + slot == ring + ahead * slot ? ring : bit + slot;
	}
}

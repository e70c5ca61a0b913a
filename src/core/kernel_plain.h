/*
 * kernel_plain.h: the plain functions of one kernel, from two functions of the instruction set.
 *
 * A template, like kernel_blocked.h. The includer defines PBF_TARGET and
 *
 *   plain_test     bool (const uint64_t *words, const PbfPlain *p, uint64_t h)
 *                  whether the bits of all parts are set; may stop at the first that is not
 *   plain_locate   void (const PbfPlain *p, uint64_t h, uint64_t *bit)
 *                  bit[i] = number of the bit of part i, counted from the start of the words, for each part
 *
 * Batches on filters larger than a cache are a ring over keys: use a key's bits, then locate and prefetch
 * all bits of the key that comes `ahead` keys later into the same place.
 */
#include "kernel_impl.h"

static PBF_TARGET bool
plain_contains(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);

	return plain_test(words, &p, h);
}

static PBF_TARGET void
plain_contains_many(const uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h, size_t n,
                    uint8_t *hit)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);
	size_t ahead = pbf_plain_ahead(&p, n);
	uint64_t ring[PBF_PLAIN_LINES];
	uint64_t *bit = ring;

	if (ahead == 0)
	{
		for (size_t i = 0; i < n; i++)
			hit[i] = plain_test(words, &p, h[i]);
		return;
	}
	for (size_t i = 0; i < ahead; i++)
	{
		plain_locate(&p, h[i], ring + i * parts);
		pbf_plain_prefetch(words, ring + i * parts, parts);
	}
	for (size_t i = 0; i < n; i++)
	{
		hit[i] = pbf_plain_test_bits(words, bit, parts);
		if (i + ahead < n)
		{
			plain_locate(&p, h[i + ahead], bit);
			pbf_plain_prefetch(words, bit, parts);
		}
		bit = bit + parts == ring + ahead * parts ? ring : bit + parts;
	}
}

static PBF_TARGET void
plain_add_many(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h, size_t n)
{
	PbfPlain p = pbf_plain_shape(parts, part_bits);
	size_t ahead = pbf_plain_ahead(&p, n);
	uint64_t ring[PBF_PLAIN_LINES];
	uint64_t *bit = ring;

	if (ahead == 0)
	{
		for (size_t i = 0; i < n; i++)
		{
			plain_locate(&p, h[i], ring);
			pbf_plain_set_bits(words, ring, parts);
		}
		return;
	}
	for (size_t i = 0; i < ahead; i++)
	{
		plain_locate(&p, h[i], ring + i * parts);
		pbf_plain_prefetch(words, ring + i * parts, parts);
	}
	for (size_t i = 0; i < n; i++)
	{
		pbf_plain_set_bits(words, bit, parts);
		if (i + ahead < n)
		{
			plain_locate(&p, h[i + ahead], bit);
			pbf_plain_prefetch(words, bit, parts);
		}
		bit = bit + parts == ring + ahead * parts ? ring : bit + parts;
	}
}

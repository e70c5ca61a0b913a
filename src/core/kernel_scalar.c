/*
 * kernel_scalar.c: the reference kernel, in portable C. Every other kernel must give the same bits.
 */
#include "kernel_impl.h"

#define PBF_TARGET

/* Whether every part has its bit. All shifted words are ANDed: no branch to mispredict. */
PBF_INLINE bool
block_contains(const uint64_t *block, uint32_t parts, uint64_t positions)
{
	uint64_t all = 1;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < parts; i++)
		all &= block[i] >> ((positions >> (6 * i)) & 63);
	return all;
}

PBF_INLINE void
block_add(uint64_t *block, uint32_t parts, uint64_t positions)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < parts; i++)
		block[i] |= UINT64_C(1) << ((positions >> (6 * i)) & 63);
}

#define locate_group pbf_locate_group
#define PBF_BLOCKED(f) pbf_scalar_##f
#include "kernel_blocked.h"

/* Whether every part of one block has a common bit. */
PBF_INLINE bool
block_overlaps(const uint64_t *a, const uint64_t *b, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
	{
		if ((a[i] & b[i]) == 0)
			return false;
	}
	return true;
}

static bool
blocks_overlap(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts)
{
	for (size_t i = 0; i < blocks; i++)
	{
		if (block_overlaps(a + i * parts, b + i * parts, parts))
			return true;
	}
	return false;
}

PBF_INLINE void
plain_locate(const PbfPlain *p, uint64_t h, uint32_t first, uint32_t n, uint64_t *bit)
{
	for (uint32_t i = 0; i < n; i++)
		bit[i] = (first + i) * p->stride + pbf_plain_bit(h, first + i, p->part_bits);
}

#define PBF_PLAIN(f) pbf_scalar_plain_##f
#include "kernel_plain.h"

static void
or_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] |= src[i];
}

static void
and_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] &= src[i];
}

static bool
and_any(const uint64_t *a, const uint64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (a[i] & b[i])
			return true;
	}
	return false;
}

static bool
contains_words(const uint64_t *a, const uint64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (b[i] & ~a[i])
			return false;
	}
	return true;
}

static uint64_t
popcount(const uint64_t *words, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pbf_popcount_word(words[i]);
	return sum;
}

const char *
pbf_scalar_find(const PbfNeedle *needle, const char *bytes, size_t n)
{
	const char *at = bytes;
	size_t r = needle->rarest;

	for (; n >= needle->n; n -= (size_t) (at - bytes), bytes = at)
	{
		at = memchr(bytes + r, needle->bytes[r], n - needle->n + 1);
		if (at == NULL)
			return NULL;
		if (pbf_needle_is_at(needle, at - r))
			return at - r;
		at = at - r + 1;
	}
	return NULL;
}

const PbfKernel pbf_kernel_scalar = {
    .name = "scalar",
    .contains = pbf_scalar_contains,
    .add = pbf_scalar_add,
    .contains_many = pbf_scalar_contains_many,
    .add_many = pbf_scalar_add_many,
    .blocks_overlap = blocks_overlap,
    .plain_contains = pbf_scalar_plain_contains,
    .plain_contains_many = pbf_scalar_plain_contains_many,
    .plain_add_many = pbf_scalar_plain_add_many,
    .or_words = or_words,
    .and_words = and_words,
    .and_any = and_any,
    .contains_words = contains_words,
    .popcount = popcount,
    .find = pbf_scalar_find,
};

/*
 * kernel_neon.c: a block as pairs of words.
 *
 * Plain filters are left to scalar code: there is no 64-bit multiplication.
 */
#include "kernel_impl.h"

#if defined(__aarch64__)
#include <arm_neon.h>

/* Advanced SIMD is part of the base architecture. */
#define PBF_TARGET

/* The bits that a key owns in parts `part` and `part` + 1. A negative shift count shifts to the right. */
PBF_INLINE uint64x2_t
key_bits(uint64_t positions, uint32_t part)
{
	const int64_t pair[] = {0, -6}; /* an initialiser of a vector need not be in the order of a load */
	int64x2_t shifts = vsubq_s64(vld1q_s64(pair), vdupq_n_s64(6 * (int64_t) part));
	uint64x2_t p = vandq_u64(vshlq_u64(vdupq_n_u64(positions), shifts), vdupq_n_u64(63));

	return vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(p));
}

PBF_INLINE bool
is_zero(uint64x2_t v)
{
	return vmaxvq_u32(vreinterpretq_u32_u64(v)) == 0;
}

PBF_INLINE bool
block_contains(const uint64_t *block, uint32_t parts, uint64_t positions)
{
	uint64x2_t missing = vdupq_n_u64(0);
	uint32_t i = 0;

	for (; i + 2 <= parts; i += 2)
		missing = vorrq_u64(missing, vbicq_u64(key_bits(positions, i), vld1q_u64(block + i)));
	if (i < parts)
		missing = vorrq_u64(missing, vbicq_u64(vsetq_lane_u64(0, key_bits(positions, i), 1),
		                                       vcombine_u64(vld1_u64(block + i), vcreate_u64(0))));
	return is_zero(missing);
}

PBF_INLINE void
block_add(uint64_t *block, uint32_t parts, uint64_t positions)
{
	uint32_t i = 0;

	for (; i + 2 <= parts; i += 2)
		vst1q_u64(block + i, vorrq_u64(vld1q_u64(block + i), key_bits(positions, i)));
	if (i < parts)
		block[i] |= UINT64_C(1) << ((positions >> (6 * i)) & 63);
}

#define locate_group pbf_locate_group
#define PBF_BLOCKED(f) pbf_neon_##f
#include "kernel_blocked.h"

/* Whether every part of one block has a common bit. */
PBF_INLINE bool
block_overlaps(const uint64_t *a, const uint64_t *b, uint32_t parts)
{
	uint64x2_t disjoint = vdupq_n_u64(0);
	bool last = true;
	uint32_t i = 0;

	for (; i + 2 <= parts; i += 2)
		disjoint = vorrq_u64(disjoint, vceqzq_u64(vandq_u64(vld1q_u64(a + i), vld1q_u64(b + i))));
	if (i < parts)
		last = (a[i] & b[i]) != 0;
	return last && is_zero(disjoint);
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

static void
or_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	size_t i = 0;

	for (; i + 2 <= n; i += 2)
		vst1q_u64(dst + i, vorrq_u64(vld1q_u64(dst + i), vld1q_u64(src + i)));
	if (i < n)
		dst[i] |= src[i];
}

static void
and_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	size_t i = 0;

	for (; i + 2 <= n; i += 2)
		vst1q_u64(dst + i, vandq_u64(vld1q_u64(dst + i), vld1q_u64(src + i)));
	if (i < n)
		dst[i] &= src[i];
}

static bool
and_any(const uint64_t *a, const uint64_t *b, size_t n)
{
	size_t i = 0;

	for (; i + 2 <= n; i += 2)
	{
		if (!is_zero(vandq_u64(vld1q_u64(a + i), vld1q_u64(b + i))))
			return true;
	}
	return i < n && (a[i] & b[i]) != 0;
}

static bool
contains_words(const uint64_t *a, const uint64_t *b, size_t n)
{
	size_t i = 0;

	for (; i + 2 <= n; i += 2)
	{
		if (!is_zero(vbicq_u64(vld1q_u64(b + i), vld1q_u64(a + i))))
			return false;
	}
	return i == n || (b[i] & ~a[i]) == 0;
}

static uint64_t
popcount(const uint64_t *words, size_t n)
{
	uint64_t sum = 0;
	size_t i = 0;

	for (; i + 2 <= n; i += 2)
		sum += vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(words + i))));
	if (i < n)
		sum += pbf_popcount_word(words[i]);
	return sum;
}

const PbfKernel pbf_kernel_neon = {
    .name = "neon",
    .contains = pbf_neon_contains,
    .add = pbf_neon_add,
    .contains_many = pbf_neon_contains_many,
    .add_many = pbf_neon_add_many,
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

#endif

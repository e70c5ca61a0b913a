/*
 * kernel_avx512.c: a block as one vector of eight words; eight keys are hashed at once.
 *
 * Needs AVX-512 F, BW, DQ and VL, besides what AVX2 needs. Adds, plain filters, counting and searching are
 * left to the AVX2 code: the wider vectors measure the same there, the loads are the limit.
 */
#include "kernel_impl.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define PBF_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2")))

/* Mask of the first n lanes, n <= 8. */
PBF_INLINE PBF_TARGET __mmask8
first_lanes(uint32_t n)
{
	return (__mmask8) ((1u << n) - 1);
}

/* Lanes that are in use in the vector of elements i .. i + 7 of n, i < n. */
PBF_INLINE PBF_TARGET __mmask8
lanes_from(size_t i, size_t n)
{
	return n - i >= 8 ? 0xff : first_lanes((uint32_t) (n - i));
}

/* One bit in each lane: the bit that a key owns in that part. The rotation takes its count modulo 64. */
PBF_INLINE PBF_TARGET __m512i
key_bits(uint64_t positions)
{
	const __m512i shifts = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42);
	__m512i p = _mm512_srlv_epi64(_mm512_set1_epi64((int64_t) positions), shifts);

	return _mm512_rolv_epi64(_mm512_set1_epi64(1), p);
}

PBF_INLINE PBF_TARGET bool
block_contains(const uint64_t *block, uint32_t parts, uint64_t positions)
{
	__mmask8 lanes = first_lanes(parts);
	__m512i v = _mm512_maskz_loadu_epi64(lanes, block);

	return _mm512_mask_testn_epi64_mask(lanes, v, key_bits(positions)) == 0;
}

/* High 64 bits of x * n, n below 2^32, per lane; as pbf_mulhi. */
PBF_INLINE PBF_TARGET __m512i
mulhi(__m512i x, __m512i n)
{
	__m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, n), 32);
	__m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), n);

	return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
}

PBF_INLINE PBF_TARGET __m512i
xor_shift(__m512i x, unsigned n)
{
	return _mm512_xor_si512(x, _mm512_srli_epi64(x, n));
}

/* pbf_mix per lane. */
PBF_INLINE PBF_TARGET __m512i
mix(__m512i x)
{
	x = _mm512_mullo_epi64(xor_shift(x, 30), _mm512_set1_epi64((int64_t) UINT64_C(0xbf58476d1ce4e5b9)));
	x = _mm512_mullo_epi64(xor_shift(x, 27), _mm512_set1_epi64((int64_t) UINT64_C(0x94d049bb133111eb)));
	return xor_shift(x, 31);
}

/* pbf_mix_positions per lane. */
PBF_INLINE PBF_TARGET __m512i
mix_positions(__m512i x)
{
	x = _mm512_mullo_epi64(xor_shift(x, 33), _mm512_set1_epi64((int64_t) UINT64_C(0xff51afd7ed558ccd)));
	x = _mm512_mullo_epi64(xor_shift(x, 33), _mm512_set1_epi64((int64_t) UINT64_C(0xc4ceb9fe1a85ec53)));
	return xor_shift(x, 33);
}

/*
 * As pbf_locate_group, a key a lane. A single key is located by scalar code: both mixers in one vector are
 * fewer instructions, but it takes longer until the block is known. A loop of probes gains by that, a query
 * that probes row by row loses.
 */
PBF_INLINE PBF_TARGET void
locate_group(PbfGroup *g, const uint64_t *h, uint32_t blocks)
{
	__m512i x = _mm512_loadu_si512(h);
	__m512i block = mulhi(mix(x), _mm512_set1_epi64(blocks));

	_mm512_storeu_si512(g->block, block);
	_mm512_storeu_si512(g->positions, mix_positions(x));
}

#define PBF_BLOCKED(f) pbf_avx512_##f
#define PBF_BLOCKED_NO_ADDS
#include "kernel_blocked.h"

PBF_INLINE PBF_TARGET bool
any_block_overlaps(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts)
{
	__mmask8 lanes = first_lanes(parts);

	for (size_t i = 0; i < blocks; i++, a += parts, b += parts)
	{
		__m512i v = _mm512_maskz_loadu_epi64(lanes, a);
		__m512i w = _mm512_maskz_loadu_epi64(lanes, b);

		if (_mm512_mask_testn_epi64_mask(lanes, v, w) == 0)
			return true;
	}
	return false;
}

static PBF_TARGET bool
blocks_overlap(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts)
{
	if (parts == PBF_BLOCKED_MAX_PARTS)
		return any_block_overlaps(a, b, blocks, PBF_BLOCKED_MAX_PARTS);
	return any_block_overlaps(a, b, blocks, parts);
}

static PBF_TARGET void
or_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
	{
		__mmask8 lanes = lanes_from(i, n);
		__m512i v = _mm512_maskz_loadu_epi64(lanes, dst + i);
		__m512i w = _mm512_maskz_loadu_epi64(lanes, src + i);

		_mm512_mask_storeu_epi64(dst + i, lanes, _mm512_or_si512(v, w));
	}
}

static PBF_TARGET void
and_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
	{
		__mmask8 lanes = lanes_from(i, n);
		__m512i v = _mm512_maskz_loadu_epi64(lanes, dst + i);
		__m512i w = _mm512_maskz_loadu_epi64(lanes, src + i);

		_mm512_mask_storeu_epi64(dst + i, lanes, _mm512_and_si512(v, w));
	}
}

static PBF_TARGET bool
and_any(const uint64_t *a, const uint64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
	{
		__mmask8 lanes = lanes_from(i, n);
		__m512i v = _mm512_maskz_loadu_epi64(lanes, a + i);

		if (_mm512_test_epi64_mask(v, _mm512_maskz_loadu_epi64(lanes, b + i)) != 0)
			return true;
	}
	return false;
}

static PBF_TARGET bool
contains_words(const uint64_t *a, const uint64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
	{
		__mmask8 lanes = lanes_from(i, n);
		__m512i v = _mm512_maskz_loadu_epi64(lanes, a + i);
		__m512i w = _mm512_maskz_loadu_epi64(lanes, b + i);

		if (_mm512_cmpneq_epi64_mask(_mm512_and_si512(v, w), w) != 0)
			return false;
	}
	return true;
}

const PbfKernel pbf_kernel_avx512 = {
    .name = "avx512",
    .contains = pbf_avx512_contains,
    /* As fast in cache, and no zmm register among the adds of an aggregate: whole queries gain 10 %. */
    .add = pbf_avx2_add,
    .contains_many = pbf_avx512_contains_many,
    .add_many = pbf_avx2_add_many,
    .blocks_overlap = blocks_overlap,
    .plain_contains = pbf_avx2_plain_contains,
    .plain_contains_many = pbf_avx2_plain_contains_many,
    .plain_add_many = pbf_avx2_plain_add_many,
    .or_words = or_words,
    .and_words = and_words,
    .and_any = and_any,
    .contains_words = contains_words,
    .popcount = pbf_avx2_popcount,
    .find = pbf_avx2_find,
};

#endif

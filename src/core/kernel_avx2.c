/*
 * kernel_avx2.c: a block as two vectors of four words; four keys, or four parts of a plain key, are
 * hashed at once.
 *
 * Needs AVX2, BMI1 and BMI2.
 */
#include "kernel_impl.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define PBF_TARGET __attribute__((target("avx2,bmi,bmi2")))

/* Shift counts of the positions of parts 0..3 and 4..7. */
#define SHIFTS_LOW _mm256_setr_epi64x(0, 6, 12, 18)
#define SHIFTS_HIGH _mm256_setr_epi64x(24, 30, 36, 42)

/* Vector j of a block: all ones in the lanes that are parts, as the masked moves want it. */
PBF_INLINE PBF_TARGET __m256i
lanes_of(uint32_t parts, uint32_t j)
{
	__m256i lane = _mm256_add_epi64(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x(4 * j));

	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(parts), lane);
}

/* One bit in each lane: the bit that a key owns in that part. */
PBF_INLINE PBF_TARGET __m256i
key_bits(uint64_t positions, __m256i shifts)
{
	__m256i p = _mm256_srlv_epi64(_mm256_set1_epi64x((int64_t) positions), shifts);

	return _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_and_si256(p, _mm256_set1_epi64x(63)));
}

PBF_INLINE PBF_TARGET __m256i
load(const uint64_t *words)
{
	return _mm256_loadu_si256((const __m256i *) words);
}

PBF_INLINE PBF_TARGET void
store(uint64_t *words, __m256i v)
{
	_mm256_storeu_si256((__m256i *) words, v);
}

/* The key's bits in vector j of a block that are not set there, lanes beyond the parts left out. */
PBF_INLINE PBF_TARGET __m256i
missing_masked(const uint64_t *block, uint32_t parts, uint32_t j, __m256i bits)
{
	__m256i lanes = lanes_of(parts, j);
	__m256i v = _mm256_maskload_epi64((const long long *) block + 4 * j, lanes);

	return _mm256_andnot_si256(v, _mm256_and_si256(bits, lanes));
}

/* The word of each lane, the bit that a key owns in it moved to the sign. */
PBF_INLINE PBF_TARGET __m256i
owned_bits(const uint64_t *words, uint64_t positions, __m256i shifts)
{
	__m256i p = _mm256_srlv_epi64(_mm256_set1_epi64x((int64_t) positions), shifts);

	return _mm256_sllv_epi64(load(words), _mm256_andnot_si256(p, _mm256_set1_epi64x(63)));
}

PBF_INLINE PBF_TARGET bool
full_block_contains(const uint64_t *block, uint64_t positions)
{
	__m256i both = _mm256_and_si256(owned_bits(block, positions, SHIFTS_LOW),
	                                owned_bits(block + 4, positions, SHIFTS_HIGH));

	return _mm256_movemask_pd(_mm256_castsi256_pd(both)) == 15;
}

PBF_INLINE PBF_TARGET bool
block_contains(const uint64_t *block, uint32_t parts, uint64_t positions)
{
	__m256i missing;

	if (parts == PBF_BLOCKED_MAX_PARTS)
		return full_block_contains(block, positions);
	missing = _mm256_or_si256(missing_masked(block, parts, 0, key_bits(positions, SHIFTS_LOW)),
	                          missing_masked(block, parts, 1, key_bits(positions, SHIFTS_HIGH)));
	return _mm256_testz_si256(missing, missing);
}

/* Sets the bits of vector j of a block, writing only its parts. */
PBF_INLINE PBF_TARGET void
add_masked(uint64_t *block, uint32_t parts, uint32_t j, __m256i bits)
{
	long long *at = (long long *) block + 4 * j;
	__m256i lanes = lanes_of(parts, j);

	_mm256_maskstore_epi64(at, lanes, _mm256_or_si256(_mm256_maskload_epi64(at, lanes), bits));
}

PBF_INLINE PBF_TARGET void
block_add(uint64_t *block, uint32_t parts, uint64_t positions)
{
	__m256i low = key_bits(positions, SHIFTS_LOW);
	__m256i high = key_bits(positions, SHIFTS_HIGH);

	if (parts == PBF_BLOCKED_MAX_PARTS)
	{
		store(block, _mm256_or_si256(load(block), low));
		store(block + 4, _mm256_or_si256(load(block + 4), high));
		return;
	}
	add_masked(block, parts, 0, low);
	add_masked(block, parts, 1, high);
}

/* High 64 bits of x * n, n below 2^32, per lane; as pbf_mulhi. */
PBF_INLINE PBF_TARGET __m256i
mulhi(__m256i x, __m256i n)
{
	__m256i low = _mm256_srli_epi64(_mm256_mul_epu32(x, n), 32);
	__m256i high = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), n);

	return _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
}

/* Low 64 bits of x * n per lane. Of the products of crossed halves the low 32 bits count, added to the upper
 * half. */
PBF_INLINE PBF_TARGET __m256i
mullo(__m256i x, uint64_t n)
{
	__m256i cross = _mm256_mullo_epi32(x, _mm256_set1_epi64x((int64_t) (n << 32 | n >> 32)));
	__m256i one = _mm256_slli_epi64(cross, 32);
	__m256i other = _mm256_and_si256(cross, _mm256_set1_epi64x((int64_t) ~(uint64_t) UINT32_MAX));

	return _mm256_add_epi64(_mm256_mul_epu32(x, _mm256_set1_epi64x((int64_t) n)),
	                        _mm256_add_epi32(one, other));
}

#define xor_shift(x, n) _mm256_xor_si256((x), _mm256_srli_epi64((x), (n)))

/* pbf_mix per lane. */
PBF_INLINE PBF_TARGET __m256i
mix(__m256i x)
{
	x = mullo(xor_shift(x, 30), UINT64_C(0xbf58476d1ce4e5b9));
	x = mullo(xor_shift(x, 27), UINT64_C(0x94d049bb133111eb));
	return xor_shift(x, 31);
}

/* pbf_mix_positions per lane. */
PBF_INLINE PBF_TARGET __m256i
mix_positions(__m256i x)
{
	x = mullo(xor_shift(x, 33), UINT64_C(0xff51afd7ed558ccd));
	x = mullo(xor_shift(x, 33), UINT64_C(0xc4ceb9fe1a85ec53));
	return xor_shift(x, 33);
}

/* As pbf_locate_group, a key a lane. */
PBF_INLINE PBF_TARGET void
locate_group(PbfGroup *g, const uint64_t *h, uint32_t blocks)
{
	for (int i = 0; i < PBF_GROUP; i += 4)
	{
		__m256i x = load(h + i);

		store(g->block + i, mulhi(mix(x), _mm256_set1_epi64x(blocks)));
		store(g->positions + i, mix_positions(x));
	}
}

#define PBF_BLOCKED(f) pbf_avx2_##f
#include "kernel_blocked.h"

/* Numbers of the bits of parts first .. first + 3, counted from the start of the words. */
PBF_INLINE PBF_TARGET __m256i
plain_bits(const PbfPlain *p, uint64_t h, uint32_t first)
{
	const uint64_t step = PBF_PLAIN_STEP, stride = p->stride;
	__m256i steps = _mm256_setr_epi64x(0, (int64_t) step, (int64_t) (2 * step), (int64_t) (3 * step));
	__m256i starts = _mm256_setr_epi64x(0, (int64_t) stride, (int64_t) (2 * stride), (int64_t) (3 * stride));
	__m256i x = _mm256_add_epi64(steps, _mm256_set1_epi64x((int64_t) (h + (first + 1) * step)));
	__m256i start = _mm256_add_epi64(starts, _mm256_set1_epi64x((int64_t) (first * stride)));

	return _mm256_add_epi64(start, mulhi(mix(x), _mm256_set1_epi64x(p->part_bits)));
}

/* Stored, then loaded one by one: gathers measure slower here, and far slower on CPUs that mitigate them. */
PBF_INLINE PBF_TARGET void
plain_locate(const PbfPlain *p, uint64_t h, uint32_t first, uint32_t n, uint64_t *bit)
{
	for (uint32_t i = 0; i < n; i += 4)
		store(bit + i, plain_bits(p, h, first + i));
}

#define PBF_PLAIN(f) pbf_avx2_plain_##f
#include "kernel_plain.h"

/* All ones in the lanes of vector j that are a part without a common bit. */
PBF_INLINE PBF_TARGET __m256i
disjoint_lanes(const uint64_t *a, const uint64_t *b, uint32_t parts, uint32_t j)
{
	__m256i lanes = lanes_of(parts, j);
	__m256i common = _mm256_and_si256(_mm256_maskload_epi64((const long long *) a + 4 * j, lanes),
	                                  _mm256_maskload_epi64((const long long *) b + 4 * j, lanes));

	return _mm256_and_si256(_mm256_cmpeq_epi64(common, _mm256_setzero_si256()), lanes);
}

PBF_INLINE PBF_TARGET bool
any_block_overlaps(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts)
{
	for (size_t i = 0; i < blocks; i++, a += parts, b += parts)
	{
		__m256i disjoint = _mm256_or_si256(disjoint_lanes(a, b, parts, 0), disjoint_lanes(a, b, parts, 1));

		if (_mm256_testz_si256(disjoint, disjoint))
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
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		store(dst + i, _mm256_or_si256(load(dst + i), load(src + i)));
	for (; i < n; i++)
		dst[i] |= src[i];
}

static PBF_TARGET void
and_words(uint64_t *dst, const uint64_t *src, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		store(dst + i, _mm256_and_si256(load(dst + i), load(src + i)));
	for (; i < n; i++)
		dst[i] &= src[i];
}

static PBF_TARGET bool
and_any(const uint64_t *a, const uint64_t *b, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
	{
		if (!_mm256_testz_si256(load(a + i), load(b + i)))
			return true;
	}
	for (; i < n; i++)
	{
		if (a[i] & b[i])
			return true;
	}
	return false;
}

static PBF_TARGET bool
contains_words(const uint64_t *a, const uint64_t *b, size_t n)
{
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
	{
		if (!_mm256_testc_si256(load(a + i), load(b + i)))
			return false;
	}
	for (; i < n; i++)
	{
		if (b[i] & ~a[i])
			return false;
	}
	return true;
}

/* Bits of each 64-bit lane: a table look-up per half byte (Mula, Kurz, Lemire 2018). */
PBF_INLINE PBF_TARGET __m256i
popcount_lanes(__m256i v)
{
	const __m256i table =
	    _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
	const __m256i half = _mm256_set1_epi8(15);
	__m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(v, half));
	__m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), half));

	return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

PBF_TARGET uint64_t
pbf_avx2_popcount(const uint64_t *words, size_t n)
{
	__m256i sum = _mm256_setzero_si256();
	uint64_t lane[4], total;
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		sum = _mm256_add_epi64(sum, popcount_lanes(load(words + i)));
	store(lane, sum);
	total = lane[0] + lane[1] + lane[2] + lane[3];
	for (; i < n; i++)
		total += pbf_popcount_word(words[i]);
	return total;
}

#define PLACES 64 /* looked at together */

/* Of 32 places from `at` on, those where the two bytes are as they should be: a bit each. */
PBF_INLINE PBF_TARGET uint64_t
candidates(const PbfNeedle *needle, const char *at, __m256i rarest, __m256i second)
{
	__m256i a = _mm256_loadu_si256((const __m256i *) (at + needle->rarest));
	__m256i b = _mm256_loadu_si256((const __m256i *) (at + needle->second));
	__m256i both = _mm256_and_si256(_mm256_cmpeq_epi8(a, rarest), _mm256_cmpeq_epi8(b, second));

	return (uint32_t) _mm256_movemask_epi8(both);
}

PBF_TARGET const char *
pbf_avx2_find(const PbfNeedle *needle, const char *bytes, size_t n)
{
	const __m256i rarest = _mm256_set1_epi8(needle->bytes[needle->rarest]);
	const __m256i second = _mm256_set1_epi8(needle->bytes[needle->second]);
	size_t i = 0;

	for (; i + needle->n - 1 + PLACES <= n; i += PLACES)
	{
		uint64_t left = candidates(needle, bytes + i, rarest, second) |
		                candidates(needle, bytes + i + PLACES / 2, rarest, second) << (PLACES / 2);

		for (; left != 0; left &= left - 1)
		{
			const char *at = bytes + i + __builtin_ctzll(left);

			if (pbf_needle_is_at(needle, at))
				return at;
		}
	}
	return pbf_scalar_find(needle, bytes + i, n - i);
}

const PbfKernel pbf_kernel_avx2 = {
    .name = "avx2",
    .contains = pbf_avx2_contains,
    .add = pbf_avx2_add,
    .contains_many = pbf_avx2_contains_many,
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

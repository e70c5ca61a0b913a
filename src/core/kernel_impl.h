/*
 * kernel_impl.h: what the kernel files share and nobody else sees.
 */
#ifndef PBF_CORE_KERNEL_IMPL_H
#define PBF_CORE_KERNEL_IMPL_H

#include "kernel.h"
#include "geometry.h"
#include "position.h"

/*
 * Helpers are inlined even at -O0 or when the compiler thinks them large: they must become part of a
 * function that has the target attribute, and `parts` must become a constant in the hot path.
 */
#define PBF_INLINE static inline __attribute__((always_inline))

#define PBF_LINE 64 /* bytes of a cache line; only speed depends on it */

/*
 * Keys located together. Eight 64-bit lanes are one AVX-512 vector; for the others it only makes the loop
 * around a group cheap.
 */
#define PBF_GROUP 8
#define PBF_GROUPS (PBF_PREFETCH_WINDOW / PBF_GROUP)

/* Where the bits of PBF_GROUP keys are: block number and pbf_positions_of. */
typedef struct PbfGroup
{
	uint64_t positions[PBF_GROUP];
	uint64_t block[PBF_GROUP];
} PbfGroup;

/* Scalar functions that other tables take over where wider instructions do not help. */
extern bool pbf_scalar_plain_contains(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h);
extern void pbf_scalar_plain_contains_many(const uint64_t *words, uint32_t parts, uint32_t part_bits,
                                           const uint64_t *h, size_t n, uint8_t *hit);
extern void pbf_scalar_plain_add_many(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h,
                                      size_t n);

/* AVX2 functions that the AVX-512 table takes over: memory is the limit already. */
#if defined(__x86_64__)
extern uint64_t pbf_avx2_popcount(const uint64_t *words, size_t n);
#endif

/* PbfGroup of the hashes h[0 .. PBF_GROUP - 1], one key after the other. */
PBF_INLINE void
pbf_locate_group(PbfGroup *g, const uint64_t *h, uint32_t blocks)
{
	for (int i = 0; i < PBF_GROUP; i++)
	{
		g->block[i] = pbf_block_of(h[i], blocks);
		g->positions[i] = pbf_positions_of(h[i]);
	}
}

/* Bits of a word; without a popcnt instruction the compiler's builtin may be a call, this never is. */
PBF_INLINE uint64_t
pbf_popcount_word(uint64_t x)
{
	x -= (x >> 1) & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + ((x >> 2) & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (x * UINT64_C(0x0101010101010101)) >> 56;
}

/* Lines in flight: many parts still get two keys ahead, few parts PBF_PREFETCH_WINDOW keys. */
#define PBF_PLAIN_LINES (2 * PBF_PLAIN_MAX_PARTS)

/* Filters up to this size live in a second-level cache: prefetching would cost more than it gains. */
#define PBF_PLAIN_SMALL_BYTES (512 * 1024)

/* A plain filter's shape, with what its inner loops need precomputed. */
typedef struct PbfPlain
{
	uint32_t parts;
	uint32_t part_bits;
	uint64_t stride; /* bits from part to part, padding included */
} PbfPlain;

PBF_INLINE PbfPlain
pbf_plain_shape(uint32_t parts, uint32_t part_bits)
{
	PbfPlain p = {parts, part_bits, ((uint64_t) part_bits + 63) / 64 * 64};

	return p;
}

/* Keys of n to locate ahead of their use; 0: none, the filter is small or the key the only one. */
PBF_INLINE size_t
pbf_plain_ahead(const PbfPlain *p, size_t n)
{
	size_t keys = PBF_PLAIN_LINES / p->parts;

	if (p->stride * p->parts <= (uint64_t) PBF_PLAIN_SMALL_BYTES * 8 || n == 1)
		return 0;
	keys = keys < PBF_PREFETCH_WINDOW ? keys : PBF_PREFETCH_WINDOW;
	return keys < n ? keys : n;
}

/* Asks for the lines of the `parts` bits. */
PBF_INLINE void
pbf_plain_prefetch(const uint64_t *words, const uint64_t *bit, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		__builtin_prefetch(words + bit[i] / 64);
}

/* Whether all `parts` bits are set. No early exit: the lines are here, a wrong guess would cost more. */
PBF_INLINE bool
pbf_plain_test_bits(const uint64_t *words, const uint64_t *bit, uint32_t parts)
{
	uint64_t all = 1;

	for (uint32_t i = 0; i < parts; i++)
		all &= words[bit[i] / 64] >> (bit[i] % 64);
	return all;
}

PBF_INLINE void
pbf_plain_set_bits(uint64_t *words, const uint64_t *bit, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		words[bit[i] / 64] |= UINT64_C(1) << (bit[i] % 64);
}

#endif

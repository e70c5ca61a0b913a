/*
 * kernel_impl.h: what the kernel files share and nobody else sees.
 */
#ifndef PBF_CORE_KERNEL_IMPL_H
#define PBF_CORE_KERNEL_IMPL_H

#include <string.h>
#include "kernel.h"
#include "geometry.h"
#include "position.h"

/*
 * Helpers are inlined even at -O0 or when the compiler thinks them large: they must become part of a
 * function that has the target attribute, and `parts` must become a constant in the hot path.
 */
#define PBF_INLINE static inline __attribute__((always_inline))

#define PBF_LINE 64 /* bytes of a cache line; only speed depends on it */

/* Filters up to this size are not prefetched: a second-level cache holds them. */
#define PBF_NEAR_BYTES (256 * 1024)

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

#pragma GCC visibility push(protected)

/* The blocked functions of a kernel (kernel_blocked.h); some tables take over those of another kernel. */
#define PBF_DECLARE_BLOCKED(isa)                                                                          \
	extern bool pbf_##isa##_contains(const uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h); \
	extern void pbf_##isa##_add(uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h);            \
	extern void pbf_##isa##_contains_many(const uint64_t *words, uint32_t blocks, uint32_t parts,         \
	                                      const uint64_t *h, size_t n, uint8_t *hit);                     \
	extern void pbf_##isa##_add_many(uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, \
	                                 size_t n)

PBF_DECLARE_BLOCKED(scalar);
#if defined(__x86_64__)
PBF_DECLARE_BLOCKED(avx2);
PBF_DECLARE_BLOCKED(avx512);
#endif
#if defined(__aarch64__)
PBF_DECLARE_BLOCKED(neon);
#endif

/* Functions that another table takes over, where wider or other instructions do not help. */
extern bool pbf_scalar_plain_contains(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h);
extern void pbf_scalar_plain_contains_many(const uint64_t *words, uint32_t parts, uint32_t part_bits,
                                           const uint64_t *h, size_t n, uint8_t *hit);
extern void pbf_scalar_plain_add_many(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h,
                                      size_t n);
extern const char *pbf_scalar_find(const PbfNeedle *needle, const char *bytes, size_t n);
#if defined(__x86_64__)
extern bool pbf_avx2_plain_contains(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h);
extern void pbf_avx2_plain_contains_many(const uint64_t *words, uint32_t parts, uint32_t part_bits,
                                         const uint64_t *h, size_t n, uint8_t *hit);
extern void pbf_avx2_plain_add_many(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h,
                                    size_t n);
extern uint64_t pbf_avx2_popcount(const uint64_t *words, size_t n);
extern const char *pbf_avx2_find(const PbfNeedle *needle, const char *bytes, size_t n);
#endif

#pragma GCC visibility pop

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

/* Whether the needle is at `at`. Its first and its last four bytes together are all of one of four to eight
 * bytes, as most are. */
PBF_INLINE bool
pbf_needle_is_at(const PbfNeedle *needle, const char *at)
{
	const char *bytes = needle->bytes;
	size_t n = needle->n;
	uint32_t first[2], last[2];

	if (n < sizeof(uint32_t))
		return memcmp(at, bytes, n) == 0;
	memcpy(&first[0], at, sizeof(uint32_t));
	memcpy(&first[1], bytes, sizeof(uint32_t));
	memcpy(&last[0], at + n - sizeof(uint32_t), sizeof(uint32_t));
	memcpy(&last[1], bytes + n - sizeof(uint32_t), sizeof(uint32_t));
	return first[0] == first[1] && last[0] == last[1] &&
	       (n <= 2 * sizeof(uint32_t) || memcmp(at, bytes, n) == 0);
}

/*
 * Parts that are tested together, without a branch, before asking whether to go on: at a fill of a half, few
 * keys that were not added survive four, and a guess the CPU gets wrong costs more than four tests.
 */
#define PBF_PLAIN_FIRST 4

/* Keys of a batch that are screened before the survivors are looked at. */
#define PBF_PLAIN_CHUNK 256

/*
 * Lines in flight: many parts still get two keys ahead, few parts PBF_PREFETCH_WINDOW keys. Their bit numbers
 * are kept in a ring, each key's at a multiple of PBF_PLAIN_FIRST: vectors of that many numbers can then be
 * stored whole. Rounded up, 5 parts are the worst case: 128 / 5 keys of 8 numbers.
 */
#define PBF_PLAIN_LINES (2 * PBF_PLAIN_MAX_PARTS)
#define PBF_PLAIN_RING (2 * PBF_PLAIN_LINES)

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

/* Ring entries of a key. */
PBF_INLINE size_t
pbf_plain_slot(uint32_t parts)
{
	return (parts + PBF_PLAIN_FIRST - 1) / PBF_PLAIN_FIRST * PBF_PLAIN_FIRST;
}

/* How many of n keys, `parts` lines each, to locate ahead of their use. */
PBF_INLINE size_t
pbf_plain_ahead(uint32_t parts, size_t n)
{
	size_t keys = PBF_PLAIN_LINES / parts;

	keys = keys < PBF_PREFETCH_WINDOW ? keys : PBF_PREFETCH_WINDOW;
	return keys < n ? keys : n;
}

/* Asks for the lines of n bits. */
PBF_INLINE void
pbf_plain_prefetch(const uint64_t *words, const uint64_t *bit, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(words + bit[i] / 64);
}

/* Whether n bits are set; no early exit. */
PBF_INLINE bool
pbf_plain_test_bits(const uint64_t *words, const uint64_t *bit, uint32_t n)
{
	uint64_t all = 1;

	for (uint32_t i = 0; i < n; i++)
		all &= words[bit[i] / 64] >> (bit[i] % 64);
	return all;
}

PBF_INLINE void
pbf_plain_set_bits(uint64_t *words, const uint64_t *bit, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		words[bit[i] / 64] |= UINT64_C(1) << (bit[i] % 64);
}

#endif

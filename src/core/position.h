/*
 * position.h: from the 64-bit hash of a key to the bits it owns. Part of the stored format: frozen.
 *
 * mulhi(x, n) maps a uniform 64-bit x to 0..n-1 and keeps order: the range of x that falls on one block of
 * n is exactly the union of the ranges of its two halves among 2n. That makes folding exact, for any n.
 * Neither modulo nor sizes that are powers of two are needed (Lemire, "Fast random integer generation in an
 * interval", 2019).
 */
#ifndef PBF_CORE_POSITION_H
#define PBF_CORE_POSITION_H

#include <stdint.h>

/* High 64 bits of the 128-bit product. */
static inline uint64_t
pbf_mulhi(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t) (((unsigned __int128) a * b) >> 64);
#else
	uint64_t al = (uint32_t) a, ah = a >> 32, bl = (uint32_t) b, bh = b >> 32;
	uint64_t mid = ah * bl + ((al * bl) >> 32);
	uint64_t mid2 = al * bh + (uint32_t) mid;

	return ah * bh + (mid >> 32) + (mid2 >> 32);
#endif
}

/* Full-avalanche finaliser: variant 13 of Stafford, "Better Bit Mixing" (2011), as used by splitmix64. */
static inline uint64_t
pbf_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A second, independent one (MurmurHash3's fmix64): block and positions must not come from the same bits. */
static inline uint64_t
pbf_mix_positions(uint64_t x)
{
	x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ (x >> 33);
}

/* Blocked layout: the block that a key owns. */
static inline uint32_t
pbf_block_of(uint64_t h, uint32_t blocks)
{
	return (uint32_t) pbf_mulhi(pbf_mix(h), blocks);
}

/* Blocked layout: the bit of part i is (pbf_positions_of(h) >> 6 * i) & 63. */
static inline uint64_t
pbf_positions_of(uint64_t h)
{
	return pbf_mix_positions(h);
}

#define PBF_PLAIN_STEP \
	UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio: odd, no short pattern of multiples */

/* Plain layout: the bit of part i. One full mix a part: no double hashing, hence no floor under the rate. */
static inline uint32_t
pbf_plain_bit(uint64_t h, uint32_t part, uint32_t part_bits)
{
	return (uint32_t) pbf_mulhi(pbf_mix(h + (uint64_t) (part + 1) * PBF_PLAIN_STEP), part_bits);
}

#endif

/*
 * hash.h: the hash contract: from the canonical bytes of a value to 64 bits. Part of the stored format:
 * frozen.
 *
 * h = XXH3_64bits(canonical bytes, seed 0). XXH3 gives the same value on every CPU and byte order for the
 * same bytes; the canonical bytes of each type are written down in doc/format.md.
 * The header of the system's xxHash is used inline: there is no run-time library.
 */
#ifndef PBF_CORE_HASH_H
#define PBF_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash 0.8.0 or newer is needed: before, XXH3 had other results"
#endif

static inline uint64_t
pbf_hash_bytes(const void *bytes, size_t n)
{
	return XXH3_64bits(bytes, n);
}

/* The canonical form of all whole numbers: 8 bytes, little-endian, two's complement. */
static inline uint64_t
pbf_hash_int64(int64_t v)
{
	uint64_t u = (uint64_t) v;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	u = __builtin_bswap64(u);
#endif
	return XXH3_64bits(&u, sizeof(u));
}

#endif

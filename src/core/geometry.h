/*
 * geometry.h: the shape of a partitioned Bloom filter.
 *
 * A filter is blocks x parts x part_bits bits. A key picks one block, and in that block sets exactly one
 * bit in each part. Two layouts:
 *
 *   blocked (PBBF)  any number of blocks, 1..8 parts of 64 bits: a block of 8 parts is one cache line.
 *                   Memory order: block-major, then part, one word a part.
 *   plain (PBF)     one block, 1..64 parts of any length.
 *                   Memory order: part-major; every part starts on a word and is padded to whole words
 *                   with zero bits, so that the first parts of a filter are a prefix of its words.
 *
 * Bit i of a part is bit i % 64 of its word i / 64.
 */
#ifndef PBF_CORE_GEOMETRY_H
#define PBF_CORE_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(protected)

#define PBF_WORD_BITS 64
#define PBF_BLOCKED_MAX_PARTS \
	8 /* 8 positions of 6 bits come out of one 64-bit hash; 8 words are a cache line */
#define PBF_BLOCKED_PART_BITS 64 /* one word a part: one shift and one test a lane */
#define PBF_PLAIN_MAX_PARTS 64   /* 2^-64 is below any useful rate: the hash itself has 64 bits */
#define PBF_FPR_MIN 1e-15        /* a 64-bit hash of 1e4 keys collides at about that rate */

/* 512 MiB a stored filter, header included: the text form of more would not fit a 1 GB server allocation. */
#define PBF_MAX_BYTES ((uint64_t) 512 * 1024 * 1024)

typedef enum PbfLayout
{
	PBF_PLAIN = 0,
	PBF_BLOCKED = 1
} PbfLayout;

typedef struct PbfGeometry
{
	PbfLayout layout;
	uint32_t blocks;    /* >= 1; 1 if plain */
	uint32_t parts;     /* 1..8 blocked, 1..64 plain */
	uint32_t part_bits; /* 64 if blocked, >= 1 if plain */
} PbfGeometry;

/* What pbf_shape_for is asked to choose. */
typedef enum PbfLayoutChoice
{
	PBF_CHOOSE_AUTO,
	PBF_CHOOSE_PLAIN,
	PBF_CHOOSE_BLOCKED
} PbfLayoutChoice;

/* 64-bit words that one part of a plain filter, or one part of one block, takes. */
static inline uint64_t
pbf_part_words(const PbfGeometry *g)
{
	return ((uint64_t) g->part_bits + PBF_WORD_BITS - 1) / PBF_WORD_BITS;
}

/* 64-bit words of the whole filter. Cannot overflow: each factor is below 2^32, parts below 2^7. */
static inline uint64_t
pbf_words(const PbfGeometry *g)
{
	return (uint64_t) g->blocks * g->parts * pbf_part_words(g);
}

/* Bits that keys can set: padding not counted. */
static inline uint64_t
pbf_bits(const PbfGeometry *g)
{
	return (uint64_t) g->blocks * g->parts * g->part_bits;
}

/* Bytes of a stored filter of this geometry, header included. */
extern uint64_t pbf_stored_bytes(const PbfGeometry *g);

extern bool pbf_geometry_equal(const PbfGeometry *a, const PbfGeometry *b);

/*
 * Whether the geometry is one that a stored filter may have. If not, *why is a short English phrase that
 * names the field and its range (a constant, not to be freed).
 */
extern bool pbf_geometry_valid(const PbfGeometry *g, const char **why);

/*
 * Fewest blocks of `parts` parts of part_bits bits that keep the rate at n keys: exact up to 10,000 blocks,
 * then to four digits. More than PBF_MAX_BYTES of them are not searched for.
 */
extern double pbf_blocks_for(double n, double fpr, double parts, double part_bits);

/* Layout and parts: what filters must share to be merged without loss. */
typedef struct PbfShape
{
	PbfLayout layout;
	uint32_t parts;
} PbfShape;

/*
 * The cheapest shape for a false positive rate. It depends on nothing else, so that filters of one rate can
 * always be merged, whatever their capacities. `auto` takes the blocked layout unless it is more than 30 %
 * larger than the plain one. Requires PBF_FPR_MIN <= fpr < 1.
 */
extern PbfShape pbf_shape_for(double fpr, PbfLayoutChoice choice);

/*
 * The smallest geometry of that shape whose expected false positive rate at `capacity` keys is at most `fpr`,
 * rounded up by at most 1 % so that it can be halved several times. A capacity below 1 counts as 1.
 * Requires 0 <= capacity <= 1e18 and PBF_FPR_MIN <= fpr < 1. Returns false if the filter would be larger than
 * PBF_MAX_BYTES; *needed then holds the bytes it would take.
 */
extern bool pbf_size_for(double capacity, double fpr, const PbfShape *shape, PbfGeometry *g, double *needed);

#pragma GCC visibility pop

#endif

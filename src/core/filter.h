/*
 * filter.h: operations on the words of a filter. The caller owns all memory and knows the geometry.
 *
 * Every operation keeps this promise: a key added to an input (to both, for an intersection) is contained
 * in the result. Nothing here fails; geometries must be valid (pbf_geometry_valid).
 */
#ifndef PBF_CORE_FILTER_H
#define PBF_CORE_FILTER_H

#include "geometry.h"
#include "kernel.h"

#pragma GCC visibility push(protected)

extern void pbf_filter_add(const PbfGeometry *g, uint64_t *words, uint64_t h);
extern bool pbf_filter_contains(const PbfGeometry *g, const uint64_t *words, uint64_t h);
extern void pbf_filter_add_many(const PbfGeometry *g, uint64_t *words, const uint64_t *h, size_t n);
extern void pbf_filter_contains_many(const PbfGeometry *g, const uint64_t *words, const uint64_t *h, size_t n,
                                     uint8_t *hit);

/* Two filters of one geometry. */
extern void pbf_filter_union(const PbfGeometry *g, uint64_t *dst, const uint64_t *src);
extern void pbf_filter_intersect(const PbfGeometry *g, uint64_t *dst, const uint64_t *src);
/* false: certainly no common key. (Some part of the AND is empty, in every block.) */
extern bool pbf_filter_overlaps(const PbfGeometry *g, const uint64_t *a, const uint64_t *b);
/* false: some key of b is certainly not in a, if b has no other bits than those of its keys. */
extern bool pbf_filter_contains_filter(const PbfGeometry *g, const uint64_t *a, const uint64_t *b);

extern bool pbf_filter_is_empty(const PbfGeometry *g, const uint64_t *words);
extern uint64_t pbf_filter_popcount(const PbfGeometry *g, const uint64_t *words);

/*
 * The false positive rate of exactly these bits, for each number of parts kept: fpr[i] is the rate of the
 * filter's first i + 1 parts. Plain: product of the parts' fills. Blocked: mean over blocks of that product.
 */
extern void pbf_filter_fpr(const PbfGeometry *g, const uint64_t *words, double fpr[PBF_PLAIN_MAX_PARTS]);

/*
 * Keys added, estimated from the bits: n = ln(1 - fill) / ln(1 - 1 / (blocks * part_bits)), fill over all
 * parts. (Swamidass and Baldi 2007; a blocked filter's bits are each empty with the same probability, so the
 * same estimate holds.) 0 for an empty filter, infinite for one with every bit set.
 */
extern double pbf_cardinality_of(const PbfGeometry *g, uint64_t set_bits);

/* First `parts` parts. dst has the geometry of g with those parts; dst may be the same memory as src. */
extern void pbf_filter_reduce(const PbfGeometry *g, const uint64_t *src, uint32_t parts, uint64_t *dst);

/* Of a long work, part `number` of so many equal ones. */
typedef struct PbfSlice
{
	uint64_t number;
	uint64_t of;
} PbfSlice;

/* Where part `number` of things begins. */
static inline uint64_t
pbf_slice_begin(uint64_t things, uint64_t number, uint64_t of)
{
	return things / of * number + things % of * number / of;
}

/*
 * src's keys in another size of the same layout and parts: `to` differs from `from` only in blocks (blocked)
 * or part_bits (plain). Each block (bit) of dst is the OR of all of src whose hash interval overlaps it.
 * Smaller by a whole factor: exact, the same bits as if the keys had been added to dst. dst must be zeroed.
 * Done when all slices were.
 */
extern void pbf_filter_resize(const PbfGeometry *from, const uint64_t *src, const PbfGeometry *to,
                              uint64_t *dst, PbfSlice slice);

#pragma GCC visibility pop

#endif

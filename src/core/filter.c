/*
 * filter.c: operations on the words of a filter.
 */
#include <math.h>
#include <string.h>

#include "filter.h"
#include "position.h"

void
pbf_filter_add(const PbfGeometry *g, uint64_t *words, uint64_t h)
{
	if (g->layout == PBF_BLOCKED)
		pbf_kernel->add(words, g->blocks, g->parts, h);
	else
		pbf_kernel->plain_add_many(words, g->parts, g->part_bits, &h, 1);
}

bool
pbf_filter_contains(const PbfGeometry *g, const uint64_t *words, uint64_t h)
{
	if (g->layout == PBF_BLOCKED)
		return pbf_kernel->contains(words, g->blocks, g->parts, h);
	return pbf_kernel->plain_contains(words, g->parts, g->part_bits, h);
}

void
pbf_filter_add_many(const PbfGeometry *g, uint64_t *words, const uint64_t *h, size_t n)
{
	if (g->layout == PBF_BLOCKED)
		pbf_kernel->add_many(words, g->blocks, g->parts, h, n);
	else
		pbf_kernel->plain_add_many(words, g->parts, g->part_bits, h, n);
}

void
pbf_filter_contains_many(const PbfGeometry *g, const uint64_t *words, const uint64_t *h, size_t n,
                         uint8_t *hit)
{
	if (g->layout == PBF_BLOCKED)
		pbf_kernel->contains_many(words, g->blocks, g->parts, h, n, hit);
	else
		pbf_kernel->plain_contains_many(words, g->parts, g->part_bits, h, n, hit);
}

void
pbf_filter_union(const PbfGeometry *g, uint64_t *dst, const uint64_t *src)
{
	pbf_kernel->or_words(dst, src, pbf_words(g));
}

void
pbf_filter_intersect(const PbfGeometry *g, uint64_t *dst, const uint64_t *src)
{
	pbf_kernel->and_words(dst, src, pbf_words(g));
}

bool
pbf_filter_overlaps(const PbfGeometry *g, const uint64_t *a, const uint64_t *b)
{
	uint64_t part_words = pbf_part_words(g);

	if (g->layout == PBF_BLOCKED)
		return pbf_kernel->blocks_overlap(a, b, g->blocks, g->parts);
	for (uint32_t part = 0; part < g->parts; part++)
	{
		if (!pbf_kernel->and_any(a + part * part_words, b + part * part_words, part_words))
			return false;
	}
	return true;
}

bool
pbf_filter_contains_filter(const PbfGeometry *g, const uint64_t *a, const uint64_t *b)
{
	return pbf_kernel->contains_words(a, b, pbf_words(g));
}

bool
pbf_filter_is_empty(const PbfGeometry *g, const uint64_t *words)
{
	return !pbf_kernel->and_any(words, words, pbf_words(g));
}

uint64_t
pbf_filter_popcount(const PbfGeometry *g, const uint64_t *words)
{
	return pbf_kernel->popcount(words, pbf_words(g));
}

static void
blocked_fpr(const PbfGeometry *g, const uint64_t *words, double *fpr)
{
	for (uint32_t block = 0; block < g->blocks; block++)
	{
		double product = 1;

		for (uint32_t part = 0; part < g->parts; part++)
		{
			product *= __builtin_popcountll(*words++) / (double) PBF_BLOCKED_PART_BITS;
			fpr[part] += product;
		}
	}
	for (uint32_t part = 0; part < g->parts; part++)
		fpr[part] /= g->blocks;
}

void
pbf_filter_fpr(const PbfGeometry *g, const uint64_t *words, double fpr[PBF_PLAIN_MAX_PARTS])
{
	uint64_t part_words = pbf_part_words(g);
	double product = 1;

	memset(fpr, 0, sizeof(double) * PBF_PLAIN_MAX_PARTS);
	if (g->layout == PBF_BLOCKED)
	{
		blocked_fpr(g, words, fpr);
		return;
	}
	for (uint32_t part = 0; part < g->parts; part++)
	{
		product *= pbf_kernel->popcount(words + part * part_words, part_words) / (double) g->part_bits;
		fpr[part] = product;
	}
}

double
pbf_cardinality_of(const PbfGeometry *g, uint64_t set_bits)
{
	double cells = (double) g->blocks * g->part_bits; /* places that one key may choose from in one part */
	uint64_t bits = pbf_bits(g);

	if (set_bits == 0)
		return 0;
	if (set_bits >= bits)
		return INFINITY;
	if (cells <= 1)
		return INFINITY;
	return log1p(-(double) set_bits / bits) / log1p(-1 / cells);
}

void
pbf_filter_reduce(const PbfGeometry *g, const uint64_t *src, uint32_t parts, uint64_t *dst)
{
	if (g->layout == PBF_PLAIN)
	{
		memmove(dst, src, parts * pbf_part_words(g) * sizeof(uint64_t));
		return;
	}
	for (uint64_t block = 0; block < g->blocks; block++)
		memmove(dst + block * parts, src + block * g->parts, parts * sizeof(uint64_t));
}

/*
 * Of `to` equal intervals, number i overlaps numbers *first..*last of `from` equal intervals of the same
 * line: floor(i * from / to) .. ceil((i + 1) * from / to) - 1.
 */
static inline void
overlapping(uint64_t i, uint64_t from, uint64_t to, uint64_t *first, uint64_t *last)
{
	*first = i * from / to;
	*last = ((i + 1) * from - 1) / to;
}

static void
resize_blocks(const PbfGeometry *from, const uint64_t *src, const PbfGeometry *to, uint64_t *dst,
              PbfSlice slice)
{
	uint64_t end = pbf_slice_begin(to->blocks, slice.number + 1, slice.of);

	for (uint64_t block = pbf_slice_begin(to->blocks, slice.number, slice.of); block < end; block++)
	{
		uint64_t first, last;

		overlapping(block, from->blocks, to->blocks, &first, &last);
		for (uint64_t s = first; s <= last; s++)
		{
			for (uint32_t part = 0; part < to->parts; part++)
				dst[block * to->parts + part] |= src[s * to->parts + part];
		}
	}
}

/* Bits first..last. */
static void
set_run(uint64_t *words, uint64_t first, uint64_t last)
{
	uint64_t from = UINT64_MAX << (first % PBF_WORD_BITS);
	uint64_t upto = UINT64_MAX >> (PBF_WORD_BITS - 1 - last % PBF_WORD_BITS);
	uint64_t word = first / PBF_WORD_BITS, end = last / PBF_WORD_BITS;

	if (word == end)
	{
		words[word] |= from & upto;
		return;
	}
	words[word++] |= from;
	while (word < end)
		words[word++] = UINT64_MAX;
	words[end] |= upto;
}

/* The OR of each two neighbours among the low bits of a word. */
static inline uint64_t
halved(uint64_t word)
{
	word = (word | word >> 1) & 0x5555555555555555;
	word = (word | word >> 1) & 0x3333333333333333;
	word = (word | word >> 2) & 0x0F0F0F0F0F0F0F0F;
	word = (word | word >> 4) & 0x00FF00FF00FF00FF;
	word = (word | word >> 8) & 0x0000FFFF0000FFFF;
	return (word | word >> 16) & 0x00000000FFFFFFFF;
}

#define MOST_HALVINGS 6 /* of a word: one bit is left */

/* How often the one number has to be halved to be the other; 0: that is not the way, or too often. */
static int
halvings(uint64_t from_bits, uint64_t to_bits)
{
	for (int n = 1; n <= MOST_HALVINGS; n++)
	{
		if (from_bits == to_bits << n)
			return n;
	}
	return 0;
}

/* Words word..end - 1 of a part, halved n times. */
static void
fold_words(const uint64_t *src, uint64_t word, uint64_t end, int n, uint64_t *dst)
{
	for (; word < end; word++)
	{
		uint64_t bits = src[word], place = word % (1 << n) * (PBF_WORD_BITS >> n);

		for (int i = 0; i < n; i++)
			bits = halved(bits);
		dst[word >> n] |= bits << place;
	}
}

/* One part of a plain filter, driven by the set bits of the source: each sets a run of dst. Bits that no key
 * sets, of a filter that was damaged where it was stored, would set them outside. */
static void
resize_part(uint64_t from_bits, const uint64_t *src, uint64_t to_bits, uint64_t *dst, PbfSlice slice)
{
	uint64_t words = (from_bits + PBF_WORD_BITS - 1) / PBF_WORD_BITS;
	uint64_t word = pbf_slice_begin(words, slice.number, slice.of);
	uint64_t end = pbf_slice_begin(words, slice.number + 1, slice.of);
	int n = halvings(from_bits, to_bits);

	if (n > 0)
	{
		fold_words(src, word, end, n, dst);
		return;
	}
	for (; word < end; word++)
	{
		for (uint64_t left = src[word]; left != 0; left &= left - 1)
		{
			uint64_t bit = word * PBF_WORD_BITS + (uint64_t) __builtin_ctzll(left);
			uint64_t first, last;

			if (bit >= from_bits)
				break;
			overlapping(bit, to_bits, from_bits, &first, &last);
			set_run(dst, first, last);
		}
	}
}

void
pbf_filter_resize(const PbfGeometry *from, const uint64_t *src, const PbfGeometry *to, uint64_t *dst,
                  PbfSlice slice)
{
	uint64_t from_words = pbf_part_words(from), to_words = pbf_part_words(to);

	if (from->layout == PBF_BLOCKED)
	{
		resize_blocks(from, src, to, dst, slice);
		return;
	}
	for (uint32_t part = 0; part < to->parts; part++)
		resize_part(from->part_bits, src + part * from_words, to->part_bits, dst + part * to_words, slice);
}

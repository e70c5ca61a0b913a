/*
 * geometry.c: what geometries there are, and which one to take for a number of keys and a rate.
 */
#include <math.h>

#include "geometry.h"
#include "format.h"
#include "theory.h"

#define BLOCKED_WORTH \
	1.30 /* auto: a blocked filter may be that much larger, one cache line a probe is worth it */
#define FULL_LINE_WORTH \
	1.10 /* fewer than 8 parts only if 8 would be that much larger: a block of 8 words is one line */
#define FEWER_PARTS_WORTH 1.02 /* plain: a part less is a memory access less, worth 2 % of the size */
#define ROUNDING_STEP_MAX 0.01 /* sizes are rounded up by at most 1 % */

uint64_t
pbf_stored_bytes(const PbfGeometry *g)
{
	return PBF_HEADER_BYTES + pbf_words(g) * sizeof(uint64_t);
}

bool
pbf_geometry_equal(const PbfGeometry *a, const PbfGeometry *b)
{
	return a->layout == b->layout && a->blocks == b->blocks && a->parts == b->parts &&
	       a->part_bits == b->part_bits;
}

static const char *
geometry_fault(const PbfGeometry *g)
{
	if (g->blocks < 1)
		return "blocks must be at least 1";
	if (g->part_bits < 1)
		return "part_bits must be at least 1";
	if (g->layout == PBF_BLOCKED)
	{
		if (g->parts < 1 || g->parts > PBF_BLOCKED_MAX_PARTS)
			return "parts of a blocked filter must be between 1 and 8";
		if (g->part_bits != PBF_BLOCKED_PART_BITS)
			return "part_bits of a blocked filter must be 64";
	}
	else
	{
		if (g->parts < 1 || g->parts > PBF_PLAIN_MAX_PARTS)
			return "parts of a plain filter must be between 1 and 64";
		if (g->blocks != 1)
			return "blocks of a plain filter must be 1";
	}
	if (pbf_stored_bytes(g) > PBF_MAX_BYTES)
		return "the filter would be larger than 512 MiB";
	return NULL;
}

bool
pbf_geometry_valid(const PbfGeometry *g, const char **why)
{
	*why = geometry_fault(g);
	return *why == NULL;
}

/* Rounds a count of blocks or words up, by at most 1 %, to a multiple of the largest power of two. */
static double
round_for_halving(double count)
{
	double best = count;
	double step;

	for (step = 2; step <= count; step *= 2)
	{
		double up = ceil(count / step) * step;

		if (up <= count * (1 + ROUNDING_STEP_MAX))
			best = up;
	}
	return best;
}

/* Fewest blocks of `parts` parts that keep the rate. The rate falls as blocks grow, so bisection finds them.
 */
static double
blocks_for(double n, double fpr, double parts)
{
	double low = 0, high = 1;

	while (pbf_fpr_blocked(n, high, parts, PBF_BLOCKED_PART_BITS) > fpr)
	{
		low = high;
		high *= 2;
		if (high * parts * sizeof(uint64_t) > 2.0 * PBF_MAX_BYTES)
			return high; /* refused anyway */
	}
	/* Four digits are far below the 1 % of rounding; small counts are exact. */
	while (high - low > 1 && high - low > high * 1e-4)
	{
		double middle = floor((low + high) / 2);

		if (pbf_fpr_blocked(n, middle, parts, PBF_BLOCKED_PART_BITS) > fpr)
			low = middle;
		else
			high = middle;
	}
	return high;
}

typedef struct Size
{
	double count; /* blocks, or words a part */
	double parts;
	double words;
} Size;

static Size
blocked_size(double n, double fpr)
{
	Size best = {0, 0, INFINITY};
	double parts;

	for (parts = PBF_BLOCKED_MAX_PARTS; parts >= 1; parts--)
	{
		double count = blocks_for(n, fpr, parts);
		double words = count * parts;

		if (words * (best.parts == PBF_BLOCKED_MAX_PARTS ? FULL_LINE_WORTH : 1) < best.words)
			best = (Size){count, parts, words};
	}
	return best;
}

/* Words of one part so that the product of the fills of `parts` parts is the rate: F_p solved for w. */
static double
plain_part_words(double n, double fpr, double parts)
{
	double fill = exp(log(fpr) / parts);
	double bits = n > 0 ? 1 / -expm1(log1p(-fill) / n) : 1;

	return ceil(bits / PBF_WORD_BITS);
}

static Size
plain_size(double n, double fpr)
{
	Size best = {0, 0, INFINITY};
	double parts;

	for (parts = PBF_PLAIN_MAX_PARTS; parts >= 1; parts--)
	{
		double count = plain_part_words(n, fpr, parts);
		double words = count * parts;

		if (words <= best.words * (best.parts > 0 ? FEWER_PARTS_WORTH : 1))
			best = (Size){count, parts, words < best.words ? words : best.words};
	}
	best.words = best.count * best.parts;
	return best;
}

bool
pbf_size_for(double capacity, double fpr, PbfLayoutChoice choice, PbfGeometry *g, double *needed)
{
	Size plain = {0, 0, INFINITY}, blocked = {0, 0, INFINITY}, *best;

	capacity = fmax(capacity, 1); /* a filter for nothing must still hold a key well */
	/* No structure can do with fewer bits: far too large a filter is refused without searching for its size.
	 */
	*needed = capacity * -log2(fpr) / 8;
	if (*needed > (double) PBF_MAX_BYTES)
		return false;
	if (choice != PBF_CHOOSE_BLOCKED)
		plain = plain_size(capacity, fpr);
	if (choice != PBF_CHOOSE_PLAIN)
		blocked = blocked_size(capacity, fpr);
	best = blocked.words <= plain.words * BLOCKED_WORTH ? &blocked : &plain;
	best->count = round_for_halving(best->count);
	*needed = PBF_HEADER_BYTES + best->count * best->parts * sizeof(uint64_t);
	if (*needed > (double) PBF_MAX_BYTES)
		return false;
	g->layout = best == &blocked ? PBF_BLOCKED : PBF_PLAIN;
	g->blocks = best == &blocked ? (uint32_t) best->count : 1;
	g->parts = (uint32_t) best->parts;
	g->part_bits = best == &blocked ? PBF_BLOCKED_PART_BITS : (uint32_t) (best->count * PBF_WORD_BITS);
	return true;
}

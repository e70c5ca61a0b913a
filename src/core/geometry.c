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
#define REFERENCE_KEYS \
	1e6 /* shapes are judged at this size: that of a filter must not depend on its capacity */
#define ROUNDING_STEP_MAX 0.01 /* sizes are rounded up by at most 1 % */
#define UNLUCKY_DEVIATIONS 4   /* a filter that is unlucky by that many standard deviations ... */
#define UNLUCKY_RATE 1.25      /* ... has at most that many times the rate asked for */
#define GROWTH_STEP 1.01

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
		return "The filter would be larger than 512 MiB";
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

/* Words of one part so that the product of the fills of `parts` parts is the rate: F_p solved for w. */
static double
plain_part_words(double n, double fpr, double parts)
{
	double fill = exp(log(fpr) / parts);

	return ceil(1 / -expm1(log1p(-fill) / n) / PBF_WORD_BITS);
}

/*
 * The rate falls as blocks grow, so bisection finds them. They are more than a plain filter of this rate has
 * words a part: at equal bits the mean fill of the blocks is that of the plain filter, and the mean of a
 * convex function is above the function of the mean (Jensen).
 */
double
pbf_blocks_for(double n, double fpr, double parts, double part_bits)
{
	double low = fmax(plain_part_words(n, fpr, parts) - 1, 0), step = ceil(low / 16) + 1, high = low + step;

	while (pbf_fpr_blocked(n, high, parts, part_bits) > fpr)
	{
		low = high;
		step *= 2;
		high += step; /* no limit: shapes are compared at sizes that are refused afterwards */
	}
	/* Four digits are far below the 1 % of rounding; small counts are exact. */
	while (high - low > 1 && high - low > high * 1e-4)
	{
		double middle = floor((low + high) / 2);

		if (pbf_fpr_blocked(n, middle, parts, part_bits) > fpr)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Words of a filter of that shape, before rounding; *count: blocks, or words a part. */
static double
words_for(double n, double fpr, const PbfShape *shape, double *count)
{
	*count = shape->layout == PBF_BLOCKED ? pbf_blocks_for(n, fpr, shape->parts, PBF_BLOCKED_PART_BITS)
	                                      : plain_part_words(n, fpr, shape->parts);
	return *count * shape->parts;
}

static double
reference_words(double fpr, PbfLayout layout, uint32_t parts)
{
	PbfShape shape = {layout, parts};
	double count;

	return words_for(REFERENCE_KEYS, fpr, &shape, &count);
}

/* The number of parts with the fewest words. */
static uint32_t
cheapest_parts(double fpr, PbfLayout layout, uint32_t max_parts)
{
	uint32_t best = 1;
	double best_words = INFINITY;

	for (uint32_t parts = 1; parts <= max_parts; parts++)
	{
		double words = reference_words(fpr, layout, parts);

		if (words < best_words)
		{
			best = parts;
			best_words = words;
		}
	}
	return best;
}

static PbfShape
blocked_shape(double fpr)
{
	PbfShape full = {PBF_BLOCKED, PBF_BLOCKED_MAX_PARTS};
	PbfShape cheapest = {PBF_BLOCKED, cheapest_parts(fpr, PBF_BLOCKED, PBF_BLOCKED_MAX_PARTS)};
	double limit = reference_words(fpr, PBF_BLOCKED, cheapest.parts) * FULL_LINE_WORTH;

	return reference_words(fpr, PBF_BLOCKED, full.parts) <= limit ? full : cheapest;
}

static PbfShape
plain_shape(double fpr)
{
	PbfShape shape = {PBF_PLAIN, cheapest_parts(fpr, PBF_PLAIN, PBF_PLAIN_MAX_PARTS)};
	double limit = reference_words(fpr, PBF_PLAIN, shape.parts) * FEWER_PARTS_WORTH;

	while (shape.parts > 1 && reference_words(fpr, PBF_PLAIN, shape.parts - 1) <= limit)
		shape.parts--;
	return shape;
}

PbfShape
pbf_shape_for(double fpr, PbfLayoutChoice choice)
{
	PbfShape plain = plain_shape(fpr), blocked = blocked_shape(fpr);

	if (choice == PBF_CHOOSE_AUTO)
		choice = reference_words(fpr, PBF_BLOCKED, blocked.parts) <=
		                 reference_words(fpr, PBF_PLAIN, plain.parts) * BLOCKED_WORTH
		             ? PBF_CHOOSE_BLOCKED
		             : PBF_CHOOSE_PLAIN;
	return choice == PBF_CHOOSE_BLOCKED ? blocked : plain;
}

static PbfGeometry
geometry_of(const PbfShape *shape, double count)
{
	if (shape->layout == PBF_BLOCKED)
		return (PbfGeometry){PBF_BLOCKED, (uint32_t) count, shape->parts, PBF_BLOCKED_PART_BITS};
	return (PbfGeometry){PBF_PLAIN, 1, shape->parts, (uint32_t) (count * PBF_WORD_BITS)};
}

static double
bytes_of(const PbfShape *shape, double count)
{
	return PBF_HEADER_BYTES + count * shape->parts * sizeof(uint64_t);
}

static bool
too_large(const PbfShape *shape, double count)
{
	return bytes_of(shape, count) > (double) PBF_MAX_BYTES;
}

/* Small filters of one size differ much: of 100 keys at 1e-4, every sixth has more than 1.25 times the mean.
 */
static bool
unlucky_too(double n, double fpr, const PbfGeometry *g)
{
	return pbf_fpr_of(g, n) + UNLUCKY_DEVIATIONS * pbf_fpr_deviation(g, n) <= UNLUCKY_RATE * fpr;
}

bool
pbf_size_for(double capacity, double fpr, const PbfShape *shape, PbfGeometry *g, double *needed)
{
	double count, words;
	double n = fmax(capacity, 1); /* a filter for nothing must still hold a key well */

	/* Far too large a filter is refused without searching for its size. */
	words = words_for(REFERENCE_KEYS, fpr, shape, &count) * (n / REFERENCE_KEYS);
	*needed = PBF_HEADER_BYTES + words * sizeof(uint64_t);
	if (*needed > 2.0 * PBF_MAX_BYTES)
		return false;
	words_for(n, fpr, shape, &count);
	for (; !too_large(shape, count); count = ceil(count * GROWTH_STEP))
	{
		*g = geometry_of(shape, count);
		if (unlucky_too(n, fpr, g))
			break;
	}
	count = round_for_halving(count);
	*needed = bytes_of(shape, count);
	if (too_large(shape, count))
		return false;
	*g = geometry_of(shape, count);
	return true;
}

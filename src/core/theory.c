/*
 * theory.c: false positive rates of partitioned filters.
 */
#include <math.h>

#include "theory.h"

/* Rate of one part of `part_bits` bits after n keys: 1 - (1 - 1/w)^n, without cancellation. */
static double
part_fill(double n, double part_bits)
{
	if (n <= 0)
		return 0;
	if (part_bits <= 1)
		return 1;
	return -expm1(n * log1p(-1 / part_bits));
}

double
pbf_fpr_plain(double n, double parts, double part_bits)
{
	return pow(part_fill(n, part_bits), parts);
}

#define SATURATED_LOAD 60 /* keys a part bit: e^-60 of the bits are still empty, no double sees them */

/* x^k for a small whole k: cheaper than pow(), and this is the inner loop of sizing. */
static double
power(double x, unsigned k)
{
	double result = 1;

	for (; k > 0; k >>= 1, x *= x)
	{
		if (k & 1)
			result *= x;
	}
	return result;
}

/* The rate of a block of i keys, from empty = (1 - 1/w)^i. */
typedef double (*LoadFunction)(double i, double empty, unsigned parts, double part_bits);

static inline double
rate_at_load(double i, double empty, unsigned parts, double part_bits)
{
	(void) i;
	(void) part_bits;
	return power(1 - empty, parts);
}

/* The mean square of the rate of such blocks. */
static inline double
square_at_load(double i, double empty, unsigned parts, double part_bits)
{
	double pair_empty = pow(fmax(1 - 2 / part_bits, 0), i);

	return power(1 - 2 * empty + empty / part_bits + (1 - 1 / part_bits) * pair_empty, parts);
}

/*
 * Mean of f over the loads of a block, a binomial distribution. The sum starts at its mode and goes both ways
 * until what is left cannot matter: f is at most 1, so the probabilities themselves bound the upper tail; f
 * falls with the load, so the lower tail is bounded by its probability. Probabilities are taken relative to
 * the mode's and normalised at the end: no factorials, hence no cancellation at large n. Inline, and f with
 * it: this is the inner loop of sizing.
 */
static inline double
mean_over_loads(LoadFunction f, double n, double blocks, unsigned parts, double part_bits)
{
	double stay = 1 - 1 / part_bits;
	double odds = (1 / blocks) / (1 - 1 / blocks);
	double mode = fmin(floor((n + 1) / blocks), n);
	double total = 1, sum = f(mode, pow(stay, mode), parts, part_bits);
	double p, empty, i;

	for (i = mode, p = 1, empty = pow(stay, mode); i < n && (p > sum * 1e-17 || sum == 0); i++)
	{
		p *= (n - i) / (i + 1) * odds;
		empty *= stay;
		total += p;
		sum += p * f(i + 1, empty, parts, part_bits);
	}
	for (i = mode, p = 1, empty = pow(stay, mode); i > 0 && p > 1e-17; i--)
	{
		p *= i / (n - i + 1) / odds;
		empty /= stay;
		total += p;
		sum += p * f(i - 1, empty, parts, part_bits);
	}
	return sum / total;
}

double
pbf_fpr_blocked(double n, double blocks, double parts, double part_bits)
{
	if (blocks <= 1 || n / blocks > part_bits * SATURATED_LOAD)
		return pbf_fpr_plain(n / blocks, parts, part_bits);
	return mean_over_loads(rate_at_load, floor(n + 0.5), blocks, (unsigned) parts, part_bits);
}

double
pbf_fpr_of(const PbfGeometry *g, double n)
{
	if (g->layout == PBF_BLOCKED)
		return pbf_fpr_blocked(n, g->blocks, g->parts, g->part_bits);
	return pbf_fpr_plain(n, g->parts, g->part_bits);
}

double
pbf_fpr_deviation(const PbfGeometry *g, double n)
{
	double mean = pbf_fpr_of(g, n), square;

	if (g->blocks <= 1)
		square = square_at_load(n, 1 - part_fill(n, g->part_bits), g->parts, g->part_bits);
	else if (n / g->blocks > g->part_bits * (double) SATURATED_LOAD)
		return 0;
	else
		square = mean_over_loads(square_at_load, floor(n + 0.5), g->blocks, g->parts, g->part_bits);
	return sqrt(fmax(square - mean * mean, 0) / g->blocks);
}

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

/*
 * The sum starts at the mode of the binomial and goes both ways until what is left cannot matter: a rate is
 * at most 1, so the probabilities themselves bound the upper tail; the rate falls with the load, so the lower
 * tail is bounded by its probability. Probabilities are taken relative to the mode's and normalised at the
 * end: no factorials, hence no cancellation at large n. empty = (1 - 1/w)^i goes along with i.
 */
double
pbf_fpr_blocked(double n, double blocks, double parts, double part_bits)
{
	unsigned k = (unsigned) parts;
	double stay = 1 - 1 / part_bits;
	double odds, mode, p, empty, total, sum, i;

	if (blocks <= 1 || n / blocks > part_bits * SATURATED_LOAD)
		return pbf_fpr_plain(n / blocks, parts, part_bits);
	n = floor(n + 0.5);
	odds = (1 / blocks) / (1 - 1 / blocks);
	mode = fmin(floor((n + 1) / blocks), n);
	total = 1;
	sum = pbf_fpr_plain(mode, parts, part_bits);
	for (i = mode, p = 1, empty = pow(stay, mode); i < n && (p > sum * 1e-17 || sum == 0); i++)
	{
		p *= (n - i) / (i + 1) * odds;
		empty *= stay;
		total += p;
		sum += p * power(1 - empty, k);
	}
	for (i = mode, p = 1, empty = pow(stay, mode); i > 0 && p > 1e-17; i--)
	{
		p *= i / (n - i + 1) / odds;
		empty /= stay;
		total += p;
		sum += p * power(1 - empty, k);
	}
	return sum / total;
}

double
pbf_fpr_of(const PbfGeometry *g, double n)
{
	if (g->layout == PBF_BLOCKED)
		return pbf_fpr_blocked(n, g->blocks, g->parts, g->part_bits);
	return pbf_fpr_plain(n, g->parts, g->part_bits);
}

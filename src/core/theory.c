/*
 * theory.c: false positive rates and related probabilities, see theory.h.
 *
 * The closed forms of the paper for standard filters, and that of a blocked filter, are sums of large terms
 * of alternating signs: at k = 64 and a half-full filter all digits of a double are lost, at low loads
 * hundreds of digits. Here all of them are computed as one question, whose answer has positive terms only:
 *
 *    There are `targets` bits to be covered, the ones that a look-up asks for. Each of a number of trials
 * hits some of them with a small probability. What is the probability that in the end all are covered?
 *
 *    1. The number of hits is binomial. Its probabilities follow from each other by multiplication
 * (all_covered).
 *    2. The number of bits covered after one, two, ... hits is a Markov chain that only goes up (hit).
 *    3. The answer is the sum, over the number of hits, of its probability times that of full cover by then.
 *
 * Standard filter, element with d distinct positions: a trial is one of the n k hashes; it hits with
 * probability d/m, and then one of the d bits. Blocked filter: a trial is one of n keys; it hits if it falls
 * on the block and on at least one of the k bits there.
 */
#include <math.h>
#include <string.h>

#include "theory.h"

#define MAX_TARGETS PBF_PLAIN_MAX_PARTS
#define SATURATED \
	45 /* hits a target: it is empty with probability e^-45, 64 such cannot be seen in a double */
#define NEGLIGIBLE 1e-17    /* of a sum, for what is left of it: below the rounding of a double */
#define RESCALE_ABOVE 1e150 /* far from overflow, for one more factor too */

/* Probability that at least one of so many independent events, each of probability p, happens. */
static double
at_least_one(double events, double p)
{
	if (events <= 0)
		return 0;
	if (p >= 1)
		return 1;
	return -expm1(events * log1p(-p));
}

double
pbf_fpr_plain(double n, double parts, double part_bits)
{
	return pow(at_least_one(n, 1 / part_bits), parts);
}

/* How one hit covers targets: advance[c][b] is the probability that with c covered it covers b more. */
typedef struct Hit
{
	unsigned targets;
	unsigned reach; /* a hit covers at most that many */
	double advance[MAX_TARGETS + 1][MAX_TARGETS + 1];
} Hit;

/* covered[c]: probability that c targets are covered. One hit more. */
static void
hit(const Hit *h, double covered[MAX_TARGETS + 1])
{
	for (unsigned to = h->targets + 1; to-- > 0;)
	{
		double sum = 0;

		for (unsigned b = 0; b <= h->reach && b <= to; b++)
			sum += covered[to - b] * h->advance[to - b][b];
		covered[to] = sum;
	}
}

/*
 * Probability that all targets are covered after a whole number of trials, each of which is a hit with
 * probability p. The weights are binomial probabilities relative to that of no hit, divided by their total in
 * the end, and scaled down when they become too large.
 */
static double
all_covered(const Hit *h, double trials, double p)
{
	double covered[MAX_TARGETS + 1] = {1};
	double odds = p / (1 - p), weight = 1, total = 0, sum = 0;

	for (double i = 0;; i++)
	{
		total += weight;
		sum += weight * covered[h->targets];
		if (i >= trials || ((trials - i) * odds < i + 1 && weight <= sum * NEGLIGIBLE))
			return fmin(sum / total, 1);
		weight *= (trials - i) / (i + 1) * odds;
		hit(h, covered);
		if (weight > RESCALE_ABOVE)
		{
			total /= weight;
			sum /= weight;
			weight = 1;
		}
	}
}

/* If every trial is a hit. */
static double
all_covered_surely(const Hit *h, double hits)
{
	double covered[MAX_TARGETS + 1] = {1};

	for (double i = 0; i < hits; i++)
		hit(h, covered);
	return covered[h->targets];
}

/* Whether each target is covered as surely as a double can tell, p being the probability that a trial covers
 * it. */
static bool
saturated(double trials, double p)
{
	return trials > 0 && (p >= 1 || trials * -log1p(-p) > SATURATED);
}

double
pbf_fpr_standard_element(double n, double m, unsigned k, unsigned d)
{
	Hit h = {d, 1, {{0}}};
	double hashes = n * k;

	if (saturated(hashes, 1 / m))
		return 1;
	for (unsigned c = 0; c <= d; c++)
	{
		h.advance[c][0] = (double) c / d;
		h.advance[c][1] = (double) (d - c) / d;
	}
	return d < m ? all_covered(&h, hashes, d / m) : all_covered_surely(&h, hashes);
}

/* distinct[d]: probability that k hashes give d distinct positions out of m. */
static void
distinct_positions(double m, unsigned k, double distinct[MAX_TARGETS + 1])
{
	memset(distinct, 0, (MAX_TARGETS + 1) * sizeof(double));
	distinct[0] = 1;
	for (unsigned hash = 1; hash <= k; hash++)
	{
		for (unsigned d = hash; d > 0; d--)
			distinct[d] = distinct[d] * (d / m) + distinct[d - 1] * fmax(0, (m - (d - 1)) / m);
		distinct[0] = 0;
	}
}

double
pbf_collision_probability(double m, unsigned k, unsigned c)
{
	double distinct[MAX_TARGETS + 1];

	distinct_positions(m, k, distinct);
	return distinct[k - c];
}

double
pbf_fpr_standard(double n, double m, unsigned k)
{
	double distinct[MAX_TARGETS + 1], sum = 0;

	distinct_positions(m, k, distinct);
	for (unsigned d = 1; d <= k && d <= m; d++)
		sum += distinct[d] * pbf_fpr_standard_element(n, m, k, d);
	return fmin(sum, 1);
}

double
pbf_fpr_standard_approx(double n, double m, unsigned k)
{
	return pbf_fpr_plain(n * k, k, m);
}

/*
 * What a key does that falls on the block and covers at least one of the k bits, one in each part. With c
 * bits covered before, the others are k - c trials of their own; nothing new is covered if the key hits only
 * old ones.
 */
static void
blocked_hit(Hit *h, unsigned k, double part_bits)
{
	double p = 1 / part_bits, some = at_least_one(k, p);
	double stay[MAX_TARGETS + 1] = {1}; /* stay[j] = (1 - p)^j */

	for (unsigned j = 1; j <= k; j++)
		stay[j] = stay[j - 1] * (1 - p);
	h->targets = h->reach = k;
	for (unsigned c = 0; c <= k; c++)
	{
		double ways = 1; /* (k - c over b) p^b */

		h->advance[c][0] = stay[k - c] * at_least_one(c, p) / some;
		for (unsigned b = 1; b <= k - c; b++)
		{
			ways *= p * (k - c - b + 1) / b;
			h->advance[c][b] = ways * stay[k - c - b] / some;
		}
	}
}

double
pbf_fpr_blocked(double n, double blocks, double parts, double part_bits)
{
	Hit h;

	if (blocks <= 1)
		return pbf_fpr_plain(n, parts, part_bits);
	n = floor(n + 0.5);
	if (saturated(n, 1 / (blocks * part_bits)))
		return 1;
	blocked_hit(&h, (unsigned) parts, part_bits);
	return all_covered(&h, n, at_least_one(parts, 1 / part_bits) / blocks);
}

double
pbf_fpr_of(const PbfGeometry *g, double n)
{
	if (g->layout == PBF_BLOCKED)
		return pbf_fpr_blocked(n, g->blocks, g->parts, g->part_bits);
	return pbf_fpr_plain(n, g->parts, g->part_bits);
}

/* x^k for a small whole k. */
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

/* Mean square of the rates of blocks (one plain filter is one) of i keys each: of k parts of w bits. */
static double
square_at_load(double i, unsigned k, double w)
{
	double empty = 1 - at_least_one(i, 1 / w), pair_empty = w > 2 ? 1 - at_least_one(i, 2 / w) : 0;

	return power(1 - 2 * empty + empty / w + (1 - 1 / w) * pair_empty, k);
}

/*
 * Mean of that over the loads of a block, a binomial distribution: from its mode both ways until what is left
 * cannot matter, with probabilities relative to the mode's, normalised at the end.
 */
static double
mean_square_rate(double n, double blocks, unsigned k, double w)
{
	double odds = (1 / blocks) / (1 - 1 / blocks), mode = fmin(floor((n + 1) / blocks), n);
	double total = 1, sum = square_at_load(mode, k, w), p, i;

	for (i = mode, p = 1; i < n && (p > sum * NEGLIGIBLE || sum == 0); i++)
	{
		p *= (n - i) / (i + 1) * odds;
		total += p;
		sum += p * square_at_load(i + 1, k, w);
	}
	for (i = mode, p = 1; i > 0 && p > NEGLIGIBLE; i--)
	{
		p *= i / (n - i + 1) / odds;
		total += p;
		sum += p * square_at_load(i - 1, k, w);
	}
	return sum / total;
}

double
pbf_fpr_deviation(const PbfGeometry *g, double n)
{
	double mean = pbf_fpr_of(g, n), square;

	n = floor(n + 0.5);
	if (saturated(n, 1 / ((double) g->blocks * g->part_bits)))
		return 0;
	square = g->blocks == 1 ? square_at_load(n, g->parts, g->part_bits)
	                        : mean_square_rate(n, g->blocks, g->parts, g->part_bits);
	return sqrt(fmax(square - mean * mean, 0) / g->blocks);
}

double
pbf_false_overlap_standard(double n1, double n2, double m, unsigned k)
{
	return at_least_one(n1 * n2 * k * k, 1 / m);
}

double
pbf_false_overlap_partitioned(double n1, double n2, double m, unsigned k)
{
	return pbf_fpr_plain(n1 * n2, k, m / k);
}

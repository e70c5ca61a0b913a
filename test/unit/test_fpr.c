/*
 * test_fpr.c: measured false positive rates against theory.h.
 *
 * For each geometry and load, rates of filters of different keys are averaged until at least 40,000 false
 * positives are expected: their standard error is then 0.5 %. The filters themselves vary too, by
 * less than that in the mean of the numbers of filters here. So 5 % is more than 5 standard errors.
 */
#include <math.h>
#include <string.h>
#include "test.h"

#define WANTED 40000.0
#define MIN_FILTERS 20
#define BATCH 1024
#define TOLERANCE 0.05

/* Share of keys that were not added which filter number `seed` with n keys contains. */
static double
false_positives(const PbfGeometry *g, size_t n, uint64_t probes, uint64_t seed)
{
	uint64_t *words = allocate(pbf_words(g) * sizeof(uint64_t));
	uint64_t *h = allocate(n * sizeof(uint64_t));
	int64_t first = (int64_t) (seed << 40);
	uint64_t hits = 0, done;

	int_hashes(h, n, first);
	pbf_filter_add_many(g, words, h, n);
	for (done = 0; done < probes; done += BATCH)
	{
		uint64_t probe[BATCH];
		uint8_t hit[BATCH];

		int_hashes(probe, BATCH, first + (INT64_C(1) << 39) + (int64_t) done);
		pbf_filter_contains_many(g, words, probe, BATCH, hit);
		for (int i = 0; i < BATCH; i++)
			hits += hit[i];
	}
	free(words);
	free(h);
	return (double) hits / (double) done;
}

/* load: keys a part bit and block. */
static void
check_rate(PbfGeometry g, double load)
{
	size_t n = (size_t) (load * g.blocks * g.part_bits);
	double expected = pbf_fpr_of(&g, (double) n), sum = 0;
	/* small filters differ more from each other */
	int filters = g.blocks * g.part_bits < 20000 ? 10 * MIN_FILTERS : MIN_FILTERS;
	uint64_t probes = (uint64_t) (WANTED / expected / filters) + 1;

	for (int i = 1; i <= filters; i++)
		sum += false_positives(&g, n, probes, (uint64_t) i);
	sum /= filters;
	CHECK_FOR(fabs(sum / expected - 1) < TOLERANCE,
	          "%u blocks, %u parts of %u, %zu keys: measured %g, theory %g", g.blocks, g.parts, g.part_bits,
	          n, sum, expected);
}

static void
fpr_blocked(void)
{
	static const uint32_t blocks[] = {1, 10, 333, 5000};
	static const uint32_t parts[] = {1, 3, 8};
	static const double loads[] = {0.6, 1.2};

	for (size_t i = 0; i < COUNT(blocks); i++)
	{
		for (size_t j = 0; j < COUNT(parts); j++)
		{
			for (size_t k = 0; k < COUNT(loads); k++)
				check_rate((PbfGeometry){PBF_BLOCKED, blocks[i], parts[j], 64}, loads[k]);
		}
	}
}

static void
fpr_plain(void)
{
	static const uint32_t part_bits[] = {100, 1000, 4096, 50001};
	static const uint32_t parts[] = {1, 4, 10, 13};
	static const double loads[] = {0.4, 0.8};

	for (size_t i = 0; i < COUNT(part_bits); i++)
	{
		for (size_t j = 0; j < COUNT(parts); j++)
		{
			for (size_t k = 0; k < COUNT(loads); k++)
			{
				if (loads[k] > 0.5 || parts[j] < 8) /* the rest would take too long: rates below 1e-4 */
					check_rate((PbfGeometry){PBF_PLAIN, 1, parts[j], part_bits[i]}, loads[k]);
			}
		}
	}
}

/* The rate of a filter from the fills of its parts: what probes would measure, without their noise. */
static double
rate_from_fills(const PbfGeometry *g, const uint64_t *words)
{
	double sum = 0;

	for (uint32_t b = 0; b < g->blocks; b++)
	{
		double rate = 1;

		for (uint32_t part = 0; part < g->parts; part++)
		{
			uint64_t set = 0;

			for (uint64_t i = 0; i < pbf_part_words(g); i++)
				set += (uint64_t) __builtin_popcountll(*words++);
			rate *= (double) set / g->part_bits;
		}
		sum += rate;
	}
	return sum / g->blocks;
}

#define LUCK_FILTERS 2000

/*
 * Filters as pbf_size_for makes them for few keys: their mean is the formula's, their standard deviation
 * is not above it (it gives up to three times too much where rates are high), and fewer than 1 in 200 has
 * more than 1.25 times the rate asked for.
 */
static void
check_luck(size_t n, double fpr, PbfLayoutChoice choice)
{
	PbfShape shape = pbf_shape_for(fpr, choice);
	PbfGeometry g;
	double needed, sum = 0, squares = 0, mean, deviation;
	uint64_t *words, *h = allocate(n * sizeof(uint64_t));
	int unlucky = 0;

	CHECK(pbf_size_for((double) n, fpr, &shape, &g, &needed));
	words = allocate(pbf_words(&g) * sizeof(uint64_t));
	for (int i = 0; i < LUCK_FILTERS; i++)
	{
		double rate;

		memset(words, 0, pbf_words(&g) * sizeof(uint64_t));
		int_hashes(h, n, (int64_t) i << 20);
		pbf_filter_add_many(&g, words, h, n);
		rate = rate_from_fills(&g, words);
		sum += rate;
		squares += rate * rate;
		unlucky += rate > 1.25 * fpr;
	}
	mean = sum / LUCK_FILTERS;
	deviation = sqrt(squares / LUCK_FILTERS - mean * mean);
	CHECK_FOR(fabs(mean / pbf_fpr_of(&g, (double) n) - 1) < 0.15, "n %zu, fpr %g: mean %g", n, fpr, mean);
	CHECK_FOR(deviation / pbf_fpr_deviation(&g, (double) n) > 0.3 &&
	              deviation / pbf_fpr_deviation(&g, (double) n) < 1.2,
	          "n %zu, fpr %g: deviation %g, theory %g", n, fpr, deviation, pbf_fpr_deviation(&g, (double) n));
	CHECK_FOR(unlucky < LUCK_FILTERS / 200, "n %zu, fpr %g: %d unlucky", n, fpr, unlucky);
	free(words);
	free(h);
}

static void
fpr_of_small_filters(void)
{
	static const size_t n[] = {100, 300, 1000};
	static const double fpr[] = {.1, .01, 1e-3, 2e-4, 1e-4, 1e-5, 1e-7};

	for (size_t i = 0; i < COUNT(n); i++)
	{
		for (size_t j = 0; j < COUNT(fpr); j++)
		{
			check_luck(n[i], fpr[j], PBF_CHOOSE_AUTO);
			if (fpr[j] > 1e-5)
				check_luck(n[i], fpr[j], PBF_CHOOSE_BLOCKED);
		}
	}
}

void
fpr_tests(void)
{
	const PbfKernel *before = pbf_kernel;

	pbf_kernel_use(pbf_kernel_find("auto"));
	TEST(fpr_blocked);
	TEST(fpr_plain);
	TEST(fpr_of_small_filters);
	pbf_kernel_use(before);
}

/*
 * test_fpr.c: measured false positive rates against theory.h.
 *
 * For each geometry and load, rates of filters of different keys are averaged until at least 40,000 false
 * positives are expected: their standard error is then 0.5 %. The filters themselves vary too, by
 * less than that in the mean of the numbers of filters here. So 5 % is more than 5 standard errors.
 */
#include <math.h>
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

void
fpr_tests(void)
{
	const PbfKernel *before = pbf_kernel;

	pbf_kernel_use(pbf_kernel_find("auto"));
	TEST(fpr_blocked);
	TEST(fpr_plain);
	pbf_kernel_use(before);
}

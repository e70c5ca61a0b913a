/*
 * experiment.c: measures what the paper computes. Standard filters and double hashing are made here,
 * partitioned and blocked filters are the product's own (src/core). All of them get their positions from the
 * product's hash.
 *
 *    experiment NAME SCALE BATCH     SCALE 1: as for doc/paper.md; 0.05: a quick look
 *
 * Prints lines of: experiment, m, k, n, argument, what, mean, standard error of the mean, number of trials;
 * separated by tabs. Keys are whole numbers and are never used twice; those of each BATCH are others. The
 * same batch gives the same results in every run.
 *
 * The standard error comes from the spread between filters, which are independent; probes of one filter are
 * not.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "hash.h"
#include "position.h"
#include "theory.h"

#define MAX_K 64
#define MAX_WORDS 1024 /* of a small filter: 65536 bits */
#define CLASSES 4      /* elements with 0 to 3 collisions */
#define BATCH_SHIFT 40 /* more keys than a batch takes: 2^40 */

typedef struct Setting
{
	uint32_t m, k;
	uint64_t n;
} Setting;

static double scale;
static int64_t next_key;

static uint64_t
fresh_hash(void)
{
	return pbf_hash_int64(next_key++);
}

static uint64_t
scaled(double count)
{
	return (uint64_t) fmax(count * scale, 100);
}

/* --- means and their standard errors
 * ----------------------------------------------------------------------------- */

typedef struct Mean
{
	double filters, sum, squares, trials;
} Mean;

/* What one filter gave: a rate, found in so many trials. */
static void
observe(Mean *mean, double rate, double trials)
{
	mean->filters++;
	mean->sum += rate;
	mean->squares += rate * rate;
	mean->trials += trials;
}

/* Never below that of one hit in all trials: no hit at all is not certainty. */
static double
standard_error(const Mean *mean)
{
	double value = mean->sum / mean->filters;
	double variance = fmax(0, mean->squares / mean->filters - value * value);

	return fmax(sqrt(variance / mean->filters), 1 / mean->trials);
}

static void
report(const char *experiment, Setting s, int argument, const char *what, const Mean *mean)
{
	printf("%s\t%u\t%u\t%llu\t%d\t%s\t%.17g\t%.17g\t%.6g\n", experiment, s.m, s.k, (unsigned long long) s.n,
	       argument, what, mean->sum / mean->filters, standard_error(mean), mean->trials);
}

/* --- filters
 * ------------------------------------------------------------------------------------------------------ */

/* Where the bits of an element are. */
typedef enum Scheme
{
	STANDARD,          /* k independent hashes over m bits */
	STANDARD_DOUBLE,   /* h1 + i h2 mod m */
	PARTITIONED_DOUBLE /* h1 + i h2 mod m / k, in part i */
} Scheme;

/* Positions that double hashing makes of h1 and h2. */
static void
double_hashing(Scheme scheme, Setting s, uint32_t h1, uint32_t h2, uint32_t position[MAX_K])
{
	uint32_t range = scheme == STANDARD_DOUBLE ? s.m : s.m / s.k;

	for (uint32_t i = 0; i < s.k; i++)
		position[i] = (h1 + i * h2) % range + (scheme == STANDARD_DOUBLE ? 0 : i * range);
}

static void
positions_of(Scheme scheme, Setting s, uint64_t h, uint32_t position[MAX_K])
{
	uint32_t range = scheme == PARTITIONED_DOUBLE ? s.m / s.k : s.m;

	if (scheme == STANDARD)
	{
		for (uint32_t i = 0; i < s.k; i++)
			position[i] = pbf_plain_bit(h, i, s.m);
	}
	else
		double_hashing(scheme, s, (uint32_t) pbf_mulhi(pbf_mix(h), range),
		               (uint32_t) pbf_mulhi(pbf_mix_positions(h), range), position);
}

static void
set_bits(uint64_t *words, const uint32_t *position, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		words[position[i] / 64] |= UINT64_C(1) << position[i] % 64;
}

static bool
all_set(const uint64_t *words, const uint32_t *position, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		if (!(words[position[i] / 64] >> position[i] % 64 & 1))
			return false;
	}
	return true;
}

static void
fill_filter(Scheme scheme, Setting s, uint64_t *words)
{
	uint32_t position[MAX_K];

	memset(words, 0, (s.m + 63) / 64 * sizeof(uint64_t));
	for (uint64_t i = 0; i < s.n; i++)
	{
		positions_of(scheme, s, fresh_hash(), position);
		set_bits(words, position, s.k);
	}
}

/* Standard filters are probed position by position: most probes end at the second. */
static bool
standard_contains(const uint64_t *words, Setting s, uint64_t h)
{
	for (uint32_t i = 0; i < s.k; i++)
	{
		uint32_t position = pbf_plain_bit(h, i, s.m);

		if (!(words[position / 64] >> position % 64 & 1))
			return false;
	}
	return true;
}

static PbfGeometry
partitioned_geometry(Setting s)
{
	return (PbfGeometry){PBF_PLAIN, 1, s.k, s.m / s.k};
}

static void
fill_partitioned(Setting s, uint64_t *words)
{
	PbfGeometry g = partitioned_geometry(s);

	memset(words, 0, pbf_words(&g) * sizeof(uint64_t));
	for (uint64_t i = 0; i < s.n; i++)
		pbf_filter_add(&g, words, fresh_hash());
}

static uint32_t
popcount(const uint64_t *words, uint32_t m)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < (m + 63) / 64; i++)
		count += (uint32_t) __builtin_popcountll(words[i]);
	return count;
}

/* The share of all possible probes that a standard filter of these bits answers wrongly: every k positions.
 */
static double
standard_share(const uint64_t *words, Setting s)
{
	return pow((double) popcount(words, s.m) / s.m, s.k);
}

static double
partitioned_share(const PbfGeometry *g, const uint64_t *words)
{
	double share[PBF_PLAIN_MAX_PARTS];

	pbf_filter_fpr(g, words, share);
	return share[g->parts - 1];
}

/* --- rates: tables 1 and 2
 * ---------------------------------------------------------------------------------------- */

static uint64_t
nominal(uint32_t m, uint32_t k, double occupation)
{
	return (uint64_t) floor(m / (double) k * log(2) * occupation);
}

static const Setting sizes[] = {{64, 4, 0},   {64, 8, 0},   {512, 4, 0},  {512, 8, 0},
                                {512, 16, 0}, {4096, 4, 0}, {4096, 8, 0}, {4096, 16, 0}};
static const int quarters[] = {4, 2, 1}; /* full, half, a quarter of nominal occupation is 4 / quarter */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* All probes that there are, counted from the bits. */
static void
rates_by_counting(Setting s, int divisor)
{
	static uint64_t words[MAX_WORDS];
	PbfGeometry g = partitioned_geometry(s);
	Mean standard = {0}, partitioned = {0};
	double all = pow(s.m, s.k), all_partitioned = pow(s.m / s.k, s.k);

	for (uint64_t i = scaled(20000); i > 0; i--)
	{
		fill_filter(STANDARD, s, words);
		observe(&standard, standard_share(words, s), all);
		fill_partitioned(s, words);
		observe(&partitioned, partitioned_share(&g, words), all_partitioned);
	}
	report("counted", s, divisor, "standard", &standard);
	report("counted", s, divisor, "partitioned", &partitioned);
}

/* Elements that were not added, looked up one by one. */
static void
rates_by_probing(Setting s)
{
	static uint64_t words[MAX_WORDS];
	PbfGeometry g = partitioned_geometry(s);
	Mean standard = {0}, partitioned = {0};
	uint64_t probes = s.k == 16 ? 40000 : 2000;

	for (uint64_t i = scaled(2000); i > 0; i--)
	{
		uint64_t hits = 0, partitioned_hits = 0;

		fill_filter(STANDARD, s, words);
		for (uint64_t j = 0; j < probes; j++)
			hits += standard_contains(words, s, fresh_hash());
		fill_partitioned(s, words);
		for (uint64_t j = 0; j < probes; j++)
			partitioned_hits += pbf_filter_contains(&g, words, fresh_hash());
		observe(&standard, (double) hits / (double) probes, (double) probes);
		observe(&partitioned, (double) partitioned_hits / (double) probes, (double) probes);
	}
	report("probed", s, 1, "standard", &standard);
	report("probed", s, 1, "partitioned", &partitioned);
}

static void
rates(void)
{
	for (size_t i = 0; i < COUNT(sizes); i++)
	{
		Setting s = sizes[i];

		for (size_t j = 0; j < COUNT(quarters); j++)
		{
			s.n = nominal(s.m, s.k, 1.0 / quarters[j]);
			rates_by_counting(s, quarters[j]);
		}
		rates_by_probing(s);
	}
}

/* --- elements: tables 3 and 4, tail distribution
 * ------------------------------------------------------------------ */

static uint32_t
distinct(uint32_t *position, uint32_t count)
{
	uint32_t d = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t j = 0;

		while (j < d && position[j] != position[i])
			j++;
		if (j == d)
			position[d++] = position[i];
	}
	return d;
}

#define POOL 200 /* elements of a class */

/* Elements of the domain, by collisions. */
typedef struct Pool
{
	uint32_t found[CLASSES];
	uint32_t position[CLASSES][POOL][MAX_K];
} Pool;

static void
report_collisions(Setting s, const uint64_t *count, uint64_t elements)
{
	for (int c = 0; c < CLASSES; c++)
	{
		double p = (double) count[c] / (double) elements;
		Mean mean = {(double) elements, (double) count[c], (double) count[c], (double) elements};

		printf("collisions\t%u\t%u\t0\t%d\tshare\t%.17g\t%.17g\t%llu\n", s.m, s.k, c, p,
		       standard_error(&mean), (unsigned long long) elements);
	}
}

/* Looks at the collisions of many elements, and keeps the first of each class. */
static void
collect(Setting s, Pool *pool)
{
	uint64_t elements = scaled(2e7), count[MAX_K] = {0};
	uint32_t position[MAX_K];

	memset(pool->found, 0, sizeof(pool->found));
	for (uint64_t i = 0; i < elements; i++)
	{
		uint32_t c;

		positions_of(STANDARD, s, fresh_hash(), position);
		c = s.k - distinct(position, s.k);
		count[c]++;
		if (c < CLASSES && pool->found[c] < POOL)
			memcpy(pool->position[c][pool->found[c]++], position, sizeof(position));
	}
	report_collisions(s, count, elements);
}

static void
look_up_pool(const uint64_t *words, Setting s, const Pool *pool, Mean mean[CLASSES])
{
	for (uint32_t c = 0; c < CLASSES; c++)
	{
		uint32_t hits = 0;

		for (uint32_t i = 0; i < pool->found[c]; i++)
			hits += all_set(words, pool->position[c][i], s.k - c);
		if (pool->found[c] > 0)
			observe(&mean[c], (double) hits / pool->found[c], pool->found[c]);
	}
}

static void
elements(void)
{
	static const Setting element_sizes[] = {{64, 4, 0}, {64, 8, 0}, {512, 8, 0}, {512, 16, 0}};
	static uint64_t words[MAX_WORDS];
	static Pool pool;

	for (size_t i = 0; i < COUNT(element_sizes); i++)
	{
		Setting s = element_sizes[i];

		collect(s, &pool);
		for (size_t j = 0; j < COUNT(quarters); j++)
		{
			Mean mean[CLASSES] = {{0}};

			s.n = nominal(s.m, s.k, 1.0 / quarters[j]);
			for (uint64_t r = scaled(100000); r > 0; r--)
			{
				fill_filter(STANDARD, s, words);
				look_up_pool(words, s, &pool, mean);
			}
			for (int c = 0; c < CLASSES; c++)
			{
				if (mean[c].filters > 0)
					report("element", s, c,
					       quarters[j] == 1   ? "1/1"
					       : quarters[j] == 2 ? "1/2"
					                          : "1/4",
					       &mean[c]);
			}
		}
	}
}

/* --- double hashing
 * ------------------------------------------------------------------------------------------------ */

static const Setting doubled = {512, 8, 44};

static const char *const scheme_names[] = {"standard", "standard, double hashing",
                                           "partitioned, double hashing"};

/* Mean rate over all elements. */
static void
double_rates(void)
{
	static uint64_t words[MAX_WORDS];
	const uint64_t probes = 2000;

	for (Scheme scheme = STANDARD; scheme <= PARTITIONED_DOUBLE; scheme++)
	{
		Mean mean = {0};

		for (uint64_t r = scaled(20000); r > 0; r--)
		{
			uint32_t position[MAX_K];
			uint64_t hits = 0;

			fill_filter(scheme, doubled, words);
			for (uint64_t i = 0; i < probes; i++)
			{
				positions_of(scheme, doubled, fresh_hash(), position);
				hits += all_set(words, position, doubled.k);
			}
			observe(&mean, (double) hits / (double) probes, (double) probes);
		}
		report("double_rate", doubled, 0, scheme_names[scheme], &mean);
	}
}

/* Issue 1: elements whose h2 is 0, or a half or a quarter of the range, or 1: rate by h2. */
static void
double_issue1(Scheme scheme)
{
	static uint64_t words[MAX_WORDS];
	const uint32_t range = scheme == STANDARD_DOUBLE ? doubled.m : doubled.m / doubled.k;
	const uint32_t h2[] = {0, range / 2, range / 4, 1};
	Mean mean[COUNT(h2)] = {{0}};

	for (uint64_t r = scaled(40000); r > 0; r--)
	{
		fill_filter(scheme, doubled, words);
		for (size_t i = 0; i < COUNT(h2); i++)
		{
			uint32_t position[MAX_K], hits = 0;

			for (uint32_t h1 = 0; h1 < range; h1++)
			{
				double_hashing(scheme, doubled, h1, h2[i], position);
				hits += all_set(words, position, doubled.k);
			}
			observe(&mean[i], (double) hits / range, range);
		}
	}
	for (size_t i = 0; i < COUNT(h2); i++)
		report("double_issue1", doubled, h2[i] == 0 ? 0 : (int) (range / h2[i]), scheme_names[scheme],
		       &mean[i]);
}

static uint32_t
common_bits(Scheme scheme, uint32_t h1x, uint32_t h2x, uint32_t h1y, uint32_t h2y)
{
	uint64_t x[MAX_WORDS] = {0}, y[MAX_WORDS] = {0};
	uint32_t position[MAX_K];

	double_hashing(scheme, doubled, h1x, h2x, position);
	set_bits(x, position, doubled.k);
	double_hashing(scheme, doubled, h1y, h2y, position);
	set_bits(y, position, doubled.k);
	for (uint32_t i = 0; i < doubled.m / 64; i++)
		x[i] &= y[i];
	return popcount(x, doubled.m);
}

/*
 * Issue 2: y begins where x ends, and goes back. Issue 3: y has the h2 of x. For all odd h2, which issue 1
 * does not touch, and all h1: mean number of common bits, share of pairs with at least half of the bits, and
 * with all.
 */
static void
double_issues23(Scheme scheme)
{
	const uint32_t range = scheme == STANDARD_DOUBLE ? doubled.m : doubled.m / doubled.k, k = doubled.k;
	Mean backward = {0}, some = {0}, half = {0}, all = {0};

	for (uint32_t h2 = 1; h2 < range; h2 += 2)
	{
		observe(&backward, common_bits(scheme, 0, h2, (k - 1) * h2 % range, range - h2), 1);
		for (uint32_t h1 = 0; h1 < range; h1++)
		{
			uint32_t common = common_bits(scheme, 0, h2, h1, h2);

			observe(&some, common >= 1, 1);
			observe(&half, common >= k / 2, 1);
			observe(&all, common == k, 1);
		}
	}
	report("double_issue2", doubled, 0, scheme_names[scheme], &backward);
	report("double_issue3", doubled, 1, scheme_names[scheme], &some);
	report("double_issue3", doubled, 4, scheme_names[scheme], &half);
	report("double_issue3", doubled, 8, scheme_names[scheme], &all);
}

static void
double_hashings(void)
{
	double_rates();
	for (Scheme scheme = STANDARD_DOUBLE; scheme <= PARTITIONED_DOUBLE; scheme++)
	{
		double_issue1(scheme);
		double_issues23(scheme);
	}
}

/* --- two filters of disjoint sets
 * --------------------------------------------------------------------------------- */

static bool
and_into(uint64_t *a, const uint64_t *b, uint32_t m)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < (m + 63) / 64; i++)
		any |= a[i] &= b[i];
	return any != 0;
}

static void
overlap(Setting s)
{
	static uint64_t a[MAX_WORDS], b[MAX_WORDS];
	PbfGeometry g = partitioned_geometry(s);
	Mean standard = {0}, partitioned = {0}, standard_and = {0}, partitioned_and = {0};

	for (uint64_t i = scaled(200000); i > 0; i--)
	{
		fill_filter(STANDARD, s, a);
		fill_filter(STANDARD, s, b);
		observe(&standard, and_into(a, b, s.m), 1);
		observe(&standard_and, standard_share(a, s), pow(s.m, s.k));
		fill_partitioned(s, a);
		fill_partitioned(s, b);
		observe(&partitioned, pbf_filter_overlaps(&g, a, b), 1);
		pbf_filter_intersect(&g, a, b);
		observe(&partitioned_and, partitioned_share(&g, a), pow(g.part_bits, g.parts));
	}
	report("overlap", s, 0, "standard", &standard);
	report("overlap", s, 0, "partitioned", &partitioned);
	report("intersection", s, 0, "standard", &standard_and);
	report("intersection", s, 0, "partitioned", &partitioned_and);
}

static void
overlaps(void)
{
	static const Setting pairs[] = {{512, 8, 2},   {512, 8, 5},   {512, 8, 10},  {4096, 4, 10}, {4096, 8, 5},
	                                {4096, 8, 10}, {4096, 8, 20}, {4096, 8, 40}, {4096, 16, 20}};

	for (size_t i = 0; i < COUNT(pairs); i++)
		overlap(pairs[i]);
}

/* --- size reduction
 * ------------------------------------------------------------------------------------------------ */

#define WHOLE_PARTS 16
#define WHOLE_PART_BITS 4096

/* The rate of a filter folded and cut to so many parts, from its bits. */
static double
reduced_share(const PbfGeometry *g, const uint64_t *words, uint32_t folds, uint32_t parts)
{
	static uint64_t folded[MAX_WORDS], cut[MAX_WORDS];
	PbfGeometry small = {PBF_PLAIN, 1, g->parts, g->part_bits >> folds};

	memset(folded, 0, sizeof(folded));
	pbf_filter_resize(g, words, &small, folded, (PbfSlice){0, 1});
	pbf_filter_reduce(&small, folded, parts, cut);
	small.parts = parts;
	return partitioned_share(&small, cut);
}

/* The position of a bit modulo the new size. */
static double
modulo_share(const uint64_t *words, Setting s, uint32_t divisor)
{
	static uint64_t small[MAX_WORDS];
	Setting reduced = {s.m / divisor, s.k, s.n};
	uint32_t stride = reduced.m / 64;

	memset(small, 0, sizeof(small));
	for (uint32_t i = 0; i < s.m / 64; i++)
		small[i % stride] |= words[i];
	return standard_share(small, reduced);
}

/* One filling, reduced to 1 / 2^halvings: by each number of folds, the rest of the way by dropping parts. */
static void
reduction(uint64_t n, uint32_t halvings)
{
	static uint64_t words[MAX_WORDS];
	Setting s = {WHOLE_PARTS * WHOLE_PART_BITS, WHOLE_PARTS, n};
	PbfGeometry g = partitioned_geometry(s);
	Mean mix[5] = {{0}}, modulo = {0};

	for (uint64_t r = scaled(1000); r > 0; r--)
	{
		fill_partitioned(s, words);
		for (uint32_t folds = 0; folds <= halvings; folds++)
			observe(&mix[folds], reduced_share(&g, words, folds, g.parts >> (halvings - folds)),
			        pow(g.part_bits, g.parts));
		fill_filter(STANDARD, s, words);
		observe(&modulo, modulo_share(words, s, 1u << halvings), pow(s.m, s.k));
	}
	for (uint32_t folds = 0; folds <= halvings; folds++)
	{
		char what[32];

		snprintf(what, sizeof(what), "%u folds", folds);
		report("reduction", s, (int) halvings, what, &mix[folds]);
	}
	report("reduction", s, (int) halvings, "modulo", &modulo);
}

static void
reductions(void)
{
	static const double fills[] = {0.5, 0.25, 0.125, 0.0625};

	for (size_t i = 0; i < COUNT(fills); i++)
	{
		uint64_t n = (uint64_t) (log1p(-fills[i]) / log1p(-1.0 / WHOLE_PART_BITS));

		for (uint32_t halvings = 0; halvings <= 3; halvings++)
			reduction(n, halvings);
	}
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void (*run)(void);
	} experiments[] = {
	    {"rates", rates},       {"elements", elements},     {"double_hashing", double_hashings},
	    {"overlaps", overlaps}, {"reductions", reductions},
	};

	scale = argc == 4 ? atof(argv[2]) : 0;
	next_key = argc == 4 ? (int64_t) atoi(argv[3]) << BATCH_SHIFT : 0;
	pbf_kernel_use(pbf_kernel_find("auto"));
	for (size_t i = 0; i < COUNT(experiments) && scale > 0; i++)
	{
		if (strcmp(argv[1], experiments[i].name) == 0)
		{
			experiments[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: experiment rates|elements|double_hashing|overlaps|reductions SCALE BATCH\n");
	return 2;
}

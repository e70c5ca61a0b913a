/*
 * compare.c: the four Bloom variants of the paper's comparison table on one hash and in one loop. Standard
 * filters, whole and in blocks of 512 bits, are made here, with the same prefetching as the product's
 * kernels; partitioned ones are the product's own.
 *
 *    compare KEYS RATE
 *
 * Each variant gets the number of hash functions and the size for which its formula needs the fewest bits for
 * that rate. Prints lines of: variant, k, bits a key, build ns a key, look-up ns of absent keys, of present
 * keys (medians of RUNS, CPU time, hash of the key not included), rate by formula, measured rate, its
 * standard error, share of elements with a collision, their measured rate (\N: too few), measured rate at
 * half the size; separated by tabs.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter.h"
#include "hash.h"
#include "position.h"
#include "theory.h"

#define RUNS 5
#define BLOCK_BITS 512
#define POSITION_BITS 9 /* log2 of BLOCK_BITS */
#define MAX_K 16
#define MAX_LOAD 256 /* elements of a block; with more than that its rate is 1 */
#define WINDOW PBF_PREFETCH_WINDOW

typedef struct Variant
{
	const char *name;
	bool partitioned, blocked;
	uint32_t k;
	double units; /* blocks; of whole filters bits, a multiple of k if partitioned */
} Variant;

/* --- sizes by formula
 * --------------------------------------------------------------------------------------------- */

/* The rate of one block that holds so many keys, for each load; the same array until it is asked for another
 * kind. */
static const double *
block_rates(const Variant *v)
{
	static double rates[MAX_LOAD + 1];
	static uint32_t last_k;
	static bool last_partitioned;

	for (uint32_t load = 0; load <= MAX_LOAD && (v->k != last_k || v->partitioned != last_partitioned);
	     load++)
		rates[load] =
		    v->partitioned ? pbf_fpr_plain(load, v->k, 64) : pbf_fpr_standard(load, BLOCK_BITS, v->k);
	last_k = v->k;
	last_partitioned = v->partitioned;
	return rates;
}

/* Mean of that, or of its square, over the binomial number of keys of a block, which is nearly a Poisson one.
 */
static double
mean_of_blocks(const Variant *v, double n, int exponent)
{
	const double *rates = block_rates(v);
	double load = n / v->units, weight = exp(-load), sum = 0, total = 0;

	for (uint32_t i = 0; i <= MAX_LOAD; i++)
	{
		sum += weight * pow(rates[i], exponent);
		total += weight;
		weight *= load / (i + 1);
	}
	return sum + (1 - fmin(total, 1));
}

static double
rate_by_formula(const Variant *v, double n)
{
	if (v->blocked)
		return v->partitioned ? pbf_fpr_blocked(n, v->units, v->k, 64) : mean_of_blocks(v, n, 1);
	return v->partitioned ? pbf_fpr_plain(n, v->k, floor(v->units / v->k))
	                      : pbf_fpr_standard(n, v->units, v->k);
}

/* A block of a partitioned filter has k words. */
static double
bits(const Variant *v)
{
	return v->units * (!v->blocked ? 1 : v->partitioned ? 64.0 * v->k : BLOCK_BITS);
}

/* Units of the smallest filter with v->k hash functions; to a thousandth. */
static void
choose_units(Variant *v, double n, double rate)
{
	double low = v->blocked ? n / BLOCK_BITS : 2 * n, high = n * (v->blocked ? 1 : 64);

	while (high / low > 1.001)
	{
		v->units = floor(sqrt(low * high));
		if (rate_by_formula(v, n) > rate)
			low = v->units;
		else
			high = v->units;
	}
	v->units = ceil(high / (2 * v->k)) * 2 * v->k; /* can be halved */
}

static void
choose(Variant *v, double n, double rate)
{
	Variant best = *v;
	double fewest = INFINITY;

	for (v->k = v->blocked ? 4 : 2; v->k <= (v->blocked ? 8 : MAX_K); v->k++)
	{
		choose_units(v, n, rate);
		if (bits(v) < fewest)
		{
			best = *v;
			fewest = bits(v);
		}
	}
	*v = best;
}

/* --- filters
 * ------------------------------------------------------------------------------------------------------- */

static PbfGeometry
geometry(const Variant *v)
{
	if (v->blocked)
		return (PbfGeometry){PBF_BLOCKED, (uint32_t) v->units, v->k, 64};
	return (PbfGeometry){PBF_PLAIN, 1, v->k, (uint32_t) (v->units / v->k)};
}

/* Of a standard filter: the first word that positions refer to, and the positions. */
static uint64_t *
locate(const Variant *v, uint64_t *words, uint64_t h, uint32_t position[MAX_K])
{
	uint64_t p;

	if (!v->blocked)
	{
		for (uint32_t i = 0; i < v->k; i++)
			position[i] = pbf_plain_bit(h, i, (uint32_t) v->units);
		return words;
	}
	p = pbf_mix_positions(h);
	for (uint32_t i = 0; i < v->k; i++, p >>= POSITION_BITS)
	{
		if (i == 64 / POSITION_BITS) /* one word has the bits for seven positions */
			p = pbf_mix(h + PBF_PLAIN_STEP);
		position[i] = p % BLOCK_BITS;
	}
	return words + (uint64_t) pbf_block_of(h, (uint32_t) v->units) * (BLOCK_BITS / 64);
}

typedef struct Probe
{
	uint64_t *words;
	uint32_t position[MAX_K];
} Probe;

/* The window's positions, with their lines on the way from memory. */
static void
locate_window(const Variant *v, uint64_t *words, const uint64_t *h, size_t n, Probe *probe)
{
	for (size_t i = 0; i < n; i++)
	{
		probe[i].words = locate(v, words, h[i], probe[i].position);
		if (v->blocked)
			__builtin_prefetch(probe[i].words);
		else
		{
			for (uint32_t j = 0; j < v->k; j++)
				__builtin_prefetch(&words[probe[i].position[j] / 64]);
		}
	}
}

static bool
probe_hits(const Probe *probe, uint32_t k)
{
	for (uint32_t i = 0; i < k; i++)
	{
		if (!(probe->words[probe->position[i] / 64] >> probe->position[i] % 64 & 1))
			return false;
	}
	return true;
}

static void
add_many(const Variant *v, uint64_t *words, const uint64_t *h, size_t n)
{
	PbfGeometry g = geometry(v);
	Probe probe[WINDOW];

	if (v->partitioned)
	{
		pbf_filter_add_many(&g, words, h, n);
		return;
	}
	for (size_t from = 0; from < n; from += WINDOW)
	{
		size_t count = n - from < WINDOW ? n - from : WINDOW;

		locate_window(v, words, h + from, count, probe);
		for (size_t i = 0; i < count; i++)
		{
			for (uint32_t j = 0; j < v->k; j++)
				probe[i].words[probe[i].position[j] / 64] |= UINT64_C(1) << probe[i].position[j] % 64;
		}
	}
}

static void
contains_many(const Variant *v, uint64_t *words, const uint64_t *h, size_t n, uint8_t *hit)
{
	PbfGeometry g = geometry(v);
	Probe probe[WINDOW];

	if (v->partitioned)
	{
		pbf_filter_contains_many(&g, words, h, n, hit);
		return;
	}
	for (size_t from = 0; from < n; from += WINDOW)
	{
		size_t count = n - from < WINDOW ? n - from : WINDOW;

		locate_window(v, words, h + from, count, probe);
		for (size_t i = 0; i < count; i++)
			hit[from + i] = probe_hits(&probe[i], v->k);
	}
}

static uint64_t
filter_words(const Variant *v)
{
	PbfGeometry g = geometry(v);

	return v->partitioned ? pbf_words(&g) : (uint64_t) ceil(bits(v) / 64);
}

/* --- measuring
 * ------------------------------------------------------------------------------------------------------ */

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(double *times)
{
	qsort(times, RUNS, sizeof(double), by_size);
	return times[RUNS / 2];
}

static void *
allocate(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (p == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

static bool
has_collision(const Variant *v, uint64_t h)
{
	uint32_t position[MAX_K];

	locate(v, NULL, h, position);
	for (uint32_t i = 1; i < v->k; i++)
	{
		for (uint32_t j = 0; j < i; j++)
		{
			if (position[i] == position[j])
				return true;
		}
	}
	return false;
}

/* The error is that of so many probes, and of so many blocks, whose rates differ. */
static void
print_rate(const Variant *v, double hits, double n)
{
	double rate = hits / n, variance = rate * (1 - rate) / n;

	if (v->blocked)
		variance += (mean_of_blocks(v, n, 2) - pow(mean_of_blocks(v, n, 1), 2)) / v->units;
	printf("\t%.6g\t%.6g", rate, sqrt(variance));
}

static void
print_weak_spots(const Variant *v, const uint64_t *absent, size_t n, const uint8_t *hit)
{
	double weak = 0, hits = 0;

	for (size_t i = 0; i < n && !v->partitioned; i++)
	{
		if (has_collision(v, absent[i]))
		{
			weak++;
			hits += hit[i];
		}
	}
	printf("\t%.6g", weak / (double) n);
	if (weak > 1000)
		printf("\t%.6g", hits / weak);
	else
		printf("\t\\N");
}

static double
measured_rate(const Variant *v, uint64_t *words, const uint64_t *absent, size_t n, uint8_t *hit)
{
	double hits = 0;

	contains_many(v, words, absent, n, hit);
	for (size_t i = 0; i < n; i++)
		hits += hit[i];
	return hits / (double) n;
}

/* Neighbours united: blocks, or bits. Positions keep the order of hashes, so each key finds its bits at half
 * the place. */
static void
fold(const Variant *v, const uint64_t *words, const Variant *to, uint64_t *small)
{
	PbfGeometry from = geometry(v), half = geometry(to);

	if (v->partitioned)
		pbf_filter_resize(&from, words, &half, small, (PbfSlice){0, 1});
	else if (v->blocked)
	{
		for (uint64_t i = 0; i < filter_words(v); i++)
			small[i / 16 * 8 + i % 8] |= words[i];
	}
	else
	{
		for (uint64_t i = 0; i < (uint64_t) v->units; i++)
			small[i / 128] |= (words[i / 64] >> i % 64 & 1) << i / 2 % 64;
	}
}

/* The rate at half the size, or little less: folded, or, if partitioned and better, half of the parts. */
static double
rate_at_half(const Variant *v, const uint64_t *words, const uint64_t *absent, size_t n, uint8_t *hit)
{
	PbfGeometry g = geometry(v);
	Variant half = *v;
	uint64_t *small = allocate(filter_words(v) * sizeof(uint64_t));
	double rate;

	half.units = v->units / 2;
	fold(v, words, &half, small);
	rate = measured_rate(&half, small, absent, n, hit);
	if (v->partitioned)
	{
		half.k = v->k / 2;
		half.units = v->blocked ? v->units : v->units / v->k * half.k;
		pbf_filter_reduce(&g, words, half.k, small);
		rate = fmin(rate, measured_rate(&half, small, absent, n, hit));
	}
	free(small);
	return rate;
}

static void
measure(Variant v, const uint64_t *present, const uint64_t *absent, size_t n, double rate)
{
	double build[RUNS], look_absent[RUNS], look_present[RUNS], hits;
	uint64_t *words;
	uint8_t *hit = allocate(n);

	choose(&v, (double) n, rate);
	words = allocate(filter_words(&v) * sizeof(uint64_t));
	for (int run = 0; run < RUNS; run++)
	{
		double start = now_ns();

		memset(words, 0, filter_words(&v) * sizeof(uint64_t));
		add_many(&v, words, present, n);
		build[run] = now_ns() - start;
		start = now_ns();
		contains_many(&v, words, present, n, hit);
		look_present[run] = now_ns() - start;
		start = now_ns();
		contains_many(&v, words, absent, n, hit);
		look_absent[run] = now_ns() - start;
	}
	hits = measured_rate(&v, words, absent, n, hit) * (double) n;
	printf("%s\t%u\t%.6g\t%.4g\t%.4g\t%.4g\t%.17g", v.name, v.k, bits(&v) / (double) n,
	       median(build) / (double) n, median(look_absent) / (double) n, median(look_present) / (double) n,
	       rate_by_formula(&v, (double) n));
	print_rate(&v, hits, (double) n);
	print_weak_spots(&v, absent, n, hit);
	printf("\t%.6g\n", rate_at_half(&v, words, absent, n, hit));
	free(words);
	free(hit);
}

int
main(int argc, char **argv)
{
	static const Variant variants[] = {{"SBF", false, false, 0, 0},
	                                   {"PBF", true, false, 0, 0},
	                                   {"SBBF", false, true, 0, 0},
	                                   {"PBBF", true, true, 0, 0}};
	size_t n = argc == 3 ? (size_t) atof(argv[1]) : 0;
	double rate = argc == 3 ? atof(argv[2]) : 0;
	uint64_t *present, *absent;

	if (n < 10000 || rate <= 0 || rate >= 1)
	{
		fprintf(stderr, "usage: compare KEYS RATE (10000 keys or more, 0 < RATE < 1)\n");
		return 2;
	}
	pbf_kernel_use(pbf_kernel_find("auto"));
	present = allocate(n * sizeof(uint64_t));
	absent = allocate(n * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
	{
		present[i] = pbf_hash_int64((int64_t) i);
		absent[i] = pbf_hash_int64((int64_t) (n + i));
	}
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		measure(variants[i], present, absent, n, rate);
	free(present);
	free(absent);
	return 0;
}

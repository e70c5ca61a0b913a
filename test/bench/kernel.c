/*
 * kernel.c: time per key of every kernel of this machine, beside what its memory can do at best.
 *
 *   kernel [-o offset] [-r runs] [-p parts | -P parts] [MiB ...]    -P: plain layout, else blocked
 *
 * offset: bytes that the words start beyond a cache line (0 .. 56; a stored value may have any multiple of
 * 8). Keys are 8 bytes and each is new; about half of the probes of 8 parts hit. A time includes the hash of
 * the key: XXH3 as in the contract, or one multiplication, to see the filter alone. "loop" is what one would
 * write without kernels: it probes from part to part until a bit is not set (and adds as the scalar kernel
 * does). "limit" is the time of reading random lines of 64 bytes with PBF_PREFETCH_WINDOW of them in flight.
 * All times are medians; kernels take turns within a run, so that a disturbance does not hit one of them
 * alone.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../src/core/hash.h"
#include "../../src/core/kernel.h"
#include "../../src/core/position.h"

#define BATCH 1024
#define MAX_RUNS 31
#define MAX_KERNELS 5

typedef enum Measure
{
	PROBE_ONE,
	PROBE_CHAIN,
	PROBE_BATCH,
	CHEAP_PROBE_ONE,
	CHEAP_PROBE_BATCH,
	ADD_ONE, /* after all probes: it fills small filters up */
	ADD_BATCH,
	CHEAP_ADD_ONE,
	CHEAP_ADD_BATCH,
	MEASURES
} Measure;

typedef struct Bench
{
	uint64_t *words;
	uint32_t blocks;
	uint32_t parts;
	uint32_t part_bits; /* 0: blocked */
	size_t bytes;
	size_t keys;    /* keys a measurement */
	uint64_t first; /* its first key: never used before */
} Bench;

static volatile uint64_t sink;

/* CPU time: what other programs run on this core does not count. What they do to its caches still does. */
static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static inline uint64_t
cheap_hash(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

static inline __attribute__((always_inline)) uint64_t
hash(uint64_t key, bool cheap)
{
	return cheap ? cheap_hash(key) : pbf_hash_int64((int64_t) key);
}

static inline bool
probe(const Bench *b, const PbfKernel *k, uint64_t h)
{
	if (b->part_bits != 0)
		return k->plain_contains(b->words, b->parts, b->part_bits, h);
	return k->contains(b->words, b->blocks, b->parts, h);
}

static inline void
add(const Bench *b, const PbfKernel *k, uint64_t h)
{
	if (b->part_bits != 0)
		k->plain_add_many(b->words, b->parts, b->part_bits, &h, 1);
	else
		k->add(b->words, b->blocks, b->parts, h);
}

/* Every key is probed by itself; only the CPU overlaps them. */
static inline __attribute__((always_inline)) void
probe_one(const Bench *b, const PbfKernel *k, bool cheap)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < b->keys; i++)
		hits += probe(b, k, hash(b->first + i, cheap));
	sink += hits;
}

/* The next key depends on the last answer: nothing overlaps. */
static void
probe_chain(const Bench *b, const PbfKernel *k)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < b->keys; i++)
		hits += probe(b, k, hash(b->first + 2 * i + hits, false));
	sink += hits;
}

static inline __attribute__((always_inline)) void
add_one(const Bench *b, const PbfKernel *k, bool cheap)
{
	for (size_t i = 0; i < b->keys; i++)
		add(b, k, hash(b->first + i, cheap));
}

static void
probe_many(const Bench *b, const PbfKernel *k, const uint64_t *h, uint8_t *hit)
{
	if (b->part_bits != 0)
		k->plain_contains_many(b->words, b->parts, b->part_bits, h, BATCH, hit);
	else
		k->contains_many(b->words, b->blocks, b->parts, h, BATCH, hit);
}

static void
add_many(const Bench *b, const PbfKernel *k, const uint64_t *h)
{
	if (b->part_bits != 0)
		k->plain_add_many(b->words, b->parts, b->part_bits, h, BATCH);
	else
		k->add_many(b->words, b->blocks, b->parts, h, BATCH);
}

static inline __attribute__((always_inline)) void
batch(const Bench *b, const PbfKernel *k, bool cheap, bool adds)
{
	uint64_t h[BATCH];
	uint8_t hit[BATCH] = {0};

	for (size_t i = 0; i < b->keys; i += BATCH)
	{
		for (size_t j = 0; j < BATCH; j++)
			h[j] = hash(b->first + i + j, cheap);
		if (adds)
			add_many(b, k, h);
		else
			probe_many(b, k, h, hit);
		sink += hit[b->first % BATCH];
	}
}

static void
run(const Bench *b, const PbfKernel *k, Measure m)
{
	switch (m)
	{
		case PROBE_ONE:
			probe_one(b, k, false);
			break;
		case PROBE_CHAIN:
			probe_chain(b, k);
			break;
		case PROBE_BATCH:
			batch(b, k, false, false);
			break;
		case ADD_ONE:
			add_one(b, k, false);
			break;
		case ADD_BATCH:
			batch(b, k, false, true);
			break;
		case CHEAP_PROBE_ONE:
			probe_one(b, k, true);
			break;
		case CHEAP_PROBE_BATCH:
			batch(b, k, true, false);
			break;
		case CHEAP_ADD_ONE:
			add_one(b, k, true);
			break;
		default:
			batch(b, k, true, true);
			break;
	}
}

#define LIMIT_GROUP 8

/* Asks for LIMIT_GROUP random lines of `lines`. */
static inline void
fetch_lines(const uint64_t **group, const uint64_t *base, size_t lines, uint64_t seed)
{
	for (uint64_t i = 0; i < LIMIT_GROUP; i++)
	{
		group[i] = base + pbf_mulhi(pbf_mix(seed + i), lines) * 8;
		__builtin_prefetch(group[i]);
	}
}

static inline uint64_t
read_line(const uint64_t *line)
{
	return ((line[0] ^ line[1]) + (line[2] ^ line[3])) ^ ((line[4] ^ line[5]) + (line[6] ^ line[7]));
}

/* Random lines of the filter, PBF_PREFETCH_WINDOW in flight, each read whole; ns a line. */
static double
line_limit(const Bench *b)
{
	size_t lines = b->bytes / 64 - 1;
	const uint64_t *base = (const uint64_t *) (((uintptr_t) b->words + 63) & ~(uintptr_t) 63);
	const uint64_t *ring[PBF_PREFETCH_WINDOW];
	uint64_t sum = 0;
	double start = now_ns();

	for (size_t i = 0; i < PBF_PREFETCH_WINDOW; i += LIMIT_GROUP)
		fetch_lines(ring + i, base, lines, b->first + i);
	for (size_t i = 0; i < b->keys; i += LIMIT_GROUP)
	{
		const uint64_t **group = &ring[i % PBF_PREFETCH_WINDOW];

		for (int j = 0; j < LIMIT_GROUP; j++)
			sum += read_line(group[j]);
		fetch_lines(group, base, lines, b->first + PBF_PREFETCH_WINDOW + i);
	}
	sink += sum;
	return (now_ns() - start) / (double) b->keys;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
median(double *v, int n)
{
	qsort(v, (size_t) n, sizeof(*v), compare);
	return v[n / 2];
}

/*
 * Blocked: 15 of 16 bits set at random: then many keys hit, many do not, and no branch predictor can know
 * which. Plain: half of the bits, as in a filter at its capacity; then hardly any key that was not added
 * hits. The lines of a hit are those of an add.
 */
static void
fill(Bench *b)
{
	for (size_t i = 0; i < b->bytes / 8; i++)
	{
		b->words[i] = pbf_mix(4 * i);
		if (b->part_bits == 0)
			b->words[i] |= pbf_mix(4 * i + 1) | pbf_mix(4 * i + 2) | pbf_mix(4 * i + 3);
	}
}

static double
measure(Bench *b, const PbfKernel *k, Measure m)
{
	double start = now_ns();

	run(b, k, m);
	b->first += 4 * b->keys;
	return (now_ns() - start) / (double) b->keys;
}

/* A filter of that many bytes, or slightly less. */
static Bench
make_filter(size_t bytes, uint32_t parts, bool plain, size_t offset)
{
	Bench b = {.parts = parts, .keys = 1 << 20, .first = 1};
	size_t units = bytes / 8 / parts; /* blocks, or words a part */
	char *memory;

	if (plain)
		b.part_bits = (uint32_t) (units * 64);
	else
		b.blocks = (uint32_t) units;
	b.bytes = units * parts * 8;
	/* large filters: enough keys that hardly any line is still in a cache from the run before */
	if (!plain && b.keys < units / 2)
		b.keys = units / 2 / BATCH * BATCH;
	memory = aligned_alloc(4096, bytes + 4096);
	if (memory == NULL)
		exit(1);
	b.words = (uint64_t *) (memory + offset);
	fill(&b);
	return b;
}

static void
print_row(double mib, const char *name, double t[MEASURES][MAX_RUNS], double limit, int runs)
{
	if (mib < 1)
		printf("| %.0f KiB | %-6s |", mib * 1024, name);
	else
		printf("| %.0f MiB | %-6s |", mib, name);
	for (int m = 0; m < MEASURES; m++)
		printf(" %5.1f |", median(t[m], runs));
	printf(" %5.1f | %4.2f | %4.2f |\n", limit, median(t[CHEAP_PROBE_BATCH], runs) / limit,
	       median(t[CHEAP_ADD_BATCH], runs) / limit);
}

static void
bench_filter(double mib, Bench *b, int runs, const PbfKernel **kernels, int nkernels)
{
	static double t[MAX_KERNELS][MEASURES][MAX_RUNS];
	double limit[MAX_RUNS], bound;

	for (int r = 0; r < runs; r++)
	{
		limit[r] = line_limit(b);
		b->first += 4 * b->keys;
		for (int m = 0; m < MEASURES; m++)
		{
			for (int i = 0; i < nkernels; i++)
			{
				int k = r % 2 ? i : nkernels - 1 - i; /* both orders in turn */

				t[k][m][r] = measure(b, kernels[k], (Measure) m);
			}
		}
		fill(b);
	}
	bound = median(limit, runs);
	for (int k = 0; k < nkernels; k++)
		print_row(mib, kernels[k]->name, t[k], bound, runs);
	fflush(stdout);
}

/* What one would write first: from part to part until a bit is not set. */
static bool
loop_contains(const uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h)
{
	const uint64_t *block = words + (size_t) pbf_block_of(h, blocks) * parts;
	uint64_t positions = pbf_positions_of(h);

	for (uint32_t i = 0; i < parts; i++, positions >>= 6)
	{
		if ((block[i] >> (positions & 63) & 1) == 0)
			return false;
	}
	return true;
}

static void
loop_contains_many(const uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n,
                   uint8_t *hit)
{
	for (size_t i = 0; i < n; i++)
		hit[i] = loop_contains(words, blocks, parts, h[i]);
}

/* Finds the block and the positions of a key as every kernel does for one key, and looks at nothing. */
static bool
locate_only(const uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h)
{
	(void) words;
	(void) parts;
	return (pbf_block_of(h, blocks) ^ pbf_positions_of(h)) & 1;
}

/* What no kernel can save of a probe of one key. */
static void
bench_call(Bench *b, int runs)
{
	static const PbfKernel none = {.contains = locate_only};
	double t[MAX_RUNS];

	for (int r = 0; r < runs; r++)
		t[r] = measure(b, &none, CHEAP_PROBE_ONE);
	printf("\nA call that finds block and positions of one key, with the cheap hash, and looks at nothing: "
	       "%.1f ns.\n",
	       median(t, runs));
}

typedef struct Options
{
	bool plain;
	uint32_t parts;
	size_t offset;
	int runs;
} Options;

static void
print_title(const Options *o)
{
	printf("ns a key, %s, %u parts, words %zu bytes off a cache line, median of %d, auto = %s\n\n",
	       o->plain ? "plain" : "blocked", o->parts, o->offset, o->runs, pbf_kernel_find("auto")->name);
	printf("| filter | kernel | XXH3: probe one | chained | batch | cheap hash: probe one | cheap hash: "
	       "probe batch "
	       "| XXH3: add one | batch | cheap hash: add one | cheap hash: add batch | line limit | probe batch "
	       "/ limit "
	       "| add batch / limit |\n"
	       "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
}

/* Index of the first argument that is not an option. */
static int
parse(int argc, char **argv, Options *o)
{
	int c;

	while ((c = getopt(argc, argv, "o:r:p:P:")) != -1)
	{
		int value = atoi(optarg);

		if (c == 'o')
			o->offset = (size_t) value / 8 * 8 % 64;
		else if (c == 'r')
			o->runs = value;
		else
			o->parts = (uint32_t) value;
		o->plain |= c == 'P';
	}
	if (o->runs < 1 || o->runs > MAX_RUNS || o->parts < 1 || o->parts > (o->plain ? 64 : 8))
		exit(2);
	return optind;
}

int
main(int argc, char **argv)
{
	static const char *const names[] = {"scalar", "avx2", "avx512", "neon"};
	static char *defaults[] = {"0.03125", "1", "16", "256"};
	Options o = {false, 8, 0, 7};
	const PbfKernel *kernels[MAX_KERNELS];
	int nkernels = 0;
	int arg = parse(argc, argv, &o);
	char **sizes = arg < argc ? argv + arg : defaults;
	int nsizes = arg < argc ? argc - arg : 4;
	PbfKernel loop = pbf_kernel_scalar;

	for (int i = 0; i < MAX_KERNELS - 1; i++)
	{
		if ((kernels[nkernels] = pbf_kernel_find(names[i])) != NULL)
			nkernels++;
	}
	loop.name = "loop";
	loop.contains = loop_contains;
	loop.contains_many = loop_contains_many;
	if (!o.plain)
		kernels[nkernels++] = &loop;
	print_title(&o);
	for (int i = 0; i < nsizes; i++)
	{
		double mib = atof(sizes[i]);
		Bench b = make_filter((size_t) (mib * 1024 * 1024), o.parts, o.plain, o.offset);

		bench_filter(mib, &b, o.runs, kernels, nkernels);
		if (i == nsizes - 1 && !o.plain)
			bench_call(&b, o.runs);
		free((char *) b.words - o.offset);
	}
	return 0;
}

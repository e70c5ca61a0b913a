/*
 * test_filter.c: the promise of every operation: no false negative; and exactness where it is promised.
 */
#include <math.h>
#include "test.h"

#define KEYS 500

typedef struct Filter
{
	PbfGeometry g;
	uint64_t *words;
} Filter;

static Filter
make_filter(PbfGeometry g)
{
	Filter f = {g, allocate(pbf_words(&g) * sizeof(uint64_t))};
	const char *why;

	CHECK(pbf_geometry_valid(&g, &why));
	return f;
}

static Filter
make_filled(PbfGeometry g, const uint64_t *h, size_t n)
{
	Filter f = make_filter(g);

	pbf_filter_add_many(&g, f.words, h, n);
	return f;
}

static bool
same(const Filter *a, const Filter *b)
{
	return pbf_geometry_equal(&a->g, &b->g) &&
	       memcmp(a->words, b->words, pbf_words(&a->g) * sizeof(uint64_t)) == 0;
}

static bool
contains_all(const Filter *f, const uint64_t *h, size_t n)
{
	uint8_t *hit = allocate(n);
	bool all;

	pbf_filter_contains_many(&f->g, f->words, h, n, hit);
	all = n == 0 || memchr(hit, 0, n) == NULL;
	for (size_t i = 0; i < n; i++)
		all &= pbf_filter_contains(&f->g, f->words, h[i]);
	free(hit);
	return all;
}

static const char *
shape(const PbfGeometry *g)
{
	return format_case("%s, %u blocks, %u parts of %u", g->layout == PBF_BLOCKED ? "blocked" : "plain",
	                   g->blocks, g->parts, g->part_bits);
}

#define CHECK_SHAPE(condition, g) \
	((condition) ? (void) 0 : check_failed(__FILE__, __LINE__, #condition, shape(g)))

/* Calls `check` with many geometries and the hashes of KEYS keys. */
static void
for_geometries(void (*check)(PbfGeometry g, const uint64_t *h))
{
	static const uint32_t blocks[] = {1, 2, 3, 7, 64, 1000}, block_parts[] = {1, 2, 3, 5, 8};
	static const uint32_t parts[] = {1, 2, 5, 14, 64}, part_bits[] = {1, 2, 63, 64, 65, 1000, 8192};
	uint64_t h[KEYS];

	int_hashes(h, KEYS, -7);
	for (size_t i = 0; i < COUNT(blocks); i++)
	{
		for (size_t j = 0; j < COUNT(block_parts); j++)
			check((PbfGeometry){PBF_BLOCKED, blocks[i], block_parts[j], 64}, h);
	}
	for (size_t i = 0; i < COUNT(parts); i++)
	{
		for (size_t j = 0; j < COUNT(part_bits); j++)
			check((PbfGeometry){PBF_PLAIN, 1, parts[i], part_bits[j]}, h);
	}
}

static void
check_add(PbfGeometry g, const uint64_t *h)
{
	Filter many = make_filled(g, h, KEYS), one = make_filter(g);

	CHECK_SHAPE(pbf_filter_is_empty(&g, one.words), &g);
	CHECK_SHAPE(pbf_filter_popcount(&g, one.words) == 0, &g);
	for (size_t i = 0; i < KEYS; i++)
		pbf_filter_add(&g, one.words, h[i]);
	CHECK_SHAPE(same(&one, &many), &g);
	CHECK_SHAPE(contains_all(&one, h, KEYS), &g);
	CHECK_SHAPE(!pbf_filter_is_empty(&g, one.words), &g);
	CHECK_SHAPE(pbf_filter_popcount(&g, one.words) <= pbf_bits(&g), &g);
	free(many.words);
	free(one.words);
}

static void
filter_add_keys(void)
{
	for_geometries(check_add);
}

/* Keys 0..299 in a, 200..499 in b. */
static void
check_union(PbfGeometry g, const uint64_t *h)
{
	Filter a = make_filled(g, h, 300), b = make_filled(g, h + 200, 300), all = make_filled(g, h, KEYS);

	CHECK_SHAPE(pbf_filter_contains_filter(&g, all.words, a.words), &g);
	CHECK_SHAPE(pbf_filter_contains_filter(&g, all.words, b.words), &g);
	CHECK_SHAPE(pbf_filter_overlaps(&g, a.words, b.words), &g);
	pbf_filter_union(&g, a.words, b.words);
	CHECK_SHAPE(same(&a, &all), &g);
	free(a.words);
	free(b.words);
	free(all.words);
}

static void
filter_union(void)
{
	for_geometries(check_union);
}

static void
check_intersect(PbfGeometry g, const uint64_t *h)
{
	Filter a = make_filled(g, h, 300), b = make_filled(g, h + 200, 300),
	       common = make_filled(g, h + 200, 100);

	pbf_filter_intersect(&g, a.words, b.words);
	CHECK_SHAPE(contains_all(&a, h + 200, 100), &g);
	CHECK_SHAPE(pbf_filter_contains_filter(&g, a.words, common.words), &g);
	CHECK_SHAPE(pbf_filter_contains_filter(&g, b.words, a.words), &g);
	free(a.words);
	free(b.words);
	free(common.words);
}

static void
filter_intersect(void)
{
	for_geometries(check_intersect);
}

/* Sets that share no key: overlap may be claimed, never denied for sets that share one; denied where
 * provable. */
static void
check_overlap(PbfGeometry g, const uint64_t *h)
{
	Filter a = make_filled(g, h, 1), b = make_filled(g, h + 1, 1), empty = make_filter(g);
	bool proof = !pbf_filter_contains(&g, a.words, h[1]); /* of single keys: some part differs */

	CHECK_SHAPE(pbf_filter_overlaps(&g, a.words, a.words), &g);
	CHECK_SHAPE(!pbf_filter_overlaps(&g, a.words, empty.words), &g);
	CHECK_SHAPE(pbf_filter_overlaps(&g, a.words, b.words) != proof, &g);
	CHECK_SHAPE(pbf_filter_contains_filter(&g, a.words, b.words) != proof, &g);
	for (size_t i = 2; i < 20; i++)
	{
		pbf_filter_add(&g, a.words, h[i]);
		pbf_filter_add(&g, b.words, h[i + 100]);
	}
	pbf_filter_add(&g, a.words, h[400]);
	pbf_filter_add(&g, b.words, h[400]);
	CHECK_SHAPE(pbf_filter_overlaps(&g, a.words, b.words), &g);
	free(a.words);
	free(b.words);
	free(empty.words);
}

static void
filter_overlaps(void)
{
	for_geometries(check_overlap);
}

/* The first parts: the same bits as if only those had ever been there; also in place. */
static void
check_reduce(PbfGeometry g, const uint64_t *h)
{
	Filter full = make_filled(g, h, KEYS);

	for (uint32_t parts = 1; parts <= g.parts; parts += parts < 8 ? 1 : 9)
	{
		PbfGeometry to = {g.layout, g.blocks, parts, g.part_bits};
		Filter direct = make_filled(to, h, KEYS), reduced = make_filter(to),
		       in_place = make_filled(g, h, KEYS);

		pbf_filter_reduce(&g, full.words, parts, reduced.words);
		CHECK_SHAPE(same(&direct, &reduced), &to);
		pbf_filter_reduce(&g, in_place.words, parts, in_place.words);
		in_place.g = to;
		CHECK_SHAPE(same(&direct, &in_place), &to);
		free(direct.words);
		free(reduced.words);
		free(in_place.words);
	}
	free(full.words);
}

static void
filter_reduce(void)
{
	for_geometries(check_reduce);
}

static PbfGeometry
resized(PbfGeometry g, uint32_t size)
{
	if (g.layout == PBF_BLOCKED)
		g.blocks = size;
	else
		g.part_bits = size;
	return g;
}

static uint32_t
size_of(const PbfGeometry *g)
{
	return g->layout == PBF_BLOCKED ? g->blocks : g->part_bits;
}

static void
resize(const PbfGeometry *from, const uint64_t *src, const PbfGeometry *to, uint64_t *dst, uint64_t slices)
{
	for (uint64_t slice = 0; slice < slices; slice++)
		pbf_filter_resize(from, src, to, dst, (PbfSlice){slice, slices});
}

/* Smaller by a whole factor: exact. */
static void
check_fold(PbfGeometry g, const uint64_t *h)
{
	static const uint32_t factors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64, 128};

	for (size_t i = 0; i < COUNT(factors); i++)
	{
		PbfGeometry from = resized(g, size_of(&g) * factors[i]);
		Filter large = make_filled(from, h, KEYS), direct = make_filled(g, h, KEYS), folded = make_filter(g);

		resize(&from, large.words, &g, folded.words, 1 + i % 4);
		CHECK_SHAPE(same(&folded, &direct), &from);
		free(large.words);
		free(direct.words);
		free(folded.words);
	}
}

static void
filter_fold_is_exact(void)
{
	for_geometries(check_fold);
}

/* Any size, smaller or larger: every key is still there, and padding stays zero. */
static void
check_resize(PbfGeometry g, const uint64_t *h)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 63, 64, 65, 100, 127, 999, 1000, 1001, 3000};
	Filter from = make_filled(g, h, KEYS);

	for (size_t i = 0; i < COUNT(sizes); i++)
	{
		PbfGeometry to = resized(g, sizes[i]);
		Filter result = make_filter(to), direct = make_filled(to, h, KEYS);

		resize(&g, from.words, &to, result.words, 1 + i % 4);
		CHECK_SHAPE(contains_all(&result, h, KEYS), &to);
		CHECK_SHAPE(pbf_filter_contains_filter(&to, result.words, direct.words), &to);
		for (uint32_t part = 0; to.layout == PBF_PLAIN && to.part_bits % 64 != 0 && part < to.parts; part++)
			CHECK_SHAPE(result.words[(part + 1) * pbf_part_words(&to) - 1] >> to.part_bits % 64 == 0, &to);
		free(result.words);
		free(direct.words);
	}
	free(from.words);
}

static void
filter_resize(void)
{
	for_geometries(check_resize);
}

/* A stored filter that was damaged may have bits that no key sets: nothing is written beyond the result. */
static void
check_resize_damaged(PbfGeometry g, const uint64_t *h)
{
	static const uint32_t sizes[] = {1, 63, 64, 65, 999, 1000, 3000};
	Filter from = make_filter(g);

	(void) h;
	memset(from.words, 0xFF, pbf_words(&g) * sizeof(uint64_t));
	for (size_t i = 0; i < COUNT(sizes); i++)
	{
		PbfGeometry to = resized(g, sizes[i]);
		size_t words = pbf_words(&to), guard = 64 * (size_t) sizes[i] / 64 + 1;
		uint64_t *dst = allocate((words + guard) * sizeof(uint64_t));
		bool written = false;

		resize(&g, from.words, &to, dst, 1 + i % 4);
		for (size_t j = words; j < words + guard; j++)
			written = written || dst[j] != 0;
		CHECK_SHAPE(!written, &to);
		free(dst);
	}
	free(from.words);
}

static void
filter_resize_damaged(void)
{
	for_geometries(check_resize_damaged);
}

/* The rate of the actual bits, from its definition: the share of all places a key could fall on. */
static double
naive_fpr(const Filter *f, uint32_t parts)
{
	uint64_t part_words = pbf_part_words(&f->g);
	double sum = 0;

	for (uint32_t block = 0; block < f->g.blocks; block++)
	{
		double product = 1;

		for (uint32_t part = 0; part < parts; part++)
		{
			const uint64_t *words = f->words + ((uint64_t) block * f->g.parts + part) * part_words;
			uint64_t set = 0;

			for (uint64_t bit = 0; bit < f->g.part_bits; bit++)
				set += words[bit / 64] >> bit % 64 & 1;
			product *= (double) set / f->g.part_bits;
		}
		sum += product;
	}
	return sum / f->g.blocks;
}

static void
check_fpr(PbfGeometry g, const uint64_t *h)
{
	Filter f = make_filled(g, h, KEYS);
	double fpr[PBF_PLAIN_MAX_PARTS];

	pbf_filter_fpr(&g, f.words, fpr);
	for (uint32_t parts = 1; parts <= g.parts; parts += parts < 8 ? 1 : 7)
	{
		double expected = naive_fpr(&f, parts);

		CHECK_SHAPE(fabs(fpr[parts - 1] - expected) <= 1e-9 * expected, &g);
	}
	free(f.words);
}

static void
filter_fpr(void)
{
	for_geometries(check_fpr);
}

/* The estimate of the number of keys: within 4 standard errors, here 2 % at most, below 90 % fill. */
static void
check_cardinality(PbfGeometry g, const uint64_t *h)
{
	static uint64_t many[100000];
	Filter f = make_filter(g);
	double cells = (double) g.blocks * g.part_bits;
	size_t n = cells * 2 < COUNT(many) ? (size_t) (cells * 2) : COUNT(many);
	double estimate, error;

	(void) h;
	CHECK_SHAPE(pbf_cardinality_of(&g, 0) == 0, &g);
	CHECK_SHAPE(isinf(pbf_cardinality_of(&g, pbf_bits(&g))), &g);
	if (cells < 8192)
	{
		free(f.words);
		return;
	}
	int_hashes(many, n, 77);
	pbf_filter_add_many(&g, f.words, many, n);
	estimate = pbf_cardinality_of(&g, pbf_filter_popcount(&g, f.words));
	error = fabs(estimate / (double) n - 1);
	CHECK_SHAPE(error < 4 * sqrt(3.2 / (cells * 2)), &g); /* load 2: variance (e^2 - 3) / (4 m), one part */
	free(f.words);
}

static void
filter_cardinality(void)
{
	for_geometries(check_cardinality);
}

static void
geometry_valid(void)
{
	static const struct
	{
		PbfGeometry g;
		bool valid;
	} cases[] = {
	    {{PBF_BLOCKED, 1, 1, 64}, true},
	    {{PBF_BLOCKED, 1, 8, 64}, true},
	    {{PBF_BLOCKED, 8388607, 8, 64}, true},
	    {{PBF_BLOCKED, 8388608, 8, 64}, false},
	    {{PBF_BLOCKED, UINT32_MAX, 8, 64}, false},
	    {{PBF_BLOCKED, 0, 8, 64}, false},
	    {{PBF_BLOCKED, 1, 0, 64}, false},
	    {{PBF_BLOCKED, 1, 9, 64}, false},
	    {{PBF_BLOCKED, 1, 8, 63}, false},
	    {{PBF_PLAIN, 1, 1, 1}, true},
	    {{PBF_PLAIN, 1, 64, 1}, true},
	    {{PBF_PLAIN, 1, 65, 1}, false},
	    {{PBF_PLAIN, 1, 0, 1}, false},
	    {{PBF_PLAIN, 1, 1, 0}, false},
	    {{PBF_PLAIN, 2, 1, 64}, false},
	    {{PBF_PLAIN, 0, 1, 64}, false},
	    {{PBF_PLAIN, 1, 1, 4294967040u}, true},
	    {{PBF_PLAIN, 1, 1, UINT32_MAX}, false},
	    {{PBF_PLAIN, 1, 64, UINT32_MAX}, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
	{
		const char *why = "";

		CHECK_SHAPE(pbf_geometry_valid(&cases[i].g, &why) == cases[i].valid, &cases[i].g);
		CHECK_SHAPE(cases[i].valid || (why != NULL && why[0] != 0), &cases[i].g);
	}
}

void
filter_tests(void)
{
	const PbfKernel *before = pbf_kernel;

	TEST(geometry_valid);
	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		printf("       with %s:\n", (*k)->name);
		pbf_kernel_use(*k);
		TEST(filter_add_keys);
		TEST(filter_union);
		TEST(filter_intersect);
		TEST(filter_overlaps);
		TEST(filter_reduce);
		TEST(filter_fold_is_exact);
		TEST(filter_resize);
		TEST(filter_resize_damaged);
		TEST(filter_fpr);
		TEST(filter_cardinality);
	}
	pbf_kernel_use(before);
}

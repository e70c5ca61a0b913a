/*
 * test_kernel.c: every kernel gives the bits of the scalar one, and touches nothing but the words.
 *
 * Words lie in a guarded region: between canaries, at all offsets to a cache line, and once so that they end
 * where the next page cannot be accessed. A read beyond the end is then a crash in any build.
 */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "test.h"

#define MARGIN 16 /* canary words on each side */
#define CANARY(i) (UINT64_C(0xcafe0000deadbeef) + (i))

typedef struct Region
{
	uint64_t *words;
	size_t n;
	char *mapping;
	size_t mapped;
} Region;

/*
 * n words, `offset` words beyond a cache line. offset 8: at the end of the last accessible page.
 */
static Region
make_region(size_t n, size_t offset)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t bytes = (n + 2 * MARGIN + 8) * sizeof(uint64_t);
	Region r = {.n = n, .mapped = (bytes + page - 1) / page * page + page};
	char *end;

	r.mapping = mmap(NULL, r.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r.mapping == MAP_FAILED)
		exit(2);
	end = r.mapping + r.mapped - page;
	mprotect(end, page, PROT_NONE);
	r.words = offset == 8 ? (uint64_t *) end - n : (uint64_t *) r.mapping + MARGIN + offset;
	for (size_t i = 1; i <= MARGIN; i++)
	{
		r.words[-(ptrdiff_t) i] = CANARY(i);
		if (offset != 8)
			r.words[n + i - 1] = CANARY(i);
	}
	return r;
}

/* Frees it; false if a canary is gone. */
static bool
drop_region(Region *r, size_t offset)
{
	bool intact = true;

	for (size_t i = 1; i <= MARGIN; i++)
	{
		intact &= r->words[-(ptrdiff_t) i] == CANARY(i);
		intact &= offset == 8 || r->words[r->n + i - 1] == CANARY(i);
	}
	munmap(r->mapping, r->mapped);
	return intact;
}

static bool
same_words(const uint64_t *a, const uint64_t *b, size_t n)
{
	return memcmp(a, b, n * sizeof(uint64_t)) == 0;
}

#define MAX_KEYS 601 /* more than two chunks of the plain batch probe */
static const size_t batches[] = {0,  1,  2,  7,  8,  9,  15, 16,  25,  26,  31,  32,
                                 33, 39, 40, 41, 63, 64, 65, 255, 256, 257, 300, MAX_KEYS};

/* One geometry, kernel and batch, blocked or (blocks 0) plain: against the scalar kernel on a copy. */
typedef struct Case
{
	const PbfKernel *kernel;
	uint32_t blocks;
	uint32_t parts;
	uint32_t part_bits;
	size_t offset;
} Case;

static size_t
case_words(const Case *c)
{
	PbfGeometry g = {c->blocks > 0 ? PBF_BLOCKED : PBF_PLAIN, c->blocks > 0 ? c->blocks : 1, c->parts,
	                 c->part_bits};

	return pbf_words(&g);
}

static const char *
case_name(const Case *c, size_t n)
{
	return format_case("%s: %u blocks, %u parts of %u, offset %zu, %zu keys", c->kernel->name, c->blocks,
	                   c->parts, c->part_bits, c->offset, n);
}

#define CHECK_CASE(condition, n) \
	((condition) ? (void) 0 : check_failed(__FILE__, __LINE__, #condition, case_name(c, n)))

static void
contains_many(const Case *c, const PbfKernel *k, const uint64_t *words, const uint64_t *h, size_t n,
              uint8_t *hit)
{
	if (c->blocks > 0)
		k->contains_many(words, c->blocks, c->parts, h, n, hit);
	else
		k->plain_contains_many(words, c->parts, c->part_bits, h, n, hit);
}

static void
add_many(const Case *c, const PbfKernel *k, uint64_t *words, const uint64_t *h, size_t n)
{
	if (c->blocks > 0)
		k->add_many(words, c->blocks, c->parts, h, n);
	else
		k->plain_add_many(words, c->parts, c->part_bits, h, n);
}

static bool
contains(const Case *c, const PbfKernel *k, const uint64_t *words, uint64_t h)
{
	if (c->blocks > 0)
		return k->contains(words, c->blocks, c->parts, h);
	return k->plain_contains(words, c->parts, c->part_bits, h);
}

/* Probes of n keys against random words in which some keys hit. */
static void
check_probes(const Case *c, const uint64_t *words, const uint64_t *h, size_t n)
{
	uint8_t *hit = allocate(n + 1), *expected = allocate(n + 1); /* exact: a byte too many is seen */

	memset(hit, 0xee, n + 1);
	contains_many(c, &pbf_kernel_scalar, words, h, n, expected);
	contains_many(c, c->kernel, words, h, n, hit);
	CHECK_CASE(hit[n] == 0xee, n);
	CHECK_CASE(memcmp(hit, expected, n) == 0, n);
	for (size_t i = 0; i < n; i++)
	{
		CHECK_CASE(hit[i] <= 1, n);
		CHECK_CASE(contains(c, c->kernel, words, h[i]) == hit[i], n);
	}
	free(hit);
	free(expected);
}

/* Adds of n keys to the words of a region, also one at a time; the words are emptied again. */
static void
check_adds(const Case *c, Region *r, const uint64_t *h, size_t n)
{
	uint64_t *expected = allocate(r->n * sizeof(uint64_t));
	uint8_t *hit = allocate(n);

	add_many(c, &pbf_kernel_scalar, expected, h, n);
	memset(r->words, 0, r->n * sizeof(uint64_t));
	add_many(c, c->kernel, r->words, h, n);
	CHECK_CASE(same_words(r->words, expected, r->n), n);
	contains_many(c, c->kernel, r->words, h, n, hit);
	CHECK_CASE(n == 0 || memchr(hit, 0, n) == NULL, n);
	memset(r->words, 0, r->n * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
	{
		if (c->blocks > 0)
			c->kernel->add(r->words, c->blocks, c->parts, h[i]);
		else
			add_many(c, c->kernel, r->words, &h[i], 1);
	}
	CHECK_CASE(same_words(r->words, expected, r->n), n);
	free(expected);
	free(hit);
}

static void
check_case(const Case *c)
{
	size_t words = case_words(c);
	Region r = make_region(words, c->offset);
	uint64_t h[MAX_KEYS];
	uint64_t seed = words + c->offset;

	for (size_t i = 0; i < MAX_KEYS; i++)
		h[i] = i < 4 ? (i % 2 ? UINT64_MAX : 0) : next_random(&seed);
	for (size_t i = 0; i < COUNT(batches); i++)
	{
		/* the keys end where the array ends: reading beyond them is seen by the address sanitizer */
		const uint64_t *keys = h + MAX_KEYS - batches[i];

		check_adds(c, &r, keys, batches[i]);
		random_words(r.words, words, 0, 0);
		for (size_t j = 0; j < words; j++) /* 7 of 8 bits set */
			r.words[j] = next_random(&seed) | next_random(&seed) | next_random(&seed);
		add_many(c, &pbf_kernel_scalar, r.words, keys, batches[i] / 3);
		check_probes(c, r.words, keys, batches[i]);
	}
	CHECK_CASE(drop_region(&r, c->offset), (size_t) 0);
}

static void
kernel_blocked(void)
{
	static const uint32_t blocks[] = {1, 2, 3, 7, 64, 1000};

	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		for (size_t i = 0; i < COUNT(blocks); i++)
		{
			for (uint32_t parts = 1; parts <= 8; parts++)
			{
				for (size_t offset = 0; offset <= 8; offset++)
				{
					Case c = {*k, blocks[i], parts, 64, offset};

					if (blocks[i] < 1000 || offset == parts || offset == 8)
						check_case(&c);
				}
			}
		}
	}
}

static void
kernel_plain(void)
{
	static const uint32_t parts[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33, 63, 64};
	static const uint32_t part_bits[] = {1, 2, 63, 64, 65, 127, 1000, 70001};

	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		for (size_t i = 0; i < COUNT(parts); i++)
		{
			for (size_t j = 0; j < COUNT(part_bits); j++)
			{
				Case c = {*k, 0, parts[i], part_bits[j], (i + j) % 9};

				if (part_bits[j] < 10000 || parts[i] % 8 == 1)
					check_case(&c);
			}
		}
	}
}

/* Filters near the largest size: positions beyond 32 bits. The memory stays mostly untouched. */
static void
kernel_large(void)
{
	const size_t bytes = PBF_MAX_BYTES - 64;
	static const Case shapes[] = {{NULL, 8388607, 8, 64, 0},
	                              {NULL, 67108856, 1, 64, 0},
	                              {NULL, 0, 1, 4294966784u, 0},
	                              {NULL, 0, 3, 1431655552u, 0}};

	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		for (size_t i = 0; i < COUNT(shapes); i++)
		{
			Case shape = shapes[i], *c = &shape;
			uint64_t *words = allocate(bytes);
			uint64_t h[40];
			uint8_t hit[40];

			c->kernel = *k;
			int_hashes(h, COUNT(h), 1);
			CHECK_CASE(case_words(c) * 8 <= bytes, i);
			add_many(c, *k, words, h, COUNT(h));
			contains_many(c, &pbf_kernel_scalar, words, h, COUNT(h), hit);
			CHECK_CASE(memchr(hit, 0, COUNT(h)) == NULL, i);
			contains_many(c, *k, words, h, COUNT(h), hit);
			CHECK_CASE(memchr(hit, 0, COUNT(h)) == NULL, i);
			if (c->blocks > 0)
				CHECK_CASE(words[(size_t) pbf_block_of(h[7], c->blocks) * c->parts] != 0, i);
			else
				CHECK_CASE(words[pbf_plain_bit(h[7], 0, c->part_bits) / 64] != 0, i);
			free(words);
		}
	}
}

static bool
naive_overlap(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts)
{
	for (size_t block = 0; block < blocks; block++)
	{
		uint32_t common = 0;

		for (uint32_t part = 0; part < parts; part++)
			common += (a[block * parts + part] & b[block * parts + part]) != 0;
		if (common == parts)
			return true;
	}
	return false;
}

static void
check_overlap(const Case *c, int sparsity)
{
	size_t n = case_words(c);
	Region a = make_region(n, c->offset), b = make_region(n, (c->offset + 3) % 9);
	size_t b_offset = (c->offset + 3) % 9;
	uint64_t seed = n + c->offset;

	for (int i = 0; i < 20; i++)
	{
		bool expected;

		random_words(a.words, n, sparsity, next_random(&seed));
		random_words(b.words, n, sparsity, next_random(&seed));
		expected = naive_overlap(a.words, b.words, c->blocks, c->parts);
		CHECK_CASE(c->kernel->blocks_overlap(a.words, b.words, c->blocks, c->parts) == expected, n);
		/* all parts but one, in every block: still disjoint */
		for (size_t j = 0; j < n; j++)
			b.words[j] = j % c->parts == (size_t) i % c->parts ? ~a.words[j] : a.words[j] | 1;
		CHECK_CASE(!c->kernel->blocks_overlap(a.words, b.words, c->blocks, c->parts), n);
		/* one block only overlaps: the last */
		for (size_t j = n - c->parts; j < n; j++)
			a.words[j] = b.words[j] = UINT64_C(1) << (j * 7 % 64);
		CHECK_CASE(c->kernel->blocks_overlap(a.words, b.words, c->blocks, c->parts), n);
	}
	CHECK_CASE((int) drop_region(&a, c->offset) + drop_region(&b, b_offset) == 2, n);
}

static void
kernel_blocks_overlap(void)
{
	static const uint32_t blocks[] = {1, 2, 3, 7, 64};

	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		for (size_t i = 0; i < COUNT(blocks); i++)
		{
			for (uint32_t parts = 1; parts <= 8; parts++)
			{
				for (size_t offset = 0; offset <= 8; offset++)
				{
					Case c = {*k, blocks[i], parts, 64, offset};

					check_overlap(&c, 2 + (int) i % 4);
				}
			}
		}
	}
}

/* The functions on arrays of words, for one length. */
static void
check_words(const PbfKernel *k, size_t n, size_t offset)
{
	const PbfKernel *s = &pbf_kernel_scalar;
	Region a = make_region(n, offset), b = make_region(n, 8 - offset);
	uint64_t *expected = allocate(n * sizeof(uint64_t));

	for (int sparsity = 0; sparsity < 10; sparsity++)
	{
		random_words(a.words, n, sparsity, n + offset);
		random_words(b.words, n, sparsity, n + offset + 1);
		CHECK_FOR(k->popcount(a.words, n) == s->popcount(a.words, n), "%s, %zu", k->name, n);
		CHECK_FOR(k->and_any(a.words, b.words, n) == s->and_any(a.words, b.words, n), "%s, %zu", k->name, n);
		CHECK_FOR(k->contains_words(a.words, b.words, n) == s->contains_words(a.words, b.words, n), "%s, %zu",
		          k->name, n);
		memcpy(expected, a.words, n * sizeof(uint64_t));
		s->or_words(expected, b.words, n);
		k->or_words(a.words, b.words, n);
		CHECK_FOR(same_words(a.words, expected, n), "or, %s, %zu", k->name, n);
		CHECK_FOR(k->contains_words(a.words, b.words, n), "%s, %zu", k->name, n);
		k->and_words(a.words, b.words, n);
		CHECK_FOR(same_words(a.words, b.words, n), "and, %s, %zu", k->name, n);
		k->or_words(a.words, a.words, n);
		k->and_words(a.words, a.words, n);
		CHECK_FOR(same_words(a.words, b.words, n), "of itself, %s, %zu", k->name, n);
	}
	CHECK_FOR((int) drop_region(&a, offset) + drop_region(&b, 8 - offset) == 2, "%s, %zu", k->name, n);
	free(expected);
}

/* A single bit, in every place, is seen. */
static void
check_single_bits(const PbfKernel *k, size_t n)
{
	uint64_t *a = allocate(n * sizeof(uint64_t)), *b = allocate(n * sizeof(uint64_t));

	for (size_t i = 0; i < n; i++)
	{
		a[i] = UINT64_C(1) << (i * 13 % 64);
		CHECK_FOR(!k->and_any(a, b, n), "%s, %zu of %zu", k->name, i, n);
		CHECK_FOR(!k->contains_words(b, a, n), "%s, %zu of %zu", k->name, i, n);
		CHECK_FOR(k->and_any(a, a, n), "%s, %zu of %zu", k->name, i, n);
		CHECK_FOR(k->contains_words(a, b, n), "%s, %zu of %zu", k->name, i, n);
		CHECK_FOR(k->popcount(a, n) == 1, "%s, %zu of %zu", k->name, i, n);
		a[i] = 0;
	}
	memset(a, 0xff, n * sizeof(uint64_t));
	CHECK_FOR(k->popcount(a, n) == 64 * n, "%s, %zu", k->name, n);
	free(a);
	free(b);
}

static void
kernel_words(void)
{
	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		for (size_t n = 0; n <= 70; n++)
		{
			for (size_t offset = 0; offset <= 8; offset++)
				check_words(*k, n, offset);
			check_single_bits(*k, n);
		}
		check_single_bits(*k, 1000);
	}
}

/* The definition. */
static const char *
search(const PbfNeedle *needle, const char *bytes, size_t n)
{
	for (size_t i = 0; i + needle->n <= n; i++)
	{
		if (memcmp(bytes + i, needle->bytes, needle->n) == 0)
			return bytes + i;
	}
	return NULL;
}

/* Needles cut from what is searched, and with a byte changed. Few letters, so that they are nearly there
 * often. */
static void
check_find(const PbfKernel *k, char *bytes, size_t n, uint64_t seed)
{
	char copy[80];

	for (size_t i = 0; i < n; i++)
		bytes[i] = "\0\377 aaab1-"[pbf_mix(seed + i) % (2 + seed % 8)];
	for (int i = 0; i < 40; i++)
	{
		size_t length = 1 + pbf_mix(~seed - (uint64_t) i) % (n < 80 && i > 20 ? n : 5);
		size_t from = pbf_mix(seed + (uint64_t) i * 1000) % (n - (length < n ? length : n) + 1);
		PbfNeedle needle;

		if (length > n || length > sizeof(copy))
			continue;
		memcpy(copy, bytes + from, length);
		if (i % 3 == 0)
			copy[pbf_mix(seed - (uint64_t) i) % length] = 'a';
		needle = pbf_needle(copy, length);
		CHECK(needle.rarest < length && needle.second < length);
		CHECK((needle.rarest == needle.second) == (length == 1));
		CHECK_FOR(k->find(&needle, bytes, n) == search(&needle, bytes, n), "%s, %zu in %zu", k->name, length,
		          n);
		CHECK_FOR(k->find(&needle, bytes, length - 1) == NULL, "%s, %zu", k->name, length);
	}
}

static void
kernel_search(void)
{
	const char zeros[] = {0, 'k', 0, 0};
	PbfNeedle needle = pbf_needle(zeros, sizeof(zeros));

	CHECK(needle.rarest == 1 && needle.second == 3);
	needle = pbf_needle("x", 1);
	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
	{
		CHECK((*k)->find(&needle, "y", 0) == NULL);
		for (size_t words = 1; words <= 40; words++)
		{
			for (size_t less = 0; less < 8; less++)
			{
				Region r = make_region(words, 8);

				check_find(*k, (char *) r.words + less, words * 8 - less, words * 8 + less);
				CHECK(drop_region(&r, 8));
			}
		}
	}
}

/* The scalar counts against the definition: everything else is compared with scalar. */
static void
kernel_reference(void)
{
	const PbfKernel *s = &pbf_kernel_scalar;
	uint64_t words[3 * 5] = {0}, h = pbf_hash_int64(12345);
	uint64_t block = pbf_block_of(h, 3);

	s->add(words, 3, 5, h);
	CHECK(s->popcount(words, 15) == 5);
	for (uint32_t part = 0; part < 5; part++)
		CHECK(words[block * 5 + part] == UINT64_C(1) << ((pbf_positions_of(h) >> (6 * part)) & 63));
	memset(words, 0, sizeof(words));
	s->plain_add_many(words, 5, 129, &h, 1);
	CHECK(s->popcount(words, 15) == 5);
	for (uint32_t part = 0; part < 5; part++)
	{
		uint32_t bit = pbf_plain_bit(h, part, 129);

		CHECK(words[part * 3 + bit / 64] == UINT64_C(1) << (bit % 64));
	}
}

static void
kernel_find(void)
{
	CHECK(pbf_kernel == &pbf_kernel_scalar);
	CHECK(pbf_kernel_find("scalar") == &pbf_kernel_scalar);
	CHECK(pbf_kernel_find("auto") != NULL);
	CHECK(pbf_kernel_find("") == NULL);
	CHECK(pbf_kernel_find("sse9") == NULL);
	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
		CHECK(pbf_kernel_find((*k)->name) == *k);
	printf("       kernels:");
	for (const PbfKernel *const *k = all_kernels(); *k != NULL; k++)
		printf(" %s", (*k)->name);
	printf("; auto: %s\n", pbf_kernel_find("auto")->name);
}

void
kernel_tests(void)
{
	TEST(kernel_find);
	TEST(kernel_reference);
	TEST(kernel_blocked);
	TEST(kernel_plain);
	TEST(kernel_large);
	TEST(kernel_blocks_overlap);
	TEST(kernel_words);
	TEST(kernel_search);
}

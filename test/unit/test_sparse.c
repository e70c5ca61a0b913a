/*
 * test_sparse.c: the set of hashes of an aggregate.
 */
#include <time.h>
#include "test.h"

typedef struct Set
{
	PbfFilter *f;
	uint64_t bytes;
} Set;

static Set
make_set(uint64_t count)
{
	Set s = {NULL, pbf_sparse_bytes(count)};

	s.f = allocate(s.bytes);
	pbf_sparse_init(s.f, s.bytes, PBF_KIND_HASH, 0.01);
	return s;
}

/* Adds, growing when there is no room, as the aggregate does. */
static bool
set_add(Set *s, uint64_t h)
{
	if (!pbf_sparse_has_room(s->f, s->bytes))
	{
		uint64_t n = s->f->blocks;
		uint64_t *hashes = allocate(n * sizeof(uint64_t));
		Set larger = make_set(n);

		CHECK(larger.bytes > s->bytes);
		pbf_sparse_hashes(s->f, s->bytes, hashes);
		for (uint64_t i = 0; i < n; i++)
			CHECK(pbf_sparse_add(larger.f, larger.bytes, hashes[i]));
		free(hashes);
		free(s->f);
		*s = larger;
	}
	CHECK(pbf_sparse_has_room(s->f, s->bytes));
	return pbf_sparse_add(s->f, s->bytes, h);
}

static bool
same_external(const Set *a, const Set *b)
{
	uint64_t n = pbf_encode_size(a->f, a->bytes);
	uint8_t *x = allocate(n), *y = allocate(n);
	bool same = n == pbf_encode_size(b->f, b->bytes);

	pbf_encode(a->f, a->bytes, x);
	if (same)
	{
		pbf_encode(b->f, b->bytes, y);
		same = memcmp(x, y, n) == 0;
	}
	free(x);
	free(y);
	return same;
}

static void
sparse_zero_hash(void)
{
	Set s = make_set(0);
	uint64_t out[3] = {7, 7, 7};

	CHECK(s.f->blocks == 0);
	CHECK(set_add(&s, 0));
	CHECK(!set_add(&s, 0));
	CHECK(s.f->blocks == 1);
	CHECK(set_add(&s, 1));
	CHECK(!set_add(&s, 0));
	pbf_sparse_hashes(s.f, s.bytes, out);
	CHECK(s.f->blocks == 2 && out[2] == 7);
	CHECK((out[0] == 0 && out[1] == 1) || (out[0] == 1 && out[1] == 0));
	free(s.f);
}

/* Every hash once, whatever the size; every added one is known again. */
static void
sparse_growth(void)
{
	Set s = make_set(0);
	uint64_t seed = 21, n = 20000;
	const char *why;

	for (uint64_t i = 0; i < n; i++)
	{
		CHECK(set_add(&s, next_random(&seed)));
		CHECK(s.f->blocks == i + 1);
		if (i % 997 == 0)
			CHECK(pbf_header_valid(s.f, s.bytes, &why));
	}
	seed = 21;
	for (uint64_t i = 0; i < n; i++)
		CHECK(!set_add(&s, next_random(&seed)));
	CHECK(s.f->blocks == n);
	CHECK(s.bytes <=
	      PBF_HEADER_BYTES + 8 * (1 + 2 * (n + 1) * 3 / 2)); /* at most twice what the load asks for */
	free(s.f);
}

/* Room for one more in the size of any count, and a load of at most 2/3 after it. */
static void
sparse_sizes(void)
{
	for (uint64_t count = 0; count <= PBF_SPARSE_MAX; count = count < 100 ? count + 1 : count * 5 / 4)
	{
		uint64_t bytes = pbf_sparse_bytes(count), slots = (bytes - PBF_HEADER_BYTES) / 8 - 1;

		CHECK((slots & (slots - 1)) == 0);
		CHECK((count + 1) * 3 <= slots * 2);
		CHECK(slots == PBF_SPARSE_MIN_SLOTS || (count + 1) * 3 > slots);
		CHECK(bytes <= PBF_MAX_BYTES);
	}
}

/* The external form depends on the hashes only: not on their order, the sizes on the way, or duplicates. */
static void
sparse_order(void)
{
	for (size_t n = 0; n < 200; n += 1 + n / 4)
	{
		Set a = make_set(0), b = make_set(500), c = make_set(n);
		uint64_t h[200], seed = 22 + n;

		for (size_t i = 0; i < n; i++)
			h[i] = i == 3 ? 0 : next_random(&seed);
		for (size_t i = 0; i < n; i++)
		{
			set_add(&a, h[i]);
			set_add(&b, h[n - 1 - i]);
			set_add(&c, h[i * 7 % n]); /* all of them unless 7 divides n: then completed below */
			set_add(&c, h[i]);
		}
		CHECK_FOR(same_external(&a, &b), "%zu", n);
		CHECK_FOR(same_external(&a, &c), "%zu", n);
		free(a.f);
		free(b.f);
		free(c.f);
	}
}

/* Hashes that all fall on few slots if taken as they are: must not take quadratic time. */
static void
sparse_bad_hashes(void)
{
	Set s = make_set(0);
	clock_t start = clock();

	for (uint64_t i = 1; i <= 200000; i++)
	{
		set_add(&s, i << 40);
		/* milliseconds if mixed, even in an emulator; else far more than a minute */
		if (clock() - start > 5 * CLOCKS_PER_SEC)
			break;
	}
	CHECK(s.f->blocks == 200000);
	free(s.f);
}

/* External bytes and back: the same set. */
static void
sparse_round_trip(void)
{
	uint64_t seed = 23;

	for (size_t n = 0; n < 3000; n = n * 2 + 1)
	{
		Set a = make_set(0), b;
		uint64_t size;
		uint8_t *bytes;
		const char *why;
		double target = 0.01; /* rounded to a double, on every machine */

		for (size_t i = 0; i < n; i++)
			set_add(&a, i == 5 ? 0 : next_random(&seed));
		size = pbf_encode_size(a.f, a.bytes);
		bytes = allocate(size);
		pbf_encode(a.f, a.bytes, bytes);
		b.bytes = pbf_decode_size(bytes, size, &why);
		CHECK(b.bytes != 0);
		b.f = allocate(b.bytes);
		CHECK(pbf_decode(bytes, size, b.f, &why));
		CHECK(same_external(&a, &b));
		CHECK(memcmp(&b.f->target, &target, sizeof(target)) == 0 && b.f->kind == PBF_KIND_HASH);
		free(a.f);
		free(b.f);
		free(bytes);
	}
}

/* The longest run of used slots. */
static uint64_t
longest_run(const Set *s)
{
	uint64_t slots = (s->bytes - PBF_HEADER_BYTES) / sizeof(uint64_t) - 1, longest = 0, run = 0;

	for (uint64_t i = 1; i <= slots; i++)
	{
		run = s->f->words[i] == 0 ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Sets of one secret are merged without runs that get longer and longer: 0.46 and then 2/3 of the slots used.
 */
static void
sparse_merge(void)
{
	enum
	{
		A = 30000,
		B = 43000
	};
	uint64_t *hashes = allocate(B * sizeof(uint64_t));
	Set a = make_set(B), b = make_set(B);
	uint64_t longest = 0;

	for (uint64_t i = 0; i < A; i++)
		set_add(&a, pbf_mix(i));
	for (uint64_t i = 0; i < B; i++)
		set_add(&b, pbf_mix(A + i));
	CHECK(a.bytes == b.bytes);
	pbf_sparse_hashes(b.f, b.bytes, hashes);
	for (uint64_t i = 0; i < B && pbf_sparse_has_room(a.f, a.bytes); i++)
	{
		pbf_sparse_add(a.f, a.bytes, hashes[i]);
		if (i % 1000 == 0)
			longest = longest_run(&a) > longest ? longest_run(&a) : longest;
	}
	CHECK(longest > 5 && longest < 300);
	free(hashes);
	free(a.f);
	free(b.f);
}

/* The largest set is accepted, one hash more is not. */
static void
sparse_limit(void)
{
	for (uint64_t count = PBF_SPARSE_MAX; count <= PBF_SPARSE_MAX + 1; count++)
	{
		size_t n = PBF_EXTERNAL_HEADER_BYTES + count * sizeof(uint64_t);
		uint8_t *bytes = allocate(n);
		Set s = make_set(0);
		const char *why;

		pbf_encode(s.f, s.bytes, bytes);
		for (int i = 0; i < 4; i++)
			bytes[4 + i] = (uint8_t) (count >> (8 * i));
		CHECK((pbf_decode_size(bytes, n, &why) != 0) == (count == PBF_SPARSE_MAX));
		free(s.f);
		free(bytes);
	}
}

void
sparse_tests(void)
{
	TEST(sparse_limit);
	TEST(sparse_zero_hash);
	TEST(sparse_growth);
	TEST(sparse_sizes);
	TEST(sparse_order);
	TEST(sparse_merge);
	TEST(sparse_bad_hashes);
	TEST(sparse_round_trip);
}

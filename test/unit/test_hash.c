/*
 * test_hash.c: the hash contract, against values that an independent program computed. See golden.py.
 */
#include "test.h"
#include "golden.h"

#define LONGEST 300

/* The bytes that golden.py hashes. At an odd address: the hash must not care. */
static uint64_t
hash_of_length(unsigned n)
{
	uint8_t *bytes = allocate(n + 1);
	uint64_t h;

	for (unsigned i = 0; i < n; i++)
		bytes[i + 1] = (uint8_t) (37 * i + 11 * n + 5);
	h = pbf_hash_bytes(bytes + 1, n);
	free(bytes);
	return h;
}

static void
hash_of_bytes(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < COUNT(golden_hash); i++)
		CHECK_FOR(hash_of_length(golden_hash[i].n) == golden_hash[i].h, "%u bytes", golden_hash[i].n);
	for (unsigned n = 0; n <= LONGEST; n++)
		sum = sum * UINT64_C(0x9e3779b97f4a7c15) + hash_of_length(n);
	CHECK(sum == golden_hash_sum);
}

static void
hash_of_whole_numbers(void)
{
	for (size_t i = 0; i < COUNT(golden_int64); i++)
		CHECK_FOR(pbf_hash_int64(golden_int64[i].value) == golden_int64[i].h, "%lld",
		          (long long) golden_int64[i].value);
}

static void
positions_blocked(void)
{
	for (size_t i = 0; i < COUNT(golden_blocked); i++)
	{
		uint64_t h = golden_blocked[i].h;

		CHECK_FOR(pbf_block_of(h, golden_blocked[i].blocks) == golden_blocked[i].block, "line %zu", i);
		for (int part = 0; part < 8; part++)
			CHECK_FOR((pbf_positions_of(h) >> (6 * part) & 63) == golden_blocked[i].bit[part], "line %zu", i);
	}
}

static void
positions_plain(void)
{
	for (size_t i = 0; i < COUNT(golden_plain); i++)
		CHECK_FOR(pbf_plain_bit(golden_plain[i].h, golden_plain[i].part, golden_plain[i].part_bits) ==
		              golden_plain[i].bit,
		          "line %zu", i);
}

/* The range of h that falls on one place of n is that of two neighbours of 2n. */
static void
positions_fold(void)
{
	uint64_t seed = 1;

	for (int i = 0; i < 10000; i++)
	{
		uint64_t h = next_random(&seed);
		uint32_t n = 1 + random_below(&seed, 1 << (i % 30)), factor = 1 + random_below(&seed, 8);

		if ((uint64_t) n * factor > UINT32_MAX)
			continue;
		CHECK(pbf_block_of(h, n * factor) / factor == pbf_block_of(h, n));
		CHECK(pbf_plain_bit(h, 3, n * factor) / factor == pbf_plain_bit(h, 3, n));
	}
}

void
hash_tests(void)
{
	TEST(hash_of_bytes);
	TEST(hash_of_whole_numbers);
	TEST(positions_blocked);
	TEST(positions_plain);
	TEST(positions_fold);
}

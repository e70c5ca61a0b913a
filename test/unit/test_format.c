/*
 * test_format.c: the external bytes: golden values, round trips, and a validator that nothing gets past.
 */
#include <math.h>
#include "test.h"
#include "golden.h"

typedef struct Bytes
{
	uint8_t *at; /* exactly n bytes of memory: reading beyond them is seen by the address sanitizer */
	size_t n;
} Bytes;

static Bytes
from_hex(const char *hex)
{
	Bytes b = {allocate(strlen(hex) / 2), strlen(hex) / 2};

	for (size_t i = 0; i < b.n; i++)
	{
		unsigned value = 0;

		sscanf(hex + 2 * i, "%2x", &value);
		b.at[i] = (uint8_t) value;
	}
	return b;
}

typedef struct Datum
{
	PbfFilter *f;
	uint64_t bytes;
} Datum;

static Bytes
encode(Datum d)
{
	Bytes b;

	b.n = pbf_encode_size(d.f, d.bytes);
	b.at = allocate(b.n);
	pbf_encode(d.f, d.bytes, b.at);
	return b;
}

/* A filter of the n hashes. */
static Datum
build(PbfGeometry g, PbfKind kind, const uint64_t *h, size_t n)
{
	Datum d = {allocate(pbf_stored_bytes(&g)), pbf_stored_bytes(&g)};

	pbf_header_init(d.f, &g, kind);
	pbf_filter_add_many(&g, d.f->words, h, n);
	return d;
}

/* A set of the n hashes. */
static Datum
build_sparse(PbfKind kind, double target, const uint64_t *h, size_t n)
{
	Datum d = {allocate(pbf_sparse_bytes(n)), pbf_sparse_bytes(n)};

	pbf_sparse_init(d.f, d.bytes, kind, target);
	for (size_t i = 0; i < n; i++)
		pbf_sparse_add(d.f, d.bytes, h[i]);
	return d;
}

/* The filter's external bytes are those of the hexadecimal text. Frees the filter. */
static void
check_golden(Datum d, const char *hex)
{
	Bytes b = encode(d), expected = from_hex(hex);
	const char *why;

	CHECK(pbf_header_valid(d.f, d.bytes, &why));
	CHECK(b.n == expected.n && memcmp(b.at, expected.at, b.n) == 0);
	free(b.at);
	free(expected.at);
	free(d.f);
}

static void
stored_golden(void)
{
	const PbfGeometry b38 = {PBF_BLOCKED, 3, 8, 64}, b23 = {PBF_BLOCKED, 2, 3, 64},
	                  b18 = {PBF_BLOCKED, 1, 8, 64};
	const PbfGeometry p5 = {PBF_PLAIN, 1, 5, 100}, p1 = {PBF_PLAIN, 1, 1, 64}, p3 = {PBF_PLAIN, 1, 3, 7};
	uint64_t h[8], zero[4] = {0};

	int_hashes(h, 8, 1);
	memcpy(zero + 1, h, 3 * sizeof(uint64_t));
	check_golden(build(b38, PBF_KIND_INTEGER, h, 8), golden_blocked_3x8);
	check_golden(build(b23, PBF_KIND_INTEGER, h, 8), golden_blocked_2x3);
	check_golden(build(p5, PBF_KIND_INTEGER, h, 8), golden_plain_5x100);
	check_golden(build(p1, PBF_KIND_INTEGER, h, 8), golden_plain_1x64);
	check_golden(build(p3, PBF_KIND_INTEGER, h, 2), golden_plain_3x7);
	check_golden(build(b18, PBF_KIND_NONE, h, 0), golden_empty_1x8);
	check_golden(build_sparse(PBF_KIND_INTEGER, 0.01, h, 8), golden_sparse_8);
	check_golden(build_sparse(PBF_KIND_HASH, 0.001, zero, 4), golden_sparse_zero);
}

/* Adds to and probes a filter that came from outside. */
static bool
usable(PbfFilter *f, uint64_t bytes)
{
	uint64_t h[3] = {0, UINT64_MAX, pbf_hash_int64(1)};
	PbfGeometry g = pbf_geometry_of(f);
	bool found = true;

	if (f->flags & PBF_FLAG_SPARSE)
	{
		CHECK(pbf_sparse_has_room(f, bytes));
		pbf_sparse_add(f, bytes, h[2]);
		return !pbf_sparse_add(f, bytes, h[2]);
	}
	for (int i = 0; i < 3; i++)
	{
		pbf_filter_add(&g, f->words, h[i]);
		found &= pbf_filter_contains(&g, f->words, h[i]);
	}
	return found;
}

/*
 * What must hold for any bytes: they are refused with a reason, or they are a sound filter that encodes to
 * the same bytes and can be used. Returns whether they were accepted.
 */
static bool
check_any(const uint8_t *bytes, size_t n)
{
	const char *why = NULL;
	Datum d = {NULL, pbf_decode_size(bytes, n, &why)};
	Bytes again;
	bool accepted;

	if (d.bytes == 0)
	{
		CHECK(why != NULL && why[0] != 0);
		return false;
	}
	d.f = allocate(d.bytes);
	accepted = pbf_decode(bytes, n, d.f, &why);
	if (!accepted)
		CHECK(why != NULL && why[0] != 0);
	else
	{
		CHECK(pbf_header_valid(d.f, d.bytes, &why));
		CHECK(d.f->kind < PBF_KINDS && pbf_kind_name(d.f->kind) != NULL);
		again = encode(d);
		CHECK(again.n == n && memcmp(again.at, bytes, n) == 0);
		free(again.at);
		CHECK(usable(d.f, d.bytes));
	}
	free(d.f);
	return accepted;
}

static PbfGeometry
random_geometry(uint64_t *seed)
{
	if (random_below(seed, 2))
		return (PbfGeometry){PBF_BLOCKED, 1 + random_below(seed, 20), 1 + random_below(seed, 8), 64};
	return (PbfGeometry){PBF_PLAIN, 1, 1 + random_below(seed, 64), 1 + random_below(seed, 300)};
}

/* External bytes of some sound filter. */
static Bytes
random_filter(uint64_t *seed)
{
	uint64_t h[50];
	size_t n = random_below(seed, 50);
	PbfKind kind = n == 0 ? PBF_KIND_NONE : (PbfKind) (1 + random_below(seed, PBF_KINDS - 1));
	Datum d;
	Bytes b;

	for (size_t i = 0; i < n; i++)
		h[i] = random_below(seed, 20) == 0 ? 0 : next_random(seed);
	if (random_below(seed, 3) == 0)
		d = build_sparse(kind, 0.01 / (1 + random_below(seed, 9)), h, n);
	else
		d = build(random_geometry(seed), kind, h, n);
	if ((d.f->flags & PBF_FLAG_SPARSE) == 0 && random_below(seed, 4) == 0)
	{
		d.f->flags |= PBF_FLAG_LARGE;
		d.f->target = 0.001;
	}
	b = encode(d);
	free(d.f);
	return b;
}

static void
stored_round_trip(void)
{
	uint64_t seed = 11;

	for (int i = 0; i < 3000; i++)
	{
		Bytes b = random_filter(&seed);

		CHECK(check_any(b.at, b.n));
		free(b.at);
	}
}

/* Sound filters with a few bytes changed, and cut or lengthened. */
static void
fuzz_mutated(void)
{
	uint64_t seed = 12;
	int accepted = 0;

	for (int i = 0; i < 60000; i++)
	{
		Bytes b = random_filter(&seed);
		size_t n = b.n;
		uint8_t *copy;

		if (random_below(&seed, 4) == 0)
			n = random_below(&seed, (uint32_t) n + 20);
		copy = allocate(n);
		memcpy(copy, b.at, n < b.n ? n : b.n);
		for (uint32_t changes = random_below(&seed, 4); changes > 0 && n > 0; changes--)
		{
			/* half of the changes in the header */
			uint32_t at = random_below(&seed, random_below(&seed, 2) && n > 20 ? 20 : (uint32_t) n);

			copy[at] = random_below(&seed, 2) ? (uint8_t) next_random(&seed)
			                                  : copy[at] ^ (1 << random_below(&seed, 8));
		}
		accepted += check_any(copy, n);
		free(copy);
		free(b.at);
	}
	CHECK(accepted > 1000); /* else the test would test nothing */
}

/* Random bytes behind a header of small numbers, so that some of it makes sense. */
static void
fuzz_random(void)
{
	uint64_t seed = 13;

	for (int i = 0; i < 300000; i++)
	{
		size_t n = random_below(&seed, 120);
		uint8_t *bytes = allocate(n);

		for (size_t j = 0; j < n; j++)
			bytes[j] =
			    (uint8_t) (i % 2 && j < 12 ? random_below(&seed, j % 4 == 0 ? 9 : 2) : next_random(&seed));
		if (n > 0 && i % 4)
			bytes[0] = PBF_FORMAT_VERSION;
		check_any(bytes, n);
		free(bytes);
	}
}

/* Every cut of a sound filter is refused, as is a byte more. */
static void
validate_length(void)
{
	uint64_t seed = 14;

	for (int i = 0; i < 30; i++)
	{
		Bytes b = random_filter(&seed);

		for (size_t n = 0; n < b.n; n++)
		{
			uint8_t *cut = allocate(n);

			memcpy(cut, b.at, n);
			CHECK(!check_any(cut, n));
			free(cut);
		}
		b.at = realloc(b.at, b.n + 1);
		b.at[b.n] = 0;
		CHECK(!check_any(b.at, b.n + 1));
		free(b.at);
	}
}

/* One change of a sound filter that must be refused. */
typedef struct Fault
{
	const char *hex;
	size_t at;
	uint8_t value;
} Fault;

static void
validate_faults(void)
{
	static const Fault faults[] = {
	    {golden_blocked_3x8, 0, 0}, /* version */
	    {golden_blocked_3x8, 0, 2},
	    {golden_blocked_3x8, 1, 0}, /* layout: plain filters have one block */
	    {golden_blocked_3x8, 1, 3}, /* sparse and blocked */
	    {golden_blocked_3x8, 1, 5}, /* unfinished, without a rate */
	    {golden_blocked_3x8, 1, 9}, /* a window is never stored */
	    {golden_blocked_3x8, 1, 0x81},
	    {golden_blocked_3x8, 2, PBF_KINDS},
	    {golden_blocked_3x8, 2, 255},
	    {golden_blocked_3x8, 2, 0}, /* not empty, so it has a kind */
	    {golden_blocked_3x8, 3, 7}, /* parts do not fit the length */
	    {golden_blocked_3x8, 3, 9},
	    {golden_blocked_3x8, 3, 0},
	    {golden_blocked_3x8, 4, 2}, /* blocks */
	    {golden_blocked_3x8, 7, 255},
	    {golden_blocked_3x8, 8, 63},         /* part_bits */
	    {golden_blocked_3x8, 12, 1},         /* reserved */
	    {golden_blocked_3x8, 19, 0x80},      /* a negative zero */
	    {golden_plain_5x100, 8, 129},        /* part_bits: one word more */
	    {golden_plain_5x100, 8, 64},         /* one word less */
	    {golden_plain_5x100, 20 + 15, 0x80}, /* padding of the first part */
	    {golden_plain_5x100, 20 + 12, 0xf0}, /* its lowest bit is bit 100 */
	    {golden_plain_5x100, 20 + 79, 0x01}, /* of the last */
	    {golden_sparse_8, 1, 6},             /* sparse and large */
	    {golden_sparse_8, 2, 0},
	    {golden_sparse_8, 3, 1},         /* parts */
	    {golden_sparse_8, 4, 7},         /* count */
	    {golden_sparse_8, 8, 64},        /* part_bits */
	    {golden_sparse_8, 19, 0xbf},     /* a negative rate */
	    {golden_sparse_8, 19, 0x40},     /* a rate above 1 */
	    {golden_sparse_8, 20 + 7, 0xff}, /* hashes do not ascend */
	};

	for (size_t i = 0; i < COUNT(faults); i++)
	{
		Bytes b = from_hex(faults[i].hex);

		CHECK_FOR(check_any(b.at, b.n), "%zu", i);
		b.at[faults[i].at] = faults[i].value;
		CHECK_FOR(!check_any(b.at, b.n), "%zu", i);
		free(b.at);
	}
}

/* Equal neighbours in a set; a rate that is not a number. */
static void
validate_sparse(void)
{
	Bytes b = from_hex(golden_sparse_8);
	double nan_rate = NAN;

	memcpy(b.at + 28, b.at + 20, 8);
	CHECK(!check_any(b.at, b.n));
	free(b.at);
	b = from_hex(golden_sparse_zero);
	memcpy(b.at + 28, b.at + 20, 8); /* 0 twice */
	CHECK(!check_any(b.at, b.n));
	free(b.at);
	b = from_hex(golden_sparse_zero);
	memcpy(b.at + 12, &nan_rate, 8);
	CHECK(!check_any(b.at, b.n));
	free(b.at);
}

/* The header of a datum, as it is checked on every use. */
static void
header_valid(void)
{
	uint64_t h[2] = {1, 2};
	Datum d = build((PbfGeometry){PBF_BLOCKED, 3, 8, 64}, PBF_KIND_HASH, h, 2);
	const char *why;

	for (uint64_t bytes = 0; bytes < 2 * d.bytes; bytes++)
		CHECK_FOR(pbf_header_valid(d.f, bytes, &why) == (bytes == d.bytes), "%u", (unsigned) bytes);
	d.f->flags = PBF_FLAG_BLOCKED | PBF_FLAG_LARGE;
	CHECK(!pbf_header_valid(d.f, d.bytes, &why));
	d.f->target = 0.5;
	CHECK(pbf_header_valid(d.f, d.bytes, &why));
	d.f->target = 1;
	CHECK(!pbf_header_valid(d.f, d.bytes, &why));
	free(d.f);
}

static void
header_valid_sparse(void)
{
	uint64_t h[2] = {1, 2};
	Datum d = build_sparse(PBF_KIND_HASH, 0.5, h, 2);
	const char *why;

	CHECK(pbf_header_valid(d.f, d.bytes, &why) && pbf_sparse_valid(d.f, d.bytes));
	d.f->blocks = 1; /* what is damaged in storage: fewer or more hashes than there are */
	CHECK(pbf_header_valid(d.f, d.bytes, &why) && !pbf_sparse_valid(d.f, d.bytes));
	d.f->blocks = 3;
	CHECK(!pbf_sparse_valid(d.f, d.bytes));
	d.f->blocks = 2;
	d.f->words[0] |= 1;
	CHECK(!pbf_sparse_valid(d.f, d.bytes));
	d.f->words[0] &= ~UINT64_C(1);
	CHECK(!pbf_header_valid(d.f, d.bytes - 8, &why));
	CHECK(!pbf_header_valid(d.f, d.bytes + 8, &why));
	CHECK(!pbf_header_valid(d.f, d.bytes + 1, &why));
	d.f->blocks = (uint32_t) ((d.bytes - PBF_HEADER_BYTES) / 8); /* one more than there are slots */
	CHECK(!pbf_header_valid(d.f, d.bytes, &why));
	free(d.f);
}

static void
kind_names(void)
{
	for (unsigned kind = 0; kind < PBF_KINDS; kind++)
	{
		CHECK_FOR(pbf_kind_name(kind) != NULL && pbf_kind_name(kind)[0] != 0, "%u", kind);
		for (unsigned other = 0; other < kind; other++)
			CHECK_FOR(strcmp(pbf_kind_name(kind), pbf_kind_name(other)) != 0, "%u, %u", kind, other);
	}
	CHECK(pbf_kind_name(PBF_KINDS) == NULL);
	CHECK(pbf_kind_name(255) == NULL);
	/* frozen numbers */
	CHECK(strcmp(pbf_kind_name(2), "integer") == 0);
	CHECK(strcmp(pbf_kind_name(13), "text") == 0);
	CHECK(strcmp(pbf_kind_name(16), "uuid") == 0);
	CHECK(strcmp(pbf_kind_name(32), "other") == 0);
}

void
format_tests(void)
{
	TEST(stored_golden);
	TEST(stored_round_trip);
	TEST(validate_length);
	TEST(validate_faults);
	TEST(validate_sparse);
	TEST(fuzz_mutated);
	TEST(fuzz_random);
	TEST(header_valid);
	TEST(header_valid_sparse);
	TEST(kind_names);
}

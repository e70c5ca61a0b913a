/*
 * fuzz.c: libFuzzer over the validator and the operations of each kernel (make run-fuzz).
 *
 * The input: a byte that says how many hashes there are at the end to work with, a filter's external bytes,
 * the hashes. What the validator takes must come out as it went in, and must keep its promises in every
 * operation.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "format.h"
#include "kernel.h"
#include "sparse.h"

#define MAX_HASHES 32

#define MUST(condition)                                                     \
	do                                                                      \
	{                                                                       \
		if (!(condition))                                                   \
		{                                                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                   \
	} while (0)

extern int LLVMFuzzerInitialize(int *argc, char ***argv);
extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly that many bytes, so that the address sanitizer sees a step beyond. */
static void *
zeroed(uint64_t bytes)
{
	void *p = calloc(1, bytes);

	MUST(p != NULL);
	return p;
}

static void
check_round_trip(const PbfFilter *f, uint64_t bytes, const uint8_t *in, size_t n)
{
	const char *why;
	uint8_t *out;

	MUST(pbf_header_valid(f, bytes, &why));
	MUST(pbf_encode_size(f, bytes) == n);
	out = zeroed(n);
	pbf_encode(f, bytes, out);
	MUST(memcmp(in, out, n) == 0);
	free(out);
}

static void
use_set(PbfFilter *f, uint64_t bytes, const uint64_t *h, int n)
{
	uint64_t *hashes;
	uint32_t before = f->blocks;

	for (int i = 0; i < n && pbf_sparse_has_room(f, bytes); i++)
	{
		pbf_sparse_add(f, bytes, h[i]);
		MUST(!pbf_sparse_has_room(f, bytes) || !pbf_sparse_add(f, bytes, h[i]));
	}
	MUST(f->blocks >= before && f->blocks <= before + n);
	hashes = zeroed((uint64_t) f->blocks * sizeof(uint64_t) + 1);
	pbf_sparse_hashes(f, bytes, hashes);
	free(hashes);
}

/* The hashes are in the words, one by one and together. */
static void
must_contain(const PbfGeometry *g, const uint64_t *words, const uint64_t *h, int n)
{
	uint8_t hit[MAX_HASHES];

	for (int i = 0; i < n; i++)
		MUST(pbf_filter_contains(g, words, h[i]));
	pbf_filter_contains_many(g, words, h, n, hit);
	for (int i = 0; i < n; i++)
		MUST(hit[i]);
}

static void
use_smaller(const PbfGeometry *g, const uint64_t *words, const uint64_t *h, int n)
{
	PbfGeometry to = *g;
	uint64_t *out;
	const char *why;

	for (uint32_t parts = 1; parts <= g->parts; parts += 1 + g->parts / 4)
	{
		to.parts = parts;
		out = zeroed(pbf_stored_bytes(&to));
		pbf_filter_reduce(g, words, parts, out);
		must_contain(&to, out, h, n);
		free(out);
	}
	to = *g;
	if (g->layout == PBF_BLOCKED)
		to.blocks = 1 + g->blocks / 3;
	else
		to.part_bits = 1 + g->part_bits / 3;
	if (!pbf_geometry_valid(&to, &why))
		return;
	out = zeroed(pbf_stored_bytes(&to));
	for (uint64_t i = 0; i < (uint64_t) n + 1; i++)
		pbf_filter_resize(g, words, &to, out, (PbfSlice){i, n + 1});
	must_contain(&to, out, h, n);
	free(out);
}

/* Every operation on a filter. Returns its words with the hashes; absent: for each hash, what is said of its
 * complement. */
static uint64_t *
use_filter(const PbfFilter *f, const uint64_t *h, int n, uint8_t *absent)
{
	PbfGeometry g = pbf_geometry_of(f);
	uint64_t bytes = pbf_words(&g) * sizeof(uint64_t);
	uint64_t *words = zeroed(bytes), *other = zeroed(bytes);
	double fpr[PBF_PLAIN_MAX_PARTS];
	double keys = pbf_cardinality_of(&g, pbf_filter_popcount(&g, f->words));

	MUST(keys >= 0);
	MUST(pbf_filter_is_empty(&g, f->words) == (pbf_filter_popcount(&g, f->words) == 0));
	pbf_filter_fpr(&g, f->words, fpr);
	for (uint32_t part = 0; part < g.parts; part++)
		MUST(fpr[part] >= 0 && fpr[part] <= 1 && (part == 0 || fpr[part] <= fpr[part - 1] + 1e-9));

	memcpy(words, f->words, bytes);
	for (int i = 0; i < n / 2; i++)
		pbf_filter_add(&g, words, h[i]);
	pbf_filter_add_many(&g, words, h + n / 2, n - n / 2);
	must_contain(&g, words, h, n);
	MUST(pbf_filter_contains_filter(&g, words, f->words));

	pbf_filter_add_many(&g, other, h, n);
	MUST(pbf_filter_contains_filter(&g, words, other));
	MUST(n == 0 || pbf_filter_overlaps(&g, words, other));
	pbf_filter_intersect(&g, other, words);
	must_contain(&g, other, h, n);
	pbf_filter_union(&g, other, f->words);
	MUST(memcmp(other, words, bytes) == 0);
	use_smaller(&g, words, h, n);
	for (int i = 0; i < n; i++)
	{
		uint64_t complement = ~h[i];

		pbf_filter_contains_many(&g, words, &complement, 1, absent + i);
		MUST(absent[i] == pbf_filter_contains(&g, words, complement));
	}
	free(other);
	return words;
}

/* All kernels say the same. */
static void
use_kernels(const PbfFilter *f, const uint64_t *h, int n)
{
	const char *names[] = {"avx2", "avx512", "neon"};
	PbfGeometry g = pbf_geometry_of(f);
	uint8_t absent[MAX_HASHES], same[MAX_HASHES];
	uint64_t *words, *again;

	pbf_kernel_use(&pbf_kernel_scalar);
	words = use_filter(f, h, n, absent);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (pbf_kernel_find(names[i]) == NULL)
			continue;
		pbf_kernel_use(pbf_kernel_find(names[i]));
		again = use_filter(f, h, n, same);
		MUST(memcmp(words, again, pbf_words(&g) * sizeof(uint64_t)) == 0);
		MUST(memcmp(absent, same, n) == 0);
		free(again);
	}
	free(words);
}

static int sets, filters;

/* What takes no input is not tested. */
static void
must_have_used_some(void)
{
	printf("sets: %d, filters: %d\n", sets, filters);
	MUST(sets > 0 && filters > 0);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void) argc;
	(void) argv;
	return atexit(must_have_used_some);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t h[MAX_HASHES];
	const char *why = NULL;
	PbfFilter *f;
	uint64_t bytes;
	size_t n;
	int hashes;

	if (size < 1)
		return 0;
	hashes = data[0] % MAX_HASHES;
	data++;
	size--;
	if (size < hashes * sizeof(uint64_t))
		return 0;
	n = size - hashes * sizeof(uint64_t);
	memcpy(h, data + n, hashes * sizeof(uint64_t));
	bytes = pbf_decode_size(data, n, &why);
	MUST((bytes == 0) == (why != NULL));
	if (bytes == 0)
		return 0;
	f = zeroed(bytes);
	if (!pbf_decode(data, n, f, &why))
		MUST(why != NULL);
	else
	{
		check_round_trip(f, bytes, data, n);
		if (f->flags & PBF_FLAG_SPARSE)
			sets++, use_set(f, bytes, h, hashes);
		else
			filters++, use_kernels(f, h, hashes);
	}
	free(f);
	return 0;
}

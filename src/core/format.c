/*
 * format.c: the stored filter: header, external bytes, validator.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "sparse.h"

_Static_assert(offsetof(PbfFilter, version) == 4, "frozen format");
_Static_assert(offsetof(PbfFilter, flags) == 5, "frozen format");
_Static_assert(offsetof(PbfFilter, kind) == 6, "frozen format");
_Static_assert(offsetof(PbfFilter, parts) == 7, "frozen format");
_Static_assert(offsetof(PbfFilter, blocks) == 8, "frozen format");
_Static_assert(offsetof(PbfFilter, part_bits) == 12, "frozen format");
_Static_assert(offsetof(PbfFilter, target) == 16, "frozen format");
_Static_assert(offsetof(PbfFilter, words) == PBF_HEADER_BYTES, "frozen format");

#define LENGTH_WORD 4 /* bytes of vl_len_, not part of the external form */

static const char *const kind_names[PBF_KINDS] = {
    "none",  "hash",   "integer",    "real",        "numeric",  "money", "oid",     "xid",      "xid8",
    "cid",   "pg_lsn", "boolean",    "char",        "text",     "bytea", "bit",     "uuid",     "date",
    "time",  "timetz", "timestamp",  "timestamptz", "interval", "inet",  "macaddr", "macaddr8", "enum",
    "array", "range",  "multirange", "record",      "jsonb",    "other"};

const char *
pbf_kind_name(unsigned kind)
{
	return kind < PBF_KINDS ? kind_names[kind] : NULL;
}

void
pbf_header_init(PbfFilter *f, const PbfGeometry *g, PbfKind kind)
{
	f->version = PBF_FORMAT_VERSION;
	f->flags = g->layout == PBF_BLOCKED ? PBF_FLAG_BLOCKED : 0;
	f->kind = (uint8_t) kind;
	f->parts = (uint8_t) g->parts;
	f->blocks = g->blocks;
	f->part_bits = g->part_bits;
	f->target = 0;
}

/* Byte order: the external form is little-endian. */
static inline uint64_t
little(uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

static inline uint64_t
get_uint(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | p[bytes];
	return v;
}

static inline void
put_uint(uint8_t *p, int bytes, uint64_t v)
{
	for (int i = 0; i < bytes; i++, v >>= 8)
		p[i] = (uint8_t) v;
}

/* n words at any address between little-endian and native byte order, in place. */
static void
swap_words(void *words, uint64_t n)
{
	if (little(1) == 1)
		return;
	for (uint8_t *p = words; n > 0; n--, p += sizeof(uint64_t))
		put_uint(p, sizeof(uint64_t), little(get_uint(p, sizeof(uint64_t))));
}

/* The fields that say what is stored, without the size. NULL if sound. */
static const char *
header_fault(const PbfFilter *f)
{
	bool unfinished = (f->flags & (PBF_FLAG_SPARSE | PBF_FLAG_LARGE)) != 0;
	uint64_t target;
	PbfGeometry g = pbf_geometry_of(f);
	const char *why = NULL;

	if (f->version != PBF_FORMAT_VERSION)
		return "Unknown format version";
	if ((f->flags & ~PBF_FLAGS_KNOWN) != 0)
		return "Unknown flags";
	if (f->kind >= PBF_KINDS)
		return "Unknown kind of element";
	memcpy(&target, &f->target, sizeof(target));
	if (!unfinished && target != 0)
		return "Reserved bytes are not zero";
	if (unfinished && !(f->target >= PBF_FPR_MIN && f->target < 1))
		return "The rate of an unfinished filter is out of range";
	if ((f->flags & PBF_FLAG_SPARSE) == 0)
		return pbf_geometry_valid(&g, &why) ? NULL : why;
	if (f->flags != PBF_FLAG_SPARSE || f->parts != 0 || f->part_bits != 0)
		return "A set of hashes has no geometry";
	if (f->blocks > PBF_SPARSE_MAX)
		return "Too many hashes in the set";
	return NULL;
}

/* A table of hashes: a power of two of slots that has room for the hashes it says to hold. */
static const char *
sparse_size_fault(const PbfFilter *f, uint64_t bytes)
{
	uint64_t words = (bytes - PBF_HEADER_BYTES) / sizeof(uint64_t);
	uint64_t slots = words - 1;

	if ((bytes - PBF_HEADER_BYTES) % sizeof(uint64_t) != 0 || words < PBF_SPARSE_MIN_SLOTS + 1 ||
	    (slots & (slots - 1)) != 0 || (uint64_t) f->blocks * 3 > slots * 2)
		return "Wrong length";
	return NULL;
}

bool
pbf_header_valid(const PbfFilter *f, uint64_t bytes, const char **why)
{
	PbfGeometry g;

	*why = "Shorter than a header";
	if (bytes < PBF_HEADER_BYTES)
		return false;
	*why = header_fault(f);
	if (*why != NULL)
		return false;
	g = pbf_geometry_of(f);
	if (f->flags & PBF_FLAG_SPARSE)
		*why = sparse_size_fault(f, bytes);
	else if (bytes != pbf_stored_bytes(&g))
		*why = "Wrong length";
	return *why == NULL;
}

static void
decode_header(const uint8_t *bytes, PbfFilter *f)
{
	uint64_t target = get_uint(bytes + 12, 8);

	f->version = bytes[0];
	f->flags = bytes[1];
	f->kind = bytes[2];
	f->parts = bytes[3];
	f->blocks = (uint32_t) get_uint(bytes + 4, 4);
	f->part_bits = (uint32_t) get_uint(bytes + 8, 4);
	memcpy(&f->target, &target, sizeof(target));
}

uint64_t
pbf_decode_size(const uint8_t *bytes, size_t n, const char **why)
{
	PbfFilter f;
	PbfGeometry g;
	uint64_t external;

	*why = "Shorter than a header";
	if (n < PBF_EXTERNAL_HEADER_BYTES)
		return 0;
	decode_header(bytes, &f);
	*why = header_fault(&f);
	if (*why != NULL)
		return 0;
	g = pbf_geometry_of(&f);
	external =
	    PBF_EXTERNAL_HEADER_BYTES + sizeof(uint64_t) * (f.flags & PBF_FLAG_SPARSE ? f.blocks : pbf_words(&g));
	*why = "Wrong length";
	if (n != external)
		return 0;
	*why = NULL;
	return f.flags & PBF_FLAG_SPARSE ? pbf_sparse_bytes(f.blocks) : pbf_stored_bytes(&g);
}

static const char *
decode_hashes(const uint8_t *bytes, PbfFilter *f)
{
	uint64_t count = get_uint(bytes + 4, 4);
	uint64_t size = pbf_sparse_bytes(count);
	uint64_t previous = 0;
	PbfKind kind = (PbfKind) f->kind;

	if (kind == PBF_KIND_NONE && count > 0)
		return "A filter of no kind is not empty";
	pbf_sparse_init(f, size, kind, f->target);
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t h = get_uint(bytes + PBF_EXTERNAL_HEADER_BYTES + i * sizeof(uint64_t), sizeof(uint64_t));

		if (i > 0 && h <= previous)
			return "Hashes do not ascend";
		pbf_sparse_add(f, size, h);
		previous = h;
	}
	return NULL;
}

/* Bits of the last word of each part that lie behind part_bits. */
static bool
padding_is_zero(const PbfFilter *f)
{
	PbfGeometry g = pbf_geometry_of(f);
	uint64_t part_words = pbf_part_words(&g);
	unsigned used = g.part_bits % PBF_WORD_BITS;

	if (used == 0)
		return true;
	for (uint32_t part = 0; part < g.parts; part++)
	{
		if (f->words[(part + 1) * part_words - 1] >> used != 0)
			return false;
	}
	return true;
}

static bool
all_zero(const uint64_t *words, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		if (words[i] != 0)
			return false;
	}
	return true;
}

bool
pbf_decode(const uint8_t *bytes, size_t n, PbfFilter *f, const char **why)
{
	uint64_t words = (n - PBF_EXTERNAL_HEADER_BYTES) / sizeof(uint64_t);

	decode_header(bytes, f);
	if (f->flags & PBF_FLAG_SPARSE)
	{
		*why = decode_hashes(bytes, f);
		return *why == NULL;
	}
	memcpy(f->words, bytes + PBF_EXTERNAL_HEADER_BYTES, words * sizeof(uint64_t));
	swap_words(f->words, words);
	*why = NULL;
	if (!padding_is_zero(f))
		*why = "Unused bits are not zero";
	else if (f->kind == PBF_KIND_NONE && !all_zero(f->words, words))
		*why = "A filter of no kind is not empty";
	return *why == NULL;
}

uint64_t
pbf_encode_size(const PbfFilter *f, uint64_t bytes)
{
	if (f->flags & PBF_FLAG_SPARSE)
		return PBF_EXTERNAL_HEADER_BYTES + (uint64_t) f->blocks * sizeof(uint64_t);
	return bytes - LENGTH_WORD;
}

/* Little-endian hashes at any address. */
static int
compare_hashes(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x = little(x);
	y = little(y);
	return x < y ? -1 : x > y;
}

void
pbf_encode(const PbfFilter *f, uint64_t bytes, uint8_t *out)
{
	uint8_t *body = out + PBF_EXTERNAL_HEADER_BYTES;
	uint64_t target;

	memcpy(&target, &f->target, sizeof(target));
	out[0] = f->version;
	out[1] = f->flags;
	out[2] = f->kind;
	out[3] = f->parts;
	put_uint(out + 4, 4, f->blocks);
	put_uint(out + 8, 4, f->part_bits);
	put_uint(out + 12, 8, target);
	if ((f->flags & PBF_FLAG_SPARSE) == 0)
	{
		memcpy(body, f->words, bytes - PBF_HEADER_BYTES);
		swap_words(body, (bytes - PBF_HEADER_BYTES) / sizeof(uint64_t));
		return;
	}
	pbf_sparse_hashes(f, bytes, body);
	swap_words(body, f->blocks);
	qsort(body, f->blocks, sizeof(uint64_t), compare_hashes);
}

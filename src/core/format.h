/*
 * format.h: the stored filter: its header, its external bytes, and the one validator of both.
 *
 * doc/format.md publishes the external form byte by byte; it is the in-memory form without the length word,
 * little-endian on every machine.
 */
#ifndef PBF_CORE_FORMAT_H
#define PBF_CORE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "geometry.h"

#pragma GCC visibility push(protected)

#define PBF_FORMAT_VERSION 1

#define PBF_FLAG_BLOCKED 0x01 /* layout */
#define PBF_FLAG_SPARSE 0x02  /* unfinished aggregate: a set of hashes, not yet a filter; see sparse.h */
#define PBF_FLAG_LARGE 0x04   /* unfinished aggregate: a filter of full size, to be folded to `target` */
#define PBF_FLAGS_UNFINISHED (PBF_FLAG_SPARSE | PBF_FLAG_LARGE)
#define PBF_FLAGS_KNOWN (PBF_FLAG_BLOCKED | PBF_FLAGS_UNFINISHED)

/*
 * What kind of element a filter holds: one byte of the stored format. Frozen: values are only ever added.
 * Equal values of one kind have equal canonical bytes; values of two kinds are never compared.
 */
typedef enum PbfKind
{
	PBF_KIND_NONE = 0, /* nothing added yet */
	PBF_KIND_HASH = 1, /* only hashes were added: the kind of element is the user's to know */
	PBF_KIND_INTEGER = 2,
	PBF_KIND_REAL = 3,
	PBF_KIND_NUMERIC = 4,
	PBF_KIND_MONEY = 5,
	PBF_KIND_OID = 6,
	PBF_KIND_XID = 7,
	PBF_KIND_XID8 = 8,
	PBF_KIND_CID = 9,
	PBF_KIND_LSN = 10,
	PBF_KIND_BOOLEAN = 11,
	PBF_KIND_CHAR = 12, /* "char", one byte */
	PBF_KIND_TEXT = 13,
	PBF_KIND_BYTEA = 14,
	PBF_KIND_BIT = 15,
	PBF_KIND_UUID = 16,
	PBF_KIND_DATE = 17,
	PBF_KIND_TIME = 18,
	PBF_KIND_TIMETZ = 19,
	PBF_KIND_TIMESTAMP = 20,
	PBF_KIND_TIMESTAMPTZ = 21,
	PBF_KIND_INTERVAL = 22,
	PBF_KIND_INET = 23,
	PBF_KIND_MACADDR = 24,
	PBF_KIND_MACADDR8 = 25,
	PBF_KIND_ENUM = 26,
	PBF_KIND_ARRAY = 27,
	PBF_KIND_RANGE = 28,
	PBF_KIND_MULTIRANGE = 29,
	PBF_KIND_RECORD = 30,
	PBF_KIND_JSONB = 31,
	PBF_KIND_OTHER = 32, /* hashed by the type's own extended hash function */
	PBF_KINDS
} PbfKind;

/* "integer", "text", ...; NULL for a byte that is no kind. */
extern const char *pbf_kind_name(unsigned kind);

/* The header is followed by the words. The server's length word comes first; the core never reads it. */
typedef struct PbfFilter
{
	int32_t vl_len_;
	uint8_t version; /* PBF_FORMAT_VERSION */
	uint8_t flags;
	uint8_t kind;
	uint8_t parts;      /* 0 if sparse */
	uint32_t blocks;    /* if sparse: hashes in the set */
	uint32_t part_bits; /* 0 if sparse */
	double target;      /* unfinished aggregate: the rate asked for; else +0 */
	uint64_t words[];   /* if sparse: slots of the hash set, see sparse.h */
} PbfFilter;

#define PBF_HEADER_BYTES 24                              /* in memory, length word included */
#define PBF_EXTERNAL_HEADER_BYTES (PBF_HEADER_BYTES - 4) /* in the external form */

static inline PbfGeometry
pbf_geometry_of(const PbfFilter *f)
{
	PbfGeometry g = {(f->flags & PBF_FLAG_BLOCKED) ? PBF_BLOCKED : PBF_PLAIN, f->blocks, f->parts,
	                 f->part_bits};

	return g;
}

/* Writes all header fields but the length word. */
extern void pbf_header_init(PbfFilter *f, const PbfGeometry *g, PbfKind kind);

/*
 * Whether a header is sound and `bytes` (the size of the whole datum, length word included) is right for it.
 * Constant time: the words are not read. If not, *why says what is wrong.
 */
extern bool pbf_header_valid(const PbfFilter *f, uint64_t bytes, const char **why);

/*
 * External bytes to a filter, in two steps, so that nothing is allocated before the header is known good:
 * pbf_decode_size reads the header and returns the size of the datum to allocate, 0 if the bytes are not a
 * filter; pbf_decode fills it (zeroed memory of that size) and checks the rest: bits that no key can set
 * are zero, a filter of no kind is empty, a set's hashes ascend.
 */
extern uint64_t pbf_decode_size(const uint8_t *bytes, size_t n, const char **why);
extern bool pbf_decode(const uint8_t *bytes, size_t n, PbfFilter *f, const char **why);

/* Filter (valid header, datum of `bytes` bytes) to external bytes; the size first. */
extern uint64_t pbf_encode_size(const PbfFilter *f, uint64_t bytes);
extern void pbf_encode(const PbfFilter *f, uint64_t bytes, uint8_t *out);

#pragma GCC visibility pop

#endif

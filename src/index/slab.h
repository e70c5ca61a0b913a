/*
 * slab.h: one page of a slab: where a key's bits are, testing and setting them. See layout.h.
 */
#ifndef PBF_INDEX_SLAB_H
#define PBF_INDEX_SLAB_H

#include "core/position.h"
#include "index/layout.h"

#define PBFIDX_MAX_PARTS 8 /* parts are even in number: rows are found in pairs */

/* The place of a key in a slab: page of the slab, and in it one row of each part. */
typedef struct PbfidxPlace
{
	uint32 block;
	uint16 rows[PBFIDX_MAX_PARTS];
} PbfidxPlace;

/* The columns of one row; bit c is column c. */
typedef struct PbfidxMask
{
	uint64 words[PBFIDX_MASK_WORDS];
} PbfidxMask;

/* Bits of the last word of a mask that are columns. */
#define PBFIDX_LAST_WORD \
	(PBFIDX_COLUMNS % 64 == 0 ? ~UINT64CONST(0) : (UINT64CONST(1) << (PBFIDX_COLUMNS % 64)) - 1)

/* Keys of the two levels are mixed differently: a collision in one must say nothing about the other. */
static inline uint64
pbfidx_level_key(uint64 key, int level)
{
	return level == PBFIDX_LEAF ? key : key ^ UINT64CONST(0xd6e8feb86659fd93);
}

/* Rows of each part: part i of a matrix takes rows i * n .. (i + 1) * n - 1. */
static inline int
pbfidx_part_rows(int parts)
{
	return PBFIDX_ROWS / parts;
}

/*
 * The rows are the digits of the key's positions in base n, first those of its low 32 bits and of its high
 * ones in turn: a few multiplications, and no n is better than another.
 */
static inline void
pbfidx_locate(uint64 key, int level, uint32 blocks, int parts, PbfidxPlace *place)
{
	uint64 k = pbfidx_level_key(key, level);
	uint64 positions = pbf_positions_of(k);
	uint64 low = (uint32) positions, high = positions >> 32;
	uint64 n = pbfidx_part_rows(parts);

	place->block = pbf_block_of(k, blocks);
	for (int i = 0; i < parts; i += 2)
	{
		low *= n;
		high *= n;
		place->rows[i] = (uint16) (i * n + (low >> 32));
		place->rows[i + 1] = (uint16) ((i + 1) * n + (high >> 32));
		low = (uint32) low;
		high = (uint32) high;
	}
}

static inline uint64
pbfidx_load_word(const uint8 *p)
{
	uint64 v;

	memcpy(&v, p, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* One row; the bytes behind its last column, which belong to the next row, are masked out. */
static inline void
pbfidx_load_row(const uint8 *row, PbfidxMask *mask)
{
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		mask->words[w] = pbfidx_load_word(row + 8 * w);
	mask->words[PBFIDX_MASK_WORDS - 1] &= PBFIDX_LAST_WORD;
}

static inline void
pbfidx_mask_and(PbfidxMask *to, const PbfidxMask *from)
{
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		to->words[w] &= from->words[w];
}

static inline void
pbfidx_mask_or(PbfidxMask *to, const PbfidxMask *from)
{
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		to->words[w] |= from->words[w];
}

/* The AND of a key's rows. */
static inline void
pbfidx_probe(const uint8 *matrix, const PbfidxPlace *place, int parts, PbfidxMask *mask)
{
	pbfidx_load_row(matrix + place->rows[0] * PBFIDX_ROW_BYTES, mask);
	for (int i = 1; i < parts; i++)
	{
		PbfidxMask row;

		pbfidx_load_row(matrix + place->rows[i] * PBFIDX_ROW_BYTES, &row);
		pbfidx_mask_and(mask, &row);
	}
}

/* One row in four lies on two cache lines. */
static inline void
pbfidx_prefetch(const uint8 *matrix, const PbfidxPlace *place, int parts)
{
	for (int i = 0; i < parts; i++)
	{
		const uint8 *row = matrix + place->rows[i] * PBFIDX_ROW_BYTES;

		__builtin_prefetch(row);
		__builtin_prefetch(row + PBFIDX_ROW_BYTES - 1);
	}
}

static inline bool
pbfidx_test(const uint8 *matrix, const PbfidxPlace *place, int parts, int column)
{
	uint8 all = 0xff;

	for (int i = 0; i < parts; i++)
		all &= matrix[place->rows[i] * PBFIDX_ROW_BYTES + column / 8];
	return (all >> (column % 8)) & 1;
}

static inline void
pbfidx_set(uint8 *matrix, const PbfidxPlace *place, int parts, int column)
{
	for (int i = 0; i < parts; i++)
		matrix[place->rows[i] * PBFIDX_ROW_BYTES + column / 8] |= (uint8) (1 << (column % 8));
}

static inline void
pbfidx_mask_fill(PbfidxMask *mask)
{
	memset(mask, 0xff, sizeof(*mask));
	mask->words[PBFIDX_MASK_WORDS - 1] = PBFIDX_LAST_WORD;
}

static inline void
pbfidx_mask_add(PbfidxMask *mask, int column)
{
	mask->words[column / 64] |= UINT64CONST(1) << (column % 64);
}

static inline void
pbfidx_mask_clear(PbfidxMask *mask, int column)
{
	mask->words[column / 64] &= ~(UINT64CONST(1) << (column % 64));
}

/* The first column at or after `from` that is in the mask; -1: none. */
static inline int
pbfidx_mask_next(const PbfidxMask *mask, int from)
{
	for (int w = from / 64; w < (int) PBFIDX_MASK_WORDS; w++, from = w * 64)
	{
		uint64 left = mask->words[w] >> (from % 64);

		if (left != 0)
			return from + __builtin_ctzll(left);
	}
	return -1;
}

static inline bool
pbfidx_mask_test(const PbfidxMask *mask, int column)
{
	return (mask->words[column / 64] >> (column % 64)) & 1;
}

#endif

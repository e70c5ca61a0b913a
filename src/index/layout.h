/*
 * layout.h: what a pbfidx index looks like on disk, and nothing else.
 *
 * - block 0: metapage: frozen options, where the directory is, free space
 * - directory: one record a region: where its slabs are
 * - slabs: extents of consecutive pages
 *
 * Words:
 *
 * - range: pages_per_range consecutive heap pages: what a scan returns.
 * - slab: `blocks` index pages that together hold one blocked-partitioned filter for each of PBFIDX_COLUMNS
 *   columns. Page b of a slab is block b of all these filters, as a bit matrix: PBFIDX_ROWS rows, shared out
 *   evenly among the parts, one bit a column. A key owns one page, and in it one row of each part.
 * - leaf: level 0: a column is a range.
 * - upper: level 1: a column is one leaf slab, or the same number of consecutive ones as any other column.
 * - region: the ranges of one record of the directory: PBFIDX_COLUMNS leaf slabs of PBFIDX_COLUMNS ranges.
 * - area: the regions under one upper slab: as many as the group says for the first 16 areas, twice as many
 * for the next 8, and so on until there are as many as it says at most. The entry of the upper is in the
 * record of the first one.
 * - group: columns of the index that share slabs: all scalar columns are one group, each multi-key column is
 *   a group of its own, with its own rate and shape of matrix. The regions of the groups are interleaved: the
 *   directory has region r of the heap for group g as number r * groups + g, and slabs are numbered by that.
 *
 * Every page has a special area that says what it is (PbfidxPageId). Generations are never reused, so that
 * whoever still holds the address of a page that now serves something else sees it.
 */
#ifndef PBF_INDEX_LAYOUT_H
#define PBF_INDEX_LAYOUT_H

#include "postgres.h"
#include "storage/block.h"
#include "storage/bufpage.h"

#define PBFIDX_MAGIC 0x70626649
/* 1: parts of 64 rows, no groups; 2, 3: other areas; 4: no notes on hash functions and locale; never released
 */
#define PBFIDX_VERSION 5
#define PBFIDX_PAGE_ID 0xFF8B /* last two bytes of every page, for tools that look there */

/* Rows of a slab page, at least: a row has as many bytes as that leaves room for, then there are as many rows
 * as fit. */
#define PBFIDX_MIN_ROWS 512

typedef enum PbfidxLevel
{
	PBFIDX_LEAF = 0,
	PBFIDX_UPPER = 1,
	PBFIDX_META = 0xF0,
	PBFIDX_DIRECTORY = 0xF1,
	PBFIDX_INDIRECT = 0xF2
} PbfidxLevel;

typedef struct PbfidxPageId
{
	uint32 slab;  /* leaf: number of the slab; upper: of its first region; directory: of the page; else 0 */
	uint32 block; /* number of the page in its slab */
	uint32 generation; /* of the slab */
	uint8 level;       /* PbfidxLevel */
	uint8 parts;       /* slabs: parts of the matrix */
	uint16 page_id;    /* PBFIDX_PAGE_ID */
} PbfidxPageId;

StaticAssertDecl(sizeof(PbfidxPageId) == 16, "frozen format");
StaticAssertDecl(sizeof(PbfidxPageId) == MAXALIGN(sizeof(PbfidxPageId)), "special area is aligned");

#define PBFIDX_CONTENT_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - sizeof(PbfidxPageId))
#define PBFIDX_ROW_BYTES (PBFIDX_CONTENT_BYTES / PBFIDX_MIN_ROWS)
#define PBFIDX_ROWS ((int) (PBFIDX_CONTENT_BYTES / PBFIDX_ROW_BYTES))
#define PBFIDX_COLUMNS ((int) (PBFIDX_ROW_BYTES * 8))
#define PBFIDX_MASK_WORDS ((PBFIDX_ROW_BYTES + 7) / 8) /* of 64 bits, for one row */
#define PBFIDX_MATRIX_BYTES (PBFIDX_ROWS * PBFIDX_ROW_BYTES)

StaticAssertDecl(BLCKSZ != 8192 || PBFIDX_COLUMNS == 120, "120 columns on pages of 8 KB");
StaticAssertDecl(BLCKSZ != 8192 || PBFIDX_ROWS == 543, "543 rows on pages of 8 KB: 8 parts of 67");
StaticAssertDecl(PBFIDX_ROW_BYTES >= 1, "pages too small");
/* Rows are read in whole words, the last one beyond its end: into the special area, never off the page. */
StaticAssertDecl(sizeof(PbfidxPageId) >= 7, "room behind the last row");

/* Where one slab is. */
typedef struct PbfidxExtent
{
	uint32 start;      /* first page; 0: none */
	uint32 blocks;     /* pages */
	uint32 generation; /* in the pages' identity */
} PbfidxExtent;

typedef struct PbfidxEntry
{
	PbfidxExtent now;
	PbfidxExtent next;  /* being built to replace `now`: inserts write both. start 0: none */
	float4 built_fill;  /* mean share of set bits in used columns when it was built; 0: not known */
	uint32 column_keys; /* distinct keys a column that it was sized for */
} PbfidxEntry;

StaticAssertDecl(sizeof(PbfidxEntry) == 32, "frozen format");

/* The directory's record of a region. */
typedef struct PbfidxRegion
{
	PbfidxEntry upper; /* of the area that begins here */
	PbfidxEntry leaf[PBFIDX_COLUMNS];
} PbfidxRegion;

#define PBFIDX_REGIONS_PER_PAGE ((int) (PBFIDX_CONTENT_BYTES / sizeof(PbfidxRegion)))
StaticAssertDecl(BLCKSZ != 8192 || PBFIDX_REGIONS_PER_PAGE == 2, "two regions on a page of 8 KB");

/* A piece of free space. */
typedef struct PbfidxFree
{
	uint32 start;
	uint32 blocks;
} PbfidxFree;

#define PBFIDX_DIRECT 256
#define PBFIDX_INDIRECT_PAGES 588
#define PBFIDX_FREE_MAX 512
#define PBFIDX_POINTERS_PER_PAGE ((int) (PBFIDX_CONTENT_BYTES / sizeof(uint32)))

#define PBFIDX_MAX_GROUPS 8 /* so that the directory reaches every heap page for each of them */

/* Regions of an area: of the first ones and at most. Powers of two. */
typedef struct PbfidxWidths
{
	uint16 first;
	uint16 most;
} PbfidxWidths;

typedef struct PbfidxGroup
{
	float8
	    false_positive_rate; /* of a range, asked for; multi-key: of a range and one key, by bits_per_key */
	float4 bits_per_key;     /* multi-key: in leaf slabs; scalar: 0, by the rate */
	uint32 column_keys;      /* distinct keys expected in a range */
	uint32 parts;            /* of its matrices */
	PbfidxWidths areas;
} PbfidxGroup;

StaticAssertDecl(sizeof(PbfidxGroup) == 24, "frozen format");

#define PBFIDX_FIRST_AREAS 16     /* of the first width */
#define PBFIDX_AREAS 8            /* of any other, before that is doubled */
#define PBFIDX_MAX_AREA_REGIONS 8 /* what an area saves look-ups of one row, it costs those of many */

StaticAssertDecl(PBFIDX_COLUMNS % PBFIDX_MAX_AREA_REGIONS == 0, "no column of an upper is of two regions");

#define PBFIDX_SCALAR_PARTS 8 /* 8 parts of 67 rows: best from 9 bits a key on */
/* What column_group says of a column. */
#define PBFIDX_GROUP_NUMBER 0x1F
#define PBFIDX_GROUP_OWN_HASH 0x20    /* its operator class has a hash function */
#define PBFIDX_GROUP_SERVER_HASH 0x40 /* it is hashed by a function of the server or of a user */
#define PBFIDX_GROUP_MULTIKEY 0x80

#define PBFIDX_SERVER_HASH 0x01 /* a column is hashed so */
#define PBFIDX_ROW_KEY 0x02     /* every row also has the row key: scans without conditions (partial index) */

typedef struct PbfidxMeta
{
	uint32 magic;
	uint32 version;

	/* Frozen when the index is created. */
	uint32 pages_per_range;
	uint32 flags;
	uint32 server_major; /* whose hash functions were used */
	uint32 groups;       /* how many */
	PbfidxGroup group[PBFIDX_MAX_GROUPS];
	uint8 column_group[INDEX_MAX_KEYS]; /* of each column of the index: PBFIDX_GROUP_... */
	uint32
	    locale_version; /* hash of what version the database's locale had, if keys follow from it; else 0 */
	uint32 reserved[3]; /* zero */

	/* Changed by growth and rebuild, under the growth lock. */
	uint32 generation; /* last one given out */
	uint32 hwm;        /* first block never published: from here on is garbage */
	uint32 free_count;
	uint32 direct[PBFIDX_DIRECT];           /* directory pages; 0: none */
	uint32 indirect[PBFIDX_INDIRECT_PAGES]; /* pages full of block numbers of directory pages */
	PbfidxFree free[PBFIDX_FREE_MAX];
} PbfidxMeta;

StaticAssertDecl(sizeof(PbfidxMeta) <= PBFIDX_CONTENT_BYTES, "metapage");
StaticAssertDecl(((uint64) PBFIDX_DIRECT + (uint64) PBFIDX_INDIRECT_PAGES * PBFIDX_POINTERS_PER_PAGE) *
                         PBFIDX_REGIONS_PER_PAGE * PBFIDX_COLUMNS * PBFIDX_COLUMNS >=
                     (uint64) MaxBlockNumber * PBFIDX_MAX_GROUPS,
                 "every heap page has a place in the directory, in every group");

/* locale_version of an index with keys of several; no version has that hash. */
#define PBFIDX_MIXED_LOCALES 2

#define PBFIDX_METAPAGE 0

/* Regions first..first + regions - 1 of the heap. */
typedef struct PbfidxArea
{
	uint32 first;
	uint32 regions;
} PbfidxArea;

/* Areas of a width, if it is not the last one. */
static inline uint32
pbfidx_areas(PbfidxWidths widths, uint32 regions)
{
	return regions == widths.first ? PBFIDX_FIRST_AREAS : PBFIDX_AREAS;
}

/* Area n of the heap. */
static inline PbfidxArea
pbfidx_area(PbfidxWidths widths, uint32 n)
{
	PbfidxArea a = {0, widths.first};

	for (; a.regions < widths.most && n >= pbfidx_areas(widths, a.regions); a.regions *= 2)
	{
		n -= pbfidx_areas(widths, a.regions);
		a.first += pbfidx_areas(widths, a.regions) * a.regions;
	}
	a.first += n * a.regions;
	return a;
}

/* The area that has a region of the heap. */
static inline PbfidxArea
pbfidx_area_of(PbfidxWidths widths, uint32 region)
{
	PbfidxArea a = {0, widths.first};

	for (; a.regions < widths.most && region - a.first >= pbfidx_areas(widths, a.regions) * a.regions;
	     a.regions *= 2)
		a.first += pbfidx_areas(widths, a.regions) * a.regions;
	a.first += (region - a.first) / a.regions * a.regions;
	return a;
}

static inline PbfidxPageId *
pbfidx_page_id(Page page)
{
	return (PbfidxPageId *) PageGetSpecialPointer(page);
}

static inline uint8 *
pbfidx_matrix(Page page)
{
	return (uint8 *) PageGetContents(page);
}

static inline PbfidxMeta *
pbfidx_meta(Page page)
{
	return (PbfidxMeta *) PageGetContents(page);
}

#endif

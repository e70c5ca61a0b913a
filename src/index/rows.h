/*
 * rows.h: of the pages that a scan has left, the rows that may meet its conditions.
 *
 * The server compares every row of a page with all that is asked for: with each value of an array that is a
 * parameter, with all elements of an array column, with a pattern character by character; and it takes each
 * out of the page for that. To look for the hashes of the row's own values among those of the conditions, or
 * for some bytes, takes less, and leaves few rows to compare. Where that would not pay, or cannot be done,
 * pages are returned as they are.
 */
#ifndef PBF_INDEX_ROWS_H
#define PBF_INDEX_ROWS_H

#include "access/genam.h"
#include "access/htup.h"
#include "access/relscan.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"
#include "utils/snapshot.h"

#include "index/conditions.h"
#include "index/keys.h"
#include "index/literal.h"

/* The setting pbf.filter_rows. */
extern bool pbfidx_filter_rows;

/*
 * If more pages are left, their rows are not looked at: the query may want the first of them only. The more
 * values, the more is saved with each page, as the server may compare every row with all. No more than the
 * executor may find in the buffers, or in the system's cache, when it reads them again. To look for bytes
 * takes least. *reads: how many of them may be read to be looked at; with all values of a long list every row
 * that is not looked at may be compared.
 */
static inline int64
pbfidx_most_filtered_pages(double values, bool literals, bool temporary, int64 *reads)
{
	double reread = Max(256, Max(temporary ? num_temp_buffers : NBuffers, effective_cache_size) / 4);
	int64 pages = (int64) Max(literals ? 16384 : 0, Min(256 * values, reread));

	if (reads != NULL)
		*reads = Max(pages / 8, (int64) Min(values * values, reread));
	return pages;
}

/* A column whose keys are looked for in rows. */
typedef struct PbfidxRowColumn
{
	AttrNumber attribute; /* of the table */
	bool ready;
	bool testable;
	PbfidxHasher hasher; /* of its own type */
	int first;           /* its conditions, to end - 1 */
	int end;
} PbfidxRowColumn;

/* What rows have to contain. */
typedef struct PbfidxRowClause
{
	PbfidxClause clause;
	AttrNumber attribute;
	int offset; /* where its value begins in a row, in bytes; -1: not always at one place */
	int first;  /* from where on one of its literals is on the page that is looked at, in bytes, */
	int last;   /* and the last such place; -1: nowhere */
} PbfidxRowClause;

/* Kept from scan to scan. */
typedef struct PbfidxRows
{
	Relation index;
	MemoryContext mcxt; /* what is kept; */
	MemoryContext temp; /* reset after every page */
	PbfidxRowColumn columns[INDEX_MAX_KEYS];
	PbfidxKeyList keys;

	/* of one scan */
	Relation heap;
	IndexScanDesc scan;
	const PbfidxConditions *conditions;
	TIDBitmap *tbm;
	int tested[INDEX_MAX_KEYS]; /* columns */
	int ntested;
	PbfidxRowClause clauses[4];
	int nclauses;
	bool exact;         /* rows whose values are all looked at match: the server need not compare them */
	bool looking;       /* false: pages are returned as they are */
	BlockNumber *pages; /* to be looked at, */
	Buffer *seen;       /* and where each was when that was asked last, */
	int64 n;
	int64 room;       /* so many at present, */
	int64 most;       /* and at most */
	int64 most_reads; /* of these, how many that are not in the buffers */
	int64 returned;   /* rows, ten for a page whose rows were not looked at */
} PbfidxRows;

extern void pbfidx_init_rows(PbfidxRows *rows, Relation index);
extern void pbfidx_free_rows(PbfidxRows *rows);

/* What is added until the end goes to the bitmap; the query has the table locked. set: the conditions of the
 * scan's keys, or NULL if nothing is known about the rows. */
extern void pbfidx_begin_rows(PbfidxRows *rows, Relation heap, IndexScanDesc scan,
                              const PbfidxConditions *set, TIDBitmap *tbm);
/* Pages first to end - 1, all of which exist. */
extern void pbfidx_add_pages(PbfidxRows *rows, BlockNumber first, BlockNumber end);
/* All pages have been added. */
extern void pbfidx_end_rows(PbfidxRows *rows);

#endif

/*
 * size.c: how many pages a slab gets, and what a page tells about the keys in it.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "core/geometry.h"
#include "core/theory.h"

#include "index/size.h"
#include "index/slab.h"

#define PART_BITS pbfidx_part_rows(PBFIDX_SCALAR_PARTS)

/* Leaf slabs have few pages: rather a bit above the rate than a page too many in each. */
#define LEAF_TOLERANCE 1.25
#define UPPER_MAX_FPR 0.5

double
pbfidx_leaf_fpr(double range_keys, double blocks)
{
	return pbf_fpr_blocked(Max(range_keys, 1), blocks, PBFIDX_SCALAR_PARTS, PART_BITS);
}

static double
upper_fpr(double slab_keys, double blocks)
{
	return pbf_fpr_blocked(Max(slab_keys, 1), blocks, PBFIDX_SCALAR_PARTS, PART_BITS);
}

static double
upper_pages(double slab_keys, double fpr, double leaf_fpr)
{
	return pbf_blocks_for(Max(slab_keys, 1), Min(fpr / leaf_fpr, UPPER_MAX_FPR), PBFIDX_SCALAR_PARTS,
	                      PART_BITS);
}

uint32
pbfidx_upper_blocks(double slab_keys, double fpr, double leaf_fpr)
{
	double pages = upper_pages(slab_keys, fpr, leaf_fpr);

	return pages <= PBFIDX_UPPER_MAX_BLOCKS ? (uint32) pages : 0;
}

static PbfidxPlan
plan_alone(double range_keys, double fpr)
{
	PbfidxPlan plan = {1, 0};
	double most = ceil(range_keys * PBFIDX_ALONE_MAX_BITS / PBFIDX_ROWS);
	double blocks = pbf_blocks_for(range_keys, fpr, PBFIDX_SCALAR_PARTS, PART_BITS);

	plan.leaf_blocks = (uint32) Max(1, Min(Min(blocks, most), PBFIDX_LEAF_MAX_BLOCKS));
	return plan;
}

PbfidxPlan
pbfidx_plan(double range_keys, double slab_keys, double fpr, bool with_upper)
{
	PbfidxPlan best = {0, 0};
	double best_pages = INFINITY;

	range_keys = Max(range_keys, 1);
	slab_keys = Max(slab_keys, range_keys);
	if (!with_upper)
		return plan_alone(range_keys, fpr);
	for (uint32 leaf = 1; leaf <= PBFIDX_LEAF_MAX_BLOCKS; leaf++)
	{
		double leaf_fpr = pbfidx_leaf_fpr(range_keys, leaf);
		double upper = upper_pages(slab_keys, fpr, leaf_fpr);
		double pages = (double) leaf * PBFIDX_COLUMNS + upper;

		if (pages < best_pages)
		{
			best = (PbfidxPlan){leaf, (uint32) Min(upper, PG_INT32_MAX)};
			best_pages = pages;
		}
		else if (leaf > 2 * best.leaf_blocks || leaf_fpr < fpr)
			break;
	}
	return best.upper_blocks <= PBFIDX_UPPER_MAX_BLOCKS ? best : plan_alone(range_keys, fpr);
}

uint32
pbfidx_leaf_blocks(double range_keys, double slab_keys, double fpr, uint32 upper_blocks)
{
	double rate;

	if (upper_blocks == 0)
		return plan_alone(range_keys, fpr).leaf_blocks;
	rate = Min(fpr / upper_fpr(slab_keys, upper_blocks) * LEAF_TOLERANCE, 0.5);
	return (uint32) Min(pbf_blocks_for(Max(range_keys, 1), rate, PBFIDX_SCALAR_PARTS, PART_BITS),
	                    PBFIDX_LEAF_MAX_BLOCKS);
}

static double
planned_rate(const PbfidxPlan *plan, double range_keys, double slab_keys)
{
	double leaf = pbfidx_leaf_fpr(range_keys, plan->leaf_blocks);

	return plan->upper_blocks == 0 ? leaf : leaf * upper_fpr(slab_keys, plan->upper_blocks);
}

/* As build.c does it: full regions have an upper, a rest of at least half a region too. */
double
pbfidx_planned_pages(double ranges, double range_keys, double slab_keys, double fpr, double *rate)
{
	PbfidxPlan whole = pbfidx_plan(range_keys, slab_keys, fpr, true);
	PbfidxPlan alone = pbfidx_plan(range_keys, slab_keys, fpr, false);
	double slabs = Max(1, ceil(ranges / PBFIDX_COLUMNS));
	double regions = floor(slabs / PBFIDX_COLUMNS);
	double rest = slabs - regions * PBFIDX_COLUMNS;
	double with_upper = regions * PBFIDX_COLUMNS, pages;

	if (rest >= PBFIDX_UPPER_FROM_SLABS)
	{
		with_upper = slabs;
		regions++;
	}
	pages = 1 + ceil(Max(regions, 1) / PBFIDX_REGIONS_PER_PAGE) + with_upper * whole.leaf_blocks +
	        regions * whole.upper_blocks + (slabs - with_upper) * alone.leaf_blocks;
	*rate = (with_upper * planned_rate(&whole, range_keys, slab_keys) +
	         (slabs - with_upper) * planned_rate(&alone, range_keys, slab_keys)) /
	        slabs;
	return pages;
}

/* Set bits of each column. */
static void
count_columns(const uint8 *matrix, int *set)
{
	memset(set, 0, PBFIDX_COLUMNS * sizeof(int));
	for (int row = 0; row < PBFIDX_ROWS; row++)
	{
		const uint8 *bytes = matrix + row * PBFIDX_ROW_BYTES;

		for (int column = 0; column < PBFIDX_COLUMNS; column++)
			set[column] += (bytes[column / 8] >> (column % 8)) & 1;
	}
}

double
pbfidx_page_fill(const uint8 *matrix, int parts, int *used)
{
	int rows = parts * pbfidx_part_rows(parts);
	PbfidxMask any = {{0}};
	int64 total = 0;

	for (int row = 0; row < rows; row++)
	{
		PbfidxMask mask;

		pbfidx_load_row(matrix + row * PBFIDX_ROW_BYTES, &mask);
		for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		{
			total += pg_popcount64(mask.words[w]);
			any.words[w] |= mask.words[w];
		}
	}
	*used = 0;
	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		*used += pg_popcount64(any.words[w]);
	return *used > 0 ? (double) total / ((double) *used * rows) : 0;
}

/*
 * Ranges at the end of a growing heap are not full yet, so the fuller half of the columns speaks for all.
 * Each key sets one bit of each part in one of `blocks` pages.
 */
double
pbfidx_page_keys(const uint8 *matrix, int parts, uint32 blocks)
{
	int set[PBFIDX_COLUMNS];
	int used = 0, fullest = 0;
	int cells = pbfidx_part_rows(parts), rows = parts * cells;
	double sum = 0;
	int n = 0;

	count_columns(matrix, set);
	for (int column = 0; column < PBFIDX_COLUMNS; column++)
	{
		used += set[column] > 0;
		fullest = Max(fullest, set[column]);
	}
	if (used == 0)
		return 0;
	for (int column = 0; column < PBFIDX_COLUMNS; column++)
	{
		double fill = Min((double) set[column] / rows, 1 - 0.5 / rows);

		if (set[column] * 2 < fullest)
			continue;
		sum += -log1p(-fill) * cells;
		n++;
	}
	return sum / n * blocks;
}

double
pbfidx_page_fpr(const uint8 *matrix, int parts)
{
	int set[PBFIDX_MAX_PARTS][PBFIDX_COLUMNS];
	int rows = pbfidx_part_rows(parts);
	double sum = 0;
	int used = 0;

	memset(set, 0, sizeof(set));
	for (int row = 0; row < parts * rows; row++)
	{
		const uint8 *bytes = matrix + row * PBFIDX_ROW_BYTES;

		for (int column = 0; column < PBFIDX_COLUMNS; column++)
			set[row / rows][column] += (bytes[column / 8] >> (column % 8)) & 1;
	}
	for (int column = 0; column < PBFIDX_COLUMNS; column++)
	{
		double product = 1;

		for (int part = 0; part < parts; part++)
			product *= (double) set[part][column] / rows;
		used += product > 0;
		sum += product;
	}
	return used > 0 ? sum / used : 0;
}

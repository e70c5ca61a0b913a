/*
 * size.c: how many pages a slab gets, and what a page tells about the keys in it.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "core/geometry.h"
#include "core/theory.h"

#include "index/options.h"
#include "index/size.h"
#include "index/slab.h"

#define SATURATED_FPR 0.5

static double
rate_of(const PbfidxGroup *g, double keys, double blocks)
{
	return pbf_fpr_blocked(keys, blocks, g->parts, pbfidx_part_rows((int) g->parts));
}

static double
blocks_for(const PbfidxGroup *g, double keys, double fpr)
{
	return pbf_blocks_for(keys, fpr, g->parts, pbfidx_part_rows((int) g->parts));
}

/* ---- groups ---- */

#define USUAL_FPR 2e-6

double
pbfidx_choose_fpr(double heap_blocks)
{
	return Max(PBFIDX_MIN_FPR, Min(USUAL_FPR, 1 / Max(heap_blocks, 1)));
}

PbfidxGroup
pbfidx_scalar_group(double fpr)
{
	return (PbfidxGroup){.false_positive_rate = fpr, .parts = PBFIDX_SCALAR_PARTS};
}

#define TYPICAL_BLOCKS 32       /* of a leaf slab of a multi-key column */
#define TYPICAL_LEAF_SHARE 0.85 /* of the bits; the rest is the upper's */

/* The fewer bits a key has, the fewer of them should be set: as many parts as give the lowest rate. */
PbfidxGroup
pbfidx_multikey_group(double bits_per_key)
{
	PbfidxGroup best = {.false_positive_rate = 1};
	double block_keys = PBFIDX_ROWS / (bits_per_key * TYPICAL_LEAF_SHARE);

	for (uint32 parts = 2; parts <= PBFIDX_MAX_PARTS; parts += 2)
	{
		PbfidxGroup g = {.bits_per_key = (float4) bits_per_key, .parts = parts};

		g.false_positive_rate = rate_of(&g, TYPICAL_BLOCKS * block_keys, TYPICAL_BLOCKS);
		if (g.false_positive_rate < best.false_positive_rate)
			best = g;
	}
	return best;
}

/* ---- sizes ---- */

#define MIN_RANGE_KEYS 32 /* keys a range should hold: below, pages of a slab of one are mostly empty */

uint32
pbfidx_pages_per_range_for(double page_keys)
{
	if (page_keys <= 0)
		return 1;
	return (uint32) Min(Max(1, ceil(MIN_RANGE_KEYS / page_keys)), PBFIDX_MAX_PAGES_PER_RANGE);
}

/* Leaf slabs have few pages: rather a bit above the rate than a page too many in each. */
#define LEAF_TOLERANCE 1.25
#define LEVEL_MAX_FPR 0.5 /* a level that says yes more often is not worth its probes */

double
pbfidx_leaf_fpr(const PbfidxGroup *g, double range_keys, double blocks)
{
	return rate_of(g, Max(range_keys, 1), blocks);
}

/* Pages of a leaf slab of that rate, between whole numbers. */
static double
pages_of_rate(const PbfidxGroup *g, double range_keys, double fpr)
{
	double low = 1, high = PBFIDX_LEAF_MAX_BLOCKS;

	while (high - low > 0.01)
	{
		double middle = (low + high) / 2;

		if (rate_of(g, range_keys, middle) > fpr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * The rate that leaf slabs may have: of one that has the key, half a range passes by chance, or as many as
 * are asked for of a whole region. Where columns that many rows share make uppers cheap, fewest pages alone
 * would leave it to the leaf slabs to say yes 5 times.
 */
static double
leaf_max_fpr(const PbfidxGroup *g)
{
	double ranges = g->false_positive_rate * PBFIDX_COLUMNS * PBFIDX_COLUMNS;

	return Min(Max(ranges, 0.5) / PBFIDX_COLUMNS, LEVEL_MAX_FPR);
}

static double
upper_pages(const PbfidxGroup *g, double column_keys, double leaf_fpr)
{
	return blocks_for(g, column_keys, Min(g->false_positive_rate / leaf_fpr, LEVEL_MAX_FPR));
}

static PbfidxPlan
plan_alone(const PbfidxGroup *g, double range_keys)
{
	PbfidxPlan plan = {1, 0};
	double most = ceil(range_keys * PBFIDX_ALONE_MAX_BITS / PBFIDX_ROWS);
	double blocks = blocks_for(g, range_keys, g->false_positive_rate);

	plan.leaf_blocks = (uint32) Max(1, Min(Min(blocks, most), PBFIDX_LEAF_MAX_BLOCKS));
	return plan;
}

/* Where the upper that the rate takes would be too large. The width of areas was chosen for fewer keys, then;
 * without any upper all leaf slabs of a wide one would have to be probed. */
static bool
is_largest_upper_useful(const PbfidxGroup *g, double column_keys, uint32 width)
{
	return width > 1 && rate_of(g, column_keys, PBFIDX_UPPER_MAX_BLOCKS) < LEVEL_MAX_FPR;
}

/* Fewest pages of both levels for the rate. */
static PbfidxPlan
plan_by_rate(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width)
{
	PbfidxPlan best = {0, 0};
	double best_pages = INFINITY;

	for (uint32 leaf = 1; leaf <= PBFIDX_LEAF_MAX_BLOCKS; leaf++)
	{
		double leaf_fpr = pbfidx_leaf_fpr(g, range_keys, leaf);
		double upper = upper_pages(g, column_keys, leaf_fpr);
		double pages = (double) leaf * PBFIDX_COLUMNS * width + upper;

		if (leaf_fpr > leaf_max_fpr(g) && leaf < PBFIDX_LEAF_MAX_BLOCKS)
			continue;
		if (pages < best_pages)
		{
			best = (PbfidxPlan){leaf, (uint32) Min(upper, PG_INT32_MAX)};
			best_pages = pages;
		}
		else if (leaf > 2 * best.leaf_blocks || leaf_fpr < g->false_positive_rate)
			break;
	}
	if (best.upper_blocks <= PBFIDX_UPPER_MAX_BLOCKS)
		return best;
	if (is_largest_upper_useful(g, column_keys, width))
		return (PbfidxPlan){pbfidx_leaf_blocks(g, range_keys, column_keys, PBFIDX_UPPER_MAX_BLOCKS),
		                    PBFIDX_UPPER_MAX_BLOCKS};
	return plan_alone(g, range_keys);
}

/* What a look-up of one key of a multi-key column costs, in pages of the heap searched in vain for each leaf
 * slab: `share` of the slabs have the key. */
#define PROBE_COST 0.25

static double
cost_of_key(double share, double upper_fpr, double leaf_fpr)
{
	return (share + (1 - share) * upper_fpr) * (PBFIDX_COLUMNS * leaf_fpr + PROBE_COST);
}

/* Bits of an upper for each of its keys. */
#define LEAST_UPPER_BITS 4.0
#define MOST_UPPER_BITS 16.0

/* Where leaf slabs have whole pages: bits beyond those asked for lower a rate with about this power. */
#define POWER_OF_BITS 8

/* Pages of a leaf slab by the bits, if it had all of them. */
static double
pages_by_bits(const PbfidxGroup *g, double range_keys)
{
	return range_keys * g->bits_per_key / PBFIDX_ROWS;
}

/* Pages of a leaf slab that has the bits to itself: to the nearest number, but not much below. */
static double
whole_pages(double pages)
{
	double nearest = rint(pages);

	return Min(Max(nearest < 0.9 * pages ? ceil(pages) : nearest, 1), PBFIDX_LEAF_MAX_BLOCKS);
}

/* The upper gets what leaf slabs of so many pages leave; 0: not worth its probes. */
static double
upper_by_bits(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width, double leaf_pages)
{
	double left = (pages_by_bits(g, range_keys) - leaf_pages) * PBFIDX_COLUMNS * width;
	double one_bit = column_keys / PBFIDX_ROWS;
	double pages = Min(Max(left, one_bit * LEAST_UPPER_BITS), one_bit * MOST_UPPER_BITS);

	pages = Min(ceil(pages), PBFIDX_UPPER_MAX_BLOCKS);
	return rate_of(g, column_keys, pages) < LEVEL_MAX_FPR ? pages : 0;
}

/* Share of the slabs that have a key which so many ranges of a slab have: rather a guess, of keys of the same
 * share some are in many ranges of few slabs. A third for tags on 2 ranges, nearly all for trigrams on 26. */
static double
share_of_slabs(double ranges)
{
	return ranges / (ranges + 4);
}

/* What a look-up of a key that no slab has and one of a key of the column cost together. */
static double
cost_of_plan(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width, double leaf,
             double upper)
{
	double slabs = (double) PBFIDX_COLUMNS * width;
	double share = share_of_slabs(range_keys * slabs / column_keys);
	double upper_fpr = upper > 0 ? rate_of(g, column_keys, upper) : 1;
	double leaf_fpr = rate_of(g, range_keys, leaf);
	double excess = (leaf * slabs + upper) / (Max(pages_by_bits(g, range_keys), 1) * slabs);

	return (cost_of_key(0, upper_fpr, leaf_fpr) + cost_of_key(share, upper_fpr, leaf_fpr)) *
	       pow(Max(excess, 1), POWER_OF_BITS);
}

/*
 * The pages are given by the bits; both levels share them. An upper saves probes and false ranges of a key
 * that few leaf slabs have, and takes pages from the leaf slabs, which count for keys that many have.
 */
static PbfidxPlan
plan_by_bits(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width)
{
	double most = whole_pages(pages_by_bits(g, range_keys));
	PbfidxPlan best = {(uint32) most, 0};
	double least = INFINITY;

	for (double leaf = most; width > 0 && leaf >= most / 2; leaf -= ceil(most / 64))
	{
		double upper = upper_by_bits(g, range_keys, column_keys, width, leaf);
		double cost = cost_of_plan(g, range_keys, column_keys, width, leaf, upper);

		if (cost < least)
			best = (PbfidxPlan){(uint32) leaf, (uint32) upper};
		least = Min(least, cost);
	}
	return best;
}

PbfidxPlan
pbfidx_plan(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width)
{
	range_keys = Max(range_keys, 1);
	column_keys = Max(column_keys, range_keys);
	if (g->bits_per_key > 0)
		return plan_by_bits(g, range_keys, column_keys, width);
	return width > 0 ? plan_by_rate(g, range_keys, column_keys, width) : plan_alone(g, range_keys);
}

/* Keys of a multi-key column are shared by many rows, and each slab that has the key costs as many leaf slabs
 * as a column has; so their areas are narrow. Others are as wide as leaves an upper room to double. */
static uint16
widest_area(const PbfidxGroup *g, double range_keys)
{
	uint16 regions = g->bits_per_key > 0 ? 1 : PBFIDX_MAX_AREA_REGIONS;

	while (regions > 1)
	{
		PbfidxPlan plan = pbfidx_plan(g, range_keys, range_keys * PBFIDX_COLUMNS * regions, regions);

		if (plan.upper_blocks > 0 && plan.upper_blocks <= PBFIDX_UPPER_MAX_BLOCKS / 2)
			break;
		regions /= 2;
	}
	return regions;
}

/* The last area has an upper as if it were full. So the first ones are as wide as there are eight of them:
 * what is missing of the last one is some percent of the index then. */
PbfidxWidths
pbfidx_widths_for(const PbfidxGroup *g, double range_keys, double ranges)
{
	PbfidxWidths widths = {1, widest_area(g, range_keys)};
	double regions = ranges / PBFIDX_COLUMNS / PBFIDX_COLUMNS;

	while (widths.first < widths.most && regions >= 2.0 * widths.first * PBFIDX_AREAS)
		widths.first *= 2;
	return widths;
}

uint32
pbfidx_leaf_blocks(const PbfidxGroup *g, double range_keys, double column_keys, uint32 upper_blocks)
{
	double upper_fpr, leaf_fpr;

	if (g->bits_per_key > 0 || upper_blocks == 0)
		return pbfidx_plan(g, range_keys, column_keys, upper_blocks > 0 ? 1 : 0).leaf_blocks;
	upper_fpr = rate_of(g, Max(column_keys, 1), upper_blocks);
	leaf_fpr = Min(g->false_positive_rate / upper_fpr * LEAF_TOLERANCE, leaf_max_fpr(g));
	return (uint32) Min(blocks_for(g, Max(range_keys, 1), leaf_fpr), PBFIDX_LEAF_MAX_BLOCKS);
}

uint32
pbfidx_upper_blocks(const PbfidxGroup *g, double range_keys, double column_keys, uint32 width,
                    double leaf_fpr)
{
	double pages;

	range_keys = Max(range_keys, 1);
	column_keys = Max(column_keys, 1);
	if (g->bits_per_key > 0)
		return (uint32) upper_by_bits(g, range_keys, column_keys, width,
		                              pages_of_rate(g, range_keys, leaf_fpr));
	pages = upper_pages(g, column_keys, leaf_fpr);
	if (pages <= PBFIDX_UPPER_MAX_BLOCKS)
		return (uint32) pages;
	return is_largest_upper_useful(g, column_keys, width) ? PBFIDX_UPPER_MAX_BLOCKS : 0;
}

static double
planned_rate(const PbfidxGroup *g, const PbfidxPlan *plan, double range_keys, double column_keys)
{
	double leaf = rate_of(g, range_keys, plan->leaf_blocks);

	return plan->upper_blocks == 0 ? leaf : leaf * rate_of(g, column_keys, plan->upper_blocks);
}

/* As build.c does it: full areas have an upper, a rest of some leaf slabs too. */
double
pbfidx_planned_pages(const PbfidxGroup *g, double ranges, double range_keys, double slab_keys, double *rate)
{
	double slabs = Max(1, ceil(ranges / PBFIDX_COLUMNS));
	double pages = Max(slabs / PBFIDX_COLUMNS, 1) / PBFIDX_REGIONS_PER_PAGE, sum = 0, area_rate = 0;
	uint32 planned_width = PG_UINT32_MAX;
	PbfidxPlan plan = {0, 0};
	PbfidxArea area = pbfidx_area(g->areas, 0);

	for (uint32 n = 0; (double) area.first * PBFIDX_COLUMNS < slabs; area = pbfidx_area(g->areas, ++n))
	{
		double here =
		    Min(slabs - (double) area.first * PBFIDX_COLUMNS, (double) area.regions * PBFIDX_COLUMNS);
		uint32 width = here >= pbfidx_upper_from_slabs(area) ? area.regions : 0;

		if (width != planned_width)
		{
			plan = pbfidx_plan(g, range_keys, slab_keys * Max(width, 1), width);
			area_rate = planned_rate(g, &plan, range_keys, slab_keys * Max(width, 1));
			planned_width = width;
		}
		pages += here * plan.leaf_blocks + plan.upper_blocks;
		sum += here * area_rate;
	}
	*rate = sum / slabs;
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
pbfidx_page_fpr(const uint8 *matrix, int parts, int *saturated)
{
	int set[PBFIDX_MAX_PARTS][PBFIDX_COLUMNS];
	int rows = pbfidx_part_rows(parts);
	double sum = 0;
	int used = 0;

	memset(set, 0, sizeof(set));
	*saturated = 0;
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
		*saturated += product > SATURATED_FPR;
		sum += product;
	}
	return used > 0 ? sum / used : 0;
}

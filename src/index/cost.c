/*
 * cost.c: what the planner is told: to choose the index exactly when it wins.
 *
 * The index returns whole ranges: those that hold a row that qualifies, and a few that do not. The server's
 * cost_bitmap_heap_scan derives heap pages from the selectivity we report, by the formula P = 2TN / (2T + N)
 * for N rows spread over T pages; so we report the selectivity that makes it arrive at the pages we know of.
 * What rechecking the other rows of these pages costs goes into the cost of the index.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "access/genam.h"

#include "compat.h"
#include "index/cost.h"
#include "index/directory.h"
#include "index/options.h"

bool pbfidx_enabled = true;

/*
 * A probe takes a page from shared buffers, pins it and reads eight cache lines of it: about a microsecond,
 * some 400 times an operator call at the default settings.
 */
#define PROBE_OPERATORS 20
#define UPPER_FPR 1e-3 /* typical rate of an upper slab: leaf slabs probed in vain */

typedef struct Shape
{
	double false_positive_rate;
	double pages_per_range;
} Shape;

/* The frozen options; for a hypothetical index the defaults. */
static Shape
index_shape(IndexOptInfo *info)
{
	Shape shape = {PBFIDX_DEFAULT_FPR, 1};

	if (!info->hypothetical)
	{
		Relation index = index_open(info->indexoid, NoLock);
		const PbfidxCache *cache = pbfidx_cache(index);

		shape = (Shape){cache->false_positive_rate, cache->pages_per_range};
		index_close(index, NoLock);
	}
	return shape;
}

/* Keys to look for, and whether there is a condition at all. */
static double
count_keys(PlannerInfo *root, IndexPath *path)
{
	double keys = 0;
	ListCell *lc, *lc2;

	foreach (lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		foreach (lc2, clause->indexquals)
		{
			Expr *expr = lfirst_node(RestrictInfo, lc2)->clause;

			if (IsA(expr, ScalarArrayOpExpr))
				keys += pbf_estimate_array_length(root, (ScalarArrayOpExpr *) expr);
			else if (!(IsA(expr, NullTest) && ((NullTest *) expr)->nulltesttype == IS_NOT_NULL))
				keys += 1;
		}
	}
	return keys;
}

/* Of `things` equally likely ones, how many n rows are spread over. */
static double
spread(double things, double n)
{
	return things > 0 && n > 0 ? Min(things, 2 * things * n / (2 * things + n)) : 0;
}

void
pbfidx_costestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
                    Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	RelOptInfo *rel = info->rel;
	Shape shape = index_shape(info);
	List *quals = add_predicate_to_index_quals(info, get_quals_from_indexclauses(path->indexclauses));
	double heap_pages = Max(rel->pages, 1), tuples = Max(rel->tuples, 1);
	double rows = tuples * clauselist_selectivity(root, quals, rel->relid, JOIN_INNER, NULL);
	double keys = count_keys(root, path);
	double ranges = ceil(heap_pages / shape.pages_per_range);
	double slabs = ceil(ranges / PBFIDX_COLUMNS), regions = ceil(slabs / PBFIDX_COLUMNS);
	double found_ranges =
	    Min(ranges, spread(ranges, rows) + ranges * shape.false_positive_rate * Max(keys, 1));
	double found_pages = Min(heap_pages, found_ranges * shape.pages_per_range);
	double fetched, probes, random_cost;
	QualCost qual_cost;

	if (keys == 0)
		found_pages = heap_pages;
	fetched = 2 * heap_pages * found_pages / (2 * heap_pages - found_pages);
	*selectivity = Min(1, fetched / tuples);
	*correlation = 0;

	/* Small tables have no upper: all leaf slabs are probed. */
	probes =
	    keys *
	    (slabs < PBFIDX_COLUMNS / 2 ? slabs : regions + Min(slabs, spread(slabs, rows) + slabs * UPPER_FPR));
	get_tablespace_page_costs(info->reltablespace, &random_cost, NULL);
	*pages = index_pages_fetched(probes * loop_count, info->pages, info->pages, root) / loop_count;
	*startup_cost = 0;
	cost_qual_eval(&qual_cost, get_quals_from_indexclauses(path->indexclauses), root);
	*total_cost =
	    *pages * random_cost + probes * PROBE_OPERATORS * cpu_operator_cost +
	    Max(0, found_pages * tuples / heap_pages - fetched) * (cpu_tuple_cost + qual_cost.per_tuple);
}

/* ---- the setting pbf.enable_index ---- */

static get_relation_info_hook_type previous_hook;

/* Takes our indexes out of what the planner knows of a relation. Costs alone would not do: since 18 they come
 * second. */
static void
hide_indexes(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel)
{
	ListCell *lc;

	if (previous_hook != NULL)
		previous_hook(root, relation, inhparent, rel);
	if (pbfidx_enabled)
		return;
	foreach (lc, rel->indexlist)
	{
		if ((void *) lfirst_node(IndexOptInfo, lc)->amcostestimate == (void *) pbfidx_costestimate)
			rel->indexlist = foreach_delete_current(rel->indexlist, lc);
	}
}

void
pbfidx_init_cost(void)
{
	previous_hook = get_relation_info_hook;
	get_relation_info_hook = hide_indexes;
}

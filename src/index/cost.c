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

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "access/genam.h"

#include "compat.h"
#include "index/cost.h"
#include "index/directory.h"
#include "index/options.h"
#include "index/query.h"
#include "index/rows.h"
#include "index/size.h"

bool pbfidx_enabled = true;

/*
 * A probe takes a page from shared buffers, pins it and reads eight cache lines of it: about a microsecond,
 * some 400 times an operator call at the default settings.
 */
#define PROBE_OPERATORS 20
#define UPPER_FPR 1e-3         /* typical rate of an upper slab: leaf slabs probed in vain, */
#define MULTIKEY_UPPER_FPR 0.1 /* of a multi-key column */

/* What of an index its cost depends on. */
typedef struct Shape
{
	Relation index; /* NULL: hypothetical */
	double pages_per_range;
	double heap_blocks;
} Shape;

static Shape
open_index(IndexOptInfo *info)
{
	Shape shape = {NULL, 1, info->rel->pages};

	if (!info->hypothetical)
	{
		shape.index = index_open(info->indexoid, NoLock);
		shape.pages_per_range = pbfidx_cache(shape.index)->pages_per_range;
	}
	return shape;
}

/* The frozen group of a column; of a hypothetical index the defaults for a scalar one. */
static PbfidxGroup
column_group(const Shape *shape, int column, bool *multikey)
{
	const PbfidxCache *cache;

	*multikey = false;
	if (shape->index == NULL)
		return (PbfidxGroup){.false_positive_rate = pbfidx_choose_fpr(shape->heap_blocks),
		                     .areas = {1, PBFIDX_MAX_AREA_REGIONS}};
	cache = pbfidx_cache(shape->index);
	*multikey = (cache->column_group[column] & PBFIDX_GROUP_MULTIKEY) != 0;
	return cache->group[cache->column_group[column] & PBFIDX_GROUP_NUMBER];
}

/* ---- keys of the conditions ---- */

/* What a condition costs and how well it separates. */
typedef struct Search
{
	double keys;        /* to probe in every slab; 0: nothing can be tested */
	double rate;        /* share of the ranges that pass by chance */
	double choices;     /* values of an array, of which a row needs one */
	int conditions;     /* of a path */
	bool rows_testable; /* by the hash of a value in each, see rows.h, */
	bool literals;      /* or by its bytes */
	PbfidxWidths areas; /* of a path: narrowest of all groups */
	double upper_fpr;   /* and the highest */
} Search;

#define UNKNOWN_QUERY_KEYS 4 /* of a multi-key condition on a parameter */
/* Rates of so many required keys are multiplied; beyond, what is in a range for other rows' sake counts more.
 */
#define INDEPENDENT_KEYS 4

static Search
search_for_query(const PbfidxQuery *q, double fpr)
{
	Search s = {.keys = q->nrequired + q->ntested,
	            .rate = pow(fpr, Min(q->nrequired, INDEPENDENT_KEYS)),
	            .choices = 1};
	int any = 0;

	for (int slot = 0; slot <= q->n && q->any; slot++)
		any += q->any_of[slot];
	s.keys += any;
	if (q->any)
		s.rate *= Min(1, any * fpr);
	if (q->consult)
		s.rate *= fpr;
	return s;
}

/* The constant that a column is compared with; NULL: it is not known yet. */
static Const *
constant_operand(PlannerInfo *root, OpExpr *op)
{
	Node *operand = estimate_expression_value(root, get_rightop((Expr *) op));

	if (IsA(operand, RelabelType))
		operand = (Node *) ((RelabelType *) operand)->arg;
	return IsA(operand, Const) ? (Const *) operand : NULL;
}

/* A condition on a multi-key column. The query is made as the scan will make it. */
static Search
search_multikey(PlannerInfo *root, const Shape *shape, const IndexOptInfo *info, int column, OpExpr *op,
                double fpr)
{
	Const *operand = constant_operand(root, op);
	PbfidxQueryClass class;
	PbfidxQuery *q;

	if (operand == NULL)
		return (Search){.keys = UNKNOWN_QUERY_KEYS, .rate = fpr, .choices = 1};
	if (operand->constisnull)
		return (Search){.keys = 1, .choices = 1};
	pbfidx_init_query_class(&class, shape->index, column, CurrentMemoryContext);
	q = pbfidx_make_query(&class, get_opcode(op->opno),
	                      (StrategyNumber) get_op_opfamily_strategy(op->opno, info->opfamily[column]),
	                      operand->constvalue);
	return q == NULL ? (Search){.keys = 1, .choices = 1} : search_for_query(q, fpr);
}

/* An array of n queries or values. */
static Search
search_array(double n, bool multikey, double fpr)
{
	double each = multikey ? UNKNOWN_QUERY_KEYS : 1;

	return (Search){.keys = n * each, .rate = Min(1, n * fpr), .choices = n};
}

static Search
search_for_qual(PlannerInfo *root, const Shape *shape, const IndexOptInfo *info, int column, Expr *expr)
{
	bool multikey;
	double fpr = column_group(shape, column, &multikey).false_positive_rate;

	if (IsA(expr, NullTest) && ((NullTest *) expr)->nulltesttype == IS_NOT_NULL)
		return (Search){.rate = 1, .choices = 1};
	if (IsA(expr, ScalarArrayOpExpr))
		return search_array(pbf_estimate_array_length(root, (ScalarArrayOpExpr *) expr), multikey, fpr);
	if (IsA(expr, OpExpr) && multikey)
		return search_multikey(root, shape, info, column, (OpExpr *) expr, fpr);
	return (Search){.keys = 1, .rate = fpr, .choices = 1};
}

static PbfidxWidths
narrower(PbfidxWidths a, PbfidxWidths b)
{
	return (PbfidxWidths){Min(a.first, b.first), Min(a.most, b.most)};
}

/* Whether the scan will know bytes of the values that match; of a parameter we assume that. */
static bool
has_literals(PlannerInfo *root, OpExpr *op)
{
	Const *operand = constant_operand(root, op);
	ScanKeyData key = {.sk_collation = op->inputcollid};
	PbfidxClause clause;
	bool exact;

	key.sk_func.fn_oid = get_opcode(op->opno);
	if (operand == NULL || operand->constisnull)
		return pbfidx_may_have_literals(key.sk_func.fn_oid);
	key.sk_argument = operand->constvalue;
	return pbfidx_literals(&key, &clause, 1, &exact) > 0;
}

/* What can be tested in rows of a condition that has keys. */
static void
note_rows(PlannerInfo *root, Search *all, bool column, bool multikey, Expr *expr)
{
	if (!column)
		return;
	all->rows_testable = all->rows_testable || !multikey;
	all->literals = all->literals || (multikey && IsA(expr, OpExpr) && has_literals(root, (OpExpr *) expr));
}

/* All conditions together: keys add up, rates multiply. */
static Search
search_for_path(PlannerInfo *root, const Shape *shape, IndexPath *path)
{
	Search all = {.rate = 1, .choices = 1, .areas = {PBFIDX_MAX_AREA_REGIONS, PBFIDX_MAX_AREA_REGIONS}};
	ListCell *lc, *lc2;
	bool multikey;

	foreach (lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		foreach (lc2, clause->indexquals)
		{
			Expr *expr = lfirst_node(RestrictInfo, lc2)->clause;
			Search s = search_for_qual(root, shape, path->indexinfo, clause->indexcol, expr);

			all.keys += s.keys;
			all.choices = Max(all.choices, s.choices);
			all.areas = narrower(all.areas, column_group(shape, clause->indexcol, &multikey).areas);
			all.upper_fpr = Max(all.upper_fpr, multikey ? MULTIKEY_UPPER_FPR : UPPER_FPR);
			if (s.keys == 0)
				continue;
			all.rate *= s.rate;
			all.conditions++;
			note_rows(root, &all, path->indexinfo->indexkeys[clause->indexcol] > 0, multikey, expr);
		}
	}
	return all;
}

/* Of `things` equally likely ones, how many n rows are spread over. */
static double
spread(double things, double n)
{
	return things > 0 && n > 0 ? Min(things, 2 * things * n / (2 * things + n)) : 0;
}

/* Pages looked at for one key that so many rows have. */
static double
count_probes(PbfidxWidths widths, double upper_fpr, double slabs, double rows)
{
	double regions = ceil(slabs / PBFIDX_COLUMNS);
	double leaves = slabs * upper_fpr;
	uint32 areas = 0;

	/* Small tables have no upper: all leaf slabs are probed. */
	if (slabs < PBFIDX_UPPER_FROM_SLABS)
		return slabs;
	for (PbfidxArea area = pbfidx_area(widths, 0); area.first < regions; area = pbfidx_area(widths, ++areas))
	{
		double here = Min(regions - area.first, area.regions) / regions;
		double columns = Min(slabs * here / area.regions, PBFIDX_COLUMNS);

		leaves += spread(columns, rows * here) * area.regions;
	}
	return areas + Min(slabs, leaves);
}

/* Whether the scan will look at the rows of the pages that it has found. */
static bool
looks_at_rows(IndexPath *path, const Search *search, double pages)
{
	bool hashes = search->rows_testable && path->indexinfo->indpred == NIL &&
	              (search->conditions > 1 || search->choices > 1);

	return pbfidx_filter_rows && (hashes || search->literals) &&
	       pages <= pbfidx_most_filtered_pages(search->keys, search->literals, false);
}

/*
 * What the rows of the pages found cost beyond those that the server prices, `fetched` of them. If the scan
 * looks at them, the executor gets those alone that may match.
 */
static Cost
cost_of_rows(PlannerInfo *root, IndexPath *path, const Search *search, double pages, double found,
             double matching, double fetched)
{
	Cost look = 0;
	QualCost qual_cost;

	if (looks_at_rows(path, search, pages))
	{
		look = Max(0, found - fetched) * cpu_tuple_cost;
		found = matching;
	}
	cost_qual_eval(&qual_cost, get_quals_from_indexclauses(path->indexclauses), root);
	return look + Max(0, found - fetched) * (cpu_tuple_cost + qual_cost.per_tuple);
}

/* Of so many of an index, read in the order in which they are stored: the formula of bitmap heap scans. */
static Cost
cost_of_page(const IndexOptInfo *info, double pages)
{
	double random_cost, seq_cost;

	get_tablespace_page_costs(info->reltablespace, &random_cost, &seq_cost);
	return random_cost - (random_cost - seq_cost) * sqrt(Min(pages / Max(info->pages, 1), 1));
}

void
pbfidx_costestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
                    Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	RelOptInfo *rel = info->rel;
	Shape shape = open_index(info);
	List *quals = add_predicate_to_index_quals(info, get_quals_from_indexclauses(path->indexclauses));
	double heap_pages = Max(rel->pages, 1), tuples = Max(rel->tuples, 1);
	double rows = clamp_row_est(tuples * clauselist_selectivity(root, quals, rel->relid, JOIN_INNER, NULL));
	Search search = search_for_path(root, &shape, path);
	double ranges = ceil(heap_pages / shape.pages_per_range);
	double slabs = ceil(ranges / PBFIDX_COLUMNS);
	double found_ranges = Min(ranges, spread(ranges, rows) + ranges * search.rate);
	double found_pages = Min(heap_pages, found_ranges * shape.pages_per_range);
	double fetched, probes;

	if (search.keys == 0 || (shape.index != NULL && !pbfidx_are_hashes_trusted(shape.index)))
		found_pages = heap_pages;
	if (shape.index != NULL)
		index_close(shape.index, NoLock);
	fetched = 2 * heap_pages * found_pages / (2 * heap_pages - found_pages);
	*selectivity = Min(1, fetched / tuples);
	*correlation = 0;

	probes = search.keys * count_probes(search.areas, search.upper_fpr, slabs, rows / Max(search.choices, 1));
	*pages = index_pages_fetched(probes * loop_count, info->pages, info->pages, root) / loop_count;
	*startup_cost = 0;
	*total_cost =
	    *pages * cost_of_page(info, *pages) + probes * PROBE_OPERATORS * cpu_operator_cost +
	    cost_of_rows(root, path, &search, found_pages, found_pages * tuples / heap_pages, rows, fetched);
}

/* ---- the setting pbf.enable_index ---- */

static pbf_relation_hook_type previous_hook;

/* Takes our indexes out of what the planner knows of a relation. Costs alone would not do: since 18 they come
 * second. */
static void
hide_indexes(PBF_RELATION_HOOK_PARAMETERS)
{
	ListCell *lc;

	if (previous_hook != NULL)
		previous_hook(PBF_RELATION_HOOK_ARGUMENTS);
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
	previous_hook = pbf_relation_hook;
	pbf_relation_hook = hide_indexes;
}

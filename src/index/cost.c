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

#include "catalog/pg_statistic.h"
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
 * A probe takes a page from shared buffers, pins it and reads eight cache lines of it: about a microsecond.
 * Priced as so many operator calls, a twentieth of a page read in sequence.
 */
#define PROBE_OPERATORS 20
/* Of slabs that nothing is known of. */
#define TYPICAL_UPPER_FPR 1e-3
#define MULTIKEY_UPPER_FPR 0.1

/* What of an index its cost depends on. */
typedef struct Shape
{
	Relation index; /* NULL: hypothetical */
	bool row_key;   /* without other conditions its rows are looked up by that */
	double ranges;
	double range_rows; /* rows of the table in a range */
	double slabs;      /* leaf slabs of a group */
} Shape;

static Shape
open_index(const IndexOptInfo *info)
{
	double heap_pages = Max(info->rel->pages, 1), pages_per_range = 1;
	Shape shape = {.row_key = info->indpred != NIL};

	if (!info->hypothetical)
	{
		shape.index = index_open(info->indexoid, NoLock);
		pages_per_range = pbfidx_cache(shape.index)->pages_per_range;
		shape.row_key = (pbfidx_cache(shape.index)->flags & PBFIDX_ROW_KEY) != 0;
	}
	shape.ranges = ceil(heap_pages / pages_per_range);
	shape.range_rows = Max(info->rel->tuples, 1) / heap_pages * pages_per_range;
	shape.slabs = ceil(shape.ranges / PBFIDX_COLUMNS);
	return shape;
}

/* ---- look-ups of a key ---- */

/* What of a frozen group counts here. */
typedef struct KeyGroup
{
	int number;
	bool multikey;
	PbfidxGroup frozen;
} KeyGroup;

/* Of a column; of a hypothetical index the defaults for a scalar one. column -1: of the row key. */
static KeyGroup
column_group(const Shape *shape, int column)
{
	const PbfidxCache *cache;
	KeyGroup g = {.number = 0,
	              .multikey = false,
	              .frozen = {.false_positive_rate = pbfidx_choose_fpr(shape->ranges),
	                         .areas = {1, PBFIDX_MAX_AREA_REGIONS}}};

	if (shape->index == NULL)
		return g;
	cache = pbfidx_cache(shape->index);
	if (column >= 0)
	{
		g.number = cache->column_group[column] & PBFIDX_GROUP_NUMBER;
		g.multikey = (cache->column_group[column] & PBFIDX_GROUP_MULTIKEY) != 0;
	}
	else
		g.number = PBFIDX_ROW_KEY_GROUP;
	g.frozen = cache->group[g.number];
	return g;
}

/* False positive rates of the levels. upper 1: there is none, all leaf slabs are probed. */
typedef struct Rates
{
	double leaf;
	double upper;
} Rates;

static double
entry_rate(const PbfidxGroup *g, const PbfidxEntry *entry)
{
	return pbfidx_leaf_fpr(g, entry->column_keys, entry->now.blocks);
}

/* What is expected of slabs that nothing is known of. */
static Rates
typical_rates(const Shape *shape, const KeyGroup *g, PbfidxArea area)
{
	double fpr = g->frozen.false_positive_rate;

	if (shape->slabs - (double) area.first * PBFIDX_COLUMNS < pbfidx_upper_from_slabs(area))
		return (Rates){fpr, 1};
	return g->multikey ? (Rates){fpr, MULTIKEY_UPPER_FPR}
	                   : (Rates){Min(fpr / TYPICAL_UPPER_FPR, 1), TYPICAL_UPPER_FPR};
}

/* In an area: as its upper and the first of its slabs that has keys are. */
static Rates
area_rates(const Shape *shape, const KeyGroup *g, PbfidxArea area)
{
	Rates rates = typical_rates(shape, g, area);
	PbfidxRegion *region;

	if (shape->index == NULL)
		return rates;
	region = palloc(sizeof(PbfidxRegion));
	if (pbfidx_peek_region(shape->index, area.first * pbfidx_cache(shape->index)->groups + (uint32) g->number,
	                       region))
	{
		const PbfidxEntry *leaf = region->leaf, *end = leaf + PBFIDX_COLUMNS;

		while (leaf < end && (leaf->now.blocks == 0 || leaf->column_keys == 0))
			leaf++;
		if (leaf < end)
			rates.leaf = entry_rate(&g->frozen, leaf);
		if (region->upper.now.blocks == 0)
			rates.upper = 1;
		else if (region->upper.column_keys > 0)
			rates.upper = entry_rate(&g->frozen, &region->upper);
	}
	pfree(region);
	return rates;
}

/* What the look-up of one key takes. */
typedef struct LookUp
{
	double uppers; /* pages of upper slabs */
	double leaves; /* pages of leaf slabs, as many as may have the key */
	double rate;   /* share of the ranges that pass by chance */
} LookUp;

/* Of `things` equally likely ones, how many n rows are spread over. */
static double
spread(double things, double n)
{
	return things > 0 && n > 0 ? Min(things, 2 * things * n / (2 * things + n)) : 0;
}

/* The same if they lie side by side as far as `clustered` says, in `values` places; a thing is of so many
 * rows. */
static double
spread_clustered(double things, double thing_rows, double rows, double values, double clustered)
{
	double apart = spread(things, rows);
	double together = Min(apart, rows / thing_rows + values);

	return apart - clustered * (apart - together);
}

#define AREAS_SEEN 2 /* the first one may have no upper until VACUUM comes, the others are alike */

/* Of a key that so many rows have. */
static LookUp
look_up(const Shape *shape, const KeyGroup *g, double rows, double clustered)
{
	double regions = ceil(shape->slabs / PBFIDX_COLUMNS);
	LookUp sum = {0, 0, 0};
	Rates rates = {0, 0};
	PbfidxArea area;

	for (uint32 n = 0; (area = pbfidx_area(g->frozen.areas, n)).first < regions; n++)
	{
		double share = Min(regions - area.first, area.regions) / regions;
		double columns = Min(shape->slabs * share / area.regions, PBFIDX_COLUMNS);
		double column_rows = shape->range_rows * PBFIDX_COLUMNS * area.regions;
		double passed;

		if (n < AREAS_SEEN)
			rates = area_rates(shape, g, area);
		passed = Min(1, spread_clustered(columns, column_rows, rows * share, share, clustered) / columns);
		passed += (1 - passed) * rates.upper;
		sum.uppers += rates.upper < 1 ? 1 : 0;
		sum.leaves += shape->slabs * share * passed;
		sum.rate += share * rates.leaf * passed;
	}
	return sum;
}

/* ---- clusters ---- */

/* The probability that two rows have the same value. */
static double
same_value(VariableStatData *data)
{
	bool is_default;
	double values = get_variable_numdistinct(data, &is_default), rest = 1, same = 0;
	AttStatsSlot slot = {0};

	if (get_attstatsslot(&slot, data->statsTuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nnumbers; i++)
		{
			same += (double) slot.numbers[i] * slot.numbers[i];
			rest -= slot.numbers[i];
		}
		values -= slot.nnumbers;
		free_attstatsslot(&slot);
	}
	return Min(1, same + Max(rest, 0) * Max(rest, 0) / Max(values, 1));
}

/*
 * How far the rows of a value lie side by side, from 0 to 1: as for B-trees the square of the correlation.
 * ANALYZE takes equal values in the order in which they are stored, which by itself makes a correlation as
 * large as it is probable that two rows have the same value.
 */
static double
clustering(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	Node *expr = (Node *) list_nth_node(TargetEntry, info->indextlist, column)->expr;
	VariableStatData data;
	AttStatsSlot slot = {0};
	double correlation = 0;

	examine_variable(root, expr, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
	    get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
	                     ATTSTATSSLOT_NUMBERS))
	{
		double by_chance = same_value(&data);

		if (slot.nnumbers > 0 && by_chance < 1)
			correlation = Max(0, (fabs(slot.numbers[0]) - by_chance) / (1 - by_chance));
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return correlation * correlation;
}

/* Ranges that so many rows of so many values are in. */
static double
ranges_of(const Shape *shape, double rows, double values, double clustered)
{
	return spread_clustered(shape->ranges, shape->range_rows, rows, values, clustered);
}

/* ---- keys of the conditions ---- */

/* The keys of a condition. */
typedef struct Search
{
	double keys;     /* to look up; 0: nothing can be tested */
	double required; /* that a row needs, */
	double any;      /* of which it needs one: values of an array too, */
	double tested;   /* about which the class is asked */
} Search;

#define UNKNOWN_QUERY_KEYS 4 /* of a multi-key condition on a parameter */
/* Rates of so many required keys are multiplied; beyond, what is in a range for other rows' sake counts more.
 */
#define INDEPENDENT_KEYS 4

static Search
search_for_query(const PbfidxQuery *q)
{
	Search s = {.required = q->nrequired};

	if (q->consult && q->one_does)
		s.any = q->ntested;
	else if (q->consult)
		s.tested = q->ntested;
	for (int slot = 0; slot <= q->n && q->any; slot++)
		s.any += q->any_of[slot];
	s.keys = s.required + s.any + s.tested;
	return s;
}

/* Share of the ranges that pass by chance, where one key passes with that rate. */
static double
rate_of_search(const Search *s, double rate)
{
	double result = pow(rate, Min(s->required, INDEPENDENT_KEYS));

	if (s->any > 0)
		result *= Min(1, s->any * rate);
	return s->tested > 0 ? result * rate : result;
}

/* Values or keys of which a row needs one. */
static double
choices_of(const Search *s)
{
	return Max(s->any, 1);
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
search_multikey(PlannerInfo *root, const Shape *shape, const IndexOptInfo *info, int column, OpExpr *op)
{
	Const *operand = constant_operand(root, op);
	PbfidxQueryClass class;
	PbfidxQuery *q;

	if (operand == NULL)
		return (Search){.keys = UNKNOWN_QUERY_KEYS, .required = 1};
	if (operand->constisnull)
		return (Search){.keys = 1, .required = 1};
	pbfidx_init_query_class(&class, shape->index, column, CurrentMemoryContext);
	q = pbfidx_make_query(&class, get_opcode(op->opno), op->inputcollid,
	                      (StrategyNumber) get_op_opfamily_strategy(op->opno, info->opfamily[column]),
	                      operand->constvalue);
	return q == NULL ? (Search){.keys = 1, .required = 1} : search_for_query(q);
}

static Search
search_for_qual(PlannerInfo *root, const Shape *shape, const IndexOptInfo *info, int column, Expr *expr,
                bool multikey)
{
	if ((IsA(expr, NullTest) && ((NullTest *) expr)->nulltesttype == IS_NOT_NULL) ||
	    !pbfidx_compares_as_hashed(info->indexcollations[column], multikey,
	                               exprInputCollation((Node *) expr)))
		return (Search){.keys = 0};
	if (IsA(expr, ScalarArrayOpExpr))
	{
		/* Of an array without elements nothing has to be looked up, and nothing is found. */
		double n = pbf_estimate_array_length(root, (ScalarArrayOpExpr *) expr);

		return (Search){.keys = Max(n, 1) * (multikey ? UNKNOWN_QUERY_KEYS : 1), .any = n, .required = n < 1};
	}
	if (IsA(expr, OpExpr) && multikey)
		return search_multikey(root, shape, info, column, (OpExpr *) expr);
	return (Search){.keys = 1, .required = 1};
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

/* ---- a path ---- */

/* All conditions of a path. */
typedef struct Conditions
{
	double keys;
	double uppers; /* pages of upper slabs */
	struct
	{
		bool multikey;
		double keys;
		double leaves;      /* pages of leaf slabs, if each condition were alone */
		double least_slabs; /* leaf slabs in which the condition may be met that is so in fewest */
	} group[PBFIDX_MAX_GROUPS];
	double choices;     /* most */
	double share;       /* of the ranges that meet all conditions, were they independent */
	double least_share; /* of the ranges that meet the one that fewest do */
	double clustered;   /* of the column that is most */
	int conditions;     /* that can be tested */
	bool rows_testable; /* by the hash of a value in each, see rows.h, */
	bool literals;      /* or by its bytes */
} Conditions;

/* Rows of the index that meet these conditions. */
static double
rows_for(PlannerInfo *root, IndexOptInfo *info, List *quals)
{
	quals = add_predicate_to_index_quals(info, quals);
	return clamp_row_est(Max(info->rel->tuples, 1) *
	                     clauselist_selectivity(root, quals, info->rel->relid, JOIN_INNER, NULL));
}

/* A condition that can be tested, met by so many rows. `clustered` of its column. */
static void
add_search(Conditions *path, const Shape *shape, const KeyGroup *g, const Search *s, double rows,
           double clustered)
{
	double choices = choices_of(s);
	LookUp one = look_up(shape, g, rows / choices, clustered);
	double share = ranges_of(shape, rows, choices, clustered) / shape->ranges + rate_of_search(s, one.rate);

	share = Min(1, share);
	path->keys += s->keys;
	path->uppers += s->keys * one.uppers;
	if (path->group[g->number].keys == 0)
		path->group[g->number].least_slabs = shape->slabs;
	path->group[g->number].multikey = g->multikey;
	path->group[g->number].keys += s->keys;
	path->group[g->number].leaves += s->keys * one.leaves;
	path->group[g->number].least_slabs = Min(path->group[g->number].least_slabs, choices * one.leaves);
	path->choices = Max(path->choices, choices);
	path->share *= share;
	path->least_share = Min(path->least_share, share);
	path->clustered = Max(path->clustered, clustered);
}

static void
add_qual(PlannerInfo *root, const Shape *shape, IndexOptInfo *info, int column, RestrictInfo *qual,
         Conditions *path)
{
	Expr *expr = qual->clause;
	KeyGroup g = column_group(shape, column);
	Search s = search_for_qual(root, shape, info, column, expr, g.multikey);

	if (s.keys == 0)
		return;
	/* Of the rows with NULL no statistics tell where they are. */
	add_search(path, shape, &g, &s, rows_for(root, info, list_make1(qual)),
	           g.multikey || IsA(expr, NullTest) ? 0 : clustering(root, info, column));
	path->conditions++;
	if (info->indexkeys[column] <= 0)
		return;
	path->rows_testable = path->rows_testable || !g.multikey;
	path->literals =
	    path->literals || (g.multikey && IsA(expr, OpExpr) && has_literals(root, (OpExpr *) expr));
}

/* rows: that meet all conditions. */
static Conditions
examine_path(PlannerInfo *root, const Shape *shape, const IndexPath *path, double rows)
{
	Conditions all = {.choices = 1, .share = 1, .least_share = 1};
	ListCell *lc, *lc2;

	foreach (lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		foreach (lc2, clause->indexquals)
			add_qual(root, shape, path->indexinfo, clause->indexcol, lfirst_node(RestrictInfo, lc2), &all);
	}
	if (all.conditions == 0 && shape->row_key)
	{
		KeyGroup g = column_group(shape, -1);

		add_search(&all, shape, &g, &(Search){.keys = 1, .required = 1}, rows, 0);
	}
	return all;
}

/* Pages of leaf slabs that a scan looks at for groups of a kind: slabs in which one condition cannot be met
 * are not asked for others of its group and of the groups after it. *slabs: what is left of them. */
static double
count_leaves(const Conditions *path, bool multikey, double *slabs)
{
	double probes = 0;

	for (int i = 0; i < PBFIDX_MAX_GROUPS; i++)
	{
		if (path->group[i].keys == 0 || path->group[i].multikey != multikey)
			continue;
		*slabs = Min(*slabs, path->group[i].least_slabs);
		probes += Min(path->group[i].leaves, path->group[i].keys * *slabs);
	}
	return probes;
}

/* Pages of the index, in the order in which a scan looks at the groups. */
static double
count_probes(const Conditions *path)
{
	double slabs = INFINITY;
	double scalar = count_leaves(path, false, &slabs);

	return path->uppers + scalar + count_leaves(path, true, &slabs);
}

/*
 * Share of the ranges that a scan returns. A range has to meet each condition, by whatever row: so there are
 * more than those of the rows that meet them all, but no more than meet the rarest.
 */
static double
found_share(const Shape *shape, const Conditions *path, double rows)
{
	double share = Max(path->share, ranges_of(shape, rows, path->choices, path->clustered) / shape->ranges);

	return Min(share, path->least_share);
}

/* Whether the scan will look at the rows of the pages that it has found. */
static bool
looks_at_rows(const Conditions *search, double pages)
{
	return pbfidx_filter_rows && (search->rows_testable || search->literals) &&
	       pages <= pbfidx_most_filtered_pages(search->keys, search->literals, false, NULL);
}

/*
 * What the rows of the pages found cost beyond those that the server prices, `fetched` of them. If the scan
 * looks at them, the executor gets those alone that may match.
 */
static Cost
cost_of_rows(PlannerInfo *root, IndexPath *path, const Conditions *search, double pages, double found,
             double matching, double fetched)
{
	Cost look = 0;
	QualCost qual_cost;

	if (looks_at_rows(search, pages))
	{
		look = Max(0, found - fetched) * cpu_tuple_cost;
		found = matching;
	}
	cost_qual_eval(&qual_cost, get_quals_from_indexclauses(path->indexclauses), root);
	return look + Max(0, found - fetched) * (cpu_tuple_cost + qual_cost.per_tuple);
}

/*
 * What the server prices of pages of the heap is what it makes of a selectivity, which is 1 at most: too few,
 * where the table has more pages than rows. This is the price of the others.
 */
static Cost
cost_of_sparse_pages(const IndexOptInfo *info, double heap_pages, double found_pages)
{
	double tuples = Max(info->rel->tuples, 1), random_cost, seq_cost;
	double priced = 2 * heap_pages * tuples / (2 * heap_pages + tuples);

	get_tablespace_page_costs(info->rel->reltablespace, &random_cost, &seq_cost);
	return Max(0, found_pages - priced) * seq_cost;
}

/* Of so many of an index, read in the order in which they are stored: as bitmap heap scans are priced. */
static Cost
cost_of_page(const IndexOptInfo *info, double pages)
{
	double random_cost, seq_cost;

	get_tablespace_page_costs(info->reltablespace, &random_cost, &seq_cost);
	if (pages < 2)
		return random_cost;
	return random_cost - (random_cost - seq_cost) * sqrt(Min(pages / Max(info->pages, 1), 1));
}

void
pbfidx_costestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
                    Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	Shape shape = open_index(info);
	double heap_pages = Max(info->rel->pages, 1), tuples = Max(info->rel->tuples, 1);
	double rows = rows_for(root, info, get_quals_from_indexclauses(path->indexclauses));
	Conditions search = examine_path(root, &shape, path, rows);
	double found_pages = Min(heap_pages, heap_pages * found_share(&shape, &search, rows));
	double probes = count_probes(&search), fetched;
	bool all = search.keys == 0 || (shape.index != NULL && !pbfidx_trust_or_warn(shape.index));

	if (shape.index != NULL)
		index_close(shape.index, NoLock);
	if (all)
		found_pages = heap_pages;
	fetched = all ? tuples : 2 * heap_pages * found_pages / (2 * heap_pages - found_pages);
	*selectivity = Min(1, fetched / tuples);
	*correlation = 0;

	*pages = index_pages_fetched(probes * loop_count, info->pages, info->pages, root) / loop_count;
	*startup_cost = 0;
	*total_cost =
	    *pages * cost_of_page(info, *pages) + probes * PROBE_OPERATORS * cpu_operator_cost +
	    cost_of_rows(root, path, &search, found_pages, found_pages * tuples / heap_pages, rows, fetched) +
	    cost_of_sparse_pages(info, heap_pages, found_pages);
}

/* ---- the setting pbf.enable_index ---- */

static pbf_relation_hook_type previous_hook;

/* What the planner asks of an index that it will not take: nothing is read for it, as it may be damaged. */
static void
cost_nothing(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost, Cost *total_cost,
             Selectivity *selectivity, double *correlation, double *pages)
{
	(void) root;
	(void) path;
	(void) loop_count;
	*startup_cost = *total_cost = *correlation = *pages = 0;
	*selectivity = 1;
}

/*
 * The planner makes no paths of our indexes any more, but still knows them: they have the statistics of their
 * expressions. Costs alone would not do: since 18 they come second.
 */
static void
disable_indexes(PBF_RELATION_HOOK_PARAMETERS)
{
	ListCell *lc;

	if (previous_hook != NULL)
		previous_hook(PBF_RELATION_HOOK_ARGUMENTS);
	if (pbfidx_enabled)
		return;
	foreach (lc, rel->indexlist)
	{
		IndexOptInfo *info = lfirst_node(IndexOptInfo, lc);

		if ((void *) info->amcostestimate != (void *) pbfidx_costestimate)
			continue;
		info->amhasgetbitmap = false;
		/* Up to 17 it is declared without its arguments, which to a compiler of C23 is another type. */
		info->amcostestimate = (__typeof__(info->amcostestimate)) cost_nothing;
	}
}

void
pbfidx_init_cost(void)
{
	previous_hook = pbf_relation_hook;
	pbf_relation_hook = disable_indexes;
}

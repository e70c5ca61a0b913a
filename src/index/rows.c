/*
 * rows.c: of the pages that a scan has left, the rows that may meet its conditions.
 *
 * Only versions that the snapshot sees are looked at. What it sees was on the page before the scan began, and
 * stays; it fits the columns of the table, which what was left by an aborted ALTER TABLE does not, and it was
 * hashed before, unless it is not in a partial index. One that may match is returned by the root of its
 * HOT chain, as any index would. A serializable transaction has to meet the other versions too: there pages
 * are returned.
 *
 * As in the executor, a lock is held to see what is visible, then a pin is enough. A value that is stored out
 * of line is not fetched, its row stays.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "compat.h"
#include "index/directory.h"
#include "index/rows.h"

bool pbfidx_filter_rows = true;

#define CACHE_LINE 64 /* only speed depends on it */

/* What the server is told of a page whose rows are not known; as BRIN does. */
#define ROWS_OF_PAGE 10

void
pbfidx_init_rows(PbfidxRows *rows, Relation index)
{
	memset(rows, 0, sizeof(*rows));
	rows->index = index;
	rows->mcxt = CurrentMemoryContext;
}

/* Memory that a scan needs only if it looks at rows. */
static void
make_room(PbfidxRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(rows->mcxt);

	if (rows->temp == NULL)
	{
		rows->temp = AllocSetContextCreate(CurrentMemoryContext, "pbfidx rows", ALLOCSET_SMALL_SIZES);
		pbfidx_init_key_list(&rows->keys, CurrentMemoryContext);
		rows->room = 64;
		rows->pages = palloc(rows->room * sizeof(BlockNumber));
	}
	MemoryContextSwitchTo(old);
}

void
pbfidx_free_rows(PbfidxRows *rows)
{
	if (rows->temp == NULL)
		return;
	MemoryContextDelete(rows->temp);
	pfree(rows->keys.keys);
	pfree(rows->pages);
}

/* ---- what is tested ---- */

/* Whether keys of a column can be found in rows, at less cost than by the server: functions of users and of
 * types may cost anything. */
static bool
is_testable(const PbfidxRowColumn *c)
{
	const PbfidxHasher *h = &c->hasher;

	return c->attribute > 0 && !h->own && h->value.kind < PBF_KIND_ARRAY &&
	       (!h->multikey || h->extract.fn_oid == F_GINARRAYEXTRACT_ANYARRAY_INTERNAL_INTERNAL);
}

static PbfidxRowColumn *
get_column(PbfidxRows *rows, int column)
{
	PbfidxRowColumn *c = &rows->columns[column];

	if (!c->ready)
	{
		pbfidx_init_hasher(&c->hasher, rows->index, column, InvalidOid, rows->mcxt);
		c->attribute = rows->index->rd_index->indkey.values[column];
		c->testable = is_testable(c);
		c->ready = true;
	}
	return c;
}

/* Conditions without queries on one column follow each other. */
static void
choose_columns(PbfidxRows *rows)
{
	const PbfidxConditions *set = rows->conditions;
	int column = -1;

	for (int i = 0; i < set->n; i++)
	{
		const PbfidxCondition *condition = &set->list[i];

		if (condition->nqueries > 0 || condition->column < 0 ||
		    !get_column(rows, condition->column)->testable)
			continue;
		if (condition->column != column)
		{
			column = condition->column;
			rows->columns[column].first = i;
			rows->tested[rows->ntested++] = column;
		}
		rows->columns[column].end = i + 1;
	}
}

static bool
may_look(const PbfidxRows *rows)
{
	return pbfidx_filter_rows && rows->heap->rd_tableam == GetHeapamTableAmRoutine() &&
	       !IsolationIsSerializable() && !(pbfidx_cache(rows->index)->flags & PBFIDX_ROW_KEY);
}

/* The parts of LIKE's patterns that rows have to contain. They live as long as the conditions. */
static void
choose_literals(PbfidxRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(rows->conditions->mcxt);

	for (int i = 0; i < rows->scan->numberOfKeys && rows->nliterals < (int) lengthof(rows->literals); i++)
	{
		const ScanKeyData *key = &rows->scan->keyData[i];
		PbfidxRowLiteral *l = &rows->literals[rows->nliterals];

		l->attribute = rows->index->rd_index->indkey.values[key->sk_attno - 1];
		if (l->attribute <= 0)
			continue;
		pbfidx_like_literal(key, &l->literal);
		rows->nliterals += l->literal.n > 0;
	}
	MemoryContextSwitchTo(old);
}

/* One value of a scalar column is compared with one other as fast by the server. */
static bool
is_worthwhile(const PbfidxRows *rows, const PbfidxConditions *set)
{
	const PbfidxCondition *c = &set->list[0];

	return set->n > 1 || c->n > 1 ||
	       (c->column >= 0 && pbfidx_cache(rows->index)->column_group[c->column] & PBFIDX_GROUP_MULTIKEY);
}

void
pbfidx_begin_rows(PbfidxRows *rows, Relation heap, IndexScanDesc scan, const PbfidxConditions *set,
                  TIDBitmap *tbm)
{
	rows->heap = heap;
	rows->scan = scan;
	rows->conditions = set;
	rows->tbm = tbm;
	rows->ntested = rows->nliterals = 0;
	rows->looking = false;
	rows->n = rows->returned = 0;
	if (set == NULL || !may_look(rows) || !is_worthwhile(rows, set))
		return;
	choose_columns(rows);
	choose_literals(rows);
	rows->looking = rows->ntested > 0 || rows->nliterals > 0;
	rows->most =
	    pbfidx_most_filtered_pages(set->nkeys, rows->nliterals > 0, RelationUsesLocalBuffers(rows->index));
	if (rows->looking)
		make_room(rows);
}

/* ---- rows ---- */

static inline bool
is_among(const uint64 *keys, int n, uint64 key)
{
	while (n > 1)
	{
		int half = n / 2;

		keys += (keys[half - 1] < key) * half; /* no branch that nobody can predict */
		n -= half;
	}
	return n == 1 && *keys == key;
}

static bool
is_any_among(const PbfidxKeyList *list, const PbfidxConditions *set, const PbfidxCondition *c)
{
	for (int i = 0; i < list->n; i++)
	{
		if (is_among(set->keys + c->first, c->n, list->keys[i]))
			return true;
	}
	return false;
}

/* A value of the row; false: it is stored out of line. */
static bool
get_value(const PbfidxRows *rows, HeapTuple tuple, AttrNumber attribute, Datum *value, bool *isnull)
{
	TupleDesc desc = RelationGetDescr(rows->heap);

	*value = heap_getattr(tuple, attribute, desc, isnull);
	return *isnull || TupleDescAttr(desc, attribute - 1)->attlen != -1 ||
	       !VARATT_IS_EXTERNAL(DatumGetPointer(*value));
}

/* Whether a value lies on the page as it is: not compressed, and not the default of a column that was added
 * later. */
static bool
is_on_page(HeapTuple tuple, AttrNumber attribute, Datum value)
{
	return attribute <= HeapTupleHeaderGetNatts(tuple->t_data) &&
	       !VARATT_IS_COMPRESSED(DatumGetPointer(value));
}

static bool
may_be_like(const PbfidxRows *rows, const PbfidxRowLiteral *l, HeapTuple tuple)
{
	bool isnull;
	Datum value;
	const text *t;

	if (!get_value(rows, tuple, l->attribute, &value, &isnull))
		return true;
	if (isnull || (!l->on_page && is_on_page(tuple, l->attribute, value)))
		return false;
	t = DatumGetTextPP(value);
	return pbfidx_has_literal(&l->literal, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

/* Whether the conditions of one column leave the row. */
static bool
may_column_match(PbfidxRows *rows, PbfidxRowColumn *column, HeapTuple tuple)
{
	bool isnull;
	Datum value;

	if (!get_value(rows, tuple, column->attribute, &value, &isnull))
		return true;
	rows->keys.n = 0;
	pbfidx_column_keys(&column->hasher, value, isnull, &rows->keys);
	for (int c = column->first; c < column->end; c++)
	{
		if (!is_any_among(&rows->keys, rows->conditions, &rows->conditions->list[c]))
			return false;
	}
	return true;
}

static bool
may_match(PbfidxRows *rows, HeapTuple tuple)
{
	for (int i = 0; i < rows->ntested; i++)
	{
		if (!may_column_match(rows, &rows->columns[rows->tested[i]], tuple))
			return false;
	}
	for (int i = 0; i < rows->nliterals; i++)
	{
		if (!may_be_like(rows, &rows->literals[i], tuple))
			return false;
	}
	return true;
}

static bool
is_visible(const PbfidxRows *rows, Buffer buffer, HeapTuple tuple)
{
	return (PageIsAllVisible(BufferGetPage(buffer)) && !rows->scan->xs_snapshot->takenDuringRecovery) ||
	       HeapTupleSatisfiesVisibility(tuple, rows->scan->xs_snapshot, buffer);
}

static void
get_tuple(const PbfidxRows *rows, Buffer buffer, OffsetNumber offset, HeapTuple tuple)
{
	Page page = BufferGetPage(buffer);
	ItemId item = PageGetItemId(page, offset);

	tuple->t_tableOid = RelationGetRelid(rows->heap);
	ItemPointerSet(&tuple->t_self, BufferGetBlockNumber(buffer), offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
}

/* Has the CPU fetch the whole page: row after row, it would wait for each. */
static void
prefetch_page(const char *page)
{
	for (int at = 0; at < BLCKSZ; at += CACHE_LINE)
		__builtin_prefetch(page + at);
}

/* Most pages do not have what a pattern of few rows wants: one search tells. Rows that are added meanwhile
 * nobody asks for. */
static void
search_page(PbfidxRows *rows, Page page)
{
	int start = Min(((PageHeader) page)->pd_upper, BLCKSZ);

	for (int i = 0; i < rows->nliterals; i++)
		rows->literals[i].on_page =
		    pbfidx_has_literal(&rows->literals[i].literal, page + start, BLCKSZ - start);
}

/* The versions on a page that the snapshot sees; returns how many. */
static int
find_visible(const PbfidxRows *rows, Buffer buffer, OffsetNumber *found)
{
	Page page = BufferGetPage(buffer);
	HeapTupleData tuple;
	OffsetNumber last;
	int n = 0;

	prefetch_page(page);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	pbf_test_for_old_snapshot(rows->scan->xs_snapshot, rows->heap, page);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		if (!ItemIdIsNormal(PageGetItemId(page, offset)))
			continue;
		get_tuple(rows, buffer, offset, &tuple);
		if (is_visible(rows, buffer, &tuple))
			found[n++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return n;
}

/* Those of n visible versions that may match, in the place of all; returns how many. The pin keeps them where
 * they are. */
static int
keep_matches(PbfidxRows *rows, Buffer buffer, OffsetNumber *versions, int n)
{
	HeapTupleData tuple;
	int kept = 0;

	search_page(rows, BufferGetPage(buffer));
	for (int i = 0; i < n; i++)
	{
		get_tuple(rows, buffer, versions[i], &tuple);
		if (may_match(rows, &tuple))
			versions[kept++] = versions[i];
	}
	return kept;
}

/* The root of each version's HOT chain in its place; false: one has none that can be found. */
static bool
to_roots(Buffer buffer, OffsetNumber *versions, int n)
{
	OffsetNumber roots[MaxHeapTuplesPerPage];
	bool found = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	heap_get_root_tuples(BufferGetPage(buffer), roots);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	for (int i = 0; i < n; i++)
	{
		versions[i] = roots[versions[i] - 1];
		found = found && versions[i] != InvalidOffsetNumber;
	}
	return found;
}

static void
add_whole_page(PbfidxRows *rows, BlockNumber block)
{
	tbm_add_page(rows->tbm, block);
	rows->returned += ROWS_OF_PAGE;
}

static void
add_rows_of_page(PbfidxRows *rows, BlockNumber block)
{
	OffsetNumber found[MaxHeapTuplesPerPage];
	ItemPointerData tids[MaxHeapTuplesPerPage];
	Buffer buffer = ReadBuffer(rows->heap, block);
	MemoryContext old = MemoryContextSwitchTo(rows->temp);
	int n = keep_matches(rows, buffer, found, find_visible(rows, buffer, found));
	bool rooted = n == 0 || to_roots(buffer, found, n);

	ReleaseBuffer(buffer);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->temp);
	if (!rooted)
	{
		add_whole_page(rows, block);
		return;
	}
	for (int i = 0; i < n; i++)
		ItemPointerSet(&tids[i], block, found[i]);
	if (n > 0)
		tbm_add_tuples(rows->tbm, tids, n, true);
	rows->returned += n;
}

/* ---- pages ---- */

/* There are too many: those collected, and all that come, are not looked at. */
static void
give_up(PbfidxRows *rows)
{
	rows->looking = false;
	for (int64 i = 0; i < rows->n; i++)
		add_whole_page(rows, rows->pages[i]);
}

static void
add_page(PbfidxRows *rows, BlockNumber block)
{
	if (rows->looking && rows->n == rows->most)
		give_up(rows);
	if (!rows->looking)
	{
		add_whole_page(rows, block);
		return;
	}
	if (rows->n == rows->room)
	{
		rows->room *= 2;
		rows->pages = repalloc_huge(rows->pages, rows->room * sizeof(BlockNumber));
	}
	rows->pages[rows->n++] = block;
}

void
pbfidx_add_pages(PbfidxRows *rows, BlockNumber first, BlockNumber end)
{
	for (BlockNumber block = first; block < end; block++)
		add_page(rows, block);
}

void
pbfidx_end_rows(PbfidxRows *rows)
{
	int ahead = rows->looking ? get_tablespace_io_concurrency(rows->heap->rd_rel->reltablespace) : 0;

	for (int64 i = 0; i < rows->n && i < ahead; i++)
		PrefetchBuffer(rows->heap, MAIN_FORKNUM, rows->pages[i]);
	for (int64 i = 0; i < rows->n && rows->looking; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ahead > 0 && i + ahead < rows->n)
			PrefetchBuffer(rows->heap, MAIN_FORKNUM, rows->pages[i + ahead]);
		add_rows_of_page(rows, rows->pages[i]);
	}
}

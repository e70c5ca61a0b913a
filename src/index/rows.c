/*
 * rows.c: of the pages that a scan has left, the rows that have the keys looked for.
 *
 * Only versions that the snapshot sees are looked at. What it sees was on the page before the scan began, and
 * stays; it fits the columns of the table, which what was left by an aborted ALTER TABLE does not, and it was
 * hashed before, unless it is not in a partial index. One that has the keys is returned by the root of its
 * HOT chain, as any index would. A serializable transaction has to meet the other versions too: there pages
 * are returned.
 *
 * The page is copied under its lock, so that nothing else is done while it is held. A value that is stored
 * out of line is not fetched, its row stays.
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
make_room(PbfidxRows *rows, int64 keys)
{
	MemoryContext old = MemoryContextSwitchTo(rows->mcxt);

	if (rows->page == NULL)
	{
		rows->temp = AllocSetContextCreate(CurrentMemoryContext, "pbfidx rows", ALLOCSET_SMALL_SIZES);
		rows->page = palloc(BLCKSZ);
		pbfidx_init_key_list(&rows->keys, CurrentMemoryContext);
		rows->room = 64;
		rows->pages = palloc(rows->room * sizeof(BlockNumber));
	}
	rows->most = pbfidx_most_filtered_pages(keys, RelationUsesLocalBuffers(rows->index));
	MemoryContextSwitchTo(old);
}

void
pbfidx_free_rows(PbfidxRows *rows)
{
	if (rows->page == NULL)
		return;
	MemoryContextDelete(rows->temp);
	pfree(rows->page);
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

/* One value of a scalar column is compared with one other as fast by the server. */
static bool
is_worthwhile(const PbfidxRows *rows, const PbfidxConditions *set)
{
	const PbfidxCondition *c = &set->list[0];

	return set->n > 1 || c->n > 1 ||
	       (c->column >= 0 && pbfidx_cache(rows->index)->column_group[c->column] & PBFIDX_GROUP_MULTIKEY);
}

void
pbfidx_begin_rows(PbfidxRows *rows, Relation heap, Snapshot snapshot, const PbfidxConditions *set,
                  TIDBitmap *tbm)
{
	rows->heap = heap;
	rows->snapshot = snapshot;
	rows->conditions = set;
	rows->tbm = tbm;
	rows->ntested = 0;
	rows->n = rows->returned = 0;
	if (set != NULL && may_look(rows) && is_worthwhile(rows, set))
		choose_columns(rows);
	if (rows->ntested > 0)
		make_room(rows, set->nkeys);
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

/* Whether the conditions of one column leave the row. */
static bool
may_column_match(PbfidxRows *rows, PbfidxRowColumn *column, HeapTuple tuple)
{
	TupleDesc desc = RelationGetDescr(rows->heap);
	bool isnull;
	Datum value = heap_getattr(tuple, column->attribute, desc, &isnull);

	if (!isnull && TupleDescAttr(desc, column->attribute - 1)->attlen == -1 &&
	    VARATT_IS_EXTERNAL(DatumGetPointer(value)))
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
	return true;
}

static bool
is_visible(const PbfidxRows *rows, Buffer buffer, HeapTuple tuple)
{
	return (PageIsAllVisible(BufferGetPage(buffer)) && !rows->snapshot->takenDuringRecovery) ||
	       HeapTupleSatisfiesVisibility(tuple, rows->snapshot, buffer);
}

static void
get_tuple(const PbfidxRows *rows, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId item = PageGetItemId(page, offset);

	tuple->t_tableOid = RelationGetRelid(rows->heap);
	ItemPointerSet(&tuple->t_self, block, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
}

/* Copies the page and finds the versions on it that the snapshot sees; returns how many. */
static int
copy_page(PbfidxRows *rows, BlockNumber block, OffsetNumber *visible)
{
	Buffer buffer = ReadBuffer(rows->heap, block);
	Page page = BufferGetPage(buffer);
	HeapTupleData tuple;
	OffsetNumber last;
	int n = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	pbf_test_for_old_snapshot(rows->snapshot, rows->heap, page);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		if (!ItemIdIsNormal(PageGetItemId(page, offset)))
			continue;
		get_tuple(rows, page, block, offset, &tuple);
		if (is_visible(rows, buffer, &tuple))
			visible[n++] = offset;
	}
	memcpy(rows->page, page, BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return n;
}

/* Those of n versions on the copy that may match, in the place of all; returns how many. */
static int
keep_matches(PbfidxRows *rows, BlockNumber block, OffsetNumber *versions, int n)
{
	HeapTupleData tuple;
	int kept = 0;

	for (int i = 0; i < n; i++)
	{
		get_tuple(rows, rows->page, block, versions[i], &tuple);
		if (may_match(rows, &tuple))
			versions[kept++] = versions[i];
	}
	return kept;
}

/* The root of each version's HOT chain in its place; false: one has none that can be found. */
static bool
to_roots(PbfidxRows *rows, OffsetNumber *versions, int n)
{
	OffsetNumber roots[MaxHeapTuplesPerPage];

	heap_get_root_tuples(rows->page, roots);
	for (int i = 0; i < n; i++)
	{
		versions[i] = roots[versions[i] - 1];
		if (versions[i] == InvalidOffsetNumber)
			return false;
	}
	return true;
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
	MemoryContext old = MemoryContextSwitchTo(rows->temp);
	int n;

	n = copy_page(rows, block, found);
	n = keep_matches(rows, block, found, n);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->temp);
	if (n > 0 && !to_roots(rows, found, n))
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
	rows->ntested = 0;
	for (int64 i = 0; i < rows->n; i++)
		add_whole_page(rows, rows->pages[i]);
}

static void
add_page(PbfidxRows *rows, BlockNumber block)
{
	if (rows->ntested > 0 && rows->n == rows->most)
		give_up(rows);
	if (rows->ntested == 0)
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
	int ahead = rows->ntested > 0 ? get_tablespace_io_concurrency(rows->heap->rd_rel->reltablespace) : 0;

	for (int64 i = 0; i < rows->n && i < ahead; i++)
		PrefetchBuffer(rows->heap, MAIN_FORKNUM, rows->pages[i]);
	for (int64 i = 0; i < rows->n && rows->ntested > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ahead > 0 && i + ahead < rows->n)
			PrefetchBuffer(rows->heap, MAIN_FORKNUM, rows->pages[i + ahead]);
		add_rows_of_page(rows, rows->pages[i]);
	}
}

/*
 * rows.c: of the pages that a scan has left, the rows that may meet its conditions.
 *
 * Only versions that the snapshot sees are looked at. What it sees was on the page before the scan began, and
 * stays; it fits the columns of the table, which what was left by an aborted ALTER TABLE does not, and it was
 * hashed before, unless it is not in a partial index: only hashes that every value has are looked for. One
 * that may match is returned by the root of its
 * HOT chain, as any index would. A serializable transaction has to meet the other versions too: there pages
 * are returned.
 *
 * As in the executor, nothing is read from a page before it is locked: who holds a cleanup lock may be moving
 * its rows. The lock is held for the search and to see what is visible; after that a pin is enough. A value
 * that is stored out of line is not fetched, its row stays.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "compat.h"
#include "index/directory.h"
#include "index/rows.h"
#include "type/distinct.h"

bool pbfidx_filter_rows = true;

#define CACHE_LINE 64  /* only speed depends on it */
#define PAGE_BEGIN 512 /* bytes to fetch of a page that comes next */
#define PIECE 1024     /* bytes to search of a page while as many are fetched of the next */
#define FEW_PLACES 4   /* of a literal on a page */

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

	rows->temp = AllocSetContextCreate(CurrentMemoryContext, "pbfidx rows", ALLOCSET_SMALL_SIZES);
	pbfidx_init_key_list(&rows->keys, CurrentMemoryContext);
	rows->room = 64;
	rows->pages = palloc(rows->room * sizeof(BlockNumber));
	rows->seen = palloc(rows->room * sizeof(Buffer));
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
	pfree(rows->seen);
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

static bool
may_look(const PbfidxRows *rows)
{
	return pbfidx_filter_rows && rows->heap->rd_tableam == GetHeapamTableAmRoutine() &&
	       !IsolationIsSerializable();
}

/* Where a column of variable length begins in rows without NULLs, in bytes; -1: not always at one place. */
static int
fixed_offset(TupleDesc desc, AttrNumber attribute)
{
	int offset = 0;

	for (int i = 0; i < attribute; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);
		int aligned = att_align_nominal(offset, a->attalign);

		if (i == attribute - 1)
			return aligned == offset ? offset : -1; /* short values are not aligned */
		if (a->attlen < 0)
			return -1;
		offset = aligned + a->attlen;
	}
	return -1;
}

/* The bytes that rows have to contain. They live as long as the conditions. Returns for how many of the
 * scan's conditions they are all that is asked for. */
static int
choose_clauses(PbfidxRows *rows)
{
	MemoryContext old = MemoryContextSwitchTo(rows->conditions->mcxt);
	PbfidxClause found[lengthof(rows->clauses)];
	int answered = 0;

	for (int i = 0; i < rows->scan->numberOfKeys; i++)
	{
		const ScanKeyData *key = &rows->scan->keyData[i];
		AttrNumber attribute = rows->index->rd_index->indkey.values[key->sk_attno - 1];
		bool exact = false;
		int n = 0;

		if (attribute > 0)
			n = pbfidx_literals(key, found, (int) lengthof(found) - rows->nclauses, &exact);
		answered += n > 0 && exact;
		for (int j = 0; j < n; j++)
			rows->clauses[rows->nclauses++] =
			    (PbfidxRowClause){.clause = found[j],
			                      .attribute = attribute,
			                      .offset = fixed_offset(RelationGetDescr(rows->heap), attribute)};
	}
	MemoryContextSwitchTo(old);
	return answered;
}

static bool
has_clause(const PbfidxRows *rows, int column)
{
	for (int i = 0; i < rows->nclauses; i++)
	{
		if (rows->clauses[i].attribute == rows->index->rd_index->indkey.values[column])
			return true;
	}
	return false;
}

/* Conditions without queries on one column follow each other. To look for bytes takes less than to hash, but
 * does not tell that a value is equal. Returns how many of the scan's conditions can be answered. */
static int
choose_columns(PbfidxRows *rows)
{
	const PbfidxConditions *set = rows->conditions;
	int column = -1, answered = 0;

	for (int i = 0; i < set->n; i++)
	{
		const PbfidxCondition *condition = &set->list[i];

		if (condition->nqueries > 0 || condition->column < 0 ||
		    (condition->equality == NULL && has_clause(rows, condition->column)) ||
		    !get_column(rows, condition->column)->testable)
			continue;
		if (condition->column != column)
		{
			column = condition->column;
			rows->columns[column].first = i;
			rows->tested[rows->ntested++] = column;
		}
		rows->columns[column].end = i + 1;
		answered += condition->equality != NULL;
	}
	return answered;
}

/* What the server may compare every row with: duplicates too, and NULLs. */
static double
values_of(const PbfidxConditions *set)
{
	return (double) set->nkeys + set->repeated;
}

/* One value of one scalar column. */
static bool
is_single(const PbfidxConditions *set)
{
	return values_of(set) == 1 && !set->list[0].multikey;
}

/* Of a partial index, the server may compare rows with the condition of the index only if it compares them
 * with all. */
void
pbfidx_begin_rows(PbfidxRows *rows, Relation heap, IndexScanDesc scan, const PbfidxConditions *set,
                  TIDBitmap *tbm)
{
	int answered;

	rows->heap = heap;
	rows->scan = scan;
	rows->conditions = set;
	rows->tbm = tbm;
	rows->ntested = rows->nclauses = 0;
	rows->looking = false;
	rows->n = rows->returned = 0;
	if (set == NULL || !may_look(rows))
		return;
	answered = choose_clauses(rows) + choose_columns(rows);
	rows->exact = answered == scan->numberOfKeys && RelationGetIndexPredicate(rows->index) == NIL;
	rows->looking = rows->ntested > 0 || rows->nclauses > 0;
	rows->most = pbfidx_most_filtered_pages(values_of(set), rows->nclauses > 0 && !is_single(set),
	                                        RelationUsesLocalBuffers(heap), &rows->most_reads);
}

/* ---- rows ---- */

/* Where one of the keys of a value is among those of a condition; -1: none is. */
static int
find_any(const PbfidxKeyList *list, const PbfidxConditions *set, const PbfidxCondition *c)
{
	for (int i = 0; i < list->n; i++)
	{
		int position = pbf_find_hash(set->keys + c->first, c->n, list->keys[i]);

		if (position >= 0)
			return position;
	}
	return -1;
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

/* Whether a row's value has one of the literals of a clause. *known turns false if that is not known. */
static bool
may_meet(const PbfidxRows *rows, const PbfidxRowClause *c, HeapTuple tuple, bool *known)
{
	bool isnull;
	Datum value;

	if (!get_value(rows, tuple, c->attribute, &value, &isnull))
	{
		*known = false;
		return true;
	}
	return !isnull && pbfidx_has_literal(&c->clause, PG_DETOAST_DATUM_PACKED(value));
}

/* Whether a value of a column, whose keys are known, leaves the row to a condition. */
static bool
may_value_match(const PbfidxRows *rows, const PbfidxCondition *c, Datum value, bool isnull)
{
	const PbfidxConditions *set = rows->conditions;
	int position = find_any(&rows->keys, set, c);

	if (position < 0 || !rows->exact)
		return position >= 0;
	return !isnull && pbfidx_is_any_equal(c->equality, set->keys + c->first, c->n, position, value);
}

/* Whether the conditions of one column leave the row. *known: as may_meet. */
static bool
may_column_match(PbfidxRows *rows, PbfidxRowColumn *column, HeapTuple tuple, bool *known)
{
	bool isnull;
	Datum value;

	if (!get_value(rows, tuple, column->attribute, &value, &isnull))
	{
		*known = false;
		return true;
	}
	rows->keys.n = 0;
	pbfidx_column_keys(&column->hasher, value, isnull, &rows->keys);
	for (int c = column->first; c < column->end; c++)
	{
		if (!may_value_match(rows, &rows->conditions->list[c], value, isnull))
			return false;
	}
	return true;
}

static bool
may_match(PbfidxRows *rows, HeapTuple tuple, bool *known)
{
	for (int i = 0; i < rows->nclauses; i++)
	{
		if (!may_meet(rows, &rows->clauses[i], tuple, known))
			return false;
	}
	for (int i = 0; i < rows->ntested; i++)
	{
		if (!may_column_match(rows, &rows->columns[rows->tested[i]], tuple, known))
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
get_tuple(const PbfidxRows *rows, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId item = PageGetItemId(page, offset);

	tuple->t_tableOid = RelationGetRelid(rows->heap);
	ItemPointerSet(&tuple->t_self, block, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
}

/* Has the CPU fetch n bytes. */
static void
prefetch(const char *at, int n)
{
	for (int i = 0; i < n; i += CACHE_LINE)
		__builtin_prefetch(at + i);
}

/* Notes where a literal begins in from .. end - 1, at most FEW_PLACES; returns how many. Before it, from
 * `start` on, there may be what belongs to it. */
static int
note_places(PbfidxRowClause *c, int literal, Page page, const char *start, const char *from, const char *end)
{
	int n = 0;

	for (; n < FEW_PLACES; n++, from++)
	{
		from = pbfidx_find_literal(&c->clause, literal, start, from, end);
		if (from == NULL)
			break;
		c->first = Min(c->first, (int) (from - page));
		c->last = Max(c->last, (int) (from - page));
	}
	return n;
}

/*
 * Most pages do not have what a condition of few rows wants: one search tells. Else what is from the first to
 * the last place where it is, at the end of the page if there are many. The next page, if it is known, is
 * fetched meanwhile, as far as this one is searched. That goes by pieces: at once it would be more than a CPU
 * has in flight.
 */
static void
search_page_for(PbfidxRowClause *c, int literal, Page page, const char *next)
{
	const char *start = page + Min(((PageHeader) page)->pd_upper, BLCKSZ), *end = page + BLCKSZ;
	int beyond = (int) c->clause.any[literal].n - 1; /* a piece's end, of a literal that begins there */
	int places = 0;

	for (const char *piece = start; piece < end && places < FEW_PLACES; piece += PIECE)
	{
		if (next != NULL)
			prefetch(next + (piece - page), Min(PIECE, end - piece));
		places += note_places(c, literal, page, start, piece, piece + Min(PIECE + beyond, end - piece));
	}
	if (places >= FEW_PLACES)
		c->last = BLCKSZ;
}

static void
search_page(PbfidxRowClause *c, Page page, const char *next)
{
	c->first = BLCKSZ;
	c->last = -1;
	for (int i = 0; i < c->clause.n; i++)
		search_page_for(c, i, page, i == 0 ? next : NULL);
}

/* Whether the value of a clause is surely within the version as it is. Nothing is said of one that the
 * snapshot does not see, whatever its columns are. */
static inline bool
is_plain(const PbfidxRowClause *c, HeapTupleHeader t, int length)
{
	int at = t->t_hoff + c->offset;
	const char *value = (const char *) t + at;

	if (c->offset < 0 || t->t_infomask & HEAP_HASNULL || HeapTupleHeaderGetNatts(t) < c->attribute ||
	    at >= length)
		return false;
	return VARATT_IS_4B_U(value) || (VARATT_IS_1B(value) && !VARATT_IS_1B_E(value));
}

/* Whether a version may have what the clauses want, by its bytes, which may be those of another column. */
static inline bool
may_have_bytes(const PbfidxRows *rows, Page page, ItemId item)
{
	int at = (int) ItemIdGetOffset(item), length = (int) ItemIdGetLength(item);
	HeapTupleHeader t = (HeapTupleHeader) PageGetItem(page, item);

	for (int i = 0; i < rows->nclauses; i++)
	{
		const PbfidxRowClause *c = &rows->clauses[i];

		if ((at > c->last || at + length <= c->first) && is_plain(c, t, length))
			return false;
	}
	return true;
}

/* The versions on a page that the snapshot sees, but for those without the bytes; returns how many. */
static int
find_visible(PbfidxRows *rows, Buffer buffer, const char *next, OffsetNumber *found)
{
	Page page = BufferGetPage(buffer);
	BlockNumber block = BufferGetBlockNumber(buffer);
	HeapTupleData tuple;
	OffsetNumber last;
	int n = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	pbf_test_for_old_snapshot(rows->scan->xs_snapshot, rows->heap, page);
	for (int i = 0; i < rows->nclauses; i++)
		search_page(&rows->clauses[i], page, i == 0 ? next : NULL);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId item = PageGetItemId(page, offset);

		if (!ItemIdIsNormal(item) || !may_have_bytes(rows, page, item))
			continue;
		get_tuple(rows, page, block, offset, &tuple);
		if (is_visible(rows, buffer, &tuple))
			found[n++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return n;
}

/* Those of n visible versions that may match, in the place of all; returns how many. *known: as may_meet. The
 * pin keeps them where they are. */
static int
keep_matches(PbfidxRows *rows, Buffer buffer, OffsetNumber *versions, int n, bool *known)
{
	MemoryContext old = MemoryContextSwitchTo(rows->temp);
	Page page = BufferGetPage(buffer);
	BlockNumber block = BufferGetBlockNumber(buffer);
	HeapTupleData tuple;
	int kept = 0;

	for (int i = 0; i < n; i++)
	{
		get_tuple(rows, page, block, versions[i], &tuple);
		if (may_match(rows, &tuple, known))
			versions[kept++] = versions[i];
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->temp);
	return kept;
}

/* Whether one of n versions was made by a HOT update. */
static bool
is_any_heap_only(Page page, const OffsetNumber *versions, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (HeapTupleHeaderIsHeapOnly((HeapTupleHeader) PageGetItem(page, PageGetItemId(page, versions[i]))))
			return true;
	}
	return false;
}

/* The root of each version's HOT chain in its place; false: one has none that can be found. */
static bool
to_roots(Buffer buffer, OffsetNumber *versions, int n)
{
	OffsetNumber roots[MaxHeapTuplesPerPage];
	bool found = true;

	if (!is_any_heap_only(BufferGetPage(buffer), versions, n))
		return true;
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
add_rows_of_page(PbfidxRows *rows, BlockNumber block, Buffer seen, const char *next)
{
	OffsetNumber found[MaxHeapTuplesPerPage];
	ItemPointerData tids[MaxHeapTuplesPerPage];
	Buffer buffer = pbfidx_read_seen(rows->heap, block, seen);
	bool exact = rows->exact, rooted;
	int n;

	if (rows->nclauses == 0)
		prefetch(BufferGetPage(buffer), BLCKSZ); /* row after row, it would wait for each */
	n = find_visible(rows, buffer, next, found);
	if (n > 0)
		n = keep_matches(rows, buffer, found, n, &exact);
	rooted = to_roots(buffer, found, n);
	ReleaseBuffer(buffer);
	if (!rooted)
	{
		add_whole_page(rows, block);
		return;
	}
	for (int i = 0; i < n; i++)
		ItemPointerSet(&tids[i], block, found[i]);
	if (n > 0)
		tbm_add_tuples(rows->tbm, tids, n, !exact);
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
	if (rows->temp == NULL)
		make_room(rows);
	if (rows->n == rows->room)
	{
		rows->room *= 2;
		rows->pages = repalloc_huge(rows->pages, rows->room * sizeof(BlockNumber));
		rows->seen = repalloc_huge(rows->seen, rows->room * sizeof(Buffer));
	}
	rows->pages[rows->n++] = block;
}

void
pbfidx_add_pages(PbfidxRows *rows, BlockNumber first, BlockNumber end)
{
	for (BlockNumber block = first; block < end; block++)
	{
		CHECK_FOR_INTERRUPTS(); /* the table may be huge */
		add_page(rows, block);
	}
}

static int64
blocks_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/* Has the system read page i, or the CPU fetch where it begins. */
static void
look_ahead(PbfidxRows *rows, int64 i)
{
	Buffer buffer;

	if (i >= rows->n)
		return;
	buffer = PrefetchBuffer(rows->heap, MAIN_FORKNUM, rows->pages[i]).recent_buffer;
	rows->seen[i] = buffer;
	if (!BufferIsValid(buffer) || BufferIsLocal(buffer))
		return;
	pbfidx_prefetch_buffer(buffer);
	prefetch(BufferGetPage(buffer), PAGE_BEGIN);
}

/* Where page i was a moment ago, NULL if that is not known. Only good for fetching it. */
static const char *
seen_page(const PbfidxRows *rows, int64 i)
{
	return i < rows->n && rows->seen[i] > 0 ? BufferGetPage(rows->seen[i]) : NULL;
}

void
pbfidx_end_rows(PbfidxRows *rows)
{
	int ahead = rows->looking ? get_tablespace_io_concurrency(rows->heap->rd_rel->reltablespace) : 0;
	int64 most = blocks_read() + rows->most_reads;
	int64 i = 0;

	for (; i < rows->n && i < ahead; i++)
		look_ahead(rows, i);
	for (i = 0; i < rows->n && rows->looking && blocks_read() <= most; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ahead > 0)
			look_ahead(rows, i + ahead);
		add_rows_of_page(rows, rows->pages[i], ahead > 0 ? rows->seen[i] : InvalidBuffer,
		                 ahead > 0 ? seen_page(rows, i + 1) : NULL);
	}
	for (; i < rows->n && rows->looking; i++)
		add_whole_page(rows, rows->pages[i]);
}

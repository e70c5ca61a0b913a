/*
 * scan.c: which ranges may hold a row that meets all conditions.
 *
 * A condition is a set of keys of one column, one of which the row must have: one key for `=`, several for
 * `= ANY`, the NULL key for IS NULL. A multi-key condition (query.h) becomes a condition for each key that it
 * requires, one for keys of which any will do, and where that does not say all, a condition on which its
 * consistent function is consulted. So does one of `operator ANY`, with a query for each element. A range
 * survives if no condition rules it out. For every region, and every group of columns that has conditions:
 *
 * 1. Read its record. (After the snapshot was taken, and anew in every call: see src/README.md.)
 * 2. Probe every key in the upper slab, if there is one: a mask of leaf slabs for each key. A slab survives
 * if no condition rules it out.
 * 3. Probe, in each leaf slab that survives, the keys whose mask has it, condition after condition, so that
 * later ones look only at slabs that are left.
 * 4. Return the heap pages of the ranges that survive.
 *
 * A probe is one page, and on it one row a part. Pages are pinned and rows prefetched in batches, so that
 * cache misses overlap. Most regions have nothing for a key, so many of them are looked at together (a
 * window): 2 for the first group of all, from their entries of the uppers alone, then the rest for those of
 * which something is left. A page that is not what the record said was recycled since: the region is started
 * again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "index/directory.h"
#include "index/keys.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/slab.h"

/* Probes in flight. Each holds a pin; buffers of temporary tables are few. */
#define BATCH 16
#define LOCAL_BATCH 8

/* Regions looked at together, while their masks are no more than that. */
#define WINDOW 32
#define WINDOW_MASKS 4096

/* Keys first..first + n - 1 of the scan: without queries, one of them the row must have; with queries, the
 * slots of each, one after the other, and one of the queries must be met. */
typedef struct Condition
{
	int group;
	int first;
	int n;
	PbfidxQuery **queries;
	int nqueries;
} Condition;

/* How values of one scan key become keys; kept while its type stays the same. */
typedef struct KeyHasher
{
	Oid type;
	bool ready;
	PbfidxHasher hasher;     /* scalar */
	PbfidxQueryClass *class; /* multi-key */
} KeyHasher;

typedef struct PbfidxScan
{
	uint64 *keys;
	bool *probed; /* whether the masks of the key are needed at all */
	int nkeys;
	int room;
	Condition *conditions;
	int nconditions;
	int conditions_room;
	bool impossible;     /* a condition that no row meets */
	bool all_ranges;     /* nothing to look for, or an index whose hashes cannot be trusted */
	MemoryContext mcxt;  /* of the keys; reset by rescan */
	MemoryContext temp;  /* reset after every call of a consistent function */
	KeyHasher *hashers;  /* one a scan key, */
	MemoryContext owner; /* whose memory is here */

	/* while a window of regions is looked at */
	PbfidxMask *window_masks; /* for each region nkeys masks: */
	uint32 window;            /* so many regions at most */
	PbfidxEntry uppers[WINDOW];

	/* while a region is looked at */
	PbfidxRegion *region;
	PbfidxMask *key_masks;   /* leaf slabs that may have each key */
	PbfidxMask *range_masks; /* of one leaf slab, ranges that may have each key of a condition */
	PbfidxMask any[PBFIDX_COLUMNS];
	PbfidxMask slabs;                  /* that may hold a row */
	PbfidxMask ranges[PBFIDX_COLUMNS]; /* of these slabs, those that may */
} PbfidxScan;

/* One page to look at. */
typedef struct Probe
{
	PbfidxSlabId id;
	PbfidxExtent extent;
	PbfidxPlace place;
	PbfidxMask *mask; /* where the result is OR-ed into */
	bool *valid;      /* turns false if the page is not what it should be */
	Buffer buffer;
} Probe;

/* ---- conditions ---- */

IndexScanDesc
pbfidx_beginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	PbfidxScan *so = palloc0(sizeof(PbfidxScan));

	so->mcxt = AllocSetContextCreate(CurrentMemoryContext, "pbfidx scan", ALLOCSET_SMALL_SIZES);
	so->temp = AllocSetContextCreate(CurrentMemoryContext, "pbfidx consistent", ALLOCSET_SMALL_SIZES);
	so->region = palloc(sizeof(PbfidxRegion));
	so->hashers = palloc0(Max(nkeys, 1) * sizeof(KeyHasher));
	so->owner = CurrentMemoryContext;
	scan->opaque = so;
	return scan;
}

void
pbfidx_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	(void) nkeys;
	(void) orderbys;
	(void) norderbys;
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

void
pbfidx_endscan(IndexScanDesc scan)
{
	PbfidxScan *so = scan->opaque;

	MemoryContextDelete(so->mcxt);
	MemoryContextDelete(so->temp);
	pfree(so->region);
	pfree(so->hashers);
	pfree(so);
}

static int
compare_keys(const void *a, const void *b)
{
	uint64 x = *(const uint64 *) a, y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* Duplicates of IN lists need no probes of their own. */
static void
sort_unique(PbfidxScan *so, Condition *c)
{
	uint64 *keys = so->keys + c->first;
	int kept = 0;

	qsort(keys, c->n, sizeof(uint64), compare_keys);
	for (int i = 0; i < c->n; i++)
	{
		if (i == 0 || keys[i] != keys[kept - 1])
			keys[kept++] = keys[i];
	}
	c->n = kept;
	so->nkeys = c->first + kept;
}

static void
add_key(PbfidxScan *so, uint64 key, bool probed)
{
	if (so->nkeys == so->room)
	{
		so->room = Max(64, so->room * 2);
		so->keys = so->keys == NULL ? palloc(so->room * sizeof(uint64))
		                            : repalloc_huge(so->keys, so->room * sizeof(uint64));
		so->probed = so->probed == NULL ? palloc(so->room * sizeof(bool))
		                                : repalloc_huge(so->probed, so->room * sizeof(bool));
	}
	so->probed[so->nkeys] = probed;
	so->keys[so->nkeys++] = key;
}

/* A new condition, on keys to be added. */
static Condition *
begin_condition(PbfidxScan *so, int group)
{
	if (so->nconditions == so->conditions_room)
	{
		so->conditions_room = Max(16, so->conditions_room * 2);
		so->conditions = so->conditions == NULL
		                     ? palloc(so->conditions_room * sizeof(Condition))
		                     : repalloc_huge(so->conditions, so->conditions_room * sizeof(Condition));
	}
	so->conditions[so->nconditions] = (Condition){.group = group, .first = so->nkeys};
	return &so->conditions[so->nconditions++];
}

/* All keys since begin_condition are its. */
static void
end_condition(PbfidxScan *so, Condition *c)
{
	c->n = so->nkeys - c->first;
	if (c->nqueries == 0)
		sort_unique(so, c);
}

static void
add_single_key(PbfidxScan *so, int group, uint64 key)
{
	Condition *c = begin_condition(so, group);

	add_key(so, key, true);
	end_condition(so, c);
}

/* ---- conditions on scalar columns ---- */

static PbfidxHasher *
key_hasher(KeyHasher *kept, Relation index, int column, Oid type, MemoryContext mcxt)
{
	if (!kept->ready || kept->type != type)
	{
		kept->ready = false;
		pbfidx_init_hasher(&kept->hasher, index, column, type, mcxt);
		pbfidx_require_same_kind(index, &kept->hasher);
		kept->type = type;
		kept->ready = true;
	}
	return &kept->hasher;
}

/* The elements of an array that are not NULL. */
static Datum *
array_elements(Datum argument, Oid *type, int *n)
{
	ArrayType *array = DatumGetArrayTypeP(argument);
	int16 typlen;
	bool typbyval, *nulls;
	char typalign;
	Datum *elements;
	int all, kept = 0;

	*type = ARR_ELEMTYPE(array);
	get_typlenbyvalalign(*type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, *type, typlen, typbyval, typalign, &elements, &nulls, &all);
	for (int i = 0; i < all; i++)
	{
		if (!nulls[i])
			elements[kept++] = elements[i];
	}
	*n = kept;
	return elements;
}

static void
add_scalar_condition(PbfidxScan *so, Relation index, int group, ScanKey key, KeyHasher *kept)
{
	int column = key->sk_attno - 1;
	Condition *c = begin_condition(so, group);
	Datum *values = &key->sk_argument;
	Oid type = key->sk_subtype;
	PbfidxHasher *hasher;
	int n = 1;

	if (key->sk_flags & SK_SEARCHARRAY)
		values = array_elements(key->sk_argument, &type, &n);
	hasher = key_hasher(kept, index, column, type, so->owner);
	for (int i = 0; i < n; i++)
		add_key(so, pbfidx_value_key(hasher, values[i]), true);
	so->impossible = so->impossible || n == 0;
	end_condition(so, c);
}

/* ---- conditions on multi-key columns ---- */

static PbfidxQueryClass *
query_class(KeyHasher *kept, Relation index, int column, MemoryContext mcxt)
{
	if (!kept->ready)
	{
		kept->class = MemoryContextAlloc(mcxt, sizeof(PbfidxQueryClass));
		pbfidx_init_query_class(kept->class, index, column, mcxt);
		kept->ready = true;
	}
	return kept->class;
}

/* All slots of a query, as its filter wants their masks; probed are those that it looks at, or that a
 * consultation alone does. */
static void
add_slots(PbfidxScan *so, const PbfidxQuery *q, bool consulted_only)
{
	for (int slot = 0; slot <= q->n; slot++)
	{
		bool tested = q->consult && slot < q->n && q->roles[slot] == PBFIDX_KEY_TESTED;
		bool required = slot < q->n && q->roles[slot] == PBFIDX_KEY_REQUIRED;

		add_key(so, q->keys[slot], tested || (!consulted_only && (required || (q->any && q->any_of[slot]))));
	}
}

/* One query: what it requires becomes conditions of their own. */
static void
add_query(PbfidxScan *so, int group, PbfidxQuery *q)
{
	Condition *c;

	for (int i = 0; i < q->n; i++)
	{
		if (q->roles[i] == PBFIDX_KEY_REQUIRED)
			add_single_key(so, group, q->keys[i]);
	}
	if (q->any)
	{
		c = begin_condition(so, group);
		for (int slot = 0; slot <= q->n; slot++)
		{
			if (q->any_of[slot])
				add_key(so, q->keys[slot], true);
		}
		end_condition(so, c);
	}
	q->narrowed = true;
	if (q->consult)
	{
		c = begin_condition(so, group);
		c->queries = palloc(sizeof(PbfidxQuery *));
		c->queries[c->nqueries++] = q;
		add_slots(so, q, true);
		end_condition(so, c);
	}
}

/* Several queries, one of which must be met. */
static void
add_queries(PbfidxScan *so, int group, PbfidxQuery **queries, int n)
{
	Condition *c;

	for (int i = 0; i < n; i++)
	{
		if (pbfidx_is_unrestricted(queries[i]))
			return;
	}
	c = begin_condition(so, group);
	c->queries = queries;
	c->nqueries = n;
	for (int i = 0; i < n; i++)
		add_slots(so, queries[i], false);
	end_condition(so, c);
}

static void
add_multikey_condition(PbfidxScan *so, Relation index, int group, ScanKey key, KeyHasher *kept)
{
	PbfidxQueryClass *class = query_class(kept, index, key->sk_attno - 1, so->owner);
	Datum *values = &key->sk_argument;
	PbfidxQuery **queries;
	int n = 1, possible = 0;
	Oid type;

	if (key->sk_flags & SK_SEARCHARRAY)
		values = array_elements(key->sk_argument, &type, &n);
	queries = palloc(Max(n, 1) * sizeof(PbfidxQuery *));
	for (int i = 0; i < n; i++)
	{
		queries[possible] = pbfidx_make_query(class, key->sk_strategy, values[i]);
		possible += queries[possible] != NULL;
	}
	so->impossible = so->impossible || possible == 0;
	if (possible == 1)
		add_query(so, group, queries[0]);
	else if (possible > 1)
		add_queries(so, group, queries, possible);
}

/* ---- all conditions ---- */

/* What one scan key asks for, appended. */
static void
add_condition(PbfidxScan *so, Relation index, ScanKey key, KeyHasher *kept)
{
	int column = key->sk_attno - 1;
	uint8 code = pbfidx_cache(index)->column_group[column];
	int group = code & ~PBFIDX_GROUP_MULTIKEY;

	if (key->sk_flags & SK_SEARCHNOTNULL)
		return; /* says nothing about keys */
	if (key->sk_flags & SK_SEARCHNULL)
		add_single_key(so, group, pbfidx_null_key(column));
	else if (key->sk_flags & SK_ISNULL)
		so->impossible = true;
	else if (code & PBFIDX_GROUP_MULTIKEY)
		add_multikey_condition(so, index, group, key, kept);
	else
		add_scalar_condition(so, index, group, key, kept);
}

/* Hashes of another major version of the server may differ from those in the index. */
static bool
hashes_trusted(Relation index)
{
	const PbfidxCache *cache = pbfidx_cache(index);

	if (!(cache->flags & PBFIDX_SERVER_HASH) || cache->server_major == PG_VERSION_NUM / 10000)
		return true;
	ereport(WARNING,
	        errmsg("index \"%s\" was built by PostgreSQL %u and uses hash functions of the server",
	               RelationGetRelationName(index), cache->server_major),
	        errdetail("Until it is rebuilt, it returns the whole table."), errhint("REINDEX it."));
	return false;
}

/* The order in which conditions are looked at: group by group, consultations last. */
static int
compare_conditions(const void *a, const void *b)
{
	const Condition *x = a, *y = b;

	if (x->group != y->group)
		return x->group - y->group;
	return (x->nqueries > 0) - (y->nqueries > 0);
}

static void
prepare(PbfidxScan *so, IndexScanDesc scan)
{
	Relation index = scan->indexRelation;
	MemoryContext old;
	int widest = 1;

	MemoryContextReset(so->mcxt);
	old = MemoryContextSwitchTo(so->mcxt);
	so->keys = NULL;
	so->probed = NULL;
	so->conditions = NULL;
	so->nkeys = so->room = so->nconditions = so->conditions_room = 0;
	so->impossible = false;
	for (int i = 0; i < scan->numberOfKeys && !so->impossible; i++)
		add_condition(so, index, &scan->keyData[i], &so->hashers[i]);
	if (so->nconditions == 0 && (pbfidx_cache(index)->flags & PBFIDX_ROW_KEY))
		add_single_key(so, PBFIDX_ROW_KEY_GROUP, PBFIDX_ROW_KEY_VALUE);
	so->all_ranges = so->nconditions == 0 || !hashes_trusted(index);
	if (so->nconditions > 0)
		qsort(so->conditions, so->nconditions, sizeof(Condition), compare_conditions);
	for (int c = 0; c < so->nconditions; c++)
		widest = Max(widest, so->conditions[c].n);
	so->window = (uint32) Max(1, Min(WINDOW, WINDOW_MASKS / Max(so->nkeys, 1)));
	so->window_masks =
	    palloc_extended((Size) so->window * Max(so->nkeys, 1) * sizeof(PbfidxMask), MCXT_ALLOC_HUGE);
	so->range_masks = palloc_extended(widest * sizeof(PbfidxMask), MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(old);
}

/* ---- probing ---- */

static inline bool
is_empty_mask(const PbfidxMask *mask)
{
	uint64 any = 0;

	for (int w = 0; w < (int) PBFIDX_MASK_WORDS; w++)
		any |= mask->words[w];
	return any == 0;
}

/* Looks at n pages. All pins are gone on return. */
static void
run_probes(IndexScanDesc scan, Probe *probes, int n, int parts)
{
	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < n && n > 1 && effective_io_concurrency > 0; i++)
		PrefetchBuffer(scan->indexRelation, MAIN_FORKNUM, probes[i].extent.start + probes[i].place.block);
	for (int i = 0; i < n; i++)
	{
		probes[i].buffer = ReadBuffer(scan->indexRelation, probes[i].extent.start + probes[i].place.block);
		pbfidx_prefetch_page(BufferGetPage(probes[i].buffer));
		pbfidx_prefetch(pbfidx_matrix(BufferGetPage(probes[i].buffer)), &probes[i].place, parts);
	}
	for (int i = 0; i < n; i++)
	{
		Page page = BufferGetPage(probes[i].buffer);
		PbfidxMask mask;

		LockBuffer(probes[i].buffer, BUFFER_LOCK_SHARE);
		pbf_test_for_old_snapshot(scan->xs_snapshot, scan->indexRelation, page);
		if (pbfidx_is_slab_page(page, probes[i].id, probes[i].extent, probes[i].place.block))
		{
			pbfidx_probe(pbfidx_matrix(page), &probes[i].place, parts, &mask);
			pbfidx_mask_or(probes[i].mask, &mask);
		}
		else
			*probes[i].valid = false;
		UnlockReleaseBuffer(probes[i].buffer);
	}
}

/* A queue of probes, run when it is full. */
typedef struct Queue
{
	IndexScanDesc scan;
	Probe probes[BATCH];
	int n;
	int room;
	int parts;   /* of the matrices of the group */
	bool *valid; /* of what is enqueued at the moment */
} Queue;

static void
init_queue(Queue *q, IndexScanDesc scan, int group)
{
	Relation index = scan->indexRelation;

	q->scan = scan;
	q->n = 0;
	q->room = RELATION_IS_LOCAL(index) ? LOCAL_BATCH : BATCH;
	q->parts = (int) pbfidx_cache(index)->group[group].parts;
}

static void
flush_queue(Queue *q)
{
	if (q->n > 0)
		run_probes(q->scan, q->probes, q->n, q->parts);
	q->n = 0;
}

static void
enqueue(Queue *q, PbfidxSlabId id, PbfidxExtent extent, uint64 key, PbfidxMask *mask)
{
	Probe *p = &q->probes[q->n++];

	p->id = id;
	p->extent = extent;
	p->mask = mask;
	p->valid = q->valid;
	pbfidx_locate(key, id.level, extent.blocks, q->parts, &p->place);
	if (q->n == q->room)
		flush_queue(q);
}

/* ---- regions ---- */

/* Leaves out slabs that do not exist: they have no rows. */
static void
keep_existing(const PbfidxRegion *region, PbfidxMask *slabs)
{
	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		if (region->leaf[s].now.start == 0)
			pbfidx_mask_clear(slabs, s);
	}
}

/* Conditions first..end - 1 are of one group. */
typedef struct GroupConditions
{
	int group;
	int first;
	int end;
} GroupConditions;

/* Columns out of which a condition rules those that no key or no query speaks for. masks: of its keys. */
static void
apply_condition(PbfidxScan *so, const Condition *c, const PbfidxMask *masks, PbfidxMask *columns)
{
	PbfidxMask any = {{0}};
	MemoryContext old;

	if (c->nqueries == 0)
	{
		for (int i = 0; i < c->n; i++)
			pbfidx_mask_or(&any, &masks[i]);
		pbfidx_mask_and(columns, &any);
		return;
	}
	old = MemoryContextSwitchTo(so->temp);
	for (int i = 0; i < c->nqueries; i++)
	{
		PbfidxMask left = *columns;

		pbfidx_filter_columns(c->queries[i], masks, &left);
		pbfidx_mask_or(&any, &left);
		masks += c->queries[i]->n + 1;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(so->temp);
	pbfidx_mask_and(columns, &any);
}

/* Has the keys of the group looked for in the region's upper; their masks will be in so->key_masks. */
static void
enqueue_upper(PbfidxScan *so, Queue *q, uint32 region, PbfidxExtent upper, GroupConditions g)
{
	PbfidxSlabId id = {PBFIDX_UPPER, region};

	for (int c = g.first; c < g.end; c++)
	{
		for (int key = so->conditions[c].first; key < so->conditions[c].first + so->conditions[c].n; key++)
		{
			if (upper.start == 0)
				pbfidx_mask_fill(&so->key_masks[key]);
			else
			{
				memset(&so->key_masks[key], 0, sizeof(PbfidxMask));
				if (so->probed[key])
					enqueue(q, id, upper, so->keys[key], &so->key_masks[key]);
			}
		}
	}
}

/* Rules out leaf slabs by what the upper said, if there is one. */
static void
apply_upper(PbfidxScan *so, PbfidxExtent upper, GroupConditions g)
{
	for (int c = g.first; c < g.end && upper.start != 0; c++)
		apply_condition(so, &so->conditions[c], &so->key_masks[so->conditions[c].first], &so->slabs);
}

static void
drop_empty_slab(PbfidxMask *slabs, const PbfidxMask *ranges, int s)
{
	if (is_empty_mask(&ranges[s]))
		pbfidx_mask_clear(slabs, s);
}

/* Probes the keys of a condition in one leaf slab, as far as the upper left them; the results are OR-ed into
 * masks, `step` of them apart. */
static void
probe_condition(PbfidxScan *so, Queue *q, const Condition *c, PbfidxSlabId id, PbfidxMask *masks, int step)
{
	int s = (int) (id.slab % PBFIDX_COLUMNS);

	for (int i = 0; i < c->n; i++)
	{
		int key = c->first + i;

		if (so->probed[key] && pbfidx_mask_test(&so->key_masks[key], s))
			enqueue(q, id, so->region->leaf[s].now, so->keys[key], &masks[i * step]);
	}
}

/* A condition without queries: the probes of all slabs together. */
static void
apply_any_to_leaves(PbfidxScan *so, Queue *q, uint32 region, const Condition *c, PbfidxMask *slabs,
                    PbfidxMask *ranges)
{
	PbfidxMask *any = so->any;

	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(&any[s], 0, sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, &any[s], 0);
	}
	flush_queue(q);
	for (int s = -1; *q->valid && (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		pbfidx_mask_and(&ranges[s], &any[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* A condition with queries: slab by slab, with a mask for each key. */
static void
apply_queries_to_leaves(PbfidxScan *so, Queue *q, uint32 region, const Condition *c, PbfidxMask *slabs,
                        PbfidxMask *ranges)
{
	for (int s = -1; (s = pbfidx_mask_next(slabs, s + 1)) >= 0;)
	{
		memset(so->range_masks, 0, c->n * sizeof(PbfidxMask));
		probe_condition(so, q, c, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + s}, so->range_masks,
		                1);
		flush_queue(q);
		if (!*q->valid)
			return;
		apply_condition(so, c, so->range_masks, &ranges[s]);
		drop_empty_slab(slabs, ranges, s);
	}
}

/* Of the leaf slabs in so->slabs, ranges that may hold a row; slabs without any leave the mask. */
static void
probe_leaves(PbfidxScan *so, Queue *q, uint32 region, GroupConditions g)
{
	keep_existing(so->region, &so->slabs);
	for (int c = g.first; c < g.end && *q->valid && !is_empty_mask(&so->slabs); c++)
	{
		const Condition *condition = &so->conditions[c];

		if (condition->nqueries == 0)
			apply_any_to_leaves(so, q, region, condition, &so->slabs, so->ranges);
		else
			apply_queries_to_leaves(so, q, region, condition, &so->slabs, so->ranges);
	}
}

/* Adds the pages of a range; returns how many. */
static int64
add_range(TIDBitmap *tbm, uint64 range, uint32 pages_per_range, BlockNumber heap_blocks)
{
	uint64 first = range * pages_per_range;
	uint64 end = Min(first + pages_per_range, heap_blocks);

	for (uint64 block = first; block < end; block++)
		tbm_add_page(tbm, (BlockNumber) block);
	return end > first ? (int64) (end - first) : 0;
}

/*
 * What one group leaves of the slabs and ranges of a region; retried until the record and the pages agree.
 * What a failed attempt ruled out stays ruled out: a condition is applied only if all its pages were valid.
 */
static void
probe_group(PbfidxScan *so, IndexScanDesc scan, uint32 region, GroupConditions g)
{
	Relation index = scan->indexRelation;
	PbfidxRegion *seen = NULL;
	bool valid;
	Queue q;

	init_queue(&q, scan, g.group);
	q.valid = &valid;
	for (;;)
	{
		pbfidx_read_region(index, region, so->region);
		if (seen != NULL && memcmp(seen, so->region, sizeof(PbfidxRegion)) == 0)
			pbfidx_corrupted(index, "A page is not what the directory says");
		valid = true;
		enqueue_upper(so, &q, region, so->region->upper.now, g);
		flush_queue(&q);
		if (valid)
			apply_upper(so, so->region->upper.now, g);
		if (valid)
			probe_leaves(so, &q, region, g);
		if (valid)
			break;
		if (seen == NULL)
			seen = palloc(sizeof(PbfidxRegion));
		*seen = *so->region;
	}
	if (seen != NULL)
		pfree(seen);
}

/* The conditions of the group that begin with number `first`. */
static GroupConditions
group_conditions(const PbfidxScan *so, int first)
{
	GroupConditions g = {so->conditions[first].group, first, first};

	while (g.end < so->nconditions && so->conditions[g.end].group == g.group)
		g.end++;
	return g;
}

/* What the first group leaves of a region in the window, whose upper has been asked; false: could not be
 * read. */
static bool
probe_first_group(PbfidxScan *so, IndexScanDesc scan, uint32 region, GroupConditions g)
{
	bool valid = true;
	Queue q;

	init_queue(&q, scan, g.group);
	q.valid = &valid;
	pbfidx_read_region(scan->indexRelation, region, so->region);
	probe_leaves(so, &q, region, g);
	return valid;
}

/* The ranges of a region of the heap; so->slabs: what the upper of the first group left, if it was valid. */
static void
finish_region(PbfidxScan *so, IndexScanDesc scan, uint32 number, GroupConditions g, bool valid)
{
	uint32 groups = pbfidx_cache(scan->indexRelation)->groups;
	uint32 region = number * groups + (uint32) g.group;

	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
		pbfidx_mask_fill(&so->ranges[s]);
	if (!valid || !probe_first_group(so, scan, region, g))
		probe_group(so, scan, region, g);
	while (g.end < so->nconditions && !is_empty_mask(&so->slabs))
	{
		g = group_conditions(so, g.end);
		probe_group(so, scan, number * groups + (uint32) g.group, g);
	}
}

static BlockNumber
heap_length(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, NoLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(heap);

	table_close(heap, NoLock);
	return blocks;
}

/* Adds what is left of a region. */
static int64
add_ranges(PbfidxScan *so, TIDBitmap *tbm, uint32 region, uint32 pages_per_range, BlockNumber heap_blocks)
{
	int64 pages = 0;

	for (int s = -1; (s = pbfidx_mask_next(&so->slabs, s + 1)) >= 0;)
	{
		uint64 first = ((uint64) region * PBFIDX_COLUMNS + s) * PBFIDX_COLUMNS;

		for (int r = -1; (r = pbfidx_mask_next(&so->ranges[s], r + 1)) >= 0;)
			pages += add_range(tbm, first + r, pages_per_range, heap_blocks);
	}
	return pages;
}

/* The masks of region i of the window. */
static void
use_masks(PbfidxScan *so, uint32 i)
{
	so->key_masks = so->window_masks + (Size) i * so->nkeys;
}

/* Looks for the keys of a group in the uppers of n regions; valid: whether each could be read. */
static void
probe_uppers(PbfidxScan *so, IndexScanDesc scan, uint32 first, uint32 n, GroupConditions g, bool *valid)
{
	uint32 groups = pbfidx_cache(scan->indexRelation)->groups;
	Queue q;

	init_queue(&q, scan, g.group);
	pbfidx_read_uppers(scan->indexRelation, first * groups + (uint32) g.group, groups, n, so->uppers);
	for (uint32 i = 0; i < n; i++)
	{
		valid[i] = true;
		q.valid = &valid[i];
		use_masks(so, i);
		enqueue_upper(so, &q, (first + i) * groups + (uint32) g.group, so->uppers[i].now, g);
	}
	flush_queue(&q);
}

/* n regions of the heap. */
static int64
scan_window(PbfidxScan *so, IndexScanDesc scan, TIDBitmap *tbm, uint32 first, uint32 n,
            BlockNumber heap_blocks)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	GroupConditions g = group_conditions(so, 0);
	bool valid[WINDOW];
	int64 pages = 0;

	probe_uppers(so, scan, first, n, g, valid);
	for (uint32 i = 0; i < n; i++)
	{
		use_masks(so, i);
		pbfidx_mask_fill(&so->slabs);
		if (valid[i])
			apply_upper(so, so->uppers[i].now, g);
		if (is_empty_mask(&so->slabs))
			continue;
		finish_region(so, scan, first + i, g, valid[i]);
		pages += add_ranges(so, tbm, first + i, pages_per_range, heap_blocks);
	}
	return pages;
}

static int64
scan_regions(PbfidxScan *so, IndexScanDesc scan, TIDBitmap *tbm)
{
	uint32 pages_per_range = pbfidx_cache(scan->indexRelation)->pages_per_range;
	BlockNumber heap_blocks = heap_length(scan->indexRelation);
	uint64 per_region = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pages_per_range;
	uint32 regions = (uint32) ((heap_blocks + per_region - 1) / per_region);
	int64 pages = 0;

	for (uint32 first = 0; first < regions; first += so->window)
		pages += scan_window(so, scan, tbm, first, Min(so->window, regions - first), heap_blocks);
	return pages;
}

int64
pbfidx_getbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	PbfidxScan *so = scan->opaque;
	int64 pages = 0;

	pgstat_count_index_scan(scan->indexRelation);
	pbf_count_index_search(scan);
	prepare(so, scan);
	if (so->impossible)
		return 0;
	if (so->all_ranges)
	{
		BlockNumber blocks = heap_length(scan->indexRelation);

		pages = add_range(tbm, 0, blocks, blocks);
	}
	else
		pages = scan_regions(so, scan, tbm);
	return pages * 10; /* rows are not known; as BRIN reports it */
}

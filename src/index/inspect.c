/*
 * inspect.c: the SQL functions over an index: statistics, check, maintenance, estimate.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "core/theory.h"
#include "index/build.h"
#include "index/check.h"
#include "index/fill.h"
#include "index/options.h"
#include "index/rebuild.h"
#include "index/slab.h"

PG_FUNCTION_INFO_V1(pbfidx_stats);
PG_FUNCTION_INFO_V1(pbfidx_slabs);
PG_FUNCTION_INFO_V1(pbfidx_check);
PG_FUNCTION_INFO_V1(pbfidx_resummarize);
PG_FUNCTION_INFO_V1(pbfidx_estimate);

/* ---- opening ---- */

static void
require_pbfidx(Relation index)
{
	if (index->rd_rel->relkind != RELKIND_INDEX || index->rd_rel->relam != get_index_am_oid("pbfidx", false))
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is not a pbfidx index", RelationGetRelationName(index)),
		        errhint("For a partitioned index name the index of a partition."));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("cannot access temporary indexes of other sessions"));
}

/* An index that a failed CREATE INDEX CONCURRENTLY left behind may have no pages at all. */
static void
require_valid(Relation index)
{
	if (!index->rd_index->indisvalid)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		        errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
		        errhint("It is being built, or a failed CREATE INDEX CONCURRENTLY left it behind: REINDEX or "
		                "drop it."));
}

static Relation
open_index(Oid oid)
{
	Relation index = try_relation_open(oid, AccessShareLock);

	if (index == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index with OID %u does not exist", oid));
	require_pbfidx(index);
	return index;
}

/* For reading: the owner, or who may scan tables for statistics. */
static Relation
open_for_reading(Oid oid)
{
	Relation index = open_index(oid);

	if (!pbf_owns_relation(oid) && !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	require_valid(index);
	return index;
}

/* ---- statistics ---- */

typedef struct SlabStats
{
	double fill;
	double fpr;
	double keys; /* a column */
	int columns; /* that have bits */
} SlabStats;

/* From one page of the slab, which is like the others. false: recycled in between. */
static bool
slab_stats(Relation index, PbfidxSlabId id, const PbfidxEntry *entry, SlabStats *s)
{
	Buffer buffer = pbfidx_lock_slab_page(index, id, entry->now, 0, BUFFER_LOCK_SHARE, NULL);
	const uint8 *matrix;

	if (!BufferIsValid(buffer))
		return false;
	matrix = pbfidx_matrix(BufferGetPage(buffer));
	s->fill = pbfidx_page_fill(matrix, &s->columns);
	s->fpr = pbfidx_page_fpr(matrix, PBFIDX_SCALAR_PARTS);
	s->keys = pbfidx_page_keys(matrix, PBFIDX_SCALAR_PARTS, entry->now.blocks);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* Calls `visit` for every slab; the regions are as many as the heap needs. */
typedef void (*SlabVisitor)(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry,
                            const PbfidxRegion *region);

static void
visit_slabs(Relation index, BlockNumber heap_blocks, SlabVisitor visit, void *arg)
{
	uint64 region_pages = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pbfidx_cache(index)->pages_per_range;
	PbfidxRegion *record = palloc(sizeof(PbfidxRegion));

	for (uint32 region = 0; region * region_pages < heap_blocks; region++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!pbfidx_read_region(index, region, record))
			continue;
		if (record->upper.now.start != 0)
			visit(arg, index, (PbfidxSlabId){PBFIDX_UPPER, region}, &record->upper, record);
		for (int i = 0; i < PBFIDX_COLUMNS; i++)
		{
			if (record->leaf[i].now.start != 0)
				visit(arg, index, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + i}, &record->leaf[i],
				      record);
		}
	}
	pfree(record);
}

static BlockNumber
heap_length(Relation index)
{
	Relation heap = table_open(index->rd_index->indrelid, AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(heap);

	table_close(heap, AccessShareLock);
	return blocks;
}

typedef struct IndexStats
{
	int64 slabs[2]; /* by level */
	int64 overfull;
	double fill[2];
	double keys;
	double fpr_sum;   /* over ranges */
	double ranges;    /* that have bits */
	double upper_fpr; /* of the region being visited; 1 if it has none */
	uint32 upper_region;
} IndexStats;

static void
add_slab(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry, const PbfidxRegion *region)
{
	IndexStats *stats = arg;
	SlabStats s;

	(void) region;
	if (!slab_stats(index, id, entry, &s))
		return;
	stats->slabs[id.level]++;
	stats->fill[id.level] += s.fill;
	stats->overfull += pbfidx_is_overfull(index, id, entry);
	if (id.level == PBFIDX_UPPER)
	{
		stats->upper_fpr = s.fpr;
		stats->upper_region = id.slab;
		return;
	}
	if (stats->upper_region != id.slab / PBFIDX_COLUMNS)
		stats->upper_fpr = 1;
	stats->keys += s.keys * s.columns;
	stats->fpr_sum += s.fpr * stats->upper_fpr * s.columns;
	stats->ranges += s.columns;
}

#define STATS_COLUMNS 13

Datum
pbfidx_stats(PG_FUNCTION_ARGS)
{
	Relation index = open_for_reading(PG_GETARG_OID(0));
	BlockNumber heap_blocks = heap_length(index), index_blocks = RelationGetNumberOfBlocks(index);
	uint32 pages_per_range = pbfidx_cache(index)->pages_per_range;
	IndexStats s = {.upper_fpr = 1, .upper_region = PG_UINT32_MAX};
	TupleDesc desc;
	Datum values[STATS_COLUMNS];
	bool nulls[STATS_COLUMNS] = {false};
	double fpr;
	int i = 0;

	visit_slabs(index, heap_blocks, add_slab, &s);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != STATS_COLUMNS)
		elog(ERROR, "return type must be a row of %d columns", STATS_COLUMNS);
	fpr = s.ranges > 0 ? s.fpr_sum / s.ranges : 0;
	values[i++] = Int64GetDatum(heap_blocks);
	values[i++] = Int32GetDatum(pages_per_range);
	values[i++] = Int64GetDatum(((int64) heap_blocks + pages_per_range - 1) / pages_per_range);
	values[i++] = Int64GetDatum(s.slabs[PBFIDX_LEAF]);
	values[i++] = Int64GetDatum(s.slabs[PBFIDX_UPPER]);
	values[i++] = Int64GetDatum(index_blocks);
	values[i++] = Float8GetDatum(s.keys);
	nulls[i] = s.keys <= 0;
	values[i++] = Float8GetDatum(s.keys > 0 ? (double) index_blocks * BLCKSZ * 8 / s.keys : 0);
	values[i++] = Float8GetDatum(s.slabs[PBFIDX_LEAF] > 0 ? s.fill[PBFIDX_LEAF] / s.slabs[PBFIDX_LEAF] : 0);
	nulls[i] = s.slabs[PBFIDX_UPPER] == 0;
	values[i++] =
	    Float8GetDatum(s.slabs[PBFIDX_UPPER] > 0 ? s.fill[PBFIDX_UPPER] / s.slabs[PBFIDX_UPPER] : 0);
	values[i++] = Int64GetDatum(s.overfull);
	values[i++] = Float8GetDatum(fpr);
	values[i++] = Float8GetDatum(fpr * s.ranges * pages_per_range);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

#define SLABS_COLUMNS 7

static void
put_slab(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry, const PbfidxRegion *region)
{
	ReturnSetInfo *rsinfo = arg;
	Datum values[SLABS_COLUMNS];
	bool nulls[SLABS_COLUMNS] = {false};
	SlabStats s;
	int i = 0;

	(void) region;
	if (!slab_stats(index, id, entry, &s))
		return;
	values[i++] = Int32GetDatum(id.level);
	values[i++] = Int64GetDatum(id.slab);
	values[i++] = Int64GetDatum(entry->now.start);
	values[i++] = Int32GetDatum(entry->now.blocks);
	values[i++] = Int32GetDatum(s.columns);
	values[i++] = Float8GetDatum(s.fill);
	values[i++] = Float8GetDatum(s.fpr);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
pbfidx_slabs(PG_FUNCTION_ARGS)
{
	Relation index = open_for_reading(PG_GETARG_OID(0));

	InitMaterializedSRF(fcinfo, 0);
	visit_slabs(index, heap_length(index), put_slab, fcinfo->resultinfo);
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}

/* ---- the owner's rights ---- */

/*
 * Expressions and predicates are the table owner's code: they run as the owner, in a security-restricted
 * operation and with a safe search_path.
 */
typedef struct OwnersRights
{
	Oid user;
	int context;
	int nest;
} OwnersRights;

static OwnersRights
become_owner(Relation heap)
{
	OwnersRights saved;

	GetUserIdAndSecContext(&saved.user, &saved.context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, saved.context | SECURITY_RESTRICTED_OPERATION);
	saved.nest = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
	                         GUC_ACTION_SAVE, true, 0, false);
	return saved;
}

static void
become_oneself(OwnersRights saved)
{
	AtEOXact_GUC(false, saved.nest);
	SetUserIdAndSecContext(saved.user, saved.context);
}

/* As the table's owner, with a safe search_path, in a security-restricted operation: expressions are the
 * owner's code. */
/* ---- check ---- */

Datum
pbfidx_check(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	bool heapallindexed = PG_GETARG_BOOL(1);
	Oid heap_oid = IndexGetRelation(oid, true);
	Relation heap = OidIsValid(heap_oid) ? table_open(heap_oid, AccessShareLock) : NULL;
	Relation index = open_for_reading(oid);

	if (heap == NULL || index->rd_index->indrelid != heap_oid)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
		        errmsg("could not open the table of index \"%s\"", RelationGetRelationName(index)));
	pbfidx_check_structure(index);
	if (heapallindexed)
	{
		OwnersRights saved = become_owner(heap);

		pbfidx_check_heap(heap, index);
		become_oneself(saved);
	}
	relation_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_VOID();
}

/* ---- maintenance ---- */

static int64
resummarize(Relation heap, Relation index, int64 first_page, int64 last_page)
{
	PbfidxRebuild *r = pbfidx_begin_rebuild(heap, index, false);
	uint64 slab_pages = (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	uint64 last = Min((uint64) last_page, (uint64) Max((int64) RelationGetNumberOfBlocks(heap) - 1, 0));
	int64 rebuilt = 0;

	for (uint64 leaf = first_page / slab_pages; leaf <= last / slab_pages; leaf++)
		rebuilt += pbfidx_rebuild_slab(r, (PbfidxSlabId){PBFIDX_LEAF, (uint32) leaf});
	for (uint64 region = first_page / slab_pages / PBFIDX_COLUMNS;
	     region <= last / slab_pages / PBFIDX_COLUMNS; region++)
	{
		PbfidxRegion *record = palloc(sizeof(PbfidxRegion));

		/* Uppers that are not there are VACUUM's to decide on. */
		if (pbfidx_read_region(index, (uint32) region, record) &&
		    (record->upper.now.start != 0 || record->upper.next.start != 0))
			rebuilt += pbfidx_rebuild_slab(r, (PbfidxSlabId){PBFIDX_UPPER, (uint32) region});
		pfree(record);
	}
	pbfidx_end_rebuild(r);
	return rebuilt;
}

static void
check_pages(int64 first_page, int64 last_page)
{
	if (first_page < 0 || first_page > MaxBlockNumber)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("first_heap_page out of range: %lld", (long long) first_page),
		        errdetail("It must be between 0 and %u.", MaxBlockNumber));
	if (last_page < first_page || last_page > MaxBlockNumber)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("last_heap_page out of range: %lld", (long long) last_page),
		        errdetail("It must be between first_heap_page (%lld) and %u.", (long long) first_page,
		                  MaxBlockNumber));
}

Datum
pbfidx_resummarize(PG_FUNCTION_ARGS)
{
	Oid oid, heap_oid;
	int64 first_page, last_page, rebuilt;
	OwnersRights saved;
	Relation heap, index;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	oid = PG_GETARG_OID(0);
	first_page = PG_GETARG_INT64(1);
	last_page = PG_ARGISNULL(2) ? MaxBlockNumber : PG_GETARG_INT64(2);
	check_pages(first_page, last_page);
	if (RecoveryInProgress())
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("recovery is in progress"),
		        errhint("Maintenance of an index cannot be executed during recovery."));
	heap_oid = IndexGetRelation(oid, true);
	heap = OidIsValid(heap_oid) ? table_open(heap_oid, ShareUpdateExclusiveLock) : NULL;
	index = open_index(oid);
	if (heap == NULL || index->rd_index->indrelid != heap_oid)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
		        errmsg("could not open the table of index \"%s\"", RelationGetRelationName(index)));
	if (!pbf_owns_relation(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	require_valid(index);
	saved = become_owner(heap);
	rebuilt = resummarize(heap, index, first_page, last_page);
	become_oneself(saved);
	relation_close(index, AccessShareLock);
	table_close(heap, ShareUpdateExclusiveLock);
	PG_RETURN_INT64(rebuilt);
}

/* ---- estimate ---- */

#define SAMPLE_PAGES 240 /* consecutive ones, two slabs: they also show how alike neighbours are */
#define MIN_RANGE_KEYS 32

/* Attribute numbers and hashers of the named columns. */
static PbfidxHasher *
column_hashers(Relation heap, ArrayType *names, IndexInfo *info)
{
	Datum *values;
	bool *nulls;
	int n;
	PbfidxHasher *hashers;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	if (n < 1 || n > INDEX_MAX_KEYS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("number of columns out of range: %d", n),
		        errdetail("It must be between 1 and %d.", INDEX_MAX_KEYS));
	hashers = palloc0(n * sizeof(PbfidxHasher));
	info->ii_NumIndexAttrs = info->ii_NumIndexKeyAttrs = n;
	for (int i = 0; i < n; i++)
	{
		char *name = nulls[i] ? "NULL" : TextDatumGetCString(values[i]);
		AttrNumber attribute = nulls[i] ? InvalidAttrNumber : get_attnum(RelationGetRelid(heap), name);
		Form_pg_attribute att;

		if (attribute <= 0)
			ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
			        errmsg("column \"%s\" of relation \"%s\" does not exist", name,
			               RelationGetRelationName(heap)));
		att = TupleDescAttr(RelationGetDescr(heap), attribute - 1);
		info->ii_IndexAttrNumbers[i] = attribute;
		hashers[i].column = i;
		pbfidx_refuse_composite(att->atttypid);
		pbf_hasher_init(&hashers[i].value, att->atttypid, att->attcollation, PBF_ENUM_BY_OID,
		                CurrentMemoryContext);
	}
	return hashers;
}

/* Distinct keys of a page to size for, and of a run of consecutive pages per page of it. */
static void
sample_keys(PbfidxHeapScan *scan, BlockNumber heap_blocks, double *page_keys, double *run_keys)
{
	PbfidxKeySet *page = pbfidx_new_keyset(), *run = pbfidx_new_keyset();
	BlockNumber first = heap_blocks / 3;
	BlockNumber length = Min(heap_blocks - first, SAMPLE_PAGES);
	PbfidxMean m = {0, 0};

	for (BlockNumber block = first; block < first + length; block++)
	{
		CHECK_FOR_INTERRUPTS();
		pbfidx_clear_keyset(page);
		pbfidx_scan_block(scan, block);
		for (int i = 0; i < scan->n; i++)
		{
			if (pbfidx_add_key(page, scan->keys[i]))
				pbfidx_add_key(run, scan->keys[i]);
		}
		pbfidx_add_to_mean(&m, page->n);
	}
	*page_keys = pbfidx_mean(&m);
	*run_keys = m.n > 0 ? (double) run->n / m.n : 0;
	pbfidx_free_keyset(page);
	pbfidx_free_keyset(run);
}

#define ESTIMATE_COLUMNS 3

Datum
pbfidx_estimate(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	double fpr = PG_GETARG_FLOAT8(2), page_keys, run_keys, pages_per_range, rate, pages;
	Relation heap;
	BlockNumber heap_blocks;
	IndexInfo *info = makeNode(IndexInfo);
	PbfidxHasher *hashers;
	PbfidxHeapScan *scan;
	TupleDesc desc;
	Datum values[ESTIMATE_COLUMNS];
	bool nulls[ESTIMATE_COLUMNS] = {false};

	if (!(fpr >= PBFIDX_MIN_FPR && fpr <= PBFIDX_MAX_FPR))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("false_positive_rate out of range: %g", fpr),
		        errdetail("It must be between %g and %g.", PBFIDX_MIN_FPR, PBFIDX_MAX_FPR));
	heap = try_relation_open(oid, AccessShareLock);
	if (heap == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("table with OID %u does not exist", oid));
	if (heap->rd_rel->relkind != RELKIND_RELATION && heap->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is not a table or materialized view", RelationGetRelationName(heap)),
		        errhint("For a partitioned table ask for one of its partitions."));
	pbfidx_require_heap(heap);
	if (pg_class_aclcheck(oid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(heap));
	hashers = column_hashers(heap, PG_GETARG_ARRAYTYPE_P(1), info);
	heap_blocks = RelationGetNumberOfBlocks(heap);
	scan = pbfidx_begin_heapscan_for(heap, info, hashers, info->ii_NumIndexAttrs, false, PBFIDX_CHECK);
	sample_keys(scan, heap_blocks, &page_keys, &run_keys);
	pbfidx_end_heapscan(scan);
	pages_per_range = page_keys > 0 ? Max(1, ceil(MIN_RANGE_KEYS / page_keys)) : 1;
	pages = pbfidx_planned_pages(ceil(heap_blocks / pages_per_range), page_keys * pages_per_range,
	                             run_keys * pages_per_range * PBFIDX_COLUMNS, fpr, &rate);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != ESTIMATE_COLUMNS)
		elog(ERROR, "return type must be a row of %d columns", ESTIMATE_COLUMNS);
	values[0] = Int32GetDatum((int32) pages_per_range);
	values[1] = Int64GetDatum((int64) pages * BLCKSZ);
	values[2] = Float8GetDatum(rate * heap_blocks);
	table_close(heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

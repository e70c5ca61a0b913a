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
#include "parser/parse_coerce.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rls.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "core/theory.h"
#include "index/build.h"
#include "index/check.h"
#include "index/fill.h"
#include "index/options.h"
#include "index/rebuild.h"
#include "index/rights.h"
#include "index/size.h"
#include "index/slab.h"

PG_FUNCTION_INFO_V1(pbfidx_stats);
PG_FUNCTION_INFO_V1(pbfidx_slabs);
PG_FUNCTION_INFO_V1(pbfidx_check);
PG_FUNCTION_INFO_V1(pbfidx_resummarize);
PG_FUNCTION_INFO_V1(pbfidx_estimate);

/* ---- opening ---- */

static void
require_pages(Relation relation)
{
	if (RecoveryInProgress() && !RelationIsPermanent(relation))
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		        errmsg("cannot access unlogged relation \"%s\" during recovery",
		               RelationGetRelationName(relation)),
		        errhint("A standby has no pages of unlogged relations."));
}

static void
require_pbfidx(Relation index)
{
	bool ours = index->rd_rel->relam == get_index_am_oid("pbfidx", false);
	bool is_index =
	    index->rd_rel->relkind == RELKIND_INDEX || index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;

	if (ours && index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is a partitioned index", RelationGetRelationName(index)),
		        errhint("Name the index of a partition."));
	if (!ours || index->rd_rel->relkind != RELKIND_INDEX)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is not a pbfidx index", RelationGetRelationName(index)),
		        is_index ? errdetail("Its access method is %s.", get_am_name(index->rd_rel->relam))
		                 : errhint("Name the index, not its table."));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("cannot access temporary indexes of other sessions"));
	require_pages(index);
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

/* An index and its table, which is locked first, as everywhere in the server. */
typedef struct Opened
{
	Relation heap;
	Relation index;
} Opened;

static Opened
open_index(Oid oid, LOCKMODE heap_lock)
{
	Oid heap_oid = IndexGetRelation(oid, true);
	Opened o = {.heap = OidIsValid(heap_oid) ? try_table_open(heap_oid, heap_lock) : NULL,
	            .index = try_relation_open(oid, AccessShareLock)};

	if (o.index == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("index with OID %u does not exist", oid));
	require_pbfidx(o.index);
	if (o.heap == NULL || o.index->rd_index->indrelid != heap_oid)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
		        errmsg("could not open the table of index \"%s\"", RelationGetRelationName(o.index)));
	return o;
}

/* For reading: the owner, or who may scan tables for statistics. */
static Opened
open_for_reading(Oid oid)
{
	Opened o = open_index(oid, AccessShareLock);

	if (!pbf_owns_relation(oid) && !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
		        errmsg("must be owner of index %s", RelationGetRelationName(o.index)),
		        errhint("Members of the role pg_stat_scan_tables may do this with all indexes."));
	require_valid(o.index);
	return o;
}

static void
close_index(Opened o, LOCKMODE heap_lock)
{
	relation_close(o.index, AccessShareLock);
	table_close(o.heap, heap_lock);
}

/* ---- statistics ---- */

typedef struct SlabStats
{
	double fill;
	double fpr;
	double keys;   /* a column */
	int columns;   /* that have bits */
	int saturated; /* that say yes to most keys */
} SlabStats;

/*
 * From one page of the slab: not the same of each, as keys that all ranges have are on the same pages of all
 * slabs. false: recycled in between.
 */
static bool
slab_stats(Relation index, PbfidxSlabId id, const PbfidxEntry *entry, BufferAccessStrategy strategy,
           SlabStats *s)
{
	int parts = (int) pbfidx_group_of(pbfidx_cache(index), id)->parts;
	uint32 block = entry->now.blocks > 0 ? id.slab % entry->now.blocks : 0;
	Buffer buffer = pbfidx_lock_slab_page(index, id, entry->now, block, BUFFER_LOCK_SHARE, strategy);
	const uint8 *matrix;

	if (!BufferIsValid(buffer))
		return false;
	matrix = pbfidx_matrix(BufferGetPage(buffer));
	s->fill = pbfidx_page_fill(matrix, parts, &s->columns);
	s->fpr = pbfidx_page_fpr(matrix, parts, &s->saturated);
	s->keys = pbfidx_page_keys(matrix, parts, entry->now.blocks);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* Calls `visit` for every slab; the regions are as many as the heap needs. */
typedef void (*SlabVisitor)(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry,
                            BufferAccessStrategy strategy);

static void
visit_slabs(Relation index, BlockNumber heap_blocks, SlabVisitor visit, void *arg)
{
	uint64 region_pages = (uint64) PBFIDX_COLUMNS * PBFIDX_COLUMNS * pbfidx_cache(index)->pages_per_range;
	PbfidxRegion *record = palloc(sizeof(PbfidxRegion));
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	uint32 groups = pbfidx_cache(index)->groups;

	for (uint32 region = 0; region / groups * region_pages < heap_blocks; region++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!pbfidx_read_region(index, region, record))
			continue;
		if (record->upper.now.start != 0)
			visit(arg, index, (PbfidxSlabId){PBFIDX_UPPER, region}, &record->upper, strategy);
		for (int i = 0; i < PBFIDX_COLUMNS; i++)
		{
			if (record->leaf[i].now.start != 0)
				visit(arg, index, (PbfidxSlabId){PBFIDX_LEAF, region * PBFIDX_COLUMNS + i}, &record->leaf[i],
				      strategy);
		}
	}
	FreeAccessStrategy(strategy);
	pfree(record);
}

/* Of one group. */
typedef struct GroupStats
{
	int64 slabs[2]; /* by level */
	int64 pages;    /* of them */
	int64 overfull;
	int64 saturated; /* ranges */
	double fill[2];
	double keys;
	double fpr_sum;   /* over ranges */
	double ranges;    /* that have bits */
	double upper_fpr; /* of the area being visited; 1 if it has none */
	uint32 upper_slab;
} GroupStats;

static void
add_slab(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry, BufferAccessStrategy strategy)
{
	GroupStats *stats = (GroupStats *) arg + pbfidx_region_of(id) % pbfidx_cache(index)->groups;
	int column;
	SlabStats s;

	if (!slab_stats(index, id, entry, strategy, &s))
		return;
	stats->slabs[id.level]++;
	stats->pages += entry->now.blocks;
	stats->fill[id.level] += s.fill;
	stats->overfull += pbfidx_is_overfull(index, id, entry, strategy);
	if (id.level == PBFIDX_UPPER)
	{
		stats->upper_fpr = s.fpr;
		stats->upper_slab = id.slab;
		return;
	}
	if (stats->upper_slab != pbfidx_upper_over(pbfidx_cache(index), id.slab, &column).slab)
		stats->upper_fpr = 1;
	stats->keys += s.keys * s.columns;
	stats->fpr_sum += s.fpr * stats->upper_fpr * s.columns;
	stats->ranges += s.columns;
	stats->saturated += s.saturated;
}

/* The columns of a group, as text[]: names as they are today, or expressions. */
static Datum
group_columns(Relation index, uint32 group)
{
	int n = IndexRelationGetNumberOfKeyAttributes(index), found = 0;
	Datum *names = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		if ((pbfidx_cache(index)->column_group[i] & PBFIDX_GROUP_NUMBER) == group)
			names[found++] =
			    DirectFunctionCall3(pg_get_indexdef_ext, ObjectIdGetDatum(RelationGetRelid(index)),
			                        Int32GetDatum(i + 1), BoolGetDatum(true));
	}
	return PointerGetDatum(construct_array(names, found, TEXTOID, -1, false, TYPALIGN_INT));
}

#define STATS_COLUMNS 16

static void
put_stats(ReturnSetInfo *rsinfo, Relation index, BlockNumber heap_blocks, uint32 group, const GroupStats *s)
{
	uint32 pages_per_range = pbfidx_cache(index)->pages_per_range;
	double fpr = s->ranges > 0 ? s->fpr_sum / s->ranges : 0;
	int64 leaves = s->slabs[PBFIDX_LEAF], uppers = s->slabs[PBFIDX_UPPER];
	Datum values[STATS_COLUMNS];
	bool nulls[STATS_COLUMNS] = {false};
	int i = 0;

	values[i++] = Int64GetDatum(heap_blocks);
	values[i++] = Int32GetDatum(pages_per_range);
	values[i++] = Int64GetDatum(((int64) heap_blocks + pages_per_range - 1) / pages_per_range);
	values[i++] = Int64GetDatum(leaves);
	values[i++] = Int64GetDatum(uppers);
	values[i++] = Int64GetDatum(RelationGetNumberOfBlocks(index));
	values[i++] = Float8GetDatum(s->keys);
	nulls[i] = s->keys <= 0;
	values[i++] = Float8GetDatum(s->keys > 0 ? (double) s->pages * BLCKSZ * 8 / s->keys : 0);
	values[i++] = Float8GetDatum(leaves > 0 ? s->fill[PBFIDX_LEAF] / leaves : 0);
	nulls[i] = uppers == 0;
	values[i++] = Float8GetDatum(uppers > 0 ? s->fill[PBFIDX_UPPER] / uppers : 0);
	values[i++] = Int64GetDatum(s->overfull);
	values[i++] = Float8GetDatum(fpr);
	values[i++] = Float8GetDatum(fpr * Min(s->ranges * pages_per_range, heap_blocks));
	values[i++] = Int32GetDatum((int32) group);
	values[i++] = group_columns(index, group);
	values[i++] = Int64GetDatum(s->saturated);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* A row for each group of columns. */
Datum
pbfidx_stats(PG_FUNCTION_ARGS)
{
	Opened o = open_for_reading(PG_GETARG_OID(0));
	Relation index = o.index;
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(o.heap);
	GroupStats stats[PBFIDX_MAX_GROUPS];
	uint32 groups = pbfidx_cache(index)->groups;

	InitMaterializedSRF(fcinfo, 0);
	memset(stats, 0, sizeof(stats));
	for (uint32 g = 0; g < groups; g++)
	{
		stats[g].upper_fpr = 1;
		stats[g].upper_slab = PG_UINT32_MAX;
	}
	visit_slabs(index, heap_blocks, add_slab, stats);
	for (uint32 g = 0; g < groups; g++)
		put_stats((ReturnSetInfo *) fcinfo->resultinfo, index, heap_blocks, g, &stats[g]);
	close_index(o, AccessShareLock);
	return (Datum) 0;
}

#define SLABS_COLUMNS 8

static void
put_slab(void *arg, Relation index, PbfidxSlabId id, const PbfidxEntry *entry, BufferAccessStrategy strategy)
{
	ReturnSetInfo *rsinfo = arg;
	uint32 groups = pbfidx_cache(index)->groups;
	Datum values[SLABS_COLUMNS];
	bool nulls[SLABS_COLUMNS] = {false};
	SlabStats s;
	int i = 0;

	if (!slab_stats(index, id, entry, strategy, &s))
		return;
	values[i++] = Int32GetDatum(id.level);
	values[i++] = Int64GetDatum(id.level == PBFIDX_LEAF ? pbfidx_first_range(groups, id.slab) / PBFIDX_COLUMNS
	                                                    : id.slab / groups);
	values[i++] = Int64GetDatum(entry->now.start);
	values[i++] = Int32GetDatum(entry->now.blocks);
	values[i++] = Int32GetDatum(s.columns);
	values[i++] = Float8GetDatum(s.fill);
	values[i++] = Float8GetDatum(s.fpr);
	values[i++] = Int32GetDatum((int32) (pbfidx_region_of(id) % groups));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
pbfidx_slabs(PG_FUNCTION_ARGS)
{
	Opened o = open_for_reading(PG_GETARG_OID(0));

	InitMaterializedSRF(fcinfo, 0);
	visit_slabs(o.index, RelationGetNumberOfBlocks(o.heap), put_slab, fcinfo->resultinfo);
	close_index(o, AccessShareLock);
	return (Datum) 0;
}

/* ---- check ---- */

Datum
pbfidx_check(PG_FUNCTION_ARGS)
{
	bool heapallindexed = PG_GETARG_BOOL(1);
	Opened o = open_for_reading(PG_GETARG_OID(0));
	const char *why;

	pbfidx_check_structure(o.index);
	if (!pbfidx_are_hashes_trusted(o.index, &why))
		ereport(WARNING,
		        errmsg("rows are not looked for in index \"%s\", which was built %s",
		               RelationGetRelationName(o.index), why),
		        errdetail("Until it is rebuilt, it returns the whole table."), errhint("REINDEX it."));
	else if (heapallindexed)
	{
		PbfidxRights saved;

		pbfidx_become_owner(&saved, o.heap, o.index);
		pbfidx_check_heap(o.heap, o.index);
		pbfidx_become_oneself(&saved);
	}
	close_index(o, AccessShareLock);
	PG_RETURN_VOID();
}

/* ---- maintenance ---- */

/* The slabs of one group; leaf slabs first..last of the heap. */
static int64
resummarize_group(PbfidxRebuild *r, uint32 group, uint64 first_slab, uint64 last_slab)
{
	int64 rebuilt = 0;

	for (uint64 slab = first_slab; slab <= last_slab; slab++)
		rebuilt += pbfidx_rebuild_slab(
		    r, (PbfidxSlabId){PBFIDX_LEAF, pbfidx_leaf_of(r->groups, group, slab * PBFIDX_COLUMNS)});
	for (uint64 region = first_slab / PBFIDX_COLUMNS; region <= last_slab / PBFIDX_COLUMNS;)
	{
		PbfidxArea area = pbfidx_area_of(r->group[group].areas, (uint32) region);
		PbfidxSlabId id = pbfidx_upper_of(pbfidx_cache(r->index), area, group);
		PbfidxEntry upper;

		/* Uppers that are not there are VACUUM's to decide on. */
		pbfidx_read_uppers(r->index, &id, 1, &upper);
		if (upper.now.start != 0 || upper.next.start != 0)
			rebuilt += pbfidx_rebuild_slab(r, id);
		region = (uint64) area.first + area.regions;
	}
	return rebuilt;
}

static int64
resummarize(Relation heap, Relation index, int64 first_page, int64 last_page)
{
	PbfidxRebuild *r = pbfidx_begin_rebuild(heap, index, false);
	uint64 slab_pages = (uint64) PBFIDX_COLUMNS * r->pages_per_range;
	uint64 last = Min((uint64) last_page, (uint64) Max((int64) RelationGetNumberOfBlocks(heap) - 1, 0));
	int64 rebuilt = 0;

	for (uint32 group = 0; group < r->groups; group++)
		rebuilt += resummarize_group(r, group, first_page / slab_pages, last / slab_pages);
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
	Oid oid;
	int64 first_page, last_page, rebuilt;
	PbfidxRights saved;
	Opened o;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	oid = PG_GETARG_OID(0);
	first_page = PG_GETARG_INT64(1);
	last_page = PG_ARGISNULL(2) ? MaxBlockNumber : PG_GETARG_INT64(2);
	check_pages(first_page, last_page);
	if (RecoveryInProgress())
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("recovery is in progress"),
		        errhint("Maintenance of an index cannot be executed during recovery."));
	/* Before the lock: nobody else shall be able to keep autovacuum away. */
	if (OidIsValid(IndexGetRelation(oid, true)) && !pbf_owns_relation(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(oid));
	o = open_index(oid, ShareUpdateExclusiveLock);
	require_valid(o.index);
	pbfidx_become_owner(&saved, o.heap, o.index);
	rebuilt = resummarize(o.heap, o.index, first_page, last_page);
	pbfidx_become_oneself(&saved);
	close_index(o, ShareUpdateExclusiveLock);
	PG_RETURN_INT64(rebuilt);
}

/* ---- estimate ---- */

#define SAMPLE_PAGES 240 /* consecutive ones, two slabs: they also show how alike neighbours are */

/* The operator class of a column: that named, which may be NULL, else the default of its type. */
static Oid
column_class(const char *name, Oid type)
{
	Oid am = get_index_am_oid("pbfidx", false);
	Oid class =
	    name != NULL ? get_opclass_oid(am, pbf_qualified_name(name), false) : GetDefaultOpClass(type, am);

	/* (Columns of the catalog may be of type anyarray.) */
	if (!OidIsValid(class) || get_typtype(type) == TYPTYPE_PSEUDO)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
		        errmsg("data type %s has no default operator class for access method \"pbfidx\"",
		               format_type_be(type)),
		        errhint("Name one in operator_classes."));
	if (name != NULL && !IsBinaryCoercible(type, get_opclass_input_type(class)))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		        errmsg("operator class \"%s\" does not accept data type %s", name, format_type_be(type)));
	return class;
}

static AttrNumber
column_number(Relation heap, const char *name)
{
	AttrNumber attribute = name != NULL ? get_attnum(RelationGetRelid(heap), name) : InvalidAttrNumber;

	if (attribute <= 0)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
		        errmsg("column \"%s\" of relation \"%s\" does not exist", name != NULL ? name : "NULL",
		               RelationGetRelationName(heap)));
	return attribute;
}

/* The elements of a text[], NULL for NULLs. */
static char **
text_elements(ArrayType *array, int *n)
{
	Datum *values;
	bool *nulls;
	char **strings;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, n);
	strings = palloc0(Max(*n, 1) * sizeof(char *));
	for (int i = 0; i < *n; i++)
		strings[i] = nulls[i] ? NULL : TextDatumGetCString(values[i]);
	return strings;
}

/* What an estimate is asked for. */
typedef struct Planned
{
	Relation heap;
	IndexInfo *info; /* attribute numbers */
	PbfidxHasher *hashers;
	PbfidxGroup group[PBFIDX_MAX_GROUPS];
	int columns;
	int groups;
} Planned;

static void
plan_columns(Planned *p, ArrayType *names, ArrayType *classes, double fpr)
{
	int nclasses;
	char **columns = text_elements(names, &p->columns);
	char **class_names = text_elements(classes, &nclasses);

	if (p->columns < 1 || p->columns > INDEX_MAX_KEYS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("number of columns out of range: %d", p->columns),
		        errdetail("It must be between 1 and %d.", INDEX_MAX_KEYS));
	if (nclasses > p->columns)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("more operator classes than columns: %d", nclasses),
		        errdetail("The number of columns is %d.", p->columns));
	p->info = makeNode(IndexInfo);
	p->info->ii_NumIndexAttrs = p->info->ii_NumIndexKeyAttrs = p->columns;
	p->hashers = palloc0(p->columns * sizeof(PbfidxHasher));
	for (int i = 0; i < p->columns; i++)
	{
		AttrNumber attribute = column_number(p->heap, columns[i]);
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(p->heap), attribute - 1);
		Oid class = column_class(i < nclasses ? class_names[i] : NULL, att->atttypid);

		if (att->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			        errmsg("indexes on virtual generated columns are not supported"),
			        errdetail("Column \"%s\" is one.", columns[i]));
		p->info->ii_IndexAttrNumbers[i] = attribute;
		pbfidx_init_class_hasher(&p->hashers[i], class, i, att->atttypid, att->attcollation,
		                         CurrentMemoryContext);
	}
	p->groups = pbfidx_assign_groups(p->hashers, p->columns);
	for (int i = 0; i < p->columns; i++)
		p->group[p->hashers[i].group] = p->hashers[i].multikey
		                                    ? pbfidx_multikey_group(p->hashers[i].default_bits)
		                                    : pbfidx_scalar_group(fpr);
}

/* Distinct keys of a page to size for, and of a run of consecutive pages per page of it. */
typedef struct Sample
{
	double page_keys;
	double run_keys;
} Sample;

static Sample
sample_keys(PbfidxHeapScan *scan, BlockNumber heap_blocks, const PbfidxGroup *g)
{
	PbfidxKeySet *page = pbfidx_new_keyset(), *run = pbfidx_new_keyset();
	BlockNumber first = heap_blocks / 3;
	BlockNumber length = Min(heap_blocks - first, SAMPLE_PAGES);
	PbfidxMean m = pbfidx_no_mean(g);
	Sample sample;

	for (BlockNumber block = first; block < first + length; block++)
	{
		CHECK_FOR_INTERRUPTS();
		pbfidx_clear_keyset(page);
		pbfidx_scan_block(scan, block, pbfidx_take_into_set, page);
		for (uint32 i = 0; i < page->n; i++)
			pbfidx_add_key(run, page->keys[i]);
		pbfidx_add_to_mean(&m, page->n);
	}
	sample = (Sample){pbfidx_mean(&m), m.n > 0 ? (double) run->n / m.n : 0};
	pbfidx_free_keyset(page);
	pbfidx_free_keyset(run);
	return sample;
}

/* Size, and pages read in vain by a look-up in one column, the one with the highest rate. */
typedef struct Prediction
{
	double pages_per_range;
	double bytes;
	double false_pages;
} Prediction;

static Prediction
predict(Planned *p)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(p->heap);
	PbfidxHeapScan *scan =
	    pbfidx_begin_heapscan_for(p->heap, p->info, p->hashers, p->columns, false, PBFIDX_CHECK);
	Sample samples[PBFIDX_MAX_GROUPS];
	double most = 0, pages = 1, worst = 0;
	Prediction result;

	for (scan->group = 0; scan->group < p->groups; scan->group++)
	{
		samples[scan->group] = sample_keys(scan, heap_blocks, &p->group[scan->group]);
		most = Max(most, samples[scan->group].page_keys);
	}
	pbfidx_end_heapscan(scan);
	result.pages_per_range = pbfidx_pages_per_range_for(most);
	for (int g = 0; g < p->groups; g++)
	{
		double keys = samples[g].page_keys * result.pages_per_range, rate;

		p->group[g].areas = pbfidx_widths_for(&p->group[g], keys, heap_blocks / result.pages_per_range);
		pages +=
		    ceil(pbfidx_planned_pages(&p->group[g], ceil(heap_blocks / result.pages_per_range), keys,
		                              samples[g].run_keys * result.pages_per_range * PBFIDX_COLUMNS, &rate));
		worst = Max(worst, rate);
	}
	result.bytes = pages * BLCKSZ;
	result.false_pages = worst * heap_blocks;
	return result;
}

#define ESTIMATE_COLUMNS 3

Datum
pbfidx_estimate(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	double fpr = PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2);
	Planned p = {0};
	Prediction prediction;
	TupleDesc desc;
	Datum values[ESTIMATE_COLUMNS];
	bool nulls[ESTIMATE_COLUMNS] = {false};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(2) && !(fpr >= PBFIDX_MIN_FPR && fpr <= PBFIDX_MAX_FPR))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("false_positive_rate out of range: %g", fpr),
		        errdetail("It must be between %g and %g.", PBFIDX_MIN_FPR, PBFIDX_MAX_FPR));
	p.heap = try_relation_open(oid, AccessShareLock);
	if (p.heap == NULL)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE), errmsg("table with OID %u does not exist", oid));
	if (p.heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is a partitioned table", RelationGetRelationName(p.heap)),
		        errhint("Ask for one of its partitions."));
	if (p.heap->rd_rel->relkind != RELKIND_RELATION && p.heap->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		        errmsg("\"%s\" is not a table or materialized view", RelationGetRelationName(p.heap)));
	pbfidx_require_heap(p.heap);
	require_pages(p.heap);
	if (pg_class_aclcheck(oid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(p.heap));
	/* How many values there are says something of rows that the user may not see: pg_stats has nothing
	 * either. */
	if (check_enable_rls(oid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
		        errmsg("permission denied for table %s", RelationGetRelationName(p.heap)),
		        errdetail("Row-level security hides rows from you."),
		        errhint("Its owner may do this, and roles with BYPASSRLS."));
	if (PG_ARGISNULL(2))
		fpr = pbfidx_choose_fpr(RelationGetNumberOfBlocks(p.heap));
	plan_columns(&p, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(3), fpr);
	prediction = predict(&p);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != ESTIMATE_COLUMNS)
		elog(ERROR, "return type must be a row of %d columns", ESTIMATE_COLUMNS);
	values[0] = Int32GetDatum((int32) prediction.pages_per_range);
	values[1] = Int64GetDatum((int64) prediction.bytes);
	values[2] = Float8GetDatum(prediction.false_pages);
	table_close(p.heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

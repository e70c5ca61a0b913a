/*
 * compat.h: differences between the versions of the server that pbf builds with, and nowhere else.
 */
#ifndef PBF_COMPAT_H
#define PBF_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"

#if PG_VERSION_NUM < 150000
#error "pbf needs PostgreSQL 15 or newer"
#endif

/* Soft errors in input functions came with 16; before that an error is an error. */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#else
#define ereturn(context, dummy, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* Generated columns that are not stored came with 18. */
#ifndef ATTRIBUTE_GENERATED_VIRTUAL
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

/* varatt.h was split off postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif

/* Old snapshots: gone in 17. */
#if PG_VERSION_NUM < 170000
#define pbf_test_for_old_snapshot(snapshot, relation, page) TestForOldSnapshot(snapshot, relation, page)
#else
#define pbf_test_for_old_snapshot(snapshot, relation, page) ((void) 0)
#endif

/* What names the file of a relation. */
#if PG_VERSION_NUM >= 160000
#define pbf_relation_locator(relation) ((relation)->rd_locator)
#else
#define pbf_relation_locator(relation) ((relation)->rd_node)
#endif

/* EXPLAIN ANALYZE counts searches from 18 on. */
#if PG_VERSION_NUM >= 180000
#define pbf_count_index_search(scan)         \
	do                                       \
	{                                        \
		if ((scan)->instrument)              \
			(scan)->instrument->nsearches++; \
	} while (0)
#define pbf_vacuum_delay_point() vacuum_delay_point(false)
#else
#define pbf_count_index_search(scan) ((void) 0)
#define pbf_vacuum_delay_point() vacuum_delay_point()
#endif

/* Walkers: up to 15 declared without their arguments, which to a compiler of C23 is another type. */
#if PG_VERSION_NUM >= 160000
#define pbf_walk_expression(node, walker, context) expression_tree_walker(node, walker, context)
#else
#define pbf_walk_expression(node, walker, context) expression_tree_walker(node, (void *) (walker), context)
#endif

/* Declared in pg_locale.h, which needs the headers of ICU. Alike in all versions. */
extern char *get_collation_actual_version(char collprovider, const char *collcollate);

/* Where pg_database has the locale of a provider other than libc. */
#if PG_VERSION_NUM >= 170000
#define PBF_DATABASE_LOCALE Anum_pg_database_datlocale
#else
#define PBF_DATABASE_LOCALE Anum_pg_database_daticulocale
#endif

/* The hook that is called when the planner knows a relation's indexes: another one from 19 on. */
#if PG_VERSION_NUM >= 190000
#include "optimizer/pathnode.h"
#define pbf_relation_hook build_simple_rel_hook
#define pbf_relation_hook_type build_simple_rel_hook_type
#define PBF_RELATION_HOOK_PARAMETERS PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define PBF_RELATION_HOOK_ARGUMENTS root, rel, rte
#else
#include "optimizer/plancat.h"
#define pbf_relation_hook get_relation_info_hook
#define pbf_relation_hook_type get_relation_info_hook_type
#define PBF_RELATION_HOOK_PARAMETERS PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel
#define PBF_RELATION_HOOK_ARGUMENTS root, relation, inhparent, rel
#endif

#if PG_VERSION_NUM >= 170000
#define pbf_estimate_array_length(root, expr) estimate_array_length(root, (Node *) lsecond((expr)->args))
#else
#define pbf_estimate_array_length(root, expr) \
	((void) (root), estimate_array_length((Node *) lsecond((expr)->args)))
#endif

#if PG_VERSION_NUM >= 160000
#define pbf_owns_relation(oid) object_ownercheck(RelationRelationId, oid, GetUserId())
#else
#define pbf_owns_relation(oid) pg_class_ownercheck(oid, GetUserId())
#endif

/* Soft errors in the parser of qualified names. */
#if PG_VERSION_NUM >= 160000
#define pbf_qualified_name(string) stringToQualifiedNameList(string, NULL)
#else
#define pbf_qualified_name(string) stringToQualifiedNameList(string)
#endif

/* What a handler fills in: from 19 on it is nobody's to free, before that the caller frees it. */
#if PG_VERSION_NUM >= 190000
static inline IndexAmRoutine *
pbf_index_am_routine(void)
{
	static IndexAmRoutine routine = {.type = T_IndexAmRoutine};

	return &routine;
}
#else
#define pbf_index_am_routine() makeNode(IndexAmRoutine)
#endif

/* Updates of indexed columns can be HOT from 16 on, if an index holds nothing about single rows. */
#if PG_VERSION_NUM >= 160000
#define pbf_set_summarizing(am) ((am)->amsummarizing = true)
#else
#define pbf_set_summarizing(am) ((void) (am))
#endif

#if PG_VERSION_NUM >= 170000
#define pbf_set_can_build_parallel(am) ((am)->amcanbuildparallel = true)
#else
#define pbf_set_can_build_parallel(am) ((void) (am))
#endif

/* Workers for building an index: from 17 on the server asks for any access method. */
#if PG_VERSION_NUM >= 170000
#define pbf_index_workers(heap, index, info) ((info)->ii_ParallelWorkers)
#else
#define pbf_index_workers(heap, index, info)                                                         \
	((void) (info), IsNormalProcessingMode()                                                         \
	                    ? plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)) \
	                    : 0)
#endif

/*
 * Blocks of a table read one after the other: from 17 on ahead of their use, many at a time. A stream holds
 * pins, so it is ended by whoever began it, unless an error lets go of them.
 */
#if PG_VERSION_NUM >= 170000
typedef struct PbfBlockStream
{
	ReadStream *stream; /* NULL: none */
	BlockNumber next;   /* to be handed out */
	BlockNumber ahead;  /* to be read */
	BlockNumber end;
} PbfBlockStream;

static inline BlockNumber
pbf_next_ahead(ReadStream *stream, void *arg, void *per_buffer)
{
	PbfBlockStream *s = arg;

	(void) stream;
	(void) per_buffer;
	return s->ahead < s->end ? s->ahead++ : InvalidBlockNumber;
}

static inline void
pbf_begin_stream(PbfBlockStream *s, Relation relation, BufferAccessStrategy strategy, BlockNumber first,
                 BlockNumber end)
{
	*s = (PbfBlockStream){NULL, first, first, end};
	s->stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE | READ_STREAM_SEQUENTIAL, strategy,
	                                       relation, MAIN_FORKNUM, pbf_next_ahead, s, 0);
}

static inline void
pbf_end_stream(PbfBlockStream *s)
{
	read_stream_end(s->stream);
	s->stream = NULL;
}

static inline Buffer
pbf_read_block(PbfBlockStream *s, Relation relation, BufferAccessStrategy strategy, BlockNumber block)
{
	if (s->stream == NULL || block != s->next || block >= s->end)
		return ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	s->next++;
	return read_stream_next_buffer(s->stream, NULL);
}
#else
typedef struct PbfBlockStream
{
	char none;
} PbfBlockStream;

#define pbf_begin_stream(s, relation, strategy, first, end) ((void) (s), (void) (first), (void) (end))
#define pbf_end_stream(s) ((void) (s))
#define pbf_read_block(s, relation, strategy, block) \
	ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy)
#endif

/* Written before the declaration from 18 on. */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

#endif

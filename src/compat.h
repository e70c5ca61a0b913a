/*
 * compat.h: differences between the versions of the server that pbf builds with, and nowhere else.
 */
#ifndef PBF_COMPAT_H
#define PBF_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000
#error "pbf needs PostgreSQL 15 or newer"
#endif

/* Soft errors in input functions came with 16; before that an error is an error. */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#else
#define ereturn(context, dummy, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* varatt.h was split off postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
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

/* Written before the declaration from 18 on. */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

#endif

/*
 * build.h: CREATE INDEX and REINDEX.
 */
#ifndef PBF_INDEX_BUILD_H
#define PBF_INDEX_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"
#include "storage/dsm.h"
#include "storage/shm_toc.h"

extern IndexBuildResult *pbfidx_build(Relation heap, Relation index, IndexInfo *info);
/* Main function of a worker of a parallel build; found by its name. */
extern PGDLLEXPORT void pbfidx_parallel_build(dsm_segment *segment, shm_toc *toc);
extern void pbfidx_buildempty(Relation index);

/* Refuses tables of another table access method. */
extern void pbfidx_require_heap(Relation heap);

#endif

/*
 * build.h: CREATE INDEX and REINDEX.
 */
#ifndef PBF_INDEX_BUILD_H
#define PBF_INDEX_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern IndexBuildResult *pbfidx_build(Relation heap, Relation index, IndexInfo *info);
extern void pbfidx_buildempty(Relation index);

#endif

/*
 * vacuum.h: VACUUM and rebuilding of slabs.
 */
#ifndef PBF_INDEX_VACUUM_H
#define PBF_INDEX_VACUUM_H

#include "access/genam.h"

extern IndexBulkDeleteResult *pbfidx_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                                IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *pbfidx_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

#endif

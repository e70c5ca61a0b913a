/*
 * check.h: pbfidx_check's work.
 */
#ifndef PBF_INDEX_CHECK_H
#define PBF_INDEX_CHECK_H

#include "utils/rel.h"

/* Every block accounted for once, every page what the directory says. Raises ERRCODE_INDEX_CORRUPTED. */
extern void pbfidx_check_structure(Relation index);
/* Every row version that the active snapshot sees has its bits in leaf and upper. Raises
 * ERRCODE_INDEX_CORRUPTED, naming the row. */
extern void pbfidx_check_heap(Relation heap, Relation index);

#endif

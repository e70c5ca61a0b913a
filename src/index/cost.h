/*
 * cost.h: what the planner is told.
 */
#ifndef PBF_INDEX_COST_H
#define PBF_INDEX_COST_H

#include "nodes/pathnodes.h"

extern bool pbfidx_enabled; /* the setting pbf.enable_index */

extern void pbfidx_init_cost(void);

extern void pbfidx_costestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup_cost,
                                Cost *total_cost, Selectivity *selectivity, double *correlation,
                                double *pages);

#endif

/*
 * probe.h: keys looked for in pages of slabs, many at a time, so that cache misses and reads overlap.
 */
#ifndef PBF_INDEX_PROBE_H
#define PBF_INDEX_PROBE_H

#include "access/genam.h"

#include "index/directory.h"
#include "index/slab.h"

/* One page to look at. */
typedef struct PbfidxProbe
{
	PbfidxSlabId id;
	PbfidxExtent extent;
	PbfidxPlace place;
	PbfidxMask *mask; /* where the result is OR-ed into */
	bool *valid;      /* turns false if the page is not what it should be */
	Buffer buffer;
} PbfidxProbe;

/* Each may hold a pin. */
#define PBFIDX_PROBES 16

/* Probes of one group, run when there is no room for more. */
typedef struct PbfidxProbes
{
	IndexScanDesc scan;
	PbfidxProbe list[PBFIDX_PROBES];
	int n;
	int room;
	int parts;   /* of the matrices of the group */
	bool *valid; /* of what is added at the moment */
} PbfidxProbes;

extern void pbfidx_init_probes(PbfidxProbes *probes, IndexScanDesc scan, int group);

/* Has a key looked for in a slab; the columns that may have it will be in the mask after the next flush. */
extern void pbfidx_add_probe(PbfidxProbes *probes, PbfidxSlabId id, PbfidxExtent extent, uint64 key,
                             PbfidxMask *mask);

/* Runs what is left. No pins are held on return. Checks for interrupts. */
extern void pbfidx_flush_probes(PbfidxProbes *probes);

#endif

/*
 * probe.h: looking hashes up in a filter that stays the same for many calls: the per-query cache.
 */
#ifndef PBF_TYPE_PROBE_H
#define PBF_TYPE_PROBE_H

#include "access/detoast.h"

#include "type/type.h"

#pragma GCC visibility push(protected)

/* TOASTed filters remembered: a join may come back to each of some for every row. */
#define PBF_TOASTED_KEPT 16

/* One of them, with a header of its own. */
typedef struct PbfToasted
{
	uint64 used; /* when, counted in uses; 0: never */
	struct varatt_external toast;
	uint64 header[PBF_HEADER_BYTES / sizeof(uint64)]; /* read with the first slice */
	uint64 fetches;                                   /* slices read from it */
	PbfFilter *whole;                                 /* detoasted, or NULL */
} PbfToasted;

/* Lives in fn_extra (or longer): zero it before first use. */
typedef struct PbfProbe
{
	MemoryContext mcxt; /* where whole detoasted filters are kept: one, or what work_mem holds, and one more
	                       that is compressed in line */

	/* The header seen last and, once it was found valid, what it says. A PbfFilter without its words. */
	uint64 header[PBF_HEADER_BYTES / sizeof(uint64)];
	PbfGeometry geometry;

	PbfToasted toasted[PBF_TOASTED_KEPT]; /* the ones seen last, in any order */
	int latest;                           /* its number among them */
	uint64 uses;                          /* of all of them */
	uint64 whole_bytes;                   /* of those detoasted */

	struct varlena *packed; /* a compressed datum in line that was seen last, NULL: none */
	PbfFilter *unpacked;    /* what is in it */
} PbfProbe;

/* Whether the filter in d may contain the key; element_kind PBF_KIND_HASH: any filter will do. */
extern bool pbf_probe(PbfProbe *p, Datum d, unsigned element_kind, uint64 h);

/* Whether n probes of that filter are better made one by one than in the whole of it. */
extern bool pbf_probe_one_by_one(PbfProbe *p, Datum d, int n);

/*
 * The whole filter in d, for many probes: the datum itself, a copy that the probe keeps, or one in the
 * current context. Read only.
 */
extern const PbfFilter *pbf_probe_whole(PbfProbe *p, Datum d);

#pragma GCC visibility pop

#endif

/*
 * probe.h: looking hashes up in a filter that stays the same for many calls: the per-query cache.
 */
#ifndef PBF_TYPE_PROBE_H
#define PBF_TYPE_PROBE_H

#include "access/detoast.h"

#include "type/type.h"

#pragma GCC visibility push(protected)

/* Lives in fn_extra (or longer): zero it before first use. */
typedef struct PbfProbe
{
	MemoryContext mcxt; /* where a whole detoasted filter is kept */

	/* The header seen last and, once it was found valid, what it says. A PbfFilter without its words. */
	uint64 header[PBF_HEADER_BYTES / sizeof(uint64)];
	PbfGeometry geometry;

	/* The TOASTed filter seen last, with a header of its own: other filters may be probed in between. */
	bool has_toast;
	struct varatt_external toast;
	uint64 toast_header[PBF_HEADER_BYTES / sizeof(uint64)]; /* read with the first slice */
	uint64 fetches;                                         /* slices read from it */
	PbfFilter *whole;                                       /* detoasted in mcxt, or NULL */
} PbfProbe;

/* Whether the filter in d may contain the key; element_kind PBF_KIND_HASH: any filter will do. */
extern bool pbf_probe(PbfProbe *p, Datum d, unsigned element_kind, uint64 h);

/*
 * The whole filter in d, for many probes: the datum itself, a copy that the probe keeps, or one in the
 * current context. Read only.
 */
extern const PbfFilter *pbf_probe_whole(PbfProbe *p, Datum d);

#pragma GCC visibility pop

#endif

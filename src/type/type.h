/*
 * type.h: what the files of the datatype share: getting a filter out of a datum, making one, and the errors.
 */
#ifndef PBF_TYPE_TYPE_H
#define PBF_TYPE_TYPE_H

#include "postgres.h"
#include "fmgr.h"
#include "compat.h"
#include "core/filter.h"
#include "core/format.h"

#pragma GCC visibility push(protected)

/*
 * The filter in a datum: detoasted, aligned, its header checked, finished if it was the state of an
 * aggregate. May be the datum itself: read only. ERRCODE_DATA_CORRUPTED if it is not a filter.
 */
extern PbfFilter *pbf_fetch(Datum d);
/* The same, but always a fresh copy in the current context, which may be changed. */
extern PbfFilter *pbf_fetch_copy(Datum d);
/* As pbf_fetch, but an unfinished one is returned as it is: for aggregates and output. */
extern PbfFilter *pbf_fetch_raw(Datum d);
/* Header check alone; ERRCODE_DATA_CORRUPTED if it fails. */
extern void pbf_check_header(const PbfFilter *f, uint64 bytes);

#define PG_GETARG_PBF(n) pbf_fetch(PG_GETARG_DATUM(n))
#define PG_GETARG_PBF_COPY(n) pbf_fetch_copy(PG_GETARG_DATUM(n))
#define PG_RETURN_PBF(f) PG_RETURN_POINTER(f)

/*
 * Asks for huge pages for what fills some of them, before it is touched: each page of 4 KB is a page fault,
 * dear on some virtual machines, and random places in many of them miss the TLB. Only advice: the system may
 * refuse.
 */
#define PBF_HUGE_PAGE ((uintptr_t) 2 * 1024 * 1024)
extern void pbf_advise_huge_pages(void *memory, Size bytes);

/* An empty filter in the current context. The geometry must be valid. */
extern PbfFilter *pbf_allocate(const PbfGeometry *g, PbfKind kind);
/* A copy of a flat filter, in the current context. */
extern PbfFilter *pbf_copy(const PbfFilter *f);
/* Zeroed memory for a datum of that many bytes, length word set. */
extern PbfFilter *pbf_allocate_bytes(uint64 bytes);
/* A copy with another geometry's room: header as g and the kind of f, words zero. */
extern PbfFilter *pbf_allocate_as(const PbfGeometry *g, const PbfFilter *f);
/* The filter in another size of its layout and parts. May take seconds: checks for interrupts. */
extern PbfFilter *pbf_resized(const PbfFilter *f, const PbfGeometry *to);

/* Argument checks, by name, before anything is allocated: ERRCODE_INVALID_PARAMETER_VALUE. */
extern void pbf_check_fpr(double fpr);
extern void pbf_check_capacity(const char *name, double capacity);
/* The geometry for a capacity and rate, both checked; remembers the last answer.
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if too large. */
extern PbfGeometry pbf_geometry_for(double capacity, double fpr, PbfLayoutChoice choice);

/* "blocked 19840 x 8 x 64", palloc'd: for messages. */
extern char *pbf_geometry_text(const PbfGeometry *g);

/* The kind that both may be merged under. ERRCODE_DATATYPE_MISMATCH if they hold different kinds. */
extern PbfKind pbf_merged_kind(const PbfFilter *a, const PbfFilter *b);
/* Checks that elements of this kind may be added to (or looked up in) a filter of that kind; error as above.
 */
extern void pbf_check_add_kind(unsigned filter_kind, unsigned element_kind);
extern void pbf_check_probe_kind(unsigned filter_kind, unsigned element_kind);

/* setops.c */
typedef enum PbfSetOp
{
	PBF_UNION,
	PBF_INTERSECTION
} PbfSetOp;

/* A new filter; the inputs are not changed. See setops.c for what happens to different sizes. */
extern PbfFilter *pbf_combine(const PbfFilter *a, const PbfFilter *b, PbfSetOp op);
/* Whether b's words can be OR-ed or AND-ed into a's as they are. */
extern bool pbf_same_shape(const PbfFilter *a, const PbfFilter *b);
/* The larger of both geometries, with their common parts. ERRCODE_DATATYPE_MISMATCH if they cannot meet. */
extern PbfGeometry pbf_larger_geometry(const PbfFilter *a, const PbfFilter *b);
/* f's first `parts` parts in the geometry `to` (same layout, parts as given); f itself if nothing changes. */
extern const PbfFilter *pbf_converted(const PbfFilter *f, const PbfGeometry *to);

/* estimate.c: the false positive rate of exactly these bits. */
extern double pbf_current_fpr(const PbfFilter *f);

/* agg.c: the state of an aggregate as a filter, of the rate asked for if it had no capacity; may be the state
 * itself. */
extern PbfFilter *pbf_finish(const PbfFilter *state);

/* reduce.c: folded in half so many times, a new datum; requires an even number of blocks (bits a part, if
 * plain) each time. */
extern bool pbf_can_fold(const PbfGeometry *g, uint32 times);
extern PbfGeometry pbf_folded_geometry(const PbfGeometry *g, uint32 times);
extern PbfFilter *pbf_folded(const PbfFilter *f, uint32 times);

#pragma GCC visibility pop

#endif

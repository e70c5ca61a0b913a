/*
 * type.c: from datum to filter and back, argument checks, messages.
 */
#include "postgres.h"

#include <math.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "miscadmin.h"

#include "type/type.h"
#include "core/sparse.h"

static void
report_corrupted(const char *why)
{
	ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED), errmsg("stored pbf value is not a filter"),
	        errdetail("%s.", why));
}

void
pbf_check_header(const PbfFilter *f, uint64 bytes)
{
	const char *why;

	if (!pbf_header_valid(f, bytes, &why))
		report_corrupted(why);
}

PbfFilter *
pbf_fetch_raw(Datum d)
{
	PbfFilter *f = (PbfFilter *) PG_DETOAST_DATUM(d);

	pbf_check_header(f, VARSIZE(f));
	if ((f->flags & PBF_FLAG_SPARSE) && !pbf_sparse_valid(f, VARSIZE(f)))
		report_corrupted("Wrong number of hashes in the set");
	return f;
}

PbfFilter *
pbf_fetch(Datum d)
{
	PbfFilter *f = pbf_fetch_raw(d), *finished;

	if (!(f->flags & PBF_FLAGS_UNFINISHED))
		return f;
	finished = pbf_finish(f);
	if ((Pointer) f != DatumGetPointer(d))
		pfree(f);
	return finished;
}

PbfFilter *
pbf_fetch_copy(Datum d)
{
	PbfFilter *f = pbf_fetch(d);

	return (Pointer) f == DatumGetPointer(d) ? pbf_copy(f) : f;
}

void
pbf_advise_huge_pages(void *memory pg_attribute_unused(), Size bytes pg_attribute_unused())
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
	char *first = (char *) TYPEALIGN(PBF_HUGE_PAGE, memory);
	char *end = (char *) TYPEALIGN_DOWN(PBF_HUGE_PAGE, (char *) memory + bytes);

	if (first < end)
		(void) madvise(first, end - first, MADV_HUGEPAGE);
#endif
}

PbfFilter *
pbf_copy(const PbfFilter *f)
{
	PbfFilter *copy = palloc(VARSIZE(f));

	pbf_advise_huge_pages(copy, VARSIZE(f));
	return memcpy(copy, f, VARSIZE(f));
}

PbfFilter *
pbf_allocate_bytes(uint64 bytes)
{
	PbfFilter *f;

	CHECK_FOR_INTERRUPTS(); /* the largest take seconds */
	f = palloc(bytes);
	pbf_advise_huge_pages(f, bytes);
	memset(f, 0, bytes);
	SET_VARSIZE(f, bytes);
	return f;
}

PbfFilter *
pbf_allocate(const PbfGeometry *g, PbfKind kind)
{
	PbfFilter *f = pbf_allocate_bytes(pbf_stored_bytes(g));

	pbf_header_init(f, g, kind);
	return f;
}

PbfFilter *
pbf_allocate_as(const PbfGeometry *g, const PbfFilter *f)
{
	return pbf_allocate(g, (PbfKind) f->kind);
}

#define SLICE_WORDS 131072 /* 1 MB */

PbfFilter *
pbf_resized(const PbfFilter *f, const PbfGeometry *to)
{
	PbfGeometry from = pbf_geometry_of(f);
	PbfFilter *result = pbf_allocate_as(to, f);
	uint64 slices = Max(pbf_words(&from), pbf_words(to)) / SLICE_WORDS + 1;

	if (pbf_geometry_equal(&from, to))
	{
		memcpy(result->words, f->words, pbf_words(to) * sizeof(uint64));
		return result;
	}
	for (uint64 slice = 0; slice < slices; slice++)
	{
		CHECK_FOR_INTERRUPTS();
		pbf_filter_resize(&from, f->words, to, result->words, (PbfSlice){slice, slices});
	}
	return result;
}

void
pbf_check_fpr(double fpr)
{
	if (!(fpr >= PBF_FPR_MIN && fpr < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("false positive rate out of range: fpr = %g", fpr),
		        errdetail("fpr must be at least %g and less than 1.", PBF_FPR_MIN),
		        errhint("For example 0.01 for one false positive in a hundred."));
}

void
pbf_check_capacity(const char *name, double capacity)
{
	/* Between 0 and 1 it is a rate in the wrong place. */
	bool swapped = capacity > 0 && capacity < 1;

	if (swapped || !(capacity >= 0 && capacity <= 1e18))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("capacity out of range: %s = %g", name, capacity),
		        errdetail("%s, the number of distinct elements, must be 0 or between 1 and 1e18.", name),
		        swapped ? errhint("The capacity comes before the false positive rate: pbf_new(1000, 0.01), "
		                          "pbf_agg(x, NULL, "
		                          "0.01).")
		                : errhint("Filters are limited to 512 MB: about 4.2e8 elements at a rate of 0.01."));
}

static void
report_too_large(double capacity, double fpr, double needed)
{
	ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
	        errmsg("filter too large: capacity = %g at fpr = %g needs %.0f MB", capacity, fpr,
	               ceil(needed / (1024 * 1024))),
	        errdetail("A filter is limited to 512 MB: about %.3g elements at this rate.",
	                  capacity * ((double) PBF_MAX_BYTES / needed)),
	        errhint("Lower the capacity, raise the false positive rate, or use several filters."));
}

/* Finding a shape takes a tenth of a millisecond: aggregates ask for the same in every group. */
static PbfShape
shape_for(double fpr, PbfLayoutChoice choice)
{
	static double last_fpr;
	static PbfLayoutChoice last_choice;
	static PbfShape last_shape;

	if (last_fpr != fpr || last_choice != choice)
	{
		last_shape = pbf_shape_for(fpr, choice);
		last_fpr = fpr;
		last_choice = choice;
	}
	return last_shape;
}

PbfGeometry
pbf_geometry_for(double capacity, double fpr, PbfLayoutChoice choice)
{
	static double last_capacity, last_fpr;
	static PbfLayoutChoice last_choice;
	static PbfGeometry last_geometry;
	PbfGeometry g;
	PbfShape shape;
	double needed;

	pbf_check_capacity("capacity", capacity);
	pbf_check_fpr(fpr);
	if (last_capacity == capacity && last_fpr == fpr && last_choice == choice)
		return last_geometry;
	shape = shape_for(fpr, choice);
	if (!pbf_size_for(capacity, fpr, &shape, &g, &needed))
		report_too_large(capacity, fpr, needed);
	last_capacity = capacity;
	last_fpr = fpr;
	last_choice = choice;
	last_geometry = g;
	return g;
}

char *
pbf_geometry_text(const PbfGeometry *g)
{
	return psprintf("%s %u x %u x %u", g->layout == PBF_BLOCKED ? "blocked" : "plain", g->blocks, g->parts,
	                g->part_bits);
}

PbfKind
pbf_merged_kind(const PbfFilter *a, const PbfFilter *b)
{
	if (a->kind == PBF_KIND_NONE)
		return (PbfKind) b->kind;
	if (b->kind != PBF_KIND_NONE && a->kind != b->kind)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		        errmsg("a filter of %s elements cannot be merged or compared with one of %s elements",
		               pbf_kind_name(a->kind), pbf_kind_name(b->kind)),
		        errhint("Build both filters from values of the same type."));
	return (PbfKind) a->kind;
}

void
pbf_check_add_kind(unsigned filter_kind, unsigned element_kind)
{
	if (filter_kind == element_kind || filter_kind == PBF_KIND_NONE)
		return;
	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
	        errmsg("%s elements cannot be added to a filter of %s elements", pbf_kind_name(element_kind),
	               pbf_kind_name(filter_kind)),
	        filter_kind == PBF_KIND_HASH
	            ? errhint("Only hashes were added to this filter: add pbf_hash(element) with pbf_add_hash.")
	            : errhint("Cast the elements to the filter's kind."));
}

void
pbf_check_probe_kind(unsigned filter_kind, unsigned element_kind)
{
	if (filter_kind == element_kind || filter_kind == PBF_KIND_NONE)
		return;
	ereport(
	    ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
	    errmsg("cannot look for %s elements in a filter of %s elements", pbf_kind_name(element_kind),
	           pbf_kind_name(filter_kind)),
	    filter_kind == PBF_KIND_HASH
	        ? errhint(
	              "Only hashes were added to this filter: use pbf_contains_hash(filter, pbf_hash(element)).")
	    : element_kind == PBF_KIND_TEXT
	        ? errhint("A literal or parameter without a type is text: cast it to the filter's kind.")
	        : errhint("Cast the element to the filter's kind."));
}

/*
 * probe.c: looking hashes up in a filter that stays the same for many calls.
 *
 * A filter that is not TOASTed is used where it is. Of a TOASTed one (EXTERNAL storage: not compressed) a
 * probe needs the header and one block, or one word a part if plain; reading slices costs some microseconds,
 * where detoasting 10 MB costs milliseconds. After about as many slices as detoasting would have cost, it is
 * detoasted whole and kept for the rest of the query.
 */
#include "postgres.h"

#include "core/position.h"
#include "type/probe.h"

/*
 * One slice takes about as long as detoasting that many bytes (measured: 5 us a slice, 5.7 ms for 12 MB).
 * test/bench/type.sh shows both ends.
 */
#define BYTES_PER_SLICE_TIME (20 * 1024)

static inline const PbfFilter *
toast_header(const PbfProbe *p)
{
	return (const PbfFilter *) p->toast_header;
}

/* Takes the header (a datum of `bytes` bytes follows it) as the one that geometry speaks of. */
static void
learn_header(PbfProbe *p, const PbfFilter *f, uint64 bytes)
{
	pbf_check_header(f, bytes);
	memcpy(p->header, f, PBF_HEADER_BYTES);
	p->geometry = pbf_geometry_of(f);
}

static inline bool
probe_plain_datum(PbfProbe *p, const PbfFilter *f, unsigned element_kind, uint64 h)
{
	/* The length word is part of it: equal headers are equally valid. */
	if (unlikely(memcmp(p->header, f, PBF_HEADER_BYTES) != 0))
		learn_header(p, f, VARSIZE(f));
	if (unlikely(f->kind != element_kind) && element_kind != PBF_KIND_HASH)
		pbf_check_probe_kind(f->kind, element_kind);
	return pbf_filter_contains(&p->geometry, f->words, h);
}

/* Words first..first + n - 1 of an uncompressed TOASTed filter. */
static void
read_words(Datum d, uint64 first, uint64 n, uint64 *words)
{
	struct varlena *slice =
	    PG_DETOAST_DATUM_SLICE(d, PBF_EXTERNAL_HEADER_BYTES + first * sizeof(uint64), n * sizeof(uint64));

	if (VARSIZE_ANY_EXHDR(slice) != n * sizeof(uint64))
		ereport(ERROR, errcode(ERRCODE_DATA_CORRUPTED), errmsg("stored pbf value is not a filter"),
		        errdetail("Wrong length."));
	memcpy(words, VARDATA_ANY(slice), n * sizeof(uint64));
	pfree(slice);
}

static void
read_header(PbfProbe *p, Datum d)
{
	PbfFilter *header = (PbfFilter *) p->toast_header;
	struct varlena *slice = PG_DETOAST_DATUM_SLICE(d, 0, PBF_EXTERNAL_HEADER_BYTES);
	uint64 bytes = VARATT_EXTERNAL_GET_EXTSIZE(p->toast) + VARHDRSZ;

	if (VARSIZE_ANY_EXHDR(slice) != PBF_EXTERNAL_HEADER_BYTES)
		pbf_check_header(header, 0);
	memcpy(&header->version, VARDATA_ANY(slice), PBF_EXTERNAL_HEADER_BYTES);
	SET_VARSIZE(header, bytes);
	pfree(slice);
	pbf_check_header(header, bytes);
}

static bool
probe_slices(PbfProbe *p, Datum d, uint64 h)
{
	PbfGeometry g = pbf_geometry_of(toast_header(p));
	uint64 words[PBF_BLOCKED_MAX_PARTS];

	if (g.layout == PBF_BLOCKED)
	{
		read_words(d, (uint64) pbf_block_of(h, g.blocks) * g.parts, g.parts, words);
		return pbf_kernel->contains(words, 1, g.parts, h);
	}
	for (uint32 part = 0; part < g.parts; part++)
	{
		uint32 bit = pbf_plain_bit(h, part, g.part_bits);

		read_words(d, part * pbf_part_words(&g) + bit / PBF_WORD_BITS, 1, words);
		if ((words[0] >> (bit % PBF_WORD_BITS) & 1) == 0)
			return false;
	}
	return true;
}

static void
forget_toast(PbfProbe *p)
{
	if (p->whole != NULL)
		pfree(p->whole);
	p->whole = NULL;
	p->has_toast = false;
	p->fetches = 0;
}

/* Makes the filter behind this TOAST pointer the cached one. */
static void
learn_toast(PbfProbe *p, Datum d)
{
	struct varatt_external toast;

	VARATT_EXTERNAL_GET_POINTER(toast, (struct varlena *) DatumGetPointer(d));
	if (p->has_toast && memcmp(&p->toast, &toast, sizeof(toast)) == 0)
		return;
	forget_toast(p);
	p->toast = toast;
	p->has_toast = true;
}

static void
keep_whole(PbfProbe *p, Datum d)
{
	MemoryContext old = MemoryContextSwitchTo(p->mcxt);

	p->whole = pbf_fetch_raw(d);
	if (p->whole->flags & PBF_FLAGS_UNFINISHED)
	{
		PbfFilter *state = p->whole;

		p->whole = pbf_finish(state);
		pfree(state);
	}
	MemoryContextSwitchTo(old);
}

/* Slices are worth it while they cost less than detoasting would have; a compressed value has none. */
static bool
slices_worthwhile(PbfProbe *p, Datum d)
{
	const PbfFilter *header = toast_header(p);

	if (VARATT_EXTERNAL_IS_COMPRESSED(p->toast))
		return false;
	if (p->fetches == 0)
		read_header(p, d);
	if (header->flags & PBF_FLAGS_UNFINISHED)
		return false;
	p->fetches += header->flags & PBF_FLAG_BLOCKED ? 1 : (uint64) header->parts;
	return p->fetches * BYTES_PER_SLICE_TIME <= VARSIZE(header);
}

static bool
probe_toasted(PbfProbe *p, Datum d, unsigned element_kind, uint64 h)
{
	learn_toast(p, d);
	if (p->whole == NULL)
	{
		if (slices_worthwhile(p, d))
		{
			if (element_kind != PBF_KIND_HASH)
				pbf_check_probe_kind(toast_header(p)->kind, element_kind);
			return probe_slices(p, d, h);
		}
		keep_whole(p, d);
	}
	return probe_plain_datum(p, p->whole, element_kind, h);
}

bool
pbf_probe(PbfProbe *p, Datum d, unsigned element_kind, uint64 h)
{
	PbfFilter *f = (PbfFilter *) DatumGetPointer(d);
	bool result;

	if (likely(!VARATT_IS_EXTENDED(f)))
	{
		if (likely((f->flags & PBF_FLAGS_UNFINISHED) == 0))
			return probe_plain_datum(p, f, element_kind, h);
	}
	else if (VARATT_IS_EXTERNAL_ONDISK(f))
		return probe_toasted(p, d, element_kind, h);
	f = pbf_fetch(d);
	result = probe_plain_datum(p, f, element_kind, h);
	pfree(f);
	return result;
}

const PbfFilter *
pbf_probe_whole(PbfProbe *p, Datum d)
{
	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(d)))
		return pbf_fetch(d);
	learn_toast(p, d);
	if (p->whole == NULL)
		keep_whole(p, d);
	return p->whole;
}

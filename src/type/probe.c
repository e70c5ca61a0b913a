/*
 * probe.c: looking hashes up in a filter that stays the same for many calls.
 *
 * A filter that is not TOASTed is used where it is. Of a TOASTed one (EXTERNAL storage: not compressed) a
 * probe needs the header and one block, or one word a part if plain; reading slices costs some microseconds,
 * where detoasting 10 MB costs milliseconds. After about as many slices as detoasting would have cost, it is
 * detoasted whole and kept for the rest of the query, or until others need the room.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "core/position.h"
#include "type/probe.h"

/*
 * One slice takes about as long as detoasting that many bytes (measured: 5 us a slice, 5.7 ms for 12 MB).
 * test/bench/type.sh shows both ends.
 */
#define BYTES_PER_SLICE_TIME (20 * 1024)

static inline const PbfFilter *
toast_header(const PbfToasted *t)
{
	return (const PbfFilter *) t->header;
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
read_header(PbfToasted *t, Datum d)
{
	PbfFilter *header = (PbfFilter *) t->header;
	struct varlena *slice = PG_DETOAST_DATUM_SLICE(d, 0, PBF_EXTERNAL_HEADER_BYTES);
	uint64 bytes = VARATT_EXTERNAL_GET_EXTSIZE(t->toast) + VARHDRSZ;

	if (VARSIZE_ANY_EXHDR(slice) != PBF_EXTERNAL_HEADER_BYTES)
		pbf_check_header(header, 0);
	memcpy(&header->version, VARDATA_ANY(slice), PBF_EXTERNAL_HEADER_BYTES);
	SET_VARSIZE(header, bytes);
	pfree(slice);
	pbf_check_header(header, bytes);
}

static bool
probe_slices(const PbfToasted *t, Datum d, uint64 h)
{
	PbfGeometry g = pbf_geometry_of(toast_header(t));
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

/* ---- filters that are remembered ---- */

static void
forget_whole(PbfProbe *p, PbfToasted *t)
{
	if (t->whole == NULL)
		return;
	p->whole_bytes -= VARSIZE(t->whole);
	pfree(t->whole);
	t->whole = NULL;
	t->fetches = 0;
}

/* What is remembered of the filter behind this TOAST pointer; instead of the one that was not used for
 * longest. */
static PbfToasted *
remembered(PbfProbe *p, Datum d)
{
	struct varatt_external toast;
	PbfToasted *oldest = &p->toasted[0];

	VARATT_EXTERNAL_GET_POINTER(toast, (struct varlena *) DatumGetPointer(d));
	for (int i = 0; i < PBF_TOASTED_KEPT; i++)
	{
		PbfToasted *t = &p->toasted[(p->latest + i) % PBF_TOASTED_KEPT];

		if (t->used > 0 && memcmp(&t->toast, &toast, sizeof(toast)) == 0)
		{
			p->latest = (int) (t - p->toasted);
			t->used = ++p->uses;
			return t;
		}
		if (t->used < oldest->used)
			oldest = t;
	}
	forget_whole(p, oldest);
	p->latest = (int) (oldest - p->toasted);
	oldest->toast = toast;
	oldest->fetches = 0;
	oldest->used = ++p->uses;
	return oldest;
}

/* Makes room for a whole filter besides the others. What is forgotten begins with slices again. */
static void
limit_whole(PbfProbe *p, uint64 bytes)
{
	while (p->whole_bytes > 0 && p->whole_bytes + bytes > (uint64) work_mem * 1024)
	{
		PbfToasted *oldest = NULL;

		for (int i = 0; i < PBF_TOASTED_KEPT; i++)
		{
			PbfToasted *t = &p->toasted[i];

			if (t->whole != NULL && (oldest == NULL || t->used < oldest->used))
				oldest = t;
		}
		forget_whole(p, oldest);
	}
}

static void
keep_whole(PbfProbe *p, PbfToasted *t, Datum d)
{
	MemoryContext old = MemoryContextSwitchTo(p->mcxt);

	limit_whole(p, VARATT_EXTERNAL_GET_EXTSIZE(t->toast));
	t->whole = pbf_fetch(d);
	p->whole_bytes += VARSIZE(t->whole);
	MemoryContextSwitchTo(old);
}

/* What is in a compressed datum, which is not unpacked again while it stays the same. */
static const PbfFilter *
unpacked(PbfProbe *p, Datum d)
{
	const struct varlena *packed = (const struct varlena *) DatumGetPointer(d);
	MemoryContext old;

	if (p->packed != NULL && VARSIZE(p->packed) == VARSIZE(packed) &&
	    memcmp(p->packed, packed, VARSIZE(packed)) == 0)
		return p->unpacked;
	if (p->packed != NULL)
	{
		pfree(p->packed);
		p->packed = NULL;
		pfree(p->unpacked);
	}
	old = MemoryContextSwitchTo(p->mcxt);
	p->unpacked = pbf_fetch(d);
	p->packed = memcpy(palloc(VARSIZE(packed)), packed, VARSIZE(packed));
	MemoryContextSwitchTo(old);
	return p->unpacked;
}

/* Slices are worth it while they cost less than detoasting would have; a compressed value has none. */
static bool
slices_worthwhile(PbfToasted *t, Datum d)
{
	const PbfFilter *header = toast_header(t);
	uint64 slices;

	if (t->whole != NULL || VARATT_EXTERNAL_IS_COMPRESSED(t->toast))
		return false;
	if (t->fetches == 0)
		read_header(t, d);
	if (header->flags & PBF_FLAGS_UNFINISHED)
		return false;
	slices = header->flags & PBF_FLAG_BLOCKED ? 1 : (uint64) header->parts;
	return (t->fetches + slices) * BYTES_PER_SLICE_TIME <= VARSIZE(header);
}

static bool
probe_toasted(PbfProbe *p, Datum d, unsigned element_kind, uint64 h)
{
	PbfToasted *t = remembered(p, d);

	if (slices_worthwhile(t, d))
	{
		const PbfFilter *header = toast_header(t);

		t->fetches += header->flags & PBF_FLAG_BLOCKED ? 1 : (uint64) header->parts;
		if (element_kind != PBF_KIND_HASH)
			pbf_check_probe_kind(header->kind, element_kind);
		return probe_slices(t, d, h);
	}
	if (t->whole == NULL)
		keep_whole(p, t, d);
	return probe_plain_datum(p, t->whole, element_kind, h);
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
	else if (VARATT_IS_COMPRESSED(f))
		return probe_plain_datum(p, unpacked(p, d), element_kind, h);
	f = pbf_fetch(d);
	result = probe_plain_datum(p, f, element_kind, h);
	pfree(f);
	return result;
}

#define FEW 16 /* probes that are no slower one by one */

bool
pbf_probe_one_by_one(PbfProbe *p, Datum d, int n)
{
	const struct varlena *f = (const struct varlena *) DatumGetPointer(d);

	if (VARATT_IS_EXTERNAL_ONDISK(f))
	{
		PbfToasted *t = remembered(p, d);

		return slices_worthwhile(t, d) || (t->whole != NULL && n <= FEW);
	}
	return (!VARATT_IS_EXTENDED(f) || VARATT_IS_COMPRESSED(f)) && n <= FEW;
}

const PbfFilter *
pbf_probe_whole(PbfProbe *p, Datum d)
{
	PbfToasted *t;

	if (VARATT_IS_COMPRESSED(DatumGetPointer(d)))
		return unpacked(p, d);
	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(d)))
		return pbf_fetch(d);
	t = remembered(p, d);
	if (t->whole == NULL)
		keep_whole(p, t, d);
	return t->whole;
}

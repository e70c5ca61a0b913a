/*
 * literal.c: bytes that a value has to contain to match a condition.
 *
 * Only for functions of the server that compare bytes in the end. What they take for equal has equal bytes,
 * which are somewhere in the value, if it is neither compressed nor stored out of line.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "tsearch/ts_type.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index/literal.h"

static bool
compares_bytes(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

static bool
add_alternative(PbfidxClause *clause, const char *bytes, int n)
{
	if (n == 0 || clause->n == PBFIDX_MOST_ALTERNATIVES)
		return false;
	clause->any[clause->n++] = pbf_needle(bytes, n);
	return true;
}

/* ---- LIKE ---- */

/*
 * Copies the part of a pattern up to the next wildcard, without its escapes; returns where it ends. LIKE
 * compares characters, but no encoding of a server has a byte below 128 within another character: the
 * wildcards can be looked for byte by byte, and what is between them is in the text byte by byte.
 */
static const char *
copy_part(const char *at, const char *end, char *part, int *n)
{
	for (*n = 0; at < end && *at != '%' && *at != '_'; at++)
	{
		if (*at == '\\' && ++at == end)
			break; /* an escape of nothing: LIKE reports it */
		part[(*n)++] = *at;
	}
	return at;
}

/* Whether some bytes that are characters are these characters wherever they are in a text. */
static bool
are_characters_bytes(void)
{
	return pg_database_encoding_max_length() == 1 || GetDatabaseEncoding() == PG_UTF8;
}

/* The longest part of a pattern without wildcards. It decides alone if there is nothing else but any text
 * before and behind it. */
static int
pattern_literals(const text *pattern, PbfidxClause *clause, bool *exact)
{
	const char *at = VARDATA_ANY(pattern), *end = at + VARSIZE_ANY_EXHDR(pattern);
	char *longest = palloc(end - at + 1), *part = palloc(end - at + 1);
	int n, most = 0, parts = 0;

	*exact = are_characters_bytes() && at < end && *at == '%';
	while (at < end)
	{
		at = copy_part(at, end, part, &n);
		if (n > most)
			memcpy(longest, part, n);
		most = Max(most, n);
		parts += n > 0;
		*exact = *exact && parts <= 1 && at < end && *at == '%';
		at += at < end; /* the wildcard */
	}
	return add_alternative(clause, longest, most);
}

static int
word_literals(const text *word, PbfidxClause *clause)
{
	return add_alternative(clause, VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word));
}

/* ---- arrays ---- */

/* Whether equal elements have equal bytes, and enough of them to tell something. */
static bool
are_bytes(Oid type, Oid collation)
{
	switch (getBaseType(type))
	{
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case BYTEAOID:
			return true;
		case TEXTOID:
		case VARCHAROID:
			return compares_bytes(collation);
		default:
			return false;
	}
}

/* The bytes of an element as they are in an array; false: there are none. */
static bool
add_element(PbfidxClause *clause, Datum element, int16 length, bool byval)
{
	char *bytes;

	if (length == -1)
		return add_alternative(clause, VARDATA_ANY(DatumGetPointer(element)),
		                       VARSIZE_ANY_EXHDR(DatumGetPointer(element)));
	if (!byval)
		return add_alternative(clause, DatumGetPointer(element), length);
	bytes = palloc(sizeof(Datum));
	store_att_byval(bytes, element, length);
	return add_alternative(clause, bytes, length);
}

/* all: every element has to be there, else one. Nothing contains or overlaps a NULL; arrays are equal if
 * NULLs are at the same places. *exact: if what is asked for is to contain them all, or one. */
static int
array_literals(ArrayType *array, Oid collation, bool all, PbfidxClause *clauses, int room, bool *exact)
{
	Oid type = ARR_ELEMTYPE(array);
	int16 length;
	bool byval;
	char align;
	Datum *elements;
	bool *nulls;
	int n, used = 0;

	if (!are_bytes(type, collation))
		return 0;
	get_typlenbyvalalign(type, &length, &byval, &align);
	deconstruct_array(array, type, length, byval, align, &elements, &nulls, &n);
	for (int i = 0; i < n && used < room; i++)
	{
		if (nulls[i])
			continue;
		clauses[used].element = length;
		clauses[used].align = align;
		if (add_element(&clauses[used], elements[i], length, byval))
			used += all;
		else if (!all)
			return 0;
	}
	*exact = !all || used == n;
	return all ? used : clauses[0].n > 0;
}

/* ---- jsonb ---- */

/* Keys of documents, which are no elements. */
static int
keys_literals(ArrayType *keys, bool all, PbfidxClause *clauses, int room)
{
	bool exact;
	int n = array_literals(keys, C_COLLATION_OID, all, clauses, room, &exact);

	for (int i = 0; i < n; i++)
		clauses[i].element = 0;
	return n;
}

/* The strings that a document has to contain. Not the keys of objects: most documents of a table have the
 * same. */
static int
document_literals(const Jsonb *document, PbfidxClause *clauses, int room)
{
	JsonbIterator *it = JsonbIteratorInit((JsonbContainer *) &document->root);
	JsonbIteratorToken token;
	JsonbValue v;
	int used = 0;

	while (used < room && (token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		if ((token == WJB_VALUE || token == WJB_ELEM) && v.type == jbvString)
			used += add_alternative(&clauses[used], v.val.string.val, v.val.string.len);
	}
	return used;
}

/* ---- full text search ---- */

static int either_literals(const QueryItem *item, const char *operands, PbfidxClause *clause);

/* A prefix is in a word that begins with it. */
static int
query_literals(const QueryItem *item, const char *operands, PbfidxClause *clauses, int room)
{
	int used;

	check_stack_depth();
	if (room == 0)
		return 0;
	if (item->type == QI_VAL)
		return add_alternative(clauses, operands + item->qoperand.distance, item->qoperand.length);
	switch (item->qoperator.oper)
	{
		case OP_AND:
		case OP_PHRASE:
			used = query_literals(item + item->qoperator.left, operands, clauses, room);
			return used + query_literals(item + 1, operands, clauses + used, room - used);
		case OP_OR:
			return either_literals(item, operands, clauses);
		default:
			return 0;
	}
}

/* If something is known of both sides. */
static int
either_literals(const QueryItem *item, const char *operands, PbfidxClause *clause)
{
	PbfidxClause other = {0};

	if (query_literals(item + item->qoperator.left, operands, clause, 1) == 0 ||
	    query_literals(item + 1, operands, &other, 1) == 0 || clause->n + other.n > PBFIDX_MOST_ALTERNATIVES)
	{
		clause->n = 0;
		return 0;
	}
	memcpy(clause->any + clause->n, other.any, other.n * sizeof(other.any[0]));
	clause->n += other.n;
	return 1;
}

static int
text_query_literals(TSQuery query, PbfidxClause *clauses, int room)
{
	return query->size == 0 ? 0 : query_literals(GETQUERY(query), GETOPERAND(query), clauses, room);
}

/* ---- of a scan key ---- */

bool
pbfidx_may_have_literals(Oid function)
{
	switch (function)
	{
		case F_TEXTEQ:
		case F_TEXTLIKE:
		case F_ARRAYCONTAINS:
		case F_ARRAY_EQ:
		case F_ARRAYOVERLAP:
		case F_JSONB_CONTAINS:
		case F_JSONB_EXISTS:
		case F_JSONB_EXISTS_ALL:
		case F_JSONB_EXISTS_ANY:
		case F_TS_MATCH_VQ:
			return true;
		default:
			return false;
	}
}

static int
literals_of(const ScanKeyData *key, PbfidxClause *clauses, int room, bool *exact)
{
	Datum argument = key->sk_argument;
	bool unused;

	switch (key->sk_func.fn_oid)
	{
		case F_TEXTEQ:
			return compares_bytes(key->sk_collation) ? word_literals(DatumGetTextPP(argument), clauses) : 0;
		case F_TEXTLIKE:
			return compares_bytes(key->sk_collation)
			           ? pattern_literals(DatumGetTextPP(argument), clauses, exact)
			           : 0;
		case F_ARRAYCONTAINS:
			return array_literals(DatumGetArrayTypeP(argument), key->sk_collation, true, clauses, room,
			                      exact);
		case F_ARRAY_EQ:
			return array_literals(DatumGetArrayTypeP(argument), key->sk_collation, true, clauses, room,
			                      &unused);
		case F_ARRAYOVERLAP:
			return array_literals(DatumGetArrayTypeP(argument), key->sk_collation, false, clauses, 1, exact);
		case F_JSONB_CONTAINS:
			return document_literals(DatumGetJsonbP(argument), clauses, room);
		case F_JSONB_EXISTS:
			return word_literals(DatumGetTextPP(argument), clauses);
		case F_JSONB_EXISTS_ALL:
			return keys_literals(DatumGetArrayTypeP(argument), true, clauses, room);
		case F_JSONB_EXISTS_ANY:
			return keys_literals(DatumGetArrayTypeP(argument), false, clauses, 1);
		case F_TS_MATCH_VQ:
			return text_query_literals(DatumGetTSQuery(argument), clauses, room);
		default:
			return 0;
	}
}

int
pbfidx_literals(const ScanKeyData *key, PbfidxClause *clauses, int room, bool *exact)
{
	*exact = false;
	if (room == 0 || key->sk_flags & (SK_ISNULL | SK_SEARCHARRAY | SK_SEARCHNULL | SK_SEARCHNOTNULL))
		return 0;
	memset(clauses, 0, room * sizeof(*clauses));
	return literals_of(key, clauses, room, exact);
}

/* ---- search ---- */

/* Whether an element of an array at `at` is as long as the literal: its header is before it, at or after
 * `bytes`. The server makes long headers only, but reads both. */
static bool
has_header(const PbfNeedle *literal, const char *bytes, const char *at)
{
	varattrib_4b header;
	varattrib_1b short_header;

	SET_VARSIZE(&header, literal->n + VARHDRSZ);
	if (at - bytes >= VARHDRSZ && memcmp(at - VARHDRSZ, &header, VARHDRSZ) == 0)
		return true;
	SET_VARSIZE_SHORT(&short_header, literal->n + VARHDRSZ_SHORT);
	return at > bytes && literal->n + VARHDRSZ_SHORT <= VARATT_SHORT_MAX &&
	       memcmp(at - VARHDRSZ_SHORT, &short_header, VARHDRSZ_SHORT) == 0;
}

const char *
pbfidx_find_literal(const PbfidxClause *clause, int i, const char *bytes, const char *from, const char *end)
{
	const PbfNeedle *literal = &clause->any[i];

	while ((from = pbf_kernel->find(literal, from, end - from)) != NULL)
	{
		if (clause->element != -1 || has_header(literal, bytes, from))
			break;
		from++;
	}
	return from;
}

/*
 * Arrays have the layout that utils/array.h describes. A value with a short header is not aligned: what is
 * longer than a byte has to be copied. `bytes` is where the array goes on behind its header; offsets are from
 * a long header on.
 */

/* Where the elements begin. */
static int
elements_offset(const char *bytes)
{
	int32 dimensions, offset;

	memcpy(&dimensions, bytes + offsetof(ArrayType, ndim) - VARHDRSZ, sizeof(int32));
	memcpy(&offset, bytes + offsetof(ArrayType, dataoffset) - VARHDRSZ, sizeof(int32));
	offset = offset > 0 ? offset : (int) ARR_OVERHEAD_NONULLS(dimensions);
	return Max(offset, (int) sizeof(ArrayType));
}

/* How long the element of variable length at `at` is, with its header, which has *header bytes. Damaged ones
 * do not have us read beyond `end`. */
static int
element_size(const char *at, const char *end, int *header)
{
	varattrib_4b long_header;

	*header = VARATT_IS_1B(at) ? VARHDRSZ_SHORT : VARHDRSZ;
	if (VARATT_IS_1B(at))
		return Max(VARSIZE_1B(at), VARHDRSZ_SHORT);
	if (end - at < VARHDRSZ)
		return VARHDRSZ;
	memcpy(&long_header, at, VARHDRSZ);
	return Max(VARSIZE_4B(&long_header), VARHDRSZ);
}

/* Whether an array, which has these bytes somewhere, has them as an element. */
static bool
has_element(const PbfidxClause *clause, const PbfNeedle *literal, const char *bytes, const char *end)
{
	int at = elements_offset(bytes), size = clause->element, header = 0, n = (int) literal->n;

	for (; at + n <= end - bytes + VARHDRSZ; at = att_align_nominal(at + size, clause->align))
	{
		const char *element = bytes + at - VARHDRSZ;

		if (clause->element == -1)
			size = element_size(element, end, &header);
		if (size - header == n && element + size <= end && memcmp(element + header, literal->bytes, n) == 0)
			return true;
	}
	return false;
}

bool
pbfidx_has_literal(const PbfidxClause *clause, const struct varlena *value)
{
	const char *bytes = VARDATA_ANY(value), *end = bytes + VARSIZE_ANY_EXHDR(value);

	for (int i = 0; i < clause->n; i++)
	{
		if (pbfidx_find_literal(clause, i, bytes, bytes, end) != NULL &&
		    (clause->element == 0 || has_element(clause, &clause->any[i], bytes, end)))
			return true;
	}
	return false;
}

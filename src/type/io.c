/*
 * io.c: text and binary form, casts to and from bytea. One validator (core/format.c) stands behind all.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "type/type.h"

PG_FUNCTION_INFO_V1(pbf_in);
PG_FUNCTION_INFO_V1(pbf_out);
PG_FUNCTION_INFO_V1(pbf_recv);
PG_FUNCTION_INFO_V1(pbf_send);
PG_FUNCTION_INFO_V1(pbf_from_bytea);
PG_FUNCTION_INFO_V1(pbf_to_bytea);

#define WHITE_SPACE " \t\n\r\v\f"

static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* n bytes from 2n characters; false if one of them is no hexadecimal digit. */
static bool
hex_to_bytes(const char *text, size_t n, uint8 *bytes)
{
	for (size_t i = 0; i < n; i++)
	{
		int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8) (high << 4 | low);
	}
	return true;
}

/* The reason why the text is no filter, or NULL and the filter in *f. White space around it is ignored, as a
 * file may end in some. Allocates only after the header was checked. */
static const char *
parse_text(const char *text, PbfFilter **f)
{
	uint8 header[PBF_EXTERNAL_HEADER_BYTES];
	size_t digits;
	uint64 size;
	uint8 *bytes;
	const char *why;

	text += strspn(text, WHITE_SPACE);
	digits = strlen(text);
	while (digits > 0 && strchr(WHITE_SPACE, text[digits - 1]) != NULL)
		digits--;
	if (text[0] != '\\' || text[1] != 'x')
		return "The text does not begin with \\x";
	text += 2;
	digits -= 2;
	if (digits % 2 != 0)
		return "Odd number of hexadecimal digits";
	if (digits / 2 < sizeof(header))
		return "Shorter than a header";
	if (!hex_to_bytes(text, sizeof(header), header))
		return "There is a character that is not a hexadecimal digit";
	size = pbf_decode_size(header, digits / 2, &why);
	if (size == 0)
		return why;
	bytes = palloc(digits / 2);
	*f = pbf_allocate_bytes(size);
	if (!hex_to_bytes(text, digits / 2, bytes))
		return "There is a character that is not a hexadecimal digit";
	why = NULL;
	pbf_decode(bytes, digits / 2, *f, &why);
	pfree(bytes);
	return why;
}

Datum
pbf_in(PG_FUNCTION_ARGS)
{
	PbfFilter *f = NULL;
	const char *why = parse_text(PG_GETARG_CSTRING(0), &f);

	if (why != NULL)
		ereturn(
		    fcinfo->context, (Datum) 0,
		    (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid input syntax for type pbf"),
		     errdetail("%s.", why),
		     errhint(
		         "A filter is written by its output function, or made by pbf_new, pbf_build or pbf_agg.")));
	PG_RETURN_PBF(f);
}

/* The external bytes, with `room` bytes left free before them. */
static uint8 *
encode(const PbfFilter *f, size_t room, size_t *n)
{
	uint8 *bytes;

	*n = pbf_encode_size(f, VARSIZE(f));
	bytes = palloc(room + *n);
	pbf_encode(f, VARSIZE(f), bytes + room);
	return bytes;
}

Datum
pbf_out(PG_FUNCTION_ARGS)
{
	PbfFilter *f = pbf_fetch_raw(PG_GETARG_DATUM(0));
	size_t n;
	uint8 *bytes = encode(f, 0, &n);
	char *text = palloc(2 * n + 3);

	text[0] = '\\';
	text[1] = 'x';
	hex_encode((const char *) bytes, n, text + 2);
	text[2 + 2 * n] = '\0';
	pfree(bytes);
	PG_RETURN_CSTRING(text);
}

/* A filter of n external bytes; raises ERRCODE_INVALID_BINARY_REPRESENTATION if they are none. */
static PbfFilter *
from_bytes(const uint8 *bytes, size_t n)
{
	const char *why;
	uint64 size = pbf_decode_size(bytes, n, &why);
	PbfFilter *f = NULL;

	if (size > 0)
	{
		f = pbf_allocate_bytes(size);
		pbf_decode(bytes, n, f, &why);
	}
	if (why != NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		        errmsg("invalid binary form of type pbf"), errdetail("%s.", why));
	return f;
}

Datum
pbf_recv(PG_FUNCTION_ARGS)
{
	StringInfo buf = (StringInfo) PG_GETARG_POINTER(0);
	int n = buf->len - buf->cursor;

	PG_RETURN_PBF(from_bytes((const uint8 *) pq_getmsgbytes(buf, n), n));
}

Datum
pbf_from_bytea(PG_FUNCTION_ARGS)
{
	bytea *b = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_PBF(from_bytes((const uint8 *) VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b)));
}

Datum
pbf_to_bytea(PG_FUNCTION_ARGS)
{
	PbfFilter *f = pbf_fetch_raw(PG_GETARG_DATUM(0));
	size_t n;
	uint8 *b = encode(f, VARHDRSZ, &n);

	SET_VARSIZE(b, VARHDRSZ + n);
	PG_RETURN_POINTER(b);
}

Datum
pbf_send(PG_FUNCTION_ARGS)
{
	return pbf_to_bytea(fcinfo);
}

/*
 * like.c: what a text has to contain to be LIKE a pattern.
 *
 * LIKE compares characters, but no encoding of a server has a byte below 128 within another character: the
 * wildcards can be looked for byte by byte, and what is between them is in the text byte by byte.
 */
#include "postgres.h"

#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "index/like.h"

static bool
is_like(const ScanKeyData *key)
{
	return !(key->sk_flags & (SK_ISNULL | SK_SEARCHARRAY | SK_SEARCHNULL | SK_SEARCHNOTNULL)) &&
	       key->sk_func.fn_oid == F_TEXTLIKE && OidIsValid(key->sk_collation) &&
	       get_collation_isdeterministic(key->sk_collation);
}

/* Copies the part of a pattern up to the next wildcard, without its escapes; returns where it ends. */
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

/* Horspool 1980: the last place of each byte, the end left out. */
static void
set_skips(PbfidxLiteral *l)
{
	memset(l->skip, Min(l->n, PG_UINT8_MAX), sizeof(l->skip));
	for (int i = 0; i < l->n - 1; i++)
		l->skip[(uint8) l->bytes[i]] = (uint8) Min(l->n - 1 - i, PG_UINT8_MAX);
}

void
pbfidx_like_literal(const ScanKeyData *key, PbfidxLiteral *literal)
{
	const text *pattern;
	const char *at, *end;
	char *part;
	int n;

	literal->n = 0;
	if (!is_like(key))
		return;
	pattern = DatumGetTextPP(key->sk_argument);
	at = VARDATA_ANY(pattern);
	end = at + VARSIZE_ANY_EXHDR(pattern);
	literal->bytes = palloc(end - at + 1);
	part = palloc(end - at + 1);
	while (at < end)
	{
		at = copy_part(at, end, part, &n);
		if (n > literal->n)
			memcpy(literal->bytes, part, n);
		literal->n = Max(literal->n, n);
		at += at < end; /* the wildcard */
	}
	set_skips(literal);
}

bool
pbfidx_has_literal(const PbfidxLiteral *l, const char *bytes, int n)
{
	int last = l->n - 1;

	for (int i = 0; i + last < n; i += l->skip[(uint8) bytes[i + last]])
	{
		if (bytes[i + last] == l->bytes[last] && memcmp(bytes + i, l->bytes, last) == 0)
			return true;
	}
	return false;
}

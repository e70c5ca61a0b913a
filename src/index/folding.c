/*
 * folding.c: whether keys in lower case say something about a condition that ignores case.
 *
 * ILIKE takes the lower case of both sides. So keys do if the collation of the condition has the database's
 * character classification, both of libc: that is what pg_trgm asks, whoever is the database's provider.
 *
 * Of a regular expression, case sensitive or not, pg_trgm takes the characters that the engine puts in the
 * place of one if it ignores case, its lower and its upper case, and leaves out those that are not in lower
 * case. That needs their lower case to be among them, which is not so for the final sigma and the dotless i.
 *
 * Else there are patterns that all locales understand alike. Only A to Z have lower case letters of ASCII,
 * but for U+0130, an i, and U+212A, a k; and Turkish has other ones for I. So it is those of ASCII without I
 * and K, if a regular expression does not name others by their codes or by a range. (The engine's classes of
 * characters are the condition's, but pg_trgm expects nothing of a class that it cannot list.) Under C and
 * POSIX, I and K are letters like all others, as far as the database's locale has the same lower case for
 * them; and ILIKE leaves all characters beyond ASCII as they are.
 */
#include "postgres.h"

#include <ctype.h>
#include <wctype.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "index/folding.h"

static char *
text_attribute(int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool isnull;
	Datum value = SysCacheGetAttr(cache, tuple, attribute, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/* The locale of libc by which the database classifies characters; NULL: by something else. */
static char *
ctype_of_database(void)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char *ctype = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	if (((Form_pg_database) GETSTRUCT(tuple))->datlocprovider == COLLPROVIDER_LIBC)
		ctype = text_attribute(DATABASEOID, tuple, Anum_pg_database_datctype);
	ReleaseSysCache(tuple);
	return ctype;
}

/* The same of a collation. */
static char *
ctype_of(Oid collation)
{
	HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	char *ctype = NULL, provider;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	if (provider == COLLPROVIDER_LIBC)
		ctype = text_attribute(COLLOID, tuple, Anum_pg_collation_collctype);
	ReleaseSysCache(tuple);
	return provider == COLLPROVIDER_DEFAULT ? ctype_of_database() : ctype;
}

static bool
is_c(const char *ctype)
{
	return strcmp(ctype, "C") == 0 || strcmp(ctype, "POSIX") == 0;
}

/* Names of one locale differ in how they write the encoding: en_US.UTF-8, en_US.utf8. */
static bool
is_same_locale(const char *a, const char *b)
{
	for (;; a++, b++)
	{
		while (*a == '-')
			a++;
		while (*b == '-')
			b++;
		if (pg_ascii_tolower((unsigned char) *a) != pg_ascii_tolower((unsigned char) *b))
			return false;
		if (*a == '\0')
			return true;
	}
}

/* Whether a regular expression names characters by their codes: \uwxyz, \Ustuvwxyz, \xhhh, \octal. */
static bool
names_codes(const char *p, int n)
{
	for (int i = 0; i + 1 < n; i++)
	{
		if (p[i] == '\\' && strchr("uUx01234567", p[i + 1]) != NULL)
			return true;
	}
	return false;
}

/* Whether all characters are of ASCII, without certain ones. */
static bool
is_ascii(const char *p, int n, const char *without)
{
	for (int i = 0; i < n; i++)
	{
		if (IS_HIGHBIT_SET(p[i]) || p[i] == '\0' || strchr(without, p[i]) != NULL)
			return false;
	}
	return true;
}

static pg_wchar
lower_case(pg_wchar c)
{
	return GetDatabaseEncoding() == PG_UTF8 ? towlower((wint_t) c) : (pg_wchar) tolower((unsigned char) c);
}

static pg_wchar
upper_case(pg_wchar c)
{
	return GetDatabaseEncoding() == PG_UTF8 ? towupper((wint_t) c) : (pg_wchar) toupper((unsigned char) c);
}

/* Whether what the engine puts in the place of a character has its lower case among it. */
static bool
is_closed(pg_wchar c)
{
	pg_wchar lower = lower_case(c), upper = upper_case(c), again = lower_case(upper);

	return lower_case(lower) == lower && (again == lower || again == upper);
}

/* The same for all characters of a regular expression, under a locale of libc. */
static bool
is_closed_regex(const char *p, int n)
{
	pg_wchar *characters;
	bool closed = true;

	if (names_codes(p, n))
		return false;
	if (!is_ascii(p, n, ""))
	{
		/* In other encodings the engine knows no case of them; and a range has more than is written. */
		if ((GetDatabaseEncoding() != PG_UTF8 && pg_database_encoding_max_length() > 1) ||
		    memchr(p, '-', n) != NULL)
			return false;
	}
	characters = palloc(((Size) n + 1) * sizeof(pg_wchar));
	n = pg_mb2wchar_with_len(p, characters, n);
	for (int i = 0; i < n && closed; i++)
		closed = is_closed(characters[i]);
	pfree(characters);
	return closed;
}

static bool
folds_alike(bool regex, Oid collation, const text *pattern)
{
	const char *database = ctype_of_database(), *here = ctype_of(collation);
	const char *p = VARDATA_ANY(pattern);
	int n = VARSIZE_ANY_EXHDR(pattern);
	bool libc = database != NULL && here != NULL;
	bool same = libc && ((is_c(database) && is_c(here)) || is_same_locale(database, here));
	bool c = libc && is_c(here) && towlower(L'I') == L'i';

	if (!regex)
		return same || c || is_ascii(p, n, "iIkK");
	if (same && is_closed_regex(p, n))
		return true;
	return !names_codes(p, n) && is_ascii(p, n, c ? "" : "iIkK-");
}

bool
pbfidx_folds_alike(Oid function, Oid collation, Datum pattern)
{
	switch (function)
	{
		case F_TEXTICLIKE:
			return folds_alike(false, collation, DatumGetTextPP(pattern));
		case F_TEXTREGEXEQ:
		case F_TEXTICREGEXEQ:
			return folds_alike(true, collation, DatumGetTextPP(pattern));
		default:
			return true;
	}
}

/*
 * folding.c: whether keys in lower case say something about a condition that ignores case.
 *
 * ILIKE takes the lower case of both sides. So keys do if the collation of the condition has the database's
 * character classification: both of libc, of one locale; from 18 on, where pg_trgm no longer uses libc, the
 * server's own C and C.UTF-8 too.
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

#include "compat.h"
#include "index/folding.h"

/* Who classifies characters, and by which locale. */
typedef struct Classification
{
	char provider;
	char *locale; /* NULL: not known by name */
} Classification;

static char *
text_attribute(int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool isnull;
	Datum value = SysCacheGetAttr(cache, tuple, attribute, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static Classification
classification_of_database(void)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	Classification c = {0, NULL};

	if (!HeapTupleIsValid(tuple))
		return c;
	c.provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	if (c.provider == COLLPROVIDER_LIBC)
		c.locale = text_attribute(DATABASEOID, tuple, Anum_pg_database_datctype);
	else if (PBF_TRIGRAMS_BY_PROVIDER)
		c.locale = text_attribute(DATABASEOID, tuple, PBF_DATABASE_LOCALE);
	ReleaseSysCache(tuple);
	return c;
}

static Classification
classification_of(Oid collation)
{
	HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Classification c = {0, NULL};

	if (!HeapTupleIsValid(tuple))
		return c;
	c.provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	if (c.provider == COLLPROVIDER_LIBC)
		c.locale = text_attribute(COLLOID, tuple, Anum_pg_collation_collctype);
	ReleaseSysCache(tuple);
	return c.provider == COLLPROVIDER_DEFAULT ? classification_of_database() : c;
}

static bool
is_c(const Classification *c)
{
	return c->provider == COLLPROVIDER_LIBC && c->locale != NULL &&
	       (strcmp(c->locale, "C") == 0 || strcmp(c->locale, "POSIX") == 0);
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

/* Whether trigrams, and conditions under the database's own collation, are folded alike, character by
 * character. Final sigmas and the like take a look at the whole string, where trigrams are made of a word. */
static bool
is_consistent(const Classification *database)
{
	if (database->provider == COLLPROVIDER_LIBC)
		return true;
	return PBF_TRIGRAMS_BY_PROVIDER && database->provider == PBF_COLLPROVIDER_BUILTIN &&
	       database->locale != NULL &&
	       (strcmp(database->locale, "C") == 0 || strcmp(database->locale, "C.UTF-8") == 0);
}

static bool
is_same(const Classification *a, const Classification *b)
{
	if (a->provider != b->provider || a->locale == NULL || b->locale == NULL)
		return false;
	return (is_c(a) && is_c(b)) || is_same_locale(a->locale, b->locale);
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
	Classification database = classification_of_database(), here = classification_of(collation);
	const char *p = VARDATA_ANY(pattern);
	int n = VARSIZE_ANY_EXHDR(pattern);
	bool same = is_consistent(&database) && is_same(&database, &here);
	bool libc = database.provider == COLLPROVIDER_LIBC;
	bool c = libc && is_c(&here) && towlower(L'I') == L'i';

	if (!regex)
		return same || c || is_ascii(p, n, "iIkK");
	if (same && libc && is_closed_regex(p, n))
		return true;
	return !names_codes(p, n) && is_ascii(p, n, same || c ? "" : "iIkK-");
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

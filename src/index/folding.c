/*
 * folding.c: whether keys in lower case say something about a condition that ignores case.
 *
 * pg_trgm takes words, as libc classifies characters, in lower case: libc's up to 17, since then that of the
 * database's own collation.
 *
 * ILIKE takes the lower case of both sides. So keys do if condition and database have one locale of libc.
 * Under C and POSIX nothing but A to Z changes, which is no matter unless the database is Turkish. Under any
 * other locale what remains are patterns of ASCII without I and K: the only characters that have a letter of
 * ASCII as their lower case are A to Z and two more, U+0130 and U+212A, and Turkish has other ones for I.
 * Under the database's own, of another provider, these two do no harm if libc knows them; a Lithuanian one
 * has more.
 *
 * LIKE ignores no case, but the lower case of a piece of a word may be another one than in the word: that of
 * a sigma, where a provider other than libc has regard to its place.
 *
 * Of a regular expression, case sensitive or not, pg_trgm takes the characters that the engine puts in the
 * place of one if it ignores case, its lower and its upper case, and leaves out those that are not in lower
 * case. So their lower case has to be among them, which is so for ASCII (a named locale of libc may be
 * Turkish), under the database's own locale of libc for others too, but not for the final sigma or the
 * dotless i. And what matches must not become less because case is ignored, as it does by what must not
 * follow, by a class within the complement of another one, and if the expression itself says that case
 * counts.
 */
#include "postgres.h"

#include <ctype.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <wctype.h>

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/syscache.h"

#include "compat.h"
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

static bool
is_c(const char *ctype)
{
	return strcmp(ctype, "C") == 0 || strcmp(ctype, "POSIX") == 0;
}

static uint32
hash_version(uint32 hash, const char *version)
{
	if (version == NULL)
		return hash;
	return hash_combine(hash, hash_bytes((const unsigned char *) version, (int) strlen(version))) | 1;
}

/* That of the server says how strings are ordered; C.UTF-8 has one order, and the letters of its libc. */
static const char *
libc_version(const char *ctype)
{
	if (ctype == NULL || is_c(ctype))
		return NULL;
#ifdef __GLIBC__
	return gnu_get_libc_version();
#else
	return get_collation_actual_version(COLLPROVIDER_LIBC, ctype);
#endif
}

uint32
pbfidx_locale_version(void)
{
	static bool known;
	static uint32 version;
	HeapTuple tuple;
	char provider, *locale;

	if (known)
		return version;
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (!HeapTupleIsValid(tuple))
		return 0;
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	locale = text_attribute(DATABASEOID, tuple, Anum_pg_database_datctype);
	version = hash_version(0, libc_version(locale));
	locale = text_attribute(DATABASEOID, tuple, PBF_DATABASE_LOCALE);
	if (provider != COLLPROVIDER_LIBC && locale != NULL)
		version = hash_version(version, get_collation_actual_version(provider, locale));
	ReleaseSysCache(tuple);
	known = true;
	return version;
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

/* Whether one of certain characters comes somewhere right after another one. */
static bool
has_pair(const char *p, int n, char first, const char *second)
{
	for (int i = 0; i + 1 < n; i++)
	{
		if (p[i] == first && p[i + 1] != '\0' && strchr(second, p[i + 1]) != NULL)
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

/* Whether the database has the lower case of I that ASCII has, by libc and by its own provider. */
static bool
is_i_regular(void)
{
	return towlower(L'I') == L'i' && strcmp(str_tolower("I", 1, DEFAULT_COLLATION_OID), "i") == 0;
}

/* Whether libc has U+0130 and U+212A for letters, with lower case ones of ASCII. */
static bool
knows_i_and_k(void)
{
	return GetDatabaseEncoding() == PG_UTF8 && iswalpha(0x0130) && iswalpha(0x212A) &&
	       towlower(0x0130) == L'i' && towlower(0x212A) == L'k';
}

/* Whether the database's own lower case of an accented I begins with that of I, as in Lithuanian. */
static bool
splits_accents(void)
{
	static const char *const accented[] = {"\xc3\x8c", "\xc3\x8d", "\xc4\xa8"}; /* U+00CC, U+00CD, U+0128 */

	for (size_t i = 0; i < lengthof(accented); i++)
	{
		if (str_tolower(accented[i], 2, DEFAULT_COLLATION_OID)[0] == 'i')
			return true;
	}
	return false;
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

/* Whether that can be said of letters beyond ASCII. In encodings of several bytes but UTF-8 the engine knows
 * no case of them, and libc has to have the database's locale. */
static bool
is_case_known(bool c)
{
	return pg_database_encoding_max_length() == 1 ||
	       (GetDatabaseEncoding() == PG_UTF8 && (c || knows_i_and_k()));
}

/* The same for all characters of a regular expression, under the database's locale of libc. */
static bool
is_closed_regex(const char *p, int n, bool c)
{
	pg_wchar *characters;
	bool closed = true;

	/* A range has more than is written. */
	if (!is_ascii(p, n, "") && (!is_case_known(c) || memchr(p, '-', n) != NULL))
		return false;
	characters = palloc(((Size) n + 1) * sizeof(pg_wchar));
	n = pg_mb2wchar_with_len(p, characters, n);
	for (int i = 0; i < n && closed; i++)
		closed = is_closed(characters[i]);
	pfree(characters);
	return closed;
}

/* The locales of a condition and of the database. */
typedef struct Locales
{
	bool own;     /* the database's own collation */
	bool libc_db; /* the database's is of libc */
	bool libc;    /* the condition's is of libc, */
	bool c;       /* and C or POSIX */
	bool same;    /* both are one of libc */
	bool regular; /* see is_i_regular */
} Locales;

static Locales
locales_of(Oid collation)
{
	const char *database = ctype_of_database(), *here = ctype_of(collation);
	Locales l = {.own = collation == DEFAULT_COLLATION_OID,
	             .libc_db = database != NULL,
	             .libc = here != NULL,
	             .regular = is_i_regular()};

	l.c = l.libc && is_c(here);
	l.same = l.libc && database != NULL && ((l.c && is_c(database)) || is_same_locale(database, here));
	return l;
}

static bool
is_ilike_alike(const Locales *l, const char *p, int n)
{
	/* Of one byte, the server has another lower case of I than libc. */
	if (l->same && (l->regular || GetDatabaseEncoding() == PG_UTF8))
		return true;
	/* What pg_trgm makes of letters beyond ASCII that are the same is the same. */
	if (l->c && l->regular && l->libc_db)
		return true;
	return is_ascii(p, n, l->own && l->regular && knows_i_and_k() && !splits_accents() ? "" : "iIkK");
}

static bool
is_like_alike(const char *p, int n)
{
	if (ctype_of_database() != NULL)
		return true;
	return GetDatabaseEncoding() == PG_UTF8 ? !has_pair(p, n, '\xce', "\xa3") /* U+03A3 */
	                                        : is_ascii(p, n, "");
}

/* Options, and what must follow or precede, or must not: what begins with (? but for (?: and with ***. */
static bool
has_constraint(const char *p, int n)
{
	for (int i = 0; i + 2 < n; i++)
	{
		if (p[i] == '(' && p[i + 1] == '?' && p[i + 2] != ':')
			return true;
	}
	return n >= 3 && memcmp(p, "***", 3) == 0;
}

static bool
is_regex_alike(const Locales *l, const char *p, int n)
{
	/* Characters by their codes: \uwxyz, \Ustuvwxyz, \xhhh, \octal. */
	if (has_pair(p, n, '\\', "uUx01234567"))
		return false;
	if (has_constraint(p, n))
		return false;
	if (has_pair(p, n, '[', "^") && has_pair(p, n, '\\', "WSD"))
		return false;
	if (!l->regular)
		return is_ascii(p, n, "iIkK-") && !has_pair(p, n, '[', ":") && !has_pair(p, n, '\\', "wWSD");
	if (l->same && is_closed_regex(p, n, l->c))
		return true;
	return is_ascii(p, n, !l->libc || l->c ? "" : "iIkK-");
}

/* ---- functions ---- */

typedef enum Meaning
{
	MEANS_LIKE,
	MEANS_ILIKE,
	MEANS_REGEX,
	MEANS_NO_CASE, /* nobody knows, perhaps the same in lower case */
	MEANS_OTHER    /* as the class's functions take it */
} Meaning;

static char *
proc_attribute(Oid function, AttrNumber attribute)
{
	HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	char *result = NULL;

	if (HeapTupleIsValid(row))
	{
		result = text_attribute(PROCOID, row, attribute);
		ReleaseSysCache(row);
	}
	return result;
}

static bool
is_equal_string(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static Meaning
meaning_of(Oid function, Oid extract_query)
{
	switch (function)
	{
		case F_TEXTLIKE:
			return MEANS_LIKE;
		case F_TEXTICLIKE:
			return MEANS_ILIKE;
		case F_TEXTREGEXEQ:
		case F_TEXTICREGEXEQ:
		case F_REGEXP_LIKE_TEXT_TEXT:
			return MEANS_REGEX;
		default:
			break;
	}
	if (function < FirstNormalObjectId ||
	    !is_equal_string(proc_attribute(extract_query, Anum_pg_proc_prosrc), "gin_extract_query_trgm") ||
	    is_equal_string(proc_attribute(function, Anum_pg_proc_probin),
	                    proc_attribute(extract_query, Anum_pg_proc_probin)))
		return MEANS_OTHER;
	return MEANS_NO_CASE;
}

#define REGEX_STRATEGY 5 /* of pg_trgm's classes; and the next one, without regard to case */

static bool
is_alike(Meaning meaning, const Locales *l, const char *p, int n)
{
	return meaning == MEANS_REGEX ? is_regex_alike(l, p, n) : is_ilike_alike(l, p, n);
}

bool
pbfidx_folds_alike(Oid function, Oid extract_query, StrategyNumber strategy, Oid collation, Datum pattern)
{
	Meaning meaning = meaning_of(function, extract_query);
	bool unknown = meaning == MEANS_NO_CASE;
	Locales here, own;
	const text *t;
	const char *p;
	int n;

	if (meaning == MEANS_OTHER)
		return true;
	t = DatumGetTextPP(pattern);
	p = VARDATA_ANY(t);
	n = VARSIZE_ANY_EXHDR(t);
	if (meaning == MEANS_LIKE)
		return is_like_alike(p, n);
	if (unknown && (strategy == REGEX_STRATEGY || strategy == REGEX_STRATEGY + 1))
		meaning = MEANS_REGEX;
	here = locales_of(collation);
	if (!unknown)
		return is_alike(meaning, &here, p, n);
	/* citext has the database's lower case, whatever the collation. */
	own = locales_of(DEFAULT_COLLATION_OID);
	return is_alike(meaning, &here, p, n) && is_alike(meaning, &own, p, n);
}

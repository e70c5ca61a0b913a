/*
 * folding.h: whether keys in lower case say something about a condition that ignores case.
 *
 * pg_trgm makes trigrams of words in lower case, as the database's locale has it, and expects of ILIKE and
 * regular expressions that they mean the same by it. Under another collation they do not: then a row that
 * matches may have other trigrams.
 */
#ifndef PBF_INDEX_FOLDING_H
#define PBF_INDEX_FOLDING_H

/* Of a condition with that function, under a collation, on a constant. Other functions than those of ILIKE
 * and regular expressions: always. */
extern bool pbfidx_folds_alike(Oid function, Oid collation, Datum pattern);
/* Hash of the version that the database's locale has here, by libc and by its own provider; 0: neither has
 * one. */
extern uint32 pbfidx_locale_version(void);

#endif

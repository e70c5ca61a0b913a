/*
 * folding.h: whether keys in lower case say something about a condition that ignores case.
 *
 * pg_trgm makes trigrams of words in lower case, as the database's locale has it, and expects of ILIKE and
 * regular expressions that they mean the same by it. Under another collation they do not: then a row that
 * matches may have other trigrams.
 */
#ifndef PBF_INDEX_FOLDING_H
#define PBF_INDEX_FOLDING_H

#include "postgres.h"
#include "access/stratnum.h"

/*
 * Of a condition with that function of its operator, under a collation, on a constant; extract_query: the
 * class's. LIKE, ILIKE and regular expressions may not; what else the server and pg_trgm have does. Functions
 * of others over trigrams, such as citext's =, are taken for something that ignores case, too, and for a
 * regular expression by their strategy.
 */
extern bool pbfidx_folds_alike(Oid function, Oid extract_query, StrategyNumber strategy, Oid collation,
                               Datum pattern);
/* Hash of the version that the database's locale has here, by libc and by its own provider; 0: neither has
 * one. */
extern uint32 pbfidx_locale_version(void);

#endif

/*
 * rights.h: code of the table's owner, run for somebody else.
 *
 * Expressions, predicates and support functions are the owner's: maintenance and checks run them as the
 * owner, in a security-restricted operation and with a search_path that leads to nobody's traps.
 */
#ifndef PBF_INDEX_RIGHTS_H
#define PBF_INDEX_RIGHTS_H

#include "postgres.h"
#include "utils/elog.h"
#include "utils/rel.h"

#define PBFIDX_SAFE_SEARCH_PATH "pg_catalog, pg_temp"

/* Whose rights there were before. */
typedef struct PbfidxRights
{
	Oid user;
	int context;
	int nest;
	ErrorContextCallback told;
} PbfidxRights;

/* Whether keys are made by code of the table's owner, or by support functions that do not come with the
 * server.
 */
extern bool pbfidx_runs_owners_code(Relation index);

extern void pbfidx_become_owner(PbfidxRights *saved, Relation heap, Relation index);
/* After an error the end of the (sub)transaction does it. */
extern void pbfidx_become_oneself(const PbfidxRights *saved);

#endif

/*
 * rights.c: code of the table's owner, run for somebody else.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "index/keys.h"
#include "index/rights.h"

bool
pbfidx_runs_owners_code(Relation index)
{
	int n = IndexRelationGetNumberOfKeyAttributes(index);

	/* (To parse them may fail.) */
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
	    !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return true;
	for (int i = 1; i <= n; i++)
	{
		if (OidIsValid(index_getprocid(index, i, PBFIDX_HASH_PROC)) ||
		    index_getprocid(index, i, PBFIDX_EXTRACT_VALUE_PROC) >= FirstNormalObjectId)
			return true;
	}
	return pbfidx_is_any_interpreted(pbfidx_hashers(index, CurrentMemoryContext), n);
}

static void
tell_search_path(void *index)
{
	errcontext("functions of index \"%s\" run as the table's owner, with search_path = %s",
	           RelationGetRelationName((Relation) index), PBFIDX_SAFE_SEARCH_PATH);
}

void
pbfidx_become_owner(PbfidxRights *saved, Relation heap, Relation index)
{
	bool tells = pbfidx_runs_owners_code(index);

	GetUserIdAndSecContext(&saved->user, &saved->context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, saved->context | SECURITY_RESTRICTED_OPERATION);
	saved->nest = NewGUCNestLevel();
	(void) set_config_option("search_path", PBFIDX_SAFE_SEARCH_PATH, PGC_USERSET, PGC_S_SESSION,
	                         GUC_ACTION_SAVE, true, 0, false);
	saved->told = (ErrorContextCallback){error_context_stack, tell_search_path, index};
	if (tells)
		error_context_stack = &saved->told;
}

void
pbfidx_become_oneself(const PbfidxRights *saved)
{
	error_context_stack = saved->told.previous;
	AtEOXact_GUC(false, saved->nest);
	SetUserIdAndSecContext(saved->user, saved->context);
}

/*
 * rights.c: code of the table's owner, run for somebody else.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "index/rights.h"

static void
tell_search_path(void *index)
{
	errcontext("functions of index \"%s\" run as the table's owner, with search_path = %s",
	           RelationGetRelationName((Relation) index), PBFIDX_SAFE_SEARCH_PATH);
}

void
pbfidx_become_owner(PbfidxRights *saved, Relation heap, Relation index)
{
	GetUserIdAndSecContext(&saved->user, &saved->context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, saved->context | SECURITY_RESTRICTED_OPERATION);
	saved->nest = NewGUCNestLevel();
	(void) set_config_option("search_path", PBFIDX_SAFE_SEARCH_PATH, PGC_USERSET, PGC_S_SESSION,
	                         GUC_ACTION_SAVE, true, 0, false);
	saved->told = (ErrorContextCallback){error_context_stack, tell_search_path, index};
	error_context_stack = &saved->told;
}

void
pbfidx_become_oneself(const PbfidxRights *saved)
{
	error_context_stack = saved->told.previous;
	AtEOXact_GUC(false, saved->nest);
	SetUserIdAndSecContext(saved->user, saved->context);
}

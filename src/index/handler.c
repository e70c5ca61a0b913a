/*
 * handler.c: the access method's face to the server.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "compat.h"
#include "index/build.h"
#include "index/cost.h"
#include "index/directory.h"
#include "index/insert.h"
#include "index/keys.h"
#include "index/options.h"
#include "index/scan.h"
#include "index/vacuum.h"
#include "index/validate.h"

PG_FUNCTION_INFO_V1(pbfidx_handler);

/* What a statement keeps from row to row. */
typedef struct InsertState
{
	PbfidxHasher *hashers;
	int columns;
	int groups;
	bool row_key;
	PbfidxKeyList keys;
	MemoryContext mcxt; /* reset after every row */
} InsertState;

static InsertState *
insert_state(Relation index, IndexInfo *info)
{
	InsertState *state = info->ii_AmCache;

	if (state == NULL)
	{
		state = MemoryContextAlloc(info->ii_Context, sizeof(InsertState));
		state->hashers = pbfidx_hashers(index, info->ii_Context);
		state->columns = IndexRelationGetNumberOfKeyAttributes(index);
		for (int i = 0; i < state->columns; i++)
			pbfidx_require_same_kind(index, &state->hashers[i]);
		pbfidx_note_locale(index);
		state->groups = (int) pbfidx_cache(index)->groups;
		pbfidx_init_key_list(&state->keys, info->ii_Context);
		state->row_key = (pbfidx_cache(index)->flags & PBFIDX_ROW_KEY) != 0;
		state->mcxt = AllocSetContextCreate(info->ii_Context, "pbfidx insert", ALLOCSET_SMALL_SIZES);
		info->ii_AmCache = state;
	}
	return state;
}

/* aminsert: one row version. */
static bool
insert_row(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
           IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	InsertState *state = insert_state(index, info);
	MemoryContext old = MemoryContextSwitchTo(state->mcxt);

	(void) heap;
	(void) unique;
	(void) unchanged;
	for (int group = 0; group < state->groups; group++)
	{
		state->keys.n = 0;
		pbfidx_row_keys(state->hashers, state->columns, group, state->row_key, values, isnull, &state->keys);
		pbfidx_insert_keys(index, group, ItemPointerGetBlockNumber(tid), state->keys.keys, state->keys.n);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->mcxt);
	/* The server has asked before the bits were set: a serializable scan may have come in between. */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
	return false;
}

static char *
build_phase_name(int64 phase)
{
	return phase == 1 ? "scanning table" : NULL;
}

Datum
pbfidx_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = pbf_index_am_routine();

	(void) fcinfo;
	am->amstrategies = 0;
	am->amsupport = PBFIDX_PROCS;
	am->amoptsprocnum = PBFIDX_OPTIONS_PROC;
	am->amcanorder = false;
	am->amcanorderbyop = false;
	am->amcanbackward = false;
	am->amcanunique = false;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
	am->amstorage = true;
	am->amclusterable = false;
	am->ampredlocks = false;
	am->amcanparallel = false;
	am->amcaninclude = false;
	am->amusemaintenanceworkmem = false;
	am->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	am->amkeytype = InvalidOid;
	pbf_set_summarizing(am);
	pbf_set_can_build_parallel(am);
	am->ambuild = pbfidx_build;
	am->ambuildempty = pbfidx_buildempty;
	am->aminsert = insert_row;
	am->ambulkdelete = pbfidx_bulkdelete;
	am->amvacuumcleanup = pbfidx_vacuumcleanup;
	am->amcanreturn = NULL;
	am->amcostestimate = pbfidx_costestimate;
	am->amoptions = pbfidx_options;
	am->amproperty = NULL;
	am->ambuildphasename = build_phase_name;
	am->amvalidate = pbfidx_validate;
	am->amadjustmembers = NULL;
	am->ambeginscan = pbfidx_beginscan;
	am->amrescan = pbfidx_rescan;
	am->amgettuple = NULL;
	am->amgetbitmap = pbfidx_getbitmap;
	am->amendscan = pbfidx_endscan;
	am->ammarkpos = NULL;
	am->amrestrpos = NULL;
	am->amestimateparallelscan = NULL;
	am->aminitparallelscan = NULL;
	am->amparallelrescan = NULL;
	PG_RETURN_POINTER(am);
}

/*
 * points.c: faults at every place where the extension depends on the server: tests only.
 *
 * The linker redirects calls that the extension makes to the functions below (ld --wrap; lib.sh has the
 * list). Each counts, and where the count reaches `fault.at` the fault happens:
 *
 * - kind wal: after a WAL record. `crash`: what is logged up to there is on disk, the process is killed and
 * the server recovers. `cancel`: the query is cancelled, which takes effect as soon as the extension looks.
 * `pause`: once the extension has let go of its pages, it waits until nobody holds the advisory lock 1.
 * - kind memory: an allocation fails. kind read: reading a page fails, as a damaged disk would make it.
 *
 * SELECT fault_count() tells how many there were since `SET fault.at`.
 */
#include "postgres.h"

#include <signal.h>

#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/palloc.h"

typedef enum Kind
{
	NONE,
	WAL,
	MEMORY,
	READ
} Kind;

typedef enum Action
{
	CRASH,
	CANCEL,
	PAUSE
} Action;

static const struct config_enum_entry kinds[] = {{"none", NONE, false},
                                                 {"wal", WAL, false},
                                                 {"memory", MEMORY, false},
                                                 {"read", READ, false},
                                                 {NULL, 0, false}};
static const struct config_enum_entry actions[] = {
    {"crash", CRASH, false}, {"cancel", CANCEL, false}, {"pause", PAUSE, false}, {NULL, 0, false}};

static int kind = NONE;
static int action = CRASH;
static int at = 0;
static int count = 0;
static bool pausing = false;

static void
assign_at(int value, void *extra)
{
	(void) value;
	(void) extra;
	count = 0;
}

/* Not the extension's _PG_init: the loader calls this before that. */
static void __attribute__((constructor)) define_settings(void)
{
	DefineCustomEnumVariable("fault.kind", "What fails.", NULL, &kind, NONE, kinds, PGC_USERSET, 0, NULL,
	                         NULL, NULL);
	DefineCustomEnumVariable("fault.action", "What happens after a WAL record.", NULL, &action, CRASH,
	                         actions, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("fault.at", "Which one fails; 0: none.", NULL, &at, 0, 0, INT_MAX, PGC_USERSET, 0,
	                        NULL, assign_at, NULL);
}

PG_FUNCTION_INFO_V1(fault_count);
Datum
fault_count(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_INT32(count);
}

static bool
reached(Kind which)
{
	return kind == (int) which && ++count == at;
}

/* ---- WAL ---- */

static void
logged(void)
{
	if (!reached(WAL))
		return;
	if (action == CRASH)
	{
		/* Not to where the next record would begin: that may be on a page that does not exist yet. */
		XLogFlush(XactLastRecEnd);
		kill(MyProcPid, SIGKILL);
		for (;;)
			pg_usleep(1000000);
	}
	if (action == CANCEL)
		InterruptPending = QueryCancelPending = true;
	else
		pausing = true;
}

extern XLogRecPtr __real_XLogInsert(RmgrId rmid, uint8 info);
extern XLogRecPtr __wrap_XLogInsert(RmgrId rmid, uint8 info);
XLogRecPtr
__wrap_XLogInsert(RmgrId rmid, uint8 info)
{
	XLogRecPtr result = __real_XLogInsert(rmid, info);

	logged();
	return result;
}

extern XLogRecPtr __real_log_newpage_buffer(Buffer buffer, bool standard);
extern XLogRecPtr __wrap_log_newpage_buffer(Buffer buffer, bool standard);
XLogRecPtr
__wrap_log_newpage_buffer(Buffer buffer, bool standard)
{
	XLogRecPtr result = __real_log_newpage_buffer(buffer, standard);

	logged();
	return result;
}

extern XLogRecPtr __real_GenericXLogFinish(GenericXLogState *state);
extern XLogRecPtr __wrap_GenericXLogFinish(GenericXLogState *state);
XLogRecPtr
__wrap_GenericXLogFinish(GenericXLogState *state)
{
	XLogRecPtr result = __real_GenericXLogFinish(state);

	logged();
	return result;
}

extern void __real_UnlockReleaseBuffer(Buffer buffer);
extern void __wrap_UnlockReleaseBuffer(Buffer buffer);
void
__wrap_UnlockReleaseBuffer(Buffer buffer)
{
	LOCKTAG tag;

	__real_UnlockReleaseBuffer(buffer);
	/* The metapage and the directory page are released one after the other. */
	if (!pausing || InterruptHoldoffCount > 0)
		return;
	pausing = false;
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 1, 1);
	LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

/* ---- memory ---- */

static void
allocate(void)
{
	if (reached(MEMORY))
		ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
		        errdetail("Allocation %d fails.", at));
}

extern void *__real_palloc(Size size);
extern void *__wrap_palloc(Size size);
void *
__wrap_palloc(Size size)
{
	allocate();
	return __real_palloc(size);
}

extern void *__real_palloc0(Size size);
extern void *__wrap_palloc0(Size size);
void *
__wrap_palloc0(Size size)
{
	allocate();
	return __real_palloc0(size);
}

extern void *__real_repalloc(void *pointer, Size size);
extern void *__wrap_repalloc(void *pointer, Size size);
void *
__wrap_repalloc(void *pointer, Size size)
{
	allocate();
	return __real_repalloc(pointer, size);
}

extern void *__real_MemoryContextAlloc(MemoryContext context, Size size);
extern void *__wrap_MemoryContextAlloc(MemoryContext context, Size size);
void *
__wrap_MemoryContextAlloc(MemoryContext context, Size size)
{
	allocate();
	return __real_MemoryContextAlloc(context, size);
}

extern void *__real_MemoryContextAllocExtended(MemoryContext context, Size size, int flags);
extern void *__wrap_MemoryContextAllocExtended(MemoryContext context, Size size, int flags);
void *
__wrap_MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	allocate();
	return __real_MemoryContextAllocExtended(context, size, flags);
}

/* ---- reading ---- */

static void
read_page(void)
{
	if (reached(READ))
		ereport(ERROR, errcode(ERRCODE_IO_ERROR), errmsg("could not read block"),
		        errdetail("Read %d fails.", at));
}

extern Buffer __real_ReadBuffer(Relation relation, BlockNumber block);
extern Buffer __wrap_ReadBuffer(Relation relation, BlockNumber block);
Buffer
__wrap_ReadBuffer(Relation relation, BlockNumber block)
{
	read_page();
	return __real_ReadBuffer(relation, block);
}

extern Buffer __real_ReadBufferExtended(Relation relation, ForkNumber fork, BlockNumber block,
                                        ReadBufferMode mode, BufferAccessStrategy strategy);
extern Buffer __wrap_ReadBufferExtended(Relation relation, ForkNumber fork, BlockNumber block,
                                        ReadBufferMode mode, BufferAccessStrategy strategy);
Buffer
__wrap_ReadBufferExtended(Relation relation, ForkNumber fork, BlockNumber block, ReadBufferMode mode,
                          BufferAccessStrategy strategy)
{
	read_page();
	return __real_ReadBufferExtended(relation, fork, block, mode, strategy);
}

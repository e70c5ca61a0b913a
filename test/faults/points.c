/*
 * points.c: faults at every place where the extension depends on the server: tests only.
 *
 * The linker redirects calls that the extension makes to the functions below (ld --wrap; lib.sh has the
 * list). Each counts, and where the count reaches `fault.at` the fault happens:
 *
 * - kind wal: after a WAL record. `crash`: what is logged up to there is on disk, the process is killed and
 * the server recovers. `cancel`: the query is cancelled, which takes effect as soon as the extension looks.
 * `pause`: once the extension has let go of its pages, it waits until nobody holds the advisory lock 1.
 * - kind memory: an allocation fails.
 * - kind read: reading a page fails, as a damaged disk would make it; or, `cancel`, the query is cancelled.
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
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#endif
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
	DefineCustomEnumVariable("fault.action", "What happens after a WAL record, or when a page is read.", NULL,
	                         &action, CRASH, actions, PGC_USERSET, 0, NULL, NULL, NULL);
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

/* A function of the server that allocates. */
#define ALLOCATES(result, name, parameters, arguments) \
	extern result __real_##name parameters;            \
	extern result __wrap_##name parameters;            \
	result __wrap_##name parameters                    \
	{                                                  \
		allocate();                                    \
		return __real_##name arguments;                \
	}

ALLOCATES(void *, palloc, (Size size), (size))
ALLOCATES(void *, palloc0, (Size size), (size))
ALLOCATES(void *, palloc_extended, (Size size, int flags), (size, flags))
ALLOCATES(void *, repalloc, (void *pointer, Size size), (pointer, size))
ALLOCATES(void *, repalloc_huge, (void *pointer, Size size), (pointer, size))
ALLOCATES(void *, MemoryContextAlloc, (MemoryContext context, Size size), (context, size))
ALLOCATES(void *, MemoryContextAllocHuge, (MemoryContext context, Size size), (context, size))
ALLOCATES(void *, MemoryContextAllocZero, (MemoryContext context, Size size), (context, size))
ALLOCATES(void *, MemoryContextAllocExtended, (MemoryContext context, Size size, int flags),
          (context, size, flags))
ALLOCATES(MemoryContext, AllocSetContextCreateInternal,
          (MemoryContext parent, const char *name, Size least, Size first, Size most),
          (parent, name, least, first, most))

/* ---- reading ---- */

static void
read_page(void)
{
	if (!reached(READ))
		return;
	if (action == CANCEL)
		InterruptPending = QueryCancelPending = true;
	else
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

#if PG_VERSION_NUM >= 170000
extern Buffer __real_read_stream_next_buffer(ReadStream *stream, void **data);
extern Buffer __wrap_read_stream_next_buffer(ReadStream *stream, void **data);
Buffer
__wrap_read_stream_next_buffer(ReadStream *stream, void **data)
{
	read_page();
	return __real_read_stream_next_buffer(stream, data);
}
#endif

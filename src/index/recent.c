/*
 * recent.c: pages of the index found where this process last saw them among the shared buffers.
 */
#include "postgres.h"

#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"

#include "compat.h"
#include "index/recent.h"

/* At most 256 KB in each process that has scanned the index, which is enough for 512 MB of it. */
#define MIN_BUFFERS 64
#define MAX_BUFFERS 65536

/* ReadRecentBuffer does not count as a use where the server looks for a buffer to replace: every so many
 * reads one takes the ordinary way, so that pages in use are seen to be. */
#define ORDINARY_READ_EVERY 31 /* no divisor of what look-ups read */

uint32
pbfidx_recent_size(BlockNumber blocks)
{
	return pg_nextpower2_32(Min(Max(blocks, MIN_BUFFERS), MAX_BUFFERS));
}

void
pbfidx_prefetch_buffer(Buffer buffer)
{
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1); /* to be written: pin and lock */
	__builtin_prefetch((const char *) BufferGetPage(buffer) + BLCKSZ - 1);
}

Buffer
pbfidx_read_and_note(Relation index, PbfidxRecent *recent, BlockNumber block)
{
	Buffer buffer = ReadBuffer(index, block);

	/* Those of temporary tables are found without locks. */
	if (!BufferIsLocal(buffer))
		*pbfidx_recent(recent, block) = buffer;
	return buffer;
}

/* The pinned buffer, if it has the block; else InvalidBuffer. */
static Buffer
pin_if_there(Relation relation, BlockNumber block, Buffer buffer)
{
	if (!ReadRecentBuffer(pbf_relation_locator(relation), MAIN_FORKNUM, block, buffer))
		return InvalidBuffer;
	pgstat_count_buffer_read(relation);
	pgstat_count_buffer_hit(relation);
	return buffer;
}

Buffer
pbfidx_read_seen(Relation relation, BlockNumber block, Buffer seen)
{
	Buffer buffer = InvalidBuffer;

	if (BufferIsValid(seen) && !BufferIsLocal(seen))
		buffer = pin_if_there(relation, block, seen);
	return BufferIsValid(buffer) ? buffer : ReadBuffer(relation, block);
}

Buffer
pbfidx_try_recent(Relation index, PbfidxRecent *recent, BlockNumber block)
{
	Buffer buffer = *pbfidx_recent(recent, block);

	if (!BufferIsValid(buffer))
		return InvalidBuffer;
	if (recent->reads++ % ORDINARY_READ_EVERY == 0)
		return pbfidx_read_and_note(index, recent, block);
	return pin_if_there(index, block, buffer);
}

Buffer
pbfidx_read_buffer(Relation index, PbfidxRecent *recent, BlockNumber block)
{
	Buffer buffer = pbfidx_try_recent(index, recent, block);

	return BufferIsValid(buffer) ? buffer : pbfidx_read_and_note(index, recent, block);
}

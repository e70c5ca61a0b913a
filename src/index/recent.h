/*
 * recent.h: pages of the index found where this process last saw them among the shared buffers.
 *
 * The server finds a buffer by its buffer table: some cache misses, each of which has to wait for the one
 * before. A look-up in a large index reads a hundred pages, so we keep, in the index's cache, the buffer that
 * each block was in when it was last read. What is kept may be wrong; the server checks it
 * (ReadRecentBuffer).
 */
#ifndef PBF_INDEX_RECENT_H
#define PBF_INDEX_RECENT_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Buffers by block number modulo their number, a power of two; 0: not known. */
typedef struct PbfidxRecent
{
	uint32 mask;
	uint32 reads; /* so far */
	Buffer buffers[FLEXIBLE_ARRAY_MEMBER];
} PbfidxRecent;

/* How many buffers to keep for an index of so many blocks. */
extern uint32 pbfidx_recent_size(BlockNumber blocks);

/* Where the buffer of a block is noted. Valid as long as the cache of the index. */
static inline Buffer *
pbfidx_recent(PbfidxRecent *recent, BlockNumber block)
{
	return &recent->buffers[block & recent->mask];
}

/* Has the CPU fetch what tells which page is in a buffer, and what pins and locks it. */
extern void pbfidx_prefetch_buffer(Buffer buffer);

/* ReadBuffer of any relation, when the block was in a buffer a moment ago; that may be InvalidBuffer. Does
 * not count as a use when the server looks for a buffer to replace. */
extern Buffer pbfidx_read_seen(Relation relation, BlockNumber block, Buffer seen);

/* The pinned buffer of the block, if it is where it was; else InvalidBuffer. */
extern Buffer pbfidx_try_recent(Relation index, PbfidxRecent *recent, BlockNumber block);

/* ReadBuffer; where the buffer is will be known. */
extern Buffer pbfidx_read_and_note(Relation index, PbfidxRecent *recent, BlockNumber block);

/* The one or the other. */
extern Buffer pbfidx_read_buffer(Relation index, PbfidxRecent *recent, BlockNumber block);

#endif

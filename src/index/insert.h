/*
 * insert.h: setting the bits of keys in the slabs of one heap page, and making those slabs.
 */
#ifndef PBF_INDEX_INSERT_H
#define PBF_INDEX_INSERT_H

#include "index/directory.h"

/*
 * Sets the bits of n keys of a row on that heap page in one group, at both levels and in slabs being built,
 * logged. Makes the slabs if there are none yet. No lock held on entry or exit.
 */
extern void pbfidx_insert_keys(Relation index, int group, BlockNumber heap_block, const uint64 *keys, int n);

/* Whether pbfidx_insert_keys would find all these bits set. */
extern bool pbfidx_are_keys_set(Relation index, int group, BlockNumber heap_block, const uint64 *keys, int n);

/* Makes the leaf slab, and the upper of its region where that is due. Returns at once if another did. */
extern void pbfidx_grow(Relation index, uint32 leaf);

/* Distinct keys to expect in a range and a leaf slab of a region, from what its neighbours hold. */
extern double pbfidx_expected_range_keys(Relation index, uint32 leaf);

#endif

/*
 * sparse.h: a set of 64-bit hashes inside a PbfFilter: the state of an aggregate that was not told how many
 * keys will come. Its words are an open-addressing table: a power of two of slots, 0 = free; the hash 0
 * itself is a flag in word 0, which is not a slot. The rest of word 0 is a secret that slots are chosen with:
 * hashes may be anybody's choice, and must not be able to crowd into a few slots.
 *
 * - words[0]: bit 0: whether the set holds the hash 0; above: the secret
 * - words[1..]: slots
 *
 * In the external form the table is replaced by its hashes in ascending order.
 */
#ifndef PBF_CORE_SPARSE_H
#define PBF_CORE_SPARSE_H

#include "format.h"

#pragma GCC visibility push(protected)

/* Distinct hashes up to which a set is kept. Depends on nothing else, so that any order of adding and
 * combining ends alike. */
#define PBF_SPARSE_MAX (1u << 20)
#define PBF_SPARSE_MIN_SLOTS 4

/* Secret of the sets that this process makes: to be set once to something random; bit 0 is not used. */
extern uint64_t pbf_sparse_secret;

/* Bytes of a datum that holds a set of `count` hashes and can take one more without growing. */
extern uint64_t pbf_sparse_bytes(uint64_t count);
/* Zeroes the memory and makes it an empty set; `bytes` as from pbf_sparse_bytes. */
extern void pbf_sparse_init(PbfFilter *f, uint64_t bytes, PbfKind kind, double target);
/* Whether one more hash fits (load at most 2/3). */
extern bool pbf_sparse_has_room(const PbfFilter *f, uint64_t bytes);
/* Adds; requires room. Returns true if the hash was new. */
extern bool pbf_sparse_add(PbfFilter *f, uint64_t bytes, uint64_t h);
/* Whether it holds as many hashes as it says: what was stored may be damaged, and the others rely on it. */
extern bool pbf_sparse_valid(const PbfFilter *f, uint64_t bytes);
/* The hashes, f->blocks of them in no order, to out, which need not be aligned. */
extern void pbf_sparse_hashes(const PbfFilter *f, uint64_t bytes, void *out);

#pragma GCC visibility pop

#endif

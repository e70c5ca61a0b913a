/*
 * distinct.h: sorted lists of hashes.
 */
#ifndef PBF_TYPE_DISTINCT_H
#define PBF_TYPE_DISTINCT_H

#pragma GCC visibility push(protected)

/* Sorts n hashes and returns how many are left without duplicates. Can be cancelled. */
extern int pbf_distinct_hashes(uint64 *hashes, int n);

#pragma GCC visibility pop

#endif

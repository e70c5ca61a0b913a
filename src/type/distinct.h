/*
 * distinct.h: sorted lists of hashes.
 */
#ifndef PBF_TYPE_DISTINCT_H
#define PBF_TYPE_DISTINCT_H

#pragma GCC visibility push(protected)

/* Sorts n hashes and returns how many are left without duplicates. Can be cancelled. */
extern int pbf_distinct_hashes(uint64 *hashes, int n);

/* Where a hash is among n in order; -1: nowhere. */
static inline int
pbf_find_hash(const uint64 *hashes, int n, uint64 hash)
{
	const uint64 *at = hashes;

	while (n > 1)
	{
		int half = n / 2;

		at += (at[half - 1] < hash) * half; /* no branch that nobody can predict */
		n -= half;
	}
	return n == 1 && *at == hash ? (int) (at - hashes) : -1;
}

#pragma GCC visibility pop

#endif

/*
 * kernel_blocked.h: the blocked functions of one kernel, from three functions of the instruction set.
 *
 * A template: each kernel file includes it once, after defining
 *
 *   PBF_TARGET     the target attribute (may be empty)
 *   PBF_BLOCKED(f) the name of function f: contains, add, contains_many, add_many. They are not static: other
 *                  kernels may take them over
 *   block_contains bool (const uint64_t *block, uint32_t parts, uint64_t positions)
 *   block_add      void (uint64_t *block, uint32_t parts, uint64_t positions); not with PBF_BLOCKED_NO_ADDS,
 *                  for a kernel that takes its adds over from another one
 *   locate_group   void (PbfGroup *g, const uint64_t *h, uint32_t blocks)
 *
 * The first two touch only the `parts` words of the block, and have no branch that depends on data.
 *
 * The batch functions run over groups of keys:
 *   1. locate and prefetch the first PBF_GROUPS groups;
 *   2. use a group, then locate and prefetch the one PBF_GROUPS further on into the same slot;
 *   3. use the last n % PBF_GROUP keys one by one: so few overlap in the CPU without help.
 * Keys of one block may be in flight together: prefetching carries no state.
 */
#include "kernel_impl.h"

/*
 * How many cache lines of a block to ask for: none of a small filter, which soon is in a cache so near that
 * the CPU hides the way to it; two if a block of this filter may cross a line.
 */
PBF_INLINE PBF_TARGET int
lines_to_fetch(const uint64_t *words, uint32_t blocks, uint32_t parts)
{
	size_t bytes = parts * sizeof(uint64_t);

	if (blocks * bytes <= PBF_NEAR_BYTES)
		return 0;
	return (uintptr_t) words % PBF_LINE == 0 && PBF_LINE % bytes == 0 ? 1 : 2;
}

/* Locates the PBF_GROUP keys of h and asks for their cache lines. */
PBF_INLINE PBF_TARGET void
fetch_group(PbfGroup *g, const uint64_t *words, uint32_t blocks, uint32_t parts, int lines, const uint64_t *h)
{
	locate_group(g, h, blocks);
	for (int i = 0; i < PBF_GROUP && lines > 0; i++)
	{
		const uint64_t *block = words + g->block[i] * parts;

		__builtin_prefetch(block);
		if (lines > 1)
			__builtin_prefetch((const char *) (block + parts) - 1);
	}
}

PBF_INLINE PBF_TARGET void
contains_all(const uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n,
             uint8_t *hit)
{
	PbfGroup ring[PBF_GROUPS];
	size_t groups = n / PBF_GROUP;
	int lines = lines_to_fetch(words, blocks, parts);

	for (size_t i = 0; i < groups && i < PBF_GROUPS; i++)
		fetch_group(&ring[i], words, blocks, parts, lines, h + i * PBF_GROUP);
	for (size_t i = 0; i < groups; i++)
	{
		PbfGroup *g = &ring[i % PBF_GROUPS];

		for (int j = 0; j < PBF_GROUP; j++)
			hit[i * PBF_GROUP + j] = block_contains(words + g->block[j] * parts, parts, g->positions[j]);
		if (i + PBF_GROUPS < groups)
			fetch_group(g, words, blocks, parts, lines, h + (i + PBF_GROUPS) * PBF_GROUP);
	}
	for (size_t i = groups * PBF_GROUP; i < n; i++)
		hit[i] = block_contains(words + (size_t) pbf_block_of(h[i], blocks) * parts, parts,
		                        pbf_positions_of(h[i]));
}

#ifndef PBF_BLOCKED_NO_ADDS
PBF_INLINE PBF_TARGET void
add_all(uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n)
{
	PbfGroup ring[PBF_GROUPS];
	size_t groups = n / PBF_GROUP;
	int lines = lines_to_fetch(words, blocks, parts);

	for (size_t i = 0; i < groups && i < PBF_GROUPS; i++)
		fetch_group(&ring[i], words, blocks, parts, lines, h + i * PBF_GROUP);
	for (size_t i = 0; i < groups; i++)
	{
		PbfGroup *g = &ring[i % PBF_GROUPS];

		for (int j = 0; j < PBF_GROUP; j++)
			block_add(words + g->block[j] * parts, parts, g->positions[j]);
		if (i + PBF_GROUPS < groups)
			fetch_group(g, words, blocks, parts, lines, h + (i + PBF_GROUPS) * PBF_GROUP);
	}
	for (size_t i = groups * PBF_GROUP; i < n; i++)
		block_add(words + (size_t) pbf_block_of(h[i], blocks) * parts, parts, pbf_positions_of(h[i]));
}
#endif

/*
 * The functions of the table. A full block is the hot path: the constant turns masks, loops and products
 * into nothing.
 */
PBF_TARGET bool
PBF_BLOCKED(contains)(const uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h)
{
	size_t block = pbf_block_of(h, blocks);
	uint64_t positions = pbf_positions_of(h);

	if (parts == PBF_BLOCKED_MAX_PARTS)
		return block_contains(words + block * PBF_BLOCKED_MAX_PARTS, PBF_BLOCKED_MAX_PARTS, positions);
	return block_contains(words + block * parts, parts, positions);
}

PBF_TARGET void
PBF_BLOCKED(contains_many)(const uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h,
                           size_t n, uint8_t *hit)
{
	if (parts == PBF_BLOCKED_MAX_PARTS)
		contains_all(words, blocks, PBF_BLOCKED_MAX_PARTS, h, n, hit);
	else
		contains_all(words, blocks, parts, h, n, hit);
}

#ifndef PBF_BLOCKED_NO_ADDS
PBF_TARGET void
PBF_BLOCKED(add)(uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h)
{
	size_t block = pbf_block_of(h, blocks);
	uint64_t positions = pbf_positions_of(h);

	if (parts == PBF_BLOCKED_MAX_PARTS)
		block_add(words + block * PBF_BLOCKED_MAX_PARTS, PBF_BLOCKED_MAX_PARTS, positions);
	else
		block_add(words + block * parts, parts, positions);
}

PBF_TARGET void
PBF_BLOCKED(add_many)(uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n)
{
	if (parts == PBF_BLOCKED_MAX_PARTS)
		add_all(words, blocks, PBF_BLOCKED_MAX_PARTS, h, n);
	else
		add_all(words, blocks, parts, h, n);
}
#endif

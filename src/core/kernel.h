/*
 * kernel.h: the inner loops of filters, one table of functions per instruction set.
 *
 * The scalar table is the reference and always there. Every other table gives bit-identical results and is
 * chosen at run time: no -march flag is ever needed, each file uses function target attributes.
 */
#ifndef PBF_CORE_KERNEL_H
#define PBF_CORE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "needle.h"

#pragma GCC visibility push(protected)

/* Keys whose cache lines are in flight in the batch functions: enough to reach the memory limit. */
#define PBF_PREFETCH_WINDOW 32

typedef struct PbfKernel
{
	const char *name; /* as the setting pbf.simd spells it */

	/*
	 * Blocked layout. words: blocks * parts words, 8-byte aligned, no more alignment assumed;
	 * 1 <= parts <= 8; h: hash of a key; hit[i]: 1 if key i may be contained, else 0.
	 */
	bool (*contains)(const uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h);
	void (*add)(uint64_t *words, uint32_t blocks, uint32_t parts, uint64_t h);
	void (*contains_many)(const uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n,
	                      uint8_t *hit);
	void (*add_many)(uint64_t *words, uint32_t blocks, uint32_t parts, const uint64_t *h, size_t n);
	/* Whether in some block every part of the AND of a and b is non-empty: false proves disjointness. */
	bool (*blocks_overlap)(const uint64_t *a, const uint64_t *b, uint32_t blocks, uint32_t parts);

	/* Plain layout: `parts` parts of part_bits bits, each padded to whole words. */
	bool (*plain_contains)(const uint64_t *words, uint32_t parts, uint32_t part_bits, uint64_t h);
	void (*plain_contains_many)(const uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h,
	                            size_t n, uint8_t *hit);
	void (*plain_add_many)(uint64_t *words, uint32_t parts, uint32_t part_bits, const uint64_t *h, size_t n);

	/* Arrays of n words; dst may be src. */
	void (*or_words)(uint64_t *dst, const uint64_t *src, size_t n);
	void (*and_words)(uint64_t *dst, const uint64_t *src, size_t n);
	bool (*and_any)(const uint64_t *a, const uint64_t *b, size_t n);        /* a & b has a bit set */
	bool (*contains_words)(const uint64_t *a, const uint64_t *b, size_t n); /* b & ~a is empty */
	uint64_t (*popcount)(const uint64_t *words, size_t n);

	/* Where the needle begins first among n bytes, or NULL. */
	const char *(*find)(const PbfNeedle *needle, const char *bytes, size_t n);
} PbfKernel;

extern const PbfKernel pbf_kernel_scalar;
#if defined(__x86_64__)
extern const PbfKernel pbf_kernel_avx2;
extern const PbfKernel pbf_kernel_avx512;
#endif
#if defined(__aarch64__)
extern const PbfKernel pbf_kernel_neon;
#endif

/* The table in use. Starts as scalar; pbf_kernel_use changes it. Per process, no locking. */
extern const PbfKernel *pbf_kernel;

/*
 * The table of that name ("auto" = the best this CPU and operating system can run), or NULL if the name is
 * not known, not built for this architecture, or not supported by this machine.
 */
extern const PbfKernel *pbf_kernel_find(const char *name);

static inline void
pbf_kernel_use(const PbfKernel *k)
{
	pbf_kernel = k;
}

#pragma GCC visibility pop

#endif

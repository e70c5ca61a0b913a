/*
 * test.h: the unit tests' whole framework, and what several of them need.
 *
 * A test is a function without arguments; TEST(f) runs it and prints one line. CHECK does not end the test.
 * Everything is deterministic: random numbers come from fixed seeds.
 */
#ifndef PBF_TEST_H
#define PBF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "filter.h"
#include "format.h"
#include "geometry.h"
#include "hash.h"
#include "kernel.h"
#include "position.h"
#include "sparse.h"
#include "theory.h"

#define TEST(f) run_test(#f, f)
#define CHECK(condition) \
	((condition) ? (void) 0 : check_failed(__FILE__, __LINE__, #condition, "")) /* says where and what */
/* As CHECK, with printf arguments that say for which case. */
#define CHECK_FOR(condition, ...) \
	((condition) ? (void) 0 : check_failed(__FILE__, __LINE__, #condition, format_case(__VA_ARGS__)))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern void run_test(const char *name, void (*test)(void));
extern void check_failed(const char *file, int line, const char *condition, const char *which);
/* The text is valid until the next call. */
extern const char *format_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of exactly that many bytes, zeroed; never NULL, also for 0 bytes. */
extern void *allocate(size_t bytes);

/* Splitmix64. */
static inline uint64_t
next_random(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return pbf_mix(*state);
}

/* 0 .. n - 1 */
static inline uint32_t
random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t) pbf_mulhi(next_random(state), n);
}

/* Fills with random bits, each set with the probability 1 / 2^sparsity. */
extern void random_words(uint64_t *words, size_t n, int sparsity, uint64_t seed);
/* n hashes of whole numbers from `first` on. */
extern void int_hashes(uint64_t *h, size_t n, int64_t first);

/* Kernels of this machine, scalar first; ends with NULL. */
extern const PbfKernel *const *all_kernels(void);

/* Files of tests. */
extern void hash_tests(void);
extern void kernel_tests(void);
extern void filter_tests(void);
extern void fpr_tests(void);
extern void size_tests(void);
extern void format_tests(void);
extern void sparse_tests(void);
extern void theory_tests(void);

#endif

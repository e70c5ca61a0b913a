/*
 * test_main.c: runs all unit tests of src/core. Prints one line a test and, last, "N passed, N failed".
 *
 *   test [name]    only tests whose name contains the text
 */
#include <stdarg.h>
#include "test.h"

#define SHOWN_FAILURES 5 /* of one test: the rest is rarely news */

static const char *only = "";
static int passed, failed;
static int failures; /* of the test that runs */

void
run_test(const char *name, void (*test)(void))
{
	if (strstr(name, only) == NULL)
		return;
	failures = 0;
	test();
	printf("%s %s\n", failures == 0 ? "ok    " : "FAILED", name);
	fflush(stdout);
	if (failures == 0)
		passed++;
	else
		failed++;
}

void
check_failed(const char *file, int line, const char *condition, const char *which)
{
	if (failures++ < SHOWN_FAILURES)
		printf("  %s:%d: not true: %s  %s\n", file, line, condition, which);
}

const char *
format_case(const char *format, ...)
{
	static char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

void *
allocate(size_t bytes)
{
	void *p = calloc(1, bytes == 0 ? 1 : bytes);

	if (p == NULL)
	{
		printf("out of memory\n");
		exit(2);
	}
	return p;
}

void
random_words(uint64_t *words, size_t n, int sparsity, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
	{
		words[i] = UINT64_MAX;
		for (int j = 0; j < sparsity; j++)
			words[i] &= next_random(&seed);
	}
}

void
int_hashes(uint64_t *h, size_t n, int64_t first)
{
	for (size_t i = 0; i < n; i++)
		h[i] = pbf_hash_int64(first + (int64_t) i);
}

const PbfKernel *const *
all_kernels(void)
{
	static const char *const names[] = {"scalar", "avx2", "avx512", "neon"};
	static const PbfKernel *kernels[COUNT(names) + 1];
	int n = 0;

	for (size_t i = 0; i < COUNT(names); i++)
	{
		if ((kernels[n] = pbf_kernel_find(names[i])) != NULL)
			n++;
	}
	return kernels;
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		only = argv[1];
	hash_tests();
	kernel_tests();
	filter_tests();
	fpr_tests();
	size_tests();
	format_tests();
	sparse_tests();
	theory_tests();
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0 || passed == 0;
}

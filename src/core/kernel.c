/*
 * kernel.c: which kernels this machine can run, and which one is in use.
 */
#include "kernel.h"
#include <string.h>

const PbfKernel *pbf_kernel = &pbf_kernel_scalar;

#if defined(__x86_64__)
#include <cpuid.h>

/* CPUID leaf 1, ecx */
#define CPUID1_OSXSAVE (1u << 27)
#define CPUID1_AVX (1u << 28)
/* CPUID leaf 7, ebx: all that the target attributes of the kernel files name */
#define CPUID7_AVX2 ((1u << 5) | (1u << 3) | (1u << 8))                   /* avx2 bmi bmi2 */
#define CPUID7_AVX512 ((1u << 16) | (1u << 17) | (1u << 30) | (1u << 31)) /* f dq bw vl */
/* CPUID leaf 7, ecx */
#define CPUID7_VBMI2 (1u << 6)
/* XCR0: register state that the operating system saves */
#define XCR0_YMM 0x06u /* sse, upper halves of ymm */
#define XCR0_ZMM 0xe6u /* and opmask, upper halves of zmm, zmm16 to 31 */

/* What the CPU has and the operating system has switched on. */
typedef struct Features
{
	bool avx2;
	bool avx512;
	bool vbmi2;
} Features;

/* Low half of XCR0. Only if CPUID says OSXSAVE: else the instruction is undefined. */
static uint32_t
read_xcr0(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static Features
cpu_features(void)
{
	const uint32_t avx = CPUID1_OSXSAVE | CPUID1_AVX;
	Features f = {false, false, false};
	uint32_t eax, ebx, ecx, edx, xcr0;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & avx) != avx)
		return f;
	xcr0 = read_xcr0();
	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		return f;
	f.avx2 = (xcr0 & XCR0_YMM) == XCR0_YMM && (ebx & CPUID7_AVX2) == CPUID7_AVX2;
	f.avx512 = f.avx2 && (xcr0 & XCR0_ZMM) == XCR0_ZMM && (ebx & CPUID7_AVX512) == CPUID7_AVX512;
	f.vbmi2 = f.avx512 && (ecx & CPUID7_VBMI2) != 0;
	return f;
}

static const PbfKernel *
find_native(const char *name)
{
	Features f = cpu_features();

	if (strcmp(name, pbf_kernel_avx2.name) == 0)
		return f.avx2 ? &pbf_kernel_avx2 : NULL;
	if (strcmp(name, pbf_kernel_avx512.name) == 0)
		return f.avx512 ? &pbf_kernel_avx512 : NULL;
	return NULL;
}

/*
 * AVX-512 only from Ice Lake and Zen 4 on, recognised by VBMI2: their predecessors lower the clock of all
 * code around a 512-bit instruction, and from main memory both kernels are equally fast.
 */
static const PbfKernel *
find_best(void)
{
	Features f = cpu_features();

	if (f.vbmi2)
		return &pbf_kernel_avx512;
	return f.avx2 ? &pbf_kernel_avx2 : &pbf_kernel_scalar;
}

#elif defined(__aarch64__)

/* Advanced SIMD is part of the base architecture: nothing to ask. */
static const PbfKernel *
find_native(const char *name)
{
	return strcmp(name, pbf_kernel_neon.name) == 0 ? &pbf_kernel_neon : NULL;
}

static const PbfKernel *
find_best(void)
{
	return &pbf_kernel_neon;
}

#else

static const PbfKernel *
find_native(const char *name)
{
	(void) name;
	return NULL;
}

static const PbfKernel *
find_best(void)
{
	return &pbf_kernel_scalar;
}

#endif

const PbfKernel *
pbf_kernel_find(const char *name)
{
	if (strcmp(name, "auto") == 0)
		return find_best();
	if (strcmp(name, pbf_kernel_scalar.name) == 0)
		return &pbf_kernel_scalar;
	return find_native(name);
}

/*
 * test_theory.c: theory.h against values computed exactly, see theory_golden.py, and how it behaves where no
 * table goes: at the ends of all ranges.
 */
#include <math.h>
#include <time.h>
#include "test.h"

typedef enum TheoryFunction
{
	STANDARD,
	ELEMENT,
	APPROX,
	PARTITIONED,
	COLLISION,
	BLOCKED,
	OVERLAP_STANDARD,
	OVERLAP_PARTITIONED
} TheoryFunction;

typedef struct TheoryValue
{
	TheoryFunction function;
	double a[4];
	double value;
} TheoryValue;

#include "theory_golden.h"

#define TOLERANCE 1e-12 /* relative, as theory.h promises */
#define HUGE_COUNT 9.2e18
#define SLOWEST \
	5 /* seconds for one call: theory.h promises milliseconds, sanitizers and emulators are slow */

static double
compute(TheoryFunction function, const double a[4])
{
	switch (function)
	{
		case STANDARD:
			return pbf_fpr_standard(a[0], a[1], (unsigned) a[2]);
		case ELEMENT:
			return pbf_fpr_standard_element(a[0], a[1], (unsigned) a[2], (unsigned) a[3]);
		case APPROX:
			return pbf_fpr_standard_approx(a[0], a[1], (unsigned) a[2]);
		case PARTITIONED:
			return pbf_fpr_plain(a[0], a[2], a[1] / a[2]);
		case COLLISION:
			return pbf_collision_probability(a[0], (unsigned) a[1], (unsigned) a[2]);
		case BLOCKED:
			return pbf_fpr_blocked(a[0], a[1], a[2], a[3]);
		case OVERLAP_STANDARD:
			return pbf_false_overlap_standard(a[0], a[1], a[2], (unsigned) a[3]);
		case OVERLAP_PARTITIONED:
			return pbf_false_overlap_partitioned(a[0], a[1], a[2], (unsigned) a[3]);
	}
	return NAN;
}

static void
theory_exact(void)
{
	double worst = 0;

	for (size_t i = 0; i < COUNT(theory_golden); i++)
	{
		const TheoryValue *g = &theory_golden[i];
		double got = compute(g->function, g->a);
		double error = g->value == 0 ? fabs(got) : fabs(got / g->value - 1);

		worst = fmax(worst, error);
		CHECK_FOR(error <= TOLERANCE, "function %d of %g, %g, %g, %g: %.17g, exact %.17g", g->function,
		          g->a[0], g->a[1], g->a[2], g->a[3], got, g->value);
	}
	printf("       theory.h: %zu exact values, largest relative error %.1e\n", COUNT(theory_golden), worst);
}

/* The probabilities of all numbers of collisions are those of something that happens. */
static void
theory_collisions_add_up(void)
{
	static const double sizes[] = {1, 2, 63, 64, 512, 1e9, HUGE_COUNT};

	for (size_t i = 0; i < COUNT(sizes); i++)
	{
		for (unsigned k = 1; k <= PBF_PLAIN_MAX_PARTS; k++)
		{
			double sum = 0;

			for (unsigned c = 0; c < k; c++)
				sum += pbf_collision_probability(sizes[i], k, c);
			CHECK_FOR(fabs(sum - 1) < TOLERANCE, "m %g, k %u: %.17g", sizes[i], k, sum);
		}
	}
}

/* The paper's theorem: the approximation is a lower bound, and the partitioned filter is never better. */
static void
theory_order(void)
{
	for (double m = 64; m <= 1e9; m *= 8)
	{
		for (unsigned k = 2; k <= PBF_PLAIN_MAX_PARTS; k *= 2)
		{
			for (double load = 0.125; load < 3; load *= 2)
			{
				double n = ceil(m / k * load), slack = 1 + TOLERANCE;
				double approx = pbf_fpr_standard_approx(n, m, k), exact = pbf_fpr_standard(n, m, k);

				CHECK_FOR(approx <= exact * slack && exact <= pbf_fpr_plain(n, k, m / k) * slack,
				          "n %g, m %g, k %u: %g, %g, %g", n, m, k, approx, exact, pbf_fpr_plain(n, k, m / k));
			}
		}
	}
}

static void
check_quick_probability(TheoryFunction function, const double a[4])
{
	clock_t start = clock();
	double got = compute(function, a);
	double seconds = (double) (clock() - start) / CLOCKS_PER_SEC;

	CHECK_FOR(got >= 0 && got <= 1 && seconds < SLOWEST, "function %d of %g, %g, %g, %g: %g in %g s",
	          function, a[0], a[1], a[2], a[3], got, seconds);
}

/* Whatever the sizes: a probability, and soon. */
static void
theory_ends_of_ranges(void)
{
	static const double sizes[] = {1, 2, 64, 1e5, 1e9, 4e15, HUGE_COUNT};
	static const unsigned parts[] = {1, 8, 64};

	for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes) * COUNT(parts); i++)
	{
		double m = sizes[i % COUNT(sizes)], other = sizes[i / COUNT(sizes) % COUNT(sizes)];
		unsigned k = parts[i / COUNT(sizes) / COUNT(sizes)];

		for (double n = 1; n <= HUGE_COUNT; n = ceil(n * 7.3))
		{
			check_quick_probability(STANDARD, (double[]){n, m, k, 0});
			check_quick_probability(BLOCKED, (double[]){n, m, k, other});
			check_quick_probability(OVERLAP_STANDARD, (double[]){n, other, m, k});
		}
	}
	CHECK(pbf_fpr_standard(0, 64, 8) == 0 && pbf_fpr_standard(HUGE_COUNT, 64, 8) == 1);
	CHECK(pbf_fpr_standard(1, 1, 64) == 1 && pbf_fpr_standard_element(1, 64, 64, 64) > 0);
}

void
theory_tests(void)
{
	TEST(theory_exact);
	TEST(theory_collisions_add_up);
	TEST(theory_order);
	TEST(theory_ends_of_ranges);
}

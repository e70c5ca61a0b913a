/*
 * test_size.c: the formulas, and the sizes that follow from them.
 */
#include <math.h>
#include "test.h"

/* Shape and size in one, as pbf_new does it; the shape depends on the rate alone. */
static bool
choose_size(double n, double fpr, PbfLayoutChoice choice, PbfGeometry *g, double *needed)
{
	PbfShape shape = pbf_shape_for(fpr, choice);

	return pbf_size_for(n, fpr, &shape, g, needed);
}

static bool
near(double value, double expected, double tolerance)
{
	return fabs(value - expected) <= tolerance * fabs(expected);
}

/* The table of 8 parts of 64 bits and very many blocks (Poisson), to its three digits. */
static void
theory_poisson_table(void)
{
	static const struct
	{
		double bits_per_key, fpr;
	} table[] = {{4, .319},    {6, .0929},    {8, .0293},    {10, .0105},   {12, .00422},
	             {14, .00188}, {16, .000909}, {20, .000260}, {24, .0000909}};
	const double blocks = 1e6;

	for (size_t i = 0; i < COUNT(table); i++)
	{
		double fpr = pbf_fpr_blocked(blocks * 512 / table[i].bits_per_key, blocks, 8, 64);

		CHECK_FOR(near(fpr, table[i].fpr, 0.005), "%g bits a key: %g", table[i].bits_per_key, fpr);
	}
}

/* The sum over the loads of a block, term by term with logarithms of factorials. */
static double
naive_blocked(double n, double blocks, double parts, double part_bits)
{
	double sum = 0;

	for (double i = 0; i <= n; i++)
	{
		double log_p = lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - i * log(blocks);

		log_p += n == i ? 0 : (n - i) * log1p(-1 / blocks);
		sum += exp(log_p) * pow(-expm1(i * log1p(-1 / part_bits)), parts);
	}
	return sum;
}

static void
theory_blocked_sum(void)
{
	static const double blocks[] = {2, 3, 10, 1000, 100000};
	static const double per_block[] = {0.01, 0.5, 5, 30, 64, 150};

	for (size_t i = 0; i < COUNT(blocks); i++)
	{
		for (size_t j = 0; j < COUNT(per_block); j++)
		{
			double n = ceil(blocks[i] * per_block[j]);

			if (n > 100000)
				continue;
			for (double parts = 1; parts <= 8; parts += 3.5)
			{
				double whole = floor(parts);

				CHECK_FOR(near(pbf_fpr_blocked(n, blocks[i], whole, 64),
				               naive_blocked(n, blocks[i], whole, 64), 1e-7),
				          "%g keys, %g blocks, %g parts", n, blocks[i], whole);
			}
		}
	}
}

static void
theory_limits(void)
{
	PbfGeometry one = {PBF_BLOCKED, 1, 8, 64}, same = {PBF_PLAIN, 1, 8, 64};

	CHECK(pbf_fpr_plain(0, 5, 100) == 0);
	CHECK(pbf_fpr_blocked(0, 10, 5, 64) == 0);
	CHECK(near(pbf_fpr_plain(1, 3, 10), 1e-3, 1e-12));
	CHECK(near(pbf_fpr_plain(1, 64, 1), 1, 1e-12));
	CHECK(near(pbf_fpr_plain(1e18, 64, 4e9), 1, 1e-12));
	CHECK(near(pbf_fpr_blocked(1e15, 1000, 8, 64), 1, 1e-12));
	CHECK(near(pbf_fpr_of(&one, 40), pbf_fpr_of(&same, 40), 1e-12));
	/* tiny fills, no cancellation: (n / w)^k */
	CHECK(near(pbf_fpr_plain(10, 4, 4e9), pow(10 / 4e9, 4), 1e-6));
	for (double n = 1; n < 1e7; n *= 1.7)
	{
		CHECK_FOR(pbf_fpr_blocked(n, 5000, 8, 64) < pbf_fpr_blocked(n * 1.7, 5000, 8, 64), "%g", n);
		CHECK_FOR(pbf_fpr_blocked(n, 5000, 8, 64) >= pbf_fpr_plain(n, 8, 5000 * 64) * (1 - 1e-9), "%g", n);
	}
}

/* Bits of the best plain filter with a whole number of parts of any real length. */
static double
ideal_plain_bits(double n, double fpr)
{
	double best = INFINITY;

	for (double parts = 1; parts <= 64; parts++)
	{
		double w = 1 / -expm1(log1p(-exp(log(fpr) / parts)) / n);

		best = fmin(best, w * parts);
	}
	return best;
}

/* 3e-5 and 2e-5: blocked is about 1.3 to 1.5 times plain */
static const double rates[] = {.5, .1, .03, .01, 1e-3, 5e-4, 1e-4, 3e-5, 2e-5, 1e-6, 1e-9, 1e-12};

static void
check_size(double n, double fpr, PbfLayoutChoice choice)
{
	PbfGeometry g = {PBF_PLAIN, 0, 0, 0};
	double needed = 0;
	const char *why;

	if (!choose_size(n, fpr, choice, &g, &needed))
	{
		CHECK_FOR(needed > (double) PBF_MAX_BYTES, "n %g, fpr %g", n, fpr);
		/* refused only if a plain filter would be too large too, or the layout was asked for */
		CHECK_FOR(choice != PBF_CHOOSE_PLAIN || ideal_plain_bits(n, fpr) / 8 * 1.04 > (double) PBF_MAX_BYTES,
		          "n %g, fpr %g", n, fpr);
		return;
	}
	CHECK_FOR(pbf_geometry_valid(&g, &why), "n %g, fpr %g", n, fpr);
	CHECK_FOR(needed == (double) pbf_stored_bytes(&g), "n %g, fpr %g", n, fpr);
	CHECK_FOR(pbf_stored_bytes(&g) <= PBF_MAX_BYTES, "n %g, fpr %g", n, fpr);
	CHECK_FOR(pbf_fpr_of(&g, n) <= fpr * (1 + 1e-9), "n %g, fpr %g: %g", n, fpr, pbf_fpr_of(&g, n));
	if (choice == PBF_CHOOSE_PLAIN)
		CHECK_FOR(g.layout == PBF_PLAIN, "n %g, fpr %g", n, fpr);
	if (choice == PBF_CHOOSE_BLOCKED)
		CHECK_FOR(g.layout == PBF_BLOCKED, "n %g, fpr %g", n, fpr);
	/* 1 % of rounding, 2 % for a part less: not more than 3.1 % above the best possible */
	if (g.layout == PBF_PLAIN && n >= 10000)
		CHECK_FOR((double) pbf_bits(&g) <= ideal_plain_bits(n, fpr) * 1.031, "n %g, fpr %g: %g", n, fpr,
		          (double) pbf_bits(&g) / ideal_plain_bits(n, fpr));
	/* blocked: 2 % fewer blocks would not keep the rate; small and very low ones have a margin against bad
	 * luck */
	if (g.layout == PBF_BLOCKED && n >= 10000 && fpr >= 1e-3)
		CHECK_FOR(pbf_fpr_blocked(n, floor(g.blocks * 0.98), g.parts, 64) > fpr, "n %g, fpr %g", n, fpr);
}

static void
size_for(void)
{
	for (double n = 1; n <= 1e9; n = n < 20 ? n + 1 : n * 1.9)
	{
		for (size_t i = 0; i < COUNT(rates); i++)
		{
			check_size(floor(n), rates[i], PBF_CHOOSE_AUTO);
			check_size(floor(n), rates[i], PBF_CHOOSE_PLAIN);
			check_size(floor(n), rates[i], PBF_CHOOSE_BLOCKED);
		}
	}
}

/* auto: blocked unless it is more than 30 % larger than plain (1 % of rounding on either side). */
static void
size_auto(void)
{
	for (double n = 1000; n <= 1e8; n *= 3.3)
	{
		for (size_t i = 0; i < COUNT(rates); i++)
		{
			PbfGeometry g, plain, blocked;
			double bytes, plain_bytes, blocked_bytes;

			if (!choose_size(n, rates[i], PBF_CHOOSE_PLAIN, &plain, &plain_bytes) ||
			    !choose_size(n, rates[i], PBF_CHOOSE_BLOCKED, &blocked, &blocked_bytes))
				continue;
			CHECK_FOR(choose_size(n, rates[i], PBF_CHOOSE_AUTO, &g, &bytes), "n %g, fpr %g", n, rates[i]);
			CHECK_FOR(pbf_geometry_equal(&g, &plain) || pbf_geometry_equal(&g, &blocked), "n %g, fpr %g", n,
			          rates[i]);
			if (blocked_bytes > plain_bytes * 1.33)
				CHECK_FOR(g.layout == PBF_PLAIN, "n %g, fpr %g", n, rates[i]);
			if (blocked_bytes < plain_bytes * 1.27)
				CHECK_FOR(g.layout == PBF_BLOCKED, "n %g, fpr %g", n, rates[i]);
		}
	}
}

static void
size_limits(void)
{
	PbfGeometry g;
	double needed;

	CHECK(choose_size(0, .01, PBF_CHOOSE_AUTO, &g, &needed));
	CHECK(choose_size(0, 1e-15, PBF_CHOOSE_PLAIN, &g, &needed));
	CHECK(choose_size(1, .999999, PBF_CHOOSE_AUTO, &g, &needed));
	CHECK(!choose_size(1e18, .5, PBF_CHOOSE_AUTO, &g, &needed) && needed > 1e17);
	CHECK(!choose_size(1e18, 1e-15, PBF_CHOOSE_BLOCKED, &g, &needed) && needed > 1e18);
	CHECK(!choose_size(1e9, .01, PBF_CHOOSE_PLAIN, &g, &needed) && needed > 6e8 && needed < 2e9);
	CHECK(choose_size(4e8, .01, PBF_CHOOSE_PLAIN, &g, &needed));
	CHECK(!choose_size(1e6, 1e-15, PBF_CHOOSE_BLOCKED, &g, &needed) || pbf_fpr_of(&g, 1e6) <= 1e-15);
}

/* A filter of some size can be halved several times. */
static void
size_can_be_halved(void)
{
	for (double n = 5000; n <= 1e7; n *= 1.37)
	{
		PbfGeometry g;
		double needed;

		CHECK(choose_size(n, .01, PBF_CHOOSE_BLOCKED, &g, &needed));
		CHECK_FOR(g.blocks < 200 || g.blocks % 2 == 0, "n %g: %u blocks", n, g.blocks);
		CHECK_FOR(g.blocks < 1000 || g.blocks % 8 == 0, "n %g: %u blocks", n, g.blocks);
		CHECK(choose_size(n, .0001, PBF_CHOOSE_PLAIN, &g, &needed));
		CHECK_FOR(g.part_bits % 64 == 0, "n %g: %u bits", n, g.part_bits);
	}
}

void
size_tests(void)
{
	TEST(theory_poisson_table);
	TEST(theory_blocked_sum);
	TEST(theory_limits);
	TEST(size_for);
	TEST(size_auto);
	TEST(size_limits);
	TEST(size_can_be_halved);
}

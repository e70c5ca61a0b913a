/*
 * needle.c: which bytes of a needle to look for first.
 */
#include "needle.h"

#include <stdbool.h>

static bool
is_between(char byte, char first, char last)
{
	return byte >= first && byte <= last;
}

/* How well a byte separates: zeros are in all small numbers, letters in all words. */
static int
rarity(char byte)
{
	if (byte == 0)
		return 0;
	if (byte == ' ' || is_between(byte, 'a', 'z') || is_between(byte, 'A', 'Z'))
		return 1;
	return is_between(byte, '0', '9') ? 2 : 3;
}

/* Of equals the last: names have their beginnings in common. */
static size_t
choose(const char *bytes, size_t n, size_t but)
{
	size_t best = but == 0 && n > 1 ? 1 : 0;

	for (size_t i = best + 1; i < n; i++)
	{
		if (i != but && rarity(bytes[i]) >= rarity(bytes[best]))
			best = i;
	}
	return best;
}

PbfNeedle
pbf_needle(const char *bytes, size_t n)
{
	size_t rarest = choose(bytes, n, n);
	PbfNeedle needle = {bytes, n, rarest, choose(bytes, n, rarest)};

	return needle;
}

/*
 * needle.h: some bytes that are looked for in memory.
 */
#ifndef PBF_CORE_NEEDLE_H
#define PBF_CORE_NEEDLE_H

#include <stddef.h>

typedef struct PbfNeedle
{
	const char *bytes; /* the caller's */
	size_t n;          /* at least one */
	size_t rarest;     /* numbers of the two bytes to look for first; the same if there is only one */
	size_t second;
} PbfNeedle;

/* n is at least 1; the bytes stay where they are. */
extern PbfNeedle pbf_needle(const char *bytes, size_t n);

#endif

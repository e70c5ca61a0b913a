/*
 * like.h: what a text has to contain to be LIKE a pattern.
 */
#ifndef PBF_INDEX_LIKE_H
#define PBF_INDEX_LIKE_H

#include "access/skey.h"

/* Bytes that are somewhere in every text that matches. */
typedef struct PbfidxLiteral
{
	char *bytes;
	int n;           /* 0: nothing is known */
	uint8 skip[256]; /* how far to go on, by the byte under the last one */
} PbfidxLiteral;

/*
 * For a scan key with text LIKE under a collation that compares bytes: the longest part of its pattern
 * without wildcards, in the current memory context. Nothing for any other scan key.
 */
extern void pbfidx_like_literal(const ScanKeyData *key, PbfidxLiteral *literal);

/* Whether a text has the bytes; there are some. */
extern bool pbfidx_has_literal(const PbfidxLiteral *literal, const char *bytes, int n);

#endif

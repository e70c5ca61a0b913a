/*
 * theory.h: the formulas. n is a number of keys (may be fractional where it is an estimate).
 */
#ifndef PBF_CORE_THEORY_H
#define PBF_CORE_THEORY_H

#include <stdint.h>
#include "geometry.h"

#pragma GCC visibility push(protected)

/* Exact rate of a plain filter at n keys: F_p = (1 - (1 - 1/w)^n)^k (Almeida 2022, section 3.4). */
extern double pbf_fpr_plain(double n, double parts, double part_bits);

/*
 * Exact expected rate of a blocked filter at n keys: the load i of a block is binomial(n, 1/blocks);
 * sum over i of P(load = i) * (1 - (1 - 1/part_bits)^i)^parts (Putze, Sanders, Singler 2009).
 */
extern double pbf_fpr_blocked(double n, double blocks, double parts, double part_bits);

/* The expected rate of a filter of this geometry that holds n keys. */
extern double pbf_fpr_of(const PbfGeometry *g, double n);

#pragma GCC visibility pop

#endif

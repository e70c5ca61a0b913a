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

/*
 * Standard deviation of the rates of filters of this geometry that hold n keys each: a rate depends on which
 * keys they are, the more the smaller the filter. Of w bits e are empty on average after i keys, and
 * E[fill^2] = 1 - 2 e/w + e/w^2 + (1 - 1/w) (1 - 2/w)^i (occupancy problem; Feller, vol. 1, IV.2). Parts are
 * independent given the load of the block. Blocks count as independent, which
 * gives too much: up to three times where the rate is high.
 */
extern double pbf_fpr_deviation(const PbfGeometry *g, double n);

#pragma GCC visibility pop

#endif

/*
 * theory.h: the formulas of "A Case for Partitioned Bloom Filters" (Almeida 2022) and of blocked filters.
 *
 * n is a number of keys (may be fractional where it is an estimate), m bits of a whole filter, k hash
 * functions or parts (1 to PBF_PLAIN_MAX_PARTS), rates and probabilities are between 0 and 1. Relative errors
 * are below 1e-12 where the result is above 1e-280; smaller results may be 0. No sum here alternates, so
 * nothing cancels. Time: at most some 20 milliseconds, whatever the sizes. The caller checks ranges.
 */
#ifndef PBF_CORE_THEORY_H
#define PBF_CORE_THEORY_H

#include <stdint.h>
#include "geometry.h"

#pragma GCC visibility push(protected)

/* Exact rate of a plain filter at n keys: F_p = (1 - (1 - 1/w)^n)^k (Almeida 2022, section 3.4). */
extern double pbf_fpr_plain(double n, double parts, double part_bits);

/*
 * Exact expected rate of a blocked filter at n keys (rounded): the load i of a block is binomial(n,
 * 1/blocks); sum over i of P(load = i) * (1 - (1 - 1/part_bits)^i)^parts (Putze, Sanders, Singler 2009).
 */
extern double pbf_fpr_blocked(double n, double blocks, double parts, double part_bits);

/* The expected rate of a filter of this geometry that holds n keys. */
extern double pbf_fpr_of(const PbfGeometry *g, double n);

/*
 * Standard deviation of the rates of filters of this geometry that hold n keys each: a rate depends on which
 * keys they are, the more the smaller the filter. Of w bits e are empty on average after i keys, and
 * E[fill^2] = 1 - 2 e/w + e/w^2 + (1 - 1/w) (1 - 2/w)^i (occupancy problem; Feller, vol. 1, IV.2). Parts are
 * independent given the load of the block. Blocks count as independent, which gives too much: up to three
 * times where the rate is high.
 */
extern double pbf_fpr_deviation(const PbfGeometry *g, double n);

/* Standard filter, one vector for all k hash functions: exact rate F_s, and the usual approximation F_a. */
extern double pbf_fpr_standard(double n, double m, unsigned k);
extern double pbf_fpr_standard_approx(double n, double m, unsigned k);

/* The same for an element whose k hashes give d distinct positions: F_s(n, m, k, d); 1 <= d <= min(k, m). */
extern double pbf_fpr_standard_element(double n, double m, unsigned k, unsigned d);

/* Probability that k hashes give k - c distinct positions out of m: B(k, m, k - c); 0 <= c < k. */
extern double pbf_collision_probability(double m, unsigned k, unsigned c);

/*
 * Probability that the filters of two disjoint sets of n1 and n2 keys overlap, by the paper's formulas, which
 * take the pairs of keys for independent: P_s, and P_p of a partitioned filter.
 */
extern double pbf_false_overlap_standard(double n1, double n2, double m, unsigned k);
extern double pbf_false_overlap_partitioned(double n1, double n2, double m, unsigned k);

#pragma GCC visibility pop

#endif

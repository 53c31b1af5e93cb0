/* SPDX-License-Identifier: MIT
   Arrivals at random: how far a permit moves the position of a limit, as a function of (seed, k) and of nothing else.

   The permits of a Poisson process are exponentially distributed apart; in permits of its rate that is Exp(1), which is
   1 on average.  gap(k) lies between the permits k - 1 and k, counted from 0, the one that begins the schedule:

       k      0              1     2                           3
       due    |--- gap(1) ---|gap 2|--------- gap(3) ----------|---> ticks

   Nothing is drawn from a generator whose state would have to be kept and locked: gap(k) is a hash of k.  So the starts
   are the same however permits are taken: one by one or in batches, by one thread or by many, and in another language.
   In words of 64 bits, which wrap around:

       stir(z)   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;  z = (z ^ z >> 27) * 0x94d049bb133111eb;  z ^ z >> 31
       h         stir(stir(seed) + k * 0x9e3779b97f4a7c15) | 1                                     (splitmix64)
       log       -ln(h / 2^64) in 2^-58, by arrivals_log
       gap(k)    floor((log + ((h * 0xd1342543de82ef95) >> (6 + scale))) / 2^(58 - scale))      2^scale ticks a permit

   What is added to the logarithm is spread evenly over a tick, so that ticks are rounded up as often as down: always
   down, 50 million a second would come 1.6 % too fast.  So a gap is less than a tick, and the error of the logarithm,
   from the exact one.

   doc/algorithms.md has the same in Python. */
#ifndef WEIR_CORE_ARRIVALS_H
#define WEIR_CORE_ARRIVALS_H

#include <stdint.h>

#include "core/rule.h"

/* A call, or a batch, is of so many permits at most: some 100 us of work.  The logarithm is exact to a tick for rates
   down to one a year. */
enum { ARRIVALS_MOST = 4096, ARRIVALS_SCALE_MAX = 55, ARRIVALS_MEAN_BITS = 20 };

/* -ln(u / 2^64) in 2^-58, less than 2^-56 from it; u is not 0. */
uint64_t arrivals_log(uint64_t u);

/* From permit k - 1 to permit k, in ticks. */
uint64_t arrivals_gap(const struct rule *rule, uint64_t k);

/* From permit k to the one so many later.  Behind ARRIVALS_MOST they are a permit of the rate apart. */
uint64_t arrivals_span(const struct rule *rule, uint64_t k, uint64_t permits);

/* How many permits behind permit k come within so many ticks of it, ARRIVALS_MOST and `most` at most. */
uint64_t arrivals_within(const struct rule *rule, uint64_t k, uint64_t ticks, uint64_t most);

/* A Poisson number of this mean, in 2^-20, is above the answer once in a thousand times or less; UINT64_MAX: the mean
   is over 2^32. */
uint64_t arrivals_quantile(uint64_t mean);

#endif

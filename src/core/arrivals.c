/* SPDX-License-Identifier: MIT
   Exponential gaps from a hash, in integers alone, so that each machine has the same.

   The logarithm: u / 2^64 is x / 2^zeros, x from 1/2 to 1.  The upper bits of x choose a factor by which it comes close
   to 1 from below, and the rest is a short series:

       -ln(u / 2^64)  =  zeros ln 2  +  ln factor  -  ln(1 - d)        d = 1 - x factor < 2^-6
       -ln(1 - d)     =  d (1 + d / 2 + d^2 / 3 + ... + d^8 / 9)

   test/unit/arrivals_rows.py --tables prints the tables. */
#include "core/arrivals.h"

#include "core/clock.h"
#include "core/num.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define SPREAD UINT64_C(0xd1342543de82ef95)
#define LN_2 UINT64_C(0xb17217f7d1cf79ac) /* in 2^-64 */

enum { LOG_BITS = 58, FACTORS = 64, FACTOR_UP = 49, D_UP = 7, D_BITS = 6, WEIGHT_BITS = 40 };

/* floor(2^14 * 128 / (65 + row)), and its logarithm as a factor of 2^-14, in 2^-58. */
static const uint16_t near_factor[FACTORS] = {
    32263, 31775, 31300, 30840, 30393, 29959, 29537, 29127, 28728, 28339, 27962, 27594, 27235, 26886, 26546, 26214,
    25890, 25575, 25266, 24966, 24672, 24385, 24105, 23831, 23563, 23301, 23045, 22795, 22550, 22310, 22075, 21845,
    21620, 21399, 21183, 20971, 20763, 20560, 20360, 20164, 19972, 19784, 19599, 19418, 19239, 19065, 18893, 18724,
    18558, 18396, 18236, 18078, 17924, 17772, 17623, 17476, 17331, 17189, 17050, 16912, 16777, 16644, 16513, 16384,
};
static const uint64_t near_factor_log[FACTORS] = {
    0x02b5e0eb8070b46c, 0x02a64584d0cd0ae6, 0x0296d92ded997e35, 0x0287affe5d247745, 0x0278bca1847374e6,
    0x026a0255b2bf9049, 0x025b7b8af4e367b6, 0x024d2b42267b724a, 0x023f0b6bf8a2cb16, 0x0231158815c58919,
    0x02235ec478e954f3, 0x0215cddc59ea9f43, 0x020864f7c867ee15, 0x01fb300af3dc84cc, 0x01ee27d56a9f3e13,
    0x01e144a1a0726b84, 0x01d48864666d9d05, 0x01c7ff5c74534c92, 0x01bb8cd1ad5c1f34, 0x01af5195246cdd01,
    0x01a33040204fa637, 0x019734f42dc367d9, 0x018b617a88225f17, 0x017faca3bc61512f, 0x017417e768733761,
    0x0168a4c3e244978f, 0x015d54bdef3d6b71, 0x0152296073423d6b, 0x0147189c271a41b0, 0x013c23a772eb1829,
    0x01314bbe1bc94d6e, 0x01269221114db7d2, 0x011bf816355eb93c, 0x011172a81d9c42a8, 0x01070f2602710469,
    0x00fcc26360559613, 0x00f28d57efbfe3e1, 0x00e87dbf912af285, 0x00de7b39b7beb638, 0x00d49369d256ab1b,
    0x00cac756d72fec49, 0x00c1180b260d198e, 0x00b7793454decd81, 0x00adf9035a81ed8b, 0x00a47d4c05b1011a,
    0x009b2fa580aa80b1, 0x0091e7e950a98f0f, 0x0088b474093f1934, 0x007f9604d4ad2f4a, 0x00769b9d8df11a84,
    0x006da9a2366d6c5d, 0x0064c0796044f85d, 0x005bfdcc27e3000c, 0x005345456e61f38c, 0x004aa63290abde6f,
    0x00421262d478e6c5, 0x00398a4787cebbaa, 0x00311d9417fd44ba, 0x0028cd1da859c7d3, 0x00207abb0bce7dde,
    0x001845c5275c49f2, 0x00101f5658735842, 0x000807eabac3ef39, 0x0000000000000000,
};

/* 1 / 9 to 1 / 1 in 2^-62, rounded down. */
static const uint64_t ninth_to_one[] = {
    0x071c71c71c71c71c, 0x0800000000000000, 0x0924924924924924, 0x0aaaaaaaaaaaaaaa, 0x0ccccccccccccccc,
    0x1000000000000000, 0x1555555555555555, 0x2000000000000000, 0x4000000000000000,
};

static inline uint64_t upper_half(uint64_t a, uint64_t b)
{
    return multiply_shift_floor(a, b, 64);
}

uint64_t arrivals_log(uint64_t u)
{
    uint64_t zeros = 0, sum = 0;
    for (; u >> 63 == 0; u <<= 1) zeros++;
    const unsigned row = (unsigned)(u >> 57) % FACTORS;
    const uint64_t near_one = upper_half(u, (uint64_t)near_factor[row] << FACTOR_UP); /* in 2^-63 */
    const uint64_t d = ((UINT64_C(1) << 63) - near_one) << D_UP;                      /* in 2^-70 */
    for (unsigned i = 0; i < sizeof ninth_to_one / sizeof *ninth_to_one; i++) {
        sum = ninth_to_one[i] + (upper_half(d, sum) >> D_BITS);
    }
    return multiply_shift_floor(zeros, LN_2, 64 - LOG_BITS) + near_factor_log[row] + (upper_half(d, sum) >> 10);
}

/* A rule that is torn may have any scale. */
static inline unsigned scale_of(const struct rule *rule)
{
    return rule->scale < ARRIVALS_SCALE_MAX ? rule->scale : ARRIVALS_SCALE_MAX;
}

static inline uint64_t gap(uint64_t key, unsigned scale, uint64_t k)
{
    const uint64_t h = stir_64(key + k * GOLDEN) | 1;
    return (arrivals_log(h) + (h * SPREAD >> (64 - LOG_BITS + scale))) >> (LOG_BITS - scale);
}

uint64_t arrivals_gap(const struct rule *rule, uint64_t k)
{
    return gap(stir_64(rule->seed), scale_of(rule), k);
}

uint64_t arrivals_span(const struct rule *rule, uint64_t k, uint64_t permits)
{
    const uint64_t key = stir_64(rule->seed), drawn = least(permits, ARRIVALS_MOST);
    const unsigned scale = scale_of(rule);
    uint64_t ticks = ticks_of(rule, permits - drawn);
    for (uint64_t i = 1; i <= drawn; i++) ticks = add_saturating(ticks, gap(key, scale, k + i));
    return ticks;
}

uint64_t arrivals_within(const struct rule *rule, uint64_t k, uint64_t ticks, uint64_t most)
{
    const uint64_t key = stir_64(rule->seed), most_drawn = least(most, ARRIVALS_MOST);
    const unsigned scale = scale_of(rule);
    uint64_t count = 0;
    while (count < most_drawn) {
        const uint64_t next = gap(key, scale, k + count + 1);
        if (next > ticks) break;
        ticks -= next;
        count++;
    }
    return count;
}

/* ---- how many come in a time ---- */

/* The probability of n + 1 is that of n times mean / (n + 1), so from the likeliest number outwards all of them are
   known in parts of its own. */
static uint64_t above(uint64_t weight, uint64_t n, uint64_t mean)
{
    return multiply_divide_floor(weight, mean, (n + 1) << ARRIVALS_MEAN_BITS);
}

static uint64_t below(uint64_t weight, uint64_t n, uint64_t mean)
{
    return n == 0 ? 0 : multiply_divide_floor(weight, n << ARRIVALS_MEAN_BITS, mean);
}

uint64_t arrivals_quantile(uint64_t mean)
{
    const uint64_t likeliest = mean >> ARRIVALS_MEAN_BITS, one = UINT64_C(1) << WEIGHT_BITS;
    uint64_t rest = 0, all = one, n = likeliest;
    if (likeliest > UINT32_MAX) return UINT64_MAX;
    for (uint64_t weight = above(one, n, mean); weight != 0; weight = above(weight, n, mean)) {
        rest += weight;
        n++;
    }
    all += rest;
    n = likeliest;
    for (uint64_t weight = below(one, n, mean); weight != 0; weight = below(weight, n, mean)) {
        all += weight;
        n--;
    }
    n = likeliest;
    for (uint64_t weight = one; rest > all / 1000; n++) {
        weight = above(weight, n, mean);
        rest -= weight;
    }
    return n;
}

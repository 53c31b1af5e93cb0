/* SPDX-License-Identifier: MIT
   The 128-bit operations of num.h in two halves, for compilers without a 128-bit integer; simple rather than fast. */
#ifndef WEIR_CORE_NUM_PORTABLE_H
#define WEIR_CORE_NUM_PORTABLE_H

#include <stdbool.h>
#include <stdint.h>

struct halves {
    uint64_t high, low;
};

static inline struct halves halves_multiply(uint64_t a, uint64_t b)
{
    const uint64_t mask = UINT32_MAX;
    const uint64_t low = (a & mask) * (b & mask);
    const uint64_t cross = (a >> 32) * (b & mask) + (low >> 32);
    const uint64_t other = (a & mask) * (b >> 32) + (cross & mask);
    return (struct halves){(a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), (other << 32) | (low & mask)};
}

/* shift below 128, here and in the next */
static inline struct halves halves_shift_left(uint64_t a, unsigned shift)
{
    if (shift == 0) return (struct halves){0, a};
    if (shift < 64) return (struct halves){a >> (64 - shift), a << shift};
    return (struct halves){a << (shift - 64), 0};
}

static inline uint64_t halves_shift_right(struct halves value, unsigned shift)
{
    if (shift >= 64) return value.high >> (shift - 64);
    if (value.high >> shift != 0) return UINT64_MAX;
    return shift == 0 ? value.low : (value.high << (64 - shift)) | (value.low >> shift);
}

/* Long division by bits; the quotient saturates. */
static inline uint64_t halves_divide(struct halves top, uint64_t divisor, uint64_t *remainder)
{
    struct halves quotient = {0, 0};
    uint64_t rest = 0;
    for (int bit = 127; bit >= 0; bit--) {
        const uint64_t carried = rest >> 63;
        const uint64_t next = bit >= 64 ? top.high >> (bit - 64) : top.low >> bit;
        rest = rest << 1 | (next & 1);
        const uint64_t fits = carried != 0 || rest >= divisor;
        if (fits) rest -= divisor;
        quotient.high = quotient.high << 1 | quotient.low >> 63;
        quotient.low = quotient.low << 1 | fits;
    }
    *remainder = rest;
    return quotient.high != 0 ? UINT64_MAX : quotient.low;
}

static inline uint64_t halves_divide_ceil(struct halves top, uint64_t divisor)
{
    uint64_t remainder;
    const uint64_t quotient = halves_divide(top, divisor, &remainder);
    return quotient < UINT64_MAX && remainder != 0 ? quotient + 1 : quotient;
}

/* ---- all 128 bits: sums, products and shifts have to fit ---- */

static inline struct halves portable_num128_multiply(uint64_t a, uint64_t b)
{
    return halves_multiply(a, b);
}

static inline struct halves portable_num128_scale(struct halves a, uint64_t b)
{
    struct halves product = halves_multiply(a.low, b);
    product.high += a.high * b;
    return product;
}

static inline struct halves portable_num128_add(struct halves a, struct halves b)
{
    const uint64_t low = a.low + b.low;
    return (struct halves){a.high + b.high + (low < a.low), low};
}

static inline struct halves portable_num128_subtract(struct halves a, struct halves b)
{
    return (struct halves){a.high - b.high - (a.low < b.low), a.low - b.low};
}

static inline bool portable_num128_less(struct halves a, struct halves b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* shift below 64 */
static inline struct halves portable_num128_shift_left(struct halves a, unsigned shift)
{
    if (shift == 0) return a;
    return (struct halves){a.high << shift | a.low >> (64 - shift), a.low << shift};
}

static inline bool portable_num128_fits(struct halves a, unsigned bits)
{
    if (bits >= 64) return bits >= 128 || a.high >> (bits - 64) == 0;
    return a.high == 0 && a.low >> bits == 0;
}

static inline uint64_t portable_num128_low(struct halves a)
{
    return a.high != 0 ? UINT64_MAX : a.low;
}

static inline struct halves portable_num128_divide(struct halves top, struct halves divisor, struct halves *remainder)
{
    struct halves quotient = {0, 0}, rest = {0, 0};
    for (int bit = 127; bit >= 0; bit--) {
        const uint64_t next = bit >= 64 ? top.high >> (bit - 64) : top.low >> bit;
        rest = portable_num128_shift_left(rest, 1); /* no bit is lost: it is at most the upper bits of top */
        rest.low |= next & 1;
        const bool fits = !portable_num128_less(rest, divisor);
        if (fits) rest = portable_num128_subtract(rest, divisor);
        quotient = portable_num128_shift_left(quotient, 1);
        quotient.low |= fits;
    }
    *remainder = rest;
    return quotient;
}

/* ---- 64 bits ---- */

static inline uint64_t portable_multiply_shift_floor(uint64_t a, uint64_t b, unsigned shift)
{
    return halves_shift_right(halves_multiply(a, b), shift & 127);
}

static inline uint64_t portable_multiply_shift_floor_64(uint64_t a, uint64_t b, unsigned shift)
{
    return portable_multiply_shift_floor(a, b, 64 - (64 - shift) % 64);
}

static inline uint64_t portable_shift_divide_ceil(uint64_t a, unsigned shift, uint64_t divisor)
{
    if (divisor == 0) return UINT64_MAX;
    return halves_divide_ceil(halves_shift_left(a, shift & 127), divisor);
}

static inline uint64_t portable_shift_divide_floor(uint64_t a, unsigned shift, uint64_t divisor)
{
    uint64_t remainder;
    return divisor == 0 ? UINT64_MAX : halves_divide(halves_shift_left(a, shift & 127), divisor, &remainder);
}

static inline uint64_t portable_multiply_divide_floor(uint64_t a, uint64_t b, uint64_t divisor)
{
    uint64_t remainder;
    if (divisor == 0) return UINT64_MAX;
    return halves_divide(halves_multiply(a, b), divisor, &remainder);
}

static inline uint64_t portable_multiply_divide_ceil(uint64_t a, uint64_t b, uint64_t divisor)
{
    if (divisor == 0) return UINT64_MAX;
    return halves_divide_ceil(halves_multiply(a, b), divisor);
}

#endif

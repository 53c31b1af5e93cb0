/* SPDX-License-Identifier: MIT
   Writes text into a buffer of the caller.  It never writes past the end; `length` is the length that the whole text
   needs. */
#ifndef WEIR_PLAN_WRITE_H
#define WEIR_PLAN_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct writer {
    char *out; /* NUL-terminated after each call, when size > 0 */
    size_t size, length;
};

void write_text(struct writer *writer, const char *text);
void write_bytes(struct writer *writer, const char *bytes, size_t size);
void write_number(struct writer *writer, uint64_t number);

/* 12,345 */
void write_grouped(struct writer *writer, uint64_t number);

/* digits / 10^places without trailing zeros. */
void write_decimal(struct writer *writer, uint64_t digits, uint32_t places);

/* Exact, in the largest unit that divides it: 1ms, 90s, 15min; a period of 1s is written as "s". */
void write_time(struct writer *writer, uint64_t ns);
void write_period(struct writer *writer, uint64_t ns);

/* For people, rounded to a thousandth of the unit: 6 s, 1.5 min, 166.667 us. */
void write_duration(struct writer *writer, uint64_t ns);

/* For people, rounded to three digits. */
void write_about(struct writer *writer, uint64_t ns);

/* For people.  Rounded up, so that a client that comes back then is not early: 19 min 58 s, 2 d 3 h, 0.4 s, 12
   ms. */
void write_wait(struct writer *writer, uint64_t ns);

#endif

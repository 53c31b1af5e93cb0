/* SPDX-License-Identifier: MIT
   Texts of limits: of the grammar, at most of numbers that engines keep.

   The same texts for the same seed; some are refused. */
#ifndef WEIR_TEST_RANDOM_TEXT_H
#define WEIR_TEST_RANDOM_TEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unit/random.h"

enum { TEXT_SIZE = 512, TEXT_LIMITS = 4 };

__attribute__((format(printf, 2, 3))) static inline void text_add(char text[TEXT_SIZE], const char *format, ...)
{
    const size_t at = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, TEXT_SIZE - at, format, arguments);
    va_end(arguments);
}

#define TEXT_ONE_OF(seed, list) (list)[random_below(seed, sizeof(list) / sizeof(list)[0])]

/* As many short periods as long ones. */
static inline void text_time(uint64_t *seed, char text[TEXT_SIZE])
{
    static const char *const units[] = {"us", "ms", "ms", "s", "s", "s", "min", "h", "d", "ns"};
    const char *unit = TEXT_ONE_OF(seed, units);
    const bool fine = strcmp(unit, "ns") == 0;
    text_add(text, "%" PRIu64 "%s", random_positive(seed, fine ? 16 : 6) * (fine && !random_one_in(seed, 3) ? 1000 : 1),
             unit);
}

static inline void text_rate(uint64_t *seed, char text[TEXT_SIZE])
{
    text_add(text, "%" PRIu64, random_positive(seed, 14));
    if (random_one_in(seed, 8)) text_add(text, ".%" PRIu64, random_below(seed, 100));
    if (random_one_in(seed, 8)) text_add(text, "k");
    text_add(text, "/");
    text_time(seed, text);
}

static inline void text_burst(uint64_t *seed, char text[TEXT_SIZE])
{
    text_add(text, " burst=");
    if (random_one_in(seed, 4)) text_time(seed, text);
    else text_add(text, "%" PRIu64, random_positive(seed, 10));
}

static inline void text_line(uint64_t *seed, char text[TEXT_SIZE])
{
    text_rate(seed, text);
    if (!random_one_in(seed, 4)) text_burst(seed, text);
    if (random_one_in(seed, 6)) text_add(text, " debt=%" PRIu64, random_sized(seed, 10));
    if (random_one_in(seed, 30)) text_add(text, " start=full");
}

static inline void text_hybrid(uint64_t *seed, char text[TEXT_SIZE])
{
    if (random_one_in(seed, 3)) {
        text_add(text, "%" PRIu64 ",1.%" PRIu64, random_positive(seed, 14), random_below(seed, 50));
        return;
    }
    text_line(seed, text);
    text_add(text, " algorithm=hybrid");
    if (random_one_in(seed, 2))
        text_add(text, " catchup=%" PRIu64 ".%" PRIu64, 1 + random_below(seed, 3), random_below(seed, 99));
    if (random_one_in(seed, 4) && strstr(text, "start=") == NULL) text_add(text, " start=full");
}

static inline void text_leaky(uint64_t *seed, char text[TEXT_SIZE])
{
    if (random_one_in(seed, 3))
        text_add(text, "%" PRIu64 "r/%s", random_positive(seed, 9), random_one_in(seed, 3) ? "m" : "s");
    else text_rate(seed, text);
    if (!random_one_in(seed, 4)) text_add(text, " burst=%" PRIu64, random_positive(seed, 8));
    text_add(text, " algorithm=leaky");
    if (random_one_in(seed, 3)) text_add(text, " nodelay");
    else if (random_one_in(seed, 2)) text_add(text, " delay=%" PRIu64, random_positive(seed, 6));
}

static inline void text_fixed(uint64_t *seed, char text[TEXT_SIZE])
{
    text_add(text, "%" PRIu64 "/", random_positive(seed, 8));
    text_time(seed, text);
    text_add(text, " algorithm=fixed-window");
    if (random_one_in(seed, 3)) text_add(text, " align=clock");
    if (random_one_in(seed, 3)) text_add(text, " count-refused");
    if (random_one_in(seed, 3)) {
        text_add(text, " block=");
        text_time(seed, text);
    }
}

static inline void text_sliding(uint64_t *seed, char text[TEXT_SIZE])
{
    text_add(text, "%" PRIu64 "/", random_positive(seed, random_one_in(seed, 8) ? 40 : 8));
    text_time(seed, text);
    text_add(text, " algorithm=sliding-window");
    if (random_one_in(seed, 4)) text_add(text, " debt=%" PRIu64, random_sized(seed, 8));
}

static inline void text_log(uint64_t *seed, char text[TEXT_SIZE])
{
    text_add(text, "%" PRIu64 "/", random_positive(seed, 5));
    text_time(seed, text);
    text_add(text, " algorithm=sliding-log");
    if (random_one_in(seed, 3)) text_add(text, " count-refused");
    if (random_one_in(seed, 3)) text_add(text, " edge=closed");
    if (random_one_in(seed, 3)) {
        text_add(text, " gap=");
        text_time(seed, text);
    }
}

static inline void text_limit(uint64_t *seed, char text[TEXT_SIZE])
{
    static void (*const kinds[])(uint64_t *, char *) = {text_line,  text_line,  text_line,    text_hybrid,
                                                        text_leaky, text_fixed, text_sliding, text_log};
    if (random_one_in(seed, 40)) text_add(text, "%s", random_one_in(seed, 3) ? "none" : "unlimited");
    else TEXT_ONE_OF(seed, kinds)(seed, text);
}

static inline void random_text(uint64_t *seed, char text[TEXT_SIZE])
{
    uint64_t limits = 1;
    if (random_one_in(seed, 3)) limits += random_below(seed, TEXT_LIMITS);
    text[0] = '\0';
    for (uint64_t i = 0; i < limits; i++) {
        if (i > 0) text_add(text, "; ");
        text_limit(seed, text);
    }
}

#endif

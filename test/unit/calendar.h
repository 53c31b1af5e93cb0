/* SPDX-License-Identifier: MIT
   A calendar that only counts: day after day from 1970.

   Too simple to be wrong, and as slow. */
#ifndef WEIR_TEST_CALENDAR_H
#define WEIR_TEST_CALENDAR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define MILLI UINT64_C(1000000)
#define MICRO UINT64_C(1000)

struct day {
    int year, month, day;
    uint64_t seconds; /* of the epoch, at its start */
};

static inline int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month == 2 && (year % 400 == 0 || (year % 4 == 0 && year % 100 != 0))) return 29;
    return days[month - 1];
}

static inline void next_day(struct day *day)
{
    day->seconds += 86400;
    if (++day->day <= days_of(day->year, day->month)) return;
    day->day = 1;
    if (++day->month <= 12) return;
    day->month = 1;
    day->year++;
}

/* "2026-11-21 17:46:01" of UTC, by counting from 1970. */
static inline uint64_t counted_ns(const char *text)
{
    struct day day = {1970, 1, 1, 0};
    int year, month, date, hour, minute, second;
    assert_int_equal(sscanf(text, "%d-%d-%d %d:%d:%d", &year, &month, &date, &hour, &minute, &second), 6);
    while (day.year != year || day.month != month || day.day != date) next_day(&day);
    return (day.seconds + (uint64_t)(hour * 3600 + minute * 60 + second)) * SECOND;
}

#endif

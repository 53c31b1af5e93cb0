/* SPDX-License-Identifier: MIT
   Times and durations of logs.

   Every day from 1970 to 2261, every zone, both sides of each bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/log/stamp.h"
#include "owned.h"
#include "unit/calendar.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static bool read_stamp(struct stamp_cache *cache, const char *text, struct stamp *stamp)
{
    const size_t size = strlen(text);
    const char *copy = owned_copy(text, size);
    assert_non_null(copy);
    const bool good = stamp_read(cache, (struct slice){copy, size}, STAMP_ANY, stamp);
    owned_free(copy);
    return good;
}

static bool stamp_of(const char *text, struct stamp *stamp)
{
    struct stamp_cache cache = {.size = 0};
    return read_stamp(&cache, text, stamp);
}

static void expect_seconds(struct stamp_cache *cache, const char *text, uint64_t seconds)
{
    struct stamp stamp;
    if (!read_stamp(cache, text, &stamp)) fail_msg("%s", text);
    if (stamp.time_ns != seconds * SECOND) fail_msg("%s: %llu", text, (unsigned long long)stamp.time_ns);
}

static void every_day(void **state)
{
    (void)state;
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[64];
    struct stamp_cache cache = {.size = 0};
    struct stamp stamp;
    for (struct day day = {1970, 1, 1, 0}; day.year < 2262; next_day(&day)) {
        snprintf(text, sizeof text, "%02d/%s/%04d:12:34:56 +0000", day.day, months[day.month - 1], day.year);
        expect_seconds(&cache, text, day.seconds + 45296);
        snprintf(text, sizeof text, "%04d-%02d-%02dT23:59:59Z", day.year, day.month, day.day);
        expect_seconds(&cache, text, day.seconds + 86399);
        if (day.day != days_of(day.year, day.month)) continue;
        snprintf(text, sizeof text, "%04d-%02d-%02dT00:00:00Z", day.year, day.month, day.day + 1);
        if (stamp_of(text, &stamp)) fail_msg("%s is a day", text);
    }
}

static void every_zone(void **state)
{
    (void)state;
    static const struct {
        const char *clock, *colon;
    } forms[] = {{"21/Nov/2026:17:46:01 ", ""},
                 {"2026-11-21T17:46:01", ":"},
                 {"2026-11-21 17:46:01 ", ":"},
                 {"2026-11-21T17:46:01", ""}};
    char text[64];
    struct stamp_cache cache = {.size = 0};
    const uint64_t utc = counted_ns("2026-11-21 17:46:01") / SECOND;
    for (int minutes = 0; minutes < 24 * 60; minutes++) {
        for (size_t i = 0; i < LENGTH(forms); i++) {
            const int hour = minutes / 60, minute = minutes % 60;
            snprintf(text, sizeof text, "%s+%02d%s%02d", forms[i].clock, hour, forms[i].colon, minute);
            expect_seconds(&cache, text, utc - (uint64_t)minutes * 60);
            snprintf(text, sizeof text, "%s-%02d%s%02d", forms[i].clock, hour, forms[i].colon, minute);
            expect_seconds(&cache, text, utc + (uint64_t)minutes * 60);
        }
    }
    expect_seconds(&cache, "2026-11-21T17:46:01+01", utc - 3600);
    expect_seconds(&cache, "2026-11-21T17:46:01", utc); /* and not the one before, cut off */
    expect_seconds(&cache, "2026-11-21T17:46:01 GMT", utc);
    expect_seconds(&cache, "2026-11-21t17:46:01z", utc);
}

static void fractions_and_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns, resolution;
    } good[] = {
        {"1970-01-01T00:00:00.1Z", 100 * MILLI, 100 * MILLI},
        {"1970-01-01T00:00:00.123456789Z", 123456789, 1},
        {"1970-01-01T00:00:00.1234567899999Z", 123456789, 1},
        {"1970-01-01T00:00:00,000Z", 0, MILLI},
        {"0", 0, SECOND},
        {"0.5", 500 * MILLI, 100 * MILLI},
        {"99999999999e-3", 99999999999 * MILLI, MILLI},
        {"9214646399.999999999", 9214646399 * SECOND + 999999999, 1},
        {"9214646399.9999999999999999", 9214646399 * SECOND + 999999999, 1},
        {"99999999999", 0, 0}, /* a second before 100,000,000,000 is in the year 5138 */
        {"100000000000", 100000000 * SECOND, MILLI},
        {"99999999999999", 0, 0}, /* and so is this millisecond */
        {"9214646399999", 9214646399 * SECOND + 999 * MILLI, MILLI},
        {"9214646400000", 0, 0},
        {"100000000000000", 100000000 * SECOND, MICRO},
        {"100000000000000000", 100000000 * SECOND, 1},
        {"1795283161123.25", 1795283161 * SECOND + 123250000, 10 * MICRO},
        {"9214646399999999999", 9214646399 * SECOND + 999999999, 1},
        {"9214646400000000000", 0, 0},
        {"1.5E1", 15 * SECOND, SECOND},
        {"1e+1", 10 * SECOND, SECOND},
    };
    for (size_t i = 0; i < LENGTH(good); i++) {
        struct stamp stamp;
        if (stamp_of(good[i].text, &stamp) != (good[i].resolution != 0)) fail_msg("%s", good[i].text);
        if (good[i].resolution == 0) continue;
        if (stamp.time_ns != good[i].ns || stamp.resolution_ns != good[i].resolution)
            fail_msg("%s: %llu, to %llu", good[i].text, (unsigned long long)stamp.time_ns,
                     (unsigned long long)stamp.resolution_ns);
    }
}

static void no_times(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "-",
                                        "-1",
                                        "+1",
                                        ".5",
                                        "1.",
                                        "1.2.3",
                                        "1 ",
                                        "1e",
                                        "1e41",
                                        "1e-",
                                        "0x10",
                                        "1795283161s",
                                        "99999999999999999999",
                                        "18446744073709551615",
                                        "1e19",
                                        "21/Nov/2026",
                                        "21/Nov/2026:1x:46:01 +0000",
                                        "21/Nov/2026:17.46:01 +0000",
                                        "21/Nov/2026:17:4x:01 +0000",
                                        "21/Nov/2026:17:46.01 +0000",
                                        "21/Nov/2026:17:46:0x +0000",
                                        "00/Nov/2026:17:46:01 +0000",
                                        "31/Nov/2026:17:46:01 +0000",
                                        "29/Feb/2023:17:46:01 +0000",
                                        "29/Feb/2100:17:46:01 +0000",
                                        "21/nov/2026:17:46:01 +0000",
                                        "21/anF/2026:17:46:01 +0000",
                                        "21/Nov/1969:17:46:01 +0000",
                                        "21/Nov/2262:17:46:01 +0000",
                                        "21/Nov/2026:24:00:00 +0000",
                                        "21/Nov/2026:17:60:01 +0000",
                                        "21/Nov/2026:17:46:60 +0000",
                                        "21/Nov/2026:23:59:60 +0100",
                                        "21/Nov/2026:23:59:61 +0000",
                                        "21/Nov/2026:17:46:01 +2400",
                                        "21/Nov/2026:17:46:01 +0060",
                                        "21/Nov/2026:17:46:01 +01000",
                                        "21/Nov/2026:17:46:01 0100",
                                        "21/Nov/2026:17:46:01  +0100",
                                        "21/Nov/2026 17:46:01 +0100",
                                        "21-Nov-2026:17:46:01 +0100",
                                        "2026-11-21T17:46:01.Z",
                                        "2026-11-21T17:46:01Z+01:00",
                                        "2026-11-21T17:46:01+01:",
                                        "2026-11-21T17:46:01+1",
                                        "2026-11-21x17:46:01Z",
                                        "2026-11-21T17-46-01Z",
                                        "2026-13-21T17:46:01Z",
                                        "2026-00-21T17:46:01Z",
                                        "2026-11-21",
                                        "1970-01-01T00:00:00+00:01"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct stamp stamp;
        if (stamp_of(texts[i], &stamp)) fail_msg("%s: %llu", texts[i], (unsigned long long)stamp.time_ns);
    }
}

/* The second that is kept is that of the line before, good or bad. */
static void seconds_are_kept(void **state)
{
    (void)state;
    struct stamp_cache cache = {.size = 0};
    struct stamp stamp;
    const uint64_t utc = counted_ns("2026-11-21 17:46:01") / SECOND;
    for (int i = 0; i < 2; i++) {
        expect_seconds(&cache, "21/Nov/2026:17:46:01 +0000", utc);
        expect_seconds(&cache, "21/Nov/2026:17:46:01 +0100", utc - 3600);
        expect_seconds(&cache, "21/Nov/2026:17:46:02 +0000", utc + 1);
        assert_false(stamp_read(&cache, slice_of("21/Nov/2026:17:46:0x +0000"), STAMP_ANY, &stamp));
        assert_false(stamp_read(&cache, slice_of("21/Nov/2026:17:46:02 x"), STAMP_ANY, &stamp));
        assert_true(stamp_read(&cache, slice_of("2026-11-21T17:46:01.5"), STAMP_ANY, &stamp));
        assert_int_equal(stamp.time_ns, utc * SECOND + 500 * MILLI);
        expect_seconds(&cache, "2026-11-21T17:46:01", utc);
        expect_seconds(&cache, "31/Dec/2016:23:59:60 +0000", 1483228800);
        assert_false(stamp_read(&cache, slice_of("31/Dec/2016:23:59:60 +0001"), STAMP_ANY, &stamp));
    }
}

static void durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum stamp_unit unit;
        uint64_t ns;
    } good[] = {{"0.012", STAMP_SECONDS, 12 * MILLI},
                {"12", STAMP_SECONDS, 12 * SECOND},
                {"12", STAMP_ANY, 12 * MILLI},
                {"12.0", STAMP_ANY, 12 * SECOND},
                {"5e-05", STAMP_SECONDS, 50 * MICRO},
                {"1.9999", STAMP_MICROSECONDS, 1999},
                {"12ms", STAMP_SECONDS, 12 * MILLI},
                {"1.5 s", STAMP_NANOSECONDS, 1500 * MILLI},
                {"2sec", STAMP_ANY, 2 * SECOND},
                {"3msec", STAMP_ANY, 3 * MILLI},
                {"7us", STAMP_ANY, 7 * MICRO},
                {"7\xce\xbcs", STAMP_ANY, 7 * MICRO},
                {"9ns", STAMP_ANY, 9},
                {"18446744073.709551615", STAMP_SECONDS, UINT64_MAX},
                {"0.0000000019", STAMP_SECONDS, 1},
                {"18446744073.7095516195", STAMP_SECONDS, UINT64_MAX - 5}, /* what has no room is cut off */

                {"000", STAMP_NANOSECONDS, 0}};
    static const char *const bad[] = {"", "-", "-1", "fast", "1 fortnight", "18446744074", "1s2ms", "1e30", "1h"};
    uint64_t ns;
    for (size_t i = 0; i < LENGTH(good); i++) {
        if (!stamp_read_duration(slice_of(good[i].text), good[i].unit, &ns) || ns != good[i].ns)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        if (stamp_read_duration(slice_of(bad[i]), STAMP_SECONDS, &ns)) fail_msg("%s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day), cmocka_unit_test(every_zone),       cmocka_unit_test(fractions_and_numbers),
        cmocka_unit_test(no_times),  cmocka_unit_test(seconds_are_kept), cmocka_unit_test(durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
   Reads times and durations.

   Logs come by the second: most stamps begin with the very bytes of the one before, so the last second read is kept,
   and only its fraction and its zone are read anew; where there is no fraction most stamps are the one before.

   A bare number says by its size what it counts: below 10^11 seconds (until the year 5138), below 10^14 milliseconds
   (since 1973), below 10^17 microseconds, else nanoseconds.

   Exact integers, no floating point; digits finer than a nanosecond are cut off; days that no calendar has are refused;
   a leap second is the first instant of the next day, as in unix time, and is refused at any other time of the day. */
#include "format/log/stamp.h"

#include <stddef.h>

enum {
    MONTHS = 12,
    FIRST_YEAR = 1970,
    LAST_YEAR = 2261,
    DAY_SECONDS = 86400,
    HOUR_SECONDS = 3600,
    MINUTE_SECONDS = 60,
    LOCAL_SIZE = 20, /* 21/Nov/2026:17:46:01 */
    ISO_SIZE = 19,   /* 2026-11-21T17:46:01 */
    NANO_PLACES = 9,
    EXPONENT_MAX = 40,
    DIGITS_SAFE = 19 /* so many fit into 64 bits, whatever they are */
};

#define SECOND_NS UINT64_C(1000000000)
#define END_NS (UINT64_C(9214646400) * SECOND_NS) /* the first instant of LAST_YEAR + 1 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- days ---- */

static bool is_leap_year(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_before_year(unsigned year)
{
    const unsigned last = year - 1;
    return last * 365 + last / 4 - last / 100 + last / 400;
}

/* Of the epoch.  False: there is no such day from FIRST_YEAR to LAST_YEAR. */
static bool day_of(unsigned year, unsigned month, unsigned day, unsigned *days)
{
    static const unsigned short before[MONTHS + 1] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > MONTHS || day < 1) return false;
    const unsigned february = month == 2 && is_leap_year(year);
    if (day > (unsigned)(before[month] - before[month - 1]) + february) return false;
    *days = days_before_year(year) - days_before_year(FIRST_YEAR) + before[month - 1] + day - 1;
    if (month > 2 && is_leap_year(year)) ++*days;
    return true;
}

/* ---- the parts of a stamp ---- */

static bool digits_of(const char *bytes, unsigned count, unsigned *value)
{
    *value = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!is_digit(bytes[i])) return false;
        *value = *value * 10 + (unsigned)(bytes[i] - '0');
    }
    return true;
}

static unsigned month_of(const char *bytes)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (unsigned i = 0; i < MONTHS; i++) {
        if (memcmp(bytes, names + (size_t)3 * i, 3) == 0) return i + 1;
    }
    return 0;
}

static bool clock_of(const char *bytes, unsigned *seconds)
{
    unsigned hour, minute, second;
    if (!digits_of(bytes, 2, &hour) || bytes[2] != ':' || !digits_of(bytes + 3, 2, &minute) || bytes[5] != ':' ||
        !digits_of(bytes + 6, 2, &second))
        return false;
    *seconds = hour * HOUR_SECONDS + minute * MINUTE_SECONDS + second;
    return hour < 24 && minute < 60 && second <= 60;
}

static bool local_day(const char *bytes, unsigned *days)
{
    unsigned year, day;
    return bytes[2] == '/' && bytes[6] == '/' && bytes[11] == ':' && digits_of(bytes, 2, &day) &&
           digits_of(bytes + 7, 4, &year) && day_of(year, month_of(bytes + 3), day, days);
}

static bool iso_day(const char *bytes, unsigned *days)
{
    unsigned year, month, day;
    const bool parted = bytes[10] == 'T' || bytes[10] == 't' || bytes[10] == ' ' || bytes[10] == '_';
    return parted && bytes[4] == '-' && bytes[7] == '-' && digits_of(bytes, 4, &year) &&
           digits_of(bytes + 5, 2, &month) && digits_of(bytes + 8, 2, &day) && day_of(year, month, day, days);
}

/* Leaves in the cache what the text begins with. */
static bool read_second(struct stamp_cache *cache, struct slice text)
{
    if (cache->size != 0 && text.size >= cache->size && memcmp(cache->text, text.bytes, cache->size) == 0) return true;
    unsigned days, clock;
    const unsigned size = text.bytes[2] == '/' ? LOCAL_SIZE : ISO_SIZE;
    if (text.size < size || !(size == LOCAL_SIZE ? local_day(text.bytes, &days) : iso_day(text.bytes, &days)) ||
        !clock_of(text.bytes + size - 8, &clock))
        return false;
    memcpy(cache->text, text.bytes, size);
    cache->leap = text.bytes[size - 2] == '6';
    cache->seconds = (int64_t)days * DAY_SECONDS + clock;
    cache->size = size;
    return true;
}

/* Moves the text behind it. */
static bool read_fraction(struct slice *text, struct stamp *stamp)
{
    stamp->time_ns = 0;
    stamp->resolution_ns = SECOND_NS;
    if (text->size == 0 || (text->bytes[0] != '.' && text->bytes[0] != ',')) return true;
    size_t at = 1;
    for (; at < text->size && is_digit(text->bytes[at]); at++) {
        if (stamp->resolution_ns == 1) continue;
        stamp->resolution_ns /= 10;
        stamp->time_ns += stamp->resolution_ns * (uint64_t)(text->bytes[at] - '0');
    }
    *text = slice_from(*text, at);
    return at > 1;
}

/* +0100, +01:00, +01 */
static bool read_offset(struct slice zone, int64_t *seconds)
{
    unsigned hours, minutes = 0;
    if (zone.size < 3 || (zone.bytes[0] != '+' && zone.bytes[0] != '-')) return false;
    if (!digits_of(zone.bytes + 1, 2, &hours) || hours > 23) return false;
    size_t at = 3;
    if (at < zone.size && zone.bytes[at] == ':') at++;
    const bool whole_hours = zone.size == 3;
    if (!whole_hours && (zone.size != at + 2 || !digits_of(zone.bytes + at, 2, &minutes) || minutes > 59)) return false;
    *seconds = (int64_t)hours * HOUR_SECONDS + (int64_t)minutes * MINUTE_SECONDS;
    if (zone.bytes[0] == '-') *seconds = -*seconds;
    return true;
}

/* Nothing is UTC. */
static bool read_zone(struct slice zone, int64_t *seconds)
{
    *seconds = 0;
    if (zone.size == 0) return true;
    if (zone.bytes[0] == ' ') zone = slice_from(zone, 1);
    if (read_offset(zone, seconds)) return true;
    return slice_is(zone, slice_of("Z")) || slice_is(zone, slice_of("z")) || slice_is(zone, slice_of("UTC")) ||
           slice_is(zone, slice_of("GMT"));
}

static bool read_calendar(struct stamp_cache *cache, struct slice text, struct stamp *stamp)
{
    int64_t offset;
    if (!read_second(cache, text)) return false;
    struct slice rest = slice_from(text, cache->size);
    if (!read_fraction(&rest, stamp) || !read_zone(rest, &offset)) return false;
    const int64_t seconds = cache->seconds - offset;
    if (seconds < 0 || (cache->leap && seconds % DAY_SECONDS != 0)) return false;
    stamp->time_ns += (uint64_t)seconds * SECOND_NS;
    cache->whole_size = stamp->resolution_ns == SECOND_NS && text.size <= STAMP_WHOLE_SIZE ? (unsigned)text.size : 0;
    memcpy(cache->whole_text, text.bytes, cache->whole_size);
    cache->whole = *stamp;
    return true;
}

/* ---- numbers ---- */

/* digits / 10^places; places may be negative. */
struct decimal {
    uint64_t digits;
    int places;
    bool point;
};

static bool read_exponent(struct slice *text, int *exponent)
{
    *exponent = 0;
    if (text->size == 0 || (text->bytes[0] != 'e' && text->bytes[0] != 'E')) return true;
    size_t at = 1;
    const bool negative = at < text->size && text->bytes[at] == '-';
    if (at < text->size && (text->bytes[at] == '-' || text->bytes[at] == '+')) at++;
    const size_t first = at;
    for (; at < text->size && is_digit(text->bytes[at]); at++) {
        *exponent = *exponent * 10 + (text->bytes[at] - '0');
        if (*exponent > EXPONENT_MAX) return false;
    }
    if (negative) *exponent = -*exponent;
    *text = slice_from(*text, at);
    return at > first;
}

/* Moves the text behind it.  Digits behind the point that 64 bits have no room for are cut off. */
static bool read_decimal(struct slice *text, struct decimal *number)
{
    uint64_t digits = 0;
    size_t at = 0;
    int places = 0;
    bool point = false, full = false;
    for (; at < text->size; at++) {
        const unsigned digit = (unsigned char)text->bytes[at] - (unsigned)'0';
        if (digit > 9) {
            if (text->bytes[at] != '.' || point || at == 0) break;
            point = true;
        } else if (at >= DIGITS_SAFE && (full || digits > (UINT64_MAX - digit) / 10)) {
            if (!point) return false;
            full = true;
        } else {
            digits = digits * 10 + digit;
            places += point;
        }
    }
    if (at == 0 || text->bytes[at - 1] == '.') return false;
    *text = slice_from(*text, at);
    int exponent;
    if (!read_exponent(text, &exponent)) return false;
    *number = (struct decimal){digits, places - exponent, point};
    return true;
}

/* number * 10^places, downwards.  False: more than 64 bits. */
static bool scale_down(struct decimal number, int places, uint64_t *value)
{
    int shift = places - number.places;
    for (; shift < 0; shift++) number.digits /= 10;
    for (; shift > 0 && number.digits != 0; shift--) {
        if (number.digits > UINT64_MAX / 10) return false;
        number.digits *= 10;
    }
    *value = number.digits;
    return true;
}

static int places_of(enum stamp_unit unit)
{
    static const int places[] = {[STAMP_SECONDS] = 9, [STAMP_MILLISECONDS] = 6, [STAMP_MICROSECONDS] = 3};
    return unit == STAMP_NANOSECONDS ? 0 : places[unit];
}

static enum stamp_unit unit_by_size(struct decimal number)
{
    uint64_t whole;
    if (!scale_down(number, 0, &whole)) return STAMP_NANOSECONDS;
    if (whole < UINT64_C(100000000000)) return STAMP_SECONDS;
    if (whole < UINT64_C(100000000000000)) return STAMP_MILLISECONDS;
    return whole < UINT64_C(100000000000000000) ? STAMP_MICROSECONDS : STAMP_NANOSECONDS;
}

static bool read_count(struct slice text, enum stamp_unit unit, struct stamp *stamp)
{
    struct decimal number;
    if (!read_decimal(&text, &number) || text.size != 0) return false;
    if (unit == STAMP_ANY) unit = unit_by_size(number);
    if (!scale_down(number, places_of(unit), &stamp->time_ns)) return false;
    stamp->resolution_ns = 1;
    const int shown = number.places > 0 ? number.places : 0;
    for (int i = shown; i < places_of(unit); i++) stamp->resolution_ns *= 10;
    return stamp->time_ns < END_NS;
}

bool stamp_read(struct stamp_cache *cache, struct slice text, enum stamp_unit unit, struct stamp *stamp)
{
    if (cache->whole_size != 0 && text.size == cache->whole_size &&
        slice_is_same(text.bytes, cache->whole_text, text.size)) {
        *stamp = cache->whole;
        return true;
    }
    if (text.size >= ISO_SIZE && (text.bytes[2] == '/' || text.bytes[4] == '-'))
        return read_calendar(cache, text, stamp);
    return read_count(text, unit, stamp);
}

/* ---- durations ---- */

bool stamp_unit(struct slice suffix, enum stamp_unit *unit)
{
    static const struct {
        const char *suffix;
        enum stamp_unit unit;
    } rows[] = {{"s", STAMP_SECONDS},         {"ms", STAMP_MILLISECONDS},       {"us", STAMP_MICROSECONDS},
                {"ns", STAMP_NANOSECONDS},    {"sec", STAMP_SECONDS},           {"\xc2\xb5s", STAMP_MICROSECONDS},
                {"msec", STAMP_MILLISECONDS}, {"\xce\xbcs", STAMP_MICROSECONDS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!slice_is(suffix, slice_of(rows[i].suffix))) continue;
        *unit = rows[i].unit;
        return true;
    }
    return false;
}

bool stamp_read_duration(struct slice text, enum stamp_unit unit, uint64_t *duration_ns)
{
    struct decimal number;
    if (!read_decimal(&text, &number)) return false;
    if (text.size != 0 && text.bytes[0] == ' ') text = slice_from(text, 1);
    if (text.size != 0 && !stamp_unit(text, &unit)) return false;
    if (unit == STAMP_ANY) unit = number.point ? STAMP_SECONDS : STAMP_MILLISECONDS;
    return scale_down(number, places_of(unit), duration_ns);
}

/* SPDX-License-Identifier: MIT
   Numbers and times as text, for canonical forms, explanations and error messages. */
#include "plan/write.h"

#include <string.h>

static const struct {
    const char *name, *spoken;
    uint64_t ns;
} time_units[] = {
    {"year", "years", UINT64_C(31536000000000000)},
    {"w", "weeks", UINT64_C(604800000000000)},
    {"d", "d", UINT64_C(86400000000000)},
    {"h", "h", UINT64_C(3600000000000)},
    {"min", "min", UINT64_C(60000000000)},
    {"s", "s", UINT64_C(1000000000)},
    {"ms", "ms", UINT64_C(1000000)},
    {"us", "\xc2\xb5s", UINT64_C(1000)},
    {"ns", "ns", UINT64_C(1)},
};
enum { UNITS = sizeof time_units / sizeof time_units[0], UNIT_YEAR = 0, UNIT_WEEK = 1, UNIT_SECOND = 5 };

/* A wait up to the bound is shown in whole steps.  Each bound is a multiple of the next step, too. */
static const struct {
    uint64_t most_ns, step_ns;
} steps[] = {
    {UINT64_C(1000000), UINT64_C(1000)},                    /* 1 ms: us */
    {UINT64_C(100000000), UINT64_C(1000000)},               /* 0.1 s: ms */
    {UINT64_C(10000000000), UINT64_C(100000000)},           /* 10 s: tenths */
    {UINT64_C(3600000000000), UINT64_C(1000000000)},        /* 1 h: s */
    {UINT64_C(86400000000000), UINT64_C(60000000000)},      /* 1 d: min */
    {UINT64_C(31536000000000000), UINT64_C(3600000000000)}, /* 1 year: h */
    {UINT64_MAX, UINT64_C(86400000000000)},                 /* d */
};
enum { TENTH_NS = 100000000 };

void write_bytes(struct writer *writer, const char *bytes, size_t size)
{
    if (writer->length < writer->size) {
        const size_t room = writer->size - writer->length - 1;
        const size_t fits = size < room ? size : room;
        memcpy(writer->out + writer->length, bytes, fits);
        writer->out[writer->length + fits] = '\0';
    }
    writer->length += size;
}

void write_text(struct writer *writer, const char *text)
{
    write_bytes(writer, text, strlen(text));
}

/* Digits that end at digits[20]; returns where they begin. */
static size_t digits_before(uint64_t number, char digits[20])
{
    size_t at = 20;
    for (; number >= 10; number /= 10) digits[--at] = (char)('0' + number % 10);
    digits[--at] = (char)('0' + number);
    return at;
}

static size_t digits_of(uint64_t number, char digits[20])
{
    const size_t at = digits_before(number, digits);
    memmove(digits, digits + at, 20 - at);
    return 20 - at;
}

void write_number(struct writer *writer, uint64_t number)
{
    char digits[20];
    const size_t at = digits_before(number, digits);
    write_bytes(writer, digits + at, 20 - at);
}

void write_grouped(struct writer *writer, uint64_t number)
{
    char digits[20];
    const size_t length = digits_of(number, digits);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) write_text(writer, ",");
        write_bytes(writer, digits + i, 1);
    }
}

void write_decimal(struct writer *writer, uint64_t digits, uint32_t places)
{
    while (places > 0 && digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    char text[20];
    const size_t length = digits_of(digits, text);
    if (length <= places) {
        write_text(writer, "0.");
        for (size_t i = length; i < places; i++) write_text(writer, "0");
        write_bytes(writer, text, length);
        return;
    }
    write_bytes(writer, text, length - places);
    if (places == 0) return;
    write_text(writer, ".");
    write_bytes(writer, text + length - places, places);
}

static int unit_dividing(uint64_t ns)
{
    int unit = 0;
    while (ns % time_units[unit].ns != 0) unit++;
    return ns == 0 ? UNITS - 1 : unit;
}

void write_time(struct writer *writer, uint64_t ns)
{
    const int unit = unit_dividing(ns);
    write_number(writer, ns / time_units[unit].ns);
    write_text(writer, time_units[unit].name);
}

void write_period(struct writer *writer, uint64_t ns)
{
    const int unit = unit_dividing(ns);
    if (ns != time_units[unit].ns) write_number(writer, ns / time_units[unit].ns);
    write_text(writer, time_units[unit].name);
}

void write_duration(struct writer *writer, uint64_t ns)
{
    int unit = 0;
    while (unit < UNITS - 1 && (ns < time_units[unit].ns || unit == UNIT_WEEK)) unit++;
    /* Rounded to thousandths of the unit; units coarser than ns are shown with them. */
    const uint64_t size = time_units[unit].ns;
    const uint64_t thousandths = size == 1 ? ns * 1000 : ns / size * 1000 + (ns % size * 10 / (size / 1000) + 5) / 10;
    write_decimal(writer, thousandths, 3);
    write_text(writer, " ");
    write_text(writer, unit == UNIT_YEAR && ns == size ? time_units[unit].name : time_units[unit].spoken);
}

void write_about(struct writer *writer, uint64_t ns)
{
    uint64_t unit = 1;
    while (ns / unit >= 1000) unit *= 10;
    write_duration(writer, (ns + unit / 2) / unit * unit);
}

/* Rounded up to a whole step. */
static uint64_t rounded_to_step(uint64_t ns)
{
    int row = 0;
    while (ns > steps[row].most_ns) row++;
    const uint64_t step_ns = steps[row].step_ns, parts = ns / step_ns + (ns % step_ns != 0);
    return parts > UINT64_MAX / step_ns ? UINT64_MAX / step_ns * step_ns : parts * step_ns;
}

void write_wait(struct writer *writer, uint64_t ns)
{
    const uint64_t rounded_ns = rounded_to_step(ns);
    if (rounded_ns >= TENTH_NS && rounded_ns < time_units[UNIT_SECOND].ns) {
        write_decimal(writer, rounded_ns / TENTH_NS, 1);
        write_text(writer, " s");
        return;
    }
    int unit = 0;
    while (unit < UNIT_SECOND && (rounded_ns < time_units[unit].ns || unit == UNIT_WEEK)) unit++;
    const uint64_t rest_ns = unit < UNIT_SECOND ? rounded_ns % time_units[unit].ns : 0;
    write_duration(writer, rounded_ns - rest_ns);
    if (rest_ns == 0) return;
    write_text(writer, " ");
    write_duration(writer, rest_ns);
}

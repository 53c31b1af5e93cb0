/* SPDX-License-Identifier: MIT
   Numbers out of JSON, and a floating-point rate as the fraction it was meant to be.

   No number is rounded or cut on the way: what does not fit is refused. Leaves: what a missing number means to the
   caller. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

enum { WIDE_DIGITS = 38 /* fit in 127 bits */ };

static bool wide_of_text(const char *text, uint128 *value)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > WIDE_DIGITS || text[digits] != '\0') return false;
    *value = 0;
    for (; *text != '\0'; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        *value = *value * 10 + digit;
    }
    return true;
}

bool field_wide(struct json_object *object, const char *key, uint128 *value)
{
    struct json_object *field = NULL;
    if (!json_object_object_get_ex(object, key, &field)) return false;
    if (json_object_is_type(field, json_type_string)) return wide_of_text(json_object_get_string(field), value);
    if (!json_object_is_type(field, json_type_int) || json_object_get_int64(field) < 0) return false;
    *value = json_object_get_uint64(field);
    return true;
}

bool field_u64(struct json_object *object, const char *key, uint64_t *value)
{
    uint128 whole = 0;
    if (!field_wide(object, key, &whole) || whole > UINT64_MAX) return false;
    *value = (uint64_t)whole;
    return true;
}

bool field_wait(struct json_object *object, const char *key, uint64_t *wait_ns)
{
    uint128 whole = 0;
    *wait_ns = 0;
    if (!json_object_object_get_ex(object, key, NULL)) return true;
    if (!field_wide(object, key, &whole)) return false;
    *wait_ns = wide_to_64(whole);
    return true;
}

bool field_i64(struct json_object *object, const char *key, int64_t *value)
{
    struct json_object *field = NULL;
    if (!json_object_object_get_ex(object, key, &field)) return false;
    if (!json_object_is_type(field, json_type_int)) return false;
    *value = json_object_get_int64(field);
    return *value < 0 || json_object_get_uint64(field) <= INT64_MAX;
}

static bool double_of_text(const char *text, double *value)
{
    if (strcmp(text, "inf") == 0) *value = INFINITY;
    else if (strcmp(text, "-inf") == 0) *value = -INFINITY;
    else if (strcmp(text, "nan") == 0) *value = NAN;
    else {
        char *end = NULL;
        *value = strtod(text, &end);
        return end != text && *end == '\0';
    }
    return true;
}

bool field_double(struct json_object *object, const char *key, double *value)
{
    struct json_object *field = NULL;
    if (!json_object_object_get_ex(object, key, &field)) return false;
    if (json_object_is_type(field, json_type_string)) return double_of_text(json_object_get_string(field), value);
    if (!json_object_is_type(field, json_type_int) && !json_object_is_type(field, json_type_double)) return false;
    *value = json_object_get_double(field);
    return true;
}

/* Whole numbers up to here are doubles, so their quotient is rounded once: p/q lies within half an ulp of value
   exactly when it rounds to value. */
static const uint64_t DOUBLE_WHOLE_MAX = UINT64_C(1) << 53;

static struct fraction stepped(struct fraction from, struct fraction by, uint64_t times)
{
    return (struct fraction){from.p + times * by.p, from.q + times * by.q};
}

static double rounded(struct fraction fraction)
{
    return (double)fraction.p / (double)fraction.q;
}

static bool reached(struct fraction fraction, double value, bool upwards)
{
    return upwards ? rounded(fraction) >= value : rounded(fraction) <= value;
}

static uint64_t most_steps(struct fraction from, struct fraction by)
{
    const uint64_t for_p = by.p == 0 ? DOUBLE_WHOLE_MAX : (DOUBLE_WHOLE_MAX - from.p) / by.p;
    const uint64_t for_q = by.q == 0 ? DOUBLE_WHOLE_MAX : (DOUBLE_WHOLE_MAX - from.q) / by.q;
    return for_p < for_q ? for_p : for_q;
}

/* The least number of steps from one bound by the other that reaches value or passes it; 0 = not in 53 bits. */
static uint64_t least_steps(struct fraction from, struct fraction by, double value, bool upwards)
{
    uint64_t enough = most_steps(from, by);
    uint64_t too_few = 0;
    if (enough == 0 || !reached(stepped(from, by, enough), value, upwards)) return 0;
    while (enough - too_few > 1) {
        const uint64_t middle = too_few + (enough - too_few) / 2;
        if (reached(stepped(from, by, middle), value, upwards)) enough = middle;
        else too_few = middle;
    }
    return enough;
}

/* Down the Stern-Brocot tree, whole runs at a time; its first fraction that rounds to value is the simplest. */
bool fraction_of(double value, struct fraction *fraction)
{
    struct fraction bound[2] = {{0, 1}, {1, 0}}; /* value lies between them */
    for (bool upwards = true;; upwards = !upwards) {
        struct fraction *moving = &bound[upwards ? 0 : 1];
        const struct fraction other = bound[upwards ? 1 : 0];
        const uint64_t steps = least_steps(*moving, other, value, upwards);
        if (steps == 0) return false;
        *fraction = stepped(*moving, other, steps);
        if (rounded(*fraction) == value) return true; /* equality is what "rounds to" means */
        *moving = stepped(*moving, other, steps - 1);
    }
}

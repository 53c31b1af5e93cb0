/* SPDX-License-Identifier: MIT
   Expected against got: compares, counts, and says what differs.

   Only keys that the step expects are compared, and a step with a key that nobody compared counts as skipped, never as
   run.  Leaves: where the answers come from to the families. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

enum { GOT_SIZE = 256 };

void judge_skip(struct tally *tally, const char *reason, uint64_t steps)
{
    tally->skipped += steps;
    size_t i = 0;
    while (i < tally->reasons && strncmp(tally->reason[i].text, reason, REASON_SIZE - 1) != 0) i++;
    if (i == REASONS_MAX) {
        i = REASONS_MAX - 1;
        snprintf(tally->reason[i].text, REASON_SIZE, "for this and other reasons");
    } else if (i == tally->reasons) {
        snprintf(tally->reason[i].text, REASON_SIZE, "%s", reason);
        tally->reasons++;
    }
    tally->reason[i].steps += steps;
}

void judge_mismatch(struct step *step, const char *key, const char *expected, const char *got)
{
    struct tally *tally = step->scene->tally;
    if (tally->mismatches++ >= MISMATCHES_SHOWN) return;
    fprintf(stderr, "%s: case \"%s\" step %zu: %s: expected %s, got %s\n", tally->file, step->scene->name, step->index,
            key, expected, got);
}

void judge_stop(struct step *step, const char *key, const char *expected, const char *got)
{
    judge_mismatch(step, key, expected, got);
    step->stopped = true;
}

static struct json_object *expected_of(struct step *step, const char *key)
{
    struct json_object *expected = NULL;
    if (step->expect == NULL || !json_object_object_get_ex(step->expect, key, &expected)) return NULL;
    if (expected == NULL) return NULL; /* a JSON null is left uncompared, and so counted */
    if (step->compared < COMPARED_MAX) step->key[step->compared++] = key;
    step->by_core |= step->from_core;
    step->by_peers |= step->from_peers;
    return expected;
}

void judge_from_core(struct step *step, bool from_core)
{
    step->from_core = from_core;
    step->from_peers = false;
}

void judge_from_peers(struct step *step)
{
    step->from_core = false;
    step->from_peers = true;
}

void judge_adapted(struct step *step)
{
    step->adapted = true;
}

bool judge_has(struct step *step, const char *key)
{
    return expected_of(step, key) != NULL;
}

static void differs(struct step *step, const char *key, struct json_object *expected, const char *got)
{
    judge_mismatch(step, key, json_object_to_json_string_ext(expected, JSON_C_TO_STRING_PLAIN), got);
}

static bool is_u64(struct json_object *expected, uint64_t got)
{
    if (!json_object_is_type(expected, json_type_int) || json_object_get_int64(expected) < 0) return false;
    return json_object_get_uint64(expected) == got;
}

static bool is_i64(struct json_object *expected, int64_t got)
{
    if (got >= 0) return is_u64(expected, (uint64_t)got);
    return json_object_is_type(expected, json_type_int) && json_object_get_int64(expected) == got;
}

static bool is_near(struct json_object *expected, double got, double tolerance)
{
    const enum json_type type = json_object_get_type(expected);
    if (type != json_type_int && type != json_type_double && type != json_type_string) return false;
    return fabs(json_object_get_double(expected) - got) <= tolerance;
}

void judge_bool(struct step *step, const char *key, bool got)
{
    struct json_object *expected = expected_of(step, key);
    if (expected == NULL) return;
    if (json_object_is_type(expected, json_type_boolean) && json_object_get_boolean(expected) == got) return;
    differs(step, key, expected, got ? "true" : "false");
}

void judge_u64(struct step *step, const char *key, uint64_t got)
{
    struct json_object *expected = expected_of(step, key);
    if (expected == NULL || is_u64(expected, got)) return;
    char text[GOT_SIZE];
    snprintf(text, sizeof text, "%" PRIu64, got);
    differs(step, key, expected, text);
}

static void compare_i64(struct step *step, const char *key, struct json_object *expected, int64_t got)
{
    if (is_i64(expected, got)) return;
    char text[GOT_SIZE];
    snprintf(text, sizeof text, "%" PRId64, got);
    differs(step, key, expected, text);
}

void judge_i64(struct step *step, const char *key, int64_t got)
{
    struct json_object *expected = expected_of(step, key);
    if (expected != NULL) compare_i64(step, key, expected, got);
}

void judge_wait(struct step *step, const char *key, uint128 got_ns)
{
    struct json_object *expected = expected_of(step, key);
    if (expected == NULL) return;
    uint128 expected_ns = 0;
    if (field_wide(step->expect, key, &expected_ns)) {
        const uint128 apart = got_ns > expected_ns ? got_ns - expected_ns : expected_ns - got_ns;
        if (apart <= step->scene->tolerance_ns) return;
    }
    char text[GOT_SIZE];
    uint128 rest;
    const uint64_t part = UINT64_C(10000000000000000000), high = wide_to_64(wide_divide(got_ns, part, &rest));
    if (high != 0) snprintf(text, sizeof text, "%" PRIu64 "%019" PRIu64, high, (uint64_t)rest);
    else snprintf(text, sizeof text, "%" PRIu64, (uint64_t)got_ns);
    differs(step, key, expected, text);
}

static void compare_near(struct step *step, const char *key, struct json_object *expected, double got, double tolerance)
{
    if (is_near(expected, got, tolerance)) return;
    char text[GOT_SIZE];
    snprintf(text, sizeof text, "%.17g", got);
    differs(step, key, expected, text);
}

void judge_near(struct step *step, const char *key, double got, double tolerance)
{
    struct json_object *expected = expected_of(step, key);
    if (expected != NULL) compare_near(step, key, expected, got, tolerance);
}

static bool are_i64s(struct json_object *expected, const int64_t *got, size_t count)
{
    if (!json_object_is_type(expected, json_type_array) || json_object_array_length(expected) != count) return false;
    for (size_t i = 0; i < count; i++)
        if (!is_i64(json_object_array_get_idx(expected, i), got[i])) return false;
    return true;
}

void judge_i64s(struct step *step, const char *key, const int64_t *got, size_t count)
{
    struct json_object *expected = expected_of(step, key);
    if (expected == NULL || are_i64s(expected, got, count)) return;
    char text[GOT_SIZE] = "[";
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%" PRId64, i > 0 ? "," : "", got[i]);
    }
    const size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "]");
    differs(step, key, expected, text);
}

static struct json_object *after_of(struct step *step, const char *key)
{
    struct json_object *after = NULL;
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(step->json, "state_after", &after)) return NULL;
    if (!json_object_object_get_ex(after, key, &value) || value == NULL) return NULL;
    step->by_core |= step->from_core;
    step->by_peers |= step->from_peers;
    return value;
}

void judge_after_i64(struct step *step, const char *key, int64_t got)
{
    struct json_object *expected = after_of(step, key);
    if (expected != NULL) compare_i64(step, key, expected, got);
}

void judge_after_near(struct step *step, const char *key, double got, double tolerance)
{
    struct json_object *expected = after_of(step, key);
    if (expected != NULL) compare_near(step, key, expected, got, tolerance);
}

static bool was_compared(const struct step *step, const char *key)
{
    for (size_t i = 0; i < step->compared; i++)
        if (strcmp(step->key[i], key) == 0) return true;
    return false;
}

static const char *first_uncompared(const struct step *step)
{
    if (step->expect == NULL) return NULL;
    struct json_object_iterator at = json_object_iter_begin(step->expect);
    const struct json_object_iterator end = json_object_iter_end(step->expect);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at))
        if (!was_compared(step, json_object_iter_peek_name(&at))) return json_object_iter_peek_name(&at);
    return NULL;
}

void judge_end(struct step *step)
{
    const char *left = step->stopped ? NULL : first_uncompared(step);
    if (left == NULL) {
        struct tally *tally = step->scene->tally;
        const bool by_core = step->by_core && !step->adapted;
        tally->run++;
        tally->by_core += by_core;
        tally->by_peers += !by_core && step->by_peers;
        return;
    }
    char reason[REASON_SIZE];
    snprintf(reason, sizeof reason, "not yet (answer %.40s)", left);
    judge_skip(step->scene->tally, reason, 1);
}

/* SPDX-License-Identifier: MIT
   What existing limiters answered (test/vectors/peers), asked of the engine's unit.

   Only files whose algorithm is kept in an engine, and of those only the cases that fit: limits that it keeps and times
   in whole us, with a clock that goes forward and an answer that is no quirk of the peer's.  What does not fit is
   counted and printed, never passed; how many fit is asserted, so that none is lost unnoticed.

   The rest is not kept in an engine (cycles, warm-up, timelines, pools, rings: see micro_plan_make), gives tokens by
   its own clock (gubernator), or asks by verbs of its own (go_x_time_rate, the pools).

   Answers equal, waits rounded up to a us. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#define VALUE_SLOTS 4096
#include "redis/micro/micro.h"
#include "unit/micro_value.h"

enum { TEXT_SIZE = 160, PATH_SIZE = 512, US_NS = 1000 };

struct key {
    struct micro_plan plan;
    struct value value;
};

struct peer {
    const char *file;
    void (*write)(struct json_object *limiter, char text[TEXT_SIZE]);
    bool waits, peeks;
    bool says_remaining; /* as weir does: not what its decisions do not go by, nor calls that a gap would refuse */
    unsigned fits;       /* cases */
};

/* ---- numbers of a file ---- */

static bool number(struct json_object *object, const char *name, uint64_t *value)
{
    struct json_object *found;
    if (!json_object_object_get_ex(object, name, &found) || !json_object_is_type(found, json_type_int)) return false;
    *value = json_object_get_uint64(found);
    return json_object_get_int64(found) >= 0 && *value <= INT64_MAX;
}

static uint64_t number_or_0(struct json_object *object, const char *name)
{
    uint64_t value;
    return number(object, name, &value) ? value : 0;
}

static bool flag(struct json_object *object, const char *name)
{
    return json_object_get_boolean(json_object_object_get(object, name));
}

/* ---- a limiter in weir's words ---- */

static void write_gcra(struct json_object *limiter, char text[TEXT_SIZE])
{
    snprintf(text, TEXT_SIZE, "1/%" PRIu64 "ns burst=%" PRIu64, number_or_0(limiter, "emission_interval_ns"),
             number_or_0(limiter, "burst"));
}

static void write_nginx(struct json_object *limiter, char text[TEXT_SIZE])
{
    const uint64_t delay = number_or_0(limiter, "delay_requests");
    const int length =
        snprintf(text, TEXT_SIZE, "%s burst=%" PRIu64, json_object_get_string(json_object_object_get(limiter, "rate")),
                 number_or_0(limiter, "burst"));
    char *end = text + length;
    const size_t room = TEXT_SIZE - (size_t)length;
    if (flag(limiter, "nodelay")) snprintf(end, room, " nodelay");
    else if (delay != 0) snprintf(end, room, " delay=%" PRIu64, delay);
}

static void write_window(struct json_object *limiter, const char *options, char text[TEXT_SIZE])
{
    snprintf(text, TEXT_SIZE, "%" PRIu64 "/%" PRIu64 "ns %s", number_or_0(limiter, "limit"),
             number_or_0(limiter, "window_ns"), options);
}

static void write_fixed(struct json_object *limiter, char text[TEXT_SIZE])
{
    write_window(limiter, "algorithm=fixed-window count-refused", text);
}

static void write_aligned(struct json_object *limiter, char text[TEXT_SIZE])
{
    write_window(limiter, "algorithm=fixed-window align=clock count-refused", text);
}

static void write_sliding(struct json_object *limiter, char text[TEXT_SIZE])
{
    write_window(limiter, "algorithm=sliding-window", text);
}

static void write_moving(struct json_object *limiter, char text[TEXT_SIZE])
{
    write_window(limiter, "algorithm=sliding-log edge=closed", text);
}

/* No text where the gap is longer than the interval: after that the peer has forgotten the call, and weir has not. */
static void write_rolling(struct json_object *limiter, char text[TEXT_SIZE])
{
    const uint64_t gap = number_or_0(limiter, "min_gap_ns"), interval = number_or_0(limiter, "interval_ns");
    text[0] = '\0';
    if (gap > interval) return;
    const int length = snprintf(text, TEXT_SIZE, "%" PRIu64 "/%" PRIu64 "ns algorithm=sliding-log count-refused",
                                number_or_0(limiter, "max_in_interval"), interval);
    if (gap != 0) snprintf(text + length, TEXT_SIZE - (size_t)length, " gap=%" PRIu64 "ns", gap);
}

/* ---- asking ---- */

static struct micro_answer ask(struct key *key, const struct micro_ask *ask)
{
    struct micro_state state;
    struct micro_log log;
    struct micro_answer answer;
    if (!value_get(&key->value, &state, &log)) fail_msg("the value is not read");
    micro_take(&key->plan, &state, &log, ask, &answer);
    if (answer.changed) value_put(&key->value, &state, &log);
    return answer;
}

static void check_wait(const char *where, struct json_object *expect, const char *name, uint64_t us)
{
    uint64_t ns;
    if (!number(expect, name, &ns)) return;
    const uint64_t expected = ns / US_NS + (ns % US_NS != 0);
    if (us != expected) fail_msg("%s: %s is %" PRIu64 " us, not %" PRIu64, where, name, us, expected);
}

static void check_step(const char *where, struct key *key, struct json_object *step, const struct peer *peer)
{
    struct json_object *expect = json_object_object_get(step, "expect");
    const bool peek = strcmp(json_object_get_string(json_object_object_get(step, "op")), "peek") == 0;
    const struct micro_ask question = {.now = number_or_0(step, "t_ns") / US_NS,
                                       .cost = {number_or_0(step, "n")},
                                       .wait = peer->waits ? MICRO_MOST : 0,
                                       .peek = peek};
    const struct micro_answer answer = ask(key, &question);
    const bool allowed = answer.verdict == WEIR_ALLOW;
    uint64_t remaining;
    if (allowed != flag(expect, "allowed")) fail_msg("%s: verdict %d", where, answer.verdict);
    check_wait(where, expect, peer->waits && allowed ? "wait_ns" : "retry_after_ns",
               peer->waits ? answer.delay : answer.retry);
    if (peek || !peer->says_remaining || !number(expect, "remaining", &remaining))
        return; /* a peer's peek says what is left before */
    if (answer.remaining != remaining) fail_msg("%s: %" PRIu64 " remain", where, answer.remaining);
}

/* ---- cases ---- */

/* Every time in whole us, every count a number. */
static bool steps_fit(struct json_object *steps, bool peeks)
{
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        struct json_object *step = json_object_array_get_idx(steps, i);
        const char *op = json_object_get_string(json_object_object_get(step, "op"));
        uint64_t t_ns, n;
        if (!number(step, "t_ns", &t_ns) || t_ns % US_NS != 0 || !number(step, "n", &n)) return false;
        if (strcmp(op, "try") != 0 && !(peeks && strcmp(op, "peek") == 0)) return false;
    }
    return true;
}

static bool run_case(const struct peer *peer, struct json_object *one)
{
    static struct key key; /* a log is too long for a stack */
    weir_plan plan;
    weir_error error;
    char text[TEXT_SIZE], where[PATH_SIZE];
    struct json_object *steps = json_object_object_get(one, "steps");
    if (flag(one, "clock_goes_back") || flag(one, "peer_quirk") || !steps_fit(steps, peer->peeks)) return false;
    peer->write(json_object_object_get(one, "limiter"), text);
    key.value.size = 0;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) return false;
    if (micro_plan_make(&key.plan, &plan, &error) != 0) return false;
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        snprintf(where, sizeof where, "%s, %s, step %zu, %s", peer->file,
                 json_object_get_string(json_object_object_get(one, "name")), i, text);
        check_step(where, &key, json_object_array_get_idx(steps, i), peer);
    }
    return true;
}

static struct json_object *read_cases(const char *file, struct json_object **owned)
{
    char path[PATH_SIZE];
    const char *here = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../vectors/peers/%s.json", (int)(here - __FILE__), __FILE__, file);
    *owned = json_object_from_file(path);
    if (*owned == NULL) fail_msg("%s: %s", path, json_util_get_last_err());
    return json_object_object_get(*owned, "cases");
}

static void peers(void **unused)
{
    (void)unused;
    static const struct peer rows[] = {
        {"governor_gcra", write_gcra, false, false, true, 7},
        {"nginx_limit_req", write_nginx, true, false, true, 12},
        {"fixed_window_aligned", write_aligned, false, false, true, 5},
        {"fixed_window_limits", write_fixed, false, true, true, 5},
        {"sliding_window_counter", write_sliding, false, true, true, 5},
        {"moving_window_limits", write_moving, false, false, false, 3},
        {"rolling_log", write_rolling, false, false, false, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_object *file, *cases = read_cases(rows[i].file, &file);
        const size_t all = json_object_array_length(cases);
        unsigned fit = 0;
        for (size_t at = 0; at < all; at++) fit += run_case(&rows[i], json_object_array_get_idx(cases, at));
        print_message("%s: %u of %zu cases fit and agree\n", rows[i].file, fit, all);
        assert_int_equal(fit, rows[i].fits);
        json_object_put(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(peers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

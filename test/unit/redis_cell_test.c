/* SPDX-License-Identifier: MIT
   redis_cell_test.c - CL.THROTTLE answers what redis-cell has answered, step by step.

   Each case of vectors/peers/redis_cell.json is asked for one key at the times that it says.  redis-cell drops what is
   left of a second below one ms; weir rounds it up, so where a reply differs, it has to be by that second alone.  The
   rest of the replies is equal, number by number.

   May touch: its own service; the vectors.  Promises: the same in every run.  Leaves to others: arguments in error
   (resp_commands_test.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "serve/protocols.h"
#include "unit/serve_rig.h"

enum { NUMBERS = 5, RETRY = 3, RESET = 4 };
enum { MS_NS = 1000000 };
static const int64_t SECOND_NS = 1000000000;

/* How a command gets to the service and its answer back. */
struct transport {
    void *context;
    void (*set_ns)(void *context, uint64_t now_ns);
    const char *(*ask)(void *context, const char *const arguments[]);
};

struct tally {
    unsigned cases, steps, rounded;
};

static struct json_object *field(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, name, &value);
    return value;
}

static const char *number_text(struct json_object *object, const char *name, char text[24])
{
    snprintf(text, 24, "%lld", (long long)json_object_get_int64(field(object, name)));
    return text;
}

/* ---- one step ---- */

static void read_reply(const char *reply, int64_t number[NUMBERS])
{
    long long read[NUMBERS];
    int end = 0;
    if (sscanf(reply, "*5\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n%n", &read[0], &read[1], &read[2], &read[3],
               &read[4], &end) != NUMBERS ||
        reply[end] != '\0') {
        fail_msg("no five integers: %s", reply);
    }
    for (int i = 0; i < NUMBERS; i++) number[i] = read[i];
}

/* The ns that these seconds come from: of what is left of a ms alone redis-cell says nothing. */
static bool only_rounded(struct json_object *expect, int which, int64_t seconds, int64_t expected)
{
    struct json_object *exact = field(expect, which == RESET ? "reset_in_ns" : "retry_after_ns");
    if (which < RETRY || exact == NULL) return false;
    const int64_t ns = json_object_get_int64(exact);
    return seconds == expected + 1 && ns % SECOND_NS > 0 && ns % SECOND_NS < MS_NS && seconds == ns / SECOND_NS + 1;
}

static void check_reply(const char *name, size_t step, struct json_object *expect, const char *reply,
                        struct tally *tally)
{
    struct json_object *expected = field(expect, "reply");
    int64_t number[NUMBERS];
    read_reply(reply, number);
    for (int i = 0; i < NUMBERS; i++) {
        const int64_t told = json_object_get_int64(json_object_array_get_idx(expected, (size_t)i));
        if (number[i] == told) continue;
        if (!only_rounded(expect, i, number[i], told))
            fail_msg("%s, step %zu: number %d is %lld, not %lld", name, step, i, (long long)number[i], (long long)told);
        tally->rounded++;
    }
}

static void check_step(const struct transport *transport, struct json_object *scene, size_t number, struct tally *tally)
{
    char max_burst[24], count[24], period[24], quantity[24];
    const char *name = json_object_get_string(field(scene, "name"));
    struct json_object *limiter = field(scene, "limiter");
    struct json_object *step = json_object_array_get_idx(field(scene, "steps"), number);
    struct json_object *expect = field(step, "expect");
    const char *const arguments[] = {"CL.THROTTLE",
                                     name,
                                     number_text(limiter, "max_burst", max_burst),
                                     number_text(limiter, "count", count),
                                     number_text(limiter, "period_s", period),
                                     number_text(step, "n", quantity),
                                     NULL};
    transport->set_ns(transport->context, (uint64_t)json_object_get_int64(field(step, "t_ns")));
    const char *reply = transport->ask(transport->context, arguments);
    tally->steps++;
    if (field(expect, "error") == NULL) check_reply(name, number, expect, reply, tally);
    else if (reply[0] != '-') fail_msg("%s, step %zu: expected an error, not %s", name, number, reply);
}

/* ---- all cases ---- */

static void check_cases(const struct transport *transport, struct tally *tally)
{
    struct json_object *file = json_object_from_file(TEST_FOLDER "/vectors/peers/redis_cell.json");
    struct json_object *cases = file != NULL ? field(file, "cases") : NULL;
    if (cases == NULL) fail_msg("redis_cell.json: %s", json_util_get_last_err());
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        struct json_object *scene = json_object_array_get_idx(cases, i);
        if (field(scene, "peer_quirk") != NULL) continue; /* a burst below 0, which weir refuses */
        for (size_t step = 0; step < json_object_array_length(field(scene, "steps")); step++)
            check_step(transport, scene, step, tally);
        tally->cases++;
    }
    json_object_put(file);
}

/* Far enough from 0 that a clock may go back. */
static void set_ns(void *context, uint64_t now_ns)
{
    ((struct rig *)context)->now_ns = UINT64_C(1000000000000) + now_ns;
}

static const char *ask(void *context, const char *const arguments[])
{
    return rig_say(context, arguments);
}

static void without_socket(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct tally tally = {0};
    check_cases(&(struct transport){rig, set_ns, ask}, &tally);
    printf("%u cases, %u steps; %u numbers differ, by a part below one ms alone\n", tally.cases, tally.steps,
           tally.rounded);
    assert_true(tally.cases >= 8 && tally.steps >= 57);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_socket)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

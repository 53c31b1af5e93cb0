/* SPDX-License-Identifier: MIT
   Does the module decide, store and expire as src/redis/micro does?  Random plans, calls and times.

       engine-module_micro SOCKET [steps [seed]]

   Each step is asked twice: of src/redis/micro here, and of the engine, whose clock is set by WEIR.CLOCK.  Then what
   the engine keeps at the keys is read: the bytes, the expiry.  The engine is BATCH steps behind, in one pipeline.

   The same steps for the same seed, which is printed. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module_model.h"

enum { STEPS = 20000, BATCH = 256, WORDS = 40 };
static const uint64_t BEGAN_US = UINT64_C(4102444800000000); /* 2100: no key expires by the engine's clock */

/* A take that can be settled. */
struct taken {
    unsigned plan, place;
    uint64_t at, cost[WEIR_LIMITS_MAX];
};

struct lease {
    unsigned plan, place;
    uint64_t id, permits;
};

struct test {
    redisContext *engine;
    struct world world;
    uint64_t now, step;
    struct taken taken;
    struct lease lease;
    char *expected[BATCH * 12];
    unsigned queued;
};

/* ---- asking ---- */

struct words {
    char text[WORDS][TEXT];
    const char *word[WORDS];
    int count;
};

#define ADD(words, ...)                                                                                                \
    do {                                                                                                               \
        (words)->word[(words)->count] = (words)->text[(words)->count];                                                 \
        snprintf((words)->text[(words)->count++], TEXT, __VA_ARGS__);                                                  \
    } while (0)

static void expect(struct test *test, const char *what, const char *answer)
{
    const size_t size = strlen(what) + strlen(answer) + 3;
    char *both = malloc(size);
    if (both == NULL || test->queued == sizeof test->expected / sizeof test->expected[0]) exit(1);
    snprintf(both, size, "%s\n%s", what, answer);
    test->expected[test->queued++] = both;
}

static void send_words(struct test *test, struct words *words, const char *answer)
{
    char what[8 * TEXT];
    size_t size = (size_t)snprintf(what, sizeof what, "step %" PRIu64 " at %" PRIu64 ":", test->step, test->now);
    for (int i = 0; i < words->count; i++)
        size += (size_t)snprintf(what + size, sizeof what - size, " '%s'", words->word[i]);
    redisAppendCommandArgv(test->engine, words->count, words->word, NULL);
    expect(test, what, answer);
}

static void begin_words(struct words *words, const char *command, const struct view *view)
{
    words->count = 0;
    ADD(words, "%s", command);
    ADD(words, "%s", view->plan->text);
    for (unsigned i = 0; i < view->keys; i++) {
        if (i != 0) ADD(words, "AND");
        ADD(words, "%s", view->held[i]->name);
    }
}

static void add_numbers(struct words *words, const struct view *view, const uint64_t number[])
{
    for (unsigned i = 0; i < view->plan->micro.count; i++) ADD(words, "%" PRIu64, number[i]);
}

static uint64_t capped_ns(uint64_t us)
{
    return us > INT64_MAX / 1000 ? INT64_MAX : us * 1000;
}

static void write_answer(const struct micro_answer *given, const char *receipt, char out[TEXT])
{
    static const char *const verdict[] = {"", "allow", "deny", "never", ""};
    const uint64_t remaining = given->remaining > INT64_MAX ? INT64_MAX : given->remaining;
    snprintf(out, TEXT, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %" PRIu64,
             verdict[given->verdict], given->limit, remaining, capped_ns(given->delay), capped_ns(given->retry),
             capped_ns(given->full), receipt, capped_ns(given->late));
}

static void pick_costs(struct test *test, const struct plan *plan, uint64_t cost[])
{
    for (unsigned i = 0; i < plan->micro.count; i++) {
        const uint64_t burst = plan->micro.rule[i].burst;
        cost[i] =
            random_one_in(&test->world.seed, 2) ? 1 : random_below(&test->world.seed, (burst > 40 ? 40 : burst) + 2);
    }
}

static void write_receipt(const struct taken *taken, unsigned count, char out[TEXT])
{
    size_t size = (size_t)snprintf(out, TEXT, "%" PRIu64, taken->at);
    for (unsigned i = 0; i < count; i++) size += (size_t)snprintf(out + size, TEXT - size, ":%" PRIu64, taken->cost[i]);
}

/* ---- the commands ---- */

static void take(struct test *test, struct view *view, unsigned plan, unsigned place)
{
    struct words words;
    struct micro_ask ask = {.now = test->now, .peek = random_one_in(&test->world.seed, 5)};
    struct micro_answer given;
    char answer[TEXT], receipt[TEXT] = "(nil)";
    bool any = false;
    pick_costs(test, view->plan, ask.cost);
    if (view->plan->micro.count == 1 && random_one_in(&test->world.seed, 4))
        ask.wait = random_sized(&test->world.seed, 24);
    begin_words(&words, "WEIR.TAKE", view);
    ADD(&words, "COST");
    add_numbers(&words, view, ask.cost);
    if (ask.peek) ADD(&words, "PEEK");
    if (ask.wait != 0) {
        ADD(&words, "WAIT");
        ADD(&words, "%" PRIu64, ask.wait);
    }
    micro_take(&view->plan->micro, &view->state, view->log, &ask, &given);
    for (unsigned i = 0; i < view->plan->micro.count; i++) any = any || ask.cost[i] != 0;
    if (given.verdict == WEIR_ALLOW && any && !ask.peek) {
        test->taken = (struct taken){.plan = plan, .place = place, .at = given.taken};
        memcpy(test->taken.cost, ask.cost, sizeof ask.cost);
        write_receipt(&test->taken, view->plan->micro.count, receipt);
    }
    if (given.changed && !ask.peek) keep(view, given.idle);
    write_answer(&given, receipt, answer);
    send_words(test, &words, answer);
}

static void charge(struct test *test, struct view *view)
{
    struct words words;
    struct micro_ask ask = {.now = test->now};
    struct micro_answer given;
    char answer[TEXT];
    pick_costs(test, view->plan, ask.cost);
    begin_words(&words, "WEIR.CHARGE", view);
    add_numbers(&words, view, ask.cost);
    micro_charge(&view->plan->micro, &view->state, view->log, &ask, &given);
    if (given.changed) keep(view, given.idle);
    write_answer(&given, "(nil)", answer);
    send_words(test, &words, answer);
}

static void settle(struct test *test)
{
    struct view view;
    struct words words;
    struct micro_answer given;
    uint64_t actual[WEIR_LIMITS_MAX];
    char receipt[TEXT];
    const struct taken *taken = &test->taken;
    if (taken->at == 0) return;
    look(&test->world, &test->world.plan[taken->plan], taken->place, &view);
    pick_costs(test, view.plan, actual);
    write_receipt(taken, view.plan->micro.count, receipt);
    begin_words(&words, "WEIR.SETTLE", &view);
    ADD(&words, "%s", receipt);
    add_numbers(&words, &view, actual);
    micro_settle(&view.plan->micro, &view.state, view.log, test->now, taken->at, taken->cost, actual, &given);
    if (given.changed) keep(&view, given.idle);
    send_words(test, &words, "1");
}

static void lease(struct test *test, struct view *view, unsigned plan, unsigned place)
{
    struct words words;
    struct micro_lease lease, back = {.changed = false};
    char answer[TEXT];
    const uint64_t want = random_below(&test->world.seed, 40), lifetime = 1000 + random_sized(&test->world.seed, 23);
    const bool returns = test->lease.permits != 0 && test->lease.plan == plan && test->lease.place == place;
    const uint64_t unused = returns ? random_below(&test->world.seed, test->lease.permits + 1) : 0;
    begin_words(&words, "WEIR.LEASE", view);
    ADD(&words, "%" PRIu64, want);
    ADD(&words, "%" PRIu64, lifetime);
    if (returns) {
        ADD(&words, "RETURN");
        ADD(&words, "%" PRIu64, test->lease.id);
        ADD(&words, "%" PRIu64, test->lease.permits);
        ADD(&words, "%" PRIu64, unused);
        micro_lease_return(&view->plan->micro, &view->state, test->now, test->lease.id, test->lease.permits, unused,
                           &back);
    }
    micro_lease_take(&view->plan->micro, &view->state, test->now, want, lifetime, &lease);
    test->lease = (struct lease){plan, place, lease.id, lease.permits};
    if (lease.changed || back.changed) keep(view, lease.idle);
    snprintf(answer, sizeof answer, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, lease.permits, lease.id,
             lease.remaining, lease.retry);
    send_words(test, &words, answer);
}

static void give_back(struct test *test)
{
    struct view view;
    struct words words;
    struct micro_lease back;
    const struct lease *lease = &test->lease;
    if (lease->permits == 0) return;
    const uint64_t unused = random_below(&test->world.seed, lease->permits + 1);
    look(&test->world, &test->world.plan[lease->plan], lease->place, &view);
    begin_words(&words, "WEIR.RETURN", &view);
    ADD(&words, "%" PRIu64, lease->id);
    ADD(&words, "%" PRIu64, lease->permits);
    ADD(&words, "%" PRIu64, unused);
    micro_lease_return(&view.plan->micro, &view.state, test->now, lease->id, lease->permits, unused, &back);
    if (back.changed) keep(&view, back.idle);
    send_words(test, &words, back.permits != 0 ? "1" : "0");
    test->lease.permits = 0;
}

static void forget(struct test *test, struct view *view)
{
    struct words words;
    begin_words(&words, "WEIR.FORGET", view);
    for (unsigned i = 0; i < view->keys; i++) view->held[i]->value.size = 0;
    send_words(test, &words, "1");
}

/* ---- what the engine holds ---- */

static void check_held(struct test *test, const struct held *held)
{
    static char answer[2 * sizeof held->value.bytes + 1];
    struct words words = {.count = 0};
    ADD(&words, "GET");
    ADD(&words, "%s", held->name);
    for (size_t i = 0; i < held->value.size; i++) snprintf(answer + 2 * i, 3, "%02x", held->value.bytes[i]);
    if (held->value.size == 0) strcpy(answer, "(nil)");
    send_words(test, &words, answer);
    words.count = 0;
    ADD(&words, "PEXPIRETIME");
    ADD(&words, "%s", held->name);
    if (held->value.size != 0) snprintf(answer, sizeof answer, "%" PRIu64, (held->idle + 999) / 1000);
    else snprintf(answer, sizeof answer, "-2");
    send_words(test, &words, answer);
}

static bool is_plain(const redisReply *reply)
{
    for (size_t i = 0; i < reply->len; i++) {
        if (reply->str[i] < ' ' || reply->str[i] > '~') return false;
    }
    return true;
}

static size_t write_reply(const redisReply *reply, char *out, size_t size)
{
    size_t at = 0;
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        return (size_t)snprintf(out, size, "%lld", reply->integer);
    case REDIS_REPLY_NIL:
        return (size_t)snprintf(out, size, "(nil)");
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            if (i != 0) at += (size_t)snprintf(out + at, size - at, " ");
            at += write_reply(reply->element[i], out + at, size - at);
        }
        return at;
    default:
        if (is_plain(reply)) return (size_t)snprintf(out, size, "%s", reply->str);
        for (size_t i = 0; i < reply->len; i++)
            at += (size_t)snprintf(out + at, size - at, "%02x", (unsigned char)reply->str[i]);
        return at;
    }
}

static void compare_all(struct test *test)
{
    static char found[4 * sizeof(struct value)];
    for (unsigned i = 0; i < test->queued; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(test->engine, (void **)&reply) != REDIS_OK) {
            fprintf(stderr, "the engine is gone: %s\n", test->engine->errstr);
            exit(1);
        }
        found[0] = '\0';
        write_reply(reply, found, sizeof found);
        const char *answer = strchr(test->expected[i], '\n') + 1;
        if (strcmp(found, answer) != 0) {
            fprintf(stderr, "%.*s\n  expected: %s\n  found:    %s\n", (int)(answer - test->expected[i] - 1),
                    test->expected[i], answer, found);
            exit(1);
        }
        freeReplyObject(reply);
        free(test->expected[i]);
    }
    test->queued = 0;
}

/* ---- steps ---- */

static void set_clock(struct test *test)
{
    struct words words = {.count = 0};
    const uint64_t jump = random_sized(&test->world.seed, random_one_in(&test->world.seed, 20) ? 33 : 22);
    if (random_one_in(&test->world.seed, 40) && test->now > BEGAN_US + jump) test->now -= jump;
    else if (!random_one_in(&test->world.seed, 4)) test->now += jump;
    ADD(&words, "WEIR.CLOCK");
    ADD(&words, "%" PRIu64, test->now);
    send_words(test, &words, "OK");
}

static void step(struct test *test)
{
    struct view view;
    uint64_t *seed = &test->world.seed;
    unsigned plan = (unsigned)random_below(seed, random_one_in(seed, 4) ? PLANS : PLANS / 16);
    unsigned place = (unsigned)random_below(seed, PLACES);
    const uint64_t verb = random_below(seed, 40);
    if (verb >= 32 && verb < 36 && test->lease.permits != 0 && random_one_in(seed, 2)) {
        plan = test->lease.plan;
        place = test->lease.place;
    }
    set_clock(test);
    look(&test->world, &test->world.plan[plan], place, &view);
    if (verb < 22) take(test, &view, plan, place);
    else if (verb < 27) charge(test, &view);
    else if (verb < 32) settle(test);
    else if (verb < 36 && micro_leases(&view.plan->micro)) lease(test, &view, plan, place);
    else if (verb < 38) give_back(test);
    else if (verb == 38) forget(test, &view);
    else take(test, &view, plan, place);
    for (unsigned i = 0; i < view.keys; i++) check_held(test, view.held[i]);
}

int main(int count, char **argument)
{
    static struct test test;
    const uint64_t steps = count > 2 ? strtoull(argument[2], NULL, 10) : STEPS;
    test.world.seed = count > 3 ? strtoull(argument[3], NULL, 10) : 7;
    printf("%" PRIu64 " steps, seed %" PRIu64 "\n", steps, test.world.seed);
    test.engine = count > 1 ? redisConnectUnix(argument[1]) : NULL;
    if (test.engine == NULL || test.engine->err != 0 || test.world.seed == 0) {
        fprintf(stderr, "usage: engine-module_micro SOCKET [steps [seed]]\n");
        return 2;
    }
    test.now = BEGAN_US;
    make_plans(&test.world);
    name_places(&test.world);
    for (test.step = 0; test.step < steps; test.step++) {
        step(&test);
        if (test.step % BATCH == BATCH - 1 || test.queued > BATCH * 7) compare_all(&test);
    }
    compare_all(&test);
    redisFree(test.engine);
    printf("no difference\n");
    return 0;
}

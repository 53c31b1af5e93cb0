/* SPDX-License-Identifier: MIT
   Do the module and weir.lua, in turns on the same keys, hold slots as the core does?

       engine-concurrent SOCKET [steps [seed]]

   Each step is asked of the core in memory, and of the engine: by the module or by the functions, whose clocks the test
   sets.  Answers are the same, but for the ids, and so is how many are held at each key, how many members there are
   and when it expires.  In every other thousand steps the clock is set back now and then; the oracle then has what a
   set has: a clock that goes on from where it was when it was written last.

   The same steps for the same seed, which is printed. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "engine/lib/words.h"
#include "unit/random.h"

enum { STEPS = 20000, PLACES = 6, IDS = 128, TEXT = 160, STATE_WORDS = 512, SPELL = 1000, US_NS = 1000 };
static const uint64_t BEGAN_US = UINT64_C(4102444800000000); /* 2100: no key expires by the engine's clock */
static const uint64_t SECOND_NS = UINT64_C(1000000000);

static const char *const texts[PLACES] = {
    "1 concurrent lease=1s",          "3 concurrent lease=30s",         "20 concurrent jobs lease=5ms",
    "100 concurrent lease=7s; 100/s", "200/s; 10 concurrent lease=20s", "7 concurrent lease=1500us; 1000/s burst=5"};

/* What was taken by one call. */
struct id {
    char engine[24];
    weir_decision core; /* its end is the core's id; charged 0: settled */
    uint64_t end, slots;
};

struct place {
    weir_plan plan;
    int limits, holder;
    uint64_t slots, lease_us;
    uint64_t state[STATE_WORDS];
    bool there;
    uint64_t seen, ahead; /* of its set: its clock, when it was written, and how far that is ahead of the engine's */
    uint64_t until_ms;    /* when it expires */
    char key[2][32];
    struct id id[IDS]; /* the newest */
    unsigned next;
};

struct test {
    redisContext *engine;
    uint64_t seed, now, latest, step;
    bool by_module, back;
    struct place place[PLACES];
    char asked[16 * TEXT], answer[16 * TEXT];
};

/* ---- the engine ---- */

static void fail(const struct test *test, const char *what, uint64_t found, uint64_t expected)
{
    printf("FAILED at step %" PRIu64 ", time %" PRIu64 ": %s is %" PRIu64 ", expected %" PRIu64 "\n  %s\n  %s\n",
           test->step, test->now - BEGAN_US, what, found, expected, test->asked, test->answer);
    exit(1);
}

static void same(const struct test *test, const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected) fail(test, what, found, expected);
}

static size_t write_reply(const redisReply *reply, char *out, size_t size)
{
    size_t at = 0;
    if (reply->type == REDIS_REPLY_INTEGER) return (size_t)snprintf(out, size, "%lld", reply->integer);
    if (reply->type == REDIS_REPLY_NIL) return (size_t)snprintf(out, size, "-");
    if (reply->type != REDIS_REPLY_ARRAY) return (size_t)snprintf(out, size, "%s", reply->str);
    for (size_t i = 0; i < reply->elements; i++) {
        if (i != 0) at += (size_t)snprintf(out + at, size - at, " ");
        at += write_reply(reply->element[i], out + at, size - at);
    }
    return at;
}

static const char *send_words(struct test *test, struct words *words, char out[16 * TEXT])
{
    redisReply *reply = redisCommandArgv(test->engine, words->count, words->word, NULL);
    if (reply == NULL) {
        fprintf(stderr, "the engine: %s\n", test->engine->errstr);
        exit(1);
    }
    out[0] = '\0';
    write_reply(reply, out, 16 * TEXT);
    freeReplyObject(reply);
    return out;
}

static uint64_t number_of(struct test *test, const char *command, ...)
{
    char out[16 * TEXT];
    struct words words = {.count = 0};
    va_list arguments;
    va_start(arguments, command);
    for (const char *word = command; word != NULL; word = va_arg(arguments, const char *)) add(&words, "%s", word);
    va_end(arguments);
    return strtoull(send_words(test, &words, out), NULL, 10);
}

/* The end of something that is held, or a us before. */
static void to_an_end(struct test *test)
{
    const struct place *const place = &test->place[random_below(&test->seed, PLACES)];
    const uint64_t end = place->id[random_below(&test->seed, IDS)].end;
    if (end > test->now + place->ahead) test->now = end - place->ahead - random_below(&test->seed, 2);
}

static void send_clock(struct test *test)
{
    char us[24];
    snprintf(us, sizeof us, "%" PRIu64, test->now);
    number_of(test, "WEIR.CLOCK", us, NULL);
    number_of(test, "SET", "weir:test:now", us, NULL);
}

static void set_clock(struct test *test)
{
    const uint64_t jump = random_sized(&test->seed, random_one_in(&test->seed, 12) ? 26 : 18);
    if (test->back && random_one_in(&test->seed, 20) && test->now > BEGAN_US + jump) test->now -= jump;
    else if (random_one_in(&test->seed, 3)) to_an_end(test);
    else if (!random_one_in(&test->seed, 3)) test->now += jump;
    if (!test->back && test->now < test->latest) test->now = test->latest;
    if (test->now > test->latest) test->latest = test->now;
    send_clock(test);
}

/* "take" as WEIR.TAKE limit key [AND key], or FCALL weir_take 1 key limit. */
static void begin_words(struct test *test, struct words *words, const struct place *place, const char *verb)
{
    static const char *const names[][2] = {{"take", "WEIR.TAKE"},
                                           {"settle", "WEIR.SETTLE"},
                                           {"renew", "WEIR.RENEW"},
                                           {"release", "WEIR.RELEASE"},
                                           {"forget", "WEIR.FORGET"}};
    const char *const text = texts[place - test->place];
    size_t name = 0;
    while (strcmp(names[name][0], verb) != 0) name++;
    test->by_module = random_one_in(&test->seed, 2);
    words->count = 0;
    add(words, "%s", test->by_module ? names[name][1] : "FCALL");
    if (test->by_module) add(words, "%s", text);
    if (!test->by_module) add(words, "weir_%s", verb);
    if (!test->by_module) add(words, "%d", place->limits);
    for (int i = 0; i < place->limits; i++) {
        if (test->by_module && i != 0) add(words, "AND");
        add(words, "%s", place->key[i]);
    }
    if (!test->by_module) add(words, "%s", text);
}

static void ask(struct test *test, struct words *words)
{
    size_t size = (size_t)snprintf(test->asked, sizeof test->asked, "at %" PRIu64 ":", test->now - BEGAN_US);
    for (int i = 0; i < words->count; i++)
        size += (size_t)snprintf(test->asked + size, sizeof test->asked - size, " '%s'", words->word[i]);
    send_words(test, words, test->answer);
}

/* ---- the oracle: the core, and a list of what is held ---- */

/* The set's clock goes on from where it was. */
static uint64_t ahead_of(const struct test *test, const struct place *place)
{
    const uint64_t now = test->now + place->ahead;
    return place->there && place->seen > now ? place->seen - test->now : place->ahead;
}

static uint64_t clock_of(const struct test *test, const struct place *place)
{
    return test->now + ahead_of(test, place);
}

static weir_instant core_now(const struct test *test, const struct place *place)
{
    return (weir_instant){SECOND_NS + (clock_of(test, place) - BEGAN_US) * US_NS};
}

static uint64_t held(const struct test *test, const struct place *place)
{
    uint64_t slots = 0;
    for (unsigned i = 0; i < IDS; i++) slots += place->id[i].end > clock_of(test, place) ? place->id[i].slots : 0;
    return slots;
}

static void written(const struct test *test, struct place *place)
{
    uint64_t last = 0;
    place->ahead = ahead_of(test, place);
    place->seen = test->now + place->ahead;
    place->there = true;
    for (unsigned i = 0; i < IDS; i++) {
        const bool holds = place->id[i].slots != 0; /* not all of it was settled */
        if (holds && place->id[i].end > last) last = place->id[i].end;
    }
    if (last < place->seen) last = place->seen;
    place->until_ms = (last - place->ahead + US_NS - 1) / US_NS;
}

/* Where nothing is held nothing is kept, also not what a clock that is set back would hold again. */
static void forgotten(struct place *place)
{
    place->there = false;
    place->ahead = 0;
    for (unsigned i = 0; i < IDS; i++) place->id[i].end = 0;
    if (place->limits == 1) memset(place->state, 0, sizeof place->state);
}

/* ---- verbs ---- */

static void check_answer(struct test *test, const struct place *place, const weir_decision *core)
{
    static const char *const verdicts[] = {"", "allow", "deny", "never"};
    uint64_t limit, remaining, delay, retry;
    char verdict[8];
    if (sscanf(test->answer, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, verdict, &limit, &remaining, &delay,
               &retry) != 5)
        fail(test, "the answer", 0, core->verdict);
    if (strcmp(verdict, verdicts[core->verdict]) != 0) fail(test, "the verdict", 0, core->verdict);
    const uint64_t wait_ns = core->verdict == WEIR_DENY ? core->retry_ns : 0, wait_us = (wait_ns + US_NS - 1) / US_NS;
    same(test, "the limit", limit, core->limit);
    same(test, "remaining", remaining, core->remaining);
    same(test, "retry", retry, test->by_module ? wait_us * US_NS : wait_us);
    (void)place;
}

/* The last word is the id, of what was allowed and took a slot. */
static void keep_id(struct test *test, struct place *place, const weir_decision *core, uint64_t cost)
{
    const char *const id = strrchr(test->answer, ' ') + 1;
    const bool took = core->verdict == WEIR_ALLOW && cost != 0;
    if ((strcmp(id, "-") != 0) != took) fail(test, "whether there is an id", !took, took);
    if (!took) return;
    for (unsigned i = 0; i < IDS; i++) {
        if (strcmp(place->id[i].engine, id) == 0) fail(test, "the id, which was there before,", i, IDS);
    }
    struct id *const new = &place->id[place->next++ % IDS];
    snprintf(new->engine, sizeof new->engine, "%.20s", id);
    new->core = *core;
    new->slots = cost;
    new->end = clock_of(test, place) + place->lease_us;
    written(test, place);
}

static void take(struct test *test, struct place *place)
{
    uint64_t peeked[STATE_WORDS];
    struct words words;
    const bool peek = random_one_in(&test->seed, 8);
    const uint64_t cost = random_one_in(&test->seed, 3) ? random_below(&test->seed, place->slots + 2) : 1;
    memcpy(peeked, place->state, sizeof peeked);
    weir_decision core = weir_decide(&place->plan, peek ? peeked : place->state, core_now(test, place), cost);
    if (peek && core.verdict == WEIR_ALLOW) core.end = 0;
    begin_words(test, &words, place, "take");
    if (test->by_module) add(&words, "COST");
    add(&words, "%" PRIu64, cost);
    if (peek) add(&words, "PEEK");
    ask(test, &words);
    check_answer(test, place, &core);
    if (peek) return;
    keep_id(test, place, &core, cost);
    if (ahead_of(test, place) != place->ahead) written(test, place); /* a clock that was set back is noted */
}

static struct id *pick_id(struct test *test, struct place *place)
{
    const unsigned recent = place->next < IDS ? place->next : random_one_in(&test->seed, 4) ? IDS : 16;
    if (place->next == 0) return NULL;
    return &place->id[(place->next - 1 - random_below(&test->seed, recent)) % IDS];
}

/* The core's ids are unique as long as its state is kept; this one is forgotten when nothing is held, and then the
   clock may be set back. */
static bool is_again(const struct place *place, const struct id *id)
{
    bool again = false;
    for (unsigned i = 0; i < IDS; i++) {
        const struct id *const other = &place->id[i];
        again = again || (other != id && other->end != 0 && other->core.end == id->core.end);
    }
    return again && id->end == 0;
}

static void hold(struct test *test, struct place *place, bool renews)
{
    struct words words;
    struct id *const id = pick_id(test, place);
    if (id == NULL) return;
    if (id->end > test->now + place->ahead && random_one_in(&test->seed, 4)) {
        test->now = id->end - place->ahead - random_below(&test->seed, 2); /* the last us, or the first too late */
        send_clock(test);
    }
    const bool is_held = id->end > clock_of(test, place) && id->slots != 0;
    begin_words(test, &words, place, renews ? "renew" : "release");
    add(&words, "%s", id->engine);
    ask(test, &words);
    const weir_instant now = core_now(test, place);
    const bool core = is_again(place, id) ? is_held
                      : renews            ? weir_decide_renew(&place->plan, place->state, now, id->core.end)
                                          : weir_decide_release(&place->plan, place->state, now, id->core.end);
    same(test, "what the core says", core, is_held);
    same(test, "the answer", strtoull(test->answer, NULL, 10), is_held);
    if (!is_held) return;
    if (renews) {
        id->end = clock_of(test, place) + place->lease_us;
        written(test, place);
        return;
    }
    id->end = 0;
    if (held(test, place) == 0) forgotten(place);
}

/* Gives back a part of the slots, and of the rate beside them; once, as of a decision. */
static void settle(struct test *test, struct place *place)
{
    struct words words;
    struct id *const id = pick_id(test, place);
    if (id == NULL || id->core.charged == 0 || id->end == 0) return;
    const uint64_t cost = id->core.charged, actual = random_below(&test->seed, cost + 1);
    begin_words(test, &words, place, "settle");
    if (place->limits == 1) add(&words, "%s:%" PRIu64, id->engine, cost);
    else add(&words, "%s:%" PRIu64 ":%" PRIu64, id->engine, cost, cost);
    add(&words, "%" PRIu64, actual);
    ask(test, &words);
    weir_decide_settle(&place->plan, place->state, core_now(test, place), &id->core, actual);
    same(test, "the answer", strtoull(test->answer, NULL, 10), 1);
    const bool is_held = id->end > clock_of(test, place);
    if (ahead_of(test, place) != place->ahead) written(test, place);
    if (!is_held || actual == cost) return;
    id->slots = actual;
    if (held(test, place) == 0) forgotten(place);
}

static void forget(struct test *test, struct place *place)
{
    struct words words;
    begin_words(test, &words, place, "forget");
    ask(test, &words);
    memset(place->state, 0, sizeof place->state);
    for (unsigned i = 0; i < IDS; i++) place->id[i].core.charged = 0;
    forgotten(place);
}

/* ---- what the engine holds ---- */

static void check_held(struct test *test, const struct place *place)
{
    char after[32];
    const char *const key = place->key[place->limits == 1 ? 0 : place->holder];
    snprintf(after, sizeof after, "(%" PRIu64, clock_of(test, place));
    same(test, "how many are held", number_of(test, "ZCOUNT", key, after, "+inf", NULL),
         place->there ? held(test, place) : 0);
    const uint64_t members = number_of(test, "ZCARD", key, NULL);
    if (members > place->slots + 1) fail(test, "how many members there are", members, place->slots + 1);
    if ((members != 0) != place->there) fail(test, "whether the key is there", members, place->there);
    const uint64_t until = number_of(test, "PEXPIRETIME", key, NULL);
    if (place->limits == 1 && place->there) same(test, "when it expires", until, place->until_ms);
    if (place->there && until < place->until_ms) fail(test, "when it expires", until, place->until_ms);
}

static void step(struct test *test)
{
    test->back = test->step / SPELL % 2 == 1;
    struct place *const place = &test->place[random_below(&test->seed, test->back ? PLACES / 2 : PLACES)];
    const uint64_t verb = random_below(&test->seed, 100);
    set_clock(test);
    if (verb < 60) take(test, place);
    else if (verb < 72) hold(test, place, true);
    else if (verb < 88) hold(test, place, false);
    else if (verb < 99) settle(test, place);
    else forget(test, place);
    check_held(test, place);
}

static void open_places(struct test *test)
{
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *const place = &test->place[i];
        const char *const slots =
            strstr(texts[i], "; ") != NULL && strstr(texts[i], "concurrent") > strstr(texts[i], "; ")
                ? strstr(texts[i], "; ") + 2
                : texts[i];
        static const uint64_t leases_us[PLACES] = {1000000, 30000000, 5000, 7000000, 20000000, 1500};
        if (weir_plan_parse(&place->plan, texts[i], WEIR_ADMIT, NULL) != 0 ||
            weir_state_size(&place->plan) > sizeof place->state)
            exit(2);
        place->limits = weir_plan_limits(&place->plan);
        place->holder = slots != texts[i];
        place->slots = strtoull(slots, NULL, 10);
        place->lease_us = leases_us[i];
        for (int limit = 0; limit < 2; limit++)
            snprintf(place->key[limit], sizeof place->key[limit], "{%u}:%d", i, limit);
    }
}

int main(int count, char **argument)
{
    static struct test test;
    const uint64_t steps = count > 2 ? strtoull(argument[2], NULL, 10) : STEPS;
    test.seed = count > 3 ? strtoull(argument[3], NULL, 10) : 7;
    printf("%" PRIu64 " steps, seed %" PRIu64 "\n", steps, test.seed);
    test.engine = count > 1 ? redisConnectUnix(argument[1]) : NULL;
    if (test.engine == NULL || test.engine->err != 0 || test.seed == 0) {
        fprintf(stderr, "usage: engine-concurrent SOCKET [steps [seed]]\n");
        return 2;
    }
    test.now = BEGAN_US;
    open_places(&test);
    for (test.step = 0; test.step < steps; test.step++) step(&test);
    redisFree(test.engine);
    printf("no difference\n");
    return 0;
}

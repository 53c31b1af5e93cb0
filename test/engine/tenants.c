/* SPDX-License-Identifier: MIT
   Do the module and weir.lua, in turns on the same keys, decide of tenants as weir_table_take_all does?

       engine-tenants SOCKET [steps [seed]]

   Each step is a call of a tenant, or of nobody's, asked of a table in memory and of the engine: verdict, whether it
   borrowed, and when it passes again are the same.  All times between two permits are whole ms, which a table keeps
   exactly.  Before the next step it is asked once more at its retry and a us earlier, without taking.

   With weights the parts of a us are others than a table's, so there the two are held against each other: asked the
   same of keys of their own they answer the same, and leave the same bytes, which live as long.  Then tenants ask for
   more than there is, and each gets its share.

   The same steps for the same seed, which is printed. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "engine/lib/words.h"
#include "unit/random.h"

enum { STEPS = 20000, LEVELS = 3, PARENTS = 3, TEXT = 200, US_NS = 1000, ANSWERS = 8 };
static const uint64_t BEGAN_US = UINT64_C(4102444800000000); /* 2100: no key expires by the engine's clock */
static const uint64_t HOUR_NS = UINT64_C(3600000000000);

/* From a tenant up to all; the last is the parent. */
static const char *const chains[][LEVELS + 1] = {
    {"2/s burst=2 guaranteed; 5/s burst=6", "10/s burst=4"},
    {"4/s burst=1 guaranteed", "10/s burst=4"},
    {"8/s burst=3", "10/s burst=4"},
    {"10/s burst=4"},
    {"10/s burst=5 guaranteed; 100/s burst=20", "20/s burst=9 guaranteed; 50/s burst=12", "50/s burst=10; 100/s"},
    {"5/s burst=2 guaranteed", "20/s burst=9 guaranteed; 50/s burst=12", "50/s burst=10; 100/s"},
    {"20/s burst=9 guaranteed; 50/s burst=12", "50/s burst=10; 100/s"},
    {"50/s", "50/s burst=10; 100/s"},
};
enum { CHAINS = sizeof chains / sizeof chains[0] };
static const char *const keys[CHAINS][LEVELS + 1] = {{"{a}:1", "{a}"},
                                                     {"{a}:2", "{a}"},
                                                     {"{a}:3", "{a}"},
                                                     {"{a}"},
                                                     {"{b}:o:1", "{b}:o", "{b}"},
                                                     {"{b}:o:2", "{b}:o", "{b}"},
                                                     {"{b}:o", "{b}"},
                                                     {"{b}:p", "{b}"}};

struct chain {
    weir_plan plan[LEVELS];
    unsigned levels;
    char text[TEXT];
};

struct test {
    redisContext *engine;
    weir_table *table;
    uint64_t seed, now, step, passed, borrowed, refused;
    struct chain chain[CHAINS];
    char asked[16 * TEXT], answer[16 * TEXT];
};

/* ---- the engine ---- */

static void fail(const struct test *test, const char *what, uint64_t found, uint64_t expected)
{
    printf("FAILED at step %" PRIu64 ", time %" PRIu64 ": %s is %" PRIu64 ", expected %" PRIu64 "\n  %s\n  %s\n",
           test->step, test->now - BEGAN_US, what, found, expected, test->asked, test->answer);
    exit(1);
}

static void send_words(struct test *test, struct words *words)
{
    size_t size = (size_t)snprintf(test->asked, sizeof test->asked, "at %" PRIu64 ":", test->now - BEGAN_US);
    for (int i = 0; i < words->count; i++)
        size += (size_t)snprintf(test->asked + size, sizeof test->asked - size, " '%s'", words->word[i]);
    redisReply *reply = redisCommandArgv(test->engine, words->count, words->word, NULL);
    if (reply == NULL) {
        fprintf(stderr, "the engine: %s\n", test->engine->errstr);
        exit(1);
    }
    size = 0;
    test->answer[0] = '\0';
    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_ERROR || reply->type == REDIS_REPLY_STATUS)
        snprintf(test->answer, sizeof test->answer, "%s", reply->str);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *const part = reply->element[i];
        char *const to = test->answer + size;
        const size_t room = sizeof test->answer - size;
        if (part->type == REDIS_REPLY_INTEGER) size += (size_t)snprintf(to, room, "%lld ", part->integer);
        else size += (size_t)snprintf(to, room, "%s ", part->type == REDIS_REPLY_STRING ? part->str : "-");
    }
    freeReplyObject(reply);
}

static void set_clock(struct test *test, uint64_t now)
{
    struct words words = {.count = 0};
    add(&words, "WEIR.CLOCK");
    add(&words, "%" PRIu64, now);
    send_words(test, &words);
    words.count = 0;
    add(&words, "SET");
    add(&words, "weir:test:now");
    add(&words, "%" PRIu64, now);
    send_words(test, &words);
}

/* What was answered; retry in us. */
struct answer {
    char verdict[8];
    uint64_t retry, lent;
};

struct question {
    const char *verb, *text, *const *key;
    unsigned keys;
    uint64_t cost;
    bool by_module, peek;
};

static void ask(struct test *test, const struct question *of)
{
    struct words words = {.count = 0};
    if (of->by_module) {
        add(&words, "WEIR.%s", of->verb);
        add(&words, "%s", of->text);
        for (unsigned i = 0; i < of->keys; i++) {
            if (i != 0) add(&words, "AND");
            add(&words, "%s", of->key[i]);
        }
        if (strcmp(of->verb, "TAKE") == 0) add(&words, "COST");
    } else {
        add(&words, "FCALL");
        add(&words, strcmp(of->verb, "TAKE") == 0 ? "weir_take" : "weir_charge");
        add(&words, "%u", of->keys);
        for (unsigned i = 0; i < of->keys; i++) add(&words, "%s", of->key[i]);
        add(&words, "%s", of->text);
    }
    add(&words, "%" PRIu64, of->cost);
    if (of->peek) add(&words, "PEEK");
    send_words(test, &words);
}

static struct answer take(struct test *test, unsigned chain, uint64_t cost, bool peek)
{
    const struct chain *const of = &test->chain[chain];
    const bool by_module = random_one_in(&test->seed, 2);
    struct answer answer = {.lent = 0};
    uint64_t skipped;
    ask(test, &(struct question){"TAKE", of->text, keys[chain], of->levels, cost, by_module, peek});
    const int read =
        sscanf(test->answer, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*s %*s %" SCNu64,
               answer.verdict, &skipped, &skipped, &skipped, &answer.retry, &skipped, &answer.lent);
    if (read != (of->levels > 1 ? 7 : 6)) fail(test, "how much was answered", (uint64_t)read, ANSWERS);
    if (by_module) answer.retry /= US_NS;
    return answer;
}

/* Of the table. */
static bool expect(struct test *test, unsigned chain, uint64_t cost, uint64_t *retry_ns, uint64_t *borrowed,
                   bool *never)
{
    const struct chain *const of = &test->chain[chain];
    weir_ask asks[LEVELS];
    for (unsigned i = 0; i < of->levels; i++)
        asks[i] = (weir_ask){.plan = &of->plan[i], .key = weir_key_text(keys[chain][i]), .cost = cost};
    const bool taken =
        weir_table_take_all(test->table, asks, of->levels, (weir_instant){(test->now - BEGAN_US) * US_NS + HOUR_NS});
    *retry_ns = *borrowed = 0;
    *never = false;
    for (unsigned i = 0; i < of->levels; i++) {
        const weir_decision *const decision = &asks[i].decision;
        *borrowed += taken && weir_borrowed(decision);
        *never = *never || decision->verdict == WEIR_NEVER;
        if (decision->verdict == WEIR_DENY && decision->retry_ns > *retry_ns) *retry_ns = decision->retry_ns;
    }
    return taken;
}

static void step(struct test *test)
{
    const unsigned chain = (unsigned)random_below(&test->seed, CHAINS);
    const uint64_t cost = random_one_in(&test->seed, 4) ? random_below(&test->seed, 8) : 1;
    uint64_t retry_ns, borrowed;
    bool never;
    if (random_one_in(&test->seed, 2)) test->now += random_sized(&test->seed, random_one_in(&test->seed, 9) ? 21 : 17);
    set_clock(test, test->now);
    const bool taken = expect(test, chain, cost, &retry_ns, &borrowed, &never);
    const struct answer answer = take(test, chain, cost, false);
    const char *const verdict = taken ? "allow" : never ? "never" : "deny";
    if (strcmp(answer.verdict, verdict) != 0) fail(test, verdict, 0, 1);
    if (answer.lent != borrowed) fail(test, "how much was borrowed", answer.lent, borrowed);
    if (answer.retry != (taken || never ? 0 : (retry_ns + US_NS - 1) / US_NS))
        fail(test, "retry", answer.retry, (retry_ns + US_NS - 1) / US_NS);
    test->borrowed += borrowed != 0;
    test->refused += !taken;
    if (taken || never) return;
    set_clock(test, test->now + answer.retry - 1);
    if (strcmp(take(test, chain, cost, true).verdict, "deny") != 0) fail(test, "a us before retry", 1, 0);
    set_clock(test, test->now + answer.retry);
    if (strcmp(take(test, chain, cost, true).verdict, "allow") != 0) fail(test, "at retry", 0, 1);
}

/* ---- weights ---- */

/* Two each, for the module and for weir.lua; the last is the parent alone, which keeps what its tenants left. */
static const struct weighed {
    const char *text, *key[2][LEVELS];
    unsigned keys;
} weighed[] = {
    {"unlimited weight=1 under 10/s burst=8", {{"{wm}:1", "{wm}"}, {"{wl}:1", "{wl}"}}, 2},
    {"3/s burst=2 guaranteed weight=5; 40/s under 10/s burst=8", {{"{wm}:2", "{wm}"}, {"{wl}:2", "{wl}"}}, 2},
    {"unlimited under 8/s burst=9 weight=3 under 10/s burst=8",
     {{"{wm}:3:u", "{wm}:3", "{wm}"}, {"{wl}:3:u", "{wl}:3", "{wl}"}},
     3},
    {"8/s burst=9 weight=3 under 10/s burst=8", {{"{wm}:3", "{wm}"}, {"{wl}:3", "{wl}"}}, 2},
    {"unlimited weight=7 under 10/s burst=8", {{"{wm}:4", "{wm}"}, {"{wl}:4", "{wl}"}}, 2},
    {"10/s burst=8", {{"{wm}"}, {"{wl}"}}, 1},
    {"unlimited weight=1000 under 90/min algorithm=fixed-window; 1000000/s burst=70",
     {{"{vm}:1", "{vm}"}, {"{vl}:1", "{vl}"}},
     2},
    {"7/s burst=3 weight=1 under 90/min algorithm=fixed-window; 1000000/s burst=70",
     {{"{vm}:2", "{vm}"}, {"{vl}:2", "{vl}"}},
     2},
};
enum { WEIGHED = sizeof weighed / sizeof weighed[0] };

/* What is there and how long it lives, as it is printed. */
static void look(struct test *test, const char *key, char seen[16 * TEXT])
{
    struct words words = {.count = 0};
    add(&words, "FCALL_RO");
    add(&words, "weir_test_stored");
    add(&words, "1");
    add(&words, "%s", key);
    send_words(test, &words);
    memcpy(seen, test->answer, sizeof test->answer);
}

static void compare_keys(struct test *test, const struct weighed *of)
{
    char one[16 * TEXT], other[16 * TEXT];
    for (unsigned i = 0; i < of->keys; i++) {
        look(test, of->key[0][i], one);
        look(test, of->key[1][i], other);
        if (strcmp(one, other) == 0) continue;
        snprintf(test->asked, sizeof test->asked, "%s", one);
        fail(test, "what is stored", 1, 0);
    }
}

/* Of both in us; without the time of a take, which is no part of the module's. */
static void read_answer(struct test *test, bool by_module, uint64_t number[6], char verdict[8])
{
    char skipped[64];
    uint64_t *const n = number;
    const int read =
        sscanf(test->answer, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %63s %*s %" SCNu64,
               verdict, &n[0], &n[1], &n[2], &n[3], &n[4], skipped, &n[5]);
    if (read < 7) fail(test, "how much was answered", (uint64_t)read, ANSWERS);
    if (read == 7) n[5] = 0;
    for (int i = 2; i < 5 && by_module; i++) n[i] /= US_NS;
}

static void weighed_step(struct test *test)
{
    const struct weighed *const of = &weighed[random_below(&test->seed, WEIGHED)];
    const bool charges = random_one_in(&test->seed, 40), swapped = random_one_in(&test->seed, 4);
    struct question question = {.verb = charges ? "CHARGE" : "TAKE",
                                .text = of->text,
                                .keys = of->keys,
                                .cost = random_one_in(&test->seed, 4) ? random_below(&test->seed, 8) : 1,
                                .peek = !charges && random_one_in(&test->seed, 8)};
    uint64_t number[2][6];
    char verdict[2][8];
    if (random_one_in(&test->seed, 2)) test->now += random_sized(&test->seed, random_one_in(&test->seed, 9) ? 25 : 20);
    if (random_one_in(&test->seed, 200)) test->now -= random_sized(&test->seed, 20);
    set_clock(test, test->now);
    for (int i = 0; i < 2; i++) {
        question.by_module = (i == 0) != swapped;
        question.key = of->key[i];
        ask(test, &question);
        read_answer(test, question.by_module, number[i], verdict[i]);
    }
    if (strcmp(verdict[0], verdict[1]) != 0) fail(test, verdict[0], 0, 1);
    for (int i = 0; i < 6; i++)
        if (number[0][i] != number[1][i]) fail(test, "a number of the answer", number[1][i], number[0][i]);
    compare_keys(test, of);
    test->passed += strcmp(verdict[0], "allow") == 0;
    test->borrowed += number[0][5] != 0;
    test->refused += strcmp(verdict[0], "deny") == 0;
}

/* ---- shares ---- */

enum { SHARERS = 4, SHARE_SECONDS = 5, SHARE_WARM = 1, ASKS_EACH = 2 /* for all that there is */, SECOND_US = 1000000 };

/* Of a parent's rate; bursts: its own and those that are guaranteed. */
static const struct shares {
    const char *parent, *tenant[SHARERS];
    uint64_t rate, bursts, share[SHARERS];
} shares[] = {
    {"400/s burst=100", {"unlimited weight=1", "unlimited weight=2", "unlimited weight=5"}, 400, 100, {50, 100, 250}},
    {"400/s burst=100", {"unlimited weight=3"}, 400, 100, {400}},
    {"500/s burst=100",
     {"200/s burst=20 guaranteed weight=1", "unlimited weight=1", "unlimited weight=3"},
     500,
     120,
     {260, 60, 180}},
};
enum { SHARES = sizeof shares / sizeof shares[0] };

static void share(struct test *test, const struct shares *of, bool by_module)
{
    char text[SHARERS][TEXT], key[SHARERS][TEXT], parent[WORDS], verdict[8];
    uint64_t got[SHARERS] = {0}, all = 0, number[6];
    const uint64_t from = test->now, gap = SECOND_US / (ASKS_EACH * of->rate);
    snprintf(parent, WORDS, "{s%c%d}", by_module ? 'm' : 'l', (int)(of - shares));
    for (int i = 0; i < SHARERS && of->tenant[i] != NULL; i++) {
        snprintf(text[i], TEXT, "%s under %s", of->tenant[i], of->parent);
        snprintf(key[i], TEXT, "%s:%d", parent, i);
    }
    for (; test->now < from + (SHARE_WARM + SHARE_SECONDS) * (uint64_t)SECOND_US; test->now += gap) {
        set_clock(test, test->now);
        for (int i = 0; i < SHARERS && of->tenant[i] != NULL; i++) {
            const char *const both[] = {key[i], parent};
            ask(test, &(struct question){"TAKE", text[i], both, 2, 1, by_module, false});
            read_answer(test, by_module, number, verdict);
            const bool taken = strcmp(verdict, "allow") == 0;
            got[i] += taken && test->now >= from + SHARE_WARM * (uint64_t)SECOND_US;
            all += taken;
        }
    }
    uint64_t together = 0;
    for (int i = 0; i < SHARERS && of->tenant[i] != NULL; i++) {
        const uint64_t due = of->share[i] * SHARE_SECONDS, off = got[i] < due ? due - got[i] : got[i] - due;
        printf("%s%s: %" PRIu64 " of %" PRIu64 "\n", by_module ? "module: " : "weir.lua: ", text[i], got[i], due);
        if (off * 100 > due * 3) fail(test, text[i], got[i], due);
        together += got[i];
    }
    const uint64_t rate = of->rate * SHARE_SECONDS, most = of->bursts + of->rate * (SHARE_WARM + SHARE_SECONDS);
    if (together * 100 < rate * 99) fail(test, "all together", together, rate);
    if (all > most) fail(test, "all of them", all, most);
}

static void open_chains(struct test *test)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    options.keys_max = 1000;
    options.refill_max_ns = HOUR_NS;
    if (weir_table_open(&test->table, &options, &error) != 0) exit(2);
    for (unsigned i = 0; i < CHAINS; i++) {
        struct chain *const chain = &test->chain[i];
        for (; chains[i][chain->levels] != NULL && chain->levels < LEVELS; chain->levels++) {
            const char *const text = chains[i][chain->levels];
            const size_t size = strlen(chain->text);
            if (weir_plan_parse(&chain->plan[chain->levels], text, WEIR_ADMIT, &error) != 0) exit(2);
            snprintf(chain->text + size, TEXT - size, "%s%s", size != 0 ? " under " : "", text);
        }
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
        fprintf(stderr, "usage: engine-tenants SOCKET [steps [seed]]\n");
        return 2;
    }
    test.now = BEGAN_US;
    open_chains(&test);
    for (test.step = 0; test.step < steps; test.step++) step(&test);
    const bool tried = test.borrowed > steps / 50 && test.refused > steps / 50;
    printf("no difference; %" PRIu64 " borrowed, %" PRIu64 " refused\n", test.borrowed, test.refused);
    test.borrowed = test.refused = 0;
    for (; test.step < 2 * steps; test.step++) weighed_step(&test);
    printf("with weights no difference; %" PRIu64 " passed, %" PRIu64 " borrowed, %" PRIu64 " refused\n", test.passed,
           test.borrowed, test.refused);
    for (int i = 0; i < 2 * SHARES; i++) share(&test, &shares[i / 2], i % 2 == 0);
    redisFree(test.engine);
    weir_table_close(test.table);
    return tried && test.passed > steps / 5 && test.borrowed > steps / 200 && test.refused > steps / 5 ? 0 : 1;
}

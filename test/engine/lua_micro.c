/* SPDX-License-Identifier: MIT
   The same questions to src/redis/micro in C and to weir.lua in a real engine, with the same injected
   times.

       engine-lua_micro SOCKET [STEPS [SEED]]

   lua.sh starts the engine and loads a weir.lua whose clock is the key weir:test:now.  Limits, times (also back), costs
   and verbs are random; in C the keys are in memory (micro_keys.h).  After each step the answer is compared, and what
   is stored at each key: its bytes or members, and when it expires.

   The same steps for the same seed; the first difference is printed with the steps of its key before it. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/micro_keys.h"
#include "lib/random_text.h"
#include "unit/random.h"

enum { GROUPS = 8, TRAIL = 12, BATCH = 32, WORDS_MAX = 32, WORD_SIZE = 256, LINE_SIZE = 4096, STEPS_DEFAULT = 20000 };

static const uint64_t begin_us = UINT64_C(2100000000000000), far_us = UINT64_C(300000000000000);
static const uint64_t second_us = 1000000;

/* A subject, and the limit that it is asked under for now. */
struct group {
    char text[TEXT_SIZE];
    struct micro_plan plan;
    bool parted; /* a key for each limit */
    struct keys keys;
    char receipt[MICRO_RECEIPT_MAX];
    struct micro_lease lease;
    char trail[TRAIL][LINE_SIZE];
    unsigned steps;
};

/* What was asked, and what is expected: an answer, and a line for what is stored. */
struct asked {
    struct group *group;
    char line[LINE_SIZE], answer[LINE_SIZE], *stored;
};

struct run {
    redisContext *engine;
    uint64_t seed, now, number;
    struct group group[GROUPS];
    struct asked asked[BATCH];
    unsigned count;
};

/* ---- a command, word by word ---- */

struct command {
    char word[WORDS_MAX][WORD_SIZE];
    int count;
};

__attribute__((format(printf, 2, 3))) static void add(struct command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command->word[command->count++], WORD_SIZE, format, arguments);
    va_end(arguments);
}

static unsigned keys_of(const struct group *group)
{
    return group->parted ? group->plan.count : 1;
}

static void add_key(struct command *command, const struct run *run, const struct group *group, unsigned i)
{
    add(command, "weir:t:%d:%s%u", (int)(group - run->group), group->parted ? "of" : "all", i);
}

static void begin(struct command *command, const struct run *run, const struct group *group, const char *verb)
{
    command->count = 0;
    add(command, "FCALL");
    add(command, "weir_%s", verb);
    add(command, "%u", keys_of(group));
    for (unsigned i = 0; i < keys_of(group); i++) add_key(command, run, group, i);
}

static void send(struct run *run, const struct command *command)
{
    const char *words[WORDS_MAX];
    for (int i = 0; i < command->count; i++) words[i] = command->word[i];
    redisAppendCommandArgv(run->engine, command->count, words, NULL);
}

/* ---- verbs: the command, and what C answers ---- */

static void say_answer(const struct micro_answer *answer, char out[LINE_SIZE])
{
    static const char *const verdicts[] = {[WEIR_ALLOW] = "allow", [WEIR_DENY] = "deny", [WEIR_NEVER] = "never"};
    snprintf(out, LINE_SIZE, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
             verdicts[answer->verdict], answer->limit, answer->remaining, answer->delay, answer->retry, answer->full,
             answer->taken, answer->late);
}

static uint64_t a_cost(struct run *run, const struct micro_rule *rule)
{
    switch (random_below(&run->seed, 16)) {
    case 0:
        return 0;
    case 1:
        return rule->burst > MICRO_MOST ? MICRO_MOST : rule->burst;
    case 2:
        return rule->burst >= MICRO_MOST ? MICRO_MOST : rule->burst + 1;
    case 3:
        return random_sized(&run->seed, 52);
    case 4:
    case 5:
        return 1 + random_below(&run->seed, rule->burst / 2 + 1);
    default:
        return 1 + random_below(&run->seed, 3);
    }
}

static void a_cost_each(struct run *run, const struct group *group, uint64_t cost[], struct command *command)
{
    for (unsigned i = 0; i < group->plan.count; i++) {
        cost[i] = a_cost(run, &group->plan.rule[i]);
        add(command, "%" PRIu64, cost[i]);
    }
}

static void take(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    struct micro_ask ask = {.now = run->now};
    struct micro_answer answer;
    begin(command, run, group, "take");
    add(command, "%s", group->text);
    a_cost_each(run, group, ask.cost, command);
    ask.peek = random_one_in(&run->seed, 6);
    if (group->plan.count == 1 && random_one_in(&run->seed, 4)) {
        /* WAIT 0 is the same question, but weir.lua answers it another way. */
        ask.wait = random_one_in(&run->seed, 2) ? 0 : random_sized(&run->seed, 40);
        add(command, "WAIT");
        add(command, "%" PRIu64, ask.wait);
    }
    if (ask.peek) add(command, "PEEK");
    keys_load(&group->keys, &group->plan, group->parted);
    micro_take(&group->plan, &group->keys.state, group->keys.log, &ask, &answer);
    if (answer.changed && !ask.peek) keys_store(&group->keys, &group->plan, group->parted, answer.idle);
    if (answer.verdict == WEIR_ALLOW && !ask.peek)
        micro_receipt_write(answer.taken, ask.cost, group->plan.count, group->receipt);
    say_answer(&answer, out);
}

static void charge(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    struct micro_ask ask = {.now = run->now};
    struct micro_answer answer;
    begin(command, run, group, "charge");
    add(command, "%s", group->text);
    for (unsigned i = 0; i < group->plan.count; i++) {
        ask.cost[i] = a_cost(run, &group->plan.rule[i]);
        add(command, "%" PRIu64, ask.cost[i]);
    }
    keys_load(&group->keys, &group->plan, group->parted);
    micro_charge(&group->plan, &group->keys.state, group->keys.log, &ask, &answer);
    if (answer.changed) keys_store(&group->keys, &group->plan, group->parted, answer.idle);
    say_answer(&answer, out);
}

static void settle(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    uint64_t taken, charged[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    unsigned count;
    struct micro_answer answer;
    if (!micro_receipt_read(group->receipt, strlen(group->receipt), &taken, charged, &count) ||
        count != group->plan.count) {
        take(run, group, command, out);
        return;
    }
    begin(command, run, group, "settle");
    add(command, "%s", group->text);
    add(command, "%s", group->receipt);
    for (unsigned i = 0; i < count; i++) {
        actual[i] = random_below(&run->seed, charged[i] + 2);
        add(command, "%" PRIu64, actual[i]);
    }
    keys_load(&group->keys, &group->plan, group->parted);
    micro_settle(&group->plan, &group->keys.state, group->keys.log, run->now, taken, charged, actual, &answer);
    if (answer.changed) keys_store(&group->keys, &group->plan, group->parted, answer.idle);
    snprintf(out, LINE_SIZE, "1");
}

static void add_returned(struct run *run, struct group *group, struct command *command, uint64_t *permits,
                         uint64_t *unused)
{
    *permits = group->lease.permits;
    if (random_one_in(&run->seed, 8)) *permits += random_below(&run->seed, 4);
    *unused = random_below(&run->seed, *permits + 1);
    add(command, "%" PRIu64, group->lease.id);
    add(command, "%" PRIu64, *permits);
    add(command, "%" PRIu64, *unused);
}

static void lease(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    const uint64_t want = 1 + random_below(&run->seed, 100), lifetime = 1 + random_sized(&run->seed, 24);
    struct micro_lease back = {.changed = false}, given;
    uint64_t permits, unused;
    begin(command, run, group, "lease");
    add(command, "%s", group->text);
    add(command, "%" PRIu64, want);
    add(command, "%" PRIu64, lifetime);
    keys_load(&group->keys, &group->plan, group->parted);
    if (random_one_in(&run->seed, 2)) {
        add_returned(run, group, command, &permits, &unused);
        micro_lease_return(&group->plan, &group->keys.state, run->now, group->lease.id, permits, unused, &back);
    }
    micro_lease_take(&group->plan, &group->keys.state, run->now, want, lifetime, &given);
    if (given.changed || back.changed) keys_store(&group->keys, &group->plan, false, given.idle);
    group->lease = given;
    snprintf(out, LINE_SIZE, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, given.permits, given.id, given.remaining,
             given.retry);
}

static void give_lease_back(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    struct micro_lease back;
    uint64_t permits, unused;
    begin(command, run, group, "return");
    add(command, "%s", group->text);
    add_returned(run, group, command, &permits, &unused);
    keys_load(&group->keys, &group->plan, group->parted);
    micro_lease_return(&group->plan, &group->keys.state, run->now, group->lease.id, permits, unused, &back);
    if (back.changed) keys_store(&group->keys, &group->plan, false, back.idle);
    snprintf(out, LINE_SIZE, "%d", back.permits != 0);
}

static void forget(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    begin(command, run, group, "forget");
    snprintf(out, LINE_SIZE, "%u", keys_forget(&group->keys, keys_of(group)));
}

static void step_verb(struct run *run, struct group *group, struct command *command, char out[LINE_SIZE])
{
    const bool leases = micro_leases(&group->plan) && !group->parted;
    const uint64_t choice = random_below(&run->seed, 32);
    if (choice == 0) forget(run, group, command, out);
    else if (choice < 4) charge(run, group, command, out);
    else if (choice < 9) settle(run, group, command, out);
    else if (choice < 14 && leases) lease(run, group, command, out);
    else if (choice < 16 && leases) give_lease_back(run, group, command, out);
    else take(run, group, command, out);
}

/* ---- limits and times ---- */

/* The first group has a log whose ring grows, wraps and is written over. */
static void a_long_log(struct run *run, struct group *group)
{
    static const char *const counts[] = {"40", "300", "3000", "100000"};
    snprintf(group->text, TEXT_SIZE, "%s/%s algorithm=sliding-log", counts[random_below(&run->seed, 4)],
             random_one_in(&run->seed, 2) ? "h" : "d");
}

/* Another limit under the same keys, or, where they were for parts of another list, after they were forgotten. */
static bool write_plain(const weir_plan *plan, char text[TEXT_SIZE])
{
    const size_t size = micro_text_write(plan, text, TEXT_SIZE);
    return size != 0 && size < TEXT_SIZE;
}

static void change_limit(struct run *run, struct group *group)
{
    struct command command;
    weir_plan plan;
    weir_error error;
    const bool parted = group->parted;
    do {
        random_text(&run->seed, group->text);
        if (group == run->group) a_long_log(run, group);
    } while (weir_plan_parse(&plan, group->text, WEIR_ADMIT, &error) != 0 ||
             micro_plan_make(&group->plan, &plan, &error) != 0 || !write_plain(&plan, group->text));
    bool logs = false;
    for (unsigned i = 0; i < group->plan.count; i++) logs = logs || group->plan.rule[i].kind == MICRO_LOG;
    group->parted = group->plan.count > 1 && (logs || random_one_in(&run->seed, 2));
    group->receipt[0] = '\0';
    if (parted == group->parted) return;
    command.count = 0;
    add(&command, "DEL");
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        add(&command, "weir:t:%d:all%u", (int)(group - run->group), i);
        add(&command, "weir:t:%d:of%u", (int)(group - run->group), i);
    }
    keys_forget(&group->keys, WEIR_LIMITS_MAX);
    send(run, &command);
    struct asked *asked = &run->asked[run->count];
    asked->group = NULL;
    run->count++;
}

static void move_time(struct run *run)
{
    static const unsigned bits[] = {2, 8, 14, 20, 24, 28, 34, 40};
    const uint64_t choice = random_below(&run->seed, 40);
    if (choice == 0) run->now -= random_sized(&run->seed, 34);
    else if (choice < 8) run->now += second_us - run->now % second_us;
    else if (choice < 32) run->now += random_sized(&run->seed, bits[random_below(&run->seed, choice < 31 ? 6 : 8)]);
    if (run->now > begin_us + far_us || run->now < begin_us) run->now = begin_us;
}

/* ---- asking and comparing ---- */

static void say_command(const struct run *run, const struct command *command, char line[LINE_SIZE])
{
    int size = snprintf(line, LINE_SIZE, "%" PRIu64 " @%" PRIu64 ":", run->number, run->now);
    for (int i = 1; i < command->count; i++)
        size += snprintf(line + size, LINE_SIZE - (size_t)size, " '%s'", command->word[i]);
}

static void step(struct run *run)
{
    struct command command;
    struct group *group = &run->group[random_below(&run->seed, GROUPS)];
    if (group->text[0] == '\0' || random_one_in(&run->seed, group == run->group ? 600 : 60)) change_limit(run, group);
    struct asked *asked = &run->asked[run->count++];
    move_time(run);
    asked->group = group;
    redisAppendCommand(run->engine, "SET weir:test:now %llu", (unsigned long long)run->now);
    step_verb(run, group, &command, asked->answer);
    say_command(run, &command, asked->line);
    send(run, &command);
    command.count = 0;
    add(&command, "FCALL_RO");
    add(&command, "weir_test_stored");
    add(&command, "%u", keys_of(group));
    for (unsigned i = 0; i < keys_of(group); i++) add_key(&command, run, group, i);
    send(run, &command);
    asked->stored = keys_say(&group->keys, keys_of(group));
    run->number++;
}

static redisReply *reply_of(struct run *run)
{
    void *reply = NULL;
    if (redisGetReply(run->engine, &reply) == REDIS_OK) return reply;
    fprintf(stderr, "the engine: %s\n", run->engine->errstr);
    exit(1);
}

static void say_reply(const redisReply *reply, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    if (reply->type == REDIS_REPLY_INTEGER) snprintf(out, size, "%lld", reply->integer);
    else if (reply->type != REDIS_REPLY_ARRAY) snprintf(out, size, "%s", reply->str != NULL ? reply->str : "nil");
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        if (i > 0) at += (size_t)snprintf(out + at, size - at, " ");
        say_reply(reply->element[i], out + at, size - at);
        at += strlen(out + at);
    }
}

static void differ(const struct run *run, const struct asked *asked, const char *what, const char *found,
                   const char *expected)
{
    const struct group *group = asked->group;
    printf("FAILED: %s differs; the steps of this key:\n", what);
    for (unsigned i = group->steps > TRAIL ? group->steps - TRAIL : 0; i < group->steps; i++)
        printf("  %s\n", group->trail[i % TRAIL]);
    printf("  %s\n  Lua: %s\n  C:   %s\n", asked->line, found, expected);
    printf("  step %s of seed as above\n", asked->line);
    (void)run;
    exit(1);
}

static void check(struct run *run, struct asked *asked)
{
    static char found[1 << 20];
    freeReplyObject(reply_of(run)); /* of DEL, or SET */
    if (asked->group == NULL) return;
    redisReply *reply = reply_of(run);
    say_reply(reply, found, sizeof found);
    freeReplyObject(reply);
    if (strcmp(found, asked->answer) != 0) differ(run, asked, "the answer", found, asked->answer);
    reply = reply_of(run);
    if (strcmp(reply->str, asked->stored) != 0) differ(run, asked, "what is stored", reply->str, asked->stored);
    snprintf(asked->group->trail[asked->group->steps++ % TRAIL], LINE_SIZE, "%.2000s -> %.1000s", asked->line,
             asked->answer);
    freeReplyObject(reply);
    free(asked->stored);
}

int main(int argc, char **argv)
{
    static struct run run;
    const uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : STEPS_DEFAULT;
    run.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 7;
    run.now = begin_us;
    run.engine = argc > 1 ? redisConnectUnix(argv[1]) : NULL;
    if (run.engine == NULL || run.engine->err != 0) {
        fprintf(stderr, "engine-lua_micro SOCKET [STEPS [SEED]]: %s\n", run.engine != NULL ? run.engine->errstr : "?");
        return 2;
    }
    printf("%" PRIu64 " steps of seed %" PRIu64 "\n", steps, run.seed);
    while (run.number < steps) {
        while (run.count < BATCH - 1) step(&run);
        for (unsigned i = 0; i < run.count; i++) check(&run, &run.asked[i]);
        run.count = 0;
    }
    redisFree(run.engine);
    printf("no difference\n");
    return 0;
}

/* SPDX-License-Identifier: MIT
   Src/share/word.c with its limit changing under it, in all interleavings.

   The oracle is a model that nobody shares: the rule in force, the value.  Each call is held against it at
   the very step at which it took effect, a swap that went through or the last look of a denial: the answer has to be
   what `decide` says under the rule that is in force at that step, to the last field, and the word what it leaves.  So
   a commit under a torn or a stale rule is seen at once, whatever its numbers are.  A change closes the word and opens
   it again: the last step of each is the one that takes effect.

   Every scene passes and every planted mistake is found, or the status is 1. */
#include "model.h"
#include "planted_word.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "change_word.h"
#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"

enum { THREADS = 3, ACTIONS = 4, HISTORY = 64 };
enum limit_name { SLOW, NARROW, FAST, WIDE, UNLIMITED, ELSEWHERE, LIMITS };
enum verb { NOTHING, TAKE, SOME, PEEK, SETTLE, CHANGE, READ };

struct action {
    enum verb verb;
    uint64_t now_ns, cost; /* SETTLE: the cost as it turned out, of the thread's last take, or else of the first */
    uint64_t wait_max_ns;
    enum limit_name to;
    weir_carry carry;
};

struct scene {
    const char *name;
    int preemptions; /* all orders with so many, where there are too many without */
    uint64_t taken;  /* before the threads begin, under SLOW */
    struct action script[THREADS][ACTIONS];
    word_close_function *close;
    word_anchor_function *anchor;
    word_open_function *open;
    word_settle_function *settle;
    word_decide_function *decide;
    bool fast; /* TAKE goes the fast path first, by these */
    word_grant_function *grant;
    word_denies_function *denies;
    const char *mistake;  /* the message that has to come; NULL: none may */
    bool by_what_follows; /* a value that comes back is not the failure yet */
};

static const struct scene *scene;
static struct rule limits[LIMITS];
static struct word word;
static weir_decision last[THREADS];
static struct note notes[THREADS];

static struct {
    struct rule rule;
    uint64_t value;
    bool closed;
    uint32_t generation;
    const struct rule *opens; /* what is about to be swapped in */
    uint64_t opens_value;
    uint64_t raw[HISTORY]; /* all that the word ever held, and under which rule */
    uint32_t raw_generation[HISTORY];
    int raws;
} model;

/* All that was in force, and which of it each thread knows of at least. */
static struct moment {
    struct rule rule;
    uint64_t value;
} moments[HISTORY];
static int moment_count, knows[THREADS];

/* ---- the model ---- */

static uint64_t expected_raw(void)
{
    return model.closed ? WORD_CLOSED | model.value : model.value;
}

/* The same value again is right under the same rule: taken, given back, taken. */
static void remember_word(void)
{
    const uint64_t raw = expected_raw();
    for (int i = 0; i < model.raws; i++) {
        const bool same_rule = model.raw_generation[i] == model.rule.generation;
        model_check(model.raw[i] != raw || same_rule || scene->by_what_follows, "a value came back under another rule");
    }
    model_check(model.raws < HISTORY, "more values than HISTORY");
    model.raw[model.raws] = raw;
    model.raw_generation[model.raws++] = model.rule.generation;
}

static void go_on(void)
{
    model_check(moment_count < HISTORY, "more moments than HISTORY");
    moments[moment_count] = (struct moment){model.rule, model.value};
    if (model_thread() >= 0) knows[model_thread()] = moment_count;
    moment_count++;
}

static void check_word(void)
{
    model_check(word.value.value == expected_raw(), "wrong commit: the word is not what the rule in force leaves");
    remember_word();
    go_on();
}

static uint64_t fresh(const struct rule *rule)
{
    return rule->algorithm != ALGORITHM_GCRA || rule->flags & RULE_STARTS_FULL ? rule->anchor_tick
                                                                               : rule->anchor_tick + rule->burst;
}

static void swap_model(const struct rule *rule, uint64_t value)
{
    model.rule = *rule;
    model.value = value;
    model.closed = rule->algorithm == 0;
    model.opens = NULL;
    remember_word();
    go_on();
}

/* The word is open again as soon as its value is. */
static void follow_change(void)
{
    if (model.opens != NULL && !word_is_closed(word.value.value)) swap_model(model.opens, model.opens_value);
}

/* Is this the answer of one moment?  What the word is then in *value. */
static bool is_answer(const struct rule *rule, uint64_t *value, const struct ask *ask, const weir_decision *decision,
                      bool here)
{
    const bool is_here = rule->algorithm != 0;
    if (!here || !is_here) return here == is_here;
    weir_decision expected;
    const struct rules rules = {rule, 1};
    const uint64_t cost = ask->some ? decide_passing(rules, value, ask->now_ns, ask->cost) : ask->cost;
    const struct question question = {ask->now_ns, ask->wait_max_ns, &cost, ask->peek};
    decide(rules, value, &question, NULL, &expected);
    return memcmp(&expected, decision, sizeof expected) == 0;
}

/* [with weak orders] Of a moment before, not older than what the thread knows; nothing was written. */
static bool was_answer(const struct ask *ask, const weir_decision *decision, bool here)
{
    bool same = false;
    const int thread = model_thread();
    if (!model_is_weak() || thread < 0) return false;
    for (int i = moment_count - 1; i >= knows[thread] && !same; i--) {
        uint64_t value = moments[i].value;
        same = is_answer(&moments[i].rule, &value, ask, decision, here);
        if (same) knows[thread] = i;
    }
    return same;
}

static uint64_t judge(const struct rule *rule, uint64_t value, const struct ask *ask, const weir_decision *decision,
                      bool here)
{
    const uint64_t before = value;
    const bool writes = here && decision->verdict == WEIR_ALLOW && !ask->peek;
    const bool same = is_answer(rule, &value, ask, decision, here);
    if (!same && !writes && was_answer(ask, decision, here)) return before;
    model_check(same || here == (rule->algorithm != 0), "looked for the state in the wrong home");
    model_check(same, decision->verdict == WEIR_ALLOW ? "wrong commit: not the answer of the rule in force"
                                                      : "wrong denial: not the answer of the rule in force");
    return value;
}

/* What a call did whose last step has just been made. */
static void check_answer(const struct ask *ask, const weir_decision *decision, bool here, bool takes)
{
    follow_change();
    const uint64_t value = judge(&model.rule, model.value, ask, decision, here);
    if (takes && value != model.value) {
        model.value = value;
        check_word();
    }
}

/* ---- what threads do ---- */

/* As weir_take_at.  A noted refusal is that of the moment when the word was seen, all else of the last step. */
static void take_fast(const struct ask *ask, weir_decision *decision)
{
    struct note *note = &notes[model_thread()];
    struct granted granted;
    const uint64_t raw = word_see(&word);
    follow_change();
    const struct rule rule_seen = model.rule;
    const uint64_t value_seen = model.value;
    if (ask->cost == 1 && scene->denies(&word, raw, ask->now_ns, note)) {
        *decision = word_denied(note, ask->now_ns);
        judge(&rule_seen, value_seen, ask, decision, true);
        return;
    }
    bool here = true;
    if (scene->grant(&word, raw, ask->now_ns, ask->cost, &granted)) {
        *decision = word_granted(&granted, ask->now_ns, ask->cost);
    } else {
        here = scene->decide(&word, ask, decision);
        if (here && ask->cost == 1) word_note(note, decision, ask->now_ns);
    }
    check_answer(ask, decision, here, true);
}

static void take(const struct action *action, weir_decision *decision)
{
    const struct ask ask = {.now_ns = action->now_ns,
                            .wait_max_ns = action->wait_max_ns,
                            .cost = action->cost,
                            .some = action->verb == SOME,
                            .peek = action->verb == PEEK};
    if (scene->fast && action->verb == TAKE) {
        take_fast(&ask, decision);
        return;
    }
    word_decide_function *const decides = action->verb == PEEK ? word_decide : scene->decide;
    const bool here = decides(&word, &ask, decision);
    check_answer(&ask, decision, here, action->verb != PEEK);
}

/* [with weak orders] At a moment before, not older than what the thread knows. */
static bool was_here(bool here)
{
    bool same = false;
    for (int i = moment_count - 1; i >= knows[model_thread()] && model_is_weak() && !same; i--)
        same = here == (moments[i].rule.algorithm != 0);
    return same;
}

static void settle_last(const struct action *action, weir_decision *decision)
{
    if (decision->verdict != WEIR_ALLOW) return;
    const bool here = scene->settle(&word, action->now_ns, decision, action->cost);
    follow_change();
    const bool wrote = word.value.value != expected_raw();
    if (here != (model.rule.algorithm != 0) && !wrote && was_here(here)) return;
    model_check(here == (model.rule.algorithm != 0), "looked for the state in the wrong home");
    const bool foreign = model.rule.generation != (uint32_t)decision->reserved && action->cost < decision->charged;
    const uint64_t before = model.value;
    if (here && !foreign) {
        decide_settle((struct rules){&model.rule, 1}, &model.value, action->now_ns, decision, &decision->charged,
                      &action->cost, &decision->end);
    }
    if (model.value != before) check_word();
    decision->charged = 0;
}

static uint64_t carried(const struct rule *from, const struct rule *to, uint64_t was, const struct action *action)
{
    const bool same = to->algorithm == ALGORITHM_GCRA && from->algorithm == ALGORITHM_GCRA;
    uint64_t value = fresh(to);
    if (same) algorithm_of(to)->carry(from, to, &was, &value, tick_at(from, action->now_ns), action->carry);
    return value;
}

static void change_limit(const struct action *action)
{
    struct rule from, to = limits[action->to];
    uint64_t was = model.value, value;
    to.generation = ++model.generation;
    to.anchor_ns = action->now_ns;
    from = model.rule;
    if (!model.closed) {
        scene->close(&word, &from, &was);
        const bool right = was == model.value && memcmp(&from, &model.rule, sizeof from) == 0;
        model_check(right, "wrong state taken out");
        swap_model(&limits[ELSEWHERE], word_value(word.value.value));
    }
    if (action->to == ELSEWHERE) return;
    to.anchor_tick = scene->anchor(&word);
    value = carried(&from, &to, was, action);
    model_check(value > 0, "a word that was changed looks untouched");
    model.opens = &to;
    model.opens_value = value;
    scene->open(&word, &to, value);
    follow_change();
    model_check(word.value.value == expected_raw(), "the change is not in force when it returns");
    word_begin(&word);
}

/* The rule and the value of one moment; with weak orders of one that is not older than what the thread knows. */
static void read_word(void)
{
    struct rule rule;
    uint64_t value;
    const bool here = word_read(&word, &rule, &value);
    follow_change();
    bool same = !here;
    const int oldest = model_is_weak() ? knows[model_thread()] : moment_count - 1;
    for (int i = moment_count - 1; i >= oldest && !same; i--)
        same = memcmp(&rule, &moments[i].rule, sizeof rule) == 0 && value == moments[i].value;
    model_check(same, "read a rule that goes with another value");
}

static void act(const struct action *action, weir_decision *decision)
{
    if (action->verb == READ) read_word();
    if (action->verb == CHANGE) change_limit(action);
    else if (action->verb == SETTLE) settle_last(action, decision);
    else if (action->verb != NOTHING && action->verb != READ) take(action, decision);
}

static void run_script(void)
{
    const int thread = model_thread();
    for (int i = 0; i < ACTIONS; i++) act(&scene->script[thread][i], &last[thread]);
}

static void begin(void)
{
    memset(&model, 0, sizeof model);
    memset(&word, 0, sizeof word);
    memset(notes, 0, sizeof notes);
    model.rule = limits[SLOW];
    open_word(&word, &limits[SLOW]);
    weir_decision first = {0};
    const struct action action = {TAKE, 0, scene->taken, 0, SLOW, WEIR_KEEP};
    if (scene->taken != 0) take(&action, &first);
    for (int i = 0; i < THREADS; i++) last[i] = first;
    memset(knows, 0, sizeof knows);
    moment_count = 0;
    go_on();
}

static void end(void)
{
    model_check(word.value.value == expected_raw(), "the word changed in the end");
    const uint64_t highest = most(word.high.value, word.value.value);
    for (int i = 0; i < model.raws && !model.closed && scene->mistake == NULL; i++) {
        const bool here = !word_is_closed(model.raw[i]) && model.raw_generation[i] == model.rule.generation;
        model_check(!here || model.raw[i] <= highest, "a value was above what the next clock is set by");
    }
}

/* ---- scenes ---- */

/* clang-format off */
#define TAKES(now, cost)      {TAKE, now, cost, 0, SLOW, WEIR_KEEP}
#define RESERVES(now, cost)   {TAKE, now, cost, WEIR_FOREVER, SLOW, WEIR_KEEP}
#define TAKES_SOME(now, cost) {SOME, now, cost, 0, SLOW, WEIR_KEEP}
#define PEEKS(now, cost)      {PEEK, now, cost, 0, SLOW, WEIR_KEEP}
#define SETTLES(now, actual)  {SETTLE, now, actual, 0, SLOW, WEIR_KEEP}
#define READS                 {READ, 0, 0, 0, SLOW, WEIR_KEEP}
#define CHANGES(now, to, carry) {CHANGE, now, 0, 0, to, carry}
/* clang-format on */

static const struct scene scenes[] = {
    {.name = "two take, A -> B keep",
     .preemptions = 3,
     .taken = 2,
     .script = {{TAKES(5, 1)}, {TAKES(7, 4)}, {CHANGES(6, FAST, WEIR_KEEP)}}},
    {.name = "one takes, A -> B -> A keep",
     .taken = 2,
     .script = {{TAKES(7, 4)}, {CHANGES(6, FAST, WEIR_KEEP), CHANGES(9, SLOW, WEIR_KEEP)}}},
    {.name = "one reserves, A -> B scale", .taken = 4, .script = {{RESERVES(7, 4)}, {CHANGES(6, FAST, WEIR_SCALE)}}},
    {.name = "one takes some, A -> B reset",
     .taken = 4,
     .script = {{TAKES_SOME(5, 9)}, {CHANGES(6, FAST, WEIR_RESET)}}},
    {.name = "never under A, passes under B",
     .preemptions = 3,
     .taken = 4,
     .script = {{TAKES(5, 9)}, {PEEKS(7, 9)}, {CHANGES(6, WIDE, WEIR_RESET)}}},
    {.name = "never under A, passes under B, again",
     .taken = 4,
     .script = {{TAKES(5, 9)}, {CHANGES(6, WIDE, WEIR_RESET)}}},
    {.name = "peeks, never under A, passes under B",
     .taken = 4,
     .script = {{PEEKS(5, 9)}, {CHANGES(6, WIDE, WEIR_RESET)}}},
    {.name = "one takes twice, A -> B scale",
     .taken = 1,
     .script = {{TAKES(5, 1), TAKES(5, 1)}, {CHANGES(6, FAST, WEIR_SCALE)}}},
    {.name = "one takes, A -> B scale", .taken = 1, .script = {{TAKES(5, 1)}, {CHANGES(6, FAST, WEIR_SCALE)}}},
    {.name = "settle down beside a take, A -> B scale",
     .preemptions = 3,
     .taken = 3,
     .script = {{SETTLES(5, 1)}, {TAKES(5, 1)}, {CHANGES(6, FAST, WEIR_SCALE)}}},
    {.name = "settle down, A -> B reset",
     .taken = 4,
     .script = {{SETTLES(0, 1), TAKES(0, 3)}, {CHANGES(0, WIDE, WEIR_RESET)}}},
    {.name = "settle up, A -> B keep", .taken = 1, .script = {{SETTLES(5, 3)}, {CHANGES(6, FAST, WEIR_KEEP)}}},
    {.name = "two settle down, A -> B scale",
     .taken = 2,
     .script = {{SETTLES(5, 1)}, {SETTLES(5, 0)}, {CHANGES(6, FAST, WEIR_SCALE)}}},
    {.name = "settle down beside a take that is settled",
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2), SETTLES(0, 0)}}},
    {.name = "to unlimited", .taken = 2, .script = {{TAKES(5, 3)}, {CHANGES(6, UNLIMITED, WEIR_KEEP)}}},
    {.name = "moved to a cell and back, a take",
     .taken = 2,
     .script = {{TAKES(5, 1)}, {CHANGES(6, ELSEWHERE, WEIR_RESET), CHANGES(6, FAST, WEIR_RESET)}}},
    {.name = "moved to a cell and back, a settle",
     .taken = 2,
     .script = {{SETTLES(5, 0)}, {CHANGES(6, ELSEWHERE, WEIR_RESET), CHANGES(6, FAST, WEIR_RESET)}}},
    {.name = "short: two take, A -> B keep",
     .taken = 2,
     .fast = true,
     .script = {{TAKES(5, 1)}, {TAKES(7, 4)}, {CHANGES(6, FAST, WEIR_KEEP)}}},
    {.name = "short: one takes, A -> B reset",
     .taken = 2,
     .fast = true,
     .script = {{TAKES(0, 1)}, {CHANGES(0, NARROW, WEIR_RESET)}}},
    {.name = "short: refused again, beside a settle, A -> B scale",
     .preemptions = 3,
     .taken = 4,
     .fast = true,
     .script = {{TAKES(0, 1), TAKES(0, 1)}, {SETTLES(0, 2)}, {CHANGES(0, FAST, WEIR_SCALE)}}},
    {.name = "short: refused again, A -> B keep",
     .taken = 4,
     .fast = true,
     .script = {{TAKES(0, 1), TAKES(0, 1), TAKES(0, 1)}, {CHANGES(0, FAST, WEIR_KEEP)}}},
    {.name = "short: moved to a cell and back",
     .preemptions = 3,
     .taken = 4,
     .fast = true,
     .script = {{TAKES(0, 1), TAKES(0, 1)}, {CHANGES(0, ELSEWHERE, WEIR_RESET), CHANGES(0, SLOW, WEIR_RESET)}}},
    {.name = "settle down, a stale take, A -> A -> B reset",
     .preemptions = 3,
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2)}, {CHANGES(0, SLOW, WEIR_RESET), CHANGES(0, NARROW, WEIR_RESET)}}},
    {.name = "settle down, a stale take, A -> B reset",
     .preemptions = 3,
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2)}, {CHANGES(0, NARROW, WEIR_RESET)}}},
    {.name = "two take, A -> B keep, again",
     .preemptions = 3,
     .taken = 2,
     .script = {{RESERVES(5, 3)}, {TAKES(7, 1)}, {CHANGES(6, FAST, WEIR_KEEP)}}},
};

/* A value comes back only if the numbers meet: on SLOW and NARROW a permit is one tick. */
static const struct scene planted[] = {
    {.name = "planted: clocks that do not grow",
     .taken = 1,
     .script = {{TAKES(0, 1)}, {TAKES(0, 2)}, {CHANGES(0, NARROW, WEIR_RESET)}},
     .anchor = planted_anchor_not_growing,
     .mistake = "wrong commit",
     .by_what_follows = true},
    {.name = "planted: the change forgets what was lowered",
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2)}, {CHANGES(0, NARROW, WEIR_RESET)}},
     .close = planted_close_without_high,
     .anchor = planted_anchor_without_high,
     .mistake = "wrong commit",
     .by_what_follows = true},
    {.name = "planted: settle lowers silently",
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2)}, {CHANGES(0, NARROW, WEIR_RESET)}},
     .settle = planted_settle_silently,
     .mistake = "wrong commit",
     .by_what_follows = true},
    {.name = "planted: settle lowers silently, the value",
     .taken = 2,
     .script = {{SETTLES(0, 0)}, {TAKES(0, 2)}, {CHANGES(0, NARROW, WEIR_RESET)}},
     .settle = planted_settle_silently,
     .mistake = "a value came back"},
    {.name = "planted: the rule in use is written",
     .taken = 2,
     .script = {{RESERVES(5, 1)}, {CHANGES(6, FAST, WEIR_SCALE)}},
     .close = planted_close_rule_in_use,
     .mistake = "wrong"},
    {.name = "planted: swapped over before the rule is written",
     .taken = 2,
     .script = {{TAKES(5, 1)}, {CHANGES(6, FAST, WEIR_SCALE)}},
     .open = planted_open_swapped_first,
     .mistake = "wrong commit"},
    {.name = "planted: a denial without a second look",
     .taken = 4,
     .script = {{TAKES(5, 3)}, {CHANGES(6, NARROW, WEIR_SCALE), CHANGES(6, WIDE, WEIR_RESET)}},
     .decide = planted_decide_hasty,
     .mistake = "wrong denial"},
    {.name = "planted: refused for what was noted, unseen",
     .taken = 4,
     .fast = true,
     .script = {{TAKES(0, 1), TAKES(0, 1)}, {SETTLES(0, 2)}},
     .denies = planted_denies_unseen,
     .mistake = "wrong"},
    {.name = "planted: granted by a rule read before the word",
     .taken = 1,
     .fast = true,
     .script = {{TAKES(0, 1)}, {CHANGES(0, NARROW, WEIR_RESET)}},
     .grant = planted_grant_read_twice,
     .mistake = "wrong commit"},
    {.name = "read beside a take and a change, A -> B keep",
     .taken = 1,
     .script = {{READS, READS}, {TAKES(5, 1), CHANGES(6, FAST, WEIR_KEEP)}}},
};

static void run(const struct scene *chosen, const char *part)
{
    struct scene filled = *chosen;
    if (strstr(filled.name, part) == NULL) return;
    if (filled.close == NULL) filled.close = word_close;
    if (filled.anchor == NULL) filled.anchor = word_anchor;
    if (filled.open == NULL) filled.open = word_open_with;
    if (filled.settle == NULL) filled.settle = word_settle;
    if (filled.decide == NULL) filled.decide = word_decide;
    if (filled.grant == NULL) filled.grant = word_grant;
    if (filled.denies == NULL) filled.denies = word_denies;
    scene = &filled;
    const struct model_scenario scenario = {.name = filled.name,
                                            .threads = filled.script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = filled.preemptions};
    model_judge(&scenario, filled.mistake);
}

static void parse(enum limit_name name, const char *text)
{
    weir_plan plan;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) abort();
    limits[name] = plan_inside_const(&plan)->rule[0];
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    parse(SLOW, "1000000000/s burst=4");
    parse(NARROW, "1000000000/s burst=1");
    parse(FAST, "3000/s burst=5");
    parse(WIDE, "7/s burst=20");
    parse(UNLIMITED, "unlimited");
    limits[ELSEWHERE] = (struct rule){0};
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) run(&planted[i], part);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i], part);
    return model_status();
}

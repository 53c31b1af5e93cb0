/* SPDX-License-Identifier: MIT
   The states of many clients, where each sliding log has only as much of its ring as its client needs.

   A whole ring has a place for each permit of the limit, and most clients of a log sent a line or two.  A ring that has
   not come round yet is written from its first place on and read only where it was written, so its front part is
   enough:

       client -> | places | places |  header, t1 t2 t3 - -  |  words of another limit  |  header, t1 - |
                   of each log          5 of 10000 places                                  2 of 60

   When its places are used up, the times that no longer count are dropped and the others begin anew at the first, in a
   block of half as many places again as they are, whether that is more or less than before.  Once all of a ring is
   there it stays and comes round as ever.

   What is dropped had left the window before the earliest time that will be asked for, and of those that a ring has
   lost it answers with the time of the last, which had left it, too: so every answer is the same.

   The core wants the limits of a list behind one another, each whole but the last.  Where a log before the last is not
   whole, the state is put together elsewhere and back; a client for whom that would be more than a few KiB gets whole
   rings, of which the system gives only what is touched.

   At most half as many places again as entries counted, with those of the call, when the block was made; never more
   than the ring has. */
#include "cli/replay/states.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/num.h"
#include "core/stamps.h"
#include "plan/plan.h"

enum { COPIED_WORDS_MAX = 1024 };

/* Where the parts of a client's block are; the first words of the block are the places of each log. */
struct layout {
    uint64_t places[WEIR_LIMITS_MAX]; /* of a log; else 0 */
    size_t words[WEIR_LIMITS_MAX];    /* of each limit */
    size_t total;                     /* of all limits */
    bool direct;                      /* it is as the core wants it */
};

static const struct rule *rule_of(const struct states *states, int limit)
{
    return &plan_inside_const(states->plan)->rule[limit];
}

static int limits_of(const struct states *states)
{
    return (int)plan_inside_const(states->plan)->count;
}

static bool is_log(const struct states *states, int limit)
{
    return plan_inside_const(states->plan)->limit[limit].algorithm == ALGORITHM_SLIDING_LOG;
}

/* The same log with fewer places: it only serves to fill and to measure the front part of a ring. */
static struct rule with_places(const struct rule *rule, uint64_t places)
{
    struct rule front = *rule;
    front.burst = places;
    front.fourth = 0;
    return front;
}

static size_t words_of(const struct states *states, int limit, uint64_t places)
{
    const struct rule *rule = rule_of(states, limit);
    if (places == 0 || places == stamps_capacity(rule)) return states->limit_words[limit];
    const struct rule front = with_places(rule, places);
    return STAMPS_HEADER + stamps_words(&front);
}

/* Of so many places for each limit. */
static void lay_out(const struct states *states, struct layout *layout)
{
    layout->total = 0;
    layout->direct = true;
    for (int i = 0; i < limits_of(states); i++) {
        const bool last = i + 1 == limits_of(states);
        layout->words[i] = words_of(states, i, layout->places[i]);
        layout->total += layout->words[i];
        if (!last && is_log(states, i) && layout->places[i] != stamps_capacity(rule_of(states, i))) {
            layout->direct = false;
        }
    }
}

static struct layout layout_of(const struct states *states, const uint64_t *block)
{
    struct layout layout = {.places = {0}};
    for (int i = 0; i < limits_of(states); i++) {
        if (is_log(states, i)) layout.places[i] = *block++;
    }
    lay_out(states, &layout);
    return layout;
}

/* ---- a larger one ---- */

/* Entries that still count.  Behind the last one a log knows when it was, so that a gap is as long as ever. */
static uint64_t counting(const struct rule *rule, const uint64_t *log, uint64_t settled_ns)
{
    const uint64_t span_ns = add_saturating(rule->period_ns, 1);
    uint64_t few = 0, more = stamps_kept(rule, log);
    while (few < more) {
        const uint64_t middle = more - (more - few) / 2;
        if (add_saturating(stamps_get(rule, log, middle), span_ns) > settled_ns) few = middle;
        else more = middle - 1;
    }
    return few;
}

/* At most so many entries does one question make. */
static uint64_t entries_of(const struct rule *rule, uint64_t cost)
{
    return least(ticks_of(rule, cost), stamps_capacity(rule));
}

static bool fits(const struct rule *rule, const uint64_t *log, uint64_t places, uint64_t cost)
{
    const uint64_t capacity = stamps_capacity(rule);
    return places == capacity || entries_of(rule, cost) <= places - log[STAMPS_AT];
}

static bool all_fit(const struct states *states, const uint64_t *block, const struct layout *layout,
                    const uint64_t *cost)
{
    const uint64_t *part = block + states->logs;
    for (int i = 0; i < limits_of(states); i++) {
        if (is_log(states, i) && !fits(rule_of(states, i), part, layout->places[i], cost[i])) return false;
        part += layout->words[i];
    }
    return true;
}

/* All but the last, and where they are large the last as well, so that nothing large is copied when that grows. */
static void make_whole(const struct states *states, struct layout *layout)
{
    const int last = limits_of(states) - 1;
    size_t before_last = 0;
    for (int i = 0; i < last; i++) before_last += states->limit_words[i];
    for (int i = 0; i <= last; i++) {
        const bool made = is_log(states, i) && (i != last || before_last > COPIED_WORDS_MAX);
        if (made) layout->places[i] = stamps_capacity(rule_of(states, i));
    }
    lay_out(states, layout);
}

/* So many, and those that cost no word more. */
static uint64_t places_for(const struct states *states, int limit, uint64_t places)
{
    const uint64_t capacity = stamps_capacity(rule_of(states, limit));
    if (places >= capacity) return capacity;
    const size_t words = words_of(states, limit, places);
    while (places < capacity && words_of(states, limit, places + 1) == words) places++;
    return places;
}

/* How many places each log is given: for what counts and this question, and half as many again. */
static struct layout plan_places(const struct states *states, const uint64_t *block, const struct layout *before,
                                 const struct states_question *question)
{
    static const uint64_t fresh[STAMPS_HEADER];
    struct layout layout = {.places = {0}};
    const uint64_t *part = block != NULL ? block + states->logs : fresh;
    for (int i = 0; i < limits_of(states); i++) {
        const struct rule *rule = rule_of(states, i);
        const uint64_t capacity = is_log(states, i) ? stamps_capacity(rule) : 0;
        if (capacity != 0 && before->places[i] == capacity) layout.places[i] = capacity;
        else if (capacity != 0) {
            const uint64_t needed = counting(rule, part, question->settled_ns) + entries_of(rule, question->cost[i]);
            layout.places[i] = places_for(states, i, most(needed + needed / 2, 1));
        }
        if (block != NULL) part += before->words[i];
    }
    lay_out(states, &layout);
    if (!layout.direct && layout.total > COPIED_WORDS_MAX) make_whole(states, &layout);
    return layout;
}

/* Enters what counts into a fresh log, oldest first; what is dropped is lost as any other. */
static void move_log(const struct rule *rule, uint64_t *to, uint64_t places, const uint64_t *from, uint64_t settled_ns)
{
    const struct rule front = with_places(rule, places);
    const uint64_t count = counting(rule, from, settled_ns);
    for (uint64_t back = count; back > 0; back--) stamps_append(&front, to, stamps_get(rule, from, back));
    to[STAMPS_EVER] = from[STAMPS_EVER];
    to[STAMPS_LOST] = stamps_get(rule, from, count + 1);
    to[STAMPS_NEWEST] = from[STAMPS_NEWEST];
    memcpy(to + STAMPS_OWNER, from + STAMPS_OWNER, (STAMPS_HEADER - STAMPS_OWNER) * sizeof *to);
}

/* One limit's words of a new block.  Places behind a header are not cleared: nobody reads them before they are
   written. */
static void fill_part(const struct states *states, int limit, uint64_t *to, const struct layout *layout,
                      const uint64_t *from, uint64_t settled_ns)
{
    const uint64_t places = layout->places[limit];
    const size_t words = places != 0 ? STAMPS_HEADER : layout->words[limit];
    if (from != NULL && places == 0) memcpy(to, from, words * sizeof *to);
    else memset(to, 0, words * sizeof *to);
    if (from != NULL && places != 0) move_log(rule_of(states, limit), to, places, from, settled_ns);
}

static void fill(const struct states *states, uint64_t *block, const struct layout *layout, const uint64_t *from,
                 const struct layout *before, uint64_t settled_ns)
{
    uint64_t *part = block + states->logs;
    for (int i = 0; i < limits_of(states); i++) {
        if (layout->places[i] != 0) *block++ = layout->places[i];
        fill_part(states, i, part, layout, from, settled_ns);
        part += layout->words[i];
        if (from != NULL) from += before->words[i];
    }
}

/* Makes sure that this question's entries have places. */
static bool reach(const struct states *states, uint64_t *client, const struct states_question *question,
                  struct layout *layout)
{
    uint64_t *const block = states_block(client);
    struct layout before = {.places = {0}};
    layout->direct = true;
    if (block != NULL && limits_of(states) == 1) {
        if (fits(rule_of(states, 0), block + 1, *block, question->cost[0])) return true;
        before = layout_of(states, block);
    } else if (block != NULL) {
        before = *layout = layout_of(states, block);
        if (all_fit(states, block, layout, question->cost)) return true;
    }
    *layout = plan_places(states, block, &before, question);
    uint64_t *next = malloc(((size_t)states->logs + layout->total) * sizeof *next);
    if (next == NULL) return false;
    fill(states, next, layout, block != NULL ? block + states->logs : NULL, &before, question->settled_ns);
    free(block);
    *client = (uintptr_t)next;
    return true;
}

/* ---- asking ---- */

/* All parts at the places where the core looks for them, or back. */
static void copy_parts(const struct states *states, const struct layout *layout, uint64_t *parts, bool back)
{
    uint64_t *whole = states->whole;
    for (int i = 0; i < limits_of(states); i++) {
        const size_t bytes = layout->words[i] * sizeof *whole;
        if (back) memcpy(parts, whole, bytes);
        else memcpy(whole, parts, bytes);
        parts += layout->words[i];
        whole += states->limit_words[i];
    }
}

bool states_decide(const struct states *states, uint64_t *client, const struct states_question *question,
                   weir_decision *decision)
{
    const struct question asked = {
        .now_ns = question->now_ns, .wait_max_ns = question->wait_max_ns, .cost = question->cost};
    const struct rules rules = plan_rules(plan_inside_const(states->plan));
    struct layout layout;
    if (states->logs == 0) {
        decide(rules, client, &asked, NULL, decision);
        return true;
    }
    if (!reach(states, client, question, &layout)) return false;
    uint64_t *parts = states_block(client) + states->logs;
    if (!layout.direct) copy_parts(states, &layout, parts, false);
    uint64_t *state = layout.direct ? parts : states->whole;
    decide(rules, state, &asked, NULL, decision);
    if (!layout.direct) copy_parts(states, &layout, parts, true);
    return true;
}

uint64_t *states_part(const struct states *states, uint64_t *client, int limit)
{
    uint64_t *part = states->logs == 0 ? client : states_block(client) + states->logs;
    if (states->logs == 0) return part + decide_words_before(plan_rules(plan_inside_const(states->plan)), limit);
    const struct layout layout = layout_of(states, states_block(client));
    for (int i = 0; i < limit; i++) part += layout.words[i];
    return part;
}

/* ---- opening and closing ---- */

bool states_open(struct states *states, const weir_plan *plan)
{
    const size_t bytes = weir_state_size(plan);
    *states = (struct states){.plan = plan, .words = bytes / sizeof(uint64_t)};
    const struct rules rules = plan_rules(plan_inside_const(plan));
    for (int i = 0; i < rules.count; i++) {
        states->logs += is_log(states, i);
        states->limit_words[i] = decide_words_before(rules, i + 1) - decide_words_before(rules, i);
    }
    if (states->logs == 0) return true;
    states->words = 1;
    if (limits_of(states) == 1) return true;
    states->whole = malloc(bytes);
    return states->whole != NULL;
}

void states_close(struct states *states)
{
    free(states->whole);
    *states = (struct states){.logs = 0};
}

void states_forget(const struct states *states, uint64_t *client)
{
    if (states->logs == 0) return;
    free(states_block(client));
    *client = 0;
}

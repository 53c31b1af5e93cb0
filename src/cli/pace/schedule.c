/* SPDX-License-Identifier: MIT
   The schedule of weir pace: what is taken out of it, and what the work owes to it.

   The limiter's schedule goes on with the clock.  But when no line waits there is nothing that could be late, and a
   line that is dropped is not made up for.  So both are taken out of the schedule, and nothing else changes: what could
   start at once can still start at once, and how far behind the work is stays what it was.

       owed   |      .---------.                  a source that idles, without this: owed goes on
              |    .'           '.
              |  .'   waits       '.  catches up
              +-'-------------------'-----> time

   A line cannot have been due before it was there, so it is late from then on at the earliest.

   Time is taken out only while no line is there. */
#include "cli/pace/schedule.h"

#include "api/limiter.h"
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

struct span {
    uint64_t from_ns, to_ns;
};

struct owing {
    uint64_t now_ns;
    struct record_owed owed;
    bool found;
};

static struct account account_at(const struct rule *rule, const uint64_t *state, uint64_t now_ns)
{
    return algorithm_account(rule, algorithm_of(rule), state, tick_at(rule, now_ns));
}

/* With catch-up time that waits fills a burst pool as well, and idle time does not wait. */
static uint64_t in_burst_pool(const struct rule *rule, const struct account *account)
{
    const int64_t active = account->due - account->given - (int64_t)account->behind;
    const bool has_one = rule->over > rule->burst && active > (int64_t)rule->burst;
    return has_one ? (uint64_t)active - rule->burst : 0;
}

/* What came to be behind meanwhile: an idle time still fills the pool. */
static void wait_with(const struct cell_content *content, void *context)
{
    const struct span *span = context;
    uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->lateness != NULL) {
            const struct account before = account_at(rule, state, span->from_ns);
            const struct account now = account_at(rule, state, span->to_ns);
            const uint64_t more = now.behind + in_burst_pool(rule, &now);
            const uint64_t passed = subtract_to_zero(tick_at(rule, span->to_ns), tick_at(rule, span->from_ns));
            const uint64_t by = least(least(subtract_to_zero(more, before.behind), passed), INT64_MAX);
            algorithm->lateness(rule, state, 0, (int64_t)by);
        }
        state += state_words(rule, algorithm);
    }
}

enum input_state pace_next_lines(struct pace *pace)
{
    const enum input_state state = input_lines(&pace->input);
    if (state == INPUT_END) pace_no_more_lines(pace);
    if (state != INPUT_EMPTY) return state;
    struct span idle = {.from_ns = weir_now().ns};
    atom_store(&pace->idle_ns, idle.from_ns);
    input_wait(&pace->input);
    pace->arrived_ns = weir_now().ns;
    idle.to_ns = limiter_stands_ns(pace->limiter, pace->arrived_ns);
    limiter_look(pace->limiter, wait_with, &idle);
    atom_store(&pace->idle_ns, 0);
    return INPUT_INTERRUPTED;
}

void pace_no_more_lines(struct pace *pace)
{
    const struct record_view view = record_view(&pace->record);
    atom_store(&pace->idle_ns, most(view.last_ns, pace->arrived_ns));
}

/* One that costs more starts when so many permits are due as the pool holds, and pays for the others afterwards. */
static uint64_t permits_ahead(struct pace *pace, uint64_t cost)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    if (cost == 1 || plan->count != 1 || plan->limit[0].algorithm != ALGORITHM_HYBRID) return 1;
    const double pool = record_rate_now(&pace->record).pool;
    return (double)cost > pool ? most((uint64_t)pool, 1) : cost;
}

uint64_t pace_due_ns(struct pace *pace, const weir_decision *decision, uint64_t cost, uint64_t arrived_ns)
{
    return most(weir_due(pace->limiter, decision, permits_ahead(pace, cost)).ns, arrived_ns);
}

static void look_for_late(const struct cell_content *content, void *context)
{
    struct owing *owing = context;
    const struct rule *rule = &content->rule[0];
    if (content->count == 0 || algorithm_of(rule)->lateness == NULL) return;
    const struct algorithm *algorithm = algorithm_of(rule);
    const struct account account = account_at(rule, content->state, owing->now_ns);
    const uint64_t late = positive(account.due - account.given - (int64_t)rule->burst);
    const uint64_t end = algorithm_at(rule, algorithm, content->state, 0).end;
    owing->owed.missed = algorithm_within(rule, algorithm, end, late, UINT64_MAX);
}

uint64_t pace_too_late(struct pace *pace)
{
    struct owing owing = {.now_ns = limiter_stands_ns(pace->limiter, weir_now().ns)};
    limiter_look(pace->limiter, look_for_late, &owing);
    return owing.owed.missed;
}

void pace_skip(struct pace *pace, uint64_t permits)
{
    weir_skip(pace->limiter, permits);
}

/* In a list the slowest schedule is the one that the work can be on. */
static void look_at_owed(const struct cell_content *content, void *context)
{
    struct owing *owing = context;
    const uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->lateness != NULL) {
            const struct account account = account_at(rule, state, owing->now_ns);
            const uint64_t behind_ns = shift_divide_ceil(account.behind, rule->shift, rule->multiplier);
            if (!owing->found || behind_ns < owing->owed.behind_ns) {
                const uint64_t missed = permits_floor(rule, most(account.missed, account.behind));
                owing->owed = (struct record_owed){behind_ns, missed};
            }
            owing->found = true;
        }
        state += state_words(rule, algorithm);
    }
}

/* A moment at which lines still waited, if that was not now. */
static uint64_t last_waiting_ns(const struct pace *pace)
{
    const uint64_t idle_ns = atom_load(&pace->idle_ns), stopped_ns = atom_load(&pace->stopped_ns);
    const uint64_t until_ns = least(stopped_ns != 0 ? stopped_ns : UINT64_MAX, idle_ns != 0 ? idle_ns : UINT64_MAX);
    return least(limiter_stands_ns(pace->limiter, weir_now().ns), until_ns);
}

struct record_owed pace_owed(struct pace *pace)
{
    struct owing owing = {.now_ns = last_waiting_ns(pace)};
    limiter_look(pace->limiter, look_at_owed, &owing);
    return owing.owed;
}

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

   Time is taken out only while no line is there.

   By the stamps of a log (at.c) a line is due when it says, whatever comes before it and whenever it arrives; the
   limiter is unlimited, and is slept and stopped by. */
#include "cli/pace/schedule.h"

#include "api/limiter.h"
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

struct span {
    uint64_t from_ns, to_ns;
    uint64_t skipped; /* permits that were taken out of the first schedule */
};

bool pace_takes_some(const struct pace *pace)
{
    return !pace->bytes && pace->at.time == NULL && pace->part.of == 0 && pace->engine == NULL;
}

/* A stamp is read, and an engine asked, only for a line that a worker has. */
uint64_t pace_next_in_ns(struct pace *pace)
{
    if (pace->at.time != NULL || pace->engine != NULL) return 0;
    if (pace->part.of != 0) return pace_part_next_in_ns(pace);
    const weir_decision next = weir_peek(pace->limiter, 1);
    return weir_allowed(next) ? 0 : next.retry_ns;
}

struct owing {
    uint64_t now_ns, began_ns; /* began: the clock of a profile; 0: not yet, or there is none */
    struct record_owed owed;
    uint64_t left, pool; /* permits due and not given; that may be */
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
    struct span *span = context;
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
            if (i == 0) span->skipped = permits_floor(rule, by);
        }
        state += state_words(rule, algorithm);
    }
}

static enum input_state next_lines(struct pace *pace)
{
    const enum input_state state = input_lines(&pace->input);
    if (state == INPUT_END) pace_no_more_lines(pace);
    if (state != INPUT_EMPTY) return state;
    struct span idle = {.from_ns = weir_now().ns};
    atom_store(&pace->idle_ns, idle.from_ns);
    input_wait(&pace->input);
    pace->arrived_ns = weir_now().ns;
    idle.to_ns = limiter_stands_ns(pace->limiter, pace->arrived_ns);
    if (pace->part.of != 0) pace_part_idled(pace, idle.from_ns, idle.to_ns);
    else limiter_look(pace->limiter, wait_with, &idle);
    record_skipped(&pace->record, idle.to_ns, idle.skipped);
    atom_store(&pace->idle_ns, 0);
    return INPUT_INTERRUPTED;
}

/* ---- by stamps ---- */

static enum at_found look(struct pace *pace, int line)
{
    size_t size;
    const char *bytes = input_line(&pace->input, line, &size);
    return at_look(&pace->at, (struct slice){bytes, size}, weir_now().ns);
}

/* Passes over what is no line of the log. */
enum input_state pace_next_lines(struct pace *pace)
{
    enum input_state state;
    while ((state = next_lines(pace)) == INPUT_READY && pace->at.time != NULL) {
        size_t size;
        const enum at_found found = look(pace, pace->input.next);
        if (found == AT_REFUSED) return INPUT_REFUSED;
        if (found == AT_DUE) return INPUT_READY;
        input_take(&pace->input, 1, &size);
        pace->at.looked = false;
        pace->lines_passed++;
        record_logged(&pace->record, &(struct record_log){.malformed = pace->at.course.log.malformed});
        if (pace_stopped(pace)) return INPUT_INTERRUPTED;
    }
    return state;
}

struct at_stamp pace_stamp(struct pace *pace)
{
    pace->at.looked = false;
    return (struct at_stamp){pace->at.due_ns, pace->at.course.log};
}

static weir_decision allowed(struct pace *pace, const struct at_stamp *stamp, uint64_t now_ns, uint64_t cost)
{
    record_logged(&pace->record, &stamp->log);
    atom_store(&pace->at.late_ns, subtract_to_zero(now_ns, stamp->due_ns));
    return (weir_decision){.verdict = WEIR_ALLOW, .start = {stamp->due_ns}, .charged = cost};
}

weir_decision pace_take_at(struct pace *pace, int line, weir_instant now, uint64_t cost)
{
    if (pace->engine != NULL) return pace_engine_take(pace, false);
    if (pace->part.of != 0) return pace_part_take(pace, false);
    if (pace->at.time == NULL) return weir_take_at(pace->limiter, now, cost);
    if (look(pace, line) != AT_DUE || pace->at.due_ns > now.ns) return (weir_decision){.verdict = WEIR_DENY};
    const struct at_stamp stamp = pace_stamp(pace);
    return allowed(pace, &stamp, now.ns, cost);
}

weir_decision pace_take_wait(struct pace *pace, const struct at_stamp *stamp, uint64_t cost)
{
    weir_limiter *limiter = pace->limiter;
    if (pace->engine != NULL) return pace_engine_take(pace, true);
    if (pace->part.of != 0) return pace_part_take(pace, true);
    if (pace->at.time == NULL) return weir_take_wait(limiter, cost, WEIR_FOREVER);
    for (;;) {
        const uint32_t seen = host_event_seen(&limiter->event);
        const uint64_t now_ns = weir_now().ns;
        if (pace_stopped(pace)) return (weir_decision){.verdict = WEIR_STOPPED};
        if (now_ns >= stamp->due_ns) return allowed(pace, stamp, now_ns, cost);
        limiter_sleep(limiter, &limiter->event, seen, stamp->due_ns, pace->options.min_sleep_ns);
    }
}

/* ---- what is owed ---- */

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
    if (pace->at.time != NULL) return decision->start.ns;
    return most(weir_due(pace->limiter, decision, permits_ahead(pace, cost)).ns, arrived_ns);
}

static void look_for_late(const struct cell_content *content, void *context)
{
    struct owing *owing = context;
    const struct rule *rule = &content->rule[0];
    if (content->count == 0 || algorithm_of(rule)->lateness == NULL) return;
    const struct algorithm *algorithm = algorithm_of(rule);
    const struct account account = account_at(rule, content->state, owing->now_ns);
    const int64_t left = account.due - account.given;
    const uint64_t late = positive(left - (int64_t)rule->burst);
    const uint64_t end = algorithm_at(rule, algorithm, content->state, 0).end;
    owing->owed.missed = algorithm_within(rule, algorithm, end, late, UINT64_MAX);
    owing->left = algorithm_within(rule, algorithm, end, positive(left), UINT64_MAX);
    owing->pool = permits_floor(rule, rule->burst);
}

struct pace_late pace_late_at(struct pace *pace, uint64_t now_ns)
{
    struct owing owing = {.now_ns = now_ns};
    limiter_look(pace->limiter, look_for_late, &owing);
    return (struct pace_late){owing.left, owing.owed.missed, owing.pool};
}

/* Of so many permits one is ours. */
static uint64_t parts_of(const struct pace *pace)
{
    return most(pace->part.of, 1);
}

uint64_t pace_too_late(struct pace *pace)
{
    return pace_late_at(pace, limiter_stands_ns(pace->limiter, weir_now().ns)).beyond / parts_of(pace);
}

void pace_skip(struct pace *pace, uint64_t permits)
{
    weir_skip(pace->limiter, permits * parts_of(pace));
}

/* Permits that are due, in a pool, and may start at once. */
static uint64_t ready_of(const struct rule *rule, const struct account *account)
{
    return permits_floor(rule, positive(account->due - account->given - (int64_t)least(account->behind, TICKS_FAR)));
}

/* In a list the slowest schedule is the one that the work can be on. */
static void look_at_owed(const struct cell_content *content, void *context)
{
    struct owing *owing = context;
    const uint64_t *state = content->state;
    const struct rule *first = &content->rule[0];
    if (clock_is_profile(first) && first->anchor_ns != RULE_NOT_BEGUN) owing->began_ns = first->anchor_ns;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->lateness != NULL) {
            const struct account account = account_at(rule, state, owing->now_ns);
            const uint64_t behind_ns = clock_ns_ago(rule, owing->now_ns, account.behind);
            if (!owing->found || behind_ns < owing->owed.behind_ns) {
                const uint64_t missed = permits_floor(rule, most(account.missed, account.behind));
                owing->owed = (struct record_owed){behind_ns, missed, {owing->now_ns, ready_of(rule, &account)}};
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
    if (pace->engine != NULL) return (struct record_owed){.missed = pace_engine_figures(pace).lapsed};
    if (pace->at.time != NULL) {
        const bool waits = atom_load(&pace->idle_ns) == 0;
        return (struct record_owed){.behind_ns = waits ? atom_load(&pace->at.late_ns) : 0};
    }
    owing.owed.at.until_ns = owing.now_ns;
    limiter_look(pace->limiter, look_at_owed, &owing);
    owing.owed.missed /= parts_of(pace);
    struct phase_record *phases = pace->record.phases;
    uint64_t none = 0;
    if (phases != NULL && owing.began_ns != 0) atom_swap(&phases->began_ns, &none, owing.began_ns);
    return owing.owed;
}

/* SPDX-License-Identifier: MIT
   Waiting for a start.

   A caller that takes permits ahead of time thereby reserves its start: the start is fixed, and the next caller gets a
   later one.  It sleeps until then, once, and is woken by its own timer, a change or a stop.  Meanwhile it is in the
   queue of its thread index, for changes (queue.c).

   A sleep costs some microseconds however short it is, so it lasts at least the minimum sleep.  If the next start is
   nearer than that, a thread with a reservation would sleep through it, and start late although others are awake to use
   it.  So it naps: it sleeps without a reservation, and then takes what is due, or makes a reservation.  The timers of
   napping threads are set a fraction of that apart, in the order of their calls; so one of them always fires soon, and
   its thread takes all permits that have become due since the last one fired:

       due     ||||||||||||||||||||||||||||||||||||||||||||||||||> t
       a thread  zzzzzzzzzzzzzzzzzzzzx        zzzzzzzzzzzzzzzzzzzzx        z sleeps  x takes all that is due
       another          zzzzzzzzzzzzzzzzzzzzx        zzzzzzzzzzzzzzzzzz
       a third                 zzzzzzzzzzzzzzzzzzzzx        zzzzzzzzzzz */
#include "api/limiter.h"
#include "core/decide.h"
#include "core/facts.h"
#include "core/num.h"

/* ---- sleeping ---- */

void limiter_wake(weir_limiter *limiter)
{
    host_event_signal(&limiter->event);
    turns_wake_all(&limiter->turns);
}

static void spin(const struct host_event *event, uint32_t seen, uint64_t start_ns)
{
    while (host_event_seen(event) == seen && host_now_ns() < start_ns) atom_pause();
    host_spin_end();
}

/* Sleeps until shortly before the start, then spins.  True if the wait is over; false if there is no processor to spin
   on. */
static bool sleep_and_spin(const weir_limiter *limiter, struct host_event *event, uint32_t seen, uint64_t start_ns)
{
    const uint64_t awake_ns = subtract_to_zero(start_ns, limiter->spin_ns);
    if (host_now_ns() < awake_ns) {
        host_event_wait(event, seen, awake_ns);
        if (host_now_ns() < awake_ns) return true; /* woken */
    }
    if (!host_spin_begin(limiter->spin_processors)) return false;
    spin(event, seen, start_ns);
    return true;
}

void limiter_sleep(weir_limiter *limiter, struct host_event *event, uint32_t seen, uint64_t start_ns, uint64_t least_ns)
{
    if (limiter->clock == WEIR_CLOCK_MANUAL) {
        host_event_wait(event, seen, HOST_NO_DEADLINE);
        return;
    }
    const bool spins = limiter->spin_ns != 0;
    if (spins && sleep_and_spin(limiter, event, seen, start_ns)) return;
    const uint64_t now_ns = host_now_ns();
    const uint64_t least_later_ns = spins ? 0 : add_saturating(now_ns, least_ns);
    if (now_ns < start_ns) host_event_wait(event, seen, most(start_ns, least_later_ns));
}

void limiter_come_back(weir_limiter *limiter, struct host_event *event, uint32_t seen, uint64_t passes_ns)
{
    const uint64_t now_ns = host_now_ns();
    const bool past = now_ns >= passes_ns && limiter->clock != WEIR_CLOCK_MANUAL;
    limiter_sleep(limiter, event, seen, past ? add_saturating(now_ns, limiter->min_sleep_ns) : passes_ns,
                  limiter->min_sleep_ns);
}

/* ---- naps ---- */

enum { NAP_LEAST_NS = 5000, NAPS_ON_AVERAGE = 8 };

static uint64_t step_ns(const weir_limiter *limiter)
{
    return limiter->min_sleep_ns / WAKES_IN_A_MIN_SLEEP;
}

bool limiter_naps(const weir_limiter *limiter, const struct wait *wait, uint64_t retry_ns)
{
    if (wait->napped || wait->until_ns != WEIR_FOREVER || limiter_stands_still(limiter)) return false;
    if (wait->each != NULL || wait->queues || atom_load(&limiter->holds) != 0) return false;
    if (limiter->spin_ns != 0 && host_spin_may(limiter->spin_processors)) return false;
    const uint64_t each_ns = multiply_saturating(atom_load(&limiter->spacing_ns), wait->cost);
    /* Nothing may be lost within the minimum sleep, and each thread that wakes should find at least one permit that is
       due. */
    const bool kept = limiter->min_sleep_ns <= atom_load(&limiter->room_ns);
    return kept && retry_ns < limiter->min_sleep_ns && each_ns <= step_ns(limiter);
}

/* What a sleep is late by it mostly costs, too.  So with naps of three quarters of that a single thread uses about half
   of a processor, and nothing waits for twice as long as a sleep is late; unless a longer nap was asked for. */
static uint64_t nap_ns(const weir_limiter *limiter)
{
    if (!limiter->naps_least) return limiter->min_sleep_ns;
    return most(atom_load(&limiter->naps.late_ns) * 3 / 4, NAP_LEAST_NS);
}

/* A moving average; what is later than a minimum sleep was not the sleep's. */
static void note_nap(weir_limiter *limiter, uint64_t timer_ns)
{
    const uint64_t now_ns = host_now_ns(), seen_ns = atom_load(&limiter->naps.late_ns);
    const uint64_t late_ns = least(subtract_to_zero(now_ns, timer_ns), limiter->min_sleep_ns);
    if (now_ns < timer_ns) return; /* woken */
    atom_store(&limiter->naps.late_ns, seen_ns - seen_ns / NAPS_ON_AVERAGE + late_ns / NAPS_ON_AVERAGE);
}

/* At least a nap from now, and a step after the last timer, or as much later as the thread that it wakes has to do; but
   not later than all napping threads need. */
static uint64_t set_timer(weir_limiter *limiter, uint64_t now_ns, uint64_t napping)
{
    const uint64_t step = step_ns(limiter) + limiter_stock_lasted_ns(limiter, now_ns, step_ns(limiter));
    const uint64_t first_ns = add_saturating(now_ns, nap_ns(limiter));
    const uint64_t last_ns = add_saturating(first_ns, multiply_saturating(napping, step));
    uint64_t seen = atom_load(&limiter->naps.timer_ns), timer_ns;
    do {
        timer_ns = least(most(add_saturating(seen, step), first_ns), last_ns);
    } while (!atom_swap(&limiter->naps.timer_ns, &seen, timer_ns));
    return timer_ns;
}

void limiter_nap(weir_limiter *limiter, struct wait *wait, uint32_t seen)
{
    const uint64_t others = atom_add(&limiter->naps.count, 1);
    const uint64_t timer_ns = set_timer(limiter, host_now_ns(), others);
    host_event_wait(&limiter->event, seen, timer_ns);
    note_nap(limiter, timer_ns);
    atom_add(&limiter->naps.count, UINT64_MAX);
    wait->slept = wait->napped = true;
}

/* ---- waiting ---- */

static bool start_is_due(const weir_limiter *limiter, uint64_t start_ns)
{
    const bool manual = limiter->clock == WEIR_CLOCK_MANUAL;
    return (manual ? limiter_now_ns(limiter) : host_now_ns()) >= start_ns;
}

/* Getting a start and joining the queue is one step for a change, see queue.c.  *decision is the first one. */
static void take_place(weir_limiter *limiter, struct queue *queue, struct waiter *waiter, const struct ask *ask,
                       weir_decision *decision)
{
    for (int failed = 0;;) {
        const struct log *log = limiter_log(limiter);
        queue_lock(queue);
        const enum limiter_asked asked = limiter_ask_once(limiter, ask, decision);
        waiter->decision = *decision; /* that of a waiter in a queue may change */
        if (asked == ASKED && decision->verdict == WEIR_ALLOW && decision->delay_ns != 0) queue_join(queue, waiter);
        queue_unlock(queue);
        if (asked == ASKED || failed != 0) return;
        while (asked == ASKED_CLOSED && !home_is_open(limiter)) host_yield();
        if (asked == ASKED_CLOSED) continue;
        host_lock(&limiter->mutex);
        failed = limiter_grow_log(limiter, log, ask->now_ns);
        host_unlock(&limiter->mutex);
    }
}

/* After a nap the sleep is as short as possible: together they last the minimum sleep. */
static void wait_in_queue(weir_limiter *limiter, const struct wait *wait, struct queue *queue, struct waiter *waiter)
{
    for (;;) {
        const uint32_t seen = host_event_seen(&limiter->event);
        queue_lock(queue);
        const uint64_t start_ns = limiter_paused(limiter) ? WEIR_FOREVER : waiter->decision.start.ns;
        const bool over = limiter_stopped(limiter) || waiter->decision.verdict == 0 || start_is_due(limiter, start_ns);
        if (over) queue_leave(queue, waiter);
        queue_unlock(queue);
        if (over) return;
        limiter_sleep(limiter, &limiter->event, seen, start_ns, wait->napped ? 0 : limiter->min_sleep_ns);
    }
}

/* Counts the call once its wait is over, with the time that the caller was held. */
static void count_wait(weir_limiter *limiter, const struct wait *wait, weir_decision *decision)
{
    if (decision->verdict == WEIR_ALLOW) {
        decision->delay_ns = wait->slept ? subtract_to_zero(limiter_now_ns(limiter), wait->since_ns) : 0;
        if (wait->lost) decision->due = wait->due;
    } else if (wait->lost) { /* its permits go to other calls */
        limiter_shift(limiter, wait->cost, wait->each, true);
    }
    limiter_count(limiter, decision);
}

static bool is_lost(const weir_limiter *limiter, const struct wait *wait, const weir_decision *decision)
{
    const uint64_t late_ns = subtract_to_zero(limiter_now_ns(limiter), decision->start.ns);
    return late_ns > most(atom_load(&limiter->room_ns), wait->late_ns);
}

static void join_turns(weir_limiter *limiter, struct wait *wait)
{
    turns_join(&limiter->turns, &wait->turn);
    wait->queues = true;
}

/* A thread that wakes so late that a pool would have overflowed has lost its start; otherwise all threads that were
   stopped would start together.  It calls again, for the same permits of the schedule, if there is one: they stay due
   when they were.  Next time it may be twice as late, so that a thread that always wakes late starts in the end. */
static void lose(weir_limiter *limiter, struct wait *wait, weir_decision *decision)
{
    if (!wait->lost) wait->due = decision->due;
    wait->lost = true;
    wait->late_ns = add_saturating(wait->late_ns, wait->late_ns);
    decision->verdict = 0;
    if (atom_load(&limiter->holds) == 0) return;
    join_turns(limiter, wait); /* before others can have its slots */
    weir_release(limiter, decision->end);
}

static void leave_turns(weir_limiter *limiter, struct wait *wait)
{
    if (wait->queues) turns_leave(&limiter->turns, &wait->turn);
    wait->queues = false;
}

/* Reserves a start and waits for it, its turn being over.  False if the start is too far away, or nothing can be
   reserved; a verdict of 0 if the start was lost, or a change has taken it away. */
static bool wait_for_start(weir_limiter *limiter, struct wait *wait, uint64_t now_ns, uint64_t wait_max_ns,
                           weir_decision *decision)
{
    struct waiter waiter;
    struct queue *queue = &limiter->queue[host_slot()];
    const struct ask ask = {.now_ns = now_ns,
                            .wait_max_ns = wait_max_ns,
                            .cost = wait->cost,
                            .each = wait->each,
                            .end = wait->end != NULL ? wait->end : waiter.end,
                            .undo = &waiter.undo,
                            .again = wait->lost,
                            .uncounted = true,
                            .turn = wait->queues};
    waiter.cost = wait->cost;
    waiter.each = wait->each;
    waiter.ends = wait->end;
    waiter.again = wait->lost;
    if (wait->turn.ticket == 0 && atom_load(&limiter->holds) != 0) wait->turn.ticket = turns_ticket(&limiter->turns);
    waiter.turn = &wait->turn;
    waiter.queues = false;
    take_place(limiter, queue, &waiter, &ask, decision);
    if (decision->verdict == WEIR_DENY) return false;
    leave_turns(limiter, wait);
    if (decision->verdict == WEIR_ALLOW && decision->delay_ns != 0) {
        wait->slept = true;
        wait_in_queue(limiter, wait, queue, &waiter);
        *decision = waiter.decision;
        wait->queues = waiter.queues;
        if (limiter_stopped(limiter)) *decision = (weir_decision){.verdict = WEIR_STOPPED, .start = {now_ns}};
        else if (decision->verdict == WEIR_ALLOW && is_lost(limiter, wait, decision)) lose(limiter, wait, decision);
        if (decision->verdict == 0) return true;
        leave_turns(limiter, wait); /* stopped */
    }
    count_wait(limiter, wait, decision);
    return true;
}

/* Decides without waiting.  If refusals are counted, one on the way to a wait is not, nor one for want of slots. */
static void ask_before_wait(weir_limiter *limiter, const struct wait *wait, uint64_t now_ns, uint64_t wait_max_ns,
                            bool turn, weir_decision *decision)
{
    struct ask ask = {.now_ns = now_ns,
                      .cost = wait->cost,
                      .each = wait->each,
                      .end = wait->end,
                      .again = wait->lost,
                      .uncounted = true,
                      .turn = turn};
    limiter_ask(limiter, &ask, decision);
    const bool refused = decision->verdict == WEIR_NEVER || decision_retry_ns(decision) > wait_max_ns;
    if (!refused || atom_load(&limiter->counts_refused) == 0 || atom_load(&limiter->holds) != 0) return;
    ask.uncounted = false;
    limiter_ask(limiter, &ask, decision);
}

/* The profile is over: nothing will be due.  None, which is no profile, may still be changed. */
static bool has_ended(const weir_limiter *limiter, uint64_t passes_in_ns)
{
    return passes_in_ns == WEIR_FOREVER && atom_load(&limiter->ends) != 0 && !limiter_paused(limiter);
}

/* A call that was refused may pass sooner than it looks: what refuses it, or who is ahead of it, may release slots. */
static bool waits_for_slots(const weir_limiter *limiter, const struct wait *wait, bool turn,
                            const weir_decision *decision)
{
    if (limiter_paused(limiter)) return wait->queues;
    return (wait->queues && !turn) || decision->limit + 1 == atom_load(&limiter->holds);
}

/* Waits for its turn, or else for the time when it passes.  One that has just joined asks once more first, see
   turns.c. */
static void await_turn(weir_limiter *limiter, struct wait *wait, bool turn, uint32_t seen, uint64_t passes_ns)
{
    const bool joins = !wait->queues && atom_load(&limiter->holds) != 0;
    wait->slept = true;
    if (joins) {
        join_turns(limiter, wait);
    } else if (wait->queues) {
        limiter_come_back(limiter, turns_event(&limiter->turns, &wait->turn), seen,
                          turn ? least(passes_ns, wait->until_ns) : wait->until_ns);
    } else {
        limiter_come_back(limiter, &limiter->event, seen, passes_ns);
    }
}

bool limiter_wait(weir_limiter *limiter, struct wait *wait, weir_decision *decision)
{
    const uint32_t seen = host_event_seen(wait->queues ? turns_event(&limiter->turns, &wait->turn) : &limiter->event);
    const bool turn = wait->queues && turns_is_first(&limiter->turns, &wait->turn);
    const uint64_t now_ns = limiter_now_ns(limiter);
    if (!wait->slept) wait->since_ns = now_ns;
    const uint64_t left_ns = wait->until_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(wait->until_ns, now_ns);
    limiter_renew(limiter, now_ns);
    ask_before_wait(limiter, wait, now_ns, left_ns, turn, decision);
    uint64_t passes_in_ns = decision_retry_ns(decision);
    const bool waits = decision->verdict == WEIR_DENY && left_ns != 0;
    const bool ahead = waits && turn == wait->queues && atom_load(&limiter->counts_refused) == 0;
    if (waits && limiter_naps(limiter, wait, passes_in_ns)) {
        limiter_nap(limiter, wait, seen);
        return false;
    }
    if (ahead && wait_for_start(limiter, wait, now_ns, left_ns, decision)) return decision->verdict != 0;
    /* Without an end of the wait it is enough that it can be reserved by then. */
    if (ahead && left_ns == WEIR_FOREVER) passes_in_ns = decision->retry_ns;
    const bool too_late = passes_in_ns > left_ns && !waits_for_slots(limiter, wait, turn, decision);
    if (!waits || too_late || has_ended(limiter, passes_in_ns)) {
        leave_turns(limiter, wait);
        count_wait(limiter, wait, decision);
        return true;
    }
    /* It cannot be reserved. */
    await_turn(limiter, wait, turn, seen, add_saturating(now_ns, passes_in_ns));
    return false;
}

/* Two threads that take turns at one line are slower than one of them alone; so one that meets another naps. */
static bool take_alone(weir_limiter *limiter, struct wait *wait, uint32_t seen, weir_decision *decision)
{
    enum stock_answer answer;
    while ((answer = limiter_take_stocked(limiter, wait->cost, decision)) == STOCK_MET) {
        if (limiter_naps(limiter, wait, 0)) limiter_nap(limiter, wait, seen);
    }
    return answer == STOCK_SPENT;
}

/* Takes what is due for itself and for the calls that come next; false if it needs something else. */
static bool wait_for_stock(weir_limiter *limiter, struct wait *wait, weir_decision *decision)
{
    if (wait->lost || wait->queues || !(wait->napped || limiter_stocked(limiter))) return false;
    const uint32_t seen = host_event_seen(&limiter->event);
    bool taken = take_alone(limiter, wait, seen, decision);
    if (!taken && !limiter_fill_stock(limiter, limiter_naps(limiter, wait, 0))) {
        limiter_nap(limiter, wait, seen);
        limiter_fill_stock(limiter, false);
    }
    if (!taken) taken = take_alone(limiter, wait, seen, decision);
    if (taken) count_wait(limiter, wait, decision);
    return taken;
}

struct wait limiter_begin_wait(const weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns)
{
    struct wait wait = {.cost = cost, .until_ns = WEIR_FOREVER, .late_ns = LATE_LEAST_NS};
    if (wait_max_ns == WEIR_FOREVER) return wait;
    wait.until_ns = least(add_saturating(limiter_now_ns(limiter), wait_max_ns), WEIR_FOREVER - 1);
    return wait;
}

weir_decision weir_take_each_wait(weir_limiter *limiter, const uint64_t cost[], uint64_t end[], uint64_t wait_max_ns)
{
    weir_decision decision;
    struct wait wait = limiter_begin_wait(limiter, cost[0], wait_max_ns);
    wait.each = cost;
    wait.end = end;
    while (!limiter_wait(limiter, &wait, &decision)) continue;
    return decision;
}

weir_decision weir_take_wait(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns)
{
    weir_decision decision;
    if (limiter_stocked(limiter) && limiter_take_stocked(limiter, cost, &decision) == STOCK_SPENT) {
        limiter_count_leased(limiter, 1, cost);
        return decision;
    }
    struct wait wait = limiter_begin_wait(limiter, cost, wait_max_ns);
    while (!wait_for_stock(limiter, &wait, &decision) && !limiter_wait(limiter, &wait, &decision)) continue;
    if (!wait.slept && decision.verdict == WEIR_ALLOW) limiter_stock_if_quick(limiter, decision.start.ns);
    return decision;
}

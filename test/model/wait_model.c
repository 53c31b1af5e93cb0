/* SPDX-License-Identifier: MIT
   Src/api/wait.c and queue.c: waiters, a clock that jumps and a limit that changes, in the orders with
   few preemptions.

   Threads wait for permits; another one moves the clock: by jumps at any moment, as when a process is stopped or a
   machine sleeps, and else to the next alarm.  The oracle is the list of starts, each at the time that its thread read
   last.  `weir explain` says what may start in a window t where somebody is woken late: as many as in t and the most by
   which a start may be late, which is the pool or a ms.  Who loses his start twice may be twice as late.

       permits from start i to start j <= burst + catchup * rate * (window + late)

   No start comes before its time, and the due times are exactly first + k / rate, each once.

   Where a thread changes the limit beside them (gcra, a burst of 1), nobody is lost: whoever starts after the change
   has its start by the new limit, and no two starts are nearer than the faster of the two allows. */
#include "model.h"
#include "planted_change.h"
#include "wait_host.h"

#include <stdlib.h>

#include "api/limiter.h"

enum { WAITERS = 3, JUMPS = 2 };
static const uint64_t MS = 1000000, BEGIN_NS = 100 * UINT64_C(1000000);

struct scene {
    const char *name, *limit;
    uint64_t burst, catchup_percent; /* as the limit has them; a permit a ms */
    uint64_t before;                 /* permits that are gone when all begin */
    int waiters;
    uint64_t cost[WAITERS], jump_ms[JUMPS];
    bool never_lost;   /* planted: who wakes late starts nevertheless */
    const char *to;    /* another limit, by one more thread */
    uint64_t apart_ns; /* from one start to the next, by the faster of the two */
    bool in_parts;     /* by planted_set_limit */
    enum change_mistake change;
    bool unlocked; /* planted: who waits has not locked its line while it asks */
    const char *mistake;
};

struct granted_at {
    uint64_t at_ns, due_ns, permits, start_ns;
    uint32_t generation;
};

static const struct scene *scene;
static weir_limiter *limiter;
static struct granted_at starts[WAITERS];
static uint64_t late_ns, changed_ns; /* FOREVER: it has not been changed */

static void begin(void)
{
    wait_host_begin(BEGIN_NS);
    changed_ns = WEIR_FOREVER;
    const weir_options options = {.size = sizeof options, .use = WEIR_PACE};
    model_check(weir_open(&limiter, scene->limit, &options, NULL) == 0, "the limit is not read");
    model_check(scene->before == 0 || weir_take(limiter, scene->before).verdict == WEIR_ALLOW, "nothing to begin with");
    late_ns = scene->burst * MS > LATE_LEAST_NS ? scene->burst * MS : LATE_LEAST_NS;
    if (scene->jump_ms[1] != 0 && late_ns < 2 * LATE_LEAST_NS) late_ns = 2 * LATE_LEAST_NS;
    if (scene->never_lost) atom_store(&limiter->room_ns, UINT64_MAX);
}

static void waiter(void)
{
    struct granted_at *start = &starts[model_thread()];
    const uint64_t cost = scene->cost[model_thread()];
    const weir_decision decision =
        scene->unlocked ? planted_take_wait(limiter) : weir_take_wait(limiter, cost, WEIR_FOREVER);
    *start =
        (struct granted_at){wait_host_seen_ns(), decision.due.ns, cost, decision.start.ns, (uint32_t)decision.reserved};
    model_check(decision.verdict == WEIR_ALLOW, "a waiter is sent away");
    model_check(decision.start.ns <= start->at_ns, "a start before its time");
    wait_host_done();
}

static void the_clock(void)
{
    for (int i = 0; i < JUMPS && scene->jump_ms[i] != 0; i++) wait_host_jump(scene->jump_ms[i] * MS);
    wait_host_run(scene->waiters);
}

static void setter(void)
{
    if (scene->in_parts) planted_set_limit(limiter, scene->to, scene->change);
    else model_check(weir_set_limit(limiter, scene->to, WEIR_SCALE, NULL) == 0, "the limit is not changed");
    changed_ns = wait_host_seen_ns();
}

static int by_start(const void *a, const void *b)
{
    const struct granted_at *one = a, *other = b;
    return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

static void check_apart(void)
{
    qsort(starts, (size_t)scene->waiters, sizeof starts[0], by_start);
    for (int i = 1; i < scene->waiters; i++) {
        model_check(starts[i].start_ns >= starts[i - 1].start_ns + scene->apart_ns, "two starts at once");
    }
    for (int i = 0; i < scene->waiters; i++) {
        model_check(starts[i].start_ns <= changed_ns || starts[i].generation == limiter->generation,
                    "a change has not found a waiter");
    }
}

static int by_time(const void *a, const void *b)
{
    const struct granted_at *one = a, *other = b;
    return (one->at_ns > other->at_ns) - (one->at_ns < other->at_ns);
}

static int by_due(const void *a, const void *b)
{
    const struct granted_at *one = a, *other = b;
    return (one->due_ns > other->due_ns) - (one->due_ns < other->due_ns);
}

static void end(void)
{
    if (scene->to != NULL) {
        check_apart();
        return;
    }
    qsort(starts, (size_t)scene->waiters, sizeof starts[0], by_time);
    for (int i = 0; i < scene->waiters; i++) {
        uint64_t permits = 0;
        for (int j = i; j < scene->waiters; j++) {
            const uint64_t window_ns = starts[j].at_ns - starts[i].at_ns + late_ns;
            permits += starts[j].permits;
            const uint64_t most = scene->burst * 100 * MS + scene->catchup_percent * window_ns;
            model_check(permits * 100 * MS <= most, "more start at once than may");
        }
    }
    qsort(starts, (size_t)scene->waiters, sizeof starts[0], by_due);
    for (int i = 1; i < scene->waiters; i++) {
        const uint64_t next_ns = starts[i - 1].due_ns + starts[i - 1].permits * MS;
        model_check(starts[i].due_ns == next_ns, "the due times are not the schedule");
    }
}

#define CHANGED                                                                                                        \
    .limit = "100/s burst=1 algorithm=gcra", .to = "1000/s burst=1 algorithm=gcra", .apart_ns = 999999, .before = 1,   \
    .waiters = 2, .cost = {1, 1}

static const struct scene scenes[] = {
    {.name = "planted: who wakes late starts",
     .limit = "1000/s burst=1 catchup=1",
     .burst = 1,
     .catchup_percent = 100,
     .before = 1,
     .waiters = 3,
     .cost = {1, 1, 1},
     .jump_ms = {9},
     .never_lost = true},
    {.name = "two wait, no jump",
     .limit = "1000/s burst=1 catchup=1",
     .burst = 1,
     .catchup_percent = 100,
     .waiters = 2,
     .cost = {1, 1}},
    {.name = "two wait, a jump",
     .limit = "1000/s burst=1 catchup=1",
     .burst = 1,
     .catchup_percent = 100,
     .before = 1,
     .waiters = 2,
     .cost = {1, 1},
     .jump_ms = {9}},
    {.name = "three wait, a jump",
     .limit = "1000/s burst=1 catchup=1",
     .burst = 1,
     .catchup_percent = 100,
     .before = 1,
     .waiters = 3,
     .cost = {1, 1, 1},
     .jump_ms = {9}},
    {.name = "three wait, two jumps, catching up",
     .limit = "1000/s burst=2 catchup=1.5",
     .burst = 2,
     .catchup_percent = 150,
     .before = 2,
     .waiters = 3,
     .cost = {1, 1, 1},
     .jump_ms = {4, 9}},
    {.name = "for several permits each, two jumps",
     .limit = "1000/s burst=3 catchup=1.1",
     .burst = 3,
     .catchup_percent = 110,
     .before = 3,
     .waiters = 2,
     .cost = {2, 3},
     .jump_ms = {7, 30}},
    {.name = "planted: taken out forward",
     CHANGED,
     .in_parts = true,
     .change = CHANGE_OUT_FORWARD,
     .mistake = "not all is given back"},
    {.name = "planted: let in backward",
     CHANGED,
     .in_parts = true,
     .change = CHANGE_IN_BACKWARD,
     .mistake = "a later one starts first"},
    {.name = "planted: opened before they are in",
     CHANGED,
     .in_parts = true,
     .change = CHANGE_OPENED_EARLY,
     .mistake = "two starts at once"},
    {.name = "planted: asked without the line's lock",
     CHANGED,
     .unlocked = true,
     .mistake = "a change has not found a waiter"},
    {.name = "two wait, hastened in parts", CHANGED, .in_parts = true},
    {.name = "two wait, hastened", CHANGED},
    {.name = "two wait in a list, hastened",
     .limit = "100/s burst=1 algorithm=gcra; 2000/s burst=4 algorithm=gcra",
     .to = "1000/s burst=1 algorithm=gcra; 2000/s burst=4 algorithm=gcra",
     .apart_ns = 999999,
     .before = 1,
     .waiters = 2,
     .cost = {1, 1}},
    {.name = "two wait, slowed",
     .limit = "1000/s burst=1 algorithm=gcra",
     .to = "100/s burst=1 algorithm=gcra",
     .apart_ns = 999999,
     .before = 1,
     .waiters = 2,
     .cost = {1, 1}},
};

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        scene = &scenes[i];
        struct model_scenario scenario = {.name = scene->name,
                                          .threads = scene->waiters + 1 + (scene->to != NULL),
                                          .begin = begin,
                                          .end = end,
                                          .preemptions_max = scene->waiters == 2 && scene->to == NULL ? 2 : 1,
                                          .steps_max = (scene->mistake != NULL ? 8 : 1) * model_steps_max()};
        for (int thread = 0; thread < scene->waiters; thread++) scenario.thread[thread] = waiter;
        scenario.thread[scene->waiters] = scene->to != NULL ? setter : the_clock;
        if (scene->to != NULL) scenario.thread[scene->waiters + 1] = the_clock;
        model_judge(&scenario, scene->never_lost ? "more start at once" : scene->mistake);
    }
    return model_status();
}

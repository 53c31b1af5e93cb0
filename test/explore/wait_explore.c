/* SPDX-License-Identifier: MIT
   wait_explore.c - src/api/wait.c: waiters and a clock that jumps, in the orders with few preemptions.

   Threads wait for permits; another one moves the clock: by jumps at any moment, as when a process is stopped or a
   machine sleeps, and else to the next alarm.  The oracle is the list of starts, each at the time that its thread read
   last.  `weir explain` says what may start in a window t where somebody is woken late: as many as in t and the most by
   which a start may be late, which is the pool or a ms.  Who loses his start twice may be twice as late.

       permits from start i to start j <= burst + catchup * rate * (window + late)

   No start comes before its time, and the due times are exactly first + k / rate, each once.

   May touch: stdout, its own statics.  Promises: every scene holds and every planted mistake is found, or status 1.
   Leaves to others: changes of the limit while threads wait (stress/set_limit), naps (unit/wait). */
#include "explore.h"
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
    bool never_lost; /* planted: who wakes late starts nevertheless */
};

struct granted_at {
    uint64_t at_ns, due_ns, permits;
};

static const struct scene *scene;
static weir_limiter *limiter;
static struct granted_at starts[WAITERS];
static uint64_t late_ns;

static void begin(void)
{
    wait_host_begin(BEGIN_NS);
    const weir_options options = {.size = sizeof options, .use = WEIR_PACE};
    explore_check(weir_open(&limiter, scene->limit, &options, NULL) == 0, "the limit is not read");
    explore_check(scene->before == 0 || weir_take(limiter, scene->before).verdict == WEIR_ALLOW,
                  "nothing to begin with");
    late_ns = scene->burst * MS > LATE_LEAST_NS ? scene->burst * MS : LATE_LEAST_NS;
    if (scene->jump_ms[1] != 0 && late_ns < 2 * LATE_LEAST_NS) late_ns = 2 * LATE_LEAST_NS;
    if (scene->never_lost) atom_store(&limiter->room_ns, UINT64_MAX);
}

static void waiter(void)
{
    struct granted_at *start = &starts[explore_thread()];
    const uint64_t cost = scene->cost[explore_thread()];
    const weir_decision decision = weir_take_wait(limiter, cost, WEIR_FOREVER);
    *start = (struct granted_at){wait_host_seen_ns(), decision.due.ns, cost};
    explore_check(decision.verdict == WEIR_ALLOW, "a waiter is sent away");
    explore_check(decision.start.ns <= start->at_ns, "a start before its time");
    wait_host_done();
}

static void the_clock(void)
{
    for (int i = 0; i < JUMPS && scene->jump_ms[i] != 0; i++) wait_host_jump(scene->jump_ms[i] * MS);
    wait_host_run(scene->waiters);
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
    qsort(starts, (size_t)scene->waiters, sizeof starts[0], by_time);
    for (int i = 0; i < scene->waiters; i++) {
        uint64_t permits = 0;
        for (int j = i; j < scene->waiters; j++) {
            const uint64_t window_ns = starts[j].at_ns - starts[i].at_ns + late_ns;
            permits += starts[j].permits;
            const uint64_t most = scene->burst * 100 * MS + scene->catchup_percent * window_ns;
            explore_check(permits * 100 * MS <= most, "more start at once than may");
        }
    }
    qsort(starts, (size_t)scene->waiters, sizeof starts[0], by_due);
    for (int i = 1; i < scene->waiters; i++) {
        const uint64_t next_ns = starts[i - 1].due_ns + starts[i - 1].permits * MS;
        explore_check(starts[i].due_ns == next_ns, "the due times are not the schedule");
    }
}

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
};

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        scene = &scenes[i];
        struct explore_scenario scenario = {.name = scene->name,
                                            .threads = scene->waiters + 1,
                                            .begin = begin,
                                            .end = end,
                                            .preemptions_max = scene->waiters == 2 ? 2 : 1,
                                            .steps_max = explore_steps_max()};
        for (int thread = 0; thread < scene->waiters; thread++) scenario.thread[thread] = waiter;
        scenario.thread[scene->waiters] = the_clock;
        explore_judge(&scenario, scene->never_lost ? "more start at once" : NULL);
    }
    return explore_status();
}

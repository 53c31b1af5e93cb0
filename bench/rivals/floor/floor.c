/* SPDX-License-Identifier: MIT
   What the machine charges for pacing: threads that only sleep to absolute times, each its share of the
   schedule, once as late as Linux usually lets a thread be (slack 50 us) and once with the least slack.

   No limiter. */
#include "../../bench.h"
#include "../crew.h"

#include <sys/prctl.h>

static const unsigned long SLACK_USUAL_NS = 50000, SLACK_LEAST_NS = 1;

struct schedule {
    double interval_ns;
    int threads;
    unsigned long slack_ns;
    uint64_t start_ns;
};

struct sleeper {
    struct schedule *schedule;
    uint64_t place; /* of its next permit in the schedule */
};

static void *join(void *limiter, int index)
{
    struct sleeper *sleeper = malloc(sizeof *sleeper);
    if (sleeper == NULL) abort();
    sleeper->schedule = limiter;
    sleeper->place = (uint64_t)index;
    prctl(PR_SET_TIMERSLACK, sleeper->schedule->slack_ns, 0, 0, 0);
    return sleeper;
}

static void acquire(void *own)
{
    struct sleeper *sleeper = own;
    struct schedule *schedule = sleeper->schedule;
    const uint64_t now_ns = bench_now_ns();
    if (sleeper->place == 0) schedule->start_ns = now_ns;
    const uint64_t due_ns = schedule->start_ns + (uint64_t)((double)sleeper->place * schedule->interval_ns);
    sleeper->place += (uint64_t)schedule->threads;
    if (due_ns <= now_ns) return;
    const struct timespec due = {(time_t)(due_ns / BENCH_SECOND_NS), (long)(due_ns % BENCH_SECOND_NS)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) continue;
}

static void print_lines(bool small)
{
    (void)small;
}

static void print_pace(const struct crew_pace *pace)
{
    const struct {
        const char *who;
        unsigned long slack_ns;
    } rows[] = {{"bare sleep, slack 50 us", SLACK_USUAL_NS}, {"bare sleep, slack 1 ns", SLACK_LEAST_NS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct schedule schedule = {1e9 / (double)pace->rate_per_s, pace->threads, rows[i].slack_ns, 0};
        crew_print_pace(&(struct crew_pacing){rows[i].who, join, acquire, free, &schedule}, pace);
    }
}

int main(int argc, char **argv)
{
    return crew_main(argc, argv, print_lines, print_pace);
}

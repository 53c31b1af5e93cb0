/* SPDX-License-Identifier: MIT
   How many requests run at once: of each client and of all, had nothing been refused, and of what each limit allowed.

       heap     those that run, the one that ends first on top
       level    now, most      for all, and for each limit the same of what it allowed
       rows     the same for each client

   A request that ends when another begins does not run at once with it.  It is counted, not derived from the verdicts:
   so it shows if a limit ever let through more than it may. */
#include <stdlib.h>

#include "cli/replay/work.h"
#include "core/num.h"

enum { SIZE_AT_FIRST = 1 << 10 };

struct runner {
    uint64_t end_ns;
    uint32_t client, slots;
    uint16_t refused; /* a bit for each limit */
};

struct level {
    uint64_t now, most;
};

struct running {
    struct runner *heap;
    size_t count, size;
    struct level all[1 + REPLAY_LIMITS_MAX];
    struct rows rows; /* of a client: a level for all that it sent, and one for each limit */
    uint64_t time_ns; /* the levels are of this time */
};

bool running_open(struct replay *replay)
{
    struct running *running = calloc(1, sizeof *running);
    if (running == NULL) return false;
    rows_open(&running->rows, (1 + (size_t)replay->options.limits) * sizeof(struct level));
    replay->running = running;
    return true;
}

void running_close(struct replay *replay)
{
    if (replay->running == NULL) return;
    rows_close(&replay->running->rows);
    free(replay->running->heap);
    free(replay->running);
}

bool running_reach(struct replay *replay, uint32_t clients)
{
    return replay->running == NULL || rows_reach(&replay->running->rows, clients);
}

/* ---- those that run ---- */

static bool put(struct running *running, const struct runner *runner)
{
    if (running->count == running->size) {
        const size_t size = running->size == 0 ? SIZE_AT_FIRST : running->size * 2;
        struct runner *larger = realloc(running->heap, size * sizeof *larger);
        if (larger == NULL) return false;
        running->heap = larger;
        running->size = size;
    }
    size_t place = running->count++;
    for (; place > 0 && runner->end_ns < running->heap[(place - 1) / 2].end_ns; place = (place - 1) / 2) {
        running->heap[place] = running->heap[(place - 1) / 2];
    }
    running->heap[place] = *runner;
    return true;
}

static struct runner take_first(struct running *running)
{
    struct runner *heap = running->heap;
    const size_t count = --running->count;
    const struct runner first = heap[0], last = heap[count];
    size_t hole = 0;
    for (size_t child = 1; child < count; child = 2 * hole + 1) {
        if (child + 1 < count && heap[child + 1].end_ns < heap[child].end_ns) child++;
        if (last.end_ns <= heap[child].end_ns) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = last;
    return first;
}

/* ---- levels ---- */

static void begin(struct level *level, uint64_t slots)
{
    level->now += slots;
    level->most = most(level->most, level->now);
}

static void change(struct replay *replay, const struct runner *runner, bool begins)
{
    struct running *running = replay->running;
    struct level *of_client = rows_at(&running->rows, runner->client);
    for (int i = 0; i <= replay->options.limits; i++) {
        if (i > 0 && (runner->refused >> (i - 1) & 1) != 0) continue;
        if (begins) begin(&running->all[i], runner->slots);
        if (begins) begin(&of_client[i], runner->slots);
        if (!begins) running->all[i].now -= runner->slots;
        if (!begins) of_client[i].now -= runner->slots;
    }
}

/* The levels as they are stood during this step of time. */
static void mark(struct replay *replay, uint64_t step)
{
    const struct level *all = replay->running->all;
    struct replay_series *series = &replay->result.series;
    series->running[step] = most(series->running[step], all[0].now);
    for (int i = 0; i < replay->options.limits; i++) {
        uint64_t *running = series->limit[i].running;
        running[step] = most(running[step], all[1 + i].now);
    }
}

static uint64_t step_at(const struct replay *replay, uint64_t time_ns)
{
    return (time_ns - replay->result.series.first_ns) / replay->result.series.step_ns;
}

static void move_to(struct replay *replay, uint64_t time_ns)
{
    struct running *running = replay->running;
    if (running->time_ns == 0) running->time_ns = time_ns;
    if (time_ns <= running->time_ns) return;
    const uint64_t last = step_at(replay, time_ns - 1);
    for (uint64_t step = step_at(replay, running->time_ns); step <= last; step++) mark(replay, step);
    running->time_ns = time_ns;
}

static void end_until(struct replay *replay, uint64_t time_ns)
{
    struct running *running = replay->running;
    while (running->count != 0 && running->heap[0].end_ns <= time_ns) {
        move_to(replay, running->heap[0].end_ns);
        const struct runner ended = take_first(running);
        change(replay, &ended, false);
    }
    move_to(replay, time_ns);
}

bool running_count(struct replay *replay)
{
    const struct batch *batch = &replay->batch;
    struct replay_result *result = &replay->result;
    if (replay->running == NULL) return true;
    for (size_t i = 0; i < batch->count; i++) {
        const struct order_entry *entry = &batch->entry[i];
        const struct runner runner = {entry->end_ns, entry->client, (uint32_t)least(entry->cost, UINT32_MAX),
                                      batch->refused[i]};
        end_until(replay, entry->time_ns);
        if (entry->end_ns <= entry->time_ns) continue;
        result->longest_ns = most(result->longest_ns, entry->end_ns - entry->time_ns);
        if (!put(replay->running, &runner)) return false;
        change(replay, &runner, true);
    }
    mark(replay, step_at(replay, replay->running->time_ns));
    return true;
}

/* ---- the result ---- */

static uint64_t most_of_client(const struct replay *replay, int level, uint64_t *value)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < replay->clients.count; i++) {
        const struct level *levels = rows_at(&replay->running->rows, i);
        value[i] = levels[level].most;
        highest = most(highest, value[i]);
    }
    return highest;
}

void running_conclude(struct replay *replay, uint64_t *value)
{
    struct replay_result *result = &replay->result;
    for (int i = 0; i < replay->options.limits; i++) {
        result->limit[i].running_all = replay->running->all[1 + i].most;
        result->limit[i].running_client = most_of_client(replay, 1 + i, value);
    }
    result->counts_running = true;
    result->running_all = replay->running->all[0].most;
    most_of_client(replay, 0, value);
}

/* SPDX-License-Identifier: MIT
   Requests, in order of time, to verdicts and counts.

   One limit after the other goes through a batch, and while a request is decided the state of one further on is
   fetched.  Where stamps are whole seconds a batch is a second: each limit is asked once with all of its requests at
   its beginning, and once with them spread evenly over it.

   Every request is counted once, at its own time. */
#include <stdlib.h>

#include "cli/replay/work.h"
#include "core/num.h"

enum { BATCH = 128, BATCH_SIZE_AT_FIRST = 1 << 10, AHEAD = 12, SECONDS_A_MINUTE = 60 };

/* ---- steps of time ---- */

static void join_pairs(uint64_t count[REPLAY_STEPS])
{
    for (size_t i = 0; i < REPLAY_STEPS; i++) {
        count[i] = i < REPLAY_STEPS / 2 ? count[2 * i] + count[2 * i + 1] : 0;
    }
}

static void join_peaks(uint64_t most_in[REPLAY_STEPS])
{
    for (size_t i = 0; i < REPLAY_STEPS; i++) {
        most_in[i] = i < REPLAY_STEPS / 2 ? most(most_in[2 * i], most_in[2 * i + 1]) : 0;
    }
}

static void join_steps(struct replay_series *series, int limits)
{
    join_pairs(series->offered);
    join_peaks(series->running);
    for (int i = 0; i < limits; i++) {
        join_pairs(series->limit[i].denied);
        join_pairs(series->limit[i].delayed);
        join_peaks(series->limit[i].running);
    }
    series->step_ns *= 2;
}

/* Makes room for this time. */
static void reach(struct replay *replay, uint64_t time_ns)
{
    struct replay_series *series = &replay->result.series;
    if (series->count == 0) {
        series->step_ns = replay->whole_seconds ? REPLAY_SECOND_NS : REPLAY_STEP_AT_FIRST_NS;
        series->first_ns = time_ns - time_ns % series->step_ns;
    }
    while ((time_ns - series->first_ns) / series->step_ns >= REPLAY_STEPS) join_steps(series, replay->options.limits);
    series->count = (unsigned)((time_ns - series->first_ns) / series->step_ns) + 1;
}

/* The step of times that never go back. */
struct walk {
    uint64_t end_ns, step_ns;
    unsigned step;
};

static struct walk walk_from(const struct replay_series *series, uint64_t time_ns)
{
    const uint64_t step = (time_ns - series->first_ns) / series->step_ns;
    return (struct walk){series->first_ns + (step + 1) * series->step_ns, series->step_ns, (unsigned)step};
}

static inline unsigned walk_to(struct walk *walk, uint64_t time_ns)
{
    while (time_ns >= walk->end_ns) {
        walk->end_ns += walk->step_ns;
        walk->step++;
    }
    return walk->step;
}

/* ---- clients ---- */

static inline void fetch(const struct rows *rows, const struct batch *batch, size_t at)
{
    if (at + AHEAD < batch->count) rows_fetch(rows, batch->entry[at + AHEAD].client);
}

/* What the row refers to: by then that is here. */
static inline void fetch_state(const struct candidate *candidate, const struct batch *batch, size_t at)
{
    if (at + AHEAD / 2 < batch->count) candidate_fetch(candidate, batch->entry[at + AHEAD / 2].client);
}

static void use(struct usage *usage, uint32_t second, uint32_t minute)
{
    if (usage->second != second) usage->in_second = 0;
    if (usage->minute != minute) usage->in_minute = 0;
    usage->second = second;
    usage->minute = minute;
    usage->requests++;
    if (++usage->in_second > usage->second_max) usage->second_max = usage->in_second;
    if (++usage->in_minute > usage->minute_max) usage->minute_max = usage->in_minute;
}

static void count_requests(struct replay *replay)
{
    const struct batch *batch = &replay->batch;
    struct replay_series *series = &replay->result.series;
    struct walk walk = walk_from(series, batch->entry[0].time_ns);
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t time_ns = batch->entry[i].time_ns, second = time_ns / REPLAY_SECOND_NS;
        fetch(&replay->usage, batch, i);
        use(rows_at(&replay->usage, batch->entry[i].client), (uint32_t)second, (uint32_t)(second / SECONDS_A_MINUTE));
        series->offered[walk_to(&walk, time_ns)]++;
    }
}

/* ---- verdicts ---- */

static void decide_all(struct replay *replay, int limit)
{
    const struct batch *batch = &replay->batch;
    struct replay_series *series = &replay->result.series;
    struct candidate *candidate = &replay->candidate[limit];
    struct walk walk = walk_from(series, batch->entry[0].time_ns);
    for (size_t i = 0; i < batch->count; i++) {
        const struct order_entry *entry = &batch->entry[i];
        fetch(&candidate->rows, batch, i);
        fetch_state(candidate, batch, i);
        const struct candidate_verdict verdict =
            candidate_ask(candidate, entry->client, entry->time_ns, entry->end_ns, entry->cost);
        const unsigned step = walk_to(&walk, entry->time_ns);
        series->limit[limit].denied[step] += !verdict.allowed;
        if (!verdict.allowed) batch->refused[i] |= (uint16_t)(1 << limit);
        series->limit[limit].delayed[step] += verdict.delay_ns != 0;
        if (replay->each != NULL) each_verdict(replay, entry)[limit] = verdict;
    }
}

static void decide_spread(struct replay *replay, struct candidate *candidate)
{
    const struct batch *batch = &replay->batch;
    const uint64_t began_ns = batch->entry[0].time_ns / REPLAY_SECOND_NS * REPLAY_SECOND_NS;
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t time_ns = began_ns + i * REPLAY_SECOND_NS / batch->count;
        fetch(&candidate->rows, batch, i);
        fetch_state(candidate, batch, i);
        const uint64_t runs_ns = subtract_to_zero(batch->entry[i].end_ns, batch->entry[i].time_ns);
        candidate_spread(candidate, batch->entry[i].client, time_ns, time_ns + runs_ns, batch->entry[i].cost);
    }
}

/* Whole seconds do not say when within them: many servers at one instant would be no traffic. */
static bool decide_fleet(struct replay *replay)
{
    const struct batch *batch = &replay->batch;
    const uint64_t began_ns = batch->entry[0].time_ns / REPLAY_SECOND_NS * REPLAY_SECOND_NS;
    for (size_t i = 0; i < batch->count; i++) {
        const struct order_entry *entry = &batch->entry[i];
        const uint64_t spread_ns = began_ns + i * REPLAY_SECOND_NS / batch->count;
        const uint64_t time_ns = replay->whole_seconds ? spread_ns : entry->time_ns;
        if (!fleet_take(&replay->fleet, entry->client, time_ns, entry->cost)) return false;
    }
    return true;
}

bool replay_decide_rest(struct replay *replay)
{
    struct batch *batch = &replay->batch;
    bool decided = true;
    if (batch->count == 0) return true;
    reach(replay, batch->entry[0].time_ns);
    reach(replay, batch->entry[batch->count - 1].time_ns);
    count_requests(replay);
    for (int limit = 0; limit < replay->options.limits; limit++) {
        decide_all(replay, limit);
        if (replay->whole_seconds) decide_spread(replay, &replay->candidate[limit]);
        decided = decided && !replay->candidate[limit].no_memory;
    }
    if (!running_count(replay)) decided = false;
    if (replay->fleet.limits != 0 && !decide_fleet(replay)) {
        replay->status = trouble("replay: no memory to simulate so many nodes and clients");
    }
    replay->result.last_ns = batch->entry[batch->count - 1].time_ns;
    batch->count = 0;
    if (decided && replay->each != NULL) each_print(replay);
    return decided;
}

/* ---- batches ---- */

static bool make_room(struct batch *batch)
{
    if (batch->count < batch->size) return true;
    const size_t size = batch->size == 0 ? BATCH_SIZE_AT_FIRST : batch->size * 2;
    struct order_entry *larger = realloc(batch->entry, size * sizeof *larger);
    if (larger != NULL) batch->entry = larger;
    uint16_t *refused = realloc(batch->refused, size * sizeof *refused);
    if (refused != NULL) batch->refused = refused;
    if (larger == NULL || refused == NULL) return false;
    batch->size = size;
    return true;
}

/* Does it belong to the batch that is collected? */
static bool belongs(const struct replay *replay, const struct order_entry *entry)
{
    const struct batch *batch = &replay->batch;
    if (batch->count == 0) return true;
    if (!replay->whole_seconds) return batch->count < BATCH;
    return entry->time_ns / REPLAY_SECOND_NS == batch->entry[0].time_ns / REPLAY_SECOND_NS &&
           batch->count < ORDER_HELD_MAX;
}

bool replay_decide(struct replay *replay, const struct order_entry *entry)
{
    if (!belongs(replay, entry) && !replay_decide_rest(replay)) return false;
    if (replay->result.requests++ == 0) replay->result.first_ns = entry->time_ns;
    if (!make_room(&replay->batch)) return false;
    replay->batch.refused[replay->batch.count] = 0;
    replay->batch.entry[replay->batch.count++] = *entry;
    rows_fetch(&replay->usage, entry->client);
    rows_fetch(&replay->candidate[0].rows, entry->client);
    return true;
}

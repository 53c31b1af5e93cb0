/* SPDX-License-Identifier: MIT
   Threads ask one table through its public calls, in all ways at once.

   Some take from several keys together, some by a list of limits, some give back what they took, some make the table
   grow, and some read its statistics and its most refused keys.  Afterwards of each key

       conservation    what was given and kept is no more than its burst and what drained meanwhile
       all or nothing  what is left is as much as that leaves: a call that took nothing has charged nothing (but for
                       a few that gave back at a time that was over, when others had taken all: somebody might wait)

   No timed assertion. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/weir.h>

#include "stress/crowd.h"
#include "unit/random.h"

enum {
    THREADS = 4,
    ROUNDS = 30000,
    KEYS = 5,
    TOGETHER = 3,
    BURST = 4000,
    LOST_MAX = BURST / 100,
    GROWTHS = 5,
    KEYS_MAX = 64
};
static const uint64_t HOUR_NS = UINT64_C(3600) * 1000000000;

static weir_table *table;
static weir_plan plan;
static weir_key key[KEYS];
static const char name[KEYS][2] = {"a", "b", "c", "d", "e"};
static atomic_uint_fast64_t given[KEYS], refused, undone;

static void take_together(uint64_t *seed, uint64_t cost_max)
{
    weir_ask asks[TOGETHER];
    const uint64_t first = random_below(seed, KEYS);
    for (uint64_t i = 0; i < TOGETHER; i++) {
        asks[i] = (weir_ask){&plan, key[(first + i) % KEYS], 1 + random_below(seed, cost_max), {0}};
    }
    if (!weir_table_take_all(table, asks, TOGETHER, weir_now())) {
        bool said = false;
        for (int i = 0; i < TOGETHER; i++) said = said || asks[i].decision.verdict != WEIR_ALLOW;
        crowd_check(said, "nobody was refused, and nothing taken");
        atomic_fetch_add(&refused, 1);
        return;
    }
    for (uint64_t i = 0; i < TOGETHER; i++) {
        crowd_check(asks[i].decision.verdict == WEIR_ALLOW, "taken, and refused");
        if (random_below(seed, 2) != 0) {
            weir_table_settle(table, &plan, asks[i].key, &asks[i].decision, 0);
            weir_table_settle(table, &plan, asks[i].key, &asks[i].decision, 0);
            atomic_fetch_add(&undone, 1);
        } else {
            atomic_fetch_add(&given[(first + i) % KEYS], asks[i].cost);
        }
    }
}

static void take_one(uint64_t *seed, uint64_t cost_max)
{
    const uint64_t number = random_below(seed, KEYS), cost = 1 + random_below(seed, cost_max);
    const uint64_t actual = random_below(seed, cost + 1);
    uint64_t each[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        each[i] = cost;
        used[i] = actual;
    }
    weir_decision decision = weir_table_take_each(table, &plan, key[number], each, end);
    if (!weir_allowed(decision)) return;
    weir_table_settle_each(table, &plan, key[number], &decision, each, used, end);
    atomic_fetch_add(&given[number], actual);
}

static void ask_in_all_ways(struct member *member)
{
    uint64_t seed = (uint64_t)member->number * 977 + 20261121;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        /* Ever smaller costs, so that it goes on to the end. */
        const uint64_t cost_max = round < ROUNDS / 8 ? 3 : 1;
        weir_table_stats stats;
        weir_top top[4];
        if (random_below(&seed, 2) == 0) take_together(&seed, cost_max);
        else take_one(&seed, cost_max);
        if (random_below(&seed, 500) == 0) weir_table_read_stats(table, &stats, sizeof stats);
        if (member->number == 0 && random_below(&seed, 500) == 0) weir_table_read_top(table, top, 4);
        if (random_below(&seed, ROUNDS / GROWTHS) == 0)
            weir_table_grow(table, (uint64_t)KEYS_MAX << random_below(&seed, 8), NULL);
    }
}

static void torment(const char *what, const char *limits, const char *path, bool wide)
{
    static struct crowd crowd;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    uint64_t given_in_all = 0;
    crowd_begin(what);
    crowd_check(weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL) == 0, limits);
    options.keys_max = KEYS_MAX;
    options.path = path;
    options.plan = wide ? &plan : NULL;
    options.top = 4;
    options.sharing = wide && path == NULL ? WEIR_PRIVATE : WEIR_JOIN_OR_CREATE;
    crowd_check(weir_table_open(&table, &options, &error) == 0, error.message);
    for (int i = 0; i < KEYS; i++) {
        key[i] = weir_key_text(name[i]);
        atomic_store(&given[i], 0);
    }
    atomic_store(&refused, 0);
    atomic_store(&undone, 0);
    const uint64_t begin_ns = weir_now().ns;
    crowd = (struct crowd){.threads = THREADS, .body = ask_in_all_ways};
    crowd_start(&crowd);
    crowd_join(&crowd);
    for (int i = 0; i < KEYS; i++) {
        const uint64_t left = weir_table_peek(table, &plan, key[i], -1, 0).remaining;
        const uint64_t drained = 1 + (weir_now().ns - begin_ns) / (HOUR_NS / BURST);
        const uint64_t sum = atomic_load(&given[i]);
        crowd_check(sum + left <= BURST + drained, "a key was given more than it has");
        crowd_check(sum + left + LOST_MAX >= BURST, "a key was charged for what was not given");
        given_in_all += sum;
    }
    printf("  %d keys got %llu of %d each on average; refused %llu, given back %llu\n", KEYS,
           (unsigned long long)given_in_all / KEYS, BURST, (unsigned long long)atomic_load(&refused),
           (unsigned long long)atomic_load(&undone));
    weir_table_close(table);
    if (path != NULL) unlink(path);
}

int main(void)
{
    char folder[] = "/tmp/weir-keyed-XXXXXX", path[sizeof folder + 8];
    crowd_check(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/table", folder);
    torment("slots", "4000/h", NULL, false);
    torment("a list of slots, in a file", "4000/h; 9000/2h", path, false);
    torment("wide slots", "4000/h; 9000/2h", NULL, true);
    torment("wide slots, in a file", "4000/h", path, true);
    rmdir(folder);
    printf("ok\n");
    return 0;
}

/* SPDX-License-Identifier: MIT
   A flood of one key at N nodes: what it costs the engine, what passes, and whom.

   The node's own table of refusals and leases (leases.c) and the engine's own arithmetic (src/redis/micro), calls at
   random nodes at random times, each answered after a round trip.  bench/fleet/run shows the same in figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/local/leases.h"
#include "redis/micro/micro.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN (1000000 * SECOND)
#define ROUND_TRIP UINT64_C(500000)
enum { RATE = 1000, SECONDS = 20, NODES_MOST = 1000, WAY_MOST = 4096, NS_PER_US = 1000 };

struct node {
    struct engine_leases *leases;
    uint64_t passed;
};

/* A question on its way back. */
struct answer {
    uint64_t sent_ns, node;
    struct micro_answer said;
};

struct flood {
    uint64_t asking, nodes, burst, calls; /* nodes that are asked, of so many that live; calls a second */
    uint64_t random, commands, passed, first, last;
    struct micro_plan plan;
    struct micro_state state;
    struct node node[NODES_MOST];
    struct answer way[WAY_MOST];
};

static const weir_key key = {"hot", 3};

static double random_of(struct flood *flood)
{
    flood->random = flood->random * 16807 % 2147483647;
    return (double)flood->random / 2147483647;
}

static void hear(struct flood *flood, uint64_t now_ns)
{
    for (; flood->first < flood->last; flood->first++) {
        const struct answer *const answer = &flood->way[flood->first % WAY_MOST];
        struct node *const node = &flood->node[answer->node];
        const struct micro_answer *const said = &answer->said;
        if (answer->sent_ns + ROUND_TRIP > now_ns) return;
        if (said->verdict == WEIR_ALLOW) {
            engine_leases_allowed(node->leases, 1, key, answer->sent_ns, 1, said->remaining);
            continue;
        }
        const struct engine_refused refused = {.sent_ns = answer->sent_ns,
                                               .cost = 1,
                                               .retry_ns = said->retry * NS_PER_US,
                                               .interval_ns = SECOND / RATE,
                                               .burst = flood->burst,
                                               .askers = flood->nodes};
        engine_leases_refused(node->leases, 1, key, &refused, said->remaining, said->full * NS_PER_US);
    }
}

static void pass(struct flood *flood, struct node *node)
{
    node->passed++;
    flood->passed++;
}

/* The engine handles each at once, and the answer takes the way back. */
static void call(struct flood *flood, uint64_t number, uint64_t now_ns)
{
    struct node *const node = &flood->node[number];
    struct engine_leases_answer answer;
    struct engine_lease_command command;
    const bool here = engine_leases_answer(node->leases, 1, key, now_ns, 1, &answer);
    if (here && answer.decision.verdict == WEIR_DENY) return;
    if (engine_leases_want(node->leases, 1, key, now_ns, &command)) {
        struct micro_lease lease;
        flood->commands++;
        micro_lease_take(&flood->plan, &flood->state, now_ns / NS_PER_US, command.want, command.lifetime_us, &lease);
        engine_leases_granted(node->leases, &command, lease.id, lease.permits);
    }
    if (here) {
        pass(flood, node);
        return;
    }
    struct answer *const way = &flood->way[flood->last++ % WAY_MOST];
    assert_true(flood->last - flood->first < WAY_MOST);
    *way = (struct answer){.sent_ns = now_ns, .node = number};
    const struct micro_ask ask = {.now = now_ns / NS_PER_US, .cost = {1}};
    micro_take(&flood->plan, &flood->state, NULL, &ask, &way->said);
    flood->commands++;
    if (way->said.verdict == WEIR_ALLOW) pass(flood, node);
}

static void run(struct flood *flood)
{
    char text[64];
    weir_plan plan;
    weir_error error;
    snprintf(text, sizeof text, "%d/s burst=%d", RATE, (int)flood->burst);
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, &error), 0);
    assert_int_equal(micro_plan_make(&flood->plan, &plan, &error), 0);
    flood->random = 7;
    for (uint64_t i = 0; i < flood->asking; i++) {
        flood->node[i].leases = engine_leases_open(SECOND);
        assert_non_null(flood->node[i].leases);
    }
    double at = 0;
    while ((at -= log(random_of(flood)) / (double)flood->calls) < SECONDS) {
        const uint64_t now_ns = BEGIN + (uint64_t)(at * (double)SECOND);
        hear(flood, now_ns);
        call(flood, (uint64_t)(random_of(flood) * (double)flood->asking), now_ns);
    }
    for (uint64_t i = 0; i < flood->asking; i++) engine_leases_close(flood->node[i].leases);
}

/* At most so many times the rate of commands, at least such a share of the rate, and to each node such a part of what
   all of them would get if they were served alike. */
static void expect(struct flood flood, double commands, double passed, double each)
{
    run(&flood);
    const double all = RATE * SECONDS, fair = (double)flood.passed / (double)flood.asking;
    double least = (double)flood.passed;
    for (uint64_t i = 0; i < flood.asking; i++) least = fmin(least, (double)flood.node[i].passed);
    print_message("%4d of %4d nodes, burst %4d: commands %.2f, passed %.4f of the rate, least served %.2f\n",
                  (int)flood.asking, (int)flood.nodes, (int)flood.burst, (double)flood.commands / all,
                  (double)flood.passed / all, least / fair);
    assert_true((double)flood.commands <= commands * all);
    assert_true((double)flood.passed >= passed * all);
    assert_true((double)flood.passed <= all + (double)flood.burst);
    assert_true(least >= each * fair);
}

/* Served by lot, so of a thousand the one with the least luck gets a quarter of the twenty that are its due. */
static void it_costs_three_times_the_rate_for_any_number_of_nodes(void **unused)
{
    (void)unused;
    static const uint64_t nodes[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    static const double each[] = {1, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.15};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        expect((struct flood){.asking = nodes[i], .nodes = nodes[i], .burst = RATE, .calls = 20 * RATE}, 3, 0.99,
               each[i]);
        expect((struct flood){.asking = nodes[i], .nodes = nodes[i], .burst = 16, .calls = 20 * RATE}, 3, 0.99,
               each[i]);
    }
}

/* A thousand live, and nobody says who of them asks.  One alone notices that it is; few let some go by. */
static void few_of_many_nodes_get_nearly_all_of_it(void **unused)
{
    (void)unused;
    static const uint64_t asking[] = {2, 10, 30, 100, 300};
    for (size_t i = 0; i < 2; i++) {
        const uint64_t burst = i == 0 ? RATE : 16;
        expect((struct flood){.asking = 1, .nodes = 1000, .burst = burst, .calls = 20 * RATE}, 1.01, 0.99, 1);
        for (size_t j = 0; j < sizeof asking / sizeof *asking; j++) {
            expect((struct flood){.asking = asking[j], .nodes = 1000, .burst = burst, .calls = 20 * RATE}, 3, 0.8, 0.1);
        }
    }
}

/* A burst that cannot wait for whoever asks next is asked for more often. */
static void small_bursts_are_not_wasted(void **unused)
{
    (void)unused;
    expect((struct flood){.asking = 20, .nodes = 20, .burst = 4, .calls = 20 * RATE}, 5, 0.97, 0.5);
    expect((struct flood){.asking = 20, .nodes = 20, .burst = 1, .calls = 20 * RATE}, 11, 0.85, 0.5);
    expect((struct flood){.asking = 200, .nodes = 200, .burst = 1, .calls = 20 * RATE}, 11, 0.85, 0.3);
}

/* Not known how many: as if it were alone. */
static void without_a_number_each_asks_at_the_rate(void **unused)
{
    (void)unused;
    expect((struct flood){.asking = 5, .nodes = 0, .burst = RATE, .calls = 20 * RATE}, 5.1, 0.99, 0.8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_costs_three_times_the_rate_for_any_number_of_nodes),
        cmocka_unit_test(few_of_many_nodes_get_nearly_all_of_it),
        cmocka_unit_test(small_bursts_are_not_wasted),
        cmocka_unit_test(without_a_number_each_asks_at_the_rate),
    };
    return cmocka_run_group_tests_name("engine_flood", tests, NULL, NULL);
}

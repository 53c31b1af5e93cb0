/* SPDX-License-Identifier: MIT
   Faults at random times, of random kinds and lengths; and operators, who change limits and begin nodes anew. */
#include "simulate/faults.h"

#include <stdio.h>
#include <string.h>

#include "simulate/judge.h"
#include "simulate/redis.h"
#include "simulate/wires.h"
#include "simulate/world.h"

enum { LOG = 40, LINE = 120, US_PER_S = 1000000, NS_PER_US = 1000 };

static struct fleet fleet;
static uint64_t every_ns, until_ns, counts[FAULT_KINDS];
static char log_line[LOG][LINE];
static uint64_t logged;

static void say(const char *what, unsigned who, uint64_t ns)
{
    snprintf(log_line[logged++ % LOG], LINE, "%12.6f s  %s %u, %.3f ms", (double)world_now() / 1e9 - 1e6, what, who,
             (double)ns / 1e6);
}

void faults_print_last(void)
{
    for (uint64_t i = logged > LOG ? logged - LOG : 0; i < logged; i++) printf("  %s\n", log_line[i % LOG]);
}

static unsigned any_node(void)
{
    return (unsigned)world_below(fleet.nodes);
}

static unsigned any_server(void)
{
    return fleet.sentinel ? (unsigned)world_below(SERVERS_MOST) : 0;
}

/* Never beyond the last moment of faults: then all is to be whole again. */
static uint64_t lasts(uint64_t least, uint64_t most)
{
    const uint64_t ns = world_between(least, most), left = until_ns - world_now();
    return ns < left ? ns : left;
}

/* ---- each is a kind ---- */

static void freeze(void)
{
    const unsigned node = any_node();
    const uint64_t ns = lasts(MS, 5 * SECOND);
    say("frozen: node", node, ns);
    nodes_freeze(node, world_now() + ns);
}

static void lag(void)
{
    const unsigned node = any_node();
    const uint64_t ns = lasts(10 * MS, 5 * SECOND);
    say("stopped within a batch: node", node, ns);
    nodes_lag(node, world_now() + ns);
}

static void kill_node(void)
{
    const unsigned node = any_node();
    const uint64_t ns = lasts(10 * MS, 20 * SECOND);
    say("killed: node", node, ns);
    nodes_kill(node, world_now() + ns, false);
}

static void begin_anew(uint64_t node, uint64_t other)
{
    (void)other;
    nodes_kill((unsigned)node, world_now() + 200 * MS, true);
}

/* One after the other, as for a new version. */
static void roll(void)
{
    if (until_ns - world_now() < 30 * SECOND) return;
    say("begun anew one after the other: nodes", fleet.nodes, 0);
    for (unsigned i = 0; i < fleet.nodes; i++) world_at(world_now() + i * 2 * SECOND, begin_anew, i, 0);
}

static void cut(void)
{
    const unsigned server = any_server(), ways = 1 + (unsigned)world_below(3), one = any_node();
    const bool all = world_chance(300);
    const uint64_t ns = lasts(20 * MS, 30 * SECOND);
    say(all ? "cut off: all from server" : "cut off: one node from server", server, ns);
    for (unsigned i = 0; i < fleet.nodes; i++)
        if (all || i == one) wires_cut(i, server, ways, world_now() + ns);
}

static void cut_again(uint64_t server, uint64_t other)
{
    (void)other;
    if (world_now() >= until_ns) return;
    for (unsigned i = 0; i < fleet.nodes; i++)
        wires_cut(i, (unsigned)server, WIRES_UP | WIRES_DOWN, world_now() + lasts(300 * MS, 3 * SECOND));
}

/* The engine goes and comes again and again, while much is asked for. */
static void flap(void)
{
    const unsigned server = redis_primary(), times = 8 + (unsigned)world_below(20);
    if (until_ns - world_now() < 130 * SECOND) return;
    say("cut off again and again: all from server", server, times * 4 * SECOND);
    nodes_demand(12, world_now() + times * 4 * SECOND);
    for (unsigned i = 0; i < times; i++) world_at(world_now() + i * 4 * SECOND, cut_again, server, 0);
}

static void cut_all(uint64_t server, uint64_t ns)
{
    if (world_now() >= until_ns) return;
    for (unsigned i = 0; i < fleet.nodes; i++) wires_cut(i, (unsigned)server, WIRES_UP | WIRES_DOWN, world_now() + ns);
}

/* One node has no engine for a while, and then no node has. */
static void alone(void)
{
    const unsigned server = redis_primary(), node = any_node();
    const uint64_t first = world_between(2 * SECOND, 30 * SECOND), then = world_between(SECOND, 20 * SECOND);
    if (until_ns - world_now() < 60 * SECOND) return;
    say("cut off alone, and then all with it: node", node, first + then);
    wires_cut(node, server, WIRES_UP | WIRES_DOWN, world_now() + first + then);
    world_at(world_now() + first, cut_all, server, then);
    nodes_demand(8, world_now() + first + then);
}

static void reset(void)
{
    const unsigned node = any_node();
    say("reset: connections of node", node, 0);
    wires_reset_node(node);
}

static void slow(void)
{
    const unsigned server = any_server(), times = (unsigned)world_between(5, 300);
    const uint64_t ns = lasts(SECOND, 30 * SECOND);
    say("slow: the way to server", server, ns);
    wires_slow(server, times, world_now() + ns);
}

static void stall(void)
{
    const unsigned server = any_server();
    const uint64_t ns = lasts(MS, 3 * SECOND);
    say("stalled, as by its disk: server", server, ns);
    redis_stall(server, world_now() + ns);
}

static void crash(void)
{
    const unsigned server = redis_primary();
    const uint64_t ns = lasts(10 * MS, 20 * SECOND), lost = world_chance(500) ? 0 : world_below(2 * SECOND);
    const bool empty = world_chance(250);
    if (redis_is_split() || !redis_is_up(server)) return;
    say(empty ? "restarted empty: server" : "restarted: server", server, ns);
    if (empty) judge_empty();
    else judge_lost(lost);
    redis_crash(server, world_now() + ns, world_chance(700), lost, empty);
}

static void fail_over(void)
{
    const uint64_t lag_ns = world_between(MS, SECOND), split = lasts(MS, 10 * SECOND);
    if (!fleet.sentinel || redis_is_split() || !redis_is_up(0) || !redis_is_up(1)) return;
    say("another primary, of a split brain: server", 1 - redis_primary(), split);
    judge_lost(lag_ns);
    redis_fail_over(lag_ns, world_now() + split);
}

static void step_clock(void)
{
    const unsigned server = redis_primary();
    const bool back = world_chance(500);
    const uint64_t us = world_between(100, back ? UINT64_C(3600) * US_PER_S : 60 * US_PER_S);
    if (redis_is_split()) return;
    say(back ? "set back: the clock of server" : "set forward: the clock of server", server, us * NS_PER_US);
    if (!back) judge_step(us * NS_PER_US);
    redis_step_clock(server, back ? -(int64_t)us : (int64_t)us);
}

static void drift(void)
{
    const unsigned node = any_node();
    say("another speed: the clock of node", node, 0);
    nodes_drift(node, 1 + ((double)world_below(8001) - 4000) / 1e6);
}

static void flood(void)
{
    const uint64_t ns = lasts(SECOND, 8 * SECOND);
    say("a flood of demand", 0, ns);
    nodes_demand((double)world_between(3, 15), world_now() + ns);
}

static void change(void)
{
    char text[LIMIT_TEXT_SIZE];
    const unsigned limit = (unsigned)world_below(2);
    if (judge_is_changing(limit)) return;
    snprintf(text, sizeof text, "%u/s burst=%u", (unsigned)world_between(5, limit == 0 ? 300 : 20),
             (unsigned)world_between(16, limit == 0 ? 400 : 40));
    say("changed: limit", limit, 0);
    judge_change(limit, text);
    nodes_change(limit, text);
}

/* ---- which, and when ---- */

static const struct {
    const char *name;
    void (*happens)(void);
    unsigned weight;
} kinds[FAULT_KINDS] = {
    {"frozen", freeze, 14},   {"within a batch", lag, 6}, {"killed", kill_node, 10}, {"rolled", roll, 1},
    {"cut off", cut, 16},     {"flapping", flap, 3},      {"alone", alone, 3},       {"reset", reset, 6},
    {"slow", slow, 6},        {"stalled", stall, 8},      {"crashed", crash, 8},     {"fail-over", fail_over, 8},
    {"clock", step_clock, 8}, {"drift", drift, 3},        {"flood", flood, 6},       {"changed", change, 4}};

static void on_fault(uint64_t one, uint64_t other)
{
    uint64_t chance = 0, sum = 0;
    unsigned kind = 0;
    (void)one, (void)other;
    for (unsigned i = 0; i < FAULT_KINDS; i++) sum += kinds[i].weight;
    chance = world_below(sum);
    for (; chance >= kinds[kind].weight; kind++) chance -= kinds[kind].weight;
    counts[kind]++;
    world_note(kind);
    kinds[kind].happens();
    const uint64_t next = world_now() + world_about(every_ns);
    if (next < until_ns) world_at(next, on_fault, 0, 0);
}

void faults_begin(const struct fleet *of, uint64_t every, uint64_t until)
{
    fleet = *of;
    every_ns = every;
    until_ns = until;
    logged = 0;
    memset(counts, 0, sizeof counts);
    world_at(world_now() + world_about(every), on_fault, 0, 0);
}

const uint64_t *faults_counts(void)
{
    return counts;
}

const char *faults_name(unsigned kind)
{
    return kinds[kind].name;
}

/* SPDX-License-Identifier: MIT
   A fleet for hours, in minutes: nodes, an engine, clients, and faults all the time.

       simulate-fleet                              as a test: one seed twice, each planted mistake, and some hours
       simulate-fleet --hours 1000 [--seed 7]      so many hours from this seed on
       simulate-fleet --seed 7 [--plant NAME]      one hour, and the last faults where something is wrong

   Shipped code: the service behind its sockets (src/serve without net), the engine's client with its parser and bytes,
   the library, and the module that the engine runs.  Simulated: time, the network, threads (a node is one loop), the
   keyspace of Redis, Sentinel.  So what is not tried here is what real ones do otherwise: test/engine asks those. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/faults.h"
#include "simulate/judge.h"
#include "simulate/redis.h"
#include "simulate/watch.h"
#include "simulate/wires.h"
#include "simulate/world.h"
#include "size.h"

enum { HOUR_S = 3600, SHORT_S = 600, CALM_S = 40, FAULT_EVERY_S = 26, PLANT_HOURS = 40, PROBE_ROUNDS = 3 };

struct hour {
    uint64_t seed, digest, asked, faults;
};

static struct {
    uint64_t hours, asked, faults, of_kind[FAULT_KINDS];
    struct judge_counts counts;
} all;

/* ---- one hour ---- */

static struct fleet choose_fleet(void)
{
    struct fleet fleet = {.nodes = 2 + (unsigned)world_below(5),
                          .sentinel = world_chance(600),
                          .closed = world_chance(150),
                          .lease_ns = world_chance(750) ? world_between(20 * MS, 2 * SECOND) / 1000 * 1000 : 0,
                          .deadline_ns = world_chance(700) ? 20 * MS : world_between(5 * MS, 200 * MS),
                          .keys = {2, 24, 4, 4}};
    fleet.nodes_said = world_chance(500) ? fleet.nodes : 0;
    snprintf(fleet.limit[0], LIMIT_TEXT_SIZE, "%u/s burst=%u", (unsigned)world_between(20, 2000),
             (unsigned)world_between(16, 2000));
    snprintf(fleet.limit[1], LIMIT_TEXT_SIZE, "%u/s burst=%u", (unsigned)world_between(1, 20),
             (unsigned)world_between(1, 40));
    snprintf(fleet.limit[2], LIMIT_TEXT_SIZE, "%u/s burst=%u; %u/min burst=%u", (unsigned)world_between(5, 20),
             (unsigned)world_between(2, 20), (unsigned)world_between(60, 600), (unsigned)world_between(20, 100));
    snprintf(fleet.limit[HERE], LIMIT_TEXT_SIZE, "%u/s burst=%u", (unsigned)world_between(1, 20),
             (unsigned)world_between(1, 40));
    return fleet;
}

/* Every node serves again, by the engine: 10 s and the longest lease after the last fault. */
static void probe(const struct fleet *fleet)
{
    for (unsigned round = 0; round < PROBE_ROUNDS; round++) {
        for (unsigned node = 0; node < fleet->nodes; node++) {
            if (!nodes_is_here(node)) judge_say("node %u is not there", node);
            else nodes_probe(node, round % HERE, JUDGE_PROBES + round * NODES_MOST + node);
        }
        world_run(world_now() + SECOND);
    }
    for (unsigned round = 0; round < PROBE_ROUNDS; round++)
        for (unsigned node = 0; node < fleet->nodes; node++)
            if (!judge_probed(round * NODES_MOST + node))
                judge_say("node %u does not serve again: %c", node, 'a' + round % HERE);
}

static void add_up(const struct hour *hour)
{
    const struct judge_counts *counts = judge_counts();
    all.hours++;
    all.asked += hour->asked;
    all.faults += hour->faults;
    all.counts.answers += counts->answers;
    all.counts.refused += counts->refused;
    for (unsigned i = 0; i < JUDGE_FROMS; i++) all.counts.passed[i] += counts->passed[i];
    for (unsigned i = 0; i < GAUGES; i++)
        if (counts->worst[i] > all.counts.worst[i]) all.counts.worst[i] = counts->worst[i];
    for (unsigned i = 0; i < FAULT_KINDS; i++) all.of_kind[i] += faults_counts()[i];
}

/* false: something was wrong, see judge_problem. */
static bool run_hour(uint64_t seed, unsigned seconds, struct hour *hour)
{
    world_begin(seed);
    const struct fleet fleet = choose_fleet();
    const uint64_t end = world_now() + seconds * SECOND;
    wires_begin();
    redis_begin();
    judge_begin(&fleet);
    nodes_begin(&fleet);
    faults_begin(&fleet, FAULT_EVERY_S * SECOND, end - CALM_S * SECOND);
    while (world_now() < end - CALM_S * SECOND && judge_problem()[0] == '\0') world_run(world_now() + SECOND);
    wires_heal();
    nodes_calm();
    if (judge_problem()[0] == '\0') world_run(end - (CALM_S - 10) * SECOND + fleet.lease_ns);
    if (judge_problem()[0] == '\0') probe(&fleet);
    *hour = (struct hour){.seed = seed, .digest = world_digest(), .asked = nodes_asked()};
    for (unsigned i = 0; i < FAULT_KINDS; i++) hour->faults += faults_counts()[i];
    nodes_end();
    wires_end();
    world_end();
    add_up(hour);
    return judge_problem()[0] == '\0';
}

static void say_hour(const struct hour *hour)
{
    const struct judge_counts *counts = judge_counts();
    printf("seed %" PRIu64 ": %" PRIu64 " requests, %" PRIu64 " faults, engine %.3f shares %.3f all %.3f here %.3f, "
           "digest %016" PRIx64 "\n",
           hour->seed, hour->asked, hour->faults, counts->worst[GAUGE_ENGINE], counts->worst[GAUGE_SHARES],
           counts->worst[GAUGE_ALL], counts->worst[GAUGE_HERE], hour->digest);
    if (judge_problem()[0] == '\0') return;
    printf("  WRONG %s; again: simulate-fleet --seed %" PRIu64 "\n", judge_problem(), hour->seed);
    faults_print_last();
}

static void say_all(void)
{
    printf("%" PRIu64 " hours, %" PRIu64 " requests, %" PRIu64 " faults:", all.hours, all.asked, all.faults);
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        printf(" %s %" PRIu64 "%s", faults_name(i), all.of_kind[i], i + 1 < FAULT_KINDS ? "," : "\n");
    printf("permits passed: by the engine %" PRIu64 ", a lease %" PRIu64 ", a share %" PRIu64 ", here %" PRIu64
           "; answers: %" PRIu64 ", of them refused %" PRIu64 "\n",
           all.counts.passed[JUDGE_ENGINE], all.counts.passed[JUDGE_LEASE], all.counts.passed[JUDGE_AWAY],
           all.counts.passed[JUDGE_HERE], all.counts.answers, all.counts.refused);
    printf("fullest window, of its bound: engine %.4f, shares %.4f, all together %.4f, here %.4f\n",
           all.counts.worst[GAUGE_ENGINE], all.counts.worst[GAUGE_SHARES], all.counts.worst[GAUGE_ALL],
           all.counts.worst[GAUGE_HERE]);
}

/* ---- as a test ---- */

static bool is_repeated(void)
{
    struct hour one, other;
    const bool fine = run_hour(1, SHORT_S, &one) && run_hour(1, SHORT_S, &other);
    if (fine && one.digest != other.digest) printf("one seed, and two hours that differ\n");
    return fine && one.digest == other.digest;
}

static bool is_found(const char *plant)
{
    struct hour hour;
    const uint64_t first = watch_plant(plant);
    uint64_t seed = first;
    while (seed < first + PLANT_HOURS && run_hour(seed, HOUR_S, &hour)) seed++;
    watch_plant(NULL);
    const bool found = seed < first + PLANT_HOURS;
    printf("%s: %s in the hour of seed %" PRIu64 ": %s\n", plant, found ? "found" : "NOT FOUND", seed, judge_problem());
    return found;
}

static bool run_hours(uint64_t hours, uint64_t seed)
{
    struct hour hour;
    for (uint64_t i = 0; i < hours; i++) {
        const bool fine = run_hour(seed + i, HOUR_S, &hour);
        say_hour(&hour);
        fflush(stdout);
        if (!fine) return false;
    }
    return true;
}

/* With a sanitizer an hour takes a minute: then it is for the memory of it all. */
static bool run_as_test(uint64_t hours, uint64_t seed)
{
    bool fine = is_repeated();
    const bool plants = !SANITIZED && size_asked() != SIZE_PROVE; /* an hour is an hour: these are in make test */
    for (unsigned i = 0; plants && watch_plant_name(i) != NULL; i++) fine = is_found(watch_plant_name(i)) && fine;
    memset(&all, 0, sizeof all);
    return fine && run_hours(hours, seed);
}

static int refuse(const char *option, const char *value)
{
    fprintf(stderr,
            "simulate-fleet: expected --hours N, --seed N (from 1 on) or --plant NAME, not \"%s %s\"; names:", option,
            value);
    for (unsigned i = 0; watch_plant_name(i) != NULL; i++) fprintf(stderr, " %s", watch_plant_name(i));
    fputc('\n', stderr);
    return 2;
}

int main(int count, char **argument)
{
    uint64_t hours = 0, seed = 0;
    const char *plant = NULL;
    for (int i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? argument[i + 1] : "";
        if (strcmp(argument[i], "--hours") == 0 && strtoull(value, NULL, 10) != 0) hours = strtoull(value, NULL, 10);
        else if (strcmp(argument[i], "--seed") == 0 && strtoull(value, NULL, 10) != 0) seed = strtoull(value, NULL, 10);
        else if (strcmp(argument[i], "--plant") == 0 && watch_plant(value) != 0) plant = value;
        else return refuse(argument[i], value);
    }
    if (!SANITIZED && freopen("/dev/null", "w", stderr) == NULL) return 2; /* each outage is told there */
    const bool is_test = hours == 0 && seed == 0 && plant == NULL;
    if (seed == 0) seed = is_test ? size_seed("simulate/fleet", 1000) : size_new_seed("simulate/fleet");
    const bool fine =
        is_test ? run_as_test(SANITIZED ? 1 : size_pick(1, 3, 50), seed) : run_hours(hours != 0 ? hours : 1, seed);
    say_all();
    redis_end();
    return !fine;
}

/* SPDX-License-Identifier: MIT
   Levels of all keys, and what is said of their bounds.

   Levels are doubles: an hour at 1,000 permits a second is far from where they lose a thousandth. */
#include "simulate/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "simulate/wires.h"
#include "simulate/world.h"

enum { KEYS = 32, PARTS = 2, RECENT = 4096, PROBLEM_SIZE = 300, PROBES = 512, CHANGE_LASTS = 9, NEW_FOR_S = 130 };
static const double fuzz = 0.02;        /* the engine's clock has whole us */
static const double drift = 1.005;      /* of a node's clock, at most */
static const uint64_t late_ns = 6 * MS; /* a loop's timer has whole ms */

struct gauge {
    double level;
    uint64_t seen, passed_at;
};

/* Permits that an engine gave away lately. */
struct recent {
    uint64_t at[RECENT];
    uint32_t permits[RECENT];
    bool leased[RECENT];
    uint64_t count;
};

struct key {
    struct gauge gauge[GAUGES][PARTS];
    struct recent recent;
    uint64_t passed, answered; /* permits */
    double forgotten;          /* permits in leases that the engine does not know any more, spent until ... */
    uint64_t forgotten_until;
};

struct bound {
    double burst, rate; /* permits, permits per ns */
};

struct limit_state {
    unsigned parts;
    struct bound now[PARTS], most[PARTS]; /* most: while it is changed */
    bool changing;
    struct key key[KEYS];
};

static struct limit_state *limits;
static struct fleet fleet;
static struct judge_counts counts;
static bool split, some_are_new; /* new: one that is cut off alone does not know of them, and has a larger share */
static uint64_t begun;           /* nodes that began anew */
static uint64_t away_at[NODES_MOST], executed_at; /* decided without an engine, and by it, last */
static bool probe_executed[PROBES], probe_answered[PROBES];
static char problem[PROBLEM_SIZE];

void judge_say(const char *format, ...)
{
    va_list arguments;
    if (problem[0] != '\0') return;
    va_start(arguments, format);
    const int size = snprintf(problem, sizeof problem, "at %.6f s: ", (double)world_now() / 1e9 - 1e6);
    vsnprintf(problem + size, sizeof problem - (size_t)size, format, arguments);
    va_end(arguments);
}

const char *judge_problem(void)
{
    return problem;
}

const struct judge_counts *judge_counts(void)
{
    return &counts;
}

/* ---- bounds ---- */

static void read_bounds(const char *text, struct limit_state *limit)
{
    weir_plan plan;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) abort();
    const struct plan *inside = plan_inside_const(&plan);
    limit->parts = (unsigned)inside->count;
    for (unsigned i = 0; i < limit->parts; i++)
        limit->now[i] = (struct bound){(double)inside->limit[i].burst,
                                       (double)inside->limit[i].count.digits / (double)inside->limit[i].period_ns};
}

void judge_begin(const struct fleet *of)
{
    fleet = *of;
    free(limits);
    limits = calloc(LIMITS, sizeof *limits);
    if (limits == NULL) abort();
    for (unsigned i = 0; i < LIMITS; i++) {
        read_bounds(fleet.limit[i], &limits[i]);
        memcpy(limits[i].most, limits[i].now, sizeof limits[i].most);
    }
    counts = (struct judge_counts){0};
    split = some_are_new = false;
    begun = 0;
    executed_at = 0;
    problem[0] = '\0';
    memset(away_at, 0, sizeof away_at);
    memset(probe_executed, 0, sizeof probe_executed);
    memset(probe_answered, 0, sizeof probe_answered);
}

static double most_of(double one, double other)
{
    return one > other ? one : other;
}

/* What may pass at once, and per ns. */
static struct bound bound_of(const struct limit_state *limit, unsigned part, enum judge_gauge gauge)
{
    const struct bound *bound = &limit->most[part];
    const double copies = split ? 2 : 1, nodes = fleet.nodes;
    const double shares = some_are_new ? 2 : 1;
    switch (gauge) {
    case GAUGE_ENGINE:
        return (struct bound){copies * bound->burst, copies * bound->rate};
    case GAUGE_SHARES:
        return (struct bound){shares * bound->burst + nodes, shares * bound->rate * drift};
    case GAUGE_ALL:
        return (struct bound){(1 + shares + copies) * bound->burst + bound->rate * (double)SECOND / 2 + 2 * nodes,
                              most_of(copies, shares) * bound->rate * drift};
    default:
        return (struct bound){bound->burst, bound->rate * drift};
    }
}

static void drain(struct gauge *gauge, double rate)
{
    gauge->level -= (double)(world_now() - gauge->seen) * rate;
    if (gauge->level < 0) gauge->level = 0;
    gauge->seen = world_now();
}

static void drop(struct gauge *gauge, double rate, double cost)
{
    drain(gauge, rate);
    gauge->level = gauge->level > cost ? gauge->level - cost : 0;
}

static void add(unsigned number, unsigned key, enum judge_gauge which, uint64_t cost)
{
    static const char *const names[] = {"engine and leases", "shares", "all together", "this node's"};
    struct limit_state *limit = &limits[number];
    for (unsigned i = 0; i < limit->parts; i++) {
        struct gauge *gauge = &limit->key[key].gauge[which][i];
        const struct bound bound = bound_of(limit, i, which);
        drain(gauge, bound.rate);
        gauge->level += (double)cost;
        gauge->passed_at = world_now();
        const double part = gauge->level / bound.burst;
        if (part > counts.worst[which]) counts.worst[which] = part;
        if (gauge->level > bound.burst + fuzz)
            judge_say("%c|%u, %s: %.2f permits above the rate, of %.2f", 'a' + number, key, names[which], gauge->level,
                      bound.burst);
    }
}

static void drop_key(unsigned number, unsigned key, enum judge_gauge which, unsigned part, double cost)
{
    struct limit_state *limit = &limits[number];
    drop(&limit->key[key].gauge[which][part], bound_of(limit, part, which).rate, cost);
}

static void drop_of_engine(unsigned number, unsigned key, unsigned part, double cost)
{
    drop_key(number, key, GAUGE_ENGINE, part, cost);
    drop_key(number, key, GAUGE_ALL, part, cost);
}

/* Of the limit that each node keeps for itself, its keys at each node. */
static unsigned keys_of(unsigned limit)
{
    return limit == HERE ? fleet.keys[limit] * fleet.nodes : fleet.keys[limit];
}

static void drain_all(void)
{
    for (unsigned i = 0; i < LIMITS; i++)
        for (unsigned key = 0; key < keys_of(i); key++)
            for (unsigned part = 0; part < limits[i].parts; part++)
                for (unsigned which = 0; which < GAUGES; which++) drop_key(i, key, (enum judge_gauge)which, part, 0);
}

/* ---- what an engine gives away ---- */

static void note_given(struct recent *recent, uint64_t permits, bool leased)
{
    const uint64_t at = recent->count++ % RECENT;
    recent->at[at] = world_now();
    recent->permits[at] = (uint32_t)permits;
    recent->leased[at] = leased;
}

static double given_since(const struct recent *recent, uint64_t within_ns, bool only_leased)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= RECENT && i <= recent->count; i++) {
        const uint64_t at = (recent->count - i) % RECENT;
        if (recent->at[at] + within_ns < world_now()) break;
        if (recent->leased[at] || !only_leased) sum += recent->permits[at];
    }
    return (double)sum;
}

static double least_of(double one, double other)
{
    return one < other ? one : other;
}

/* What is in leases that the engine does not know any more is spent later, beside all that it gives away. */
static void forget_leases(unsigned number, unsigned key, uint64_t granted_within)
{
    struct key *of = &limits[number].key[key];
    if (world_now() >= of->forgotten_until) of->forgotten = 0;
    of->forgotten += given_since(&of->recent, granted_within, true);
    of->forgotten_until = world_now() + 2 * fleet.lease_ns;
}

static uint64_t take_forgotten(struct key *of, uint64_t cost)
{
    if (world_now() >= of->forgotten_until) of->forgotten = 0;
    const uint64_t taken = (uint64_t)least_of(of->forgotten, (double)cost);
    of->forgotten -= (double)taken;
    return taken;
}

static void each_of_engine(void (*act)(unsigned number, unsigned key, uint64_t ns), uint64_t ns)
{
    for (unsigned i = 0; i < HERE; i++)
        for (unsigned key = 0; key < fleet.keys[i]; key++) act(i, key, ns);
}

static void lose(unsigned number, unsigned key, uint64_t lost_ns)
{
    struct limit_state *limit = &limits[number];
    const double lost = given_since(&limit->key[key].recent, lost_ns, false);
    for (unsigned part = 0; part < limit->parts; part++)
        drop_of_engine(number, key, part, least_of(lost, limit->most[part].burst));
    forget_leases(number, key, lost_ns < fleet.lease_ns ? lost_ns : fleet.lease_ns);
}

void judge_lost(uint64_t lost_ns)
{
    each_of_engine(lose, lost_ns);
}

static void empty(unsigned number, unsigned key, uint64_t ns)
{
    struct limit_state *limit = &limits[number];
    (void)ns;
    for (unsigned part = 0; part < limit->parts; part++) drop_of_engine(number, key, part, limit->most[part].burst);
    forget_leases(number, key, fleet.lease_ns);
}

static void forget_share(unsigned number, unsigned key, uint64_t ns)
{
    (void)ns;
    for (unsigned part = 0; part < limits[number].parts; part++) {
        const double burst = limits[number].most[part].burst;
        const double share = fleet.nodes_said != 0 ? burst / fleet.nodes_said + 1 : burst;
        drop_key(number, key, GAUGE_SHARES, part, share);
        drop_key(number, key, GAUGE_ALL, part, share);
    }
}

static void on_known(uint64_t number, uint64_t other)
{
    (void)other;
    if (number != begun) return;
    drain_all();
    some_are_new = false;
    each_of_engine(forget_share, 0);
}

/* Nodes that are counted are so anew: one that is cut off alone meanwhile does not hear of it. */
static void count_anew(void)
{
    drain_all();
    some_are_new = fleet.nodes_said == 0;
    world_at(world_now() + NEW_FOR_S * SECOND, on_known, ++begun, 0);
}

void judge_empty(void)
{
    count_anew();
    each_of_engine(empty, 0);
}

static void step(unsigned number, unsigned key, uint64_t ns)
{
    struct limit_state *limit = &limits[number];
    for (unsigned part = 0; part < limit->parts; part++)
        drop_of_engine(number, key, part, least_of(limit->most[part].burst, limit->most[part].rate * (double)ns));
    forget_leases(number, key, 2 * fleet.lease_ns);
}

void judge_step(uint64_t ns)
{
    each_of_engine(step, ns);
}

void judge_split(bool begins)
{
    drain_all();
    split = begins;
    if (!begins) each_of_engine(empty, 0);
}

/* Its share begins anew, what it owes nobody charges, and its own table is gone. */
void judge_killed(unsigned node)
{
    away_at[node] = 0;
    count_anew();
    each_of_engine(forget_share, 0);
    for (unsigned key = 0; key < fleet.keys[HERE]; key++)
        drop_key(HERE, node * fleet.keys[HERE] + key, GAUGE_HERE, 0, limits[HERE].most[0].burst);
}

/* ---- a change ---- */

bool judge_is_changing(unsigned limit)
{
    return limits[limit].changing;
}

/* What was used stays used, but no more than the new burst. */
static void on_changed(uint64_t number, uint64_t other)
{
    struct limit_state *limit = &limits[number];
    const uint64_t last = wires_whole_at() + CHANGE_LASTS * SECOND; /* what was asked before a cut arrives behind it */
    (void)other;
    if (world_now() < last) {
        world_at(last, on_changed, number, 0);
        return;
    }
    drain_all();
    limit->changing = false;
    memcpy(limit->most, limit->now, sizeof limit->most);
    for (unsigned key = 0; key < keys_of((unsigned)number); key++) {
        for (unsigned which = 0; which < GAUGES; which++) {
            struct gauge *gauge = &limit->key[key].gauge[which][0];
            gauge->level = least_of(gauge->level, bound_of(limit, 0, (enum judge_gauge)which).burst);
        }
    }
}

void judge_change(unsigned number, const char *text)
{
    struct limit_state *limit = &limits[number];
    const struct bound before = limit->now[0];
    drain_all();
    read_bounds(text, limit);
    limit->changing = true;
    limit->most[0] =
        (struct bound){most_of(before.burst, limit->now[0].burst), most_of(before.rate, limit->now[0].rate)};
    /* A state is as of its last take: all time since then drains at the rate that it is asked under. */
    for (unsigned key = 0; key < keys_of(number); key++) {
        for (unsigned which = 0; which < GAUGES; which++) {
            const double idle = (double)(world_now() - limit->key[key].gauge[which][0].passed_at);
            drop_key(number, key, (enum judge_gauge)which, 0, idle * (limit->most[0].rate - before.rate));
        }
    }
    world_at(world_now() + CHANGE_LASTS * SECOND + 2 * fleet.lease_ns, on_changed, number, 0);
}

/* Where the burst is another one, no more than that is known to be used from now on. */
static void forget_above(unsigned number, unsigned key, double burst)
{
    const double most = limits[number].most[0].burst;
    if (burst == 0 || burst >= most) return;
    for (unsigned which = 0; which < GAUGES; which++) drop_key(number, key, (enum judge_gauge)which, 0, most - burst);
}

/* ---- what passes ---- */

/* "...a|17"; false: it is none of ours. */
static bool read_key(struct slice name, unsigned *limit, unsigned *key)
{
    size_t at = 0;
    while (at < name.size && name.bytes[at] != '|') at++;
    if (at == 0 || at == name.size || name.bytes[at - 1] < 'a' || name.bytes[at - 1] >= 'a' + LIMITS) return false;
    *limit = (unsigned)(name.bytes[at - 1] - 'a');
    *key = 0;
    for (at++; at < name.size && name.bytes[at] >= '0' && name.bytes[at] <= '9'; at++)
        *key = *key * 10 + (unsigned)(name.bytes[at] - '0');
    return true;
}

static void pass(enum judge_from from, unsigned limit, unsigned key, uint64_t cost, double burst)
{
    counts.passed[from] += cost;
    world_note((uint64_t)from << 56 ^ (uint64_t)limit << 48 ^ (uint64_t)key << 32 ^ cost);
    if (key >= KEYS) return;
    limits[limit].key[key].passed += cost;
    forget_above(limit, key, burst);
    if (nodes_is_lagging()) return; /* by a clock that was read before it was stopped: the call in flight is free */
    if (from == JUDGE_HERE) {
        add(limit, key, GAUGE_HERE, cost);
        return;
    }
    if (from == JUDGE_LEASE) cost -= take_forgotten(&limits[limit].key[key], cost);
    add(limit, key, from == JUDGE_AWAY ? GAUGE_SHARES : GAUGE_ENGINE, cost);
    /* What a node lets pass that alone has no engine is beside what the engine lets pass. */
    const bool alone = from == JUDGE_AWAY && world_now() < executed_at + 50 * MS;
    if (limit == 0 && !alone) add(limit, key, GAUGE_ALL, cost);
}

static struct slice word(const struct resp_command *command, const char *name)
{
    for (unsigned i = 1; i + 1 < command->count; i++)
        if (resp_is(command->argument[i], name)) return command->argument[i + 1];
    return slice_of("1");
}

static uint64_t number_of(struct slice text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.bytes[i] - '0');
    return number;
}

static bool begins(struct slice text, const char *with)
{
    return text.size >= strlen(with) && memcmp(text.bytes, with, strlen(with)) == 0;
}

static double burst_in(struct slice text)
{
    static const char option[] = "burst=";
    for (size_t i = 0; i + sizeof option <= text.size; i++)
        if (begins(slice_from(text, i), option)) return (double)number_of(slice_from(text, i + sizeof option - 1));
    return 0;
}

void judge_executed(const struct resp_command *command, struct slice answer)
{
    unsigned limit, key;
    if (command->count < 3 || !read_key(command->argument[2], &limit, &key)) return;
    if (begins(answer, "-")) judge_say("an engine's error: %.*s", (int)answer.size, answer.bytes);
    const bool takes = resp_is(command->argument[0], "WEIR.TAKE") && begins(answer, "*8\r\n$5\r\nallow");
    const double burst = limits[limit].parts == 1 ? burst_in(command->argument[1]) : 0;
    executed_at = world_now();
    if (key < KEYS) forget_above(limit, key, burst);
    if (resp_is(command->argument[0], "WEIR.LEASE") && begins(answer, "*4\r\n:") && key < KEYS)
        note_given(&limits[limit].key[key].recent, number_of(slice_from(answer, 5)), true);
    if (!takes) return;
    const uint64_t cost = number_of(word(command, "COST"));
    if (key >= JUDGE_PROBES && key - JUDGE_PROBES < PROBES) probe_executed[key - JUDGE_PROBES] = true;
    if (key < KEYS) note_given(&limits[limit].key[key].recent, cost, false);
    pass(JUDGE_ENGINE, limit, key, cost, 0);
}

void judge_passed(enum judge_from from, struct slice name, uint64_t cost)
{
    unsigned limit, key;
    if (!read_key(name, &limit, &key)) abort();
    if (from == JUDGE_AWAY && fleet.closed) judge_say("%c|%u passes, though away is closed", 'a' + limit, key);
    const unsigned node = nodes_current();
    if (from == JUDGE_AWAY && key < KEYS && world_now() > away_at[node] + SECOND / 10)
        for (unsigned i = 0; i < fleet.keys[0]; i++) drop_key(0, i, GAUGE_ALL, 0, 1);
    if (from == JUDGE_AWAY) away_at[node] = world_now();
    pass(from, limit, key, cost, limits[limit].parts == 1 ? (double)nodes_burst(limit) : 0);
}

void judge_answered(unsigned node, unsigned limit, unsigned key, uint64_t cost, bool allowed, uint64_t took_ns)
{
    counts.answers++;
    counts.refused += !allowed;
    world_note((uint64_t)node << 40 ^ (uint64_t)limit << 32 ^ (uint64_t)key << 8 ^ allowed);
    /* It may have waited for the one before it on its connection, which has a deadline of its own. */
    if (took_ns > 2 * (fleet.deadline_ns + late_ns))
        judge_say("%c|%u: answered after %.1f ms, and the deadline is %.1f", 'a' + limit, key, (double)took_ns / MS,
                  (double)fleet.deadline_ns / MS);
    if (key >= JUDGE_PROBES && key - JUDGE_PROBES < PROBES) probe_answered[key - JUDGE_PROBES] = allowed;
    if (!allowed || key >= KEYS) return;
    if (limit == HERE) pass(JUDGE_HERE, limit, key + node * fleet.keys[HERE], cost, 0);
    if (limit == HERE) return;
    struct key *of = &limits[limit].key[key];
    of->answered += cost;
    if (of->answered > of->passed) judge_say("%c|%u: allowed, but decided by nobody", 'a' + limit, key);
}

bool judge_probed(unsigned probe)
{
    return probe_executed[probe] && probe_answered[probe];
}

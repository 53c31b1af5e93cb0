/* SPDX-License-Identifier: MIT
   A key of a table that has rested passes, whenever it comes back; one that has not is refused.

   A few keys of a small table are each asked for all that their limit lets through at once: so each passes exactly when
   it has rested since it passed last, for as long as the limit is.  Between two calls lie 1 ns to 300 years, and the
   table may have been closed and opened again.  Slots count in units, so around that moment either answer is right.

   The clock is the caller's, and begins anywhere within 100 years.  It ends where the ticks of a limit do: wide slots
   count them from 0 on, and of a hybrid's there are enough for 146 years at least. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/weir.h>

#include "core/num.h"
#include "property/property.h"

enum { KEYS = 3, STEPS_MEAN = 12 };
#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS (86400 * SECOND_NS)
#define YEAR_NS (365 * DAY_NS)

/* All of `permits` pass at once, and then none for so long. */
static const struct {
    const char *text;
    uint64_t permits, rests_ns;
    bool wide;
} limits[] = {
    {"1/d", 1, DAY_NS, false},
    {"10/s", 10, SECOND_NS, false},
    {"100/h burst=5", 5, 180 * SECOND_NS, false},
    {"1000/s burst=1", 1, SECOND_NS / 1000, false},
    {"1/30d", 1, 30 * DAY_NS, false},
    {"10/d algorithm=sliding-log", 10, DAY_NS, true},
    {"3/s algorithm=fixed-window", 3, SECOND_NS, true},
    {"10/h algorithm=hybrid burst=10", 10, 3600 * SECOND_NS, true},
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

static weir_table *open_table(struct prop *prop, const weir_plan *width, uint64_t longest_ns, bool kept)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_error error;
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/tmp/weir-rest-%ld", (long)getpid());
        atexit(remove_file);
    }
    options.keys_max = 40;
    options.path = kept ? path : NULL;
    options.sharing = kept ? WEIR_JOIN_OR_CREATE : WEIR_PRIVATE;
    options.plan = width;
    options.refill_max_ns = longest_ns;
    const int failed = weir_table_open(&table, &options, &error);
    prop_check(prop, failed == 0, "%s", error.message);
    return table;
}

/* 1 ns to 300 years, each order of magnitude as often as any other; or around how long the limit rests. */
static uint64_t pick_idle(struct prop *prop, uint64_t rests_ns)
{
    if (prop_chance(prop, 4)) return rests_ns - 2 + prop_pick(prop, 5);
    return least(1 + prop_pick_size(prop, 300 * YEAR_NS), 300 * YEAR_NS);
}

static void rest_property(struct prop *prop)
{
    const uint64_t number = prop_pick(prop, LIMITS), rests_ns = limits[number].rests_ns;
    const uint64_t longest_ns = limits[number].wide || prop_chance(prop, 2) ? 0 : rests_ns;
    const bool kept = prop_chance(prop, 3);
    uint64_t now_ns = prop_pick_size(prop, 100 * YEAR_NS), passed_ns[KEYS] = {0};
    bool passed[KEYS] = {false};
    weir_plan plan;
    prop_check(prop, weir_plan_parse(&plan, limits[number].text, WEIR_ADMIT, NULL) == 0, "%s", limits[number].text);
    if (kept && path[0] != '\0') unlink(path);
    const weir_plan *width = limits[number].wide ? &plan : NULL;
    weir_table *table = open_table(prop, width, longest_ns, kept);
    prop_note(prop, "%s, longest %" PRIu64 " ns, %s", limits[number].text, longest_ns, kept ? "kept" : "private");
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        if (kept && prop_chance(prop, 3)) {
            weir_table_close(table);
            table = open_table(prop, width, longest_ns, kept);
        }
        const uint64_t idle_ns = pick_idle(prop, rests_ns), key = prop_pick(prop, KEYS);
        if (now_ns > 200 * YEAR_NS || (width != NULL && !prop_in_clock(&plan, now_ns + idle_ns + rests_ns))) break;
        now_ns += idle_ns;
        const weir_decision decision = weir_table_take_at(table, &plan, (weir_key){&key, sizeof key},
                                                          (weir_instant){now_ns}, limits[number].permits);
        const uint64_t rested_ns = now_ns - passed_ns[key], slack_ns = limits[number].wide ? 2 : rests_ns / 1000 + 1000;
        prop_note(prop, "%" PRIu64 " ns later, key %" PRIu64 ": verdict %u, retry %" PRIu64, idle_ns, key,
                  decision.verdict, decision.retry_ns);
        const bool allowed = decision.verdict == WEIR_ALLOW;
        const bool has = !passed[key] || rested_ns >= rests_ns + slack_ns,
                   may = has || rested_ns + slack_ns >= rests_ns;
        prop_check(prop, allowed || !has, "key %" PRIu64 " is refused after %" PRIu64 " ns", key, rested_ns);
        prop_check(prop, !allowed || may, "key %" PRIu64 " passes after %" PRIu64 " ns", key, rested_ns);
        prop_check(prop, allowed || decision.retry_ns <= rests_ns + slack_ns, "retry %" PRIu64, decision.retry_ns);
        prop_check(prop, decision.start.ns == now_ns, "start %" PRIu64, decision.start.ns);
        if (!allowed) continue;
        passed[key] = true;
        passed_ns[key] = now_ns;
    }
    weir_table_close(table);
}

PROPERTY("rest", rest_property, 20000);

/* SPDX-License-Identifier: MIT
   The options of a fleet: --nodes and what goes with it.

   What does not fit together is refused, with what would. */
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/replay/fleet/fleet.h"
#include "redis/client/local/lease.h"

enum { MS_NS = 1000000, SECOND_NS = 1000 * MS_NS, HOUR_S = 3600, TIME_TEXT = 32 };

struct fleet_options fleet_usual(void)
{
    return (struct fleet_options){.rtt_ns = MS_NS, .lease_life_ns = SECOND_NS};
}

/* ---- one by one ---- */

static bool set_nodes(struct fleet_options *options, const char *option, const char *value)
{
    return read_count_argument(option, value, FLEET_NODES_MAX, &options->nodes);
}

static bool set_lease(struct fleet_options *options, const char *option, const char *value)
{
    if (!read_count_argument(option, value, LEASE_MOST, &options->lease)) return false;
    if (options->lease >= LEASE_LEAST) return true;
    trouble("--%s \"%s\": expected %d permits or more; leave out --%s for no leases", option, value, LEASE_LEAST,
            option);
    return false;
}

static bool set_life(struct fleet_options *options, const char *option, const char *value)
{
    options->life_said = true;
    if (!read_time_argument(option, value, &options->lease_life_ns)) return false;
    if (options->lease_life_ns >= MS_NS && options->lease_life_ns <= (uint64_t)HOUR_S * SECOND_NS) return true;
    trouble("--%s \"%s\": expected a lifetime from 1ms to 1h", option, value);
    return false;
}

static bool set_rtt(struct fleet_options *options, const char *option, const char *value)
{
    options->rtt_said = true;
    if (strcmp(value, "0") == 0) return options->rtt_ns = 0, true;
    if (!read_time_argument(option, value, &options->rtt_ns)) return false;
    if (options->rtt_ns <= (uint64_t)SECOND_NS) return true;
    trouble("--%s \"%s\": expected at most 1s", option, value);
    return false;
}

/* The first of two times, with nothing behind it. */
static bool read_from(const char *option, const char *value, size_t size, uint64_t *ns)
{
    char text[TIME_TEXT];
    if (size == 1 && *value == '0') return *ns = 0, true;
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, value, size);
    text[size] = '\0';
    return read_time_argument(option, text, ns);
}

static bool set_down(struct fleet_options *options, const char *option, const char *value)
{
    const char *between = strchr(value, '-');
    options->away_said = true;
    if (between == NULL) {
        trouble("--%s \"%s\": expected two times since the log's first request; for example 10s-20s", option, value);
        return false;
    }
    if (!read_from(option, value, (size_t)(between - value), &options->away_from_ns)) return false;
    if (!read_time_argument(option, between + 1, &options->away_to_ns)) return false;
    if (options->away_from_ns < options->away_to_ns) return true;
    trouble("--%s \"%s\": the second time is not after the first; for example 10s-20s", option, value);
    return false;
}

static bool set_spread(struct fleet_options *options, const char *option, const char *value)
{
    options->spread_said = true;
    options->sticky = strcmp(value, "sticky") == 0;
    if (options->sticky || strcmp(value, "random") == 0) return true;
    trouble("--%s \"%s\": expected random or sticky", option, value);
    return false;
}

bool fleet_set(struct fleet_options *options, const char *option, const char *value)
{
    static const struct {
        const char *name;
        bool (*set)(struct fleet_options *, const char *, const char *);
    } rows[] = {{"nodes", set_nodes},    {"lease", set_lease},      {"lease-life", set_life},
                {"engine-rtt", set_rtt}, {"engine-down", set_down}, {"spread", set_spread}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, option) == 0) return rows[i].set(options, option, value);
    }
    return false;
}

/* ---- together ---- */

static bool wrong(const char *message)
{
    trouble("replay: %s", message);
    return false;
}

bool fleet_options_fit(const struct fleet_options *options, bool each, bool follow)
{
    if (options->nodes == 0) {
        if (options->lease != 0) return wrong("--lease is for simulated servers; add --nodes, as in --nodes 8");
        if (options->life_said) return wrong("--lease-life is for simulated servers; add --nodes and --lease");
        if (options->rtt_said) return wrong("--engine-rtt is for simulated servers; add --nodes, as in --nodes 8");
        if (options->away_said) return wrong("--engine-down is for simulated servers; add --nodes, as in --nodes 8");
        return !options->spread_said || wrong("--spread is for simulated servers; add --nodes, as in --nodes 8");
    }
    if (options->life_said && options->lease == 0) return wrong("--lease-life is for leases; add --lease");
    if (each) return wrong("--each shows what one limiter answers; choose --nodes or --each");
    return !follow || wrong("--nodes is for logs that have ended; choose --nodes or --follow");
}

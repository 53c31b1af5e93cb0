/* SPDX-License-Identifier: MIT
   The options of a fleet: --nodes and what goes with it.

   What does not fit together is refused, with what would. */
#include <string.h>

#include "cli/replay/fleet/fleet.h"
#include "redis/client/local/lease.h"

enum { MS_NS = 1000000, SECOND_NS = 1000 * MS_NS, HOUR_S = 3600, TIME_TEXT = 32 };

struct fleet_options fleet_usual(void)
{
    return (struct fleet_options){.rtt_ns = MS_NS, .lease_life_ns = SECOND_NS};
}

/* ---- one by one ---- */

bool fleet_read_lease(const struct option_row *row, const char *value, void *into)
{
    if (!argument_count(row, value, into)) return false;
    if (*(uint64_t *)into >= LEASE_LEAST) return true;
    trouble("--%s \"%s\": expected %d permits or more; leave out --%s for no leases", row->name, value, LEASE_LEAST,
            row->name);
    return false;
}

bool fleet_read_life(const struct option_row *row, const char *value, void *into)
{
    const uint64_t *life_ns = into;
    if (!argument_time(row, value, into)) return false;
    if (*life_ns >= MS_NS && *life_ns <= (uint64_t)HOUR_S * SECOND_NS) return true;
    trouble("--%s \"%s\": expected a lifetime from 1ms to 1h", row->name, value);
    return false;
}

static bool read_zero(const char *value, uint64_t *ns)
{
    if (strcmp(value, "0") != 0) return false;
    *ns = 0;
    return true;
}

bool fleet_read_rtt(const struct option_row *row, const char *value, void *into)
{
    if (read_zero(value, into)) return true;
    if (!argument_time(row, value, into)) return false;
    if (*(uint64_t *)into <= (uint64_t)SECOND_NS) return true;
    trouble("--%s \"%s\": expected at most 1s", row->name, value);
    return false;
}

/* The first of two times, with nothing behind it. */
static bool read_from(const struct option_row *row, const char *value, size_t size, uint64_t *ns)
{
    char text[TIME_TEXT];
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, value, size);
    text[size] = '\0';
    return read_zero(text, ns) || argument_time(row, text, ns);
}

bool fleet_read_down(const struct option_row *row, const char *value, void *into)
{
    struct fleet_options *options = into;
    const char *between = strchr(value, '-');
    if (between == NULL) {
        trouble("--%s \"%s\": expected two times since the log's first request; for example 10s-20s", row->name, value);
        return false;
    }
    if (!read_from(row, value, (size_t)(between - value), &options->away_from_ns)) return false;
    if (!argument_time(row, between + 1, &options->away_to_ns)) return false;
    if (options->away_from_ns < options->away_to_ns) return true;
    trouble("--%s \"%s\": the second time is not after the first; for example 10s-20s", row->name, value);
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
    if (options->nodes == 0) return true;
    if (each) return wrong("--each shows what one limiter answers; choose --nodes or --each");
    return !follow || wrong("--nodes is for logs that have ended; choose --nodes or --follow");
}

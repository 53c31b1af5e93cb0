/* SPDX-License-Identifier: MIT
   weir replay --nodes: the requests of a log at many servers, by each design at once.

   Every design sees the same requests at the same times, at the same nodes but for sticky. */
#include <stdlib.h>

#include "cli/common/arguments.h"
#include "cli/replay/fleet/fleet.h"
#include "core/num.h"
#include "plan/plan.h"

enum { US_NS = 1000 };

/* ---- opening ---- */

/* What leases, shares and the bound are said of. */
static bool is_simulated(const struct candidate *candidate)
{
    const struct plan *plan = plan_inside_const(&candidate->plan);
    if (plan->count != 1) {
        trouble("replay: \"%s\" is %d limits; --nodes simulates one rate at a time: give each by itself, with --or",
                candidate->text, (int)plan->count);
        return false;
    }
    if (plan->limit[0].algorithm == ALGORITHM_GCRA && plan->limit[0].period_ns != 0) return true;
    trouble("replay: \"%s\" is not a gcra limit, the only kind that --nodes simulates; for example 10/s burst=20",
            candidate->text);
    return false;
}

static void open_tallies(struct fleet_limit *limit, const struct limit *said)
{
    uint64_t permits, period_ns;
    limit_rate(said, &permits, &period_ns); /* it has been compiled, so it has one */
    const double per_ns = (double)permits / (double)period_ns;
    const double burst = said->burst_kind == AMOUNT_TIME ? (double)said->burst * per_ns : (double)said->burst;
    for (int design = 0; design < FLEET_DESIGNS; design++) tally_open(&limit->tally[design], per_ns * US_NS, burst);
}

static bool open_asking(struct fleet_limit *limit, const struct fleet_options *options, const weir_plan *plan,
                        weir_error *error)
{
    const weir_plan *share = &limit->shares.plan;
    limit->engine = fleet_ask_open(options, 0, plan, share, &limit->tally[FLEET_ENGINE], error);
    if (limit->engine == NULL || options->lease == 0) return limit->engine != NULL;
    limit->leases = fleet_ask_open(options, options->lease, plan, share, &limit->tally[FLEET_LEASES], error);
    return limit->leases != NULL;
}

static bool open_limit(struct fleet_limit *limit, const struct fleet_options *options,
                       const struct candidate *candidate)
{
    weir_error error;
    weir_plan share;
    if (!is_simulated(candidate)) return false;
    if (local_share(&share, &candidate->plan, options->nodes, &error) != 0) {
        trouble("replay: a share of \"%s\" for each of %llu nodes is not a valid limit: %s", candidate->text,
                (unsigned long long)options->nodes, error.message);
        return false;
    }
    local_open(&limit->one, &candidate->plan);
    local_open(&limit->shares, &share);
    local_open(&limit->alone, &candidate->plan);
    local_open(&limit->sticky, &candidate->plan);
    open_tallies(limit, &plan_inside_const(&candidate->plan)->limit[0]);
    if (open_asking(limit, options, &candidate->plan, &error)) return true;
    trouble("replay: \"%s\": %s", candidate->text, error.message);
    return false;
}

bool fleet_open(struct fleet *fleet, const struct fleet_options *options, const struct candidate *candidate, int limits)
{
    fleet->options = *options;
    fleet->limit = calloc((size_t)limits, sizeof *fleet->limit);
    if (fleet->limit == NULL) trouble("replay: no memory");
    if (fleet->limit == NULL) return false;
    fleet->limits = limits;
    for (int i = 0; i < limits; i++) {
        if (!open_limit(&fleet->limit[i], options, &candidate[i])) return false;
    }
    return true;
}

static void close_limit(struct fleet_limit *limit)
{
    local_close(&limit->one);
    local_close(&limit->shares);
    local_close(&limit->alone);
    local_close(&limit->sticky);
    fleet_ask_close(limit->engine);
    fleet_ask_close(limit->leases);
    for (int design = 0; design < FLEET_DESIGNS; design++) tally_close(&limit->tally[design]);
}

void fleet_close(struct fleet *fleet)
{
    for (int i = 0; i < fleet->limits; i++) close_limit(&fleet->limit[i]);
    free(fleet->limit);
    *fleet = (struct fleet){0};
}

/* ---- requests ---- */

static bool decide_at(struct fleet_limit *limit, int design, struct fleet_local *local,
                      const struct fleet_request *request, uint32_t node, bool *allowed)
{
    if (!local_take(local, request->client, node, request->time_us, request->cost, allowed)) return false;
    const struct fleet_verdict verdict = {.time_us = request->time_us,
                                          .cost = request->cost,
                                          .client = request->client,
                                          .node = node,
                                          .allowed = *allowed,
                                          .exact = design == FLEET_ONE ? *allowed : request->exact};
    return tally_verdict(&limit->tally[design], &verdict);
}

static bool take(struct fleet_limit *limit, struct fleet_request request, uint32_t home, bool away)
{
    bool allowed;
    if (!decide_at(limit, FLEET_ONE, &limit->one, &request, 0, &request.exact)) return false;
    if (!decide_at(limit, FLEET_SHARES, &limit->shares, &request, request.node, &allowed)) return false;
    if (!decide_at(limit, FLEET_ALONE, &limit->alone, &request, request.node, &allowed)) return false;
    if (!decide_at(limit, FLEET_STICKY, &limit->sticky, &request, home, &allowed)) return false;
    if (!fleet_ask_take(limit->engine, &request, away)) return false;
    return limit->leases == NULL || fleet_ask_take(limit->leases, &request, away);
}

bool fleet_take(struct fleet *fleet, uint32_t client, uint64_t time_ns, uint64_t cost)
{
    const struct fleet_options *options = &fleet->options;
    const uint32_t home = (uint32_t)(pairs_stir(client) % options->nodes);
    const uint32_t any = (uint32_t)(pairs_stir(~fleet->requests) % options->nodes);
    struct fleet_request request = {time_ns / US_NS, cost, client, options->spread == FLEET_SPREAD_STICKY ? home : any,
                                    false};
    if (fleet->requests++ == 0) fleet->first_us = request.time_us;
    request.time_us = fleet->last_us = most(request.time_us, fleet->last_us);
    const uint64_t passed_ns = (request.time_us - fleet->first_us) * US_NS;
    const bool away = passed_ns >= options->away_from_ns && passed_ns < options->away_to_ns;
    for (int i = 0; i < fleet->limits; i++) {
        if (!take(&fleet->limit[i], request, home, away)) return false;
    }
    return true;
}

bool fleet_finish(struct fleet *fleet)
{
    for (int i = 0; i < fleet->limits; i++) {
        if (!fleet_ask_finish(fleet->limit[i].engine)) return false;
        if (fleet->limit[i].leases != NULL && !fleet_ask_finish(fleet->limit[i].leases)) return false;
        for (int design = 0; design < FLEET_DESIGNS; design++) {
            tally_finish(&fleet->limit[i].tally[design], design == FLEET_ONE ? 1 : fleet->options.nodes);
        }
    }
    return true;
}

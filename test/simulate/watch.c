/* SPDX-License-Identifier: MIT
   What is watched inside of a node, and the mistakes that can be planted there.

   `--wrap` puts these between the files of the client: each calls what it stands for. */
#include "simulate/watch.h"

#include <string.h>

#include "redis/client/engine.h"
#include "redis/client/local/away.h"
#include "redis/client/local/lease.h"
#include "redis/client/local/leases.h"
#include "redis/client/local/owed.h"
#include "redis/micro/micro.h"
#include "simulate/judge.h"

/* hour: the seed of one that shows it. */
static const struct {
    const char *name;
    uint64_t hour;
} plants[] = {{"grants-one-more", 2}, {"lease-outlives", 3}, {"returns-all", 2}, {"share-of-one", 1},
              {"owes-nothing", 1},    {"no-probe", 1},       {"old-primary", 2}, {"forgets-soon", 6}};
static const char *planted;

const char *watch_plant_name(unsigned number)
{
    return number < sizeof plants / sizeof plants[0] ? plants[number].name : NULL;
}

uint64_t watch_plant(const char *name)
{
    planted = NULL;
    for (unsigned i = 0; name != NULL && i < sizeof plants / sizeof plants[0]; i++) {
        if (strcmp(name, plants[i].name) != 0) continue;
        planted = plants[i].name;
        return plants[i].hour;
    }
    return 0;
}

bool watch_is_planted(const char *name)
{
    return planted != NULL && strcmp(planted, name) == 0;
}

/* ---- what decides at a node ---- */

bool __real_engine_leases_answer(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t now_ns,
                                 uint64_t cost, struct engine_leases_answer *answer);
bool __wrap_engine_leases_answer(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t now_ns,
                                 uint64_t cost, struct engine_leases_answer *answer);
bool __wrap_engine_leases_answer(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t now_ns,
                                 uint64_t cost, struct engine_leases_answer *answer)
{
    const bool answered = __real_engine_leases_answer(leases, limit, key, now_ns, cost, answer);
    if (answered && answer->decision.verdict == WEIR_ALLOW)
        judge_passed(JUDGE_LEASE, (struct slice){key.bytes, key.size}, cost);
    return answered;
}

void __real_away_answer(struct weir_engine *engine, weir_engine_ask *ask, unsigned server);
void __wrap_away_answer(struct weir_engine *engine, weir_engine_ask *ask, unsigned server);
void __wrap_away_answer(struct weir_engine *engine, weir_engine_ask *ask, unsigned server)
{
    __real_away_answer(engine, ask, server);
    if (ask->verb == WEIR_ASK_TAKE && ask->decision.verdict == WEIR_ALLOW)
        judge_passed(JUDGE_AWAY, (struct slice){ask->key.bytes, ask->key.size}, wire_cost(ask, 0));
}

/* ---- mistakes ---- */

void __real_micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                             uint64_t lifetime, struct micro_lease *lease);
void __wrap_micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                             uint64_t lifetime, struct micro_lease *lease);
void __wrap_micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                             uint64_t lifetime, struct micro_lease *lease)
{
    const bool more = watch_is_planted("grants-one-more") && want > 1;
    __real_micro_lease_take(plan, state, now, want - more, lifetime, lease);
    if (more && lease->permits != 0) lease->permits++;
}

bool __real_engine_lease_spend(struct engine_lease *lease, uint64_t now_ns, uint64_t cost);
bool __wrap_engine_lease_spend(struct engine_lease *lease, uint64_t now_ns, uint64_t cost);
bool __wrap_engine_lease_spend(struct engine_lease *lease, uint64_t now_ns, uint64_t cost)
{
    return __real_engine_lease_spend(lease, watch_is_planted("lease-outlives") ? 0 : now_ns, cost);
}

void __real_wire_lease(struct command *command, const struct engine_lease_command *lease,
                       const struct limit_text *limit, const struct wire_keys *keys, enum link_way way);
void __wrap_wire_lease(struct command *command, const struct engine_lease_command *lease,
                       const struct limit_text *limit, const struct wire_keys *keys, enum link_way way);
void __wrap_wire_lease(struct command *command, const struct engine_lease_command *lease,
                       const struct limit_text *limit, const struct wire_keys *keys, enum link_way way)
{
    struct engine_lease_command said = *lease;
    if (watch_is_planted("returns-all")) said.unused = said.permits;
    __real_wire_lease(command, &said, limit, keys, way);
}

uint64_t __real_nodes_known(const struct pool *pool, uint64_t now_ns);
uint64_t __wrap_nodes_known(const struct pool *pool, uint64_t now_ns);
uint64_t __wrap_nodes_known(const struct pool *pool, uint64_t now_ns)
{
    const uint64_t known = __real_nodes_known(pool, now_ns);
    return known != 0 && watch_is_planted("share-of-one") ? 1 : known;
}

bool __real_owed_add(struct pool *pool, const weir_engine_ask *ask, const weir_plan *share, const uint64_t cost[],
                     uint64_t now_ns);
bool __wrap_owed_add(struct pool *pool, const weir_engine_ask *ask, const weir_plan *share, const uint64_t cost[],
                     uint64_t now_ns);
bool __wrap_owed_add(struct pool *pool, const weir_engine_ask *ask, const weir_plan *share, const uint64_t cost[],
                     uint64_t now_ns)
{
    return watch_is_planted("owes-nothing") || __real_owed_add(pool, ask, share, cost, now_ns);
}

bool __real_pool_claim(struct pool *pool, unsigned server, uint64_t now_ns);
bool __wrap_pool_claim(struct pool *pool, unsigned server, uint64_t now_ns);
bool __wrap_pool_claim(struct pool *pool, unsigned server, uint64_t now_ns)
{
    return !watch_is_planted("no-probe") && __real_pool_claim(pool, server, now_ns);
}

void __real_pool_set_primary(struct pool *pool, unsigned server);
void __wrap_pool_set_primary(struct pool *pool, unsigned server);
void __wrap_pool_set_primary(struct pool *pool, unsigned server)
{
    const bool sticks = watch_is_planted("old-primary") && atomic_load(&pool->known);
    __real_pool_set_primary(pool, sticks ? pool_owner(pool, 0) : server);
}

/* SPDX-License-Identifier: MIT
   What was let pass while the engine was away, and is charged to it when it is back.

   The engine's bucket fills while it is away, and shares while it is there: each outage would let pass what both hold.
   So a share begins with what the engine last said remained (away.c), and what it let pass is kept here until its key
   is asked for again, and is charged to the engine before that:

       away:  share lets pass n -> owed[limit, key] += n            back:  CHARGE n, TAKE ...     in one packet

   Charged is what the share may lack, at most: min(n, its burst - what has flowed in since).  In a long outage n is
   without bound, but a share that is full again owes nothing: one bucket over all that time would be full, too.  To
   that comes what flows in while others have found the engine again, and this node has not: as long as two probes are
   apart.  A charge goes through whatever is there, so the bucket may be overdrawn; then nothing passes until that has
   drained.

   So outages do not add up: 3 B + r (t + 0.5 s) + 2 N is the most, and a permit for each node and outage.  The bucket,
   the shares, and once more the bucket: it has filled while it was away, and is there for one node before others have
   charged; they are half a second later at most, two probes.  That counts on each node being asked for a key again that
   it let pass; from who is not, the engine never hears.

   Each limit of a key stands on its own in a table with open addressing, known by a keyed hash of 64 bits: who is taken
   for another is charged what that one owes.

   As many as keys_max, two of whose places are made for each; a charge that was not answered is sent again with the
   next question, though it may have been executed: too little passes then, never too much. */
#include "redis/client/local/owed.h"

#include <stdlib.h>
#include <string.h>

#include "api/table/keyed.h"
#include "core/num.h"
#include "redis/client/limit.h"

enum { SALT = 1 << 20, SWEPT_AT_ONCE = 4096 };

struct owed {
    uint64_t identity; /* 0: free */
    uint64_t cost;
    uint64_t interval; /* of a permit, as in core/slot.h */
    uint64_t full_ns;  /* then the share lacks nothing, so nothing is owed */
};

/* On its way. */
struct charge {
    unsigned count;
    struct owed owed[WEIR_LIMITS_MAX];
};

/* ---- the table, under the mutex ---- */

static bool make(struct pool *pool)
{
    if (pool->owed != NULL) return true;
    size_t size = 64;
    while (size / 2 < pool->options.keys_max && size <= SIZE_MAX / 4 / sizeof *pool->owed) size *= 2;
    pool->owed = calloc(size, sizeof *pool->owed); /* pages that nobody touches cost nothing */
    pool->owed_size = pool->owed != NULL ? size : 0;
    return pool->owed != NULL;
}

/* Its place, or the free one where it would be; there always is a free one.  NULL: there is no table. */
static struct owed *find(const struct pool *pool, uint64_t identity)
{
    if (pool->owed == NULL) return NULL;
    size_t at = identity & (pool->owed_size - 1);
    while (pool->owed[at].identity != 0 && pool->owed[at].identity != identity) at = (at + 1) & (pool->owed_size - 1);
    return &pool->owed[at];
}

/* Those behind it move up, as long as each still is at its first place or behind it. */
static void drop(struct pool *pool, struct owed *owed)
{
    const size_t mask = pool->owed_size - 1;
    size_t at = (size_t)(owed - pool->owed);
    for (size_t next = (at + 1) & mask; pool->owed[next].identity != 0; next = (next + 1) & mask) {
        const size_t first = pool->owed[next].identity & mask;
        if (((next - first) & mask) < ((next - at) & mask)) continue;
        pool->owed[at] = pool->owed[next];
        at = next;
    }
    pool->owed[at].identity = 0;
    atomic_fetch_sub(&pool->owed_count, 1);
}

/* NULL: there is no room. */
static struct owed *find_or_add(struct pool *pool, uint64_t identity)
{
    struct owed *const owed = make(pool) ? find(pool, identity) : NULL;
    if (owed == NULL || owed->identity != 0) return owed;
    if (atomic_load(&pool->owed_count) >= pool->owed_size / 2) return NULL;
    *owed = (struct owed){.identity = identity};
    atomic_fetch_add(&pool->owed_count, 1);
    return owed;
}

static uint64_t still_owed(const struct owed *owed, uint64_t now_ns)
{
    if (owed->full_ns <= now_ns) return 0;
    return least(owed->cost, shift_divide_ceil(owed->full_ns - now_ns, SLOT_UNIT_MAX, owed->interval));
}

static void add(struct owed *owed, const struct owed *more, uint64_t now_ns)
{
    owed->cost = add_saturating(still_owed(owed, now_ns), more->cost);
    owed->interval = more->interval;
    owed->full_ns = most(owed->full_ns, more->full_ns);
}

/* ---- a key's ---- */

static uint64_t identity_of(const struct pool *pool, const weir_engine_ask *ask, unsigned i)
{
    const struct secret *const secret = &pool->table->secret;
    const uint64_t text = hash_key(secret, ask->limit->text->bytes, ask->limit->text->size, SALT + i);
    return most(hash_key(secret, ask->key.bytes, ask->key.size, text | 1), 1);
}

/* false: not all of it, there is no room. */
static bool add_all(struct pool *pool, const struct charge *charge, uint64_t now_ns)
{
    bool room = true;
    host_lock(&pool->mutex);
    for (unsigned i = 0; i < charge->count; i++) {
        struct owed *const owed = charge->owed[i].cost != 0 ? find_or_add(pool, charge->owed[i].identity) : NULL;
        if (owed != NULL) add(owed, &charge->owed[i], now_ns);
        room = room && (owed != NULL || charge->owed[i].cost == 0);
    }
    host_unlock(&pool->mutex);
    if (!room) atomic_fetch_add(&pool->owed_full, 1);
    return room;
}

bool owed_add(struct pool *pool, const weir_engine_ask *ask, const weir_plan *share, const uint64_t cost[],
              uint64_t now_ns)
{
    const struct plan *const plan = plan_inside_const(share);
    struct charge charge = {.count = ask->limit->count};
    for (unsigned i = 0; i < charge.count; i++) {
        const uint64_t interval = plan->interval[i];
        if (interval == 0) continue;                                /* never passes, or always */
        const uint64_t lacks = most(cost[i], plan->limit[i].burst); /* more may be charged than it holds */
        const uint64_t fills_ns = multiply_shift_floor(lacks, interval, SLOT_UNIT_MAX);
        charge.owed[i] = (struct owed){.identity = identity_of(pool, ask, i),
                                       .cost = cost[i],
                                       .interval = interval,
                                       .full_ns = add_saturating(now_ns, add_saturating(fills_ns, BREAKER_LAST_NS))};
    }
    return add_all(pool, &charge, now_ns);
}

static bool take(struct pool *pool, const weir_engine_ask *ask, uint64_t now_ns, struct charge *charge)
{
    bool any = false;
    *charge = (struct charge){.count = ask->limit->count};
    if (!owed_any(pool)) return false;
    host_lock(&pool->mutex);
    for (unsigned i = 0; i < charge->count; i++) {
        struct owed *const owed = find(pool, identity_of(pool, ask, i));
        if (owed == NULL || owed->identity == 0) continue;
        charge->owed[i] = *owed;
        charge->owed[i].cost = still_owed(owed, now_ns);
        any = any || charge->owed[i].cost != 0;
        drop(pool, owed);
    }
    host_unlock(&pool->mutex);
    return any;
}

bool owed_take(struct pool *pool, const weir_engine_ask *ask, uint64_t now_ns, uint64_t cost[WEIR_LIMITS_MAX])
{
    struct charge charge;
    const bool any = take(pool, ask, now_ns, &charge);
    for (unsigned i = 0; i < charge.count; i++) cost[i] = charge.owed[i].cost;
    return any;
}

bool owed_by(struct pool *pool, const weir_engine_ask *ask)
{
    bool owes = false;
    if (!owed_any(pool)) return false;
    host_lock(&pool->mutex);
    for (unsigned i = 0; i < ask->limit->count && !owes; i++) {
        const struct owed *const owed = find(pool, identity_of(pool, ask, i));
        owes = owed != NULL && owed->identity != 0;
    }
    host_unlock(&pool->mutex);
    return owes;
}

void owed_sweep(struct pool *pool, uint64_t now_ns)
{
    if (!owed_any(pool)) return;
    host_lock(&pool->mutex);
    for (unsigned i = 0; i < SWEPT_AT_ONCE; i++) {
        struct owed *const owed = &pool->owed[pool->owed_swept & (pool->owed_size - 1)];
        if (owed->identity != 0 && still_owed(owed, now_ns) == 0) drop(pool, owed); /* another may have moved here */
        else pool->owed_swept++;
    }
    host_unlock(&pool->mutex);
}

void owed_close(struct pool *pool)
{
    free(pool->owed);
    pool->owed = NULL;
}

/* ---- charged ---- */

static void on_charged(struct link *link, void *context, const redisReply *reply)
{
    const struct weir_engine *const engine = link->owner;
    if (reply == NULL || link_reply_error(reply) != NULL) add_all(engine->pool, context, engine->now_ns);
    free(context);
}

void owed_send(struct weir_engine *engine, struct link *link, const weir_engine_ask *ask, bool whole_script)
{
    uint64_t cost[WEIR_LIMITS_MAX];
    struct charge *const charge = owed_any(engine->pool) ? malloc(sizeof *charge) : NULL;
    if (charge == NULL || !take(engine->pool, ask, engine->now_ns, charge)) {
        free(charge);
        return;
    }
    for (unsigned i = 0; i < charge->count; i++) cost[i] = charge->owed[i].cost;
    const weir_engine_ask asks = {
        .verb = WEIR_ASK_CHARGE, .limit = ask->limit, .key = ask->key, .cost = cost, .costs = charge->count};
    struct command *const command = &engine->command;
    wire_command(command, &asks, &engine->keys, link->way, whole_script);
    if (!engine_send(engine, link, command->count, command->word, command->size, on_charged, charge))
        on_charged(link, charge, NULL);
}

/* SPDX-License-Identifier: MIT
   Which keys are busy, their leases and refusals: 256 sets of four slots, and a counter for each of some
   hashes.

   A counter belongs to one hash at a time.  Asks of another that falls on the same one take away from it, and take it
   over when nothing is left; so of two that share one, the busier keeps it.  A set that is full takes in a new key when
   one of its slots holds nothing; else that key asks the engine, as all did before.  Whoever picks keys that fall
   together has no more to gain than that, so the hash needs no secret.

   See leases.h. */
#include "redis/client/local/leases.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "redis/client/local/lease.h"

enum {
    WAYS = 4,
    SETS = LEASES_KEYS / WAYS,
    COUNTERS = 4096,
    WINDOWS_PER_S = 5, /* asks are counted over a fifth of a second */
    BUSY = LEASES_BUSY_PER_S / WINDOWS_PER_S,
    REFUSED = LEASES_REFUSED_PER_S / WINDOWS_PER_S,
    QUIET = 4, /* after so long without an ask, as a part of a lifetime, a lease goes back */
    LOOKS = 16 /* slots that one call for returns looks at */
};
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)

struct counter {
    uint32_t tag;
    uint32_t window;
    uint32_t asks, before; /* in this window, and in the one before */
};

struct slot {
    struct engine_lease lease;
    uint64_t hash, limit;
    uint64_t asked_last_ns; /* 0: free */
    uint64_t number;        /* of the command on its way */
    struct engine_refusal refusal;
    uint64_t refused_remaining, full_at_ns; /* as it was told with it */
    size_t size;
    unsigned char bytes[LEASES_KEY_MAX];
};

struct engine_leases {
    uint64_t lifetime_ns;
    uint64_t numbers; /* commands so far */
    size_t cursor;
    struct engine_leases_counts counts;
    struct counter counter[COUNTERS];
    struct slot slot[LEASES_KEYS];
};

struct engine_leases *engine_leases_open(uint64_t lifetime_ns)
{
    struct engine_leases *leases = calloc(1, sizeof *leases);
    if (leases == NULL) return NULL;
    leases->lifetime_ns = least(most(lifetime_ns, LEASES_LIFE_LEAST_NS), LEASES_LIFE_MOST_NS) / NS_PER_US * NS_PER_US;
    return leases;
}

void engine_leases_close(struct engine_leases *leases)
{
    free(leases);
}

/* FNV-1a. */
static uint64_t hash_of(uint64_t limit, weir_key key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ limit;
    const unsigned char *bytes = key.bytes;
    for (size_t i = 0; i < key.size; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static struct counter *counter_of(struct engine_leases *leases, uint64_t hash)
{
    return &leases->counter[hash % COUNTERS];
}

static void count(struct counter *counter, uint32_t tag, uint32_t window)
{
    const bool mine = counter->tag == tag;
    if (counter->window != window) {
        const uint32_t before = mine && counter->window + 1 == window ? counter->asks : 0;
        *counter = (struct counter){.tag = tag, .window = window, .asks = 1, .before = before};
    } else if (mine) {
        if (counter->asks < UINT32_MAX) counter->asks++;
    } else if (counter->asks > 1) {
        counter->asks--;
    } else {
        *counter = (struct counter){.tag = tag, .window = window, .asks = 1};
    }
}

static bool is_busy(const struct counter *counter, uint32_t tag, uint32_t asks)
{
    return counter->tag == tag && most(counter->before, counter->asks) >= asks;
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static bool is_of(const struct slot *slot, uint64_t hash, uint64_t limit, weir_key key)
{
    return slot->asked_last_ns != 0 && slot->hash == hash && slot->limit == limit && slot->size == key.size &&
           memcmp(slot->bytes, key.bytes, key.size) == 0;
}

static struct slot *find(struct engine_leases *leases, uint64_t hash, uint64_t limit, weir_key key)
{
    struct slot *set = &leases->slot[hash / COUNTERS % SETS * WAYS];
    for (int i = 0; i < WAYS; i++) {
        if (is_of(&set[i], hash, limit, key)) return &set[i];
    }
    return NULL;
}

/* The one of its set that holds nothing and was asked for longest ago; NULL: all hold something. */
static struct slot *claim(struct engine_leases *leases, uint64_t hash, uint64_t limit, weir_key key)
{
    struct slot *set = &leases->slot[hash / COUNTERS % SETS * WAYS], *oldest = NULL;
    for (int i = 0; i < WAYS; i++) {
        if (engine_lease_holds(&set[i].lease) || set[i].lease.waiting) continue;
        if (oldest == NULL || set[i].asked_last_ns < oldest->asked_last_ns) oldest = &set[i];
    }
    if (oldest == NULL) return NULL;
    *oldest = (struct slot){.hash = hash, .limit = limit, .size = key.size};
    memcpy(oldest->bytes, key.bytes, key.size);
    return oldest;
}

static bool has_room_for(weir_key key)
{
    return key.size > 0 && key.size <= LEASES_KEY_MAX;
}

static uint32_t window_of(uint64_t now_ns)
{
    return (uint32_t)(now_ns / (NS_PER_S / WINDOWS_PER_S));
}

static bool answer_by_lease(struct slot *slot, uint64_t now_ns, uint64_t cost, struct engine_leases_answer *answer)
{
    if (!engine_lease_spend(&slot->lease, now_ns, cost)) return false;
    const uint64_t left = engine_lease_left(&slot->lease, now_ns);
    const weir_decision decision = {.verdict = WEIR_ALLOW, .start = {now_ns}, .remaining = left, .charged = cost};
    *answer = (struct engine_leases_answer){.decision = decision, .spent = slot->lease.spent};
    return true;
}

static bool answer_by_refusal(struct slot *slot, uint64_t now_ns, uint64_t cost, struct engine_leases_answer *answer)
{
    const uint64_t wait_ns = engine_refusal_wait(&slot->refusal, now_ns, cost);
    if (wait_ns == 0) {
        engine_refusal_asked(&slot->refusal, now_ns, cost);
        return false;
    }
    const weir_decision decision = {
        .verdict = WEIR_DENY, .start = {now_ns}, .remaining = slot->refused_remaining, .retry_ns = wait_ns};
    const uint64_t full_ns = subtract_to_zero(slot->full_at_ns, now_ns);
    *answer = (struct engine_leases_answer){.decision = decision, .full_ns = full_ns};
    return true;
}

static struct slot *slot_of(struct engine_leases *leases, uint64_t limit, weir_key key)
{
    return has_room_for(key) ? find(leases, hash_of(limit, key), limit, key) : NULL;
}

bool engine_leases_answer(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t now_ns, uint64_t cost,
                          struct engine_leases_answer *answer)
{
    if (!has_room_for(key)) return false;
    const uint64_t hash = hash_of(limit, key);
    count(counter_of(leases, hash), tag_of(hash), window_of(now_ns));
    struct slot *slot = find(leases, hash, limit, key);
    if (slot == NULL) return false;
    slot->asked_last_ns = most(now_ns, 1);
    return answer_by_lease(slot, now_ns, cost, answer) || answer_by_refusal(slot, now_ns, cost, answer);
}

/* Its slot, or a new one; NULL: it is not asked for so often. */
static struct slot *slot_for(struct engine_leases *leases, uint64_t limit, weir_key key, uint32_t asks)
{
    if (!has_room_for(key)) return NULL;
    const uint64_t hash = hash_of(limit, key);
    if (!is_busy(counter_of(leases, hash), tag_of(hash), asks)) return NULL;
    struct slot *slot = find(leases, hash, limit, key);
    return slot != NULL ? slot : claim(leases, hash, limit, key);
}

void engine_leases_refused(struct engine_leases *leases, uint64_t limit, weir_key key,
                           const struct engine_refused *refused, uint64_t remaining, uint64_t full_ns)
{
    struct slot *slot = slot_of(leases, limit, key);
    if (slot == NULL) slot = slot_for(leases, limit, key, REFUSED);
    if (slot == NULL) return;
    slot->asked_last_ns = most(slot->asked_last_ns, most(refused->sent_ns, 1));
    engine_refusal_refused(&slot->refusal, refused);
    engine_lease_heard(&slot->lease, remaining);
    slot->refused_remaining = remaining;
    slot->full_at_ns = add_saturating(refused->sent_ns, full_ns);
}

void engine_leases_allowed(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t sent_ns, uint64_t cost,
                           uint64_t remaining)
{
    struct slot *slot = slot_of(leases, limit, key);
    if (slot == NULL) return;
    engine_refusal_allowed(&slot->refusal, sent_ns, cost, remaining);
    engine_lease_heard(&slot->lease, remaining);
}

void engine_leases_unanswered(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t cost)
{
    struct slot *slot = slot_of(leases, limit, key);
    if (slot != NULL) engine_refusal_lost(&slot->refusal, cost);
}

void engine_leases_forget(struct engine_leases *leases, uint64_t limit, weir_key key)
{
    struct slot *slot = slot_of(leases, limit, key);
    if (slot != NULL) slot->refusal = (struct engine_refusal){0};
}

bool engine_leases_has(const struct engine_leases *leases, uint64_t limit)
{
    for (size_t i = 0; i < LEASES_KEYS; i++) {
        const struct slot *slot = &leases->slot[i];
        if (slot->limit == limit && (engine_lease_holds(&slot->lease) || slot->lease.waiting)) return true;
    }
    return false;
}

static uint64_t unspent(const struct slot *slot)
{
    return slot->lease.before.left + slot->lease.now.left;
}

/* To ask for so many, or 0: to end it.  Returned is what the engine still knows. */
static struct engine_lease_command command_for(struct engine_leases *leases, struct slot *slot, uint64_t now_ns,
                                               uint64_t want)
{
    struct engine_lease *const lease = &slot->lease;
    const uint64_t before = unspent(slot), lifetime_ns = leases->lifetime_ns;
    const struct engine_lease_return back =
        want > 0 ? engine_lease_ask(lease, lifetime_ns, now_ns, want) : engine_lease_end(lease, lifetime_ns, now_ns);
    leases->counts.unused += before - unspent(slot);
    return (struct engine_lease_command){.limit = slot->limit,
                                         .key = {slot->bytes, slot->size},
                                         .want = want,
                                         .lifetime_us = lifetime_ns / NS_PER_US,
                                         .id = back.id,
                                         .permits = back.permits,
                                         .unused = back.unused,
                                         .slot = (uint64_t)(slot - leases->slot),
                                         .number = slot->number};
}

bool engine_leases_want(struct engine_leases *leases, uint64_t limit, weir_key key, uint64_t now_ns,
                        struct engine_lease_command *command)
{
    struct slot *slot = slot_for(leases, limit, key, BUSY);
    if (slot == NULL || !engine_lease_due(&slot->lease, now_ns)) return false;
    slot->asked_last_ns = most(now_ns, 1);
    slot->number = ++leases->numbers;
    const uint64_t want = engine_lease_next(&slot->lease, leases->lifetime_ns, now_ns);
    *command = command_for(leases, slot, now_ns, want);
    return true;
}

/* The slot may have gone to another key meanwhile. */
static struct slot *waiting_for(struct engine_leases *leases, const struct engine_lease_command *command)
{
    struct slot *slot = &leases->slot[command->slot % LEASES_KEYS];
    return slot->lease.waiting && slot->number == command->number ? slot : NULL;
}

void engine_leases_granted(struct engine_leases *leases, const struct engine_lease_command *command, uint64_t id,
                           uint64_t permits)
{
    struct slot *slot = waiting_for(leases, command);
    if (slot == NULL) return;
    leases->counts.leased += permits;
    engine_lease_granted(&slot->lease, leases->lifetime_ns, id, permits);
}

void engine_leases_lost(struct engine_leases *leases, const struct engine_lease_command *command)
{
    struct slot *slot = waiting_for(leases, command);
    if (slot != NULL) engine_lease_lost(&slot->lease, leases->lifetime_ns);
}

bool engine_leases_return(struct engine_leases *leases, uint64_t now_ns, bool all, struct engine_lease_command *command)
{
    for (size_t looks = all ? LEASES_KEYS : LOOKS; looks > 0; looks--) {
        struct slot *slot = &leases->slot[leases->cursor++ % LEASES_KEYS];
        const bool quiet = subtract_to_zero(now_ns, slot->asked_last_ns) > leases->lifetime_ns / QUIET;
        if (!engine_lease_holds(&slot->lease) || !(all || quiet)) continue;
        *command = command_for(leases, slot, now_ns, 0);
        if (command->permits > 0) return true;
    }
    return false;
}

struct engine_leases_counts engine_leases_counts(const struct engine_leases *leases)
{
    return leases->counts;
}

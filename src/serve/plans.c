/* SPDX-License-Identifier: MIT
   plans.c - the texts of limits that a worker has met, and what they mean: a cache.

       text, or three numbers -> hash -> set of WAYS entries -> plan, place

   To read a text takes some microseconds, to find it again some nanoseconds.  Clients choose the texts, so who does not
   know the secret cannot choose in which set they fall; one who sends ever new ones has each of them read.  What is
   refused is read each time.

   Of a set the entry goes that was not asked for the longest; since the queue may refer to it, the queue goes first.

   May touch: its entries, malloc, host's randomness.  Promises: memory stays the same; an entry means what its key says
   to the byte.  Leaves to others: names (turn_limit.c), what a text means (weir_plan_parse). */
#include "serve/plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "host/map.h"
#include "plan/plan.h"
#include "plan/throttle.h"
#include "share/hash.h"

enum { SETS = 64, WAYS = 4, MEETINGS = 1024, SHOWN = 64, CANONICAL_MAX = 100, ALGORITHM_BITS = 5 };
enum kind { OF_TEXT, OF_THROTTLE, OF_OWN_TEXT, KINDS };

struct entry {
    uint64_t hash, used; /* used 0: empty */
    enum kind kind;
    size_t size;
    char key[POLICY_TEXT_MAX];
    weir_plan plan;
    struct policy_place place;
    uint32_t mark; /* of what it means, in whatever words */
};

/* The text that a key was asked under last, and the one before it, by their marks. */
struct meeting {
    uint32_t key; /* of its hash */
    uint32_t now, before;
};

struct plans {
    struct secret secret;
    uint64_t uses;
    const struct entry *last[KINDS]; /* most often it is asked for again */
    struct entry entry[SETS][WAYS];
    struct meeting meeting[MEETINGS];
    uint32_t alone; /* the only text that was met: there is nothing to alternate with; 0: none yet */
    bool several;
};

struct plans *plans_open(void)
{
    struct plans *plans = calloc(1, sizeof *plans);
    if (plans != NULL && host_random(&plans->secret, sizeof plans->secret) == 0) return plans;
    free(plans);
    return NULL;
}

static void forget(struct entry *entry)
{
    engine_limit_release(entry->place.shared);
    entry->place.shared = NULL;
    entry->used = 0;
}

void plans_forget(struct plans *plans)
{
    for (unsigned i = 0; i < SETS * WAYS; i++) forget(&plans->entry[i / WAYS][i % WAYS]);
    memset(plans->last, 0, sizeof plans->last);
}

void plans_close(struct plans *plans)
{
    if (plans != NULL) plans_forget(plans);
    free(plans);
}

static bool is_it(const struct entry *entry, enum kind kind, struct slice key)
{
    return entry->kind == kind && entry->size == key.size && memcmp(entry->key, key.bytes, key.size) == 0;
}

/* NULL: it is not there. */
static const struct entry *find(struct plans *plans, enum kind kind, struct slice key, uint64_t hash)
{
    struct entry *set = plans->entry[hash % SETS];
    for (unsigned way = 0; way < WAYS; way++) {
        if (set[way].used == 0 || set[way].hash != hash || !is_it(&set[way], kind, key)) continue;
        set[way].used = ++plans->uses;
        return plans->last[kind] = &set[way];
    }
    return NULL;
}

/* Empty, or that which was not asked for the longest. */
static struct entry *make_room(struct turn *turn, uint64_t hash)
{
    struct entry *set = turn->plans->entry[hash % SETS];
    struct entry *oldest = &set[0];
    for (unsigned way = 1; way < WAYS; way++) {
        if (set[way].used < oldest->used) oldest = &set[way];
    }
    if (oldest->used != 0) turn_settle_queue(turn);
    forget(oldest);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (turn->plans->last[kind] == oldest) turn->plans->last[kind] = NULL;
    }
    return oldest;
}

static bool read_plan(struct turn *turn, enum kind kind, const char *text, weir_plan *plan, struct policy_place *place,
                      weir_error *error)
{
    struct engine *engine = turn->policy != NULL && kind != OF_OWN_TEXT ? turn->policy->engine : NULL;
    return weir_plan_parse(plan, text, WEIR_ADMIT, error) == 0 && (engine != NULL || place_check_text(plan, error)) &&
           place_for(place, turn->service->tables, engine, WEIR_AWAY_DEFAULT, plan, error);
}

static struct policy_verdict verdict_of(const struct entry *entry)
{
    struct policy_verdict verdict = place_verdict(&entry->plan, entry->place.table, entry->place.shared, false);
    verdict.mark = entry->mark;
    return verdict;
}

static uint32_t mark_of(const struct plans *plans, const weir_plan *plan)
{
    char canonical[2 * POLICY_TEXT_MAX];
    const size_t size = weir_plan_text(plan, canonical, sizeof canonical);
    return (uint32_t)hash_siphash_1_3(&plans->secret, canonical,
                                      size < sizeof canonical ? size : sizeof canonical - 1) |
           1;
}

/* The plan is read before it takes another's place, so that texts in error put nothing out. */
static bool add(struct turn *turn, enum kind kind, struct slice key, uint64_t hash, const char *text,
                struct policy_verdict *under, weir_error *error)
{
    weir_plan plan;
    struct policy_place place;
    if (!read_plan(turn, kind, text, &plan, &place, error)) return false;
    struct entry *entry = make_room(turn, hash);
    entry->hash = hash;
    entry->used = ++turn->plans->uses;
    entry->kind = kind;
    entry->size = key.size;
    memcpy(entry->key, key.bytes, key.size);
    entry->plan = plan;
    entry->place = place;
    entry->mark = kind == OF_OWN_TEXT ? 0 : mark_of(turn->plans, &plan);
    *under = verdict_of(entry);
    turn->plans->last[kind] = entry;
    return true;
}

static const struct entry *look_up(struct turn *turn, enum kind kind, struct slice key, uint64_t *hash)
{
    const struct entry *last = turn->plans->last[kind];
    if (last != NULL && is_it(last, kind, key)) return last;
    *hash = hash_key(&turn->plans->secret, key.bytes, key.size, kind);
    return find(turn->plans, kind, key, *hash);
}

static bool text_of_kind(struct turn *turn, enum kind kind, struct slice text, struct policy_verdict *under,
                         weir_error *error)
{
    char copy[POLICY_TEXT_MAX + 1];
    uint64_t hash = 0;
    if (text.size > POLICY_TEXT_MAX || slice_has(text, '\0')) {
        api_fail(error, WEIR_EINVAL, "the text of a limit has at most 1024 bytes, and no byte that is 0; such as 10/s");
        return false;
    }
    const struct entry *known = look_up(turn, kind, text, &hash);
    if (known != NULL) {
        *under = verdict_of(known);
        return true;
    }
    if (text.size != 0) memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    return add(turn, kind, (struct slice){copy, text.size}, hash, copy, under, error);
}

bool plans_text(struct turn *turn, struct slice text, struct policy_verdict *under, weir_error *error)
{
    return text_of_kind(turn, OF_TEXT, text, under, error);
}

bool plans_here(struct turn *turn, const char *text, struct policy_verdict *under, weir_error *error)
{
    return text_of_kind(turn, OF_OWN_TEXT, slice_of(text), under, error);
}

bool plans_throttle(struct turn *turn, const int64_t numbers[THROTTLE_NUMBERS], struct policy_verdict *under,
                    weir_error *error)
{
    char text[128];
    uint64_t hash = 0;
    const struct slice key = {(const char *)numbers, THROTTLE_NUMBERS * sizeof numbers[0]};
    const struct entry *known = look_up(turn, OF_THROTTLE, key, &hash);
    if (known != NULL) {
        *under = verdict_of(known);
        return true;
    }
    throttle_write(&(struct writer){text, sizeof text, 0}, numbers);
    return add(turn, OF_THROTTLE, key, hash, text, under, error);
}

/* ---- two texts for one key ---- */

/* "": it is not kept any more. */
static void text_of_mark(const struct plans *plans, uint32_t mark, char text[CANONICAL_MAX])
{
    text[0] = '\0';
    for (unsigned i = 0; i < SETS * WAYS; i++) {
        const struct entry *entry = &plans->entry[i / WAYS][i % WAYS];
        if (entry->used != 0 && entry->mark == mark) weir_plan_text(&entry->plan, text, CANONICAL_MAX);
    }
}

static void tell(struct turn *turn, struct slice key, const struct meeting *meeting)
{
    char line[NOTES_LINE_MAX], now[CANONICAL_MAX], before[CANONICAL_MAX];
    stats_add(&turn->stats->alternations, 1);
    if (!notes_may_add(turn)) return;
    text_of_mark(turn->plans, meeting->now, now);
    text_of_mark(turn->plans, meeting->before, before);
    snprintf(line, sizeof line,
             "key \"%.*s\" is asked under \"%s\" and \"%s\" in turn: it owes less by one than by the other; "
             "give the limit a name",
             key.size < SHOWN ? (int)key.size : SHOWN, key.bytes, before, now);
    notes_add(turn, line);
}

/* Of what texts have in common whose state is one: the key, and the algorithms. */
static uint64_t state_hash(const struct turn *turn, unsigned number)
{
    const struct item *item = &turn->item[number];
    const struct plan *plan = plan_inside_const(item->under.plan);
    uint64_t salt = KINDS;
    if (!item->under.is_shared && turn->hash[number] != 0) return turn->hash[number];
    for (uint64_t i = 0; i < plan->count; i++) salt = salt << ALGORITHM_BITS | plan->rule[i].algorithm;
    return hash_key(&turn->plans->secret, item->key.bytes, item->key.size, salt);
}

/* One text after another is a change; the first one again is not. */
void plans_met(struct turn *turn, unsigned number)
{
    const struct item *item = &turn->item[number];
    struct plans *plans = turn->plans;
    if (plans->alone == 0) plans->alone = item->under.mark;
    if (!plans->several && plans->alone == item->under.mark) return;
    plans->several = true;
    const uint64_t hash = state_hash(turn, number);
    struct meeting *meeting = &plans->meeting[hash % MEETINGS];
    const uint32_t key = (uint32_t)(hash >> 32), mark = item->under.mark;
    if (meeting->key == key && meeting->now == mark) return;
    if (meeting->key != key) meeting->now = 0;
    const bool again = meeting->key == key && meeting->before == mark;
    *meeting = (struct meeting){key, mark, meeting->now};
    if (again) tell(turn, item->key, meeting);
}

/* SPDX-License-Identifier: MIT
   The texts of limits that a worker has met, and what they mean.

   Those that were asked for recently are kept (share/recent.c); since the queue may refer to one that goes, the queue
   goes first.  What is refused is read each time.

   Memory stays the same. */
#include "serve/plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "host/map.h"
#include "plan/plan.h"
#include "plan/throttle.h"
#include "share/recent.h"

enum { MEETINGS = 1024, SHOWN = 64, SAID_MAX = 64, CANONICAL_MAX = 100, ALGORITHM_BITS = 5 };
enum kind { OF_TEXT, OF_THROTTLE, OF_OWN_TEXT, KINDS };

struct entry {
    struct recent_entry recent;
    weir_plan plan;
    struct policy_backend backend;
    uint32_t mark; /* of what it means, in whatever words */
};

/* The text that a key was asked under last, and the one before it, by their marks. */
struct meeting {
    uint32_t key; /* of its hash */
    uint32_t now, before;
};

_Static_assert((int)KINDS <= (int)RECENT_KINDS && (int)POLICY_TEXT_MAX <= (int)RECENT_KEY_MAX,
               "what is kept fits its head");

/* What the last CL.THROTTLE said behind its key: most often the next says the same.  It is of an entry, while that is
   the last of its kind. */
struct said {
    const struct recent_entry *entry; /* NULL: nothing is kept */
    int64_t number[THROTTLE_ARGUMENTS];
    size_t size;
    char bytes[SAID_MAX];
};

struct plans {
    struct recent recent;
    struct said said;
    struct entry entry[RECENT_ENTRIES];
    struct meeting meeting[MEETINGS];
    uint32_t alone; /* the only text that was met: there is nothing to alternate with; 0: none yet */
    bool several;
};

struct plans *plans_open(void)
{
    struct secret secret;
    struct plans *plans = calloc(1, sizeof *plans);
    if (plans == NULL || host_random(&secret, sizeof secret) != 0) {
        free(plans);
        return NULL;
    }
    recent_open(&plans->recent, &secret, plans->entry, sizeof plans->entry[0]);
    return plans;
}

static void release(struct entry *entry)
{
    engine_limit_release(entry->backend.shared);
    entry->backend.shared = NULL;
}

void plans_forget(struct plans *plans)
{
    for (unsigned i = 0; i < RECENT_ENTRIES; i++) release(&plans->entry[i]);
    recent_forget(&plans->recent);
}

void plans_close(struct plans *plans)
{
    if (plans != NULL) plans_forget(plans);
    free(plans);
}

static bool read_plan(struct batch *batch, enum kind kind, const char *text, weir_plan *plan,
                      struct policy_backend *backend, weir_error *error)
{
    struct engine *engine = batch->policy != NULL && kind != OF_OWN_TEXT ? batch->policy->engine : NULL;
    return weir_plan_parse(plan, text, WEIR_ADMIT, error) == 0 && guarantee_alone(plan, error) &&
           (engine != NULL || backend_check_text(plan, error)) &&
           backend_for(backend, batch->service->tables, engine, WEIR_AWAY_DEFAULT, plan, error);
}

static struct policy_verdict verdict_of(const struct entry *entry)
{
    struct policy_verdict verdict = backend_verdict(&entry->plan, entry->backend.table, entry->backend.shared, false);
    verdict.mark = entry->mark;
    return verdict;
}

static uint32_t mark_of(const struct plans *plans, const weir_plan *plan)
{
    char canonical[2 * POLICY_TEXT_MAX];
    const size_t size = weir_plan_text(plan, canonical, sizeof canonical);
    return (uint32_t)hash_siphash_1_3(&plans->recent.secret, canonical,
                                      size < sizeof canonical ? size : sizeof canonical - 1) |
           1;
}

static struct entry *make_room(struct batch *batch, const struct recent_key *key)
{
    struct entry *oldest = recent_room(&batch->plans->recent, key);
    if (oldest->recent.used != 0) batch_settle_queue(batch);
    release(oldest);
    recent_put(&batch->plans->recent, oldest, key);
    return oldest;
}

/* The plan is read before it takes another's place, so that texts in error put nothing out. */
static bool add(struct batch *batch, const struct recent_key *key, const char *text, struct policy_verdict *under,
                weir_error *error)
{
    weir_plan plan;
    struct policy_backend backend;
    if (!read_plan(batch, key->kind, text, &plan, &backend, error)) return false;
    struct entry *entry = make_room(batch, key);
    entry->plan = plan;
    entry->backend = backend;
    entry->mark = key->kind == OF_OWN_TEXT ? 0 : mark_of(batch->plans, &plan);
    *under = verdict_of(entry);
    return true;
}

static bool text_of_kind(struct batch *batch, enum kind kind, struct slice text, struct policy_verdict *under,
                         weir_error *error)
{
    char copy[POLICY_TEXT_MAX + 1];
    struct recent_key key = {.bytes = text.bytes, .size = text.size, .kind = kind};
    if (text.size > POLICY_TEXT_MAX || slice_has(text, '\0')) {
        api_fail(error, WEIR_EINVAL, "the text of a limit has at most 1024 bytes, and no byte that is 0; such as 10/s");
        return false;
    }
    const struct entry *known = recent_find(&batch->plans->recent, &key);
    if (known != NULL) {
        *under = verdict_of(known);
        return true;
    }
    if (text.size != 0) memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    return add(batch, &key, copy, under, error);
}

bool plans_text(struct batch *batch, struct slice text, struct policy_verdict *under, weir_error *error)
{
    return text_of_kind(batch, OF_TEXT, text, under, error);
}

bool plans_here(struct batch *batch, const char *text, struct policy_verdict *under, weir_error *error)
{
    return text_of_kind(batch, OF_OWN_TEXT, slice_of(text), under, error);
}

bool plans_throttle(struct batch *batch, const int64_t numbers[THROTTLE_NUMBERS], struct policy_verdict *under,
                    weir_error *error)
{
    char text[128];
    struct recent_key key = {.bytes = numbers, .size = THROTTLE_NUMBERS * sizeof numbers[0], .kind = OF_THROTTLE};
    const struct entry *known = recent_find(&batch->plans->recent, &key);
    if (known != NULL) {
        *under = verdict_of(known);
        return true;
    }
    throttle_write(&(struct writer){text, sizeof text, 0}, numbers);
    return add(batch, &key, text, under, error);
}

bool plans_throttle_again(const struct batch *batch, struct slice said, int64_t number[THROTTLE_ARGUMENTS],
                          struct policy_verdict *under)
{
    const struct plans *plans = batch->plans;
    const struct said *kept = &plans->said;
    if (kept->entry == NULL || kept->entry != plans->recent.last[OF_THROTTLE]) return false;
    if (said.size != kept->size || memcmp(said.bytes, kept->bytes, said.size) != 0) return false;
    memcpy(number, kept->number, sizeof kept->number);
    *under = verdict_of((const struct entry *)kept->entry);
    return true;
}

void plans_throttle_keep(struct batch *batch, struct slice said, const int64_t number[THROTTLE_ARGUMENTS])
{
    struct plans *plans = batch->plans;
    if (said.size > SAID_MAX) return;
    plans->said = (struct said){.entry = plans->recent.last[OF_THROTTLE], .size = said.size};
    memcpy(plans->said.number, number, sizeof plans->said.number);
    memcpy(plans->said.bytes, said.bytes, said.size);
}

/* ---- two texts for one key ---- */

/* "": it is not kept any more. */
static void text_of_mark(const struct plans *plans, uint32_t mark, char text[CANONICAL_MAX])
{
    text[0] = '\0';
    for (unsigned i = 0; i < RECENT_ENTRIES; i++) {
        const struct entry *entry = &plans->entry[i];
        if (entry->recent.used != 0 && entry->mark == mark) weir_plan_text(&entry->plan, text, CANONICAL_MAX);
    }
}

static void tell(struct batch *batch, struct slice key, const struct meeting *meeting)
{
    char line[NOTES_LINE_MAX], now[CANONICAL_MAX], before[CANONICAL_MAX];
    stats_add(&batch->stats->alternations, 1);
    if (!notes_may_add(batch)) return;
    text_of_mark(batch->plans, meeting->now, now);
    text_of_mark(batch->plans, meeting->before, before);
    snprintf(line, sizeof line,
             "key \"%.*s\" is asked under \"%s\" and \"%s\" in turn: it owes less by one than by the other; "
             "give the limit a name",
             key.size < SHOWN ? (int)key.size : SHOWN, key.bytes, before, now);
    notes_add(batch, line);
}

/* Of what texts have in common whose state is one: the key, and the algorithms. */
static uint64_t state_hash(const struct batch *batch, unsigned number)
{
    const struct call *call = &batch->call[number];
    const struct plan *plan = plan_inside_const(call->under.plan);
    uint64_t salt = KINDS;
    if (!call->under.is_shared && batch->hash[number] != 0) return batch->hash[number];
    for (uint64_t i = 0; i < plan->count; i++) salt = salt << ALGORITHM_BITS | plan->rule[i].algorithm;
    return hash_key(&batch->plans->recent.secret, call->key.bytes, call->key.size, salt);
}

/* One text after another is a change; the first one again is not. */
void plans_met(struct batch *batch, unsigned number)
{
    const struct call *call = &batch->call[number];
    struct plans *plans = batch->plans;
    if (plans->alone == 0) plans->alone = call->under.mark;
    if (!plans->several && plans->alone == call->under.mark) return;
    plans->several = true;
    const uint64_t hash = state_hash(batch, number);
    struct meeting *meeting = &plans->meeting[hash % MEETINGS];
    const uint32_t key = (uint32_t)(hash >> 32), mark = call->under.mark;
    if (meeting->key == key && meeting->now == mark) return;
    if (meeting->key != key) meeting->now = 0;
    const bool again = meeting->key == key && meeting->before == mark;
    *meeting = (struct meeting){key, mark, meeting->now};
    if (again) tell(batch, call->key, meeting);
}

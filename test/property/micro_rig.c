/* SPDX-License-Identifier: MIT
   An engine with one key; see micro_rig.h. */
#include "property/micro_rig.h"

#include <inttypes.h>
#include <string.h>

#define NUMBER_MOST (UINT64_C(1) << 53)

/* What a module does around a verb. */
struct visit {
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
};

bool rig_open(struct rig *rig, const char *text)
{
    weir_error error;
    rig_forget(rig);
    rig->any_bytes = false;
    return weir_plan_parse(&rig->plan, text, WEIR_ADMIT, NULL) == 0 &&
           micro_plan_make(&rig->micro, &rig->plan, &error) == 0;
}

bool rig_parted(const struct rig *rig)
{
    bool logs = false;
    for (unsigned i = 0; i < rig->micro.count; i++) logs = logs || rig->micro.rule[i].kind == MICRO_LOG;
    return logs && rig->micro.count > 1;
}

bool rig_state(const struct rig *rig, struct micro_state *state, struct micro_log log[])
{
    struct micro_state part;
    if (!rig_parted(rig)) return value_get(&rig->value[0], state, &log[0]);
    state->count = rig->micro.count;
    state->marks = 0;
    for (unsigned i = 0; i < rig->micro.count; i++) {
        if (!value_get(&rig->value[i], &part, &log[i])) return false;
        if (part.count != 0) state->cell[i] = part.cell[0];
        else state->cell[i] = (struct micro_cell){.kind = MICRO_KINDS};
    }
    return true;
}

void rig_forget(struct rig *rig)
{
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) rig->value[i].size = 0;
}

static struct visit begin(struct prop *prop, struct rig *rig)
{
    struct visit visit;
    memset(&visit, 0, sizeof visit);
    prop_check(prop, rig_state(rig, &visit.state, visit.log), "the key's %zu bytes are not read", rig->value[0].size);
    return visit;
}

static void check_numbers(struct prop *prop, const struct micro_state *state)
{
    for (unsigned i = 0; i < state->count; i++) {
        for (uint64_t word = 0; word < state->cell[i].words; word++) {
            prop_check(prop, state->cell[i].word[word] <= NUMBER_MOST, "word %" PRIu64 " of cell %u is %" PRIu64, word,
                       i, state->cell[i].word[word]);
        }
    }
}

static void check_same(struct prop *prop, const struct micro_state *a, const struct micro_state *b)
{
    prop_check(prop, a->count == b->count, "%u cells are read as %u", a->count, b->count);
    for (unsigned i = 0; i < a->count; i++) {
        const struct micro_cell *one = &a->cell[i], *other = &b->cell[i];
        const bool same = one->kind == other->kind && one->words == other->words && one->permit == other->permit &&
                          one->burst == other->burst && one->per == other->per &&
                          memcmp(one->word, other->word, one->words * sizeof *one->word) == 0;
        prop_check(prop, same, "cell %u is read as another", i);
    }
}

/* In order, and a permit in each at least. */
static void check_ring(struct prop *prop, const struct micro_state *state, const unsigned char *bytes)
{
    const uint64_t *word = state->cell[0].word;
    uint64_t time = 0, sum = word[2], slot = word[4];
    for (uint64_t i = 0; i <= word[5]; i++, slot = slot + 1 == word[3] ? 0 : slot + 1) {
        uint64_t number[2] = {word[0], word[1]};
        const unsigned char *at = bytes + MICRO_LOG_RING + slot * MICRO_LOG_ENTRY;
        for (int byte = 7; i < word[5] && byte >= 0; byte--) number[0] = number[0] << 8 | at[byte];
        for (int byte = 11; i < word[5] && byte >= 8; byte--) number[1] = (number[1] << 8 | at[byte]) & UINT32_MAX;
        prop_check(prop, i == 0 || number[0] > time, "entry %" PRIu64 " is out of order", i);
        prop_check(prop, (uint32_t)(number[1] - sum - 1) < UINT32_MAX / 2, "entry %" PRIu64 " has no permit", i);
        time = number[0];
        sum = number[1];
    }
}

static void end_value(struct prop *prop, struct rig *rig, unsigned at, struct micro_state *state, struct micro_log *log)
{
    struct micro_state again;
    struct value *value = &rig->value[at];
    const bool is_log = state->cell[0].kind == MICRO_LOG;
    value_put(value, state, log);
    prop_check(prop, micro_read(&again, value->bytes, value->size), "what was written is not read");
    check_same(prop, state, &again);
    const struct micro_rule *rule = &rig->micro.rule[at];
    prop_check(prop, !is_log || log->steps <= micro_log_steps(rule), "%" PRIu64 " entries were looked at", log->steps);
    if (is_log && state->cell[0].words != 0 && !rig->any_bytes) check_ring(prop, state, value->bytes);
}

static void end(struct prop *prop, struct rig *rig, struct visit *visit, bool changed)
{
    check_numbers(prop, &visit->state);
    if (!changed) return;
    for (unsigned i = 0; i < rig->micro.count && rig_parted(rig); i++) {
        struct micro_state part = {.count = 1};
        part.cell[0] = visit->state.cell[i];
        end_value(prop, rig, i, &part, &visit->log[i]);
    }
    if (!rig_parted(rig)) end_value(prop, rig, 0, &visit->state, &visit->log[0]);
}

static void end_answer(struct prop *prop, struct rig *rig, struct visit *visit, const struct micro_answer *answer)
{
    const uint64_t number[] = {answer->remaining, answer->delay, answer->retry,
                               answer->full,      answer->idle,  answer->late};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        prop_check(prop, number[i] <= NUMBER_MOST, "number %zu of the answer is %" PRIu64, i, number[i]);
    }
    prop_check(prop, answer->limit < rig->micro.count, "limit %" PRIu64, answer->limit);
    end(prop, rig, visit, answer->changed);
}

static bool same_answer(const struct micro_answer *one, const struct micro_answer *other)
{
    return one->verdict == other->verdict && one->limit == other->limit && one->remaining == other->remaining &&
           one->delay == other->delay && one->retry == other->retry && one->taken == other->taken &&
           one->full == other->full && one->late == other->late && one->idle == other->idle &&
           one->changed == other->changed;
}

/* What is said after a verb is what somebody is told who reads the key then. */
static void check_left(struct prop *prop, struct rig *rig, uint64_t now, const struct micro_answer *said)
{
    struct visit visit = begin(prop, rig);
    struct micro_answer read;
    micro_take(&rig->micro, &visit.state, visit.log, &(struct micro_ask){.now = now, .peek = true}, &read);
    if (rig->any_bytes || said->verdict != WEIR_ALLOW || read.verdict != WEIR_ALLOW) return;
    prop_check(prop, said->remaining == read.remaining, "%" PRIu64 " remain, but then %" PRIu64, said->remaining,
               read.remaining);
    prop_check(prop, said->limit == read.limit, "limit %" PRIu64 ", but then %" PRIu64, said->limit, read.limit);
    prop_check(prop, said->full == read.full, "full in %" PRIu64 ", but then %" PRIu64, said->full, read.full);
    prop_check(prop, said->idle == read.idle, "idle at %" PRIu64 ", but then %" PRIu64, said->idle, read.idle);
}

/* The shortcut is tried on the bytes before; then what it said and wrote is what micro_take did. */
struct micro_answer rig_take(struct prop *prop, struct rig *rig, const struct micro_ask *ask)
{
    const struct value before = rig->value[0];
    unsigned char after[MICRO_ALONE];
    struct visit visit = begin(prop, rig);
    struct micro_answer answer, alone;
    const bool tells = micro_may_be_alone(&rig->micro, ask) &&
                       micro_take_alone(&rig->micro, ask, before.bytes, before.size, after, &alone);
    micro_take(&rig->micro, &visit.state, visit.log, ask, &answer);
    end_answer(prop, rig, &visit, &answer);
    if (!ask->peek) check_left(prop, rig, ask->now, &answer);
    if (!tells) return answer;
    prop_check(prop, same_answer(&answer, &alone), "alone it is answered in another way");
    const struct value *value = &rig->value[0];
    prop_check(prop, !alone.changed || (value->size == sizeof after && memcmp(value->bytes, after, sizeof after) == 0),
               "alone it is written in another way");
    return answer;
}

struct micro_answer rig_charge(struct prop *prop, struct rig *rig, const struct micro_ask *ask)
{
    struct visit visit = begin(prop, rig);
    struct micro_answer answer;
    micro_charge(&rig->micro, &visit.state, visit.log, ask, &answer);
    end_answer(prop, rig, &visit, &answer);
    check_left(prop, rig, ask->now, &answer);
    return answer;
}

struct micro_answer rig_settle(struct prop *prop, struct rig *rig, uint64_t now, uint64_t taken,
                               const uint64_t charged[], const uint64_t actual[])
{
    struct visit visit = begin(prop, rig);
    struct micro_answer answer;
    micro_settle(&rig->micro, &visit.state, visit.log, now, taken, charged, actual, &answer);
    end_answer(prop, rig, &visit, &answer);
    check_left(prop, rig, now, &answer);
    return answer;
}

struct micro_lease rig_lease(struct prop *prop, struct rig *rig, uint64_t now, uint64_t want, uint64_t lifetime)
{
    struct visit visit = begin(prop, rig);
    struct micro_lease lease;
    micro_lease_take(&rig->micro, &visit.state, now, want, lifetime, &lease);
    end(prop, rig, &visit, lease.changed);
    return lease;
}

struct micro_lease rig_return(struct prop *prop, struct rig *rig, uint64_t now, uint64_t turn, uint64_t permits,
                              uint64_t unused)
{
    struct visit visit = begin(prop, rig);
    struct micro_lease lease;
    micro_lease_return(&rig->micro, &visit.state, now, turn, permits, unused, &lease);
    end(prop, rig, &visit, lease.changed);
    return lease;
}

/* SPDX-License-Identifier: MIT
   micro_rig.c - an engine with one key; see micro_rig.h. */
#include "law/micro_rig.h"

#include <inttypes.h>
#include <string.h>

#define NUMBER_MOST (UINT64_C(1) << 53)

/* What a module does around a verb. */
struct visit {
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
};

static uint64_t stamp_of(struct micro_log *log, uint64_t index)
{
    return ((const uint64_t *)log->where)[index];
}

bool rig_open(struct rig *rig, const char *text)
{
    weir_error error;
    *rig = (struct rig){.size = 0};
    return weir_plan_parse(&rig->plan, text, WEIR_ADMIT, NULL) == 0 &&
           micro_plan_make(&rig->micro, &rig->plan, &error) == 0;
}

static struct visit begin(struct law *law, struct rig *rig)
{
    struct visit visit = {.state = {0}};
    const bool read = rig->size == 0 || micro_read(&visit.state, rig->bytes, rig->size);
    law_check(law, read, "the key's %zu bytes are not read", rig->size);
    for (unsigned i = 0; i < rig->micro.count; i++) {
        visit.log[i] = (struct micro_log){.size = rig->stamps[i], .stamp = stamp_of, .where = rig->stamp[i]};
    }
    return visit;
}

static void apply_log(struct law *law, struct rig *rig, unsigned limit, const struct micro_log *log)
{
    uint64_t *stamp = rig->stamp[limit];
    const size_t last = log->drop_from + log->drop;
    law_check(law, last <= log->size, "%" PRIu64 " stamps from %" PRIu64 " on of %" PRIu64 " go", log->drop,
              log->drop_from, log->size);
    memmove(stamp + log->drop_from, stamp + last, (log->size - last) * sizeof *stamp);
    size_t size = log->size - log->drop;
    law_check(law, log->add == 0 || size + log->add <= rig->micro.rule[limit].burst,
              "the log has %zu and gets %" PRIu64, size, log->add);
    for (uint64_t i = 0; i < log->add; i++) {
        law_check(law, size == 0 || stamp[size - 1] <= log->add_at, "the log is out of order");
        stamp[size++] = log->add_at;
    }
    rig->stamps[limit] = size;
}

static void check_numbers(struct law *law, const struct micro_state *state)
{
    for (unsigned i = 0; i < state->count; i++) {
        for (uint64_t word = 0; word < state->cell[i].words; word++) {
            law_check(law, state->cell[i].word[word] <= NUMBER_MOST, "word %" PRIu64 " of cell %u is %" PRIu64, word, i,
                      state->cell[i].word[word]);
        }
    }
}

static void check_same(struct law *law, const struct micro_state *a, const struct micro_state *b)
{
    law_check(law, a->count == b->count, "%u cells are read as %u", a->count, b->count);
    for (unsigned i = 0; i < a->count; i++) {
        const struct micro_cell *one = &a->cell[i], *other = &b->cell[i];
        const bool same = one->kind == other->kind && one->words == other->words && one->permit == other->permit &&
                          one->burst == other->burst && one->per == other->per &&
                          memcmp(one->word, other->word, one->words * sizeof *one->word) == 0;
        law_check(law, same, "cell %u is read as another", i);
    }
}

static void end(struct law *law, struct rig *rig, const struct visit *visit, bool changed)
{
    struct micro_state again;
    check_numbers(law, &visit->state);
    if (!changed) return;
    rig->size = micro_write(&visit->state, rig->bytes);
    law_check(law, micro_read(&again, rig->bytes, rig->size), "what was written is not read");
    check_same(law, &visit->state, &again);
    for (unsigned i = 0; i < rig->micro.count; i++) {
        if (rig->micro.rule[i].kind == MICRO_LOG) apply_log(law, rig, i, &visit->log[i]);
    }
}

static void end_answer(struct law *law, struct rig *rig, const struct visit *visit, const struct micro_answer *answer)
{
    const uint64_t number[] = {answer->remaining, answer->delay, answer->retry,
                               answer->full,      answer->idle,  answer->late};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        law_check(law, number[i] <= NUMBER_MOST, "number %zu of the answer is %" PRIu64, i, number[i]);
    }
    law_check(law, answer->limit < rig->micro.count, "limit %" PRIu64, answer->limit);
    end(law, rig, visit, answer->changed);
}

struct micro_answer rig_take(struct law *law, struct rig *rig, const struct micro_ask *ask)
{
    struct visit visit = begin(law, rig);
    struct micro_answer answer;
    micro_take(&rig->micro, &visit.state, visit.log, ask, &answer);
    end_answer(law, rig, &visit, &answer);
    return answer;
}

struct micro_answer rig_charge(struct law *law, struct rig *rig, const struct micro_ask *ask)
{
    struct visit visit = begin(law, rig);
    struct micro_answer answer;
    micro_charge(&rig->micro, &visit.state, visit.log, ask, &answer);
    end_answer(law, rig, &visit, &answer);
    return answer;
}

struct micro_answer rig_settle(struct law *law, struct rig *rig, uint64_t now, uint64_t taken, const uint64_t charged[],
                               const uint64_t actual[])
{
    struct visit visit = begin(law, rig);
    struct micro_answer answer;
    micro_settle(&rig->micro, &visit.state, visit.log, now, taken, charged, actual, &answer);
    end_answer(law, rig, &visit, &answer);
    return answer;
}

struct micro_lease rig_lease(struct law *law, struct rig *rig, uint64_t now, uint64_t want, uint64_t lifetime)
{
    struct visit visit = begin(law, rig);
    struct micro_lease lease;
    micro_lease_take(&rig->micro, &visit.state, now, want, lifetime, &lease);
    end(law, rig, &visit, lease.changed);
    return lease;
}

struct micro_lease rig_return(struct law *law, struct rig *rig, uint64_t now, uint64_t turn, uint64_t permits,
                              uint64_t unused)
{
    struct visit visit = begin(law, rig);
    struct micro_lease lease;
    micro_lease_return(&rig->micro, &visit.state, now, turn, permits, unused, &lease);
    end(law, rig, &visit, lease.changed);
    return lease;
}

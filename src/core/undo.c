/* SPDX-License-Identifier: MIT
   A call that waits is taken out again, as if it had never been asked for.

   To give permits back is not the same: what one limit of a list forgets while it waits for another is lost, and so are
   the caps that a pool has reached since.  A call that waits is the last for most of its wait, so the words before it
   are simply put back, as long as they are still those that it left.  Else it is settled, as any call is (decide.c): by
   each limit for itself, since a limit that keeps what it has lets no more through. */
#include "core/undo.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"

void undo_begin(struct rules rules, const uint64_t *state, const uint64_t cost[], struct undo *undo)
{
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        memcpy(undo->before[i], state, algorithm->words * sizeof *state);
        if (algorithm->grows == GROWS_STAMPS)
            stamps_save(rule, state, least(cost[i], UNDO_PERMITS_MAX), undo->saved[i]);
        state += state_words(rule, algorithm);
    }
}

void undo_end(struct rules rules, const uint64_t *state, struct undo *undo)
{
    for (int i = 0; i < rules.count; i++) {
        const struct algorithm *algorithm = algorithm_of(&rules.rule[i]);
        memcpy(undo->after[i], state, algorithm->words * sizeof *state);
        state += state_words(&rules.rule[i], algorithm);
    }
}

/* False when more has changed than is known. */
static bool undo_limit(const struct rule *rule, uint64_t *state, uint64_t cost, const struct undo *undo, int limit)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const size_t size = algorithm->words * sizeof *state;
    if (algorithm->grows == GROWS_SLOTS || (algorithm->grows && cost > UNDO_PERMITS_MAX)) return false;
    if (memcmp(state, undo->after[limit], size) != 0) return false;
    memcpy(state, undo->before[limit], size);
    if (algorithm->grows) stamps_put_back(rule, state, cost, undo->saved[limit]);
    return true;
}

void undo_call(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
               const uint64_t cost[], const uint64_t end[], const struct undo *undo)
{
    const uint64_t nothing = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        if (!undo_limit(rule, state, cost[i], undo, i)) {
            decide_settle((struct rules){rule, 1}, state, now_ns, decision, &cost[i], &nothing, &end[i]);
        }
        state += state_words(rule, algorithm_of(rule));
    }
}

/* SPDX-License-Identifier: MIT
   Mistakes that one could make in cell.c, kept so that the model checker has to find them.

   As the header. */
#include "planted_cell.h"

#include <string.h>

#include "core/decide_inline.h"
#include "model.h"

static void lock(struct cell *cell)
{
    uint64_t expected = 0;
    while (!atom_swap(&cell->lock, &expected, 1)) {
        expected = 0;
        atom_pause();
    }
}

static void read_states(struct cell *cell, uint64_t state[LIST_WORDS_MAX])
{
    model_touch(cell->content.state);
    memcpy(state, cell->content.state, LIST_WORDS_MAX * sizeof *state);
}

static void write_states(struct cell *cell, const uint64_t state[LIST_WORDS_MAX])
{
    model_touch(cell->content.state);
    memcpy(cell->content.state, state, LIST_WORDS_MAX * sizeof *state);
}

static void decide_in(const struct cell *cell, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    uint64_t each[WEIR_LIMITS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) each[i] = ask->each != NULL ? ask->each[i] : ask->cost;
    const struct question question = {ask->now_ns, ask->wait_max_ns, each, false};
    decide((struct rules){cell->content.rule, cell->content.count}, state, &question, ask->end, decision);
}

bool planted_decide_lock_by_store(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    uint64_t state[LIST_WORDS_MAX];
    while (atom_load(&cell->lock) != 0) atom_pause();
    atom_store(&cell->lock, 1);
    read_states(cell, state);
    decide_in(cell, state, ask, decision);
    write_states(cell, state);
    atom_store_release(&cell->lock, 0);
    return true;
}

bool planted_decide_unlocked_early(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    uint64_t state[LIST_WORDS_MAX];
    lock(cell);
    read_states(cell, state);
    decide_in(cell, state, ask, decision);
    atom_store_release(&cell->lock, 0);
    write_states(cell, state);
    return true;
}

bool planted_pass_unlocked(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    uint64_t state[LIST_WORDS_MAX];
    read_states(cell, state);
    if (!decide_pass(cell->content.rule, cell->passes, state, ask->now_ns, ask->cost, decision))
        return cell_decide(cell, ask, decision);
    write_states(cell, state);
    return true;
}

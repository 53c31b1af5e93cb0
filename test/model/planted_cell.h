/* SPDX-License-Identifier: MIT
   A cell's take with one mistake each, for the model checker to find.

   Right when nobody else is at the cell. */
#ifndef WEIR_TEST_PLANTED_CELL_H
#define WEIR_TEST_PLANTED_CELL_H

#include "share/cell.h"

typedef bool cell_decide_function(struct cell *cell, const struct ask *ask, weir_decision *decision);

/* Takes the lock by a load and then a store. */
cell_decide_function planted_decide_lock_by_store;

/* Opens the lock before the states are written. */
cell_decide_function planted_decide_unlocked_early;

/* Passes a call by the short way without taking the lock. */
cell_decide_function planted_pass_unlocked;

#endif

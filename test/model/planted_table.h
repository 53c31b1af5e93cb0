/* SPDX-License-Identifier: MIT
   Takes from a table with one mistake each, for the model checker to find.

   See planted_table.c. */
#ifndef WEIR_TEST_PLANTED_TABLE_H
#define WEIR_TEST_PLANTED_TABLE_H

#include "share/table/table.h"

typedef void table_ask_function(struct table *table, const struct table_question *question,
                                struct table_answer *answer);

/* Sees that a slot is idle, then swaps the tag; the time's version stays. */
table_ask_function planted_table_tag_only;

/* Versions of 2 bits, which come round. */
table_ask_function planted_table_short_versions;

/* A claimed slot is a committed one. */
table_ask_function planted_table_not_tentative;

/* A claim is committed without looking for another. */
table_ask_function planted_table_without_scan;

/* A charge is admitted without looking whether the table has grown. */
table_ask_function planted_table_without_second_look;

/* Shifts a key that leaves its old slot before it has a new one. */
table_ask_function planted_table_leaves_first;

/* Shifts a key without what it owes. */
table_ask_function planted_table_copies_nothing;

/* Shifts a key whose old slot was charged meanwhile, and stays. */
table_ask_function planted_table_leaves_unseen;

/* Shifts a key again where the first try has left a copy. */
table_ask_function planted_table_copies_again;

/* Moves a key to its own area and commits it there, whether or not it is there already. */
table_ask_function planted_table_moves_committed;

/* Moves it without what it owes. */
table_ask_function planted_table_moves_nothing;

/* Of two tentative slots the higher one is freed, and the lower one not raised to what it owes. */
table_ask_function planted_table_frees_unraised;

/* Asks the part where the key has a slot in it or where elsewhere is no room, else elsewhere: each as if it were the
   only place. */
table_ask_function planted_table_two_tables;

/* Looks at the part only when it was in use before, without another look behind the claim. */
table_ask_function planted_table_use_unseen;

/* The model checker's: a swap behind which a thread may die. */
bool planted_swap(struct atom *atom, uint64_t *expected, uint64_t desired);

#endif

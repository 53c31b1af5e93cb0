/* SPDX-License-Identifier: MIT
   Takes of a tenant and its parent with one mistake each, for the model checker to find.

   See planted_tenants.c. */
#ifndef WEIR_TEST_PLANTED_TENANTS_H
#define WEIR_TEST_PLANTED_TENANTS_H

#include "api/table/keyed.h"

typedef bool tenants_take_function(weir_table *table, const struct keyed_limit limits[], const int first[],
                                   weir_ask *asks, size_t count, weir_instant now, const struct keyed_lent *lent,
                                   uint32_t *events);

/* The same steps, and no mistake. */
tenants_take_function planted_tenants_right;

/* Sees that the guaranteed limit has room, then charges it whatever it has. */
tenants_take_function planted_tenants_owed_by_look;

/* Sees that the parent has room, then charges it whatever it has. */
tenants_take_function planted_tenants_lent_by_look;

/* A call within its guarantee is not charged to the parent. */
tenants_take_function planted_tenants_parent_forgotten;

/* A call within its guarantee passes only if the parent has room. */
tenants_take_function planted_tenants_parent_refuses;

/* The ceiling stays charged for a call that the parent refuses. */
tenants_take_function planted_tenants_ceiling_kept;

/* The parent is charged first and, where the guaranteed limit refuses, given back as a slot that others wait behind. */
tenants_take_function planted_tenants_parent_kept;

/* A call that borrows is charged to the guaranteed limit, too. */
tenants_take_function planted_tenants_borrowed_charged;

#endif

/* SPDX-License-Identifier: MIT
   What is asked of slots that are held, besides what every algorithm answers; drawn in concurrent.c. */
#ifndef WEIR_CORE_ALGORITHM_CONCURRENT_H
#define WEIR_CORE_ALGORITHM_CONCURRENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rule.h"

/* The lowest bits of an id, for its owner: 1 to CONCURRENT_OWNERS. */
enum { CONCURRENT_OWNER_BITS = 16, CONCURRENT_OWNERS = (1 << CONCURRENT_OWNER_BITS) - 1 };

/* The id of what was taken last, without its owner; whose that is the caller knows. */
uint64_t concurrent_last_id(const uint64_t *state);

/* Was nothing taken since this id was? */
bool concurrent_is_last(const uint64_t *state, uint64_t id);

/* Words of its slots. */
uint64_t concurrent_words(const struct rule *rule);

/* At least a lease from now on, and free from now on.  Return how many slots are held under this id; 0: none any more,
   and nothing is done. */
uint64_t concurrent_renew(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id);
uint64_t concurrent_release(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id);

/* The same where it is known beforehand when they will be free. */
uint64_t concurrent_until(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t id, uint64_t until_ns);

/* What is held under one id is held under the other. */
void concurrent_rename(const struct rule *rule, uint64_t *state, uint64_t id, uint64_t to);

/* Notes who holds what was just taken, in the lowest bits of its id, and returns that id; 0: nothing was taken. */
uint64_t concurrent_own(const struct rule *rule, uint64_t *state, uint64_t id, uint64_t owner);

/* Frees what is held by owners that live no more; returns how many slots that were. */
uint64_t concurrent_disown(const struct rule *rule, uint64_t *state, uint64_t now_ns,
                           bool (*lives)(void *context, uint64_t owner), void *context);

#endif

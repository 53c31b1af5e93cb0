/* SPDX-License-Identifier: MIT
   algorithm.c - from a name to what it answers.

   May touch: its arguments.  Promises: an answer for every value.  Leaves to others: the answers. */
#include "core/algorithm.h"

const struct algorithm *algorithm_named(unsigned name)
{
    switch (name) {
#define ALGORITHM_CASE(name, file)                                                                                     \
    case ALGORITHM_##name:                                                                                             \
        return file##_algorithm();
        ALGORITHMS(ALGORITHM_CASE)
#undef ALGORITHM_CASE
    default:
        return NULL;
    }
}

const struct algorithm *algorithm_of(const struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_named(rule->algorithm);
    return algorithm != NULL ? algorithm : none_algorithm();
}

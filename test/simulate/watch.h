/* SPDX-License-Identifier: MIT
   Mistakes that can be planted in the nodes and the engine, so that it is seen that they are found. */
#ifndef WEIR_TEST_SIMULATE_WATCH_H
#define WEIR_TEST_SIMULATE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

const char *watch_plant_name(unsigned number); /* NULL: there are no more */

/* From now on this one; NULL: none.  Returns the seed of an hour that shows it; 0: there is none of that name. */
uint64_t watch_plant(const char *name);
bool watch_is_planted(const char *name);

#endif

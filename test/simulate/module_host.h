/* SPDX-License-Identifier: MIT
   The interface that an engine offers to its module, as far as takes, leases and settling need it. */
#ifndef WEIR_TEST_SIMULATE_MODULE_HOST_H
#define WEIR_TEST_SIMULATE_MODULE_HOST_H

#include "format/bytes.h"
#include "simulate/keys.h"

/* Loads the module, once in a process. */
void module_host_load(void);

/* Runs the command of this name, as the module says it is called; false: it has none. */
bool module_host_run(const struct slice argument[], unsigned count, struct keys *keys, uint64_t now_us,
                     struct bytes *out);

#endif

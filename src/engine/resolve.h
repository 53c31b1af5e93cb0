/* SPDX-License-Identifier: MIT
   resolve.h - names of servers to addresses.

   See resolve.c. */
#ifndef WEIR_ENGINE_RESOLVE_H
#define WEIR_ENGINE_RESOLVE_H

#include "engine/hub.h"

/* A path or an address needs nobody to be asked.  false: it is a name, and the address has no host. */
bool resolve_numeric(const struct engine_place *place, struct engine_place *address);

/* Asks, however long that takes; without an answer what is known stays. */
void resolve_now(struct hub *hub, unsigned server);

/* The same in a thread of its own, one for each server at most; nothing for those that have no name. */
void resolve_again(struct hub *hub, unsigned server);

#endif

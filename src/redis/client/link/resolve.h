/* SPDX-License-Identifier: MIT
   Names of servers to addresses.

   See resolve.c. */
#ifndef WEIR_REDIS_CLIENT_LINK_RESOLVE_H
#define WEIR_REDIS_CLIENT_LINK_RESOLVE_H

#include "redis/client/pool.h"

/* For a path, an address and localhost nobody needs to be asked.  false: it is a name, of which none is known yet. */
bool resolve_known(const struct engine_endpoint *endpoint, struct engine_addresses *known);

/* Asks for a name, however long that takes.  false: nobody knows it. */
bool resolve_endpoint(const struct engine_endpoint *endpoint, struct engine_addresses *addresses);

/* Asks, however long that takes; without an answer what is known stays. */
void resolve_now(struct pool *pool, unsigned server);

/* The same in a thread of its own, one for each server at most; nothing for those that have no name. */
void resolve_again(struct pool *pool, unsigned server);

#endif

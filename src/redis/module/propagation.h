/* SPDX-License-Identifier: MIT
   Does what a call writes go anywhere: to a replica, to the append-only file?

   See propagation.c. */
#ifndef WEIR_REDIS_MODULE_PROPAGATION_H
#define WEIR_REDIS_MODULE_PROPAGATION_H

#include "redis/module/engine_api.h"

enum listeners { LISTENERS_UNKNOWN, LISTENERS_NONE, LISTENERS_SOME };

struct propagation {
    enum listeners listeners; /* as it was asked after the last event */
};

/* Subscribes to the events after which the engine is asked anew; on_event calls propagation_ask_again. */
bool propagation_open(const struct engine *, struct RedisModuleCtx *, engine_on_event *);
void propagation_ask_again(struct propagation *);
/* false: nobody would be told.  Then ReplicateVerbatim only counts the change, which RDB files are saved by. */
bool propagation_goes(struct propagation *, const struct engine *, struct RedisModuleCtx *);

#endif

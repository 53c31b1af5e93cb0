/* SPDX-License-Identifier: MIT
   A call of a tenant: asked under its own text and its parent's.

   See tenant.c. */
#ifndef WEIR_SERVE_TENANT_H
#define WEIR_SERVE_TENANT_H

#include "serve/batch.h"

/* [the call's verdict has a parent] Question `number` of the queue, in batch->ask and in the call's `each`. */
void tenant_ask(struct batch *batch, unsigned number);

/* Of its decision: until all permits are back, its own and the parent's. */
uint64_t tenant_full_ns(const struct batch *batch, const struct call *call);

/* Corrects what was taken to what was used: of the tenant and of its parent, each as its decision was. */
void tenant_settle(const struct batch *batch, const struct call *call, const weir_decision of[TENANT_LEVELS],
                   uint64_t cost, uint64_t actual);

#endif

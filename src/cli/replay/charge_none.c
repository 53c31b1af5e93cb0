/* SPDX-License-Identifier: MIT
   weir replay --charge where weir was built without hiredis: charge_open refuses, and nothing else is reached. */
#include "cli/common/arguments.h"
#include "cli/replay/charge.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int charge_open(struct charge **owned, const struct charge_options *options, charge_say *say, void *context)
{
    return trouble("replay --charge: this weir was built without hiredis; in its source: tools/deps build && "
                   "tools/build");
}

void charge_put(struct charge *charge, struct slice key, uint64_t cost)
{
}

void charge_turn(struct charge *charge)
{
}

struct charge_counts charge_finish(struct charge *charge)
{
    return (struct charge_counts){0};
}

void charge_close(struct charge *charge)
{
}

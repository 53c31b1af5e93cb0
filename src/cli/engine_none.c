/* SPDX-License-Identifier: MIT
   weir engine, weir take --engine and weir replay --charge, where weir was built without hiredis: say
   so.

   Exit status 2, and nothing is taken or charged. */
#include "cli/replay/charge.h"
#include "cli/take/take.h"

static int refuse(const char *command)
{
    return trouble("%s: this build has no Redis support (hiredis was missing); to add it, run tools/deps build && "
                   "tools/build in the source tree",
                   command);
}

static int run(int argc, char **argv)
{
    (void)argc, (void)argv;
    return refuse("engine");
}

const struct command *engine_command(void)
{
    static const struct command row = {.name = "engine",
                                       .synopsis = "install|check URL",
                                       .summary = "install weir's functions in Redis or Valkey (not built in)",
                                       .run = run};
    return &row;
}

int take_engine_open(struct take *take)
{
    (void)take;
    return refuse("take --engine");
}

void take_engine_ask(struct take *take, bool peek)
{
    (void)take, (void)peek;
}

void take_engine_give_back(struct take *take)
{
    (void)take;
}

bool take_engine_forget(struct take *take)
{
    (void)take;
    return false;
}

void take_engine_close(struct take *take)
{
    (void)take;
}

int charge_open(struct charge **owned, const struct charge_options *options, charge_say *say, void *context)
{
    (void)owned, (void)options, (void)say, (void)context;
    return refuse("replay --charge");
}

void charge_put(struct charge *charge, struct slice key, uint64_t cost)
{
    (void)charge, (void)key, (void)cost;
}

void charge_turn(struct charge *charge)
{
    (void)charge;
}

struct charge_counts charge_finish(struct charge *charge)
{
    (void)charge;
    return (struct charge_counts){0};
}

void charge_close(struct charge *charge)
{
    (void)charge;
}

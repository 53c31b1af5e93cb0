/* SPDX-License-Identifier: MIT
   engine_none.c - weir engine, and weir take --engine, where weir was built without hiredis: say so.

   May touch: stderr.  Promises: exit status 2, and nothing is taken.  Leaves to others: nothing. */
#include "cli/take.h"

static int refuse(const char *command)
{
    return trouble("%s: this weir was built without hiredis: in its source, tools/deps build && tools/build", command);
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
                                       .summary = "put weir's functions into Redis or Valkey (not built in)",
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

void take_engine_close(struct take *take)
{
    (void)take;
}

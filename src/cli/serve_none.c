/* SPDX-License-Identifier: MIT
   serve_none.c - weir serve where it was built without its libraries: says so.

   May touch: stderr.  Promises: exit status 2.  Leaves to others: nothing. */
#include "cli/common/arguments.h"

static int run(int argc, char **argv)
{
    (void)argc, (void)argv;
    return trouble("serve: this weir was built without it; it needs libuv, http_parser and libyaml: in its source, "
                   "tools/deps build && tools/build");
}

const struct command *serve_command(void)
{
    static const struct command row = {.name = "serve",
                                       .synopsis = "[FILE]",
                                       .summary = "answer decisions over RESP and HTTP (not built in)",
                                       .run = run};
    return &row;
}

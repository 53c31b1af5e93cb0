/* SPDX-License-Identifier: MIT
   weir serve where it was built without its libraries: refuses, with status 2. */
#include "cli/common/arguments.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int run(int argc, char **argv)
{
    return trouble("serve: this build has no service (libuv, http_parser or libyaml was missing); to add it, run "
                   "tools/deps build && tools/build in the source tree");
}

const struct command *serve_command(void)
{
    static const struct command row = {.name = "serve",
                                       .synopsis = "[FILE]",
                                       .summary = "decide requests over RESP and HTTP (not built in)",
                                       .run = run};
    return &row;
}

/* SPDX-License-Identifier: MIT
   An engine that keeps what a command uses.

   See engine_open.c. */
#ifndef WEIR_CLI_COMMON_ENGINE_OPEN_H
#define WEIR_CLI_COMMON_ENGINE_OPEN_H

#include <weir/redis.h>

/* options: the prefix, and whom to tell of what changes; the rest is set here.  Prints what is wrong, and returns
   STATUS_TROUBLE. */
int engine_for_command(weir_engine **engine, const char *command, const char *url, const char *password_file,
                       const weir_engine_options *options);

#endif

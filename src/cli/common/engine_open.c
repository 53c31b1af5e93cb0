/* SPDX-License-Identifier: MIT
   An engine that keeps what a command uses, for all machines that ask there.

   What it did not decide is not allowed, since one command alone knows of no other. */
#include "cli/common/engine_open.h"

#include "cli/common/arguments.h"
#include "cli/common/engine_password.h"

/* A script waits rather this long than to be told that the engine is away. */
static const uint64_t DEADLINE_NS = 1000000000;

int engine_for_command(weir_engine **engine, const char *command, const char *url, const char *password_file,
                       const weir_engine_options *options)
{
    char memory[ENGINE_PASSWORD_MAX];
    weir_engine_options all = *options;
    weir_error error = {0};
    all.deadline_ns = DEADLINE_NS;
    all.away = WEIR_AWAY_CLOSED;
    const int status = engine_password(command, password_file, memory, &all.password);
    if (status != STATUS_DONE) return status;
    if (weir_engine_open(engine, url, &all, &error) == 0) return STATUS_DONE;
    return trouble("%s: --engine: %s", command, error.message);
}

/* SPDX-License-Identifier: MIT
   weir engine: puts weir's functions into Redis or Valkey, and looks whether all is there.

   A line for each server, of what is there and what was done; exit status 0 all is well, 1 it is not, 2 trouble. */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <weir/redis.h>

#include "cli/common/arguments.h"
#include "cli/common/engine_password.h"

/* A user watches the screen and waits for it. */
static const uint64_t DEADLINE_USUAL_NS = 2000000000;

typedef int engine_verb(weir_engine *, void (*line)(void *context, const char *text), void *context, weir_error *);

struct asked {
    engine_verb *verb;
    const char *url, *password_file;
    uint64_t deadline_ns;
};

static const struct option_row option_rows[] = {
    {"password-file", 0, "FILE", "the password is the first line of FILE", argument_text,
     .at = offsetof(struct asked, password_file)},
    {"deadline", 0, "TIME", "timeout of each reply, at least 1s (2s)", argument_time,
     .at = offsetof(struct asked, deadline_ns)},
};

static engine_verb *verb_named(const char *name)
{
    if (strcmp(name, "install") == 0) return weir_engine_install;
    return strcmp(name, "check") == 0 ? weir_engine_check : NULL;
}

static int read_operands(struct asked *asked, int count, char **operands)
{
    if (count == 0)
        return trouble("engine: expected install or check; for example weir engine check redis://127.0.0.1:6379");
    engine_verb *verb = verb_named(operands[0]);
    if (verb == NULL) {
        return trouble("engine: expected install or check, not \"%s\"; for example weir engine check "
                       "redis://127.0.0.1:6379",
                       operands[0]);
    }
    if (count == 1) {
        return trouble("engine: expected the URL of the engine; for example weir engine %s redis://127.0.0.1:6379",
                       operands[0]);
    }
    if (count > 2) return trouble("engine: unexpected argument \"%s\"; expected exactly one URL", operands[2]);
    asked->verb = verb;
    asked->url = operands[1];
    return ARGUMENTS_END;
}

static void print_line(void *context, const char *text)
{
    (void)context;
    puts(text);
}

static int ask(const struct asked *asked)
{
    char memory[ENGINE_PASSWORD_MAX];
    weir_engine *engine;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    weir_error error = {0};
    options.deadline_ns = asked->deadline_ns;
    const int status = engine_password("engine", asked->password_file, memory, &options.password);
    if (status != STATUS_DONE) return status;
    if (weir_engine_open(&engine, asked->url, &options, &error) != 0) return trouble("engine: %s", error.message);
    const int failed = asked->verb(engine, print_line, NULL, &error);
    weir_engine_close(engine);
    fflush(stdout); /* what was found stands before what is wrong with it */
    if (failed == 0) return STATUS_DONE;
    trouble("engine: %s", error.message);
    return STATUS_REFUSED;
}

static int run(int argc, char **argv)
{
    struct asked asked = {.verb = weir_engine_check, .deadline_ns = DEADLINE_USUAL_NS};
    int status = arguments_read(engine_command(), argc, argv, &asked);
    if (status == ARGUMENTS_END) status = read_operands(&asked, argc - optind, argv + optind);
    return status == ARGUMENTS_END ? ask(&asked) : status;
}

const struct command *engine_command(void)
{
    static const struct command engine_row = {
        .name = "engine",
        .synopsis = "install|check URL [OPTION]...",
        .summary = "install weir's functions in Redis or Valkey, or check them",
        .details =
            "  weir engine install redis://127.0.0.1:6379    into every primary\n"
            "  weir engine check redis://127.0.0.1:6379      leaves nothing behind\n"
            "\n"
            "URL: redis://, rediss:// or unix://, redis+cluster://HOST:PORT,... or\n"
            "redis+sentinel://HOST:PORT,.../NAME.  The password comes from WEIR_ENGINE_PASSWORD or a file; in a\n"
            "URL, others on this machine may see it.\n"
            "\n"
            "Exit status: 0 success; 1 a server cannot be reached, or something is missing or not permitted there;\n"
            "2 usage error or invalid URL.\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &engine_row;
}

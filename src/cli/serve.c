/* SPDX-License-Identifier: MIT
   weir serve: decisions for everything that cannot link a C library.

   Exit status 0 when all that came was answered, 2 trouble. */
#include "serve/server.h"

#include <getopt.h>
#include <stddef.h>

#include "cli/common/arguments.h"

struct serve {
    struct server_options options;
    bool check;
};

static bool read_threads(const struct option_row *row, const char *value, void *into)
{
    uint64_t number;
    if (!argument_count(row, value, &number)) return false;
    *(unsigned *)into = (unsigned)number;
    return true;
}

#define AT(field) .at = offsetof(struct serve, field)

static const struct option_row option_rows[] = {
    {"check", 0, NULL, "check FILE, print its errors or what it means, and exit", argument_flag, AT(check)},
    {"against", 0, "OLD", "with --check: what usage is kept when FILE replaces OLD", argument_text, AT(options.against),
     .needs = "--check"},
    {"resp", 0, "ADDRESS", "listen for Redis' protocol (localhost:9347), or \"none\"", argument_text, AT(options.resp)},
    {"http", 0, "ADDRESS", "listen for HTTP and the page (localhost:9348), or \"none\"", argument_text,
     AT(options.http)},
    {"threads", 0, "N", "worker threads (one per processor, at most 4)", read_threads, AT(options.threads),
     .most = SERVICE_WORKERS_MAX},
    {"state", 0, "FILE", "keep usage in FILE, so that it survives a restart", argument_text, AT(options.state)},
};

static int read_arguments(struct serve *serve, int argc, char **argv)
{
    const int status = arguments_read(serve_command(), argc, argv, serve);
    if (status != ARGUMENTS_END) return status;
    if (argc - optind > 1) {
        return trouble("serve: unexpected argument \"%s\"; expected at most one file", argv[optind + 1]);
    }
    serve->options.file = argv[optind]; /* NULL behind the last */
    if (!serve->check || serve->options.file != NULL) return ARGUMENTS_END;
    return trouble("serve: expected a file to --check; for example weir serve weir.yaml --check");
}

static int run(int argc, char **argv)
{
    struct serve serve = {0};
    const int status = read_arguments(&serve, argc, argv);
    if (status != ARGUMENTS_END) return status;
    return serve.check ? server_check(&serve.options) : server_run(&serve.options);
}

const struct command *serve_command(void)
{
    static const struct command serve_row = {
        .name = "serve",
        .synopsis = "[FILE] [OPTION]...",
        .summary = "decide requests over RESP and HTTP",
        .details = "  weir serve                                  limits come with each request\n"
                   "  weir serve weir.yaml                        limits have names\n"
                   "  weir serve weir.yaml --check\n"
                   "  redis-cli -p 9347 WEIR.TAKE '10/s burst=20' user:42\n"
                   "  curl -d limit=10/s -d key=user:42 http://127.0.0.1:9348/v1/take\n"
                   "\n"
                   "An address is ADDR:PORT, [V6]:PORT, :PORT for all, or unix:PATH; localhost is 127.0.0.1 and,\n"
                   "where the system has it, ::1.  Addresses that others can reach need a password: WEIR_PASSWORD,\n"
                   "or one in FILE.  On SIGHUP, or when FILE changes, FILE is reloaded: as a whole or, if it has an\n"
                   "error, not at all; recorded usage is kept.  On SIGTERM the service answers the requests that it\n"
                   "has received, then exits.\n"
                   "\n"
                   "Exit status: 0 stopped, or FILE is valid; 2 error, or FILE is invalid.\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &serve_row;
}

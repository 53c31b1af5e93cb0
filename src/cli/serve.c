/* SPDX-License-Identifier: MIT
   weir serve: decisions for everything that cannot link a C library.

   Exit status 0 when all that came was answered, 2 trouble. */
#include "serve/server.h"

#include <getopt.h>
#include <stddef.h>

#include "cli/common/arguments.h"

enum { OPTION_CHECK, OPTION_RESP, OPTION_HTTP, OPTION_THREADS, OPTION_STATE, OPTION_AGAINST, OPTION_COUNT };

static const struct option_help option_rows[OPTION_COUNT] = {
    [OPTION_CHECK] = {"check", 0, NULL, "check FILE, print its errors or what it means, and exit"},
    [OPTION_AGAINST] = {"against", 0, "OLD", "with --check: what usage is kept when FILE replaces OLD"},
    [OPTION_RESP] = {"resp", 0, "ADDR:PORT", "listen for Redis' protocol (localhost:9347), or \"none\""},
    [OPTION_HTTP] = {"http", 0, "ADDR:PORT", "listen for HTTP and the page (localhost:9348), or \"none\""},
    [OPTION_THREADS] = {"threads", 0, "N", "worker threads (one per processor, at most 4)"},
    [OPTION_STATE] = {"state", 0, "FILE", "keep usage in FILE, so that it survives a restart"},
};

struct serve {
    struct server_options options;
    bool check;
};

static bool read_threads(const char *value, unsigned *threads)
{
    uint64_t number;
    if (!read_count_argument("threads", value, SERVICE_WORKERS_MAX, &number)) return false;
    *threads = (unsigned)number;
    return true;
}

static bool set_option(struct serve *serve, int option, const char *value)
{
    switch (option) {
    case OPTION_CHECK:
        serve->check = true;
        return true;
    case OPTION_AGAINST:
        serve->options.against = value;
        return true;
    case OPTION_RESP:
        serve->options.resp = value;
        return true;
    case OPTION_HTTP:
        serve->options.http = value;
        return true;
    case OPTION_THREADS:
        return read_threads(value, &serve->options.threads);
    default:
        serve->options.state = value;
        return true;
    }
}

static int read_arguments(struct serve *serve, int argc, char **argv)
{
    const char *value;
    for (int option; (option = next_option(serve_command(), argc, argv, &value)) != ARGUMENTS_END;) {
        if (option == ARGUMENTS_HELP) return ARGUMENTS_HELP;
        if (option == ARGUMENTS_WRONG || !set_option(serve, option, value)) return STATUS_TROUBLE;
    }
    if (argc - optind > 1) {
        return trouble("serve: unexpected argument \"%s\"; expected at most one file", argv[optind + 1]);
    }
    serve->options.file = argv[optind]; /* NULL behind the last */
    if (serve->options.against != NULL && !serve->check)
        return trouble("serve: --against needs --check: weir serve NEW --check --against OLD");
    if (!serve->check || serve->options.file != NULL) return STATUS_DONE;
    return trouble("serve: expected a file to --check; for example weir serve weir.yaml --check");
}

static int run(int argc, char **argv)
{
    struct serve serve = {0};
    const int status = read_arguments(&serve, argc, argv);
    if (status == ARGUMENTS_HELP) return STATUS_DONE;
    if (status != STATUS_DONE) return status;
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
        .option_count = OPTION_COUNT,
        .run = run,
    };
    return &serve_row;
}

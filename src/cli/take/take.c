/* SPDX-License-Identifier: MIT
   weir take: asks a limit that a file or an engine remembers, once, and runs a command when it may.

   What cannot be remembered is not allowed; the status says which of allowed, refused and trouble it was; a command
   that could not be started has used nothing.  Under a rate weir becomes the command; under a concurrent limit it
   stays, to renew what the command holds, see hold.c. */
#include "cli/take/take.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/signals.h"
#include "core/decide.h"
#include "plan/amount.h"
#include "plan/cost.h"

enum { STATUS_TRY_LATER = 75, STATUS_MAX = 255 };
enum { STATUS_USUAL = -1 };

/* A shorter lease could be over before it is renewed: on a busy machine, and where an engine takes its second to
   answer. */
static const uint64_t LEASE_LEAST_NS = UINT64_C(1000000000), LEASE_LEAST_ENGINE_NS = UINT64_C(5000000000);

/* ---- options ---- */

static bool read_wait(const struct option_row *row, const char *value, void *into)
{
    if (strcmp(value, "forever") != 0) return argument_time(row, value, into);
    *(uint64_t *)into = WEIR_FOREVER;
    return true;
}

static bool read_status(const struct option_row *row, const char *value, void *into)
{
    uint64_t number;
    if (!amount_count(value, &number) || number > STATUS_MAX) {
        trouble("--%s \"%s\": expected a whole number from 0 to %d", row->name, value, STATUS_MAX);
        return false;
    }
    *(int *)into = (int)number;
    return true;
}

#define AT(field) .at = offsetof(struct take, field)

static const struct option_row option_rows[] = {
    {"cost", 0, "N", "take N permits, all or none (1); or by unit: tokens=812,requests=2", argument_text, AT(cost)},
    {"wait", 0, "TIME", "wait up to this long for them, or \"forever\"", read_wait, AT(wait_ns), .words = "forever"},
    {"state", 0, "FILE", "keep usage in FILE", argument_text, AT(state)},
    {"engine", 0, "URL", "keep usage in Redis or Valkey, shared by all machines that use it", argument_text,
     AT(engine_url)},
    {"prefix", 0, "TEXT", "prefix of the keys in the engine (weir:)", argument_text, AT(prefix), .needs = "--engine"},
    {"password-file", 0, "FILE", "the engine's password is the first line of FILE", argument_text, AT(password_file),
     .needs = "--engine"},
    {"peek", 0, NULL, "report what would happen, and take nothing", argument_flag, AT(peek)},
    {"reset", 0, NULL, "take nothing, and forget the usage of KEY", argument_flag, AT(reset)},
    {"renew", 0, "ID", "take nothing, and renew the lease of ID, which weir take printed", argument_text, AT(renew)},
    {"release", 0, "ID", "take nothing, and release what ID holds", argument_text, AT(release)},
    {"lost-signal", 0, "NAME", "what tells a command that its lease is lost (TERM), or none", argument_word,
     AT(lost_word), .words = "TERM INT HUP QUIT USR1 USR2 STOP KILL none"},
    {"json", 0, NULL, "print the result as one JSON object", argument_flag, AT(json)},
    {"refused", 'E', "STATUS", "exit status of a refusal, 0 to 255 (1; of a command 75)", read_status,
     AT(refused_status)},
};

static int set_operands(struct take *take, int count, char **operands)
{
    if (count == 0) return trouble("take: expected a limit; for example weir take 3/h deploy");
    if (count > 2) {
        return trouble("take: unexpected argument \"%s\"; quote a limit that has spaces, put a command after --",
                       operands[2]);
    }
    take->limit = operands[0];
    take->key_text = operands[1]; /* NULL behind the last */
    if (count == 1 || strlen(operands[1]) - 1 < TAKE_KEY_MAX) return STATUS_DONE;
    return trouble("take: a key has 1 to %d bytes; without one the limit itself is the key", TAKE_KEY_MAX);
}

static int check_end(const struct take *take)
{
    const char *name = take->renew != NULL ? "renew" : "release";
    if (take->renew != NULL && take->release != NULL) return trouble("take: --renew and --release exclude each other");
    if (take->command != NULL || take->peek || take->json || take->reset || take->wait_ns != 0 || take->cost != NULL)
        return trouble("take: --%s takes nothing: it cannot be used with a command, --cost, --peek, --json, --reset or "
                       "--wait",
                       name);
    return STATUS_DONE;
}

static int check_together(const struct take *take)
{
    if (take->command != NULL && take->command[0] == NULL) {
        return trouble("take: expected a command after --; for example weir take 3/h deploy -- ./deploy.sh");
    }
    if (take->command != NULL && (take->peek || take->json)) {
        return trouble("take: --peek and --json cannot be used with a command");
    }
    if (take->reset && (take->command != NULL || take->peek || take->json || take->wait_ns != 0))
        return trouble("take: --reset takes nothing: it cannot be used with a command, --peek, --json or --wait");
    if (take->renew != NULL || take->release != NULL) return check_end(take);
    if (take->peek && take->wait_ns != 0) return trouble("take: --peek takes nothing, so it has nothing to --wait for");
    if (take->engine_url != NULL && take->state != NULL)
        return trouble("take: --state and --engine exclude each other: usage is kept in one of them");
    return STATUS_DONE;
}

static int read_arguments(struct take *take, int argc, char **argv)
{
    argc = arguments_split(argc, argv, &take->command);
    int status = arguments_read(take_command(), argc, argv, take);
    if (status != ARGUMENTS_END) return status;
    status = set_operands(take, argc - optind, argv + optind);
    if (status == STATUS_DONE) status = check_together(take);
    return status == STATUS_DONE ? ARGUMENTS_END : status;
}

static int read_cost(struct take *take)
{
    const struct plan *plan = plan_inside_const(&take->plan);
    weir_error error;
    uint64_t sum = 0;
    cost_alike(take->each, WEIR_LIMITS_MAX, 1);
    if (take->cost == NULL) return STATUS_DONE;
    if (!plan_costs(plan, COST_OPTION, take->cost, take->each, &error))
        return trouble("--cost \"%s\": %s", take->cost, error.message);
    for (uint64_t i = 0; i < plan->count; i++) sum |= take->each[i];
    return sum != 0 ? STATUS_DONE
                    : trouble("--cost \"%s\": expected a whole number from 1; --peek takes nothing", take->cost);
}

/* What only slots have, and what else slots need. */
static int check_slots(struct take *take)
{
    const struct plan *plan = plan_inside_const(&take->plan);
    const int holder = decide_holder(plan_rules(plan));
    const uint64_t least_ns = take->engine_url != NULL ? LEASE_LEAST_ENGINE_NS : LEASE_LEAST_NS;
    char text[64];
    struct writer writer = {text, sizeof text, 0};
    if (holder < 0 && (take->renew != NULL || take->release != NULL || take->lost_word != 0)) {
        return trouble("take: %s holds nothing: --renew, --release and --lost-signal are for a limit such as "
                       "'3 concurrent lease=1h'",
                       take->limit);
    }
    if (holder < 0) return STATUS_DONE;
    take->lease_ns = plan->limit[holder].time_ns;
    if (take->lost_word != 0 && take->command == NULL)
        return trouble("take: --lost-signal is for a command: put it after --");
    if (take->command == NULL || take->lease_ns >= least_ns) return STATUS_DONE;
    write_time(&writer, take->lease_ns);
    return trouble("take: lease=%s is too short to be renewed in time while a command runs; write lease=%ds or more",
                   text, (int)(least_ns / 1000000000));
}

static int read_limit(struct take *take)
{
    weir_error error;
    if (weir_plan_parse(&take->plan, take->limit, WEIR_ADMIT, &error) != 0) return limit_trouble(take->limit, &error);
    weir_plan_text(&take->plan, take->canonical, sizeof take->canonical);
    take->key = weir_key_text(take->key_text != NULL ? take->key_text : take->canonical);
    const int status = read_cost(take);
    return status == STATUS_DONE ? check_slots(take) : status;
}

/* ---- the answer ---- */

/* Already told; a command may end with any low status of its own. */
static int own_trouble(const struct take *take)
{
    return take->command != NULL ? STATUS_COMMAND_TROUBLE : STATUS_TROUBLE;
}

/* Returns only when there is no such command; then nothing was done, and nothing is used. */
static int become_command(struct take *take)
{
    const int why = command_become(take->command);
    take_give_back(take);
    return command_trouble(take->command, why);
}

/* before: the signals that were blocked when it began */
static int answer(struct take *take, const sigset_t *before)
{
    const bool allowed = weir_allowed(take->decision);
    const bool holds = take->lease_ns != 0;
    if (allowed && take->command != NULL) return holds ? take_hold(take, before) : become_command(take);
    if (allowed && holds && !take->peek && !take->json) printf("%" PRIu64 "\n", take->decision.end);
    if (take->json) take_print_json(take);
    if (!allowed && take->decision.verdict != WEIR_DENY) {
        take_print_never(take);
        return own_trouble(take);
    }
    if (take->peek && !take->json) take_print_peek(take);
    if (allowed) return STATUS_DONE;
    if (!take->peek && !take->json) take_print_refusal(take, stderr);
    if (take->refused_status != STATUS_USUAL) return take->refused_status;
    return take->command != NULL ? STATUS_TRY_LATER : STATUS_REFUSED;
}

static void close_all(struct take *take)
{
    weir_table_close(take->table);
    take_engine_close(take);
}

static int reset(struct take *take)
{
    bool forgotten = true;
    if (take->engine != NULL) forgotten = take_engine_forget(take);
    else if (take->table != NULL) weir_table_forget(take->table, &take->plan, take->key);
    close_all(take);
    return forgotten ? STATUS_DONE : STATUS_TROUBLE;
}

static int end(struct take *take)
{
    const int status = take_end(take);
    close_all(take);
    return status;
}

static int ask(struct take *take)
{
    sigset_t endings, before;
    int status = STATUS_DONE;
    /* What ends weir must not come between what is taken and the command that holds it. */
    take_ending_signals(&endings);
    sigprocmask(SIG_BLOCK, take->lease_ns != 0 ? &endings : NULL, &before);
    const int interrupted_by = take_decide(take);
    if (interrupted_by == 0) status = take->lost ? own_trouble(take) : answer(take, &before);
    close_all(take);
    if (interrupted_by != 0) signals_die(interrupted_by);
    return status;
}

static int run(int argc, char **argv)
{
    struct take take = {.refused_status = STATUS_USUAL};
    const int status = read_arguments(&take, argc, argv);
    if (status == STATUS_DONE) return STATUS_DONE; /* help was printed */
    if (status == ARGUMENTS_END && read_limit(&take) == STATUS_DONE && take_open(&take) == STATUS_DONE)
        return take.reset ? reset(&take) : take.renew != NULL || take.release != NULL ? end(&take) : ask(&take);
    close_all(&take);
    return own_trouble(&take);
}

const struct command *take_command(void)
{
    static const struct command take_row = {
        .name = "take",
        .synopsis = "LIMIT [KEY] [OPTION]... [-- COMMAND [ARGUMENT]...]",
        .summary = "take permits of a limit kept in a file or an engine, and run a command if granted",
        .details = "  weir take 3/h deploy -- ./deploy.sh       runs it, its exit status is returned\n"
                   "  weir take 3/h deploy && echo go\n"
                   "  weir take '1/min burst=1' mail --wait 10min -- ./send\n"
                   "  weir take 3/h deploy --peek\n"
                   "  weir take 3/h deploy --reset\n"
                   "  weir take 3/h deploy --engine redis://10.0.0.5 -- ./deploy.sh\n"
                   "  weir take '3 concurrent lease=1h' backup -- ./backup.sh    three at once, no more\n"
                   "\n"
                   "Exit status: 0 allowed, 1 refused, 2 error, or a cost that can never pass.  With a command: its\n"
                   "own, 128 more than a signal; lease lost 124, refused 75, error 125, not executable 126, not\n"
                   "found 127.\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &take_row;
}

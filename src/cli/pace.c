/* SPDX-License-Identifier: MIT
   pace.c - weir pace: does work at a rate, each piece started on its schedule.

   May touch: argv, the standard streams, the summary's file.  Promises: nothing starts early; the summary is printed
   whatever ended the work.  Leaves to others: the work (pace_lines.c, pace_commands.c). */
#include "cli/pace.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ending.h"
#include "core/algorithm.h"

enum { WORKERS_MAX = 10000, PIECE_MAX = 1 << 20 };

enum {
    OPTION_WORKERS,
    OPTION_NUL,
    OPTION_BYTES,
    OPTION_DROP,
    OPTION_KEEP_GOING,
    OPTION_GRAIN,
    OPTION_FOR,
    OPTION_LINES,
    OPTION_JSON,
    OPTION_SUMMARY,
    OPTION_RATE_FILE,
    OPTION_COUNT
};

static const struct option_help option_rows[OPTION_COUNT] = {
    [OPTION_WORKERS] = {"jobs", 'j', "N", "run up to N commands at once (1)"},
    [OPTION_NUL] = {"null", '0', NULL, "lines end in NUL instead of newline"},
    [OPTION_BYTES] = {"bytes", 0, NULL, "a line costs its size in bytes instead of 1"},
    [OPTION_DROP] = {"drop", 0, NULL, "skip lines whose place in the schedule has passed"},
    [OPTION_KEEP_GOING] = {"keep-going", 0, NULL, "go on when a command fails"},
    [OPTION_GRAIN] = {"grain", 0, "TIME", "sleep at least this long at a time (fewer wake-ups)"},
    [OPTION_FOR] = {"for", 0, "TIME", "stop after this time"},
    [OPTION_LINES] = {"count", 0, "N", "stop after N lines"},
    [OPTION_JSON] = {"json", 0, NULL, "the summary as one JSON object"},
    [OPTION_RATE_FILE] = {"rate-file", 0, "FILE", "follow the limit in FILE, also while running"},
    [OPTION_SUMMARY] = {"summary", 0, "FILE", "write the summary to FILE instead of stderr"},
};

bool pace_stopped(const struct pace *pace)
{
    return atom_load(&pace->stop) != 0;
}

void pace_input_trouble(struct pace *pace, enum input_state state)
{
    if (state == INPUT_FAILED) pace->status = trouble("standard input: %s", strerror(errno));
    if (state == INPUT_TOO_LONG) {
        pace->status = trouble("standard input: line %llu is longer than 256 MiB, or than memory",
                               (unsigned long long)pace->lines_taken + 1);
    }
}

void pace_print_summary(struct pace *pace, FILE *out)
{
    weir_stats stats;
    weir_read_stats(pace->limiter, &stats, sizeof stats);
    /* When all is done, what counts is the last start: nothing has been due since. */
    const uint64_t idle_ns = pace->ended ? weir_now().ns - pace->record.last_ns : 0;
    stats.late_now_ns = stats.late_now_ns > idle_ns ? stats.late_now_ns - idle_ns : 0;
    record_print(&pace->record, &stats, pace->json, out);
}

/* ---- options ---- */

static bool set_number(struct pace *pace, weir_options *options, int option, const char *value)
{
    if (option == OPTION_WORKERS) {
        pace->many_workers = true;
        return read_count_argument("jobs", value, WORKERS_MAX, &pace->workers);
    }
    if (option == OPTION_GRAIN) return read_time_argument("grain", value, &options->grain_ns);
    if (option == OPTION_FOR) return read_time_argument("for", value, &pace->for_ns);
    return read_count_argument("count", value, UINT64_MAX - 1, &pace->count_max);
}

static bool set_option(struct pace *pace, weir_options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_NUL:
        pace->input.delimiter = '\0';
        return true;
    case OPTION_BYTES:
        pace->bytes = true;
        return true;
    case OPTION_DROP:
        pace->drop = true;
        return true;
    case OPTION_KEEP_GOING:
        pace->keep_going = true;
        return true;
    case OPTION_JSON:
        pace->json = true;
        return true;
    case OPTION_RATE_FILE:
        pace->follow.path = value;
        return true;
    case OPTION_SUMMARY:
        pace->summary = value;
        return true;
    default:
        return set_number(pace, options, option, value);
    }
}

/* What comes behind "--" is the command's, whatever it looks like; returns how many arguments are ours. */
static int split_command(struct pace *pace, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0) continue;
        if (i + 1 < argc) pace->command = &argv[i + 1];
        argv[i] = NULL;
        return i;
    }
    return argc;
}

static bool set_operands(struct pace *pace, int argc, char **argv)
{
    /* A limit that looks like an option comes behind "--", and its command behind another. */
    if (optind == argc && pace->command != NULL && pace->follow.path == NULL) {
        pace->limit = pace->command[0];
        pace->command += pace->command[1] != NULL && strcmp(pace->command[1], "--") == 0 ? 2 : 1;
        if (pace->command[0] == NULL) pace->command = NULL;
    } else if (optind == argc && pace->follow.path != NULL) {
        pace->limit = NULL; /* it stands in the file */
    } else if (optind == argc) {
        trouble("pace: expected a limit; for example weir pace 1000/s");
        return false;
    } else {
        pace->limit = argv[optind];
    }
    if (optind + 1 < argc) {
        trouble("pace: what is \"%s\"? a limit with spaces goes in quotes, a command behind --", argv[optind + 1]);
        return false;
    }
    if (pace->command == NULL && (pace->many_workers || pace->keep_going)) {
        trouble("pace: -j and --keep-going are for commands; for example weir pace 5/s -j 4 -- curl -fsS {}");
        return false;
    }
    if (pace->command != NULL && pace->drop) {
        trouble("pace: --drop is for lines, not for commands");
        return false;
    }
    return true;
}

/* ARGUMENTS_END when the work can begin, or the status to leave with. */
static int read_arguments(struct pace *pace, weir_options *options, int argc, char **argv)
{
    const char *value;
    argc = split_command(pace, argc, argv);
    for (int option; (option = next_option(pace_command(), argc, argv, &value)) != ARGUMENTS_END;) {
        if (option == ARGUMENTS_HELP) return STATUS_DONE;
        if (option == ARGUMENTS_WRONG || !set_option(pace, options, option, value)) return STATUS_TROUBLE;
    }
    return set_operands(pace, argc, argv) ? ARGUMENTS_END : STATUS_TROUBLE;
}

/* ---- the limiter ---- */

/* A limit in the file goes before one on the command line, which is for as long as there is no file. */
static int choose_limit(struct pace *pace)
{
    if (pace->follow.path == NULL) return STATUS_DONE;
    const enum follow_state state = follow_look(&pace->follow);
    if (state == FOLLOW_CHANGED) {
        memcpy(pace->first, pace->follow.text, sizeof pace->first);
        pace->limit = pace->first;
    }
    if (state == FOLLOW_WRONG) return STATUS_TROUBLE;
    const int error = state == FOLLOW_MISSING ? errno : ENOENT;
    const char *reason = error != 0 ? strerror(error) : "not a file";
    if (pace->limit == NULL) return trouble("--rate-file %s: %s", pace->follow.path, reason);
    if (error != ENOENT) trouble("--rate-file %s: %s; %s goes on", pace->follow.path, reason, pace->limit);
    return STATUS_DONE;
}

const char *pace_limit_name(const struct pace *pace)
{
    return pace->follow.path == NULL ? pace->limit : "the limit in force";
}

void pace_follow(struct pace *pace)
{
    weir_plan plan;
    weir_error error;
    char text[FOLLOW_TEXT_MAX];
    const char *path = pace->follow.path;
    if (path == NULL || follow_look(&pace->follow) != FOLLOW_CHANGED) return;
    if (weir_plan_parse(&plan, pace->follow.text, WEIR_PACE, &error) != 0) {
        trouble("%s:%d:%d: %s; the limit before goes on", path, pace->follow.line, error.column, error.message);
        return;
    }
    if (weir_set_limit(pace->limiter, pace->follow.text, WEIR_KEEP, &error) != 0) {
        trouble("%s:%d: while running only the numbers can change, not the algorithm; the limit before goes on", path,
                pace->follow.line);
        return;
    }
    record_limit(&pace->record, plan_inside_const(&plan));
    weir_plan_text(&plan, text, sizeof text);
    if (!pace->json) fprintf(stderr, "%s\n", text);
}

static int open_limiter(struct pace *pace, const weir_options *options)
{
    weir_error error;
    if (choose_limit(pace) != STATUS_DONE) return STATUS_TROUBLE;
    const bool bad = weir_plan_parse(&pace->plan, pace->limit, WEIR_PACE, &error) != 0;
    if (bad && pace->limit == pace->first) {
        return trouble("%s:%d:%d: %s", pace->follow.path, pace->follow.line, error.column, error.message);
    }
    if (bad) return limit_trouble(pace->limit, &error);
    const struct plan *plan = plan_inside_const(&pace->plan);
    const bool hybrid = plan->count == 1 && plan->limit[0].algorithm == ALGORITHM_HYBRID;
    if (pace->drop && !hybrid) return trouble("pace: --drop needs one limit with a schedule (algorithm=hybrid)");
    if (weir_open(&pace->limiter, pace->limit, options, &error) != 0) return trouble("%s", error.message);
    return STATUS_DONE;
}

static void print_limit(const struct pace *pace)
{
    char text[2048];
    weir_plan_text(&pace->plan, text, sizeof text);
    if (!pace->json) fprintf(stderr, "%s\n", text);
}

static uint64_t size_of_input(void)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && status.st_size > at ? (uint64_t)(status.st_size - at) : 0;
}

/* ---- the end ---- */

static int write_summary(struct pace *pace)
{
    if (pace->summary == NULL) {
        pace_print_summary(pace, stderr);
        return STATUS_DONE;
    }
    FILE *out = pace->summary_file;
    pace_print_summary(pace, out);
    const bool bad = ferror(out) != 0 || fflush(out) != 0;
    const int why = errno;
    if (fclose(out) == 0 && !bad) return STATUS_DONE;
    return trouble("--summary %s: %s", pace->summary, strerror(bad ? why : errno));
}

static int finish(struct pace *pace)
{
    const int summary = write_summary(pace);
    const uint64_t stop = atom_load(&pace->stop);
    weir_close(pace->limiter);
    input_close(&pace->input);
    /* The same Ctrl-C has ended the commands, too: that is not their failure. */
    if (stop > 1 && summary == STATUS_DONE) die_of((int)stop - 1);
    if (pace->reader_gone && pace->status == STATUS_DONE && summary == STATUS_DONE) die_of(SIGPIPE);
    return pace->status != STATUS_DONE ? pace->status : summary;
}

static int run(int argc, char **argv)
{
    struct pace *pace = host_allocate(sizeof *pace);
    struct pace_watch watch = {.pace = NULL};
    weir_options options = WEIR_OPTIONS;
    if (pace == NULL) return trouble("no memory");
    options.use = WEIR_PACE;
    pace->workers = 1;
    pace->count_max = pace->for_ns = UINT64_MAX;
    input_open(&pace->input, STDIN_FILENO, '\n');
    host_mutex_open(&pace->input_mutex);
    int status = read_arguments(pace, &options, argc, argv);
    if (status == ARGUMENTS_END) status = open_limiter(pace, &options);
    if (pace->limiter != NULL && pace->summary != NULL) {
        pace->summary_file = fopen(pace->summary, "w");
        if (pace->summary_file == NULL) status = trouble("--summary %s: %s", pace->summary, strerror(errno));
    }
    if (pace->limiter != NULL && status == STATUS_DONE) {
        print_limit(pace);
        pace->size = size_of_input();
        if (pace->bytes && pace->command == NULL) pace->input.piece_max = PIECE_MAX;
        record_open(&pace->record, plan_inside_const(&pace->plan), pace->command != NULL ? "commands" : "lines");
        pace_watch_start(&watch, pace);
        if (pace->command != NULL) pace_commands(pace);
        else pace_lines(pace);
        pace_watch_end(&watch);
        pace->ended = true;
        status = finish(pace);
    } else {
        weir_close(pace->limiter);
    }
    host_free(pace);
    return status;
}

const struct command *pace_command(void)
{
    static const struct command pace_row = {
        .name = "pace",
        .synopsis = "LIMIT [OPTION]... [-- COMMAND [ARGUMENT|{}]...]",
        .summary = "let stdin's lines through, or run a command for each, at a rate",
        .details = "  seq 3000000 | weir pace 1000000/s > /dev/null\n"
                   "  weir pace 12000,1.1 < requests      12,000 a second; up to 1.1 times that while behind\n"
                   "  weir pace 10MiB/s --bytes < image > copy\n"
                   "  weir pace 5/s -j 4 -- curl -fsS https://example.test/{} < ids\n"
                   "\n"
                   "Exit status: 0 done, 2 trouble, or that of the first command that failed.  SIGINT and SIGTERM\n"
                   "end it with the summary; SIGUSR1 prints the summary and goes on.\n",
        .options = option_rows,
        .option_count = OPTION_COUNT,
        .run = run,
    };
    return &pace_row;
}

/* SPDX-License-Identifier: MIT
   weir pace: does work at a rate, each piece started on its schedule.

   Nothing starts early; the summary is printed whatever ended the work. */
#include "cli/pace/pace.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pace/bytes.h"
#include "cli/pace/schedule.h"
#include "cli/common/signals.h"
#include "api/limiter.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "plan/words.h"

enum { WORKERS_MAX = 10000, RATE_SIZE = 80 };

#define AT(field) .at = offsetof(struct pace, field)
#define NEEDS_AT "--at time"

/* Lines that end in NUL. */
static bool read_null(const struct option_row *row, const char *value, void *into)
{
    (void)row, (void)value;
    ((struct input *)into)->delimiter = '\0';
    return true;
}

static const struct option_row option_rows[] = {
    {"jobs", 'j', "N", "run up to N commands at once (1)", argument_count, AT(workers), .most = WORKERS_MAX},
    {"null", '0', NULL, "lines end in NUL instead of newline", read_null, AT(input)},
    {"bytes", 0, NULL, "a line costs its size in bytes (implied by a limit in bytes)", argument_flag, AT(bytes)},
    {"drop", 0, NULL, "drop lines that are late by more than the pool", argument_flag, AT(drop)},
    {"keep-going", 0, NULL, "go on when a command fails", argument_flag, AT(keep_going)},
    {"grace", 0, "TIME", "after a signal, terminate commands that run longer than this", argument_time, AT(grace_ns)},
    {"min-sleep", 0, "TIME", "sleep at least this long at a time (fewer wake-ups)", argument_time,
     AT(options.min_sleep_ns)},
    {"for", 0, "TIME", "stop this long after the first line", argument_time, AT(for_ns)},
    {"count", 0, "N", "stop after N lines", argument_count, AT(count_max)},
    {"json", 0, NULL, "the summary as one JSON object", argument_flag, AT(json)},
    {"rate-file", 0, "FILE", "read the limit from FILE, and follow its changes", argument_text, AT(follow.path)},
    {"profile", 0, "FILE", "read a limit that changes with time from FILE, one phase a line", argument_text,
     AT(profile_path)},
    {"quiet", 'q', NULL, "print errors only: no limit, no progress, no summary", argument_flag, AT(quiet)},
    {"summary", 0, "FILE", "write the summary to FILE instead of stderr", argument_text, AT(summary)},
    {"at", 0, "FIELD", "no limit: lines of a log start at the times in their FIELD; for example time", at_read_field,
     AT(at.time)},
    {"speed", 0, "N", "N times as fast as the log (1)", at_read_speed, AT(at.course), .needs = NEEDS_AT},
    {"gap-max", 0, "TIME", "cut longer gaps in the log to TIME", argument_time, AT(at.course.gap_max_ns),
     .needs = NEEDS_AT},
    {"skip-invalid", 0, NULL, "skip and count lines without a time", argument_flag, AT(at.skip_invalid),
     .needs = NEEDS_AT},
    {"format", 'f', "FORMAT", "combined, vhost_combined, common, json, csv, or nginx's (guessed)", argument_text,
     AT(at.format), .needs = NEEDS_AT, .words = "combined vhost_combined common json csv"},
    {"jobs-max", 'J', "MAX", "begin with -j workers, add one whenever a start would be late for want of one, up to MAX",
     argument_count, AT(workers_max), .most = WORKERS_MAX},
    {"think", 0, "TIME", "a worker waits so long after its command has ended", argument_time, AT(think_ns)},
    {"begin", 0, "TIME", "begin then: 2026-11-28T12:00:00Z, a Unix time, or \"next minute\"", pace_read_begin,
     AT(part)},
    {"part", 0, "PART", "2/5: every 5th start of the schedule, beginning with the 2nd", pace_read_part, AT(part),
     .needs = "--begin \"next minute\""},
    {"engine", 0, "URL", "share the schedule with all that use this Redis or Valkey and key", argument_text,
     AT(engine_url)},
    {"key", 0, "TEXT", "name of the schedule in the engine (the limit)", argument_text, AT(engine_key),
     .needs = "--engine"},
    {"prefix", 0, "TEXT", "prefix of the keys in the engine (weir:)", argument_text, AT(engine_prefix),
     .needs = "--engine"},
    {"password-file", 0, "FILE", "the engine's password is the first line of FILE", argument_text, AT(password_file),
     .needs = "--engine"},
    {"hgrm", 0, "FILE", "percentiles of response times (ms), as HdrHistogram and wrk2 print them", argument_text,
     AT(latency.hgrm)},
    {"hlog", 0, "FILE", "response and service times of each interval, a log of HdrHistogram", argument_text,
     AT(latency.hlog)},
    {"every", 0, "TIME", "intervals of --hlog (1s); with --json a line of JSON for each", argument_time,
     AT(latency.every_ns)},
    {"starts", 0, "FILE", "log each start as CSV: due_ns,start_ns,end_ns,status", argument_text,
     AT(latency.starts.path)},
    {"fail-late", 0, "BOUND", "exit 99 if starts were later: p99=50ms, or p50=1ms,max=1s", fail_read_late,
     AT(latency.fail)},
    {"fail-missed", 0, "N", "exit 99 if more than N starts were missed", fail_read_missed, AT(latency.fail)},
};

static const char mixed[] = "one limit counts bytes and another does not; for both, connect two weir pace with a pipe";

bool pace_stopped(const struct pace *pace)
{
    return atom_load(&pace->stop) != 0;
}

void pace_input_trouble(struct pace *pace, enum input_state state)
{
    if (pace->input_wrong || state == INPUT_END) return;
    pace->input_wrong = true;
    if (state == INPUT_FAILED) pace->status = trouble("standard input: %s", strerror(errno));
    if (state == INPUT_REFUSED) pace->status = STATUS_TROUBLE;
    if (state == INPUT_DAMAGED) pace->status = trouble("standard input: %s", pace->input.message);
    if (state == INPUT_TOO_LONG) {
        pace->status = trouble("standard input: line %llu is longer than 256 MiB or does not fit in memory",
                               (unsigned long long)pace->lines_taken + 1);
    }
}

void pace_stop(struct pace *pace, uint64_t why)
{
    uint64_t running = 0;
    atom_swap(&pace->stopped_ns, &running, weir_now().ns);
    atom_store(&pace->stop, why);
}

bool pace_over(const struct pace *pace, const weir_decision *decision)
{
    return decision->verdict == WEIR_DENY && atom_load(&pace->limiter->ends) != 0;
}

void pace_print_summary(struct pace *pace, FILE *out)
{
    const struct record_owed owed = pace_owed(pace);
    weir_latency latency;
    record_hold(&pace->record);
    if (pace->engine != NULL) pace->record.source.engine = pace_engine_figures(pace);
    record_end(&pace->record);
    weir_read_latency(pace->limiter, &latency, sizeof latency);
    record_print(&pace->record, &owed, pace->command != NULL ? &pace->outcomes : NULL, &latency, pace->json, out);
    if (!pace->json) pace_tell_missed(pace, owed.behind_ns, out);
}

/* ---- options ---- */

/* Lines start at the times in a log. */
static bool set_times(struct pace *pace, int argc, char **argv)
{
    static const char message[] = "pace: by --at the log says when lines start, so there is no ";
    if (optind < argc && access(argv[optind], F_OK) == 0) {
        trouble("pace: the log comes by standard input; for example weir pace --at %s < %s", pace->at.time,
                argv[optind]);
    } else if (optind < argc) {
        trouble("%slimit \"%s\"; for both: weir pace --at %s | weir pace '%s'", message, argv[optind], pace->at.time,
                argv[optind]);
    } else if (pace->follow.path != NULL) {
        trouble("%s--rate-file; for both: weir pace --at %s | weir pace --rate-file %s", message, pace->at.time,
                pace->follow.path);
    } else if (pace->profile_path != NULL) {
        trouble("%s--profile; for both: weir pace --at %s | weir pace --profile %s", message, pace->at.time,
                pace->profile_path);
    } else if (pace->part.number != 0 || pace->engine_url != NULL) {
        trouble("%sschedule to share by --part or --engine; give each machine a part of the log", message);
    } else if (pace->drop) {
        trouble("%spool that --drop could go by; late lines start at once", message);
    } else {
        pace->limit = "unlimited";
        pace->input.unpacks = true;
        return true;
    }
    return false;
}

/* What a command may name. */
static bool set_fields(struct pace *pace)
{
    bool fine = true;
    for (char **argument = pace->command; fine && argument != NULL && *argument != NULL; argument++) {
        fine = at_want(&pace->at, *argument);
    }
    return fine;
}

static bool set_limit(struct pace *pace, int argc, char **argv)
{
    /* A limit that looks like an option comes behind "--", and its command behind another. */
    const bool in_file = pace->follow.path != NULL || pace->profile_path != NULL;
    if (optind == argc && pace->command != NULL && !in_file) {
        pace->limit = pace->command[0];
        pace->command += pace->command[1] != NULL && strcmp(pace->command[1], "--") == 0 ? 2 : 1;
        if (pace->command[0] == NULL) pace->command = NULL;
    } else if (optind == argc && in_file) {
        pace->limit = NULL; /* it stands in the file */
    } else if (optind == argc) {
        trouble("pace: expected a limit; for example weir pace 1000/s");
        return false;
    } else {
        pace->limit = argv[optind];
    }
    if (pace->profile_path != NULL && (pace->limit != NULL || pace->follow.path != NULL)) {
        trouble("pace: the limit is in --profile %s; leave out %s", pace->profile_path,
                pace->limit != NULL ? pace->limit : "--rate-file");
        return false;
    }
    if (optind + 1 < argc) {
        trouble("pace: unexpected argument \"%s\"; quote a limit that has spaces, put a command after --",
                argv[optind + 1]);
        return false;
    }
    return true;
}

static bool set_operands(struct pace *pace, int argc, char **argv)
{
    const bool by_stamps = pace->at.time != NULL;
    if (by_stamps ? !set_times(pace, argc, argv) || !set_fields(pace) : !set_limit(pace, argc, argv)) return false;
    const bool for_commands = pace->workers != 0 || pace->workers_max != 0 || pace->think_ns != 0 || pace->keep_going ||
                              pace->grace_ns != UINT64_MAX;
    if (pace->command == NULL && for_commands) {
        trouble("pace: -j, -J, --think, --keep-going and --grace are for commands; "
                "for example weir pace 5/s -j 4 -- curl -fsS {}");
        return false;
    }
    if (pace->workers_max != 0 && pace->workers_max < most(pace->workers, 1)) {
        trouble("pace: -J %llu is less than -j %llu, with which it begins", (unsigned long long)pace->workers_max,
                (unsigned long long)pace->workers);
        return false;
    }
    if (pace->command != NULL && pace->drop) {
        trouble("pace: --drop is for lines, not for commands");
        return false;
    }
    return latency_fits(pace);
}

/* ARGUMENTS_END when the work can begin, or the status to leave with. */
static int read_arguments(struct pace *pace, int argc, char **argv)
{
    argc = arguments_split(argc, argv, &pace->command);
    if (pace->command != NULL && pace->command[0] == NULL) pace->command = NULL;
    const int status = arguments_read(pace_command(), argc, argv, pace);
    if (status != ARGUMENTS_END) return status;
    if (!set_operands(pace, argc, argv)) return STATUS_TROUBLE;
    pace->at.quiet = pace->json || pace->quiet;
    if (pace->workers == 0) pace->workers = 1;
    return ARGUMENTS_END;
}

/* ---- the limiter ---- */

/* A limit in the file goes before one on the command line, which is for as long as there is no file. */
static int choose_limit(struct pace *pace)
{
    if (pace->profile_path != NULL) {
        pace->limit = pace->profile.text;
        return profile_file_read(&pace->profile, pace->profile_path) ? STATUS_DONE : STATUS_TROUBLE;
    }
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
    if (error != ENOENT) trouble("--rate-file %s: %s; %s stays in force", pace->follow.path, reason, pace->limit);
    return STATUS_DONE;
}

const char *pace_limit_name(const struct pace *pace)
{
    return pace->follow.path == NULL ? pace->limit : "the limit in force";
}

/* A line is dropped whole, or not in small pieces at least; a stamp is a whole line's. */
static uint64_t piece_of(const struct pace *pace, const struct plan *plan)
{
    if (pace->at.time != NULL) return SIZE_MAX;
    return pace->drop ? PACE_PIECE_MAX : pace_piece_of(plan);
}

/* What counts lines cannot go on by bytes; says why not. */
static bool keeps_unit(const struct pace *pace, const struct plan *plan)
{
    char rate[RATE_SIZE] = "";
    struct writer writer = {rate, sizeof rate, 0};
    const enum pace_unit unit = pace_unit_of(plan);
    const char *path = pace->follow.path;
    const int line = pace->follow.line;
    if (unit == PACE_UNIT_ANY || unit == (pace->bytes ? PACE_UNIT_BYTES : PACE_UNIT_LINES)) return true;
    if (unit == PACE_UNIT_MIXED) {
        trouble("%s:%d: %s; the previous limit stays in force", path, line, mixed);
    } else if (pace->bytes) {
        pace_in_bytes(plan, &writer);
        trouble("%s:%d: while running the unit cannot change: bytes are counted, write %s; the previous "
                "limit stays in force",
                path, line, rate);
    } else {
        trouble("%s:%d: while running the unit cannot change: lines are counted, not bytes; the previous "
                "limit stays in force",
                path, line);
    }
    return false;
}

/* No waiting line would ever start. */
static bool is_for_ever(const struct plan *plan)
{
    bool none = false;
    for (uint64_t i = 0; i < plan->count; i++) none = none || plan->limit[i].algorithm == ALGORITHM_NONE;
    return none;
}

static void follow_pause(struct pace *pace)
{
    weir_set_limit(pace->limiter, pace->follow.text, WEIR_KEEP, NULL);
    weir_limit_text(pace->limiter, pace->news, sizeof pace->news);
    pace->has_news = !pace->json && !pace->quiet;
}

void pace_follow(struct pace *pace)
{
    weir_plan plan;
    weir_error error;
    const char *path = pace->follow.path;
    if (path == NULL || follow_look(&pace->follow) != FOLLOW_CHANGED) return;
    if (limiter_is_pause(pace->follow.text)) {
        follow_pause(pace);
        return;
    }
    if (weir_plan_parse(&plan, pace->follow.text, WEIR_PACE, &error) != 0) {
        size_t edits = NEAR_NOTHING;
        const bool pause = words_is_nearer("pause", pace->follow.text, strcspn(pace->follow.text, " \t"), &edits);
        trouble("%s:%d:%d: %s; the previous limit stays in force", path, pace->follow.line, error.column,
                pause ? "did you mean pause?" : error.message);
        return;
    }
    if (is_for_ever(plan_inside_const(&plan))) {
        trouble("%s:%d: none would never let anything through; to stop for a while write pause; the previous "
                "limit stays in force",
                path, pace->follow.line);
        return;
    }
    if (!keeps_unit(pace, plan_inside_const(&plan))) return;
    /* No limit may meet a piece that is larger than it ever lets through. */
    const uint64_t piece_before = atom_load(&pace->piece_max), piece = piece_of(pace, plan_inside_const(&plan));
    atom_store(&pace->piece_max, least(piece_before, piece));
    /* No start is recorded by the wrong limit meanwhile. */
    record_hold(&pace->record);
    const uint64_t before_ns = weir_now().ns;
    const bool changed = weir_set_limit(pace->limiter, pace->follow.text, WEIR_KEEP, &error) == 0;
    if (changed) record_limit(&pace->record, plan_inside_const(&plan), before_ns, weir_now().ns);
    record_end(&pace->record);
    atom_store(&pace->piece_max, changed ? piece : piece_before);
    if (!changed) {
        trouble("%s:%d: while running only the numbers can change, not the algorithm; the previous limit stays in "
                "force",
                path, pace->follow.line);
        return;
    }
    weir_plan_text(&plan, pace->news, sizeof pace->news);
    pace->has_news = !pace->json && !pace->quiet;
}

/* A unit of bytes says that a line costs its size; without one --bytes would make few bytes of many lines. */
static int choose_unit(struct pace *pace)
{
    char rate[RATE_SIZE] = "", place[FOLLOW_TEXT_MAX] = "pace";
    struct writer writer = {rate, sizeof rate, 0};
    const struct plan *plan = plan_inside_const(&pace->plan);
    const enum pace_unit unit = pace_unit_of(plan);
    if (pace->limit == pace->first) snprintf(place, sizeof place, "%s:%d", pace->follow.path, pace->follow.line);
    if (unit == PACE_UNIT_MIXED) return trouble("%s: %s", place, mixed);
    if (unit == PACE_UNIT_LINES && pace->bytes) {
        pace_in_bytes(plan, &writer);
        return trouble("%s: --bytes needs a limit in bytes; write %s", place, rate);
    }
    if (unit == PACE_UNIT_BYTES) pace->bytes = true;
    return STATUS_DONE;
}

/* Nobody would release what a line holds. */
static int check_slots(const struct pace *pace)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    const int holder = decide_holder(plan_rules(plan));
    if (holder < 0) return STATUS_DONE;
    return trouble("pace: %s: a line holds no slot; for so many commands at once write -j %llu, for all processes "
                   "together weir take '%s' KEY --wait forever -- COMMAND",
                   pace->limit, (unsigned long long)plan->limit[holder].count.digits, pace->limit);
}

static bool is_unlimited(const struct plan *plan)
{
    uint64_t permits, period_ns;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (limit_rate(&plan->limit[i], &permits, &period_ns)) return false;
    }
    return true;
}

static int open_limiter(struct pace *pace)
{
    weir_error error;
    if (choose_limit(pace) != STATUS_DONE) return STATUS_TROUBLE;
    const bool bad = weir_plan_parse(&pace->plan, pace->limit, WEIR_PACE, &error) != 0;
    if (bad && pace->limit == pace->first) {
        return trouble("%s:%d:%d: %s", pace->follow.path, pace->follow.line, error.column, error.message);
    }
    if (bad && pace->limit == pace->profile.text)
        return profile_file_trouble(&pace->profile, error.column, error.message);
    if (bad) return limit_trouble(pace->limit, &error);
    if (check_slots(pace) != STATUS_DONE || choose_unit(pace) != STATUS_DONE) return STATUS_TROUBLE;
    const struct plan *plan = plan_inside_const(&pace->plan);
    const bool hybrid = plan->count == 1 && plan->limit[0].algorithm == ALGORITHM_HYBRID;
    if (pace->drop && !hybrid) return trouble("pace: --drop needs one limit with a schedule (algorithm=hybrid)");
    if (pace->workers_max != 0 && pace->at.time == NULL && is_unlimited(plan)) {
        return trouble("pace: %s: no start is ever late, so -J has nothing to go by; write -j %llu", pace->limit,
                       (unsigned long long)pace->workers_max);
    }
    if (pace_open_part(pace) != STATUS_DONE) return STATUS_TROUBLE;
    if (pace->engine_url != NULL && pace_engine_open(pace) != STATUS_DONE) return STATUS_TROUBLE;
    const char *own = pace->engine_url != NULL ? "unlimited" : pace->limit; /* the engine has the limit */
    if (weir_open(&pace->limiter, own, &pace->options, &error) != 0) return trouble("%s", error.message);
    return STATUS_DONE;
}

/* at the log's time, 10 times as fast, gaps cut to 10s */
static void write_times(const struct pace *pace, struct writer *writer)
{
    const struct at_course *course = &pace->at.course;
    uint32_t places = 0;
    while (power_of_ten(places) < course->tens) places++;
    write_text(writer, "at the log's ");
    write_text(writer, pace->at.time);
    if (course->digits != course->tens) {
        write_text(writer, ", ");
        write_decimal(writer, course->digits, places);
        write_text(writer, " times as fast");
    }
    if (course->gap_max_ns == UINT64_MAX) return;
    write_text(writer, ", gaps cut to ");
    write_time(writer, course->gap_max_ns);
}

static void print_limit(struct pace *pace)
{
    char text[2048];
    struct writer writer = {text, sizeof text, 0};
    weir_plan_text(&pace->plan, text, sizeof text);
    if (pace->at.time != NULL) write_times(pace, &writer);
    const bool told = !pace->json && !pace->quiet;
    if (told) fprintf(stderr, "%s\n", text);
    if (told && pace->engine == NULL) pace_tell_slept(pace, stderr);
    if (told) pace_tell_part(pace, stderr);
    pace->told_ns = weir_now().ns;
}

/* 0 for what is not known: so much of a compressed log is not what its lines come to. */
static uint64_t size_of_input(const struct input *input)
{
    char first[16];
    bool more;
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    const ssize_t got = input->unpacks ? pread(STDIN_FILENO, first, sizeof first, at) : 0;
    if (got > 0 && unpack_format_of(first, (size_t)got, &more) != NULL) return 0;
    return at >= 0 && status.st_size > at ? (uint64_t)(status.st_size - at) : 0;
}

/* ---- the end ---- */

static int write_summary(struct pace *pace)
{
    if (pace->summary == NULL) {
        if (!pace->quiet) pace_print_summary(pace, stderr);
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
    if (at_unreadable(&pace->at)) pace->status = STATUS_TROUBLE;
    const int latency = latency_close(pace);
    const int summary = write_summary(pace);
    const uint64_t stop = atom_load(&pace->stop);
    pace_engine_close(pace);
    weir_close(pace->limiter);
    phase_record_close(pace->record.phases);
    input_close(&pace->input);
    at_close(&pace->at);
    /* The same Ctrl-C has ended the commands, too: that is not their failure. */
    if (stop > 1 && summary == STATUS_DONE) signals_die((int)stop - 1);
    if (pace->reader_gone && pace->status == STATUS_DONE && summary == STATUS_DONE) signals_die(SIGPIPE);
    if (pace->status != STATUS_DONE) return pace->status;
    return summary != STATUS_DONE ? summary : latency;
}

static int run(int argc, char **argv)
{
    struct pace *pace = host_allocate(sizeof *pace);
    struct pace_watch watch = {.pace = NULL};
    if (pace == NULL) return trouble("no memory");
    pace->options = (weir_options)WEIR_OPTIONS;
    pace->options.use = WEIR_PACE;
    pace->count_max = pace->for_ns = pace->grace_ns = pace->at.course.gap_max_ns = UINT64_MAX;
    pace->at.course.digits = pace->at.course.tens = 1;
    input_open(&pace->input, STDIN_FILENO, '\n');
    host_mutex_open(&pace->input_mutex);
    host_mutex_open(&pace->crew_mutex);
    int status = read_arguments(pace, argc, argv);
    if (status == ARGUMENTS_END) status = open_limiter(pace);
    if (pace->limiter != NULL && pace->summary != NULL) {
        pace->summary_file = fopen(pace->summary, "w");
        if (pace->summary_file == NULL) status = trouble("--summary %s: %s", pace->summary, strerror(errno));
    }
    if (pace->limiter != NULL && status == STATUS_DONE && !latency_open(pace)) status = STATUS_TROUBLE;
    if (pace->limiter != NULL && status == STATUS_DONE) {
        atom_store(&pace->piece_max, piece_of(pace, plan_inside_const(&pace->plan)));
        print_limit(pace);
        pace->size = size_of_input(&pace->input);
        pace->record.source.part = pace->part.number;
        pace->record.source.parts = pace->part.of;
        record_open(&pace->record, plan_inside_const(&pace->plan), pace->command != NULL ? "commands" : "lines");
        pace->record.in_bytes = pace->bytes;
        if (pace->part.of == 0) pace->record.phases = phase_record_open(&pace->plan);
        pace->record.by_stamps = pace->at.time != NULL;
        outcomes_open(&pace->outcomes, pace->workers, pace->workers_max);
        pace_watch_start(&watch, pace);
        pace_await_begin(pace);
        if (pace->part.begin_ns != 0) pace->latency.starts.begun_ns = pace->part.begin_ns;
        if (pace->command != NULL) pace_commands(pace);
        else pace_lines(pace);
        pace_watch_end(&watch);
        status = finish(pace);
    } else {
        pace_engine_close(pace);
        weir_close(pace->limiter);
        at_close(&pace->at);
    }
    host_free(pace);
    return status;
}

const struct command *pace_command(void)
{
    static const struct command pace_row = {
        .name = "pace",
        .synopsis = "LIMIT|--at FIELD [OPTION]... [-- COMMAND [ARGUMENT|{}]...]",
        .summary = "let stdin's lines through, or run a command for each, at a rate or at the times in a log",
        .details = "  seq 3000000 | weir pace 1000000/s > /dev/null\n"
                   "  weir pace 12000,1.1 < requests      12,000 a second; up to 1.1 times that while behind\n"
                   "  weir pace 10MiB/s < image > copy    a unit of bytes: --bytes is implied\n"
                   "  weir pace 5/s -j 4 -- curl -fsS https://example.test/{} < ids\n"
                   "  weir pace --at time --speed 10 < access.log > /dev/null\n"
                   "  weir pace --at time -j 50 -- curl -fsSgo /dev/null http://127.0.0.1{uri} < access.log\n"
                   "\n"
                   "Exit status: 0 done, 2 error, that of the first command that failed, or else 99 if starts were\n"
                   "late or missed beyond a --fail-... option.  On SIGINT or SIGTERM no more are started, running\n"
                   "commands are waited for (not on a second signal), and the summary is printed.  SIGUSR1 prints the\n"
                   "summary without stopping.\n",
        .options = option_rows,
        .option_count = sizeof option_rows / sizeof option_rows[0],
        .run = run,
    };
    return &pace_row;
}

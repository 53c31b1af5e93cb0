/* SPDX-License-Identifier: MIT
   The parts of weir pace.

       pace.c      options, the limiter, the end      lines.c      stdin's lines to stdout
       progress.c  the live line, signals, --for      commands.c   a command for each line
       schedule.c  when what is next may start        bytes.c      what a limit counts, pieces of lines
       at.c        ... by the stamps of a log         told.c       what a limit loses, and what to write instead
       part.c      ... of a part: --part, --begin     engine.c     ... of an engine's schedule
       latency     files of latencies, intervals, what must not happen
       profile     a limit that changes with time: its file, and what happened in each phase */
#ifndef WEIR_CLI_PACE_PACE_H
#define WEIR_CLI_PACE_PACE_H

#include <signal.h>

#include "cli/common/arguments.h"
#include "cli/pace/at.h"
#include "cli/pace/follow.h"
#include "cli/pace/input.h"
#include "cli/pace/latency/latency.h"
#include "cli/pace/profile/profile_file.h"
#include "cli/pace/record.h"
#include "share/atomic.h"

/* --part K/N, --begin: every Nth start of a schedule that begins at a time of the wall clock; see part.c. */
struct pace_part {
    uint64_t number, of;    /* of 0: the limiter's own schedule */
    uint64_t begin_unix_ns; /* 0: the schedule begins with the first line ... */
    uint64_t begin_ns;      /* ... or then; known shortly before */
    struct host_mutex mutex;
    bool begun;
    uint64_t before; /* permits of the others, before our next one */
};

struct pace_engine;

/* What waits for something else looks so often for a stop, and a signal, at least. */
enum { PACE_LOOK_NS = 100000000 };

struct pace {
    /* as asked for */
    const char *limit;
    char **command;   /* NULL: pass the lines on */
    uint64_t workers; /* 0, until the options are read: not given */
    uint64_t count_max, for_ns;
    uint64_t grace_ns; /* after a signal commands are waited for so long */
    bool bytes, drop, keep_going, json, quiet;
    weir_options options; /* --min-sleep */
    const char *summary;
    FILE *summary_file;          /* open when a summary was asked for */
    struct at at;                /* --at ... */
    struct follow follow;        /* --rate-file ... */
    char first[FOLLOW_TEXT_MAX]; /* ... and the limit that it began with */
    const char *profile_path;    /* --profile ... */
    struct profile_file profile; /* ... and what is in it */

    /* the limit in force, when it has changed and nobody was told yet; the watching thread's */
    char news[FOLLOW_TEXT_MAX];
    bool has_news;
    uint64_t told_ns; /* when somebody was told last */

    weir_plan plan;
    weir_limiter *limiter;
    struct record record;
    struct outcomes outcomes; /* of commands */
    struct latency latency;
    struct input input;
    struct host_mutex input_mutex; /* commands: one worker reads at a time */
    uint64_t arrived_ns;           /* no line that is known was there before */
    struct atom idle_ns;           /* since when no line waits; 0: one may */
    struct atom stopped_ns;        /* 0: not yet */
    uint64_t lines_taken;
    uint64_t lines_passed;
    struct atom piece_max; /* of the limit in force; the input's follows */
    uint64_t size;         /* bytes of the input, 0 when not known */

    /* how it ended; written under the input's mutex or by the one thread there is */
    int status;
    bool reader_gone;
    bool input_wrong; /* and it was said */
    struct atom stop; /* 1: no further line; the signal number + 1 when a signal asked for it */

    struct pace_crew *crew; /* commands: its workers; NULL before they begin and when they have ended */
    struct host_mutex crew_mutex;

    struct pace_part part;
    const char *engine_url, *engine_key, *engine_prefix, *password_file; /* --engine ..., or NULL */
    struct pace_engine *engine;
    uint64_t workers_max; /* -J; 0: no more than -j */
    uint64_t think_ns;
};

/* [one thread] Each works until the input ends or something asks to stop; sets status. */
void pace_lines(struct pace *pace);
void pace_commands(struct pace *pace);

/* Any thread, as often as it likes: commands that run are no longer waited for.  With `terminate` each is sent SIGTERM
   as its worker leaves it. */
void pace_commands_leave(struct pace *pace, bool terminate);

/* The thread that watches: shows the live line, waits for signals and for the end of --for. */
struct pace_watch {
    pthread_t thread, worker;
    struct pace *pace;
    struct atom over;
};
void pace_watch_start(struct pace_watch *watch, struct pace *pace);
void pace_watch_end(struct pace_watch *watch);

/* Readers of options, into a struct pace_part. */
argument_reader pace_read_part, pace_read_begin;

void pace_print_summary(struct pace *pace, FILE *out);
bool pace_stopped(const struct pace *pace);

/* Was this the refusal of a profile that has come to its end?  Then the work is done, but for what has a start. */
bool pace_over(const struct pace *pace, const weir_decision *decision);

/* No further line is started; why as in pace->stop. */
void pace_stop(struct pace *pace, uint64_t why);

/* The limit that has come to stand in the rate file, put in force; the one before goes on when that fails. */
void pace_follow(struct pace *pace);

/* Where a thread that sleeps cannot keep up with the limit: how much it gets, and what to write instead. */
void pace_tell_slept(const struct pace *pace, FILE *out);

/* For messages: a limit that is followed may be another by now. */
const char *pace_limit_name(const struct pace *pace);

/* Prints what is wrong with the input; sets status. */
void pace_input_trouble(struct pace *pace, enum input_state state);

/* Behind the summary: how much was missed for good, and what to write so that it is made up for. */
void pace_tell_missed(const struct pace *pace, uint64_t behind_ns, FILE *out);

#endif

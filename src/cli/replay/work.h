/* SPDX-License-Identifier: MIT
   The parts of weir replay, and what passes between them.

       replay.c  options, the limits, the end          result.c    counts to shares and percentiles
       read.c    lines to requests, in order of time   each.c      verdicts, back in the log's order
       decide.c  requests to verdicts and counts       progress.c  the line that shows how far it is
       fleet.c   the same requests at many servers; see fleet/fleet.h
       charge.c  what a followed log gains, to a running service; see charge.h */
#ifndef WEIR_CLI_REPLAY_WORK_H
#define WEIR_CLI_REPLAY_WORK_H

#include "cli/common/arguments.h"
#include "cli/common/json_file.h"
#include "cli/common/rows.h"
#include "cli/replay/candidate.h"
#include "cli/replay/charge.h"
#include "cli/replay/fleet/fleet.h"
#include "cli/replay/log/clients.h"
#include "cli/replay/log/key.h"
#include "cli/replay/log/order.h"
#include "cli/replay/log/source.h"
#include "cli/replay/replay.h"
#include "format/log/accesslog.h"

enum { REPLAY_SECOND_NS = 1000000000, REPLAY_STEP_AT_FIRST_NS = REPLAY_SECOND_NS / 8, REPLAY_SHOWN_MAX = 3 };

struct replay_options {
    const char *limit[REPLAY_LIMITS_MAX];
    int limits;
    const char *key, *cost, *format, *time, *html;
    const char *charge, *charge_limit, *password_file; /* a URL; NULL: nobody is to be charged */
    char *const *log;
    int logs;
    double spare, fail_over; /* per cent; fail_over below 0: not asked for */
    bool stamps_start, stamps_said, follow, strict, quiet, json, each;
    struct fleet_options fleet;
};

/* Of a client: how many requests it sent, and the most in a second and a minute of the clock. */
struct usage {
    uint32_t requests;
    uint32_t second, in_second, second_max;
    uint32_t minute, in_minute, minute_max;
};

/* Requests as they were read, whose clients are not looked up yet: many at once are, see clients.h. */
enum { WAITING_MAX = 32 };

struct waiting {
    struct {
        struct order_entry entry;
        uint64_t stamp_ns, duration_ns;
        size_t key, key_size; /* in keys */
        uint32_t tag;
    } request[WAITING_MAX];
    int count;
    char *keys;
    size_t keys_used, keys_size;
};

/* Requests in order of time whose turn has come: those of one second where stamps are whole seconds, else as many as
   it takes for the memory of the next ones to be fetched while one is decided. */
struct batch {
    struct order_entry *entry;
    size_t count, size;
};

/* The verdicts of a line, until those of all lines before are there. */
struct outcome {
    uint64_t time_ns;
    uint32_t client;
    bool decided;
};

struct each {
    struct outcome *line;              /* a ring */
    struct candidate_verdict *verdict; /* a row for each line */
    uint64_t first;                    /* line that is printed next */
    size_t size;
    struct json_file json;
};

struct progress {
    bool on, colour, dirty;
    uint64_t at_ns, requests; /* when it was shown last, and how many there were then */
};

struct replay {
    struct replay_options options;
    struct source source;
    struct accesslog log;
    char *first_line; /* the log's format may refer to it, */
    char *format;     /* and to this */
    bool log_open;
    uint64_t opened; /* of the source, when the last line was read */
    int cost_field;
    struct key key;
    struct waiting waiting;
    struct order order;
    struct clients clients;
    struct rows usage;
    struct candidate *candidate; /* options.limits of them */
    struct batch batch;
    bool whole_seconds;    /* stamps say no more: requests are also spread over their second */
    struct each *each;     /* NULL: nobody asked */
    struct fleet fleet;    /* of no nodes: nobody asked */
    struct charge *charge; /* NULL: nobody asked */
    struct progress progress;
    uint64_t requests_read, malformed_shown;
    int status, signal; /* why it ended */
    int incomplete;     /* a log could not be read to its end; the others were */
    struct replay_result result;
    char key_name[256];
    char *names; /* keys that the result refers to */
};

/* ---- read.c ---- */

/* Reads all logs, or until something stops it: sets status and signal. */
void replay_read(struct replay *replay);

/* ---- decide.c ---- */

/* False: no memory. */
bool replay_decide(struct replay *replay, const struct order_entry *entry);
bool replay_decide_rest(struct replay *replay);

/* ---- each.c ---- */

/* False: no memory. */
bool each_open(struct replay *replay);
void each_close(struct replay *replay);
bool each_reach(struct replay *replay, uint64_t line);
struct candidate_verdict *each_verdict(struct replay *replay, const struct order_entry *entry);
void each_print(struct replay *replay);

/* ---- result.c ---- */

/* False: no memory. */
bool replay_conclude(struct replay *replay);

/* ---- progress.c ---- */
void progress_open(struct replay *replay);
void progress_show(struct replay *replay);
void progress_clear(struct replay *replay);

#endif

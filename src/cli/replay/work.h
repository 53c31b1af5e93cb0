/* SPDX-License-Identifier: MIT
   The parts of weir replay, and what passes between them.

       replay.c  options, the limits, the end        result.c    counts to shares and percentiles
       read.c    lines to blocks of requests         each.c      verdicts, back in the log's order
       blocks.c  blocks to requests in their order   progress.c  the line that shows how far it is
       decide.c  requests to verdicts and counts       running.c  how many of them run at once
       fleet.c   the same requests at many servers; see fleet/fleet.h
       tenants   guarantees for those who share a limit; see tenants/tenants.h
       charge.c  what a followed log gains, to a running service; see charge.h
       cost.c    --cost */
#ifndef WEIR_CLI_REPLAY_WORK_H
#define WEIR_CLI_REPLAY_WORK_H

#include "cli/common/arguments.h"
#include "cli/common/json_file.h"
#include "cli/common/rows.h"
#include "cli/log/format.h"
#include "cli/replay/candidate.h"
#include "cli/replay/charge.h"
#include "cli/replay/fleet/fleet.h"
#include "cli/replay/log/clients.h"
#include "cli/replay/log/key.h"
#include "cli/replay/log/order.h"
#include "cli/replay/log/source.h"
#include "cli/replay/replay.h"

enum { REPLAY_SECOND_NS = 1000000000, REPLAY_STEP_AT_FIRST_NS = REPLAY_SECOND_NS / 8, REPLAY_SHOWN_MAX = 3 };

enum { NOTE_SIZE = 4608 /* the name of a log, and why */ };

enum { TENANTS_WITH, TENANTS_WITHOUT, TENANTS_BOTH }; /* the limits of weir replay --tenant */

enum { TIMESTAMPS_GUESSED, TIMESTAMPS_START, TIMESTAMPS_END };

struct replay_options {
    const char *limit[REPLAY_LIMITS_MAX];
    int limits;
    const char *key, *format, *time, *duration, *html;
    const char *cost, *cost_unit; /* a field, and what it counts; NULL: all limits are charged it */
    size_t cost_unit_size;
    const char *charge, *charge_limit, *password_file; /* a URL; NULL: nobody is to be charged */
    char *const *log;
    int logs;
    double unaffected, fail_above; /* per cent; fail_above below 0: not asked for */
    unsigned timestamps;           /* TIMESTAMPS_START ... */
    bool follow, strict, quiet, json, each;
    struct fleet_options fleet;
    const char *tenant; /* the field that names them; NULL: nobody asked */
    struct tenants_options tenants;
};

/* Of a client: how many requests it sent, and the most in a second and a minute of the clock. */
struct usage {
    uint32_t requests;
    uint32_t second, in_second, second_max;
    uint32_t minute, in_minute, minute_max;
};

/* A request as it was read; its client is not looked up yet. */
struct request {
    uint64_t time_ns;               /* when it came */
    uint64_t stamp_ns, duration_ns; /* as its line says; no duration where the stamp is the start */
    uint64_t runs_ns;               /* the duration, also there */
    uint64_t cost;
    uint32_t key, key_size; /* in the block's keys */
    uint32_t tag;           /* of the key, see clients.h */
};

/* What one reading of the log came to, and at most one thing to tell, which is told behind its requests.  Filled by the
   reader, then used by whoever decides: never by both. */
struct block {
    struct request *request;
    size_t count, size, timed; /* timed: lines with a duration */
    char *keys;
    size_t keys_used, keys_size;
    uint64_t resolution_ns; /* of the first request's stamp */
    bool starts;            /* it is the start of that request, */
    bool has_duration;      /* and its line has the duration */
    bool no_memory;
    int status, incomplete; /* nothing comes behind it; a log could not be read to its end */
    enum source_state state;
    uint64_t malformed, bytes_read; /* bytes: of all logs so far */
    char note[NOTE_SIZE];           /* empty: nothing to tell */
};

/* Lines to blocks.  While a thread reads, nobody else looks at what changes here. */
struct reader {
    const struct replay_options *options;
    struct source source;
    bool lines_left; /* of what the source has read */
    struct log_format format;
    bool log_open;
    uint64_t opened; /* of the source, when the last line was read */
    int cost_field;
    bool needs_durations; /* a limit counts what runs at once */
    struct key key;
    struct secret secret; /* of the clients' */
    uint64_t malformed_shown;
    struct charge *charge; /* NULL: nobody asked */
};

/* Requests in order of time whose turn has come: those of one second where stamps are whole seconds, else as many as
   it takes for the memory of the next ones to be fetched while one is decided. */
struct batch {
    struct order_entry *entry;
    uint16_t *refused; /* of each entry, a bit for each limit */
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
    struct reader reader;
    struct order order;
    struct clients clients;
    struct rows usage;
    struct running *running;     /* NULL: no limit counts what runs at once */
    struct candidate *candidate; /* options.limits of them */
    struct batch batch;
    bool whole_seconds;               /* stamps say no more: requests are also spread over their second */
    struct each *each;                /* NULL: nobody asked */
    struct fleet fleet;               /* of no nodes: nobody asked */
    struct tenants *tenants;          /* NULL: nobody asked */
    char *tenants_text[TENANTS_BOTH]; /* the limit with them, and without */
    struct progress progress;
    uint64_t requests_read, requests_timed, bytes_read;
    int idle;           /* how often in turn nothing had come */
    int status, signal; /* why it ended */
    int incomplete;     /* a log could not be read to its end; the others were */
    struct replay_result result;
    char key_name[256];
    char *names; /* keys that the result refers to */
};

/* ---- read.c ---- */

/* A limit counts what runs at once, and this log does not say how long requests took; returns STATUS_TROUBLE. */
int read_lacks_durations(const char *why);

/* Fills the block with what comes next.  Until the first log is open it may print what is wrong with its format; see
   log_open. */
void read_block(struct reader *reader, struct block *block);

/* Nothing comes behind it. */
bool read_is_last(const struct block *block);

/* ---- blocks.c ---- */

/* Reads all logs, or until something stops it: sets status and signal. */
void replay_read(struct replay *replay);

/* ---- decide.c ---- */

/* False: no memory. */
bool replay_decide(struct replay *replay, const struct order_entry *entry);
bool replay_decide_rest(struct replay *replay);

/* ---- running.c ---- */

/* False: no memory. */
bool running_open(struct replay *replay);
void running_close(struct replay *replay);
bool running_reach(struct replay *replay, uint32_t clients);

/* The requests of the batch, whose verdicts are known, begin to run; those that ended before are over. */
bool running_count(struct replay *replay);

/* Fills in what the result says of all; value: the most at once of each client, had nothing been refused. */
void running_conclude(struct replay *replay, uint64_t *value);

/* ---- cost.c ---- */

/* The option's value: FIELD, or UNIT=FIELD. */
bool cost_read(const struct option_row *row, const char *value, void *options);

/* False, and says why: half of it is missing, or another option knows one cost only. */
bool cost_options_fit(const struct replay_options *options);

/* Said once where limits in bytes are compared with limits in requests. */
void cost_hint(const struct replay *replay);

/* ---- tenants/replay.c ---- */

/* Do they fit the rest of the command line? */
bool tenants_options_fit(struct replay_options *options);

/* Has the first limit decide by tenants, and the second, which is the same, by one state for all. */
bool tenants_begin(struct replay *replay);
void tenants_end(struct replay *replay);

/* What the result says of them, but the keys of those that are shown: ids are their clients. */
void tenants_conclude(struct replay *replay, uint32_t ids[TENANTS_SHOWN_MAX]);

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

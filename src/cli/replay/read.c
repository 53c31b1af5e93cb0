/* SPDX-License-Identifier: MIT
   Lines to requests, in order of time.

   A server writes its line when the request ends, and limits act when it arrives: where the line has the duration the
   request came that much before the stamp.

   Every line is a request, or counted as malformed, or empty; memory grows with the clients, not with the lines. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/replay/work.h"
#include "core/num.h"
#include "format/log/directive.h"

enum { COST_DIGITS_MAX = 19, IDLE_TURNS = 20 /* of a tenth of a second */ };

/* So much of a log says how long requests take; before that nobody knows how far back one may belong. */
static const uint64_t LEARN_NS = UINT64_C(60) * REPLAY_SECOND_NS;

/* A longer one is in other units, and would hold up everything. */
static const uint64_t DURATION_MAX_NS = UINT64_C(30) * 86400 * REPLAY_SECOND_NS;

/* ---- trouble ---- */

static void no_memory(struct replay *replay)
{
    progress_clear(replay);
    replay->status = trouble("replay: no memory for %u clients; a larger share of them under one key needs less, for "
                             "example --key remote_addr/24",
                             replay->clients.count);
}

static void malformed(struct replay *replay, size_t column, const char *message)
{
    const struct source *source = &replay->source;
    const unsigned long long line = source->line;
    replay->result.malformed++;
    if (replay->options.strict) replay->status = STATUS_TROUBLE;
    if (replay->malformed_shown++ >= REPLAY_SHOWN_MAX) return;
    progress_clear(replay);
    if (column != 0) trouble("%s:%llu:%zu: %s", source->name, line, column, message);
    else trouble("%s:%llu: %s", source->name, line, message);
}

/* ---- the format ---- */

static bool want(struct replay *replay, const char *option, const char *name, int *field)
{
    struct accesslog_problem problem;
    *field = accesslog_want(&replay->log, name, &problem);
    if (*field >= 0) return true;
    const bool hint = field != &replay->cost_field && replay->options.key == NULL;
    replay->status = trouble("--%s %s: %s%s", option, name, problem.message,
                             hint ? "; choose the client's field with --key, or --key none for all together" : "");
    return false;
}

/* The format as it was typed, or of a piece of nginx.conf what it says.  False: no memory. */
static bool choose_format(struct replay *replay, const char **format)
{
    *format = replay->options.format;
    if (*format == NULL) return true;
    replay->format = malloc(strlen(*format) + 1);
    if (replay->format != NULL && directive_read(*format, replay->format)) *format = replay->format;
    return replay->format != NULL;
}

static int format_trouble(const struct replay_options *options, const struct accesslog_problem *problem)
{
    const char *format = options->format;
    if (problem->of_time && options->time != NULL) return trouble("--time %s: %s", options->time, problem->message);
    if (problem->of_time) return trouble("--format: %s; name the time field with --time", problem->message);
    if (format == NULL || strchr(format, '$') == NULL || problem->column == 0) {
        return trouble("--format: %s", problem->message);
    }
    return trouble("--format: column %zu: %s", problem->column, problem->message);
}

static bool open_log(struct replay *replay, const struct source_line *line)
{
    struct accesslog_problem problem;
    const struct replay_options *options = &replay->options;
    const char *format;
    replay->first_line = malloc(line->size + 1);
    if (replay->first_line == NULL || !choose_format(replay, &format)) {
        no_memory(replay);
        return false;
    }
    memcpy(replay->first_line, line->bytes, line->size);
    const struct slice first_line = {replay->first_line, line->size};
    if (!accesslog_open_time(&replay->log, format, options->time, first_line, &problem)) {
        replay->status = format_trouble(options, &problem);
        return false;
    }
    for (int i = 0; i < replay->key.parts; i++) {
        if (!want(replay, "key", replay->key.part[i].name, &replay->key.part[i].field)) return false;
    }
    if (options->cost != NULL && !want(replay, "cost", options->cost, &replay->cost_field)) return false;
    replay->log_open = true;
    replay->result.stamps_are_ends = !options->stamps_start && !accesslog_has_durations(&replay->log);
    return true;
}

/* ---- a line ---- */

/* Digits with a fraction, which is rounded up. */
static bool read_cost(struct slice text, uint64_t *cost)
{
    size_t at = 0;
    bool fraction = false;
    *cost = 0;
    for (; at < text.size && text.bytes[at] >= '0' && text.bytes[at] <= '9'; at++) {
        const uint64_t digit = (uint64_t)(text.bytes[at] - '0');
        *cost = *cost > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *cost * 10 + digit;
    }
    if (at == 0 && text.size != 0) return false;
    if (at < text.size && text.bytes[at] == '.') {
        const size_t point = at++;
        for (; at < text.size && text.bytes[at] >= '0' && text.bytes[at] <= '9'; at++) {
            fraction = fraction || text.bytes[at] != '0';
        }
        if (at == point + 1) return false;
    }
    *cost = add_saturating(*cost, fraction);
    return at == text.size;
}

static bool reach_client(struct replay *replay, uint32_t client)
{
    for (int i = 0; i < replay->options.limits; i++) {
        if (!candidate_reach(&replay->candidate[i], client + 1)) return false;
    }
    return rows_reach(&replay->usage, client + 1);
}

/* Said by who asks, or by the name of the stamp: start_time, StartUTC. */
static bool is_start(const struct replay *replay, const struct accesslog_entry *entry)
{
    return replay->options.stamps_said ? replay->options.stamps_start : entry->starts;
}

/* The first request says what its stamps are worth. */
static void begin(struct replay *replay, const struct accesslog_entry *entry)
{
    replay->result.resolution_ns = entry->resolution_ns;
    const bool stamps_start = is_start(replay, entry);
    /* A duration to the ms does not say when within the second it ended. */
    replay->whole_seconds = entry->resolution_ns >= REPLAY_SECOND_NS;
    if (stamps_start) replay->result.stamps_are_ends = false;
    /* Who follows a log wants to hear of refusals at once. */
    if (entry->has_duration && !stamps_start && !replay->options.follow) {
        replay->order.from_ns = add_saturating(entry->time_ns, LEARN_NS);
    }
    for (int i = 0; i < replay->options.limits; i++) candidate_begin(&replay->candidate[i], replay->whole_seconds);
}

static bool take_turns(struct replay *replay)
{
    struct order_entry next;
    while (order_take(&replay->order, &next)) {
        if (!replay_decide(replay, &next)) return false;
    }
    return true;
}

/* Those that wait get their clients, and are put in order. */
static bool find_clients(struct replay *replay)
{
    struct waiting *waiting = &replay->waiting;
    for (int i = 0; i < waiting->count; i++) clients_fetch(&replay->clients, waiting->request[i].tag);
    for (int i = 0; i < waiting->count; i++) {
        struct order_entry entry = waiting->request[i].entry;
        const char *key = waiting->keys + waiting->request[i].key;
        const uint32_t before = replay->clients.count, tag = waiting->request[i].tag;
        if (!clients_find(&replay->clients, tag, key, waiting->request[i].key_size, &entry.client)) return false;
        if (replay->clients.count != before && !reach_client(replay, before)) return false;
        if (replay->each != NULL && !each_reach(replay, entry.line)) return false;
        const uint64_t stamp_ns = waiting->request[i].stamp_ns, duration_ns = waiting->request[i].duration_ns;
        if (!order_put(&replay->order, entry, stamp_ns, duration_ns) || !take_turns(replay)) return false;
    }
    waiting->count = 0;
    waiting->keys_used = 0;
    return true;
}

static bool keep_key(struct waiting *waiting, struct slice key)
{
    if (waiting->keys_size - waiting->keys_used < key.size || waiting->keys == NULL) {
        const size_t size = (waiting->keys_size + key.size) * 2 + 1;
        char *larger = realloc(waiting->keys, size);
        if (larger == NULL) return false;
        waiting->keys = larger;
        waiting->keys_size = size;
    }
    if (key.size != 0) memcpy(waiting->keys + waiting->keys_used, key.bytes, key.size);
    waiting->keys_used += key.size;
    return true;
}

static bool add_request(struct replay *replay, const struct accesslog_entry *entry, uint64_t cost)
{
    struct slice key;
    struct waiting *waiting = &replay->waiting;
    const bool before_stamp = entry->has_duration && !is_start(replay, entry);
    const uint64_t duration_ns = before_stamp ? entry->duration_ns : 0;
    const uint64_t time_ns = subtract_to_zero(entry->time_ns, duration_ns), line = replay->requests_read;
    const size_t key_at = waiting->keys_used;
    if (replay->requests_read++ == 0) begin(replay, entry);
    if (!key_of(&replay->key, &replay->log, entry, &key) || !keep_key(waiting, key)) return false;
    waiting->request[waiting->count].entry = (struct order_entry){time_ns, line, cost, 0};
    waiting->request[waiting->count].stamp_ns = entry->time_ns;
    waiting->request[waiting->count].duration_ns = duration_ns;
    waiting->request[waiting->count].key = key_at;
    waiting->request[waiting->count].key_size = key.size;
    waiting->request[waiting->count].tag = clients_tag(&replay->clients, key.bytes, key.size);
    return ++waiting->count < WAITING_MAX || find_clients(replay);
}

/* As soon as its line is there: who is charged late is shut out late. */
static bool charge_request(struct replay *replay, const struct accesslog_entry *entry, uint64_t cost)
{
    struct slice key;
    if (!key_for_service(&replay->key, &replay->log, entry, &key)) return false;
    charge_put(replay->charge, key, cost);
    return true;
}

static void read_line(struct replay *replay, const struct source_line *line)
{
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    uint64_t cost = 1;
    const struct slice text = {line->bytes, line->size};
    if (line->size == 0) return;
    if (!replay->log_open && !open_log(replay, line)) return;
    if (replay->opened != replay->source.opened) {
        replay->opened = replay->source.opened;
        if (accesslog_is_header(&replay->log, text)) return;
    }
    if (line->too_long) malformed(replay, 0, "a line of more than 1 MiB");
    else if (!accesslog_read(&replay->log, text, &entry, &problem)) malformed(replay, problem.column, problem.message);
    else if (replay->options.cost != NULL && !read_cost(entry.field[replay->cost_field], &cost)) {
        const size_t column = (size_t)(entry.field[replay->cost_field].bytes - line->bytes) + 1;
        malformed(replay, column, "a cost is a number; expected digits here, or \"-\"");
    } else if (entry.has_duration && entry.duration_ns > DURATION_MAX_NS) {
        malformed(replay, 0, "a request of more than 30 days; what is the unit of the duration?");
    } else if (!add_request(replay, &entry, cost) ||
               (replay->charge != NULL && line->gained && !charge_request(replay, &entry, cost))) {
        no_memory(replay);
    }
}

/* ---- all of them ---- */

static void read_lines(struct replay *replay)
{
    struct source_line line;
    while (replay->status == STATUS_DONE && source_line(&replay->source, &line)) read_line(replay, &line);
}

/* Nothing has come for longer than lines are out of order: those that are held can be decided. */
static void decide_held(struct replay *replay)
{
    const bool found = find_clients(replay);
    order_finish(&replay->order);
    if (!found || !take_turns(replay) || !replay_decide_rest(replay)) no_memory(replay);
}

static void read_all(struct replay *replay)
{
    int idle = 0;
    enum source_state state;
    while (replay->status == STATUS_DONE && (state = source_read(&replay->source)) != SOURCE_END) {
        if (state == SOURCE_STOPPED) break;
        if (state == SOURCE_FAILED) {
            progress_clear(replay);
            replay->incomplete = trouble("%s: %s", replay->source.name, replay->source.message);
        }
        read_lines(replay);
        if (replay->charge != NULL) charge_turn(replay->charge);
        idle = state == SOURCE_IDLE ? idle + 1 : 0;
        if (idle == IDLE_TURNS) decide_held(replay);
        progress_show(replay);
    }
}

void replay_read(struct replay *replay)
{
    struct signalfd_siginfo why;
    read_all(replay);
    decide_held(replay);
    if (replay->each != NULL) json_file_flush(&replay->each->json);
    progress_clear(replay);
    if (replay->source.stop_fd < 0) return;
    if (read(replay->source.stop_fd, &why, sizeof why) == (ssize_t)sizeof why) replay->signal = (int)why.ssi_signo;
}

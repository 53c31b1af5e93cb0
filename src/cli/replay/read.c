/* SPDX-License-Identifier: MIT
   Lines to requests, in blocks: as many as one reading of the log came to.

   A server writes its line when the request ends, and limits act when it arrives: where the line has the duration the
   request came that much before the stamp.

   Every line is a request, or counted as malformed, or empty.  A block ends where there is something to tell, so that
   it is told where it would be if there were only one thread. */
#include <stdlib.h>
#include <string.h>

#include "cli/replay/work.h"
#include "core/num.h"

enum { COST_DIGITS_MAX = 19, REQUESTS_AT_FIRST = 1 << 10 };

/* A longer one is in other units, and would hold up everything. */
static const uint64_t DURATION_MAX_NS = UINT64_C(30) * 86400 * REPLAY_SECOND_NS;

static void malformed(struct reader *reader, struct block *block, size_t column, const char *message)
{
    const struct source *source = &reader->source;
    const unsigned long long line = source->line;
    block->malformed++;
    if (reader->options->strict) block->status = STATUS_TROUBLE;
    if (reader->malformed_shown++ >= REPLAY_SHOWN_MAX) return;
    if (column != 0) snprintf(block->note, NOTE_SIZE, "%s:%llu:%zu: %s", source->name, line, column, message);
    else snprintf(block->note, NOTE_SIZE, "%s:%llu: %s", source->name, line, message);
}

/* ---- the format ---- */

static bool want(struct reader *reader, struct block *block, const char *option, const char *name, int *field)
{
    struct accesslog_problem problem;
    *field = accesslog_want(&reader->format.log, name, &problem);
    if (*field >= 0) return true;
    const bool hint = field != &reader->cost_field && reader->options->key == NULL;
    block->status = trouble("--%s %s: %s%s", option, name, problem.message,
                            hint ? "; choose the client's field with --key, or --key none for all together" : "");
    return false;
}

int read_lacks_durations(const char *why)
{
    return trouble("replay: a limit of what runs at once needs to know how long each request took, and %s; log it, as "
                   "nginx's $request_time or Apache's %%D, and name it with --format (%%D is microseconds: "
                   "$request_time_us), or for json and csv with --duration FIELD:ms",
                   why);
}

/* Not every object of JSON needs to have it. */
static bool can_have_durations(const struct accesslog *log)
{
    return log->kind == ACCESSLOG_JSON || accesslog_has_durations(log);
}

static bool open_log(struct reader *reader, struct block *block, const struct source_line *line)
{
    const struct replay_options *options = reader->options;
    const struct log_asked asked = {options->format, {options->time, options->duration}, "--time"};
    if (!format_open(&reader->format, &asked, (struct slice){line->bytes, line->size})) {
        block->status = STATUS_TROUBLE;
        return false;
    }
    for (int i = 0; i < reader->key.parts; i++) {
        if (!want(reader, block, "key", reader->key.part[i].name, &reader->key.part[i].field)) return false;
    }
    if (options->cost != NULL && !want(reader, block, "cost", options->cost, &reader->cost_field)) return false;
    if (reader->needs_durations && !can_have_durations(&reader->format.log)) {
        block->status = read_lacks_durations("this log has no field for it");
        return false;
    }
    reader->log_open = true;
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

/* By the option, or by the name of the timestamp's field: start_time, StartUTC. */
static bool is_start(const struct reader *reader, const struct accesslog_entry *entry)
{
    const unsigned timestamps = reader->options->timestamps;
    return timestamps != TIMESTAMPS_GUESSED ? timestamps == TIMESTAMPS_START : entry->starts;
}

static bool make_room(struct block *block, size_t key_size)
{
    if (block->count == block->size) {
        const size_t size = block->size == 0 ? REQUESTS_AT_FIRST : block->size * 2;
        struct request *larger = realloc(block->request, size * sizeof *larger);
        if (larger == NULL) return false;
        block->request = larger;
        block->size = size;
    }
    if (block->keys_size - block->keys_used >= key_size && block->keys != NULL) return true;
    const size_t size = (block->keys_size + key_size) * 2 + 1;
    char *larger = realloc(block->keys, size);
    if (larger == NULL) return false;
    block->keys = larger;
    block->keys_size = size;
    return true;
}

static bool add_request(struct reader *reader, struct block *block, const struct accesslog_entry *entry, uint64_t cost)
{
    struct slice key;
    const bool starts = is_start(reader, entry);
    const uint64_t duration_ns = entry->has_duration && !starts ? entry->duration_ns : 0;
    if (!key_of(&reader->key, &reader->format.log, entry, &key) || !make_room(block, key.size)) return false;
    if (key.size != 0) memcpy(block->keys + block->keys_used, key.bytes, key.size);
    if (block->count == 0) {
        block->resolution_ns = entry->resolution_ns;
        block->starts = starts;
        block->has_duration = entry->has_duration;
    }
    block->request[block->count++] = (struct request){.time_ns = subtract_to_zero(entry->time_ns, duration_ns),
                                                      .stamp_ns = entry->time_ns,
                                                      .duration_ns = duration_ns,
                                                      .runs_ns = entry->duration_ns,
                                                      .cost = cost,
                                                      .key = (uint32_t)block->keys_used,
                                                      .key_size = (uint32_t)key.size,
                                                      .tag = clients_tag(&reader->secret, key.bytes, key.size)};
    block->keys_used += key.size;
    block->timed += entry->has_duration;
    return true;
}

/* As soon as its line is there: a client that is charged late is refused late. */
static bool charge_request(struct reader *reader, const struct accesslog_entry *entry, uint64_t cost)
{
    struct slice key;
    if (!key_for_service(&reader->key, &reader->format.log, entry, &key)) return false;
    charge_put(reader->charge, key, cost);
    return true;
}

static void read_line(struct reader *reader, struct block *block, const struct source_line *line)
{
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    uint64_t cost = 1;
    const struct slice text = {line->bytes, line->size};
    if (line->size == 0) return;
    if (!reader->log_open && !open_log(reader, block, line)) return;
    if (reader->opened != reader->source.opened) {
        reader->opened = reader->source.opened;
        if (accesslog_is_header(&reader->format.log, text)) return;
    }
    if (line->too_long) malformed(reader, block, 0, "a line of more than 1 MiB");
    else if (!accesslog_read(&reader->format.log, text, &entry, &problem)) {
        malformed(reader, block, problem.column, problem.message);
    } else if (reader->options->cost != NULL && !read_cost(entry.field[reader->cost_field], &cost)) {
        const size_t column = (size_t)(entry.field[reader->cost_field].bytes - line->bytes) + 1;
        malformed(reader, block, column, "a cost is a number; expected digits here, or \"-\"");
    } else if (entry.has_duration && entry.duration_ns > DURATION_MAX_NS) {
        malformed(reader, block, 0, "a request that took more than 30 days; is the duration in another unit?");
    } else if (!add_request(reader, block, &entry, cost) ||
               (reader->charge != NULL && line->gained && !charge_request(reader, &entry, cost))) {
        block->no_memory = true;
    }
}

/* ---- a block ---- */

static bool goes_on(const struct block *block)
{
    return block->status == STATUS_DONE && block->note[0] == '\0' && !block->no_memory;
}

bool read_is_last(const struct block *block)
{
    return block->status != STATUS_DONE || block->no_memory || block->state == SOURCE_STOPPED ||
           block->state == SOURCE_END;
}

static void clear(struct block *block)
{
    block->count = block->keys_used = block->timed = 0;
    block->malformed = 0;
    block->note[0] = '\0';
    block->status = block->incomplete = STATUS_DONE;
    block->state = SOURCE_READY;
}

void read_block(struct reader *reader, struct block *block)
{
    struct source_line line;
    clear(block);
    if (!reader->lines_left) block->state = source_read(&reader->source);
    block->bytes_read = reader->source.bytes_read;
    reader->lines_left = block->state != SOURCE_STOPPED && block->state != SOURCE_END;
    if (block->state == SOURCE_FAILED) {
        block->incomplete = STATUS_TROUBLE;
        snprintf(block->note, NOTE_SIZE, "%s: %s", reader->source.name, reader->source.message);
    }
    while (reader->lines_left && goes_on(block)) {
        reader->lines_left = source_line(&reader->source, &line);
        if (reader->lines_left) read_line(reader, block, &line);
    }
}

/* SPDX-License-Identifier: MIT
   What became of requests, for the operator.

       worker: limiter -> stream's bytes        main thread, once a second: bytes -> stderr, stdout

   A client that makes mistakes all day is as much as one a second: the limiter is weir's own.  A worker never waits for
   who reads the log: what there is no room for is counted like what the limiter refused, and the next line says how
   many those were.

   A line is whole, printable and one line. */
#include "serve/stats/notes.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/json.h"
#include "host/clock.h"
#include "serve/batch.h"

enum { LINE_MAX_BYTES = 6 * (POLICY_TEXT_MAX + POLICY_KEY_MAX) + 512, MS_NS = 1000000 };

static const char notes_limit[] = "1/s burst=20";

/* ---- a stream ---- */

/* Without memory nothing is written, and all of it counted. */
static void open_stream(struct notes_stream *stream, const char *limit)
{
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL; /* batches bring their time */
    if (weir_open(&stream->limiter, limit, &options, NULL) != 0) stream->limiter = NULL;
    stream->bytes = malloc(NOTES_BYTES);
}

static void close_stream(struct notes_stream *stream)
{
    if (stream->limiter != NULL) weir_close(stream->limiter);
    free(stream->bytes);
}

static bool may_write(struct notes_stream *stream, uint64_t now_ns)
{
    if (stream->limiter != NULL && weir_allowed(weir_take_at(stream->limiter, (weir_instant){now_ns}, 1))) return true;
    atom_add(&stream->untold, 1);
    return false;
}

static void add_line(struct notes *notes, struct notes_stream *stream, const struct bytes *line, uint64_t untold)
{
    host_lock(&notes->mutex);
    const bool fits = stream->bytes != NULL && !line->full && line->size <= NOTES_BYTES - stream->size;
    if (fits) {
        memcpy(stream->bytes + stream->size, line->memory, line->size);
        stream->size += line->size;
    }
    host_unlock(&notes->mutex);
    if (!fits) atom_add(&stream->untold, untold + 1);
}

/* How many there were since the last line; this one tells of them. */
static uint64_t take_untold(struct notes_stream *stream)
{
    uint64_t untold = atom_load(&stream->untold);
    while (untold != 0 && !atom_swap(&stream->untold, &untold, 0)) continue;
    return untold;
}

/* ---- notes ---- */

bool notes_may_add(struct batch *batch)
{
    return may_write(&batch->service->notes.mistakes, batch->now_ns);
}

void notes_add(struct batch *batch, const char *text)
{
    char memory[NOTES_LINE_MAX + 64], plain[NOTES_LINE_MAX];
    struct bytes line = {.memory = memory, .capacity = sizeof memory};
    struct notes *notes = &batch->service->notes;
    const uint64_t untold = take_untold(&notes->mistakes);
    size_t size = 0;
    for (; text[size] != '\0' && size + 1 < sizeof plain; size++) {
        plain[size] = text[size];
        if (text[size] < ' ' || text[size] > '~') plain[size] = '?';
    }
    plain[size] = '\0';
    bytes_text(&line, "weir: ");
    bytes_text(&line, plain);
    if (untold != 0) {
        bytes_text(&line, " (and ");
        bytes_number(&line, untold);
        bytes_text(&line, " more before)");
    }
    bytes_byte(&line, '\n');
    add_line(notes, &notes->mistakes, &line, untold);
    service_note(batch->service, plain);
}

/* ---- refusals ---- */

int notes_set_refusals(struct notes *notes, const char *limit, weir_error *error)
{
    if (limit == NULL) {
        atom_store(&notes->refusals_wanted, 0);
        return 0;
    }
    if (notes->refusals.limiter == NULL) return WEIR_ENOMEM;
    const int problem = weir_set_limit(notes->refusals.limiter, limit, WEIR_RESET, error);
    if (problem == 0) atom_store(&notes->refusals_wanted, 1);
    return problem;
}

void notes_refusal(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    struct notes *notes = &batch->service->notes;
    char memory[LINE_MAX_BYTES];
    struct bytes line = {.memory = memory, .capacity = sizeof memory};
    if (!may_write(&notes->refusals, batch->now_ns)) return;
    const uint64_t untold = take_untold(&notes->refusals);
    struct json json = {.out = &line};
    json_object(&json, NULL);
    json_number(&json, "unix_ms", host_unix_ns() / MS_NS);
    json_string(&json, "refused", call->limit);
    json_string(&json, "key", batch_key_plain(call));
    json_number(&json, "cost", call->cost);
    json_text(&json, "verdict", decision->verdict == WEIR_NEVER ? "never" : "deny");
    json_number(&json, "limit", decision->limit);
    json_number(&json, "retry_ns", decision->retry_ns);
    json_bool(&json, "shadow", call->under.shadow);
    json_number(&json, "untold", untold);
    json_end_object(&json);
    bytes_byte(&line, '\n');
    add_line(notes, &notes->refusals, &line, untold);
}

/* ---- out ---- */

static void flush_stream(struct notes *notes, struct notes_stream *stream, FILE *to)
{
    host_lock(&notes->mutex);
    char *bytes = stream->bytes;
    const size_t size = stream->size;
    stream->bytes = notes->spare;
    stream->size = 0;
    notes->spare = bytes;
    host_unlock(&notes->mutex);
    if (size == 0) return;
    fwrite(bytes, 1, size, to);
    fflush(to);
}

void notes_flush(struct notes *notes)
{
    flush_stream(notes, &notes->mistakes, stderr);
    flush_stream(notes, &notes->refusals, stdout);
}

void notes_open(struct notes *notes)
{
    *notes = (struct notes){.mistakes = {.limiter = NULL}};
    host_mutex_open(&notes->mutex);
    open_stream(&notes->mistakes, notes_limit);
    open_stream(&notes->refusals, "1/s");
    notes->spare = malloc(NOTES_BYTES);
}

void notes_close(struct notes *notes)
{
    close_stream(&notes->mistakes);
    close_stream(&notes->refusals);
    free(notes->spare);
    host_mutex_close(&notes->mutex);
}

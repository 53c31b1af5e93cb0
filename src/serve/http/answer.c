/* SPDX-License-Identifier: MIT
   Answers that are no decisions: refusals, JSON, bodies that are long.

   What was queued before is answered before; an answer of any length goes out in pieces that fit. */
#include <stdio.h>
#include <stdlib.h>

#include "format/json.h"
#include "serve/http/parts.h"

enum { HEAD_MAX = 2048, PIECE = 8192, PATH_SHOWN = 64 };
enum { BYTES_OF_WORK = 512 }; /* are written in the time of a question */

static struct bytes *start(struct exchange *exchange, unsigned status, size_t room)
{
    batch_works(exchange->batch, BATCH_OTHER_WORK + room / BYTES_OF_WORK);
    batch_settle_queue(exchange->batch);
    struct bytes *out = batch_reply(exchange->batch, exchange->session, room);
    http_start(out, status, !(exchange->flags & HTTP_CLOSES));
    http_add(out, "Cache-Control", slice_of("no-store"));
    return out;
}

void answer_json(struct exchange *exchange, unsigned status, struct slice body)
{
    struct bytes *out = start(exchange, status, HEAD_MAX + body.size);
    http_body(out, "application/json", body, exchange->flags & HTTP_HEAD_ONLY);
}

/* Without the query: it may have a key in it. */
static void note(struct exchange *exchange, const struct refusal *refusal)
{
    char line[NOTES_LINE_MAX];
    const struct slice path = exchange->request->path;
    if (!notes_may_add(exchange->batch)) return;
    snprintf(line, sizeof line, "HTTP %u %.*s: %s%s%.256s", refusal->status,
             path.size < PATH_SHOWN ? (int)path.size : PATH_SHOWN, path.bytes,
             refusal->field != NULL ? refusal->field : "", refusal->field != NULL ? ": " : "", refusal->words);
    notes_add(exchange->batch, line);
}

void answer_refuse(struct exchange *exchange, const struct refusal *refusal)
{
    char memory[6 * ANSWER_WORDS_MAX + 512]; /* a byte takes six at most, as \u0000 */
    struct bytes body = {.memory = memory, .capacity = sizeof memory};
    struct slice words = slice_of(refusal->words);
    if (words.size > ANSWER_WORDS_MAX) words.size = ANSWER_WORDS_MAX;
    struct json json = {.out = &body};
    json_object(&json, NULL);
    json_string(&json, "error", words);
    if (refusal->field != NULL) json_text(&json, "field", refusal->field);
    if (refusal->column != 0) json_number(&json, "column", refusal->column);
    json_end_object(&json);
    bytes_byte(&body, '\n');
    stats_add(&exchange->batch->stats->errors, 1);
    note(exchange, refusal);
    struct bytes *out = start(exchange, refusal->status, HEAD_MAX + body.size);
    if (refusal->header != NULL) http_add(out, refusal->header, slice_of(refusal->value));
    http_body(out, "application/json", bytes_slice(&body), exchange->flags & HTTP_HEAD_ONLY);
}

/* What a browser may do with it, whoever has put it into a frame or under another type. */
static void guard(struct bytes *out, const char *policy)
{
    http_add(out, "X-Content-Type-Options", slice_of("nosniff"));
    if (policy == NULL) return;
    http_add(out, "Content-Security-Policy", slice_of(policy));
    http_add(out, "Content-Security-Policy", slice_of("frame-ancestors 'none'")); /* both hold */
    http_add(out, "X-Frame-Options", slice_of("DENY"));
    http_add(out, "Referrer-Policy", slice_of("no-referrer"));
}

void answer_long(struct exchange *exchange, const struct answer_body *body)
{
    const size_t policy_size = body->policy != NULL ? strlen(body->policy) : 0;
    struct bytes *out = start(exchange, 200, HEAD_MAX + policy_size);
    guard(out, body->policy);
    http_body(out, body->type, body->bytes, true);
    if (exchange->flags & HTTP_HEAD_ONLY) return;
    for (size_t at = 0; at < body->bytes.size; at += PIECE) {
        struct slice piece = slice_from(body->bytes, at);
        if (piece.size > PIECE) piece.size = PIECE;
        bytes_add(batch_reply(exchange->batch, exchange->session, piece.size), piece);
    }
}

void answer_written(struct exchange *exchange, const char *type, size_t size_max,
                    void (*write)(struct exchange *exchange, struct bytes *out))
{
    batch_works(exchange->batch, BATCH_LONG_WORK);
    batch_settle_queue(exchange->batch);
    struct bytes body = {.memory = malloc(size_max), .capacity = size_max};
    if (body.memory != NULL) write(exchange, &body);
    if (body.memory == NULL || body.full) {
        answer_refuse(exchange, &(struct refusal){.status = 503, .words = "no memory for this answer; ask again"});
    } else {
        answer_long(exchange, &(struct answer_body){.type = type, .bytes = bytes_slice(&body)});
    }
    free(body.memory);
}

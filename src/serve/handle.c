/* SPDX-License-Identifier: MIT
   The whole service without a socket: bytes of a session in, whole requests taken, answers queued.

   Takes no more than there is, and none of what came behind a request that ends the session; the same answers however
   the bytes are split. */
#include <stdio.h>

#include "core/num.h"
#include "format/http.h"
#include "serve/protocols.h"

enum { BYTES_OF_WORK = 512 }; /* are read in the time of a question */

/* Of a request that is not whole, before the password: AUTH is short, and a request over HTTP has its head and little
   more. */
enum { UNKNOWN_RESP_MAX = 1 << 10, UNKNOWN_HTTP_MAX = 24 << 10 };

static void note(struct batch *batch, const char *protocol, const char *problem)
{
    char line[NOTES_LINE_MAX];
    if (!notes_may_add(batch)) return;
    snprintf(line, sizeof line, "%s: %s", protocol, problem);
    notes_add(batch, line);
}

/* Nothing is answered that was not asked in this protocol: see resp.h. */
static void end_foreign(struct batch *batch, struct session *session)
{
    session->closing = true;
    stats_add(&batch->stats->errors, 1);
    note(batch, "RESP", "closed: this is HTTP, or another protocol");
}

static void end_bad(struct batch *batch, struct session *session, const char *problem)
{
    batch_settle_queue(batch);
    struct bytes *out = batch_reply(batch, session, BATCH_REPLY);
    bytes_text(out, "-ERR ");
    bytes_text(out, problem);
    bytes_text(out, "\r\n");
    stats_add(&batch->stats->errors, 1);
    note(batch, "RESP", problem);
    session->closing = true;
}

/* Each returns how many bytes it took; 0: none yet, or nothing more. */
static size_t take_resp(struct batch *batch, struct session *session, struct slice bytes)
{
    struct resp_command command;
    const char *problem = NULL;
    switch (resp_read(bytes, &command, &problem)) {
    case RESP_COMMAND:
        if (command.count == 0 || resp_command(batch, session, &command)) return command.size;
        return 0; /* it comes again when what stands before it is answered */
    case RESP_BAD:
        end_bad(batch, session, problem);
        return 0;
    case RESP_FOREIGN:
        end_foreign(batch, session);
        return 0;
    default:
        if (bytes.size > UNKNOWN_RESP_MAX && !batch_knows(batch, session)) {
            end_bad(batch, session, "Protocol error: unauthenticated: a command has at most 1024 bytes before AUTH");
        }
        return 0;
    }
}

static void end_bad_http(struct batch *batch, struct session *session, const struct http_problem *problem)
{
    batch_settle_queue(batch);
    struct bytes *out = batch_reply(batch, session, BATCH_REPLY);
    http_start(out, problem->status, false);
    http_body(out, "text/plain; charset=utf-8", slice_of(problem->words), false);
    stats_add(&batch->stats->errors, 1);
    note(batch, "HTTP", problem->words);
    session->closing = true;
}

/* A client that waits for this before it sends the body gets it once: when the body has begun, it no longer waits. */
static void go_on(struct batch *batch, struct session *session)
{
    batch_settle_queue(batch);
    http_continue(batch_reply(batch, session, BATCH_REPLY));
}

static size_t take_http(struct batch *batch, struct session *session, struct slice bytes)
{
    static const struct http_problem too_much = {
        .status = 413, .words = "the first request of a connection has at most 24 KiB where a password is asked for\n"};
    struct http_request request;
    struct http_problem problem;
    switch (http_read(bytes, &request, &problem)) {
    case HTTP_REQUEST:
        stats_add(&batch->stats->http_requests, 1);
        http_route(batch, session, &request);
        if (!request.keep_alive) session->closing = true;
        return request.size;
    case HTTP_CONTINUE:
        go_on(batch, session);
        return 0;
    case HTTP_BAD:
        end_bad_http(batch, session, &problem);
        return 0;
    default:
        if (bytes.size > UNKNOWN_HTTP_MAX && !batch_knows(batch, session)) end_bad_http(batch, session, &too_much);
        return 0;
    }
}

size_t handle_bytes(struct batch *batch, struct session *session, struct slice bytes)
{
    const uint64_t enough = add_saturating(batch->work, batch->work_most);
    size_t taken = 0;
    while (!session->closing && session->parked == 0 && taken < bytes.size && batch->work < enough) {
        const struct slice rest = slice_from(bytes, taken);
        batch_next_request(batch);
        const size_t more =
            session->protocol == SESSION_RESP ? take_resp(batch, session, rest) : take_http(batch, session, rest);
        if (more == 0) break;
        batch_works(batch, 1 + more / BYTES_OF_WORK);
        taken += more;
    }
    session->waits = batch->work >= enough && taken < bytes.size;
    return taken;
}

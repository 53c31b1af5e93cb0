/* SPDX-License-Identifier: MIT
   Lets stdin's lines through to stdout, each at its start.

   A wake-up finds several starts due, so the lines of all of them leave in one write, straight from the input's buffer.
   Nothing is held back while it sleeps or reads: what was granted has been written.

   No line leaves before its start. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/limiter.h"
#include "cli/pace/schedule.h"
#include "core/num.h"

struct batch {
    int count;
    uint64_t start_ns[INPUT_LINES], due_ns[INPUT_LINES], cost[INPUT_LINES];
};

static void add(struct pace *pace, struct batch *batch, const weir_decision *decision, uint64_t cost)
{
    batch->start_ns[batch->count] = decision->start.ns;
    batch->due_ns[batch->count] = pace_due_ns(pace, decision, cost, pace->arrived_ns);
    batch->cost[batch->count++] = cost;
}

/* Several permits at once, one for a line: each is due on its own. */
static void add_run(struct pace *pace, struct batch *batch, const weir_decision *decision)
{
    limiter_due_each(pace->limiter, decision, &batch->due_ns[batch->count]);
    for (uint64_t i = 0; i < decision->charged; i++) {
        batch->start_ns[batch->count] = decision->start.ns;
        batch->due_ns[batch->count] = most(batch->due_ns[batch->count], pace->arrived_ns);
        batch->cost[batch->count++] = 1;
    }
}

/* The lines, or pieces of them, that may leave now, up to `lines`; false when not even one may. */
static bool take_due(struct pace *pace, struct batch *batch, int lines)
{
    if (pace_takes_some(pace)) {
        const weir_decision decision = weir_take_some(pace->limiter, (uint64_t)lines);
        if (weir_allowed(decision)) add_run(pace, batch, &decision);
        return weir_allowed(decision);
    }
    const weir_instant now = weir_now();
    const int from = pace->input.next + batch->count;
    for (int i = 0; i < lines; i++) {
        const uint64_t cost = pace->bytes ? input_size_of(&pace->input, from + i) : 1;
        const weir_decision decision = pace_take_at(pace, from + i, now, cost);
        if (!weir_allowed(decision)) return i > 0;
        add(pace, batch, &decision, cost);
    }
    return true;
}

/* The number of the line that is next, or that is under way. */
static unsigned long long line_number(const struct pace *pace)
{
    return (unsigned long long)pace->lines_taken + (pace->input.inside ? 0 : 1);
}

/* The limit was lowered during the wait: gives back what was taken for a piece that is too large now. */
static bool is_too_large(struct pace *pace, uint64_t cost, weir_decision *decision)
{
    if (!pace->bytes || cost <= atom_load(&pace->piece_max) || pace_stopped(pace)) return false;
    if (weir_allowed(*decision)) weir_cancel(pace->limiter, decision);
    return true;
}

/* False when it was stopped or can never pass; none when they have to be cut anew. */
static bool take_lines(struct pace *pace, struct batch *batch, int lines)
{
    batch->count = 0;
    if (take_due(pace, batch, lines)) return true;
    const uint64_t cost = pace->bytes ? input_size_of(&pace->input, pace->input.next) : 1;
    const struct at_stamp stamp = pace_stamp(pace);
    weir_decision decision = pace_take_wait(pace, &stamp, cost);
    if (is_too_large(pace, cost, &decision)) return true;
    if (pace_over(pace, &decision)) return false;
    if (decision.verdict == WEIR_NEVER || decision.verdict == WEIR_DENY) {
        pace->status = trouble("line %llu costs %llu, more than %s can ever let through", line_number(pace),
                               (unsigned long long)cost, pace_limit_name(pace));
    }
    if (!weir_allowed(decision)) return false;
    add(pace, batch, &decision, cost);
    if (lines > 1) take_due(pace, batch, lines - 1);
    return true;
}

/* Everything, or false: the reader has gone, the disk is full, or it was stopped while nobody read. */
static bool write_all(struct pace *pace, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written >= 0) {
            bytes += written;
            size -= (size_t)written;
            continue;
        }
        if (errno == EINTR && !pace_stopped(pace)) continue;
        if (errno == EPIPE) pace->reader_gone = true;
        else if (errno != EINTR) pace->status = trouble("standard output: %s", strerror(errno));
        return false;
    }
    return true;
}

/* Of the pieces that leave next, those that do not begin a line. */
static int parts_of(const struct pace *pace, int count)
{
    int parts = 0;
    for (int i = 0; pace->bytes && i < count; i++) {
        if (!input_begins_line(&pace->input, pace->input.next + i)) parts++;
    }
    return parts;
}

static bool let_through(struct pace *pace, const struct batch *batch)
{
    size_t size;
    const int parts = parts_of(pace, batch->count);
    const char *bytes = input_take(&pace->input, batch->count, &size);
    const uint64_t now_ns = weir_now().ns;
    const struct record_owed owed = pace_owed(pace);
    record_begin(&pace->record, now_ns);
    record_behind(&pace->record, owed.behind_ns);
    for (int i = 0; i < batch->count; i++) {
        record_start(&pace->record, now_ns, batch->start_ns[i], batch->due_ns[i], batch->cost[i]);
        starts_write(&pace->latency.starts, batch->due_ns[i], now_ns, 0, -1);
    }
    record_parts(&pace->record, (uint64_t)parts);
    record_end(&pace->record);
    pace->lines_taken += (uint64_t)(batch->count - parts);
    return write_all(pace, bytes, size);
}

/* --drop: lines that are late by more than the pool are skipped, and taken off the schedule. */
static void drop_late(struct pace *pace, int lines)
{
    const uint64_t too_late = pace_too_late(pace);
    uint64_t cost = 0;
    int count = 0;
    for (; count < lines; count++) {
        const uint64_t more = pace->bytes ? input_size_of(&pace->input, pace->input.next + count) : 1;
        if (more > too_late - cost) break;
        cost += more;
    }
    size_t size;
    if (count == 0) return;
    input_take(&pace->input, count, &size);
    pace_skip(pace, cost);
    record_dropped(&pace->record, (uint64_t)count);
}

static int lines_known(const struct pace *pace)
{
    const int known = pace->input.found - pace->input.next;
    uint64_t left = pace->count_max - pace->lines_taken;
    if ((uint64_t)known <= left) return known;
    if (!pace->bytes) return (int)left;
    for (int i = 0; i < known; i++) {
        if (input_begins_line(&pace->input, pace->input.next + i) && left-- == 0) return i;
    }
    return known;
}

static bool wants_more(const struct pace *pace)
{
    return pace->lines_taken < pace->count_max || (pace->bytes && pace->input.inside);
}

static void follow_piece(struct pace *pace)
{
    const size_t piece_max = (size_t)atom_load(&pace->piece_max);
    if (pace->bytes && pace->input.piece_max != piece_max) input_pieces_of(&pace->input, piece_max);
}

void pace_lines(struct pace *pace)
{
    struct batch batch;
    while (!pace_stopped(pace) && wants_more(pace)) {
        follow_piece(pace);
        const enum input_state state = pace_next_lines(pace);
        if (state == INPUT_INTERRUPTED) continue;
        if (state != INPUT_READY) {
            pace_input_trouble(pace, state);
            return;
        }
        if (pace->drop) drop_late(pace, lines_known(pace));
        const int lines = lines_known(pace);
        if (lines == 0) continue;
        if (!take_lines(pace, &batch, lines)) return;
        if (batch.count != 0 && !let_through(pace, &batch)) return;
    }
    if (!pace_stopped(pace)) pace_no_more_lines(pace);
}

/* SPDX-License-Identifier: MIT
   What became of requests, for the operator: mistakes on standard error and the page, refusals
   where they are wanted as lines of JSON on standard output; of both no more than a limit of weir's lets through.

   See notes.c. */
#ifndef WEIR_SERVE_STATS_NOTES_H
#define WEIR_SERVE_STATS_NOTES_H

#include <weir/weir.h>

#include "format/bytes.h"
#include "host/thread.h"
#include "share/atomic.h"

struct batch;
struct call;

enum { NOTES_BYTES = 1 << 17, NOTES_LINE_MAX = 400 };

/* One of the two streams: a writer never waits, and what does not fit is counted. */
struct notes_stream {
    weir_limiter *limiter; /* NULL: nothing is written */
    struct atom untold;    /* since the last line */
    char *bytes;
    size_t size;
};

struct notes {
    struct host_mutex mutex; /* around the streams' bytes */
    struct notes_stream mistakes, refusals;
    char *spare; /* takes the place of a stream's bytes while those are written; of the caller of notes_flush */
    struct atom refusals_wanted;
};

void notes_open(struct notes *notes);
void notes_close(struct notes *notes);

/* The text of a limit, such as "10/s": so many refusals are written; NULL: none.  Fails as weir_set_limit does. */
int notes_set_refusals(struct notes *notes, const char *limit, weir_error *error);

/* May a note be written?  Else it is counted.  So nobody composes one that is not. */
bool notes_may_add(struct batch *batch);

/* [after notes_may_add] What cannot be printed is written as "?". */
void notes_add(struct batch *batch, const char *text);

static inline bool notes_wants_refusals(const struct notes *notes)
{
    return atom_load(&notes->refusals_wanted) != 0;
}

/* [where they are wanted] */
void notes_refusal(struct batch *batch, const struct call *call, const weir_decision *decision);

/* What has been written since it was called last goes to standard error and output.  By one thread, which may wait for
   them. */
void notes_flush(struct notes *notes);

#endif

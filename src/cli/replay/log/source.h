/* SPDX-License-Identifier: MIT
   Logs as lines: files or standard input, plain or compressed, finished or still growing.

   See source.c. */
#ifndef WEIR_CLI_REPLAY_LOG_SOURCE_H
#define WEIR_CLI_REPLAY_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/log/packed.h"

enum { SOURCE_LINE_MAX = 1 << 20, SOURCE_MESSAGE_SIZE = PACKED_MESSAGE_SIZE };

enum source_state {
    SOURCE_READY,   /* lines may be there */
    SOURCE_IDLE,    /* followed, and nothing has come for a while */
    SOURCE_STOPPED, /* stop_fd or halt_fd became readable */
    SOURCE_FAILED,  /* a log could not be read to its end: see message; the next call goes on with the next one */
    SOURCE_END
};

/*  buffer |......|line\nline\nli........|
                   ^begin       ^filled           all before begin is done with */
struct source {
    char *const *path; /* "-" is standard input; none at all, too */
    int path_count, path_next;
    bool follow;          /* the last one, as it grows, and what takes its place when it is rotated */
    int stop_fd;          /* -1: none */
    int halt_fd;          /* the same, of another thread */
    int change_fd, watch; /* inotify's, of the log that is followed; -1: none */

    int fd; /* -1: none is open */
    const char *name;
    uint64_t opened; /* how many logs were begun, what came in place of a followed one included */
    uint64_t line;   /* number in this log of the line that was given last */
    dev_t device;
    ino_t inode;
    uint64_t read_here; /* bytes of this log */
    uint64_t old_here;  /* of those: what a followed log had when all began; of others all */
    struct {
        dev_t device;
        ino_t inode;
        uint64_t bytes;
    } at_start; /* the log that is followed */

    char *buffer;
    size_t begin, filled;
    bool known;            /* whether this log is compressed: its first bytes are read */
    bool ended;            /* nothing more comes from this log */
    bool skipping;         /* inside a line that is too long */
    struct packed *packed; /* NULL: it is plain */

    uint64_t bytes_read, bytes_total; /* as on disk; of the total, what is known */
    char message[SOURCE_MESSAGE_SIZE];
};

struct source_line {
    const char *bytes; /* borrowed until the next source_read */
    size_t size;       /* without its end */
    bool too_long;     /* over SOURCE_LINE_MAX: its beginning */
    bool gained;       /* a followed log had not all of it when source_open was called */
};

/* path is borrowed.  False: no memory. */
bool source_open(struct source *source, char *const *path, int path_count, bool follow, int stop_fd);
void source_close(struct source *source);

/* Gets more bytes, from the next log where one has ended, when source_line has given all lines. */
enum source_state source_read(struct source *source);

/* The next line; false: there is none until source_read was called. */
bool source_line(struct source *source, struct source_line *line);

#endif

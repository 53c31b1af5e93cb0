/* SPDX-License-Identifier: MIT
   Logs as lines: files or standard input, plain or compressed, finished or still growing.

   Large pieces are read behind what is left of the last line, and lines are given out where they lie.  A format
   is known by its first bytes, not by the name (unpack.c).  A log that is followed is read when it changes, and looked
   at a few times a second: when another file has its name it was rotated, so the old one is read to its end first;
   when it is shorter than what was read of it, it was truncated and begins anew.

   Every line once, in order; what cannot be read is said in `message`, and what was read before stays. */
#include "cli/replay/log/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 1 << 18,
    BUFFER = SOURCE_LINE_MAX + 2 * PIECE,
    LOOK_EVERY_MS = 100, /* also where a change is not told, as by a file server */
    GATHER_MS = 5,       /* a busy log is not read line by line */
    EVENTS = 1 << 12,
    STANDARD_INPUT = 0
};

bool source_open(struct source *source, char *const *path, int path_count, bool follow, int stop_fd)
{
    *source = (struct source){.path = path, .path_count = path_count, .follow = follow, .stop_fd = stop_fd};
    source->fd = source->halt_fd = -1;
    source->change_fd = follow ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
    source->watch = -1;
    source->buffer = malloc(BUFFER);
    for (int i = 0; i < path_count; i++) {
        struct stat status;
        if (stat(path[i], &status) != 0 || !S_ISREG(status.st_mode)) continue;
        source->bytes_total += (uint64_t)status.st_size;
        if (i + 1 < path_count) continue;
        source->at_start.device = status.st_dev;
        source->at_start.inode = status.st_ino;
        source->at_start.bytes = (uint64_t)status.st_size;
    }
    return source->buffer != NULL;
}

static void leave(struct source *source)
{
    packed_close(source->packed);
    source->packed = NULL;
    if (source->fd > STANDARD_INPUT) close(source->fd);
    source->fd = -1;
    source->begin = source->filled = 0;
    source->ended = source->skipping = source->known = false;
}

void source_close(struct source *source)
{
    leave(source);
    if (source->change_fd >= 0) close(source->change_fd);
    free(source->buffer);
    source->buffer = NULL;
    source->change_fd = -1;
}

/* What is wrong is in message. */
static enum source_state ended(struct source *source)
{
    source->ended = true; /* what lies in the buffer is still given out */
    return SOURCE_FAILED;
}

static enum source_state failed(struct source *source, const char *why)
{
    snprintf(source->message, sizeof source->message, "%s", why);
    return ended(source);
}

/* ---- opening ---- */

/* May more come behind what is its end now? */
static bool grows_on(const struct source *source)
{
    return source->follow && source->path_next >= source->path_count && source->fd != STANDARD_INPUT;
}

static void note_file(struct source *source)
{
    struct stat status;
    source->old_here = UINT64_MAX;
    if (fstat(source->fd, &status) != 0) return;
    source->device = status.st_dev;
    source->inode = status.st_ino;
    if (!grows_on(source)) return;
    const bool same = status.st_dev == source->at_start.device && status.st_ino == source->at_start.inode &&
                      (uint64_t)status.st_size >= source->at_start.bytes;
    source->old_here = same ? source->at_start.bytes : 0;
    source->at_start.bytes = 0; /* what takes its place is new */
    if (source->watch >= 0) inotify_rm_watch(source->change_fd, source->watch);
    source->watch = inotify_add_watch(source->change_fd, source->name, IN_MODIFY);
}

static bool open_next(struct source *source)
{
    const char *path = source->path_count == 0 ? "-" : source->path[source->path_next];
    const bool standard = strcmp(path, "-") == 0;
    leave(source);
    source->path_next++;
    source->name = standard ? "standard input" : path;
    /* A pipe that nobody writes to must not hold us up here, where nothing can stop us. */
    source->fd = standard ? STANDARD_INPUT : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd > STANDARD_INPUT) fcntl(source->fd, F_SETFL, 0);
    source->line = source->read_here = 0;
    source->opened++;
    if (source->fd >= 0) note_file(source);
    return source->fd >= 0;
}

/* ---- reading ---- */

/* Waits until there is something to read, or to stop for; a regular file is always ready. */
static bool wait_for_bytes(const struct source *source)
{
    struct pollfd wait[] = {{.fd = source->stop_fd, .events = POLLIN},
                            {.fd = source->halt_fd, .events = POLLIN},
                            {.fd = source->fd, .events = POLLIN}};
    while (poll(wait, 3, -1) < 0 && errno == EINTR) continue;
    return wait[0].revents == 0 && wait[1].revents == 0;
}

static ssize_t read_some(struct source *source, void *into, size_t size)
{
    ssize_t got;
    do got = read(source->fd, into, size);
    while (got < 0 && errno == EINTR);
    if (got > 0) source->bytes_read += (uint64_t)got;
    if (got > 0) source->read_here += (uint64_t)got;
    return got;
}

static enum source_state begin_unpacking(struct source *source, const struct unpack_format *format)
{
    source->packed = packed_open(format, source->buffer, source->filled, "| weir replay LIMIT", source->message);
    source->filled = 0;
    return source->packed != NULL ? SOURCE_READY : ended(source);
}

/* The first bytes of a log say what it is.  Small ones may come one by one. */
static enum source_state read_first(struct source *source)
{
    const ssize_t got = read_some(source, source->buffer + source->filled, PACKED_SIZE - source->filled);
    if (got < 0) return failed(source, strerror(errno));
    source->filled += (size_t)got;
    if (got == 0) source->ended = !grows_on(source);
    bool more;
    const struct unpack_format *format = unpack_format_of(source->buffer, source->filled, &more);
    source->known = !more;
    return format != NULL ? begin_unpacking(source, format) : SOURCE_READY;
}

static enum source_state unpack(struct source *source)
{
    struct packed *packed = source->packed;
    size_t written;
    if (packed_wants(packed)) {
        const ssize_t got = read_some(source, packed->bytes, sizeof packed->bytes);
        if (got < 0) return failed(source, strerror(errno));
        if (!packed_given(packed, (size_t)got, source->message)) return ended(source);
        if (got == 0) source->ended = true;
        if (got == 0) return SOURCE_READY;
    }
    const bool fine = packed_unpack(packed, source->buffer + source->filled, PIECE, &written, source->message);
    source->filled += written;
    return fine ? SOURCE_READY : ended(source);
}

static enum source_state read_plain(struct source *source)
{
    const ssize_t got = read_some(source, source->buffer + source->filled, PIECE);
    if (got < 0) return failed(source, strerror(errno));
    source->filled += (size_t)got;
    if (got == 0) source->ended = !grows_on(source);
    return SOURCE_READY;
}

/* ---- following ---- */

/* Of a followed log nothing more has come.  Is it still the one of that name? */
static void look_after(struct source *source)
{
    struct stat now;
    if (fstat(source->fd, &now) == 0 && S_ISREG(now.st_mode) && lseek(source->fd, 0, SEEK_CUR) > now.st_size) {
        lseek(source->fd, 0, SEEK_SET);
        source->begin = source->filled = 0;
        source->known = false;
        source->line = source->read_here = source->old_here = 0;
        source->opened++;
        return;
    }
    if (stat(source->name, &now) != 0 || (now.st_ino == source->inode && now.st_dev == source->device)) return;
    source->path_next--; /* so the old one ends where it has no more bytes, and the new one is the next */
}

static enum source_state wait_for_growth(struct source *source)
{
    char events[EVENTS];
    struct pollfd wait[] = {{.fd = source->stop_fd, .events = POLLIN}, {.fd = source->change_fd, .events = POLLIN}};
    if (poll(wait, 1, GATHER_MS) > 0) return SOURCE_STOPPED;
    const int ready = poll(wait, 2, LOOK_EVERY_MS - GATHER_MS);
    if (ready > 0 && wait[0].revents != 0) return SOURCE_STOPPED;
    if (ready > 0) {
        /* That it has changed is all that they say, and it is read next. */
        while (read(source->change_fd, events, sizeof events) > 0) continue;
        return SOURCE_READY;
    }
    look_after(source);
    return SOURCE_IDLE;
}

/* Room for a piece behind what is left; a line that leaves none was given out as too long. */
static void make_room(struct source *source)
{
    if (source->begin == 0) return;
    memmove(source->buffer, source->buffer + source->begin, source->filled - source->begin);
    source->filled -= source->begin;
    source->begin = 0;
}

static enum source_state read_more(struct source *source)
{
    const uint64_t before = source->bytes_read;
    make_room(source);
    if (source->packed != NULL) return unpack(source);
    const enum source_state state = source->known ? read_plain(source) : read_first(source);
    const bool grows = state == SOURCE_READY && source->bytes_read == before && !source->ended;
    return grows ? wait_for_growth(source) : state;
}

enum source_state source_read(struct source *source)
{
    if (source->fd >= 0 && source->ended) leave(source);
    if (source->fd < 0) {
        if (source->path_next >= (source->path_count == 0 ? 1 : source->path_count)) return SOURCE_END;
        if (!open_next(source)) return failed(source, strerror(errno));
    }
    return wait_for_bytes(source) ? read_more(source) : SOURCE_STOPPED;
}

/* ---- lines ---- */

/* The place of the line that was given last is known where it was not unpacked; what is packed does not grow. */
static bool is_gained(const struct source *source)
{
    return source->packed == NULL && source->read_here - (source->filled - source->begin) > source->old_here;
}

/* The end of a line that was too long is not another line. */
static bool skip(struct source *source)
{
    const char *from = source->buffer + source->begin;
    const char *end = memchr(from, '\n', source->filled - source->begin);
    source->begin = end != NULL ? (size_t)(end - source->buffer) + 1 : source->filled;
    source->skipping = end == NULL;
    return !source->skipping;
}

bool source_line(struct source *source, struct source_line *line)
{
    if (source->skipping && !skip(source)) return false;
    const char *from = source->buffer + source->begin;
    const size_t left = source->filled - source->begin;
    const char *end = left != 0 ? memchr(from, '\n', left) : NULL;
    if (left == 0 || (end == NULL && !source->ended && left <= SOURCE_LINE_MAX)) return false;
    size_t size = end != NULL ? (size_t)(end - from) : left;
    source->begin += end != NULL ? size + 1 : size;
    source->line++;
    source->skipping = end == NULL && !source->ended;
    const bool too_long = size > SOURCE_LINE_MAX;
    if (size > 0 && from[size - 1] == '\r') size--;
    *line = (struct source_line){from, size, too_long, is_gained(source)};
    return true;
}

/* SPDX-License-Identifier: MIT
   The limit that stands in a file: the first line that is not empty and does not begin with "#".

   A line without its newline may be half written (10 of 1000/s), and is no limit yet; what follows changes the file's
   time or size, so it is read again.

   At most 4 KiB are read; what is no text is refused. */
#include "cli/pace/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/arguments.h"
#include "host/sleep.h"

enum { LINE_NONE, LINE_UNFINISHED, LINE_WHOLE };

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Leaves the limit's line alone in text.  An empty file is one that somebody has only begun to write. */
static int find_line(struct follow *follow)
{
    int found = follow->text[0] == '\0' ? LINE_UNFINISHED : LINE_NONE;
    follow->line = 0;
    for (char *at = follow->text; *at != '\0';) {
        size_t size = strcspn(at, "\n");
        const bool last = at[size] == '\0';
        follow->line++;
        if (size > 0 && at[size - 1] == '\r') at[size - 1] = ' ';
        if (strspn(at, " \t") < size && at[strspn(at, " \t")] != '#') {
            memmove(follow->text, at, size);
            follow->text[size] = '\0';
            return last ? LINE_UNFINISHED : LINE_WHOLE;
        }
        if (last) found = LINE_UNFINISHED;
        at += last ? size : size + 1;
    }
    return found;
}

static const char *what_goes_on(const struct follow *follow)
{
    return follow->looked ? "; the previous limit stays in force" : "";
}

static enum follow_state say_unfinished(struct follow *follow)
{
    follow->unfinished = false;
    if (follow->line == 0) {
        trouble("%s: expected a line with a limit; for example 1000/s%s", follow->path, what_goes_on(follow));
    } else {
        trouble("%s:%d: no newline at the end of the line, which may be half written; add one%s", follow->path,
                follow->line, what_goes_on(follow));
    }
    return FOLLOW_WRONG;
}

/* Whoever writes the file may be about to go on. */
static enum follow_state wait_for_the_rest(struct follow *follow)
{
    if (!follow->looked) return say_unfinished(follow);
    follow->unfinished = true;
    follow->unfinished_ns = weir_now().ns;
    return FOLLOW_SAME;
}

static enum follow_state read_limit(struct follow *follow, int file)
{
    const ssize_t size = read(file, follow->text, sizeof follow->text - 1);
    follow->unfinished = false;
    if (size < 0) {
        trouble("%s: %s%s", follow->path, strerror(errno), what_goes_on(follow));
        return FOLLOW_WRONG;
    }
    follow->text[size] = '\0';
    const bool whole = (size_t)size < sizeof follow->text - 1 && strlen(follow->text) == (size_t)size;
    const int found = whole ? find_line(follow) : LINE_NONE;
    if (found == LINE_WHOLE) return FOLLOW_CHANGED;
    if (found == LINE_UNFINISHED) return wait_for_the_rest(follow);
    trouble("%s: expected %s; for example 1000/s%s", follow->path,
            whole ? "a line with a limit" : "a text of less than 4 KiB", what_goes_on(follow));
    return FOLLOW_WRONG;
}

static enum follow_state look(struct follow *follow)
{
    struct stat now;
    const int file = open(follow->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return FOLLOW_MISSING;
    enum follow_state state = FOLLOW_SAME;
    errno = 0;
    if (fstat(file, &now) != 0 || !S_ISREG(now.st_mode)) state = FOLLOW_MISSING;
    else if (!same_file(&now, &follow->seen)) {
        follow->seen = now;
        state = read_limit(follow, file);
    } else if (follow->unfinished && weir_now().ns - follow->unfinished_ns >= HOST_SECOND_NS) {
        state = say_unfinished(follow);
    }
    close(file);
    return state;
}

enum follow_state follow_look(struct follow *follow)
{
    const enum follow_state state = look(follow);
    follow->looked = true;
    return state;
}

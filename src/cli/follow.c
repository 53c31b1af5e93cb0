/* SPDX-License-Identifier: MIT
   follow.c - the limit that stands in a file: the first line that is not empty and does not begin with "#".

   Whoever changes the file should write another one and rename it over this one; a file that is caught half written is
   read again, because its time or size changes once more.

   May touch: the file, stderr.  Promises: at most 4 KiB are read; what is no text is refused.  Leaves to others: when
   to look, what the text means. */
#include "cli/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Leaves the limit's line alone in text; false when there is none. */
static bool find_line(struct follow *follow)
{
    follow->line = 0;
    for (char *at = follow->text; *at != '\0';) {
        size_t size = strcspn(at, "\n");
        const bool last = at[size] == '\0';
        follow->line++;
        if (size > 0 && at[size - 1] == '\r') at[size - 1] = ' ';
        if (strspn(at, " \t") < size && at[strspn(at, " \t")] != '#') {
            memmove(follow->text, at, size);
            follow->text[size] = '\0';
            return true;
        }
        at += last ? size : size + 1;
    }
    return false;
}

static enum follow_state read_limit(struct follow *follow, int file)
{
    const ssize_t size = read(file, follow->text, sizeof follow->text - 1);
    const char *end = follow->looked ? "; the limit before goes on" : "";
    if (size < 0) {
        trouble("%s: %s%s", follow->path, strerror(errno), end);
        return FOLLOW_WRONG;
    }
    follow->text[size] = '\0';
    const bool whole = (size_t)size < sizeof follow->text - 1 && strlen(follow->text) == (size_t)size;
    if (whole && find_line(follow)) return FOLLOW_CHANGED;
    trouble("%s: expected %s; for example 1000/s%s", follow->path,
            whole ? "a line with a limit" : "a text of less than 4 KiB", end);
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

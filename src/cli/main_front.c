/* SPDX-License-Identifier: MIT
   The program `weir`: `weir take` from a file, and the way to everything else.

   A script pays a process for each take, and of a process that loads the libraries of TLS, HTTP and compression nine
   tenths would be the loading.  So this one is linked with the C library alone, and becomes the whole command
   (LIBEXEC/weir/weir, built of main.c) for whatever needs more; that is the same process with the same arguments. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/common/arguments.h"
#include "cli/common/streams.h"

/* Where the whole command is, from here: as installed, or as built. */
static const char *const places[] = {WEIR_WHOLE, "inside/weir"};

/* Not where it asks an engine: --engine may be shortened, and no other option begins like it. */
static bool is_ours(int count, char **arguments)
{
    if (count < 2 || strcmp(arguments[1], "take") != 0) return false;
    for (int i = 2; i < count; i++) {
        if (strncmp(arguments[i], "--e", 3) == 0) return false;
    }
    return true;
}

/* Returns only where it cannot. */
static int become_whole(char **arguments)
{
    char path[PATH_MAX];
    const char *started = (const char *)getauxval(AT_EXECFN); /* by this name; /proc may not be mounted */
    if (realpath(started, path) == NULL) return trouble("%s: %s", started, strerror(errno));
    char *name = strrchr(path, '/') + 1;
    const size_t room = sizeof path - (size_t)(name - path);
    for (int i = (int)(sizeof places / sizeof *places) - 1; i >= 0; i--) {
        if ((size_t)snprintf(name, room, "%s", places[i]) < room) execv(path, arguments);
    }
    return trouble("%s: %s; weir is two files, and only this one was copied: use `make install`, or a package", path,
                   strerror(errno));
}

int main(int argc, char **argv)
{
    if (!is_ours(argc, argv)) return become_whole(argv);
    streams_keep_numbers();
    return streams_written(take_command()->run(argc - 1, argv + 1));
}

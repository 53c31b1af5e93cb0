/* SPDX-License-Identifier: MIT
   A file that has a password, or two.

   Nothing but a plain file is read, and none that others than its owner and group may; waits for nothing. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/config/parts.h"

static const char *line_of(char *line, char **copy)
{
    if (strlen(line) > ACCESS_SECRET_MAX) return "has a line of more than 512 bytes";
    *copy = strdup(line);
    return *copy != NULL ? NULL : "no memory";
}

static const char *lines_of(char *bytes, size_t size, char **lines, unsigned most, unsigned *count)
{
    const char *problem = NULL;
    bytes[size] = '\0';
    if (memchr(bytes, '\0', size) != NULL) return "has a NUL byte; expected one line";
    if (bytes[strspn(bytes, "\r\n")] == '\0' || bytes[0] == '\r' || bytes[0] == '\n') {
        return "is empty; expected the password";
    }
    for (char *at = bytes; *at != '\0' && problem == NULL;) {
        char *end = at + strcspn(at, "\r\n");
        const bool last = *end == '\0';
        if (*count == most) return most == 1 ? "has more than one line" : "has more than two lines";
        *end = '\0';
        problem = line_of(at, &lines[*count]);
        *count += problem == NULL;
        at = last ? end : end + 1 + strspn(end + 1, "\r\n");
    }
    return problem;
}

static const char *read_open(int file, char **lines, unsigned most, unsigned *count)
{
    struct stat is;
    char bytes[(ACCESS_SECRET_MAX + 8) * ACCESS_SECRETS];
    if (fstat(file, &is) != 0) return "cannot be inspected";
    if (!S_ISREG(is.st_mode)) return "is not a regular file";
    if (is.st_mode & S_IROTH) return "can be read by all users of this machine; expected chmod 600, or 640 and a group";
    const ssize_t size = read(file, bytes, sizeof bytes - 1);
    return size < 0 ? "cannot be read" : lines_of(bytes, (size_t)size, lines, most, count);
}

const char *secret_read(const char *path, char **lines, unsigned most, unsigned *count)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return "cannot be opened; expected a file that weir may read";
    const char *problem = read_open(file, lines, most, count);
    close(file);
    return problem;
}

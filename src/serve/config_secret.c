/* SPDX-License-Identifier: MIT
   config_secret.c - the file that has the password.

   May touch: that file, malloc.  Promises: nothing but a plain file is read, and none that others than its owner and
   group may; waits for nothing.  Leaves to others: who asks for the password. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/config_parts.h"

/* The first line. */
static const char *password_of(char *bytes, size_t size, char **password)
{
    bytes[size] = '\0';
    if (memchr(bytes, '\0', size) != NULL) return "has a NUL byte; expected one line";
    char *end = bytes + strcspn(bytes, "\r\n");
    if (end[strspn(end, "\r\n")] != '\0') return "has more than one line";
    *end = '\0';
    if (end == bytes) return "is empty; expected the password";
    if (end - bytes > CONFIG_PASSWORD_MAX) return "has more than 512 bytes";
    *password = strdup(bytes);
    return *password != NULL ? NULL : "no memory";
}

static const char *read_open(int file, char **password)
{
    struct stat is;
    char bytes[CONFIG_PASSWORD_MAX + 8];
    if (fstat(file, &is) != 0) return "cannot be looked at";
    if (!S_ISREG(is.st_mode)) return "is no plain file";
    if (is.st_mode & S_IROTH) return "may be read by anybody on this machine; expected chmod 600, or 640 and a group";
    const ssize_t size = read(file, bytes, sizeof bytes - 1);
    return size < 0 ? "cannot be read" : password_of(bytes, (size_t)size, password);
}

const char *secret_read(const char *path, char **password)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return "cannot be opened; expected a file that weir may read";
    const char *problem = read_open(file, password);
    close(file);
    return problem;
}

/* SPDX-License-Identifier: MIT
   The password of an engine, or of a service: from a file or the environment, since all users see
   arguments.

   A file that anybody may read is refused. */
#include "cli/common/engine_password.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/arguments.h"

static int read_line(const char *command, const char *name, FILE *file, char memory[ENGINE_PASSWORD_MAX])
{
    struct stat is;
    if (fstat(fileno(file), &is) != 0) return trouble("%s: %s: %s", command, name, strerror(errno));
    if ((is.st_mode & S_IROTH) != 0)
        return trouble("%s: %s can be read by other users of this machine; run chmod 600", command, name);
    errno = 0;
    if (fgets(memory, ENGINE_PASSWORD_MAX, file) == NULL)
        return trouble("%s: %s %s", command, name, errno != 0 ? strerror(errno) : "is empty; expected the password");
    const size_t size = strcspn(memory, "\r\n");
    if (memory[size] == '\0' && size == ENGINE_PASSWORD_MAX - 1)
        return trouble("%s: %s: its first line is too long for a password", command, name);
    memory[size] = '\0';
    return size != 0 ? STATUS_DONE : trouble("%s: %s: expected the password in the first line", command, name);
}

static int read_password(const char *command, const char *said, const char *file, char memory[ENGINE_PASSWORD_MAX],
                         const char **password)
{
    *password = said != NULL && said[0] != '\0' ? said : NULL;
    if (file == NULL) return STATUS_DONE;
    FILE *opened = fopen(file, "re");
    if (opened == NULL) return trouble("%s: %s: %s", command, file, strerror(errno));
    const int status = read_line(command, file, opened, memory);
    fclose(opened);
    *password = memory;
    return status;
}

int engine_password(const char *command, const char *file, char memory[ENGINE_PASSWORD_MAX], const char **password)
{
    return read_password(command, getenv("WEIR_ENGINE_PASSWORD"), file, memory, password);
}

int engine_password_of_service(const char *command, const char *file, char memory[ENGINE_PASSWORD_MAX],
                               const char **password)
{
    return read_password(command, getenv("WEIR_PASSWORD"), file, memory, password);
}

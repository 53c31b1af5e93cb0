/* SPDX-License-Identifier: MIT
   error.c - what is said when something cannot be made: which file, what went wrong, what to do.

   May touch: the error it is given, which may be NULL.  Promises: returns the code.  Leaves to others: the words. */
#include <string.h>

#include "api/error.h"
#include "host/map.h"
#include "plan/writer.h"

enum { PATH_SHOWN = 100 };

int api_fail(weir_error *error, int code, const char *message)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_text(&writer, message);
    }
    return code;
}

/* Of a long one the end, so that there is room for what is wrong with it. */
static void write_path(struct writer *writer, const char *path)
{
    const size_t length = strlen(path);
    if (length > PATH_SHOWN) write_text(writer, "...");
    write_text(writer, length > PATH_SHOWN ? path + length - PATH_SHOWN : path);
}

/* ": " and what the system says. */
int api_fail_system(weir_error *error, const char *what, const char *path, int number)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = WEIR_ESYSTEM};
        write_path(&writer, path != NULL ? path : "shared memory");
        write_text(&writer, ": ");
        write_text(&writer, what);
        write_text(&writer, ": ");
        write_text(&writer, host_error_text(number));
        if (path == NULL) write_text(&writer, "; WEIR_PRIVATE does without");
    }
    return WEIR_ESYSTEM;
}

int api_fail_file(weir_error *error, int code, const char *path, const char *message)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_path(&writer, path != NULL ? path : "shared memory");
        write_text(&writer, ": ");
        write_text(&writer, message);
    }
    return code;
}

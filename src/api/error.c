/* SPDX-License-Identifier: MIT
   Error messages for objects that cannot be opened: which file, what went wrong, what to do. */
#include <stdbool.h>
#include <string.h>

#include "api/error.h"
#include "host/map.h"
#include "host/thread.h"
#include "plan/write.h"

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

int api_prepare(weir_error *error)
{
    if (host_prepare() == 0) return 0;
    return api_fail(error, WEIR_ESYSTEM,
                    "the process has used up its keys of thread-specific data (pthread_key_create), or its memory for "
                    "handlers of fork (pthread_atfork)");
}

/* Of a long path only the end, so that the reason fits too. */
static void write_path(struct writer *writer, const char *path)
{
    const size_t length = strlen(path);
    if (length == 0) write_text(writer, "an empty path");
    if (length > PATH_SHOWN) write_text(writer, "...");
    write_text(writer, length > PATH_SHOWN ? path + length - PATH_SHOWN : path);
}

/* Adds ": " and the system's text. */
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
        if (path == NULL) write_text(&writer, "; WEIR_PRIVATE needs none");
    }
    return WEIR_ESYSTEM;
}

/* Quoted for a shell. */
static void write_word(struct writer *writer, const char *path, const char *behind)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:@%+=-";
    const bool quoted = path[strspn(path, plain)] != '\0';
    if (quoted) write_text(writer, "'");
    if (path[0] == '-') write_text(writer, "./"); /* so that it is not taken for an option */
    for (const char *at = path; *at != '\0'; at++) {
        if (*at == '\'') write_text(writer, "'\\''");
        else write_bytes(writer, at, 1);
    }
    write_text(writer, behind);
    if (quoted) write_text(writer, "'");
}

/* The command contains the path, so the subject may be omitted. */
enum remedy { REMEDY_WHOLE, REMEDY_UNNAMED, REMEDY_IN_WORDS };

static void write_remedy(struct writer *writer, const char *path, const char *what, enum remedy remedy)
{
    if (remedy == REMEDY_UNNAMED) write_text(writer, "the state");
    else write_path(writer, path);
    write_text(writer, remedy == REMEDY_UNNAMED ? " " : ": ");
    write_text(writer, what);
    if (remedy == REMEDY_IN_WORDS) {
        write_text(writer, "; to start afresh, mv it to another name");
        return;
    }
    write_text(writer, "; to start afresh: mv ");
    write_word(writer, path, "");
    write_text(writer, " ");
    write_word(writer, path, ".old");
}

int api_fail_state(weir_error *error, int code, const char *path, const char *what)
{
    if (path == NULL) return api_fail_file(error, code, path, what);
    for (int remedy = REMEDY_WHOLE; error != NULL && remedy <= REMEDY_IN_WORDS; remedy++) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_remedy(&writer, path, what, (enum remedy)remedy);
        if (writer.length < sizeof error->message) break;
    }
    return code;
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

/* SPDX-License-Identifier: MIT
   A log of every start, as CSV, in ns since the work began:

       due_ns,start_ns,end_ns,status
       0,51204,2310457,0                 a command that ended with status 0
       1000000,1050777,,                 a line; or a command that nobody waited for

   Commands stand in the order of their ends.  No start is left out. */
#include "cli/pace/latency/starts.h"

#include <errno.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "core/num.h"
#include "format/bytes.h"

enum { LINE_SIZE = 4 * BYTES_NUMBER_MAX + 8 };

static bool say(const struct starts *starts, int why)
{
    trouble("--starts %s: %s", starts->path, strerror(why));
    return false;
}

bool starts_open(struct starts *starts, uint64_t begun_ns)
{
    starts->begun_ns = begun_ns;
    host_mutex_open(&starts->mutex);
    if (starts->path == NULL) return true;
    starts->file = fopen(starts->path, "w");
    if (starts->file == NULL) return say(starts, errno);
    fputs("due_ns,start_ns,end_ns,status\n", starts->file);
    return true;
}

bool starts_close(struct starts *starts)
{
    if (starts->file == NULL) return true;
    const bool bad = fflush(starts->file) != 0 || ferror(starts->file) != 0;
    const int why = errno;
    const bool closed = fclose(starts->file) == 0;
    starts->file = NULL;
    return (!bad && closed) || say(starts, bad ? why : errno);
}

void starts_write(struct starts *starts, uint64_t due_ns, uint64_t start_ns, uint64_t end_ns, int status)
{
    if (starts->file == NULL) return;
    char line[LINE_SIZE];
    struct bytes out = {.memory = line, .capacity = sizeof line};
    bytes_number(&out, subtract_to_zero(due_ns, starts->begun_ns));
    bytes_byte(&out, ',');
    bytes_number(&out, subtract_to_zero(start_ns, starts->begun_ns));
    bytes_byte(&out, ',');
    if (end_ns != 0) bytes_number(&out, subtract_to_zero(end_ns, starts->begun_ns));
    bytes_byte(&out, ',');
    if (status >= 0) bytes_number(&out, (uint64_t)status);
    bytes_byte(&out, '\n');
    host_lock(&starts->mutex);
    fwrite(line, 1, out.size, starts->file);
    host_unlock(&starts->mutex);
}

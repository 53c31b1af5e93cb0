/* SPDX-License-Identifier: MIT
   Refuses a table that is larger than the available memory, with the numbers.

   Otherwise the system would kill this process or another one when the table fills, because it promises memory that it
   does not have.  If the system does not report what is available, the table is accepted. */
#include "api/table/keyed.h"
#include "host/memory.h"

/* Less than this is not checked. */
static const uint64_t LITTLE = UINT64_C(1) << 20;

/* "64.0 GiB"; less than a MiB is a part of it. */
static void write_size(struct writer *writer, uint64_t bytes)
{
    static const char *const units[] = {" MiB", " GiB", " TiB", " PiB", " EiB"};
    unsigned unit = 0;
    uint64_t parts = bytes / 1024; /* of the unit, 1,024 of which make one */
    for (; parts >= UINT64_C(1) << 20; parts /= 1024) unit++;
    write_number(writer, parts / 1024);
    write_text(writer, ".");
    write_number(writer, parts % 1024 * 10 / 1024);
    write_text(writer, units[unit]);
}

int keyed_check_memory(uint64_t bytes, const char *what, weir_error *error)
{
    if (bytes < LITTLE) return 0;
    const struct host_memory memory = host_memory_available();
    if (bytes <= memory.available) return 0;
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = WEIR_ENOMEM};
        write_text(&writer, what);
        write_text(&writer, ": ");
        write_size(&writer, bytes);
        write_text(&writer, " of memory are needed, and ");
        write_size(&writer, memory.available);
        write_text(&writer, " are available (");
        write_text(&writer, memory.source);
        write_text(&writer, ")");
    }
    return WEIR_ENOMEM;
}

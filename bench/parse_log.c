/* SPDX-License-Identifier: MIT
   The parser of src/format alone, in a loop over a log: what bench/replay holds `weir replay` against.

       bench-parse_log FORMAT FILE    prints how many lines were entries; each has to be one
       bench-parse_log memchr FILE    only finds the ends of the lines: the floor of all that reads lines
       bench-parse_log --small        a test that it still works */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/log/accesslog.h"
#include "harness/harness.h"

enum { BLOCK_SIZE = 1 << 20 };

static const char SMALL[] = "192.0.2.1 - - [21/Nov/2025:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\"";

struct parsing {
    struct accesslog log;
    uint64_t entries;
    bool open;
};

static void parse_line(struct parsing *parsing, const char *format, struct slice line)
{
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    if (!parsing->open) {
        parsing->open = accesslog_open(&parsing->log, format, line, &problem);
        if (!parsing->open || accesslog_want(&parsing->log, "client", &problem) < 0) bench_fail("%s: no log", format);
        if (accesslog_is_header(&parsing->log, line)) return;
    }
    if (!accesslog_read(&parsing->log, line, &entry, &problem) || entry.field[0].size == 0)
        bench_fail("%.*s: no entry", (int)line.size, line.bytes);
    parsing->entries++;
}

int main(int argc, char **argv)
{
    static char block[BLOCK_SIZE];
    static struct parsing parsing;
    if (argc == 2 && strcmp(argv[1], "--small") == 0) {
        parse_line(&parsing, "combined", slice_between(SMALL, SMALL + sizeof SMALL - 1));
        return 0;
    }
    const int from = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
    if (from < 0) bench_fail("expected FORMAT FILE");
    const bool bare = strcmp(argv[1], "memchr") == 0;
    size_t held = 0;
    for (ssize_t got; (got = read(from, block + held, sizeof block - held)) > 0;) {
        char *line = block, *end = block + held + got;
        for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1) {
            if (bare) parsing.entries++;
            else parse_line(&parsing, argv[1], slice_between(line, newline));
        }
        held = (size_t)(end - line);
        memmove(block, line, held);
    }
    printf("%llu\n", (unsigned long long)parsing.entries);
    return 0;
}

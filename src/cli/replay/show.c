/* SPDX-License-Identifier: MIT
   Keys and times of a log as people are shown them, on a terminal among others.

   A key comes from whoever sent the request: none of its bytes may move the cursor or colour the rest.

   What is shown of a key is printable. */
#include "cli/replay/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "cli/replay/log/key.h"
#include "format/bytes.h"

enum { SECOND_NS = 1000000000, ESCAPED_COLUMNS = 4 };

size_t show_parts(const char *key, size_t size, char out[SHOWN_KEY_MAX])
{
    if (size > SHOWN_KEY_MAX) size = SHOWN_KEY_MAX;
    for (size_t i = 0; i < size; i++) out[i] = (char)(key[i] == KEY_BETWEEN ? ' ' : key[i]);
    return size;
}

/* C1, the control characters of Unicode, is obeyed by some terminals; so are marks that turn the direction of text. */
static bool is_printable(const char *bytes, size_t length)
{
    const unsigned char first = (unsigned char)bytes[0], second = length > 1 ? (unsigned char)bytes[1] : 0;
    if (length == 1) return first >= ' ' && first < 0x7f;
    if (first == 0xc2) return second >= 0xa0;
    return length != 0 && !(first == 0xe2 && (second == 0x80 || second == 0x81));
}

int show_key(struct writer *writer, const char *key, size_t size, int columns_max)
{
    int columns = 0;
    for (size_t at = 0; at < size;) {
        const size_t length = slice_character((struct slice){key + at, size - at});
        const bool printable = is_printable(key + at, length);
        if (columns + (printable ? 1 : ESCAPED_COLUMNS) >= columns_max) {
            write_text(writer, "\u2026");
            return columns + 1;
        }
        char escaped[8];
        if (printable) write_bytes(writer, key + at, length);
        else if (key[at] == KEY_BETWEEN) write_text(writer, " ");
        else snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)key[at]);
        if (!printable && key[at] != KEY_BETWEEN) write_text(writer, escaped);
        columns += printable || key[at] == KEY_BETWEEN ? 1 : ESCAPED_COLUMNS;
        at += printable ? length : 1;
    }
    return columns;
}

void show_time(struct writer *writer, uint64_t time_ns, uint64_t resolution_ns)
{
    char text[64];
    struct tm parts = {0};
    const time_t seconds = (time_t)(time_ns / SECOND_NS);
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    write_text(writer, text);
    if (resolution_ns >= SECOND_NS) return;
    snprintf(text, sizeof text, ".%03u", (unsigned)(time_ns % SECOND_NS / 1000000));
    write_text(writer, text);
}

int columns_of(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++) columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void cut_columns(char *text, int columns)
{
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xc0) != 0x80 && columns-- <= 0) break;
    }
    *text = '\0';
}

static int within(long width)
{
    if (width < WIDTH_LEAST) return WIDTH_LEAST;
    return width < WIDTH_MAX ? (int)width : WIDTH_MAX;
}

int width_of(int fd)
{
    struct winsize size;
    const char *said = getenv("COLUMNS");
    const long columns = said != NULL ? strtol(said, NULL, 10) : 0;
    if (columns > 0) return within(columns);
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return within(size.ws_col);
    return WIDTH_USUAL;
}

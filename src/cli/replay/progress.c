/* SPDX-License-Identifier: MIT
   The line on a terminal that shows how far a replay is.

   At most ten lines a second, only on a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/replay/show.h"
#include "cli/replay/work.h"
#include "core/num.h"

enum { SHOW_EVERY_NS = REPLAY_SECOND_NS / 10, BAR = 20, HUNDRED = 100 };

void progress_open(struct replay *replay)
{
    replay->progress.on = isatty(STDERR_FILENO) && !(replay->options.each && isatty(STDOUT_FILENO));
    replay->progress.colour = getenv("NO_COLOR") == NULL;
    replay->progress.at_ns = weir_now().ns;
}

static void put_bar(struct writer *writer, uint64_t bytes_read, uint64_t total)
{
    const uint64_t done = least(bytes_read, total);
    const uint64_t full = multiply_divide_floor(done, BAR, total);
    for (uint64_t i = 0; i < BAR; i++) write_text(writer, i < full ? "\u2588" : "\u2591");
    write_text(writer, "  ");
    write_number(writer, multiply_divide_floor(done, HUNDRED, total));
    write_text(writer, " %  ");
}

void progress_show(struct replay *replay)
{
    struct progress *progress = &replay->progress;
    const uint64_t now_ns = progress->on ? weir_now().ns : 0;
    if (!progress->on || now_ns - progress->at_ns < SHOW_EVERY_NS) return;
    char text[512];
    struct writer writer = {text, sizeof text, 0};
    const uint64_t more = replay->requests_read - progress->requests, passed_ns = now_ns - progress->at_ns;
    const uint64_t total = replay->reader.source.bytes_total;
    if (total != 0 && !replay->options.follow) put_bar(&writer, replay->bytes_read, total);
    write_grouped(&writer, replay->requests_read);
    write_text(&writer, " requests  ");
    write_grouped(&writer, multiply_divide_floor(more, REPLAY_SECOND_NS, passed_ns));
    write_text(&writer, "/s  ");
    for (int i = 0; i < replay->options.limits; i++) {
        write_text(&writer, i == 0 ? "refused " : ", ");
        write_grouped(&writer, replay->candidate[i].denied);
    }
    show_cut(text, show_width(STDERR_FILENO) - 1);
    fprintf(stderr, "\r\033[K%s%s%s", progress->colour ? "\033[2m" : "", text, progress->colour ? "\033[0m" : "");
    fflush(stderr);
    progress->dirty = true;
    progress->at_ns = now_ns;
    progress->requests = replay->requests_read;
}

void progress_clear(struct replay *replay)
{
    if (replay->progress.dirty) fputs("\r\033[K", stderr);
    replay->progress.dirty = false;
}

/* SPDX-License-Identifier: MIT
   canonical.c - what a limit says, back as text with nothing implied: reading it again gives the same limit.

   May touch: the writer's buffer.  Promises: text_read(text_write(x)) == x.  Leaves to others: reading (text.c). */
#include <string.h>

#include "core/algorithm.h"
#include "plan/text.h"
#include "plan/words.h"

static void write_option(struct writer *writer, const char *name)
{
    write_text(writer, " ");
    write_text(writer, name);
}

static void write_choice(struct writer *writer, const char *name, int choice, const char *first, const char *second)
{
    if (choice == 0) return;
    write_option(writer, name);
    write_text(writer, choice == 1 ? first : second);
}

static void write_factor(struct writer *writer, const struct limit *limit)
{
    if (limit->factor.digits != 0) {
        write_option(writer, option_fits(OPTION_COLD, limit->algorithm) ? "cold=" : "catchup=");
        write_decimal(writer, limit->factor.digits, limit->factor.places);
    }
    if (!limit->has_strictness) return;
    write_option(writer, "strictness=");
    write_decimal(writer, limit->strictness.digits, limit->strictness.places);
}

static const char *time_name(int algorithm)
{
    if (option_fits(OPTION_WARMUP, algorithm)) return "warmup=";
    return option_fits(OPTION_GAP, algorithm) ? "gap=" : "block=";
}

void text_write_rate(struct writer *writer, const struct limit *limit)
{
    write_decimal(writer, limit->count.digits, limit->count.places);
    if (strcmp(limit->unit, "requests") != 0) write_option(writer, limit->unit);
    write_text(writer, "/");
    write_period(writer, limit->period_ns);
}

void text_write_burst(struct writer *writer, const struct limit *limit)
{
    if (limit->burst_kind != AMOUNT_NONE) write_option(writer, "burst=");
    if (limit->burst_kind == AMOUNT_COUNT) write_number(writer, limit->burst);
    if (limit->burst_kind == AMOUNT_TIME) write_time(writer, limit->burst);
}

void text_write(struct writer *writer, const struct limit *limit)
{
    if (limit->algorithm == ALGORITHM_UNLIMITED || limit->algorithm == ALGORITHM_NONE) {
        write_text(writer, algorithm_text(limit->algorithm));
        return;
    }
    text_write_rate(writer, limit);
    text_write_burst(writer, limit);
    write_factor(writer, limit);
    write_option(writer, "algorithm=");
    write_text(writer, algorithm_text(limit->algorithm));
    if (limit->nodelay) write_option(writer, "nodelay");
    if (limit->has_delay) write_option(writer, "delay=");
    if (limit->has_delay) write_number(writer, limit->delay);
    if (limit->has_debt) write_option(writer, "debt=");
    if (limit->has_debt) write_number(writer, limit->debt);
    if (limit->has_time) {
        write_option(writer, time_name(limit->algorithm));
        write_time(writer, limit->time_ns);
    }
    write_choice(writer, "pay=", limit->pay, "self", "next");
    write_choice(writer, "align=", limit->align, "clock", "first");
    write_choice(writer, "edge=", limit->edge, "open", "closed");
    write_choice(writer, "start=", limit->start, "full", "empty");
    if (limit->count_refused) write_option(writer, "count-refused");
    if (limit->shadow) write_option(writer, "shadow");
}

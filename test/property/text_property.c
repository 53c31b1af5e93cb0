/* SPDX-License-Identifier: MIT
   Any bytes are read, or refused at a column with words; what was read is written as it reads back. */
#include "plan/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "property/property.h"

enum { BYTES_MAX = 200, CANONICAL_SIZE = 4096 };

static const char *const pieces[] = {"10/s",
                                     "100k tokens/min",
                                     "60 requests/min",
                                     "5 per 2 hours",
                                     "1.5/s",
                                     "12000,1.1",
                                     "12000",
                                     "10r/s",
                                     "10MB/s",
                                     "1MiB/s",
                                     "3/15min",
                                     "unlimited",
                                     "none",
                                     "100/s for 1min then ..1000/s for 30s",
                                     "100/s..1000/s for 30s",
                                     " for 5s",
                                     " then ",
                                     "..",
                                     "pause 5s",
                                     "0/s",
                                     "10/s burst=20",
                                     "10/s burst=2s",
                                     ";",
                                     ",",
                                     "; ",
                                     " ",
                                     "=",
                                     "/",
                                     ".",
                                     "_",
                                     " burst=",
                                     " algorithm=",
                                     "gcra",
                                     "hybrid",
                                     "timeline",
                                     "bursty",
                                     "warmup",
                                     "leaky",
                                     "cycle",
                                     "fixed-window",
                                     "sliding-window",
                                     "sliding-log",
                                     "simrate", /* is gone, and said so */
                                     "token-bucket",
                                     " catchup=",
                                     " strictness=0.5",
                                     " cold=3",
                                     " delay=5",
                                     " nodelay",
                                     " warmup=10s",
                                     " gap=100ms",
                                     " lease=10m",
                                     "unlimited",
                                     " guaranteed",
                                     " weight=3",
                                     " block=1min",
                                     " pay=self",
                                     " pay=next",
                                     " align=clock",
                                     " align=first",
                                     " edge=open",
                                     " edge=closed",
                                     " start=full",
                                     " start=empty",
                                     " debt=1000",
                                     " count-refused",
                                     " shadow",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "0",
                                     "0.000000000000000001",
                                     "1_000",
                                     "ns",
                                     "us",
                                     "ms",
                                     "s",
                                     "h",
                                     "d",
                                     "w",
                                     "year",
                                     "month",
                                     "Ki",
                                     "G",
                                     " per ",
                                     "concurrent",
                                     "\t",
                                     "\xff"};

/* Pieces of valid texts with some bytes of them changed, or bytes alone. */
static void pick_text(struct prop *prop, char text[BYTES_MAX + 1])
{
    size_t length = 0;
    const uint64_t bytes_in = prop_pick(prop, 8) == 7 ? 2 : 40;
    while (prop_more(prop, 6) && length < BYTES_MAX) {
        const char *piece = pieces[prop_pick(prop, sizeof pieces / sizeof *pieces)];
        const char byte[2] = {(char)(1 + prop_pick(prop, 255)), '\0'};
        if (prop_chance(prop, bytes_in)) piece = byte;
        for (size_t i = 0; piece[i] != '\0' && length < BYTES_MAX; i++) {
            if (!prop_chance(prop, 100)) text[length++] = piece[i];
        }
    }
    text[length] = '\0';
    prop_note(prop, "text \"%s\"", text);
}

static void check_error(struct prop *prop, const char *text, int code, const weir_error *error)
{
    prop_check(prop, code == WEIR_EINVAL || code == WEIR_EUNSUPPORTED, "code %d", code);
    prop_check(prop, error->code == code, "code %d, and %d in the error", code, error->code);
    prop_check(prop, error->column >= 1 && (size_t)error->column <= strlen(text) + 1, "column %d", error->column);
    const char *end = memchr(error->message, '\0', sizeof error->message);
    prop_check(prop, end != NULL && end > error->message, "no message");
    prop_check(prop, end[-1] != '.' && end[-1] != '\n', "message \"%s\"", error->message);
}

static void write_all(const struct limit limits[], int count, char out[CANONICAL_SIZE])
{
    struct writer writer = {out, CANONICAL_SIZE, 0};
    for (int i = 0; i < count; i++) {
        if (i > 0) write_text(&writer, "; ");
        text_write(&writer, &limits[i]);
    }
}

static bool same_phases(const struct limit *one, const struct limit *other)
{
    for (unsigned i = 0; i < one->phases; i++) {
        const struct phase a = limit_phases(one)[i], b = limit_phases(other)[i];
        const bool rates = a.digits == b.digits && a.places == b.places && a.period_ns == b.period_ns;
        if (!rates || a.lasts_ns != b.lasts_ns || a.ramps != b.ramps) return false;
    }
    return true;
}

static void check_canonical(struct prop *prop, const struct limit limits[], int count, bool compiled)
{
    char canonical[CANONICAL_SIZE], again[CANONICAL_SIZE];
    struct limit back[WEIR_LIMITS_MAX];
    struct rule rules[WEIR_LIMITS_MAX];
    weir_error error;
    write_all(limits, count, canonical);
    prop_note(prop, "canonical \"%s\"", canonical);
    for (int use = limits[0].phases != 0 ? WEIR_PACE : WEIR_ADMIT; use <= WEIR_PACE; use++) {
        const int read = text_read(canonical, (weir_use)use, back, compiled ? rules : NULL, &error);
        prop_check(prop, read == count, "reads back as %d: %s", read, read < 0 ? error.message : "");
        /* Each limit is zeroed before it is read, the bytes between its members too. */
        prop_check(prop, memcmp(limits, back, (size_t)count * sizeof *back) == 0, "reads back otherwise");
        prop_check(prop, same_phases(limits, back), "phases read back otherwise");
    }
    write_all(back, count, again);
    prop_check(prop, strcmp(canonical, again) == 0, "written again it is \"%s\"", again);
}

static void text_property(struct prop *prop)
{
    char text[BYTES_MAX + 1];
    struct limit limits[WEIR_LIMITS_MAX];
    struct rule rules[WEIR_LIMITS_MAX];
    weir_error error;
    prop_step(prop);
    const weir_use use = prop_pick(prop, 2) == 0 ? WEIR_ADMIT : WEIR_PACE;
    const bool compiled = prop_pick(prop, 2) == 0;
    pick_text(prop, text);
    const int count = text_read(text, use, limits, compiled ? rules : NULL, &error);
    prop_check(prop, count != 0 && count <= WEIR_LIMITS_MAX, "%d limits", count);
    if (count < 0) check_error(prop, text, count, &error);
    else check_canonical(prop, limits, count, compiled);
}

PROPERTY("text", text_property, 300000);

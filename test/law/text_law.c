/* SPDX-License-Identifier: MIT
   text_law.c - any bytes are read, or refused at a column with words; what was read is written as it reads back. */
#include "plan/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "law/law.h"

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
                                     " hold=10m",
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
static void pick_text(struct law *law, char text[BYTES_MAX + 1])
{
    size_t length = 0;
    const uint64_t bytes_in = law_pick(law, 8) == 7 ? 2 : 40;
    while (law_more(law, 6) && length < BYTES_MAX) {
        const char *piece = pieces[law_pick(law, sizeof pieces / sizeof *pieces)];
        const char byte[2] = {(char)(1 + law_pick(law, 255)), '\0'};
        if (law_chance(law, bytes_in)) piece = byte;
        for (size_t i = 0; piece[i] != '\0' && length < BYTES_MAX; i++) {
            if (!law_chance(law, 100)) text[length++] = piece[i];
        }
    }
    text[length] = '\0';
    law_note(law, "text \"%s\"", text);
}

static void check_error(struct law *law, const char *text, int code, const weir_error *error)
{
    law_check(law, code == WEIR_EINVAL || code == WEIR_EUNSUPPORTED, "code %d", code);
    law_check(law, error->code == code, "code %d, and %d in the error", code, error->code);
    law_check(law, error->column >= 1 && (size_t)error->column <= strlen(text) + 1, "column %d", error->column);
    const char *end = memchr(error->message, '\0', sizeof error->message);
    law_check(law, end != NULL && end > error->message, "no message");
    law_check(law, end[-1] != '.' && end[-1] != '\n', "message \"%s\"", error->message);
}

static void write_all(const struct limit limits[], int count, char out[CANONICAL_SIZE])
{
    struct writer writer = {out, CANONICAL_SIZE, 0};
    for (int i = 0; i < count; i++) {
        if (i > 0) write_text(&writer, "; ");
        text_write(&writer, &limits[i]);
    }
}

static void check_canonical(struct law *law, const struct limit limits[], int count, bool compiled)
{
    char canonical[CANONICAL_SIZE], again[CANONICAL_SIZE];
    struct limit back[WEIR_LIMITS_MAX];
    struct rule rules[WEIR_LIMITS_MAX];
    weir_error error;
    write_all(limits, count, canonical);
    law_note(law, "canonical \"%s\"", canonical);
    for (int use = WEIR_ADMIT; use <= WEIR_PACE; use++) {
        const int read = text_read(canonical, (weir_use)use, back, compiled ? rules : NULL, &error);
        law_check(law, read == count, "reads back as %d: %s", read, read < 0 ? error.message : "");
        /* Each limit is zeroed before it is read, the bytes between its members too. */
        law_check(law, memcmp(limits, back, (size_t)count * sizeof *back) == 0, "reads back otherwise");
    }
    write_all(back, count, again);
    law_check(law, strcmp(canonical, again) == 0, "written again it is \"%s\"", again);
}

static void text_property(struct law *law)
{
    char text[BYTES_MAX + 1];
    struct limit limits[WEIR_LIMITS_MAX];
    struct rule rules[WEIR_LIMITS_MAX];
    weir_error error;
    law_step(law);
    const weir_use use = law_pick(law, 2) == 0 ? WEIR_ADMIT : WEIR_PACE;
    const bool compiled = law_pick(law, 2) == 0;
    pick_text(law, text);
    const int count = text_read(text, use, limits, compiled ? rules : NULL, &error);
    law_check(law, count != 0 && count <= WEIR_LIMITS_MAX, "%d limits", count);
    if (count < 0) check_error(law, text, count, &error);
    else check_canonical(law, limits, count, compiled);
}

LAW("text", text_property, 300000);

/* SPDX-License-Identifier: MIT
   A limit as text again, with nothing implied: text_read(text_write(limit)) gives the same limit. */
#include <string.h>

#include "core/algorithm.h"
#include "plan/option.h"
#include "plan/profile/phases.h"
#include "plan/text.h"
#include "plan/words.h"

void text_write_rate(struct writer *writer, const struct limit *limit)
{
    write_decimal(writer, limit->count.digits, limit->count.places);
    if (strcmp(limit->unit, "requests") != 0) write_text(writer, " ");
    if (strcmp(limit->unit, "requests") != 0) write_text(writer, limit->unit);
    write_text(writer, "/");
    write_period(writer, limit->period_ns);
}

void text_write(struct writer *writer, const struct limit *limit)
{
    if (limit->algorithm == ALGORITHM_UNLIMITED || limit->algorithm == ALGORITHM_NONE) {
        write_text(writer, words_algorithm_name(limit->algorithm));
        return;
    }
    if (limit->phases != 0) phases_write(writer, limit);
    else text_write_rate(writer, limit);
    for (int option = 0; option < OPTIONS; option++) option_write(writer, limit, option);
}

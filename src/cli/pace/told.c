/* SPDX-License-Identifier: MIT
   What weir pace says where a limit cannot hold its rate, or has not, and what to write instead.

   One line, or none. */
#include "api/limiter.h"
#include "cli/pace/pace.h"
#include "core/algorithm.h"
#include "core/num.h"

enum { TOLD_SIZE = 256, PER_MILLION = 1000000, TOLD_PPM = 100, SHOWN_PPM = 100 };

void pace_tell_slept(const struct pace *pace, FILE *out)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    const uint64_t cost = pace->bytes ? atom_load(&pace->piece_max) : 1;
    for (uint64_t i = 0; i < plan->count && pace->command == NULL && !plan_has_profile(plan); i++) {
        char text[TOLD_SIZE];
        struct writer writer = {text, sizeof text, 0};
        if (!explain_slept(&plan->limit[i], &plan->rule[i], cost, pace->limiter->min_sleep_ns, &writer)) continue;
        fprintf(out, "%s\n", text);
        return;
    }
}

/* What has passed unused and is in no pool comes back by catching up, or never. */
void pace_tell_missed(const struct pace *pace, uint64_t behind_ns, FILE *out)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    const struct limit *limit = &plan->limit[0];
    const bool hybrid = plan->count == 1 && limit->algorithm == ALGORITHM_HYBRID;
    const uint64_t elapsed_ns = pace->record.last_ns - pace->record.first_ns;
    if (!hybrid || limit_factor(limit->factor) > limit_factor((struct decimal){1, 0})) return;
    if (pace->drop || pace->follow.path != NULL || elapsed_ns == 0) return;
    const uint64_t ppm = multiply_divide_floor(behind_ns, PER_MILLION, elapsed_ns);
    if (ppm < TOLD_PPM || behind_ns < facts_of(limit, &plan->rule[0]).spacing_ns) return;
    char text[TOLD_SIZE];
    struct writer writer = {text, sizeof text, 0};
    write_decimal(&writer, ppm / SHOWN_PPM, 2);
    write_text(&writer, " % of the starts were missed: what held them up was longer than the pool, ");
    write_duration(&writer, facts_linear_full_ns(limit));
    write_text(&writer, "; catchup=1.1 would make up for them");
    fprintf(out, "%s\n", text);
}

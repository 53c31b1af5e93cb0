/* SPDX-License-Identifier: MIT
   pace_told.c - what weir pace says about a limit that a thread which sleeps cannot keep up with.

   May touch: an open file.  Promises: one line, or none.  Leaves to others: the figure (core/facts.c). */
#include "api/limiter.h"
#include "cli/pace.h"

enum { TOLD_SIZE = 256 };

void pace_tell_slept(const struct pace *pace, FILE *out)
{
    const struct plan *plan = plan_inside_const(&pace->plan);
    const uint64_t cost = pace->bytes ? atom_load(&pace->piece_max) : 1;
    for (uint64_t i = 0; i < plan->count && pace->command == NULL; i++) {
        char text[TOLD_SIZE];
        struct writer writer = {text, sizeof text, 0};
        if (!explain_slept(&plan->limit[i], &plan->rule[i], cost, pace->limiter->grain_ns, &writer)) continue;
        fprintf(out, "%s\n", text);
        return;
    }
}

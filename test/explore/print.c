/* SPDX-License-Identifier: MIT
   print.c - what an exploration found, for people.

   May touch: the file it is given.  Promises: a line, and after a failure the steps that lead to it, one a line.
   Leaves to others: finding it (explore.c). */
#include "explore.h"

#include <inttypes.h>
#include <string.h>

static void print_step(const struct explore_step *step, FILE *file)
{
    static const char *const names[] = {"load", "store", "swap", "swap", "add", "touch", "wake", "choose"};
    if (step->thread < 0) fprintf(file, "outside   %-6s", names[step->kind]);
    else fprintf(file, "thread %d  %-6s", step->thread, names[step->kind]);
    if (step->place >= 0) fprintf(file, " w%-2d", step->place);
    if (step->kind == EXPLORE_CHOOSE) fprintf(file, " %" PRIu64 " of %" PRIu64, step->value, step->seen);
    else if (step->kind == EXPLORE_MISS) fprintf(file, " saw %" PRIu64 ", not %" PRIu64, step->seen, step->value);
    else if (step->kind != EXPLORE_TOUCH && step->kind != EXPLORE_WAKE) fprintf(file, " saw %" PRIu64, step->seen);
    if (step->kind == EXPLORE_STORE || step->kind == EXPLORE_SWAP || step->kind == EXPLORE_ADD)
        fprintf(file, ", wrote %" PRIu64, step->value);
    fputc('\n', file);
}

void explore_print(const struct explore_result *result, FILE *file)
{
    const char *word = result->failed ? "FAILED" : result->complete ? "ok" : "incomplete";
    fprintf(file, "%s %s: %" PRIu64 " executions, %" PRIu64 " cut, %" PRIu64 " steps\n", word, result->name,
            result->executions, result->cut, result->steps);
    if (!result->failed) return;
    fprintf(file, "  %s\n", result->message);
    for (int i = 0; i < result->trace_count; i++) {
        fprintf(file, "  %4d  ", i + 1);
        print_step(&result->trace[i], file);
    }
}

static const char *outcome(const struct explore_result *result, bool bounded)
{
    if (result->failed) return result->message;
    if (!result->complete) return "NOT COMPLETE";
    return bounded ? "complete up to its preemptions" : "complete";
}

bool explore_judge(const struct explore_scenario *scenario, const char *mistake)
{
    const struct explore_result result = explore(scenario);
    const bool found = result.failed && mistake != NULL && strstr(result.message, mistake) != NULL;
    const bool good = mistake != NULL ? found : result.complete && !result.failed;
    printf("%s %s: %" PRIu64 " executions, %" PRIu64 " cut, %" PRIu64 " steps, %s\n", good ? "ok" : "FAILED",
           result.name, result.executions, result.cut, result.steps, outcome(&result, scenario->preemptions_max > 0));
    fflush(stdout);
    if (!good) explore_print(&result, stdout);
    return good;
}

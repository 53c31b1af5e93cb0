/* SPDX-License-Identifier: MIT
   print.c - what an exploration found, for people.

   May touch: the file it is given.  Promises: a line, and after a failure the steps that lead to it, one a line.
   Leaves to others: finding it (explore.c). */
#include "explore.h"

#include <inttypes.h>
#include <string.h>

#include "size.h"

static unsigned scenes[EXPLORE_LEFT + 1]; /* as they ended */

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
    if (!result->complete) return "not complete";
    return bounded ? "complete up to its preemptions" : "complete";
}

uint64_t explore_steps_max(void)
{
    const uint64_t test = SANITIZED ? 150000 : 1500000;
    return size_pick(100000, test, SANITIZED ? 10 * test : 0);
}

const char *explore_counted(enum explore_end end)
{
    scenes[end]++;
    if (end == EXPLORE_OK) return "ok";
    if (end == EXPLORE_FAILED) return "FAILED";
    return size_asked() == SIZE_PROVE ? "left to a build without sanitizers:" : "left to prove:";
}

static enum explore_end ended(const struct explore_result *result, const char *mistake)
{
    if (result->failed) return mistake != NULL && strstr(result->message, mistake) ? EXPLORE_OK : EXPLORE_FAILED;
    if (!result->complete) return EXPLORE_LEFT;
    return mistake == NULL ? EXPLORE_OK : EXPLORE_FAILED;
}

void explore_judge(const struct explore_scenario *scenario, const char *mistake)
{
    struct explore_scenario sized = *scenario;
    if (sized.steps_max == 0) sized.steps_max = explore_steps_max();
    const struct explore_result result = explore(&sized);
    const enum explore_end end = ended(&result, mistake);
    printf("%s %s: %" PRIu64 " executions, %" PRIu64 " cut, %" PRIu64 " steps, %s\n", explore_counted(end), result.name,
           result.executions, result.cut, result.steps, outcome(&result, scenario->preemptions_max > 0));
    fflush(stdout);
    if (end == EXPLORE_FAILED) explore_print(&result, stdout);
}

int explore_status(void)
{
    printf("%u scenes ok, %u failed, %u left\n", scenes[EXPLORE_OK], scenes[EXPLORE_FAILED], scenes[EXPLORE_LEFT]);
    return scenes[EXPLORE_FAILED] != 0;
}

/* SPDX-License-Identifier: MIT
   What an exploration found, for people.

   A line, and after a failure the steps that lead to it, one a line. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

static unsigned scenes[MODEL_LEFT + 1]; /* as they ended */

static void print_step(const struct model_step *step, FILE *file)
{
    static const char *const names[] = {"load", "store", "swap", "swap", "add", "touch", "wake", "fence", "choose"};
    if (step->thread < 0) fprintf(file, "outside   %-6s", names[step->kind]);
    else fprintf(file, "thread %d  %-6s", step->thread, names[step->kind]);
    if (step->place >= 0) fprintf(file, " w%-2d", step->place);
    if (step->kind == MODEL_CHOOSE) fprintf(file, " %" PRIu64 " of %" PRIu64, step->value, step->seen);
    else if (step->kind == MODEL_MISS) fprintf(file, " saw %" PRIu64 ", not %" PRIu64, step->seen, step->value);
    else if (step->kind != MODEL_TOUCH && step->kind != MODEL_WAKE) fprintf(file, " saw %" PRIu64, step->seen);
    if (step->kind == MODEL_STORE || step->kind == MODEL_SWAP || step->kind == MODEL_ADD)
        fprintf(file, ", wrote %" PRIu64, step->value);
    if (step->late != 0) fprintf(file, ", %d older than the newest", step->late);
    if (step->site != NULL)
        fprintf(file, "   %s", strrchr(step->site, '/') != NULL ? strrchr(step->site, '/') + 1 : step->site);
    fputc('\n', file);
}

void model_print(const struct model_result *result, FILE *file)
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

static const char *outcome(const struct model_result *result, bool bounded)
{
    if (result->failed) return result->message;
    if (!result->complete) return "not complete";
    return bounded ? "complete up to its preemptions" : "complete";
}

static bool is_weak(void)
{
    return getenv("WEIR_MODEL_WEAK") != NULL;
}

/* A scene that is asked for by its name goes to its end. */
uint64_t model_steps_max(void)
{
    const uint64_t test = SANITIZED ? 150000 : 1500000;
    uint64_t prove = SANITIZED ? 10 * test : 30 * test;
    if (is_weak()) prove = 4 * test;
    if (getenv("WEIR_MODEL_SCENE") != NULL) prove = 0;
    return size_pick(100000, test, prove);
}

bool model_leaves_out(const char *scene)
{
    const char *wanted = getenv("WEIR_MODEL_SCENE");
    return wanted != NULL && strcmp(wanted, scene) != 0;
}

const char *model_counted(enum model_end end)
{
    scenes[end]++;
    if (end == MODEL_OK) return "ok";
    if (end == MODEL_FAILED) return "FAILED";
    if (is_weak() && size_asked() == SIZE_PROVE) return "left half-way:";
    return size_asked() == SIZE_PROVE ? "left to a run of its own:" : "left to prove:";
}

static enum model_end ended(const struct model_result *result, const char *mistake)
{
    if (result->failed) return mistake != NULL && strstr(result->message, mistake) ? MODEL_OK : MODEL_FAILED;
    if (!result->complete) return MODEL_LEFT;
    return mistake == NULL ? MODEL_OK : MODEL_FAILED;
}

enum model_end model_judge(const struct model_scenario *scenario, const char *mistake)
{
    struct model_scenario sized = *scenario;
    if ((mistake != NULL && is_weak()) || model_leaves_out(scenario->name)) return MODEL_OK;
    if (sized.steps_max == 0) sized.steps_max = model_steps_max();
    const struct model_result result = model_run(&sized);
    const enum model_end end = ended(&result, mistake);
    printf("%s %s: %" PRIu64 " executions, %" PRIu64 " cut, %" PRIu64 " steps, %s\n", model_counted(end), result.name,
           result.executions, result.cut, result.steps, outcome(&result, scenario->preemptions_max > 0));
    fflush(stdout);
    if (end == MODEL_FAILED) model_print(&result, stdout);
    return end;
}

int model_status(void)
{
    printf("%u scenes ok, %u failed, %u left\n", scenes[MODEL_OK], scenes[MODEL_FAILED], scenes[MODEL_LEFT]);
    return scenes[MODEL_FAILED] != 0;
}

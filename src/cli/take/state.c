/* SPDX-License-Identifier: MIT
   The file in which weir take keeps what was used.

   Limits by gcra share one file of 16-byte slots.  The others have wide slots, and a file for each width, which is a
   power of two so that few files come about and a limit finds its state again after a small change:

       take   take.wide-8   take.wide-16   take.wide-32 ...      words of 8 bytes

   Without its state nothing is taken. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/table/keyed.h"
#include "cli/take/take.h"
#include "core/algorithms.h"
#include "core/num.h"
#include "host/map.h"
#include "plan/plan.h"

enum { KEYS_MAX = 10000, KEYS_LEAST = 16, WIDE_BYTES = 4 << 20, WIDE_BYTES_MAX = 64 << 20 };
enum { WORD_BYTES = 8, WORDS_LEAST = 8, FOLDER_MODE = 0700 };

/* Limits that come back within so long have a slot, whose time is then exact to the nanosecond. */
#define LONGEST_NS (UINT64_C(100) * 86400 * 1000000000)

/* ---- where ---- */

/* A path and what comes behind it; false when it is too long. */
static bool join_path(char path[TAKE_PATH_MAX], const char *before, const char *behind)
{
    return (size_t)snprintf(path, TAKE_PATH_MAX, "%s%s", before, behind) < TAKE_PATH_MAX;
}

/* Makes the folders on the way to a file, for this user alone; those that are there stay as they are. */
static int make_folders(const char *path)
{
    char folder[TAKE_PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
        if (mkdir(folder, FOLDER_MODE) == 0 || errno == EEXIST) continue;
        const int why = errno; /* or it is there, where nothing can be made: a read-only file system */
        struct stat status;
        if (stat(folder, &status) == 0) continue;
        return trouble("take: directory %s: %s; choose another place with --state FILE", folder, strerror(why));
    }
    return STATUS_DONE;
}

/* XDG's rule: what is not absolute counts as not set. */
static int default_path(struct take *take)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool fits;
    struct stat status;
    if (state != NULL && state[0] == '/') fits = join_path(take->path, state, "/weir/take");
    else if (home != NULL && home[0] == '/') fits = join_path(take->path, home, "/.local/state/weir/take");
    else
        return trouble("take: neither HOME nor XDG_STATE_HOME is an absolute path; choose a place for the state with "
                       "--state FILE");
    if (!fits) return trouble("take: the path of the state is too long; give another with --state FILE");
    /* Whose home is said not to be there is given none. */
    if ((state == NULL || state[0] != '/') && home != NULL && stat(home, &status) != 0 && errno == ENOENT)
        return trouble("take: HOME %s does not exist, so it cannot hold the state; choose a place with --state FILE",
                       home);
    return take->peek ? STATUS_DONE : make_folders(take->path);
}

static int choose_path(struct take *take)
{
    if (take->state == NULL) return default_path(take);
    if (take->state[0] == '\0') return trouble("--state \"\": expected the path of a file");
    if (!join_path(take->path, take->state, "")) return trouble("--state: this path is too long");
    return STATUS_DONE;
}

/* ---- which kind ---- */

/* A table of this process alone is asked, so that no file comes about that then will not do. */
static bool fits_slots(const struct take *take)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    options.sharing = WEIR_PRIVATE;
    options.keys_max = 1;
    options.refill_max_ns = LONGEST_NS;
    if (weir_table_open(&table, &options, NULL) != 0) return false;
    const bool fits = weir_table_fits(table, &take->plan, NULL) == 0;
    weir_table_close(table);
    return fits;
}

/* A limit whose state has just so many words: a long log has a word for each permit, and some of its own. */
static bool plan_of_width(weir_plan *plan, uint64_t words)
{
    char text[64];
    if (weir_plan_parse(plan, "1/year algorithm=sliding-log", WEIR_ADMIT, NULL) != 0) return false;
    const uint64_t own = weir_state_size(plan) / WORD_BYTES - 1;
    snprintf(text, sizeof text, "%llu/year algorithm=sliding-log", (unsigned long long)(words - own));
    return weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0 && weir_state_size(plan) == words * WORD_BYTES;
}

/* A slot has two copies of the state: a process may be killed while it writes one. */
static int choose_width(struct take *take, weir_table_options *options, weir_plan *width)
{
    char behind[32];
    const uint64_t needed = keyed_wide_words(plan_inside_const(&take->plan), true);
    uint64_t words = WORDS_LEAST;
    while (words < needed) words *= 2;
    const uint64_t slot_bytes = 2 * words * WORD_BYTES;
    if (slot_bytes * KEYS_LEAST > WIDE_BYTES_MAX || !plan_of_width(width, words)) {
        return trouble("take: %s keeps %llu bytes for each key, which is too much for a state file; "
                       "algorithm=sliding-window comes close to it with 24",
                       take->limit, (unsigned long long)needed * WORD_BYTES);
    }
    options->plan = width;
    options->keys_max = least(most(WIDE_BYTES / slot_bytes, KEYS_LEAST), KEYS_MAX);
    snprintf(behind, sizeof behind, ".wide-%llu", (unsigned long long)words);
    const size_t length = strlen(take->path);
    if (length + strlen(behind) >= TAKE_PATH_MAX) return trouble("take: the path of the state is too long");
    memcpy(take->path + length, behind, strlen(behind) + 1);
    return STATUS_DONE;
}

/* ---- opening ---- */

static int open_file(struct take *take, weir_table_options *options)
{
    weir_error error;
    options->path = take->path;
    /* To look is to leave nothing behind. */
    if (take->peek && access(take->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        options->path = NULL;
        options->sharing = WEIR_PRIVATE;
    }
    host_end_when_lost(take->path, take->command != NULL ? STATUS_COMMAND_TROUBLE : STATUS_LOST);
    int code = weir_table_open(&take->table, options, &error);
    if (code == 0) code = weir_table_fits(take->table, &take->plan, &error);
    if (code == 0) return STATUS_DONE;
    return trouble("nothing was taken: %s; --state FILE keeps it elsewhere", error.message);
}

static bool keeps_something(const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        const uint8_t algorithm = plan->limit[i].algorithm;
        if (algorithm != ALGORITHM_UNLIMITED && algorithm != ALGORITHM_NONE) return true;
    }
    return false;
}

int take_open(struct take *take)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_plan width;
    options.holds_for_others = take->command == NULL; /* what it prints the id of is held when it has ended */
    if (!keeps_something(plan_inside_const(&take->plan))) return STATUS_DONE;
    if (take->engine_url != NULL) return take_engine_open(take);
    options.keys_max = KEYS_MAX;
    int status = choose_path(take);
    if (status != STATUS_DONE) return status;
    if (fits_slots(take)) options.refill_max_ns = LONGEST_NS;
    else status = choose_width(take, &options, &width);
    return status == STATUS_DONE ? open_file(take, &options) : status;
}

/* SPDX-License-Identifier: MIT
   How much memory this process may still use before it is killed for it.

   The machine reports what it has available, and each cgroup on the path from this process's to the root may have less.
   The usage of a cgroup includes the files that it has read, whose pages are freed when memory is needed; so the pages
   that were not read recently are subtracted.

       /proc/self/cgroup   0::PATH          /sys/fs/cgroup/PATH/memory.max, memory.current
                           N:memory:PATH    /sys/fs/cgroup/memory/PATH/memory.limit_in_bytes, memory.usage_in_bytes

   In a container PATH may be the path on the machine, while the container's own tree is mounted.  Directories that do
   not exist are skipped, and the mount point itself is the last one.  What cannot be read sets no bound. */
#include "host/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, LINE_SIZE = 1024 };

/* The file names of one version of cgroups. */
struct cgroup {
    const char *mount, *most, *used, *unneeded;
};

static const struct cgroup versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

/* The number in the first line that begins with `word`; false if there is none. */
static bool memory_read_number(const char *path, const char *word, uint64_t *number)
{
    char line[LINE_SIZE];
    bool found = false;
    const size_t length = strlen(word);
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *end = line;
        if (strncmp(line, word, length) == 0) *number = strtoull(line + length, &end, 10);
        found = end > line + length; /* "max" is not a number */
    }
    fclose(file);
    return found;
}

static void keep_least(struct host_memory *memory, uint64_t available, const char *source)
{
    if (available >= memory->available) return;
    memory->available = available;
    snprintf(memory->source, sizeof memory->source, "%.*s", (int)sizeof memory->source - 1, source);
}

static void ask_machine(struct host_memory *memory, const char *root)
{
    char path[PATH_SIZE];
    uint64_t kib;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (memory_read_number(path, "MemAvailable:", &kib) && kib <= UINT64_MAX / 1024)
        keep_least(memory, kib * 1024, "MemAvailable of /proc/meminfo");
}

static void ask_cgroup(struct host_memory *memory, const struct cgroup *version, const char *root, const char *group)
{
    char path[3 * PATH_SIZE];
    uint64_t most, used = 0, unneeded = 0;
    snprintf(path, sizeof path, "%s%s%s/%s", root, version->mount, group, version->used);
    memory_read_number(path, "", &used);
    snprintf(path, sizeof path, "%s%s%s/memory.stat", root, version->mount, group);
    memory_read_number(path, version->unneeded, &unneeded);
    snprintf(path, sizeof path, "%s%s%s/%s", root, version->mount, group, version->most);
    if (!memory_read_number(path, "", &most)) return; /* "max" */
    used -= unneeded < used ? unneeded : used;
    keep_least(memory, most > used ? most - used : 0, path + strlen(root));
}

/* Checks the process's own group and all groups above it. */
static void ask_cgroups(struct host_memory *memory, const struct cgroup *version, const char *root, char *group)
{
    for (;;) {
        ask_cgroup(memory, version, root, group);
        char *last = strrchr(group, '/');
        if (last == NULL) return;
        *last = '\0';
    }
}

/* Parses "4:cpu,memory:/system.slice/weir.service": the version of the memory controller, NULL if the line is for
   others. */
static const struct cgroup *memory_read_line(char *line, char **group)
{
    char *rest, *controllers = strchr(line, ':');
    *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (*group == NULL) return NULL;
    *(*group)++ = '\0';
    (*group)[strcspn(*group, "\n")] = '\0';
    if (strcmp(*group, "/") == 0) **group = '\0';
    controllers++;
    if (*controllers == '\0') return &versions[0];
    for (char *name = strtok_r(controllers, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, "memory") == 0) return &versions[1];
    return NULL;
}

struct host_memory host_memory_available_in(const char *root)
{
    struct host_memory memory = {.available = UINT64_MAX};
    char path[PATH_SIZE], line[LINE_SIZE], *group;
    ask_machine(&memory, root);
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const struct cgroup *version = memory_read_line(line, &group);
        if (version != NULL) ask_cgroups(&memory, version, root, group);
    }
    if (file != NULL) fclose(file);
    return memory;
}

struct host_memory host_memory_available(void)
{
    return host_memory_available_in("");
}

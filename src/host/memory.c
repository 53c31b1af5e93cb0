/* SPDX-License-Identifier: MIT
   memory.c - how much memory this process may still take before it is killed for it.

   The machine says what it has available; each cgroup on the way from this process's to the root may say that it has
   less.  What a cgroup uses counts the files that it has read, which go when the memory is needed: those that were not
   read of late are taken off.

       /proc/self/cgroup   0::PATH          /sys/fs/cgroup/PATH/memory.max, memory.current
                           N:memory:PATH    /sys/fs/cgroup/memory/PATH/memory.limit_in_bytes, memory.usage_in_bytes

   In a container PATH may be that of the machine, and what is mounted the container's own: what is not there is left
   out, and the mount's own folder is the last on the way.

   May touch: /proc, /sys/fs/cgroup.  Promises: what cannot be read says nothing.  Leaves to others: refusing. */
#include "host/memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, LINE_SIZE = 1024 };

/* What the files of one version of cgroups are called. */
struct cgroup {
    const char *mount, *most, *used, *unneeded;
};

static const struct cgroup versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

/* The number behind the first line's beginning that is this word; false: there is none. */
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
        found = end > line + length; /* "max" is none */
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

/* The process's own group and all above it. */
static void ask_cgroups(struct host_memory *memory, const struct cgroup *version, const char *root, char *group)
{
    for (;;) {
        ask_cgroup(memory, version, root, group);
        char *last = strrchr(group, '/');
        if (last == NULL) return;
        *last = '\0';
    }
}

/* "4:cpu,memory:/system.slice/weir.service": the version of its memory, NULL where it is another one's. */
static const struct cgroup *memory_read_line(char *line, char **group)
{
    char *rest, *controllers = strchr(line, ':');
    *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (*group == NULL) return NULL;
    *(*group)++ = '\0';
    (*group)[strcspn(*group, "\n")] = '\0';
    if (strcmp(*group, "/") == 0) **group = '\0';
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

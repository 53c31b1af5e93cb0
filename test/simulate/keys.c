/* SPDX-License-Identifier: MIT
   A hash table with open addressing, and a ring of what each write put an end to. */
#include "simulate/keys.h"

#include <stdlib.h>
#include <string.h>

#include "simulate/world.h"

struct entry *keys_find(struct keys *keys, const char *name, size_t size)
{
    uint32_t hash = 2166136261U;
    if (size == 0 || size >= KEY_SIZE) abort();
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619U;
    for (unsigned i = 0; i < KEYS_MOST; i++) {
        struct entry *entry = &keys->entry[(hash + i) % KEYS_MOST];
        if (entry->name[0] == '\0') memcpy(entry->name, name, size);
        if (strncmp(entry->name, name, size) == 0 && entry->name[size] == '\0') return entry;
    }
    abort();
}

void keys_changed(struct keys *keys, const struct entry *entry, const struct value *before)
{
    keys->write[keys->writes++ % WRITES_MOST] = (struct write){world_now(), (uint32_t)(entry - keys->entry), *before};
}

void keys_go_back(struct keys *keys, uint64_t to)
{
    for (unsigned i = 0; i < WRITES_MOST && keys->writes != 0; i++) {
        const struct write *write = &keys->write[(keys->writes - 1) % WRITES_MOST];
        if (write->at <= to) return;
        keys->entry[write->entry].value = write->before;
        keys->writes--;
    }
}

void keys_clear(struct keys *keys)
{
    memset(keys, 0, sizeof *keys);
}

bool keys_enter(struct keys *keys, const char *name, uint64_t score)
{
    unsigned at = 0;
    while (at < keys->members && strcmp(keys->member[at].name, name) != 0) at++;
    if (at == MEMBERS_MOST || strlen(name) >= MEMBER_SIZE) abort();
    keys->member[at].score = score;
    if (at < keys->members) return false;
    strcpy(keys->member[at].name, name);
    keys->members++;
    return true;
}

void keys_leave(struct keys *keys, uint64_t most)
{
    unsigned left = 0;
    for (unsigned i = 0; i < keys->members; i++)
        if (keys->member[i].score > most) keys->member[left++] = keys->member[i];
    keys->members = left;
}

bool keys_take_out(struct keys *keys, const char *name, size_t size)
{
    for (unsigned i = 0; i < keys->members; i++) {
        if (strlen(keys->member[i].name) != size || memcmp(keys->member[i].name, name, size) != 0) continue;
        keys->member[i] = keys->member[--keys->members];
        return true;
    }
    return false;
}

unsigned keys_count(const struct keys *keys, uint64_t above)
{
    unsigned count = 0;
    for (unsigned i = 0; i < keys->members; i++) count += keys->member[i].score > above;
    return count;
}

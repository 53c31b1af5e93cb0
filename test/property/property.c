/* SPDX-License-Identifier: MIT
   Runs a property on random or given bytes, and makes a failing run smaller.

   A failure is printed with the bytes that repeat it. */
#include "property/property.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

enum { BYTES_MAX = 1 << 14, SHRINK_TRIES_MAX = 20000, PATH_SIZE = 1024 };

struct prop {
    uint8_t bytes[BYTES_MAX];
    size_t size, at;
    bool grows; /* bytes that are missing are made at random, or else are 0 */
    bool told;  /* this run is printed */
    uint64_t random, steps;
    const char *largest_what;
    double largest;
    prop_function *property;
    jmp_buf failed;
};

/* ---- choices ---- */

static uint64_t next_random(uint64_t *random)
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t next_byte(struct prop *prop)
{
    if (prop->at == prop->size && prop->grows && prop->size < BYTES_MAX) {
        prop->bytes[prop->size++] = (uint8_t)next_random(&prop->random);
    }
    return prop->at < prop->size ? prop->bytes[prop->at++] : 0;
}

uint64_t prop_pick(struct prop *prop, uint64_t n)
{
    uint64_t value = 0;
    for (uint64_t range = n - 1; range != 0; range >>= 8) value = value << 8 | next_byte(prop);
    return value % n;
}

uint64_t prop_pick_size(struct prop *prop, uint64_t max)
{
    unsigned bits = 0;
    while (bits < 64 && max >> bits != 0) bits++;
    const uint64_t used = prop_pick(prop, bits + UINT64_C(1));
    const uint64_t value = used == 0 ? 0 : prop_pick(prop, UINT64_MAX >> (64 - used)) + 1;
    return value > max ? max : value;
}

bool prop_chance(struct prop *prop, uint64_t n)
{
    return prop_pick(prop, n) == n - 1;
}

bool prop_more(struct prop *prop, uint64_t mean)
{
    return prop_pick(prop, mean + 1) != 0;
}

/* ---- what happened ---- */

void prop_check(struct prop *prop, bool holds, const char *format, ...)
{
    if (holds) return;
    if (prop->told) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "  FAILED: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        va_end(arguments);
    }
    longjmp(prop->failed, 1);
}

void prop_note(struct prop *prop, const char *format, ...)
{
    if (!prop->told) return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "  ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

void prop_step(struct prop *prop)
{
    prop->steps++;
}

void prop_largest(struct prop *prop, const char *what, double value)
{
    if (prop->largest_what != NULL && value <= prop->largest) return;
    prop->largest_what = what;
    prop->largest = value;
}

/* ---- a run ---- */

static bool passes(struct prop *prop)
{
    prop->at = 0;
    if (setjmp(prop->failed) != 0) return false;
    prop->property(prop);
    return true;
}

/* Tries these bytes; keeps them when the run still fails. */
static bool still_fails(struct prop *prop, const uint8_t *bytes, size_t size)
{
    uint8_t before[BYTES_MAX];
    const size_t size_before = prop->size;
    memcpy(before, prop->bytes, size_before);
    memmove(prop->bytes, bytes, size);
    prop->size = size;
    if (!passes(prop)) return true;
    memcpy(prop->bytes, before, size_before);
    prop->size = size_before;
    return false;
}

/* Takes out each piece of `length` bytes in turn, or sets it to 0. */
static bool shrink_by(struct prop *prop, size_t length, int *tries)
{
    bool shrunk = false;
    uint8_t candidate[BYTES_MAX];
    for (size_t at = 0; at + length <= prop->size && *tries > 0; *tries -= 2) {
        memcpy(candidate, prop->bytes, at);
        memcpy(candidate + at, prop->bytes + at + length, prop->size - at - length);
        if (still_fails(prop, candidate, prop->size - length)) {
            shrunk = true;
            continue;
        }
        memcpy(candidate, prop->bytes, prop->size);
        memset(candidate + at, 0, length);
        if (memcmp(candidate, prop->bytes, prop->size) != 0 && still_fails(prop, candidate, prop->size)) shrunk = true;
        at += length;
    }
    return shrunk;
}

static void shrink(struct prop *prop)
{
    int tries = SHRINK_TRIES_MAX;
    prop->grows = false;
    if (prop->at < prop->size) prop->size = prop->at;
    for (bool shrunk = true; shrunk && tries > 0;) {
        shrunk = false;
        for (size_t length = prop->size / 2; length > 0; length /= 2) shrunk |= shrink_by(prop, length, &tries);
    }
}

static void tell(struct prop *prop)
{
    prop->told = true;
    if (passes(prop)) fprintf(stderr, "  it passes when told: the property looks at more than its choices\n");
    fprintf(stderr, "  replay ");
    for (size_t i = 0; i < prop->size; i++) fprintf(stderr, "%02x", prop->bytes[i]);
    fprintf(stderr, "\n");
}

/* ---- programs ---- */

int prop_fuzz_one(prop_function *property, const uint8_t *bytes, size_t size)
{
    static struct prop prop;
    if (size > BYTES_MAX) return 0;
    prop.property = property;
    prop.grows = prop.told = false;
    memcpy(prop.bytes, bytes, size);
    prop.size = size;
    if (passes(&prop)) return 0;
    tell(&prop);
    abort();
}

static bool run_file(struct prop *prop, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return false;
    }
    prop->grows = prop->told = false;
    prop->size = fread(prop->bytes, 1, BYTES_MAX, file);
    fclose(file);
    if (passes(prop)) return true;
    fprintf(stderr, "%s\n", path);
    tell(prop);
    return false;
}

/* The bytes of past failures. */
static bool run_corpus(struct prop *prop, const char *name)
{
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    snprintf(folder, sizeof folder, "%s/property/corpus/%s", TEST_FOLDER, name);
    DIR *found = opendir(folder);
    bool passed = true;
    if (found == NULL) return true;
    for (struct dirent *entry = readdir(found); entry != NULL; entry = readdir(found)) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        passed &= run_file(prop, path);
    }
    closedir(found);
    return passed;
}

static bool run_hex(struct prop *prop, const char *hex)
{
    unsigned byte;
    for (prop->size = 0; prop->size < BYTES_MAX && sscanf(hex + 2 * prop->size, "%2x", &byte) == 1; prop->size++) {
        prop->bytes[prop->size] = (uint8_t)byte;
    }
    prop->told = true;
    return passes(prop);
}

static bool run_random(struct prop *prop, const char *name, uint64_t runs, uint64_t seed)
{
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t mixed = seed;
        prop->random = next_random(&mixed) ^ run;
        prop->grows = true;
        prop->told = false;
        prop->size = 0;
        if (passes(prop)) continue;
        fprintf(stderr, "%s: failed in run %" PRIu64 " of seed %" PRIu64 "; made smaller:\n", name, run, seed);
        shrink(prop);
        tell(prop);
        return false;
    }
    printf("%s: %" PRIu64 " runs, %" PRIu64 " steps, seed %" PRIu64 "\n", name, runs, prop->steps, seed);
    if (prop->largest_what != NULL) printf("%s: %s %g\n", name, prop->largest_what, prop->largest);
    return true;
}

int prop_main(int argc, char **argv, const char *name, prop_function *property, uint64_t runs)
{
    static struct prop prop;
    prop.property = property;
    bool passed = true;
    if (argc == 3 && strcmp(argv[1], "replay") == 0) {
        passed = run_hex(&prop, argv[2]);
    } else if (argc >= 3 && strcmp(argv[1], "file") == 0) {
        for (int i = 2; i < argc; i++) passed &= run_file(&prop, argv[i]);
    } else {
        runs = argc > 1 ? strtoull(argv[1], NULL, 10) : size_pick(1 + (runs - 1) / 10, runs, 3 * runs);
        const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : size_seed(name, 1);
        passed = run_corpus(&prop, name) && run_random(&prop, name, runs, seed);
    }
    return passed ? 0 : 1;
}

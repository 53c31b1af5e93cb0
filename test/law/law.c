/* SPDX-License-Identifier: MIT
   law.c - runs a property on random or given bytes, and makes a failing run smaller.

   May touch: stdio, the folder corpus beside this file.  Promises: a failure is printed with the bytes that repeat it.
   Leaves to others: which plans and costs to choose (choices.c). */
#include "law/law.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

enum { BYTES_MAX = 1 << 14, SHRINK_TRIES_MAX = 20000, PATH_SIZE = 1024 };

struct law {
    uint8_t bytes[BYTES_MAX];
    size_t size, at;
    bool grows; /* bytes that are missing are made at random, or else are 0 */
    bool told;  /* this run is printed */
    uint64_t random, steps;
    const char *largest_what;
    double largest;
    law_property *property;
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

static uint64_t next_byte(struct law *law)
{
    if (law->at == law->size && law->grows && law->size < BYTES_MAX) {
        law->bytes[law->size++] = (uint8_t)next_random(&law->random);
    }
    return law->at < law->size ? law->bytes[law->at++] : 0;
}

uint64_t law_pick(struct law *law, uint64_t n)
{
    uint64_t value = 0;
    for (uint64_t range = n - 1; range != 0; range >>= 8) value = value << 8 | next_byte(law);
    return value % n;
}

uint64_t law_pick_size(struct law *law, uint64_t max)
{
    unsigned bits = 0;
    while (bits < 64 && max >> bits != 0) bits++;
    const uint64_t used = law_pick(law, bits + UINT64_C(1));
    const uint64_t value = used == 0 ? 0 : law_pick(law, UINT64_MAX >> (64 - used)) + 1;
    return value > max ? max : value;
}

bool law_chance(struct law *law, uint64_t n)
{
    return law_pick(law, n) == n - 1;
}

bool law_more(struct law *law, uint64_t mean)
{
    return law_pick(law, mean + 1) != 0;
}

/* ---- what happened ---- */

void law_check(struct law *law, bool holds, const char *format, ...)
{
    if (holds) return;
    if (law->told) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "  FAILED: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        va_end(arguments);
    }
    longjmp(law->failed, 1);
}

void law_note(struct law *law, const char *format, ...)
{
    if (!law->told) return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "  ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

void law_step(struct law *law)
{
    law->steps++;
}

void law_largest(struct law *law, const char *what, double value)
{
    if (law->largest_what != NULL && value <= law->largest) return;
    law->largest_what = what;
    law->largest = value;
}

/* ---- a run ---- */

static bool passes(struct law *law)
{
    law->at = 0;
    if (setjmp(law->failed) != 0) return false;
    law->property(law);
    return true;
}

/* Tries these bytes; keeps them when the run still fails. */
static bool still_fails(struct law *law, const uint8_t *bytes, size_t size)
{
    uint8_t before[BYTES_MAX];
    const size_t size_before = law->size;
    memcpy(before, law->bytes, size_before);
    memmove(law->bytes, bytes, size);
    law->size = size;
    if (!passes(law)) return true;
    memcpy(law->bytes, before, size_before);
    law->size = size_before;
    return false;
}

/* Takes out each piece of `length` bytes in turn, or sets it to 0. */
static bool shrink_by(struct law *law, size_t length, int *tries)
{
    bool shrunk = false;
    uint8_t candidate[BYTES_MAX];
    for (size_t at = 0; at + length <= law->size && *tries > 0; *tries -= 2) {
        memcpy(candidate, law->bytes, at);
        memcpy(candidate + at, law->bytes + at + length, law->size - at - length);
        if (still_fails(law, candidate, law->size - length)) {
            shrunk = true;
            continue;
        }
        memcpy(candidate, law->bytes, law->size);
        memset(candidate + at, 0, length);
        if (memcmp(candidate, law->bytes, law->size) != 0 && still_fails(law, candidate, law->size)) shrunk = true;
        at += length;
    }
    return shrunk;
}

static void shrink(struct law *law)
{
    int tries = SHRINK_TRIES_MAX;
    law->grows = false;
    if (law->at < law->size) law->size = law->at;
    for (bool shrunk = true; shrunk && tries > 0;) {
        shrunk = false;
        for (size_t length = law->size / 2; length > 0; length /= 2) shrunk |= shrink_by(law, length, &tries);
    }
}

static void tell(struct law *law)
{
    law->told = true;
    if (passes(law)) fprintf(stderr, "  it passes when told: the property looks at more than its choices\n");
    fprintf(stderr, "  replay ");
    for (size_t i = 0; i < law->size; i++) fprintf(stderr, "%02x", law->bytes[i]);
    fprintf(stderr, "\n");
}

/* ---- programs ---- */

int law_fuzz_one(law_property *property, const uint8_t *bytes, size_t size)
{
    static struct law law;
    if (size > BYTES_MAX) return 0;
    law.property = property;
    law.grows = law.told = false;
    memcpy(law.bytes, bytes, size);
    law.size = size;
    if (passes(&law)) return 0;
    tell(&law);
    abort();
}

static bool run_file(struct law *law, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return false;
    }
    law->grows = law->told = false;
    law->size = fread(law->bytes, 1, BYTES_MAX, file);
    fclose(file);
    if (passes(law)) return true;
    fprintf(stderr, "%s\n", path);
    tell(law);
    return false;
}

/* The bytes of past failures. */
static bool run_corpus(struct law *law, const char *name)
{
    char folder[PATH_SIZE], path[2 * PATH_SIZE];
    snprintf(folder, sizeof folder, "%s/law/corpus/%s", TEST_FOLDER, name);
    DIR *found = opendir(folder);
    bool passed = true;
    if (found == NULL) return true;
    for (struct dirent *entry = readdir(found); entry != NULL; entry = readdir(found)) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        passed &= run_file(law, path);
    }
    closedir(found);
    return passed;
}

static bool run_hex(struct law *law, const char *hex)
{
    unsigned byte;
    for (law->size = 0; law->size < BYTES_MAX && sscanf(hex + 2 * law->size, "%2x", &byte) == 1; law->size++) {
        law->bytes[law->size] = (uint8_t)byte;
    }
    law->told = true;
    return passes(law);
}

static bool run_random(struct law *law, const char *name, uint64_t runs, uint64_t seed)
{
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t mixed = seed;
        law->random = next_random(&mixed) ^ run;
        law->grows = true;
        law->told = false;
        law->size = 0;
        if (passes(law)) continue;
        fprintf(stderr, "%s: failed in run %" PRIu64 " of seed %" PRIu64 "; made smaller:\n", name, run, seed);
        shrink(law);
        tell(law);
        return false;
    }
    printf("%s: %" PRIu64 " runs, %" PRIu64 " steps, seed %" PRIu64 "\n", name, runs, law->steps, seed);
    if (law->largest_what != NULL) printf("%s: %s %g\n", name, law->largest_what, law->largest);
    return true;
}

int law_main(int argc, char **argv, const char *name, law_property *property, uint64_t runs)
{
    static struct law law;
    law.property = property;
    bool passed = true;
    if (argc == 3 && strcmp(argv[1], "replay") == 0) {
        passed = run_hex(&law, argv[2]);
    } else if (argc >= 3 && strcmp(argv[1], "file") == 0) {
        for (int i = 2; i < argc; i++) passed &= run_file(&law, argv[i]);
    } else {
        runs = argc > 1 ? strtoull(argv[1], NULL, 10) : size_pick(1 + (runs - 1) / 10, runs, 10 * runs);
        const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : size_seed(name, 1);
        passed = run_corpus(&law, name) && run_random(&law, name, runs, seed);
    }
    return passed ? 0 : 1;
}

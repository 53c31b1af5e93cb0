/* SPDX-License-Identifier: MIT
   Table files that an older weir wrote, with a byte changed, cut off, or with something else in them.

       damage FOLDER      copies of those files, which it spoils, one after the other

   Whatever is there, the file is opened and answers as before, or it is refused with the command that begins anew and
   stays as it is.  That holds for the header and for a length.  In what follows, a changed byte is not noticed: then
   the answers stay within what is written down in doc/design.md, "State of older versions".

   Ends with 1 at the first offence, and says which byte it was. */
#include "compat/tables.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, FLIPS = 3, USES_MAX = 16, FILE_MAX = 1 << 20 };

/* Then each key has all back: of wide slots also 1/5year; the others tell no more than twice options.refill_max_ns. */
static const uint64_t WIDE_END_S = UINT64_C(6) * 366 * 86400, SLOTS_END_S = UINT64_C(2) * 32 * 86400;

static const uint8_t flips[FLIPS] = {0x01, 0x80, 0xff};

struct spoiled {
    const struct file *file;
    char path[PATH_MAX_HERE];
    uint8_t *sound, *bytes;
    size_t size;
    uint64_t offset_ns; /* of the sound file: what its time is */
    weir_decision told[USES_MAX];
    const char *what;
    size_t at;
};

static void offence(const struct spoiled *spoiled, const char *words)
{
    printf("FAILED: %s: %s at %zu: %s\n", spoiled->file->name, spoiled->what, spoiled->at, words);
    exit(1);
}

static void put(const struct spoiled *spoiled, const uint8_t *bytes, size_t size)
{
    unlink(spoiled->path);
    FILE *out = fopen(spoiled->path, "wb");
    if (out == NULL || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) stop(spoiled->path, "not written");
    chmod(spoiled->path, S_IRUSR | S_IWUSR);
}

static size_t get(const char *path, uint8_t *bytes)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) stop(path, "not there");
    const size_t size = fread(bytes, 1, FILE_MAX, in);
    fclose(in);
    return size;
}

static int try_open(const struct spoiled *spoiled, weir_table **table, weir_error *error)
{
    weir_plan plan;
    weir_table_options options = options_of_file(spoiled->file, spoiled->path, &plan);
    options.sharing = WEIR_JOIN_OR_CREATE;
    return weir_table_open(table, &options, error);
}

static weir_decision tell(weir_table *table, const struct use *use, uint64_t later_s)
{
    const weir_plan plan = plan_of(use->limit);
    return keyed_peek(table, &plan, weir_key_text(use->key), instant(table, USED_S + later_s).ns, -1, use->cost[0]);
}

static bool same(const weir_decision *one, const weir_decision *other)
{
    return one->verdict == other->verdict && one->remaining == other->remaining && one->retry_ns == other->retry_ns;
}

/* "; to start afresh: mv PATH PATH.old", and nothing was written. */
static void check_refusal(struct spoiled *spoiled, const weir_error *error, size_t size)
{
    static uint8_t now[FILE_MAX];
    char command[2 * PATH_MAX_HERE + 64];
    snprintf(command, sizeof command, "; to start afresh: mv %s %s.old", spoiled->path, spoiled->path);
    if (strstr(error->message, command) == NULL) offence(spoiled, error->message);
    if (get(spoiled->path, now) != size || memcmp(now, spoiled->bytes, size) != 0) offence(spoiled, "it was changed");
}

/* How many keys are answered otherwise than in the sound file; -1: it is refused.  In the end all have all back. */
static int look(struct spoiled *spoiled, size_t size)
{
    weir_table *table;
    weir_error error = {0};
    int changed = 0;
    const uint64_t end_s = spoiled->file->plan != NULL ? WIDE_END_S : SLOTS_END_S;
    put(spoiled, spoiled->bytes, size);
    if (try_open(spoiled, &table, &error) != 0) {
        check_refusal(spoiled, &error, size);
        return -1;
    }
    /* A minute, because the clocks of the fixture's last writer and of this test are asked at different times. */
    if (table->offset_ns - spoiled->offset_ns + 60 * S > 120 * S) offence(spoiled, "its time jumped");
    for (int i = 0; spoiled->file->use[i].limit != NULL; i++) {
        const struct use *use = &spoiled->file->use[i];
        const weir_decision told = tell(table, use, 1);
        changed += !same(&told, &spoiled->told[i]);
        if (tell(table, use, end_s).verdict != WEIR_ALLOW) offence(spoiled, "it is refused for ever");
    }
    weir_table_close(table);
    return changed;
}

static void open_sound(struct spoiled *spoiled, const char *folder, const struct file *file)
{
    weir_table *table;
    weir_error error;
    *spoiled = (struct spoiled){.file = file, .what = "nothing"};
    spoiled->sound = calloc(2, FILE_MAX);
    if (spoiled->sound == NULL) stop(file->name, "no memory");
    spoiled->bytes = spoiled->sound + FILE_MAX;
    snprintf(spoiled->path, sizeof spoiled->path, "%s/%s", folder, file->name);
    spoiled->size = get(spoiled->path, spoiled->sound);
    if (try_open(spoiled, &table, &error) != 0) stop(file->name, error.message);
    spoiled->offset_ns = table->offset_ns;
    for (int i = 0; file->use[i].limit != NULL; i++) spoiled->told[i] = tell(table, &file->use[i], 1);
    weir_table_close(table);
    memcpy(spoiled->bytes, spoiled->sound, spoiled->size);
}

static void restore(struct spoiled *spoiled)
{
    memcpy(spoiled->bytes, spoiled->sound, spoiled->size);
}

/* Each byte of the first page: of all that is not zero, and a few of the others. */
static void spoil_header(struct spoiled *spoiled)
{
    spoiled->what = "a changed byte";
    int refused = 0;
    for (size_t at = 0; at < PAGE; at++) {
        const bool spare = spoiled->sound[at] == 0 && at >= 160 && at % 61 != 0;
        for (int i = 0; i < FLIPS && !spare; i++) {
            spoiled->at = at;
            spoiled->bytes[at] ^= flips[i];
            const int changed = look(spoiled, spoiled->size);
            if (changed > 0) offence(spoiled, "it answers otherwise, and does not say so");
            refused += changed < 0;
            restore(spoiled);
        }
    }
    if (refused < 100) offence(spoiled, "hardly any was noticed");
}

static void must_refuse(struct spoiled *spoiled, const char *what, size_t size)
{
    spoiled->what = what;
    spoiled->at = size;
    if (look(spoiled, size) != -1) offence(spoiled, "it is opened");
    restore(spoiled);
}

static void spoil_length(struct spoiled *spoiled)
{
    for (size_t size = 1; size < spoiled->size; size = size < 70 ? size + 1 : size * 17 / 16)
        must_refuse(spoiled, "cut off", size);
    must_refuse(spoiled, "cut off", PAGE);
    must_refuse(spoiled, "cut off", spoiled->size - 1);
    memset(spoiled->bytes, 0, PAGE);
    must_refuse(spoiled, "a first page of zeros", spoiled->size);
    memcpy(spoiled->bytes, "weir ...", 8);
    must_refuse(spoiled, "a first page that was never finished", spoiled->size);
    memset(spoiled->bytes, 'x', spoiled->size);
    must_refuse(spoiled, "something else", spoiled->size);
    memset(spoiled->bytes, 'x', spoiled->size);
    must_refuse(spoiled, "a few letters", 11);
    spoiled->bytes[spoiled->size] = 1;
    must_refuse(spoiled, "more behind its end", spoiled->size + 1);
}

/* Versions before and after, of which a converter knows nothing yet. */
static void spoil_version(struct spoiled *spoiled)
{
    for (int version = 0; version < 256; version++) {
        if (spoiled->sound[8] == version) continue;
        spoiled->bytes[8] = (uint8_t)version;
        must_refuse(spoiled, "another version", spoiled->size);
    }
}

/* A changed byte of a slot is not noticed; it concerns one key, or nobody, and that not for ever. */
static void spoil_body(struct spoiled *spoiled)
{
    int changes = 0, tried = 0;
    spoiled->what = "a changed byte of a slot";
    for (size_t at = PAGE; at < spoiled->size; at++) {
        if (memcmp(spoiled->sound + at / 8 * 8, (const uint64_t[]){0}, 8) == 0) continue;
        for (int i = 0; i < FLIPS; i++) {
            spoiled->at = at;
            spoiled->bytes[at] ^= flips[i];
            const int changed = look(spoiled, spoiled->size);
            if (changed < 0) offence(spoiled, "it is refused");
            if (changed > 1) offence(spoiled, "it changes the answers for several keys");
            changes += changed;
            tried++;
            restore(spoiled);
        }
    }
    printf("%s: of %d changed bytes of slots %d change an answer\n", spoiled->file->name, tried, changes);
}

/* As the release left it, and once more as this weir leaves it: then it has lived in two boots. */
static void spoil_all(struct spoiled *spoiled)
{
    spoil_header(spoiled);
    spoil_length(spoiled);
    spoil_version(spoiled);
    spoil_body(spoiled);
    if (look(spoiled, spoiled->size) != 0) offence(spoiled, "the sound file is not answered as before");
    if (get(spoiled->path, spoiled->sound) != spoiled->size) offence(spoiled, "its length has changed");
    restore(spoiled);
    spoil_header(spoiled);
}

int main(int argc, char **argv)
{
    struct spoiled spoiled;
    if (argc != 2) stop("usage", "damage FOLDER");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        /* A large file has the same header and slots, and is written anew for each byte that is tried. */
        if (!is_in(argv[1], &files[i]) || files[i].keys == LARGE_KEYS_MAX) continue;
        open_sound(&spoiled, argv[1], &files[i]);
        spoil_all(&spoiled);
        free(spoiled.sound);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT
   Every line of a log once, in order, however it comes: packed, cut, rotated, truncated, damaged.

   Nothing depends on how fast the machine is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "cli/replay/log/source.h"
#include "cli/log/unpack.h"
#include "size.h"
#include "unit/skip.h"
#include "unit/memory_limit.h"

enum { NAME_SIZE = 64, TURNS_MAX = 200, MANY = 300000 };

struct folder {
    char name[NAME_SIZE], log[NAME_SIZE + 16], other[NAME_SIZE + 16];
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    snprintf(folder->name, sizeof folder->name, "/tmp/weir-source-XXXXXX");
    if (folder == NULL || mkdtemp(folder->name) == NULL) return -1;
    snprintf(folder->log, sizeof folder->log, "%s/log", folder->name);
    snprintf(folder->other, sizeof folder->other, "%s/other", folder->name);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    unlink(folder->log);
    unlink(folder->other);
    const int removed = rmdir(folder->name);
    free(folder);
    return removed;
}

static void put(const char *path, const char *mode, const void *bytes, size_t size)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *path, const char *mode, const char *text)
{
    put(path, mode, text, strlen(text));
}

/* One member of gzip; returns its size. */
static size_t pack(const char *text, size_t size, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (unsigned)size;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t packed = room - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}

/* Lines joined with "|" until the source says so, with a "+" where a followed log has gained them; what failed stands
   in between. */
static enum source_state read_until(struct source *source, enum source_state until, char *out, size_t size)
{
    struct source_line line;
    size_t at = strlen(out);
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        const enum source_state state = source_read(source);
        if (state == SOURCE_FAILED) at += (size_t)snprintf(out + at, size - at, "<%s>", source->message);
        while (source_line(source, &line)) {
            at += (size_t)snprintf(out + at, size - at, "%.*s%s%s|", (int)(line.size < 20 ? line.size : 20), line.bytes,
                                   line.too_long ? "(too long)" : "", line.gained ? "+" : "");
        }
        if (state == until || state == SOURCE_END) return state;
    }
    return SOURCE_STOPPED;
}

static void read_logs(char *const *paths, int count, char *out, size_t size)
{
    struct source source;
    assert_true(source_open(&source, paths, count, false, -1));
    assert_int_equal(read_until(&source, SOURCE_END, out, size), SOURCE_END);
    source_close(&source);
}

static void reads(char *const *paths, int count, const char *expected)
{
    char out[4096] = "";
    read_logs(paths, count, out, sizeof out);
    assert_string_equal(out, expected);
}

/* What damage unpacks to is anything. */
static void begins(char *const *paths, int count, const char *expected)
{
    char out[4096] = "";
    read_logs(paths, count, out, sizeof out);
    assert_memory_equal(out, expected, strlen(expected));
}

static void test_plain(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log, folder->other};
    put_text(folder->log, "w", "one\ntwo\r\n\nlast");
    put_text(folder->other, "w", "other\n");
    reads(paths, 2, "one|two||last|other|");
    put_text(folder->log, "w", "");
    reads(paths, 2, "other|");
    put_text(folder->log, "w", "x");
    reads(paths, 1, "x|");
    put_text(folder->log, "w", "\n\n");
    reads(paths, 1, "||");
}

static void test_missing(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log, folder->other, folder->name};
    unlink(folder->log);
    put_text(folder->other, "w", "other\n");
    reads(paths, 3, "<No such file or directory>other|<Is a directory>");
}

static void test_gzip(void **state)
{
    struct folder *folder = *state;
    unsigned char packed[1024];
    char *paths[] = {folder->log, folder->other};
    size_t size = pack("one\ntw", 6, packed, sizeof packed);
    put(folder->log, "w", packed, size);
    size = pack("o\nthree", 7, packed, sizeof packed);
    put(folder->log, "a", packed, size);
    put(folder->other, "w", packed, size);
    reads(paths, 2, "one|two|three|o|three|");
    /* Cut off in the middle, damaged, with something else behind. */
    put(folder->other, "w", packed, size - 5);
    reads(paths, 2, "one|two|three|o|<the gzip data is truncated>three|");
    put(folder->other, "w", packed, size);
    put_text(folder->other, "a", "garbage");
    reads(paths, 2, "one|two|three|o|<trailing garbage after the gzip data>three|");
    memset(packed + 12, 0xff, 4);
    put(folder->other, "w", packed, size);
    begins(paths, 2, "one|two|three|<the gzip data is damaged>");
    put(folder->other, "w", "\x1f\x8b", 2);
    reads(paths, 2, "one|two|three|<the gzip data is truncated>");
    put(folder->other, "w", "\x1f", 1);
    reads(paths, 2, "one|two|three|\x1f|");
}

/* "one\ntw" and "o\nthree", as the tools write them; xz that asks for 512 MiB, zstd for 256 and 512. */
static const unsigned char bzip2_one[] = {0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x4f,
                                          0x07, 0x49, 0x32, 0x00, 0x00, 0x01, 0xc1, 0x80, 0x00, 0x10, 0x02,
                                          0x01, 0x84, 0x80, 0x20, 0x00, 0x21, 0x80, 0x0c, 0x01, 0x39, 0xae,
                                          0xe2, 0xee, 0x48, 0xa7, 0x0a, 0x12, 0x09, 0xe0, 0xe9, 0x26, 0x40};
static const unsigned char bzip2_two[] = {0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x2c, 0x3f,
                                          0xc4, 0x04, 0x00, 0x00, 0x02, 0x41, 0x80, 0x00, 0x10, 0x02, 0x40, 0x94,
                                          0x00, 0x20, 0x00, 0x22, 0x18, 0x68, 0x30, 0x09, 0x60, 0x83, 0x0b, 0xb9,
                                          0x22, 0x9c, 0x28, 0x48, 0x16, 0x1f, 0xe2, 0x02, 0x00};
static const unsigned char xz_one[] = {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
                                       0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00,
                                       0x05, 0x6f, 0x6e, 0x65, 0x0a, 0x74, 0x77, 0x00, 0x00, 0x00, 0x04, 0xd2, 0x4e,
                                       0xeb, 0xa2, 0x7c, 0x3e, 0xcd, 0x00, 0x01, 0x1e, 0x06, 0xc1, 0x2f, 0xa4, 0x1d,
                                       0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};
static const unsigned char xz_two[] = {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
                                       0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00,
                                       0x06, 0x6f, 0x0a, 0x74, 0x68, 0x72, 0x65, 0x65, 0x00, 0x00, 0x9a, 0x02, 0x19,
                                       0xd1, 0x5c, 0x31, 0x1e, 0xa5, 0x00, 0x01, 0x1f, 0x07, 0x16, 0x2e, 0xb8, 0x73,
                                       0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};
static const unsigned char zstd_one[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x31, 0x00,
                                         0x00, 0x6f, 0x6e, 0x65, 0x0a, 0x74, 0x77};
static const unsigned char zstd_two[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x39, 0x00,
                                         0x00, 0x6f, 0x0a, 0x74, 0x68, 0x72, 0x65, 0x65};
static const unsigned char xz_large[] = {0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46,
                                         0x02, 0x00, 0x21, 0x01, 0x22, 0x00, 0x00, 0x00, 0x82, 0x40, 0xac, 0xdc,
                                         0x01, 0x00, 0x03, 0x6f, 0x6e, 0x65, 0x0a, 0x00, 0xf5, 0x5c, 0xbb, 0x56,
                                         0x1f, 0xc6, 0xfd, 0x86, 0x00, 0x01, 0x1c, 0x04, 0x6f, 0x2c, 0x9c, 0xc1,
                                         0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};
static const unsigned char zstd_fits[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 0x21, 0x00, 0x00, 0x6f, 0x6e, 0x65, 0x0a};
static const unsigned char zstd_large[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x21,
                                           0x00, 0x00, 0x6f, 0x6e, 0x65, 0x0a};

struct sample {
    const char *name;
    const unsigned char *one, *two;
    size_t one_size, two_size;
};

/* The two members with these many zeros behind each, and other bytes behind all. */
static void put_members(struct folder *folder, const struct sample *sample, size_t zeros, const char *behind)
{
    static const char padding[1 << 17];
    put(folder->log, "w", sample->one, sample->one_size);
    put(folder->log, "a", padding, zeros);
    put(folder->log, "a", sample->two, sample->two_size);
    put(folder->log, "a", padding, zeros);
    put_text(folder->log, "a", behind);
}

static void says(struct folder *folder, const char *name, const char *pattern)
{
    char expected[256];
    char *paths[] = {folder->log};
    snprintf(expected, sizeof expected, pattern, name);
    reads(paths, 1, expected);
}

/* Of a format that this build has no library for, only that it says so. */
static bool is_built(struct folder *folder, const struct sample *sample)
{
    bool more;
    char *paths[] = {folder->log};
    const struct unpack_format *format = unpack_format_of(sample->one, sample->one_size, &more);
    assert_string_equal(format->name, sample->name);
    if (format->codec != NULL) return true;
    char out[4096] = "";
    put_members(folder, sample, 0, "");
    read_logs(paths, 1, out, sizeof out);
    assert_non_null(strstr(out, ", which this build of weir cannot read for want of "));
    return false;
}

static void test_formats(void **state)
{
    struct folder *folder = *state;
    unsigned char one[64], two[64];
    const struct sample samples[] = {
        {"gzip", one, two, pack("one\ntw", 6, one, sizeof one), pack("o\nthree", 7, two, sizeof two)},
        {"bzip2", bzip2_one, bzip2_two, sizeof bzip2_one, sizeof bzip2_two},
        {"xz", xz_one, xz_two, sizeof xz_one, sizeof xz_two},
        {"zstd", zstd_one, zstd_two, sizeof zstd_one, sizeof zstd_two}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *name = samples[i].name;
        if (!is_built(folder, &samples[i])) continue;
        put_members(folder, &samples[i], 0, "");
        says(folder, name, "one|two|three|");
        put_members(folder, &samples[i], 1 << 17, "");
        says(folder, name, "one|two|three|");
        put_members(folder, &samples[i], 7, "garbage");
        says(folder, name, "one|two|<trailing garbage after the %s data>three|");
        for (size_t size = 12; size < samples[i].one_size; size++) {
            char out[4096] = "", middle[64];
            char *paths[] = {folder->log};
            put(folder->log, "w", samples[i].one, size);
            read_logs(paths, 1, out, sizeof out);
            snprintf(middle, sizeof middle, "<the %s data is truncated>", name);
            assert_non_null(strstr(out, middle));
        }
    }
}

static void test_too_large_to_unpack(void **state)
{
    struct folder *folder = *state;
    const struct sample samples[] = {{"xz", xz_large, NULL, sizeof xz_large, 0},
                                     {"zstd", zstd_large, NULL, sizeof zstd_large, 0}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        bool more;
        if (unpack_format_of(samples[i].one, samples[i].one_size, &more)->codec == NULL) continue;
        put(folder->log, "w", samples[i].one, samples[i].one_size);
        says(folder, samples[i].name, "<the %s data needs more than 256 MiB to unpack>");
        if (i == 0) continue;
        put(folder->log, "w", zstd_fits, sizeof zstd_fits);
        says(folder, "", "one|%s");
    }
}

/* [in a child] Where 64 MiB are to be had, which the library's window does not fit. */
static int without_memory(char *const *paths)
{
    struct source source;
    char out[4096] = "";
    const struct rlimit little = {64 << 20, 64 << 20};
    if (setrlimit(RLIMIT_AS, &little) != 0 || !source_open(&source, paths, 1, false, -1)) return 2;
    read_until(&source, SOURCE_END, out, sizeof out);
    return strcmp(out, "<no memory>") != 0;
}

static void test_no_memory_to_unpack(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log};
    int status = 0;
    bool more;
    if (SANITIZED) skip_because("unit/source: no memory", "sanitizers map terabytes", SKIP_CURE_PLAIN);
    skip_without_memory_limit("unit/source: no memory");
    if (unpack_format_of(zstd_fits, sizeof zstd_fits, &more)->codec == NULL) return;
    put(folder->log, "w", zstd_fits, sizeof zstd_fits);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(without_memory(paths));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* What nobody unpacks is named, and what only begins like it is a log. */
static void test_other_formats(void **state)
{
    struct folder *folder = *state;
    put(folder->log, "w", "PK\3\4zip", 7);
    says(folder, "zip", "<this is %s, which weir cannot read; instead: unzip -p LOG | weir replay LIMIT>");
    static const char *const lines[] = {"BZh9 is a host\n", "PKO\n", "B", "BZh91AY&S", "\xfd\n", "7z\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const size_t size = strcspn(lines[i], "\n");
        char expected[64];
        char *paths[] = {folder->log};
        put_text(folder->log, "w", lines[i]);
        snprintf(expected, sizeof expected, "%.*s|", (int)size, lines[i]);
        reads(paths, 1, expected);
    }
}

/* Lines that lie across the pieces in which a log is read, plain and packed. */
static void test_many_lines(void **state)
{
    struct folder *folder = *state;
    const size_t room = (size_t)MANY * 24;
    char *text = malloc(room);
    unsigned char *packed = malloc(room);
    size_t size = 0;
    for (unsigned i = 0; i < MANY; i++) size += (size_t)sprintf(text + size, "%0*u\n", (int)(i % 16) + 1, i);
    put(folder->log, "w", text, size);
    put(folder->other, "w", packed, pack(text, size, packed, room));
    for (int turn = 0; turn < 2; turn++) {
        char *paths[] = {turn == 0 ? folder->log : folder->other};
        struct source source;
        struct source_line line;
        unsigned count = 0;
        enum source_state now;
        assert_true(source_open(&source, paths, 1, false, -1));
        while ((now = source_read(&source)) == SOURCE_READY) {
            for (; source_line(&source, &line); count++) {
                char expected[32];
                assert_int_equal(line.size, sprintf(expected, "%0*u", (int)(count % 16) + 1, count));
                assert_memory_equal(line.bytes, expected, line.size);
                assert_int_equal(source.line, count + 1);
            }
        }
        assert_int_equal(now, SOURCE_END);
        assert_int_equal(count, MANY);
        assert_int_equal(source.bytes_read, source.bytes_total);
        source_close(&source);
    }
    free(text);
    free(packed);
}

static void test_too_long(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log};
    char *text = malloc(4 * SOURCE_LINE_MAX + 100);
    /* The longest that is one, one more, and one far beyond all buffers. */
    memset(text, 'x', 4 * SOURCE_LINE_MAX + 100);
    text[0] = 'a';
    text[SOURCE_LINE_MAX] = '\n';
    put(folder->log, "w", text, SOURCE_LINE_MAX + 1);
    put_text(folder->log, "a", "b");
    put(folder->log, "a", text + 1, SOURCE_LINE_MAX - 1);
    put_text(folder->log, "a", "x\nc");
    text[SOURCE_LINE_MAX] = 'x';
    put(folder->log, "a", text, 4 * SOURCE_LINE_MAX);
    put_text(folder->log, "a", "\nlast\n");
    reads(paths, 1, "axxxxxxxxxxxxxxxxxxx|bxxxxxxxxxxxxxxxxxxx(too long)|caxxxxxxxxxxxxxxxxxx(too long)|last|");
    free(text);
}

/* ---- following ---- */

static void follows(struct source *source, const char *expected)
{
    char out[4096] = "";
    for (int turn = 0; turn < TURNS_MAX && strcmp(out, expected) != 0; turn++) {
        assert_int_equal(read_until(source, SOURCE_IDLE, out, sizeof out), SOURCE_IDLE);
    }
    assert_string_equal(out, expected);
}

static void test_growing(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->other, folder->log};
    struct source source;
    put_text(folder->other, "w", "before\n");
    put_text(folder->log, "w", "old\nbegun");
    assert_true(source_open(&source, paths, 2, true, -1));
    put_text(folder->other, "a", "behind\n"); /* this one is not followed */
    put_text(folder->log, "a", " before\n");
    follows(&source, "before|behind|old|begun before+|");
    put_text(folder->log, "a", "o");
    follows(&source, "");
    put_text(folder->log, "a", "ne\ntwo\nth");
    follows(&source, "one+|two+|");
    put_text(folder->log, "a", "ree\n");
    follows(&source, "three+|");
    source_close(&source);
}

static void test_rotated(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log};
    struct source source;
    put_text(folder->log, "w", "one\n");
    assert_true(source_open(&source, paths, 1, true, -1));
    follows(&source, "one|");
    const uint64_t opened = source.opened;
    assert_int_equal(rename(folder->log, folder->other), 0);
    put_text(folder->other, "a", "two\nno end");
    follows(&source, "two+|");
    put_text(folder->log, "w", "three\n");
    follows(&source, "no end+|three+|");
    assert_true(source.opened > opened);
    put_text(folder->log, "a", "four\n");
    follows(&source, "four+|");
    source_close(&source);
}

static void test_truncated(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log};
    struct source source;
    put_text(folder->log, "w", "one\ntwo\nthree\n");
    assert_true(source_open(&source, paths, 1, true, -1));
    follows(&source, "one|two|three|");
    put_text(folder->log, "w", "new\n");
    follows(&source, "new+|");
    assert_int_equal(source.line, 1);
    source_close(&source);
}

static void test_stopped(void **state)
{
    struct folder *folder = *state;
    char *paths[] = {folder->log};
    int ends[2];
    struct source source;
    put_text(folder->log, "w", "one\n");
    assert_int_equal(pipe(ends), 0);
    assert_true(source_open(&source, paths, 1, true, ends[0]));
    follows(&source, "one|");
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(source_read(&source), SOURCE_STOPPED);
    source_close(&source);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_plain, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_missing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_gzip, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_formats, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_too_large_to_unpack, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_no_memory_to_unpack, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_other_formats, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_many_lines, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_too_long, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_growing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_rotated, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_truncated, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_stopped, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

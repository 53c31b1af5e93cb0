/* SPDX-License-Identifier: MIT
   The first page: made, read, grown, damaged, left half-written; its time over boots.

   The sources of region.c run here over stores that are counted, so that a process dies after any of them.

   Each death and each damaged byte is tried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "model/shim/share/atomic.h"
#include "share/table/region.c"

/* ---- stores, and death behind one of them ---- */

enum { NO_DEATH = 1 << 30 };

static int stores_left = NO_DEATH;
static jmp_buf death;

static void step(void)
{
    if (stores_left == 0) longjmp(death, 1);
    stores_left--;
}

uint64_t model_load(const uint64_t *word, int order, const char *site)
{
    (void)order;
    (void)site;
    return *word;
}

void model_store(uint64_t *word, uint64_t value, int order, const char *site)
{
    (void)order;
    (void)site;
    step();
    *word = value;
}

bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired, int order, const char *site)
{
    (void)order;
    (void)site;
    if (*word == *expected) {
        step();
        *word = desired;
        return true;
    }
    *expected = *word;
    return false;
}

uint64_t model_add(uint64_t *word, uint64_t more, int order, const char *site)
{
    (void)order;
    (void)site;
    step();
    *word += more;
    return *word - more;
}

void model_fence(int order, const char *site)
{
    (void)order;
    (void)site;
}

void model_pause(void)
{
}

/* ---- pages and times ---- */

union page {
    uint64_t words[PAGE_WORDS];
    uint8_t bytes[REGION_PAGE];
};

static const uint64_t S = 1000000000, AREA = 1 << 20;
static const uint64_t SIZE = REGION_PAGE + (1 << 20);
static const uint64_t UNIX = UINT64_C(1790000000000000000);

static const struct region_shape shape = {REGION_SLOTS, 2, 1, SLOT_BYTES, {{11, 12}}, false};

static struct region_times times_at(unsigned boot, uint64_t monotonic_ns, uint64_t unix_ns)
{
    struct region_times times = {{0}, monotonic_ns, unix_ns};
    times.boot[3] = (uint8_t)boot;
    times.boot[12] = (uint8_t)boot;
    return times;
}

static uint64_t region_ns(union page *page, unsigned boot, uint64_t monotonic_ns, uint64_t unix_ns)
{
    const struct region_times times = times_at(boot, monotonic_ns, unix_ns);
    return region_time_offset(page, &times) + monotonic_ns;
}

static void keep(union page *page, unsigned boot, uint64_t monotonic_ns, uint64_t unix_ns)
{
    const struct region_times times = times_at(boot, monotonic_ns, unix_ns);
    region_keep_time(page, &times);
}

/* In boot 1, at 100 s. */
static void make(union page *page)
{
    const struct region_times times = times_at(1, 100 * S, UNIX);
    memset(page, 0, sizeof *page);
    region_make(page, &shape, AREA, &times);
}

static enum region_answer read_of(const union page *page)
{
    struct region_view view;
    return region_read(page, SIZE, &view);
}

/* ---- made and read ---- */

static void test_made_and_read(void **state)
{
    (void)state;
    union page page;
    struct region_view view;
    make(&page);
    assert_int_equal(region_read(&page, SIZE, &view), REGION_SOUND);
    assert_memory_equal(&view.shape, &shape, sizeof shape);
    assert_int_equal(view.areas, 1);
    assert_int_equal(view.area[0].offset, REGION_PAGE);
    assert_int_equal(view.area[0].bytes, AREA);
    assert_int_equal(region_end(&view), SIZE);
    assert_int_equal(atom_load(region_newest(&page)), 1);
}

/* Files outlive the program that made them: these words stay as they are.  The checks are from another program. */
static void test_words_of_a_file(void **state)
{
    (void)state;
    static const uint8_t magic[8] = {'w', 'e', 'i', 'r', '\r', '\n', 0x1a, 0x89};
    const struct {
        unsigned at;
        uint64_t word;
    } rows[] = {
        {1, UINT64_C(0x0102030400000001) | sizeof(void *) << 16},
        {2, UINT64_C(1) << 32 | 2},
        {3, UINT64_C(1) << 32 | 16},
        {4, 11},
        {5, 12},
        {6, UINT64_C(0x27dacd77db41abfb)},
        {8, 1},
        {16, 4096},
        {17, 1 << 20},
        {18, UINT64_C(0x43b76ba5210ec1d2)},
        {192, 1},
        {196, 100 * S},
        {197, UNIX},
        {198, UINT64_C(0x167b3b5e1dd34ded)},
        {256, 1},
        {264, 200 * S},
        {265, UNIX + 100 * S},
        {266, UINT64_C(0xae74ddad4cdad76a)},
    };
    const struct region_times times = times_at(0, 100 * S, UNIX);
    union page page = {{0}};
    region_make(&page, &shape, AREA, &times);
    keep(&page, 0, 200 * S, UNIX + 100 * S);
    assert_memory_equal(page.bytes, magic, sizeof magic);
    size_t row = 0;
    for (unsigned i = 1; i < PAGE_WORDS; i++) {
        const bool written = row < sizeof rows / sizeof *rows && rows[row].at == i;
        if (page.words[i] != (written ? rows[row].word : 0)) fail_msg("word %u", i);
        row += written;
    }
    /* What grows beside has another version, and another check. */
    struct region_shape beside = shape;
    beside.beside = true;
    page = (union page){{0}};
    region_make(&page, &beside, AREA, &times);
    assert_int_equal(page.words[1], UINT64_C(0x0102030400000004) | sizeof(void *) << 16);
    assert_int_equal(page.words[6], UINT64_C(0x9806b35f0e59dec2));
    /* Those who wait, and those who hold. */
    assert_ptr_equal(region_wait_word(&page, 0), &page.words[344]);
    assert_ptr_equal(region_wait_word(&page, 64 + 63), &page.words[407]);
    assert_ptr_equal(region_marks(&page), &page.words[408]);
    assert_ptr_equal(region_rested(&page), &page.words[336]);
}

static void test_records(void **state)
{
    (void)state;
    const uint64_t three[] = {1, 2, 3};
    uint64_t read[] = {7, 7, 7, 7};
    union page page = {{0}};
    region_write_record(region_word(&page, 0), three, 3, 5);
    assert_true(region_read_record(word_in(&page, 0), read, 3, 5));
    assert_memory_equal(read, three, sizeof three);
    assert_int_equal(read[3], 7);
    assert_false(region_read_record(word_in(&page, 0), read, 3, 6));
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        struct region_shape shape;
        enum region_answer answer;
    } cases[] = {
        {{REGION_SLOTS, -63, 0, 16, {{0, 0}}, false}, REGION_SOUND},
        {{REGION_SLOTS, 63, 3, 16, {{0, 0}}, false}, REGION_SOUND},
        {{REGION_SLOTS, 2, 0, 16, {{0, 0}}, true}, REGION_SOUND},
        {{REGION_SLOTS, -64, 0, 16, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_SLOTS, 64, 0, 16, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_SLOTS, 0, 4, 16, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_SLOTS, 0, 0, 24, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_WIDE, 0, 0, 24, {{0, 0}}, false}, REGION_SOUND},
        {{REGION_WIDE, 0, 0, 20, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_WIDE, 0, 0, 0, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_WIDE, 0, 0, 1 << 20, {{0, 0}}, false}, REGION_SOUND},
        {{REGION_WIDE, 0, 0, 2 << 20, {{0, 0}}, false}, REGION_DAMAGED},
        {{0, 0, 0, 16, {{0, 0}}, false}, REGION_DAMAGED},
        {{REGION_PARTS, 0, 0, 16, {{0, 0}}, false}, REGION_SOUND},
        {{REGION_PARTS + 1, 0, 0, 16, {{0, 0}}, false}, REGION_DAMAGED},
    };
    const struct region_times times = times_at(1, 100 * S, UNIX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union page page = {{0}};
        region_make(&page, &cases[i].shape, AREA, &times);
        assert_int_equal(read_of(&page), cases[i].answer);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t area, size;
        enum region_answer answer;
    } cases[] = {
        {4096, 8192, REGION_SOUND},
        {4096, 1 << 30, REGION_SOUND},
        {4096, 8191, REGION_DAMAGED},
        {4096, 4096, REGION_DAMAGED},
        {0, 8192, REGION_DAMAGED},
        {4096 + 128, 1 << 20, REGION_DAMAGED},
        {UINT64_MAX - 4095, UINT64_MAX, REGION_DAMAGED},
        {UINT64_MAX - 8191, 4096, REGION_DAMAGED},
        {(UINT64_C(1) << 46) - 4096, UINT64_MAX, REGION_SOUND},
        {UINT64_C(1) << 46, UINT64_MAX, REGION_DAMAGED},
    };
    const struct region_times times = times_at(1, 100 * S, UNIX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union page page = {{0}};
        struct region_view view;
        region_make(&page, &shape, cases[i].area, &times);
        assert_int_equal(region_read(&page, cases[i].size, &view), cases[i].answer);
    }
}

/* Of a short file, only as much is read as there is: the memory behind it is of one who would notice (asan). */
static void test_short_files(void **state)
{
    (void)state;
    union page page;
    struct region_view view;
    make(&page);
    for (uint64_t size = 0; size < REGION_PAGE; size++) {
        uint64_t *words = test_malloc(size + 1);
        memset(words, 0, size);
        assert_int_equal(region_read(words, size, &view), REGION_EMPTY);
        memcpy(words, &page, size);
        const enum region_answer answer = size == 0 ? REGION_EMPTY : size < 8 ? REGION_FOREIGN : REGION_DAMAGED;
        assert_int_equal(region_read(words, size, &view), answer);
        test_free(words);
    }
    assert_int_equal(region_read(NULL, 0, &view), REGION_EMPTY);
    /* Its last bytes are no word, but are looked at; one that is being made may be as short as the first page. */
    page = (union page){{0}};
    page.bytes[12] = 1;
    assert_int_equal(region_read(&page, 13, &view), REGION_FOREIGN);
    assert_int_equal(region_read(&page, 12, &view), REGION_EMPTY);
    memcpy(&page, making, sizeof making);
    assert_int_equal(region_read(&page, REGION_PAGE, &view), REGION_EMPTY);
    assert_int_equal(region_end(&(struct region_view){.areas = 0}), REGION_PAGE);
}

static void test_foreign(void **state)
{
    (void)state;
    union page page = {{0}};
    assert_int_equal(read_of(&page), REGION_EMPTY);
    assert_int_equal(region_epoch_ns(&page), 0);
    for (unsigned i = 0; i < REGION_PAGE; i++) {
        page = (union page){{0}};
        page.bytes[i] = 1;
        assert_int_equal(read_of(&page), REGION_FOREIGN);
    }
    memcpy(page.bytes, "SQLite format 3", 16);
    assert_int_equal(read_of(&page), REGION_FOREIGN);
}

static void test_other_versions(void **state)
{
    (void)state;
    union page page;
    make(&page);
    for (unsigned byte = 0; byte < 8; byte++) {
        make(&page);
        page.bytes[8 + byte] ^= 1;
        assert_int_equal(read_of(&page), REGION_VERSION);
    }
    /* Each kind has its version: wide slots with room for 16 plans are of the first. */
    static const struct region_shape wide = {REGION_WIDE, 0, 1, 24, {{11, 12}}, false};
    const struct region_times times = times_at(1, 100 * S, UNIX);
    make(&page);
    page.words[WORD_FORMAT]++;
    assert_int_equal(read_of(&page), REGION_VERSION);
    page = (union page){{0}};
    region_make(&page, &wide, AREA, &times);
    assert_int_equal(read_of(&page), REGION_SOUND);
    page.words[WORD_FORMAT]--;
    assert_int_equal(read_of(&page), REGION_VERSION);
    /* That comes first: what another version wrote beside it is not judged. */
    static const uint64_t others[] = {UINT64_C(0x0102030400080000), UINT64_C(0x0102030400080005),
                                      UINT64_C(0x0403020100080001), UINT64_C(0x01020304000c0001)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        make(&page);
        page.words[WORD_FORMAT] = others[i];
        page.words[WORD_ONCE]++;
        assert_int_equal(read_of(&page), REGION_VERSION);
    }
    /* All numbers the other way round, as a machine of the other byte order writes them. */
    make(&page);
    for (unsigned word = 1; word < PAGE_WORDS; word++) page.words[word] = __builtin_bswap64(page.words[word]);
    assert_int_equal(read_of(&page), REGION_VERSION);
}

/* What a program is told of a file that it does not read. */
static void test_format(void **state)
{
    (void)state;
    static const struct region_shape shapes[] = {{REGION_SLOTS, 2, 1, SLOT_BYTES, {{11, 12}}, false},
                                                 {REGION_SLOTS, 2, 1, SLOT_BYTES, {{11, 12}}, true},
                                                 {REGION_WIDE, 0, 1, 24, {{11, 12}}, false}};
    const struct region_times times = times_at(1, 100 * S, UNIX);
    union page page;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        page = (union page){{0}};
        region_make(&page, &shapes[i], AREA, &times);
        page.words[WORD_FORMAT] += 7;
        const struct region_format format = region_read_format(&page);
        assert_false(format.other_order || format.other_words);
        assert_int_equal(format.kind, shapes[i].kind);
        assert_int_equal(format.reads, shapes[i].kind == REGION_WIDE ? VERSION_WIDE : VERSION_BESIDE);
        assert_int_equal(format.version, page.words[WORD_FORMAT] & UINT16_MAX);
    }
    page.words[WORD_ONCE]++;
    assert_int_equal(region_read_format(&page).reads, 0); /* of no kind that is known */
    make(&page);
    page.words[WORD_FORMAT] ^= UINT64_C(12) << 16; /* words of 4 bytes, or 8 */
    assert_true(region_read_format(&page).other_words);
    assert_int_equal(region_read_format(&page).version, 0);
    make(&page);
    page.words[WORD_FORMAT] = __builtin_bswap64(page.words[WORD_FORMAT]);
    assert_true(region_read_format(&page).other_order && !region_read_format(&page).other_words);
}

/* ---- damage ---- */

static bool is_spare(const union page *page, unsigned byte)
{
    const unsigned word = byte / 8;
    return page->words[word] == 0 && word != WORD_NEWEST;
}

/* Two areas, two boots and a kept time.  Damage is found or does no harm. */
static void make_rich(union page *page)
{
    struct region_view view;
    make(page);
    assert_int_equal(region_read(page, SIZE, &view), REGION_SOUND);
    assert_true(region_add_area(page, &view, AREA));
    keep(page, 1, 200 * S, UNIX + 100 * S);
    region_ns(page, 2, 5 * S, UNIX + 300 * S);
    keep(page, 2, 6 * S, UNIX + 301 * S);
}

static bool is_once(unsigned byte)
{
    const unsigned word = byte / 8;
    return (word >= WORD_ONCE && word <= WORD_ONCE + ONCE_WORDS) ||
           (word >= WORD_AREAS && word < WORD_AREAS + 2 * AREA_STRIDE && word % AREA_STRIDE <= AREA_WORDS);
}

static void check_damaged(const union page *rich, unsigned byte, uint8_t flip)
{
    union page page = *rich;
    struct region_view before, view;
    assert_int_equal(region_read(rich, SIZE + AREA, &before), REGION_SOUND);
    page.bytes[byte] ^= flip;
    const enum region_answer answer = region_read(&page, SIZE + AREA, &view);
    if (is_once(byte)) assert_int_equal(answer, REGION_DAMAGED);
    if (byte / 8 == WORD_MAGIC) assert_int_equal(answer, REGION_FOREIGN);
    if (byte / 8 == WORD_FORMAT) assert_int_equal(answer, REGION_VERSION);
    if (answer != REGION_SOUND) return;
    assert_memory_equal(&view.shape, &before.shape, sizeof view.shape);
    assert_in_range(view.areas, 1, 2);
    assert_memory_equal(view.area, before.area, view.areas * sizeof *view.area);
    /* 401 s were kept, 400 s were when that boot began, and 200 s were kept in the one before. */
    const uint64_t now_ns = region_ns(&page, 3, 2 * S, UNIX);
    assert_in_range(now_ns, 200 * S, 401 * S);
    assert_true(now_ns >= 400 * S || byte / 8 / BOOT_STRIDE == WORD_BOOTS / BOOT_STRIDE);
}

static void test_each_byte_damaged(void **state)
{
    (void)state;
    union page rich;
    make_rich(&rich);
    for (unsigned byte = 0; byte < REGION_PAGE; byte++) {
        if (is_spare(&rich, byte)) check_damaged(&rich, byte, 0xff);
        else
            for (unsigned bit = 0; bit < 8; bit++) check_damaged(&rich, byte, (uint8_t)(1U << bit));
    }
}

/* ---- more areas ---- */

static void test_areas(void **state)
{
    (void)state;
    union page page;
    struct region_view mine, other;
    make(&page);
    assert_int_equal(region_read(&page, SIZE, &mine), REGION_SOUND);
    other = mine;
    uint64_t size = SIZE;
    for (unsigned areas = 2; areas <= REGION_AREAS_MAX; areas++) {
        size += areas * AREA;
        assert_true(region_add_area(&page, &mine, areas * AREA));
        assert_int_equal(atom_load(region_newest(&page)), areas);
        assert_int_equal(region_end(&mine), size);
        assert_int_equal(region_read_more(&page, size - 1, &other), REGION_DAMAGED);
        assert_int_equal(other.areas, areas - 1);
        assert_int_equal(region_read_more(&page, size, &other), REGION_SOUND);
        assert_memory_equal(&other, &mine, sizeof mine);
    }
    const union page full = page;
    assert_false(region_add_area(&page, &mine, AREA));
    assert_memory_equal(&page, &full, sizeof page);
}

static void test_areas_refused(void **state)
{
    (void)state;
    union page page;
    struct region_view view, stale;
    make(&page);
    assert_int_equal(region_read(&page, SIZE, &view), REGION_SOUND);
    stale = view;
    static const uint64_t wrong[] = {0, 128, 4095, 4097, UINT64_C(1) << 46, UINT64_MAX - 4095};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(region_add_area(&page, &view, wrong[i]));
    assert_true(region_add_area(&page, &view, AREA));
    assert_false(region_add_area(&page, &stale, AREA)); /* it does not know the second */
    assert_int_equal(view.areas, 2);
}

/* A count beyond all areas, with an area that fits its check behind the last. */
static void test_too_many_areas(void **state)
{
    (void)state;
    union page page;
    make(&page);
    for (unsigned i = 0; i <= REGION_AREAS_MAX; i++) {
        const struct region_area area = {(i + 1) * REGION_PAGE, REGION_PAGE};
        write_area(&page, i, &area);
    }
    atom_store(region_newest(&page), REGION_AREAS_MAX);
    assert_int_equal(read_of(&page), REGION_SOUND);
    atom_store(region_newest(&page), REGION_AREAS_MAX + 1);
    assert_int_equal(read_of(&page), REGION_DAMAGED);
    atom_store(region_newest(&page), 0);
    assert_int_equal(read_of(&page), REGION_DAMAGED);
}

/* What a process has mapped does not become something else. */
static void test_read_more_of_another(void **state)
{
    (void)state;
    union page page;
    struct region_view view;
    const struct region_times times = times_at(1, 100 * S, UNIX);
    make(&page);
    assert_int_equal(region_read(&page, SIZE, &view), REGION_SOUND);
    const struct region_view before = view;
    region_make(&page, &shape, AREA / 2, &times);
    assert_int_equal(region_read_more(&page, SIZE, &view), REGION_DAMAGED);
    static const struct region_shape others[] = {
        {REGION_SLOTS, 3, 1, SLOT_BYTES, {{11, 12}}, false}, {REGION_SLOTS, 2, 0, SLOT_BYTES, {{11, 12}}, false},
        {REGION_SLOTS, 2, 1, SLOT_BYTES, {{10, 12}}, false}, {REGION_SLOTS, 2, 1, SLOT_BYTES, {{11, 13}}, false},
        {REGION_SLOTS, 2, 1, SLOT_BYTES, {{11, 12}}, true},  {REGION_WIDE, 2, 1, SLOT_BYTES, {{11, 12}}, false},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        region_make(&page, &others[i], AREA, &times);
        assert_int_equal(read_of(&page), REGION_SOUND);
        assert_int_equal(region_read_more(&page, SIZE, &view), REGION_DAMAGED);
    }
    const struct region_shape wide = {REGION_WIDE, 2, 1, 24, {{11, 12}}, false};
    struct region_shape wider = wide;
    wider.slot_bytes = 32;
    assert_true(region_same_shape(&wide, &wide));
    assert_false(region_same_shape(&wide, &wider));
    assert_memory_equal(&view, &before, sizeof view);
    make(&page);
    assert_int_equal(region_read_more(&page, SIZE, &view), REGION_SOUND);
}

/* ---- time ---- */

static void test_same_boot(void **state)
{
    (void)state;
    union page page;
    make(&page);
    const union page made_page = page;
    assert_int_equal(region_ns(&page, 1, 100 * S, UNIX), 100 * S);
    assert_int_equal(region_ns(&page, 1, 170 * S, 0), 170 * S); /* whatever the clock on the wall says */
    assert_int_equal(region_ns(&page, 1, 90 * S, UNIX * 2), 90 * S);
    assert_memory_equal(&page, &made_page, sizeof page);
}

static void test_never_below_a_second(void **state)
{
    (void)state;
    union page page = {{0}};
    const struct region_times early = times_at(1, 5, UNIX);
    region_make(&page, &shape, AREA, &early);
    assert_int_equal(region_ns(&page, 1, 5, UNIX), S);
    assert_int_equal(region_ns(&page, 1, 7, UNIX), S + 2);
    assert_int_equal(region_ns(&page, 1, 0, UNIX), S);
}

static void test_reboots(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_s; /* since it was kept, at 200 s */
        uint64_t region_s;
    } cases[] = {
        {50, 250}, {0, 200}, {-1, 200}, {-1000000, 200}, {366 * 86400, 200 + 366 * 86400}, {366 * 86400 + 1, 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t uptime_s = 0; uptime_s < 1000; uptime_s += 333) {
            union page page;
            make(&page);
            keep(&page, 1, 200 * S, UNIX + 100 * S);
            const uint64_t unix_ns = UNIX + 100 * S + (uint64_t)(cases[i].unix_s * (int64_t)S);
            assert_int_equal(region_ns(&page, 2, uptime_s * S, unix_ns), cases[i].region_s * S);
            assert_int_equal(region_ns(&page, 2, (uptime_s + 7) * S, 0), (cases[i].region_s + 7) * S);
            /* A boot in which nothing was kept is known by its beginning. */
            assert_int_equal(region_ns(&page, 3, 3 * S, unix_ns + 20 * S), (cases[i].region_s + 20) * S);
            assert_int_equal(read_of(&page), REGION_SOUND);
        }
    }
}

/* A clock that went back looks as if it had gone far ahead, but for those that are about to wrap. */
static void test_elapsed(void **state)
{
    (void)state;
    assert_int_equal(elapsed_ns(UINT64_MAX - 1, 5), 0);
    assert_int_equal(elapsed_ns(5, UINT64_MAX - 1), 0);
    assert_int_equal(elapsed_ns(UINT64_MAX - 1, UINT64_MAX), 1);
}

/* What was kept in one boot is not added to the offset of the next, whose monotonic clock is lower. */
static void test_kept_belongs_to_its_boot(void **state)
{
    (void)state;
    union page page;
    make(&page);
    for (uint64_t s = 1; s <= KEPT_RECORDS; s++) keep(&page, 1, (1000 + s) * S, UNIX + (900 + s) * S);
    assert_int_equal(region_ns(&page, 2, 2 * S, UNIX + 908 * S), 1008 * S);
    keep(&page, 2, 3 * S, UNIX + 909 * S);
    assert_int_equal(region_ns(&page, 3, 1 * S, UNIX + 909 * S), 1009 * S);
    keep(&page, 2, 500 * S, UNIX); /* nobody of an earlier boot is left; if he were, he is not heard */
    assert_int_equal(region_ns(&page, 4, 1 * S, UNIX + 910 * S), 1010 * S);
}

static void test_latest_kept_counts(void **state)
{
    (void)state;
    for (unsigned kept = 1; kept <= 3 * KEPT_RECORDS; kept++) {
        union page page;
        make(&page);
        for (unsigned i = 1; i <= kept; i++) keep(&page, 1, (100 + i) * S, UNIX + i * S);
        keep(&page, 1, 90 * S, UNIX); /* a thread that was held up */
        assert_int_equal(region_ns(&page, 2, S, UNIX), (100 + kept) * S);
    }
}

static void test_unknown_boots(void **state)
{
    (void)state;
    static const unsigned pairs[][2] = {{0, 0}, {1, 0}, {0, 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        union page page = {{0}};
        const struct region_times times = times_at(pairs[i][0], 100 * S, UNIX);
        region_make(&page, &shape, AREA, &times);
        keep(&page, pairs[i][0], 200 * S, UNIX + 100 * S);
        const unsigned later = pairs[i][1];
        assert_int_equal(region_ns(&page, later, 200 * S, UNIX), 200 * S);
        assert_int_equal(region_ns(&page, later, 300 * S, UNIX), 300 * S); /* runs on, or has run for so long again */
        assert_int_equal(region_ns(&page, later, 150 * S, UNIX + 130 * S), 230 * S);
    }
}

/* Boots differ in either half of their ids, also where the other half is 0. */
static void test_half_an_id(void **state)
{
    (void)state;
    for (unsigned byte = 3; byte <= 12; byte += 9) {
        union page page = {{0}};
        struct region_times times = times_at(0, 100 * S, UNIX);
        times.boot[byte] = 1;
        region_make(&page, &shape, AREA, &times);
        times.boot[byte] = 2;
        times.monotonic_ns = 300 * S;
        times.unix_ns = UNIX + 50 * S;
        assert_int_equal(region_time_offset(&page, &times) + times.monotonic_ns, 150 * S);
    }
}

static void test_without_a_boot(void **state)
{
    (void)state;
    union page page;
    make(&page);
    keep(&page, 1, 200 * S, UNIX); /* of a boot with the same serial as the next one */
    page.words[WORD_BOOTS + BOOT_STRIDE] = 0;
    assert_int_equal(region_ns(&page, 2, 5 * S, UNIX), S);
    assert_int_equal(page.words[WORD_BOOTS + BOOT_STRIDE], 1);
}

static void test_epoch(void **state)
{
    (void)state;
    union page page;
    make(&page);
    assert_int_equal(region_epoch_ns(&page), UNIX - 100 * S);
    assert_int_equal(region_ns(&page, 2, 2 * S, UNIX + 50 * S), 150 * S);
    assert_int_equal(region_epoch_ns(&page), UNIX - 100 * S);
    const struct region_times times = times_at(1, 100 * S, 99 * S); /* a clock on the wall that was not set */
    page = (union page){{0}};
    region_make(&page, &shape, AREA, &times);
    assert_int_equal(region_epoch_ns(&page), 0);
}

/* No time in a page that fits its check leads out of the range of times. */
static void test_absurd_times(void **state)
{
    (void)state;
    static const uint64_t absurd[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
    const size_t count = sizeof absurd / sizeof *absurd;
    for (size_t i = 0; i < count * count * count; i++) {
        union page page;
        make(&page);
        const struct boot boot = {absurd[i % count], {7, 7}, absurd[i / count % count], absurd[i / count / count], 0};
        write_boot(&page, &boot);
        assert_in_range(region_ns(&page, 5, 100 * S, UNIX), S, TIME_MAX_NS);
        memset(page.bytes + WORD_BOOTS * 8, 0, BOOT_RECORDS * BOOT_STRIDE * 8);
        assert_int_equal(read_of(&page), REGION_DAMAGED);
        assert_in_range(region_ns(&page, 5, 100 * S, UNIX), S, TIME_MAX_NS);
    }
}

/* ---- death at each step ---- */

/* Runs until there are no stores left; false when it died. */
static bool survives(void (*act)(union page *page), union page *page, int stores)
{
    volatile bool alive = false;
    stores_left = stores;
    if (setjmp(death) == 0) {
        act(page);
        alive = true;
    }
    stores_left = NO_DEATH;
    return alive;
}

static void act_make(union page *page)
{
    const struct region_times times = times_at(1, 100 * S, UNIX);
    region_make(page, &shape, AREA, &times);
}

static void test_death_while_making(void **state)
{
    (void)state;
    int stores = 0;
    for (bool alive = false; !alive; stores++) {
        union page page = {{0}}, whole;
        alive = survives(act_make, &page, stores);
        assert_int_equal(read_of(&page), alive ? REGION_SOUND : REGION_EMPTY);
        act_make(&page);
        make(&whole);
        assert_memory_equal(&page, &whole, sizeof page);
    }
    assert_in_range(stores, 18, 40);
}

static void act_add(union page *page)
{
    struct region_view view;
    region_read(page, SIZE, &view);
    region_add_area(page, &view, AREA);
}

static void test_death_while_adding(void **state)
{
    (void)state;
    int stores = 0;
    for (bool alive = false; !alive; stores++) {
        union page page;
        struct region_view view;
        make(&page);
        alive = survives(act_add, &page, stores);
        assert_int_equal(region_read(&page, SIZE + 2 * AREA, &view), REGION_SOUND);
        assert_int_equal(view.areas, alive ? 2 : 1);
        if (alive) continue;
        assert_true(region_add_area(&page, &view, 2 * AREA)); /* over what is left of the first try */
        assert_int_equal(region_read(&page, SIZE + 2 * AREA, &view), REGION_SOUND);
        assert_int_equal(region_end(&view), SIZE + 2 * AREA);
    }
    assert_int_equal(stores, 4 + 1);
}

static void act_boot_3(union page *page)
{
    region_ns(page, 3, 9 * S, UNIX + 500 * S);
}

/* Whoever comes next finds the same time as if nobody had died: in that boot, or in one more. */
static void test_death_while_translating(void **state)
{
    (void)state;
    int stores = 0;
    for (bool alive = false; !alive; stores++) {
        union page page;
        make_rich(&page);
        alive = survives(act_boot_3, &page, stores);
        assert_int_equal(region_read(&page, SIZE + AREA, &(struct region_view){0}), REGION_SOUND);
        union page another_boot = page;
        assert_int_equal(region_ns(&another_boot, 4, 1 * S, UNIX + 510 * S), 610 * S);
        assert_int_equal(region_ns(&page, 3, 10 * S, UNIX + 501 * S), 601 * S);
        keep(&page, 3, 11 * S, UNIX + 502 * S);
        assert_int_equal(region_ns(&page, 4, 1 * S, 0), 602 * S);
    }
    assert_int_equal(stores, BOOT_WORDS + 1 + 1);
}

static void act_keep(union page *page)
{
    keep(page, 1, 300 * S, UNIX + 1000 * S); /* the clock on the wall was moved, too */
}

/* However many die in there, one after another: a pair is whole, or an earlier one counts, and the next one works. */
static void test_death_while_keeping(void **state)
{
    (void)state;
    int stores = 0;
    for (bool alive = false; !alive; stores++) {
        union page page;
        make(&page);
        for (unsigned i = 0; i < KEPT_RECORDS; i++) keep(&page, 1, (200 + i) * S, UNIX + (100 + i) * S);
        for (unsigned deaths = 1; deaths < KEPT_RECORDS; deaths++) {
            alive = survives(act_keep, &page, stores);
            union page next = page;
            const uint64_t now_ns = region_ns(&next, 2, 1 * S, UNIX + 1000 * S);
            assert_int_equal(now_ns, (alive ? 300 : 207 + 1000 - 107) * S);
        }
        union page all = page;
        survives(act_keep, &all, stores);
        assert_true(region_ns(&all, 2, 1 * S, 0) >= 100 * S); /* nothing is left but the beginning of the boot */
        keep(&page, 1, 301 * S, UNIX + 1001 * S);
        assert_int_equal(region_ns(&page, 2, 1 * S, 0), 301 * S);
    }
    assert_int_equal(stores, 1 + KEPT_WORDS + 1 + 1);
}

/* Power loss: of the sectors of a page, some are old and some are new. */
static void test_torn_sectors(void **state)
{
    (void)state;
    enum { SECTOR = 512, SECTORS = REGION_PAGE / SECTOR };
    union page old, new;
    make_rich(&old);
    new = old;
    act_boot_3(&new);
    keep(&new, 3, 20 * S, UNIX + 511 * S);
    for (unsigned which = 0; which < 1U << SECTORS; which++) {
        union page page = old;
        for (unsigned i = 0; i < SECTORS; i++) {
            if (which >> i & 1) memcpy(page.bytes + i * SECTOR, new.bytes + i *SECTOR, SECTOR);
        }
        assert_int_equal(region_read(&page, SIZE + AREA, &(struct region_view){0}), REGION_SOUND);
        assert_int_equal(region_ns(&page, 4, 1 * S, UNIX + 600 * S), 700 * S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_and_read),
        cmocka_unit_test(test_words_of_a_file),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_short_files),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_each_byte_damaged),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_areas_refused),
        cmocka_unit_test(test_too_many_areas),
        cmocka_unit_test(test_read_more_of_another),
        cmocka_unit_test(test_same_boot),
        cmocka_unit_test(test_never_below_a_second),
        cmocka_unit_test(test_reboots),
        cmocka_unit_test(test_elapsed),
        cmocka_unit_test(test_kept_belongs_to_its_boot),
        cmocka_unit_test(test_latest_kept_counts),
        cmocka_unit_test(test_unknown_boots),
        cmocka_unit_test(test_half_an_id),
        cmocka_unit_test(test_without_a_boot),
        cmocka_unit_test(test_epoch),
        cmocka_unit_test(test_absurd_times),
        cmocka_unit_test(test_death_while_making),
        cmocka_unit_test(test_death_while_adding),
        cmocka_unit_test(test_death_while_translating),
        cmocka_unit_test(test_death_while_keeping),
        cmocka_unit_test(test_torn_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

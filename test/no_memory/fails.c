/* SPDX-License-Identifier: MIT
   A library that is preloaded into a unit test: the n-th allocation of weir's own code in it fails.

       WEIR_NO_MEMORY_TEST     the test of this number is run alone, from 0 on; not set: all of the group are
       WEIR_NO_MEMORY_AT       n, from 1 on, of that test; not set: none fails
       WEIR_NO_MEMORY_TOLD     a file that gets a line for each allocation that there was: the test, and a hash of the
                               calls that led to it
       WEIR_NO_MEMORY_EXCEPT   FIRST-END,...: where the code of the test itself is in the program, in hex

   Weir's own is what the program's code asks for that is not the test's.  What shared libraries allocate for themselves
   does not fail and is not counted, and neither is what the group's own beginning asks for.

   What fails is told with errno = ENOMEM, and on stderr. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <ftw.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXCEPT_MAX = 4096, LINE = 100, HEX = 16, DECIMAL = 10, EARLY = 16384, ALIGNED = 16 };
enum { TESTS_MAX = 200, WAYS_MAX = 1 << 18, FRAMES = 12, MADE_MAX = 16, NAME = 64, OPEN_MAX = 16 };

struct span {
    uintptr_t first, end;
};

/* What this library takes the place of. */
static struct {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *memory, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void (*free)(void *memory);
    char *(*strdup)(const char *text);
    char *(*strndup)(const char *text, size_t size);
    void *(*mmap)(void *at, size_t size, int protection, int flags, int fd, off_t offset);
    char *(*mkdtemp)(char *name);
    int (*mkstemp)(char *name);
    void (*assert_fail)(const char *what, const char *file, unsigned line, const char *function);
} next;

static struct span program, except[EXCEPT_MAX];
static size_t excepted;
static const struct CMUnitTest *tests; /* of the group, as it has them */
static struct CMUnitTest counted_tests[TESTS_MAX];
static int test = -1; /* that is running */
static uint64_t fails_at;
static const char *told;
static pid_t counting; /* a child that the test forks tells nothing */
static _Atomic uint64_t counted;
static struct way {
    int test;
    uint32_t calls;
} way[WAYS_MAX];                  /* that led to each of them */
static char made[MADE_MAX][NAME]; /* files and folders */
static size_t made_count;

/* ---- before the functions can be looked up, which allocates ---- */

static _Alignas(ALIGNED) char early[EARLY];
static size_t early_used;

static void *allocate_early(size_t size)
{
    const size_t at = early_used;
    early_used += (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (early_used > sizeof early) abort();
    return early + at;
}

static bool is_early(const void *memory)
{
    const char *const at = memory;
    return at >= early && at < early + sizeof early;
}

/* ---- whose an allocation is ---- */

static void look_up(void)
{
    static bool looking;
    if (looking) return;
    looking = true;
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.strdup = dlsym(RTLD_NEXT, "strdup");
    *(void **)&next.strndup = dlsym(RTLD_NEXT, "strndup");
    *(void **)&next.mmap = dlsym(RTLD_NEXT, "mmap");
    *(void **)&next.mkdtemp = dlsym(RTLD_NEXT, "mkdtemp");
    *(void **)&next.mkstemp = dlsym(RTLD_NEXT, "mkstemp");
    *(void **)&next.assert_fail = dlsym(RTLD_NEXT, "__assert_fail");
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    looking = false;
}

static bool is_own(uintptr_t caller)
{
    if (caller < program.first || caller >= program.end) return false;
    for (size_t i = 0; i < excepted; i++) {
        if (caller >= except[i].first && caller < except[i].end) return false;
    }
    return true;
}

/* Of the calls in weir's own code. */
static uint32_t way_here(void)
{
    void *frame[FRAMES];
    uint32_t hash = 0;
    const int count = backtrace(frame, FRAMES);
    for (int i = 0; i < count; i++) {
        const uintptr_t caller = (uintptr_t)frame[i] - 1;
        if (is_own(caller)) hash = (hash ^ (uint32_t)(caller - program.first)) * UINT32_C(0x9e3779b1);
    }
    return hash;
}

static bool fails(const void *return_address)
{
    const uintptr_t caller = (uintptr_t)return_address - 1;
    if (test < 0 || !is_own(caller)) return false;
    const uint64_t number = atomic_fetch_add(&counted, 1) + 1;
    if (fails_at == 0 && number <= WAYS_MAX) way[number - 1] = (struct way){test, way_here()};
    if (number != fails_at) return false;
    char line[LINE];
    const int size = snprintf(line, sizeof line, "no memory: allocation %llu, at 0x%llx\n",
                              (unsigned long long)fails_at, (unsigned long long)(caller - program.first));
    if (write(STDERR_FILENO, line, (size_t)size) < 0) abort();
    errno = ENOMEM;
    return true;
}

/* ---- allocating ---- */

#define CALLER __builtin_return_address(0)

void *malloc(size_t size)
{
    if (next.malloc == NULL) look_up();
    if (next.malloc == NULL) return allocate_early(size);
    return fails(CALLER) ? NULL : next.malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (next.malloc == NULL) look_up();
    if (next.malloc == NULL) return allocate_early(count * size);
    return fails(CALLER) ? NULL : next.calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    if (next.malloc == NULL) look_up();
    if (next.malloc == NULL || is_early(memory)) abort();
    return fails(CALLER) ? NULL : next.realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (next.malloc == NULL) look_up();
    return fails(CALLER) ? NULL : next.aligned_alloc(alignment, size);
}

void free(void *memory)
{
    if (!is_early(memory) && next.free != NULL) next.free(memory);
}

char *strdup(const char *text)
{
    if (next.malloc == NULL) look_up();
    return fails(CALLER) ? NULL : next.strdup(text);
}

char *strndup(const char *text, size_t size)
{
    if (next.malloc == NULL) look_up();
    return fails(CALLER) ? NULL : next.strndup(text, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (next.malloc == NULL) look_up();
    return fails(CALLER) ? MAP_FAILED : next.mmap(at, size, protection, flags, fd, offset);
}

/* ---- what a test that fails leaves behind ---- */

char *mkdtemp(char *name)
{
    char *const folder = next.mkdtemp(name);
    if (folder != NULL && made_count < MADE_MAX) snprintf(made[made_count++], NAME, "%s", folder);
    return folder;
}

int mkstemp(char *name)
{
    const int fd = next.mkstemp(name);
    if (fd >= 0 && made_count < MADE_MAX) snprintf(made[made_count++], NAME, "%s", name);
    return fd;
}

int mkstemp64(char *name)
{
    return mkstemp(name);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_all(void)
{
    for (size_t i = 0; i < made_count; i++) nftw(made[i], remove_one, OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

__attribute__((noreturn)) void __assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
    if (getpid() == counting) remove_all();
    next.assert_fail(what, file, line, function);
    abort();
}

/* ---- the test that is run alone ---- */

/* Before each test. */
static int begin_test(void **state)
{
    const CMFixtureFunction setup = tests[++test].setup_func;
    return setup != NULL ? setup(state) : 0;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const group, const size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);
    const char *const number = getenv("WEIR_NO_MEMORY_TEST");
    const size_t first = number != NULL ? strtoul(number, NULL, DECIMAL) : 0;
    *(void **)&run = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    if (first >= count || count > TESTS_MAX) abort();
    for (size_t i = 0; i < count; i++) {
        counted_tests[i] = group[i];
        counted_tests[i].setup_func = begin_test;
    }
    tests = group + first;
    const int failed = run(name, counted_tests + first, number != NULL ? 1 : count, setup, teardown);
    test = -1;
    return failed;
}

/* ---- what is told ---- */

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    program.first = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        const uintptr_t end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && end > program.end) program.end = end;
    }
    return 1; /* the program comes first */
}

static void read_except(const char *text)
{
    while (*text != '\0' && excepted < EXCEPT_MAX) {
        char *end;
        except[excepted].first = program.first + strtoull(text, &end, HEX);
        except[excepted].end = program.first + strtoull(end + 1, &end, HEX);
        excepted++;
        text = *end == ',' ? end + 1 : end;
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *const at = getenv("WEIR_NO_MEMORY_AT"), *const spans = getenv("WEIR_NO_MEMORY_EXCEPT");
    dl_iterate_phdr(find_program, NULL);
    if (spans != NULL) read_except(spans);
    fails_at = at != NULL ? strtoull(at, NULL, DECIMAL) : 0;
    told = getenv("WEIR_NO_MEMORY_TOLD");
    counting = getpid();
    unsetenv("LD_PRELOAD"); /* programs that the test starts are others' */
}

__attribute__((destructor)) static void end(void)
{
    if (getpid() != counting) return;
    remove_all();
    FILE *const file = told != NULL ? fopen(told, "we") : NULL;
    if (file == NULL) return;
    const uint64_t count = atomic_load(&counted);
    for (uint64_t i = 0; i < count && i < WAYS_MAX; i++) fprintf(file, "%d %x\n", way[i].test, way[i].calls);
    fclose(file);
}

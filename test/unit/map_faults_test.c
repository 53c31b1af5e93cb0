/* SPDX-License-Identifier: MIT
   Files, space, locks and maps of a system that interrupts, refuses, does not know a call, or does a part of what it
   was asked for: what is opened, allocated, locked or mapped is whole, or there is nothing of it.

   System calls are taken over, one by one.  No lengths of time are asserted: a clock stands in for the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "host/map.h"
#include "unit/skip.h"

enum { MIB = 1 << 20, PAGE = 4096, MODE = 0600, PARTS_MAX = 64 };

/* ---- the system ---- */

enum call {
    OPEN,
    FSTAT,
    FCHMOD,
    PWRITE,
    PREAD,
    READ,
    LSEEK,
    GETRANDOM,
    MEMFD,
    RESERVE,
    FILL,
    CUT,
    STATVFS,
    MMAP,
    LOCK,
    CALLS
};

static struct {
    int after, times, number; /* so many calls go through; then so many fail, with this errno */
    unsigned calls;
} faults[CALLS];

static struct {
    size_t piece_max;       /* that is read or written at once; 0: all */
    void (*meanwhile)(int); /* what others do before a file is opened, with its flags */
    void (*removed)(void);  /* or between that and a look at it */
    const char *path[2];    /* the first is the second in truth */
    bool counts_only;       /* space is only counted */
    uint64_t part_from[PARTS_MAX], part_end[PARTS_MAX];
    unsigned parts;
    struct statvfs room;
    long page_size, pages;
    uint64_t now_ns, napped_ns[PARTS_MAX], advised;
    unsigned yields, naps;
    unsigned memfd_flags[2];
} made_up;

static int begin(void **state)
{
    (void)state;
    memset(faults, 0, sizeof faults);
    memset(&made_up, 0, sizeof made_up);
    return 0;
}

static void fail_after(enum call call, int after, int number)
{
    faults[call].after = after;
    faults[call].times = 1;
    faults[call].number = number;
}

static void fail_next(enum call call, int times, int number)
{
    fail_after(call, 0, number);
    faults[call].times = times;
}

static bool fails(enum call call)
{
    faults[call].calls++;
    if (faults[call].times == 0 || faults[call].after-- > 0) return false;
    faults[call].after = 0;
    faults[call].times--;
    errno = faults[call].number;
    return true;
}

static size_t piece(size_t size)
{
    return made_up.piece_max != 0 && made_up.piece_max < size ? made_up.piece_max : size;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (made_up.meanwhile != NULL) made_up.meanwhile(flags);
    if (fails(OPEN)) return -1;
    const bool other = made_up.path[0] != NULL && strcmp(path, made_up.path[0]) == 0;
    return __real_open(other ? made_up.path[1] : path, flags, MODE);
}

int __real_fstat(int fd, struct stat *file);
int __wrap_fstat(int fd, struct stat *file);
int __wrap_fstat(int fd, struct stat *file)
{
    if (made_up.removed != NULL) made_up.removed();
    return fails(FSTAT) ? -1 : __real_fstat(fd, file);
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return fails(FCHMOD) ? -1 : __real_fchmod(fd, mode);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return fails(PWRITE) ? -1 : __real_pwrite(fd, bytes, piece(size), at);
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at)
{
    return fails(PREAD) ? -1 : __real_pread(fd, bytes, piece(size), at);
}

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    return fails(READ) ? -1 : __real_read(fd, bytes, piece(size));
}

off_t __real_lseek(int fd, off_t at, int whence);
off_t __wrap_lseek(int fd, off_t at, int whence);
off_t __wrap_lseek(int fd, off_t at, int whence)
{
    return fails(LSEEK) ? -1 : __real_lseek(fd, at, whence);
}

ssize_t __real_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    assert_int_equal(flags, 0); /* as a machine starts it waits, rather than fail */
    return fails(GETRANDOM) ? -1 : __real_getrandom(bytes, piece(size), flags);
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
    made_up.memfd_flags[faults[MEMFD].calls % 2] = flags;
    return fails(MEMFD) ? -1 : __real_memfd_create(name, flags);
}

int __real_posix_fallocate(int fd, off_t from, off_t size);
int __wrap_posix_fallocate(int fd, off_t from, off_t size);
int __wrap_posix_fallocate(int fd, off_t from, off_t size)
{
    if (fails(RESERVE)) return faults[RESERVE].number;
    if (!made_up.counts_only) return __real_posix_fallocate(fd, from, size);
    assert_true(made_up.parts < PARTS_MAX);
    made_up.part_from[made_up.parts] = (uint64_t)from;
    made_up.part_end[made_up.parts++] = (uint64_t)(from + size);
    return ftruncate(fd, from + size) == 0 ? 0 : errno;
}

int __real_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size)
{
    return fails(FILL) ? -1 : __real_fallocate(fd, mode, from, size);
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
    return fails(CUT) ? -1 : __real_ftruncate(fd, size);
}

int __real_fstatvfs(int fd, struct statvfs *system);
int __wrap_fstatvfs(int fd, struct statvfs *system);
int __wrap_fstatvfs(int fd, struct statvfs *system)
{
    if (fails(STATVFS)) return -1;
    if (made_up.room.f_frsize == 0) return __real_fstatvfs(fd, system);
    *system = made_up.room;
    return 0;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    if (name == _SC_PAGESIZE && made_up.page_size != 0) return made_up.page_size;
    if (name == _SC_PHYS_PAGES && made_up.pages != 0) return made_up.pages;
    return __real_sysconf(name);
}

void *__real_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails(MMAP) ? MAP_FAILED : __real_mmap(where, size, protection, flags, fd, offset);
}

int __real_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice)
{
    made_up.advised = advice == MADV_HUGEPAGE ? size : 0;
    return __real_madvise(memory, size, advice);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *const argument = va_arg(arguments, void *);
    va_end(arguments);
    return fails(LOCK) ? -1 : __real_fcntl(fd, command, argument);
}

uint64_t __real_host_now_ns(void);
uint64_t __wrap_host_now_ns(void);
uint64_t __wrap_host_now_ns(void)
{
    return made_up.now_ns != 0 ? made_up.now_ns : __real_host_now_ns();
}

void __real_host_sleep_until(uint64_t deadline_ns);
void __wrap_host_sleep_until(uint64_t deadline_ns);
void __wrap_host_sleep_until(uint64_t deadline_ns)
{
    assert_true(made_up.naps < PARTS_MAX);
    made_up.napped_ns[made_up.naps++] = deadline_ns - made_up.now_ns;
    made_up.now_ns = deadline_ns;
}

void __wrap_host_yield(void);
void __wrap_host_yield(void)
{
    made_up.yields++;
}

/* ---- files ---- */

static char folder[] = "/tmp/weir-faults-XXXXXX", path[sizeof folder + 8];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 64; fd++) count += __real_fcntl(fd, F_GETFD) >= 0;
    return count;
}

static struct host_region create_file(void)
{
    struct host_region region;
    bool created;
    unlink(path);
    assert_int_equal(host_region_open(&region, path, HOST_CREATE, MODE, &created), 0);
    assert_true(created);
    return region;
}

static void leave_file(void)
{
    struct host_region region = create_file();
    host_region_close(&region);
}

static void check_opens(enum host_open how, int answer, bool creates)
{
    struct host_region region;
    const unsigned before = descriptors();
    bool created = !creates;
    assert_int_equal(host_region_open(&region, path, how, MODE, &created), answer);
    assert_int_equal(created, creates);
    assert_int_equal(region.fd >= 0, answer == 0);
    host_region_close(&region);
    assert_int_equal(descriptors(), before);
}

static void test_opening_fails(void **state)
{
    (void)state;
    unlink(path);
    fail_next(OPEN, 3, EINTR);
    check_opens(HOST_CREATE, 0, true);
    assert_int_equal(faults[OPEN].calls, 4);
    fail_next(OPEN, 3, EINTR);
    check_opens(HOST_JOIN, 0, false);
    fail_next(OPEN, 1, EMFILE);
    check_opens(HOST_JOIN_OR_CREATE, EMFILE, false);
    fail_next(FSTAT, 1, EIO);
    check_opens(HOST_JOIN, EIO, false);
    fail_after(FSTAT, 1, EIO);
    check_opens(HOST_JOIN, EIO, false);
    check_opens(HOST_CREATE, EEXIST, false);
    unlink(path);
    fail_next(FCHMOD, 1, EPERM);
    check_opens(HOST_CREATE, EPERM, false);
    assert_false(host_exists(path));
    fail_next(FCHMOD, 1, EPERM);
    check_opens(HOST_JOIN_OR_CREATE, EPERM, false);
    assert_false(host_exists(path));
}

static void remove_it(void)
{
    unlink(path);
    made_up.removed = NULL;
}

static void make_it(int flags)
{
    if ((flags & O_EXCL) != 0) close(__real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, MODE));
}

static void make_and_remove_it(int flags)
{
    if ((flags & O_EXCL) == 0) unlink(path);
    make_it(flags);
}

/* Between one call and the next the file comes and goes. */
static void test_races(void **state)
{
    (void)state;
    leave_file();
    made_up.removed = remove_it;
    check_opens(HOST_JOIN, ENOENT, false);
    leave_file();
    made_up.removed = remove_it;
    check_opens(HOST_JOIN_OR_CREATE, 0, true);
    unlink(path);
    made_up.meanwhile = make_it;
    check_opens(HOST_JOIN_OR_CREATE, 0, false);
    unlink(path);
    made_up.meanwhile = make_and_remove_it;
    check_opens(HOST_JOIN_OR_CREATE, EEXIST, false);
}

/* ---- space ---- */

static uint64_t blocks_of(const struct host_region *region)
{
    struct stat file;
    assert_int_equal(__real_fstat(region->fd, &file), 0);
    return (uint64_t)file.st_blocks * 512;
}

static void write_at(const struct host_region *region, uint64_t at, const char *text)
{
    assert_int_equal(__real_pwrite(region->fd, text, strlen(text), (off_t)at), strlen(text));
}

static void check_bytes(const struct host_region *region, uint64_t from, uint64_t end, char byte)
{
    char got = '?';
    for (uint64_t at = from; at < end; at++) {
        assert_int_equal(__real_pread(region->fd, &got, 1, (off_t)at), 1);
        assert_int_equal(got, byte);
    }
}

static void check_size(const struct host_region *region, uint64_t size)
{
    struct stat file;
    assert_int_equal(region->size, size);
    assert_int_equal(__real_fstat(region->fd, &file), 0);
    assert_int_equal(file.st_size, size);
}

/* A file system that reserves no space, and a library that does not make up for it. */
static void test_space_by_zeros(void **state)
{
    (void)state;
    struct host_region region = create_file();
    write_at(&region, 0, "xxx");
    fail_next(RESERVE, INT_MAX, EOPNOTSUPP);
    fail_after(PWRITE, 2, EINTR);
    made_up.piece_max = 30000;
    assert_int_equal(host_region_grow(&region, 3 * 65536 + 1), 0);
    check_size(&region, 3 * 65536 + 1);
    check_bytes(&region, 0, 3, 'x');
    check_bytes(&region, 3, 1000, '\0');
    check_bytes(&region, 3 * 65536 - 1000, 3 * 65536 + 1, '\0');
    assert_true(blocks_of(&region) >= 3 * 65536 + 1);
    fail_after(PWRITE, 2, ENOSPC);
    assert_int_equal(host_region_grow(&region, MIB), ENOSPC);
    check_size(&region, 3 * 65536 + 1);
    host_region_close(&region);
}

/* Each part where the last one ended. */
static void check_parts(uint64_t from, uint64_t end, uint64_t most)
{
    for (unsigned i = 0; i < made_up.parts; i++) {
        assert_int_equal(made_up.part_from[i], from);
        assert_in_range(made_up.part_end[i], from + 1, from + most);
        from = made_up.part_end[i];
    }
    assert_int_equal(from, end);
    made_up.parts = 0;
}

static void test_space_in_parts(void **state)
{
    (void)state;
    const uint64_t part = 64 * MIB;
    struct host_region region = create_file();
    made_up.counts_only = true;
    made_up.room = (struct statvfs){.f_blocks = 1, .f_bfree = 1 << 20, .f_frsize = PAGE};
    fail_after(RESERVE, 1, EINTR);
    assert_int_equal(host_region_grow(&region, 3 * part + 5), 0);
    check_size(&region, 3 * part + 5);
    assert_int_equal(made_up.parts, 4);
    check_parts(0, 3 * part + 5, part);
    fail_after(RESERVE, 2, ENOSPC);
    assert_int_equal(host_region_grow(&region, 9 * part), ENOSPC);
    check_size(&region, 3 * part + 5);
    made_up.parts = 0;
    for (uint64_t size = 3 * part + 5; size < 4 * part; size = region.size) {
        assert_int_equal(host_region_grow_some(&region, 4 * part, 10 * MIB), 0);
        check_size(&region, size + 10 * MIB < 4 * part ? size + 10 * MIB : 4 * part);
    }
    check_parts(3 * part + 5, 4 * part, 10 * MIB);
    assert_int_equal(host_region_grow_some(&region, 4 * part, 10 * MIB), 0);
    assert_int_equal(host_region_grow_some(&region, 5, 1), 0);
    assert_int_equal(made_up.parts, 0);
    check_size(&region, 4 * part);
    host_region_close(&region);
}

/* To the last byte that the file system says it has. */
static void check_room(struct host_region *region, uint64_t room)
{
    const unsigned before = faults[RESERVE].calls;
    assert_int_equal(host_region_grow(region, region->size + room + 1), ENOSPC);
    assert_int_equal(faults[RESERVE].calls, before);
    assert_int_equal(host_region_grow(region, region->size + room), 0);
}

static void test_room(void **state)
{
    (void)state;
    struct host_region region = create_file();
    made_up.counts_only = true;
    made_up.page_size = PAGE;
    made_up.pages = 7;
    made_up.room = (struct statvfs){.f_blocks = 1, .f_bfree = 10, .f_bavail = 9, .f_bsize = 2 * PAGE, .f_frsize = PAGE};
    check_room(&region, 10 * PAGE);
    made_up.room.f_bfree = 0;
    check_room(&region, 0);
    made_up.room.f_blocks = 0; /* that of huge pages, or of memory without a bound */
    check_room(&region, 7 * PAGE);
    made_up.room.f_blocks = 1;
    fail_next(STATVFS, 2, ENOSYS);
    check_room(&region, 7 * PAGE);
    made_up.pages = 1;
    fail_next(STATVFS, 2, ENOSYS);
    check_room(&region, PAGE);
    made_up.pages = -1;
    fail_next(STATVFS, 1, ENOSYS);
    assert_int_equal(host_region_grow(&region, 100 * PAGE), 0);
    made_up.pages = 1;
    made_up.page_size = -1;
    fail_next(STATVFS, 1, ENOSYS);
    assert_int_equal(host_region_grow(&region, 200 * PAGE), 0);
    assert_int_equal(host_region_grow(&region, (uint64_t)INT64_MAX + 1), EFBIG);
    assert_int_equal(host_region_grow(&region, INT64_MAX), ENOSPC);
    host_region_close(&region);
}

static void test_cut(void **state)
{
    (void)state;
    struct host_region region = create_file(), alone;
    assert_int_equal(host_region_grow(&region, 2 * PAGE), 0);
    fail_next(CUT, 2, EINTR);
    host_region_cut(&region, 5);
    check_size(&region, 5);
    assert_int_equal(faults[CUT].calls, 3);
    fail_next(CUT, 1, EIO);
    host_region_cut(&region, 4); /* it does not try for ever */
    assert_int_equal(faults[CUT].calls, 4);
    host_region_close(&region);
    assert_int_equal(host_region_anonymous(&alone, PAGE, true), 0);
    host_region_cut(&alone, 5);
    assert_int_equal(alone.size, PAGE);
    assert_int_equal(host_region_grow(&alone, 5), 0);
    assert_int_equal(alone.size, PAGE);
    assert_int_equal(host_region_fill(&alone), 0);
}

static void test_fill(void **state)
{
    (void)state;
    struct host_region region = create_file();
    write_at(&region, 0, "xxx");
    assert_int_equal(__real_ftruncate(region.fd, MIB + 5), 0);
    fail_next(FILL, 1, ENOSPC);
    assert_int_equal(host_region_fill(&region), ENOSPC);
    fail_next(FILL, 1, EOPNOTSUPP);
    assert_int_equal(host_region_fill(&region), 0);
    fail_next(FILL, 1, ENOSYS);
    assert_int_equal(host_region_fill(&region), 0);
    fail_next(FSTAT, 1, EIO);
    assert_int_equal(host_region_fill(&region), EIO);
    assert_true(blocks_of(&region) < MIB);
    fail_next(FILL, 2, EINTR);
    assert_int_equal(host_region_fill(&region), 0);
    assert_int_equal(faults[FILL].calls, 6);
    assert_true(blocks_of(&region) >= MIB);
    assert_int_equal(host_region_measure(&region), 0);
    check_size(&region, MIB + 5);
    check_bytes(&region, 0, 3, 'x');
    assert_int_equal(host_region_fill(&region), 0);
    host_region_cut(&region, MIB);
    assert_int_equal(host_region_fill(&region), 0);
    assert_int_equal(faults[FILL].calls, 6); /* all is there */
    host_region_close(&region);
}

static void check_blank(const struct host_region *region, uint64_t from, bool expected)
{
    bool blank = !expected;
    assert_int_equal(host_region_blank(region, from, &blank), 0);
    assert_int_equal(blank, expected);
}

/* Bytes that are zero, holes, and what lies behind either. */
static void check_blanks(const struct host_region *region)
{
    check_blank(region, 0, false);
    check_blank(region, 1, true);
    check_blank(region, 8 * PAGE, true);
    check_blank(region, 8 * PAGE + 1, true);
    write_at(region, 5 * PAGE + 17, "x");
    check_blank(region, 1, false);
    check_blank(region, 5 * PAGE + 17, false);
    check_blank(region, 5 * PAGE + 18, true);
    write_at(region, 8 * PAGE - 1, "x");
    check_blank(region, 5 * PAGE + 18, false);
    check_blank(region, 8 * PAGE - 1, false);
    check_blank(region, 8 * PAGE, true);
    assert_int_equal(__real_pwrite(region->fd, "\0", 1, 8 * PAGE - 1), 1);
    assert_int_equal(__real_pwrite(region->fd, "\0", 1, 5 * PAGE + 17), 1);
}

static void test_blank(void **state)
{
    (void)state;
    bool blank;
    struct host_region region = create_file();
    assert_int_equal(__real_ftruncate(region.fd, 8 * PAGE), 0);
    write_at(&region, 0, "x");
    check_blanks(&region);
    made_up.piece_max = 1000;
    fail_after(PREAD, 3, EINTR);
    check_blanks(&region);
    fail_next(LSEEK, INT_MAX, EINVAL); /* a file system without holes */
    check_blanks(&region);
    fail_after(PREAD, 1, EIO);
    check_blank(&region, 0, false); /* what follows is not looked at */
    fail_next(PREAD, 1, EIO);
    assert_int_equal(host_region_blank(&region, 0, &blank), EIO);
    host_region_close(&region);
}

/* ---- memory ---- */

enum { CLOEXEC = 1, NOEXEC = 8 }; /* of memfd_create(2) */

static void test_memory_with_a_descriptor(void **state)
{
    (void)state;
    struct host_region region;
    const unsigned before = descriptors();
    assert_int_equal(host_region_anonymous(&region, PAGE, false), 0);
    assert_int_equal(made_up.memfd_flags[0], CLOEXEC | NOEXEC);
    assert_int_equal(faults[MEMFD].calls, 1);
    check_size(&region, PAGE);
    host_region_close(&region);
    begin(NULL);
    fail_next(MEMFD, 1, EINVAL); /* a kernel that does not know of the second */
    assert_int_equal(host_region_anonymous(&region, PAGE, false), 0);
    assert_int_equal(made_up.memfd_flags[1], CLOEXEC);
    host_region_close(&region);
    fail_next(MEMFD, 2, EINVAL);
    assert_int_equal(host_region_anonymous(&region, PAGE, false), EINVAL);
    begin(NULL);
    fail_next(MEMFD, 1, EMFILE);
    assert_int_equal(host_region_anonymous(&region, PAGE, false), EMFILE);
    assert_int_equal(faults[MEMFD].calls, 1);
    fail_next(RESERVE, 1, ENOSPC);
    assert_int_equal(host_region_anonymous(&region, PAGE, false), ENOSPC);
    assert_int_equal(region.fd, -1);
    assert_int_equal(descriptors(), before);
}

/* The system's pages are larger than those that a table is made of. */
static void test_large_pages(void **state)
{
    (void)state;
    void *memory;
    struct host_region region = create_file();
    assert_int_equal(host_region_grow(&region, 8 * PAGE), 0);
    write_at(&region, 5 * PAGE, "here");
    made_up.page_size = 4 * PAGE;
    assert_int_equal(host_region_map(&region, 5 * PAGE, PAGE, &memory), 0);
    assert_memory_equal(memory, "here", 4);
    assert_int_equal((uintptr_t)memory % PAGE, 0);
    host_region_close(&region);
}

static void test_map_fails(void **state)
{
    (void)state;
    int here;
    void *memory = &here;
    struct host_region region = create_file(), alone;
    assert_int_equal(host_region_grow(&region, 2 * PAGE), 0);
    const unsigned before = descriptors();
    fail_next(MMAP, 1, ENOMEM);
    assert_int_equal(host_region_map(&region, 0, PAGE, &memory), ENOMEM);
    assert_null(memory);
    assert_int_equal(descriptors(), before);
    memory = &here;
    fail_next(FSTAT, 1, EIO);
    assert_int_equal(host_region_map(&region, 0, PAGE, &memory), EIO);
    assert_null(memory);
    fail_next(OPEN, 1, EMFILE); /* no second opening of it: then by its own */
    assert_int_equal(host_region_map(&region, 0, PAGE, &memory), 0);
    host_region_unmap(memory, PAGE);
    assert_int_equal(descriptors(), before);
    region.by_process = true; /* a second one that is closed would take the locks along */
    const unsigned opened = faults[OPEN].calls;
    assert_int_equal(host_region_map(&region, PAGE, PAGE, &memory), 0);
    host_region_unmap(memory, PAGE);
    assert_int_equal(faults[OPEN].calls, opened);
    assert_int_equal(descriptors(), before);
    host_region_close(&region);
    memory = &here;
    assert_int_equal(host_region_anonymous(&alone, PAGE, true), 0);
    fail_next(MMAP, 1, EAGAIN);
    assert_int_equal(host_region_map(&alone, 0, PAGE, &memory), EAGAIN);
    assert_null(memory);
}

static void test_huge_pages(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, advised;
    } rows[] = {{128 * MIB, 128 * MIB}, {128 * MIB - PAGE, 0}, {256 * MIB, 256 * MIB}};
    struct host_region alone;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *memory;
        made_up.advised = 0;
        assert_int_equal(host_region_anonymous(&alone, rows[i].size, true), 0);
        assert_int_equal(host_region_map(&alone, 0, rows[i].size, &memory), 0);
        assert_int_equal(made_up.advised, rows[i].advised);
        host_region_unmap(memory, rows[i].size);
    }
}

/* All of its pages, none behind them, and what they hold is still zeros. */
static void test_touch(void **state)
{
    (void)state;
    enum { PAGES = 5 };
    unsigned char there[PAGES] = {0};
    if (__real_sysconf(_SC_PAGESIZE) != PAGE) skip_because("unit/map_faults: pages", "they are larger here", "x86");
    char *const memory =
        __real_mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + PAGES * PAGE, PAGE, PROT_NONE), 0);
    host_region_touch(memory, PAGES * PAGE);
    assert_int_equal(mincore(memory, PAGES * PAGE, there), 0);
    for (int i = 0; i < PAGES; i++) {
        assert_int_equal(there[i] & 1, 1);
        assert_int_equal(memory[i * PAGE], 0);
    }
    munmap(memory, (PAGES + 1) * PAGE);
}

/* ---- locks ---- */

static void check_wait(struct host_region *region, uint64_t wait_ns, unsigned yields, unsigned naps)
{
    uint64_t napped_ns = 0;
    made_up.yields = made_up.naps = 0;
    made_up.now_ns = 1000;
    assert_int_equal(host_region_lock(region, 7, wait_ns), HOST_HELD);
    assert_int_equal(made_up.now_ns, 1000 + wait_ns);
    assert_int_equal(made_up.yields, yields);
    assert_int_equal(made_up.naps, naps);
    for (unsigned i = 0; i < naps; i++) {
        const uint64_t left_ns = wait_ns - napped_ns, nap_ns = i < 6 ? UINT64_C(20000) << i : 1280000;
        assert_int_equal(made_up.napped_ns[i], nap_ns < left_ns ? nap_ns : left_ns);
        napped_ns += made_up.napped_ns[i];
    }
}

/* It lets others run, then it naps, longer and longer, and the last nap ends with the wait. */
static void test_waiting_for_a_lock(void **state)
{
    (void)state;
    bool created;
    struct host_region one = create_file(), two;
    assert_int_equal(host_region_open(&two, path, HOST_JOIN, MODE, &created), 0);
    assert_int_equal(host_region_lock(&one, 7, 0), 0);
    check_wait(&two, 0, 0, 0);
    check_wait(&two, 20000, 100, 1);
    check_wait(&two, 20001, 100, 2);
    check_wait(&two, 2540000, 100, 7); /* 20 us to 1.28 ms */
    check_wait(&two, 5000000, 100, 9);
    made_up.now_ns = 1000;
    fail_next(LOCK, 1, EACCES); /* as some systems say that it is held */
    assert_int_equal(host_region_lock(&one, 8, 1000000), 0);
    fail_next(LOCK, 1, EINTR);
    assert_int_equal(host_region_lock(&one, 9, 1000000), 0);
    fail_next(LOCK, 1, ENOLCK);
    assert_int_equal(host_region_lock(&one, 10, 1000000), ENOLCK);
    assert_true(host_region_is_locked(&two, 7));
    assert_false(host_region_is_locked(&one, 7));
    assert_false(host_region_is_locked(&two, 6));
    assert_true(host_region_is_locked(&two, 8) && host_region_is_locked(&two, 9));
    assert_false(host_region_is_locked(&two, 10));
    fail_next(LOCK, 1, ENOLCK);
    assert_true(host_region_is_locked(&two, 6));
    host_region_unlock(&one, 7);
    assert_false(host_region_is_locked(&two, 7));
    host_region_close(&one);
    host_region_close(&two);
    assert_true(host_region_is_locked(&two, 6));
}

/* ---- facts ---- */

static void check_random(int answer)
{
    enum { SIZE = 200 };
    uint8_t bytes[2][SIZE + 1] = {{0}, {0}};
    for (int i = 0; i < 2; i++) assert_int_equal(host_random(bytes[i], SIZE), answer);
    if (answer != 0) return;
    for (int i = 0; i < SIZE; i += 20) assert_memory_not_equal(bytes[0] + i, bytes[1] + i, 20);
    assert_int_equal(bytes[0][SIZE], 0);
}

static void test_random(void **state)
{
    (void)state;
    made_up.piece_max = 7;
    fail_after(GETRANDOM, 3, EINTR);
    check_random(0);
    fail_next(GETRANDOM, 2, ENOSYS);
    fail_after(READ, 3, EINTR);
    check_random(0);
    fail_next(GETRANDOM, 2, EFAULT);
    check_random(EFAULT);
    fail_next(GETRANDOM, 2, ENOSYS);
    fail_next(OPEN, 2, ENOENT);
    check_random(EIO);
    fail_next(GETRANDOM, 2, ENOSYS);
    fail_next(READ, 2, EIO);
    check_random(EIO);
    const unsigned before = descriptors();
    made_up.path[0] = "/dev/urandom";
    made_up.path[1] = "/dev/null";
    fail_next(GETRANDOM, 2, ENOSYS);
    check_random(EIO);
    assert_int_equal(descriptors(), before);
}

/* The system's file, which is ours here, says this. */
static void say(const char *of, const char *text)
{
    FILE *const file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    made_up.path[0] = of;
    made_up.path[1] = path;
}

static void test_boot(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t boot[16];
    } rows[] = {
        {"01234567-89ab-cdef-0123-456789abcdef\n",
         {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}},
        {"fedcba9876543210/fedcba9876543210:`g", /* the characters beside digits are none */
         {0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}},
        {"01234567-89ab-cdef-0123-456789abcdef-and more: 99",
         {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}},
        {"01234567-89ab-cdef-0123-456789abcde\n", {0}},
        {"", {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t boot[17];
        memset(boot, 0xaa, sizeof boot);
        say("/proc/sys/kernel/random/boot_id", rows[i].text);
        host_boot(boot);
        assert_memory_equal(boot, rows[i].boot, 16);
        assert_int_equal(boot[16], 0xaa);
    }
}

static void test_time_namespace(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t offset_ns;
    } rows[] = {
        {"monotonic           0         0\nboottime            0         0\n", 0},
        {"monotonic 1000 5\n", INT64_C(-1000000000005)},
        {"boottime 77 0\nmonotonic -1 999999999\n", 1},
        {"monotonic -5 0\n", INT64_C(5000000000)},
        {"monotonic 4611686018 0\n", INT64_C(-4611686018000000000)},
        {"monotonic -4611686018 0\n", INT64_C(4611686018000000000)},
        {"monotonic 4611686019 0\n", 0}, /* 146 years */
        {"monotonic -4611686019 0\n", 0},
        {"monotonic 1 1000000000\n", 0},
        {"monotonic 1 -1\n", 0},
        {"monotonic 1\n", 0},
        {"monotonic\n", 0},
        {"boottime 77 0\n", 0},
        {"", 0},
    };
    struct stat file;
    if (stat("/proc/self/ns/time", &file) != 0)
        skip_because("unit/map_faults: a namespace", "there are none of time here", "a newer kernel");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        say("/proc/self/timens_offsets", rows[i].text);
        assert_int_equal(host_time_namespace_ns(), rows[i].offset_ns);
    }
}

/* Where a file's functions have other names, of 64 bits, it does not. */
static bool takes_over(void)
{
    uint8_t byte;
    struct host_region region = {.fd = 0};
    fail_next(GETRANDOM, 1, ENOSYS);
    (void)host_random(&byte, 1);
    (void)host_region_measure(&region);
    return ON_LINUX && faults[OPEN].calls != 0 && faults[FSTAT].calls != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_opening_fails, begin),
        cmocka_unit_test_setup(test_races, begin),
        cmocka_unit_test_setup(test_space_by_zeros, begin),
        cmocka_unit_test_setup(test_space_in_parts, begin),
        cmocka_unit_test_setup(test_room, begin),
        cmocka_unit_test_setup(test_cut, begin),
        cmocka_unit_test_setup(test_fill, begin),
        cmocka_unit_test_setup(test_blank, begin),
        cmocka_unit_test_setup(test_memory_with_a_descriptor, begin),
        cmocka_unit_test_setup(test_large_pages, begin),
        cmocka_unit_test_setup(test_map_fails, begin),
        cmocka_unit_test_setup(test_huge_pages, begin),
        cmocka_unit_test_setup(test_touch, begin),
        cmocka_unit_test_setup(test_waiting_for_a_lock, begin),
        cmocka_unit_test_setup(test_random, begin),
        cmocka_unit_test_setup(test_boot, begin),
        cmocka_unit_test_setup(test_time_namespace, begin),
    };
    if (takes_over()) return cmocka_run_group_tests(tests, make_folder, remove_folder);
    printf("skipped: unit/map_faults: the functions of files have other names here; cure: a Linux of 64 bits\n");
    return 77;
}

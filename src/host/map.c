/* SPDX-License-Identifier: MIT
   Memory that processes share, by a file or a descriptor; byte locks; boot ID, time namespace and random bytes.

   Whoever controls what a name refers to can make a program write where it should not, or block for ever.  So a file is
   checked before it is opened, because opening some devices has effects; it is opened without following links and
   without blocking; and it is checked again through its descriptor, and that check counts.

   A process that touches a mapped page without space behind it is killed by SIGBUS.  So space is allocated before the
   size of the file says that it is there, only parts within the size are mapped, and a file is never truncated except
   to undo an allocation that failed.  What remains is a file that another process truncates; see map.h.

   Locks are those of open file descriptions (F_OFD_SETLK) where the system has them: they are released when the last
   process with the description exits, do not depend on the thread that asks, and survive when the same file is opened
   and closed again.

   A call that a signal interrupts is continued. */
#include "host/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/sleep.h"
#include "host/thread.h"

#ifdef __linux__
#include <sys/random.h>
enum { LOCKS_BY_PROCESS = 0, SET_LOCK = F_OFD_SETLK, GET_LOCK = F_OFD_GETLK };
#else
enum { LOCKS_BY_PROCESS = 1, SET_LOCK = F_SETLK, GET_LOCK = F_GETLK };
#endif

enum {
    RACES_MAX = 100,      /* a name that appears and disappears so often is an attack */
    NEW_FILE_MODE = 0600, /* until the file gets its own */
    MAP_MODE_BITS = 0666,
    GROUPS_MAX = 1024,
    CHUNK = 1 << 26, /* allocated at a time: after a signal tmpfs starts over */
    ZEROS = 1 << 16,
    SMALLEST_PAGE = 4096,
    HUGE_FROM = 1 << 27,
    STAT_BLOCK = 512, /* the unit of st_blocks */
    ATTEMPTS_BEFORE_NAP = 100,
    NAP_FIRST_NS = 20000,
    NAP_LAST_NS = 1000000,
    TEXT_SIZE = 256,
    BOOT_BYTES = 16
};

#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
/* The last place that an off_t can say. */
#define FILE_MAX (sizeof(off_t) < sizeof(uint64_t) ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX)
#define SAFELY (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* ---- checking files ---- */

static bool in_my_groups(gid_t group)
{
    gid_t groups[GROUPS_MAX];
    const int count = getgroups(GROUPS_MAX, groups);
    for (int i = 0; i < count; i++) {
        if (groups[i] == group) return true;
    }
    return group == getegid();
}

static int check_owner(const struct stat *file, unsigned mode)
{
    const mode_t others = S_IWGRP | S_IWOTH;
    const bool by_group = (file->st_mode & S_IWGRP & mode) != 0 && in_my_groups(file->st_gid);
    if ((file->st_mode & others & ~(mode_t)mode) != 0) return EPERM;
    return file->st_uid == geteuid() || file->st_uid == 0 || by_group ? 0 : EPERM;
}

static int check_file(const struct stat *file, unsigned mode)
{
    if (S_ISLNK(file->st_mode)) return ELOOP;
    if (S_ISDIR(file->st_mode)) return EISDIR;
    if (!S_ISREG(file->st_mode)) return ENODEV;
    if (file->st_nlink == 0) return ENOENT; /* removed since it was opened */
    if (file->st_nlink != 1) return EMLINK;
    return check_owner(file, mode);
}

static int open_again(const char *path, int flags, int *fd)
{
    do *fd = open(path, flags, NEW_FILE_MODE);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

static int measure(int fd, uint64_t *size)
{
    struct stat file;
    if (fstat(fd, &file) != 0) return errno;
    *size = (uint64_t)file.st_size;
    return 0;
}

/* ---- opening ---- */

static int map_join(const char *path, unsigned mode, int *fd)
{
    struct stat file;
    if (lstat(path, &file) != 0) return errno;
    int failed = check_file(&file, mode);
    if (failed == 0) failed = open_again(path, SAFELY, fd);
    if (failed != 0) return failed;
    failed = fstat(*fd, &file) != 0 ? errno : check_file(&file, mode);
    if (failed != 0) close(*fd);
    return failed;
}

static int create(const char *path, unsigned mode, int *fd)
{
    int failed = open_again(path, SAFELY | O_CREAT | O_EXCL, fd);
    if (failed != 0) return failed;
    if (fchmod(*fd, (mode_t)(mode & MAP_MODE_BITS)) == 0) return 0;
    failed = errno;
    unlink(path);
    close(*fd);
    return failed;
}

/* Joining is tried first: in directories like /tmp, O_CREAT fails on an existing file of another user. */
static int join_or_create(const char *path, unsigned mode, int *fd, bool *created)
{
    int failed = ENOENT;
    for (int i = 0; i < RACES_MAX; i++) {
        *created = false;
        failed = map_join(path, mode, fd);
        if (failed != ENOENT) return failed;
        *created = true;
        failed = create(path, mode, fd);
        if (failed != EEXIST) return failed;
    }
    return failed;
}

int host_region_open(struct host_region *region, const char *path, enum host_open how, unsigned mode, bool *created)
{
    int fd = -1, failed = 0;
    *region = (struct host_region){.fd = -1, .by_process = LOCKS_BY_PROCESS};
    *created = how == HOST_CREATE;
    if (how == HOST_JOIN) failed = map_join(path, mode, &fd);
    else if (how == HOST_CREATE) failed = create(path, mode, &fd);
    else failed = join_or_create(path, mode, &fd, created);
    if (failed == 0) {
        region->fd = fd;
        failed = host_region_measure(region);
    }
    if (failed != 0) {
        host_region_close(region);
        *created = false;
    }
    return failed;
}

bool host_exists(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int host_rename(const char *path, const char *to)
{
    return rename(path, to) == 0 ? 0 : errno;
}

int host_region_measure(struct host_region *region)
{
    return region->fd < 0 ? 0 : measure(region->fd, &region->size);
}

void host_region_close(struct host_region *region)
{
    if (region->fd >= 0) close(region->fd);
    region->fd = -1;
}

/* ---- what differs between systems: space, memory with a descriptor, a second opening, locks ---- */

static int write_zeros(int fd, uint64_t from, uint64_t to)
{
    static const uint8_t zeros[ZEROS];
    while (from < to) {
        const uint64_t rest = to - from;
        const ssize_t written = pwrite(fd, zeros, rest < ZEROS ? (size_t)rest : ZEROS, (off_t)from);
        if (written < 0 && errno != EINTR) return errno;
        if (written > 0) from += (uint64_t)written;
    }
    return 0;
}

#ifdef __linux__
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* A system may insist on memory that cannot be executed; older kernels do not know the flag. */
static int map_open_anonymous(int *fd)
{
    *fd = memfd_create("weir", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (*fd < 0 && errno == EINVAL) *fd = memfd_create("weir", MFD_CLOEXEC);
    return *fd < 0 ? errno : 0;
}

static int open_second(int fd, int *second)
{
    char path[TEXT_SIZE];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open_again(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, second);
}

static int allocate_some(int fd, uint64_t from, uint64_t to)
{
    const int failed = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    return failed == EOPNOTSUPP ? write_zeros(fd, from, to) : failed;
}

/* Not posix_fallocate: where the file system has no support it writes zeros, and others are using the file. */
static int map_fill(int fd, off_t size)
{
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size);
}

static ssize_t random_some(uint8_t *bytes, size_t size)
{
    return getrandom(bytes, size, 0);
}
#else
static int map_open_anonymous(int *fd)
{
    uint64_t random;
    char name[TEXT_SIZE];
    int failed = host_random(&random, sizeof random);
    if (failed != 0) return failed;
    snprintf(name, sizeof name, "/weir-%llx", (unsigned long long)random);
    *fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, NEW_FILE_MODE);
    if (*fd < 0) return errno;
    shm_unlink(name);
    fcntl(*fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Here locks belong to the process, so a child has none of its parent's. */
static int open_second(int fd, int *second)
{
    *second = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *second < 0 ? errno : 0;
}

static int allocate_some(int fd, uint64_t from, uint64_t to)
{
    return write_zeros(fd, from, to);
}

static int map_fill(int fd, off_t size)
{
    (void)fd, (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

static ssize_t random_some(uint8_t *bytes, size_t size)
{
    (void)bytes, (void)size;
    errno = ENOSYS;
    return -1;
}
#endif

static int lock_byte(const struct host_region *region, short type, uint64_t byte)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    return fcntl(region->fd, region->by_process ? F_SETLK : SET_LOCK, &lock);
}

int host_region_anonymous(struct host_region *region, uint64_t size, bool alone)
{
    *region = (struct host_region){.fd = -1, .size = size};
    if (alone) return 0;
    int failed = map_open_anonymous(&region->fd);
    if (failed == 0) failed = host_region_grow(region, size);
    if (failed != 0) host_region_close(region);
    return failed;
}

int host_region_reopen(struct host_region *region)
{
    int second = -1;
    if (region->fd < 0) return 0;
    const int failed = open_second(region->fd, &second);
    region->by_process = LOCKS_BY_PROCESS || failed != 0;
    if (failed != 0) return failed;
    close(region->fd);
    region->fd = second;
    return 0;
}

/* Tries again and again: a thread that waits in the kernel for a lock waits as long as the holder pleases.  A lock is
   held for about a us, so the short sleep is for holders that do not run. */
int host_region_lock(const struct host_region *region, uint64_t byte, uint64_t wait_ns)
{
    uint64_t until_ns = 0, nap_ns = NAP_FIRST_NS;
    if (region->fd < 0) return 0;
    for (unsigned attempt = 0; lock_byte(region, F_WRLCK, byte) != 0; attempt++) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return errno;
        const uint64_t now_ns = host_now_ns();
        if (attempt == 0) until_ns = now_ns + wait_ns;
        if (now_ns >= until_ns) return HOST_HELD;
        if (attempt < ATTEMPTS_BEFORE_NAP) {
            host_yield();
            continue;
        }
        host_sleep_until(until_ns - now_ns < nap_ns ? until_ns : now_ns + nap_ns);
        if (nap_ns < NAP_LAST_NS) nap_ns *= 2;
    }
    return 0;
}

bool host_region_is_locked(const struct host_region *region, uint64_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    const int command = region->by_process ? F_GETLK : GET_LOCK;
    return region->fd < 0 || fcntl(region->fd, command, &lock) != 0 || lock.l_type != F_UNLCK;
}

void host_region_unlock(const struct host_region *region, uint64_t byte)
{
    if (region->fd >= 0) lock_byte(region, F_UNLCK, byte);
}

/* ---- space ---- */

static int allocate(int fd, uint64_t from, uint64_t to)
{
    while (from < to) {
        const uint64_t size = to - from < CHUNK ? to - from : CHUNK;
        const int failed = allocate_some(fd, from, from + size);
        if (failed == EINTR) continue;
        if (failed != 0) return failed;
        from += size;
    }
    return 0;
}

/* An upper bound for what can be allocated.  More is never requested, because some systems kill other programs to
   provide it.  For a file the bound is the free space of its file system, for memory that of the machine. */
static uint64_t map_bytes_left(int fd)
{
    struct statvfs system;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (fstatvfs(fd, &system) == 0 && system.f_blocks != 0) return (uint64_t)system.f_bfree * system.f_frsize;
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

void host_region_cut(struct host_region *region, uint64_t size)
{
    if (region->fd < 0) return;
    while (ftruncate(region->fd, (off_t)size) != 0 && errno == EINTR) continue;
    region->size = size;
}

int host_region_grow(struct host_region *region, uint64_t size)
{
    return host_region_grow_some(region, size, UINT64_MAX);
}

int host_region_grow_some(struct host_region *region, uint64_t size, uint64_t step)
{
    if (region->fd < 0) {
        region->size = size > region->size ? size : region->size;
        return 0;
    }
    if (size > FILE_MAX) return EFBIG;
    int failed = measure(region->fd, &region->size);
    if (failed != 0 || size <= region->size) return failed;
    if (size - region->size > map_bytes_left(region->fd)) return ENOSPC;
    failed = allocate(region->fd, region->size, size - region->size > step ? region->size + step : size);
    if (failed == 0) return measure(region->fd, &region->size);
    /* No other process knows of what was added, and none may add to the file while this one has the lock. */
    host_region_cut(region, region->size);
    return failed;
}

int host_region_fill(const struct host_region *region)
{
    struct stat file;
    int failed = 0;
    if (region->fd < 0) return 0;
    if (fstat(region->fd, &file) != 0) return errno;
    if (file.st_blocks >= file.st_size / STAT_BLOCK) return 0;
    do failed = map_fill(region->fd, file.st_size);
    while (failed != 0 && errno == EINTR);
    return failed != 0 && errno != EOPNOTSUPP && errno != ENOSYS ? errno : 0;
}

/* The next offset that may hold something other than zeros; ENXIO: none. */
static int next_data(int fd, uint64_t *at)
{
#ifdef SEEK_DATA
    const off_t found = lseek(fd, (off_t)*at, SEEK_DATA);
    if (found >= 0) *at = (uint64_t)found;
    if (found < 0 && errno == ENXIO) return ENXIO;
#else
    (void)fd, (void)at;
#endif
    return 0;
}

int host_region_blank(const struct host_region *region, uint64_t from, bool *blank)
{
    uint8_t some[4096];
    *blank = true;
    for (uint64_t at = from; *blank && next_data(region->fd, &at) == 0;) {
        const ssize_t got = pread(region->fd, some, sizeof some, (off_t)at);
        if (got == 0) break;
        if (got < 0 && errno != EINTR) return errno;
        for (ssize_t i = 0; i < got; i++) *blank = *blank && some[i] == 0;
        if (got > 0) at += (uint64_t)got;
    }
    return 0;
}

/* ---- mapping ---- */

/* The system's pages may be larger than those of a region. */
static uint64_t within_page(uint64_t place)
{
    return place % (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Memory keeps the open file that it is mapped from, and a child of fork has the memory: by a file of its own, which is
   closed at once, it keeps no locks of its parent, which could not be had while the child lives. */
static int map_file(const struct host_region *region, uint64_t offset, uint64_t size, void **memory)
{
    uint64_t all = 0;
    int alone = -1;
    const int failed = measure(region->fd, &all);
    if (failed != 0) return failed;
    if (offset > all || size > all - offset) return ENXIO;
    const uint64_t before = within_page(offset);
    if (region->by_process || open_second(region->fd, &alone) != 0) alone = region->fd;
    uint8_t *mapped =
        mmap(NULL, (size_t)(size + before), PROT_READ | PROT_WRITE, MAP_SHARED, alone, (off_t)(offset - before));
    const int number = errno;
    if (alone != region->fd) close(alone);
    if (mapped != MAP_FAILED) *memory = mapped + before;
    return mapped == MAP_FAILED ? number : 0;
}

/* Memory of this process alone, beyond what the processor's caches hold the page tables of, has huge pages: a random
   access takes two thirds of the time (bench-grow).  The first access to one zeroes 2 MiB, so less has none. */
static int map_alone(uint64_t size, void **memory)
{
    *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*memory == MAP_FAILED) return errno;
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_FROM) madvise(*memory, (size_t)size, MADV_HUGEPAGE);
#endif
    return 0;
}

int host_region_map(const struct host_region *region, uint64_t offset, uint64_t size, void **memory)
{
    if (size > SIZE_MAX / 2) return ENOMEM;
    const int failed = region->fd >= 0 ? map_file(region, offset, size, memory) : map_alone(size, memory);
    if (failed != 0) *memory = NULL;
    return failed;
}

void host_region_touch(void *memory, uint64_t size)
{
    volatile uint8_t *bytes = memory;
    for (uint64_t i = 0; i < size; i += SMALLEST_PAGE) bytes[i] = 0;
}

void host_region_unmap(void *memory, uint64_t size)
{
    const uint64_t before = within_page((uintptr_t)memory);
    if (memory != NULL) munmap((uint8_t *)memory - before, (size_t)(size + before));
}

/* ---- facts about the system ---- */

/* Returns the number of bytes read, 0 if the file cannot be read. */
static size_t read_some(const char *path, void *bytes, size_t size)
{
    int fd = -1;
    size_t got = 0;
    if (open_again(path, O_RDONLY | O_CLOEXEC, &fd) != 0) return 0;
    while (got < size) {
        const ssize_t more = read(fd, (uint8_t *)bytes + got, size - got);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        got += (size_t)more;
    }
    close(fd);
    return got;
}

int host_random(void *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        const ssize_t more = random_some((uint8_t *)bytes + got, size - got);
        if (more < 0 && errno == ENOSYS) return read_some("/dev/urandom", bytes, size) == size ? 0 : EIO;
        if (more < 0 && errno != EINTR) return errno;
        if (more > 0) got += (size_t)more;
    }
    return 0;
}

static int hex_digit(char character)
{
    if (character >= '0' && character <= '9') return character - '0';
    if (character >= 'a' && character <= 'f') return character - 'a' + 10;
    return -1;
}

void host_boot(uint8_t boot[16])
{
    char text[TEXT_SIZE];
    unsigned digits = 0;
    const size_t size = read_some("/proc/sys/kernel/random/boot_id", text, sizeof text);
    memset(boot, 0, BOOT_BYTES);
    for (size_t i = 0; i < size && digits < 2 * BOOT_BYTES; i++) {
        const int digit = hex_digit(text[i]);
        if (digit < 0) continue;
        boot[digits / 2] = (uint8_t)(boot[digits / 2] << 4 | digit);
        digits++;
    }
    if (digits != 2 * BOOT_BYTES) memset(boot, 0, BOOT_BYTES);
}

const char *host_error_text(int number)
{
    switch (number) {
    case HOST_HELD:
        return "another process holds its lock; is that process stopped?";
    case ELOOP:
        return "it is a symbolic link, which is not followed";
    case EISDIR:
        return "it is a directory; expected a file";
    case ENODEV:
        return "it is not a regular file";
    case EEXIST:
        return "it exists already";
    case EMLINK:
        return "it has another name (a hard link)";
    case EPERM:
        return "it belongs to another user, or others may write it";
    case ENOENT:
        return "no such file or directory";
    case EACCES:
        return "permission denied";
    case ENOSPC:
    case EDQUOT:
        return "there is not enough space";
    case ENOMEM:
        return "there is not enough memory";
    case EROFS:
        return "the file system is read-only";
    default:
        return strerror(number);
    }
}

/* The file describes the namespace of future children, which is this process's own unless it has just left it. */
static bool children_share_time(void)
{
    struct stat own, children;
    return stat("/proc/self/ns/time", &own) == 0 && stat("/proc/self/ns/time_for_children", &children) == 0 &&
           own.st_dev == children.st_dev && own.st_ino == children.st_ino;
}

int64_t host_time_namespace_ns(void)
{
    static const char name[] = "monotonic";
    char text[TEXT_SIZE], *behind_seconds, *behind_ns;
    const size_t size = read_some("/proc/self/timens_offsets", text, sizeof text - 1);
    text[size] = '\0';
    const char *line = strstr(text, name);
    if (line == NULL || !children_share_time()) return 0;
    line += sizeof name - 1;
    const long long seconds = strtoll(line, &behind_seconds, 10), ns = strtoll(behind_seconds, &behind_ns, 10);
    if (behind_seconds == line || behind_ns == behind_seconds) return 0;
    if (seconds > INT64_MAX / HOST_SECOND_NS / 2 || seconds < INT64_MIN / HOST_SECOND_NS / 2) return 0;
    if (ns < 0 || ns >= HOST_SECOND_NS) return 0;
    return -(seconds * HOST_SECOND_NS + ns);
}

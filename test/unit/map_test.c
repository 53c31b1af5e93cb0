/* SPDX-License-Identifier: MIT
   Files that are refused and taken, space, locks, processes that share, boots and namespaces.

   No lengths of time are asserted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/map.h"
#include "share/table/region.h"
#include "unit/skip.h"

#define WAIT_NS UINT64_C(60000000000)
enum { MIB = 1 << 20, CHILD_FAILED = 99, MODE = 0600 };

static char folder[PATH_MAX / 2];

static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/weir-map-XXXXXX", temporary != NULL ? temporary : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static int open_as(const char *name, enum host_open how, unsigned mode)
{
    struct host_region region;
    bool created;
    const int failed = host_region_open(&region, path_of(name), how, mode, &created);
    if (failed != 0) {
        assert_int_equal(region.fd, -1);
        assert_false(created);
    }
    if (failed == 0) host_region_close(&region);
    return failed;
}

static struct host_region opened(const char *name, enum host_open how)
{
    struct host_region region;
    bool created;
    assert_int_equal(host_region_open(&region, path_of(name), how, MODE, &created), 0);
    return region;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    const int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static mode_t mode_of(const char *name)
{
    struct stat file;
    assert_int_equal(lstat(path_of(name), &file), 0);
    return file.st_mode & 07777;
}

/* A child that failed an assertion would run the rest of the tests: it says so with its status instead. */
#define IN_CHILD(holds)                                                                                                \
    do {                                                                                                               \
        if (!(holds)) _exit(CHILD_FAILED);                                                                             \
    } while (0)

static void await(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- opening ---- */

static void test_join_and_create(void **state)
{
    (void)state;
    struct host_region region;
    bool created = false;
    assert_int_equal(open_as("one", HOST_JOIN, MODE), ENOENT);
    assert_int_equal(host_region_open(&region, path_of("one"), HOST_CREATE, MODE, &created), 0);
    assert_true(created);
    assert_int_equal(region.size, 0);
    host_region_close(&region);
    assert_int_equal(region.fd, -1);
    assert_int_equal(open_as("one", HOST_CREATE, MODE), EEXIST);
    assert_int_equal(host_region_open(&region, path_of("one"), HOST_JOIN_OR_CREATE, MODE, &created), 0);
    assert_false(created);
    host_region_close(&region);
    assert_int_equal(host_region_open(&region, path_of("two"), HOST_JOIN_OR_CREATE, MODE, &created), 0);
    assert_true(created);
    assert_int_equal(fcntl(region.fd, F_GETFD), FD_CLOEXEC);
    host_region_close(&region);
    assert_int_equal(open_as("two", HOST_JOIN, MODE), 0);
    assert_int_equal(open_as("no folder/two", HOST_JOIN_OR_CREATE, MODE), ENOENT);
}

static void test_mode_is_exact(void **state)
{
    (void)state;
    const mode_t before = umask(077);
    assert_int_equal(open_as("private", HOST_CREATE, 0600), 0);
    assert_int_equal(open_as("shared", HOST_CREATE, 0660), 0);
    umask(0);
    assert_int_equal(open_as("strict", HOST_CREATE, 0600), 0);
    umask(before);
    assert_int_equal(mode_of("private"), 0600);
    assert_int_equal(mode_of("shared"), 0660);
    assert_int_equal(mode_of("strict"), 0600);
    assert_int_equal(open_as("shared", HOST_JOIN, 0660), 0);
    assert_int_equal(open_as("shared", HOST_JOIN, 0600), EPERM);
}

static void test_links_are_refused(void **state)
{
    (void)state;
    write_file("target", "", 0600);
    assert_int_equal(symlink(path_of("target"), path_of("link")), 0);
    assert_int_equal(symlink(path_of("nothing"), path_of("dangling")), 0);
    assert_int_equal(open_as("link", HOST_JOIN, MODE), ELOOP);
    assert_int_equal(open_as("link", HOST_JOIN_OR_CREATE, MODE), ELOOP);
    assert_int_equal(open_as("link", HOST_CREATE, MODE), EEXIST);
    assert_int_equal(open_as("dangling", HOST_JOIN_OR_CREATE, MODE), ELOOP);
    assert_int_equal(access(path_of("nothing"), F_OK), -1);
    assert_int_equal(open_as("target", HOST_JOIN, MODE), 0);
    assert_int_equal(link(path_of("target"), path_of("second name")), 0);
    assert_int_equal(open_as("target", HOST_JOIN_OR_CREATE, MODE), EMLINK);
    assert_int_equal(unlink(path_of("second name")), 0);
    assert_int_equal(open_as("target", HOST_JOIN, MODE), 0);
}

static void test_only_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(open_as("pipe", HOST_JOIN, MODE), ENODEV);
    assert_int_equal(open_as("pipe", HOST_JOIN_OR_CREATE, MODE), ENODEV);
    assert_int_equal(mkdir(path_of("dir"), 0700), 0);
    assert_int_equal(open_as("dir", HOST_JOIN_OR_CREATE, MODE), EISDIR);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.60s/socket", folder);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0) {
        assert_int_equal(open_as("socket", HOST_JOIN, MODE), ENODEV);
    }
    close(listener);
    struct host_region region;
    bool created;
    assert_int_equal(host_region_open(&region, "/dev/null", HOST_JOIN_OR_CREATE, 0666, &created), ENODEV);
}

static void test_writable_by_others(void **state)
{
    (void)state;
    static const struct {
        unsigned has, mode;
        int answer;
    } cases[] = {
        {0600, 0600, 0},     {0644, 0600, 0}, {0660, 0600, EPERM}, {0602, 0600, EPERM},
        {0666, 0660, EPERM}, {0660, 0660, 0}, {0600, 0660, 0},     {0666, 0666, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("moded", "", cases[i].has);
        assert_int_equal(open_as("moded", HOST_JOIN, cases[i].mode), cases[i].answer);
    }
}

enum { SOMEBODY = 12345, GROUP = 23456 };

/* Somebody who is of this group too, whichever the system names first. */
static void look_at_files(gid_t other)
{
    const pid_t child = fork();
    if (child == 0) {
        const gid_t groups[] = {GROUP, other};
        IN_CHILD(setgroups(2, groups) == 0 && setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0);
        IN_CHILD(open_as("theirs", HOST_JOIN, 0660) == 0);
        IN_CHILD(open_as("of root", HOST_JOIN, 0666) == 0);
        IN_CHILD(open_as("of root", HOST_JOIN, 0600) == EPERM);
        IN_CHILD(open_as("of the group", HOST_JOIN, 0660) == 0);
        IN_CHILD(open_as("of the group", HOST_JOIN, 0600) == EPERM);
        IN_CHILD(open_as("read by the group", HOST_JOIN, 0660) == EPERM);
        IN_CHILD(open_as("secret", HOST_JOIN, 0600) == EACCES);
        IN_CHILD(host_exists(path_of("secret")));
        _exit(0);
    }
    await(child);
}

/* As root: files of somebody else, and somebody else's look at ours. */
static void test_owners(void **state)
{
    (void)state;
    if (geteuid() != 0) skip_because("unit/map: owners", "files of others are made by root", SKIP_CURE_ROOT);
    write_file("theirs", "", 0660);
    assert_int_equal(chown(path_of("theirs"), SOMEBODY, GROUP), 0);
    assert_int_equal(open_as("theirs", HOST_JOIN, 0660), EPERM); /* root is not of that group */
    assert_int_equal(open_as("theirs", HOST_JOIN, 0600), EPERM);
    write_file("of root", "", 0666);
    write_file("of the group", "", 0660);
    assert_int_equal(chown(path_of("of the group"), SOMEBODY + 1, GROUP), 0);
    write_file("read by the group", "", 0640);
    assert_int_equal(chown(path_of("read by the group"), SOMEBODY + 1, GROUP), 0);
    write_file("secret", "", 0600);
    assert_int_equal(chmod(folder, 0711), 0);
    look_at_files(GROUP - 1);
    look_at_files(GROUP + 1);
    const pid_t member = fork();
    if (member == 0) {
        IN_CHILD(setgroups(0, NULL) == 0 && setgid(GROUP) == 0 && setuid(SOMEBODY) == 0);
        IN_CHILD(open_as("of the group", HOST_JOIN, 0660) == 0);
        _exit(0);
    }
    await(member);
    const pid_t neighbour = fork();
    if (neighbour == 0) {
        const gid_t groups[] = {GROUP - 1, GROUP - 2};
        IN_CHILD(setgroups(2, groups) == 0 && setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0);
        IN_CHILD(open_as("of the group", HOST_JOIN, 0660) == EPERM);
        _exit(0);
    }
    await(neighbour);
    assert_int_equal(chmod(folder, 0700), 0);
    const pid_t stranger = fork();
    if (stranger == 0) {
        IN_CHILD(setgroups(0, NULL) == 0 && setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0);
        IN_CHILD(host_exists(path_of("none"))); /* that cannot be known */
        _exit(0);
    }
    await(stranger);
}

/* Somebody changes what the name means, all the time: a good file, a link to another, one that others may write. */
static bool swap_with(const char *other)
{
    return renameat2(AT_FDCWD, path_of("swapped"), AT_FDCWD, path_of(other), RENAME_EXCHANGE) == 0;
}

static void swap_for_ever(void)
{
    static const char *const others[] = {"to the victim", "bad"};
    for (unsigned i = 0;; i++) {
        IN_CHILD(swap_with(others[i / 2 % 2]));
    }
}

static void test_names_that_change(void **state)
{
    (void)state;
    enum { TRIES = 20000 };
    int opened_good = 0;
    struct stat good;
    write_file("swapped", "", 0600);
    write_file("bad", "", 0622);
    write_file("victim", "", 0600);
    assert_int_equal(symlink(path_of("victim"), path_of("to the victim")), 0);
    assert_int_equal(stat(path_of("swapped"), &good), 0);
    if (!swap_with("bad") || !swap_with("bad")) {
        skip_because("unit/map: a file that is swapped", "this file system cannot swap names", "TMPDIR=/dev/shm");
    }
    const pid_t child = fork();
    if (child == 0) swap_for_ever();
    for (int i = 0; i < TRIES; i++) {
        struct host_region region;
        struct stat file;
        bool created;
        const int failed = host_region_open(&region, path_of("swapped"), HOST_JOIN, MODE, &created);
        if (failed != 0) continue;
        assert_int_equal(fstat(region.fd, &file), 0);
        assert_int_equal(file.st_ino, good.st_ino);
        host_region_close(&region);
        opened_good++;
    }
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    print_message("opened the good one %d times of %d\n", opened_good, TRIES);
}

static void test_names(void **state)
{
    (void)state;
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    write_file("here", "1", 0600);
    write_file("there", "22", 0600);
    assert_true(host_exists(path_of("here")));
    assert_true(host_exists(path_of(long_name)));
    assert_false(host_exists(path_of("nowhere")));
    assert_false(host_exists(path_of("here/nowhere")));
    assert_int_equal(symlink("nowhere", path_of("to nowhere")), 0);
    assert_true(host_exists(path_of("to nowhere")));
    assert_int_equal(host_rename(path_of("here"), path_of("there")), 0);
    assert_false(host_exists(path_of("here")));
    struct host_region region = opened("there", HOST_JOIN);
    assert_int_equal(region.size, 1);
    host_region_close(&region);
    assert_int_equal(host_rename(path_of("here"), path_of("there")), ENOENT);
}

/* What the system would say of these numbers says nothing of a table's file. */
static void test_error_texts(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *text;
    } rows[] = {
        {HOST_HELD, "another process holds its lock; is that process stopped?"},
        {ELOOP, "it is a symbolic link, which is not followed"},
        {EISDIR, "it is a directory; expected a file"},
        {ENODEV, "it is not a regular file"},
        {EEXIST, "it exists already"},
        {EMLINK, "it has another name (a hard link)"},
        {EPERM, "it belongs to another user, or others may write it"},
        {ENOENT, "no such file or directory"},
        {EACCES, "permission denied"},
        {ENOSPC, "there is not enough space"},
        {EDQUOT, "there is not enough space"},
        {ENOMEM, "there is not enough memory"},
        {EROFS, "the file system is read-only"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(host_error_text(rows[i].number), rows[i].text);
    }
    assert_string_equal(host_error_text(EIO), strerror(EIO));
}

/* A program that becomes a daemon closes all descriptors, those that it does not know of too. */
static void test_closed_by_others(void **state)
{
    (void)state;
    bool blank;
    void *memory;
    struct host_region region = opened("closed", HOST_CREATE);
    close(region.fd);
    assert_int_equal(host_region_measure(&region), EBADF);
    assert_int_equal(host_region_grow(&region, MIB), EBADF);
    assert_int_equal(host_region_fill(&region), EBADF);
    assert_int_equal(host_region_blank(&region, 0, &blank), EBADF);
    assert_int_equal(host_region_map(&region, 0, 0, &memory), EBADF);
    assert_null(memory);
    assert_int_equal(host_region_lock(&region, 0, WAIT_NS), EBADF);
    assert_true(host_region_is_locked(&region, 0));
    assert_int_not_equal(host_region_reopen(&region), 0);
}

/* ---- space and maps ---- */

static uint64_t blocks_of(const struct host_region *region)
{
    struct stat file;
    assert_int_equal(fstat(region->fd, &file), 0);
    return (uint64_t)file.st_blocks * 512;
}

static bool holds_only(const uint8_t *memory, uint64_t size, uint8_t byte)
{
    for (uint64_t i = 0; i < size; i++) {
        if (memory[i] != byte) return false;
    }
    return true;
}

static void check_space(struct host_region *region)
{
    void *first, *second;
    assert_int_equal(host_region_grow(region, MIB), 0);
    assert_int_equal(region->size, MIB);
    assert_true(blocks_of(region) >= MIB);
    assert_int_equal(host_region_grow(region, 5), 0);
    assert_int_equal(region->size, MIB);
    assert_int_equal(host_region_map(region, 0, MIB, &first), 0);
    assert_int_equal(host_region_map(region, MIB, 1, &second), ENXIO);
    assert_null(second);
    assert_int_equal(host_region_map(region, MIB - 4096, 4097, &second), ENXIO);
    assert_int_equal(host_region_map(region, UINT64_MAX - 4095, 8192, &second), ENXIO);
    assert_int_equal(host_region_map(region, 0, UINT64_MAX, &second), ENOMEM);
    assert_int_equal(host_region_grow(region, 3 * MIB), 0);
    assert_int_equal(host_region_map(region, 4096, 3 * MIB - 4096, &second), 0);
    assert_true(holds_only(second, 3 * MIB - 4096, 0));
    memset(first, 1, MIB);
    memset((uint8_t *)second + MIB - 4096, 2, 2 * MIB);
    assert_true(holds_only(second, MIB - 4096, 1));
    host_region_unmap(first, MIB);
    host_region_unmap(second, 3 * MIB - 4096);
}

static void test_space_of_a_file(void **state)
{
    (void)state;
    struct host_region region = opened("space", HOST_CREATE);
    check_space(&region);
    host_region_close(&region);
}

static void test_space_without_a_name(void **state)
{
    (void)state;
    struct host_region region;
    assert_int_equal(host_region_anonymous(&region, 0, false), 0);
    assert_int_equal(fcntl(region.fd, F_GETFD), FD_CLOEXEC);
    check_space(&region);
    host_region_close(&region);
}

/* Of a program whose standard input is closed. */
static void test_first_descriptor(void **state)
{
    (void)state;
    if (!ON_LINUX) skip_because("unit/map: locks of openings", "locks belong to the process", SKIP_CURE_LINUX);
    struct host_region one, two;
    void *memory;
    const int input = dup(0);
    bool created;
    close(0);
    errno = EINTR; /* of something before */
    assert_int_equal(host_region_open(&one, path_of("at first"), HOST_CREATE, MODE, &created), 0);
    assert_int_equal(one.fd, 0);
    host_region_close(&one);
    errno = EINVAL;
    assert_int_equal(host_region_anonymous(&one, 0, false), 0);
    assert_int_equal(one.fd, 0);
    check_space(&one);
    assert_int_equal(host_region_map(&one, 0, one.size, &memory), 0);
    memset(memory, 3, one.size);
    host_region_unmap(memory, one.size);
    two = one;
    two.fd = dup(one.fd);
    assert_int_equal(host_region_lock(&one, 5, 0), 0);
    assert_int_equal(host_region_reopen(&two), 0);
    assert_true(host_region_is_locked(&two, 5));
    assert_false(host_region_is_locked(&one, 5));
    host_region_unlock(&one, 5);
    assert_false(host_region_is_locked(&two, 5));
    assert_int_equal(host_region_lock(&two, 5, 0), 0);
    assert_int_equal(host_region_lock(&one, 5, 0), HOST_HELD);
    assert_int_equal(ftruncate(one.fd, 6 * MIB), 0);
    assert_int_equal(host_region_fill(&one), 0);
    assert_int_equal(host_region_measure(&one), 0);
    assert_int_equal(one.size, 6 * MIB);
    assert_true(blocks_of(&one) >= 6 * MIB);
    host_region_cut(&one, MIB);
    assert_true(blocks_of(&one) == MIB);
    host_region_close(&one);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    const int back = dup2(input, 0);
    assert_true(input < 0 || back == 0);
    close(input);
    host_region_close(&two);
    struct host_region file = opened("first", HOST_CREATE);
    const int at = file.fd;
    assert_int_equal(host_region_reopen(&file), 0);
    assert_int_not_equal(file.fd, at); /* the one before is closed */
    assert_int_equal(fcntl(at, F_GETFD), -1);
    host_region_close(&file);
}

static void test_alone(void **state)
{
    (void)state;
    struct host_region region;
    void *first, *second;
    assert_int_equal(host_region_anonymous(&region, 4 * MIB, true), 0);
    assert_int_equal(region.fd, -1);
    assert_int_equal(region.size, 4 * MIB);
    assert_int_equal(host_region_map(&region, 0, 4 * MIB, &first), 0);
    assert_int_equal(host_region_map(&region, 0, 4 * MIB, &second), 0);
    memset(first, 1, 4 * MIB);
    assert_true(holds_only(second, 4 * MIB, 0));
    assert_int_equal(host_region_grow(&region, 5 * MIB), 0);
    assert_int_equal(region.size, 5 * MIB);
    assert_int_equal(host_region_lock(&region, 0, WAIT_NS), 0);
    assert_int_equal(host_region_reopen(&region), 0);
    assert_int_equal(host_region_measure(&region), 0);
    host_region_unlock(&region, 0);
    host_region_unmap(first, 4 * MIB);
    host_region_unmap(second, 4 * MIB);
    host_region_unmap(NULL, 4 * MIB);
    host_region_close(&region);
}

/* What is mounted there nobody else sees.  In a chroot / is no mount point, so that it cannot be made private. */
static bool become_private(char *disk, size_t size)
{
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        snprintf(disk, size, "%s", path_of("small"));
        return mkdir(disk, 0700) == 0;
    }
    snprintf(disk, size, "/dev/shm");
    return mount("none", disk, NULL, MS_PRIVATE, NULL) == 0;
}

/* A second process of this test lives in its own mount namespace, so nothing has to be unmounted. */
static void fill_small_disk(const char *disk)
{
    struct host_region region, other;
    bool created;
    void *memory;
    IN_CHILD(mount("none", disk, "tmpfs", 0, "size=80m") == 0);
    IN_CHILD(chdir(disk) == 0);
    IN_CHILD(host_region_open(&region, "one", HOST_CREATE, MODE, &created) == 0);
    IN_CHILD(host_region_grow(&region, MIB) == 0);
    IN_CHILD(host_region_grow(&region, 160 * MIB) == ENOSPC);
    IN_CHILD(region.size == MIB && host_region_measure(&region) == 0 && region.size == MIB);
    IN_CHILD(host_region_grow(&region, 3 * MIB) == 0);
    IN_CHILD(host_region_open(&other, "two", HOST_CREATE, MODE, &created) == 0);
    IN_CHILD(host_region_grow(&other, 78 * MIB) == ENOSPC);
    IN_CHILD(host_region_grow(&other, 77 * MIB) == 0); /* what failed has left nothing behind */
    IN_CHILD(host_region_map(&region, 0, 3 * MIB, &memory) == 0);
    memset(memory, 1, 3 * MIB);
    IN_CHILD(host_region_map(&other, 0, 77 * MIB, &memory) == 0);
    memset(memory, 1, 77 * MIB);
    _exit(0);
}

/* What can never be had is not even begun: here by the room of the file system, which is not that of the memory.  What
   is begun fails by a limit of the process. */
static void test_room_of_the_file_system(void **state)
{
    (void)state;
    struct host_region region = opened("room", HOST_CREATE);
    struct rlimit little;
    struct statvfs system;
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(fstatvfs(region.fd, &system), 0);
    const uint64_t room = (uint64_t)system.f_bfree * system.f_frsize;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        IN_CHILD(getrlimit(RLIMIT_FSIZE, &little) == 0);
        little.rlim_cur = MIB;
        IN_CHILD(setrlimit(RLIMIT_FSIZE, &little) == 0);
        IN_CHILD(host_region_grow(&region, room / 2 + memory / 2) == (room > memory ? EFBIG : ENOSPC));
        _exit(0);
    }
    await(child);
    host_region_close(&region);
}

static void test_full_disk(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        char disk[PATH_MAX];
        if (!become_private(disk, sizeof disk)) _exit(77);
        fill_small_disk(disk);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip_because("unit/map: a full disk", "no file system of its own can be had here", SKIP_CURE_ROOT);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static volatile sig_atomic_t alarms_left;

static void on_alarm(int signal)
{
    (void)signal;
    if (--alarms_left == 0) setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

/* Signals come all the time: allocating and locking go on.  There is an end to them, since the kernel begins an
   allocation anew after each, and a machine that is busy might not finish one between two signals. */
static void test_interrupted(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        const struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
        const struct itimerval often = {{0, 300}, {0, 300}};
        struct host_region region;
        uint8_t bytes[5000];
        alarms_left = 200;
        IN_CHILD(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
        for (int i = 0; i < 20; i++) {
            IN_CHILD(host_region_anonymous(&region, 8 * MIB, false) == 0);
            IN_CHILD(host_region_lock(&region, 1, WAIT_NS) == 0);
            IN_CHILD(host_random(bytes, sizeof bytes) == 0);
            host_region_close(&region);
        }
        _exit(0);
    }
    await(child);
}

/* ---- locks ---- */

static bool is_locked(const struct host_region *region, uint64_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
    assert_int_equal(fcntl(region->fd, F_OFD_GETLK, &lock), 0);
    return lock.l_type != F_UNLCK;
}

static void test_locks_of_two_openings(void **state)
{
    (void)state;
    if (!ON_LINUX) skip_because("unit/map: locks of openings", "locks belong to the process", SKIP_CURE_LINUX);
    struct host_region one = opened("locked", HOST_CREATE), two = opened("locked", HOST_JOIN);
    assert_int_equal(host_region_lock(&one, 7, WAIT_NS), 0);
    assert_int_equal(host_region_lock(&two, 7, 0), HOST_HELD);
    assert_int_equal(host_region_lock(&two, 7, 3000000), HOST_HELD);
    assert_int_equal(host_region_lock(&two, 6, 0), 0);
    host_region_unlock(&two, 6);
    assert_true(is_locked(&two, 7));
    assert_false(is_locked(&two, 6));
    assert_false(is_locked(&two, 8));
    struct host_region three = opened("locked", HOST_JOIN);
    host_region_close(&three);
    assert_true(is_locked(&two, 7)); /* an opening that goes takes no other's locks along */
    host_region_unlock(&one, 7);
    assert_false(is_locked(&two, 7));
    assert_int_equal(host_region_lock(&two, 7, WAIT_NS), 0);
    assert_true(is_locked(&one, 7));
    host_region_close(&two);
    assert_false(is_locked(&one, 7));
    host_region_close(&one);
}

static void test_lock_dies_with_its_holder(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    struct host_region region = opened("mortal", HOST_CREATE);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        IN_CHILD(host_region_reopen(&region) == 0 && host_region_lock(&region, 0, WAIT_NS) == 0);
        IN_CHILD(write(ready[1], "!", 1) == 1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(is_locked(&region, 0));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(host_region_lock(&region, 0, WAIT_NS), 0); /* waits until he is dead, and no longer */
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    host_region_close(&region);
    close(ready[0]);
    close(ready[1]);
}

static ino_t file_of(const struct host_region *region)
{
    struct stat file = {0};
    IN_CHILD(fstat(region->fd, &file) == 0);
    return file.st_ino;
}

/* Without reopening, parent and child are one holder.  With it they exclude each other. */
static void check_reopened(struct host_region *region)
{
    assert_int_equal(host_region_lock(region, 3, WAIT_NS), 0);
    const pid_t child = fork();
    if (child == 0) {
        IN_CHILD(!is_locked(region, 3));
        const ino_t file = file_of(region);
        IN_CHILD(host_region_reopen(region) == 0 && file_of(region) == file);
        IN_CHILD(is_locked(region, 3));
        IN_CHILD(host_region_lock(region, 4, WAIT_NS) == 0);
        IN_CHILD(fcntl(region->fd, F_GETFD) == FD_CLOEXEC);
        _exit(0);
    }
    await(child);
    host_region_unlock(region, 3);
    assert_int_equal(host_region_lock(region, 4, WAIT_NS), 0);
}

static void test_reopened_after_fork(void **state)
{
    (void)state;
    if (!ON_LINUX) skip_because("unit/map: locks of openings", "locks belong to the process", SKIP_CURE_LINUX);
    struct host_region region = opened("forked", HOST_CREATE);
    check_reopened(&region);
    host_region_close(&region);
    assert_int_equal(host_region_anonymous(&region, MIB, false), 0);
    check_reopened(&region);
    host_region_close(&region);
}

/* Where /proc is not there the child's locks are its own all the same. */
static void test_locked_after_fork_without_proc(void **state)
{
    (void)state;
    if (!ON_LINUX) skip_because("unit/map: locks of openings", "locks belong to the process", SKIP_CURE_LINUX);
    char empty[] = "/tmp/weir-empty-XXXXXX";
    struct host_region region = opened("apart", HOST_CREATE);
    _Atomic bool *let_go = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct timespec pause = {0, 20000000};
    int ends[2], status = 1;
    char ready;
    assert_true(let_go != MAP_FAILED);
    assert_non_null(mkdtemp(empty));
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(host_region_lock(&region, 3, WAIT_NS), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (chroot(empty) != 0) _exit(77);
        const bool again = host_region_reopen(&region) == 0;
        if (again || write(ends[1], "r", 1) != 1 || host_region_lock(&region, 3, WAIT_NS) != 0) _exit(1);
        _exit(*let_go ? 0 : 2);
    }
    close(ends[1]);
    const bool began = read(ends[0], &ready, 1) == 1;
    close(ends[0]);
    nanosleep(&pause, NULL); /* long enough for a child that need not wait */
    *let_go = true;
    host_region_unlock(&region, 3);
    assert_int_equal(waitpid(child, &status, 0), child);
    host_region_close(&region);
    munmap((void *)let_go, 1);
    rmdir(empty);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip_because("unit/map: without /proc", "this user may not change the root", SKIP_CURE_ROOT);
    }
    assert_true(began);
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child that has its own opening does not keep its parent's locks alive. */
static void test_reopened_lets_go(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    struct host_region region = opened("let go", HOST_CREATE);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(host_region_lock(&region, 5, WAIT_NS), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60); /* it would wait for ever for itself */
        IN_CHILD(host_region_reopen(&region) == 0 && write(ready[1], "!", 1) == 1);
        IN_CHILD(host_region_lock(&region, 5, WAIT_NS) == 0);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    host_region_close(&region);
    await(child);
    close(ready[0]);
    close(ready[1]);
}

/* The thread sanitizer keeps signals back until the call has returned. */
#ifdef __SANITIZE_THREAD__
enum { SIGNALS_WAIT = 1 };
#else
enum { SIGNALS_WAIT = 0 };
#endif

static atomic_uint *alarms;

static void count_alarm(int signal)
{
    (void)signal;
    atomic_fetch_add(alarms, 1);
}

/* Who waits for a lock waits on when a signal comes. */
static void test_interrupted_lock(void **state)
{
    (void)state;
    if (SIGNALS_WAIT) skip_because("unit/map: a signal", "the sanitizer holds signals back", SKIP_CURE_PLAIN);
    struct host_region region = opened("waited for", HOST_CREATE);
    alarms = mmap(NULL, sizeof *alarms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(alarms, MAP_FAILED);
    assert_int_equal(host_region_lock(&region, 5, WAIT_NS), 0);
    const pid_t child = fork();
    if (child == 0) {
        const struct sigaction action = {.sa_handler = count_alarm}; /* without SA_RESTART */
        const struct itimerval often = {{0, 1000}, {0, 1000}};
        IN_CHILD(host_region_reopen(&region) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
        IN_CHILD(setitimer(ITIMER_REAL, &often, NULL) == 0);
        IN_CHILD(host_region_lock(&region, 5, WAIT_NS) == 0);
        _exit(atomic_load(alarms) < 20);
    }
    siginfo_t dead = {0};
    while (atomic_load(alarms) < 20 && dead.si_pid == 0) {
        assert_int_equal(waitid(P_PID, (id_t)child, &dead, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    host_region_close(&region);
    await(child);
    munmap(alarms, sizeof *alarms);
}

/* ---- processes that share a region ---- */

enum { RACERS = 8, ROUNDS = 30, AREA = 64 * 1024 };

static const struct region_shape shape = {REGION_SLOTS, 2, 0, 16, {{1, 2}}, false};

static struct region_times times_now(void)
{
    struct region_times times;
    host_boot(times.boot);
    times.monotonic_ns = host_now_ns() + (uint64_t)host_time_namespace_ns();
    times.unix_ns = host_unix_ns();
    return times;
}

/* As the api does it: whoever has the lock looks, and makes it when nobody has. */
static void open_region(const char *name, struct host_region *region, void **header, bool *made)
{
    bool created;
    struct region_view view;
    *made = false;
    IN_CHILD(host_region_open(region, path_of(name), HOST_JOIN_OR_CREATE, MODE, &created) == 0);
    IN_CHILD(host_region_lock(region, 0, WAIT_NS) == 0 && host_region_measure(region) == 0);
    if (region->size == 0) IN_CHILD(host_region_grow(region, REGION_PAGE + AREA) == 0);
    IN_CHILD(host_region_map(region, 0, REGION_PAGE, header) == 0);
    const struct region_times times = times_now();
    const enum region_answer answer = region_read(*header, region->size, &view);
    IN_CHILD(answer == REGION_EMPTY || answer == REGION_SOUND);
    if (answer == REGION_EMPTY) {
        region_make(*header, &shape, AREA, &times);
        *made = true;
    }
    IN_CHILD(region_time_offset(*header, &times) == 0 || times.monotonic_ns < 1000000000);
    host_region_unlock(region, 0);
    IN_CHILD(region_read(*header, region->size, &view) == REGION_SOUND && view.areas == 1);
}

static void race(int start, int result)
{
    struct host_region region;
    void *header;
    bool made;
    char byte;
    IN_CHILD(read(start, &byte, 1) == 0); /* all at once, when the parent closes it */
    open_region("raced", &region, &header, &made);
    IN_CHILD(write(result, made ? "m" : "j", 1) == 1);
    _exit(0);
}

static void test_exactly_one_makes_it(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int start[2], result[2], makers = 0;
        pid_t children[RACERS];
        char byte;
        assert_int_equal(pipe(start), 0);
        assert_int_equal(pipe(result), 0);
        for (int i = 0; i < RACERS; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                close(start[1]);
                race(start[0], result[1]);
            }
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < RACERS; i++) await(children[i]);
        close(result[1]);
        while (read(result[0], &byte, 1) == 1) makers += byte == 'm';
        assert_int_equal(makers, 1);
        close(result[0]);
        assert_int_equal(unlink(path_of("raced")), 0);
    }
}

/* The child adds areas; the parent, which knows one, sees each of them whole when `newest` counts it. */
static void add_areas(struct host_region *region, void *header)
{
    struct region_view view;
    void *area;
    IN_CHILD(host_region_reopen(region) == 0);
    for (unsigned areas = 2; areas <= REGION_AREAS_MAX; areas++) {
        IN_CHILD(host_region_lock(region, 0, WAIT_NS) == 0 && host_region_measure(region) == 0);
        IN_CHILD(region_read(header, region->size, &view) == REGION_SOUND);
        const uint64_t end = region_end(&view);
        IN_CHILD(host_region_grow(region, end + areas * AREA) == 0);
        IN_CHILD(host_region_map(region, end, areas * AREA, &area) == 0);
        memset(area, (int)areas, areas * AREA);
        IN_CHILD(region_add_area(header, &view, areas * AREA));
        host_region_unlock(region, 0);
    }
    _exit(0);
}

static bool has_died(pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

static void test_growth_is_seen(void **state)
{
    (void)state;
    struct host_region region;
    struct region_view view;
    void *header, *area;
    bool made;
    open_region("growing", &region, &header, &made);
    assert_true(made);
    assert_int_equal(region_read(header, region.size, &view), REGION_SOUND);
    const pid_t child = fork();
    if (child == 0) add_areas(&region, header);
    while (view.areas < REGION_AREAS_MAX) {
        const unsigned known = view.areas;
        const bool died = has_died(child);
        if (atom_load_acquire(region_newest(header)) == known) {
            assert_false(died);
            sched_yield();
            continue;
        }
        assert_int_equal(host_region_measure(&region), 0);
        assert_int_equal(region_read_more(header, region.size, &view), REGION_SOUND);
        for (unsigned i = known; i < view.areas; i++) {
            assert_int_equal(view.area[i].bytes, (i + 1) * AREA);
            assert_int_equal(host_region_map(&region, view.area[i].offset, view.area[i].bytes, &area), 0);
            assert_true(holds_only(area, view.area[i].bytes, (uint8_t)(i + 1)));
            host_region_unmap(area, view.area[i].bytes);
        }
    }
    await(child);
    host_region_unmap(header, REGION_PAGE);
    host_region_close(&region);
}

/* Truncated, empty, of somebody else: said before anything is touched that is not there. */
static void test_damaged_files(void **state)
{
    (void)state;
    struct host_region region;
    struct region_view view;
    void *header;
    bool made;
    open_region("cut", &region, &header, &made);
    host_region_unmap(header, REGION_PAGE);
    for (uint64_t size = REGION_PAGE + AREA; size > 0; size /= 2) {
        assert_int_equal(truncate(path_of("cut"), (off_t)size), 0);
        assert_int_equal(host_region_measure(&region), 0);
        const uint64_t seen = size < REGION_PAGE ? size : REGION_PAGE;
        assert_int_equal(host_region_map(&region, 0, seen, &header), 0);
        const enum region_answer answer = region_read(header, region.size, &view);
        const enum region_answer cut = size < 8 ? REGION_FOREIGN : REGION_DAMAGED;
        assert_int_equal(answer, size == REGION_PAGE + AREA ? REGION_SOUND : cut);
        host_region_unmap(header, seen);
    }
    host_region_close(&region);
    write_file("text", "10/s burst=20\n", 0600);
    region = opened("text", HOST_JOIN);
    assert_int_equal(host_region_map(&region, 0, REGION_PAGE, &header), ENXIO);
    assert_int_equal(host_region_map(&region, 0, region.size, &header), 0);
    assert_int_equal(region_read(header, region.size, &view), REGION_FOREIGN);
    host_region_unmap(header, region.size);
    host_region_close(&region);
}

/* ---- time that many keep ---- */

enum { KEEPERS = 3, KEEPS = 20000 };

struct keeper {
    pthread_t thread;
    void *header;
    uint64_t first;
};

static const uint64_t UNIX_AHEAD = UINT64_C(1700000000000000000), KEPT_FROM = UINT64_C(1000000000000);

/* All pairs lie on one line. */
static struct region_times times_on_line(uint64_t monotonic_ns)
{
    struct region_times times = {{1}, monotonic_ns, monotonic_ns + UNIX_AHEAD};
    return times;
}

static void *keep_often(void *argument)
{
    const struct keeper *keeper = argument;
    for (uint64_t i = 0; i < KEEPS; i++) {
        const struct region_times times = times_on_line(KEPT_FROM + keeper->first + i * KEEPERS);
        region_keep_time(keeper->header, &times);
    }
    return NULL;
}

/* In another boot, whichever pair was the latest: it adds up to the same, unless it was torn. */
static void check_kept(const struct atom *header)
{
    struct atom copy[REGION_PAGE / sizeof(struct atom)];
    struct region_times next = {{2}, 0, UNIX_AHEAD + 2 * KEPT_FROM};
    for (size_t i = 0; i < REGION_PAGE / sizeof(struct atom); i++) atom_store(&copy[i], atom_load(&header[i]));
    assert_int_equal(region_time_offset(copy, &next), 2 * KEPT_FROM);
    next.unix_ns = 0;
    assert_in_range(region_time_offset(copy, &next), KEPT_FROM, 2 * KEPT_FROM);
}

static void test_many_keep_time(void **state)
{
    (void)state;
    struct keeper keepers[KEEPERS];
    struct host_region region;
    void *header;
    assert_int_equal(host_region_anonymous(&region, REGION_PAGE + AREA, true), 0);
    assert_int_equal(host_region_map(&region, 0, REGION_PAGE, &header), 0);
    const struct region_times first = times_on_line(KEPT_FROM);
    region_make(header, &shape, AREA, &first);
    for (unsigned i = 0; i < KEEPERS; i++) {
        keepers[i] = (struct keeper){.header = header, .first = i};
        assert_int_equal(pthread_create(&keepers[i].thread, NULL, keep_often, &keepers[i]), 0);
    }
    for (int i = 0; i < 2000; i++) check_kept(header);
    for (unsigned i = 0; i < KEEPERS; i++) pthread_join(keepers[i].thread, NULL);
    check_kept(header);
    host_region_unmap(header, REGION_PAGE);
}

/* ---- what the system says ---- */

static void test_random(void **state)
{
    (void)state;
    uint8_t one[300] = {0}, two[300] = {0};
    assert_int_equal(host_random(one, sizeof one - 1), 0);
    assert_int_equal(host_random(two, sizeof two - 1), 0);
    assert_memory_not_equal(one, two, sizeof one);
    assert_false(holds_only(one + 280, 19, one[280]));
    assert_int_equal(one[299], 0);
    assert_int_equal(host_random(one, 0), 0);
}

static void test_boot(void **state)
{
    (void)state;
    uint8_t boot[17], again[16];
    char text[64] = "", expected[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    memset(boot, 0xaa, sizeof boot);
    host_boot(boot);
    host_boot(again);
    assert_memory_equal(boot, again, sizeof again);
    assert_int_equal(boot[16], 0xaa);
    if (file == NULL) {
        assert_true(holds_only(boot, 16, 0));
        return;
    }
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    for (size_t i = 0, digits = 0; i < 16; i++) {
        digits += (size_t)snprintf(expected + digits, sizeof expected - digits, "%02x", boot[i]);
        if (i == 3 || i == 5 || i == 7 || i == 9) expected[digits++] = '-';
    }
    assert_memory_equal(text, expected, 36);
}

static void set_offset(const char *line)
{
    const int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) _exit(77);
    close(fd);
}

/* machine_ns is about what the machine's clock says now. */
static void check_namespace(int64_t add_ns, uint64_t machine_ns)
{
    IN_CHILD(host_time_namespace_ns() == add_ns);
    const uint64_t here_ns = host_now_ns() + (uint64_t)add_ns;
    IN_CHILD(here_ns >= machine_ns && here_ns - machine_ns < UINT64_C(600) * 1000000000);
}

static void live_in_namespace(const char *line, int64_t add_ns)
{
    const int64_t own_ns = host_time_namespace_ns();
    const uint64_t machine_ns = host_now_ns() + (uint64_t)own_ns;
    if (unshare(CLONE_NEWTIME) != 0) _exit(77);
    set_offset(line);
    if (own_ns == 0) check_namespace(0, machine_ns); /* it is for the children; this process has not moved */
    const pid_t child = fork();
    if (child == 0) {
        check_namespace(add_ns, machine_ns);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_FAILED);
}

static void test_time_namespace(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t add_ns;
    } cases[] = {
        {"monotonic 1000 5\nboottime 77 0\n", INT64_C(-1000000000005)},
        {"monotonic 864000 0\n", INT64_C(-864000000000000)},
        {"monotonic -1 999999999\n", INT64_C(1)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pid_t child = fork();
        if (child == 0) live_in_namespace(cases[i].line, cases[i].add_ns);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
            skip_because("unit/map: a namespace", "this user may not make one of time", SKIP_CURE_ROOT);
        }
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_and_create),
        cmocka_unit_test(test_mode_is_exact),
        cmocka_unit_test(test_links_are_refused),
        cmocka_unit_test(test_only_files),
        cmocka_unit_test(test_writable_by_others),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_names_that_change),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_error_texts),
        cmocka_unit_test(test_closed_by_others),
        cmocka_unit_test(test_space_of_a_file),
        cmocka_unit_test(test_space_without_a_name),
        cmocka_unit_test(test_first_descriptor),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_room_of_the_file_system),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_locks_of_two_openings),
        cmocka_unit_test(test_lock_dies_with_its_holder),
        cmocka_unit_test(test_reopened_after_fork),
        cmocka_unit_test(test_locked_after_fork_without_proc),
        cmocka_unit_test(test_reopened_lets_go),
        cmocka_unit_test(test_interrupted_lock),
        cmocka_unit_test(test_exactly_one_makes_it),
        cmocka_unit_test(test_growth_is_seen),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_many_keep_time),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_boot),
        cmocka_unit_test(test_time_namespace),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: MIT
   Addresses to sockets: both of localhost, a system that has no ::1, ports that somebody else has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/net/listen.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- a system that fails as the test says ---- */

static struct {
    int family, why; /* binding an address of this family fails so, */
    int times;       /* so many times; -1: always */
    int asked;       /* how many bindings there were */
} fault;

int __real_bind(int descriptor, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int descriptor, const struct sockaddr *address, socklen_t size);

int __wrap_bind(int descriptor, const struct sockaddr *address, socklen_t size)
{
    fault.asked++;
    if (address->sa_family != fault.family || fault.times == 0) return __real_bind(descriptor, address, size);
    if (fault.times > 0) fault.times--;
    errno = fault.why;
    return -1;
}

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);

int __wrap_socket(int family, int type, int protocol)
{
    if (family != fault.family || fault.why != EAFNOSUPPORT) return __real_socket(family, type, protocol);
    errno = EAFNOSUPPORT;
    return -1;
}

static void fail_so(int family, int why, int times)
{
    fault.family = family, fault.why = why, fault.times = times, fault.asked = 0;
}

/* ---- what is opened ---- */

static struct listener listeners[LISTENERS_MAX];
static unsigned count;
static char problem[LISTEN_PROBLEM_MAX];

static void close_all(void)
{
    while (count > 0) listen_close(&listeners[--count]);
    fail_so(0, 0, 0);
}

static bool opens(const char *address, unsigned workers)
{
    problem[0] = '\0';
    return listen_open(listeners, &count, address, SESSION_RESP, workers, 0, problem);
}

static unsigned port_of(const struct listener *listener)
{
    return (unsigned)strtoul(strrchr(listener->text, ':') + 1, NULL, 10);
}

static int lowest_free(void)
{
    const int descriptor = dup(STDERR_FILENO);
    close(descriptor);
    return descriptor;
}

/* A test that needs ::1 is skipped where the machine has none, which cmocka counts. */
static void need_v6(void)
{
    if (opens("[::1]:0", 1)) {
        close_all();
        return;
    }
    print_message("no ::1 here: ip -6 address add ::1/128 dev lo\n");
    skip();
}

/* Of a port that the system chooses for one of both, the other one may be in use, or have been a minute ago. */
static unsigned free_port(void)
{
    assert_true(opens("localhost:0", 1));
    const unsigned port = port_of(&listeners[0]);
    close_all();
    return port;
}

static void assert_says(const char *words)
{
    if (strstr(problem, words) == NULL) fail_msg("\"%s\" does not say %s", problem, words);
}

static void assert_pair(unsigned from)
{
    char v4[LISTEN_TEXT_MAX], v6[LISTEN_TEXT_MAX];
    assert_int_equal(count, from + 2);
    snprintf(v4, sizeof v4, "127.0.0.1:%u", port_of(&listeners[from]));
    snprintf(v6, sizeof v6, "[::1]:%u", port_of(&listeners[from]));
    assert_string_equal(listeners[from].text, v4);
    assert_string_equal(listeners[from + 1].text, v6);
    for (unsigned i = from; i < count; i++) assert_false(listeners[i].is_public || listeners[i].local);
}

static void localhost_is_both(void **state)
{
    static const char *const texts[] = {"localhost:0", "LocalHost:0", "0"};
    (void)state;
    need_v6();
    for (size_t i = 0; i < LENGTH(texts); i++) {
        assert_true(opens(texts[i], 2));
        assert_pair(0);
        assert_int_equal(listeners[0].count, listeners[1].count);
        close_all();
    }
    assert_true(opens("127.0.0.1:0", 1));
    assert_true(opens("[::1]:0", 1));
    assert_true(opens("localhost:0", 1));
    assert_pair(2);
    close_all();
}

static void without_v6(void **state)
{
    static const int whys[] = {EADDRNOTAVAIL, EAFNOSUPPORT, EPROTONOSUPPORT};
    (void)state;
    for (size_t i = 0; i < LENGTH(whys); i++) {
        const int before = lowest_free();
        fail_so(AF_INET6, whys[i], -1);
        assert_true(opens("localhost:0", 1));
        assert_int_equal(count, 1);
        assert_memory_equal(listeners[0].text, "127.0.0.1:", 10);
        assert_false(opens("[::1]:0", 1)); /* who names it wants it */
        assert_says("cannot listen on [::1]:0: ");
        assert_true(opens(":0", 1)); /* all that there are */
        assert_int_equal(count, 2);
        assert_memory_equal(listeners[1].text, "0.0.0.0:", 8);
        assert_true(listeners[1].is_public);
        close_all();
        assert_int_equal(lowest_free(), before);
    }
}

static void failures_are_told(void **state)
{
    char address[LISTEN_TEXT_MAX], words[LISTEN_TEXT_MAX + 64];
    (void)state;
    const int before = lowest_free();
    const unsigned port = free_port();
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    assert_true(opens(address, 1));
    snprintf(address, sizeof address, "localhost:%u", port);
    snprintf(words, sizeof words, "cannot listen on 127.0.0.1:%u: address in use", port);
    assert_false(opens(address, 1));
    assert_says(words);
    assert_int_equal(count, 1);
    close_all();
    fail_so(AF_INET6, EADDRINUSE, -1);
    snprintf(words, sizeof words, "cannot listen on [::1]:%u: address in use", port);
    assert_false(opens(address, 1));
    assert_says(words);
    fail_so(AF_INET6, EACCES, -1);
    snprintf(words, sizeof words, "cannot listen on [::1]:%u: permission denied", port);
    assert_false(opens(address, 1));
    assert_says(words);
    fail_so(AF_INET, EADDRNOTAVAIL, -1); /* 127.0.0.1 has to be there */
    assert_false(opens(address, 1));
    assert_says("cannot listen on 127.0.0.1:");
    assert_int_equal(count, 0);
    assert_int_equal(lowest_free(), before);
    fail_so(0, 0, 0);
    assert_true(opens(address, 1)); /* and nothing has kept the port */
    close_all();
}

static void real_v6_taken(void **state)
{
    char address[LISTEN_TEXT_MAX], words[LISTEN_TEXT_MAX + 64];
    (void)state;
    need_v6();
    const unsigned port = free_port();
    snprintf(address, sizeof address, "[::1]:%u", port);
    assert_true(opens(address, 2));
    snprintf(address, sizeof address, "localhost:%u", port);
    snprintf(words, sizeof words, "cannot listen on %s: address in use", listeners[0].text);
    assert_false(opens(address, 2));
    assert_says(words);
    assert_int_equal(count, 1);
    close_all();
}

static void a_port_that_both_have(void **state)
{
    (void)state;
    need_v6();
    const int before = lowest_free();
    fail_so(AF_INET6, EADDRINUSE, 3);
    assert_true(opens("localhost:0", 1));
    assert_int_equal(fault.asked, 8); /* four times both */
    assert_pair(0);
    close_all();
    fail_so(AF_INET6, EADDRINUSE, -1); /* it ends */
    assert_false(opens("localhost:0", 1));
    assert_says("cannot listen on [::1]:");
    assert_says("address in use");
    assert_int_equal(lowest_free(), before);
    close_all();
}

/* What systemd has handed over is not opened again, one by one. */
static void handed_over(void **state)
{
    (void)state;
    need_v6();
    assert_true(opens("localhost:0", 1));
    char address[LISTEN_TEXT_MAX];
    snprintf(address, sizeof address, "localhost:%u", port_of(&listeners[0]));
    listeners[0].inherited = listeners[1].inherited = true;
    assert_true(opens(address, 1));
    assert_int_equal(count, 2);
    listen_close(&listeners[--count]);
    assert_true(opens(address, 1)); /* the other one */
    assert_pair(0);
    listeners[1].inherited = true;
    assert_false(listen_open(listeners, &count, address, SESSION_HTTP, 1, 0, problem));
    assert_says("address in use");
    close_all();
}

static void texts(void **state)
{
    static const char *const wrong[] = {"[localhost]:0", "localhosts:0", "xlocalhost:0", "localhost",
                                        "localhost:",    "localhost:x",  "::1:0",        "weir.example:0"};
    static const char *const own[] = {"localhost:9347", "9347", "127.0.0.1:9347", "127.9.9.9:9347", "[::1]:9347"};
    static const char *const open[] = {":9347", "0.0.0.0:9347", "[::]:9347", "192.0.2.1:9347", "[2001:db8::1]:9347"};
    bool is_public;
    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_false(opens(wrong[i], 1));
        assert_says("expected an address; for example localhost:9347");
        assert_false(listen_look(wrong[i], &is_public, problem));
    }
    for (size_t i = 0; i < LENGTH(own); i++) {
        assert_true(listen_look(own[i], &is_public, problem));
        assert_false(is_public);
    }
    for (size_t i = 0; i < LENGTH(open); i++) {
        assert_true(listen_look(open[i], &is_public, problem));
        assert_true(is_public);
    }
}

static void too_many(void **state)
{
    (void)state;
    while (count + 1 < LISTENERS_MAX) assert_true(opens("127.0.0.1:0", 1));
    assert_false(opens("localhost:0", 1));
    assert_says("too many addresses");
    assert_int_equal(count, LISTENERS_MAX - 1);
    assert_true(opens("127.0.0.1:0", 1));
    assert_false(opens("unix:/tmp/weir-listen-test-not-made", 1));
    assert_says("too many addresses");
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(localhost_is_both),
        cmocka_unit_test(without_v6),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(real_v6_taken),
        cmocka_unit_test(a_port_that_both_have),
        cmocka_unit_test(handed_over),
        cmocka_unit_test(texts),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

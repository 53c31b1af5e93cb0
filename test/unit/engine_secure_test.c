/* SPDX-License-Identifier: MIT
   What is said of a connection by TLS that ends before the server has said anything.

   No certificate is needed. */
#include "redis/client/link/secure.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/skip.h"

enum { OURS, SERVERS };

static void *tls;
static struct secure *secure;
static int ends[2];
static char bytes[64], why[SECURE_WHY_MAX];

static void begin(void)
{
    static const struct engine_url url;
    weir_error error;
    const int failed = secure_open(&tls, &url, &error);
    if (failed == WEIR_EUNSUPPORTED)
        skip_because("unit/engine_secure", "libweir-redis is built without TLS", "tools/deps build");
    assert_int_equal(failed, 0);
    secure = secure_begin(tls, "localhost");
    assert_non_null(secure);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    memset(why, 0, sizeof why);
}

static void end(void)
{
    secure_end(secure);
    secure_close(tls);
    close(ends[OURS]);
    if (ends[SERVERS] >= 0) close(ends[SERVERS]);
}

/* The hello has gone, and there is nothing to read: it waits. */
static void hello(void)
{
    assert_int_equal(secure_write(secure, ends[OURS], "x", 1, why), 0);
    assert_int_equal(secure_read(secure, ends[OURS], bytes, sizeof bytes, why), 0);
    assert_false(secure_is_open(secure));
    assert_string_equal(why, "");
}

/* Whatever was the last to fail. */
static void the_server_closes(void **state)
{
    static const int before[] = {0, EAGAIN, EINTR, EPIPE};
    (void)state;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        begin();
        hello();
        while (recv(ends[SERVERS], bytes, sizeof bytes, 0) > 0) continue; /* what is unread would be a reset */
        close(ends[SERVERS]);
        ends[SERVERS] = -1;
        errno = before[i];
        assert_int_equal(secure_read(secure, ends[OURS], bytes, sizeof bytes, why), -1);
        assert_string_equal(why, "TLS failed: the server closed the connection");
        end();
    }
}

/* TLS has nothing to say of it. */
static void the_server_does_not_listen(void **state)
{
    (void)state;
    begin();
    assert_int_equal(shutdown(ends[SERVERS], SHUT_RD), 0);
    assert_int_equal(secure_write(secure, ends[OURS], "x", 1, why), -1);
    assert_string_equal(why, "Broken pipe");
    end();
}

/* Nor of one that has said goodbye. */
static void the_server_has_said_that_it_closes(void **state)
{
    static const char close_notify[] = {21, 3, 3, 0, 2, 1, 0};
    (void)state;
    begin();
    assert_int_equal(send(ends[SERVERS], close_notify, sizeof close_notify, 0), sizeof close_notify);
    assert_int_equal(shutdown(ends[SERVERS], SHUT_RD), 0);
    assert_int_equal(secure_write(secure, ends[OURS], "x", 1, why), -1);
    assert_string_equal(why, "Broken pipe");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_server_closes),
                                       cmocka_unit_test(the_server_does_not_listen),
                                       cmocka_unit_test(the_server_has_said_that_it_closes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

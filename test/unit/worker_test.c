/* SPDX-License-Identifier: MIT
   One loop of the service with real clients: what is held of them is counted, and given back.

   Nothing is asserted of times. */
#include "serve/worker.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/clock.h"

enum { PART = 2 * CONN_KEPT_FREE, TURNS = 20, CLIENTS = 3 };

static struct tables *tables;
static struct service service;
static struct worker_shared shared = {.service = &service, .connections_max = 16, .idle_s = 60};
static struct worker worker;
static struct listener listeners[LISTENERS_MAX];
static unsigned listener_count;

static uint64_t clock_ns(void *unused)
{
    (void)unused;
    return host_now_ns();
}

static void begin(void)
{
    char problem[LISTEN_PROBLEM_MAX];
    assert_int_equal(tables_open(&tables, &(struct tables_options){.keys_max = 1000}, NULL), 0);
    service_open(&service, tables, clock_ns, NULL);
    assert_true(listen_open(listeners, &listener_count, "127.0.0.1:0", SESSION_RESP, 1, 0, problem));
    assert_int_equal(worker_open(&worker, &shared, 0, listeners, listener_count), 0);
    assert_int_equal(worker_start(&worker), 0);
}

static void end(void)
{
    worker_wish(&worker, WORKER_STOP);
    worker_join(&worker);
    worker_close(&worker);
    while (listener_count > 0) listen_close(&listeners[--listener_count]);
    service_close(&service);
    tables_close(tables);
}

static int client(void)
{
    const struct timeval minute = {.tv_sec = 60};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)strtoul(strrchr(listeners[0].text, ':') + 1, NULL, 10)),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute), 0);
    assert_int_equal(connect(descriptor, (const struct sockaddr *)&to, sizeof to), 0);
    return descriptor;
}

static void say(int descriptor, const char *text)
{
    assert_int_equal(send(descriptor, text, strlen(text), 0), strlen(text));
}

static void hear(int descriptor, const char *text)
{
    char heard[64] = "";
    assert_int_equal(recv(descriptor, heard, strlen(text), MSG_WAITALL), strlen(text));
    assert_string_equal(heard, text);
}

/* Of requests that come in two batches, and of a client that goes in the middle of one. */
static void what_is_held_is_given_back(void **state)
{
    (void)state;
    static char part[PART];
    begin();
    memset(part, 'x', sizeof part - 1);
    for (int i = 0; i < CLIENTS; i++) {
        const int descriptor = client();
        for (int batch = 0; batch < TURNS; batch++) {
            say(descriptor, "PING\r\n*1\r\n$4\r\nPI");
            hear(descriptor, "+PONG\r\n");
            say(descriptor, "NG\r\n");
            hear(descriptor, "+PONG\r\n");
        }
        say(descriptor, "PING\r\n*2\r\n$4\r\nPING\r\n$100000\r\n");
        say(descriptor, part);
        hear(descriptor, "+PONG\r\n");
        close(descriptor);
    }
    end();
    assert_int_equal(worker.held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_held_is_given_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

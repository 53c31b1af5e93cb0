/* SPDX-License-Identifier: MIT
   One loop of the service with real clients: what is held of them is counted, and given back; those that are ready
   together are one batch.

   Nothing is asserted of times. */
#include "serve/worker.h"

#include <arpa/inet.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/clock.h"

enum { PART = 2 * CONN_KEPT_FREE, TURNS = 20, CLIENTS = 3, MINUTE_S = 60 };

static struct tables *tables;
static struct service service;
static struct worker_shared shared = {.service = &service, .connections_max = 16, .idle_s = 60};
static struct worker worker;
static struct listener listeners[LISTENERS_MAX];
static unsigned listener_count;

static atomic_uint clock_reads;
static atomic_bool clock_stops;
static sem_t stopped, let_go;

/* Where it stops, its worker is in the middle of a batch. */
static uint64_t clock_ns(void *unused)
{
    (void)unused;
    atomic_fetch_add(&clock_reads, 1);
    if (atomic_exchange(&clock_stops, false)) {
        sem_post(&stopped);
        sem_wait(&let_go);
    }
    return host_now_ns();
}

static void begin(void)
{
    char problem[LISTEN_PROBLEM_MAX];
    memset(&worker, 0, sizeof worker);
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
    const struct timeval minute = {.tv_sec = MINUTE_S};
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
    assert_int_equal(send(descriptor, text, strlen(text), MSG_NOSIGNAL), strlen(text));
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

/* Until the other end's system has all. */
static void await_arrival(int descriptor)
{
    int under_way = 1;
    while (under_way != 0) {
        assert_int_equal(ioctl(descriptor, TIOCOUTQ, &under_way), 0);
        sched_yield();
    }
}

/* What comes while the loop is busy with one client is one batch, whose time is read once. */
static void those_ready_together_are_one_batch(void **state)
{
    (void)state;
    int descriptor[CLIENTS];
    const struct timespec until = {.tv_sec = time(NULL) + MINUTE_S};
    assert_int_equal(sem_init(&stopped, 0, 0), 0);
    assert_int_equal(sem_init(&let_go, 0, 0), 0);
    begin();
    for (int i = 0; i < CLIENTS; i++) {
        descriptor[i] = client();
        say(descriptor[i], "PING\r\n");
        hear(descriptor[i], "+PONG\r\n");
    }
    atomic_store(&clock_stops, true);
    say(descriptor[0], "PING\r\n");
    assert_int_equal(sem_timedwait(&stopped, &until), 0);
    for (int i = 1; i < CLIENTS; i++) {
        say(descriptor[i], "PING\r\n");
        await_arrival(descriptor[i]);
    }
    atomic_store(&clock_reads, 0);
    sem_post(&let_go);
    for (int i = 0; i < CLIENTS; i++) {
        hear(descriptor[i], "+PONG\r\n");
        close(descriptor[i]);
    }
    end();
    assert_int_equal(atomic_load(&clock_reads), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_is_given_back),
        cmocka_unit_test(those_ready_together_are_one_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

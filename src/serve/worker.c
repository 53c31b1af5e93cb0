/* SPDX-License-Identifier: MIT
   worker.c - one loop of the service.

       poll: accept / read -> arena -> handle_bytes ... check: turn_end -> conn_settle for those that are not done

   May touch: its loop, its connections.  Promises: bytes stay where they are until the turn has ended; a connection
   that is closed is gone only after that.  Leaves to others: connections (conn.c), decisions (turn.c), when to stop
   (server.c). */
#include "serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "serve/conn.h"

enum { TICK_MS = 1000, DRAIN_TICK_MS = 100, DRAIN_TICKS_KIND = 20, DRAIN_TICKS_MAX = 40, ARENA_ALIGN = 16 };

/* ---- a turn ---- */

static void settle_touched(struct worker *worker)
{
    for (struct conn *conn; (conn = worker->touched) != NULL;) {
        worker->touched = conn->touched_next;
        conn->touched = false;
        conn_settle(conn);
    }
}

static void end_turn(struct worker *worker)
{
    if (worker->in_turn) turn_end(&worker->turn);
    worker->in_turn = false;
    settle_touched(worker);
    worker->arena_used = 0;
}

char *worker_room(struct worker *worker, size_t size)
{
    if (WORKER_ARENA - worker->arena_used < size) end_turn(worker);
    return worker->arena + worker->arena_used;
}

size_t worker_bytes(struct worker *worker, struct session *session, struct slice bytes)
{
    if (!worker->in_turn) turn_begin(&worker->turn);
    worker->in_turn = true;
    worker->arena_used += (bytes.size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (worker->arena_used > WORKER_ARENA) worker->arena_used = WORKER_ARENA;
    return handle_bytes(&worker->turn, session, bytes);
}

void worker_touch(struct worker *worker, struct conn *conn)
{
    if (conn->touched) return;
    conn->touched = true;
    conn->touched_next = worker->touched;
    worker->touched = conn;
}

/* ---- stopping ---- */

static void close_any(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void stop(struct worker *worker)
{
    accept_stop(worker);
    while (worker->first != NULL) conn_close(worker->first);
    close_any((uv_handle_t *)&worker->tick);
    close_any((uv_handle_t *)&worker->wake);
    close_any((uv_handle_t *)&worker->after_poll);
}

static void begin_to_drain(struct worker *worker)
{
    worker->draining = true;
    accept_stop(worker);
    uv_timer_set_repeat(&worker->tick, DRAIN_TICK_MS);
    uv_timer_again(&worker->tick);
}

/* Who was silent for a while has got all answers.  Who goes on asking is served for two seconds more. */
static void drain(struct worker *worker)
{
    worker->drain_ticks++;
    for (struct conn *conn = worker->first, *after; conn != NULL; conn = after) {
        after = conn->after;
        if (!conn->spoke || worker->drain_ticks > DRAIN_TICKS_KIND) conn_finish(conn);
        else conn->spoke = false;
    }
    if (worker->first == NULL || worker->drain_ticks > DRAIN_TICKS_MAX) stop(worker);
}

/* ---- what the loop calls ---- */

static void after_poll(uv_check_t *check)
{
    struct worker *worker = check->data;
    end_turn(worker);
    const uint64_t wish = atom_load_acquire(&worker->wish);
    if (wish == WORKER_STOP) stop(worker);
    else if (wish == WORKER_DRAIN && !worker->draining) begin_to_drain(worker);
}

static void tell(struct worker *worker)
{
    const struct worker_told told = worker->told;
    char text[sizeof((struct service_event *)0)->text];
    if (told.slow_senders + told.slow_readers + told.too_many + told.no_descriptors == 0) return;
    worker->told = (struct worker_told){0};
    snprintf(text, sizeof text,
             "clients cut: %u sent no whole request within %d s, %u did not take their answers; refused: %u beyond "
             "connections, %u without a descriptor",
             told.slow_senders, CONN_REQUEST_S, told.slow_readers, told.too_many, told.no_descriptors);
    service_say(worker->shared->service, text);
}

static void on_tick(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    worker->second = uv_now(&worker->loop) / TICK_MS;
    for (struct deadline *due; (due = deadlines_next(&worker->deadlines, worker->second)) != NULL;) {
        conn_due((struct conn *)((char *)due - offsetof(struct conn, deadline)));
    }
    accept_again(worker);
    if (!worker->in_turn) decide_tick(&worker->turn);
    tell(worker);
    if (worker->draining) drain(worker);
}

static void on_wake(uv_async_t *wake)
{
    struct worker *worker = wake->data;
    atom_store_release(&worker->beat, atom_load(&worker->beat) + 1);
}

static void close_handle(uv_handle_t *handle, void *nothing)
{
    (void)nothing;
    close_any(handle);
}

/* ---- the thread ---- */

static void run(void *context)
{
    struct worker *worker = context;
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    atom_store_release(&worker->ended, 1);
    if (worker->shared->ended != NULL) uv_async_send(worker->shared->ended);
}

static int open_handles(struct worker *worker)
{
    worker->after_poll.data = worker->tick.data = worker->wake.data = worker;
    uv_check_init(&worker->loop, &worker->after_poll);
    uv_timer_init(&worker->loop, &worker->tick);
    uv_check_start(&worker->after_poll, after_poll);
    uv_timer_start(&worker->tick, on_tick, TICK_MS, TICK_MS);
    return -uv_async_init(&worker->loop, &worker->wake, on_wake);
}

static int open_listeners(struct worker *worker, const struct listener *listeners, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const int why = accept_open(worker, &worker->listener[i], &listeners[i]);
        if (why != 0) return why;
        worker->listener_count++;
    }
    return 0;
}

int worker_open(struct worker *worker, struct worker_shared *shared, unsigned number, const struct listener *listeners,
                unsigned listener_count)
{
    worker->shared = shared;
    worker->number = number;
    worker->stats = service_worker(shared->service);
    worker->arena = malloc(WORKER_ARENA);
    if (worker->stats == NULL || worker->arena == NULL) return ENOMEM;
    if (turn_open(&worker->turn, shared->service, worker->stats, conn_send, NULL) != 0) return ENOMEM;
    worker->spare_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int why = uv_loop_init(&worker->loop);
    if (why != 0) return -why;
    worker->loop.data = worker; /* so that worker_close knows */
    worker->second = uv_now(&worker->loop) / TICK_MS;
    deadlines_open(&worker->deadlines, worker->second);
    const int problem = open_handles(worker);
    return problem != 0 ? problem : open_listeners(worker, listeners, listener_count);
}

int worker_start(struct worker *worker)
{
    const int why = uv_thread_create(&worker->thread, run, worker);
    worker->started = why == 0;
    return -why;
}

void worker_wish(struct worker *worker, enum worker_wish wish)
{
    atom_store_release(&worker->wish, wish);
    worker_wake(worker);
}

void worker_wake(struct worker *worker)
{
    if (worker->started) uv_async_send(&worker->wake);
}

void worker_join(struct worker *worker)
{
    if (worker->started) uv_thread_join(&worker->thread);
    worker->started = false;
}

void worker_close(struct worker *worker)
{
    if (worker->loop.data != NULL) {
        uv_walk(&worker->loop, close_handle, NULL);
        uv_run(&worker->loop, UV_RUN_DEFAULT);
        uv_loop_close(&worker->loop);
    }
    if (worker->turn.service != NULL) turn_close(&worker->turn);
    if (worker->spare_descriptor > 0) close(worker->spare_descriptor);
    free(worker->arena);
}

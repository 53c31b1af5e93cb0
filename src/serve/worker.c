/* SPDX-License-Identifier: MIT
   One loop of the service.

       poll: accept / read -> arena ... handle_bytes ... check: batch_end -> conn_settle for those that are not done
       engine's sockets or time -> decide_go_on: answers of those that were parked -> conn_resume

   Bytes stay where they are until the batch has ended; a connection that is closed is gone only after that. */
#include "serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/num.h"
#include "serve/net/conn.h"
#include "serve/park.h"

enum { TICK_MS = 1000, DRAIN_TICK_MS = 25, DRAIN_TICKS_KIND = 80, DRAIN_TICKS_MAX = 160, ARENA_ALIGN = 16 };
enum { ENGINE_SOCKETS = 256, NS_PER_MS = 1000000, HEARD_BYTES = 16 << 10 };

/* ---- a batch ---- */

static void settle_touched(struct worker *worker)
{
    for (struct conn *conn; (conn = worker->touched) != NULL;) {
        worker->touched = conn->touched_next;
        conn->touched = false;
        conn_settle(conn);
    }
}

static void begin_batch(struct worker *worker)
{
    if (!worker->in_batch) batch_begin(&worker->batch);
    worker->in_batch = true;
}

static void handle_heard(struct worker *worker)
{
    for (unsigned i = 0; i < worker->heard_count; i++) conn_hear(worker->heard[i]);
    worker->heard_count = 0;
    worker->heard_size = 0;
}

static void end_batch(struct worker *worker)
{
    handle_heard(worker);
    if (worker->in_batch) batch_end(&worker->batch);
    worker->in_batch = false;
    settle_touched(worker);
    worker->arena_used = 0;
}

char *worker_room(struct worker *worker, size_t size)
{
    if (WORKER_ARENA - worker->arena_used < size) end_batch(worker);
    return worker->arena + worker->arena_used;
}

void worker_keep(struct worker *worker, size_t size)
{
    worker->arena_used += (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (worker->arena_used > WORKER_ARENA) worker->arena_used = WORKER_ARENA;
}

/* What reads, what handles and what writes answers each find their own code in the cache, however little each does for
   one connection. */
void worker_hear(struct worker *worker, struct conn *conn)
{
    begin_batch(worker);
    worker->heard[worker->heard_count++] = conn;
    worker->heard_size += conn->unread.size;
    if (worker->heard_count == WORKER_HEARD || worker->heard_size >= HEARD_BYTES) handle_heard(worker);
}

size_t worker_bytes(struct worker *worker, struct session *session, struct slice bytes)
{
    begin_batch(worker);
    return handle_bytes(&worker->batch, session, bytes);
}

void worker_touch(struct worker *worker, struct conn *conn)
{
    if (conn->touched) return;
    conn->touched = true;
    conn->touched_next = worker->touched;
    worker->touched = conn;
}

/* ---- sessions that wait for others ---- */

bool worker_is_spent(const struct worker *worker)
{
    return worker->batch.work >= worker->round_work;
}

void worker_wait(struct worker *worker, struct conn *conn)
{
    conn->session.waits = conn->queued = true;
    conn->waiting_next = NULL;
    conn->waiting_before = worker->waiting_last;
    if (worker->waiting == NULL) worker->waiting = conn;
    else worker->waiting_last->waiting_next = conn;
    worker->waiting_last = conn;
    worker->waiting_count++;
}

void worker_wait_no_more(struct worker *worker, struct conn *conn)
{
    if (!conn->queued) return;
    conn->queued = false;
    if (conn->waiting_before != NULL) conn->waiting_before->waiting_next = conn->waiting_next;
    else worker->waiting = conn->waiting_next;
    if (conn->waiting_next != NULL) conn->waiting_next->waiting_before = conn->waiting_before;
    else worker->waiting_last = conn->waiting_before;
    worker->waiting_count--;
}

/* Each has one share, the smaller the more they are, until the round is long enough. */
static void serve_waiting(struct worker *worker)
{
    const struct conn *last = worker->waiting_last;
    const uint64_t enough = worker->batch.work + WORKER_WORK;
    worker->batch.work_most = least(CONN_WORK, WORKER_WORK / most(worker->waiting_count, 1) + 1);
    worker->round_work = UINT64_MAX; /* what they have now is not put off again */
    for (struct conn *conn = NULL; conn != last && worker->waiting != NULL && worker->batch.work < enough;) {
        conn = worker->waiting;
        worker_wait_no_more(worker, conn);
        if (conn->pending != NULL) continue; /* first its answers are taken: see write_pending */
        conn->session.waits = false;
        begin_batch(worker);
        conn_resume(conn);
        end_batch(worker);
    }
}

/* Those that are ready from now on share the next one. */
static void begin_round(struct worker *worker)
{
    worker->round_work = worker->batch.work + WORKER_WORK;
    worker->batch.work_most = least(CONN_WORK, WORKER_WORK / most(worker->waiting_count, 1) + 1);
}

static void do_nothing(uv_idle_t *idle)
{
    (void)idle;
}

static void sleep_if_nobody_waits(struct worker *worker)
{
    if (worker->waiting != NULL) uv_idle_start(&worker->again, do_nothing);
    else uv_idle_stop(&worker->again);
}

/* ---- the engine's sockets ---- */

/* Once for each change: what has come is read until there is no more (EPOLLET).  A socket that was closed has left. */
static void watch_sockets(struct worker *worker, const weir_engine_watch *watch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLET};
        event.events |= (watch[i].reads ? (uint32_t)EPOLLIN : 0) | (watch[i].writes ? (uint32_t)EPOLLOUT : 0);
        if (epoll_ctl(worker->engine_epoll, EPOLL_CTL_MOD, watch[i].descriptor, &event) == 0) continue;
        epoll_ctl(worker->engine_epoll, EPOLL_CTL_ADD, watch[i].descriptor, &event);
    }
}

static void on_engine_time(uv_timer_t *timer);

static void watch_engine(struct worker *worker)
{
    weir_engine_watch watch[ENGINE_SOCKETS];
    size_t count;
    if (worker->batch.parked == NULL) return;
    const uint64_t wait_ns = decide_events(&worker->batch, watch, ENGINE_SOCKETS, &count);
    watch_sockets(worker, watch, count < ENGINE_SOCKETS ? count : ENGINE_SOCKETS);
    /* More sockets than are watched are looked at often. */
    const uint64_t wait_ms = count > ENGINE_SOCKETS ? 1 : wait_ns / NS_PER_MS + 1;
    uv_update_time(&worker->loop);
    uv_timer_start(&worker->engine_timer, on_engine_time, least(wait_ms, TICK_MS), 0);
}

static void resume(struct worker *worker)
{
    for (struct conn *conn; (conn = worker->resumed) != NULL;) {
        worker->resumed = conn->resumed_next;
        conn->resumed = false;
        conn_resume(conn);
    }
}

/* What is answered may let questions be asked that are answered at once, too. */
static void go_on(struct worker *worker)
{
    end_batch(worker);
    while (park_is_ready(&worker->batch) || worker->resumed != NULL) {
        begin_batch(worker);
        park_answer(&worker->batch);
        resume(worker);
        end_batch(worker);
    }
    watch_engine(worker);
}

static void on_engine_time(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    begin_batch(worker);
    decide_go_on(&worker->batch);
    go_on(worker);
}

static void on_engine(uv_poll_t *poll, int status, int events)
{
    struct worker *worker = poll->data;
    struct epoll_event event[ENGINE_SOCKETS];
    (void)status;
    (void)events;
    if (epoll_wait(worker->engine_epoll, event, ENGINE_SOCKETS, 0) <= 0 || worker->batch.parked == NULL) return;
    begin_batch(worker);
    decide_go_on(&worker->batch);
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
    close_any((uv_handle_t *)&worker->again);
    close_any((uv_handle_t *)&worker->engine_timer);
    close_any((uv_handle_t *)&worker->engine_poll);
}

static void begin_to_drain(struct worker *worker)
{
    worker->draining = true;
    accept_stop(worker);
    for (struct conn *conn = worker->first; conn != NULL; conn = conn->after) conn->spoke = false;
    uv_timer_set_repeat(&worker->tick, DRAIN_TICK_MS);
    uv_timer_again(&worker->tick);
}

/* A client that was silent for a while has got all answers, and need not close first.  One that goes on asking is
   served for two seconds more. */
static void drain(struct worker *worker)
{
    worker->drain_ticks++;
    for (struct conn *conn = worker->first, *after; conn != NULL; conn = after) {
        after = conn->after;
        const bool patient = worker->drain_ticks <= DRAIN_TICKS_KIND;
        if (!conn->spoke || !patient) conn_drain(conn, patient);
        else conn->spoke = false;
    }
    if (worker->first == NULL || worker->drain_ticks > DRAIN_TICKS_MAX) stop(worker);
}

/* ---- what the loop calls ---- */

static void after_poll(uv_check_t *check)
{
    struct worker *worker = check->data;
    end_batch(worker);
    serve_waiting(worker);
    go_on(worker);
    begin_round(worker);
    sleep_if_nobody_waits(worker);
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
             "connections closed: %u sent no whole request within %d s, %u did not read their responses; refused: %u "
             "over the maximum, %u for want of a descriptor",
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
    if (!worker->in_batch) decide_tick(&worker->batch);
    if (worker->batch.parked != NULL || worker->resumed != NULL) go_on(worker);
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
    uv_idle_init(&worker->loop, &worker->again);
    uv_timer_init(&worker->loop, &worker->tick);
    uv_check_start(&worker->after_poll, after_poll);
    uv_timer_init(&worker->loop, &worker->engine_timer);
    worker->engine_timer.data = worker->engine_poll.data = worker;
    const int why = uv_poll_init(&worker->loop, &worker->engine_poll, worker->engine_epoll);
    if (why != 0) return -why;
    uv_poll_start(&worker->engine_poll, UV_READABLE, on_engine);
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
    if (batch_open(&worker->batch, shared->service, worker->stats, conn_send, NULL) != 0) return ENOMEM;
    worker->batch.resume = conn_resume_soon;
    begin_round(worker);
    worker->engine_epoll = epoll_create1(EPOLL_CLOEXEC);
    if (worker->engine_epoll < 0) return errno;
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
    if (worker->batch.service != NULL) batch_close(&worker->batch);
    if (worker->spare_descriptor > 0) close(worker->spare_descriptor);
    if (worker->engine_epoll > 0) close(worker->engine_epoll);
    free(worker->arena);
}

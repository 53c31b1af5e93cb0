/* SPDX-License-Identifier: MIT
   One connection.

       readable -> arena ... worker_bytes ... batch_end -> conn_send -> socket
                                               |-> conn_settle: keeps a fragment, waits for a slow reader, or closes

   One read and one write a batch while both sides keep up.  A connection that waits holds no buffer: half a KiB of ours
   beside what the kernel has; with a fragment that fragment; with a slow reader 1 MiB of answers at most.  A client
   that is slower than its limits is cut, never waited for, and so is who would have more kept where all together have
   WORKER_HELD_MAX. */
#include "serve/net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/park.h"

enum { TLS_PIECE = 16 << 10, THROWN_AWAY_MAX = 1 << 20 };

_Static_assert(sizeof(struct conn) <= 544, "said above");

static void on_event(uv_poll_t *poll, int status, int events);

/* ---- answers ---- */

static void lose(struct conn *conn)
{
    conn->dead = conn->session.closing = true;
    worker_touch(conn->worker, conn);
}

static void cut(struct conn *conn)
{
    stats_add(&conn->worker->stats->connections_cut, 1);
    lose(conn);
}

static bool may_hold(const struct conn *conn, size_t more)
{
    return more <= WORKER_HELD_MAX - conn->worker->held;
}

static void cut_slow_reader(struct conn *conn)
{
    conn->worker->told.slow_readers++;
    cut(conn);
}

/* false: there is no memory, or no more for this client. */
static bool make_room(struct conn *conn, size_t size)
{
    struct pending *pending = conn->pending;
    const size_t had = pending != NULL ? pending->capacity : 0;
    if (pending != NULL && size <= had) return true;
    const size_t capacity = 2 * size < CONN_PENDING_MAX ? 2 * size : CONN_PENDING_MAX;
    if (size > CONN_PENDING_MAX || !may_hold(conn, capacity - had)) return false;
    pending = realloc(conn->pending, sizeof *pending + capacity);
    if (pending == NULL) return false;
    if (conn->pending == NULL) *pending = (struct pending){0};
    conn->worker->held += capacity - had;
    pending->capacity = capacity;
    conn->pending = pending;
    return true;
}

static void keep_pending(struct conn *conn, struct slice bytes)
{
    const size_t size = conn->pending != NULL ? conn->pending->size : 0;
    worker_touch(conn->worker, conn);
    if (!make_room(conn, size + bytes.size)) {
        cut_slow_reader(conn);
        return;
    }
    memcpy(conn->pending->bytes + size, bytes.bytes, bytes.size);
    conn->pending->size += bytes.size;
}

/* How much the socket takes; an error: nobody is there any more. */
static size_t put(struct conn *conn, struct slice bytes)
{
    const ssize_t sent = send(conn->descriptor, bytes.bytes, bytes.size, MSG_NOSIGNAL);
    if (sent >= 0) return (size_t)sent;
    if (errno != EAGAIN && errno != EINTR) lose(conn);
    return 0;
}

static void put_or_keep(struct conn *conn, struct slice bytes)
{
    if (conn->dead) return;
    stats_add(&conn->worker->stats->bytes_out, bytes.size);
    const size_t sent = conn->pending == NULL ? put(conn, bytes) : 0;
    if (sent < bytes.size && !conn->dead) keep_pending(conn, slice_from(bytes, sent));
}

static void put_encrypted(struct conn *conn)
{
    const struct slice bytes = tls_pending(conn->tls);
    if (bytes.size == 0) return;
    put_or_keep(conn, bytes);
    tls_sent(conn->tls, bytes.size);
}

void conn_send(void *sender, struct session *session, struct slice bytes)
{
    struct conn *conn = session->connection;
    (void)sender;
    if (session->closing) worker_touch(conn->worker, conn);
    if (conn->tls == NULL) {
        put_or_keep(conn, bytes);
        return;
    }
    if (!conn->dead && tls_write(conn->tls, bytes) != TLS_BYTES) lose(conn);
    put_encrypted(conn);
}

/* ---- requests ---- */

/* All that is unread of it, which is in the arena. */
static void handle(struct conn *conn)
{
    struct worker *worker = conn->worker;
    const size_t read = worker_bytes(worker, &conn->session, conn->unread);
    conn->unread = slice_from(conn->unread, read);
    conn->moved |= read != 0;
    if (conn->session.waits) worker_wait(worker, conn);
    if (conn->unread.size != 0 || conn->kept != NULL || conn->session.closing) worker_touch(worker, conn);
}

/* It is not read while answers of an engine are under way, or others are served first. */
static bool is_held(const struct conn *conn)
{
    return conn->session.parked != 0 || conn->session.waits;
}

void conn_hear(struct conn *conn)
{
    if (!worker_is_spent(conn->worker)) {
        handle(conn);
        return;
    }
    worker_wait(conn->worker, conn);
    worker_touch(conn->worker, conn);
}

/* Where more bytes of this client can be read to, its unread ones being in front of them. */
static char *room(struct conn *conn)
{
    char *at = worker_room(conn->worker, conn->unread.size + CONN_READ_MAX);
    if (conn->unread.size != 0) memcpy(at, conn->unread.bytes, conn->unread.size);
    return at;
}

/* There are so many in the room. */
static void keep(struct conn *conn, char *at, size_t size)
{
    conn->unread = (struct slice){at, size};
    worker_keep(conn->worker, size);
}

/* false: nothing came. */
static bool receive(struct conn *conn, char *at, size_t capacity, size_t *size)
{
    const ssize_t came = recv(conn->descriptor, at, capacity, 0);
    if (came < 0) {
        if (errno != EAGAIN && errno != EINTR) lose(conn);
        return false;
    }
    if (came == 0) {
        conn->ended = true;
        worker_touch(conn->worker, conn);
        return false;
    }
    stats_add(&conn->worker->stats->bytes_in, (uint64_t)came);
    conn->active_s = conn->worker->second;
    conn->spoke = true;
    *size = (size_t)came;
    return true;
}

static void read_plain(struct conn *conn)
{
    size_t size;
    char *at = room(conn);
    /* The turn ended to make room, and with it this connection, or it was parked. */
    if (conn->dead || conn->session.closing || is_held(conn)) return;
    const size_t before = conn->unread.size;
    if (!receive(conn, at + before, CONN_READ_MAX, &size)) return;
    keep(conn, at, before + size);
    worker_hear(conn->worker, conn);
}

static void read_decrypted(struct conn *conn)
{
    enum tls_result result = TLS_BYTES;
    while (result == TLS_BYTES && !conn->session.closing && !is_held(conn)) {
        size_t size;
        char *at = room(conn);
        if (conn->session.closing || is_held(conn)) return;
        const size_t before = conn->unread.size;
        result = tls_read(conn->tls, at + before, CONN_READ_MAX, &size);
        if (result != TLS_BYTES) break;
        keep(conn, at, before + size);
        handle(conn);
    }
    if (result != TLS_END) return;
    conn->ended = true;
    worker_touch(conn->worker, conn);
}

static void read_encrypted(struct conn *conn)
{
    char piece[TLS_PIECE];
    size_t size;
    const bool shaken = tls_shaken(conn->tls);
    if (!receive(conn, piece, sizeof piece, &size)) return;
    if (!tls_feed(conn->tls, (struct slice){piece, size})) lose(conn);
    read_decrypted(conn);
    if (!conn->dead) put_encrypted(conn);
    if (!shaken) worker_touch(conn->worker, conn);
}

static void throw_away(struct conn *conn)
{
    char piece[TLS_PIECE];
    const ssize_t came = recv(conn->descriptor, piece, sizeof piece, 0);
    if (came > 0) conn->thrown_away += (size_t)came;
    if (came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR) || conn->thrown_away > THROWN_AWAY_MAX) {
        lose(conn);
    }
}

/* ---- after a batch ---- */

static void free_pending(struct conn *conn)
{
    if (conn->pending != NULL) conn->worker->held -= conn->pending->capacity;
    free(conn->pending);
    conn->pending = NULL;
}

static void free_kept(struct conn *conn)
{
    conn->worker->held -= conn->kept_size;
    conn->kept_size = 0;
    free(conn->kept);
    conn->kept = NULL;
}

/* Memory for what is unread; NULL: there is none, or no more for this client. */
static char *room_to_keep(struct conn *conn, size_t size)
{
    struct worker *worker = conn->worker;
    const size_t counted = size > CONN_KEPT_FREE ? size : 0;
    const size_t others = worker->held - conn->kept_size;
    if (size > CONN_KEPT_MAX || counted > WORKER_HELD_MAX - others) return NULL;
    char *kept = realloc(conn->kept, size);
    if (kept == NULL) return NULL;
    worker->held = others + counted;
    conn->kept_size = counted;
    conn->kept = kept;
    return kept;
}

static bool shaking(const struct conn *conn)
{
    return conn->tls != NULL && !tls_shaken(conn->tls);
}

/* Seconds are as of the last tick, so one more has to go by for all of them to be whole. */
static uint64_t due_second(const struct conn *conn)
{
    if (conn->lingering) return conn->since_s + CONN_LINGER_S;
    if (conn->pending != NULL) return conn->since_s + CONN_TAKEN_S;
    if (conn->kept != NULL || shaking(conn)) return conn->since_s + CONN_REQUEST_S;
    const uint64_t idle_s = conn->worker->shared->idle_s;
    const bool known = batch_knows(&conn->worker->batch, &conn->session);
    return conn->active_s + 1 + (known || idle_s < CONN_REQUEST_S ? idle_s : CONN_REQUEST_S);
}

/* Something that has less time than an idle connection begins now. */
static void begin_to_wait(struct conn *conn)
{
    conn->since_s = conn->worker->second + 1;
    deadlines_set(&conn->worker->deadlines, &conn->deadline, due_second(conn));
}

static void keep_unread(struct conn *conn)
{
    const struct slice unread = conn->unread;
    const bool begins = conn->kept == NULL || conn->moved;
    conn->moved = false;
    if (unread.size == 0) {
        free_kept(conn);
        return;
    }
    if (unread.bytes == conn->kept) return;
    char *kept = room_to_keep(conn, unread.size);
    if (kept == NULL) {
        cut(conn);
        return;
    }
    memcpy(kept, unread.bytes, unread.size);
    conn->unread = (struct slice){kept, unread.size};
    if (begins) begin_to_wait(conn);
}

/* In TLS the client would else not know that nothing was cut off.  All answers are out: what the socket does not take
   of this is no reason to take back what it has. */
static void say_end(struct conn *conn)
{
    if (conn->tls == NULL || conn->dead) return;
    tls_end(conn->tls);
    put_encrypted(conn);
    free_pending(conn);
}

/* What we sent last would be lost if the socket were closed with something unread in it. */
static void linger(struct conn *conn)
{
    say_end(conn);
    shutdown(conn->descriptor, SHUT_WR);
    conn->lingering = true;
    begin_to_wait(conn);
    uv_poll_start(&conn->poll, UV_READABLE, on_event);
}

void conn_settle(struct conn *conn)
{
    const bool last = conn->ended || conn->session.closing;
    if (uv_is_closing((uv_handle_t *)&conn->poll)) return;
    if (!conn->dead && !conn->session.closing && (!last || is_held(conn))) keep_unread(conn);
    if (!conn->dead && conn->session.parked != 0) return; /* it is watched until more comes: see on_event */
    const bool waits = !conn->session.closing && conn->session.waits;
    if (conn->dead || (conn->ended && !waits && conn->pending == NULL)) {
        say_end(conn);
        conn_close(conn);
    } else if (conn->lingering) {
        return;
    } else if (conn->pending != NULL) {
        if (!conn->writing) begin_to_wait(conn);
        conn->writing = true;
        uv_poll_start(&conn->poll, UV_WRITABLE, on_event);
    } else if (last && !waits) {
        linger(conn);
    }
}

static void write_pending(struct conn *conn)
{
    struct pending *pending = conn->pending;
    pending->sent += put(conn, slice_from((struct slice){pending->bytes, pending->size}, pending->sent));
    if (conn->dead || pending->sent < pending->size) return;
    free_pending(conn);
    conn->writing = false;
    uv_poll_start(&conn->poll, UV_READABLE, on_event);
    worker_touch(conn->worker, conn);
    if (conn->session.waits && !conn->queued) worker_wait(conn->worker, conn);
}

static void read_more(struct conn *conn)
{
    conn->unheard = false;
    if (conn->tls != NULL) read_encrypted(conn);
    else read_plain(conn);
}

static void wait_unheard(struct conn *conn)
{
    conn->unheard = true;
    worker_wait(conn->worker, conn);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct conn *conn = poll->data;
    (void)events;
    if (status != 0) lose(conn);
    else if (conn->lingering) throw_away(conn);
    else if (conn->writing) write_pending(conn);
    else if (conn->session.closing) worker_touch(conn->worker, conn);
    else if (is_held(conn)) uv_poll_stop(&conn->poll);
    else if (worker_is_spent(conn->worker)) wait_unheard(conn);
    else read_more(conn);
}

/* ---- its beginning and its end ---- */

void conn_resume_soon(void *sender, struct session *session)
{
    struct conn *conn = session->connection;
    struct worker *worker = conn->worker;
    (void)sender;
    if (conn->resumed) return;
    conn->resumed = true;
    conn->resumed_next = worker->resumed;
    worker->resumed = conn;
}

void conn_resume(struct conn *conn)
{
    if (conn->dead || is_held(conn)) return;
    worker_touch(conn->worker, conn);
    if (conn->unheard && !conn->session.closing) {
        read_more(conn);
    } else {
        if (!conn->session.closing && conn->unread.size != 0) {
            keep(conn, room(conn), conn->unread.size);
            handle(conn);
        }
        if (conn->tls != NULL && !conn->dead && !conn->session.closing) {
            read_decrypted(conn);
            put_encrypted(conn);
        }
    }
    const bool watched = uv_is_active((uv_handle_t *)&conn->poll) != 0;
    if (!conn->dead && !conn->writing && !conn->ended && !watched && !is_held(conn))
        uv_poll_start(&conn->poll, UV_READABLE, on_event);
}

/* Something that the client has sent, and that was not read yet. */
static bool has_more(const struct conn *conn)
{
    char byte;
    return recv(conn->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void conn_drain(struct conn *conn, bool patient)
{
    if (patient && !conn->lingering && (conn->session.waits || has_more(conn))) return;
    const bool idle = conn->kept == NULL && conn->pending == NULL && conn->session.parked == 0 && !conn->lingering;
    if (!idle) {
        conn_finish(conn);
        return;
    }
    say_end(conn);
    conn_close(conn);
}

void conn_finish(struct conn *conn)
{
    conn->session.closing = true;
    conn_settle(conn);
}

/* A reset tells the client at once that it has lost something; what is pending would else stay in the kernel. */
static void reset(const struct conn *conn)
{
    const struct linger now = {.l_onoff = 1};
    if (!conn->session.local) setsockopt(conn->descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void conn_due(struct conn *conn)
{
    struct worker *worker = conn->worker;
    const uint64_t due = due_second(conn);
    const bool others = conn->session.parked != 0 || conn->queued; /* their time is not this client's */
    if (due > worker->second || others) {
        deadlines_set(&worker->deadlines, &conn->deadline, due > worker->second ? due : worker->second + 1);
        return;
    }
    if (conn->lingering) {
        conn_close(conn);
    } else if (conn->pending != NULL) {
        worker->told.slow_readers++;
        stats_add(&worker->stats->connections_cut, 1);
        conn_close(conn);
    } else if (conn->kept != NULL || shaking(conn)) {
        worker->told.slow_senders++;
        stats_add(&worker->stats->connections_cut, 1);
        conn_close(conn);
    } else {
        conn_finish(conn);
    }
}

static void free_conn(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    tls_session_close(conn->tls);
    free_kept(conn);
    free_pending(conn);
    free(conn);
}

static void leave(struct conn *conn)
{
    struct worker *worker = conn->worker;
    if (conn->before != NULL) conn->before->after = conn->after;
    else worker->first = conn->after;
    if (conn->after != NULL) conn->after->before = conn->before;
    deadlines_remove(&conn->deadline);
    park_leave(&worker->batch, &conn->session);
    for (struct conn **at = &worker->resumed; conn->resumed && *at != NULL; at = &(*at)->resumed_next) {
        if (*at != conn) continue;
        *at = conn->resumed_next;
        break;
    }
    worker_wait_no_more(worker, conn);
    stats_add(&worker->stats->connections_closed, 1);
    atom_add(&worker->shared->connections, UINT64_MAX);
}

void conn_close(struct conn *conn)
{
    if (uv_is_closing((uv_handle_t *)&conn->poll)) return;
    conn->dead = conn->session.closing = true;
    leave(conn);
    if (conn->pending != NULL) reset(conn);
    uv_close((uv_handle_t *)&conn->poll, free_conn);
    close(conn->descriptor);
}

static void join(struct conn *conn)
{
    struct worker *worker = conn->worker;
    conn->after = worker->first;
    if (conn->after != NULL) conn->after->before = conn;
    worker->first = conn;
    conn->spoke = true; /* what it has sent before it was let in was not looked at yet */
    conn->active_s = worker->second;
    conn->since_s = worker->second + 1;
    deadlines_set(&worker->deadlines, &conn->deadline, due_second(conn));
    stats_add(&worker->stats->connections_opened, 1);
}

static void open_session(struct conn *conn, const struct listener *listener)
{
    struct worker_shared *shared = conn->worker->shared;
    conn->session = (struct session){.protocol = listener->protocol,
                                     .resp_version = 2,
                                     .local = listener->local,
                                     .remote = listener->is_public,
                                     .id = atom_add(&shared->opened, 1) + 1,
                                     .connection = conn};
}

static bool open_tls(struct conn *conn)
{
    struct tls *tls = conn->worker->shared->tls;
    if (tls == NULL || conn->session.local) return true;
    conn->tls = tls_accept(tls);
    return conn->tls != NULL;
}

bool conn_open(struct worker *worker, const struct listener *listener, int descriptor)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn != NULL) {
        *conn = (struct conn){.worker = worker, .descriptor = descriptor, .poll = {.data = conn}};
        open_session(conn, listener);
    }
    if (conn == NULL || !open_tls(conn) || uv_poll_init(&worker->loop, &conn->poll, descriptor) != 0) {
        if (conn != NULL) tls_session_close(conn->tls);
        free(conn);
        close(descriptor);
        return false;
    }
    join(conn);
    uv_poll_start(&conn->poll, UV_READABLE, on_event);
    return true;
}

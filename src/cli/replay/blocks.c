/* SPDX-License-Identifier: MIT
   Blocks of requests, as they were read, to requests in order of time.

       thread  read | parse | hash the keys            block n + 1, n + 2, ...
       we      look the clients up | order | decide    block n

   With a second processor a thread reads ahead, by a few blocks, once the log is open.  All that has an order is done
   here, by one thread: the numbers of clients, the turns, the verdicts, what is told.  So the output is the same, byte
   for byte, as without the thread.  A followed log is read without it: there, nothing is to be read ahead.

   Memory grows with the clients, not with the lines. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/replay/work.h"
#include "core/num.h"

enum { BLOCKS = 4, IDLE_TURNS = 20 /* of a tenth of a second */ };

/* So much of a log says how long requests take; before that nobody knows how far back one may belong. */
static const uint64_t LEARN_NS = UINT64_C(60) * REPLAY_SECOND_NS;

static void no_memory(struct replay *replay)
{
    progress_clear(replay);
    replay->status = trouble("replay: no memory for %u clients; group more of them under one key, for example --key "
                             "remote_addr/24/48",
                             replay->clients.count);
}

/* ---- requests ---- */

static void open_result(struct replay *replay)
{
    const struct reader *reader = &replay->reader;
    replay->result.timestamps_are_ends =
        replay->options.timestamps != TIMESTAMPS_START && !accesslog_has_durations(&reader->format.log);
}

/* Requests may take so long all of a sudden, and that is when it matters in which order they came. */
static uint64_t longest_lease(const struct replay *replay)
{
    uint64_t longest_ns = 0;
    for (int i = 0; i < replay->options.limits; i++) {
        longest_ns = most(longest_ns, candidate_lease_ns(&replay->candidate[i]));
    }
    return longest_ns;
}

/* The first request says what its stamps are worth. */
static void begin(struct replay *replay, const struct block *block)
{
    replay->result.resolution_ns = block->resolution_ns;
    /* A duration to the ms does not say when within the second it ended. */
    replay->whole_seconds = block->resolution_ns >= REPLAY_SECOND_NS;
    if (block->starts) replay->result.timestamps_are_ends = false;
    /* With --follow, refusals are printed at once. */
    if (block->has_duration && !block->starts && !replay->options.follow) {
        replay->order.from_ns = add_saturating(block->request[0].stamp_ns, LEARN_NS);
    }
    if (!replay->options.follow) replay->order.window_ns = longest_lease(replay);
    for (int i = 0; i < replay->options.limits; i++) candidate_begin(&replay->candidate[i], replay->whole_seconds);
}

static bool reach_client(struct replay *replay, uint32_t client)
{
    for (int i = 0; i < replay->options.limits; i++) {
        if (!candidate_reach(&replay->candidate[i], client + 1)) return false;
    }
    return running_reach(replay, client + 1) && rows_reach(&replay->usage, client + 1);
}

static bool take_turns(struct replay *replay)
{
    struct order_entry next;
    while (order_take(&replay->order, &next)) {
        if (!replay_decide(replay, &next)) return false;
    }
    return true;
}

/* What will be looked at soon. */
static inline void fetch(const struct clients *clients, const struct block *block, size_t at)
{
    const size_t ahead = 16;
    if (at + 2 * ahead < block->count) clients_fetch_slot(clients, block->request[at + 2 * ahead].tag);
    if (at + ahead < block->count) clients_fetch_key(clients, block->request[at + ahead].tag);
}

static bool take_request(struct replay *replay, const struct block *block, const struct request *request)
{
    const char *key = block->keys + request->key;
    const uint32_t before = replay->clients.count;
    struct order_entry entry = {request->time_ns, add_saturating(request->time_ns, request->runs_ns),
                                replay->requests_read++, request->cost, 0};
    if (!clients_find(&replay->clients, request->tag, key, request->key_size, &entry.client)) return false;
    if (replay->clients.count != before && !reach_client(replay, before)) return false;
    if (replay->each != NULL && !each_reach(replay, entry.line)) return false;
    return order_put(&replay->order, entry, request->stamp_ns, request->duration_ns) && take_turns(replay);
}

static bool take_requests(struct replay *replay, const struct block *block)
{
    for (size_t i = 0; i < block->count; i++) {
        fetch(&replay->clients, block, i);
        if (!take_request(replay, block, &block->request[i])) return false;
    }
    return true;
}

/* Nothing has come for longer than lines are out of order: those that are held can be decided. */
static void decide_held(struct replay *replay)
{
    order_finish(&replay->order);
    if (!take_turns(replay) || !replay_decide_rest(replay)) no_memory(replay);
}

static void tell(struct replay *replay, const struct block *block)
{
    replay->result.malformed += block->malformed;
    if (block->note[0] == '\0') return;
    progress_clear(replay);
    trouble("%s", block->note);
}

/* False: nothing comes behind it. */
static bool take_block(struct replay *replay, const struct block *block)
{
    if (replay->requests_read == 0 && replay->reader.log_open) open_result(replay);
    if (replay->requests_read == 0 && block->count != 0) begin(replay, block);
    replay->bytes_read = block->bytes_read;
    replay->requests_timed += block->timed;
    const bool taken = take_requests(replay, block) && !block->no_memory;
    tell(replay, block);
    if (!taken) no_memory(replay);
    if (block->status != STATUS_DONE) replay->status = block->status;
    if (block->incomplete != STATUS_DONE) replay->incomplete = block->incomplete;
    replay->idle = block->state == SOURCE_IDLE ? replay->idle + 1 : 0;
    if (replay->idle == IDLE_TURNS) decide_held(replay);
    progress_show(replay);
    return replay->status == STATUS_DONE && !read_is_last(block);
}

static void free_block(struct block *block)
{
    free(block->request);
    free(block->keys);
}

/* ---- with a thread that reads ahead ---- */

struct ahead {
    struct reader *reader;
    struct block block[BLOCKS]; /* a ring: [taken, filled) are ours, the others the thread's */
    pthread_t thread;
    pthread_mutex_t mutex; /* of what is below */
    pthread_cond_t changed;
    uint64_t filled, taken;
    bool halt;
};

/* NULL: to stop. */
static struct block *next_to_fill(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->filled - ahead->taken == BLOCKS && !ahead->halt) pthread_cond_wait(&ahead->changed, &ahead->mutex);
    struct block *block = ahead->halt ? NULL : &ahead->block[ahead->filled % BLOCKS];
    pthread_mutex_unlock(&ahead->mutex);
    return block;
}

static const struct block *next_to_take(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->filled == ahead->taken) pthread_cond_wait(&ahead->changed, &ahead->mutex);
    const struct block *block = &ahead->block[ahead->taken % BLOCKS];
    pthread_mutex_unlock(&ahead->mutex);
    return block;
}

static void count_one(struct ahead *ahead, uint64_t *counter)
{
    pthread_mutex_lock(&ahead->mutex);
    ++*counter;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

static void *read_ahead(void *context)
{
    struct ahead *ahead = context;
    struct block *block;
    bool last = false;
    while (!last && (block = next_to_fill(ahead)) != NULL) {
        read_block(ahead->reader, block);
        last = read_is_last(block);
        count_one(ahead, &ahead->filled);
    }
    return NULL;
}

/* It may be waiting for bytes of a pipe that never come, or for us. */
static void halt(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->halt = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    eventfd_write(ahead->reader->source.halt_fd, 1);
    pthread_join(ahead->thread, NULL);
}

/* False: there are no threads, and nothing was done. */
static bool take_with_thread(struct replay *replay)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead == NULL) return false;
    struct source *source = &replay->reader.source;
    ahead->reader = &replay->reader;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    source->halt_fd = eventfd(0, EFD_CLOEXEC);
    const bool begun = source->halt_fd >= 0 && pthread_create(&ahead->thread, NULL, read_ahead, ahead) == 0;
    if (begun) {
        while (take_block(replay, next_to_take(ahead))) count_one(ahead, &ahead->taken);
        halt(ahead);
    }
    if (source->halt_fd >= 0) close(source->halt_fd);
    source->halt_fd = -1;
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    for (int i = 0; i < BLOCKS; i++) free_block(&ahead->block[i]);
    free(ahead);
    return begun;
}

/* ---- all of them ---- */

static bool has_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

static void take_all(struct replay *replay)
{
    struct block block = {.count = 0};
    bool may_thread = !replay->options.follow && has_processors();
    for (bool more = true; more;) {
        read_block(&replay->reader, &block);
        more = take_block(replay, &block);
        if (replay->reader.charge != NULL) charge_turn(replay->reader.charge);
        if (!more || !may_thread || !replay->reader.log_open) continue;
        if (take_with_thread(replay)) break;
        may_thread = false;
    }
    free_block(&block);
}

void replay_read(struct replay *replay)
{
    struct signalfd_siginfo why;
    const int stop_fd = replay->reader.source.stop_fd;
    take_all(replay);
    decide_held(replay);
    if (replay->each != NULL) json_file_flush(&replay->each->json);
    progress_clear(replay);
    if (stop_fd < 0) return;
    if (read(stop_fd, &why, sizeof why) == (ssize_t)sizeof why) replay->signal = (int)why.ssi_signo;
}

/* SPDX-License-Identifier: MIT
   A service without a socket for the tests: a clock by hand, four sessions, what each was answered.

   A batch for each send, unless the test opens and ends batches itself. */
#ifndef WEIR_TEST_SERVE_RIG_H
#define WEIR_TEST_SERVE_RIG_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "serve/protocols.h"

enum { RIG_SESSIONS = 4, RIG_OUT = 4 << 20, RIG_OUT_FIRST = 1 << 12 };

struct rig {
    struct tables *tables;
    struct service service;
    struct batch batch;
    struct session session[RIG_SESSIONS];
    char *out[RIG_SESSIONS];
    size_t size[RIG_SESSIONS], room[RIG_SESSIONS];
    unsigned sends;
    uint64_t now_ns;
};

static inline uint64_t rig_now_ns(void *clock)
{
    return ((const struct rig *)clock)->now_ns;
}

/* A whole second, at most one ago: a table is looked after by the real clock, and must not find its times years off. */
static inline uint64_t rig_begin_ns(void)
{
    const uint64_t now_ns = host_now_ns();
    return now_ns - now_ns % HOST_SECOND_NS;
}

/* There is always room for a NUL behind it.  Who is told more than RIG_OUT is cut. */
static inline void rig_sent(void *sender, struct session *session, struct slice bytes)
{
    struct rig *rig = sender;
    const size_t number = (size_t)(session - rig->session);
    rig->sends++;
    if (rig->size[number] + bytes.size >= RIG_OUT) {
        session->closing = true;
        return;
    }
    while (rig->size[number] + bytes.size >= rig->room[number]) {
        rig->room[number] *= 2;
        rig->out[number] = realloc(rig->out[number], rig->room[number]);
        assert(rig->out[number] != NULL);
    }
    memcpy(rig->out[number] + rig->size[number], bytes.bytes, bytes.size);
    rig->size[number] += bytes.size;
}

static inline struct rig *rig_open_with(const struct tables_options *options)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert(rig != NULL);
    const int failed = tables_open(&rig->tables, options, NULL);
    assert(failed == 0);
    rig->now_ns = rig_begin_ns();
    service_open(&rig->service, rig->tables, rig_now_ns, rig);
    struct stats *stats = service_worker(&rig->service);
    assert(stats != NULL);
    const int batch_failed = batch_open(&rig->batch, &rig->service, stats, rig_sent, rig);
    assert(batch_failed == 0);
    for (unsigned i = 0; i < RIG_SESSIONS; i++) {
        rig->session[i] = (struct session){.protocol = SESSION_RESP, .resp_version = 2, .trusted = true, .id = i + 1};
        rig->room[i] = RIG_OUT_FIRST;
        rig->out[i] = malloc(RIG_OUT_FIRST);
        assert(rig->out[i] != NULL);
    }
    return rig;
}

static inline struct rig *rig_open(void)
{
    return rig_open_with(&(struct tables_options){.keys_max = 10000});
}

static inline void rig_close(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_SESSIONS; i++) free(rig->out[i]);
    batch_close(&rig->batch);
    service_close(&rig->service);
    tables_close(rig->tables);
    free(rig);
}

/* One turn with these bytes for this session, whose answer alone is kept; it ends with a NUL. */
static inline const char *rig_send_bytes(struct rig *rig, unsigned session, struct slice bytes)
{
    rig->size[session] = 0;
    batch_begin(&rig->batch);
    handle_bytes(&rig->batch, &rig->session[session], bytes);
    batch_end(&rig->batch);
    rig->out[session][rig->size[session]] = '\0';
    return rig->out[session];
}

static inline const char *rig_send(struct rig *rig, const char *bytes)
{
    return rig_send_bytes(rig, 0, slice_of(bytes));
}

/* A command by its arguments, which end with NULL. */
static inline size_t rig_command(char *out, const char *const arguments[])
{
    size_t count = 0, size = 0;
    while (arguments[count] != NULL) count++;
    size += (size_t)sprintf(out, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        size += (size_t)sprintf(out + size, "$%zu\r\n%s\r\n", strlen(arguments[i]), arguments[i]);
    return size;
}

#define RIG_SAY(rig, ...) rig_say(rig, (const char *const[]){__VA_ARGS__, NULL})
static inline const char *rig_say(struct rig *rig, const char *const arguments[])
{
    char bytes[8192];
    const size_t size = rig_command(bytes, arguments);
    return rig_send_bytes(rig, 0, (struct slice){bytes, size});
}

#endif

/* SPDX-License-Identifier: MIT
   A service without a socket and with a clock of its own, asked over HTTP.

   An answer is all that came, as text. */
#ifndef WEIR_TEST_HTTP_CLIENT_H
#define WEIR_TEST_HTTP_CLIENT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/protocols.h"

enum { CLIENT_ANSWERS_MAX = 1 << 21, CLIENT_START_S = 1000 };

struct client {
    struct tables *tables;
    struct service service;
    struct batch batch;
    struct session session;
    uint64_t now_ns;
    size_t size;
    char answers[CLIENT_ANSWERS_MAX]; /* since the last question */
};

static inline uint64_t client_now_ns(void *clock)
{
    return *(uint64_t *)clock;
}

static inline void client_keep(void *sender, struct session *session, struct slice bytes)
{
    struct client *client = sender;
    (void)session;
    assert_true(bytes.size < sizeof client->answers - client->size);
    memcpy(client->answers + client->size, bytes.bytes, bytes.size);
    client->size += bytes.size;
    client->answers[client->size] = '\0';
}

static inline void client_reconnect(struct client *client)
{
    client->session = (struct session){.protocol = SESSION_HTTP};
}

static inline struct client *client_open(void)
{
    struct client *client = calloc(1, sizeof *client);
    assert_non_null(client);
    client->now_ns = CLIENT_START_S * UINT64_C(1000000000);
    assert_int_equal(tables_open(&client->tables, &(struct tables_options){.keys_max = 10000, .top = 16}, NULL), 0);
    service_open(&client->service, client->tables, client_now_ns, &client->now_ns);
    struct stats *stats = service_worker(&client->service);
    assert_non_null(stats);
    assert_int_equal(batch_open(&client->batch, &client->service, stats, client_keep, client), 0);
    client_reconnect(client);
    return client;
}

static inline void client_close(struct client *client)
{
    batch_close(&client->batch);
    service_close(&client->service);
    tables_close(client->tables);
    free(client);
}

/* Defines a limit whose key has these parts, "," between them; "": one field called key. */
static inline void client_define(struct client *client, const char *name, const char *text, const char *parts,
                                 bool shadow)
{
    weir_error error;
    struct policy *old = service_policy(&client->service);
    struct policy *policy = policy_with(old, client->tables, slice_of(name), text, &error);
    if (old != NULL) service_release(&client->service, old);
    assert_non_null(policy);
    struct policy_limit *limit = NULL;
    for (unsigned i = 0; i < policy->limit_count; i++) {
        policy->limit[i].number = service_number(&client->service, policy->limit[i].name);
        if (strcmp(policy->limit[i].name, name) == 0) limit = &policy->limit[i];
    }
    assert_non_null(limit);
    limit->shadow = shadow;
    struct slice rest = slice_of(parts);
    while (rest.size != 0) {
        assert_null(policy_part_read(policy_key_next(&rest), &limit->part[limit->parts]));
        limit->parts++;
    }
    service_publish(&client->service, policy);
}

/* What is left over has to come again; so much of it is told. */
static inline size_t client_send(struct client *client, const char *text, size_t size)
{
    batch_begin(&client->batch);
    const size_t taken = handle_bytes(&client->batch, &client->session, (struct slice){text, size});
    batch_end(&client->batch);
    return taken;
}

/* One whole request or several; returns all answers. */
static inline const char *client_ask(struct client *client, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(size, 1, sizeof text - 1);
    client->size = 0;
    client->answers[0] = '\0';
    assert_int_equal(client_send(client, text, (size_t)size), (size_t)size);
    return client->answers;
}

static inline const char *client_get(struct client *client, const char *path)
{
    return client_ask(client, "GET %s HTTP/1.1\r\nHost: localhost:9348\r\n\r\n", path);
}

static inline const char *client_post(struct client *client, const char *path, const char *type, const char *body)
{
    return client_ask(client,
                      "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", path,
                      type, strlen(body), body);
}

static inline const char *client_json(struct client *client, const char *path, const char *body)
{
    return client_post(client, path, "application/json", body);
}

static inline const char *client_form(struct client *client, const char *path, const char *body)
{
    return client_post(client, path, "application/x-www-form-urlencoded", body);
}

/* The status of the first answer. */
static inline int client_status(const char *answer)
{
    int status = 0;
    if (sscanf(answer, "HTTP/1.1 %d ", &status) != 1) fail_msg("no answer of HTTP: %s", answer);
    return status;
}

/* The value of a header; "": there is none. */
static inline const char *client_header(const char *answer, const char *name, char value[2048])
{
    const char *end = strstr(answer, "\r\n\r\n");
    const size_t size = strlen(name);
    value[0] = '\0';
    for (const char *at = strstr(answer, "\r\n"); at != NULL && at < end; at = strstr(at + 2, "\r\n")) {
        if (strncmp(at + 2, name, size) != 0 || strncmp(at + 2 + size, ": ", 2) != 0) continue;
        const char *start = at + size + 4;
        const size_t length = (size_t)(strstr(start, "\r\n") - start);
        assert_true(length < 2048);
        memcpy(value, start, length);
        value[length] = '\0';
        return value;
    }
    return value;
}

static inline const char *client_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end != NULL ? end + 4 : "";
}

#endif

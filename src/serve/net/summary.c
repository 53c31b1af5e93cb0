/* SPDX-License-Identifier: MIT
   What is served, in words.

   Addresses as they are bound. */
#include "serve/net/summary.h"

#include <inttypes.h>
#include <stdio.h>

enum { MIB_SHIFT = 20 };

static bool is_web(const struct listener *listener)
{
    return listener->protocol == SESSION_HTTP && !listener->local;
}

/* Those that follow each other with the same words before them: the two of localhost. */
static bool are_alike(const struct listener *listener, const struct listener *other)
{
    return listener->protocol == other->protocol && listener->local == other->local;
}

static void add_address(struct bytes *out, const struct listener *listener, bool tls)
{
    if (is_web(listener)) bytes_text(out, tls ? "https://" : "http://");
    bytes_text(out, listener->text);
    if (is_web(listener)) bytes_text(out, "/");
}

/* RESP 127.0.0.1:9347 and [::1]:9347, HTTP and page http://127.0.0.1:9348/ and http://[::1]:9348/ */
static void add_listeners(struct bytes *out, const struct listener *listeners, unsigned count, bool tls)
{
    for (unsigned i = 0; i < count; i++) {
        const struct listener *listener = &listeners[i];
        const bool more = i != 0 && are_alike(listener, listener - 1);
        const bool last = i + 1 == count || !are_alike(listener, listener + 1);
        if (more) bytes_text(out, " and ");
        else if (i != 0) bytes_text(out, ", ");
        if (!more) bytes_text(out, listener_protocol(listener));
        if (!more) bytes_text(out, is_web(listener) ? " and page " : " ");
        add_address(out, listener, tls);
        if (last && tls && !listener->local && listener->protocol == SESSION_RESP) bytes_text(out, " (TLS)");
    }
}

static unsigned count_limits(struct service *service)
{
    struct policy *policy = service_policy(service);
    const unsigned count = policy != NULL ? policy->limit_count : 0;
    if (policy != NULL) service_release(service, policy);
    return count;
}

static void add_engine(struct bytes *out, struct service *service)
{
    struct engine *engine = service_engine(service);
    if (engine == NULL) return;
    bytes_text(out, engine_name(engine));
    bytes_text(out, ", what is not kept there in ");
    engine_release(engine);
}

static uint64_t settled_mib(const struct tables *tables)
{
    return (settled_bytes(tables_settled(tables)) + (UINT64_C(1) << MIB_SHIFT) - 1) >> MIB_SHIFT;
}

/* "; tables of 59 MiB, at most 1068 MiB; settled receipts in 2 MiB" */
static void add_memory(struct bytes *out, const struct tables *tables)
{
    const struct tables_memory memory = tables_read_memory(tables);
    bytes_text(out, "; tables of ");
    bytes_number(out, memory.used >> MIB_SHIFT);
    bytes_text(out, " MiB, at most ");
    bytes_number(out, memory.most >> MIB_SHIFT);
    bytes_text(out, " MiB");
    if (!mac_is_here()) return;
    bytes_text(out, "; settled receipts in ");
    bytes_number(out, settled_mib(tables));
    bytes_text(out, " MiB");
}

void summary_of_start(char words[SUMMARY_MAX], const struct listener *listeners, unsigned count, bool tls,
                      struct service *service, const char *file, const char *state)
{
    struct bytes out = {.memory = words, .capacity = SUMMARY_MAX - 1};
    const unsigned limits = count_limits(service);
    const bool texts = service->access.texts == ACCESS_TEXTS_ON;
    add_listeners(&out, listeners, count, tls);
    bytes_text(&out, "; ");
    if (file != NULL) {
        bytes_number(&out, limits);
        bytes_text(&out, limits == 1 ? " limit of " : " limits of ");
        bytes_text(&out, file);
    } else {
        bytes_text(&out, texts ? "limits come with each request" : "no limits");
    }
    if (!texts) bytes_text(&out, "; texts off (texts: on in weir.yaml allows them)");
    bytes_text(&out, "; state in ");
    add_engine(&out, service);
    bytes_text(&out, state != NULL ? state : "memory only");
    if (!mac_is_here()) bytes_text(&out, "; no receipts, built without OpenSSL");
    add_memory(&out, service->tables);
    words[out.size] = '\0';
}

void summary_print_limits(struct service *service)
{
    struct policy *policy = service_policy(service);
    const char *no_texts = access_no_texts(&service->access);
    if (policy == NULL || policy->limit_count == 0) {
        printf(no_texts == NULL ? "no limits with a name: they come with each request\n" : "no limits with a name\n");
    }
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limit[i];
        char text[POLICY_TEXT_MAX * 2];
        weir_plan_text(&limit->plan, text, sizeof text);
        printf("%s: %s%s", limit->name, text, limit->shadow ? " (shadow)" : "");
        if (limit->others != NULL)
            printf(", %u tenant%s", limit->override_count, limit->override_count == 1 ? "" : "s");
        printf("\n");
    }
    if (!mac_is_here()) printf("no receipts: this weir was built without OpenSSL\n");
    if (no_texts != NULL) printf("texts: off: %s\n", no_texts);
    if (policy != NULL) service_release(service, policy);
    const struct tables_memory memory = tables_read_memory(service->tables);
    printf("tables of %" PRIu64 " MiB, at most %" PRIu64 " MiB\n", memory.used >> MIB_SHIFT, memory.most >> MIB_SHIFT);
    if (mac_is_here()) printf("settled receipts in %" PRIu64 " MiB\n", settled_mib(service->tables));
}

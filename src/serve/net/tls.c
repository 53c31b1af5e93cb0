/* SPDX-License-Identifier: MIT
   The service's certificate: what new sessions take it from is replaced as a whole, and old sessions keep theirs. */
#include "serve/net/tls.h"

#include <stdio.h>
#include <stdlib.h>

#include "host/thread.h"

struct tls {
    struct host_mutex mutex; /* around context, which tls_renew replaces */
    struct tls_context *context;
};

static struct tls_context *make_context(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    char words[TLS_PROBLEM_MAX];
    const struct tls_files files = {.certificate = certificate, .key = key, .certificate_name = "certificate"};
    struct tls_context *const context = tls_server(&files, words);
    if (context == NULL) snprintf(problem, TLS_PROBLEM_MAX, "tls: %.390s", words[0] != '\0' ? words : "no memory");
    return context;
}

struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    struct tls_context *const context = make_context(certificate, key, problem);
    struct tls *const tls = context != NULL ? malloc(sizeof *tls) : NULL;
    if (tls == NULL) {
        if (context != NULL) snprintf(problem, TLS_PROBLEM_MAX, "tls: no memory");
        tls_context_close(context);
        return NULL;
    }
    tls->context = context;
    host_mutex_open(&tls->mutex);
    return tls;
}

bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    struct tls_context *const context = make_context(certificate, key, problem);
    if (context == NULL) return false;
    host_lock(&tls->mutex);
    struct tls_context *const old = tls->context;
    tls->context = context;
    host_unlock(&tls->mutex);
    tls_context_close(old);
    return true;
}

void tls_close(struct tls *tls)
{
    if (tls == NULL) return;
    tls_context_close(tls->context);
    host_mutex_close(&tls->mutex);
    free(tls);
}

struct tls_session *tls_accept(struct tls *tls)
{
    host_lock(&tls->mutex);
    struct tls_session *const session = tls_session_open(tls->context, NULL);
    host_unlock(&tls->mutex);
    return session;
}

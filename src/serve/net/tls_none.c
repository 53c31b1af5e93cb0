/* SPDX-License-Identifier: MIT
   TLS where weir was built without OpenSSL: tls_open refuses, and nothing else is reached. */
#include <stdio.h>

#include "serve/net/tls.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    snprintf(problem, TLS_PROBLEM_MAX,
             "tls: this weir was built without OpenSSL; in its source: tools/deps build && tools/build");
    return NULL;
}

bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    return false;
}

void tls_close(struct tls *tls)
{
}

struct tls_session *tls_session_open(struct tls *tls)
{
    return NULL;
}

void tls_session_close(struct tls_session *session)
{
}

bool tls_feed(struct tls_session *session, struct slice bytes)
{
    return false;
}

enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size)
{
    return TLS_END;
}

bool tls_write(struct tls_session *session, struct slice bytes)
{
    return false;
}

void tls_end(struct tls_session *session)
{
}

size_t tls_take(struct tls_session *session, char *bytes, size_t capacity)
{
    return 0;
}

bool tls_shaken(const struct tls_session *session)
{
    return false;
}

/* SPDX-License-Identifier: MIT
   TLS where it was built without it: says so.

   A file that asks for TLS is refused, never served without. */
#include <stdio.h>

#include "serve/net/tls.h"

struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    (void)certificate, (void)key;
    snprintf(problem, TLS_PROBLEM_MAX,
             "tls: this weir was built without OpenSSL; in its source: tools/deps build && tools/build");
    return NULL;
}

bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX])
{
    (void)tls, (void)certificate, (void)key, (void)problem;
    return false;
}

void tls_close(struct tls *tls)
{
    (void)tls;
}

struct tls_session *tls_accept(struct tls *tls)
{
    (void)tls;
    return NULL;
}

void tls_session_close(struct tls_session *session)
{
    (void)session;
}

bool tls_feed(struct tls_session *session, struct slice bytes)
{
    (void)session, (void)bytes;
    return false;
}

enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size)
{
    (void)session, (void)bytes, (void)capacity, (void)size;
    return TLS_END;
}

enum tls_result tls_write(struct tls_session *session, struct slice bytes)
{
    (void)session, (void)bytes;
    return TLS_END;
}

void tls_end(struct tls_session *session)
{
    (void)session;
}

struct slice tls_pending(const struct tls_session *session)
{
    (void)session;
    return (struct slice){"", 0};
}

void tls_sent(struct tls_session *session, size_t size)
{
    (void)session, (void)size;
}

bool tls_shaken(const struct tls_session *session)
{
    (void)session;
    return false;
}

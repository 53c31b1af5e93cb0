/* SPDX-License-Identifier: MIT
   The same bytes, encrypted: sans IO; tls_none.c without OpenSSL. */
#ifndef WEIR_SERVE_NET_TLS_H
#define WEIR_SERVE_NET_TLS_H

#include "format/slice.h"

enum { TLS_PROBLEM_MAX = 400 };

struct tls;
struct tls_session;

/* NULL: problem says why. */
struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX]);

/* For connections from now on; false: the old ones stay, and problem says why. */
bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX]);
void tls_close(struct tls *tls);

/* NULL: no memory. */
struct tls_session *tls_session_open(struct tls *tls);
void tls_session_close(struct tls_session *session);

/* Bytes from the wire.  false: no memory. */
bool tls_feed(struct tls_session *session, struct slice bytes);

/* What they say.  TLS_NONE: not yet; TLS_END: no more will come, or it is no TLS.  After it there may be something to
   send. */
enum tls_result { TLS_BYTES, TLS_NONE, TLS_END };
enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size);

/* false: it cannot be sent. */
bool tls_write(struct tls_session *session, struct slice bytes);

/* Says that we send no more. */
void tls_end(struct tls_session *session);

/* Bytes for the wire; 0: none. */
size_t tls_take(struct tls_session *session, char *bytes, size_t capacity);

bool tls_shaken(const struct tls_session *session);

#endif

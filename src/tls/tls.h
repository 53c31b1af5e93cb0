/* SPDX-License-Identifier: MIT
   TLS over memory: bytes from the wire go in, bytes for the wire come out.  No socket, and nothing waits.

       program --tls_write--> session --tls_pending, tls_sent--> wire
       program <--tls_read--- session <--------tls_feed--------- wire

   For the service, where it is the server, and for libweir-redis, where it is the client; libweir itself has none. */
#ifndef WEIR_TLS_TLS_H
#define WEIR_TLS_TLS_H

#include "format/slice.h"

enum { TLS_PROBLEM_MAX = 400 };

/* What the sessions of one side share: who it is, and whom it trusts. */
struct tls_context;
struct tls_session;

/* Files with the names that the user knows them by; trusted and certificate may be NULL. */
struct tls_files {
    const char *trusted, *certificate, *key;
    const char *trusted_name, *certificate_name;
};

/* A server has a certificate and does not ask for the client's.  A client checks the server's, by `trusted` or else by
   the system's certificates (or SSL_CERT_FILE and SSL_CERT_DIR).  NULL: problem says why, and nothing where
   there is no memory. */
struct tls_context *tls_server(const struct tls_files *files, char problem[TLS_PROBLEM_MAX]);
struct tls_context *tls_client(const struct tls_files *files, char problem[TLS_PROBLEM_MAX]);
void tls_context_close(struct tls_context *context); /* NULL is fine; sessions may go on */

/* A client says which host's certificate it wants, a name or an address; a server says NULL.  NULL: no memory. */
struct tls_session *tls_session_open(struct tls_context *context, const char *host);
void tls_session_close(struct tls_session *session); /* NULL is fine */

/* Bytes from the wire.  false: no memory. */
bool tls_feed(struct tls_session *session, struct slice bytes);

/* TLS_NONE: not before more is fed; TLS_END: no more will come, or it is no TLS: see tls_failure.  Whatever it was,
   there may be something to send. */
enum tls_result { TLS_BYTES, TLS_NONE, TLS_END };
enum tls_result tls_read(struct tls_session *session, char *bytes, size_t capacity, size_t *size);
enum tls_result tls_write(struct tls_session *session, struct slice bytes); /* all of them, or none */

/* Says that this side sends no more. */
void tls_end(struct tls_session *session);

/* Bytes for the wire, valid until the next call; and that so many of them have gone. */
struct slice tls_pending(const struct tls_session *session);
void tls_sent(struct tls_session *session, size_t size);

/* Is the handshake over? */
bool tls_shaken(const struct tls_session *session);

/* Why the session gave TLS_END; reason NULL: the other side has closed it. */
struct tls_failure {
    bool untrusted; /* the other side's certificate */
    const char *reason;
};
struct tls_failure tls_failure(const struct tls_session *session);

#endif

/* SPDX-License-Identifier: MIT
   TLS between a connection and its server; secure_none.c without OpenSSL. */
#ifndef WEIR_REDIS_CLIENT_LINK_SECURE_H
#define WEIR_REDIS_CLIENT_LINK_SECURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "redis/client/link/url.h"

struct secure;

enum { SECURE_WHY_MAX = 160 };

/* What all connections share: whom they trust, by the URL's file, or else by the system's certificates or those that
   SSL_CERT_FILE and SSL_CERT_DIR name; and who this is, where the URL has a certificate. */
int secure_open(void **owned, const struct engine_url *url, weir_error *error);
void secure_close(void *tls);

/* One connection to `host`, a name or an address, which must be the certificate's.  NULL: no memory. */
struct secure *secure_begin(void *tls, const char *host);
void secure_end(struct secure *secure); /* NULL is fine */

/* So many bytes, 0: it has to wait, -1: broken, and `why` says by what. */
ssize_t secure_write(struct secure *secure, int socket, const char *bytes, size_t size, char why[SECURE_WHY_MAX]);
ssize_t secure_read(struct secure *secure, int socket, char *bytes, size_t room, char why[SECURE_WHY_MAX]);

/* Would it write, if the socket took it? */
bool secure_writes(const struct secure *secure);
/* Is the handshake over, so that bytes can go? */
bool secure_is_open(const struct secure *secure);

#endif

/* SPDX-License-Identifier: MIT
   The service's certificate, renewed without a connection being lost; tls_none.c without OpenSSL. */
#ifndef WEIR_SERVE_NET_TLS_H
#define WEIR_SERVE_NET_TLS_H

#include "tls/tls.h"

struct tls;

/* NULL: problem says why. */
struct tls *tls_open(const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX]);

/* For connections from now on; false: the old ones stay, and problem says why. */
bool tls_renew(struct tls *tls, const char *certificate, const char *key, char problem[TLS_PROBLEM_MAX]);
void tls_close(struct tls *tls);

/* A session with a client; NULL: no memory. */
struct tls_session *tls_accept(struct tls *tls);

#endif

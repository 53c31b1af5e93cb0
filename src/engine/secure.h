/* SPDX-License-Identifier: MIT
   secure.h - TLS, where hiredis has it.

   See secure.c; without it secure_none.c has the same functions. */
#ifndef WEIR_ENGINE_SECURE_H
#define WEIR_ENGINE_SECURE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <sys/types.h>

#include <weir/weir.h>

/* By the system's certificates, or those of SSL_CERT_FILE; the name is checked. */
int secure_open(void **owned, const char *host, weir_error *error);
void secure_close(void *tls);

bool secure_begin(redisContext *context, void *tls);

/* So many bytes were taken, 0: wait, -1: broken. */
ssize_t secure_write(redisContext *context, const char *bytes, size_t size);

/* Does it have bytes of its own to write? */
bool secure_writes(const redisContext *context);

#endif

/* SPDX-License-Identifier: MIT
   What a client is told of its limits in headers.

   See headers.c. */
#ifndef WEIR_SERVE_HTTP_HEADERS_H
#define WEIR_SERVE_HTTP_HEADERS_H

#include "serve/batch.h"

enum { HEADERS_MAX = 3072 }; /* bytes that all of them take at most */

/* Must the table be asked once more for them?  Then the question is answered alone, before the next one changes it, so
   that answers are the same however requests arrive. */
bool headers_ask_table(const struct call *call);

/* RateLimit-Policy and RateLimit: an item for each limit that has a rate; nothing where there is none. */
void headers_ratelimit(struct bytes *out, const struct batch *batch, const struct call *call,
                       const weir_decision *decision);

/* X-RateLimit-Limit, -Remaining and -Reset of the limit that the decision names. */
void headers_x(struct bytes *out, const struct batch *batch, const struct call *call, const weir_decision *decision);

/* Seconds, never earlier than retry_ns, and up to a tenth later: clients that were refused together do not come back
   together. */
uint64_t headers_retry_s(uint64_t retry_ns, struct slice key, uint64_t now_ns);

#endif

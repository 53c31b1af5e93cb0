/* SPDX-License-Identifier: MIT
   What services that share an engine sign their receipts with: the secret that the engine keeps, and for a
   while the one before it.

   See secrets.c. */
#ifndef WEIR_SERVE_RECEIPT_SECRETS_H
#define WEIR_SERVE_RECEIPT_SECRETS_H

#include "serve/receipt/mac.h"

/* All zeros: there is none. */
struct secrets {
    struct mac *mac[2]; /* the first signs; NULL: there is none */
    uint64_t key[2];    /* their numbers */
    uint64_t until_us;  /* what was made by then, by the engine's clock, the second may have signed */
};

/* Of "NEW" or "NEW OLD SECONDS".  false: it is neither, or there is no memory; then there is none. */
bool secrets_read(struct secrets *secrets, const char *text);
void secrets_close(struct secrets *secrets);

/* The one of this number that may have signed what was made then; NULL: none. */
const struct mac *secrets_find(const struct secrets *secrets, uint64_t key, uint64_t made_us);

#endif

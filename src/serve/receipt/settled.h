/* SPDX-License-Identifier: MIT
   Which receipts have been settled, for as long as they can be; and the secret that signs them.

   See settled.c. */
#ifndef WEIR_SERVE_RECEIPT_SETTLED_H
#define WEIR_SERVE_RECEIPT_SETTLED_H

#include <weir/weir.h>

#include "serve/receipt/mac.h"

struct settled;

enum settled_answer { SETTLED_NOW, SETTLED_BEFORE, SETTLED_FULL };

struct settled_options {
    const char *path;   /* a file that a restart keeps; NULL: memory, and a new secret at each start */
    uint64_t window_ns; /* a receipt can be settled for so long */
    uint64_t receipts;  /* made in one window that are settled at most, about */
    uint64_t table;     /* which table receipts are of: those of another are not settled */
};

/* 0, or a WEIR_E*.  A file of another window, size or table is replaced, so that receipts of before are refused. */
int settled_open(struct settled **owned, const struct settled_options *options, weir_error *error);
void settled_close(struct settled *settled);

/* What signs, borrowed, and its number; NULL: built without OpenSSL. */
const struct mac *settled_mac(const struct settled *settled);
uint64_t settled_key(const struct settled *settled);

uint64_t settled_window_ns(const struct settled *settled);
uint64_t settled_bytes(const struct settled *settled);

/* Remembers a receipt by its mark and when it was made, by the table's clock; call it only with one that is no older
   than the window.  Of all who come at once with the same one, also from other processes, one is told SETTLED_NOW. */
enum settled_answer settled_take(struct settled *settled, uint64_t made_ns, const uint8_t mark[MAC_SIZE]);

/* How many were told SETTLED_FULL; of NULL 0. */
uint64_t settled_refused(const struct settled *settled);

#endif

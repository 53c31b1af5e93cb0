/* SPDX-License-Identifier: MIT
   Where the service keeps what was used: one table of 16-byte slots for limits by gcra, and one of wide
   slots for each size that other algorithms need, made when a limit first needs it.

   See tables.c. */
#ifndef WEIR_SERVE_POLICY_TABLES_H
#define WEIR_SERVE_POLICY_TABLES_H

#include <weir/weir.h>

#include "serve/receipt/settled.h"

struct tables;

/* Sizes of wide slots: powers of two, in bytes of state. */
enum { TABLES_WIDE_MIN = 64, TABLES_WIDE_MAX = 1 << 20, TABLES_WIDE_SIZES = 15 };

struct tables_options {
    uint64_t keys_max;   /* of the slots, and of each size of wide slots at most; 0 = 1,000,000 */
    uint64_t wide_bytes; /* of memory for each table of wide slots at most; 0 = 256 MiB */
    uint64_t memory;     /* bytes of all tables together at most; 0 = enough for the keys and four sizes of wide slots,
                            and no more than half of what is available */
    const char *state; /* a file that a restart keeps (wide slots: that name, ".wide-" and their size); NULL: memory */
    weir_when_full when_full;
    uint64_t settle_ns;   /* how long a receipt can be settled; 0 = 15 minutes */
    uint64_t settled_max; /* receipts of such a time that are settled at most; 0 = keys_max, 65,536 at least */
    uint32_t top;         /* how many of the most refused keys can be told */
};

/* 0, or a WEIR_E*. */
int tables_open(struct tables **owned, const struct tables_options *options, weir_error *error);
void tables_close(struct tables *tables);

/* The table that can hold this plan, borrowed until tables_close; NULL: none can, see error.  Any thread. */
weir_table *tables_for(struct tables *tables, const weir_plan *plan, weir_error *error);

/* The part of one of them for the limit of this name, as struct plan has it: for so many keys (0: the table's, divided
   by twice so many limits) when it is new; a part stays what it is.  0: there is no memory for it, see error.  Any
   thread. */
unsigned tables_part(struct tables *tables, weir_table *table, weir_key name, uint64_t keys, unsigned limits,
                     weir_error *error);

/* This plan, which has its part, is the limit's from now on: what was used under another one stays used, as many
   permits, but no more than its burst.  Any thread. */
void tables_enter(struct tables *tables, weir_table *table, weir_plan *plan);

/* The table that holds plans that keep nothing, borrowed as the others. */
weir_table *tables_usual(const struct tables *tables);

/* Another one for each table, also for one that begins anew under the same name. */
uint64_t tables_number(const weir_table *table);

/* Which receipts have been settled; with state in that name and ".receipts".  Borrowed; NULL without tables. */
struct settled *tables_settled(const struct tables *tables);

/* Could tables that are opened with these options hold this plan?  0, or a WEIR_E*. */
int tables_could_hold(const struct tables_options *options, const weir_plan *plan, weir_error *error);

/* What of the bound is given out. */
struct tables_memory {
    uint64_t used, most;
    uint64_t refused; /* limits that found too little left */
};
struct tables_memory tables_read_memory(const struct tables *tables); /* NULL is fine */

/* Keys that the table of 16-byte slots is made for; of NULL the usual number. */
uint64_t tables_keys_max(const struct tables *tables);

/* How many keys are live in all together: each slot is looked at. */
uint64_t tables_live(struct tables *tables);

/* All other counters of all together, at once; of keys_max and bytes the sums of the tables that there are. */
weir_table_stats tables_read_counters(const struct tables *tables);

/* The most refused keys of all, the most refused first.  A key that several tables refused is told once, with what they
   refused together. */
size_t tables_read_top(struct tables *tables, weir_top *top, size_t count);

#endif

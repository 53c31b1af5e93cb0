/* SPDX-License-Identifier: MIT
   The options of a limit, one row each: they are read, written and told by it (option.c), and a test holds the manual
   against it. */
#ifndef WEIR_PLAN_OPTION_H
#define WEIR_PLAN_OPTION_H

#include "core/limit.h"
#include "plan/write.h"

struct reader;

enum option_type {
    TYPE_FLAG,   /* its name says it */
    TYPE_COUNT,  /* permits */
    TYPE_TIME,   /* ns */
    TYPE_AMOUNT, /* either of them; `said` says which, an enum amount_kind */
    TYPE_FACTOR, /* a decimal above 0 */
    TYPE_SHARE,  /* a decimal from 0 to 1 */
    TYPE_CHOICE, /* one of two words: 1 or 2, 0 when nothing was said */
    TYPE_NAME,   /* of an algorithm */
    TYPE_LATER   /* known, and not built */
};

struct option_row {
    const char *name;
    uint8_t type;         /* an enum option_type */
    uint8_t implies;      /* the algorithm that it brings when none is said; 0: none */
    uint16_t place;       /* where struct limit has it ... */
    uint16_t said;        /* ... and whether it was said; 0: the value itself shows it */
    const char *expected; /* what a value of another type is told */
    const char *range;    /* what one out of range is told */
    const char *choice[2];
};

const struct option_row *option_at(int option);

/* By its name; negative when there is none. */
int option_find(const char *word, size_t size);
bool option_fits(int option, int algorithm);

/* Reads the value of an option into the reader's limit, behind its "="; a flag has none. */
bool option_read(struct reader *reader, int option);

/* Writes " name=value", where it was said and its algorithm knows it. */
void option_write(struct writer *writer, const struct limit *limit, int option);

#endif

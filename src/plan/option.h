/* SPDX-License-Identifier: MIT
   The options of a limit, one row each.  A row drives parsing and formatting (option.c); a test checks the manual
   against it. */
#ifndef WEIR_PLAN_OPTION_H
#define WEIR_PLAN_OPTION_H

#include "core/limit.h"
#include "plan/write.h"

struct reader;

enum option_type {
    TYPE_FLAG,   /* present or absent */
    TYPE_COUNT,  /* permits */
    TYPE_TIME,   /* ns */
    TYPE_AMOUNT, /* permits or ns; `said` says which, an enum amount_kind */
    TYPE_FACTOR, /* a decimal above 0 */
    TYPE_SHARE,  /* a decimal from 0 to 1 */
    TYPE_CHOICE, /* one of two words: 1 or 2; 0 when the option was not given */
    TYPE_NAME    /* the name of an algorithm */
};

struct option_row {
    const char *name;
    uint8_t type;         /* an enum option_type */
    uint8_t implies;      /* the algorithm that this option selects when none is named; 0: none */
    uint16_t place;       /* offset of the value in struct limit ... */
    uint16_t said;        /* ... and of the flag that it was given; 0: the value itself shows it */
    const char *expected; /* the error for a value of the wrong type */
    const char *range;    /* the error for a value out of range */
    const char *choice[2];
};

const struct option_row *option_at(int option);

/* The option with this name; negative when there is none. */
int option_find(const char *word, size_t size);
bool option_fits(int option, int algorithm);

/* Reads the value behind "=" into the reader's limit.  A flag has no value. */
bool option_read(struct reader *reader, int option);

/* Writes " name=value" if the option was given and the limit's algorithm accepts it. */
void option_write(struct writer *writer, const struct limit *limit, int option);

#endif

/* SPDX-License-Identifier: MIT
   fields.h - named values as clients send them: a query or form (a=b&c=d), or a flat object of JSON.

   See fields.c. */
#ifndef WEIR_FORMAT_FIELDS_H
#define WEIR_FORMAT_FIELDS_H

#include "format/bytes.h"

enum { FIELDS_MAX = 32, FIELDS_NUMBERS_MAX = 8 };

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_BOOL, FIELD_NUMBERS };

struct field {
    struct slice name, value;            /* decoded; of FIELD_NUMBERS as it was sent */
    enum field_kind kind;                /* of a form: always FIELD_TEXT */
    uint64_t number[FIELDS_NUMBERS_MAX]; /* FIELD_NUMBER: one; whole numbers only */
    unsigned numbers;
};

struct fields {
    struct field field[FIELDS_MAX];
    unsigned count;
};

struct fields_problem {
    size_t column; /* from 1 */
    const char *words;
};

/* Decoded values are written to `room`, which must live as long as the fields; it is full when it is smaller than
   text.size.  A name twice, too many fields, bad escapes and invalid UTF-8 in JSON are problems. */
bool fields_read_form(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);
bool fields_read_json(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);

/* NULL: there is none. */
const struct field *fields_find(const struct fields *fields, const char *name);

#endif

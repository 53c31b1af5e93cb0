/* SPDX-License-Identifier: MIT
   Structs of a caller that was built with another version: shorter or longer. */
#ifndef WEIR_API_SIZED_H
#define WEIR_API_SIZED_H

#include <stddef.h>

#include <weir/weir.h>

/* Reads options, whose first field is their size, over the defaults in `known`; NULL changes nothing.  0; WEIR_EINVAL:
   the size was not set; WEIR_EVERSION: a field is set that this version does not know. */
int api_read_options(void *known, size_t known_size, const void *options, const char *filled_by, weir_error *error);

/* Fills as much as the caller has room for; what this version does not know is 0. */
void api_write_sized(void *out, size_t size, const void *known, size_t known_size);

#endif

/* SPDX-License-Identifier: MIT
   Standard input and output, before and after a program's work.

   See streams.c. */
#ifndef WEIR_CLI_COMMON_STREAMS_H
#define WEIR_CLI_COMMON_STREAMS_H

/* First of all: nothing that is opened later gets the number of a stream that the caller has closed. */
void streams_keep_numbers(void);

/* Last of all: status, or STATUS_TROUBLE where standard output could not be written. */
int streams_written(int status);

#endif

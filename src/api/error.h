/* SPDX-License-Identifier: MIT
   error.h - what is said when something cannot be made: each fills the error, where there is one, and returns the code.

   See error.c. */
#ifndef WEIR_API_ERROR_H
#define WEIR_API_ERROR_H

#include <weir/weir.h>

int api_fail(weir_error *error, int code, const char *message);

/* Of host_prepare, before anything is opened: 0, or WEIR_ESYSTEM. */
int api_prepare(weir_error *error);

/* path NULL: memory without a name.  number: an errno value. */
int api_fail_system(weir_error *error, const char *what, const char *path, int number);
int api_fail_file(weir_error *error, int code, const char *path, const char *message);

/* The same of a state that this weir cannot go on with, and then "; to begin anew: mv PATH PATH.old".  `what` is 90
   characters at most; where the path is too long for the message, the command is given in words. */
int api_fail_state(weir_error *error, int code, const char *path, const char *what);

#endif

/* SPDX-License-Identifier: MIT
   Errors of functions that open something.  Each fills the error, which may be NULL, and returns the code. */
#ifndef WEIR_API_ERROR_H
#define WEIR_API_ERROR_H

#include <weir/weir.h>

int api_fail(weir_error *error, int code, const char *message);

/* Calls host_prepare, before anything is opened: 0, or WEIR_ESYSTEM. */
int api_prepare(weir_error *error);

/* path NULL: memory without a name.  number: an errno value. */
int api_fail_system(weir_error *error, const char *what, const char *path, int number);
int api_fail_file(weir_error *error, int code, const char *path, const char *message);

/* The same for state that this version cannot use, followed by "; to start afresh: mv PATH PATH.old".  `what` has
   at most 90 characters; if the path is too long for the message, the command is described in words. */
int api_fail_state(weir_error *error, int code, const char *path, const char *what);

#endif

/* SPDX-License-Identifier: MIT
   The password of an engine, for the commands that ask one.

   See engine_password.c. */
#ifndef WEIR_CLI_COMMON_ENGINE_PASSWORD_H
#define WEIR_CLI_COMMON_ENGINE_PASSWORD_H

enum { ENGINE_PASSWORD_MAX = 1024 };

/* The first line of the file, or without one what WEIR_ENGINE_PASSWORD says; *password NULL: neither, and then what the
   URL has counts.  Prints what is wrong, and returns STATUS_TROUBLE. */
int engine_password(const char *command, const char *file, char memory[ENGINE_PASSWORD_MAX], const char **password);

/* The same of a running weir serve, by WEIR_PASSWORD, which it reads itself. */
int engine_password_of_service(const char *command, const char *file, char memory[ENGINE_PASSWORD_MAX],
                               const char **password);

#endif

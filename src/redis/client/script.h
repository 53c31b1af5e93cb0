/* SPDX-License-Identifier: MIT
   Src/redis/script/weir.lua, as the build found it (cmake/embed_script.cmake). */
#ifndef WEIR_REDIS_CLIENT_SCRIPT_H
#define WEIR_REDIS_CLIENT_SCRIPT_H

#include <stddef.h>

/* For FUNCTION LOAD. */
const char *script_functions(size_t *size);
/* For EVAL. */
const char *script_text(size_t *size);
const char *script_sha1(void); /* 40 hexadecimal digits: what EVALSHA calls it */

#endif

/* SPDX-License-Identifier: MIT
   A log_format as it stands in nginx.conf, to the text that nginx makes of it.

   See directive.c. */
#ifndef WEIR_FORMAT_LOG_DIRECTIVE_H
#define WEIR_FORMAT_LOG_DIRECTIVE_H

#include <stdbool.h>

/* out has room for as many bytes as text, its end included.  False: text is no directive, and out holds nothing. */
bool directive_read(const char *text, char *out);

#endif

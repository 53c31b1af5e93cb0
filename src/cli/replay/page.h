/* SPDX-License-Identifier: MIT
   The page as it is built in: all of web/ and uPlot, cut where the data goes.

   See page.c; the build makes the functions (cmake/embed_page.cmake). */
#ifndef WEIR_CLI_REPLAY_PAGE_H
#define WEIR_CLI_REPLAY_PAGE_H

#include "format/page_template.h"

struct page_template page_template(void);

#endif

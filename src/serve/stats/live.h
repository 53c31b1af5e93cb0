/* SPDX-License-Identifier: MIT
   The service's page as it is built in: web/live and uPlot.

   See live.c; the build makes the function (cmake/embed_page.cmake). */
#ifndef WEIR_SERVE_STATS_LIVE_H
#define WEIR_SERVE_STATS_LIVE_H

#include "format/page_template.h"

struct page_template live_template(void);

#endif

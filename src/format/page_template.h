/* SPDX-License-Identifier: MIT
   A page as it is built in: its HTML with all that it names and uPlot, cut where data goes. */
#ifndef WEIR_FORMAT_PAGE_TEMPLATE_H
#define WEIR_FORMAT_PAGE_TEMPLATE_H

#include <stddef.h>

/* Borrowed, for ever; NULL and 0 when built without the page.  No tail: no data goes in. */
struct page_template {
    const char *head;
    size_t head_size;
    const char *tail;
    size_t tail_size;
    const char *policy; /* its Content-Security-Policy, as HTTP says it */
};

#endif

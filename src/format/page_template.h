/* SPDX-License-Identifier: MIT
   page_template.h - a page as it is built in: its HTML with all that it names and uPlot, cut where data goes.

   May touch: nothing.  Promises: nothing.  Leaves to others: which page; the build makes the functions that give one
   (cmake/embed_page.cmake). */
#ifndef WEIR_FORMAT_PAGE_TEMPLATE_H
#define WEIR_FORMAT_PAGE_TEMPLATE_H

#include <stddef.h>

/* Borrowed, for ever; NULL and 0 when built without the page.  No tail: no data goes in. */
struct page_template {
    const unsigned char *head;
    size_t head_size;
    const unsigned char *tail;
    size_t tail_size;
    const char *policy; /* its Content-Security-Policy, as HTTP says it */
};

#endif

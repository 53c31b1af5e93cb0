/* SPDX-License-Identifier: MIT
   page.h - the page as it is built in: all of web/ and uPlot, cut where the data goes.

   See page.c; the build makes the functions (cmake/embed_page.cmake). */
#ifndef WEIR_CLI_PAGE_H
#define WEIR_CLI_PAGE_H

#include <stddef.h>

/* Borrowed, for ever; NULL and 0 when built without the page. */
struct page_template {
    const unsigned char *head;
    size_t head_size;
    const unsigned char *tail;
    size_t tail_size;
};

struct page_template page_template(void);

#endif

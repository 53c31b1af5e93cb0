/* SPDX-License-Identifier: MIT
   The service's page, or a plain one where it is not built in.

   The same bytes for as long as the process runs. */
#include "serve/stats/live.h"

#include "serve/stats/text.h"

static const char plain_page[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>weir serve</title></head>\n"
    "<body><h1>weir " WEIR_VERSION " is serving</h1>\n"
    "<p>It was built without its page, which needs uPlot; in its source: tools/page &amp;&amp; tools/build.</p>\n"
    "<p>The same figures: <a href=\"/metrics\">/metrics</a> for Prometheus, <a href=\"/v1/stats\">/v1/stats</a> as "
    "JSON.</p>\n"
    "</body></html>\n";

struct slice page_bytes(const char *path, const char **type, const char **policy)
{
    if (strcmp(path, "/") != 0) return (struct slice){NULL, 0};
    const struct page_template page = live_template();
    *type = "text/html; charset=utf-8";
    *policy = page.head_size != 0 ? page.policy : "default-src 'none'";
    if (page.head_size == 0) return slice_of(plain_page);
    return (struct slice){page.head, page.head_size};
}

/* SPDX-License-Identifier: MIT
   Writes the page of weir serve as it is built in: its type, its policy, its bytes. */
#include <stdio.h>

#include "serve/stats/text.h"

int main(void)
{
    const char *type = "", *policy = "";
    const struct slice page = live_page("/", &type, &policy), none = live_page("/other", &type, &policy);
    if (page.size == 0 || none.size != 0) return 1;
    printf("%s\n%s\n", type, policy);
    return fwrite(page.bytes, 1, page.size, stdout) == page.size ? 0 : 1;
}

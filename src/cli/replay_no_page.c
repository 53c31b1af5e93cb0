/* SPDX-License-Identifier: MIT
   replay_no_page.c - stands in for page.c until that is there.

   May touch: stderr.  Promises: says so.  Leaves to others: the page. */
#include "cli/arguments.h"
#include "cli/replay.h"

__attribute__((weak)) bool page_write(const struct replay_result *result, const char *path)
{
    (void)result;
    trouble("--html %s: this weir was built without the page", path);
    return false;
}

/* SPDX-License-Identifier: MIT
   What systemd is told.

   See notify.c. */
#ifndef WEIR_SERVE_NET_NOTIFY_H
#define WEIR_SERVE_NET_NOTIFY_H

#include <stdint.h>

/* Where to tell it; -1: nobody asked. */
struct notify {
    int descriptor;
    uint64_t watchdog_ns; /* tell more often than this that all is well; 0: nobody asked */
};

void notify_open(struct notify *notify);
void notify_close(struct notify *notify);

/* Each with words for `systemctl status`. */
void notify_ready(const struct notify *notify, const char *status);
void notify_reloading(const struct notify *notify);
void notify_stopping(const struct notify *notify);
void notify_alive(const struct notify *notify);

#endif

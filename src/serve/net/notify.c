/* SPDX-License-Identifier: MIT
   What systemd is told: sd_notify(3) without its library.

   Never waits, fails silently: nobody is served better by a service that stops since its supervisor does not listen. */
#include "serve/net/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/bytes.h"
#include "host/clock.h"

static uint64_t watchdog_ns(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *of = getenv("WATCHDOG_PID");
    uint64_t number, process;
    if (us == NULL || !slice_number(slice_of(us), &number) || number > UINT64_MAX / 1000) return 0;
    if (of != NULL && (!slice_number(slice_of(of), &process) || process != (uint64_t)getpid())) return 0;
    return number * 1000;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || size >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') address.sun_path[0] = '\0';
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (const struct sockaddr *)&address, length) == 0) return descriptor;
    close(descriptor);
    return -1;
}

void notify_open(struct notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET");
    *notify = (struct notify){.descriptor = path != NULL ? connect_to(path) : -1};
    if (notify->descriptor >= 0) notify->watchdog_ns = watchdog_ns();
}

void notify_close(struct notify *notify)
{
    if (notify->descriptor >= 0) close(notify->descriptor);
    notify->descriptor = -1;
}

static void tell(const struct notify *notify, const char *text)
{
    if (notify->descriptor >= 0) (void)!send(notify->descriptor, text, strlen(text), MSG_NOSIGNAL);
}

void notify_ready(const struct notify *notify, const char *status)
{
    char text[600];
    snprintf(text, sizeof text, "READY=1\nSTATUS=%s\n", status);
    tell(notify, text);
}

void notify_reloading(const struct notify *notify)
{
    char text[100];
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu\n", (unsigned long long)(host_now_ns() / 1000));
    tell(notify, text);
}

void notify_stopping(const struct notify *notify)
{
    tell(notify, "STOPPING=1\nSTATUS=answering the requests received\n");
}

void notify_alive(const struct notify *notify)
{
    tell(notify, "WATCHDOG=1\n");
}

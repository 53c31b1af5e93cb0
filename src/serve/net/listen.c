/* SPDX-License-Identifier: MIT
   Addresses to sockets that listen.

   A port that somebody else has is refused, although our own workers share it; both addresses of localhost get the same
   port; a Unix socket that nobody listens on is replaced, any other file is left alone. */
#include "serve/net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/address_text.h"

enum {
    BACKLOG = 4096,
    WANTED_MAX = 2,
    PORT_TRIES = 100,
    UNIX_MODE = 0660,
    INHERITED_FIRST = 3,
    SOCKET_TYPE = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

_Static_assert(sizeof((struct sockaddr_un *)0)->sun_path > ADDRESS_PATH_MAX, "and a NUL behind it");

/* What a text means.  Of localhost, ::1 is left out where the system does not have it. */
struct wanted {
    union address address[WANTED_MAX];
    unsigned count;
    bool localhost;
};

static bool __attribute__((format(printf, 2, 3))) say(char problem[LISTEN_PROBLEM_MAX], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, LISTEN_PROBLEM_MAX, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the text of an address ---- */

static union address v4_at(uint32_t host, in_port_t port)
{
    return (union address){.v4 = {.sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(host)}}};
}

static union address v6_at(struct in6_addr host, in_port_t port)
{
    return (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = host}};
}

static struct wanted localhost_at(in_port_t port)
{
    return (struct wanted){{v4_at(INADDR_LOOPBACK, port), v6_at(in6addr_loopback, port)}, 2, true};
}

static union address ip_at(const struct address_listen *listen, in_port_t port)
{
    struct in6_addr v6;
    uint32_t v4;
    memcpy(&v6, listen->bytes, sizeof v6);
    memcpy(&v4, listen->bytes, sizeof v4);
    return listen->size == ADDRESS_V4 ? v4_at(ntohl(v4), port) : v6_at(v6, port);
}

static union address unix_at(struct slice path)
{
    union address address = {.local = {.sun_family = AF_UNIX}};
    memcpy(address.local.sun_path, path.bytes, path.size);
    return address;
}

static bool read_wanted(const char *text, struct wanted *wanted, char problem[LISTEN_PROBLEM_MAX])
{
    struct address_listen listen;
    const char *const expected = address_read_listen(slice_of(text), &listen);
    const in_port_t port = htons(listen.port);
    if (expected != NULL) return say(problem, "\"%.120s\": %s", text, expected);
    *wanted = (struct wanted){.count = 1};
    if (listen.kind == ADDRESS_LOCALHOST) *wanted = localhost_at(port);
    else if (listen.kind == ADDRESS_ANY) wanted->address[0] = v6_at(in6addr_any, port);
    else if (listen.kind == ADDRESS_IP) wanted->address[0] = ip_at(&listen, port);
    else wanted->address[0] = unix_at(listen.path);
    return true;
}

static bool is_loopback(const union address *address)
{
    const unsigned char *v6 = address->v6.sin6_addr.s6_addr;
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address->any.sa_family == AF_UNIX) return true;
    if (address->any.sa_family == AF_INET) return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return memcmp(v6, &in6addr_loopback, sizeof in6addr_loopback) == 0 ||
           (memcmp(v6, mapped, sizeof mapped) == 0 && v6[12] == 127);
}

/* The digits of the address, without its port. */
static struct slice write_ip(const union address *address, char memory[ADDRESS_TEXT_MAX])
{
    const bool v4 = address->any.sa_family == AF_INET;
    const void *const at = v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr;
    const size_t size = v4 ? ADDRESS_V4 : ADDRESS_V6;
    struct bytes out = {memory, 0, ADDRESS_TEXT_MAX, false};
    address_write(&out, at, size, (int)size * 8);
    return bytes_slice(&out);
}

static void write_address(const union address *address, char text[LISTEN_TEXT_MAX])
{
    if (address->any.sa_family == AF_UNIX) {
        snprintf(text, LISTEN_TEXT_MAX, "unix:%.*s", (int)sizeof address->local.sun_path, address->local.sun_path);
        return;
    }
    char memory[ADDRESS_TEXT_MAX];
    const struct slice ip = write_ip(address, memory);
    const bool v4 = address->any.sa_family == AF_INET;
    const in_port_t port = v4 ? address->v4.sin_port : address->v6.sin6_port;
    snprintf(text, LISTEN_TEXT_MAX, v4 ? "%.*s:%u" : "[%.*s]:%u", (int)ip.size, ip.bytes, ntohs(port));
}

static union address address_of(int descriptor)
{
    union address address = {0};
    socklen_t size = sizeof address;
    getsockname(descriptor, &address.any, &size);
    return address;
}

/* As bound: port 0 has become a number. */
static void describe(struct listener *listener)
{
    const union address address = address_of(listener->descriptor[0]);
    listener->is_public = !is_loopback(&address);
    listener->local = address.any.sa_family == AF_UNIX;
    write_address(&address, listener->text);
}

/* A socket unit of systemd and the file may say the same. */
static bool is_handed_over(const struct listener listeners[], unsigned count, const union address *address,
                           enum session_protocol protocol)
{
    char text[LISTEN_TEXT_MAX];
    write_address(address, text);
    for (unsigned i = 0; i < count; i++) {
        const struct listener *listener = &listeners[i];
        if (listener->inherited && listener->protocol == protocol && strcmp(listener->text, text) == 0) return true;
    }
    return false;
}

static bool has_room(unsigned count, unsigned more, char problem[LISTEN_PROBLEM_MAX])
{
    return count + more <= LISTENERS_MAX || say(problem, "too many addresses: expected %d at most", LISTENERS_MAX);
}

static struct listener *add_listener(struct listener listeners[LISTENERS_MAX], unsigned *count,
                                     enum session_protocol protocol, int descriptor)
{
    listeners[*count] = (struct listener){.protocol = protocol, .descriptor = {descriptor}, .count = 1};
    return &listeners[(*count)++];
}

/* ---- TCP ---- */

static socklen_t size_of(const union address *address)
{
    return address->any.sa_family == AF_INET ? sizeof address->v4 : sizeof address->v6;
}

/* Connections get these from the socket that they came by: answers leave at once, and a client that is gone without a
   word is found out also where idle ones may stay. */
static void set_for_all(int descriptor)
{
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* shared: others of ours may have the port, too.  The first has it alone when it is bound, so that a port of another
   server is refused; it shares it from then on.  -1: see errno. */
static int bind_tcp(const union address *address, bool shared)
{
    const int on = 1, off = 0;
    const int descriptor = socket(address->any.sa_family, SOCKET_TYPE, 0);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->any.sa_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (shared) setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    set_for_all(descriptor);
    if (bind(descriptor, &address->any, size_of(address)) == 0) {
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        return descriptor;
    }
    const int why = errno;
    close(descriptor);
    errno = why;
    return -1;
}

/* Not that something is wrong: this system has no such thing. */
static bool is_lacking(int why)
{
    return why == EAFNOSUPPORT || why == EPROTONOSUPPORT || why == EADDRNOTAVAIL;
}

/* All addresses, where there is no IPv6. */
static int bind_first(union address *address)
{
    const int descriptor = bind_tcp(address, false);
    const bool any =
        address->any.sa_family == AF_INET6 && memcmp(&address->v6.sin6_addr, &in6addr_any, sizeof in6addr_any) == 0;
    if (descriptor >= 0 || !any || !is_lacking(errno)) return descriptor;
    *address = v4_at(INADDR_ANY, address->v6.sin6_port);
    return bind_tcp(address, false);
}

static in_port_t *port_of(union address *address)
{
    return address->any.sa_family == AF_INET ? &address->v4.sin_port : &address->v6.sin6_port;
}

static int close_all(const int descriptor[], unsigned count, int why)
{
    for (unsigned i = 0; i < count; i++) close(descriptor[i]);
    return why;
}

/* All at one port, which is the first one's.  0, or errno: then *failed is the address, and none is bound. */
static int bind_together(struct wanted *wanted, int descriptor[WANTED_MAX], union address *failed)
{
    for (unsigned i = 0; i < wanted->count; i++) {
        union address *address = &wanted->address[i];
        if (i != 0) {
            union address first = address_of(descriptor[0]);
            *port_of(address) = *port_of(&first);
        }
        descriptor[i] = bind_first(address);
        if (descriptor[i] >= 0) continue;
        const int why = errno;
        *failed = *address;
        if (!wanted->localhost || address->any.sa_family != AF_INET6 || !is_lacking(why)) {
            return close_all(descriptor, i, why);
        }
        wanted->count = i;
    }
    return 0;
}

/* Of the free ports, one that both have free. */
static int bind_wanted(struct wanted *wanted, int descriptor[WANTED_MAX], union address *failed)
{
    const bool any_port = wanted->count != 0 && *port_of(&wanted->address[0]) == 0;
    int why = 0;
    for (int i = 0; i < PORT_TRIES; i++) {
        why = bind_together(wanted, descriptor, failed);
        if (why != EADDRINUSE || !any_port) break;
    }
    return why;
}

/* Another socket of the same port for each worker; where one cannot be made, all share the first. */
static void bind_others(struct listener *listener, unsigned workers)
{
    const union address address = address_of(listener->descriptor[0]);
    while (listener->count < workers) {
        const int descriptor = bind_tcp(&address, true);
        if (descriptor < 0) break;
        listener->descriptor[listener->count++] = descriptor;
    }
    while (listener->count < workers && listener->count > 1) close(listener->descriptor[--listener->count]);
}

static bool cannot(char problem[LISTEN_PROBLEM_MAX], const char *address, int why)
{
    switch (why) {
    case EADDRINUSE:
        return say(problem, "cannot listen on %s: address in use, by another weir serve?  Port 0 takes a free one",
                   address);
    case EACCES:
        if (strchr(address, '/') != NULL)
            return say(problem, "cannot listen on %s: permission denied; this user may not write to its directory",
                       address);
        return say(problem,
                   "cannot listen on %s: permission denied; ports below 1024 are for root, or for systemd to "
                   "hand over",
                   address);
    case EADDRNOTAVAIL:
        return say(problem, "cannot listen on %s: this machine has no such address", address);
    default:
        return say(problem, "cannot listen on %s: %s", address, strerror(why));
    }
}

static bool listen_all(const struct listener *listener)
{
    for (unsigned i = 0; i < listener->count; i++) {
        if (listen(listener->descriptor[i], BACKLOG) != 0) return false;
    }
    return true;
}

static void leave_out(struct wanted *wanted, const struct listener listeners[], unsigned count,
                      enum session_protocol protocol)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < wanted->count; i++) {
        if (is_handed_over(listeners, count, &wanted->address[i], protocol)) continue;
        wanted->address[kept++] = wanted->address[i];
    }
    wanted->count = kept;
}

static bool listen_tcp(struct listener *listener, unsigned workers, char problem[LISTEN_PROBLEM_MAX])
{
    bind_others(listener, workers);
    describe(listener);
    return listen_all(listener) || cannot(problem, listener->text, errno);
}

static bool open_tcp(struct listener listeners[LISTENERS_MAX], unsigned *count, const char *text, struct wanted wanted,
                     enum session_protocol protocol, unsigned workers, char problem[LISTEN_PROBLEM_MAX])
{
    union address failed;
    char name[LISTEN_TEXT_MAX];
    int descriptor[WANTED_MAX];
    const unsigned before = *count;
    leave_out(&wanted, listeners, *count, protocol);
    if (!has_room(*count, wanted.count, problem)) return false;
    const int why = bind_wanted(&wanted, descriptor, &failed);
    if (why != 0) {
        write_address(&failed, name);
        return cannot(problem, wanted.localhost ? name : text, why);
    }
    for (unsigned i = 0; i < wanted.count; i++) add_listener(listeners, count, protocol, descriptor[i]);
    bool listens = true;
    for (unsigned i = before; listens && i < *count; i++) listens = listen_tcp(&listeners[i], workers, problem);
    return listens;
}

/* ---- Unix sockets ---- */

/* Is there the file of a server that has gone?  It refuses; a living one takes the connection, or is busy. */
static bool is_stale(const union address *address)
{
    struct stat status;
    if (lstat(address->local.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    const int descriptor = socket(AF_UNIX, SOCKET_TYPE, 0);
    if (descriptor < 0) return false;
    const bool refused = connect(descriptor, &address->any, sizeof address->local) != 0 && errno == ECONNREFUSED;
    close(descriptor);
    return refused;
}

static int bind_unix(int descriptor, const union address *address, unsigned mode)
{
    const mode_t before = umask((mode_t)~mode & 0777); /* no other thread is there yet */
    int why = bind(descriptor, &address->any, sizeof address->local) == 0 ? 0 : errno;
    if (why == EADDRINUSE && is_stale(address) && unlink(address->local.sun_path) == 0) {
        why = bind(descriptor, &address->any, sizeof address->local) == 0 ? 0 : errno;
    }
    umask(before);
    return why;
}

static bool open_unix(struct listener listeners[LISTENERS_MAX], unsigned *count, const union address *address,
                      enum session_protocol protocol, unsigned mode, char problem[LISTEN_PROBLEM_MAX])
{
    const char *const path = address->local.sun_path;
    struct stat status;
    if (is_handed_over(listeners, *count, address, protocol)) return true;
    if (!has_room(*count, 1, problem)) return false;
    const int descriptor = socket(AF_UNIX, SOCKET_TYPE, 0);
    if (descriptor < 0) return cannot(problem, path, errno);
    struct listener *listener = add_listener(listeners, count, protocol, descriptor);
    const int why = bind_unix(descriptor, address, mode != 0 ? mode : UNIX_MODE);
    if (why == EADDRINUSE) return say(problem, "cannot listen on unix:%s: there is a file, or another server", path);
    if (why != 0) return cannot(problem, path, why);
    if (lstat(path, &status) == 0) listener->device = status.st_dev, listener->inode = status.st_ino;
    if (!listen_all(listener)) return cannot(problem, path, errno);
    describe(listener);
    return true;
}

bool listen_open(struct listener listeners[LISTENERS_MAX], unsigned *count, const char *address,
                 enum session_protocol protocol, unsigned workers, unsigned unix_mode, char problem[LISTEN_PROBLEM_MAX])
{
    const unsigned before = *count;
    struct wanted wanted = {.count = 0};
    if (!read_wanted(address, &wanted, problem)) return false;
    const bool opened = wanted.address[0].any.sa_family == AF_UNIX
                            ? open_unix(listeners, count, &wanted.address[0], protocol, unix_mode, problem)
                            : open_tcp(listeners, count, address, wanted, protocol, workers, problem);
    while (!opened && *count > before) listen_close(&listeners[--*count]);
    return opened;
}

bool listen_look(const char *address, bool *is_public, char problem[LISTEN_PROBLEM_MAX])
{
    struct wanted wanted = {.count = 0};
    const bool understood = read_wanted(address, &wanted, problem);
    *is_public = understood && !is_loopback(&wanted.address[0]); /* both of localhost are, or neither */
    return understood;
}

/* ---- those that systemd hands over ---- */

static bool name_protocol(struct slice name, enum session_protocol *protocol)
{
    *protocol = slice_is(name, slice_of("http")) ? SESSION_HTTP : SESSION_RESP;
    return *protocol == SESSION_HTTP || slice_is(name, slice_of("resp")) || slice_is(name, slice_of("unix"));
}

static bool inherit_one(struct listener *listener, int descriptor, struct slice name, char problem[LISTEN_PROBLEM_MAX])
{
    int listens = 0;
    socklen_t size = sizeof listens;
    *listener = (struct listener){.inherited = true, .count = 1, .descriptor = {descriptor}};
    if (!name_protocol(name, &listener->protocol)) {
        return say(problem,
                   "LISTEN_FDNAMES: \"%.*s\": expected resp, http or unix; for example FileDescriptorName=resp "
                   "in weir.socket",
                   (int)name.size, name.bytes);
    }
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) {
        return say(problem,
                   "LISTEN_FDS: descriptor %d does not listen; expected ListenStream= and Accept=no in "
                   "weir.socket",
                   descriptor);
    }
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    describe(listener);
    if (!listener->local) set_for_all(descriptor);
    return true;
}

static struct slice next_name(const char **names)
{
    const size_t size = strcspn(*names, ":");
    const struct slice name = {*names, size};
    *names += size + ((*names)[size] == ':');
    return name;
}

bool listen_inherit(struct listener listeners[LISTENERS_MAX], unsigned *count, char problem[LISTEN_PROBLEM_MAX])
{
    const char *of = getenv("LISTEN_PID"), *how_many = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
    uint64_t process, descriptors;
    if (of == NULL || how_many == NULL || !slice_number(slice_of(of), &process)) return true;
    if (process != (uint64_t)getpid() || !slice_number(slice_of(how_many), &descriptors)) return true;
    if (descriptors > LISTENERS_MAX) return say(problem, "LISTEN_FDS: expected %d at most", LISTENERS_MAX);
    if (names == NULL) names = "";
    for (int i = 0; i < (int)descriptors; i++) {
        if (!inherit_one(&listeners[*count], INHERITED_FIRST + i, next_name(&names), problem)) return false;
        ++*count;
    }
    return true;
}

/* ---- the end ---- */

static const char *file_of(const struct listener *listener)
{
    return listener->local && listener->inode != 0 ? listener->text + strlen("unix:") : NULL;
}

void listen_close(struct listener *listener)
{
    struct stat status;
    const char *file = file_of(listener);
    if (file != NULL && lstat(file, &status) == 0 && status.st_dev == listener->device &&
        status.st_ino == listener->inode) {
        unlink(file);
    }
    for (unsigned i = 0; i < listener->count; i++) {
        if (listener->descriptor[i] >= 0) close(listener->descriptor[i]);
    }
    listener->count = 0;
}

bool listen_give(const struct listener *listener, unsigned user, unsigned group)
{
    const char *file = file_of(listener);
    return file == NULL || lchown(file, user, group) == 0;
}

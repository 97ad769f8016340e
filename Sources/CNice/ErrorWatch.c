#include "ErrorWatch.h"

#ifdef __linux__

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>

struct rnice_error_watch {
    GSource *source;
    int fd;
    rnice_error_watch_callbacks callbacks;
    void *user;
    gboolean is_calling, is_freed;
};

static void set_reporting(int fd, int on) {
    // One of the two fits the family of the socket; the other fails and changes nothing.
    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
}

/// Takes one entry; returns the errno of an ICMP message, 0 for another kind of entry, -1 when the queue is empty.
static int next_error(int fd, struct sockaddr_storage *destination) {
    char control[512] __attribute__((aligned(16)));
    char payload[1];  // the head of the datagram we sent; of no interest
    struct iovec vector = {.iov_base = payload, .iov_len = sizeof payload};
    struct msghdr message = {
        .msg_name = destination, .msg_namelen = sizeof *destination, .msg_iov = &vector, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof control,
    };
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return errno == EINTR ? 0 : -1;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        gboolean is_error = (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR)
            || (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR);
        if (!is_error) continue;
        struct sock_extended_err error;
        memcpy(&error, CMSG_DATA(header), sizeof error);
        if (error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6) return (int)error.ee_errno;
    }
    return 0;
}

static void describe(const struct sockaddr_storage *address, char *text, socklen_t capacity, uint16_t *port) {
    text[0] = 0;
    *port = 0;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &in->sin_addr, text, capacity);
        *port = ntohs(in->sin_port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &in6->sin6_addr, text, capacity);
        *port = ntohs(in6->sin6_port);
    }
}

/// Emptying the queue clears the socket's pending error; an error without an entry is taken here.
static void clear_error(int fd) {
    int pending;
    socklen_t length = sizeof pending;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &pending, &length);
}

/// Off first, then empty: nothing may stay behind that would make libnice's next read fail.
static void stop_reporting(int fd) {
    set_reporting(fd, 0);
    struct sockaddr_storage destination;
    for (int i = 0; i < 1024 && next_error(fd, &destination) >= 0; i++) {}
    clear_error(fd);
}

static gboolean on_condition(gint fd, GIOCondition condition, gpointer data) {
    rnice_error_watch *watch = data;
    gboolean is_heard = (condition & G_IO_IN) != 0;
    watch->is_calling = TRUE;
    // Bounded: a flood of errors must not hold the thread; what is left wakes us again.
    for (int i = 0; i < 64 && !watch->is_freed; i++) {
        struct sockaddr_storage destination;
        memset(&destination, 0, sizeof destination);
        int error = next_error(fd, &destination);
        if (error < 0) break;
        if (error == 0) continue;
        char text[INET6_ADDRSTRLEN];
        uint16_t port;
        describe(&destination, text, sizeof text, &port);
        watch->callbacks.report(watch->user, error, text, port);
    }
    if (is_heard && !watch->is_freed) {
        stop_reporting(fd);
        watch->callbacks.heard(watch->user);
    }
    watch->is_calling = FALSE;
    if (watch->is_freed) {
        g_free(watch);
        return G_SOURCE_REMOVE;
    }
    if (is_heard) return G_SOURCE_REMOVE;
    clear_error(fd);
    return G_SOURCE_CONTINUE;
}

rnice_error_watch *rnice_error_watch_new(
    GMainContext *context, int fd, const rnice_error_watch_callbacks *callbacks, void *user) {
    // libnice's source may have been found ready in this very iteration of the loop, and read after us.
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (poll(&readable, 1, 0) != 0) return NULL;
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0) return NULL;
    rnice_error_watch *watch = g_new0(rnice_error_watch, 1);
    watch->fd = duplicate;
    watch->callbacks = *callbacks;
    watch->user = user;
    watch->source = g_unix_fd_source_new(duplicate, G_IO_IN | G_IO_ERR);
    // Before libnice's own source: GLib dispatches only the ready sources of the highest priority in one iteration.
    g_source_set_priority(watch->source, G_PRIORITY_HIGH);
    g_source_set_callback(watch->source, (GSourceFunc)(void (*)(void))on_condition, watch, NULL);
    g_source_attach(watch->source, context);
    set_reporting(duplicate, 1);
    return watch;
}

void rnice_error_watch_free(rnice_error_watch *watch) {
    stop_reporting(watch->fd);
    g_source_destroy(watch->source);
    g_source_unref(watch->source);
    close(watch->fd);
    watch->is_freed = TRUE;
    if (!watch->is_calling) g_free(watch);
}

#else

rnice_error_watch *rnice_error_watch_new(
    GMainContext *context, int fd, const rnice_error_watch_callbacks *callbacks, void *user) {
    (void)context, (void)fd, (void)callbacks, (void)user;
    return NULL;
}

void rnice_error_watch_free(rnice_error_watch *watch) { (void)watch; }

#endif

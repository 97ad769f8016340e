#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CMicroHTTPD.h"

#include "HTTPLoop.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct chttpd_server {
    http_loop_entry entry;
    chttpd_callbacks callbacks;
};

// The library's socket context.
struct chttpd_connection {
    struct MHD_Connection *library;
    chttpd_server *server;
    void *user;
};

// MARK: - What the library calls

static void *user_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    chttpd_connection *ours = info == NULL ? NULL : info->socket_context;
    return ours == NULL ? NULL : ours->user;
}

static enum MHD_Result accepts(void *context, const struct sockaddr *address, socklen_t length) {
    (void)address;
    (void)length;
    chttpd_server *server = context;
    return server->callbacks.accepts(server->callbacks.context) ? MHD_YES : MHD_NO;
}

static void notified(void *context, struct MHD_Connection *connection, void **place, enum MHD_ConnectionNotificationCode code) {
    chttpd_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        int descriptor = info == NULL ? -1 : info->connect_fd;
        // Without it the connection ends with its first request.
        chttpd_connection *ours = calloc(1, sizeof *ours);
        if (ours == NULL) return;
        ours->library = connection;
        ours->server = server;
        *place = ours;
        ours->user = server->callbacks.opened(server->callbacks.context, ours, descriptor);
    } else if (*place != NULL) {
        chttpd_connection *closing = *place;
        *place = NULL;
        if (closing->user != NULL) server->callbacks.closed(server->callbacks.context, closing->user);
        free(closing);
    }
}

static void *began(void *context, const char *target, struct MHD_Connection *connection) {
    chttpd_server *server = context;
    void *user = user_of(connection);
    if (user != NULL) server->callbacks.began(user, target);
    return NULL;
}

static enum MHD_Result handle(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *bytes, size_t *count, void **request) {
    (void)url;
    (void)version;
    static char header_was_seen;
    chttpd_server *server = context;
    void *user = user_of(connection);
    if (user == NULL) return MHD_NO;
    if (*request == NULL) {
        *request = &header_was_seen;
        return server->callbacks.header(user, method) ? MHD_YES : MHD_NO;
    }
    if (*count > 0) {
        size_t all = *count;
        *count = 0;
        return server->callbacks.body(user, (const uint8_t *)bytes, all) ? MHD_YES : MHD_NO;
    }
    return server->callbacks.received(user) ? MHD_YES : MHD_NO;
}

static void ended(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code) {
    chttpd_server *server = context;
    *request = NULL;
    void *user = user_of(connection);
    if (user == NULL) return;
    server->callbacks.ended(user, code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? CHTTPD_ENDED_WELL : CHTTPD_ENDED_BROKEN);
}

// MARK: - Server

int chttpd_listen(const char *host, uint16_t port, int backlog, uint16_t *bound) {
    struct addrinfo hints, *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
    if (getaddrinfo(host, NULL, &hints, &found) != 0 || found == NULL) return CHTTPD_NOT_AN_ADDRESS;
    struct sockaddr_storage address;
    socklen_t length = found->ai_addrlen;
    memset(&address, 0, sizeof address);
    memcpy(&address, found->ai_addr, length);
    freeaddrinfo(found);
    if (address.ss_family == AF_INET6) ((struct sockaddr_in6 *)&address)->sin6_port = htons(port);
    else if (address.ss_family == AF_INET) ((struct sockaddr_in *)&address)->sin_port = htons(port);
    else return CHTTPD_NOT_AN_ADDRESS;

#ifdef SOCK_CLOEXEC
    // At once: a process started meanwhile must not inherit it.
    int descriptor = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(address.ss_family, SOCK_STREAM, 0);
#endif
    if (descriptor < 0) return -errno;
    int on = 1, off = 0;
    int flags = fcntl(descriptor, F_GETFL, 0);
    if (address.ss_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 || flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(descriptor, (struct sockaddr *)&address, length) != 0 || listen(descriptor, backlog) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) {
        int code = errno;
        close(descriptor);
        return -code;
    }
    *bound = ntohs(
        address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                      : ((struct sockaddr_in *)&address)->sin_port);
    return descriptor;
}

void chttpd_close(int listener) { close(listener); }

chttpd_server *chttpd_start(int listener, const chttpd_callbacks *callbacks, const chttpd_limits *limits) {
    chttpd_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    server->callbacks = *callbacks;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        http_loop_flags(), 0, accepts, server, handle, server,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener, MHD_OPTION_CONNECTION_LIMIT, limits->connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits->memory_per_connection, MHD_OPTION_CONNECTION_TIMEOUT,
        limits->idle_seconds, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, began, server,
        MHD_OPTION_NOTIFY_CONNECTION, notified, server, MHD_OPTION_NOTIFY_COMPLETED, ended, server, MHD_OPTION_END);
    if (daemon != NULL && http_loop_join(&server->entry, daemon)) return server;
    if (daemon != NULL) {
        // The listener stays the caller's.
        MHD_quiesce_daemon(daemon);
        MHD_stop_daemon(daemon);
    }
    free(server);
    return NULL;
}

void chttpd_stop(chttpd_server *server) {
    http_loop_leave(&server->entry);
    MHD_stop_daemon(server->entry.daemon);
    free(server);
}

// MARK: - Connections

void chttpd_suspend(chttpd_connection *connection) { MHD_suspend_connection(connection->library); }
void chttpd_resume(chttpd_connection *connection) { http_loop_resume(&connection->server->entry, connection->library); }

struct field_visit {
    void (*visit)(void *user, const char *name, const char *value);
    void *user;
};

static enum MHD_Result visit_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct field_visit *fields = context;
    fields->visit(fields->user, name, value == NULL ? "" : value);
    return MHD_YES;
}

void chttpd_each_field(
    chttpd_connection *connection, void (*visit)(void *user, const char *name, const char *value), void *user) {
    struct field_visit fields = {visit, user};
    MHD_get_connection_values(connection->library, MHD_HEADER_KIND, visit_field, &fields);
}

size_t chttpd_header_size(chttpd_connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection->library, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

// MARK: - Answers

struct body_stream {
    long (*read)(void *user, char *bytes, size_t capacity);
    void (*release)(void *user);
    void *user;
};

static ssize_t read_stream(void *context, uint64_t position, char *bytes, size_t capacity) {
    (void)position;
    struct body_stream *stream = context;
    long count = stream->read(stream->user, bytes, capacity);
    if (count == CHTTPD_BODY_END) return MHD_CONTENT_READER_END_OF_STREAM;
    return count < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : (ssize_t)count;
}

static void release_stream(void *context) {
    struct body_stream *stream = context;
    stream->release(stream->user);
    free(stream);
}

chttpd_response *chttpd_response_bytes(const uint8_t *bytes, size_t count) {
    return (chttpd_response *)MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

chttpd_response *chttpd_response_stream(
    long (*read)(void *user, char *bytes, size_t capacity), void (*release)(void *user), void *user, size_t block_bytes) {
    struct body_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) return NULL;
    stream->read = read;
    stream->release = release;
    stream->user = user;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block_bytes, read_stream, stream, release_stream);
    if (response == NULL) free(stream);
    return (chttpd_response *)response;
}

bool chttpd_response_field(chttpd_response *response, const char *name, const char *value) {
    return MHD_add_response_header((struct MHD_Response *)response, name, value) == MHD_YES;
}

bool chttpd_queue(chttpd_connection *connection, unsigned status, chttpd_response *response) {
    enum MHD_Result result = MHD_queue_response(connection->library, status, (struct MHD_Response *)response);
    MHD_destroy_response((struct MHD_Response *)response);
    return result == MHD_YES;
}

// MARK: - Sockets

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

void chttpd_break(int descriptor, const uint8_t *bytes, size_t count) {
    if (count > 0) (void)!send(descriptor, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(descriptor, SHUT_RDWR);
}

bool chttpd_peer_is_gone(int descriptor) {
#ifdef POLLRDHUP
    struct pollfd entry = {.fd = descriptor, .events = POLLRDHUP};
    return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
#else
    return chttpd_peer_is_done(descriptor);
#endif
}

bool chttpd_peer_is_done(int descriptor) {
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

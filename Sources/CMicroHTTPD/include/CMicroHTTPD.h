// libmicrohttpd for Swift: its functions are variadic and its callbacks come with more arguments than anybody needs. No
// policy. One thread runs all servers of the process (one per server where there is no epoll), and every callback below
// comes on it, so none may wait.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A running server. Freed by `chttpd_stop`.
typedef struct chttpd_server chttpd_server;
/// One accepted TCP connection: valid from `opened` until `closed` returns.
typedef struct chttpd_connection chttpd_connection;
/// An answer being put together. Given away with `chttpd_queue`.
typedef struct chttpd_response chttpd_response;

/// How a request ended, for `ended`.
enum { CHTTPD_ENDED_WELL = 0, CHTTPD_ENDED_BROKEN = 1 };

/// What `read` of a streamed body returns instead of a count.
enum { CHTTPD_BODY_END = -1, CHTTPD_BODY_FAILED = -2 };

typedef struct chttpd_callbacks {
    void *context;
    /// False closes a new connection at once.
    bool (*accepts)(void *context);
    /// A connection begins. What it returns is the `user` of all that follows on this connection.
    void *(*opened)(void *context, chttpd_connection *connection, int descriptor);
    /// The connection is over; its descriptor is closed after this returns.
    void (*closed)(void *context, void *user);
    /// The request line has come; `target` is as the client wrote it.
    void (*began)(void *user, const char *target);
    /// The header has come. An answer queued here is sent without reading the body, and the connection closes after it.
    /// False breaks the connection.
    bool (*header)(void *user, const char *method);
    /// A part of the body. Nothing can be queued here. False breaks the connection.
    bool (*body)(void *user, const uint8_t *bytes, size_t count);
    /// All of the request has come; called again when the connection is resumed. Queue an answer or suspend the connection.
    /// False breaks the connection.
    bool (*received)(void *user);
    /// The request that `began` is over. Also comes when it was never complete.
    void (*ended)(void *user, int outcome);
} chttpd_callbacks;

typedef struct chttpd_limits {
    unsigned connections;
    /// For the header of a request and the buffers around it.
    size_t memory_per_connection;
    /// Without a byte in either direction; 0 is for ever. A suspended connection has no such limit.
    unsigned idle_seconds;
} chttpd_limits;

enum { CHTTPD_NOT_AN_ADDRESS = -1000000 };

/// Listens on a numeric address. Returns a descriptor, a negative errno, or CHTTPD_NOT_AN_ADDRESS.
/// `bound` gets the port, which the system chooses for 0.
int chttpd_listen(const char *host, uint16_t port, int backlog, uint16_t *bound);

/// Closes a descriptor that `chttpd_listen` gave and `chttpd_start` did not take.
void chttpd_close(int listener);

/// Starts a server that owns `listener` from then on. NULL when the library refuses; the listener is then still the caller's.
/// The callbacks' context has to stay until `chttpd_stop` has returned.
chttpd_server *chttpd_start(int listener, const chttpd_callbacks *callbacks, const chttpd_limits *limits);

/// Closes everything, with `ended` and `closed` for what is open, waits until the thread has let go of the server, and frees
/// it. No connection may be suspended or become so meanwhile. Not from a callback; the last callbacks come on the caller's
/// thread.
void chttpd_stop(chttpd_server *server);

/// Stops the library looking at a connection; only in `header`, `received` and `read`.
void chttpd_suspend(chttpd_connection *connection);
/// Ends a suspension, from any thread. Never for a connection that is not suspended. `closed` may come at once.
void chttpd_resume(chttpd_connection *connection);

/// Calls `visit` with each header field of the current request. The strings last until the visit returns.
void chttpd_each_field(
    chttpd_connection *connection, void (*visit)(void *user, const char *name, const char *value), void *user);
/// Bytes of the current request's header, request line included.
size_t chttpd_header_size(chttpd_connection *connection);

/// An answer with a copy of these bytes. NULL without memory.
chttpd_response *chttpd_response_bytes(const uint8_t *bytes, size_t count);
/// An answer whose length is not known. `read` fills at most `capacity` bytes and returns the count, CHTTPD_BODY_END or
/// CHTTPD_BODY_FAILED; before it returns 0 it has to suspend the connection. `release` is called once, at the end.
/// NULL without memory; `release` is then not called.
chttpd_response *chttpd_response_stream(
    long (*read)(void *user, char *bytes, size_t capacity), void (*release)(void *user), void *user, size_t block_bytes);
/// False when a name or value cannot stand in a header.
bool chttpd_response_field(chttpd_response *response, const char *name, const char *value);
/// Answers, in `header` and `received` only. Frees the response in any case; false when the request cannot be answered any more.
bool chttpd_queue(chttpd_connection *connection, unsigned status, chttpd_response *response);

/// Sends last words without waiting, as much as the socket takes, and shuts the socket down in both directions: the library
/// then closes the connection. `descriptor` has to be open, so not after `closed`.
void chttpd_break(int descriptor, const uint8_t *bytes, size_t count);
/// Whether the peer has closed its side, or the connection is dead.
bool chttpd_peer_is_gone(int descriptor);
/// The same, and nothing it sent is still unread in the socket.
bool chttpd_peer_is_done(int descriptor);

#endif

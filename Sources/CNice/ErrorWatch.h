#ifndef REACTOR_CNICE_ERROR_WATCH_H
#define REACTOR_CNICE_ERROR_WATCH_H

#include <glib.h>
#include <stdint.h>

// Reads the error queue of a UDP socket (ICMP) while nothing arrives on it.
//
// A pending error makes the next read of the socket's data fail, and libnice closes a socket whose read fails. Emptying the
// queue when poll() tells of an error is not enough: one that comes between poll() and the read is met by the read. So
// reporting is on only while no data arrives, and goes off, with the queue emptied, before what ended that is read.

typedef struct rnice_error_watch rnice_error_watch;

typedef struct {
    /// A datagram sent to this address and port met an error.
    void (*report)(void *user, int error, const char *address, uint16_t port);
    /// Data arrived: the watch has ended and reports no more. It still has to be freed.
    void (*heard)(void *user);
} rnice_error_watch_callbacks;

/// Works on a duplicate of `fd`, so the owner may close its own at any time. Returns NULL where there is no error queue, and
/// while there is data to be read.
rnice_error_watch *rnice_error_watch_new(
    GMainContext *context, int fd, const rnice_error_watch_callbacks *callbacks, void *user);

/// No call after this; may be called from one.
void rnice_error_watch_free(rnice_error_watch *watch);

#endif

#ifndef REACTOR_CNICE_ERROR_WATCH_H
#define REACTOR_CNICE_ERROR_WATCH_H

#include <glib.h>
#include <stdint.h>

// Reads the error queue of a UDP socket (ICMP) ahead of whoever reads its data.

typedef struct rnice_error_watch rnice_error_watch;

/// Works on a duplicate of `fd`, so the owner may close its own at any time. Returns NULL where there is no error queue.
rnice_error_watch *rnice_error_watch_new(
    GMainContext *context, int fd, void (*report)(void *user, int error, const char *address, uint16_t port), void *user);

/// No report after this; may be called from a report.
void rnice_error_watch_free(rnice_error_watch *watch);

#endif

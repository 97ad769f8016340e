// One thread that lets the library run for all servers of the process. It is there while there are servers.
#ifndef CMICROHTTPD_LOOP_H
#define CMICROHTTPD_LOOP_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

/// A daemon's place in the loop; part of its server.
typedef struct http_loop_entry {
    struct MHD_Daemon *daemon;
    /// The library's epoll descriptor: ready when one of the daemon's sockets is.
    int descriptor;
    /// Milliseconds of the monotonic clock, -1 for never. Only the thread's.
    int64_t deadline;
    /// Under the loop's lock.
    bool is_due, is_leaving, has_left;
    struct http_loop_entry *next;
    /// Only the thread's.
    struct http_loop_entry *next_to_run;
} http_loop_entry;

/// How a daemon that shall join is started.
unsigned http_loop_flags(void);
/// The daemon runs from here on. False without memory, descriptors or threads.
bool http_loop_join(http_loop_entry *entry, struct MHD_Daemon *daemon);
/// Ends a connection's suspension and lets the daemon see it. Any thread, also one in a callback.
void http_loop_resume(http_loop_entry *entry, struct MHD_Connection *connection);
/// Lets the daemon run a last time and returns when the thread does not know it any more. Not on the thread.
void http_loop_leave(http_loop_entry *entry);

#endif

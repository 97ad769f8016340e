// The main loop of the network thread and libnice, behind opaque types and plain C function pointers.
//
// No GLib type appears here, no policy is made here and no thread is started here. Unless a comment says otherwise, every
// function is called on the thread that iterates the context, and every callback runs on that thread.
#ifndef REACTOR_CNICE_H
#define REACTOR_CNICE_H

#include <stddef.h>
#include <stdint.h>

// MARK: Main loop

/// A GLib main context. The creator owns it and frees it with `rnice_context_free`.
typedef struct rnice_context rnice_context;

rnice_context *rnice_context_new(void);
void rnice_context_free(rnice_context *context);

/// Makes the calling thread the owner of the context and pushes the context as the thread's default, so that what GLib
/// starts on this thread (resolver answers, asynchronous closes) reports here. Returns 0 when another thread owns it.
int rnice_context_acquire(rnice_context *context);

/// Waits for sources (when `may_block`), dispatches the ready ones of the highest priority once, and returns.
void rnice_context_iterate(rnice_context *context, int may_block);

/// Names the calling thread in debuggers and `top` (15 bytes on Linux).
void rnice_name_thread(const char *name);

/// Ends a blocking `rnice_context_iterate`, now or the next one. Any thread.
void rnice_context_wake(rnice_context *context);

// MARK: Timer

/// A one-shot timer that can be set again. The creator owns it; `rnice_timer_free` may be called from its own callback.
typedef struct rnice_timer rnice_timer;

/// `release(user)` is called exactly once, after `rnice_timer_free` and after a running `fire` has returned.
rnice_timer *rnice_timer_new(rnice_context *context, void (*fire)(void *user), void *user, void (*release)(void *user));

/// Fires when CLOCK_MONOTONIC reaches `microseconds`; a negative value disarms.
void rnice_timer_set(rnice_timer *timer, int64_t microseconds);

/// Any thread.
void rnice_timer_free(rnice_timer *timer);

#endif

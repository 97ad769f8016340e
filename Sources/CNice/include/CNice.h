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
/// Lets the calling thread run before ordinary ones: by its nice value at level 0, in the realtime class from 1 on, there the
/// sooner the higher the level. Threads that it makes are ordinary.
/// 0, or another value when the system does not allow it.
int rnice_hurry_thread(int level);

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

// MARK: ICE agent

/// A libnice agent with one stream of one component. The creator owns it and ends it with `rnice_agent_close`.
///
/// libnice emits its signals on the thread that made it do something, sometimes inside the call: every callback below may
/// run inside any function below.
typedef struct rnice_agent rnice_agent;

/// Component states; the numbers are libnice's.
enum {
    RNICE_STATE_DISCONNECTED = 0,
    RNICE_STATE_GATHERING = 1,
    RNICE_STATE_CONNECTING = 2,
    RNICE_STATE_CONNECTED = 3,
    RNICE_STATE_READY = 4,
    RNICE_STATE_FAILED = 5,
};

/// Candidate types; the numbers are libnice's.
enum { RNICE_HOST = 0, RNICE_SERVER_REFLEXIVE = 1, RNICE_PEER_REFLEXIVE = 2, RNICE_RELAYED = 3 };

typedef struct {
    int controlling;
    /// Nominate with every check instead of after the first valid pair.
    int aggressive_nomination;
    int force_relay;
    /// RFC 7675 by libnice: fails 10 s after the last answer. Otherwise checks go on every 4-6 s and fail after 50 s.
    int consent_freshness;
    unsigned pacing_ms;
    unsigned initial_timeout_ms;
    unsigned max_retransmissions;
    /// 0 and 0: any port.
    unsigned min_port, max_port;
} rnice_agent_options;

typedef struct {
    /// A local candidate, `candidate:...` without `a=`; the text lives for the call.
    void (*candidate)(void *user, const char *line);
    void (*gathering_done)(void *user);
    void (*state)(void *user, int state);
    /// Another pair is selected, after checks on it succeeded.
    void (*pair_selected)(void *user);
    /// A datagram that is not STUN, or not well-formed; the bytes may be changed and live for the call.
    void (*datagram)(void *user, uint8_t *bytes, size_t count);
    /// While errors are watched: the kernel reports that a datagram sent to this address and port met an error.
    void (*send_error)(void *user, int error, const char *address, uint16_t port);
    /// Something arrived while errors were watched, which has ended; `rnice_agent_watch_errors` begins again.
    void (*heard)(void *user);
    /// The last call of all: the agent has let go of its sockets and of `user`.
    void (*closed)(void *user);
} rnice_agent_callbacks;

typedef struct {
    int local_type, remote_type;
    char local_address[64], remote_address[64];
    uint16_t local_port, remote_port;
    /// RFC 8445 §5.1.2, of the local candidate.
    uint32_t local_priority;
    /// Address of the relay when the local candidate is relayed, or an empty string.
    char relay_address[64];
    uint16_t relay_port;
} rnice_pair;

/// `user` must stay valid until `closed`. Strings given to the functions below are copied. Returns NULL on failure.
rnice_agent *rnice_agent_new(
    rnice_context *context, const rnice_agent_options *options, const rnice_agent_callbacks *callbacks, void *user);

/// Detaches all callbacks but `closed` at once, gives allocations back to relays, then closes sockets, frees the agent and
/// calls `closed`, from a later iteration of the context. The pointer is not valid after this call.
void rnice_agent_close(rnice_agent *agent);

/// Numeric address of an interface to gather on. Once one is given no other interface is used. Returns 0 if malformed.
int rnice_agent_add_local_address(rnice_agent *agent, const char *address);

/// Address or name; a name is resolved by GLib in a thread of its own. Before gathering.
void rnice_agent_set_stun_server(rnice_agent *agent, const char *host, unsigned port);

/// Address or name. At most eight. Returns 0 when refused.
int rnice_agent_add_relay(
    rnice_agent *agent, const char *host, unsigned port, const char *username, const char *password, int is_tcp);

/// Returns 0 when no address could be bound.
int rnice_agent_gather(rnice_agent *agent);

/// Copies at most `capacity - 1` bytes each and a zero. Returns 0 on failure.
int rnice_agent_local_credentials(rnice_agent *agent, char *fragment, char *password, size_t capacity);

int rnice_agent_set_remote_credentials(rnice_agent *agent, const char *fragment, const char *password);

/// One `candidate:...` line. libnice checks little: validate first. Returns 0 when libnice refuses it.
int rnice_agent_add_remote_candidate(rnice_agent *agent, const char *line);

void rnice_agent_remote_gathering_done(rnice_agent *agent);

/// Returns the bytes sent, 0 when the socket is full, a negative number without a usable pair or on an error.
int rnice_agent_send(rnice_agent *agent, const uint8_t *bytes, size_t count);

/// Returns 0 when no pair is selected.
int rnice_agent_selected_pair(rnice_agent *agent, rnice_pair *pair);

/// Has responses to a binding request of the caller's own, which is about to be sent on the selected pair, come out through
/// `datagram`: without their last 8 bytes, the FINGERPRINT, and with a length in the header that still counts them. libnice
/// keeps well-formed responses to itself. The last eight transactions of 12 bytes are remembered.
/// Returns 1 when answers will come out. Linux; elsewhere 0. Relayed pairs, and without a pair: 0.
int rnice_agent_expect_answer(rnice_agent *agent, const uint8_t transaction[12]);

/// Sets SO_RCVBUF of every socket; returns the smallest size the kernel reports, 0 without a socket.
int rnice_agent_set_receive_buffer(rnice_agent *agent, int bytes);

/// Reports errors (ICMP) of the selected pair's UDP socket through `send_error`, until switched off or until something
/// arrives (`heard`), whatever it is: libnice closes a socket whose read fails with such an error.
/// Returns 1 when watching, 0 when there is something to be read. Linux; elsewhere 0. Relayed pairs: 0.
int rnice_agent_watch_errors(rnice_agent *agent, int on);

/// Drops what libnice logs through GLib (a server's name that does not resolve goes to stderr otherwise). Process-wide for
/// libnice's own log domain, once. Its debug log, which GLib prints only on demand, stays.
void rnice_silence_library_log(void);

#endif

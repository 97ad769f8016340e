#ifndef CUSRSCTP_H
#define CUSRSCTP_H

// SCTP over a lower layer of the caller's (RFC 8261): usrsctp without threads. The library is one per process and so is this
// header: all functions belong on one thread. Associations are named by a number the caller chooses and never uses again; the
// number travels through the library as its "address" and is never a pointer to anything, so a late callback can only be
// looked up and missed.

#include <stddef.h>
#include <stdint.h>

typedef struct csctp_socket csctp_socket;

#define CSCTP_UP 1
#define CSCTP_LOST 2
#define CSCTP_RESTARTED 3
#define CSCTP_SHUTDOWN_COMPLETE 4
#define CSCTP_CANNOT_START 5
#define CSCTP_PEER_SHUTDOWN 6
#define CSCTP_INCOMING_RESET 7
#define CSCTP_OUTGOING_RESET 8
#define CSCTP_OUTGOING_RESET_REFUSED 9
#define CSCTP_SEND_FAILED 10
#define CSCTP_PARTIAL_ABORTED 11

/// All of these run inside the functions below and must not call back into them.
typedef struct {
    /// One packet for the lower layer, valid during the call. Returns 1 when taken, 0 when there is no room now.
    int (*output)(uint64_t id, const void *packet, size_t count);
    /// A message or, without `is_end`, the next part of one. The bytes are handed over: free them with csctp_free.
    void (*message)(
        uint64_t id, uint16_t stream, uint32_t ppid, int is_unordered, int is_end, void *bytes, size_t count);
    /// `streams` is valid during the call; for a reset, no streams means all. `detail` is the library's error or stream number.
    void (*event)(uint64_t id, int kind, uint32_t detail, const uint16_t *streams, size_t stream_count);
    /// Free bytes of the send buffer after an acknowledgement.
    void (*writable)(uint64_t id, uint32_t free_bytes);
} csctp_callbacks;

typedef struct {
    uint32_t mtu;  // the longest packet, common header included; at least 600
    uint32_t send_buffer;
    uint32_t receive_buffer;
    uint32_t partial_delivery_point;
    uint16_t streams;
    uint32_t rto_initial_ms, rto_min_ms, rto_max_ms;
    uint32_t delayed_ack_ms;
    uint32_t heartbeat_ms;
} csctp_options;

typedef struct {
    uint32_t srtt_ms;
    uint32_t rto_ms;
} csctp_status;

#define CSCTP_RELIABLE 0
#define CSCTP_LIFETIME 1
#define CSCTP_RETRANSMITS 2

/// Once per process, before anything else.
void csctp_start(const csctp_callbacks *callbacks);
/// Lets the library's clock go on by so many milliseconds and runs its timers.
void csctp_tick(uint32_t elapsed_ms);

/// A socket, or NULL with errno. Give it back with csctp_close.
csctp_socket *csctp_open(uint64_t id, const csctp_options *options);
/// Functions that return int give 0 or an errno.
int csctp_connect(csctp_socket *socket, uint16_t local_port, uint16_t remote_port);
void csctp_input(uint64_t id, const void *packet, size_t count);
int csctp_send(
    csctp_socket *socket, uint16_t stream, uint32_t ppid, int is_unordered, int policy, uint32_t policy_value,
    const void *bytes, size_t count);
int csctp_reset(csctp_socket *socket, const uint16_t *streams, size_t count);
int csctp_read_status(csctp_socket *socket, csctp_status *status);
/// Aborts the association (the ABORT goes through the output function) and frees the socket.
void csctp_close(csctp_socket *socket);
void csctp_free(void *bytes);
/// CRC32C of RFC 9260 appendix A over a packet with a zero checksum field, as the field's four bytes read in host order.
uint32_t csctp_checksum(const void *packet, size_t count);

#endif

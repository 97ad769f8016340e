#ifndef RNICE_ANSWER_FILTER_H
#define RNICE_ANSWER_FILTER_H

#include <stdint.h>

#define RNICE_TRANSACTION_COUNT 12
/// As many as may be under way.
#define RNICE_MAX_ANSWERS 8

/// Makes responses to the given transactions visible to whoever attached to the socket's data.
///
/// libnice takes every well-formed STUN response for itself, also those to requests that are not its own: it finds no request
/// for them, and drops them (conn_check_handle_inbound_stun, 0.1.21). What is not well-formed passes as data. So the kernel
/// cuts exactly these responses: their last 8 bytes go, which are the FINGERPRINT attribute (RFC 8489 §14.7), and the length
/// in the header no longer fits. Other datagrams cost five instructions of the filter.
///
/// Returns 1 when the filter is in place. Linux; elsewhere 0. It replaces any filter of the socket.
int rnice_answer_filter_set(int fd, const uint8_t transactions[][RNICE_TRANSACTION_COUNT], unsigned count);

#endif

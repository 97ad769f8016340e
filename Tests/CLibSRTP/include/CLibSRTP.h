#ifndef CLIBSRTP_H
#define CLIBSRTP_H

// libsrtp2 as the reference that RTCTransport's SRTP is compared with, byte for byte; tests only. SRTP and SRTCP in place (RFC
// 3711, RFC 7714). One context is one direction with one master key; not thread-safe.

#include <stddef.h>
#include <stdint.h>

typedef struct clibsrtp_context clibsrtp_context;

#define CLIBSRTP_OK 0
#define CLIBSRTP_REPLAY 1
#define CLIBSRTP_AUTHENTICATION 2
#define CLIBSRTP_OTHER 3

/// A context for any SSRC, or NULL. `profile` is the number of RFC 5764 §4.1.2 / RFC 7714 §14.2; `key` is key followed by
/// salt and is copied. Starts the library the first time (thread-safe). Free with clibsrtp_context_free.
clibsrtp_context *clibsrtp_context_create(unsigned profile, const uint8_t *key, size_t key_count, int is_inbound, unsigned window);
void clibsrtp_context_free(clibsrtp_context *context);

/// Key and salt bytes of a profile; 0 for an unknown one.
size_t clibsrtp_key_count(unsigned profile);
size_t clibsrtp_salt_count(unsigned profile);

/// Work in place; `count` holds the packet's length before and after. Protecting needs clibsrtp_trailer_count spare bytes.
/// Return CLIBSRTP_OK or one of the failures above.
int clibsrtp_protect(clibsrtp_context *context, void *packet, size_t *count, int is_rtcp);
int clibsrtp_unprotect(clibsrtp_context *context, void *packet, size_t *count, int is_rtcp);
size_t clibsrtp_trailer_count(const clibsrtp_context *context, int is_rtcp);

/// Forgets an SSRC: rollover counter, replay window and session keys.
void clibsrtp_forget(clibsrtp_context *context, uint32_t ssrc);

/// Replaces an SSRC's state by a fresh one whose next packet is read with this rollover counter. Returns 1 on success.
int clibsrtp_restart(clibsrtp_context *context, uint32_t ssrc, uint32_t rollover);

#endif

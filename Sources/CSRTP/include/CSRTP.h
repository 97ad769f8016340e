#ifndef CSRTP_H
#define CSRTP_H

// SRTP and SRTCP in place (RFC 3711, RFC 7714). One context is one direction with one master key; not thread-safe.

#include <stddef.h>
#include <stdint.h>

typedef struct csrtp_context csrtp_context;

#define CSRTP_OK 0
#define CSRTP_REPLAY 1
#define CSRTP_AUTHENTICATION 2
#define CSRTP_OTHER 3

/// A context for any SSRC, or NULL. `profile` is the number of RFC 5764 §4.1.2 / RFC 7714 §14.2; `key` is key followed by
/// salt and is copied. Starts the library the first time (thread-safe). Free with csrtp_context_free.
csrtp_context *csrtp_context_create(unsigned profile, const uint8_t *key, size_t key_count, int is_inbound, unsigned window);
void csrtp_context_free(csrtp_context *context);

/// Key and salt bytes of a profile; 0 for an unknown one.
size_t csrtp_key_count(unsigned profile);
size_t csrtp_salt_count(unsigned profile);

/// Work in place; `count` holds the packet's length before and after. Protecting needs csrtp_trailer_count spare bytes.
/// Return CSRTP_OK or one of the failures above.
int csrtp_protect(csrtp_context *context, void *packet, size_t *count, int is_rtcp);
int csrtp_unprotect(csrtp_context *context, void *packet, size_t *count, int is_rtcp);
size_t csrtp_trailer_count(const csrtp_context *context, int is_rtcp);

/// Forgets an SSRC: rollover counter, replay window and session keys.
void csrtp_forget(csrtp_context *context, uint32_t ssrc);

/// Replaces an SSRC's state by a fresh one whose next packet is read with this rollover counter. Returns 1 on success.
int csrtp_restart(csrtp_context *context, uint32_t ssrc, uint32_t rollover);

#endif

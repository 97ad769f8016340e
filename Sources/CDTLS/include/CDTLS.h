#ifndef CDTLS_H
#define CDTLS_H

// DTLS 1.2 over datagrams the caller moves (RFC 6347), with the SRTP extension (RFC 5764). No policy, no thread, no clock of
// its own besides the library's: who the peer is, when to give up and what to do with data is decided by the caller.

#include <stddef.h>
#include <stdint.h>

/// A private key with its self-signed certificate. Owned by the caller; sessions take their own references.
typedef struct cdtls_identity cdtls_identity;

/// One end of one DTLS association. Not thread-safe.
typedef struct cdtls_session cdtls_session;

/// Called while a session function runs, once per outgoing datagram; the bytes are valid during the call only.
/// Returns 1 when the datagram was taken, 0 when it could not be sent.
typedef int (*cdtls_output)(void *user, const void *bytes, size_t count);

#define CDTLS_KEY_P256 0
#define CDTLS_KEY_RSA4096 1

#define CDTLS_DONE 1
#define CDTLS_WANT 0
#define CDTLS_CLOSED (-1)
#define CDTLS_FAILED (-2)

/// A new key and certificate, or NULL. Free with cdtls_identity_free.
cdtls_identity *cdtls_identity_create(int key_kind);
void cdtls_identity_free(cdtls_identity *identity);

/// Digest of the certificate with a hash named as OpenSSL names it ("SHA256"); `digest` holds 64 bytes. Returns the digest's
/// length, 0 for an unknown hash.
size_t cdtls_identity_digest(const cdtls_identity *identity, const char *hash, uint8_t *digest);

/// Digest of bytes; hash, `digest` and result as above.
size_t cdtls_digest(const char *hash, const void *bytes, size_t count, uint8_t *digest);

/// Whether the OpenSSL that was loaded is of the version that this was compiled for.
int cdtls_is_compatible(void);

/// A session, or NULL. `srtp_profiles` is OpenSSL's colon-separated list. Retransmission starts after `first_timeout_us` and
/// doubles up to `max_timeout_us`. `user` must stay valid until cdtls_session_free.
cdtls_session *cdtls_session_create(
    const cdtls_identity *identity, int is_client, const char *srtp_profiles, uint32_t mtu, uint32_t first_timeout_us,
    uint32_t max_timeout_us, cdtls_output output, void *user);
void cdtls_session_free(cdtls_session *session);

/// Lends one received datagram to the session for the next handshake and read calls; it must stay valid until
/// cdtls_session_unlend.
void cdtls_session_lend(cdtls_session *session, const void *bytes, size_t count);
void cdtls_session_unlend(cdtls_session *session);

/// CDTLS_DONE once the handshake is complete, CDTLS_WANT, CDTLS_CLOSED or CDTLS_FAILED.
int cdtls_session_handshake(cdtls_session *session);

/// Bytes of one application record (> 0), or CDTLS_WANT, CDTLS_CLOSED, CDTLS_FAILED.
int cdtls_session_read(cdtls_session *session, void *bytes, size_t capacity);

/// CDTLS_DONE, CDTLS_WANT when the datagram was refused by the output function, or CDTLS_FAILED.
int cdtls_session_write(cdtls_session *session, const void *bytes, size_t count);

/// Sends close_notify, `copies` times the same datagram.
void cdtls_session_shutdown(cdtls_session *session, int copies);

/// Microseconds until the retransmission timer ends, or -1 when it does not run.
int64_t cdtls_session_timeout(cdtls_session *session);

/// Retransmits when the timer has ended. CDTLS_WANT, or CDTLS_FAILED when the peer has been silent too long.
int cdtls_session_handle_timeout(cdtls_session *session);

/// As cdtls_identity_digest, of the certificate the peer sent; 0 when there is none.
size_t cdtls_session_peer_digest(cdtls_session *session, const char *hash, uint8_t *digest);

/// Number of the agreed SRTP protection profile (RFC 5764 §4.1.2, RFC 7714 §14.2), 0 for none.
unsigned cdtls_session_srtp_profile(cdtls_session *session);

/// Keying material for SRTP (RFC 5764 §4.2). Returns 1 on success.
int cdtls_session_export_srtp(cdtls_session *session, uint8_t *bytes, size_t count);

/// What went wrong last, for an error message; valid until the next call.
const char *cdtls_session_error(cdtls_session *session);

#endif

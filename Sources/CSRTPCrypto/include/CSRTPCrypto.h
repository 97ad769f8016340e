#ifndef CSRTPCRYPTO_H
#define CSRTPCRYPTO_H

// The ciphers and the hash that SRTP is made of, over libcrypto; STUN uses the hash as well. What is encrypted, with which
// counter, and what a packet looks like is decided by the caller. Everything is set up once for each key; working on a packet allocates nothing.
// Nothing here is thread-safe.

#include <stddef.h>
#include <stdint.h>

/// AES with one key, ready for one mode and direction.
typedef struct csrtp_cipher csrtp_cipher;

/// HMAC-SHA1 with one key.
typedef struct csrtp_hmac csrtp_hmac;

/// Counter mode (RFC 3711 §4.1.1): both directions are the same.
#define CSRTP_COUNTER 0
/// Galois/counter mode with a tag of 16 bytes (RFC 7714), for csrtp_gcm_seal.
#define CSRTP_GCM_SEAL 1
/// The same for csrtp_gcm_open.
#define CSRTP_GCM_OPEN 2

/// A cipher, or NULL: keys have 16 or 32 bytes. The key is copied. Free with csrtp_cipher_free, which clears it.
csrtp_cipher *csrtp_cipher_create(int mode, const uint8_t *key, size_t key_count);
void csrtp_cipher_free(csrtp_cipher *cipher);

/// Adds the key stream that begins at the counter block `iv` to `input`. `output` may be `input`. 1 on success.
int csrtp_counter_apply(csrtp_cipher *cipher, const uint8_t iv[16], const void *input, void *output, size_t count);

/// Encrypts `bytes` in place and writes the tag; `aad` and then `more` are authenticated besides. 1 on success.
int csrtp_gcm_seal(
    csrtp_cipher *cipher, const uint8_t iv[12], const void *aad, size_t aad_count, const void *more, size_t more_count,
    void *bytes, size_t count, uint8_t tag[16]);

/// Decrypts `input` to `output`, which may be the same, and compares the tag. 1 when it is right; otherwise what is in
/// `output` is worthless and must not be used.
int csrtp_gcm_open(
    csrtp_cipher *cipher, const uint8_t iv[12], const void *aad, size_t aad_count, const void *more, size_t more_count,
    const void *input, void *output, size_t count, const uint8_t tag[16]);

/// NULL without memory. A key may have any length. Free with csrtp_hmac_free, which clears it.
csrtp_hmac *csrtp_hmac_create(const uint8_t *key, size_t key_count);
void csrtp_hmac_free(csrtp_hmac *hmac);

/// The first `tag_count` bytes, 20 at most, of the HMAC of `bytes` followed by `more`. 1 on success.
int csrtp_hmac_sign(
    const csrtp_hmac *hmac, const void *bytes, size_t count, const void *more, size_t more_count, void *tag, size_t tag_count);

/// 1 when `tag` is the one csrtp_hmac_sign writes. Takes the same time wherever it differs.
int csrtp_hmac_verify(
    const csrtp_hmac *hmac, const void *bytes, size_t count, const void *more, size_t more_count, const void *tag,
    size_t tag_count);

/// Overwrites a secret; the compiler does not leave it out.
void csrtp_cleanse(void *bytes, size_t count);

#endif

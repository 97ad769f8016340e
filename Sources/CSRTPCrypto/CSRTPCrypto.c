// The low-level SHA-1 calls are used on purpose: every way to HMAC through EVP copies a context per message, which allocates.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "CSRTPCrypto.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#define TAG_COUNT 16

struct csrtp_cipher {
    EVP_CIPHER_CTX *context;
    int mode;
};

struct csrtp_hmac {
    // After the key's inner and outer block (RFC 2104 §4).
    SHA_CTX inner;
    SHA_CTX outer;
};

// ---- AES -------------------------------------------------------------------------------------------------------------------

static const EVP_CIPHER *algorithm(int mode, size_t key_count) {
    switch (key_count) {
        case 16: return mode == CSRTP_COUNTER ? EVP_aes_128_ctr() : EVP_aes_128_gcm();
        case 32: return mode == CSRTP_COUNTER ? EVP_aes_256_ctr() : EVP_aes_256_gcm();
        default: return NULL;
    }
}

csrtp_cipher *csrtp_cipher_create(int mode, const uint8_t *key, size_t key_count) {
    const EVP_CIPHER *chosen = algorithm(mode, key_count);
    if (chosen == NULL) return NULL;
    csrtp_cipher *cipher = OPENSSL_zalloc(sizeof *cipher);
    if (cipher == NULL) return NULL;
    cipher->mode = mode;
    cipher->context = EVP_CIPHER_CTX_new();
    // The counter block of the first packet replaces this one. 12 bytes are what GCM expects unless told otherwise.
    static const uint8_t iv[16];
    if (cipher->context == NULL || EVP_CipherInit_ex(cipher->context, chosen, NULL, key, iv, mode != CSRTP_GCM_OPEN) != 1) {
        csrtp_cipher_free(cipher);
        ERR_clear_error();
        return NULL;
    }
    return cipher;
}

void csrtp_cipher_free(csrtp_cipher *cipher) {
    if (cipher == NULL) return;
    EVP_CIPHER_CTX_free(cipher->context);
    OPENSSL_free(cipher);
}

// A failure must not stay in the thread's error queue, where the next call of DTLS would find it.
static int finished(int succeeded) {
    if (!succeeded) ERR_clear_error();
    return succeeded;
}

int csrtp_counter_apply(csrtp_cipher *cipher, const uint8_t iv[16], const void *input, void *output, size_t count) {
    if (cipher->mode != CSRTP_COUNTER || count > INT_MAX) return 0;
    if (count == 0) return 1;
    int written;
    return finished(
        EVP_EncryptInit_ex(cipher->context, NULL, NULL, NULL, iv) == 1 &&
        EVP_EncryptUpdate(cipher->context, output, &written, input, (int)count) == 1);
}

// With a null output the bytes are authenticated only.
static int update(csrtp_cipher *cipher, const void *input, void *output, size_t count) {
    int written;
    return count == 0 || EVP_CipherUpdate(cipher->context, output, &written, input, (int)count) == 1;
}

int csrtp_gcm_seal(
    csrtp_cipher *cipher, const uint8_t iv[12], const void *aad, size_t aad_count, const void *more, size_t more_count,
    void *bytes, size_t count, uint8_t tag[16]) {
    if (cipher->mode != CSRTP_GCM_SEAL || aad_count > INT_MAX || more_count > INT_MAX || count > INT_MAX) return 0;
    uint8_t none[TAG_COUNT];
    int written;
    return finished(
        EVP_EncryptInit_ex(cipher->context, NULL, NULL, NULL, iv) == 1 && update(cipher, aad, NULL, aad_count) &&
        update(cipher, more, NULL, more_count) && update(cipher, bytes, bytes, count) &&
        EVP_EncryptFinal_ex(cipher->context, none, &written) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_AEAD_GET_TAG, TAG_COUNT, tag) == 1);
}

int csrtp_gcm_open(
    csrtp_cipher *cipher, const uint8_t iv[12], const void *aad, size_t aad_count, const void *more, size_t more_count,
    const void *input, void *output, size_t count, const uint8_t tag[16]) {
    if (cipher->mode != CSRTP_GCM_OPEN || aad_count > INT_MAX || more_count > INT_MAX || count > INT_MAX) return 0;
    uint8_t none[TAG_COUNT];
    int written;
    // The library only reads the expected tag, whatever its parameter's type says.
    return finished(
        EVP_DecryptInit_ex(cipher->context, NULL, NULL, NULL, iv) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher->context, EVP_CTRL_AEAD_SET_TAG, TAG_COUNT, (void *)tag) == 1 &&
        update(cipher, aad, NULL, aad_count) && update(cipher, more, NULL, more_count) &&
        update(cipher, input, output, count) && EVP_DecryptFinal_ex(cipher->context, none, &written) == 1);
}

// ---- HMAC-SHA1 -------------------------------------------------------------------------------------------------------------

csrtp_hmac *csrtp_hmac_create(const uint8_t *key, size_t key_count) {
    csrtp_hmac *hmac = OPENSSL_zalloc(sizeof *hmac);
    if (hmac == NULL) return NULL;
    uint8_t inner[SHA_CBLOCK], outer[SHA_CBLOCK], digest[SHA_DIGEST_LENGTH];
    // A key longer than a block stands for its hash (RFC 2104 §3).
    if (key_count > SHA_CBLOCK) {
        SHA1(key, key_count, digest);
        key = digest;
        key_count = sizeof digest;
    }
    for (size_t i = 0; i < SHA_CBLOCK; i++) {
        uint8_t byte = i < key_count ? key[i] : 0;
        inner[i] = byte ^ 0x36;
        outer[i] = byte ^ 0x5c;
    }
    int succeeded = SHA1_Init(&hmac->inner) && SHA1_Update(&hmac->inner, inner, SHA_CBLOCK) && SHA1_Init(&hmac->outer) &&
                    SHA1_Update(&hmac->outer, outer, SHA_CBLOCK);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(outer, sizeof outer);
    OPENSSL_cleanse(digest, sizeof digest);
    if (succeeded) return hmac;
    csrtp_hmac_free(hmac);
    return NULL;
}

void csrtp_hmac_free(csrtp_hmac *hmac) {
    if (hmac != NULL) OPENSSL_clear_free(hmac, sizeof *hmac);
}

static int digest(
    const csrtp_hmac *hmac, const void *bytes, size_t count, const void *more, size_t more_count,
    uint8_t result[SHA_DIGEST_LENGTH]) {
    SHA_CTX state = hmac->inner;
    if (!SHA1_Update(&state, bytes, count) || (more_count > 0 && !SHA1_Update(&state, more, more_count)) ||
        !SHA1_Final(result, &state))
        return 0;
    state = hmac->outer;
    return SHA1_Update(&state, result, SHA_DIGEST_LENGTH) && SHA1_Final(result, &state);
}

int csrtp_hmac_sign(
    const csrtp_hmac *hmac, const void *bytes, size_t count, const void *more, size_t more_count, void *tag, size_t tag_count) {
    uint8_t result[SHA_DIGEST_LENGTH];
    if (tag_count > sizeof result || !digest(hmac, bytes, count, more, more_count, result)) return 0;
    memcpy(tag, result, tag_count);
    return 1;
}

int csrtp_hmac_verify(
    const csrtp_hmac *hmac, const void *bytes, size_t count, const void *more, size_t more_count, const void *tag,
    size_t tag_count) {
    uint8_t result[SHA_DIGEST_LENGTH];
    // A tag of no bytes would match everything.
    if (tag_count == 0 || tag_count > sizeof result || !digest(hmac, bytes, count, more, more_count, result)) return 0;
    return CRYPTO_memcmp(result, tag, tag_count) == 0;
}

void csrtp_cleanse(void *bytes, size_t count) { OPENSSL_cleanse(bytes, count); }

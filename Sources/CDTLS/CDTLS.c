#include "CDTLS.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

struct cdtls_identity {
    EVP_PKEY *key;
    X509 *certificate;
};

struct cdtls_session {
    SSL_CTX *context;
    SSL *ssl;
    cdtls_output output;
    void *user;
    uint32_t mtu;
    uint32_t first_timeout_us;
    uint32_t max_timeout_us;
    // The lent datagram; NULL once the library has read it.
    const void *datagram;
    size_t datagram_count;
    // Set by the output path when a datagram was refused.
    int refused;
    // Only while shutting down: every datagram is sent so many times.
    int copies;
    char error[160];
};

// ---- Datagram BIO ----------------------------------------------------------------------------------------------------------

static void emit(cdtls_session *session, const uint8_t *bytes, size_t count) {
    for (int i = 0; i < session->copies; i++)
        if (!session->output(session->user, bytes, count)) session->refused = 1;
}

// The library flushes several records at once and does keep to the MTU itself as far as it knows; should the buffer ever be
// longer, it is cut at record borders here, because a datagram over the MTU may never arrive.
static int bio_write(BIO *bio, const char *bytes, int count) {
    cdtls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    const uint8_t *start = (const uint8_t *)bytes;
    size_t total = (size_t)count, from = 0, to = 0;
    while (to < total) {
        size_t record = total - to;
        if (record >= 13) {
            size_t stated = 13 + ((size_t)start[to + 11] << 8 | start[to + 12]);
            if (stated < record) record = stated;
        }
        if (to > from && to - from + record > session->mtu) {
            emit(session, start + from, to - from);
            from = to;
        }
        to += record;
    }
    emit(session, start + from, to - from);
    return count;
}

static int bio_read(BIO *bio, char *bytes, int capacity) {
    cdtls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (session->datagram == NULL || capacity <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t count = session->datagram_count < (size_t)capacity ? session->datagram_count : (size_t)capacity;
    memcpy(bytes, session->datagram, count);
    session->datagram = NULL;
    return (int)count;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer) {
    cdtls_session *session = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (command) {
        case BIO_CTRL_FLUSH: return 1;
        case BIO_CTRL_DGRAM_QUERY_MTU:
        case BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return session != NULL ? (long)session->mtu : 1200;
        case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: return 0;  // the MTU given by the caller counts UDP payload bytes
        default: return 0;
    }
}

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method;
static pthread_once_t bio_method_once = PTHREAD_ONCE_INIT;

static void make_bio_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagram");
    if (method == NULL) return;
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO_meth_set_create(method, bio_create);
    bio_method = method;
}

// ---- Identity --------------------------------------------------------------------------------------------------------------

cdtls_identity *cdtls_identity_create(int key_kind) {
    ERR_clear_error();
    EVP_PKEY *key = key_kind == CDTLS_KEY_RSA4096 ? EVP_RSA_gen(4096) : EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    cdtls_identity *identity = calloc(1, sizeof *identity);
    uint64_t serial = 0;
    X509_NAME *name = NULL;
    if (key == NULL || certificate == NULL || identity == NULL) goto failed;
    if (RAND_bytes((unsigned char *)&serial, sizeof serial) != 1) goto failed;
    serial = (serial >> 1) | 1;  // positive and not zero
    if (!X509_set_version(certificate, 2) || !ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial)) goto failed;
    // A day back for peers whose clock is behind.
    if (!X509_gmtime_adj(X509_getm_notBefore(certificate), -86400)) goto failed;
    if (!X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 86400)) goto failed;
    name = X509_get_subject_name(certificate);
    if (!X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"WebRTC", -1, -1, 0)) goto failed;
    if (!X509_set_issuer_name(certificate, name) || !X509_set_pubkey(certificate, key)) goto failed;
    if (!X509_sign(certificate, key, EVP_sha256())) goto failed;
    identity->key = key;
    identity->certificate = certificate;
    return identity;
failed:
    EVP_PKEY_free(key);
    X509_free(certificate);
    free(identity);
    return NULL;
}

void cdtls_identity_free(cdtls_identity *identity) {
    if (identity == NULL) return;
    EVP_PKEY_free(identity->key);
    X509_free(identity->certificate);
    free(identity);
}

static size_t digest_of(const X509 *certificate, const char *hash, uint8_t *digest) {
    const EVP_MD *method = EVP_get_digestbyname(hash);
    unsigned count = EVP_MAX_MD_SIZE;
    if (method == NULL || certificate == NULL || X509_digest(certificate, method, digest, &count) != 1) return 0;
    return count;
}

size_t cdtls_identity_digest(const cdtls_identity *identity, const char *hash, uint8_t *digest) {
    return digest_of(identity->certificate, hash, digest);
}

size_t cdtls_digest(const char *hash, const void *bytes, size_t count, uint8_t *digest) {
    const EVP_MD *method = EVP_get_digestbyname(hash);
    unsigned length = EVP_MAX_MD_SIZE;
    if (method == NULL || EVP_Digest(bytes, count, digest, &length, method, NULL) != 1) return 0;
    return length;
}

int cdtls_is_compatible(void) { return OPENSSL_version_major() == OPENSSL_VERSION_MAJOR; }

// ---- Session ---------------------------------------------------------------------------------------------------------------

// Certificates are self-signed: who the peer is, the caller decides by fingerprint before it uses anything of the session.
static int accept_any_certificate(X509_STORE_CTX *store, void *user) {
    (void)store;
    (void)user;
    return 1;
}

static unsigned next_timeout(SSL *ssl, unsigned previous_us) {
    cdtls_session *session = SSL_get_app_data(ssl);
    if (previous_us == 0) return session->first_timeout_us;
    if (previous_us >= session->max_timeout_us / 2) return session->max_timeout_us;
    return previous_us * 2;
}

static void on_info(const SSL *ssl, int where, int value) {
    cdtls_session *session = SSL_get_app_data(ssl);
    if (session == NULL || (where & SSL_CB_ALERT) == 0 || (value & 0xff) == SSL_AD_CLOSE_NOTIFY) return;
    snprintf(
        session->error, sizeof session->error, "%s alert: %s", (where & SSL_CB_READ) != 0 ? "received" : "sent",
        SSL_alert_desc_string_long(value));
}

cdtls_session *cdtls_session_create(
    const cdtls_identity *identity, int is_client, const char *srtp_profiles, uint32_t mtu, uint32_t first_timeout_us,
    uint32_t max_timeout_us, cdtls_output output, void *user) {
    pthread_once(&bio_method_once, make_bio_method);
    ERR_clear_error();
    cdtls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->output = output;
    session->user = user;
    session->mtu = mtu;
    session->first_timeout_us = first_timeout_us;
    session->max_timeout_us = max_timeout_us;
    session->copies = 1;

    SSL_CTX *context = SSL_CTX_new(DTLS_method());
    BIO *bio = NULL;
    if (context == NULL || bio_method == NULL) goto failed;
    session->context = context;
    if (!SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION)) goto failed;
    if (!SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES")) goto failed;
    if (!SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384")) goto failed;
    if (SSL_CTX_set_tlsext_use_srtp(context, srtp_profiles) != 0) goto failed;  // 0 is success here
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // A server that asks for certificates refuses a client's attempt to resume without a context name.
    if (!SSL_CTX_set_session_id_context(context, (const unsigned char *)"rtc", 3)) goto failed;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, accept_any_certificate, NULL);
    SSL_CTX_set_read_ahead(context, 1);  // one read takes the whole datagram
    SSL_CTX_set_info_callback(context, on_info);
    if (SSL_CTX_use_certificate(context, identity->certificate) != 1) goto failed;
    if (SSL_CTX_use_PrivateKey(context, identity->key) != 1) goto failed;

    session->ssl = SSL_new(context);
    bio = BIO_new(bio_method);
    if (session->ssl == NULL || bio == NULL) goto failed;
    BIO_set_data(bio, session);
    SSL_set_bio(session->ssl, bio, bio);
    bio = NULL;  // belongs to the SSL object now
    SSL_set_app_data(session->ssl, session);
    SSL_set_mtu(session->ssl, mtu);
    DTLS_set_link_mtu(session->ssl, mtu);
    DTLS_set_timer_cb(session->ssl, next_timeout);
    if (is_client)
        SSL_set_connect_state(session->ssl);
    else
        SSL_set_accept_state(session->ssl);
    return session;
failed:
    BIO_free(bio);
    cdtls_session_free(session);
    return NULL;
}

void cdtls_session_free(cdtls_session *session) {
    if (session == NULL) return;
    SSL_free(session->ssl);
    SSL_CTX_free(session->context);
    OPENSSL_cleanse(session, sizeof *session);
    free(session);
}

void cdtls_session_lend(cdtls_session *session, const void *bytes, size_t count) {
    session->datagram = bytes;
    session->datagram_count = count;
}

void cdtls_session_unlend(cdtls_session *session) { session->datagram = NULL; }

static int outcome(cdtls_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return CDTLS_WANT;
        case SSL_ERROR_ZERO_RETURN: return CDTLS_CLOSED;
        default: break;
    }
    if (session->error[0] == 0) {
        unsigned long code = ERR_peek_error();
        const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
        snprintf(session->error, sizeof session->error, "%s", reason != NULL ? reason : "unexpected end");
    }
    ERR_clear_error();
    return CDTLS_FAILED;
}

int cdtls_session_handshake(cdtls_session *session) {
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    return result == 1 ? CDTLS_DONE : outcome(session, result);
}

int cdtls_session_read(cdtls_session *session, void *bytes, size_t capacity) {
    ERR_clear_error();
    int result = SSL_read(session->ssl, bytes, capacity > INT32_MAX ? INT32_MAX : (int)capacity);
    return result > 0 ? result : outcome(session, result);
}

int cdtls_session_write(cdtls_session *session, const void *bytes, size_t count) {
    if (count == 0 || count > SSL3_RT_MAX_PLAIN_LENGTH) return CDTLS_FAILED;
    ERR_clear_error();
    session->refused = 0;
    int result = SSL_write(session->ssl, bytes, (int)count);
    if (result > 0) return session->refused ? CDTLS_WANT : CDTLS_DONE;
    return outcome(session, result) == CDTLS_WANT ? CDTLS_WANT : CDTLS_FAILED;
}

void cdtls_session_shutdown(cdtls_session *session, int copies) {
    ERR_clear_error();
    session->copies = copies;
    if (SSL_is_init_finished(session->ssl)) SSL_shutdown(session->ssl);
    session->copies = 1;
    ERR_clear_error();
}

int64_t cdtls_session_timeout(cdtls_session *session) {
    struct timeval left = {0, 0};
    if (DTLSv1_get_timeout(session->ssl, &left) != 1) return -1;
    return (int64_t)left.tv_sec * 1000000 + left.tv_usec;
}

int cdtls_session_handle_timeout(cdtls_session *session) {
    ERR_clear_error();
    if (DTLSv1_handle_timeout(session->ssl) >= 0) return CDTLS_WANT;
    ERR_clear_error();
    if (session->error[0] == 0) snprintf(session->error, sizeof session->error, "no answer from the peer");
    return CDTLS_FAILED;
}

size_t cdtls_session_peer_digest(cdtls_session *session, const char *hash, uint8_t *digest) {
    return digest_of(SSL_get0_peer_certificate(session->ssl), hash, digest);
}

unsigned cdtls_session_srtp_profile(cdtls_session *session) {
    SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(session->ssl);
    return profile != NULL ? (unsigned)profile->id : 0;
}

int cdtls_session_export_srtp(cdtls_session *session, uint8_t *bytes, size_t count) {
    static const char label[] = "EXTRACTOR-dtls_srtp";
    ERR_clear_error();
    return SSL_export_keying_material(session->ssl, bytes, count, label, sizeof label - 1, NULL, 0, 0) == 1;
}

const char *cdtls_session_error(cdtls_session *session) { return session->error; }

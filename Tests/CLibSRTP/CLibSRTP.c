#include "CLibSRTP.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <srtp2/srtp.h>
#include <stdlib.h>
#include <string.h>

struct clibsrtp_context {
    srtp_t session;
    srtp_policy_t policy;
    uint8_t key[SRTP_MAX_KEY_LEN];
    size_t rtp_trailer;
    size_t rtcp_trailer;
};

static int is_started;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;

static void start(void) { is_started = srtp_init() == srtp_err_status_ok; }

size_t clibsrtp_key_count(unsigned profile) {
    switch (profile) {
        case srtp_profile_aes128_cm_sha1_80:
        case srtp_profile_aead_aes_128_gcm: return SRTP_AES_128_KEY_LEN;
        case srtp_profile_aead_aes_256_gcm: return SRTP_AES_256_KEY_LEN;
        default: return 0;
    }
}

size_t clibsrtp_salt_count(unsigned profile) {
    switch (profile) {
        case srtp_profile_aes128_cm_sha1_80: return SRTP_SALT_LEN;
        case srtp_profile_aead_aes_128_gcm:
        case srtp_profile_aead_aes_256_gcm: return SRTP_AEAD_SALT_LEN;
        default: return 0;
    }
}

clibsrtp_context *clibsrtp_context_create(unsigned profile, const uint8_t *key, size_t key_count, int is_inbound, unsigned window) {
    pthread_once(&start_once, start);
    size_t expected = clibsrtp_key_count(profile) + clibsrtp_salt_count(profile);
    if (!is_started || expected == 0 || key_count != expected) return NULL;
    clibsrtp_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    memcpy(context->key, key, key_count);
    srtp_policy_t *policy = &context->policy;
    if (srtp_crypto_policy_set_from_profile_for_rtp(&policy->rtp, (srtp_profile_t)profile) != srtp_err_status_ok ||
        srtp_crypto_policy_set_from_profile_for_rtcp(&policy->rtcp, (srtp_profile_t)profile) != srtp_err_status_ok) {
        free(context);
        return NULL;
    }
    policy->ssrc.type = is_inbound ? ssrc_any_inbound : ssrc_any_outbound;
    policy->key = context->key;
    policy->window_size = window;
    policy->allow_repeat_tx = 1;
    if (srtp_create(&context->session, policy) != srtp_err_status_ok) {
        free(context);
        return NULL;
    }
    context->rtp_trailer = (size_t)policy->rtp.auth_tag_len;
    context->rtcp_trailer = (size_t)policy->rtcp.auth_tag_len + 4;  // E bit and index, RFC 3711 §3.4
    return context;
}

void clibsrtp_context_free(clibsrtp_context *context) {
    if (context == NULL) return;
    srtp_dealloc(context->session);
    volatile uint8_t *key = context->key;
    for (size_t i = 0; i < sizeof context->key; i++) key[i] = 0;
    free(context);
}

static int failure(srtp_err_status_t status) {
    switch (status) {
        case srtp_err_status_ok: return CLIBSRTP_OK;
        case srtp_err_status_replay_fail:
        case srtp_err_status_replay_old:
        case srtp_err_status_pkt_idx_old: return CLIBSRTP_REPLAY;
        case srtp_err_status_auth_fail:
        case srtp_err_status_cipher_fail: return CLIBSRTP_AUTHENTICATION;
        default: return CLIBSRTP_OTHER;
    }
}

int clibsrtp_protect(clibsrtp_context *context, void *packet, size_t *count, int is_rtcp) {
    if (*count > 65535) return CLIBSRTP_OTHER;
    int length = (int)*count;
    srtp_err_status_t status = is_rtcp ? srtp_protect_rtcp(context->session, packet, &length)
                                       : srtp_protect(context->session, packet, &length);
    if (status == srtp_err_status_ok) *count = (size_t)length;
    return failure(status);
}

int clibsrtp_unprotect(clibsrtp_context *context, void *packet, size_t *count, int is_rtcp) {
    // Shorter packets have no room for header and tag; the library's own checks are by header fields.
    size_t least = is_rtcp ? 8 + context->rtcp_trailer : 12 + context->rtp_trailer;
    if (*count > 65535 || *count < least) return CLIBSRTP_OTHER;
    int length = (int)*count;
    srtp_err_status_t status = is_rtcp ? srtp_unprotect_rtcp(context->session, packet, &length)
                                       : srtp_unprotect(context->session, packet, &length);
    if (status == srtp_err_status_ok) {
        if (length < 0) return CLIBSRTP_OTHER;
        *count = (size_t)length;
    }
    return failure(status);
}

size_t clibsrtp_trailer_count(const clibsrtp_context *context, int is_rtcp) {
    return is_rtcp ? context->rtcp_trailer : context->rtp_trailer;
}

// Of all the functions with an SSRC this one alone wants it in network order (libsrtp 2.5).
void clibsrtp_forget(clibsrtp_context *context, uint32_t ssrc) { srtp_remove_stream(context->session, htonl(ssrc)); }

int clibsrtp_restart(clibsrtp_context *context, uint32_t ssrc, uint32_t rollover) {
    clibsrtp_forget(context, ssrc);
    srtp_policy_t policy = context->policy;
    policy.ssrc.type = ssrc_specific;
    policy.ssrc.value = ssrc;
    policy.next = NULL;
    if (srtp_add_stream(context->session, &policy) != srtp_err_status_ok) return 0;
    // 0 is where a fresh stream begins, and to the library a pending counter of 0 means none.
    if (rollover == 0) return 1;
    return srtp_set_stream_roc(context->session, ssrc, rollover) == srtp_err_status_ok;
}

// libcurl for Swift: curl_easy_setopt and friends are variadic, which Swift cannot call, so each kind of option has a
// typed function here. No policy, no thread, no state. Handles are owned by the caller, who frees them with
// curl_easy_cleanup, curl_multi_cleanup and curl_slist_free_all. Strings are copied by libcurl; buffers and user pointers
// are not, and must outlive the handle.
#ifndef REACTOR_CCURL_H
#define REACTOR_CCURL_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

// libcurl calls these on the thread that drives the handle. Write and header callbacks return the bytes they took (fewer
// ends the transfer with CURLE_WRITE_ERROR); the read callback returns the bytes it gave, 0 at the end.
typedef size_t (*reactor_curl_data_callback)(char *bytes, size_t size, size_t count, void *user);

static inline CURLcode reactor_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

static inline CURLcode reactor_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode reactor_curl_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return curl_easy_setopt(easy, option, (curl_off_t)value);
}
static inline CURLcode reactor_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode reactor_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode reactor_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode reactor_curl_set_write(CURL *easy, reactor_curl_data_callback callback, void *user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, user);
}
static inline CURLcode reactor_curl_set_read(CURL *easy, reactor_curl_data_callback callback, void *user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_READDATA, user);
}
static inline CURLcode reactor_curl_set_header(CURL *easy, reactor_curl_data_callback callback, void *user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, user);
}
static inline CURLcode reactor_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLMcode reactor_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// The user pointer of a handle (CURLOPT_PRIVATE), or NULL.
static inline void *reactor_curl_private(CURL *easy) {
    char *value = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value) == CURLE_OK ? (void *)value : NULL;
}

// The next finished transfer, or NULL when there is none. `code` gets its result.
static inline CURL *reactor_curl_multi_next_done(CURLM *multi, CURLcode *code) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

// Removing a handle whose name lookup still runs does not wait for the lookup (CURLOPT_QUICK_EXIT, libcurl 7.87).
// An older libcurl waits; the result is then CURLE_OK all the same.
static inline CURLcode reactor_curl_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
    return CURLE_OK;
#endif
}

// Only http and https, also after a redirect.
static inline CURLcode reactor_curl_limit_protocols(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Names the calling thread; at most 15 characters count. The C libraries disagree about the function for it, and glibc
// hides its own from Swift.
void reactor_thread_set_name(const char *name);

#endif

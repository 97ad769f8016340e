#include "CNice.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <nice/agent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "AnswerFilter.h"
#include "ErrorWatch.h"

#define COMPONENT NICE_COMPONENT_TYPE_RTP

struct rnice_agent {
    NiceAgent *nice;
    GMainContext *context;
    guint stream;
    rnice_agent_callbacks callbacks;
    void *user;
    rnice_error_watch *watch;
    gboolean is_closing;
    // Requests of ours whose answers libnice must not keep, the oldest overwritten first.
    uint8_t expected[RNICE_MAX_ANSWERS][RNICE_TRANSACTION_COUNT];
    unsigned expected_next, expected_count;
};

// MARK: Signals

static void on_candidate(NiceAgent *nice, NiceCandidate *candidate, gpointer data) {
    rnice_agent *agent = data;
    gchar *line = nice_agent_generate_local_candidate_sdp(nice, candidate);
    if (line == NULL) return;
    agent->callbacks.candidate(agent->user, g_str_has_prefix(line, "a=") ? line + 2 : line);
    g_free(line);
}

static void on_gathering_done(NiceAgent *nice, guint stream, gpointer data) {
    (void)nice, (void)stream;
    rnice_agent *agent = data;
    agent->callbacks.gathering_done(agent->user);
}

static void on_state(NiceAgent *nice, guint stream, guint component, guint state, gpointer data) {
    (void)nice, (void)stream, (void)component;
    rnice_agent *agent = data;
    agent->callbacks.state(agent->user, (int)state);
}

static void on_selected_pair(
    NiceAgent *nice, guint stream, guint component, NiceCandidate *local, NiceCandidate *remote, gpointer data) {
    (void)nice, (void)stream, (void)component, (void)local, (void)remote;
    rnice_agent *agent = data;
    agent->callbacks.pair_selected(agent->user);
}

static void on_datagram(NiceAgent *nice, guint stream, guint component, guint count, gchar *bytes, gpointer data) {
    (void)nice, (void)stream, (void)component;
    rnice_agent *agent = data;
    if (!agent->is_closing) agent->callbacks.datagram(agent->user, (uint8_t *)bytes, count);
}

static void on_send_error(void *data, int error, const char *address, uint16_t port) {
    rnice_agent *agent = data;
    agent->callbacks.send_error(agent->user, error, address, port);
}

static void on_heard(void *data) {
    rnice_agent *agent = data;
    agent->callbacks.heard(agent->user);
}

// MARK: Life

rnice_agent *rnice_agent_new(
    rnice_context *context, const rnice_agent_options *options, const rnice_agent_callbacks *callbacks, void *user) {
    NiceAgentOption flags = NICE_AGENT_OPTION_ICE_TRICKLE;
    if (!options->aggressive_nomination) flags |= NICE_AGENT_OPTION_REGULAR_NOMINATION;
    if (options->consent_freshness) flags |= NICE_AGENT_OPTION_CONSENT_FRESHNESS;
    GMainContext *main_context = (GMainContext *)context;
    NiceAgent *nice = nice_agent_new_full(main_context, NICE_COMPATIBILITY_RFC5245, flags);
    if (nice == NULL) return NULL;
    g_object_set(
        nice, "controlling-mode", (gboolean)options->controlling, "ice-udp", TRUE, "ice-tcp", FALSE, "upnp", FALSE,
        "force-relay", (gboolean)options->force_relay, "stun-pacing-timer", options->pacing_ms, "stun-initial-timeout",
        options->initial_timeout_ms, "stun-max-retransmissions", options->max_retransmissions, NULL);
    if (!options->consent_freshness) g_object_set(nice, "keepalive-conncheck", TRUE, NULL);
    guint stream = nice_agent_add_stream(nice, 1);
    if (stream == 0) {
        g_object_unref(nice);
        return NULL;
    }
    if (options->max_port > 0) nice_agent_set_port_range(nice, stream, COMPONENT, options->min_port, options->max_port);

    rnice_agent *agent = g_new0(rnice_agent, 1);
    agent->nice = nice;
    agent->context = main_context;
    agent->stream = stream;
    agent->callbacks = *callbacks;
    agent->user = user;
    g_signal_connect(nice, "new-candidate-full", G_CALLBACK(on_candidate), agent);
    g_signal_connect(nice, "candidate-gathering-done", G_CALLBACK(on_gathering_done), agent);
    g_signal_connect(nice, "component-state-changed", G_CALLBACK(on_state), agent);
    g_signal_connect(nice, "new-selected-pair-full", G_CALLBACK(on_selected_pair), agent);
    nice_agent_attach_recv(nice, stream, COMPONENT, main_context, on_datagram, agent);
    return agent;
}

static void on_closed(GObject *object, GAsyncResult *result, gpointer data) {
    (void)object, (void)result;
    rnice_agent *agent = data;
    nice_agent_attach_recv(agent->nice, agent->stream, COMPONENT, agent->context, NULL, NULL);
    g_object_unref(agent->nice);
    agent->callbacks.closed(agent->user);
    g_free(agent);
}

void rnice_agent_close(rnice_agent *agent) {
    rnice_agent_watch_errors(agent, 0);
    g_signal_handlers_disconnect_by_data(agent->nice, agent);
    // Still attached, or libnice would not read the relays' answers.
    agent->is_closing = TRUE;
    // Asynchronous: relay allocations are given back first, and libnice frees a stream only from its main context.
    nice_agent_close_async(agent->nice, on_closed, agent);
}

// MARK: Configuration

int rnice_agent_add_local_address(rnice_agent *agent, const char *address) {
    NiceAddress parsed;
    nice_address_init(&parsed);
    if (!nice_address_set_from_string(&parsed, address)) return 0;
    return nice_agent_add_local_address(agent->nice, &parsed) ? 1 : 0;
}

void rnice_agent_set_stun_server(rnice_agent *agent, const char *host, unsigned port) {
    g_object_set(agent->nice, "stun-server", host, "stun-server-port", port, NULL);
}

int rnice_agent_add_relay(
    rnice_agent *agent, const char *host, unsigned port, const char *username, const char *password, int is_tcp) {
    NiceRelayType type = is_tcp ? NICE_RELAY_TYPE_TURN_TCP : NICE_RELAY_TYPE_TURN_UDP;
    return nice_agent_set_relay_info(agent->nice, agent->stream, COMPONENT, host, port, username, password, type) ? 1 : 0;
}

// The number the next source of the context gets.
static guint next_source_id(GMainContext *context) {
    GSource *probe = g_idle_source_new();
    guint id = g_source_attach(probe, context);
    g_source_destroy(probe);
    g_source_unref(probe);
    return id;
}

// GLib takes the descriptors of a source out of the poll set while it dispatches it and puts them back afterwards, and each of
// the two wakes the loop: four system calls a datagram. It leaves a source alone that may recurse. Nothing here iterates the
// context from within a callback, so none ever does.
static void keep_polled(GMainContext *context, guint first, guint end) {
    for (guint id = first; id != end; id++) {
        GSource *source = g_main_context_find_source_by_id(context, id);
        if (source != NULL) g_source_set_can_recurse(source, TRUE);
    }
}

int rnice_agent_gather(rnice_agent *agent) {
    guint first = next_source_id(agent->context);
    gboolean is_started = nice_agent_gather_candidates(agent->nice, agent->stream);
    // The sockets of the host candidates are open by now.
    keep_polled(agent->context, first + 1, next_source_id(agent->context));
    return is_started ? 1 : 0;
}

int rnice_agent_local_credentials(rnice_agent *agent, char *fragment, char *password, size_t capacity) {
    gchar *ufrag = NULL, *pwd = NULL;
    if (!nice_agent_get_local_credentials(agent->nice, agent->stream, &ufrag, &pwd)) return 0;
    g_strlcpy(fragment, ufrag, capacity);
    g_strlcpy(password, pwd, capacity);
    g_free(ufrag);
    g_free(pwd);
    return 1;
}

int rnice_agent_set_remote_credentials(rnice_agent *agent, const char *fragment, const char *password) {
    return nice_agent_set_remote_credentials(agent->nice, agent->stream, fragment, password) ? 1 : 0;
}

int rnice_agent_add_remote_candidate(rnice_agent *agent, const char *line) {
    gchar *attribute = g_strconcat("a=", line, NULL);
    NiceCandidate *candidate = nice_agent_parse_remote_candidate_sdp(agent->nice, agent->stream, attribute);
    g_free(attribute);
    if (candidate == NULL) return 0;
    GSList list = {.data = candidate, .next = NULL};
    int added = nice_agent_set_remote_candidates(agent->nice, agent->stream, COMPONENT, &list);
    nice_candidate_free(candidate);
    return added > 0;
}

void rnice_agent_remote_gathering_done(rnice_agent *agent) {
    nice_agent_peer_candidate_gathering_done(agent->nice, agent->stream);
}

// MARK: Running

int rnice_agent_send(rnice_agent *agent, const uint8_t *bytes, size_t count) {
    return nice_agent_send(agent->nice, agent->stream, COMPONENT, (guint)count, (const gchar *)bytes);
}

static void copy_address(const NiceAddress *address, char *text, size_t capacity, uint16_t *port) {
    gchar buffer[NICE_ADDRESS_STRING_LEN];
    nice_address_to_string(address, buffer);
    g_strlcpy(text, buffer, capacity);
    *port = (uint16_t)nice_address_get_port(address);
}

int rnice_agent_selected_pair(rnice_agent *agent, rnice_pair *pair) {
    NiceCandidate *local = NULL, *remote = NULL;
    memset(pair, 0, sizeof *pair);
    if (!nice_agent_get_selected_pair(agent->nice, agent->stream, COMPONENT, &local, &remote)) return 0;
    if (local == NULL || remote == NULL) return 0;
    pair->local_type = (int)local->type;
    pair->remote_type = (int)remote->type;
    pair->local_priority = local->priority;
    copy_address(&local->addr, pair->local_address, sizeof pair->local_address, &pair->local_port);
    copy_address(&remote->addr, pair->remote_address, sizeof pair->remote_address, &pair->remote_port);
    if (local->type == NICE_CANDIDATE_TYPE_RELAYED) {
        NiceAddress relay;
        nice_address_init(&relay);
        nice_candidate_relay_address(local, &relay);
        if (nice_address_is_valid(&relay)) copy_address(&relay, pair->relay_address, sizeof pair->relay_address, &pair->relay_port);
    }
    return 1;
}

int rnice_agent_expect_answer(rnice_agent *agent, const uint8_t transaction[RNICE_TRANSACTION_COUNT]) {
    GSocket *socket = nice_agent_get_selected_socket(agent->nice, agent->stream, COMPONENT);
    if (socket == NULL) return 0;
    memcpy(agent->expected[agent->expected_next], transaction, RNICE_TRANSACTION_COUNT);
    agent->expected_next = (agent->expected_next + 1) % RNICE_MAX_ANSWERS;
    if (agent->expected_count < RNICE_MAX_ANSWERS) agent->expected_count++;
    int is_set = rnice_answer_filter_set(
        g_socket_get_fd(socket), (const uint8_t (*)[RNICE_TRANSACTION_COUNT])agent->expected, agent->expected_count);
    g_object_unref(socket);
    return is_set;
}

int rnice_agent_set_receive_buffer(rnice_agent *agent, int bytes) {
    GPtrArray *sockets = nice_agent_get_sockets(agent->nice, agent->stream, COMPONENT);
    if (sockets == NULL) return 0;
    int smallest = 0;
    for (guint i = 0; i < sockets->len; i++) {
        int fd = g_socket_get_fd(g_ptr_array_index(sockets, i));
        int size = 0;
        socklen_t length = sizeof size;
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length) != 0) continue;
        if (smallest == 0 || size < smallest) smallest = size;
    }
    g_ptr_array_unref(sockets);
    return smallest;
}

int rnice_agent_watch_errors(rnice_agent *agent, int on) {
    if (agent->watch != NULL) {
        rnice_error_watch_free(agent->watch);
        agent->watch = NULL;
    }
    if (!on) return 0;
    GSocket *socket = nice_agent_get_selected_socket(agent->nice, agent->stream, COMPONENT);
    if (socket == NULL) return 0;
    rnice_error_watch_callbacks callbacks = {.report = on_send_error, .heard = on_heard};
    agent->watch = rnice_error_watch_new(agent->context, g_socket_get_fd(socket), &callbacks, agent);
    g_object_unref(socket);
    return agent->watch != NULL;
}

// MARK: Log

static void drop_log(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain, (void)level, (void)message, (void)data;
}

void rnice_silence_library_log(void) {
    static gsize done = 0;
    if (!g_once_init_enter(&done)) return;
    g_log_set_handler("libnice", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_MESSAGE, drop_log, NULL);
    g_once_init_leave(&done, 1);
}

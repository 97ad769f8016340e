#include "CUsrSCTP.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <usrsctp.h>

struct csctp_socket {
    struct socket *socket;
    uint64_t id;
    csctp_options options;
};

static csctp_callbacks callbacks;

static uint64_t number(const void *address) { return (uint64_t)(uintptr_t)address; }
static void *address(uint64_t id) { return (void *)(uintptr_t)id; }

static int on_output(void *to, void *packet, size_t count, uint8_t tos, uint8_t set_df) {
    (void)tos;
    (void)set_df;
    return callbacks.output(number(to), packet, count) ? 0 : ENOBUFS;
}

static void report(uint64_t id, int kind, uint32_t detail) { callbacks.event(id, kind, detail, NULL, 0); }

static void on_notification(uint64_t id, const union sctp_notification *notification, size_t count) {
    if (count < sizeof notification->sn_header || notification->sn_header.sn_length > count) return;
    switch (notification->sn_header.sn_type) {
        case SCTP_ASSOC_CHANGE: {
            const struct sctp_assoc_change *change = &notification->sn_assoc_change;
            if (count < sizeof *change) return;
            switch (change->sac_state) {
                case SCTP_COMM_UP: report(id, CSCTP_UP, change->sac_outbound_streams); break;
                case SCTP_COMM_LOST: report(id, CSCTP_LOST, change->sac_error); break;
                case SCTP_RESTART: report(id, CSCTP_RESTARTED, 0); break;
                case SCTP_SHUTDOWN_COMP: report(id, CSCTP_SHUTDOWN_COMPLETE, 0); break;
                case SCTP_CANT_STR_ASSOC: report(id, CSCTP_CANNOT_START, change->sac_error); break;
                default: break;
            }
            break;
        }
        case SCTP_SHUTDOWN_EVENT: report(id, CSCTP_PEER_SHUTDOWN, 0); break;
        case SCTP_STREAM_RESET_EVENT: {
            const struct sctp_stream_reset_event *reset = &notification->sn_strreset_event;
            if (count < sizeof *reset) return;
            size_t streams = (notification->sn_header.sn_length - sizeof *reset) / sizeof(uint16_t);
            if (reset->strreset_flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED)) {
                if (reset->strreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN)
                    callbacks.event(id, CSCTP_OUTGOING_RESET_REFUSED, 0, reset->strreset_stream_list, streams);
                break;
            }
            if (reset->strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN)
                callbacks.event(id, CSCTP_INCOMING_RESET, 0, reset->strreset_stream_list, streams);
            if (reset->strreset_flags & SCTP_STREAM_RESET_OUTGOING_SSN)
                callbacks.event(id, CSCTP_OUTGOING_RESET, 0, reset->strreset_stream_list, streams);
            break;
        }
        case SCTP_SEND_FAILED_EVENT:
            if (count < sizeof notification->sn_send_failed_event) return;
            report(id, CSCTP_SEND_FAILED, notification->sn_send_failed_event.ssfe_info.snd_sid);
            break;
        case SCTP_PARTIAL_DELIVERY_EVENT:
            if (count < sizeof notification->sn_pdapi_event) return;
            report(id, CSCTP_PARTIAL_ABORTED, notification->sn_pdapi_event.pdapi_stream);
            break;
        default: break;
    }
}

static int on_receive(
    struct socket *socket, union sctp_sockstore from, void *data, size_t count, struct sctp_rcvinfo info, int flags,
    void *user) {
    (void)socket;
    (void)from;
    if (data == NULL) return 1;  // end of file: the association's end is reported by its own notification
    uint64_t id = number(user);
    if (flags & MSG_NOTIFICATION) {
        on_notification(id, data, count);
        free(data);
    } else {
        callbacks.message(
            id, info.rcv_sid, ntohl(info.rcv_ppid), (info.rcv_flags & SCTP_UNORDERED) != 0, (flags & MSG_EOR) != 0, data,
            count);
    }
    return 1;
}

static int on_writable(struct socket *socket, uint32_t free_bytes, void *user) {
    (void)socket;
    callbacks.writable(number(user), free_bytes);
    return 1;
}

void csctp_start(const csctp_callbacks *given) {
    callbacks = *given;
    usrsctp_init_nothreads(0, on_output, NULL);
    usrsctp_sysctl_set_sctp_blackhole(2);  // never answer for what we don't know
    usrsctp_sysctl_set_sctp_ecn_enable(0);
    usrsctp_sysctl_set_sctp_asconf_enable(0);
    usrsctp_sysctl_set_sctp_auto_asconf(0);
    usrsctp_sysctl_set_sctp_auth_enable(0);
    usrsctp_sysctl_set_sctp_nrsack_enable(0);
    usrsctp_sysctl_set_sctp_pktdrop_enable(0);
    usrsctp_sysctl_set_sctp_pr_enable(1);
    usrsctp_sysctl_set_sctp_reconfig_enable(1);
    // The library's 512 chunks are half a megabyte of small packets: less than one long path holds.
    usrsctp_sysctl_set_sctp_max_chunks_on_queue(10 * 1024);
    usrsctp_sysctl_set_sctp_max_burst_default(10);
    usrsctp_sysctl_set_sctp_initial_cwnd(10);
}

void csctp_tick(uint32_t elapsed_ms) { usrsctp_handle_timers(elapsed_ms); }

static int set(struct socket *socket, int level, int option, const void *value, size_t count) {
    return usrsctp_setsockopt(socket, level, option, value, (socklen_t)count);
}

static int configure(struct socket *socket, const csctp_options *options) {
    int on = 1, off = 0;
    int send_buffer = (int)options->send_buffer, receive_buffer = (int)options->receive_buffer;
    uint32_t partial = options->partial_delivery_point;
    struct linger linger = {1, 0};  // close aborts at once instead of waiting for the peer
    struct sctp_assoc_value reset = {SCTP_FUTURE_ASSOC, SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_CHANGE_ASSOC_REQ};
    struct sctp_initmsg init = {options->streams, options->streams, 0, 0};
    struct sctp_rtoinfo rto = {SCTP_FUTURE_ASSOC, options->rto_initial_ms, options->rto_max_ms, options->rto_min_ms};
    struct sctp_sack_info sack = {SCTP_FUTURE_ASSOC, options->delayed_ack_ms, 2};
    if (usrsctp_set_non_blocking(socket, 1) != 0) return -1;
    if (set(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) != 0) return -1;
    if (set(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer) != 0) return -1;
    if (set(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_EXPLICIT_EOR, &off, sizeof off) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, &partial, sizeof partial) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_ENABLE_STREAM_RESET, &reset, sizeof reset) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) != 0) return -1;
    if (set(socket, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack) != 0) return -1;
    // No dry event: it fires after every small message.
    static const uint16_t events[] = {
        SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT, SCTP_STREAM_RESET_EVENT, SCTP_SEND_FAILED_EVENT, SCTP_PARTIAL_DELIVERY_EVENT,
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct sctp_event event = {SCTP_FUTURE_ASSOC, events[i], 1};
        if (set(socket, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) != 0) return -1;
    }
    return 0;
}

csctp_socket *csctp_open(uint64_t id, const csctp_options *options) {
    csctp_socket *socket = calloc(1, sizeof *socket);
    if (socket == NULL) return NULL;
    socket->id = id;
    socket->options = *options;
    usrsctp_register_address(address(id));
    socket->socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, on_receive, on_writable, 1, address(id));
    if (socket->socket != NULL && configure(socket->socket, options) == 0) return socket;
    int error = errno;
    if (socket->socket != NULL) usrsctp_close(socket->socket);
    usrsctp_deregister_address(address(id));
    free(socket);
    errno = error;
    return NULL;
}

static struct sockaddr_conn endpoint(const csctp_socket *socket, uint16_t port) {
    struct sockaddr_conn name;
    memset(&name, 0, sizeof name);
    name.sconn_family = AF_CONN;
    name.sconn_port = htons(port);
    name.sconn_addr = address(socket->id);
    return name;
}

int csctp_connect(csctp_socket *socket, uint16_t local_port, uint16_t remote_port) {
    struct sockaddr_conn local = endpoint(socket, local_port), remote = endpoint(socket, remote_port);
    struct sctp_paddrparams path;
    memset(&path, 0, sizeof path);
    // The path of an association not yet there: the packets of its set-up keep to the MTU as well.
    path.spp_assoc_id = SCTP_FUTURE_ASSOC;
    path.spp_flags = SPP_PMTUD_DISABLE | SPP_HB_ENABLE;
    // Over AF_CONN the library counts the path's MTU without the common header.
    path.spp_pathmtu = socket->options.mtu - (uint32_t)sizeof(struct sctp_common_header);
    path.spp_hbinterval = socket->options.heartbeat_ms;
    if (set(socket->socket, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) != 0) return errno;
    if (usrsctp_bind(socket->socket, (struct sockaddr *)&local, sizeof local) != 0) return errno;
    if (usrsctp_connect(socket->socket, (struct sockaddr *)&remote, sizeof remote) != 0 && errno != EINPROGRESS) return errno;
    memcpy(&path.spp_address, &remote, sizeof remote);
    if (set(socket->socket, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) != 0) return errno;
    return 0;
}

void csctp_input(uint64_t id, const void *packet, size_t count) { usrsctp_conninput(address(id), packet, count, 0); }

int csctp_send(
    csctp_socket *socket, uint16_t stream, uint32_t ppid, int is_unordered, int policy, uint32_t policy_value,
    const void *bytes, size_t count) {
    struct sctp_sendv_spa info;
    memset(&info, 0, sizeof info);
    info.sendv_flags = SCTP_SEND_SNDINFO_VALID;
    info.sendv_sndinfo.snd_sid = stream;
    info.sendv_sndinfo.snd_ppid = htonl(ppid);
    info.sendv_sndinfo.snd_flags = SCTP_EOR;
    if (is_unordered) info.sendv_sndinfo.snd_flags |= SCTP_UNORDERED;
    if (policy != CSCTP_RELIABLE) {
        info.sendv_flags |= SCTP_SEND_PRINFO_VALID;
        info.sendv_prinfo.pr_policy = policy == CSCTP_LIFETIME ? SCTP_PR_SCTP_TTL : SCTP_PR_SCTP_RTX;
        info.sendv_prinfo.pr_value = policy_value;
    }
    ssize_t sent = usrsctp_sendv(socket->socket, bytes, count, NULL, 0, &info, sizeof info, SCTP_SENDV_SPA, 0);
    if (sent < 0) return errno;
    return (size_t)sent == count ? 0 : EMSGSIZE;
}

int csctp_reset(csctp_socket *socket, const uint16_t *streams, size_t count) {
    if (count == 0 || count > 1024) return EINVAL;
    size_t bytes = sizeof(struct sctp_reset_streams) + count * sizeof(uint16_t);
    struct sctp_reset_streams *reset = calloc(1, bytes);
    if (reset == NULL) return ENOMEM;
    reset->srs_assoc_id = SCTP_CURRENT_ASSOC;
    reset->srs_flags = SCTP_STREAM_RESET_OUTGOING;
    reset->srs_number_streams = (uint16_t)count;
    memcpy(reset->srs_stream_list, streams, count * sizeof(uint16_t));
    int error = set(socket->socket, IPPROTO_SCTP, SCTP_RESET_STREAMS, reset, bytes) == 0 ? 0 : errno;
    free(reset);
    return error;
}

int csctp_read_status(csctp_socket *socket, csctp_status *status) {
    struct sctp_status found;
    memset(&found, 0, sizeof found);
    socklen_t count = sizeof found;
    if (usrsctp_getsockopt(socket->socket, IPPROTO_SCTP, SCTP_STATUS, &found, &count) != 0) return errno;
    status->srtt_ms = found.sstat_primary.spinfo_srtt;
    status->rto_ms = found.sstat_primary.spinfo_rto;
    return 0;
}

void csctp_close(csctp_socket *socket) {
    // The ABORT still needs the address, so it goes first. What comes after it finds no association under the number.
    usrsctp_close(socket->socket);
    usrsctp_deregister_address(address(socket->id));
    free(socket);
}

void csctp_free(void *bytes) { free(bytes); }

uint32_t csctp_checksum(const void *packet, size_t count) { return usrsctp_crc32c((void *)packet, count); }

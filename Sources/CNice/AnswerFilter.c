#include "AnswerFilter.h"

#ifdef __linux__

#include <linux/filter.h>
#include <sys/socket.h>

// Offsets in what a UDP socket's filter sees, which begins with the UDP header.
#define UDP_HEADER 8
#define TYPE_OFFSET UDP_HEADER
#define COOKIE_OFFSET (UDP_HEADER + 4)
#define TRANSACTION_OFFSET (UDP_HEADER + 8)
#define FINGERPRINT_COUNT 8
#define MIN_COUNT (UDP_HEADER + 20 + FINGERPRINT_COUNT)
#define HEAD 7
#define PER_TRANSACTION 6

static struct sock_filter statement(uint16_t code, uint32_t k) { return (struct sock_filter)BPF_STMT(code, k); }

static struct sock_filter jump(uint16_t code, uint32_t k, unsigned if_true, unsigned if_false) {
    return (struct sock_filter)BPF_JUMP(code, k, (uint8_t)if_true, (uint8_t)if_false);
}

static uint32_t big(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int rnice_answer_filter_set(int fd, const uint8_t transactions[][RNICE_TRANSACTION_COUNT], unsigned count) {
    struct sock_filter program[HEAD + PER_TRANSACTION * RNICE_MAX_ANSWERS + 4];
    if (count > RNICE_MAX_ANSWERS) return 0;
    // After the tests of the transactions comes "accept", and behind it "cut".
    unsigned n = 0, accept = HEAD + PER_TRANSACTION * count;
    // A load beyond the end would drop the datagram.
    program[n++] = statement(BPF_LD | BPF_W | BPF_LEN, 0);
    program[n] = jump(BPF_JMP | BPF_JGE | BPF_K, MIN_COUNT, 0, accept - n - 1), n++;
    program[n++] = statement(BPF_LD | BPF_H | BPF_ABS, TYPE_OFFSET);
    // Success or error response to a binding request: the class bits of the two differ in one.
    program[n++] = statement(BPF_ALU | BPF_AND | BPF_K, 0xFFEF);
    program[n] = jump(BPF_JMP | BPF_JEQ | BPF_K, 0x0101, 0, accept - n - 1), n++;
    program[n++] = statement(BPF_LD | BPF_W | BPF_ABS, COOKIE_OFFSET);
    program[n] = jump(BPF_JMP | BPF_JEQ | BPF_K, 0x2112A442, 0, accept - n - 1), n++;
    for (unsigned i = 0; i < count; i++) {
        unsigned next = n + PER_TRANSACTION;
        for (unsigned word = 0; word < 3; word++) {
            program[n++] = statement(BPF_LD | BPF_W | BPF_ABS, TRANSACTION_OFFSET + 4 * word);
            unsigned matched = word == 2 ? accept + 1 - n - 1 : 0;
            program[n] = jump(BPF_JMP | BPF_JEQ | BPF_K, big(transactions[i] + 4 * word), matched, next - n - 1), n++;
        }
    }
    program[n++] = statement(BPF_RET | BPF_K, UINT32_MAX);
    program[n++] = statement(BPF_LD | BPF_W | BPF_LEN, 0);
    program[n++] = statement(BPF_ALU | BPF_SUB | BPF_K, FINGERPRINT_COUNT);
    program[n++] = statement(BPF_RET | BPF_A, 0);
    struct sock_fprog description = {.len = (unsigned short)n, .filter = program};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &description, sizeof description) == 0;
}

#else

int rnice_answer_filter_set(int fd, const uint8_t transactions[][RNICE_TRANSACTION_COUNT], unsigned count) {
    (void)fd, (void)transactions, (void)count;
    return 0;
}

#endif

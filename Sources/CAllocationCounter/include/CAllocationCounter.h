#ifndef CALLOCATIONCOUNTER_H
#define CALLOCATIONCOUNTER_H

// Counts heap allocations of the calling thread, exactly, for benchmarks and one test; nothing else links this.
//
// With glibc the target defines malloc and its relatives itself, in front of glibc's, so that every library of the process is
// counted: Swift's runtime, C++ and C. Elsewhere, and under a sanitizer, which has an allocator of its own, nothing is
// replaced and callocation_is_available says 0.

#include <stddef.h>
#include <stdint.h>

typedef struct {
    /// Calls that gave out memory; a realloc that had a block before counts as one and frees nothing.
    uint64_t allocations;
    /// Calls that took a block back.
    uint64_t frees;
    /// Bytes asked for.
    uint64_t bytes;
} callocation_counts;

/// 1 when counting works here.
int callocation_is_available(void);

/// What this thread has allocated since it began. Reading costs a few nanoseconds and allocates nothing.
callocation_counts callocation_counts_now(void);

/// From now on the first allocations of this thread leave their call stacks, up to a fixed number; 0 ends it. Forgets the
/// stacks recorded before.
void callocation_record_stacks(int on);

/// Prints the recorded stacks to a descriptor, one frame a line as module(+offset), and returns how many there are.
int callocation_print_stacks(int descriptor);

#endif

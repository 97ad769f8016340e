#include "CAllocationCounter.h"

#include <stdio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

#include <errno.h>
#include <execinfo.h>

// glibc's own allocator under the names it keeps for those who replace malloc.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define MAX_STACKS 32
#define MAX_DEPTH 24

// The executable's own thread-local storage: no look-up that could allocate.
static __thread callocation_counts counts;
static __thread int is_recording;
// Written by the one thread that records.
static void *stacks[MAX_STACKS][MAX_DEPTH];
static int depths[MAX_STACKS];
static size_t sizes[MAX_STACKS];
static int stack_count;

static void record(size_t size) {
    if (stack_count == MAX_STACKS) return;
    // `backtrace` may allocate itself.
    is_recording = 0;
    depths[stack_count] = backtrace(stacks[stack_count], MAX_DEPTH);
    sizes[stack_count] = size;
    stack_count++;
    is_recording = 1;
}

static inline void *counted(void *block, size_t size) {
    counts.allocations++;
    counts.bytes += size;
    if (__builtin_expect(is_recording, 0)) record(size);
    return block;
}

void *malloc(size_t size) { return counted(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size), count * size); }

void *realloc(void *block, size_t size) {
    if (block != NULL && size == 0) counts.frees++;
    return counted(__libc_realloc(block, size), size);
}

void *reallocarray(void *block, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, total);
}

void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), size); }

void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *block = counted(__libc_memalign(alignment, size), size);
    if (block == NULL) return ENOMEM;
    *result = block;
    return 0;
}

void *valloc(size_t size) { return memalign((size_t)getpagesize(), size); }

void free(void *block) {
    if (block != NULL) counts.frees++;
    __libc_free(block);
}

int callocation_is_available(void) { return 1; }

callocation_counts callocation_counts_now(void) { return counts; }

void callocation_record_stacks(int on) {
    if (on) {
        // The first `backtrace` of a process loads libgcc.
        void *frame[1];
        backtrace(frame, 1);
        stack_count = 0;
    }
    is_recording = on;
}

int callocation_print_stacks(int descriptor) {
    for (int i = 0; i < stack_count; i++) {
        dprintf(descriptor, "allocation %d, %zu bytes:\n", i + 1, sizes[i]);
        // The first two frames are this file's.
        if (depths[i] > 2) backtrace_symbols_fd(stacks[i] + 2, depths[i] - 2, descriptor);
    }
    return stack_count;
}

#else

int callocation_is_available(void) { return 0; }

callocation_counts callocation_counts_now(void) { return (callocation_counts){0, 0, 0}; }

void callocation_record_stacks(int on) { (void)on; }

int callocation_print_stacks(int descriptor) {
    (void)descriptor;
    return 0;
}

#endif

#include "CLinux.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>

// Below the smallest size that glibc maps by itself: freeing a mapped block raises its thresholds for good.
#define BLOCK_BYTES ((size_t)120 << 10)
#define BLOCKS 40

// Lets go of the pages at the end of the calling thread's arena. malloc_trim does that for the main arena alone; in the others
// they stay until there are more of them than twice the largest block ever freed. What is taken here is mostly that end, and
// goes back to it without its pages.
static void release_top(void) {
    void *blocks[BLOCKS];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        if (blocks[i] == NULL) continue;
        uintptr_t first = ((uintptr_t)blocks[i] + page - 1) & ~(page - 1);
        uintptr_t end = ((uintptr_t)blocks[i] + BLOCK_BYTES) & ~(page - 1);
        madvise((void *)first, end - first, MADV_DONTNEED);
    }
    for (int i = BLOCKS; i-- > 0;) free(blocks[i]);
}
#endif

void clinux_trim_heap(void) {
#if defined(__GLIBC__)
    release_top();
    malloc_trim(0);
#endif
}

void *clinux_map(size_t byte_count) {
    void *base = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

void clinux_unmap(void *base, size_t byte_count) { munmap(base, byte_count); }

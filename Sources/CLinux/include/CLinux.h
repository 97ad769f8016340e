#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>

/// What the system's Swift module lacks. Nothing here keeps state.

/// Gives freed heap memory back to the system, that of the calling thread thoroughly. glibc keeps what large blocks leave behind
/// in every thread's arena; elsewhere the allocator does this by itself and nothing happens.
void clinux_trim_heap(void);

/// Zeroed pages straight from the system; NULL when there are none. `clinux_unmap` frees them, with the same size.
void *clinux_map(size_t byte_count);
void clinux_unmap(void *base, size_t byte_count);

#endif

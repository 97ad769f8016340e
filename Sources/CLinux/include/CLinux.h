#ifndef CLINUX_H
#define CLINUX_H

/// What the system's Swift module lacks. Nothing here keeps state.

/// Gives freed heap memory back to the system. glibc keeps what large blocks leave behind in every thread's arena, up to
/// 64 MiB each; elsewhere the allocator does this by itself and nothing happens.
void clinux_trim_heap(void);

#endif

#ifndef CPNG_H
#define CPNG_H

#include <stdint.h>

/// Writes a PNG file from tight rows of B, G, R, A bytes.
/// Returns 0, or -1 with a sentence in `message` (at most `capacity` bytes, always terminated). Keeps nothing.
int cpng_write_bgra(const char *path, const void *pixels, uint32_t width, uint32_t height, char *message, uint32_t capacity);

#endif

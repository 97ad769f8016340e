#ifndef CPNG_H
#define CPNG_H

#include <stddef.h>
#include <stdint.h>

/// Writes a PNG file from tight rows of B, G, R, A bytes.
/// Returns 0, or -1 with a sentence in `message` (at most `capacity` bytes, always terminated). Keeps nothing.
int cpng_write_bgra(const char *path, const void *pixels, uint32_t width, uint32_t height, char *message, uint32_t capacity);

/// The size of the picture in a PNG file in memory, from its header. Returns and tells as above.
int cpng_read_size(const void *file, size_t count, uint32_t *width, uint32_t *height, char *message, uint32_t capacity);

/// Decodes a PNG file in memory to tight rows of B, G, R, A, not premultiplied. `pixels` takes width * height * 4
/// bytes; a picture of another size is refused. Returns and tells as above; after a failure the pixels are whatever they are.
int cpng_read_bgra(const void *file, size_t count, void *pixels, uint32_t width, uint32_t height, char *message, uint32_t capacity);

#endif

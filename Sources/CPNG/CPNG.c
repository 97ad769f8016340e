#include "CPNG.h"

#include <png.h>
#include <stdio.h>
#include <string.h>

int cpng_write_bgra(const char *path, const void *pixels, uint32_t width, uint32_t height, char *message, uint32_t capacity) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_BGRA;
    // Decoded video is opaque, but its alpha bytes are not part of the picture: they are written as they are (255).
    if (png_image_write_to_file(&image, path, 0, pixels, (png_int_32)(width * 4), NULL)) return 0;
    if (capacity > 0) snprintf(message, capacity, "%s", image.message);
    png_image_free(&image);
    return -1;
}

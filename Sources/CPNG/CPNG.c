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

static int fail(png_image *image, char *message, uint32_t capacity) {
    if (capacity > 0) snprintf(message, capacity, "%s", image->message);
    png_image_free(image);
    return -1;
}

int cpng_read_size(const void *file, size_t count, uint32_t *width, uint32_t *height, char *message, uint32_t capacity) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (file == NULL || !png_image_begin_read_from_memory(&image, file, count)) {
        if (image.message[0] == 0) snprintf(image.message, sizeof image.message, "no data");
        return fail(&image, message, capacity);
    }
    *width = image.width;
    *height = image.height;
    png_image_free(&image);
    return 0;
}

int cpng_read_bgra(const void *file, size_t count, void *pixels, uint32_t width, uint32_t height, char *message, uint32_t capacity) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (file == NULL || !png_image_begin_read_from_memory(&image, file, count)) return fail(&image, message, capacity);
    if (image.width != width || image.height != height) {
        snprintf(image.message, sizeof image.message, "another size");
        return fail(&image, message, capacity);
    }
    image.format = PNG_FORMAT_BGRA;
    memset(pixels, 0, (size_t)width * height * 4);
    if (!png_image_finish_read(&image, NULL, pixels, (png_int_32)(width * 4), NULL)) return fail(&image, message, capacity);
    return 0;
}

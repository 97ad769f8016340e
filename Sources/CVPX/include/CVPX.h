// A thin wrapper around libvpx: one VP8 or VP9 decoder or encoder behind an opaque pointer.
//
// No policy and no thread of its own; a handle is used by one thread at a time. Functions that can fail return a
// libvpx error code (0 is success). Pictures and packets point into libvpx memory and stay valid until the next call
// on the same handle.
#ifndef CVPX_H
#define CVPX_H

#include <stddef.h>
#include <stdint.h>

enum { CVPX_CODEC_VP8 = 8, CVPX_CODEC_VP9 = 9 };

// libvpx's codes that callers tell apart (the numbers are part of its ABI).
enum {
    CVPX_OK = 0,
    CVPX_OUT_OF_MEMORY = 2,
    CVPX_UNSUPPORTED_BITSTREAM = 5,
    CVPX_UNSUPPORTED_FEATURE = 6,
    CVPX_CORRUPT_FRAME = 7,
    CVPX_INVALID_PARAMETER = 8,
    // Our own: the picture needs more memory than `max_buffer_bytes`.
    CVPX_PICTURE_TOO_LARGE = 100,
};

// Planes of a picture, borrowed. `is_i420` is 0 for anything but 8-bit 4:2:0.
typedef struct cvpx_picture {
    const uint8_t *y, *u, *v;
    int stride_y, stride_u, stride_v;
    int width, height;
    int is_i420;
} cvpx_picture;

typedef struct cvpx_decoder cvpx_decoder;

// Makes a decoder; the caller owns it and frees it with `cvpx_decoder_destroy`. NULL on failure, with the code in
// `*error`. A VP9 picture buffer over `max_buffer_bytes` is refused instead of allocated.
cvpx_decoder *cvpx_decoder_create(int codec, int threads, size_t max_buffer_bytes, int *error);
void cvpx_decoder_destroy(cvpx_decoder *decoder);

// Decodes one frame. The bytes are only read during the call. After an error, destroy the decoder.
int cvpx_decoder_decode(cvpx_decoder *decoder, const uint8_t *bytes, size_t count);

// The picture of the last `cvpx_decoder_decode`: 1 and `*picture` filled, or 0 when the frame shows nothing.
int cvpx_decoder_picture(cvpx_decoder *decoder, cvpx_picture *picture);

// 1 when the last shown picture was decoded from damaged data, or from references that were.
int cvpx_decoder_is_corrupted(cvpx_decoder *decoder);

typedef struct cvpx_encoder cvpx_encoder;

typedef struct cvpx_encoder_settings {
    int codec;
    int width, height;
    int kilobits_per_second;
    int threads;
    int speed;               // libvpx "cpu-used"
    int key_frame_interval;  // 0: only the first frame and forced ones
    int drop_frames;         // 1: rate control may skip frames
} cvpx_encoder_settings;

typedef struct cvpx_packet {
    const uint8_t *bytes;
    size_t count;
    int is_key_frame;
} cvpx_packet;

// Makes a realtime constant-bitrate encoder without look-ahead; owned by the caller. NULL on failure with `*error` set.
cvpx_encoder *cvpx_encoder_create(const cvpx_encoder_settings *settings, int *error);
void cvpx_encoder_destroy(cvpx_encoder *encoder);

int cvpx_encoder_set_bitrate(cvpx_encoder *encoder, int kilobits_per_second);

// libvpx "cpu-used" from the next picture on.
int cvpx_encoder_set_speed(cvpx_encoder *encoder, int speed);

// VP9 only: whether pictures are smoothed across block borders, from the next one on.
int cvpx_encoder_set_loop_filter(cvpx_encoder *encoder, int is_on);

// VP9 only: the next picture has this size, not larger on either side than the first was. No key frame is made; the
// references are scaled.
int cvpx_encoder_set_size(cvpx_encoder *encoder, int width, int height);

// The quantizer of the last picture, 0 (best) to 63; -1 when there is none.
int cvpx_encoder_last_quantizer(cvpx_encoder *encoder);

// Encodes one picture of the encoder's size. Times are in 1/90000 s; `presentation_time` must grow.
int cvpx_encoder_encode(
    cvpx_encoder *encoder, const cvpx_picture *picture, int64_t presentation_time, unsigned long duration,
    int force_key_frame);

// The packets of the last `cvpx_encoder_encode`: 1 with `*packet` filled until there is none left.
int cvpx_encoder_packet(cvpx_encoder *encoder, cvpx_packet *packet);

// Whether the library that was loaded has the interface that this was compiled for.
int cvpx_is_compatible(void);

#endif

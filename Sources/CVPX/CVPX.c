#include "CVPX.h"

#include <stdlib.h>

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// Decoder

// Picture memory handed to the VP9 decoder. A frame hidden behind another in the same chunk escapes a look at the
// headers, so the limit on picture size is also enforced where the memory is asked for.
enum { BUFFER_COUNT = VPX_MAXIMUM_WORK_BUFFERS + VP9_MAXIMUM_REF_BUFFERS + 2 };

typedef struct picture_buffer {
    uint8_t *bytes;
    size_t capacity;
    int in_use;
} picture_buffer;

struct cvpx_decoder {
    vpx_codec_ctx_t context;
    vpx_codec_iter_t iterator;
    size_t max_buffer_bytes;
    int refused_buffer;
    picture_buffer buffers[BUFFER_COUNT];
};

static int get_buffer(void *user, size_t min_size, vpx_codec_frame_buffer_t *out) {
    cvpx_decoder *decoder = user;
    if (min_size > decoder->max_buffer_bytes) {
        decoder->refused_buffer = 1;
        return -1;
    }
    picture_buffer *chosen = NULL;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        picture_buffer *candidate = &decoder->buffers[i];
        if (candidate->in_use) continue;
        if (!chosen || candidate->capacity >= min_size) chosen = candidate;
        if (chosen->capacity >= min_size) break;
    }
    if (!chosen) return -1;
    if (chosen->capacity < min_size) {
        free(chosen->bytes);
        // Zeroed: prediction may read borders that nothing has written yet.
        chosen->bytes = calloc(1, min_size);
        chosen->capacity = chosen->bytes ? min_size : 0;
        if (!chosen->bytes) return -1;
    }
    chosen->in_use = 1;
    out->data = chosen->bytes;
    out->size = chosen->capacity;
    out->priv = chosen;
    return 0;
}

static int release_buffer(void *user, vpx_codec_frame_buffer_t *buffer) {
    (void)user;
    picture_buffer *owner = buffer->priv;
    if (owner) owner->in_use = 0;
    return 0;
}

cvpx_decoder *cvpx_decoder_create(int codec, int threads, size_t max_buffer_bytes, int *error) {
    cvpx_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        *error = VPX_CODEC_MEM_ERROR;
        return NULL;
    }
    decoder->max_buffer_bytes = max_buffer_bytes;
    vpx_codec_dec_cfg_t config = {.threads = threads > 0 ? (unsigned)threads : 1};
    vpx_codec_iface_t *interface = codec == CVPX_CODEC_VP9 ? vpx_codec_vp9_dx() : vpx_codec_vp8_dx();
    int code = vpx_codec_dec_init(&decoder->context, interface, &config, 0);
    if (code != VPX_CODEC_OK) {
        free(decoder);
        *error = code;
        return NULL;
    }
    if (codec == CVPX_CODEC_VP9) {
        code = vpx_codec_set_frame_buffer_functions(&decoder->context, get_buffer, release_buffer, decoder);
        if (code == VPX_CODEC_OK && threads > 1) code = vpx_codec_control(&decoder->context, VP9D_SET_ROW_MT, 1);
    }
    if (code != VPX_CODEC_OK) {
        cvpx_decoder_destroy(decoder);
        *error = code;
        return NULL;
    }
    *error = VPX_CODEC_OK;
    return decoder;
}

void cvpx_decoder_destroy(cvpx_decoder *decoder) {
    if (!decoder) return;
    vpx_codec_destroy(&decoder->context);
    for (int i = 0; i < BUFFER_COUNT; i++) free(decoder->buffers[i].bytes);
    free(decoder);
}

int cvpx_decoder_decode(cvpx_decoder *decoder, const uint8_t *bytes, size_t count) {
    decoder->iterator = NULL;
    if (count > UINT32_MAX) return VPX_CODEC_INVALID_PARAM;
    int code = vpx_codec_decode(&decoder->context, bytes, (unsigned)count, NULL, 0);
    return code != VPX_CODEC_OK && decoder->refused_buffer ? CVPX_PICTURE_TOO_LARGE : code;
}

int cvpx_decoder_picture(cvpx_decoder *decoder, cvpx_picture *picture) {
    const vpx_image_t *image = vpx_codec_get_frame(&decoder->context, &decoder->iterator);
    if (!image) return 0;
    picture->y = image->planes[VPX_PLANE_Y];
    picture->u = image->planes[VPX_PLANE_U];
    picture->v = image->planes[VPX_PLANE_V];
    picture->stride_y = image->stride[VPX_PLANE_Y];
    picture->stride_u = image->stride[VPX_PLANE_U];
    picture->stride_v = image->stride[VPX_PLANE_V];
    picture->width = (int)image->d_w;
    picture->height = (int)image->d_h;
    picture->is_i420 = image->fmt == VPX_IMG_FMT_I420 && image->bit_depth <= 8;
    return 1;
}

int cvpx_decoder_is_corrupted(cvpx_decoder *decoder) {
    int corrupted = 0;
    int code = vpx_codec_control(&decoder->context, VP8D_GET_FRAME_CORRUPTED, &corrupted);
    return code != VPX_CODEC_OK || corrupted != 0;
}

// Encoder

struct cvpx_encoder {
    vpx_codec_ctx_t context;
    vpx_codec_enc_cfg_t config;
    vpx_codec_iter_t iterator;
};

static int apply_controls(cvpx_encoder *encoder, const cvpx_encoder_settings *settings) {
    vpx_codec_ctx_t *context = &encoder->context;
    int code = vpx_codec_control(context, VP8E_SET_CPUUSED, settings->speed);
    if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP8E_SET_STATIC_THRESHOLD, 1);
    // A key frame may take three times the average frame, so that it does not stall the picture behind it.
    if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP8E_SET_MAX_INTRA_BITRATE_PCT, 300);
    if (settings->codec == CVPX_CODEC_VP9) {
        if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP9E_SET_AQ_MODE, 3);
        if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP9E_SET_ROW_MT, settings->threads > 1 ? 1 : 0);
        int tile_columns = settings->threads >= 4 ? 2 : settings->threads >= 2 ? 1 : 0;
        if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP9E_SET_TILE_COLUMNS, tile_columns);
        if (code == VPX_CODEC_OK) code = vpx_codec_control(context, VP9E_SET_FRAME_PARALLEL_DECODING, 0);
    }
    return code;
}

cvpx_encoder *cvpx_encoder_create(const cvpx_encoder_settings *settings, int *error) {
    cvpx_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) {
        *error = VPX_CODEC_MEM_ERROR;
        return NULL;
    }
    vpx_codec_iface_t *interface = settings->codec == CVPX_CODEC_VP9 ? vpx_codec_vp9_cx() : vpx_codec_vp8_cx();
    vpx_codec_enc_cfg_t *config = &encoder->config;
    int code = vpx_codec_enc_config_default(interface, config, 0);
    if (code == VPX_CODEC_OK) {
        config->g_w = (unsigned)settings->width;
        config->g_h = (unsigned)settings->height;
        config->g_timebase.num = 1;
        config->g_timebase.den = 90000;
        config->g_threads = (unsigned)settings->threads;
        config->g_lag_in_frames = 0;
        config->g_pass = VPX_RC_ONE_PASS;
        config->g_error_resilient = 0;
        config->rc_end_usage = VPX_CBR;
        config->rc_target_bitrate = (unsigned)settings->kilobits_per_second;
        config->rc_dropframe_thresh = settings->drop_frames ? 30 : 0;
        config->rc_resize_allowed = 0;
        config->rc_min_quantizer = 2;
        config->rc_max_quantizer = 56;
        config->rc_undershoot_pct = 100;
        config->rc_overshoot_pct = 15;
        config->rc_buf_initial_sz = 500;
        config->rc_buf_optimal_sz = 600;
        config->rc_buf_sz = 1000;
        config->kf_mode = settings->key_frame_interval > 0 ? VPX_KF_AUTO : VPX_KF_DISABLED;
        if (settings->key_frame_interval > 0) config->kf_max_dist = (unsigned)settings->key_frame_interval;
        code = vpx_codec_enc_init(&encoder->context, interface, config, 0);
    }
    if (code != VPX_CODEC_OK) {
        free(encoder);
        *error = code;
        return NULL;
    }
    code = apply_controls(encoder, settings);
    if (code != VPX_CODEC_OK) {
        cvpx_encoder_destroy(encoder);
        *error = code;
        return NULL;
    }
    *error = VPX_CODEC_OK;
    return encoder;
}

void cvpx_encoder_destroy(cvpx_encoder *encoder) {
    if (!encoder) return;
    vpx_codec_destroy(&encoder->context);
    free(encoder);
}

int cvpx_encoder_set_bitrate(cvpx_encoder *encoder, int kilobits_per_second) {
    encoder->config.rc_target_bitrate = (unsigned)kilobits_per_second;
    return vpx_codec_enc_config_set(&encoder->context, &encoder->config);
}

int cvpx_encoder_set_speed(cvpx_encoder *encoder, int speed) {
    return vpx_codec_control(&encoder->context, VP8E_SET_CPUUSED, speed);
}

int cvpx_encoder_set_loop_filter(cvpx_encoder *encoder, int is_on) {
    // 2: off for every frame; 1 would leave it on for those that others are predicted from.
    return vpx_codec_control(&encoder->context, VP9E_SET_DISABLE_LOOPFILTER, is_on ? 0 : 2);
}

int cvpx_encoder_set_size(cvpx_encoder *encoder, int width, int height) {
    vpx_codec_enc_cfg_t changed = encoder->config;
    changed.g_w = (unsigned)width;
    changed.g_h = (unsigned)height;
    int code = vpx_codec_enc_config_set(&encoder->context, &changed);
    if (code == VPX_CODEC_OK) encoder->config = changed;
    return code;
}

int cvpx_encoder_last_quantizer(cvpx_encoder *encoder) {
    int quantizer = -1;
    if (vpx_codec_control(&encoder->context, VP8E_GET_LAST_QUANTIZER_64, &quantizer) != VPX_CODEC_OK) return -1;
    return quantizer;
}

int cvpx_encoder_encode(
    cvpx_encoder *encoder, const cvpx_picture *picture, int64_t presentation_time, unsigned long duration,
    int force_key_frame) {
    encoder->iterator = NULL;
    vpx_image_t image;
    if (!vpx_img_wrap(
            &image, VPX_IMG_FMT_I420, (unsigned)picture->width, (unsigned)picture->height, 1, (uint8_t *)picture->y)) {
        return VPX_CODEC_INVALID_PARAM;
    }
    image.planes[VPX_PLANE_Y] = (uint8_t *)picture->y;
    image.planes[VPX_PLANE_U] = (uint8_t *)picture->u;
    image.planes[VPX_PLANE_V] = (uint8_t *)picture->v;
    image.stride[VPX_PLANE_Y] = picture->stride_y;
    image.stride[VPX_PLANE_U] = picture->stride_u;
    image.stride[VPX_PLANE_V] = picture->stride_v;
    vpx_enc_frame_flags_t flags = force_key_frame ? VPX_EFLAG_FORCE_KF : 0;
    return vpx_codec_encode(&encoder->context, &image, presentation_time, duration, flags, VPX_DL_REALTIME);
}

int cvpx_encoder_packet(cvpx_encoder *encoder, cvpx_packet *packet) {
    for (;;) {
        const vpx_codec_cx_pkt_t *next = vpx_codec_get_cx_data(&encoder->context, &encoder->iterator);
        if (!next) return 0;
        if (next->kind != VPX_CODEC_CX_FRAME_PKT) continue;
        packet->bytes = next->data.frame.buf;
        packet->count = next->data.frame.sz;
        packet->is_key_frame = (next->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
        return 1;
    }
}

int cvpx_is_compatible(void) {
    // The library compares the numbers itself, before it does anything.
    vpx_codec_ctx_t context;
    int code = vpx_codec_dec_init(&context, vpx_codec_vp8_dx(), NULL, 0);
    if (code == VPX_CODEC_OK) vpx_codec_destroy(&context);
    return code != VPX_CODEC_ABI_MISMATCH;
}

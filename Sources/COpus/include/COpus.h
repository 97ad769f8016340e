// libopus, with its variable-argument controls as typed functions. Each returns an Opus error code (0 is success).
#ifndef COPUS_H
#define COPUS_H

#include <opus/opus.h>
#include <stdint.h>

static inline int copus_encoder_set_bitrate(OpusEncoder *encoder, int32_t bits_per_second) {
    return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
}

static inline int copus_encoder_set_complexity(OpusEncoder *encoder, int32_t complexity) {
    return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
}

static inline int copus_encoder_set_inband_fec(OpusEncoder *encoder, int32_t on) {
    return opus_encoder_ctl(encoder, OPUS_SET_INBAND_FEC(on));
}

static inline int copus_encoder_set_packet_loss_percent(OpusEncoder *encoder, int32_t percent) {
    return opus_encoder_ctl(encoder, OPUS_SET_PACKET_LOSS_PERC(percent));
}

static inline int copus_encoder_set_dtx(OpusEncoder *encoder, int32_t on) {
    return opus_encoder_ctl(encoder, OPUS_SET_DTX(on));
}

static inline int copus_decoder_reset(OpusDecoder *decoder) {
    return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}

// Samples per channel of the last packet decoded or concealed, at the decoder's rate.
static inline int copus_decoder_last_packet_duration(OpusDecoder *decoder, int32_t *samples) {
    return opus_decoder_ctl(decoder, OPUS_GET_LAST_PACKET_DURATION(samples));
}

#endif

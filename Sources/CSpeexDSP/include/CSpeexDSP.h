// The resampler of libspeexdsp, as it is: interleaved 16-bit samples in one rate in, in another out. The caller owns the
// state and frees it with `speex_resampler_destroy`; it is used by one thread at a time. Functions that can fail return a
// `RESAMPLER_ERR_` code (0 is success).
#ifndef CSPEEXDSP_H
#define CSPEEXDSP_H

#include <speex/speex_resampler.h>

#endif

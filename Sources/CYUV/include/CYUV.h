// The parts of libyuv that are used: conversions between I420 and 32-bit RGB, copies and scaling. libyuv names 32-bit
// formats by word, so its "ARGB" is B, G, R, A in memory and its "ABGR" is R, G, B, A.
#ifndef CYUV_H
#define CYUV_H

#include <stdint.h>

#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>

#endif

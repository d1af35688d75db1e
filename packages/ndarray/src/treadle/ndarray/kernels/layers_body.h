/* The kernels of layers.h for both floating types. Included once an instruction set, with TD_LAYERS naming the table. */
#include <math.h>
#include <string.h>

#include "layers.h"
#include "treadle/scalar_math.h"

#if defined(__clang__)
#define TD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define TD_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define TD_INDEPENDENT _Pragma("GCC ivdep")
#define TD_UNROLLED _Pragma("GCC unroll 8")
#endif
#define JOIN(name, sfx) name##_##sfx
#define JOINED(name, sfx) JOIN(name, sfx)
#define NAME(name) JOINED(name, SFX)
#define LANES 16 /* of sums: their order is the same for every instruction set */

#ifndef TD_VECTOR
#define TD_VECTOR 16 /* bytes of a vector */
#endif
#define EVEN_2(x, y) __builtin_shufflevector(x, y, 0, 2)
#define ODD_2(x, y) __builtin_shufflevector(x, y, 1, 3)
#define EVEN_4(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define ODD_4(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7)
#define EVEN_8(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_8(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define EVEN_16(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_16(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

extern const td_layers TD_LAYERS;

#define T float
#define I int32_t
#if TD_VECTOR == 64
#define EVEN_LANES(x, y) EVEN_16(x, y)
#define ODD_LANES(x, y) ODD_16(x, y)
#elif TD_VECTOR == 32
#define EVEN_LANES(x, y) EVEN_8(x, y)
#define ODD_LANES(x, y) ODD_8(x, y)
#else
#define EVEN_LANES(x, y) EVEN_4(x, y)
#define ODD_LANES(x, y) ODD_4(x, y)
#endif
#define SFX f32
#include "layers_gradients.h"
#include "layers_pool.h"
#include "layers_norm.h"
#include "layers_lstm.h"
#include "layers_entropy.h"
#include "layers_attention.h"
#undef T
#undef SFX
#undef I
#undef EVEN_LANES
#undef ODD_LANES
#define T double
#define I int64_t
#if TD_VECTOR == 64
#define EVEN_LANES(x, y) EVEN_8(x, y)
#define ODD_LANES(x, y) ODD_8(x, y)
#elif TD_VECTOR == 32
#define EVEN_LANES(x, y) EVEN_4(x, y)
#define ODD_LANES(x, y) ODD_4(x, y)
#else
#define EVEN_LANES(x, y) EVEN_2(x, y)
#define ODD_LANES(x, y) ODD_2(x, y)
#endif
#define SFX f64
#include "layers_gradients.h"
#include "layers_pool.h"
#include "layers_norm.h"
#include "layers_lstm.h"
#include "layers_entropy.h"
#include "layers_attention.h"
#undef T
#undef SFX

#define LAYERS_OF(sfx) \
    [TD_##sfx] = { \
        .gradient = {[TD_GRADIENT_gelu] = gelu_gradient_##sfx, [TD_GRADIENT_gelu_tanh] = gelu_tanh_gradient_##sfx, \
                     [TD_GRADIENT_sigmoid] = sigmoid_gradient_##sfx, [TD_GRADIENT_tanh] = tanh_gradient_##sfx, \
                     [TD_GRADIENT_relu] = relu_gradient_##sfx}, \
        .max_pool = max_pool_##sfx, \
        .max_pool_gradient = max_pool_gradient_##sfx, \
        .norm_rows = norm_rows_##sfx, \
        .norm_rows_gradient = norm_rows_gradient_##sfx, \
        .norm_channel = norm_channel_##sfx, \
        .norm_channel_gradient = norm_channel_gradient_##sfx, \
        .lstm = lstm_##sfx, \
        .lstm_gradient = lstm_gradient_##sfx, \
        .entropy = entropy_##sfx, \
        .entropy_gradient = entropy_gradient_##sfx, \
        .attention = attention_##sfx, \
        .attention_end = attention_end_##sfx, \
        .attention_dots = attention_dots_##sfx, \
        .attention_gradient = attention_gradient_##sfx, \
    },

const td_layers TD_LAYERS = {{LAYERS_OF(f32) LAYERS_OF(f64)}};

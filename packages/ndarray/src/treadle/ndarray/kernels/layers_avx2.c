#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,f16c")
#endif
#define TD_HAS_FMA 1
#include <immintrin.h>
#define TD_VECTOR 32
#define TD_LAYERS td_layers_avx2
#include "layers_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

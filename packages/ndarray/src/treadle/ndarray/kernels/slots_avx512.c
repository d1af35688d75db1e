#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c")
#endif
#define TD_HAS_FMA 1
#include <immintrin.h>
#define TD_WITH_F16C
#define TD_WITH_LANES
#define TD_SLOTS td_slots_avx512
#include "slots_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")
#endif
#define TD_SORT td_sort_avx512
#define TD_SORT_LANES "sort_lanes_avx512.h"
#include "sort_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

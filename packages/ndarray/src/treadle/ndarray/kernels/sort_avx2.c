#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif
/* The lanes of a register in the order in which a parting puts them: by the mask of those below the pivot, the numbers
 * of the lanes with a set bit and then those of the others, a byte each; of wide keys as pairs of narrow lanes. */
uint64_t td_sort_places[256], td_sort_wide_places[16];

#define TD_SORT td_sort_avx2
#define TD_SORT_LANES "sort_lanes_avx2.h"
#include "sort_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

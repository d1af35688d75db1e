/* AVX2 with FMA: 16 registers hold a tile of 6 x 2 vectors, 2 vectors of b and 2 spread elements of a. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "matmul_kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2")
#endif

#define MATMUL_KERNELS td_matmul_avx2
#define VECTOR_BYTES 32
#define EACH_ROW_COUNT EACH_TO_6
#define TILE_ROWS 6
#define WHOLE_TILES_APART 1 /* a masked load costs one operation more than a plain one */
typedef __m256i mask_f32, mask_f64;
typedef __m256 vector_f32;
typedef __m256d vector_f64;
#define SPREAD_f32(x) _mm256_set1_ps(x)
#define SPREAD_f64(x) _mm256_set1_pd(x)
#define FMA_f32(x, y, z) _mm256_fmadd_ps(x, y, z)
#define FMA_f64(x, y, z) _mm256_fmadd_pd(x, y, z)
#define MASK_f32(count) mask_f32_of((int)(count))
#define MASK_f64(count) mask_f64_of((int)(count))
#define LOAD_PART_f32(from, mask) _mm256_maskload_ps((const float *)(from), mask)
#define LOAD_PART_f64(from, mask) _mm256_maskload_pd((const double *)(from), mask)
#define STORE_PART_f32(to, mask, x) _mm256_maskstore_ps((float *)(to), mask, x)
#define STORE_PART_f64(to, mask, x) _mm256_maskstore_pd((double *)(to), mask, x)

static inline mask_f32 mask_f32_of(int count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline mask_f64 mask_f64_of(int count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

#include "matmul_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

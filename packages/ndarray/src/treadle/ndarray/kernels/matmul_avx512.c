/* AVX-512: 32 registers hold a tile of 14 x 2 vectors, 2 vectors of b and 2 spread elements of a. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "matmul_kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2")
#endif

#define MATMUL_KERNELS td_matmul_avx512
#define VECTOR_BYTES 64
#define EACH_ROW_COUNT EACH_TO_14
#define TILE_ROWS 14
#define WHOLE_TILES_APART 1 /* a masked load occupies one of the two ports that multiply */
typedef __mmask16 mask_f32;
typedef __mmask8 mask_f64;
typedef __m512 vector_f32;
typedef __m512d vector_f64;
#define SPREAD_f32(x) _mm512_set1_ps(x)
#define SPREAD_f64(x) _mm512_set1_pd(x)
#define FMA_f32(x, y, z) _mm512_fmadd_ps(x, y, z)
#define FMA_f64(x, y, z) _mm512_fmadd_pd(x, y, z)
#define MASK_f32(count) ((mask_f32)((1u << (count)) - 1u))
#define MASK_f64(count) ((mask_f64)((1u << (count)) - 1u))
#define LOAD_PART_f32(from, mask) _mm512_maskz_loadu_ps(mask, from)
#define LOAD_PART_f64(from, mask) _mm512_maskz_loadu_pd(mask, from)
#define STORE_PART_f32(to, mask, x) _mm512_mask_storeu_ps(to, mask, x)
#define STORE_PART_f64(to, mask, x) _mm512_mask_storeu_pd(to, mask, x)

#include "matmul_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

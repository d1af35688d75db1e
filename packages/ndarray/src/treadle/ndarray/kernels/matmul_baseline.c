/* Plain C with 16-byte vectors, which the compiler turns into whatever its default target has (SSE2, NEON) or into
 * scalar code. A partial vector is moved element by element. */
#include <string.h>

#include "matmul_kernels.h"

#define MATMUL_KERNELS td_matmul_baseline
#define VECTOR_BYTES 16
#if defined(__aarch64__)
#define EACH_ROW_COUNT EACH_TO_8
#define TILE_ROWS 8
#else
#define EACH_ROW_COUNT EACH_TO_4
#define TILE_ROWS 4
#endif
#define WHOLE_TILES_APART 1
#define MASK_f32(count) (count)
#define MASK_f64(count) (count)
typedef int64_t mask_f32, mask_f64;
typedef float vector_f32 __attribute__((vector_size(16)));
typedef double vector_f64 __attribute__((vector_size(16)));
#define SPREAD_f32(x) ((vector_f32){(x), (x), (x), (x)})
#define SPREAD_f64(x) ((vector_f64){(x), (x)})
#define FMA_f32(x, y, z) ((x) * (y) + (z))
#define FMA_f64(x, y, z) ((x) * (y) + (z))

/* A partial vector has 1 to 3 lanes of float, 1 of double; whole ones come here too, from `dots`. */
static inline vector_f32 load_part_f32(const void *from, mask_f32 count)
{
    const float *x = (const float *)from;
    return (vector_f32){x[0], count > 1 ? x[1] : 0, count > 2 ? x[2] : 0, count > 3 ? x[3] : 0};
}

static inline vector_f64 load_part_f64(const void *from, mask_f64 count)
{
    const double *x = (const double *)from;
    return (vector_f64){x[0], count > 1 ? x[1] : 0};
}

static inline void store_part_f32(void *to, mask_f32 count, vector_f32 x)
{
    memcpy(to, &x, (size_t)count * sizeof(float));
}

static inline void store_part_f64(void *to, mask_f64 count, vector_f64 x)
{
    memcpy(to, &x, (size_t)count * sizeof(double));
}

#define STORE_PART_f32 store_part_f32
#define STORE_PART_f64 store_part_f64
#define LOAD_PART_f32 load_part_f32
#define LOAD_PART_f64 load_part_f64

#include "matmul_body.h"

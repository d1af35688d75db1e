#include "rp.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#if INT_MAX < 2147483647
#error "indices and sums need an int of 32 bits"
#endif

#ifdef __cplusplus
#define restrict __restrict
#endif

/* One block of memory for all values on the way. */
static union { double align; unsigned char bytes[208]; } arena;


static inline float minimum_float32(float x, float y)
{
    return x < y || x != x ? x : y == y ? (x == y && signbit(x) ? x : y) : y;
}

/* Roll(shift=5, axis=1): (4, 5), (4, 1) -> (4, 6) float32
 * rp.py:5  v1 = (lambda a, b: ag.astype(ag.roll(a, 5, axis=1) - ag.sum(b), y.dtype))(y, v0) */
static void step0_concat(const float *restrict input1, float *restrict v7)
{
    for (int i0_0 = 0; i0_0 < 4; ++i0_0) {
        for (int i0_1 = 0; i0_1 < 5; ++i0_1) {
            v7[i0_0 * 6 + i0_1] = input1[1 + i0_0 * 6 + i0_1];
        }
    }
    for (int i1_0 = 0; i1_0 < 4; ++i1_0) {
        v7[5 + i1_0 * 6] = input1[i1_0 * 6];
    }
}

/* Sum(): (4, 6) -> () float32
 * rp.py:5  v1 = (lambda a, b: ag.astype(ag.roll(a, 5, axis=1) - ag.sum(b), y.dtype))(y, v0) */
static void step1_sum(const float *restrict input0, float *restrict v8)
{
    double total = 0;
    for (int i0 = 0; i0 < 4; ++i0) {
        for (int i1 = 0; i1 < 6; ++i1) {
            total += (double)input0[i0 * 6 + i1];
        }
    }
    v8[0] = (float)total;
}

/* Concat(): (2, 6), (2, 6) -> (4, 6) float32
 * rp.py:6  v2 = (lambda a, b: ag.astype(ag.concat([b[2:], a[:2]], axis=0), y.dtype))(y, y) */
static void step2_concat(const float *restrict input1, float *restrict v13)
{
    for (int i0_0 = 0; i0_0 < 12; ++i0_0) {
        v13[i0_0] = input1[12 + i0_0];
    }
    for (int i1_0 = 0; i1_0 < 12; ++i1_0) {
        v13[12 + i1_0] = input1[i1_0];
    }
}

/* AsType(dtype=float32): (4, 6) -> (4, 6) float32
 * rp.py:6  v2 = (lambda a, b: ag.astype(ag.concat([b[2:], a[:2]], axis=0), y.dtype))(y, y) */
static void step3_astype(const float *v13, float *v14)
{
    for (int i0 = 0; i0 < 24; ++i0) {
        v14[i0] = v13[i0];
    }
}

/* AsType(dtype=float32): (4, 6) -> (4, 6) float32
 * rp.py:7  v4 = (lambda a, b: ag.astype(ag.minimum(a, b[:, :1]), y.dtype))(v1, y) */
static void step4_astype(const float *restrict v7, const float *restrict v8, const float *restrict input1, float *restrict v16)
{
    for (int i0 = 0; i0 < 4; ++i0) {
        for (int i1 = 0; i1 < 6; ++i1) {
            v16[i0 * 6 + i1] = minimum_float32((v7[i0 * 6 + i1] - v8[0]), input1[i0 * 6]);
        }
    }
}

/* Softmax(axis=0): (4, 6) -> (1, 6) float32
 * rp.py:8  v5 = (lambda a, b: ag.astype(ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True), y.dtype))(v2,
 * v4) */
static void step5_max(const float *restrict v14, float *restrict v17)
{
    for (int i0 = 0; i0 < 6; ++i0) {
        float best = v14[i0];
        for (int i1 = 0; i1 < 4; ++i1) {
            const float x = v14[i0 + i1 * 6];
            if (x > best || (x != x && best == best)) { best = x; }
        }
        v17[i0] = best;
    }
}

/* Softmax(axis=0): (4, 6) -> (4, 6) float32
 * rp.py:8  v5 = (lambda a, b: ag.astype(ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True), y.dtype))(v2,
 * v4) */
static void step6_exp(const float *v14, const float *restrict v17, float *v19)
{
    for (int i0 = 0; i0 < 4; ++i0) {
        for (int i1 = 0; i1 < 6; ++i1) {
            v19[i0 * 6 + i1] = expf((v14[i0 * 6 + i1] - v17[i1]));
        }
    }
}

/* Softmax(axis=0): (4, 6) -> (1, 6) float32
 * rp.py:8  v5 = (lambda a, b: ag.astype(ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True), y.dtype))(v2,
 * v4) */
static void step7_sum(const float *restrict v19, float *restrict v20)
{
    for (int i0 = 0; i0 < 6; ++i0) {
        double total = 0;
        for (int i1 = 0; i1 < 4; ++i1) {
            total += (double)v19[i0 + i1 * 6];
        }
        v20[i0] = (float)total;
    }
}

/* Sum(axis=1, keepdims=True): (4, 6) -> (4, 1) float32
 * rp.py:8  v5 = (lambda a, b: ag.astype(ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True), y.dtype))(v2,
 * v4) */
static void step8_sum(const float *restrict v16, float *restrict v22)
{
    for (int i0 = 0; i0 < 4; ++i0) {
        double total = 0;
        for (int i1 = 0; i1 < 6; ++i1) {
            total += (double)v16[i0 * 6 + i1];
        }
        v22[i0] = (float)total;
    }
}

/* AsType(dtype=float32): (4, 6) -> (4, 6) float32
 * rp.py:8  v5 = (lambda a, b: ag.astype(ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True), y.dtype))(v2,
 * v4) */
static void step9_astype(const float *restrict v19, const float *restrict v20, const float *restrict v22, float *restrict v24)
{
    for (int i0 = 0; i0 < 4; ++i0) {
        for (int i1 = 0; i1 < 6; ++i1) {
            v24[i0 * 6 + i1] = ((v19[i0 * 6 + i1] / v20[i1]) + v22[i0]);
        }
    }
}

int rp(const float *input0, const float *input1, float *output0, float *output1)
{
    step0_concat(input1, (float *)(void *)(arena.bytes + 0));
    step1_sum(input0, (float *)(void *)(arena.bytes + 192));
    step2_concat(input1, (float *)(void *)(arena.bytes + 96));
    step3_astype((float *)(void *)(arena.bytes + 96), (float *)(void *)(arena.bytes + 96));
    step4_astype((float *)(void *)(arena.bytes + 0), (float *)(void *)(arena.bytes + 192), input1, output1);
    step5_max((float *)(void *)(arena.bytes + 96), (float *)(void *)(arena.bytes + 0));
    step6_exp((float *)(void *)(arena.bytes + 96), (float *)(void *)(arena.bytes + 0), (float *)(void *)(arena.bytes + 96));
    step7_sum((float *)(void *)(arena.bytes + 96), (float *)(void *)(arena.bytes + 0));
    step8_sum(output1, (float *)(void *)(arena.bytes + 32));
    step9_astype((float *)(void *)(arena.bytes + 96), (float *)(void *)(arena.bytes + 0), (float *)(void *)(arena.bytes + 32), output0);
    return 0;
}

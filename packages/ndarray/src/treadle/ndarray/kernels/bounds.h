/* Debug builds (TREADLE_DEBUG=1) check that every run handed to a kernel lies inside the view that its driver walks:
 * kernels use bare pointers, which Cython's bounds checks do not see. Elsewhere TD_CHECKS is 0 and all of it goes. */
#ifndef TREADLE_BOUNDS_H
#define TREADLE_BOUNDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "treadle/types.h"

#ifdef TREADLE_DEBUG
#define TD_CHECKS 1
#else
#define TD_CHECKS 0
#endif

/* The bytes of an element. */
static inline int64_t td_element_bytes(int32_t dtype)
{
    switch (dtype) {
    case TD_bool: case TD_i8: case TD_u8: return 1;
    case TD_i16: case TD_u16: case TD_f16: case TD_bf16: return 2;
    case TD_i32: case TD_u32: case TD_f32: return 4;
    case TD_c128: return 16;
    default: return 8;
    }
}

/* The first byte of a view, and the first behind it. */
static inline void td_span(const td_view *view, const char **low, const char **high)
{
    *low = view->data;
    *high = view->data + td_element_bytes(view->dtype);
    for (int axis = 0; axis < view->ndim; axis++) {
        int64_t reach = view->strides[axis] * (view->shape[axis] - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

/* A run of n elements, stride bytes apart, must lie in [low, high). */
static inline void td_check_run(const char *low, const char *high, int64_t itemsize, const char *data, int64_t stride,
                                int64_t n, int operand)
{
    const char *last = data + stride * (n - 1);
    const char *first = last < data ? last : data, *end = (last < data ? data : last) + itemsize;
    if (n <= 0 || (first >= low && end <= high))
        return;
    fprintf(stderr,
            "treadle: internal error: a run of %lld elements of %lld bytes, %lld bytes apart, from byte %lld of operand %d "
            "leaves its view of %lld bytes\n",
            (long long)n, (long long)itemsize, (long long)stride, (long long)(data - low), operand,
            (long long)(high - low));
    abort();
}

#endif

/* The complex ops of treadle/elementwise_complex.h with this directory's functions, not the C library's. */
#ifndef TREADLE_CUDA_COMPLEX_OPS_H
#define TREADLE_CUDA_COMPLEX_OPS_H

#define TREADLE_COMPLEX_FUNCTIONS
#include "treadle/elementwise_complex.h"

#include "complex_functions.h"
#include "runtime.h"

namespace td {

TD_DEVICE td_c128 as_c128(td_c64 x) { return td_widened(x); }
TD_DEVICE td_c128 as_c128(td_c128 x) { return x; }

/* A function of complex numbers in double, for both types, compiled once a file and called: its long body would
 * otherwise stand in each kernel several times. */
template <class Body, class T, class... More> static TD_CALLED td_c128 called_in_double(T x, More... y)
{
    return Body::of(x, y...);
}

template <class Body, class T, class... More> TD_DEVICE T call_in_double(T x, More... y)
{
    const td_c128 z = called_in_double<Body>(as_c128(x), as_c128(y)...);
    return {static_cast<decltype(T::re)>(z.re), static_cast<decltype(T::re)>(z.im)};
}

} // namespace td

#endif

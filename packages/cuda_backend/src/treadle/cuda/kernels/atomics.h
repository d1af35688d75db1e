/* Atomic addition for integers. Words of 4 and 8 bytes have instructions; narrower elements are exchanged
 * with the aligned 4-byte word that holds them (the allocator never hands out less than whole words). */
#ifndef TREADLE_CUDA_ATOMICS_H
#define TREADLE_CUDA_ATOMICS_H

#include "runtime.h"

namespace td {

template <class T, bool LOGICAL> TD_DEVICE void atomic_add_narrow(T *at, T value)
{
    const uintptr_t address = reinterpret_cast<uintptr_t>(at);
    auto *word = reinterpret_cast<unsigned *>(address & ~uintptr_t{3});
    const unsigned shift = static_cast<unsigned>(address & 3) * 8; /* little-endian, as every CUDA device */
    const unsigned mask = static_cast<unsigned>(static_cast<T>(~T{0})) << shift;
    unsigned seen = *word, assumed;
    do {
        assumed = seen;
        const T old = static_cast<T>(assumed >> shift);
        const T sum = static_cast<T>(LOGICAL ? old | value : old + value);
        seen = atomicCAS(word, assumed, (assumed & ~mask) | static_cast<unsigned>(sum) << shift);
    } while (seen != assumed);
}

/* *at += value, or with LOGICAL *at |= value. */
template <class T, bool LOGICAL> TD_DEVICE void atomic_add(T *at, T value)
{
    if constexpr (sizeof(T) < 4)
        atomic_add_narrow<T, LOGICAL>(at, value);
    else
        atomicAdd(at, value);
}

} // namespace td

#endif

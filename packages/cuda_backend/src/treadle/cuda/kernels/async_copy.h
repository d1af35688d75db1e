/* Copies from global to shared memory that a thread starts and later waits for (PTX ISA, "cp.async", from compute
 * capability 8.0 on; before that they are done at once). Copies are committed in groups; a wait leaves the youngest
 * groups on their way. What has arrived is seen by the thread that started it, and after a barrier by its block. */
#ifndef TREADLE_CUDA_ASYNC_COPY_H
#define TREADLE_CUDA_ASYNC_COPY_H

#include "runtime.h"

#ifdef TREADLE_EMULATION
#include "asynchronous.h"
#endif

namespace td {

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TD_COPIES_LATER 1
#endif

/* The address that instructions on shared memory take. */
TD_DEVICE uint32_t shared_address(const void *shared)
{
#ifdef TREADLE_EMULATION
    return emulation::shared_address(shared);
#elif defined(__CUDA_ARCH__)
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
#else
    return shared == nullptr;
#endif
}

/* Starts to copy 16 bytes: `valid` from global memory, which are all that is read of it, and zeros behind them. Both
 * addresses are multiples of 16. */
TD_DEVICE void copy_async(void *shared, const void *global, int valid)
{
#ifdef TREADLE_EMULATION
    emulation::copy_async(shared, global, 16, valid);
#elif defined(TD_COPIES_LATER)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(valid)
                 : "memory");
#else
    uint4 words = make_uint4(0, 0, 0, 0);
    if (valid == 16)
        words = *static_cast<const uint4 *>(global);
    else
        for (int byte = 0; byte < valid; byte++)
            reinterpret_cast<unsigned char *>(&words)[byte] = static_cast<const unsigned char *>(global)[byte];
    *static_cast<uint4 *>(shared) = words;
#endif
}

/* Starts to copy a word of 4 bytes, or writes zero where it does not exist; then nothing is read. */
TD_DEVICE void copy_word_async(void *shared, const void *global, bool exists)
{
#ifdef TREADLE_EMULATION
    emulation::copy_async(shared, global, 4, exists ? 4 : 0);
#elif defined(TD_COPIES_LATER)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(exists ? 4 : 0)
                 : "memory");
#else
    *static_cast<uint32_t *>(shared) = exists ? *static_cast<const uint32_t *>(global) : 0;
#endif
}

TD_DEVICE void commit_copies()
{
#ifdef TREADLE_EMULATION
    emulation::commit_copies();
#elif defined(TD_COPIES_LATER)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for the thread's own copies, but for those of the last GROUPS groups. */
template <int GROUPS> TD_DEVICE void wait_for_copies()
{
#ifdef TREADLE_EMULATION
    emulation::wait_for_copies(GROUPS);
#elif defined(TD_COPIES_LATER)
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}

} // namespace

} // namespace td

#endif

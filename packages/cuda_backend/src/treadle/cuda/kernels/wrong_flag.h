/* How the kernels of layers tell that an index is none: they set a flag, which the host waits for. */
#ifndef TREADLE_CUDA_WRONG_FLAG_H
#define TREADLE_CUDA_WRONG_FLAG_H

#include "runtime.h"

namespace td {

/* Runs launch(flag), and reads the flag that its kernel may have set. While a graph is captured nothing can be read. */
template <class Launch> int launch_with_flag(int *wrong, Launch &&launch)
{
    Scratch flag;
    *wrong = 0;
    TD_TRY(flag.reserve(sizeof(int)));
    TD_CHECK(cudaMemsetAsync(flag.memory(), 0, sizeof(int), stream()));
    TD_TRY(launch(reinterpret_cast<int *>(flag.memory())));
    return td_cuda_capturing() ? TD_OK : td_cuda_copy_bytes(wrong, flag.memory(), sizeof(int), TD_TO_HOST, 0);
}

} // namespace td

#endif

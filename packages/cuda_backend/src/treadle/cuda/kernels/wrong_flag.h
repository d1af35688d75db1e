/* How the kernels of layers tell that an index is none: they note its axis, counted from 1, and the host waits for it. In a
 * graph the next replay tells. */
#ifndef TREADLE_CUDA_WRONG_FLAG_H
#define TREADLE_CUDA_WRONG_FLAG_H

#include "replays.h"

namespace td {

/* Runs launch(flag), and reads what its kernel may have noted. */
template <class Launch> int launch_with_flag(int *wrong, Launch &&launch)
{
    Scratch scratch;
    int64_t *captured, found = 0;
    *wrong = 0;
    TD_TRY(captured_index_error(&captured));
    if (captured)
        return launch(captured);
    TD_TRY(scratch.reserve(sizeof found));
    TD_CHECK(cudaMemsetAsync(scratch.memory(), 0, sizeof found, stream()));
    TD_TRY(launch(reinterpret_cast<int64_t *>(scratch.memory())));
    TD_TRY(td_cuda_copy_bytes(&found, scratch.memory(), sizeof found, TD_TO_HOST, 0));
    *wrong = found != 0;
    return TD_OK;
}

} // namespace td

#endif

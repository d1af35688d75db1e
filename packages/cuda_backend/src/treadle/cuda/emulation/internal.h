/* What the parts of the emulation ask of each other. */
#ifndef TREADLE_EMULATION_INTERNAL_H
#define TREADLE_EMULATION_INTERNAL_H

#include "cuda_runtime.h"

#include <mutex>
#include <string>

namespace emulation {

/* The text of the next cudaErrorLaunchFailure. */
extern std::string failure;

/* Held by every call of the runtime: one kernel runs at a time, whichever thread started it. */
extern std::recursive_mutex guard;

/* The device that the calling thread chose. */
int chosen_device();

/* Whether host memory is page-locked, so that copies of it need not be done before the call returns. */
bool is_pinned(const void *memory);

/* Does all work that waits on the streams of a device. */
cudaError_t finish_device(int device);

bool within_limits(const cudaLaunchConfig_t &config, size_t parameter_bytes);
cudaError_t run_grid(const cudaLaunchConfig_t &config, void (*body)(void *), void *context);

} // namespace emulation

#endif

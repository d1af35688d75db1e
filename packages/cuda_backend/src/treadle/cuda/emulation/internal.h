/* What the parts of the emulation ask of each other. */
#ifndef TREADLE_EMULATION_INTERNAL_H
#define TREADLE_EMULATION_INTERNAL_H

#include "cuda_runtime.h"

#include <mutex>
#include <string>

namespace emulation {

constexpr size_t MAX_THREADS = 1024;
constexpr size_t MAX_SHARED_BYTES = 48 << 10;
constexpr size_t MAX_DYNAMIC_BYTES = 227 << 10; /* where cudaFuncSetAttribute asks for it; compute capability 9.0 */

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

bool within_limits(const cudaLaunchConfig_t &config, size_t parameter_bytes, const void *kernel);

/* The number of the thread that runs in its block, and its name for errors. */
size_t current_thread();
std::string describe_current_thread();

/* asynchronous.cpp: what is on its way belongs to a block. */
void start_block(size_t threads, char *shared, size_t nbytes);
void finish_block();
cudaError_t run_grid(const cudaLaunchConfig_t &config, void (*body)(void *), void *context);

} // namespace emulation

#endif

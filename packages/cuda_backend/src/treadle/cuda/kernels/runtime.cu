/* Devices, errors and copies. */
#include "pools.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace td {

namespace {

thread_local std::string message;
thread_local int active_device = 0;
int64_t block_limit = 1 << 20;
std::atomic<uint64_t> used_devices{0}; /* a bit for each: no call may wake one up that nothing runs on */

std::string name_and_text(cudaError_t error)
{
    return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

} // namespace

int current_device() { return active_device; }

bool is_used(int device) { return device >= 0 && device < MAX_DEVICES && used_devices.load() >> device & 1; }

OnDevice::OnDevice(int device) : before_(current_device()), status_(td_cuda_use(device)) {}

OnDevice::~OnDevice()
{
    if (is_used(before_))
        td_cuda_use(before_);
}

int64_t max_blocks() { return block_limit; }

int fail(cudaError_t error, const char *what)
{
    cudaGetLastError(); /* an error that is not for good must not show up in a later call */
    return guarded([&] {
        message = std::string(what) + ": " + name_and_text(error);
        return error == cudaErrorMemoryAllocation ? TD_NO_MEMORY : TD_FAILED;
    });
}

int fail_launch(cudaError_t error, const char *kernel, dim3 blocks, dim3 threads)
{
    char shape[160];
    snprintf(shape, sizeof shape, " on a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads", blocks.x, blocks.y,
             blocks.z, threads.x, threads.y, threads.z);
    return guarded([&] { return fail(error, (std::string("kernel ") + kernel + shape).c_str()); });
}

int no_kernel(const char *family, int op, int dtype)
{
    return guarded([&] {
        message = std::string("there is no ") + family + " kernel number " + std::to_string(op) +
                  " for dtype number " + std::to_string(dtype);
        return TD_NO_KERNEL;
    });
}

int fail_memory(int64_t nbytes, const td_cuda_statistics &statistics, int64_t free, int64_t total)
{
    char text[256];
    snprintf(text, sizeof text,
             "out of memory for a block of %lld bytes: the device has %lld of %lld bytes free, arrays hold %lld and "
             "graphs %lld more",
             static_cast<long long>(nbytes), static_cast<long long>(free), static_cast<long long>(total),
             static_cast<long long>(statistics.in_use), static_cast<long long>(statistics.captured));
    return guarded([&] {
        message = text;
        return TD_NO_MEMORY;
    });
}

bool synchronous()
{
    static const bool on = [] {
        const char *setting = getenv("TREADLE_CUDA_SYNCHRONOUS");
        return setting && strcmp(setting, "0") != 0;
    }();
    return on;
}

int no_host_memory()
{
    message = "no host memory"; /* short enough to need none */
    return TD_NO_MEMORY;
}

int wrong_index(const char *text, int64_t index, const char *more)
{
    return guarded([&] {
        std::string made = text;
        const size_t place = made.find("{}");
        if (place != std::string::npos)
            made.replace(place, 2, std::to_string(index));
        message = made + more;
        return TD_WRONG_INDEX;
    });
}

Scratch::~Scratch()
{
    if (block_.memory)
        td_cuda_release(&block_);
}

int Scratch::reserve(int64_t nbytes) { return td_cuda_allocate(current_device(), nbytes, &block_); }

} // namespace td

#define TD_NAME(op, ...) #op,
const char *const td_cuda_unary_names[TD_UNARY_COUNT] = {TD_UNARY_OPS(TD_NAME, TD_NOTHING)};
const char *const td_cuda_binary_names[TD_BINARY_COUNT] = {TD_BINARY_OPS(TD_NAME, TD_NOTHING)};
const char *const td_cuda_ternary_names[TD_TERNARY_COUNT] = {TD_TERNARY_OPS(TD_NAME, TD_NOTHING)};
const char *const td_cuda_reduce_names[TD_REDUCE_COUNT] = {TD_REDUCE_OPS(TD_NAME, TD_NOTHING) "mean"};

const char *td_cuda_error(void) { return td::message.c_str(); }

int td_cuda_device_count(int *count)
{
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count > 0)
        return TD_OK;
    cudaGetLastError();
    return td::guarded([&] {
        td::message = error == cudaSuccess ? "the driver lists no device" : td::name_and_text(error);
        return TD_FAILED;
    });
}

int td_cuda_use(int device)
{
    TD_CHECK(cudaSetDevice(device));
    td::active_device = device;
    if (device < td::MAX_DEVICES)
        td::used_devices |= uint64_t{1} << device;
    return TD_OK;
}

void td_cuda_limit_blocks(int64_t blocks) { td::block_limit = blocks > 0 ? blocks : 1 << 20; }

int td_cuda_synchronize(void)
{
    TD_CHECK(cudaDeviceSynchronize());
    return td::replayed_index_error();
}

namespace td {

namespace {

/* While a graph is captured: bytes of the host become a constant of the graph, and none can be brought back. */
int capture_copy(void *to, const void *from, int64_t nbytes, int direction)
{
    if (direction == TD_TO_HOST)
        return guarded([&] {
            message = "elements cannot come to the host while a graph is captured: nothing has been computed yet";
            return TD_CAPTURING;
        });
    const void *kept = keep_constant(from, nbytes);
    if (!kept)
        return no_host_memory();
    TD_CHECK(cudaMemcpyAsync(to, kept, static_cast<size_t>(nbytes), cudaMemcpyHostToDevice, stream()));
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_copy_bytes(void *to, const void *from, int64_t nbytes, int direction, int asynchronous)
{
    constexpr cudaMemcpyKind KINDS[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    if (td::captured_graph() && direction != TD_ON_DEVICE && !asynchronous)
        return td::guarded([&] { return td::capture_copy(to, from, nbytes, direction); });
    TD_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(nbytes), KINDS[direction], td::stream()));
    if (asynchronous || direction == TD_ON_DEVICE)
        return TD_OK;
    /* Waiting here too when the device is the target: the host's memory is free to change as soon as this returns. */
    TD_CHECK(cudaStreamSynchronize(td::stream()));
    return direction == TD_TO_HOST ? td::replayed_index_error() : TD_OK;
}

int td_cuda_pinned_allocate(int64_t nbytes, void **memory)
{
    TD_CHECK(cudaMallocHost(memory, static_cast<size_t>(nbytes > 0 ? nbytes : 1)));
    return TD_OK;
}

void td_cuda_pinned_release(void *memory)
{
    if (td::keep_with_graph(memory)) /* what is captured may copy from it, and nothing can be waited for */
        return;
    for (int device = 0; device < td::MAX_DEVICES; device++) /* a copy may still be under way */
        if (td::is_used(device)) {
            td::OnDevice use(device);
            cudaDeviceSynchronize();
        }
    cudaFreeHost(memory);
}

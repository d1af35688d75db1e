/* Runs a grid: block by block, each thread of a block in a fibre.
 *
 * A fibre takes one thread after the other and runs it to its end; only a thread that must wait (at a barrier, at a
 * warp intrinsic) keeps its fibre, and another fibre goes on with the threads that have not started. So kernels without
 * barriers cost next to no switches.
 *
 * Warps take turns, and each runs as far ahead as it can: through all its warp intrinsics, up to a barrier of the block
 * or its end. A GPU may do just that, so a kernel that needs a barrier between warps and has none goes wrong in one of
 * the two orders. When all warps are stuck, the block is released if all its threads wait at one barrier. If they do
 * not, the kernel is wrong, and the launch fails with a description of who waits where. */
#include "cuda_runtime.h"
#include "fibre.h"
#include "internal.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulation {

namespace {

constexpr int WARP = 32;
constexpr size_t WINDOW_ALIGNMENT = 1024, DYNAMIC_BEGIN = 16;

enum class State : uint8_t { unstarted, ready, at_barrier, at_collective, finished };

struct Thread {
    uint3 index;
    State state;
    Fibre *fibre;
    const char *file;
    int line;
    /* The warp intrinsic that the thread waits in, and what it will return. */
    Collective kind;
    unsigned mask, operand;
    int width;
    uint64_t value, result;
};

struct SharedArray {
    std::unique_ptr<char[]> memory;
    size_t nbytes;
};

/* Aligned to 16 bytes and no more, whatever the size; a kernel must not count on more. */
struct DynamicShared {
    std::unique_ptr<char, decltype(&free)> memory{nullptr, free};
    size_t nbytes = 0;
    char *begin() const { return memory ? memory.get() + DYNAMIC_BEGIN : nullptr; }
    void reserve(size_t size)
    {
        void *found = nullptr;
        nbytes = size;
        if (size && posix_memalign(&found, WINDOW_ALIGNMENT, DYNAMIC_BEGIN + size) != 0)
            throw std::bad_alloc();
        memory.reset(static_cast<char *>(found));
    }
};

void (*thread_body)(void *);
void *thread_context;
bool last_first = false;
bool out_of_memory; /* a thread could not get host memory */
size_t allocations_to_failure = 0;

std::vector<Thread> threads;
size_t started;
size_t may_start; /* places of the schedule up to the end of the warp whose turn it is */
Thread *current;
Fibre main_fibre;
std::vector<std::unique_ptr<Fibre>> fibres;
std::vector<Fibre *> spare;
std::map<const void *, SharedArray> shared_arrays;
DynamicShared dynamic;
size_t shared_bytes;

/* The thread at a place of the schedule. */
Thread &scheduled(size_t place) { return threads[last_first ? threads.size() - 1 - place : place]; }

void resume(Thread &thread)
{
    current = &thread;
    threadIdx = thread.index;
    switch_fibre(main_fibre, *thread.fibre);
}

/* What every fibre does: threads, one after the other, then back to be spare. */
void work()
{
    entered();
    for (;;) {
        Fibre *fibre = current->fibre;
        while (started < may_start) {
            current = &scheduled(started++);
            current->fibre = fibre;
            current->state = State::ready;
            threadIdx = current->index;
            try { /* nothing may be thrown through the end of a fibre's stack */
                thread_body(thread_context);
            } catch (const std::bad_alloc &) {
                out_of_memory = true;
            }
            current->state = State::finished;
        }
        spare.push_back(current->fibre);
        switch_fibre(*current->fibre, main_fibre);
    }
}

Fibre *take_fibre()
{
    if (spare.empty()) {
        spare.reserve(MAX_THREADS); /* fibres come back to it where nothing may be thrown */
        auto fibre = std::make_unique<Fibre>();
        prepare(*fibre, work);
        fibres.push_back(std::move(fibre));
        return fibres.back().get();
    }
    Fibre *fibre = spare.back();
    spare.pop_back();
    return fibre;
}

void wait(State state, const char *file, int line)
{
    Thread *self = current;
    self->state = state;
    self->file = file;
    self->line = line;
    switch_fibre(*self->fibre, main_fibre);
}

/* The lane that a shuffle reads; a lane that is out of range reads itself. */
int source_lane(const Thread &thread, int lane)
{
    int segment = lane / thread.width * thread.width;
    int operand = static_cast<int>(thread.operand);
    int source = lane;
    if (thread.kind == Collective::shuffle)
        source = segment + operand % thread.width;
    else if (thread.kind == Collective::shuffle_up)
        source = lane - operand < segment ? lane : lane - operand;
    else if (thread.kind == Collective::shuffle_down)
        source = lane + operand >= segment + thread.width ? lane : lane + operand;
    else
        source = (lane ^ operand) >= segment + thread.width ? lane : lane ^ operand;
    return source;
}

/* Whether lane may take part in what the first thread waits for. */
bool together(const Thread &first, const Thread &thread)
{
    return thread.state == State::at_collective && thread.kind == first.kind && thread.mask == first.mask &&
           thread.file == first.file && thread.line == first.line;
}

/* The value of what the lanes in present, which all wait in the same intrinsic, get from it. */
void complete(Thread *warp, unsigned present)
{
    unsigned votes = 0;
    for (int lane = 0; lane < WARP; lane++)
        if (present >> lane & 1 && warp[lane].value)
            votes |= 1u << lane;
    for (int lane = 0; lane < WARP; lane++) {
        if (!(present >> lane & 1))
            continue;
        Thread &thread = warp[lane];
        if (thread.kind == Collective::ballot) {
            thread.result = votes;
        } else if (thread.kind == Collective::any) {
            thread.result = votes != 0;
        } else if (thread.kind == Collective::all) {
            thread.result = votes == present;
        } else if (thread.kind != Collective::sync) {
            int source = source_lane(thread, lane);
            /* What a lane that does not take part would give is undefined. */
            thread.result = present >> source & 1 ? warp[source].value : ~uint64_t{0};
        }
        thread.state = State::ready;
    }
}

/* Lets the lanes go on that have met in an intrinsic. */
bool release_warp(size_t begin, size_t end)
{
    Thread *warp = &threads[begin];
    const int lanes = static_cast<int>(end - begin);
    bool released = false;
    for (int lane = 0; lane < lanes; lane++) {
        const Thread first = warp[lane];
        if (first.state != State::at_collective || !(first.mask >> lane & 1))
            continue;
        unsigned present = 0;
        bool all = true;
        for (int other = 0; other < lanes; other++) {
            if (!(first.mask >> other & 1) || warp[other].state == State::finished)
                continue;
            all = all && together(first, warp[other]);
            present |= 1u << other;
        }
        if (all) {
            complete(warp, present);
            released = true;
        }
    }
    return released;
}

/* Runs the threads of one warp until each has finished or can not go on without the other warps. */
void run_warp(size_t begin, size_t end)
{
    may_start = last_first ? threads.size() - begin : end;
    do {
        while (started < may_start) {
            Thread &first = scheduled(started);
            first.fibre = take_fibre();
            resume(first);
        }
        for (size_t place = 0; place < end - begin; place++) {
            Thread &thread = threads[last_first ? end - 1 - place : begin + place];
            if (thread.state == State::ready)
                resume(thread);
        }
    } while (release_warp(begin, end));
}

void run_warps()
{
    const size_t warps = (threads.size() + WARP - 1) / WARP;
    for (size_t turn = 0; turn < warps; turn++) {
        size_t begin = (last_first ? warps - 1 - turn : turn) * WARP;
        run_warp(begin, std::min(begin + WARP, threads.size()));
    }
}

bool release_block()
{
    const Thread &first = threads.front();
    for (const Thread &thread : threads)
        if (thread.state != State::at_barrier || thread.file != first.file || thread.line != first.line)
            return false;
    for (Thread &thread : threads)
        thread.state = State::ready;
    return true;
}

std::string describe(const Thread &thread)
{
    char text[512];
    const char *where = thread.state == State::at_barrier ? "waits at the barrier" : "waits in the warp intrinsic";
    if (thread.state == State::finished)
        snprintf(text, sizeof text, "thread (%u, %u, %u) has finished", thread.index.x, thread.index.y, thread.index.z);
    else
        snprintf(text, sizeof text, "thread (%u, %u, %u) %s of %s:%d", thread.index.x, thread.index.y, thread.index.z,
                 where, thread.file, thread.line);
    return text;
}

/* Names one waiting thread and one that is elsewhere. */
void diagnose()
{
    const Thread *waiting = nullptr;
    for (const Thread &thread : threads)
        if (!waiting && thread.state != State::finished)
            waiting = &thread;
    char block[96];
    snprintf(block, sizeof block, " in block (%u, %u, %u)", blockIdx.x, blockIdx.y, blockIdx.z);
    failure = "divergent barrier: " + describe(*waiting);
    for (const Thread &thread : threads) {
        if (thread.state != waiting->state || thread.line != waiting->line || thread.file != waiting->file) {
            failure += ", but " + describe(thread);
            break;
        }
    }
    failure += block;
}

/* Two values, one for either schedule: what is neutral in one fold (-1 among indices, say) shows in the other. */
int poison() { return last_first ? 0xA5 : 0xFF; }

bool run_block()
{
    started = 0;
    for (Thread &thread : threads)
        thread.state = State::unstarted;
    for (auto &[declaration, array] : shared_arrays)
        memset(array.memory.get(), poison(), array.nbytes);
    if (dynamic.nbytes)
        memset(dynamic.begin(), poison(), dynamic.nbytes);
    start_block(threads.size(), dynamic.begin(), dynamic.nbytes);
    for (;;) {
        run_warps();
        if (out_of_memory)
            return false;
        bool finished = true;
        for (const Thread &thread : threads)
            finished = finished && thread.state == State::finished;
        if (finished) {
            finish_block();
            return true;
        }
        if (!release_block()) {
            diagnose();
            return false;
        }
        if (!failure.empty())
            return false;
    }
}

/* Threads that wait forever sit on fibres that cannot be used again as they are. */
void drop_fibres()
{
    spare.clear();
    for (auto &fibre : fibres) {
        prepare(*fibre, work);
        spare.push_back(fibre.get());
    }
}

void lay_out_threads()
{
    threads.assign(size_t{blockDim.x} * blockDim.y * blockDim.z, Thread{});
    size_t place = 0;
    for (unsigned z = 0; z < blockDim.z; z++)
        for (unsigned y = 0; y < blockDim.y; y++)
            for (unsigned x = 0; x < blockDim.x; x++)
                threads[place++].index = {x, y, z};
}

} // namespace

void set_reversed(bool reversed) { last_first = reversed; }

void fail_host_allocation(size_t count) { allocations_to_failure = count; }

bool reversed() { return last_first; }

void barrier(const char *file, int line) { wait(State::at_barrier, file, line); }

uint64_t collective(Collective kind, unsigned mask, uint64_t value, unsigned operand, int width, const char *file,
                    int line)
{
    Thread &self = *current;
    self.kind = kind;
    self.mask = mask;
    self.value = value;
    self.operand = operand;
    self.width = width;
    wait(State::at_collective, file, line);
    return self.result;
}

void *shared_array(const void *declaration, size_t nbytes)
{
    if (allocations_to_failure && --allocations_to_failure == 0)
        throw std::bad_alloc();
    SharedArray &array = shared_arrays[declaration];
    if (!array.memory) {
        array = {std::make_unique<char[]>(nbytes), nbytes};
        memset(array.memory.get(), poison(), nbytes);
        shared_bytes += nbytes;
        if (shared_bytes > (dynamic.nbytes > MAX_SHARED_BYTES ? MAX_DYNAMIC_BYTES : MAX_SHARED_BYTES))
            failure = "a block has at most 49152 bytes of shared memory";
    }
    return array.memory.get();
}

void *dynamic_shared() { return dynamic.begin(); }

size_t current_thread() { return static_cast<size_t>(current - threads.data()); }

std::string describe_current_thread()
{
    char text[160];
    snprintf(text, sizeof text, "thread (%u, %u, %u) in block (%u, %u, %u)", threadIdx.x, threadIdx.y, threadIdx.z,
             blockIdx.x, blockIdx.y, blockIdx.z);
    return text;
}

static cudaError_t run_blocks(const cudaLaunchConfig_t &config)
{
    gridDim = config.gridDim;
    blockDim = config.blockDim;
    shared_arrays.clear();
    dynamic.reserve(config.dynamicSmemBytes);
    shared_bytes = config.dynamicSmemBytes;
    failure.clear();
    out_of_memory = false;
    lay_out_threads();
    uint64_t plane = uint64_t{gridDim.x} * gridDim.y;
    uint64_t blocks = plane * gridDim.z;
    for (uint64_t place = 0; place < blocks; place++) {
        uint64_t block = last_first ? blocks - 1 - place : place;
        blockIdx = {static_cast<unsigned>(block % gridDim.x), static_cast<unsigned>(block % plane / gridDim.x),
                    static_cast<unsigned>(block / plane)};
        if (!run_block() || !failure.empty()) {
            drop_fibres();
            return out_of_memory ? cudaErrorMemoryAllocation : cudaErrorLaunchFailure;
        }
    }
    return cudaSuccess;
}

cudaError_t run_grid(const cudaLaunchConfig_t &config, void (*body)(void *), void *context)
{
    thread_body = body;
    thread_context = context;
    try {
        return run_blocks(config);
    } catch (const std::bad_alloc &) {
        drop_fibres();
        return cudaErrorMemoryAllocation;
    }
}

} // namespace emulation

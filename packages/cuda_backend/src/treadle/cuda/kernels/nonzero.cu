/* The indices of the non-zero elements, in C order, in two passes over chunks of CHUNK elements: the first counts, a
 * scan of the counts tells where each chunk's rows begin, and the second writes them. Within a chunk a warp's ballot
 * gives each element its place among the 32 of its warp. */
#include "layout.h"

namespace td {

namespace {

constexpr int WARPS = BLOCK / 32;
constexpr int ROUNDS = 4;
constexpr int64_t CHUNK = BLOCK * ROUNDS;
constexpr unsigned ALL_LANES = 0xFFFFFFFFu;

struct Mask {
    Walk<1> walk; /* in C order */
    int32_t ndim;
    int64_t shape[TD_MAX_NDIM];
};

TD_DEVICE bool is_set(const Walk<1> &walk, int64_t i)
{
    if (i >= walk.size)
        return false;
    int64_t offset[1];
    locate(walk, i, offset);
    return *reinterpret_cast<const td_bool *>(walk.data[0] + offset[0]) != 0;
}

/* Each warp's number of set elements, round by round. */
TD_DEVICE void count_warps(const Walk<1> &walk, int64_t begin, unsigned (&counts)[ROUNDS * WARPS],
                           unsigned (&votes)[ROUNDS])
{
    TD_UNROLL
    for (int round = 0; round < ROUNDS; round++) {
        votes[round] = __ballot_sync(ALL_LANES, is_set(walk, begin + round * BLOCK + threadIdx.x));
        if (threadIdx.x % 32 == 0)
            counts[round * WARPS + threadIdx.x / 32] = static_cast<unsigned>(__popc(votes[round]));
    }
}

__global__ void count_kernel(const __grid_constant__ Walk<1> walk, int64_t chunks, int64_t *counts)
{
    TD_SHARED(unsigned, shared, [ROUNDS * WARPS]);
    unsigned votes[ROUNDS];
    for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        count_warps(walk, chunk * CHUNK, shared, votes);
        __syncthreads();
        if (threadIdx.x == 0) {
            int64_t count = 0;
            for (int part = 0; part < ROUNDS * WARPS; part++)
                count += shared[part];
            counts[chunk] = count;
        }
        __syncthreads();
    }
}

TD_DEVICE void write_row(const Mask &mask, int64_t i, char *row, int64_t stride)
{
    for (int axis = mask.ndim - 1; axis >= 0; axis--) {
        *reinterpret_cast<int64_t *>(row + axis * stride) = i % mask.shape[axis];
        i /= mask.shape[axis];
    }
}

/* ends[chunk]: how many are set up to the chunk's end. */
__global__ void write_kernel(const __grid_constant__ Mask mask, int64_t chunks, const int64_t *ends, char *out,
                             int64_t row_stride, int64_t column_stride)
{
    TD_SHARED(unsigned, shared, [ROUNDS * WARPS]);
    unsigned votes[ROUNDS];
    for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        count_warps(mask.walk, chunk * CHUNK, shared, votes);
        __syncthreads();
        int64_t row = chunk > 0 ? ends[chunk - 1] : 0;
        for (int round = 0; round < ROUNDS; round++) {
            const unsigned lane = threadIdx.x % 32;
            for (unsigned warp = 0; warp < WARPS; warp++) {
                if (warp == threadIdx.x / 32 && votes[round] >> lane & 1)
                    write_row(mask, chunk * CHUNK + round * BLOCK + threadIdx.x,
                              out + (row + __popc(votes[round] & ((1u << lane) - 1))) * row_stride, column_stride);
                row += shared[round * WARPS + warp];
            }
        }
        __syncthreads();
    }
}

int64_t chunks_of(const td_view *x) { return ceil_div(size_of(*x), CHUNK); }

} // namespace

} // namespace td

int64_t td_cuda_nonzero_space(const td_view *x)
{
    return td::chunks_of(x) * static_cast<int64_t>(sizeof(int64_t));
}

int td_cuda_nonzero_count(const td_view *x, void *space, int64_t *found)
{
    const int64_t chunks = td::chunks_of(x);
    *found = 0;
    if (chunks == 0)
        return TD_OK;
    auto *counts = static_cast<int64_t *>(space);
    td::Walk<1> walk = td::plan_in_order<1>({x});
    TD_LAUNCH(td::count_kernel, td::blocks_for(chunks, 1), td::BLOCK, walk, chunks, counts);
    td_view line = {};
    line.data = static_cast<char *>(space);
    line.dtype = TD_i64;
    line.ndim = 1;
    line.shape[0] = chunks;
    line.strides[0] = sizeof(int64_t);
    TD_TRY(td_cuda_scan(TD_SCAN_sum, &line, 0, &line));
    return td_cuda_copy_bytes(found, counts + chunks - 1, sizeof(int64_t), TD_TO_HOST, 0);
}

int td_cuda_nonzero_write(const td_view *x, const void *space, const td_view *out)
{
    const int64_t chunks = td::chunks_of(x);
    if (td::size_of(*out) == 0)
        return TD_OK;
    td::Mask mask = {};
    mask.walk = td::plan_in_order<1>({x});
    mask.ndim = x->ndim;
    for (int axis = 0; axis < x->ndim; axis++)
        mask.shape[axis] = x->shape[axis];
    TD_LAUNCH(td::write_kernel, td::blocks_for(chunks, 1), td::BLOCK, mask, chunks, static_cast<const int64_t *>(space),
              out->data, out->strides[0], out->strides[1]);
    return TD_OK;
}

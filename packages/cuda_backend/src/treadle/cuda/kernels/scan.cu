/* Running sums and products along one axis.
 *
 * The lanes of a line take lanes elements at a time: a scan by doubling distances in shared memory (W. Hillis, G.
 * Steele, "Data parallel algorithms", 1986), then the carry of everything before joins. */
#include "lanes.h"
#include "reduction.h"

namespace td {

namespace {

struct Scanning {
    Walk<2> lines; /* x, out */
    Lanes lanes;
    int64_t stride, out_stride, length;
};

/* The fold of this lane's value with those of the lanes before it. parts is free before, and in use after. */
template <class Reduction, class Accumulator>
TD_DEVICE Accumulator scan_lanes(const Lanes &plan, Accumulator *parts, Accumulator value)
{
    const int lane = lane_of(plan), line = line_of(plan);
    parts[lane * plan.lines + line] = value;
    for (int distance = 1; distance < plan.lanes; distance *= 2) {
        __syncthreads();
        Accumulator before = Reduction::start();
        if (lane >= distance)
            before = parts[(lane - distance) * plan.lines + line];
        __syncthreads();
        value = Reduction::merge(before, value);
        parts[lane * plan.lines + line] = value;
    }
    __syncthreads();
    return value;
}

template <class Reduction> __global__ void scan_kernel(const __grid_constant__ Scanning plan)
{
    using Accumulator = typename Reduction::Accumulator;
    using Element = typename Reduction::Element;
    using Result = typename Reduction::Result;
    TD_SHARED(Accumulator, shared, [BLOCK]);
    const int lanes = plan.lanes.lanes, lane = lane_of(plan.lanes), place = line_of(plan.lanes);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lanes.lines); base < plan.lines.size;
         base += gridDim.x * static_cast<int64_t>(plan.lanes.lines)) {
        const bool inside = base + place < plan.lines.size;
        int64_t offset[2] = {0, 0};
        if (inside)
            locate(plan.lines, base + place, offset);
        Accumulator carry = Reduction::start();
        for (int64_t begin = 0; begin < plan.length; begin += lanes) {
            const int64_t i = begin + lane;
            const bool here = inside && i < plan.length;
            Accumulator value = Reduction::start();
            if (here) {
                const char *at = plan.lines.data[0] + offset[0] + i * plan.stride;
                value = Reduction::fold(value, *reinterpret_cast<const Element *>(at));
            }
            value = Reduction::merge(carry, scan_lanes<Reduction>(plan.lanes, shared, value));
            carry = Reduction::merge(carry, shared[(lanes - 1) * plan.lanes.lines + place]);
            if (here)
                *reinterpret_cast<Result *>(plan.lines.data[1] + offset[1] + i * plan.out_stride) =
                    finished<Result>(value);
            __syncthreads();
        }
    }
}

template <class Reduction> int scan(const Scanning &plan)
{
    TD_LAUNCH(scan_kernel<Reduction>, blocks_for(plan.lines.size, plan.lanes.lines), BLOCK, plan);
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_scan(int op, const td_view *x, int axis, const td_view *out)
{
    td::Scanning plan = {};
    plan.lines = td::plan_lines(x, axis, out);
    plan.stride = x->strides[axis];
    plan.out_stride = out->strides[axis];
    plan.length = x->shape[axis];
    plan.lanes = td::lay_lanes(plan.length, plan.lines.size < 32 || td::magnitude(plan.stride) <=
                                                                        td::shortest_stride(plan.lines, 0));
    if (plan.lines.size == 0)
        return TD_OK;
    switch (x->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: \
        return op == TD_SCAN_sum ? td::scan<td::reduce_sum_##suffix>(plan) : td::scan<td::reduce_prod_##suffix>(plan);
        TD_KERNEL_TYPES(RUN, )
#undef RUN
    default: return td::no_kernel("scan", op, x->dtype);
    }
}

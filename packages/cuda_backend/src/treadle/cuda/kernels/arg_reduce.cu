/* argmax and argmin along one axis: the index of the first largest or smallest element; the first NaN wins.
 *
 * Lines are folded as in reduce.cu. A long line is cut into parts; the first pass leaves each part's index, and the
 * second pass is the same kernel, choosing among those. */
#include "elements.h"
#include "lanes.h"

namespace td {

namespace {

template <class T> struct Candidate {
    T value;
    int64_t index; /* -1: none */
};

struct Choice {
    Walk<2> lines; /* x, out */
    Lanes lanes;
    int64_t stride, length;
    LineParts parts;
    const int64_t *candidates; /* null: every index of the line is one */
    int64_t *chosen;           /* null: the result goes to out */
};

template <class T, bool LARGEST> struct Better {
    TD_DEVICE Candidate<T> operator()(Candidate<T> x, Candidate<T> y) const
    {
        if (x.index < 0 || y.index < 0)
            return x.index < 0 ? y : x;
        const bool x_nan = x.value != x.value, y_nan = y.value != y.value;
        const bool same = x_nan || y_nan ? x_nan == y_nan : x.value == y.value;
        if (same)
            return x.index < y.index ? x : y;
        if (x_nan || y_nan)
            return x_nan ? x : y;
        return (LARGEST ? x.value > y.value : x.value < y.value) ? x : y;
    }
};

template <class T, bool LARGEST> __global__ void choose_kernel(const __grid_constant__ Choice plan)
{
    TD_SHARED(Candidate<T>, shared, [BLOCK]);
    const Better<T, LARGEST> better;
    const int64_t begin = blockIdx.y * plan.parts.length, step = plan.lanes.lanes;
    const int64_t end = begin + plan.parts.length < plan.length ? begin + plan.parts.length : plan.length;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lanes.lines); base < plan.lines.size;
         base += gridDim.x * static_cast<int64_t>(plan.lanes.lines)) {
        const int64_t line = base + line_of(plan.lanes);
        Candidate<T> best = {T(), -1};
        int64_t offset[2] = {0, 0};
        if (line < plan.lines.size) {
            locate(plan.lines, line, offset);
            constexpr int COUNT = AT_ONCE<T>;
            int64_t i = begin + lane_of(plan.lanes);
            for (; !plan.candidates && i + (COUNT - 1) * step < end; i += COUNT * step) {
                T values[COUNT];
                TD_UNROLL
                for (int n = 0; n < COUNT; n++)
                    values[n] = *reinterpret_cast<const T *>(plan.lines.data[0] + offset[0] + (i + n * step) * plan.stride);
                TD_UNROLL
                for (int n = 0; n < COUNT; n++)
                    best = better(best, {values[n], i + n * step});
            }
            for (; i < end; i += step) {
                const int64_t index = plan.candidates ? plan.candidates[line * plan.length + i] : i;
                const char *at = plan.lines.data[0] + offset[0] + index * plan.stride;
                best = better(best, {*reinterpret_cast<const T *>(at), index});
            }
        }
        best = fold_lanes(plan.lanes, shared, best, better);
        if (line >= plan.lines.size || lane_of(plan.lanes) != 0)
            continue;
        if (plan.chosen)
            plan.chosen[line * plan.parts.count + blockIdx.y] = best.index;
        else
            *reinterpret_cast<int64_t *>(plan.lines.data[1] + offset[1]) = best.index;
    }
}

template <class T, bool LARGEST> int run(const Choice &plan)
{
    dim3 blocks(blocks_for(plan.lines.size, plan.lanes.lines), static_cast<unsigned>(plan.parts.count));
    void (*kernel)(Choice) = choose_kernel<T, LARGEST>;
    TD_LAUNCH(kernel, blocks, BLOCK, plan);
    return TD_OK;
}

template <class T, bool LARGEST> int choose(Choice plan)
{
    if (plan.parts.count == 1)
        return run<T, LARGEST>(plan);
    Scratch scratch;
    TD_TRY(scratch.reserve(plan.lines.size * plan.parts.count * static_cast<int64_t>(sizeof(int64_t))));
    plan.chosen = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY((run<T, LARGEST>(plan)));
    plan.candidates = plan.chosen;
    plan.chosen = nullptr;
    plan.length = plan.parts.count;
    plan.parts = {1, plan.length};
    return run<T, LARGEST>(plan);
}

Choice plan_choice(const td_view *x, int axis, const td_view *out)
{
    Choice plan = {};
    plan.lines = plan_lines(x, axis, out);
    plan.stride = x->strides[axis];
    plan.length = x->shape[axis];
    plan.lanes = lay_lanes(plan.length, plan.lines.size < 32 ||
                                            magnitude(plan.stride) <= shortest_stride(plan.lines, 0));
    plan.parts = cut_lines(plan.lanes, plan.lines.size, plan.length);
    return plan;
}

} // namespace

} // namespace td

int td_cuda_arg_reduce(int op, const td_view *x, int axis, const td_view *out)
{
    td::Choice plan = td::plan_choice(x, axis, out);
    if (plan.lines.size == 0)
        return TD_OK;
    switch (x->dtype) {
#define RUN(suffix, T, ...) \
    case TD_##suffix: return op == TD_ARG_max ? td::choose<T, true>(plan) : td::choose<T, false>(plan);
        TD_KERNEL_REAL(RUN, )
#undef RUN
    default: return td::no_kernel("index reduction", op, x->dtype);
    }
}

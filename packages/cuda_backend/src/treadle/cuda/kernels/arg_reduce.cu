/* argmax and argmin along one axis: the index of the first largest or smallest element; the first NaN wins.
 *
 * Lines are folded as in reduce.cu. A long line is cut into parts; the first pass leaves each part's index, and the
 * second pass is the same kernel, choosing among those. */
#include "elements.h"
#include "lanes.h"

namespace td {

namespace {

constexpr int64_t PART_LENGTH = 16384;
constexpr int64_t MAX_PARTS = 256;
constexpr int64_t ENOUGH_LINES = 1024;

template <class T> struct Candidate {
    T value;
    int64_t index; /* -1: none */
};

struct Choice {
    Walk<2> lines; /* x, out */
    Lanes lanes;
    int64_t stride, length;
    int64_t part_length, parts;
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
    const int64_t begin = blockIdx.y * plan.part_length;
    const int64_t end = begin + plan.part_length < plan.length ? begin + plan.part_length : plan.length;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lanes.lines); base < plan.lines.size;
         base += gridDim.x * static_cast<int64_t>(plan.lanes.lines)) {
        const int64_t line = base + line_of(plan.lanes);
        Candidate<T> best = {T(), -1};
        int64_t offset[2] = {0, 0};
        if (line < plan.lines.size) {
            locate(plan.lines, line, offset);
            for (int64_t i = begin + lane_of(plan.lanes); i < end; i += plan.lanes.lanes) {
                const int64_t index = plan.candidates ? plan.candidates[line * plan.length + i] : i;
                const char *at = plan.lines.data[0] + offset[0] + index * plan.stride;
                best = better(best, {*reinterpret_cast<const T *>(at), index});
            }
        }
        best = fold_lanes(plan.lanes, shared, best, better);
        if (line >= plan.lines.size || lane_of(plan.lanes) != 0)
            continue;
        if (plan.chosen)
            plan.chosen[line * plan.parts + blockIdx.y] = best.index;
        else
            *reinterpret_cast<int64_t *>(plan.lines.data[1] + offset[1]) = best.index;
    }
}

template <class T, bool LARGEST> int run(const Choice &plan)
{
    dim3 blocks(blocks_for(plan.lines.size, plan.lanes.lines), static_cast<unsigned>(plan.parts));
    void (*kernel)(Choice) = choose_kernel<T, LARGEST>;
    TD_LAUNCH(kernel, blocks, BLOCK, plan);
    return TD_OK;
}

template <class T, bool LARGEST> int choose(Choice plan)
{
    if (plan.parts == 1)
        return run<T, LARGEST>(plan);
    Scratch scratch;
    TD_TRY(scratch.reserve(plan.lines.size * plan.parts * static_cast<int64_t>(sizeof(int64_t))));
    plan.chosen = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY((run<T, LARGEST>(plan)));
    plan.candidates = plan.chosen;
    plan.chosen = nullptr;
    plan.length = plan.part_length = plan.parts;
    plan.parts = 1;
    return run<T, LARGEST>(plan);
}

Choice plan_choice(const td_view *x, int axis, const td_view *out)
{
    Choice plan = {};
    plan.lines = plan_lines(x, axis, out);
    plan.stride = x->strides[axis];
    plan.length = plan.part_length = x->shape[axis];
    plan.parts = 1;
    plan.lanes = lay_lanes(plan.length, plan.lines.size < 32 ||
                                            magnitude(plan.stride) <= shortest_stride(plan.lines, 0));
    if (plan.lines.size < ENOUGH_LINES && plan.length > 2 * PART_LENGTH) {
        int64_t wanted = ceil_div(plan.length, PART_LENGTH);
        plan.part_length = ceil_div(plan.length, wanted < MAX_PARTS ? wanted : MAX_PARTS);
        plan.parts = ceil_div(plan.length, plan.part_length);
    }
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

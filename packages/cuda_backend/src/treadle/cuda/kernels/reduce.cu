/* Reductions over any axes, the variance among them.
 *
 * The axes of x part into those that out keeps (a line of elements for each kept place) and those that are folded. A
 * block folds several lines at once, or one long one, as lanes.h lays it out. Where there are few lines and they are
 * long, each is cut into parts: a first pass writes one accumulator a part, a second folds those. */
#include "lanes.h"
#include "reduction.h"

namespace td {

namespace {

struct Folding {
    Walk<2> kept;   /* x, out */
    Walk<1> folded; /* one line of x */
    int64_t skip;   /* from a kept place of x to its line's first byte: reversed axes are walked from their end */
    Lanes lanes;
    LineParts parts;
    char *partial; /* accumulators, parts to a line; where there is more than one part */
    double divisor, correction;
};

template <class Reduction>
TD_DEVICE void store(const Folding &plan, int64_t at, typename Reduction::Accumulator value)
{
    using Result = typename Reduction::Result;
    if constexpr (std::is_same_v<typename Reduction::Accumulator, double>)
        value /= plan.divisor;
    if constexpr (std::is_same_v<typename Reduction::Accumulator, td_c128>)
        value = {value.re / plan.divisor, value.im / plan.divisor};
    Result *out = reinterpret_cast<Result *>(plan.kept.data[1] + at);
    if constexpr (std::is_same_v<typename Reduction::Accumulator, Moments>)
        *out = static_cast<Result>(value.squares /
                                   (value.count > plan.correction ? value.count - plan.correction : 0.0));
    else
        *out = finished<Result>(value);
}

/* One part of one line, as far as it falls to this lane. */
template <class Reduction>
TD_DEVICE typename Reduction::Accumulator fold_part(const Folding &plan, const char *line, int64_t part)
{
    using Element = typename Reduction::Element;
    typename Reduction::Accumulator acc = Reduction::start();
    const int64_t begin = part * plan.parts.length, step = plan.lanes.lanes;
    const int64_t end = begin + plan.parts.length < plan.folded.size ? begin + plan.parts.length : plan.folded.size;
    int64_t i = begin + lane_of(plan.lanes);
    if (plan.folded.ndim == 1) {
        constexpr int COUNT = AT_ONCE<Element>;
        const int64_t stride = plan.folded.strides[0][0];
        for (; i + (COUNT - 1) * step < end; i += COUNT * step) {
            Element elements[COUNT];
            TD_UNROLL
            for (int n = 0; n < COUNT; n++)
                elements[n] = *reinterpret_cast<const Element *>(line + (i + n * step) * stride);
            TD_UNROLL
            for (int n = 0; n < COUNT; n++)
                acc = Reduction::fold(acc, elements[n]);
        }
    }
    for (; i < end; i += step) {
        int64_t offset[1];
        locate(plan.folded, i, offset);
        acc = Reduction::fold(acc, *reinterpret_cast<const Element *>(line + offset[0]));
    }
    return acc;
}

template <class Reduction> __global__ void reduce_kernel(const __grid_constant__ Folding plan)
{
    using Accumulator = typename Reduction::Accumulator;
    TD_SHARED(Accumulator, shared, [BLOCK]);
    const int64_t part = blockIdx.y;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lanes.lines); base < plan.kept.size;
         base += gridDim.x * static_cast<int64_t>(plan.lanes.lines)) {
        const int64_t line = base + line_of(plan.lanes);
        Accumulator acc = Reduction::start();
        int64_t offset[2] = {0, 0};
        if (line < plan.kept.size) {
            locate(plan.kept, line, offset);
            acc = fold_part<Reduction>(plan, plan.kept.data[0] + offset[0] + plan.skip, part);
        }
        acc = fold_lanes(plan.lanes, shared, acc, Reduction::merge);
        if (line >= plan.kept.size || lane_of(plan.lanes) != 0)
            continue;
        if (plan.parts.count > 1)
            reinterpret_cast<Accumulator *>(plan.partial)[line * plan.parts.count + part] = acc;
        else
            store<Reduction>(plan, offset[1], acc);
    }
}

/* The second pass: lanes lays out the parts of the lines. */
template <class Reduction>
__global__ void merge_kernel(const __grid_constant__ Folding plan, const __grid_constant__ Lanes lanes)
{
    using Accumulator = typename Reduction::Accumulator;
    TD_SHARED(Accumulator, shared, [BLOCK]);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(lanes.lines); base < plan.kept.size;
         base += gridDim.x * static_cast<int64_t>(lanes.lines)) {
        const int64_t line = base + line_of(lanes);
        const auto *partial = reinterpret_cast<const Accumulator *>(plan.partial) + line * plan.parts.count;
        Accumulator acc = Reduction::start();
        for (int64_t part = lane_of(lanes); part < plan.parts.count && line < plan.kept.size; part += lanes.lanes)
            acc = Reduction::merge(acc, partial[part]);
        acc = fold_lanes(lanes, shared, acc, Reduction::merge);
        if (line >= plan.kept.size || lane_of(lanes) != 0)
            continue;
        int64_t offset[2];
        locate(plan.kept, line, offset);
        store<Reduction>(plan, offset[1], acc);
    }
}

/* Parts the axes of x. Lines that are not cut are one part. */
Folding plan_folding(const td_view *x, uint32_t axes, const td_view *out)
{
    td_view kept = {}, kept_out = {}, folded = {};
    kept.data = folded.data = x->data;
    kept_out.data = out->data;
    for (int axis = 0; axis < x->ndim; axis++) {
        td_view &view = axes >> axis & 1 ? folded : kept;
        view.shape[view.ndim] = x->shape[axis];
        view.strides[view.ndim++] = x->strides[axis];
        if (axes >> axis & 1)
            continue;
        kept_out.shape[kept_out.ndim] = x->shape[axis];
        kept_out.strides[kept_out.ndim++] = out->strides[axis];
    }
    Folding plan = {};
    plan.kept = td::plan<2>({&kept, &kept_out});
    plan.folded = td::plan<1>({&folded});
    plan.skip = plan.folded.data[0] - x->data;
    plan.lanes = lay_lanes(plan.folded.size, plan.kept.size < 32 || shortest_stride(plan.folded, 0) <=
                                                                        shortest_stride(plan.kept, 0));
    plan.parts = cut_lines(plan.lanes, plan.kept.size, plan.folded.size);
    return plan;
}

template <class Reduction> int reduce(Folding &plan)
{
    Scratch partial;
    if (plan.parts.count > 1) {
        constexpr int64_t nbytes = sizeof(typename Reduction::Accumulator);
        TD_TRY(partial.reserve(plan.kept.size * plan.parts.count * nbytes));
        plan.partial = partial.memory();
    }
    dim3 blocks(blocks_for(plan.kept.size, plan.lanes.lines), static_cast<unsigned>(plan.parts.count));
    TD_LAUNCH(reduce_kernel<Reduction>, blocks, BLOCK, plan);
    if (plan.parts.count > 1) {
        const Lanes lanes = lay_lanes(plan.parts.count, true);
        TD_LAUNCH(merge_kernel<Reduction>, blocks_for(plan.kept.size, lanes.lines), BLOCK, plan, lanes);
    }
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_reduce(int op, const td_view *x, uint32_t axes, const td_view *out)
{
    td::Folding plan = td::plan_folding(x, axes, out);
    if (plan.kept.size == 0)
        return TD_OK;
    plan.divisor = op == TD_REDUCE_mean ? static_cast<double>(plan.folded.size) : 1.0;
    switch ((op == TD_REDUCE_mean ? TD_REDUCE_sum : op) * TD_DTYPE_COUNT + x->dtype) {
#define RUN(suffix, ctype, op) \
    case TD_REDUCE_##op * TD_DTYPE_COUNT + TD_##suffix: return td::reduce<td::reduce_##op##_##suffix>(plan);
#define X(op, TYPES, ...) TD_ROW_##TYPES(RUN, op)
        TD_REDUCE_OPS(X, X)
#undef X
        TD_TYPES_COMPLEX(RUN, sum)
        TD_TYPES_COMPLEX(RUN, prod)
        TD_TYPES_COMPLEX(RUN, any)
        TD_TYPES_COMPLEX(RUN, all)
    default: return td::no_kernel("reduction", op, x->dtype);
    }
}

int td_cuda_variance(const td_view *x, uint32_t axes, double correction, const td_view *out)
{
    td::Folding plan = td::plan_folding(x, axes, out);
    plan.correction = correction;
    if (plan.kept.size == 0)
        return TD_OK;
    switch (x->dtype) {
    case TD_f32: return td::reduce<td::Variance<float>>(plan);
    case TD_f64: return td::reduce<td::Variance<double>>(plan);
    default: return td::no_kernel("variance", 0, x->dtype);
    }
}

/* softmax, log_softmax and logsumexp along one axis, fused: the line's maximum, the sum of exp(x - maximum) in double,
 * then the results. Equal to the composition x - max, exp, sum, divide (or subtract the logarithm), infinities and NaN
 * included; logsumexp leaves a maximum that is not finite out of it. */
#include "lanes.h"

namespace td {

namespace {

struct Normalising {
    Walk<2> lines; /* x, out */
    Lanes lanes;
    int64_t stride, out_stride, length;
};

template <class T> struct Larger {
    TD_DEVICE T operator()(T x, T y) const { return x >= y || x != x ? x : y; }
};

struct Plus {
    TD_DEVICE double operator()(double x, double y) const { return x + y; }
};

template <class T, int RESULT> __global__ void softmax_kernel(const __grid_constant__ Normalising plan)
{
    TD_SHARED(T, tops, [BLOCK]);
    TD_SHARED(double, sums, [BLOCK]);
    const int lane = lane_of(plan.lanes), lanes = plan.lanes.lanes;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lanes.lines); base < plan.lines.size;
         base += gridDim.x * static_cast<int64_t>(plan.lanes.lines)) {
        const int64_t line = base + line_of(plan.lanes);
        const int64_t length = line < plan.lines.size ? plan.length : 0;
        int64_t offset[2] = {0, 0};
        if (length)
            locate(plan.lines, line, offset);
        const char *x = plan.lines.data[0] + offset[0];
        char *out = plan.lines.data[1] + offset[1];
        T top = static_cast<T>(-INFINITY);
        for (int64_t i = lane; i < length; i += lanes)
            top = Larger<T>()(top, *reinterpret_cast<const T *>(x + i * plan.stride));
        top = fold_for_all_lanes(plan.lanes, tops, top, Larger<T>());
        if constexpr (RESULT == TD_SOFTMAX_sum)
            top = top - top == 0 ? top : T(0);
        double sum = 0.0;
        for (int64_t i = lane; i < length; i += lanes)
            sum += static_cast<double>(td_exp(*reinterpret_cast<const T *>(x + i * plan.stride) - top));
        const T total = static_cast<T>(fold_for_all_lanes(plan.lanes, sums, sum, Plus()));
        if constexpr (RESULT == TD_SOFTMAX_sum) {
            if (lane == 0 && length)
                *reinterpret_cast<T *>(out) = td_log(total) + top;
        } else {
            for (int64_t i = lane; i < length; i += lanes) {
                const T shifted = *reinterpret_cast<const T *>(x + i * plan.stride) - top;
                *reinterpret_cast<T *>(out + i * plan.out_stride) =
                    RESULT == TD_SOFTMAX_log ? shifted - td_log(total) : td_exp(shifted) / total;
            }
        }
    }
}

template <class T, int RESULT> int softmax_as(const Normalising &plan)
{
    void (*kernel)(Normalising) = softmax_kernel<T, RESULT>;
    TD_LAUNCH(kernel, blocks_for(plan.lines.size, plan.lanes.lines), BLOCK, plan);
    return TD_OK;
}

template <class T> int softmax(const Normalising &plan, int result)
{
    switch (result) {
    case TD_SOFTMAX_quotient: return softmax_as<T, TD_SOFTMAX_quotient>(plan);
    case TD_SOFTMAX_log: return softmax_as<T, TD_SOFTMAX_log>(plan);
    default: return softmax_as<T, TD_SOFTMAX_sum>(plan);
    }
}

} // namespace

} // namespace td

int td_cuda_softmax(int result, const td_view *x, int axis, const td_view *out)
{
    td::Normalising plan = {};
    plan.lines = td::plan_lines(x, axis, out);
    plan.stride = x->strides[axis];
    plan.out_stride = out->strides[axis];
    plan.length = x->shape[axis];
    plan.lanes = td::lay_lanes(plan.length, plan.lines.size < 32 || td::magnitude(plan.stride) <=
                                                                        td::shortest_stride(plan.lines, 0));
    if (plan.lines.size == 0 || plan.length == 0)
        return TD_OK;
    switch (x->dtype) {
    case TD_f32: return td::softmax<float>(plan, result);
    case TD_f64: return td::softmax<double>(plan, result);
    default: return td::no_kernel("softmax", result, x->dtype);
    }
}

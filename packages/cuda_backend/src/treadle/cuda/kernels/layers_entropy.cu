/* Cross-entropy of rows of logits and class indices, shifted by the row's maximum: several rows a block, or one long one,
 * as lanes.h lays them out. The gradient finds maximum and sum again. Sums are in double, as those of softmax.cu. */
#include "elements.h"
#include "index_checks.h"
#include "lanes.h"
#include "layers_api.h"
#include "treadle/scalar_math.h"

#include <cstdio>

namespace td {

namespace {

template <class C> struct Larger {
    TD_DEVICE C operator()(C x, C y) const { return x >= y || x != x ? x : y; }
};

struct Plus {
    TD_DEVICE double operator()(double x, double y) const { return x + y; }
};

template <class C> struct RowSums {
    C top;
    double powers, shifted; /* of exp(x - top); of x - top, where labels are smoothed */
};

/* All lanes of the block take part; length is 0 for a line beyond the last row. A row's end has to pass a barrier before
 * the next call. */
template <class T>
TD_DEVICE RowSums<Computed<T>> sum_row(const Lanes &plan, const T *x, int64_t length, bool smooth)
{
    using C = Computed<T>;
    TD_SHARED(C, tops, [BLOCK]);
    TD_SHARED(double, powers, [BLOCK]);
    TD_SHARED(double, shifts, [BLOCK]);
    RowSums<C> sums = {static_cast<C>(-INFINITY), 0.0, 0.0};
    for (int64_t i = lane_of(plan); i < length; i += plan.lanes)
        sums.top = Larger<C>()(sums.top, static_cast<C>(x[i]));
    sums.top = fold_for_all_lanes(plan, tops, sums.top, Larger<C>());
    for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
        const C shifted = static_cast<C>(x[i]) - sums.top;
        sums.powers += static_cast<double>(td_exp(shifted));
        if (smooth)
            sums.shifted += static_cast<double>(shifted);
    }
    sums.powers = fold_for_all_lanes(plan, powers, sums.powers, Plus());
    if (smooth)
        sums.shifted = fold_for_all_lanes(plan, shifts, sums.shifted, Plus());
    return sums;
}

template <class T>
__global__ void entropy_kernel(const __grid_constant__ td_cuda_entropy_rows work, const __grid_constant__ Lanes plan,
                               int64_t *wrong)
{
    using C = Computed<T>;
    const bool smooth = work.smoothing != 0.0;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lines); base < work.rows;
         base += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t row = base + line_of(plan);
        const T *x = static_cast<const T *>(work.logits) + row * work.classes;
        const RowSums<C> sums = sum_row(plan, x, row < work.rows ? work.classes : 0, smooth);
        if (row >= work.rows || lane_of(plan) != 0)
            continue;
        const int64_t target = work.targets[row];
        double loss = 0.0;
        if (target != work.ignored && (target < 0 || target >= work.classes)) {
            note_index(wrong, target);
            loss = NAN;
        } else if (target != work.ignored) {
            const double log_total = log(sums.powers);
            loss = log_total - static_cast<double>(static_cast<C>(x[target]) - sums.top);
            if (smooth)
                loss = loss * (1.0 - work.smoothing) +
                       (log_total - sums.shifted / static_cast<double>(work.classes)) * work.smoothing;
        }
        static_cast<T *>(work.out)[row] = T(static_cast<C>(loss));
    }
}

template <class T>
__global__ void entropy_gradient_kernel(const __grid_constant__ td_cuda_entropy_rows work,
                                        const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    const C uniform = static_cast<C>(work.smoothing / static_cast<double>(work.classes));
    const C peak = static_cast<C>(1.0 - work.smoothing);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lines); base < work.rows;
         base += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t row = base + line_of(plan);
        const int64_t length = row < work.rows ? work.classes : 0;
        const T *x = static_cast<const T *>(work.logits) + row * work.classes;
        const RowSums<C> sums = sum_row(plan, x, length, false);
        if (length == 0)
            continue;
        T *out = static_cast<T *>(work.out) + row * work.classes;
        const int64_t target = work.targets[row];
        const bool counts = target != work.ignored && target >= 0 && target < work.classes;
        const C scale = static_cast<C>(static_cast<const T *>(work.scale)[row * work.scale_step]);
        const C total = static_cast<C>(sums.powers);
        for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
            const C wanted = i == target ? peak + uniform : uniform;
            const C share = td_exp(static_cast<C>(x[i]) - sums.top) / total;
            out[i] = T(counts ? (share - wanted) * scale : C(0));
        }
    }
}

template <class T> int entropy(const td_cuda_entropy_rows &work, const Lanes &plan, int64_t *wrong)
{
    TD_LAUNCH(entropy_kernel<T>, blocks_for(work.rows, plan.lines), BLOCK, work, plan, wrong);
    return TD_OK;
}

template <class T> int entropy_gradient(const td_cuda_entropy_rows &work, const Lanes &plan)
{
    TD_LAUNCH(entropy_gradient_kernel<T>, blocks_for(work.rows, plan.lines), BLOCK, work, plan);
    return TD_OK;
}

int entropy(const td_cuda_entropy_rows &work, int64_t *wrong)
{
    const Lanes plan = lay_lanes(work.classes, true);
    switch (work.dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return entropy<ctype>(work, plan, wrong);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return no_kernel("entropy", 0, work.dtype);
    }
}

} // namespace

} // namespace td

int td_cuda_entropy(const td_cuda_entropy_rows *entropy, int *wrong)
{
    int64_t target;
    char text[128];
    snprintf(text, sizeof text, "cross-entropy: target {} is outside of the %lld classes, and is not ignore_index",
             static_cast<long long>(entropy->classes));
    return td::launch_checked(text, wrong, &target, [&](int64_t *word) { return td::entropy(*entropy, word); });
}

int td_cuda_entropy_gradient(const td_cuda_entropy_rows *entropy)
{
    const td::Lanes plan = td::lay_lanes(entropy->classes, true);
    switch (entropy->dtype) {
#define RUN(suffix, ctype, ...) \
    case TD_##suffix: return td::entropy_gradient<ctype>(*entropy, plan);
        TD_KERNEL_FLOATING(RUN, )
#undef RUN
    default: return td::no_kernel("entropy gradient", 0, entropy->dtype);
    }
}

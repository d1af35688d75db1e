/* Normalisation: (x - mean) * scale * weight + bias, scale = 1 / sqrt(variance + eps), of rows or of channels.
 *
 * With h the normalised elements, u = gradient * weight and means over what is normalised together, the gradient of x is
 * scale * (u - mean(u) - h * mean(u h)) (Ioffe and Szegedy 2015; Ba et al. 2016). Rows are folded by lanes.h. Sums over
 * many rows, those of the parameters' gradients, are cut into parts by sizes only, whose sums are added in order: the same
 * bits everywhere. Sums are carried in the statistics' type, in as many parts as there are lanes. */
#include "elements.h"
#include "lanes.h"
#include "layers_api.h"
#include "treadle/scalar_math.h"

namespace td {

namespace {

constexpr int COLUMNS = 32, ROW_LANES = BLOCK / COLUMNS;

template <class T> struct Norm {
    using C = Computed<T>;
    int64_t rows, channels, width, parts;
    const T *x, *gradient, *weight, *bias;
    C *mean, *scale;
    T *out;
    C *weight_gradient, *bias_gradient;
    C *sums; /* of channels: (parts, channels) of the gradient, then of its products with h */
    C eps;

    explicit Norm(const td_cuda_norm &norm)
        : rows(norm.rows), channels(norm.channels), width(norm.width), parts(norm.parts),
          x(static_cast<const T *>(norm.x)), gradient(static_cast<const T *>(norm.gradient)),
          weight(static_cast<const T *>(norm.weight)), bias(static_cast<const T *>(norm.bias)),
          mean(static_cast<C *>(norm.mean)), scale(static_cast<C *>(norm.scale)), out(static_cast<T *>(norm.out)),
          weight_gradient(static_cast<C *>(norm.weight_gradient)), bias_gradient(static_cast<C *>(norm.bias_gradient)),
          sums(nullptr), eps(static_cast<C>(norm.eps))
    {
    }
};

template <class C> struct Plus {
    TD_DEVICE C operator()(C x, C y) const { return x + y; }
};

/* --- rows --------------------------------------------------------------------------------------------------------- */
template <class T>
__global__ void norm_rows_kernel(const __grid_constant__ Norm<T> norm, const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    TD_SHARED(C, sums, [BLOCK]);
    TD_SHARED(C, squares, [BLOCK]);
    const C count = static_cast<C>(norm.width);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lines); base < norm.rows;
         base += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t row = base + line_of(plan), length = row < norm.rows ? norm.width : 0;
        const T *x = norm.x + row * norm.width;
        C sum = 0, square = 0;
        for (int64_t i = lane_of(plan); norm.mean && i < length; i += plan.lanes)
            sum += static_cast<C>(x[i]);
        const C mean = fold_for_all_lanes(plan, sums, sum, Plus<C>()) / count; /* 0 without a mean */
        for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
            const C centered = static_cast<C>(x[i]) - mean;
            square += centered * centered;
        }
        square = fold_for_all_lanes(plan, squares, square, Plus<C>());
        const C scale = C(1) / td_sqrt(square / count + norm.eps);
        if (lane_of(plan) == 0 && length) {
            if (norm.mean)
                norm.mean[row] = mean;
            norm.scale[row] = scale;
        }
        for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
            const C normal = (static_cast<C>(x[i]) - mean) * scale * (norm.weight ? static_cast<C>(norm.weight[i]) : C(1));
            norm.out[row * norm.width + i] = T(norm.bias ? normal + static_cast<C>(norm.bias[i]) : normal);
        }
    }
}

template <class T>
__global__ void norm_rows_gradient_kernel(const __grid_constant__ Norm<T> norm, const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    TD_SHARED(C, sums, [BLOCK]);
    TD_SHARED(C, products, [BLOCK]);
    const C count = static_cast<C>(norm.width);
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lines); base < norm.rows;
         base += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t row = base + line_of(plan), length = row < norm.rows ? norm.width : 0;
        const T *x = norm.x + row * norm.width, *gradient = norm.gradient + row * norm.width;
        const C mean = norm.mean && length ? norm.mean[row] : C(0), scale = length ? norm.scale[row] : C(0);
        C sum = 0, product = 0;
        for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
            const C u = static_cast<C>(gradient[i]) * (norm.weight ? static_cast<C>(norm.weight[i]) : C(1));
            sum += u;
            product += u * ((static_cast<C>(x[i]) - mean) * scale);
        }
        sum = fold_for_all_lanes(plan, sums, sum, Plus<C>());
        const C mean_of = norm.mean ? sum / count : C(0);
        const C mean_product = fold_for_all_lanes(plan, products, product, Plus<C>()) / count;
        for (int64_t i = lane_of(plan); i < length; i += plan.lanes) {
            const C u = static_cast<C>(gradient[i]) * (norm.weight ? static_cast<C>(norm.weight[i]) : C(1));
            const C normal = (static_cast<C>(x[i]) - mean) * scale;
            norm.out[row * norm.width + i] = T((u - mean_of - normal * mean_product) * scale);
        }
    }
}

/* One part of the rows' sums for COLUMNS columns: ROW_LANES threads share a column. */
template <class T> __global__ void norm_parameters_kernel(const __grid_constant__ Norm<T> norm)
{
    using C = Computed<T>;
    TD_SHARED(C, sums, [BLOCK]);
    TD_SHARED(C, products, [BLOCK]);
    const Lanes plan = {ROW_LANES, COLUMNS, 0};
    const int64_t length = ceil_div(norm.rows, norm.parts);
    const int64_t first = blockIdx.y * length, end = first + length < norm.rows ? first + length : norm.rows;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(COLUMNS); base < norm.width;
         base += gridDim.x * static_cast<int64_t>(COLUMNS)) {
        const int64_t column = base + line_of(plan);
        C sum = 0, product = 0;
        for (int64_t row = first + lane_of(plan); row < end && column < norm.width; row += ROW_LANES) {
            const C gradient = static_cast<C>(norm.gradient[row * norm.width + column]);
            const C mean = norm.mean ? norm.mean[row] : C(0);
            sum += gradient;
            product += gradient * ((static_cast<C>(norm.x[row * norm.width + column]) - mean) * norm.scale[row]);
        }
        sum = fold_for_all_lanes(plan, sums, sum, Plus<C>());
        product = fold_for_all_lanes(plan, products, product, Plus<C>());
        if (lane_of(plan) != 0 || column >= norm.width)
            continue;
        if (norm.weight_gradient)
            norm.weight_gradient[blockIdx.y * norm.width + column] = product;
        if (norm.bias_gradient)
            norm.bias_gradient[blockIdx.y * norm.width + column] = sum;
    }
}

template <class T> int norm_rows(const Norm<T> &norm)
{
    const Lanes plan = lay_lanes(norm.width, true);
    TD_LAUNCH(norm_rows_kernel<T>, blocks_for(norm.rows, plan.lines), BLOCK, norm, plan);
    return TD_OK;
}

template <class T> int norm_rows_gradient(const Norm<T> &norm)
{
    const Lanes plan = lay_lanes(norm.width, true);
    const dim3 blocks(blocks_for(norm.width, COLUMNS), static_cast<unsigned>(norm.parts));
    if (norm.out)
        TD_LAUNCH(norm_rows_gradient_kernel<T>, blocks_for(norm.rows, plan.lines), BLOCK, norm, plan);
    if (norm.weight_gradient || norm.bias_gradient)
        TD_LAUNCH(norm_parameters_kernel<T>, blocks, BLOCK, norm);
    return TD_OK;
}

/* --- channels ----------------------------------------------------------------------------------------------------- */
/* A line is one channel of one row. */
template <class T>
__global__ void norm_channels_kernel(const __grid_constant__ Norm<T> norm, const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    const int64_t lines = norm.rows * norm.channels;
    for (int64_t line = blockIdx.x * static_cast<int64_t>(plan.lines) + line_of(plan); line < lines;
         line += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t channel = line % norm.channels;
        const C mean = norm.mean[channel], scale = norm.scale[channel];
        const C weight = norm.weight ? static_cast<C>(norm.weight[channel]) : C(1);
        const C bias = norm.bias ? static_cast<C>(norm.bias[channel]) : C(0);
        for (int64_t i = lane_of(plan); i < norm.width; i += plan.lanes) {
            const int64_t at = line * norm.width + i;
            norm.out[at] = T((static_cast<C>(norm.x[at]) - mean) * scale * weight + bias);
        }
    }
}

/* One part of the sums of a channel over rows and width. */
template <class T>
__global__ void channel_sums_kernel(const __grid_constant__ Norm<T> norm, const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    TD_SHARED(C, sums, [BLOCK]);
    TD_SHARED(C, products, [BLOCK]);
    const int64_t count = norm.rows * norm.width, length = ceil_div(count, norm.parts);
    const int64_t first = blockIdx.y * length, end = first + length < count ? first + length : count;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(plan.lines); base < norm.channels;
         base += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t channel = base + line_of(plan);
        const C mean = channel < norm.channels ? norm.mean[channel] : C(0);
        C sum = 0, product = 0;
        for (int64_t i = first + lane_of(plan); i < end && channel < norm.channels; i += plan.lanes) {
            const int64_t row = i / norm.width;
            const int64_t at = (row * norm.channels + channel) * norm.width + (i - row * norm.width);
            const C gradient = static_cast<C>(norm.gradient[at]);
            sum += gradient;
            product += gradient * (static_cast<C>(norm.x[at]) - mean);
        }
        sum = fold_for_all_lanes(plan, sums, sum, Plus<C>());
        product = fold_for_all_lanes(plan, products, product, Plus<C>());
        if (lane_of(plan) != 0 || channel >= norm.channels)
            continue;
        norm.sums[blockIdx.y * norm.channels + channel] = sum;
        norm.sums[(norm.parts + blockIdx.y) * norm.channels + channel] = product * norm.scale[channel];
    }
}

/* The parts' sums go into the first part's place. */
template <class T> __global__ void merge_channels_kernel(const __grid_constant__ Norm<T> norm)
{
    using C = Computed<T>;
    for (int64_t channel = first_index(); channel < norm.channels; channel += index_step()) {
        C *sums = norm.sums + channel, *products = norm.sums + norm.parts * norm.channels + channel;
        C sum = 0, product = 0;
        for (int64_t part = 0; part < norm.parts; part++) {
            sum += sums[part * norm.channels];
            product += products[part * norm.channels];
        }
        sums[0] = sum;
        products[0] = product;
        if (norm.weight_gradient)
            norm.weight_gradient[channel] = product;
        if (norm.bias_gradient)
            norm.bias_gradient[channel] = sum;
    }
}

template <class T>
__global__ void norm_channels_gradient_kernel(const __grid_constant__ Norm<T> norm, const __grid_constant__ Lanes plan)
{
    using C = Computed<T>;
    const int64_t lines = norm.rows * norm.channels;
    const C count = static_cast<C>(norm.rows * norm.width);
    for (int64_t line = blockIdx.x * static_cast<int64_t>(plan.lines) + line_of(plan); line < lines;
         line += gridDim.x * static_cast<int64_t>(plan.lines)) {
        const int64_t channel = line % norm.channels;
        const C mean = norm.mean[channel], scale = norm.scale[channel];
        const C factor = norm.weight ? static_cast<C>(norm.weight[channel]) * scale : scale;
        const C mean_of = norm.sums[channel] / count;
        const C mean_product = norm.sums[norm.parts * norm.channels + channel] / count;
        for (int64_t i = lane_of(plan); i < norm.width; i += plan.lanes) {
            const int64_t at = line * norm.width + i;
            const C normal = (static_cast<C>(norm.x[at]) - mean) * scale;
            norm.out[at] = T((static_cast<C>(norm.gradient[at]) - mean_of - normal * mean_product) * factor);
        }
    }
}

template <class T> int norm_channels(const Norm<T> &norm)
{
    const Lanes plan = lay_lanes(norm.width, true);
    TD_LAUNCH(norm_channels_kernel<T>, blocks_for(norm.rows * norm.channels, plan.lines), BLOCK, norm, plan);
    return TD_OK;
}

/* Parts of 4096 elements at least, and no more blocks than fill a device. */
int64_t parts_of(int64_t count, int64_t channels)
{
    const int64_t by_size = ceil_div(count, 4096), by_blocks = ceil_div(1024, channels);
    const int64_t parts = by_size < by_blocks ? by_size : by_blocks;
    return parts < 64 ? parts : 64;
}

template <class T> int norm_channels_gradient(Norm<T> norm)
{
    Scratch sums;
    norm.parts = parts_of(norm.rows * norm.width, norm.channels);
    TD_TRY(sums.reserve(2 * norm.parts * norm.channels * static_cast<int64_t>(sizeof(Computed<T>))));
    norm.sums = reinterpret_cast<Computed<T> *>(sums.memory());
    const Lanes folding = lay_lanes(norm.rows * norm.width, norm.width >= 32);
    const dim3 blocks(blocks_for(norm.channels, folding.lines), static_cast<unsigned>(norm.parts));
    TD_LAUNCH(channel_sums_kernel<T>, blocks, BLOCK, norm, folding);
    TD_LAUNCH(merge_channels_kernel<T>, blocks_for(norm.channels), BLOCK, norm);
    const Lanes plan = lay_lanes(norm.width, true);
    if (norm.out)
        TD_LAUNCH(norm_channels_gradient_kernel<T>, blocks_for(norm.rows * norm.channels, plan.lines), BLOCK, norm, plan);
    return TD_OK;
}

} // namespace

} // namespace td

#define DEFINE_NORM(function) \
    int td_cuda_##function(const td_cuda_norm *norm) \
    { \
        switch (norm->dtype) { \
            TD_KERNEL_FLOATING(RUN_NORM, function) \
        default: return td::no_kernel(#function, 0, norm->dtype); \
        } \
    }
#define RUN_NORM(suffix, ctype, function) \
    case TD_##suffix: return td::function(td::Norm<ctype>(*norm));
DEFINE_NORM(norm_rows)
DEFINE_NORM(norm_rows_gradient)
DEFINE_NORM(norm_channels)
DEFINE_NORM(norm_channels_gradient)

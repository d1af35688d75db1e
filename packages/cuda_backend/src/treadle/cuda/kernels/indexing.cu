/* Gather, scatter and nonzero.
 *
 * Index arrays are first folded into one number for each selected place: its byte offset in the indexed array.
 * Copies know elements by their size only. scatter without accumulation is deterministic: of the places that name
 * the same element, the last in C order wins, found by an atomic maximum over place numbers. scatter with
 * accumulation adds integers with atomics, whose sums are exact in any order. Of floats and complex numbers the places
 * are sorted, and one thread adds what falls to an element, in C order and in double: the same bits in every run,
 * rounded once. */
#include "atomics.h"
#include "index_checks.h"
#include "reduction.h"
#include "tiles.h"
#include "layout.h"

#include <cstdio>

namespace td {

namespace {

/* A place that nothing is read from or written to: an index was out of bounds, or another place wins. Offsets count
 * from the first element of a view that may be reversed, so -1 could be one; this can not. */
constexpr int64_t NOWHERE = INT64_MIN;

struct Axis {
    int64_t length, factor, number;
    int64_t *wrong; /* the word of its check */
};

/* sums[place] += index[place] * factor; of the first axis, sums[place] is set. Negative indices count from the end. */
__global__ void fold_index_kernel(const __grid_constant__ Walk<1> index, Axis axis, int64_t *sums)
{
    for (int64_t i = first_index(); i < index.size; i += index_step()) {
        int64_t offset[1];
        locate(index, i, offset);
        int64_t place = *reinterpret_cast<const int64_t *>(index.data[0] + offset[0]);
        const int64_t before = axis.number == 0 ? 0 : sums[i];
        if (place < -axis.length || place >= axis.length)
            note_index(axis.wrong, place);
        if (place < -axis.length || place >= axis.length || before == NOWHERE) {
            sums[i] = NOWHERE;
            continue;
        }
        place += place < 0 ? axis.length : 0;
        sums[i] = before + place * axis.factor;
    }
}

/* What is said of an index beyond an axis; op stands before it in a graph, where another call tells. */
class BoundsText {
public:
    explicit BoundsText(const char *op) : op_(op) {}
    const char *of(const td_view &view, int axis)
    {
        snprintf(text_, sizeof text_, "%sindex {} is out of bounds for axis %d of length %lld", op_, axis,
                 static_cast<long long>(view.shape[axis]));
        return text_;
    }

private:
    const char *op_;
    char text_[128];
};

/* Folds the indices of a view's first axes. Outside of a capture an index out of bounds is an error at once; in one,
 * the next replay's. */
int fold_indices(const char *op, const td_view *view, const td_view *indices, int count, const int64_t *factors,
                 int64_t *sums)
{
    IndexChecks checks;
    BoundsText text(op);
    int failed;
    int64_t index;
    TD_TRY(checks.begin(count));
    for (int number = 0; number < count; number++) {
        Walk<1> walk = plan_in_order<1>({&indices[number]});
        Axis axis = {view->shape[number], factors[number], number, nullptr};
        TD_TRY(checks.next(text.of(*view, number), &axis.wrong));
        TD_LAUNCH(fold_index_kernel, blocks_for(walk.size), BLOCK, walk, axis, sums);
    }
    TD_TRY(checks.finish(&failed, &index));
    return failed < 0 ? TD_OK : wrong_index(BoundsText("").of(*view, failed), index, "");
}

/* The views of a selection, all of its full shape: the array's own axes behind the indexed ones (stride 0 along
 * places), a number for each place (stride 0 along those axes), and the selected values. */
struct Selection {
    td_view array, places;
};

Selection select(const td_view *array, const td_view *indices, int count, const td_view *values, int64_t *numbers)
{
    Selection selection = {*values, *values};
    const int leading = indices[0].ndim;
    int64_t stride = sizeof(int64_t);
    selection.array.data = array->data;
    selection.places.data = reinterpret_cast<char *>(numbers);
    for (int axis = values->ndim - 1; axis >= 0; axis--) {
        if (axis >= leading) {
            selection.array.strides[axis] = array->strides[axis - leading + count];
            selection.places.strides[axis] = 0;
            continue;
        }
        selection.array.strides[axis] = 0;
        selection.places.strides[axis] = stride;
        stride *= values->shape[axis];
    }
    return selection;
}

template <class Word> __global__ void gather_kernel(const __grid_constant__ Walk<3> walk)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[3];
        locate(walk, i, offset);
        int64_t place = *reinterpret_cast<const int64_t *>(walk.data[1] + offset[1]);
        *reinterpret_cast<Word *>(walk.data[2] + offset[2]) =
            place == NOWHERE ? Word{} : *reinterpret_cast<const Word *>(walk.data[0] + offset[0] + place);
    }
}

template <class Word> int gather(const Walk<3> &walk)
{
    TD_LAUNCH(gather_kernel<Word>, blocks_for(walk.size), BLOCK, walk);
    return TD_OK;
}

/* winners[element] becomes the number of the last place that names the element. */
__global__ void claim_kernel(const int64_t *elements, int64_t places, long long *winners)
{
    for (int64_t i = first_index(); i < places; i += index_step())
        if (elements[i] != NOWHERE)
            atomicMax(&winners[elements[i]], static_cast<long long>(i));
}

/* Takes the places that lost out of offsets. */
__global__ void yield_kernel(const int64_t *elements, int64_t places, const long long *winners, int64_t *offsets)
{
    for (int64_t i = first_index(); i < places; i += index_step())
        if (elements[i] != NOWHERE && winners[elements[i]] != i)
            offsets[i] = NOWHERE;
}

template <class Word> __global__ void scatter_kernel(const __grid_constant__ Walk<3> walk)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[3];
        locate(walk, i, offset);
        int64_t place = *reinterpret_cast<const int64_t *>(walk.data[1] + offset[1]);
        if (place != NOWHERE)
            *reinterpret_cast<Word *>(walk.data[0] + offset[0] + place) =
                *reinterpret_cast<const Word *>(walk.data[2] + offset[2]);
    }
}

template <class Word> int scatter(const Walk<3> &walk)
{
    TD_LAUNCH(scatter_kernel<Word>, blocks_for(walk.size), BLOCK, walk);
    return TD_OK;
}

template <class T, bool LOGICAL> __global__ void accumulate_kernel(const __grid_constant__ Walk<3> walk)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[3];
        locate(walk, i, offset);
        int64_t place = *reinterpret_cast<const int64_t *>(walk.data[1] + offset[1]);
        if (place != NOWHERE)
            atomic_add<T, LOGICAL>(reinterpret_cast<T *>(walk.data[0] + offset[0] + place),
                                   *reinterpret_cast<const T *>(walk.data[2] + offset[2]));
    }
}

template <class T, bool LOGICAL> int accumulate(const Walk<3> &walk)
{
    void (*kernel)(Walk<3>) = accumulate_kernel<T, LOGICAL>;
    TD_LAUNCH(kernel, blocks_for(walk.size), BLOCK, walk);
    return TD_OK;
}

/* Takes the losers among the places out of offsets. */
int keep_last(const td_view *out, const td_view *indices, int count, int64_t *offsets)
{
    const int64_t places = size_of(indices[0]);
    int64_t factors[TD_MAX_NDIM];
    int64_t elements = 1;
    for (int axis = count - 1; axis >= 0; axis--) {
        factors[axis] = elements;
        elements *= out->shape[axis];
    }
    Scratch numbers, winners;
    TD_TRY(numbers.reserve(places * static_cast<int64_t>(sizeof(int64_t))));
    TD_TRY(winners.reserve(elements * static_cast<int64_t>(sizeof(long long))));
    auto *number = reinterpret_cast<int64_t *>(numbers.memory());
    auto *winner = reinterpret_cast<long long *>(winners.memory());
    TD_TRY(fold_indices("scatter: ", out, indices, count, factors, number));
    TD_CHECK(cudaMemsetAsync(winner, 0xFF, static_cast<size_t>(elements) * sizeof(long long), stream()));
    TD_LAUNCH(claim_kernel, blocks_for(places), BLOCK, number, places, winner);
    TD_LAUNCH(yield_kernel, blocks_for(places), BLOCK, number, places, winner, offsets);
    return TD_OK;
}

int accumulate_values(const Walk<3> &walk, int dtype)
{
    switch (dtype) {
    case TD_bool: return accumulate<uint8_t, true>(walk);
    case TD_i8:
    case TD_u8: return accumulate<uint8_t, false>(walk);
    case TD_i16:
    case TD_u16: return accumulate<uint16_t, false>(walk);
    case TD_i32:
    case TD_u32: return accumulate<unsigned, false>(walk);
    case TD_i64:
    case TD_u64: return accumulate<unsigned long long, false>(walk);
    default: return no_kernel("scatter", 0, dtype);
    }
}

/* Sums of floating elements. */
struct Summing {
    Walk<2> row;     /* out, values: the axes behind the indexed ones */
    Walk<1> sources; /* values: the places, in C order */
    int64_t places;
    const int64_t *offsets, *order;
};

template <class T> TD_DEVICE double widened(T x) { return static_cast<double>(static_cast<Computed<T>>(x)); }
TD_DEVICE td_c128 widened(td_c64 x) { return td_widened(x); }
TD_DEVICE td_c128 widened(td_c128 x) { return x; }

template <class T> __global__ void sum_kernel(const __grid_constant__ Summing plan)
{
    for (int64_t i = first_index(); i < plan.places * plan.row.size; i += index_step()) {
        int64_t at = i / plan.row.size;
        const int64_t element = plan.offsets[plan.order[at]];
        if (element == NOWHERE || (at > 0 && plan.offsets[plan.order[at - 1]] == element))
            continue;
        int64_t offset[2], source[1];
        locate(plan.row, i % plan.row.size, offset);
        T *target = reinterpret_cast<T *>(plan.row.data[0] + offset[0] + element);
        auto sum = widened(*target);
        for (; at < plan.places && plan.offsets[plan.order[at]] == element; at++) {
            locate(plan.sources, plan.order[at], source);
            sum = plus(sum, widened(*reinterpret_cast<const T *>(plan.row.data[1] + offset[1] + source[0])));
        }
        *target = finished<T>(sum);
    }
}

template <class T> int sum_places(const Summing &plan)
{
    TD_LAUNCH(sum_kernel<T>, blocks_for(plan.places * plan.row.size), BLOCK, plan);
    return TD_OK;
}

td_view line_of_numbers(int64_t *numbers, int64_t count)
{
    td_view view = {};
    view.data = reinterpret_cast<char *>(numbers);
    view.dtype = TD_i64;
    view.ndim = 1;
    view.shape[0] = count;
    view.strides[0] = sizeof(int64_t);
    return view;
}

int accumulate_in_order(const td_view *out, int indexed, int leading, const td_view *values, int64_t *offsets)
{
    Summing plan = {};
    td_view row = *values, out_row = *values, sources = *values;
    sources.ndim = leading;
    row.ndim = out_row.ndim = values->ndim - leading;
    out_row.data = out->data;
    plan.places = size_of(sources);
    for (int axis = 0; axis < row.ndim; axis++) {
        row.shape[axis] = out_row.shape[axis] = values->shape[leading + axis];
        row.strides[axis] = values->strides[leading + axis];
        out_row.strides[axis] = out->strides[indexed + axis];
    }
    Scratch order;
    TD_TRY(order.reserve(plan.places * static_cast<int64_t>(sizeof(int64_t))));
    plan.offsets = offsets;
    plan.order = reinterpret_cast<int64_t *>(order.memory());
    const td_view keys = line_of_numbers(offsets, plan.places);
    const td_view sorted = line_of_numbers(reinterpret_cast<int64_t *>(order.memory()), plan.places);
    TD_TRY(td_cuda_sort(&keys, 0, 0, nullptr, &sorted));
    plan.row = td::plan<2>({&out_row, &row});
    plan.sources = plan_in_order<1>({&sources});
    switch (out->dtype) {
#define RUN(suffix, T, ...) \
    case TD_##suffix: return sum_places<T>(plan);
        TD_KERNEL_FLOATING(RUN, )
        TD_TYPES_COMPLEX(RUN, )
#undef RUN
    default: return no_kernel("scatter", 0, out->dtype);
    }
}

bool is_inexact(int dtype)
{
    return dtype == TD_f16 || dtype == TD_bf16 || dtype == TD_f32 || dtype == TD_f64 || dtype == TD_c64 ||
           dtype == TD_c128;
}

/* The numbers are of T, or of 64 bits without a sign. */
template <class T>
__global__ void check_range_kernel(const __grid_constant__ Walk<1> walk, uint64_t stop, int64_t ignored, bool ignores,
                                   int64_t *wrong)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[1];
        locate(walk, i, offset);
        const auto number = static_cast<int64_t>(*reinterpret_cast<const T *>(walk.data[0] + offset[0]));
        if (static_cast<uint64_t>(number) >= stop && !(ignores && number == ignored)) /* below 0 it is a large one */
            note_index(wrong, number);
    }
}

template <class T> int check_range(const td_view *numbers, int64_t stop, const int64_t *ignored, int64_t *wrong)
{
    const Walk<1> walk = plan<1>({numbers});
    TD_LAUNCH(check_range_kernel<T>, blocks_for(walk.size), BLOCK, walk, static_cast<uint64_t>(stop),
              ignored ? *ignored : 0, ignored != nullptr, wrong);
    return TD_OK;
}

int check_range(const td_view *numbers, int64_t stop, const int64_t *ignored, int64_t *wrong)
{
    switch (numbers->dtype) {
#define RUN(suffix, T, ...) \
    case TD_##suffix: return check_range<T>(numbers, stop, ignored, wrong);
        TD_TYPES_INTEGER(RUN, )
#undef RUN
    case TD_bool: return check_range<uint8_t>(numbers, stop, ignored, wrong);
    default: return no_kernel("range check", 0, numbers->dtype);
    }
}

} // namespace

} // namespace td

int td_cuda_gather(const td_view *x, const td_view *indices, int count, const td_view *out)
{
    const int64_t places = td::size_of(indices[0]);
    if (places == 0)
        return TD_OK;
    td::Scratch scratch;
    TD_TRY(scratch.reserve(places * static_cast<int64_t>(sizeof(int64_t))));
    auto *offsets = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY(td::fold_indices("gather: ", x, indices, count, x->strides, offsets));
    if (td::size_of(*out) == 0)
        return TD_OK;
    td::Selection selection = td::select(x, indices, count, out, offsets);
    td::Walk<3> walk = td::plan<3>({&selection.array, &selection.places, out});
    switch (td::item_size(x->dtype)) {
    case 1: return td::gather<uint8_t>(walk);
    case 2: return td::gather<uint16_t>(walk);
    case 4: return td::gather<uint32_t>(walk);
    case 8: return td::gather<uint64_t>(walk);
    default: return td::gather<td::Word16>(walk);
    }
}

int td_cuda_scatter(const td_view *out, const td_view *indices, int count, const td_view *values, int accumulate)
{
    const int64_t places = td::size_of(indices[0]);
    if (places == 0)
        return TD_OK;
    td::Scratch scratch;
    TD_TRY(scratch.reserve(places * static_cast<int64_t>(sizeof(int64_t))));
    auto *offsets = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY(td::fold_indices("scatter: ", out, indices, count, out->strides, offsets));
    if (td::size_of(*values) == 0)
        return TD_OK;
    if (accumulate && td::is_inexact(out->dtype))
        return td::accumulate_in_order(out, count, indices[0].ndim, values, offsets);
    td::Selection selection = td::select(out, indices, count, values, offsets);
    td::Walk<3> walk = td::plan<3>({&selection.array, &selection.places, values});
    if (accumulate)
        return td::accumulate_values(walk, out->dtype);
    TD_TRY(td::keep_last(out, indices, count, offsets));
    switch (td::item_size(out->dtype)) {
    case 1: return td::scatter<uint8_t>(walk);
    case 2: return td::scatter<uint16_t>(walk);
    case 4: return td::scatter<uint32_t>(walk);
    case 8: return td::scatter<uint64_t>(walk);
    default: return td::scatter<td::Word16>(walk);
    }
}

int td_cuda_check_range(const td_view *numbers, int64_t stop, const int64_t *ignored, const char *text, int *wrong,
                        int64_t *number)
{
    *wrong = 0;
    if (td::size_of(*numbers) == 0)
        return TD_OK;
    return td::launch_checked(text, wrong, number,
                              [&](int64_t *word) { return td::check_range(numbers, stop, ignored, word); });
}

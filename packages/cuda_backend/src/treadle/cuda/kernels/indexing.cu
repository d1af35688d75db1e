/* Gather, scatter and nonzero.
 *
 * Index arrays are first folded into one number for each selected place: its byte offset in the indexed array.
 * Copies know elements by their size only. scatter without accumulation is deterministic: of the places that name
 * the same element, the last in C order wins, found by an atomic maximum over place numbers. scatter with
 * accumulation adds with atomics: every repetition counts, and the sums of integers are exact, but the order in
 * which floats are added is not fixed on a GPU, so their last bits may differ from run to run where an index
 * repeats. */
#include "atomics.h"
#include "elements.h"
#include "layout.h"

namespace td {

namespace {

/* sums[place] += index[place] * factor; with fresh, sums[place] is set. */
__global__ void fold_index_kernel(const __grid_constant__ Walk<1> index, int64_t factor, bool fresh, int64_t *sums)
{
    for (int64_t i = first_index(); i < index.size; i += index_step()) {
        int64_t offset[1];
        locate(index, i, offset);
        int64_t term = *reinterpret_cast<const int64_t *>(index.data[0] + offset[0]) * factor;
        sums[i] = fresh ? term : sums[i] + term;
    }
}

int fold_indices(const td_view *indices, int count, const int64_t *factors, int64_t *sums)
{
    for (int axis = 0; axis < count; axis++) {
        Walk<1> walk = plan_in_order<1>({&indices[axis]});
        TD_LAUNCH(fold_index_kernel, blocks_for(walk.size), BLOCK, walk, factors[axis], axis == 0, sums);
    }
    return TD_OK;
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
            *reinterpret_cast<const Word *>(walk.data[0] + offset[0] + place);
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
        atomicMax(&winners[elements[i]], static_cast<long long>(i));
}

/* Marks the places that lost. Offsets count from the first element of a view that may be reversed, so -1 could be one;
 * the mark can not. */
__global__ void yield_kernel(const int64_t *elements, int64_t places, const long long *winners, int64_t *offsets)
{
    for (int64_t i = first_index(); i < places; i += index_step())
        if (winners[elements[i]] != i)
            offsets[i] = INT64_MIN;
}

template <class Word> __global__ void scatter_kernel(const __grid_constant__ Walk<3> walk)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[3];
        locate(walk, i, offset);
        int64_t place = *reinterpret_cast<const int64_t *>(walk.data[1] + offset[1]);
        if (place != INT64_MIN)
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
    TD_TRY(fold_indices(indices, count, factors, number));
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
    case TD_f32: return accumulate<float, false>(walk);
    case TD_f64: return accumulate<double, false>(walk);
    default: return no_kernel("scatter", 0, dtype);
    }
}

} // namespace

} // namespace td

int td_cuda_gather(const td_view *x, const td_view *indices, int count, const td_view *out)
{
    const int64_t places = td::size_of(indices[0]);
    if (td::size_of(*out) == 0)
        return TD_OK;
    td::Scratch scratch;
    TD_TRY(scratch.reserve(places * static_cast<int64_t>(sizeof(int64_t))));
    auto *offsets = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY(td::fold_indices(indices, count, x->strides, offsets));
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
    if (td::size_of(*values) == 0)
        return TD_OK;
    td::Scratch scratch;
    TD_TRY(scratch.reserve(places * static_cast<int64_t>(sizeof(int64_t))));
    auto *offsets = reinterpret_cast<int64_t *>(scratch.memory());
    TD_TRY(td::fold_indices(indices, count, out->strides, offsets));
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

/* Sorting along one axis, always stable.
 *
 * An element becomes an item: its bits, mapped to an unsigned key of the same order, and its place, which decides
 * between equal keys, so that no two items are equal and every correct way of sorting gives the same order. NaN has the
 * last key in both directions. A block sorts tiles of TILE items in shared memory by a bitonic network (K. Batcher,
 * "Sorting networks and their applications", 1968), several short lines at once; tiles of a longer line are merged pair
 * by pair, every item finding its rank among those of the other tile by bisection. */
#include "elements.h"
#include "layout.h"

namespace td {

namespace {

constexpr int TILE = 1024;

struct Sorting {
    Walk<3> lines; /* x, values, places */
    int64_t stride, value_stride, place_stride, length;
    bool descending, wants_values, wants_places;
};

/* Keys of up to 32 bits share a word with the place. */
struct Narrow {
    using Item = uint64_t;
    static TD_DEVICE Item make(uint64_t key, int64_t place) { return key << 32 | static_cast<uint64_t>(place); }
    static TD_DEVICE Item last() { return ~uint64_t{0}; }
    static TD_DEVICE bool before(Item x, Item y) { return x < y; }
    static TD_DEVICE int64_t place(Item item) { return static_cast<int64_t>(item & 0xFFFFFFFFu); }
};

struct Wide {
    struct Item {
        uint64_t key, place;
    };
    static TD_DEVICE Item make(uint64_t key, int64_t place) { return {key, static_cast<uint64_t>(place)}; }
    static TD_DEVICE Item last() { return {~uint64_t{0}, ~uint64_t{0}}; }
    static TD_DEVICE bool before(Item x, Item y) { return x.key != y.key ? x.key < y.key : x.place < y.place; }
    static TD_DEVICE int64_t place(Item item) { return static_cast<int64_t>(item.place); }
};

template <class Word> TD_DEVICE uint64_t key_of_bits(Word bits, bool descending)
{
    return static_cast<Word>(descending ? ~bits : bits);
}

/* Negative numbers in reverse, then the positive ones. */
template <class Word> TD_DEVICE uint64_t key_of_float(Word bits, bool nan, bool descending)
{
    constexpr Word SIGN = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
    bits = bits == SIGN ? 0 : bits; /* -0 is 0 */
    const Word key = bits & SIGN ? static_cast<Word>(~bits) : static_cast<Word>(bits | SIGN);
    return nan ? static_cast<Word>(~Word{0}) : key_of_bits(key, descending);
}

template <class T> TD_DEVICE uint64_t key_of(T x, bool descending)
{
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    if constexpr (IS_HALF<T>)
        return key_of(static_cast<float>(x), descending);
    else if constexpr (std::is_same_v<T, float>)
        return key_of_float(static_cast<Word>(td_f32_to_bits(x)), x != x, descending);
    else if constexpr (std::is_same_v<T, double>)
        return key_of_float(static_cast<Word>(td_f64_to_bits(x)), x != x, descending);
    else if constexpr (std::is_signed_v<T>)
        return key_of_bits(static_cast<Word>(static_cast<Word>(x) ^ Word{1} << (8 * sizeof(Word) - 1)), descending);
    else
        return key_of_bits(static_cast<Word>(x), descending);
}

template <class Kind> TD_DEVICE void exchange(typename Kind::Item *tile, int low, int high, bool ascending)
{
    const typename Kind::Item x = tile[low], y = tile[high];
    if (Kind::before(y, x) == ascending) {
        tile[low] = y;
        tile[high] = x;
    }
}

/* Sorts every span of the tile; span is a power of 2. */
template <class Kind> TD_DEVICE void sort_tile(typename Kind::Item *tile, int span)
{
    for (int run = 2; run <= span; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int pair = static_cast<int>(threadIdx.x); pair < TILE / 2; pair += BLOCK) {
                const int low = pair / distance * 2 * distance + pair % distance;
                exchange<Kind>(tile, low, low + distance, (low % span & run) == 0);
            }
        }
    }
    __syncthreads();
}

/* Items of sorted spans: spans of them make a line. */
template <class T, class Kind>
__global__ void sort_kernel(const __grid_constant__ Sorting plan, int span, int64_t spans, typename Kind::Item *items)
{
    TD_SHARED(typename Kind::Item, tile, [TILE]);
    const int64_t count = spans * plan.lines.size;
    for (int64_t base = static_cast<int64_t>(blockIdx.x) * (TILE / span); base < count;
         base += static_cast<int64_t>(gridDim.x) * (TILE / span)) {
        for (int slot = static_cast<int>(threadIdx.x); slot < TILE; slot += BLOCK) {
            const int64_t number = base + slot / span, i = number % spans * span + slot % span;
            tile[slot] = Kind::last();
            if (number >= count || i >= plan.length)
                continue;
            int64_t offset[3];
            locate(plan.lines, number / spans, offset);
            const char *at = plan.lines.data[0] + offset[0] + i * plan.stride;
            tile[slot] = Kind::make(key_of(*reinterpret_cast<const T *>(at), plan.descending), i);
        }
        sort_tile<Kind>(tile, span);
        for (int slot = static_cast<int>(threadIdx.x); slot < TILE; slot += BLOCK) {
            const int64_t number = base + slot / span, i = number % spans * span + slot % span;
            if (number < count && i < plan.length)
                items[number / spans * plan.length + i] = tile[slot];
        }
        __syncthreads();
    }
}

/* Merges runs of width items two by two. */
template <class Kind>
__global__ void merge_kernel(int64_t size, int64_t length, int64_t width, const typename Kind::Item *from,
                             typename Kind::Item *to)
{
    for (int64_t at = first_index(); at < size; at += index_step()) {
        const int64_t line = at / length * length, i = at - line;
        const int64_t run = i / width, begin = run * width, pair = run / 2 * 2 * width;
        const typename Kind::Item item = from[at];
        const int64_t other = run % 2 ? pair : pair + width;
        int64_t low = other < length ? other : length;
        int64_t high = other + width < length ? other + width : length;
        const int64_t first = low;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (Kind::before(from[line + middle], item))
                low = middle + 1;
            else
                high = middle;
        }
        to[line + pair + (i - begin) + (low - first)] = item;
    }
}

template <class T, class Kind>
__global__ void write_kernel(const __grid_constant__ Sorting plan, const typename Kind::Item *items)
{
    for (int64_t at = first_index(); at < plan.lines.size * plan.length; at += index_step()) {
        const int64_t line = at / plan.length, i = at % plan.length, place = Kind::place(items[at]);
        int64_t offset[3];
        locate(plan.lines, line, offset);
        if (plan.wants_values)
            *reinterpret_cast<T *>(plan.lines.data[1] + offset[1] + i * plan.value_stride) =
                *reinterpret_cast<const T *>(plan.lines.data[0] + offset[0] + place * plan.stride);
        if (plan.wants_places)
            *reinterpret_cast<int64_t *>(plan.lines.data[2] + offset[2] + i * plan.place_stride) = place;
    }
}

template <class T, class Kind> int sort_as(const Sorting &plan)
{
    using Item = typename Kind::Item;
    const int64_t size = plan.lines.size * plan.length;
    int span = 1;
    while (span < TILE && span < plan.length)
        span *= 2;
    Scratch first, second;
    TD_TRY(first.reserve(size * static_cast<int64_t>(sizeof(Item))));
    auto *items = reinterpret_cast<Item *>(first.memory());
    void (*sorting)(Sorting, int, int64_t, Item *) = sort_kernel<T, Kind>;
    const int64_t spans = ceil_div(plan.length, span), tiles = ceil_div(spans * plan.lines.size, TILE / span);
    TD_LAUNCH(sorting, blocks_for(tiles, 1), BLOCK, plan, span, spans, items);
    if (plan.length > TILE)
        TD_TRY(second.reserve(size * static_cast<int64_t>(sizeof(Item))));
    auto *others = reinterpret_cast<Item *>(second.memory());
    for (int64_t width = TILE; width < plan.length; width *= 2) {
        const Item *from = items;
        TD_LAUNCH(merge_kernel<Kind>, blocks_for(size), BLOCK, size, plan.length, width, from, others);
        std::swap(items, others);
    }
    void (*writing)(Sorting, const Item *) = write_kernel<T, Kind>;
    const Item *sorted = items;
    TD_LAUNCH(writing, blocks_for(size), BLOCK, plan, sorted);
    return TD_OK;
}

template <class T> int sort(const Sorting &plan)
{
    if constexpr (sizeof(T) <= 4)
        if (plan.length < int64_t{1} << 32)
            return sort_as<T, Narrow>(plan);
    return sort_as<T, Wide>(plan);
}

} // namespace

} // namespace td

int td_cuda_sort(const td_view *x, int axis, int descending, const td_view *values, const td_view *places)
{
    td_view lines[3] = {*x, values ? *values : *x, places ? *places : *x};
    td::Sorting plan = {};
    plan.stride = lines[0].strides[axis];
    plan.value_stride = lines[1].strides[axis];
    plan.place_stride = lines[2].strides[axis];
    plan.length = x->shape[axis];
    plan.descending = descending != 0;
    plan.wants_values = values != nullptr;
    plan.wants_places = places != nullptr;
    for (td_view &each : lines)
        each.shape[axis] = 1;
    plan.lines = td::plan<3>({&lines[0], &lines[1], &lines[2]});
    if (plan.lines.size == 0 || plan.length == 0)
        return TD_OK;
    switch (x->dtype) {
#define RUN(suffix, T, ...) \
    case TD_##suffix: return td::sort<T>(plan);
        TD_KERNEL_REAL(RUN, )
#undef RUN
    default: return td::no_kernel("sort", 0, x->dtype);
    }
}

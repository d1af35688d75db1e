/* Copies with and without conversion, fill, arange. */
#include "elements.h"
#include "map.h"

#include "treadle/conversion.h"

namespace td {

namespace {

template <class To, class From> TD_DEVICE To whole(From x)
{
#define RUN(suffix, T, ...) \
    if constexpr (std::is_same_v<To, T>) \
        return TD_REAL_TO_##suffix(From, x);
    TD_TYPES_INTEGER(RUN, )
#undef RUN
}

/* Integers wrap, anything is converted to bool by being non-zero, floats to integers as treadle/conversion.h says. */
template <class To, bool TO_BOOL, class From> TD_DEVICE To convert(From x)
{
    if constexpr (IS_COMPLEX<From> && TO_BOOL)
        return static_cast<To>(x.re != 0 || x.im != 0);
    else if constexpr (IS_COMPLEX<From>) /* to no others but complex numbers */
        return {static_cast<decltype(To::re)>(x.re), static_cast<decltype(To::re)>(x.im)};
    else if constexpr (IS_HALF<From>)
        return convert<To, TO_BOOL>(static_cast<float>(x));
    else if constexpr (IS_COMPLEX<To>)
        return {static_cast<decltype(To::re)>(x), 0};
    else if constexpr (IS_HALF<To> && std::is_integral_v<From>)
        return To(static_cast<double>(x));
    else if constexpr (TO_BOOL)
        return static_cast<To>(x != 0);
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
        return whole<To>(x);
    else
        return static_cast<To>(x);
}

template <class From, class To, bool TO_BOOL> struct Cast {
    static constexpr int VIEWS = 2;
    using Result = To;
    struct Inputs {
        From x;
    };
    static TD_DEVICE Inputs load(const Walk<2> &walk, const int64_t (&offset)[2])
    {
        return {read<From>(walk, 0, offset)};
    }
    static TD_DEVICE To value(const Inputs &inputs) { return convert<To, TO_BOOL>(inputs.x); }
};

/* Integers become integers of one width by the same bits, signed or not. */
template <class From, class To, bool INTEGERS = std::is_integral_v<From> && std::is_integral_v<To>>
struct Target { using type = To; };
template <class From, class To> struct Target<From, To, true> { using type = std::make_unsigned_t<To>; };

template <class From> int cast(const Walk<2> &walk, int to)
{
    switch (to) {
#define RUN(suffix, To, ...) \
    case TD_##suffix: return map<Cast<From, To, TD_##suffix == TD_bool>>(walk);
        TD_TYPES_COMPLEX(RUN, )
        TD_TYPES_BOOL(RUN, )
#undef RUN
    default: break;
    }
    if constexpr (!IS_COMPLEX<From>) {
        switch (to) {
#define RUN(suffix, To, ...) \
    case TD_##suffix: return map<Cast<From, typename Target<From, To>::type, false>>(walk);
            TD_TYPES_NUMERIC(RUN, )
            TD_KERNEL_HALVES(RUN, )
#undef RUN
        default: break;
        }
    }
    return no_kernel("conversion", to, to);
}

/* Copies without conversion know elements by their size only. */
template <class Word> struct Move : Cast<Word, Word, false> {
    static TD_DEVICE Word value(const typename Cast<Word, Word, false>::Inputs &inputs) { return inputs.x; }
};

template <class Word> __global__ void fill_kernel(const __grid_constant__ Walk<1> walk, Word value)
{
    for (int64_t i = first_index(); i < walk.size; i += index_step()) {
        int64_t offset[1];
        locate(walk, i, offset);
        *reinterpret_cast<Word *>(walk.data[0] + offset[0]) = value;
    }
}

template <class T> int fill(const td_view *out, T value)
{
    Walk<1> walk = plan<1>({out});
    if (walk.size == 0)
        return TD_OK;
    TD_LAUNCH(fill_kernel<T>, blocks_for(walk.size, BLOCK * ITEMS), BLOCK, walk, value);
    return TD_OK;
}

template <class T> __global__ void arange_kernel(char *out, int64_t stride, int64_t size, double start, double step)
{
    /* Two roundings, as on the host: a fused multiply-add would give other last bits. */
    for (int64_t i = first_index(); i < size; i += index_step())
        *reinterpret_cast<T *>(out + i * stride) =
            convert<T, false>(__dadd_rn(start, __dmul_rn(static_cast<double>(i), step)));
}

template <class T> __global__ void arange_kernel(char *out, int64_t stride, int64_t size, uint64_t start, uint64_t step)
{
    for (int64_t i = first_index(); i < size; i += index_step())
        *reinterpret_cast<T *>(out + i * stride) = static_cast<T>(start + static_cast<uint64_t>(i) * step);
}

template <class T, class Number> int arange(const td_view *out, Number start, Number step)
{
    int64_t size = out->shape[0];
    if (size == 0)
        return TD_OK;
    void (*kernel)(char *, int64_t, int64_t, Number, Number) = arange_kernel<T>;
    TD_LAUNCH(kernel, blocks_for(size), BLOCK, out->data, out->strides[0], size, start, step);
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_copy(const td_view *x, const td_view *out)
{
    td::Walk<2> walk = td::plan<2>({x, out});
    if (x->dtype != out->dtype) {
        switch (x->dtype) {
#define RUN(suffix, From, ...) \
    case TD_##suffix: return td::cast<From>(walk, out->dtype);
            TD_KERNEL_TYPES(RUN, )
#undef RUN
        default: return td::no_kernel("conversion", x->dtype, out->dtype);
        }
    }
    switch (td::item_size(x->dtype)) {
    case 1: return td::map<td::Move<uint8_t>>(walk);
    case 2: return td::map<td::Move<uint16_t>>(walk);
    case 4: return td::map<td::Move<uint32_t>>(walk);
    case 8: return td::map<td::Move<uint64_t>>(walk);
    default: return td::map<td::Move<td::Word16>>(walk);
    }
}

int td_cuda_fill(const td_view *out, double real, double imaginary, int64_t whole)
{
    switch (out->dtype) {
#define RUN_WHOLE(suffix, T, ...) \
    case TD_##suffix: return td::fill<T>(out, static_cast<T>(whole));
#define RUN_REAL(suffix, T, ...) \
    case TD_##suffix: return td::fill<T>(out, static_cast<T>(real));
#define RUN_COMPLEX(suffix, T, ...) \
    case TD_##suffix: \
        return td::fill<T>(out, {static_cast<decltype(T::re)>(real), static_cast<decltype(T::re)>(imaginary)});
        TD_TYPES_BOOL(RUN_WHOLE, )
        TD_TYPES_INTEGER(RUN_WHOLE, )
        TD_KERNEL_FLOATING(RUN_REAL, )
        TD_TYPES_COMPLEX(RUN_COMPLEX, )
#undef RUN_WHOLE
#undef RUN_REAL
#undef RUN_COMPLEX
    default: return td::no_kernel("fill", 0, out->dtype);
    }
}

int td_cuda_arange(const td_view *out, double start, double step, int64_t whole_start, int64_t whole_step)
{
    switch (out->dtype) {
#define RUN_WHOLE(suffix, T, ...) \
    case TD_##suffix: \
        return td::arange<T>(out, static_cast<uint64_t>(whole_start), static_cast<uint64_t>(whole_step));
#define RUN_REAL(suffix, T, ...) \
    case TD_##suffix: return td::arange<T>(out, start, step);
        TD_TYPES_BOOL(RUN_WHOLE, )
        TD_TYPES_INTEGER(RUN_WHOLE, )
        TD_KERNEL_FLOATING(RUN_REAL, )
        TD_TYPES_COMPLEX(RUN_REAL, )
#undef RUN_WHOLE
#undef RUN_REAL
    default: return td::no_kernel("arange", 0, out->dtype);
    }
}

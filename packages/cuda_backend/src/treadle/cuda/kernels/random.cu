/* Random numbers: the draws of treadle/random.h, with the bits that it promises. A thread makes one block of the
 * generator and writes the two or four elements that it serves. */
#include "treadle/random.h"

#include "layout.h"
#include "replays.h"

namespace td {

namespace {

struct Draw {
    td_cuda_draw draw;
    int64_t size;
    char *out;
    const Variables *variables; /* in a graph */
};

TD_DEVICE void draw_block(const Draw &plan, int64_t block, uint32_t (&words)[4])
{
    uint64_t key = plan.draw.key, counter = plan.draw.counter + static_cast<uint64_t>(block);
    if (plan.variables) {
        key = plan.variables->key;
        counter += plan.variables->counter;
    }
    td_philox(key, counter, words);
}

/* low + unit * (high - low) with a rounding after each step, as on the host. */
TD_DEVICE float spread(float unit, float low, float high) { return __fadd_rn(low, __fmul_rn(unit, high - low)); }

TD_DEVICE double spread(double unit, double low, double high) { return __dadd_rn(low, __dmul_rn(unit, high - low)); }

/* What serves one word to an element. */
struct Bits32 {
    using Result = uint32_t;
    static TD_DEVICE Result value(const td_cuda_draw &, uint32_t word) { return word; }
};

struct Uniform32 {
    using Result = float;
    static TD_DEVICE Result value(const td_cuda_draw &draw, uint32_t word)
    {
        return spread(td_uniform_f32(word), static_cast<float>(draw.first), static_cast<float>(draw.second));
    }
};

struct Bernoulli {
    using Result = td_bool;
    static TD_DEVICE Result value(const td_cuda_draw &draw, uint32_t word) { return word < draw.span; }
};

template <class Kind> __global__ void draw_words_kernel(const __grid_constant__ Draw plan)
{
    for (int64_t block = first_index(); block * 4 < plan.size; block += index_step()) {
        uint32_t words[4];
        draw_block(plan, block, words);
        for (int element = 0; element < 4 && block * 4 + element < plan.size; element++)
            reinterpret_cast<typename Kind::Result *>(plan.out)[block * 4 + element] =
                Kind::value(plan.draw, words[element]);
    }
}

/* What serves a pair of elements from four words. */
struct Bits64 {
    using Result = uint64_t;
    static TD_DEVICE void pair(const td_cuda_draw &, const uint32_t (&words)[4], Result (&values)[2])
    {
        values[0] = td_join(words[0], words[1]);
        values[1] = td_join(words[2], words[3]);
    }
};

struct Uniform64 {
    using Result = double;
    static TD_DEVICE void pair(const td_cuda_draw &draw, const uint32_t (&words)[4], Result (&values)[2])
    {
        for (int i = 0; i < 2; i++)
            values[i] = spread(td_uniform_f64(td_join(words[2 * i], words[2 * i + 1])), draw.first, draw.second);
    }
};

struct Integers {
    using Result = int64_t;
    static TD_DEVICE void pair(const td_cuda_draw &draw, const uint32_t (&words)[4], Result (&values)[2])
    {
        for (int i = 0; i < 2; i++)
            values[i] = static_cast<int64_t>(static_cast<uint64_t>(draw.low) +
                                             td_bounded(td_join(words[2 * i], words[2 * i + 1]), draw.span));
    }
};

template <class T> struct Normal {
    using Result = T;
    static TD_DEVICE void pair(const td_cuda_draw &draw, const uint32_t (&words)[4], Result (&values)[2])
    {
        double normals[2];
        td_normal_pair(words, normals);
        for (int i = 0; i < 2; i++)
            values[i] = static_cast<T>(__dadd_rn(draw.first, __dmul_rn(draw.second, normals[i])));
    }
};

template <class Kind> __global__ void draw_pairs_kernel(const __grid_constant__ Draw plan)
{
    for (int64_t block = first_index(); block * 2 < plan.size; block += index_step()) {
        uint32_t words[4];
        typename Kind::Result values[2];
        draw_block(plan, block, words);
        Kind::pair(plan.draw, words, values);
        auto *out = reinterpret_cast<typename Kind::Result *>(plan.out) + block * 2;
        out[0] = values[0];
        if (block * 2 + 1 < plan.size)
            out[1] = values[1];
    }
}

template <class Kind> int draw_words(const Draw &plan)
{
    TD_LAUNCH(draw_words_kernel<Kind>, blocks_for(ceil_div(plan.size, 4)), BLOCK, plan);
    return TD_OK;
}

template <class Kind> int draw_pairs(const Draw &plan)
{
    TD_LAUNCH(draw_pairs_kernel<Kind>, blocks_for(ceil_div(plan.size, 2)), BLOCK, plan);
    return TD_OK;
}

} // namespace

} // namespace td

int td_cuda_random(const td_cuda_draw *draw, const td_view *out)
{
    td::Draw plan = {*draw, td::size_of(*out), out->data, nullptr};
    if (plan.size == 0)
        return TD_OK;
    TD_TRY(td::captured_random(&plan.variables));
    switch (draw->kind * TD_DTYPE_COUNT + out->dtype) {
    case TD_DRAW_bits * TD_DTYPE_COUNT + TD_u32: return td::draw_words<td::Bits32>(plan);
    case TD_DRAW_bits * TD_DTYPE_COUNT + TD_u64: return td::draw_pairs<td::Bits64>(plan);
    case TD_DRAW_uniform * TD_DTYPE_COUNT + TD_f32: return td::draw_words<td::Uniform32>(plan);
    case TD_DRAW_uniform * TD_DTYPE_COUNT + TD_f64: return td::draw_pairs<td::Uniform64>(plan);
    case TD_DRAW_normal * TD_DTYPE_COUNT + TD_f32: return td::draw_pairs<td::Normal<float>>(plan);
    case TD_DRAW_normal * TD_DTYPE_COUNT + TD_f64: return td::draw_pairs<td::Normal<double>>(plan);
    case TD_DRAW_integers * TD_DTYPE_COUNT + TD_i64: return td::draw_pairs<td::Integers>(plan);
    case TD_DRAW_bernoulli * TD_DTYPE_COUNT + TD_bool: return td::draw_words<td::Bernoulli>(plan);
    default: return td::no_kernel("random", draw->kind, out->dtype);
    }
}

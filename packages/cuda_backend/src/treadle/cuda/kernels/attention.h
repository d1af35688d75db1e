/* What attention and its gradient share: operands, tiles in shared memory, their products, the mask.
 *
 * Tiles lie in shared memory as rows of the computed type, four elements together, padded so that the 16 rows which the
 * lanes of half a warp read at once start in different banks. A block is 16 threads along columns by ROW_THREADS along
 * rows; a thread has rows that lie together and columns that lie 16 apart. Halves are widened as they are loaded. */
#ifndef TREADLE_CUDA_ATTENTION_H
#define TREADLE_CUDA_ATTENTION_H

#include "elements.h"
#include "lanes.h"
#include "layers_api.h"
#include "treadle/scalar_math.h"

namespace td {

enum { QUERY, KEY, VALUE, MASK, TOTAL, OUT, GRADIENT, BY_QUERY, BY_KEY, BY_VALUE, VIEWS };
constexpr unsigned ALL_LANES = 0xFFFFFFFFu;
constexpr int COLUMN_THREADS = 16, ROW_THREADS = 8, THREADS = COLUMN_THREADS * ROW_THREADS;

struct Attention {
    Walk<VIEWS> batch;
    int64_t row[VIEWS], column[VIEWS]; /* strides of the last two axes */
    int64_t queries, keys, past;
    const char *slopes; /* of backward: for each query the sum of gradient * out, dense, of the computed type */
    double scale;
    int32_t features, width, dtype, mask_dtype, causal;
};

/* attention_mma.cu, attention_mma_gradient.cu: the same of halves by the matrix instruction. */
int attend_by_instruction(const Attention &plan);
int differentiate_by_instruction(const Attention &plan);

namespace {

template <class C> struct alignas(16) Four {
    C at[4];
};
template <class C, int ROWS, int LENGTH> using Tile = Four<C>[ROWS][LENGTH / 4 + 1];

TD_DEVICE int column_thread() { return static_cast<int>(threadIdx.x) % COLUMN_THREADS; }
TD_DEVICE int row_thread() { return static_cast<int>(threadIdx.x) / COLUMN_THREADS; }

/* --- elements and tiles ------------------------------------------------------------------------------------------- */
template <class C> TD_DEVICE C read_as(int dtype, const char *from)
{
    if constexpr (std::is_same_v<C, float>) {
        if (dtype == TD_f16)
            return *reinterpret_cast<const Float16 *>(from);
        if (dtype == TD_bf16)
            return *reinterpret_cast<const BFloat16 *>(from);
    }
    return *reinterpret_cast<const C *>(from);
}

template <class C> TD_DEVICE void write_as(int dtype, char *to, C value)
{
    if constexpr (std::is_same_v<C, float>) {
        if (dtype == TD_f16) {
            *reinterpret_cast<Float16 *>(to) = Float16(value);
            return;
        }
        if (dtype == TD_bf16) {
            *reinterpret_cast<BFloat16 *>(to) = BFloat16(value);
            return;
        }
    }
    *reinterpret_cast<C *>(to) = value;
}

/* The rows from `first` on of a matrix of `rows` rows and `columns` columns, times a factor; zeros beyond them. */
template <class C, int ROWS, int LENGTH>
TD_DEVICE void load_rows(Tile<C, ROWS, LENGTH> &tile, const Attention &plan, int view, int64_t offset, int64_t first,
                         int64_t rows, int columns, C factor)
{
    const char *from = plan.batch.data[view] + offset + first * plan.row[view];
    for (int at = static_cast<int>(threadIdx.x); at < ROWS * LENGTH; at += THREADS) {
        const int row = at / LENGTH, column = at % LENGTH;
        C value = 0;
        if (first + row < rows && column < columns)
            value = read_as<C>(plan.dtype, from + row * plan.row[view] + column * plan.column[view]) * factor;
        tile[row][column / 4].at[column % 4] = value;
    }
}

/* sums = x y^T for the thread's rows of x and of y. */
template <class C, int ROWS, int COLUMNS, int LENGTH, int M, int N>
TD_DEVICE void multiply_rows(const Tile<C, ROWS, LENGTH> &x, const Tile<C, COLUMNS, LENGTH> &y, C (&sums)[M][N])
{
    TD_UNROLL
    for (int m = 0; m < M; m++)
        TD_UNROLL
        for (int n = 0; n < N; n++)
            sums[m][n] = C(0);
#ifndef TREADLE_EMULATION
#pragma unroll 2
#endif
    for (int step = 0; step < LENGTH / 4; step++) {
        Four<C> left[M], right[N];
        TD_UNROLL
        for (int m = 0; m < M; m++)
            left[m] = x[row_thread() * M + m][step];
        TD_UNROLL
        for (int n = 0; n < N; n++)
            right[n] = y[column_thread() + n * COLUMN_THREADS][step];
        TD_UNROLL
        for (int part = 0; part < 4; part++)
            TD_UNROLL
            for (int m = 0; m < M; m++)
                TD_UNROLL
                for (int n = 0; n < N; n++)
                    sums[m][n] += left[m].at[part] * right[n].at[part];
    }
}

/* Which column of LENGTH the thread's number n is: up to four lie together. */
template <int LENGTH> TD_DEVICE int column_of(int n)
{
    constexpr int TOGETHER = LENGTH >= 64 ? 4 : LENGTH / COLUMN_THREADS;
    return n / TOGETHER * COLUMN_THREADS * TOGETHER + column_thread() * TOGETHER + n % TOGETHER;
}

/* sums += weights y for the thread's rows and columns. */
template <class C, int ROWS, int INNER, int LENGTH, int M, int N>
TD_DEVICE void add_product(const Tile<C, ROWS, INNER> &weights, const Tile<C, INNER, LENGTH> &y, C (&sums)[M][N])
{
#ifndef TREADLE_EMULATION
#pragma unroll 2
#endif
    for (int four = 0; four < INNER / 4; four++) {
        Four<C> left[M];
        TD_UNROLL
        for (int m = 0; m < M; m++)
            left[m] = weights[row_thread() * M + m][four];
        TD_UNROLL
        for (int part = 0; part < 4; part++) {
            C right[N];
            TD_UNROLL
            for (int n = 0; n < N; n++)
                right[n] = y[four * 4 + part][column_of<LENGTH>(n) / 4].at[column_of<LENGTH>(n) % 4];
            TD_UNROLL
            for (int m = 0; m < M; m++)
                TD_UNROLL
                for (int n = 0; n < N; n++)
                    sums[m][n] += left[m].at[part] * right[n];
        }
    }
}

/* The thread's scores, or what was made of them, to shared memory. */
template <class C, int ROWS, int COLUMNS, int M, int N>
TD_DEVICE void share(Tile<C, ROWS, COLUMNS> &tile, const C (&values)[M][N])
{
    TD_UNROLL
    for (int m = 0; m < M; m++)
        TD_UNROLL
        for (int n = 0; n < N; n++) {
            const int column = column_thread() + n * COLUMN_THREADS;
            tile[row_thread() * M + m][column / 4].at[column % 4] = values[m][n];
        }
}

template <class C, int LENGTH, int M, int N>
TD_DEVICE void store_rows(const Attention &plan, int view, int64_t offset, int64_t first, int64_t rows, int columns,
                          const C (&sums)[M][N])
{
    TD_UNROLL
    for (int m = 0; m < M; m++) {
        const int64_t row = first + row_thread() * M + m;
        char *to = plan.batch.data[view] + offset + row * plan.row[view];
        TD_UNROLL
        for (int n = 0; n < N; n++) {
            const int column = column_of<LENGTH>(n);
            if (row < rows && column < columns)
                write_as<C>(plan.dtype, to + column * plan.column[view], sums[m][n]);
        }
    }
}

/* --- scores ------------------------------------------------------------------------------------------------------- */
/* The score of a query and a key with the mask; -inf where it may not look, or where there is none of them. */
template <class C>
TD_DEVICE C masked(const Attention &plan, const char *mask, int64_t query, int64_t key, C score)
{
    if (query >= plan.queries || key >= plan.keys || (plan.causal && key > query + plan.past))
        return static_cast<C>(-INFINITY);
    if (plan.mask_dtype < 0)
        return score;
    const char *at = mask + query * plan.row[MASK] + key * plan.column[MASK];
    if (plan.mask_dtype == TD_bool)
        return *reinterpret_cast<const td_bool *>(at) ? score : static_cast<C>(-INFINITY);
    return score + *reinterpret_cast<const C *>(at);
}

/* The end of the keys that queries before `query` look at. */
TD_DEVICE int64_t last_key(const Attention &plan, int64_t query)
{
    const int64_t end = query < plan.queries ? query : plan.queries;
    return plan.causal && end + plan.past < plan.keys ? end + plan.past : plan.keys;
}

/* --- host --------------------------------------------------------------------------------------------------------- */
inline Attention plan_attention(const td_cuda_attention_call &call)
{
    const td_view *given[VIEWS] = {call.query, call.key, call.value, call.mask, call.total, call.out,
                                   call.gradient, call.by_query, call.by_key, call.by_value};
    td_view batches[VIEWS];
    Attention plan = {};
    const int ndim = call.query->ndim - 2;
    for (int view = 0; view < VIEWS; view++) {
        batches[view] = {};
        batches[view].ndim = ndim;
        for (int axis = 0; axis < ndim; axis++) {
            batches[view].shape[axis] = call.query->shape[axis];
            batches[view].strides[axis] = given[view] ? given[view]->strides[axis] : 0;
        }
        if (given[view] == nullptr)
            continue;
        batches[view].data = given[view]->data;
        plan.row[view] = given[view]->strides[ndim];
        plan.column[view] = given[view]->strides[ndim + 1];
    }
    plan.batch = td::plan_in_order<VIEWS>({&batches[0], &batches[1], &batches[2], &batches[3], &batches[4], &batches[5],
                                           &batches[6], &batches[7], &batches[8], &batches[9]});
    plan.queries = call.query->shape[ndim];
    plan.keys = call.key->shape[ndim];
    plan.features = static_cast<int32_t>(call.query->shape[ndim + 1]);
    plan.width = static_cast<int32_t>(call.value->shape[ndim + 1]);
    plan.dtype = call.query->dtype;
    plan.mask_dtype = call.mask ? call.mask->dtype : -1;
    plan.causal = call.causal;
    plan.past = call.past;
    plan.scale = call.scale;
    return plan;
}

inline bool is_of_halves(const Attention &plan) { return plan.dtype == TD_f16 || plan.dtype == TD_bf16; }

/* Calls work<C, LENGTH>(plan) for the computed type and the shortest rows of tiles that hold the operands. */
#define TD_RUN_ATTENTION(work, plan) \
    do { \
        const int length = (plan).features > (plan).width ? (plan).features : (plan).width; \
        if (length > td_cuda_attention_limit((plan).dtype)) \
            return no_kernel("attention", length, (plan).dtype); \
        if ((plan).dtype == TD_f64) \
            return length <= 32 ? work<double, 32>(plan) : work<double, 64>(plan); \
        if (length <= 32) \
            return work<float, 32>(plan); \
        return length <= 64 ? work<float, 64>(plan) : work<float, 128>(plan); \
    } while (0)

} // namespace

} // namespace td

#endif

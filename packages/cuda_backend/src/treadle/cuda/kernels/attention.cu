/* Attention without its weights in memory, after T. Dao, "FlashAttention-2" (2023).
 *
 * A block holds a tile of queries and goes over the keys, a tile at a time. Each row keeps the largest score so far, the
 * sum of its exponentials, and its weighted sum of values, which shrink when a larger score comes. What stays for
 * backward is one number a query, the logarithm of its sum of exponentials. */
#include "attention.h"
#include "fragments.h"

namespace td {

namespace {

template <class C> constexpr int SIDE_OF = sizeof(C) == 4 ? 32 : 16; /* rows of a tile: what 48 KB of shared memory hold */

template <class C> TD_DEVICE C larger(C x, C y) { return y > x ? y : x; }

/* What a row has of the keys so far. */
template <class C, int M> struct Rows {
    C top[M], total[M];
};

/* Scores become weights by the largest so far; sums and totals of what came before shrink with it. A NaN is no largest,
 * but its weight is NaN. */
template <class C, int M, int N, int K>
TD_DEVICE void fold_scores(Rows<C, M> &rows, C (&scores)[M][N], C (&sums)[M][K])
{
    TD_UNROLL
    for (int m = 0; m < M; m++) {
        C top = rows.top[m], total = 0;
        TD_UNROLL
        for (int n = 0; n < N; n++)
            top = larger(top, scores[m][n]);
        TD_UNROLL
        for (int distance = COLUMN_THREADS / 2; distance > 0; distance /= 2)
            top = larger(top, __shfl_xor_sync(ALL_LANES, top, distance));
        const C shift = top == static_cast<C>(-INFINITY) ? C(0) : top;
        TD_UNROLL
        for (int n = 0; n < N; n++) {
            scores[m][n] = td_exp(scores[m][n] - shift);
            total += scores[m][n];
        }
        TD_UNROLL
        for (int distance = COLUMN_THREADS / 2; distance > 0; distance /= 2)
            total += __shfl_xor_sync(ALL_LANES, total, distance);
        const C shrinking = td_exp(rows.top[m] - shift);
        rows.total[m] = rows.total[m] * shrinking + total;
        rows.top[m] = top;
        TD_UNROLL
        for (int k = 0; k < K; k++)
            sums[m][k] *= shrinking;
    }
}

template <class C, int M, int K>
TD_DEVICE void finish_rows(const Attention &plan, int64_t offset, int64_t first, const Rows<C, M> &rows, C (&sums)[M][K])
{
    TD_UNROLL
    for (int m = 0; m < M; m++) {
        const int64_t query = first + row_thread() * M + m;
        const C share = rows.total[m] == C(0) ? C(0) : C(1) / rows.total[m];
        TD_UNROLL
        for (int k = 0; k < K; k++)
            sums[m][k] *= share;
        if (column_thread() == 0 && query < plan.queries)
            *reinterpret_cast<C *>(plan.batch.data[TOTAL] + offset + query * plan.row[TOTAL]) =
                rows.total[m] == C(0) ? static_cast<C>(-INFINITY) : rows.top[m] + td_log(rows.total[m]);
    }
}

template <class C, int LENGTH>
__global__ void __launch_bounds__(THREADS, 2) attention_kernel(const __grid_constant__ Attention plan)
{
    constexpr int SIDE = SIDE_OF<C>, M = SIDE / ROW_THREADS, N = SIDE / COLUMN_THREADS, K = LENGTH / COLUMN_THREADS;
    using Length = Tile<C, SIDE, LENGTH>;
    using Square = Tile<C, SIDE, SIDE>;
    TD_SHARED(Four<C>, queries, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, others, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, weights, [SIDE][SIDE / 4 + 1]);
    static_assert(sizeof(Length) * 2 + sizeof(Square) <= 48 << 10, "more than every device has");
    const int64_t tiles = ceil_div(plan.queries, SIDE);
    for (int64_t tile = blockIdx.x; tile < plan.batch.size * tiles; tile += gridDim.x) {
        int64_t offset[VIEWS];
        locate(plan.batch, tile / tiles, offset);
        const int64_t first = (tiles - 1 - tile % tiles) * SIDE; /* causal: the longest come first */
        load_rows<C, SIDE, LENGTH>(queries, plan, QUERY, offset[QUERY], first, plan.queries, plan.features,
                                   static_cast<C>(plan.scale));
        Rows<C, M> rows;
        C sums[M][K];
        TD_UNROLL
        for (int m = 0; m < M; m++) {
            rows.top[m] = static_cast<C>(-INFINITY);
            rows.total[m] = C(0);
            TD_UNROLL
            for (int k = 0; k < K; k++)
                sums[m][k] = C(0);
        }
        const int64_t end = last_key(plan, first + SIDE);
        for (int64_t key = 0; key < end; key += SIDE) {
            load_rows<C, SIDE, LENGTH>(others, plan, KEY, offset[KEY], key, plan.keys, plan.features, C(1));
            __syncthreads();
            C scores[M][N];
            multiply_rows<C, SIDE, SIDE, LENGTH>(queries, others, scores);
            TD_UNROLL
            for (int m = 0; m < M; m++)
                TD_UNROLL
                for (int n = 0; n < N; n++)
                    scores[m][n] = masked(plan, plan.batch.data[MASK] + offset[MASK], first + row_thread() * M + m,
                                          key + column_thread() + n * COLUMN_THREADS, scores[m][n]);
            fold_scores(rows, scores, sums);
            share<C, SIDE, SIDE>(weights, scores);
            __syncthreads();
            load_rows<C, SIDE, LENGTH>(others, plan, VALUE, offset[VALUE], key, plan.keys, plan.width, C(1));
            __syncthreads();
            add_product<C, SIDE, SIDE, LENGTH>(weights, others, sums);
            __syncthreads();
        }
        finish_rows(plan, offset[TOTAL], first, rows, sums);
        store_rows<C, LENGTH>(plan, OUT, offset[OUT], first, plan.queries, plan.width, sums);
    }
}

template <class C, int LENGTH> int attend(const Attention &plan)
{
    void (*kernel)(Attention) = attention_kernel<C, LENGTH>;
    TD_LAUNCH(kernel, blocks_for(plan.batch.size * ceil_div(plan.queries, SIDE_OF<C>), 1), THREADS, plan);
    return TD_OK;
}

int run(const Attention &plan)
{
    if (is_of_halves(plan) && multiplies_matrices())
        return attend_by_instruction(plan);
    TD_RUN_ATTENTION(attend, plan);
}

} // namespace

} // namespace td

int td_cuda_attention_limit(int dtype)
{
    return dtype == TD_f64 ? 64 : dtype == TD_f32 || dtype == TD_f16 || dtype == TD_bf16 ? 128 : 0;
}

int td_cuda_attention(const td_cuda_attention_call *call) { return td::run(td::plan_attention(*call)); }

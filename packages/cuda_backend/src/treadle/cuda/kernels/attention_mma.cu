/* Attention of halves, as attention.cu describes it, by the matrix instruction: scores and sums in float, weights rounded
 * to halves for their product with the values. */
#include "attention_mma.h"

namespace td {

namespace {

/* What the lane's two rows have of the keys so far. */
struct Rows {
    float top[2], total[2];
};

TD_DEVICE float larger(float x, float y) { return y > x ? y : x; }

/* Scores become weights by the largest so far; sums and totals of what came before shrink with it. */
template <int N, int K> TD_DEVICE void fold_scores(Rows &rows, float (&scores)[N][4], float (&sums)[K][4])
{
    TD_UNROLL
    for (int row = 0; row < 2; row++) {
        float top = rows.top[row], total = 0.0f;
        TD_UNROLL
        for (int n = 0; n < N; n++)
            top = larger(top, larger(scores[n][2 * row], scores[n][2 * row + 1]));
        top = larger(top, __shfl_xor_sync(ALL_LANES, top, 1));
        top = larger(top, __shfl_xor_sync(ALL_LANES, top, 2));
        const float shift = top == -INFINITY ? 0.0f : top;
        TD_UNROLL
        for (int n = 0; n < N; n++)
            TD_UNROLL
            for (int sum = 2 * row; sum < 2 * row + 2; sum++) {
                scores[n][sum] = td_exp(scores[n][sum] - shift);
                total += scores[n][sum];
            }
        total += __shfl_xor_sync(ALL_LANES, total, 1);
        total += __shfl_xor_sync(ALL_LANES, total, 2);
        const float shrinking = td_exp(rows.top[row] - shift);
        rows.total[row] = rows.total[row] * shrinking + total;
        rows.top[row] = top;
        TD_UNROLL
        for (int k = 0; k < K; k++) {
            sums[k][2 * row] *= shrinking;
            sums[k][2 * row + 1] *= shrinking;
        }
    }
}

template <int K>
TD_DEVICE void finish_rows(const Attention &plan, int64_t offset, int64_t first, const Rows &rows, float (&sums)[K][4])
{
    TD_UNROLL
    for (int row = 0; row < 2; row++) {
        const int64_t query = first + row_of(2 * row);
        const float total = rows.total[row], share = total == 0.0f ? 0.0f : 1.0f / total;
        TD_UNROLL
        for (int k = 0; k < K; k++) {
            sums[k][2 * row] *= share;
            sums[k][2 * row + 1] *= share;
        }
        if (pair_of() == 0 && query < plan.queries)
            *reinterpret_cast<float *>(plan.batch.data[TOTAL] + offset + query * plan.row[TOTAL]) =
                total == 0.0f ? -INFINITY : rows.top[row] + td_log(total);
    }
}

template <class Half, int LENGTH>
__global__ void __launch_bounds__(THREADS, 2) attention_mma_kernel(const __grid_constant__ Attention plan)
{
    constexpr int KEYS = LENGTH <= 64 ? 64 : 32, N = KEYS / 8, K = LENGTH / 8;
    TD_SHARED(uint32_t, queries, [ROWS][LENGTH / 2 + PAD]);
    TD_SHARED(uint32_t, keys, [KEYS][LENGTH / 2 + PAD]);
    TD_SHARED(uint32_t, values, [KEYS][LENGTH / 2 + PAD]);
    const int64_t tiles = ceil_div(plan.queries, ROWS);
    for (int64_t tile = blockIdx.x; tile < plan.batch.size * tiles; tile += gridDim.x) {
        int64_t offset[VIEWS];
        locate(plan.batch, tile / tiles, offset);
        const int64_t first = (tiles - 1 - tile % tiles) * ROWS; /* causal: the longest come first */
        load_words<ROWS, LENGTH>(queries, plan, QUERY, offset[QUERY], first, plan.queries, plan.features);
        Rows rows = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
        float sums[K][4] = {};
        const int64_t end = last_key(plan, first + ROWS);
        for (int64_t key = 0; key < end; key += KEYS) {
            load_words<KEYS, LENGTH>(keys, plan, KEY, offset[KEY], key, plan.keys, plan.features);
            load_words<KEYS, LENGTH>(values, plan, VALUE, offset[VALUE], key, plan.keys, plan.width);
            __syncthreads();
            float scores[N][4];
            multiply_halves<Half, KEYS, LENGTH>(queries, keys, scores);
            TD_UNROLL
            for (int n = 0; n < N; n++)
                TD_UNROLL
                for (int sum = 0; sum < 4; sum++)
                    scores[n][sum] = masked(plan, plan.batch.data[MASK] + offset[MASK], first + row_of(sum),
                                            key + column_of_sum(n, sum), scores[n][sum] * static_cast<float>(plan.scale));
            fold_scores(rows, scores, sums);
            add_halves<Half, KEYS, LENGTH>(scores, values, sums);
            __syncthreads();
        }
        finish_rows(plan, offset[TOTAL], first, rows, sums);
        store_halves<Half>(plan, OUT, offset[OUT], first, plan.queries, plan.width, sums);
    }
}

template <class Half, int LENGTH> int attend(const Attention &plan)
{
    void (*kernel)(Attention) = attention_mma_kernel<Half, LENGTH>;
    TD_LAUNCH(kernel, blocks_for(plan.batch.size * ceil_div(plan.queries, ROWS), 1), THREADS, plan);
    return TD_OK;
}

} // namespace

int attend_by_instruction(const Attention &plan) { TD_RUN_HALVES(attend, plan); }

} // namespace td

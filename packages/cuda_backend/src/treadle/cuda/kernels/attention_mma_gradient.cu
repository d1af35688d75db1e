/* The gradient of attention of halves, as attention_gradient.cu describes it, by the matrix instruction: weights and the
 * gradients of the scores are rounded to halves for their products. */
#include "attention_mma.h"

namespace td {

namespace {

/* Scores become weights, and products (of gradient and value) the gradients of the scores. */
template <bool OF_KEYS, int N>
TD_DEVICE void weigh(const Attention &plan, const int64_t (&offset)[VIEWS], int64_t batch, int64_t row, int64_t column,
                     float (&scores)[N][4], float (&products)[N][4])
{
    const char *mask = plan.batch.data[MASK] + offset[MASK], *totals = plan.batch.data[TOTAL] + offset[TOTAL];
    const float *slopes = reinterpret_cast<const float *>(plan.slopes) + batch * plan.queries;
    TD_UNROLL
    for (int n = 0; n < N; n++) {
        TD_UNROLL
        for (int sum = 0; sum < 4; sum++) {
            const int64_t mine = row + row_of(sum), other = column + column_of_sum(n, sum);
            const int64_t query = OF_KEYS ? other : mine, key = OF_KEYS ? mine : other;
            const float score = masked(plan, mask, query, key, scores[n][sum] * static_cast<float>(plan.scale));
            if (score == -INFINITY) { /* what a query that looks nowhere has too */
                scores[n][sum] = products[n][sum] = 0.0f;
                continue;
            }
            scores[n][sum] = td_exp(score - *reinterpret_cast<const float *>(totals + query * plan.row[TOTAL]));
            products[n][sum] = scores[n][sum] * (products[n][sum] - slopes[query]);
        }
    }
}

template <class Half, int LENGTH, bool OF_KEYS>
__global__ void __launch_bounds__(THREADS) attention_mma_gradient_kernel(const __grid_constant__ Attention plan)
{
    constexpr int OTHERS = LENGTH <= 64 ? 32 : 16, N = OTHERS / 8, K = LENGTH / 8; /* what 48 KB of shared memory hold */
    constexpr int MINE = OF_KEYS ? KEY : QUERY, MINE_TOO = OF_KEYS ? VALUE : GRADIENT;
    constexpr int OTHER = OF_KEYS ? QUERY : KEY, OTHER_TOO = OF_KEYS ? GRADIENT : VALUE;
    TD_SHARED(uint32_t, mine, [ROWS][LENGTH / 2 + PAD]);
    TD_SHARED(uint32_t, mine_too, [ROWS][LENGTH / 2 + PAD]);
    TD_SHARED(uint32_t, others, [OTHERS][LENGTH / 2 + PAD]);
    TD_SHARED(uint32_t, others_too, [OTHERS][LENGTH / 2 + PAD]);
    const int64_t rows = OF_KEYS ? plan.keys : plan.queries, columns = OF_KEYS ? plan.queries : plan.keys;
    const int64_t tiles = ceil_div(rows, ROWS);
    for (int64_t tile = blockIdx.x; tile < plan.batch.size * tiles; tile += gridDim.x) {
        int64_t offset[VIEWS];
        locate(plan.batch, tile / tiles, offset);
        const int64_t first = (OF_KEYS ? tile % tiles : tiles - 1 - tile % tiles) * ROWS;
        load_words<ROWS, LENGTH>(mine, plan, MINE, offset[MINE], first, rows, plan.features);
        load_words<ROWS, LENGTH>(mine_too, plan, MINE_TOO, offset[MINE_TOO], first, rows, plan.width);
        float sums[K][4] = {}, sums_too[OF_KEYS ? K : 1][4] = {};
        /* The first query that sees a key of the tile is that which sees its first one. */
        const int64_t early = OF_KEYS && plan.causal && first > plan.past ? (first - plan.past) / OTHERS * OTHERS : 0;
        const int64_t end = OF_KEYS ? columns : last_key(plan, first + ROWS);
        for (int64_t column = early; column < end; column += OTHERS) {
            load_words<OTHERS, LENGTH>(others, plan, OTHER, offset[OTHER], column, columns, plan.features);
            load_words<OTHERS, LENGTH>(others_too, plan, OTHER_TOO, offset[OTHER_TOO], column, columns, plan.width);
            __syncthreads();
            float scores[N][4], products[N][4];
            multiply_halves<Half, OTHERS, LENGTH>(mine, others, scores);
            multiply_halves<Half, OTHERS, LENGTH>(mine_too, others_too, products);
            weigh<OF_KEYS>(plan, offset, tile / tiles, first, column, scores, products);
            add_halves<Half, OTHERS, LENGTH>(products, others, sums);
            if constexpr (OF_KEYS)
                add_halves<Half, OTHERS, LENGTH>(scores, others_too, sums_too);
            __syncthreads();
        }
        TD_UNROLL
        for (int k = 0; k < K; k++)
            TD_UNROLL
            for (int sum = 0; sum < 4; sum++)
                sums[k][sum] *= static_cast<float>(plan.scale);
        store_halves<Half>(plan, OF_KEYS ? BY_KEY : BY_QUERY, offset[OF_KEYS ? BY_KEY : BY_QUERY], first, rows,
                           plan.features, sums);
        if constexpr (OF_KEYS)
            store_halves<Half>(plan, BY_VALUE, offset[BY_VALUE], first, rows, plan.width, sums_too);
    }
}

template <class Half, int LENGTH> int differentiate(const Attention &plan)
{
    void (*of_queries)(Attention) = attention_mma_gradient_kernel<Half, LENGTH, false>;
    void (*of_keys)(Attention) = attention_mma_gradient_kernel<Half, LENGTH, true>;
    TD_LAUNCH(of_queries, blocks_for(plan.batch.size * ceil_div(plan.queries, ROWS), 1), THREADS, plan);
    TD_LAUNCH(of_keys, blocks_for(plan.batch.size * ceil_div(plan.keys, ROWS), 1), THREADS, plan);
    return TD_OK;
}

} // namespace

int differentiate_by_instruction(const Attention &plan) { TD_RUN_HALVES(differentiate, plan); }

} // namespace td

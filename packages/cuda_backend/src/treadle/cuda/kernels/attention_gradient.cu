/* The gradient of attention, after T. Dao, "FlashAttention-2" (2023), in which the weights are made again, twice: a block
 * that holds a tile of queries goes over keys and adds up the gradient of its queries; one that holds a tile of keys goes
 * over queries and adds up those of its keys and values. So every sum has one owner and one order, and results are the
 * same on every device. With P the weights and G the result's gradient, the gradient of the scores is P (G V^T - slopes),
 * where slopes are the rows' sums of G times the result. */
#include "attention.h"
#include "fragments.h"

namespace td {

namespace {

/* Rows of a tile: what 48 KB of shared memory hold. */
template <class C, int LENGTH> constexpr int SIDE_OF = sizeof(C) == 4 && LENGTH <= 64 ? 32 : 16;

/* slopes[query] = the sum of gradient * out. */
template <class C>
__global__ void slopes_kernel(const __grid_constant__ Attention plan, const __grid_constant__ Lanes lanes, C *slopes)
{
    TD_SHARED(C, parts, [BLOCK]);
    const int64_t rows = plan.batch.size * plan.queries;
    for (int64_t base = blockIdx.x * static_cast<int64_t>(lanes.lines); base < rows;
         base += gridDim.x * static_cast<int64_t>(lanes.lines)) {
        const int64_t row = base + line_of(lanes);
        int64_t offset[VIEWS] = {};
        if (row < rows)
            locate(plan.batch, row / plan.queries, offset);
        const int64_t query = row % plan.queries;
        const char *gradient = plan.batch.data[GRADIENT] + offset[GRADIENT] + query * plan.row[GRADIENT];
        const char *out = plan.batch.data[OUT] + offset[OUT] + query * plan.row[OUT];
        C sum = 0;
        for (int i = lane_of(lanes); i < plan.width && row < rows; i += lanes.lanes)
            sum += read_as<C>(plan.dtype, gradient + i * plan.column[GRADIENT]) *
                   read_as<C>(plan.dtype, out + i * plan.column[OUT]);
        sum = fold_lanes(lanes, parts, sum, [](C x, C y) { return x + y; });
        if (row < rows && lane_of(lanes) == 0)
            slopes[row] = sum;
    }
}

/* Scores become weights, and products (of gradient and value) the gradients of the scores. */
template <class C, bool OF_KEYS, int M, int N>
TD_DEVICE void weigh(const Attention &plan, const int64_t (&offset)[VIEWS], int64_t batch, int64_t row, int64_t column,
                     C (&scores)[M][N], C (&products)[M][N])
{
    const char *mask = plan.batch.data[MASK] + offset[MASK], *totals = plan.batch.data[TOTAL] + offset[TOTAL];
    const C *slopes = reinterpret_cast<const C *>(plan.slopes) + batch * plan.queries;
    TD_UNROLL
    for (int m = 0; m < M; m++) {
        TD_UNROLL
        for (int n = 0; n < N; n++) {
            const int64_t mine = row + row_thread() * M + m, other = column + column_thread() + n * COLUMN_THREADS;
            const int64_t query = OF_KEYS ? other : mine, key = OF_KEYS ? mine : other;
            const C score = masked(plan, mask, query, key, scores[m][n]);
            if (score == static_cast<C>(-INFINITY)) { /* what a query that looks nowhere has too */
                scores[m][n] = products[m][n] = C(0);
                continue;
            }
            scores[m][n] = td_exp(score - *reinterpret_cast<const C *>(totals + query * plan.row[TOTAL]));
            products[m][n] = scores[m][n] * (products[m][n] - slopes[query]);
        }
    }
}

/* The gradient of a tile of queries, or those of a tile of keys and of values: `mine` are rows of query and gradient, or
 * of key and value, and `others` the other pair. */
template <class C, int LENGTH, bool OF_KEYS>
__global__ void __launch_bounds__(THREADS, 2) attention_gradient_kernel(const __grid_constant__ Attention plan)
{
    constexpr int SIDE = SIDE_OF<C, LENGTH>, M = SIDE / ROW_THREADS, N = SIDE / COLUMN_THREADS;
    constexpr int K = LENGTH / COLUMN_THREADS;
    constexpr int MINE = OF_KEYS ? KEY : QUERY, MINE_TOO = OF_KEYS ? VALUE : GRADIENT;
    constexpr int OTHER = OF_KEYS ? QUERY : KEY, OTHER_TOO = OF_KEYS ? GRADIENT : VALUE;
    TD_SHARED(Four<C>, mine, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, mine_too, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, others, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, others_too, [SIDE][LENGTH / 4 + 1]);
    TD_SHARED(Four<C>, weights, [SIDE][SIDE / 4 + 1]);
    TD_SHARED(Four<C>, slopes, [SIDE][SIDE / 4 + 1]);
    static_assert(sizeof(Tile<C, SIDE, LENGTH>) * 4 + sizeof(Tile<C, SIDE, SIDE>) * 2 <= 48 << 10,
                  "more than every device has");
    const C scale = static_cast<C>(plan.scale);
    const int64_t rows = OF_KEYS ? plan.keys : plan.queries, columns = OF_KEYS ? plan.queries : plan.keys;
    const int64_t tiles = ceil_div(rows, SIDE);
    for (int64_t tile = blockIdx.x; tile < plan.batch.size * tiles; tile += gridDim.x) {
        int64_t offset[VIEWS];
        locate(plan.batch, tile / tiles, offset);
        const int64_t first = (OF_KEYS ? tile % tiles : tiles - 1 - tile % tiles) * SIDE;
        load_rows<C, SIDE, LENGTH>(mine, plan, MINE, offset[MINE], first, rows, plan.features, OF_KEYS ? C(1) : scale);
        load_rows<C, SIDE, LENGTH>(mine_too, plan, MINE_TOO, offset[MINE_TOO], first, rows, plan.width, C(1));
        C sums[M][K], sums_too[M][K];
        TD_UNROLL
        for (int m = 0; m < M; m++)
            TD_UNROLL
            for (int k = 0; k < K; k++)
                sums[m][k] = sums_too[m][k] = C(0);
        /* The first query that sees a key of the tile is that which sees its first one. */
        const int64_t early = OF_KEYS && plan.causal && first > plan.past ? (first - plan.past) / SIDE * SIDE : 0;
        const int64_t end = OF_KEYS ? columns : last_key(plan, first + SIDE);
        for (int64_t column = early; column < end; column += SIDE) {
            load_rows<C, SIDE, LENGTH>(others, plan, OTHER, offset[OTHER], column, columns, plan.features,
                                       OF_KEYS ? scale : C(1));
            load_rows<C, SIDE, LENGTH>(others_too, plan, OTHER_TOO, offset[OTHER_TOO], column, columns, plan.width, C(1));
            __syncthreads();
            C scores[M][N], products[M][N];
            multiply_rows<C, SIDE, SIDE, LENGTH>(mine, others, scores);
            multiply_rows<C, SIDE, SIDE, LENGTH>(mine_too, others_too, products);
            weigh<C, OF_KEYS>(plan, offset, tile / tiles, first, column, scores, products);
            share<C, SIDE, SIDE>(slopes, products);
            if constexpr (OF_KEYS)
                share<C, SIDE, SIDE>(weights, scores);
            __syncthreads();
            add_product<C, SIDE, SIDE, LENGTH>(slopes, others, sums);
            if constexpr (OF_KEYS)
                add_product<C, SIDE, SIDE, LENGTH>(weights, others_too, sums_too);
            __syncthreads();
        }
        if constexpr (OF_KEYS) {
            store_rows<C, LENGTH>(plan, BY_KEY, offset[BY_KEY], first, rows, plan.features, sums);
            store_rows<C, LENGTH>(plan, BY_VALUE, offset[BY_VALUE], first, rows, plan.width, sums_too);
        } else {
            TD_UNROLL
            for (int m = 0; m < M; m++)
                TD_UNROLL
                for (int k = 0; k < K; k++)
                    sums[m][k] *= scale;
            store_rows<C, LENGTH>(plan, BY_QUERY, offset[BY_QUERY], first, rows, plan.features, sums);
        }
    }
}

template <class C, int LENGTH> int differentiate(Attention plan)
{
    constexpr int SIDE = SIDE_OF<C, LENGTH>;
    const int64_t rows = plan.batch.size * plan.queries;
    Scratch slopes;
    TD_TRY(slopes.reserve(rows * static_cast<int64_t>(sizeof(C))));
    plan.slopes = slopes.memory();
    const Lanes lanes = lay_lanes(plan.width, true);
    TD_LAUNCH(slopes_kernel<C>, blocks_for(rows, lanes.lines), BLOCK, plan, lanes, reinterpret_cast<C *>(slopes.memory()));
    if (is_of_halves(plan) && multiplies_matrices())
        return differentiate_by_instruction(plan);
    void (*of_queries)(Attention) = attention_gradient_kernel<C, LENGTH, false>;
    void (*of_keys)(Attention) = attention_gradient_kernel<C, LENGTH, true>;
    TD_LAUNCH(of_queries, blocks_for(plan.batch.size * ceil_div(plan.queries, SIDE), 1), THREADS, plan);
    TD_LAUNCH(of_keys, blocks_for(plan.batch.size * ceil_div(plan.keys, SIDE), 1), THREADS, plan);
    return TD_OK;
}

int run(const Attention &plan) { TD_RUN_ATTENTION(differentiate, plan); }

} // namespace

} // namespace td

int td_cuda_attention_gradient(const td_cuda_attention_call *call) { return td::run(td::plan_attention(*call)); }

/* Sorts one small block of keys in registers, stamped for one width of key. The including file defines NAME, KEY and, by
 * a lanes header, the operations on a register of LANES keys.
 *
 * The block is ROWS registers. First every column (lane) is sorted by compare and exchange of whole registers, Batcher's
 * odd-even merge (Knuth, The Art of Computer Programming 3, section 5.3.4). Then neighbouring columns are merged, two,
 * four, ... at a time, by the bitonic merge: the second half is met backwards (both rows and lanes reversed), then
 * lanes at falling distances, then rows. At last element p of the sorted block lies in lane p / ROWS, row p % ROWS,
 * and log2(ROWS) rounds of interleaving the first half of the rows with the second put it into its place. */
#ifndef TREADLE_SORT_NETWORK_H
#define TREADLE_SORT_NETWORK_H

/* 2 rows */
#define TD_SORT_ROWS_2(M) \
    M(0, 1)
#define TD_MERGE_ROWS_2(M) \
    M(0, 1)
#define TD_MIRROR_ROWS_2(M) \
    M(0, 1)
#define TD_EACH_ROW_2(M) M(0) M(1)
#define TD_ZIP_ROWS_2(M) M(0, 1)
/* 4 rows */
#define TD_SORT_ROWS_4(M) \
    M(0, 1) M(2, 3) M(0, 2) M(1, 3) M(1, 2)
#define TD_MERGE_ROWS_4(M) \
    M(0, 2) M(1, 3) M(0, 1) M(2, 3)
#define TD_MIRROR_ROWS_4(M) \
    M(0, 3) M(1, 2)
#define TD_EACH_ROW_4(M) M(0) M(1) M(2) M(3)
#define TD_ZIP_ROWS_4(M) M(0, 2) M(1, 3)
/* 8 rows */
#define TD_SORT_ROWS_8(M) \
    M(0, 1) M(2, 3) M(4, 5) M(6, 7) M(0, 2) M(1, 3) M(4, 6) M(5, 7) M(1, 2) M(5, 6) M(0, 4) M(1, 5) M(2, 6) \
    M(3, 7) M(2, 4) M(3, 5) M(1, 2) M(3, 4) M(5, 6)
#define TD_MERGE_ROWS_8(M) \
    M(0, 4) M(1, 5) M(2, 6) M(3, 7) M(0, 2) M(1, 3) M(4, 6) M(5, 7) M(0, 1) M(2, 3) M(4, 5) M(6, 7)
#define TD_MIRROR_ROWS_8(M) \
    M(0, 7) M(1, 6) M(2, 5) M(3, 4)
#define TD_EACH_ROW_8(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define TD_ZIP_ROWS_8(M) M(0, 4) M(1, 5) M(2, 6) M(3, 7)
/* 16 rows */
#define TD_SORT_ROWS_16(M) \
    M(0, 1) M(2, 3) M(4, 5) M(6, 7) M(8, 9) M(10, 11) M(12, 13) M(14, 15) M(0, 2) M(1, 3) M(4, 6) M(5, 7) \
    M(8, 10) M(9, 11) M(12, 14) M(13, 15) M(1, 2) M(5, 6) M(9, 10) M(13, 14) M(0, 4) M(1, 5) M(2, 6) M(3, 7) \
    M(8, 12) M(9, 13) M(10, 14) M(11, 15) M(2, 4) M(3, 5) M(10, 12) M(11, 13) M(1, 2) M(3, 4) M(5, 6) M(9, 10) \
    M(11, 12) M(13, 14) M(0, 8) M(1, 9) M(2, 10) M(3, 11) M(4, 12) M(5, 13) M(6, 14) M(7, 15) M(4, 8) M(5, 9) \
    M(6, 10) M(7, 11) M(2, 4) M(3, 5) M(6, 8) M(7, 9) M(10, 12) M(11, 13) M(1, 2) M(3, 4) M(5, 6) M(7, 8) \
    M(9, 10) M(11, 12) M(13, 14)
#define TD_MERGE_ROWS_16(M) \
    M(0, 8) M(1, 9) M(2, 10) M(3, 11) M(4, 12) M(5, 13) M(6, 14) M(7, 15) M(0, 4) M(1, 5) M(2, 6) M(3, 7) \
    M(8, 12) M(9, 13) M(10, 14) M(11, 15) M(0, 2) M(1, 3) M(4, 6) M(5, 7) M(8, 10) M(9, 11) M(12, 14) M(13, 15) \
    M(0, 1) M(2, 3) M(4, 5) M(6, 7) M(8, 9) M(10, 11) M(12, 13) M(14, 15)
#define TD_MIRROR_ROWS_16(M) \
    M(0, 15) M(1, 14) M(2, 13) M(3, 12) M(4, 11) M(5, 10) M(6, 9) M(7, 8)
#define TD_EACH_ROW_16(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define TD_ZIP_ROWS_16(M) M(0, 8) M(1, 9) M(2, 10) M(3, 11) M(4, 12) M(5, 13) M(6, 14) M(7, 15)

#endif

#define EXCHANGE(i, j) \
    { \
        const NAME(lanes) low = NAME(min)(v[i], v[j]); \
        v[j] = NAME(max)(v[i], v[j]); \
        v[i] = low; \
    }
#define MEET(reverse, half, i, j) \
    { \
        const NAME(lanes) other = NAME(reverse)(v[j]), low = NAME(min)(v[i], other), high = NAME(max)(v[i], other); \
        v[i] = NAME(halves_##half)(low, high); \
        v[j] = NAME(reverse)(NAME(halves_##half)(high, low)); \
    }
#define MEET_2(i, j) MEET(reverse_2, 1, i, j)
#define MEET_4(i, j) MEET(reverse_4, 2, i, j)
#define MEET_8(i, j) MEET(reverse_8, 4, i, j)
#define MEET_16(i, j) MEET(reverse_16, 8, i, j)
#define APART_1(i) v[i] = NAME(order_1)(v[i], NAME(reverse_2)(v[i]));
#define APART_2(i) v[i] = NAME(order_2)(v[i], NAME(swap_2)(v[i]));
#define APART_4(i) v[i] = NAME(order_4)(v[i], NAME(swap_4)(v[i]));
#define INTERLEAVE(i, j) w[2 * (i)] = NAME(zip_low)(v[i], v[j]), w[2 * (i) + 1] = NAME(zip_high)(v[i], v[j]);
#define TAKE(i) v[i] = w[i];
#define LOAD_ROW(i) v[i] = NAME(load_part)(from + (i) * LANES, n - (i) * LANES);
#define STORE_ROW(i) NAME(store_part)(to + (i) * LANES, n - (i) * LANES, v[i]);

#if LANES == 16
#define MERGE_16_COLUMNS(rows) \
    TD_MIRROR_ROWS_##rows(MEET_16) TD_EACH_ROW_##rows(APART_4) TD_EACH_ROW_##rows(APART_2) \
    TD_EACH_ROW_##rows(APART_1) TD_MERGE_ROWS_##rows(EXCHANGE)
#else
#define MERGE_16_COLUMNS(rows)
#endif
#if LANES >= 8
#define MERGE_8_COLUMNS(rows) \
    TD_MIRROR_ROWS_##rows(MEET_8) TD_EACH_ROW_##rows(APART_2) TD_EACH_ROW_##rows(APART_1) \
    TD_MERGE_ROWS_##rows(EXCHANGE)
#else
#define MERGE_8_COLUMNS(rows)
#endif
#define ZIP(rows) { NAME(lanes) w[rows]; TD_ZIP_ROWS_##rows(INTERLEAVE) TD_EACH_ROW_##rows(TAKE) }
#define ZIPS_2 ZIP(2)
#define ZIPS_4 ZIP(4) ZIP(4)
#define ZIPS_8 ZIP(8) ZIP(8) ZIP(8)
#define ZIPS_16 ZIP(16) ZIP(16) ZIP(16) ZIP(16)

#define DEFINE_NETWORK(rows) \
    static void NAME(network_##rows)(int64_t n, const KEY *from, KEY *to) \
    { \
        NAME(lanes) v[rows]; \
        TD_EACH_ROW_##rows(LOAD_ROW) \
        TD_SORT_ROWS_##rows(EXCHANGE) \
        TD_MIRROR_ROWS_##rows(MEET_2) TD_MERGE_ROWS_##rows(EXCHANGE) \
        TD_MIRROR_ROWS_##rows(MEET_4) TD_EACH_ROW_##rows(APART_1) TD_MERGE_ROWS_##rows(EXCHANGE) \
        MERGE_8_COLUMNS(rows) \
        MERGE_16_COLUMNS(rows) \
        ZIPS_##rows \
        TD_EACH_ROW_##rows(STORE_ROW) \
    }
DEFINE_NETWORK(2)
DEFINE_NETWORK(4)
DEFINE_NETWORK(8)
#if MOST_ROWS == 16
DEFINE_NETWORK(16)
#endif

/* One register, sorted. */
static inline NAME(lanes) NAME(row)(NAME(lanes) x)
{
    NAME(lanes) v[1] = {NAME(order_1)(x, NAME(reverse_2)(x))};
    v[0] = NAME(order_2)(v[0], NAME(reverse_4)(v[0]));
    APART_1(0)
#if LANES >= 8
    v[0] = NAME(order_4)(v[0], NAME(reverse_8)(v[0]));
    APART_2(0) APART_1(0)
#endif
#if LANES == 16
    v[0] = NAME(order_8)(v[0], NAME(reverse_16)(v[0]));
    APART_4(0) APART_2(0) APART_1(0)
#endif
    return v[0];
}

#define SAMPLE_ROW(i) \
    state = state * 6364136223846793005u + 1442695040888963407u; \
    v[i] = NAME(load)(keys + (i) * stride + (int64_t)(((state >> 32) * choices) >> 32));
/* About the median of n >= 8 * LANES keys: of the medians by column of eight registers from pseudo-random places. */
static KEY NAME(middle)(int64_t n, const KEY *keys)
{
    KEY sorted[LANES];
    NAME(lanes) v[8];
    const int64_t stride = n / 8;
    const uint64_t choices = (uint64_t)(stride - LANES + 1);
    uint64_t state = (uint64_t)n * 0x9e3779b97f4a7c15u;
    TD_EACH_ROW_8(SAMPLE_ROW)
    TD_SORT_ROWS_8(EXCHANGE)
    NAME(store)(sorted, NAME(row)(v[4]));
    return sorted[LANES / 2];
}

/* Sorts n <= MOST_ROWS * LANES keys from one place to another, which may be the same. */
static void NAME(block)(int64_t n, const KEY *from, KEY *to)
{
    if (n <= 2 * LANES)
        NAME(network_2)(n, from, to);
    else if (n <= 4 * LANES)
        NAME(network_4)(n, from, to);
#if MOST_ROWS == 16
    else if (n > 8 * LANES)
        NAME(network_16)(n, from, to);
#endif
    else
        NAME(network_8)(n, from, to);
}

#undef EXCHANGE
#undef SAMPLE_ROW
#undef MEET
#undef MEET_2
#undef MEET_4
#undef MEET_8
#undef MEET_16
#undef APART_1
#undef APART_2
#undef APART_4
#undef INTERLEAVE
#undef TAKE
#undef LOAD_ROW
#undef STORE_ROW
#undef MERGE_16_COLUMNS
#undef MERGE_8_COLUMNS
#undef ZIP
#undef ZIPS_2
#undef ZIPS_4
#undef ZIPS_8
#undef ZIPS_16
#undef DEFINE_NETWORK

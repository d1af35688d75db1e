/* AVX-512 operations on a register of keys, for sort_network.h and sort_quick.h. Stamped for KEY_BITS 32 and 64.
 *
 * halves_d(x, y): x in the lanes whose number has the bit d clear, y in the others; order_d(x, y): the smaller of the two
 * in the former, the larger in the latter. */
typedef __m512i NAME(lanes);
#define MOST_ROWS 16
#if KEY_BITS == 32
#define LANES 16
#define OP(name) _mm512_##name##_epi32
#define BELOW _mm512_cmplt_epi32_mask
typedef __mmask16 NAME(lane_mask);
#else
#define LANES 8
#define OP(name) _mm512_##name##_epi64
#define BELOW _mm512_cmplt_epi64_mask
typedef __mmask8 NAME(lane_mask);
#endif

static inline NAME(lanes) NAME(load)(const KEY *from) { return _mm512_loadu_si512(from); }
static inline void NAME(store)(KEY *to, NAME(lanes) x) { _mm512_storeu_si512(to, x); }
static inline NAME(lanes) NAME(min)(NAME(lanes) x, NAME(lanes) y) { return OP(min)(x, y); }
static inline NAME(lanes) NAME(max)(NAME(lanes) x, NAME(lanes) y) { return OP(max)(x, y); }

static inline NAME(lane_mask) NAME(first)(int64_t n)
{
    return (NAME(lane_mask))(n >= LANES ? (1u << LANES) - 1 : n <= 0 ? 0 : (1u << n) - 1);
}
/* The first n keys, and the largest key in the lanes behind them. */
static inline NAME(lanes) NAME(load_part)(const KEY *from, int64_t n)
{
    return OP(mask_loadu)(OP(set1)(KEY_LARGEST), NAME(first)(n), from);
}
static inline void NAME(store_part)(KEY *to, int64_t n, NAME(lanes) x) { OP(mask_storeu)(to, NAME(first)(n), x); }

#define ORDER(d, upper) \
    static inline NAME(lanes) NAME(halves_##d)(NAME(lanes) x, NAME(lanes) y) \
    { \
        return OP(mask_blend)((NAME(lane_mask))(upper), x, y); \
    } \
    static inline NAME(lanes) NAME(order_##d)(NAME(lanes) x, NAME(lanes) y) \
    { \
        return OP(mask_max)(OP(min)(x, y), (NAME(lane_mask))(upper), x, y); \
    }
ORDER(1, 0xaaaa)
ORDER(2, 0xcccc)
ORDER(4, 0xf0f0)
#if KEY_BITS == 32
ORDER(8, 0xff00)
#define INDICES(...) _mm512_setr_epi32(__VA_ARGS__)
static inline NAME(lanes) NAME(reverse_2)(NAME(lanes) x) { return _mm512_shuffle_epi32(x, 0xb1); }
static inline NAME(lanes) NAME(reverse_4)(NAME(lanes) x) { return _mm512_shuffle_epi32(x, 0x1b); }
static inline NAME(lanes) NAME(swap_2)(NAME(lanes) x) { return _mm512_shuffle_epi32(x, 0x4e); }
static inline NAME(lanes) NAME(swap_4)(NAME(lanes) x) { return _mm512_permutex_epi64(x, 0x4e); }
static inline NAME(lanes) NAME(reverse_8)(NAME(lanes) x)
{
    return OP(permutexvar)(INDICES(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8), x);
}
static inline NAME(lanes) NAME(reverse_16)(NAME(lanes) x)
{
    return OP(permutexvar)(INDICES(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), x);
}
static inline NAME(lanes) NAME(zip_low)(NAME(lanes) x, NAME(lanes) y)
{
    return OP(permutex2var)(x, INDICES(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), y);
}
static inline NAME(lanes) NAME(zip_high)(NAME(lanes) x, NAME(lanes) y)
{
    return OP(permutex2var)(x, INDICES(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), y);
}
#else
#define INDICES(...) _mm512_setr_epi64(__VA_ARGS__)
static inline NAME(lanes) NAME(reverse_2)(NAME(lanes) x) { return _mm512_permutex_epi64(x, 0xb1); }
static inline NAME(lanes) NAME(reverse_4)(NAME(lanes) x) { return _mm512_permutex_epi64(x, 0x1b); }
static inline NAME(lanes) NAME(swap_2)(NAME(lanes) x) { return _mm512_permutex_epi64(x, 0x4e); }
static inline NAME(lanes) NAME(reverse_8)(NAME(lanes) x)
{
    return OP(permutexvar)(INDICES(7, 6, 5, 4, 3, 2, 1, 0), x);
}
static inline NAME(lanes) NAME(zip_low)(NAME(lanes) x, NAME(lanes) y)
{
    return OP(permutex2var)(x, INDICES(0, 8, 1, 9, 2, 10, 3, 11), y);
}
static inline NAME(lanes) NAME(zip_high)(NAME(lanes) x, NAME(lanes) y)
{
    return OP(permutex2var)(x, INDICES(4, 12, 5, 13, 6, 14, 7, 15), y);
}
#endif

/* Writes the keys below the pivot from left on and the others so that they end before right; the room between is at
 * least a register. Returns how many are below. */
static inline int64_t NAME(split)(NAME(lanes) x, NAME(lanes) pivot, KEY *left, KEY *right)
{
    const NAME(lane_mask) below = BELOW(x, pivot);
    const int64_t count = __builtin_popcount(below);
    NAME(store)(left, OP(maskz_compress)(below, x));
    OP(mask_storeu)(right - (LANES - count), (NAME(lane_mask))(((1u << LANES) - 1) >> count),
                    OP(maskz_compress)((NAME(lane_mask))~below, x));
    return count;
}
static inline NAME(lanes) NAME(all)(KEY key) { return OP(set1)(key); }

#undef ORDER
#undef INDICES
#undef OP
#undef BELOW

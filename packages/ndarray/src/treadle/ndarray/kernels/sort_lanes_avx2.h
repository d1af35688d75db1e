/* AVX2 operations on a register of keys, for sort_network.h and sort_quick.h. Stamped for KEY_BITS 32 and 64.
 *
 * halves_d(x, y): x in the lanes whose number has the bit d clear, y in the others; order_d(x, y): the smaller of the two
 * in the former, the larger in the latter. */
typedef __m256i NAME(lanes);
#define MOST_ROWS 16
#if KEY_BITS == 32
#define LANES 8
#define OP(name) _mm256_##name##_epi32
#define SET _mm256_set1_epi32
#else
#define LANES 4
#define OP(name) _mm256_##name##_epi64
#define SET _mm256_set1_epi64x
#endif

static inline NAME(lanes) NAME(load)(const KEY *from) { return _mm256_loadu_si256((const __m256i *)from); }
static inline void NAME(store)(KEY *to, NAME(lanes) x) { _mm256_storeu_si256((__m256i *)to, x); }

/* The first n keys, and the largest key in the lanes behind them. */
static inline NAME(lanes) NAME(load_part)(const KEY *from, int64_t n)
{
    KEY part[LANES];
    if (n >= LANES)
        return NAME(load)(from);
    for (int64_t i = 0; i < LANES; i++)
        part[i] = i < n ? from[i] : KEY_LARGEST;
    return NAME(load)(part);
}
static inline void NAME(store_part)(KEY *to, int64_t n, NAME(lanes) x)
{
    KEY part[LANES];
    if (n >= LANES) {
        NAME(store)(to, x);
        return;
    }
    NAME(store)(part, x);
    for (int64_t i = 0; i < n; i++)
        to[i] = part[i];
}
static inline NAME(lanes) NAME(swap_halves)(NAME(lanes) x) { return _mm256_permute4x64_epi64(x, 0x4e); }
static inline NAME(lanes) NAME(zip_low)(NAME(lanes) x, NAME(lanes) y)
{
    return _mm256_permute2x128_si256(OP(unpacklo)(x, y), OP(unpackhi)(x, y), 0x20);
}
static inline NAME(lanes) NAME(zip_high)(NAME(lanes) x, NAME(lanes) y)
{
    return _mm256_permute2x128_si256(OP(unpacklo)(x, y), OP(unpackhi)(x, y), 0x31);
}

#define ORDER(d, upper) \
    static inline NAME(lanes) NAME(halves_##d)(NAME(lanes) x, NAME(lanes) y) { return _mm256_blend_epi32(x, y, upper); } \
    static inline NAME(lanes) NAME(order_##d)(NAME(lanes) x, NAME(lanes) y) \
    { \
        return NAME(halves_##d)(NAME(min)(x, y), NAME(max)(x, y)); \
    }
#if KEY_BITS == 32
static inline NAME(lanes) NAME(min)(NAME(lanes) x, NAME(lanes) y) { return _mm256_min_epi32(x, y); }
static inline NAME(lanes) NAME(max)(NAME(lanes) x, NAME(lanes) y) { return _mm256_max_epi32(x, y); }
ORDER(1, 0xaa)
ORDER(2, 0xcc)
ORDER(4, 0xf0)
static inline NAME(lanes) NAME(reverse_2)(NAME(lanes) x) { return _mm256_shuffle_epi32(x, 0xb1); }
static inline NAME(lanes) NAME(reverse_4)(NAME(lanes) x) { return _mm256_shuffle_epi32(x, 0x1b); }
static inline NAME(lanes) NAME(swap_2)(NAME(lanes) x) { return _mm256_shuffle_epi32(x, 0x4e); }
static inline NAME(lanes) NAME(reverse_8)(NAME(lanes) x) { return NAME(swap_halves)(NAME(reverse_4)(x)); }
static inline unsigned NAME(below)(NAME(lanes) x, NAME(lanes) pivot)
{
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(pivot, x)));
}
static inline __m256i NAME(places)(unsigned below)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(td_sort_places + below)));
}
#else
static inline NAME(lanes) NAME(min)(NAME(lanes) x, NAME(lanes) y)
{
    return _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi64(x, y));
}
static inline NAME(lanes) NAME(max)(NAME(lanes) x, NAME(lanes) y)
{
    return _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi64(x, y));
}
ORDER(1, 0xcc)
ORDER(2, 0xf0)
static inline NAME(lanes) NAME(reverse_2)(NAME(lanes) x) { return _mm256_shuffle_epi32(x, 0x4e); }
static inline NAME(lanes) NAME(reverse_4)(NAME(lanes) x) { return _mm256_permute4x64_epi64(x, 0x1b); }
static inline unsigned NAME(below)(NAME(lanes) x, NAME(lanes) pivot)
{
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(pivot, x)));
}
static inline __m256i NAME(places)(unsigned below)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(td_sort_wide_places + below)));
}
#endif

/* Writes the keys below the pivot from left on and the others so that they end before right; the room between is a
 * register or at least two. Returns how many are below. */
static inline int64_t NAME(split)(NAME(lanes) x, NAME(lanes) pivot, KEY *left, KEY *right)
{
    const unsigned below = NAME(below)(x, pivot);
    const NAME(lanes) parted = _mm256_permutevar8x32_epi32(x, NAME(places)(below));
    NAME(store)(left, parted);
    NAME(store)(right - LANES, parted);
    return __builtin_popcount(below);
}
static inline NAME(lanes) NAME(all)(KEY key) { return SET(key); }

#undef ORDER
#undef OP
#undef SET

/* Elements are sorted by unsigned keys of the same order: 32 bits wide for the narrow types, else 64.
 *
 * A float's key is its bits, with the sign bit turned for positive numbers and every bit for negative ones (Herf, "Radix
 * tricks", 2001). Descending order turns every bit of the key once more, so that equal elements keep their order in both
 * directions. NaNs and zeros need care, because equal elements with different bits must keep their order:
 * with places, 0.0 and -0.0 share a key and every NaN has the largest, and the values are fetched by place; without, NaNs
 * are left out of the sort, and they and the block of mixed zeros are written in the order in which they came. */
#include "sort.h"

#include <string.h>

enum { TD_SORT_RUN = 24, TD_SORT_RADIX_FROM = 16 }; /* the latter times the bytes of a key */

typedef struct {
    uint32_t key, place;
} td_narrow_pair;
typedef struct {
    uint64_t key, place;
} td_wide_pair;

#define ITEM_KEY(item) (item)
#define PAIR_KEY(item) ((item).key)

#define NAME(x) narrow_keys_##x
#define ITEM uint32_t
#define KEY uint32_t
#define KEY_OF ITEM_KEY
#include "sort_body.h"
#undef NAME
#undef ITEM
#undef KEY_OF
#define NAME(x) narrow_pairs_##x
#define ITEM td_narrow_pair
#define KEY_OF PAIR_KEY
#include "sort_body.h"
#undef NAME
#undef ITEM
#undef KEY
#undef KEY_OF
#define NAME(x) wide_keys_##x
#define ITEM uint64_t
#define KEY uint64_t
#define KEY_OF ITEM_KEY
#include "sort_body.h"
#undef NAME
#undef ITEM
#undef KEY_OF
#define NAME(x) wide_pairs_##x
#define ITEM td_wide_pair
#define KEY_OF PAIR_KEY
#include "sort_body.h"

/* --- keys of the element types, and back -------------------------------------------------------------------------- */
#define TOP32 0x80000000u
#define TOP64 0x8000000000000000u
static inline uint32_t key_bool(td_bool x) { return x; }
static inline uint32_t key_u8(uint8_t x) { return x; }
static inline uint32_t key_u16(uint16_t x) { return x; }
static inline uint32_t key_u32(uint32_t x) { return x; }
static inline uint64_t key_u64(uint64_t x) { return x; }
static inline uint32_t key_i8(int8_t x) { return (uint32_t)x ^ TOP32; }
static inline uint32_t key_i16(int16_t x) { return (uint32_t)x ^ TOP32; }
static inline uint32_t key_i32(int32_t x) { return (uint32_t)x ^ TOP32; }
static inline uint64_t key_i64(int64_t x) { return (uint64_t)x ^ TOP64; }
static inline uint32_t key_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & TOP32 ? ~bits : bits ^ TOP32;
}
static inline uint64_t key_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & TOP64 ? ~bits : bits ^ TOP64;
}

static inline td_bool value_bool(uint32_t key) { return (td_bool)key; }
static inline uint8_t value_u8(uint32_t key) { return (uint8_t)key; }
static inline uint16_t value_u16(uint32_t key) { return (uint16_t)key; }
static inline uint32_t value_u32(uint32_t key) { return key; }
static inline uint64_t value_u64(uint64_t key) { return key; }
static inline int8_t value_i8(uint32_t key) { return (int8_t)(key ^ TOP32); }
static inline int16_t value_i16(uint32_t key) { return (int16_t)(key ^ TOP32); }
static inline int32_t value_i32(uint32_t key) { return (int32_t)(key ^ TOP32); }
static inline int64_t value_i64(uint64_t key) { return (int64_t)(key ^ TOP64); }
static inline float value_f32(uint32_t key)
{
    uint32_t bits = key & TOP32 ? key ^ TOP32 : ~key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline double value_f64(uint64_t key)
{
    uint64_t bits = key & TOP64 ? key ^ TOP64 : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* --- a line of one type ------------------------------------------------------------------------------------------- */
#define READ(type, pointer, stride, i) (*(const type *)((pointer) + (i) * (stride)))
#define STEP(type, pointer, stride, i) (*(type *)((pointer) + (i) * (stride)))
#define IS_FLOAT(T) ((T)0.5 != 0)
#define WIDTH_bool narrow
#define WIDTH_u8 narrow
#define WIDTH_u16 narrow
#define WIDTH_u32 narrow
#define WIDTH_u64 wide
#define WIDTH_i8 narrow
#define WIDTH_i16 narrow
#define WIDTH_i32 narrow
#define WIDTH_i64 wide
#define WIDTH_f32 narrow
#define WIDTH_f64 wide
#define KEY_narrow uint32_t
#define KEY_wide uint64_t

#define DEFINE_SORT(sfx, T, ...) DEFINE_SORT_OF(sfx, T, WIDTH_##sfx)
#define DEFINE_SORT_OF(sfx, T, width) DEFINE_SORT_BY(sfx, T, width)
#define DEFINE_SORT_BY(sfx, T, width) \
    static void sort_values_##sfx(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, int descending, \
                                  void *scratch) \
    { \
        KEY_##width *keys = scratch, turn = descending ? (KEY_##width)-1 : 0; \
        int64_t kept = 0, zeros = 0, at; \
        for (int64_t i = 0; i < n; i++) { \
            T element = READ(T, x, sx, i); \
            zeros += IS_FLOAT(T) && element == 0; \
            keys[kept] = key_##sfx(element) ^ turn; \
            kept += element == element; \
        } \
        width##_keys_sort(kept, keys, keys + n); \
        for (int64_t i = 0; i < kept; i++) \
            STEP(T, values, sv, i) = value_##sfx(keys[i] ^ turn); \
        if (zeros > 1) { \
            for (at = 0; READ(T, values, sv, at) != 0; at++) \
                ; \
            for (int64_t i = 0; zeros > 0; i++) \
                if (READ(T, x, sx, i) == 0) { \
                    STEP(T, values, sv, at) = READ(T, x, sx, i); \
                    at++, zeros--; \
                } \
        } \
        for (int64_t i = 0; kept < n; i++) \
            if (READ(T, x, sx, i) != READ(T, x, sx, i)) { \
                STEP(T, values, sv, kept) = READ(T, x, sx, i); \
                kept++; \
            } \
    } \
    static void sort_narrow_pairs_##sfx(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places, \
                                        int64_t sp, int descending, void *scratch) \
    DEFINE_SORT_PAIRS(sfx, T, width, width) \
    static void sort_wide_pairs_##sfx(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places, \
                                      int64_t sp, int descending, void *scratch) \
    DEFINE_SORT_PAIRS(sfx, T, width, wide)

#define DEFINE_SORT_PAIRS(sfx, T, width, pair) \
    { \
        td_##pair##_pair *items = scratch; \
        const KEY_##width turn = descending ? (KEY_##width)-1 : 0; \
        for (int64_t i = 0; i < n; i++) { \
            T element = READ(T, x, sx, i); \
            items[i].key = element != element ? (KEY_##width)-1 : (KEY_##width)(key_##sfx(element == 0 ? 0 : element) ^ turn); \
            items[i].place = (KEY_##pair)i; \
        } \
        pair##_pairs_sort(n, items, items + n); \
        for (int64_t i = 0; places && i < n; i++) \
            STEP(int64_t, places, sp, i) = (int64_t)items[i].place; \
        for (int64_t i = 0; values && i < n; i++) \
            STEP(T, values, sv, i) = READ(T, x, sx, (int64_t)items[i].place); \
    }
TD_TYPES_ALL(DEFINE_SORT, )

#define SORT_ROW(sfx, T, ...) [TD_##sfx] = {sort_values_##sfx, sort_narrow_pairs_##sfx, sort_wide_pairs_##sfx, sizeof(T) == 8},
typedef void (*td_pairs_sort)(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places, int64_t sp,
                              int descending, void *scratch);
static const struct {
    void (*values)(int64_t n, const char *x, int64_t sx, char *values, int64_t sv, int descending, void *scratch);
    td_pairs_sort narrow_pairs, wide_pairs;
    int wide;
} sorts[TD_DTYPE_COUNT] = {TD_TYPES_ALL(SORT_ROW, )};

/* Whether the places of n elements need more than 32 bits. */
static int is_long(int64_t n) { return n > (int64_t)UINT32_MAX; }

int64_t td_sort_scratch(int dtype, int64_t n, int with_places)
{
    int64_t key = sorts[dtype].wide || (with_places && is_long(n)) ? 8 : 4;
    return 2 * n * key * (with_places ? 2 : 1);
}

void td_sort_line(int dtype, int64_t n, const char *x, int64_t sx, char *values, int64_t sv, char *places, int64_t sp,
                  int descending, void *scratch)
{
    if (!places)
        sorts[dtype].values(n, x, sx, values, sv, descending, scratch);
    else if (is_long(n))
        sorts[dtype].wide_pairs(n, x, sx, values, sv, places, sp, descending, scratch);
    else
        sorts[dtype].narrow_pairs(n, x, sx, values, sv, places, sp, descending, scratch);
}

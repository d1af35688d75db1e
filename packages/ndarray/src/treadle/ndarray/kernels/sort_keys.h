/* Elements as signed keys of the same order, 32 bits wide for the narrow types, else 64, and back.
 *
 * A float's key is its bits, of which a negative number has all but the sign turned (Herf, "Radix tricks", 2001);
 * the same step leads back. What is no number is larger than the infinity in its bits without the sign. Descending order
 * turns every bit of the key, so that equal elements keep their order in both directions.
 *
 * M(suffix, bits, key width, most key bits, ...) */
#define TD_SORT_INTEGERS(M) \
    M(bool, uint8_t, 32, 0) M(u8, uint8_t, 32, 0) M(u16, uint16_t, 32, 0) M(u32, uint32_t, 32, INT32_MIN) \
    M(u64, uint64_t, 64, INT64_MIN) M(i8, int8_t, 32, 0) M(i16, int16_t, 32, 0) M(i32, int32_t, 32, 0) \
    M(i64, int64_t, 64, 0)
#define TD_SORT_FLOATS(M) \
    M(f16, int16_t, 32, 0x7c00, 15) M(bf16, int16_t, 32, 0x7f80, 15) M(f32, int32_t, 32, 0x7f800000, 31) \
    M(f64, int64_t, 64, 0x7ff0000000000000, 63)

enum { HAS_NAN = 1, HAS_ZERO = 2, HAS_NEGATIVE_ZERO = 4 };
#define READ(type, pointer, stride, i) (*(const type *)((pointer) + (i) * (stride)))
#define STEP(type, pointer, stride, i) (*(type *)((pointer) + (i) * (stride)))
#define KEY_OF_WIDTH(width) KEY_OF_WIDTH_(width)
#define KEY_OF_WIDTH_(width) int##width##_t

#define DEFINE_INTEGER(sfx, T, width, turned) \
    static inline int##width##_t key_##sfx(T bits) { return (int##width##_t)((uint##width##_t)bits ^ (uint##width##_t)turned); } \
    static inline T bits_##sfx(int##width##_t key) { return (T)((uint##width##_t)key ^ (uint##width##_t)turned); } \
    static inline int is_nan_##sfx(T bits) { (void)bits; return 0; } \
    static inline int is_zero_##sfx(T bits) { return bits == 0; }
#define DEFINE_FLOAT(sfx, T, width, infinity, sign) \
    static inline int##width##_t key_##sfx(T bits) { return bits ^ (T)((bits >> sign) & (((uint64_t)1 << sign) - 1)); } \
    static inline T bits_##sfx(int##width##_t key) { return (T)key_##sfx((T)key); } \
    static inline int is_nan_##sfx(T bits) { return (T)(bits & (((uint64_t)1 << sign) - 1)) > (T)infinity; } \
    static inline int is_zero_##sfx(T bits) { return (T)(bits & (((uint64_t)1 << sign) - 1)) == 0; }
TD_SORT_INTEGERS(DEFINE_INTEGER)
TD_SORT_FLOATS(DEFINE_FLOAT)

/* load: the keys of n elements, and what is among them. order: 64-bit keys of which equal elements have the same. */
#define DEFINE_LOAD(sfx, T, width, is_float) \
    static inline int load_at_##sfx(int64_t n, const char *x, int64_t sx, int##width##_t turn, int##width##_t *keys) \
    { \
        int nans = 0, zeros = 0, negative_zeros = 0; \
        for (int64_t i = 0; i < n; i++) { \
            const T bits = READ(T, x, sx, i); \
            keys[i] = key_##sfx(bits) ^ turn; \
            if (is_float) { \
                nans |= is_nan_##sfx(bits); \
                zeros |= bits == 0; \
                negative_zeros |= is_zero_##sfx(bits) & (bits != 0); \
            } \
        } \
        return nans * HAS_NAN | zeros * HAS_ZERO | negative_zeros * HAS_NEGATIVE_ZERO; \
    } \
    static int load_##sfx(int64_t n, const char *x, int64_t sx, int##width##_t turn, int##width##_t *keys) \
    { \
        return sx == sizeof(T) ? load_at_##sfx(n, x, sizeof(T), turn, keys) : load_at_##sfx(n, x, sx, turn, keys); \
    } \
    static void store_##sfx(int64_t n, const int##width##_t *keys, int##width##_t turn, char *values, int64_t sv) \
    { \
        if (sv == sizeof(T)) \
            for (int64_t i = 0; i < n; i++) \
                ((T *)values)[i] = bits_##sfx(keys[i] ^ turn); \
        else \
            for (int64_t i = 0; i < n; i++) \
                STEP(T, values, sv, i) = bits_##sfx(keys[i] ^ turn); \
    } \
    static inline void order_at_##sfx(int64_t n, const char *x, int64_t sx, int64_t turn, int64_t *keys) \
    { \
        for (int64_t i = 0; i < n; i++) { \
            const T bits = READ(T, x, sx, i); \
            const int64_t key = is_float && is_zero_##sfx(bits) ? 0 : key_##sfx(bits); \
            keys[i] = is_float && is_nan_##sfx(bits) ? INT##width##_MAX : key ^ turn; \
        } \
    } \
    static void order_##sfx(int64_t n, const char *x, int64_t sx, int64_t turn, int64_t *keys) \
    { \
        if (sx == sizeof(T)) \
            order_at_##sfx(n, x, sizeof(T), turn, keys); \
        else \
            order_at_##sfx(n, x, sx, turn, keys); \
    }
#define DEFINE_INTEGER_LOAD(sfx, T, width, turned) DEFINE_LOAD(sfx, T, width, 0)
#define DEFINE_FLOAT_LOAD(sfx, T, width, infinity, sign) DEFINE_LOAD(sfx, T, width, 1)
TD_SORT_INTEGERS(DEFINE_INTEGER_LOAD)
TD_SORT_FLOATS(DEFINE_FLOAT_LOAD)

/* What stays behind in a sort of values by their keys: NaNs are left out of it, and they and the block of mixed zeros
 * are written in the order in which they came. */
#define DEFINE_FLOAT_REST(sfx, T, width, infinity, sign) \
    static int64_t drop_nans_##sfx(int64_t n, const char *x, int64_t sx, int##width##_t turn, int##width##_t *keys) \
    { \
        int64_t kept = 0; \
        for (int64_t i = 0; i < n; i++) { \
            const T bits = READ(T, x, sx, i); \
            keys[kept] = key_##sfx(bits) ^ turn; \
            kept += !is_nan_##sfx(bits); \
        } \
        return kept; \
    } \
    static void restore_##sfx(int64_t n, const char *x, int64_t sx, int64_t kept, int found, char *values, int64_t sv) \
    { \
        int64_t at = 0, nan_at = kept; \
        if ((found & HAS_ZERO) && (found & HAS_NEGATIVE_ZERO)) \
            while (!is_zero_##sfx(READ(T, values, sv, at))) \
                at++; \
        else if (!(found & HAS_NAN)) \
            return; \
        else \
            found &= HAS_NAN; \
        for (int64_t i = 0; i < n; i++) { \
            const T bits = READ(T, x, sx, i); \
            if (is_nan_##sfx(bits)) \
                STEP(T, values, sv, nan_at++) = bits; \
            else if (found != HAS_NAN && is_zero_##sfx(bits)) \
                STEP(T, values, sv, at++) = bits; \
        } \
    }
#define DEFINE_INTEGER_REST(sfx, T, width, turned) \
    static inline int64_t drop_nans_##sfx(int64_t n, const char *x, int64_t sx, int##width##_t turn, int##width##_t *keys) \
    { \
        (void)x, (void)sx, (void)turn, (void)keys; \
        return n; \
    } \
    static inline void restore_##sfx(int64_t n, const char *x, int64_t sx, int64_t kept, int found, char *values, int64_t sv) \
    { \
        (void)n, (void)x, (void)sx, (void)kept, (void)found, (void)values, (void)sv; \
    }
TD_SORT_INTEGERS(DEFINE_INTEGER_REST)
TD_SORT_FLOATS(DEFINE_FLOAT_REST)

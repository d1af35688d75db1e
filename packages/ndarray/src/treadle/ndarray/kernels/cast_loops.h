/* The loops that convert between dtypes. A part of slots_body.h.
 *
 * Integers wrap, anything is converted to bool by being non-zero, floats to integers as treadle/conversion.h says. */
#include "treadle/conversion.h"

#define CONVERT_bool(S, x) ((td_bool)((x) != 0))
#define CONVERT_integer(S, T, x) ((T)(int64_t)(x))
#define CONVERT_i8(S, x) CONVERT_integer(S, int8_t, x)
#define CONVERT_i16(S, x) CONVERT_integer(S, int16_t, x)
#define CONVERT_i32(S, x) CONVERT_integer(S, int32_t, x)
#define CONVERT_i64(S, x) CONVERT_integer(S, int64_t, x)
#define CONVERT_u8(S, x) CONVERT_integer(S, uint8_t, x)
#define CONVERT_u16(S, x) CONVERT_integer(S, uint16_t, x)
#define CONVERT_u32(S, x) CONVERT_integer(S, uint32_t, x)
#define CONVERT_u64(S, x) ((uint64_t)(x))
#define CONVERT_f32(S, x) ((float)(x))
#define CONVERT_f64(S, x) ((double)(x))
#define TD_REAL_TO_bool CONVERT_bool
#define TD_REAL_TO_f32 CONVERT_f32
#define TD_REAL_TO_f64 CONVERT_f64
#define DEFINE_CAST(to, TO, from, FROM, RULE) \
    static void cast_##from##_##to(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        if (DENSE(FROM, sx) && DENSE(TO, so)) { \
            const FROM *xs = (const FROM *)xp; \
            TO *os = (TO *)out; \
            TD_INDEPENDENT \
            for (int64_t i = 0; i < n; i++) \
                os[i] = RULE##_##to(FROM, xs[i]); \
            return; \
        } \
        for (int64_t i = 0; i < n; i++) { \
            FROM x = READ(FROM, xp, sx, i); \
            STEP(TO, out, so, i) = RULE##_##to(FROM, x); \
        } \
    }
#define CASTS_FROM_WHOLE(from, FROM, ...) TD_TYPES_ALL(DEFINE_CAST, from, FROM, CONVERT)
#define CASTS_FROM_REAL(from, FROM, ...) TD_TYPES_ALL(DEFINE_CAST, from, FROM, TD_REAL_TO)
CASTS_FROM_WHOLE(bool, td_bool)
CASTS_FROM_WHOLE(i8, int8_t) CASTS_FROM_WHOLE(i16, int16_t) CASTS_FROM_WHOLE(i32, int32_t)
CASTS_FROM_WHOLE(i64, int64_t) CASTS_FROM_WHOLE(u8, uint8_t) CASTS_FROM_WHOLE(u16, uint16_t)
CASTS_FROM_WHOLE(u32, uint32_t) CASTS_FROM_WHOLE(u64, uint64_t)
CASTS_FROM_REAL(f32, float) CASTS_FROM_REAL(f64, double)

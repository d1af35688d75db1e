/* exp, log, tanh, erf, sigmoid, gelu, sin and cos of float32, where AVX-512 has instructions that the scalar bodies
 * cannot ask for: tables of 32 entries in two registers (VPERMT2PS), scaling by a power of two with its overflow and
 * underflow (VSCALEFPS), exponent and fraction of any number (VGETEXPPS, VGETMANTPS). A part of slots_body.h.
 *
 * Every element of whatever layout goes through the same operations on a register, so that its bits do not depend on
 * the place. tools/write_lane_tables.py writes the tables. */
#include "lane_tables.h"
#include "sanitizer.h"

typedef __m512 lanes;
#define ALL(x) _mm512_set1_ps(x)
#define FMA _mm512_fmadd_ps
#define MAGNITUDE(x) _mm512_abs_ps(x)

static inline lanes lookup(const float *row, __m512i index)
{
    return _mm512_permutex2var_ps(_mm512_loadu_ps(row), index, _mm512_loadu_ps(row + 16));
}

/* What the distance from the center of a segment is multiplied with: rows as write_lane_tables.py has them. */
static inline lanes slope(const float (*table)[32], __m512i index, lanes distance)
{
    lanes p = FMA(lookup(table[6], index), distance, lookup(table[5], index));
    p = FMA(p, distance, lookup(table[4], index));
    p = FMA(p, distance, lookup(table[3], index));
    return FMA(p, distance, lookup(table[2], index));
}

/* An odd function that is 1 from the limit on, by segments that widen; in the first, up to 1 / (16 scale), x itself is
 * parted off. The limit lies in the last segment, as far out as the polynomial needs to round to 1. The second operand
 * of a minimum is the result where one is NaN. */
static inline lanes odd_lanes(lanes x, const float (*table)[32], float limit, float scale)
{
    lanes magnitude = _mm512_min_ps(ALL(limit), MAGNITUDE(x));
    lanes key = FMA(magnitude, ALL(scale), ALL(0.625f));
    __m512i index = _mm512_srli_epi32(_mm512_castps_si512(key), 20);
    lanes distance = _mm512_sub_ps(magnitude, lookup(table[0], index));
    __mmask16 first = _mm512_cmp_ps_mask(key, ALL(0.6875f), _CMP_LT_OQ);
    lanes value = _mm512_mask_mov_ps(lookup(table[1], index), first, magnitude);
    value = FMA(slope(table, index, distance), distance, value);
    return _mm512_or_ps(value, _mm512_and_ps(x, ALL(-0.0f)));
}
static inline lanes tanh_lanes(lanes x) { return odd_lanes(x, td_tanh_table, 9.3f, 1.0f); }
static inline lanes erf_lanes(lanes x) { return odd_lanes(x, td_erf_table, 3.99f, 2.34375f); }

/* exp(x) = 2^n (1 + r + r^2 q(r)), as math_exponential.h has it. What vanishes, such as exp(-inf) under a mask of
 * attention, is set to 0: an underflow of VSCALEFPS takes the processor a hundred times longer. */
static inline lanes exp_lanes(lanes x)
{
    const __mmask16 stays = _mm512_cmp_ps_mask(x, ALL(-104.0f), _CMP_NLT_UQ);
    x = _mm512_maskz_min_ps(stays, ALL(89.0f), x);
    lanes n = _mm512_sub_ps(FMA(x, ALL(1.44269504088896341f), ALL(TD_ROUND_F32)), ALL(TD_ROUND_F32));
    lanes r = FMA(n, ALL(2.12194440e-4f), FMA(n, ALL(-0.693359375f), x));
    lanes q = FMA(ALL(1.38145895e-3f), r, ALL(8.36874638e-3f));
    q = FMA(q, r, ALL(4.1668389e-2f));
    q = FMA(q, r, ALL(1.66665196e-1f));
    q = FMA(q, r, ALL(4.9999994e-1f));
    return _mm512_maskz_scalef_ps(stays, _mm512_add_ps(FMA(q, _mm512_mul_ps(r, r), r), ALL(1.0f)), n);
}

/* e ln 2 - log r + log(r m), with m in [3/4, 3/2) and r near 1 / m, which is 1 near 1. Zero and infinity come right
 * from the exponent, and the fraction of a negative number is NaN. */
static inline lanes log_lanes(lanes x)
{
    lanes m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    lanes e = _mm512_getexp_ps(x);
    e = _mm512_mask_add_ps(e, _mm512_cmp_ps_mask(m, ALL(1.0f), _CMP_LT_OQ), e, ALL(1.0f));
    __m512i index = _mm512_srli_epi32(_mm512_castps_si512(m), 18);
    lanes f = FMA(m, lookup(td_log_table[0], index), ALL(-1.0f));
    lanes p = FMA(f, ALL(0.194108263f), ALL(-0.250017971f));
    p = FMA(p, f, ALL(0.333334774f));
    p = FMA(p, f, ALL(-0.5f));
    lanes high = FMA(e, ALL(0.693147182f), lookup(td_log_table[1], index));
    return _mm512_add_ps(high, FMA(p, _mm512_mul_ps(f, f), f));
}

/* A function of |x| that falls to 0, by even segments of 1 / density. */
static inline lanes falling_lanes(lanes magnitude, const float (*table)[32], float density)
{
    __m512i index = _mm512_castps_si512(FMA(magnitude, ALL(density), ALL(TD_ROUND_F32)));
    lanes distance = _mm512_sub_ps(magnitude, lookup(table[0], index));
    return FMA(slope(table, index, distance), distance, lookup(table[1], index));
}

/* value, but in the chosen lanes what the loop of the scalar body makes of x. */
__attribute__((noinline)) static lanes by_elements(td_unary_loop loop, lanes x, __mmask16 chosen, lanes value)
{
    float elements[16] __attribute__((aligned(64)));
    _mm512_store_ps(elements, x);
    loop(16, (const char *)elements, sizeof(float), (char *)elements, sizeof(float));
    return _mm512_mask_load_ps(value, chosen, elements);
}
#define BUT_BEYOND(op, limit, x, value) \
    __mmask16 beyond = _mm512_cmp_ps_mask(MAGNITUDE(x), ALL(limit), _CMP_GT_OQ); \
    return __builtin_expect(beyond, 0) ? by_elements(unary_##op##_f32, x, beyond, value) : value;

static inline lanes sigmoid_lanes(lanes x)
{
    lanes value = falling_lanes(MAGNITUDE(x), td_falling_sigmoid_table, 2.0f);
    __mmask16 upper = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ);
    value = _mm512_mask_sub_ps(value, upper, ALL(1.0f), value);
    BUT_BEYOND(sigmoid, 15.7f, x, value)
}

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|). The maximum of equal zeros is the second. */
static inline lanes gelu_lanes(lanes x)
{
    lanes tail = falling_lanes(MAGNITUDE(x), td_upper_tail_table, 8.0f);
    lanes value = _mm512_fnmadd_ps(MAGNITUDE(x), tail, _mm512_max_ps(_mm512_setzero_ps(), x));
    BUT_BEYOND(gelu, 3.9f, x, value)
}

/* As math_trigonometric.h has them. The 0 that is added keeps the sign of sin(-0). */
static inline lanes wave_lanes(lanes x, float quarters)
{
    lanes shifted = FMA(x, ALL(0.636619772f), ALL(TD_ROUND_F32 + quarters));
    lanes n = _mm512_sub_ps(shifted, ALL(TD_ROUND_F32 + quarters));
    lanes r = FMA(n, ALL(-1.57079601287841796875f), x);
    r = FMA(n, ALL(-3.1391647326017846353352069854736328125e-7f), r);
    r = FMA(n, ALL(-5.390302529957764765544e-15f), r);
    lanes z = _mm512_mul_ps(r, r);
    lanes s = FMA(ALL(2.7243782e-6f), z, ALL(-1.9840039e-4f));
    s = FMA(FMA(s, z, ALL(8.333332e-3f)), z, ALL(-1.6666667e-1f));
    s = FMA(FMA(s, z, _mm512_setzero_ps()), r, r);
    lanes c = FMA(FMA(ALL(2.4542871e-5f), z, ALL(-1.3888279e-3f)), z, ALL(4.1666664e-2f));
    c = FMA(FMA(c, z, ALL(-0.5f)), z, ALL(1.0f));
    __m512i quadrant = _mm512_castps_si512(shifted);
    lanes value = _mm512_mask_blend_ps(_mm512_test_epi32_mask(quadrant, _mm512_set1_epi32(1)), s, c);
    __m512i sign = _mm512_and_si512(_mm512_slli_epi32(quadrant, 30), _mm512_set1_epi32((int)0x80000000u));
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(value), sign));
}

static inline lanes sin_lanes(lanes x)
{
    lanes value = wave_lanes(x, 0.0f);
    BUT_BEYOND(sin, TD_USUAL_F32, x, value)
}

static inline lanes cos_lanes(lanes x)
{
    lanes value = wave_lanes(x, 1.0f);
    BUT_BEYOND(cos, TD_USUAL_F32, x, value)
}

/* --- the loops ---------------------------------------------------------------------------------------------------- */
#define DEFINE_LANES(op) \
    static void lanes_##op(int64_t n, const char *xp, int64_t sx, char *out, int64_t so) \
    { \
        if (DENSE(float, sx) && DENSE(float, so)) { \
            for (; n >= 16; n -= 16, xp += 64, out += 64) \
                _mm512_storeu_ps((float *)out, op##_lanes(_mm512_loadu_ps((const float *)xp))); \
            const __mmask16 rest = (__mmask16)((1u << n) - 1); \
            if (!TD_SANITIZED) { /* which does not look at masked reads */ \
                if (rest) \
                    _mm512_mask_storeu_ps((float *)out, rest, op##_lanes(_mm512_maskz_loadu_ps(rest, xp))); \
                return; \
            } \
        } \
        float elements[16] __attribute__((aligned(64))) = {0.0f}; \
        for (; n > 0; n -= 16, xp += 16 * sx, out += 16 * so) { \
            const int count = n < 16 ? (int)n : 16; \
            for (int i = 0; i < count; i++) \
                elements[i] = READ(float, xp, sx, i); \
            _mm512_store_ps(elements, op##_lanes(_mm512_load_ps(elements))); \
            for (int i = 0; i < count; i++) \
                STEP(float, out, so, i) = elements[i]; \
        } \
    }
DEFINE_LANES(exp)
DEFINE_LANES(log)
DEFINE_LANES(tanh)
DEFINE_LANES(erf)
DEFINE_LANES(sigmoid)
DEFINE_LANES(gelu)
DEFINE_LANES(sin)
DEFINE_LANES(cos)
#define SLOT_LANES(op) [TD_UNARY_##op][TD_f32] = lanes_##op,
#define SLOTS_LANES \
    SLOT_LANES(exp) SLOT_LANES(log) SLOT_LANES(tanh) SLOT_LANES(erf) SLOT_LANES(sigmoid) SLOT_LANES(gelu) \
    SLOT_LANES(sin) SLOT_LANES(cos)
#undef ALL
#undef FMA
#undef MAGNITUDE
#undef BUT_BEYOND

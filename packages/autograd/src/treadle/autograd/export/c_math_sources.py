"""The texts of our own functions of ``math.h``, which :mod:`treadle.autograd.export.c_math` chooses from.

Each argument is brought to a small interval, where a power series, cut off below the last bit, does the rest.
Sources: J.-M. Muller, "Elementary Functions", third edition, chapters 3 and 11; W. Cody, W. Waite, "Software Manual for
the Elementary Functions", 1980 (reductions); M. Payne, R. Hanek, "Radian reduction for trigonometric functions", 1983
(large angles).
"""

from treadle.autograd.export.c_math_terms import ATAN, ATANH, COS, ERF, ERFC, EXP, SIN, TANH, series

__all__ = ["SOURCES"]

_BITS = """static inline {kind} own_bits{s}({type} x) {{ {kind} bits; memcpy(&bits, &x, sizeof bits); return bits; }}
static inline {type} own_of_bits{s}({kind} bits) {{ {type} x; memcpy(&x, &bits, sizeof x); return x; }}"""

SOURCES = {
    "bits": _BITS.format(kind="uint64_t", type="double", s=""),
    "bitsf": _BITS.format(kind="uint32_t", type="float", s="f"),
    "signbit": "static inline int own_signbit(double x) { return own_bits(x) >> 63 != 0; }",
    "fabs": "static inline double own_fabs(double x) { return x > 0 ? x : 0.0 - x; }",
    "fabsf": "static inline float own_fabsf(float x) { return x > 0 ? x : 0.0f - x; }",
    "copysign": """static inline double own_copysign(double x, double y)
{
    return own_of_bits((own_bits(x) & ~(UINT64_C(1) << 63)) | (own_bits(y) & UINT64_C(1) << 63));
}""",
    "copysignf": """static inline float own_copysignf(float x, float y)
{
    return own_of_bitsf((own_bitsf(x) & 0x7FFFFFFFu) | (own_bitsf(y) & 0x80000000u));
}""",
    "trunc": """static double own_trunc(double x)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) return x;
    return own_copysign((double)(int64_t)x, x);
}""",
    "floor": "static double own_floor(double x) { const double y = own_trunc(x); return y > x ? y - 1.0 : y; }",
    "ceil": """static double own_ceil(double x)
{
    const double y = own_trunc(x);
    return y < x ? own_copysign(y + 1.0, x) : y;
}""",
    "rint": """static double own_rint(double x)
{
    if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) return x;
    int64_t whole = (int64_t)x;
    const double rest = x - (double)whole;
    const int odd = (whole & 1) != 0;
    if (rest > 0.5 || (odd && rest == 0.5)) ++whole;
    if (rest < -0.5 || (odd && rest == -0.5)) --whole;
    return own_copysign((double)whole, x);
}""",
    "rintf": """static float own_rintf(float x)
{
    if (!(x > -8388608.0f && x < 8388608.0f)) return x;
    int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    const int odd = (whole & 1) != 0;
    if (rest > 0.5f || (odd && rest == 0.5f)) ++whole;
    if (rest < -0.5f || (odd && rest == -0.5f)) --whole;
    return own_copysignf((float)whole, x);
}""",
    "scale": """/* x times two to the power n, in two steps, so that subnormal numbers are rounded once. */
static double own_scale(double x, int n)
{
    const int half = n / 2;
    return x * own_of_bits((uint64_t)(half + 1023) << 52) * own_of_bits((uint64_t)(n - half + 1023) << 52);
}""",
    "scalef": """/* x times two to the power n, in two steps, so that subnormal numbers are rounded once. */
static float own_scalef(float x, int n)
{
    const int half = n / 2;
    return x * own_of_bitsf((uint32_t)(half + 127) << 23) * own_of_bitsf((uint32_t)(n - half + 127) << 23);
}""",
    "split": """/* A positive finite number as m times two to the power *n, m between the square roots of 1/2 and 2. */
static double own_split(double x, int *n)
{
    int more = 0;
    if (x < 2.2250738585072014e-308) { x *= 18014398509481984.0; more = -54; }
    const uint64_t bits = own_bits(x);
    double m = own_of_bits((bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(0x3FF) << 52);
    *n = (int)(bits >> 52) - 1023 + more;
    if (m > 1.4142135623730951) { m *= 0.5; ++*n; }
    return m;
}""",
    "exp": f"""/* exp(x) = 2^n exp(r), |r| <= log(2) / 2. */
static double own_exp(double x)
{{
    if (x != x) return x;
    if (x > 709.8) return INFINITY;
    if (x < -745.2) return 0.0;
    const double n = own_rint(x * 1.4426950408889634);
    const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
{series(EXP, "r")}
    return own_scale(sum, (int)n);
}}""",
    "expf": f"""/* exp(x) = 2^n exp(r), |r| <= log(2) / 2. */
static float own_expf(float x)
{{
    if (x != x) return x;
    if (x > 88.8f) return INFINITY;
    if (x < -104.0f) return 0.0f;
    const float n = own_rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
{series(EXP[2:9], "r", True)}
    return own_scalef(1.0f + (r + r * r * sum), (int)n);
}}""",
    "expm1": f"""static double own_expm1(double x)
{{
    if (x > 0.35 || x < -0.35) return own_exp(x) - 1.0;
    if (x == 0) return x;
{series(EXP[2:], "x")}
    return x + x * x * sum;
}}""",
    "exp2": """static double own_exp2(double x)
{
    if (x != x) return x;
    if (x >= 1024.0) return INFINITY;
    if (x < -1080.0) return 0.0;
    const double n = own_rint(x);
    return own_scale(own_exp((x - n) * 0.69314718055994530942), (int)n);
}""",
    "log": f"""/* log(m 2^n) = n log(2) + 2 atanh((m - 1) / (m + 1)). */
static double own_log(double x)
{{
    int n;
    if (x != x || x < 0) return x - x + (x < 0 ? (double)NAN : 0.0);
    if (x == 0) return -(double)INFINITY;
    if (x - x != 0) return x;
    const double m = own_split(x, &n);
    const double s = (m - 1.0) / (m + 1.0), square = s * s;
{series(ATANH[1:], "square")}
    const double f = m - 1.0, half = 0.5 * f * f;
    const double tail = s * (half + 2.0 * square * sum) + n * 1.90821492927058770002e-10;
    return n * 0.693147180369123816490 + (f - (half - tail));
}}""",
    "logf": f"""/* log(m 2^n) = n log(2) + 2 atanh((m - 1) / (m + 1)). */
static float own_logf(float x)
{{
    int n = -127;
    if (x != x || x < 0) return x - x + (x < 0 ? NAN : 0.0f);
    if (x == 0) return -INFINITY;
    if (x - x != 0) return x;
    if (x < 1.17549435e-38f) {{ x *= 33554432.0f; n = -152; }}
    const uint32_t bits = own_bitsf(x);
    float m = own_of_bitsf((bits & 0x7FFFFFu) | 0x3F800000u);
    n += (int)(bits >> 23);
    if (m > 1.41421356f) {{ m *= 0.5f; ++n; }}
    const float s = (m - 1.0f) / (m + 1.0f), square = s * s;
{series(ATANH[1:6], "square", True)}
    const float f = m - 1.0f, half = 0.5f * f * f;
    const float tail = s * (half + 2.0f * square * sum) + (float)n * -2.12194440e-4f;
    return (float)n * 0.693359375f + (f - (half - tail));
}}""",
    "log1p": """static double own_log1p(double x)
{
    const double y = 1.0 + x;
    if (y == 1.0 || (y > 0 && y - y != 0)) return x;
    return y > 0 ? own_log(y) + (x - (y - 1.0)) / y : own_log(y);
}""",
    "log2": """static double own_log2(double x)
{
    int n;
    if (!(x > 0 && x - x == 0)) return own_log(x);
    const double m = own_split(x, &n);
    return n + own_log(m) * 1.4426950408889634;
}""",
    "log10": "static double own_log10(double x) { return own_log(x) * 0.43429448190325182765; }",
    "sqrt": """/* By Newton's method, from a guess that halves the exponent. */
static double own_sqrt(double x)
{
    if (!(x > 0) || x - x != 0) return x < 0 ? (double)NAN : x;
    double scale = 1.0;
    if (x < 1e-290) { x *= 18446744073709551616.0; scale = 2.3283064365386963e-10; }
    double y = own_of_bits((own_bits(x) >> 1) + (UINT64_C(0x1FF8) << 48));
    for (int turn = 0; turn < 5; turn++) y = 0.5 * (y + x / y);
    return y * scale;
}""",
    "sqrtf": """/* By Newton's method, from a guess that halves the exponent; the last step takes what is missing. */
static float own_sqrtf(float x)
{
    if (!(x > 0) || x - x != 0) return x < 0 ? NAN : x;
    double y = own_of_bits((own_bits((double)x) >> 1) + (UINT64_C(0x1FF8) << 48));
    for (int turn = 0; turn < 4; turn++) y = 0.5 * (y + (double)x / y);
    return (float)y;
}""",
    "hypot": """static double own_hypot(double x, double y)
{
    double a = own_fabs(x), b = own_fabs(y);
    if ((a == a && a - a != 0) || (b == b && b - b != 0)) return INFINITY;
    if (a < b) { const double c = a; a = b; b = c; }
    if (!(b > 0)) return a + b;
    const double ratio = b / a;
    return a * own_sqrt(1.0 + ratio * ratio);
}""",
    "hypotf": """static float own_hypotf(float x, float y)
{
    const double a = x, b = y;
    if ((x == x && x - x != 0) || (y == y && y - y != 0)) return INFINITY;
    return (float)own_sqrt(a * a + b * b);
}""",
    "quadrant": """/* The angle as a multiple of pi/2, which is given modulo 4, and a rest *r, |*r| <= pi/4. */
static int own_quadrant(double x, double *r)
{
    static const uint32_t digits[] = { /* of 2 / pi */
        0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu, 0xDEBBC561u,
        0xB7246E3Au, 0x424DD2E0u, 0x06492EEAu, 0x09D1921Cu, 0xFE1DEB1Cu, 0xB129A73Eu, 0xE88235F5u, 0x2EBB4484u,
        0xE99C7026u, 0xB45F7E41u, 0x3991D639u, 0x835339F4u, 0x9C845F8Bu, 0xBDF9283Bu, 0x1FF897FFu, 0xDE05980Fu,
        0xEF2F118Bu, 0x5A0A6D1Fu, 0x6D367ECFu, 0x27CB09B7u, 0x4F463F66u, 0x9E5FEA2Du, 0x7527BAC7u, 0xEBE5F17Bu,
        0x3D0739F7u, 0x8A5292EAu, 0x6BFB5FB1u, 0x1F8D5D08u, 0x56033046u, 0xFC7B6BABu,
    };
    if (x > -500000.0 && x < 500000.0) { /* n times each of the first parts of pi/2 is exact */
        const double n = own_rint(x * 0.63661977236758134308);
        *r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
        return (int)((int64_t)n & 3);
    }
    /* m 2^e times 192 of the digits, of which those before are multiples of 4 */
    const uint64_t bits = own_bits(x), m = (bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(1) << 52;
    const int start = (int)(bits >> 52 & 0x7FF) - 1023 - 52 - 2; /* the digit of weight 2, counted from 0 */
    uint32_t product[6] = {0, 0, 0, 0, 0, 0};
    for (int word = 5; word >= 0; word--) {
        const int at = start + 32 * word, first = at >= 0 ? at / 32 : -((31 - at) / 32), shift = at - 32 * first;
        const uint32_t high = first >= 0 ? digits[first] : 0u, low = first >= -1 ? digits[first + 1] : 0u;
        const uint32_t digit = shift ? high << shift | low >> (32 - shift) : high;
        for (int part = 0; part < 2; part++) {
            uint64_t carry = (uint64_t)digit * (part ? m >> 32 : m & 0xFFFFFFFFu);
            for (int to = word - part; to >= 0 && carry; to--) {
                carry += product[to];
                product[to] = (uint32_t)(carry & 0xFFFFFFFFu);
                carry >>= 32;
            }
        }
    }
    int n = (int)(product[0] >> 30);
    const uint64_t high = (uint64_t)product[0] << 34 | (uint64_t)product[1] << 2 | product[2] >> 30;
    const uint64_t low = (uint64_t)product[2] << 34 | (uint64_t)product[3] << 2 | product[4] >> 30;
    const int back = high >> 63 != 0; /* from the next multiple */
    const uint64_t top = back ? ~high : high, bottom = back ? ~low : low;
    const double rest = (double)top * 5.421010862427522e-20 + (double)bottom * 2.938735877055719e-39;
    n += back;
    *r = (back != own_signbit(x) ? -rest : rest) * 1.57079632679489661923;
    return (own_signbit(x) ? -n : n) & 3;
}""",
    "wave": f"""/* sin(r + quadrant pi/2), |r| <= pi/4. */
static double own_wave(double r, int quadrant)
{{
    const double square = r * r;
    double result;
    if (quadrant & 1) {{
{series(COS, "square").replace("    ", "        ")}
        result = sum;
    }} else {{
{series(SIN[1:], "square").replace("    ", "        ")}
        result = r + r * square * sum;
    }}
    return quadrant & 2 ? -result : result;
}}""",
    "sin": """static double own_sin(double x)
{
    double r;
    if (x - x != 0) return NAN;
    if (x == 0) return x;
    const int quadrant = own_quadrant(x, &r);
    return own_wave(r, quadrant);
}""",
    "cos": """static double own_cos(double x)
{
    double r;
    if (x - x != 0) return NAN;
    const int quadrant = own_quadrant(x, &r);
    return own_wave(r, quadrant + 1);
}""",
    "tan": """static double own_tan(double x)
{
    double r;
    if (x - x != 0) return NAN;
    if (x == 0) return x;
    const int quadrant = own_quadrant(x, &r);
    return own_wave(r, quadrant) / own_wave(r, quadrant + 1);
}""",
    "atan": f"""/* atan(x) = atan(c) + atan((x - c) / (1 + c x)), c the nearest quarter. */
static double own_atan(double x)
{{
    static const double places[] = {{0.0, 0.24497866312686414, 0.46364760900080609, 0.64350110879328437,
                                    0.78539816339744828}};
    if (x != x || x == 0) return x;
    const double a = own_fabs(x), b = a > 1.0 ? 1.0 / a : a;
    const int quarter = (int)(4.0 * b + 0.5);
    const double c = 0.25 * quarter, t = (b - c) / (1.0 + c * b), square = t * t;
{series(ATAN[1:], "square")}
    const double angle = places[quarter] + (t + t * square * sum);
    return own_copysign(a > 1.0 ? 1.57079632679489661923 - (angle - 6.123233995736766e-17) : angle, x);
}}""",
    "atan2": """static double own_atan2(double y, double x)
{
    double angle;
    if (x != x || y != y) return x + y;
    const double a = own_fabs(y), b = own_fabs(x);
    if (a == 0) angle = 0.0;
    else if (a - a != 0) angle = b - b != 0 ? 0.78539816339744830962 : 1.57079632679489661923;
    else angle = b - b != 0 ? 0.0 : a > b ? 1.57079632679489661923 - own_atan(b / a) : own_atan(a / b);
    return own_copysign(own_signbit(x) ? 3.14159265358979323846 - angle : angle, y);
}""",
    "asin": """static double own_asin(double x)
{
    return x > -0.5 && x < 0.5 ? (x == 0 ? x : own_atan(x / own_sqrt((1.0 - x) * (1.0 + x))))
                               : own_copysign(1.57079632679489661923 - own_acos(own_fabs(x)), x);
}""",
    "acos": """static double own_acos(double x)
{
    if (!(x >= -1.0 && x <= 1.0)) return NAN;
    return 2.0 * own_atan2(own_sqrt(1.0 - x), own_sqrt(1.0 + x));
}""",
    "sinh": """static double own_sinh(double x)
{
    const double a = own_fabs(x), e = own_expm1(a > 700.0 ? 0.5 * a : a);
    if (x == 0 || x != x) return x;
    return own_copysign(a > 700.0 ? 0.5 * (e + 1.0) * (e + 1.0) : 0.5 * (e + e / (e + 1.0)), x);
}""",
    "cosh": """static double own_cosh(double x)
{
    const double a = own_fabs(x), e = own_exp(a > 700.0 ? 0.5 * a : a);
    return a > 700.0 ? 0.5 * e * e : 0.5 * (e + 1.0 / e);
}""",
    "tanh": """static double own_tanh(double x)
{
    const double a = own_fabs(x), e = own_expm1(2.0 * a);
    if (x == 0 || x != x) return x;
    return own_copysign(a > 20.0 ? 1.0 : e / (e + 2.0), x);
}""",
    "tanhf": f"""static float own_tanhf(float x)
{{
    const float a = own_fabsf(x), square = x * x, e = own_expf(-2.0f * a);
    if (x == 0 || x != x) return x;
    if (a >= 0.55f) return own_copysignf((1.0f - e) / (1.0f + e), x); /* at least 1/2: a larger unit */
{series(TANH, "square", True)}
    return x + x * square * sum;
}}""",
    "asinh": """static double own_asinh(double x)
{
    const double a = own_fabs(x), square = a * a;
    if (x == 0 || x - x != 0) return x;
    if (a > 1e9) return own_copysign(own_log(a) + 0.69314718055994530942, x);
    return own_copysign(own_log1p(a + square / (1.0 + own_sqrt(1.0 + square))), x);
}""",
    "acosh": """static double own_acosh(double x)
{
    const double t = x - 1.0;
    if (!(x >= 1.0)) return NAN;
    return x > 1e9 ? own_log(x) + 0.69314718055994530942 : own_log1p(t + own_sqrt(t * (2.0 + t)));
}""",
    "atanh": """static double own_atanh(double x)
{
    const double a = own_fabs(x);
    if (x == 0 || x != x) return x;
    return own_copysign(0.5 * own_log1p(2.0 * a / (1.0 - a)), x);
}""",
    "pow": """static double own_pow(double x, double y)
{
    if (y == 0 || x == 1.0) return 1.0;
    if (x != x || y != y) return x + y;
    const double a = own_fabs(x), half = 0.5 * y;
    const int whole = y == own_floor(y), odd = whole && y - y == 0 && half != own_floor(half);
    double result;
    if (y - y != 0) return a == 1.0 ? 1.0 : (a > 1.0) == (y > 0) ? (double)INFINITY : 0.0;
    if (a == 0 || a - a != 0) result = (a == 0) == (y < 0) ? (double)INFINITY : 0.0;
    else if (x < 0 && !whole) return NAN;
    else result = own_exp(y * own_log(a));
    return odd && own_signbit(x) ? -result : result;
}""",
    "fmod": """/* The divisor, doubled as often as it goes, is taken off while it is halved: every step is exact. */
static double own_fmod(double x, double y)
{
    double a = own_fabs(x), part;
    const double b = own_fabs(y);
    if (!(b > 0) || a - a != 0) return x != x || y != y ? x + y : (double)NAN;
    if (b - b != 0 || a < b) return x;
    for (part = b; part <= 0.5 * a;) part *= 2.0;
    for (;; part *= 0.5) {
        if (a >= part) a -= part;
        if (part == b) return own_copysign(a, x);
    }
}""",
    "erfc": f"""/* erfc(z) = t exp(p - z^2) with t = 2 / (2 + z), p in Chebyshev polynomials of t (Clenshaw's sum). */
static double own_erfc(double x)
{{
    static const double terms[] = {{
        {", ".join(f"{each:.17g}" for each in ERFC[:7])},
        {", ".join(f"{each:.17g}" for each in ERFC[7:14])},
        {", ".join(f"{each:.17g}" for each in ERFC[14:21])},
        {", ".join(f"{each:.17g}" for each in ERFC[21:])},
    }};
    if (x != x) return x;
    if (x > -0.5 && x < 0.5) return 1.0 - own_erf(x);
    const double z = own_fabs(x), t = 2.0 / (2.0 + z), u = 4.0 * t - 2.0;
    double p = 0.0, before = 0.0;
    for (int term = {len(ERFC) - 1}; term > 0; term--) {{
        const double next = u * p - before + terms[term];
        before = p;
        p = next;
    }}
    p = 0.5 * u * p - before + terms[0];
    const double head = (double)(float)(z > 30.0 ? 30.0 : z); /* its square is exact */
    const double result = t * (own_exp(-head * head) * own_exp((head - z) * (head + z) + p));
    return x < 0 ? 2.0 - result : result;
}}""",
    "erf": f"""static double own_erf(double x)
{{
    if (x != x || x == 0) return x;
    if (x > 0.5) return 1.0 - own_erfc(x);
    if (x < -0.5) return own_erfc(-x) - 1.0;
    const double square = x * x;
{series(ERF, "square")}
    return 1.12837916709551257390 * x * sum;
}}""",
    "nextafter": """static double own_nextafter(double x, double y)
{
    const uint64_t bits = own_bits(x);
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) return own_copysign(4.9406564584124654e-324, y);
    return own_of_bits((x < y) == (x > 0) ? bits + 1 : bits - 1);
}""",
    "nextafterf": """static float own_nextafterf(float x, float y)
{
    const uint32_t bits = own_bitsf(x);
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) return own_copysignf(1.40129846e-45f, y);
    return own_of_bitsf((x < y) == (x > 0) ? bits + 1 : bits - 1);
}""",
}  # fmt: skip

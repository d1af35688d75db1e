/* The functions of a complex variable that treadle/complex_math.h takes from the C library on the host, for devices.
 * Special values are those of C11, annex G, which the array API standard's are.
 *
 * The inverse functions: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign
 * bit", in A. Iserles, M. J. D. Powell (eds.), "The state of the art in numerical analysis" (1987). */
#ifndef TREADLE_CUDA_COMPLEX_FUNCTIONS_H
#define TREADLE_CUDA_COMPLEX_FUNCTIONS_H

#include "treadle/complex_math.h"

#define TD_HALF_PI 1.57079632679489661923

TD_FN td_c128 td_pair(double re, double im)
{
    td_c128 z = {re, im};
    return z;
}

TD_FN int td_finite(double x) { return x - x == 0.0; }

/* i z and -i z. */
TD_FN td_c128 td_turned(td_c128 z) { return td_pair(-z.im, z.re); }
TD_FN td_c128 td_turned_back(td_c128 z) { return td_pair(z.im, -z.re); }

/* Scaled by a power of 4 where the length would overflow or lose digits. */
TD_FN td_c128 td_sqrt_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (td_isinf(y))
        return td_pair(INFINITY, y);
    if (td_isinf(x))
        return x > 0.0 ? td_pair(x, y != y ? y : copysign(0.0, y)) : td_pair(y != y ? y : 0.0, copysign(INFINITY, y));
    if (x != x || y != y)
        return td_pair(NAN, NAN);
    if (x == 0.0 && y == 0.0)
        return td_pair(0.0, y);
    double largest = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    double scale = largest > 1e300 ? 0x1p-4 : largest < 1e-280 ? 0x1p200 : 1.0;
    double back = largest > 1e300 ? 0x1p2 : largest < 1e-280 ? 0x1p-100 : 1.0;
    x *= scale, y *= scale;
    double root = sqrt(0.5 * (fabs(x) + hypot(x, y))), other = fabs(y) / (2.0 * root);
    return x >= 0.0 ? td_pair(root * back, copysign(other * back, y)) : td_pair(other * back, copysign(root * back, y));
}

/* scale e^x (cos y, sin y): in two steps, where e^x overflows and the product may not. */
TD_FN td_c128 td_polar(double scale, double x, double y)
{
    double step = x > 700.0 ? exp(0.5 * x) : 1.0, rest = x > 700.0 ? step : exp(x);
    return td_pair(scale * rest * cos(y) * step, scale * rest * sin(y) * step);
}

TD_FN td_c128 td_exp_c128(td_c128 z)
{
    if (z.im == 0.0)
        return td_pair(exp(z.re), z.im);
    if (td_finite(z.im))
        return td_polar(1.0, z.re, z.im);
    if (td_isinf(z.re))
        return z.re > 0.0 ? td_pair(INFINITY, NAN) : td_pair(0.0, copysign(0.0, z.im));
    return td_pair(NAN, NAN);
}

TD_FN double td_log_length(double x, double y)
{
    double a = fabs(x) > fabs(y) ? fabs(x) : fabs(y), b = fabs(x) > fabs(y) ? fabs(y) : fabs(x);
    if (a > 0.5 && a < 2.0 && b < 2.0)
        return 0.5 * log1p(td_square_less_one(a - 1.0, b));
    if (a > 1e300 && td_finite(a))
        return log(hypot(0.25 * a, 0.25 * b)) + 1.38629436111989061883;
    if (a < 1e-290 && a > 0.0)
        return log(hypot(a * 0x1p100, b * 0x1p100)) - 69.3147180559945309417;
    return log(hypot(x, y));
}

TD_FN td_c128 td_log_c128(td_c128 z) { return td_pair(td_log_length(z.re, z.im), atan2(z.im, z.re)); }

TD_FN td_c128 td_sinh_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (y == 0.0)
        return td_pair(sinh(x), y);
    if (!td_finite(y))
        return td_pair(x == 0.0 || td_isinf(x) ? x : NAN, NAN);
    if (fabs(x) > 700.0) {
        td_c128 grown = td_polar(0.5, fabs(x), y);
        return td_pair(copysign(1.0, x) * grown.re, grown.im);
    }
    return td_pair(sinh(x) * cos(y), cosh(x) * sin(y));
}

TD_FN td_c128 td_cosh_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (y == 0.0)
        return td_pair(cosh(x), x != x || x == 0.0 || td_isinf(x) ? copysign(0.0, x) * copysign(1.0, y) : sinh(x) * y);
    if (!td_finite(y))
        return td_pair(td_isinf(x) ? INFINITY : NAN, x == 0.0 ? 0.0 : NAN);
    if (fabs(x) > 700.0) {
        td_c128 grown = td_polar(0.5, fabs(x), y);
        return td_pair(grown.re, copysign(1.0, x) * grown.im);
    }
    return td_pair(cosh(x) * cos(y), sinh(x) * sin(y));
}

TD_FN td_c128 td_tanh_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (td_isinf(x))
        return td_pair(copysign(1.0, x), copysign(0.0, y));
    if (x != x)
        return td_pair(x, y == 0.0 ? y : NAN);
    if (!td_finite(y))
        return td_pair(x == 0.0 ? x : NAN, NAN);
    if (fabs(x) > 20.0)
        return td_pair(copysign(1.0, x), 4.0 * sin(y) * cos(y) * exp(-2.0 * fabs(x)));
    double tangent = tan(y), square = 1.0 + tangent * tangent, s = sinh(x), below = 1.0 + square * s * s;
    return td_pair(square * sqrt(1.0 + s * s) * s / below, tangent / below);
}

TD_FN td_c128 td_asinh_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (td_isinf(x) || td_isinf(y))
        return td_pair(copysign(INFINITY, x), atan2(y, fabs(x)));
    if (x != x || y != y)
        return td_pair(NAN, y == 0.0 ? y : NAN);
    td_c128 s = td_sqrt_c128(td_pair(1.0 - y, x)), t = td_sqrt_c128(td_pair(1.0 + y, -x));
    return td_pair(asinh(t.re * s.im - t.im * s.re), atan2(y, s.re * t.re - s.im * t.im));
}

TD_FN td_c128 td_acos_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (td_isinf(x) || td_isinf(y))
        return td_pair(atan2(fabs(y), x), -copysign(INFINITY, y));
    if (x != x || y != y)
        return td_pair(x == 0.0 ? TD_HALF_PI : NAN, NAN);
    td_c128 s = td_sqrt_c128(td_pair(1.0 + x, y)), t = td_sqrt_c128(td_pair(1.0 - x, -y));
    return td_pair(2.0 * atan2(t.re, s.re), asinh(s.re * t.im - s.im * t.re));
}

TD_FN td_c128 td_acosh_c128(td_c128 z)
{
    td_c128 angle = td_acos_c128(z);
    if (angle.im != angle.im)
        return td_pair(NAN, angle.re);
    return td_pair(fabs(angle.im), copysign(angle.re, z.im));
}

TD_FN td_c128 td_atanh_c128(td_c128 z)
{
    double x = z.re, y = z.im;
    if (td_isinf(y) || (td_isinf(x) && y == y))
        return td_pair(copysign(0.0, x), copysign(TD_HALF_PI, y));
    if (x != x || y != y)
        return td_pair(td_isinf(x) || x == 0.0 ? copysign(0.0, x) : NAN, NAN);
    double a = fabs(x), b = fabs(y), larger = a > b ? a : b;
    if (larger > 1e100) {
        double share = a / larger, rest = b / larger;
        return td_pair(copysign(share / (share * share + rest * rest) / larger, x), copysign(TD_HALF_PI, y));
    }
    double below = (1.0 - a) * (1.0 - a) + y * y;
    double real = below > 0.0 ? 0.25 * log1p(4.0 * a / below) : a == 1.0 && y == 0.0 ? INFINITY : -0.5 * log(0.5 * b);
    double imaginary = 0.5 * atan2(2.0 * y, (1.0 - a) * (1.0 + a) - y * y);
    return td_pair(copysign(real, x), copysign(imaginary, y));
}

TD_FN td_c128 td_sin_c128(td_c128 z) { return td_turned_back(td_sinh_c128(td_turned(z))); }
TD_FN td_c128 td_cos_c128(td_c128 z) { return td_cosh_c128(td_turned(z)); }
TD_FN td_c128 td_tan_c128(td_c128 z) { return td_turned_back(td_tanh_c128(td_turned(z))); }
TD_FN td_c128 td_asin_c128(td_c128 z) { return td_turned_back(td_asinh_c128(td_turned(z))); }
TD_FN td_c128 td_atan_c128(td_c128 z) { return td_turned_back(td_atanh_c128(td_turned(z))); }
TD_FN td_c128 td_power_c128(td_c128 x, td_c128 y) { return td_exp_c128(td_multiply_c128(y, td_log_c128(x))); }

#endif

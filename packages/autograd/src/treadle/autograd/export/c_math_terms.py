"""The coefficients of the polynomials in our own functions of ``math.h``, and the C that computes one."""

import math
from fractions import Fraction

__all__ = ["ATAN", "ATANH", "COS", "ERF", "ERFC", "EXP", "SIN", "TANH", "series"]

ERFC = (
    -0.6513268598908547171, 0.6419697923564902603, 0.019476473204185836312, -0.0095615147868086316419,
    -0.0009465953444820368663, 0.00036683949785276145187, 0.000042523324806907771645, -0.000020278578112534243154,
    -1.6242900046470255135e-6, 1.3036558355805232018e-6, 1.5626441722066143178e-8, -8.5238095914926542526e-8,
    6.5290544390988514968e-9, 5.0593434955514689432e-9, -9.9136415649303309588e-10, -2.2736512229318356456e-10,
    9.6467911020155276722e-11, 2.3940380830388810089e-12, -6.8860275264967717835e-12, 8.9448792730848497389e-13,
    3.1309213992864562502e-13, -1.1270822358703123539e-13, 3.8109048679522711779e-16, 7.106097477573419061e-15,
    -1.5230273230386746287e-15, -9.4576584257712467098e-17, 1.2102032928879454516e-16, -2.8138707564132381223e-17,
)  # fmt: skip
"""Of log(erfc(z) exp(z^2) / t) in Chebyshev polynomials of 2 t - 1, where t = 2 / (2 + z), interpolated at 30 nodes."""


def series(terms: list[Fraction], of: str, single: bool = False) -> str:
    """Statements that leave in ``sum`` the polynomial with these coefficients, the lowest first."""
    digits, suffix = (".9g", "f") if single else (".17g", "")
    kind = "float" if single else "double"
    texts = [f"{float(each):{digits}}" for each in reversed(terms)]
    texts = [(text if "." in text or "e" in text else f"{text}.0") + suffix for text in texts]
    return "\n".join([f"    {kind} sum = {texts[0]};", *(f"    sum = sum * {of} + {each};" for each in texts[1:])])


EXP = [Fraction(1, math.factorial(k)) for k in range(15)]
SIN = [Fraction((-1) ** k, math.factorial(2 * k + 1)) for k in range(9)]
COS = [Fraction((-1) ** k, math.factorial(2 * k)) for k in range(9)]
ATANH = [Fraction(1, 2 * k + 1) for k in range(12)]
ATAN = [Fraction((-1) ** k, 2 * k + 1) for k in range(11)]
ERF = [Fraction((-1) ** k, math.factorial(k) * (2 * k + 1)) for k in range(14)]
TANH = [
    Fraction(top, bottom) for top, bottom in (
        (-1, 3), (2, 15), (-17, 315), (62, 2835), (-1382, 155925), (21844, 6081075), (-929569, 638512875),
        (6404582, 10854718875), (-443861162, 1856156927625),
    )
]  # fmt: skip

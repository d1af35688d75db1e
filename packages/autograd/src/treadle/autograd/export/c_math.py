"""The functions of ``math.h`` in C99 of our own, for devices that have none: written into the file where they are used.

Functions of float are those of double, rounded, so that they have half a unit in the last place; but exp, log, tanh and
rounding, which models call most, are computed in float. tests/export/test_own_math.py measures all of them.
"""

import re

from treadle.autograd.export.c_math_sources import SOURCES

__all__ = ["with_own_math"]

_TWO = frozenset(["pow", "atan2", "fmod", "hypot", "copysign", "nextafter"])
_HEAD = """#if defined(__GNUC__)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#else
#define INFINITY ((float)(1e300 * 1e300)) /* some compilers refuse a division by zero */
#define NAN (INFINITY * 0.0f)
#endif
#define isnan(x) ((x) != (x))
#define isinf(x) ((x) == (x) && (x) - (x) != 0)
#define isfinite(x) ((x) - (x) == 0)
#define signbit(x) own_signbit((double)(x))
"""
_PARTS = ("bits", "bitsf", "scale", "scalef", "split", "quadrant", "wave")
_SINGLE = ("fabsf", "copysignf", "rintf", "expf", "logf", "sqrtf", "tanhf", "hypotf", "nextafterf")
_DOUBLE = frozenset(SOURCES) - frozenset(_PARTS) - frozenset(_SINGLE)
_NAMES = _DOUBLE | {f"{each}f" for each in _DOUBLE}
_CALL = re.compile(rf"\b({'|'.join(sorted(_NAMES, key=len, reverse=True))})\(")
_COMMENT = re.compile(r"(/\*.*?\*/)", re.DOTALL)
_BEFORE = ("erf", "erfc")
"""They call each other."""


def _source(name: str) -> str:
    if name in SOURCES:
        return SOURCES[name]
    plain = name.removesuffix("f")
    if plain in _TWO:
        return f"static float own_{name}(float x, float y) {{ return (float)own_{plain}((double)x, (double)y); }}"
    return f"static float own_{name}(float x) {{ return (float)own_{plain}((double)x); }}"


def _needed(names: list[str]) -> list[str]:
    """The functions and those that they call, each behind those that it calls."""
    found: list[str] = []
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in begun:
            return
        begun.add(name)
        for called in re.findall(r"\bown_(\w+)\(", _source(name)):
            called = {"of_bits": "bits", "of_bitsf": "bitsf"}.get(called, called)
            if called != name:
                visit(called)
        found.append(name)

    for name in names:
        visit(name)
    return found


def with_own_math(text: str) -> tuple[str, str]:
    """The text with calls of ours instead of the library's, and the definitions that go before it."""
    used: dict[str, None] = {}

    def ours(found: re.Match[str]) -> str:
        used[found[1]] = None
        return f"own_{found[1]}("

    parts = _COMMENT.split(text)
    text = "".join(part if part.startswith("/*") else _CALL.sub(ours, part) for part in parts)
    names = [*used, *(["signbit"] if "signbit(" in text else [])]
    declared = [f"static double own_{each}(double x);" for each in _BEFORE if each in _needed(names)]
    return text, "\n".join([_HEAD, *declared, *(f"{_source(each)}\n" for each in _needed(names))])

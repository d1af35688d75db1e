"""Arrays as text, in NumPy's manner: aligned columns, the middle of large arrays left out."""

import math
import struct
import sys
from typing import Any

from treadle.ndarray._array import NDArray

THRESHOLD = 1000  # elements above which only the edges are shown
EDGE = 3
PRECISION = 8
WIDTH = 75


def array_repr(x: NDArray) -> str:
    """``array(...)`` with the dtype where it is not a default, and the device where it is not the cpu."""
    notes = []
    if x.dtype.name not in ("float32", "int64", "bool", "complex64") or x.size == 0:
        notes.append(f"dtype={x.dtype.name}")
    if not x.device.is_cpu:
        notes.append(f"device='{x.device}'")
    body = _body(x, "array(") if x.size else _empty(x)
    return f"array({', '.join([body, *notes])})"


def array_str(x: NDArray) -> str:
    """The elements alone."""
    return _body(x, "", separator=" ") if x.size else _empty(x)


def _empty(x: NDArray) -> str:
    return "[]" if x.shape == (0,) else f"[], shape={x.shape}"


def _body(x: NDArray, prefix: str, separator: str = ", ") -> str:
    shown = _edges(x.to_device("cpu"), x.size > THRESHOLD)
    flat = _flatten(shown)
    texts = iter(_column(flat, x))
    return _layout(shown, texts, len(prefix), separator)


def _edges(x: NDArray, cut: bool) -> Any:
    """Nested lists of the scalars to show, with None where some are left out."""
    if x.ndim == 0:
        return x.item()
    if cut and x.shape[0] > 2 * EDGE:
        return [*(_edges(x[i], cut) for i in range(EDGE)), None, *(_edges(x[i], cut) for i in range(-EDGE, 0))]
    return [_edges(x[i], cut) for i in range(x.shape[0])]


def _flatten(shown: Any) -> list[Any]:
    if shown is None:
        return []
    if not isinstance(shown, list):
        return [shown]
    return [scalar for each in shown for scalar in _flatten(each)]


def _layout(shown: Any, texts: Any, indent: int, separator: str) -> str:
    if not isinstance(shown, list):
        return str(next(texts))
    parts = ["..." if each is None else _layout(each, texts, indent + 1, separator) for each in shown]
    if any(isinstance(each, list) for each in shown):
        depth = _depth(shown)
        return "[" + (separator.rstrip() + "\n" * (depth - 1) + " " * (indent + 1)).join(parts) + "]"
    return "[" + _wrapped(parts, indent + 1, separator) + "]"


def _depth(shown: Any) -> int:
    inner = [each for each in shown if isinstance(each, list)]
    return 1 + _depth(inner[0]) if inner else 1


def _wrapped(parts: list[str], indent: int, separator: str) -> str:
    lines, line = [], ""
    for each in parts:
        if line and indent + len(line) + len(each) > WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += each + separator
    lines.append(line[: len(line) - len(separator)])
    return ("\n" + " " * indent).join(lines)


def _column(flat: list[Any], x: NDArray) -> list[str]:
    """All scalars as text of one width."""
    if x.dtype.kind == "c":
        texts = _complexes(flat, "float32" if x.dtype.name == "complex64" else "float64")
    else:
        texts = _floats(flat, x.dtype.name) if x.dtype.kind == "f" else [str(each) for each in flat]
    width = 0 if x.ndim == 0 else max(map(len, texts), default=0)
    return [each.rjust(width) for each in texts]


def _complexes(flat: list[complex], dtype: str) -> list[str]:
    """The real parts in one column, the imaginary ones, with a sign and j, in another."""
    real = _floats([each.real for each in flat], dtype)
    imaginary = [each if each[0] == "-" else "+" + each for each in _floats([each.imag for each in flat], dtype)]
    widths = [max(map(len, texts), default=0) for texts in (real, imaginary)]
    columns = zip(real, imaginary, strict=True)
    return [x.rjust(widths[0]) + _with_unit(y.rjust(widths[1])) for x, y in columns]


def _with_unit(text: str) -> str:
    number = text.rstrip()
    return number + "j" + text[len(number) :]


def _floats(flat: list[float], dtype: str) -> list[str]:
    finite = [abs(each) for each in flat if math.isfinite(each) and each != 0]
    scientific = bool(finite) and (max(finite) >= 1e8 or min(finite) < 1e-4 or max(finite) / min(finite) > 1e3)
    digits = [_shortest(each, dtype, scientific) for each in flat if math.isfinite(each)]
    decimals = max((len(each.partition("e")[0].partition(".")[2]) for each in digits), default=0)
    texts = []
    for each in flat:
        if not math.isfinite(each):
            texts.append("nan" if each != each else "inf" if each > 0 else "-inf")
        elif scientific:
            texts.append(f"{each:#.{decimals}e}")
        else:
            whole, _, fraction = _shortest(each, dtype, False).partition(".")
            texts.append(f"{whole}.{fraction.ljust(decimals)}")
    return texts


def _shortest(value: float, dtype: str, scientific: bool) -> str:
    """The fewest decimals, up to PRECISION, that name the value; without trailing zeros."""
    for decimals in range(PRECISION + 1):
        text = f"{value:.{decimals}e}" if scientific else f"{value:.{decimals}f}"
        if _rounded(float(text), dtype) == value:
            break
    if scientific:
        return text
    return text.rstrip("0") if "." in text else text


def _rounded(value: float, dtype: str) -> float:
    """The nearest number of the dtype."""
    if dtype == "float64":
        return value
    code = "e" if dtype == "float16" else "f"
    try:
        packed = struct.pack(code, value)
    except (OverflowError, struct.error):
        return math.copysign(math.inf, value)
    if dtype == "bfloat16":
        bits = int.from_bytes(packed, sys.byteorder)
        packed = (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16) & 0xFFFFFFFF).to_bytes(4, sys.byteorder)
    rounded: float = struct.unpack(code, packed)[0]
    return rounded

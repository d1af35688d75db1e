"""Statements that reduce, scan, sort and multiply matrices.

Floats are judged against float64 (float64 itself against another order of the same additions), within the rounding
errors that a blocked sum of that many terms may make. Values that would overflow on the way are left out.
"""

import math

import numpy as np

from fuzz.compute import _fresh, zero_slack
from fuzz.draw import MOST_ELEMENTS, Draw
from fuzz.machine import Statement, Values


def _harmless(x: Values, largest: float) -> bool:
    """Whether sums of products of these stay far from overflow. NaN is harmless where nothing is infinite."""
    if x.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        return bool(not np.isinf(x).any() and (np.abs(x[x == x]).astype(np.float64) < largest).all())


def _largest(x: Values) -> float:
    return 50.0 if x.dtype == np.float16 else 1e6


def _wide(x: str, value: Values) -> str:
    return f"{x}.astype('float64')" if value.dtype.kind == "f" else x


def _rounding(value: Values, terms: int) -> float:
    """The relative error that a blocked sum of so many terms may make."""
    if value.dtype.kind != "f":
        return 0.0
    return (8 + math.log2(terms + 1)) * float(np.finfo(value.dtype).eps)


def reduction(draw: Draw) -> Statement | None:
    op = draw.chance.choice(["sum", "sum", "mean", "max", "min", "any", "all", "prod"])
    kinds = {"any": "biuf", "all": "biuf", "mean": "f"}.get(op, "biuf")
    x = draw.array(lambda x: x.dtype.kind in kinds)
    if x is None:
        return None
    value, axis = draw[x], draw.axes(draw[x])
    if op == "prod" and not (value.dtype.kind in "iu" or _tame(value)):
        return None
    if op in ("sum", "mean") and not _harmless(value, _largest(value)):
        return None
    if op in ("max", "min") and value.size == 0:
        return None
    keep = f"axis={axis}, keepdims={draw.often(0.3)}"
    theirs = f"np.{op}({x}, {keep})"
    slack = zero_slack(op)
    ulps = 1.0 if op in ("sum", "mean") and value.dtype.kind == "f" else 0.0
    if op in ("sum", "prod", "mean") and value.dtype.kind == "f":
        theirs = f"np.asarray(np.{op}({_wide(x, value)}, {keep})).astype({value.dtype.name!r})"
        of = "np.sum" if op != "prod" else "np.prod"
        error = 2 * value.size * float(np.finfo(value.dtype).eps) if op == "prod" else _rounding(value, value.size)
        slack = f"np.nan_to_num({error} * {of}(np.abs({_wide(x, value)}), {keep}))"
    elif op in ("sum", "prod"):
        theirs = f"np.{op}({x}, {keep}, dtype='{'uint64' if value.dtype.kind == 'u' else 'int64'}')"
    return _fresh(draw, op, f"nd.{op}({x}, {keep})", theirs, x, ulps=ulps, slack=slack)


def _tame(value: Values) -> bool:
    """Whether products stay in range in whatever order."""
    if value.dtype.kind != "f" or not np.isfinite(value).all():
        return False
    sizes = np.abs(np.log2(np.abs(value[value != 0].astype(np.float64)))).sum()
    return bool(sizes < {2: 8, 4: 60, 8: 500}[value.dtype.itemsize])


def place(draw: Draw) -> Statement | None:
    """argmax, argmin."""
    op = draw.chance.choice(["argmax", "argmin"])
    x = draw.array(lambda x: x.size and x.dtype.kind in "biuf")
    if x is None:
        return None
    axis = draw.axis(draw[x]) if draw[x].ndim and draw.often(0.7) else None
    arguments = f"{x}, axis={axis}, keepdims={draw.often(0.3)}"
    return _fresh(draw, op, f"nd.{op}({arguments})", f"np.{op}({arguments})", x)


def scan(draw: Draw) -> Statement | None:
    op = draw.chance.choice(["cumsum", "cumsum", "cumprod"])
    x = draw.array(lambda x: x.ndim and x.dtype.kind in "iuf")
    if x is None:
        return None
    value, axis = draw[x], draw.axis(draw[x])
    if value.dtype.kind != "f":
        wide = "uint64" if value.dtype.kind == "u" else "int64"
        return _fresh(draw, op, f"nd.{op}({x}, axis={axis})", f"np.{op}({x}, axis={axis}, dtype={wide!r})", x)
    if not (_harmless(value, _largest(value)) if op == "cumsum" else _tame(value)):
        return None
    theirs = f"np.{op}({_wide(x, value)}, axis={axis}).astype({value.dtype.name!r})"
    terms = value.shape[axis]
    error = (terms + 4) * float(np.finfo(value.dtype).eps) if op == "cumprod" or value.itemsize == 8 else 0.0
    error = error or _rounding(value, terms)
    slack = f"np.nan_to_num({error} * np.{op}(np.abs({_wide(x, value)}), axis={axis}))"
    return _fresh(draw, op, f"nd.{op}({x}, axis={axis})", theirs, x, ulps=1, slack=slack)


def deviation(draw: Draw) -> Statement | None:
    op = draw.chance.choice(["var", "std"])
    x = draw.array(lambda x: x.size and x.dtype.kind == "f")
    if x is None or not _harmless(draw[x], _largest(draw[x])) or np.isnan(draw[x]).any():
        return None
    value, axis = draw[x], draw.axes(draw[x])
    theirs = f"np.asarray(np.{op}({_wide(x, value)}, axis={axis})).astype({value.dtype.name!r})"
    eps = float(np.finfo(value.dtype).eps)
    spread = f"np.var({_wide(x, value)}, axis={axis})"
    error = f"({_rounding(value, value.size)} * {spread} + {8 * eps * eps} * np.max({_wide(x, value)} ** 2, initial=0))"
    return _fresh(
        draw, op, f"nd.{op}({x}, axis={axis})", theirs, x, ulps=2, slack=error if op == "var" else f"{error} ** 0.5"
    )


def soft(draw: Draw) -> Statement | None:
    op = draw.chance.choice(["softmax", "logsumexp"])
    x = draw.array(lambda x: x.ndim and x.size and x.dtype.kind == "f")
    if x is None or not np.isfinite(draw[x]).all():
        return None
    value, axis = draw[x], draw.axis(draw[x])
    eps = float(np.finfo(value.dtype).eps)
    slack = f"{eps * 16} * (1 + np.abs(np.max({_wide(x, value)}, axis={axis})))" if op == "logsumexp" else str(eps * 4)
    return _fresh(
        draw,
        op,
        f"nd.{op}({x}, axis={axis})",
        f"support.{op}({x}, {axis})",
        x,
        ulps=24 + value.shape[axis],
        slack=slack,
    )


# --- order ------------------------------------------------------------------------------------------------------------
def order(draw: Draw) -> Statement | None:
    op = draw.chance.choice(["sort", "argsort"])
    x = draw.array(lambda x: x.ndim and x.dtype.kind in "biuf")
    if x is None:
        return None
    axis = draw.axis(draw[x])
    theirs = f"np.{op}({x}, axis={axis}, kind='stable')"
    return _fresh(draw, op, f"nd.{op}({x}, axis={axis})", theirs, x)


def unique(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.dtype.kind in "biu")
    if x is None:
        return None
    return _fresh(draw, "unique_values", f"nd.unique_values({x})", f"np.unique({x})", x)


def nonzero(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim and x.dtype.kind != "c")
    if x is None:
        return None
    axis = draw.chance.randrange(draw[x].ndim)
    return _fresh(draw, "nonzero", f"nd.nonzero({x})[{axis}]", f"np.nonzero({x})[{axis}]", x)


def searchsorted(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim == 1 and x.dtype.kind in "iuf" and (x[1:] >= x[:-1]).all())
    if x is None:
        return None
    value = draw[x]
    y = draw.array(lambda y: y.dtype == value.dtype and not (y != y).any())
    if y is None or (value != value).any():
        return None
    arguments = f"{x}, {y}, side={draw.chance.choice(['left', 'right'])!r}"
    return _fresh(draw, "searchsorted", f"nd.searchsorted({arguments})", f"np.searchsorted({arguments})", x, y)


# --- products ---------------------------------------------------------------------------------------------------------
def matmul(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim and x.dtype.kind in "iuf")
    if x is None:
        return None
    value = draw[x]

    def suits(y: Values) -> bool:
        if y.dtype != value.dtype or not y.ndim or y.shape[-2 if y.ndim > 1 else 0] != value.shape[-1]:
            return False
        try:
            batch = np.broadcast_shapes(value.shape[:-2], y.shape[:-2])
        except ValueError:
            return False
        rows = value.shape[-2] if value.ndim > 1 else 1
        return math.prod(batch) * rows * (y.shape[-1] if y.ndim > 1 else 1) <= MOST_ELEMENTS

    y = draw.array(suits)
    right = y or ""
    if y is None and value.ndim == 2:
        y, right = x, f"{x}.T"
        if value.shape[0] ** 2 > MOST_ELEMENTS:
            return None
    if y is None or not _harmless(value, _largest(value)) or not _harmless(draw[y], _largest(value)):
        return None
    if value.dtype.kind != "f":
        return _fresh(draw, "matmul", f"nd.matmul({x}, {right})", f"np.matmul({x}, {right})", x, y)
    a, b = f"{x}.astype('float64')", f"{right}.astype('float64')"
    error = (value.shape[-1] + 2) * float(np.finfo(value.dtype).eps)
    slack = f"np.nan_to_num({error} * np.matmul(np.abs({a}), np.abs({b})))"
    theirs = f"np.asarray(np.matmul({a}, {b})).astype({value.dtype.name!r})"
    return _fresh(draw, "matmul", f"nd.matmul({x}, {right})", theirs, x, y, ulps=1, slack=slack)

"""Statements that compute fresh arrays from the ops of the table."""

from typing import Any

import numpy as np

import oracle
from fuzz.draw import MOST_ELEMENTS, Draw
from fuzz.machine import Statement, Values
from treadle.ndarray.opset import Accepts, Family, Op, family

_KINDS = {
    Accepts.ALL: "biufc",
    Accepts.NUMERIC: "iufc",
    Accepts.FLOATING: "biuf",
    Accepts.INTEGER: "iu",
    Accepts.BITWISE: "biu",
}


def kinds_of(op: Op) -> str:
    """The kinds of dtype that programs give to an op. Complex ones only where they have an order-free meaning."""
    kinds = _KINDS[op.accepts]
    simple = ("add", "subtract", "multiply", "equal", "not_equal", "negative", "positive", "square")
    return kinds if op.name in simple else kinds.replace("c", "")


def convertible(source: Any, target: Any) -> bool:
    """Whether elements are converted without a choice of the part of a complex number."""
    return source.kind != "c" or target.kind in "cb"


def _sensible(op: Op, values: list[Values]) -> bool:
    """What is not defined the same way everywhere is left out."""
    if op.name == "pow" and values[0].dtype.kind in "biu" and values[-1].dtype.kind in "i":
        return bool((values[-1] >= 0).all())
    if op.name in ("floor", "ceil", "trunc", "round"):
        return values[0].dtype.kind == "f"
    return True


def expression(draw: Draw, op: Op, names: tuple[str, ...]) -> str | None:
    """NumPy's expression for an op on variables, computed wider where it is not exact; None where there is none."""
    values = [draw[name] for name in names]
    if any(value.dtype.kind not in kinds_of(op) for value in values) or not _sensible(op, values):
        return None
    dtype = oracle.operand_dtype(op, *(value.dtype for value in values))
    if any(value.dtype.kind == "c" for value in values) and len({value.dtype for value in values}) > 1:
        return None
    result = oracle.result_dtype(op, dtype)
    wide = "float64" if dtype.kind == "f" and op.name not in oracle.EXACT else dtype.name
    function = op.reference.replace("numpy.", "np.")
    arguments = ", ".join(f"{name}.astype({dtype.name!r}).astype({wide!r})" for name in names)
    return f"np.asarray({function}({arguments})).astype({result.name!r})"


def _fresh(draw: Draw, op: str, ours: str, theirs: str, *uses: str, ulps: float = 0, slack: str = "0.0") -> Statement:
    name = draw.name()
    return Statement(op, name, f"{name} = {ours}", f"{name} = {theirs}", uses, ulps=ulps, slack=slack)


def zero_slack(op: str) -> str:
    """The least slack, which frees the signs of zeros, for ops that may give either."""
    return "5e-324" if op in oracle.ANY_ZERO else "0.0"


def _exactness(op: Op) -> float:
    ulps = oracle.ulps(op)
    return 2 * ulps  # two libraries, each off by as much


def unary(draw: Draw) -> Statement | None:
    op = draw.chance.choice(family(Family.UNARY))
    x = draw.array(lambda x: x.dtype.kind in kinds_of(op))
    theirs = expression(draw, op, (x,)) if x else None
    if x is None or theirs is None:
        return None
    return _fresh(draw, op.name, f"nd.{op.name}({x})", theirs, x, ulps=_exactness(op), slack=zero_slack(op.name))


def _broadcasts(x: Values, y: Values) -> bool:
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return int(np.prod(shape, dtype=np.int64)) <= MOST_ELEMENTS


def binary(draw: Draw) -> Statement | None:
    op = draw.chance.choice(family(Family.BINARY))
    x = draw.array(lambda x: x.dtype.kind in kinds_of(op))
    if x is None:
        return None
    value = draw[x]
    y = draw.array(lambda y: y.dtype.kind in kinds_of(op) and _broadcasts(value, y))
    theirs = expression(draw, op, (x, y)) if y else None
    if y is None or theirs is None:
        return None
    return _fresh(
        draw, op.name, f"nd.{op.name}({x}, {y})", theirs, x, y, ulps=_exactness(op), slack=zero_slack(op.name)
    )


def where(draw: Draw) -> Statement | None:
    condition = draw.array(lambda x: x.dtype.kind == "b")
    x = draw.array(lambda x: condition and _broadcasts(draw[condition], x))
    if condition is None or x is None:
        return None
    value = draw[x]
    y = draw.array(lambda y: y.dtype == value.dtype and _broadcasts(value, y) and _broadcasts(draw[condition], y))
    if y is None:
        return None
    return _fresh(draw, "where", f"nd.where({condition}, {x}, {y})", f"np.where({condition}, {x}, {y})",
                  condition, x, y)  # fmt: skip


def clip(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.dtype.kind in "iuf")
    if x is None:
        return None
    low, high = sorted(draw.chance.sample([0, 1, 2, 5, 9], 2))
    return _fresh(
        draw, "clip", f"nd.clip({x}, {low}, {high})", f"np.clip({x}, {low}, {high})", x, slack=zero_slack("clip")
    )


def cast(draw: Draw) -> Statement | None:
    """Also floats that the integers do not reach."""
    x, dtype = draw.array(), draw.dtype()
    if x is None or not convertible(draw[x].dtype, np.dtype(dtype)):
        return None
    return _fresh(draw, f"astype {dtype}", f"nd.astype({x}, nd.{dtype})", f"support.convert({x}, {dtype!r})", x)

"""Statements that write through arrays, views of the same memory among the operands."""

import numpy as np

import oracle
from fuzz.compute import convertible, expression, zero_slack
from fuzz.draw import Draw
from fuzz.machine import Statement, Values
from treadle.ndarray.opset import OPS, Family, family

_OPERATORS = {"add": "+=", "subtract": "-=", "multiply": "*=", "bitwise_and": "&=", "bitwise_xor": "^="}


def write(op: str, target: str, ours: str, theirs: str, *uses: str) -> Statement:
    return Statement(op, target, ours, theirs, (target, *uses), makes=False)


def assign_scalar(draw: Draw) -> Statement | None:
    x = draw.written()
    if x is None:
        return None
    text = f"{x}[{draw.basic_index(draw[x])}] = {draw.scalar(draw[x].dtype.name)!r}"
    return write("assign scalar", x, text, text)


def assign_shifted(draw: Draw) -> Statement | None:
    """a[1:] = a[:-1] and its like: both sides overlap, backwards too, with steps."""
    x = draw.written(lambda x: x.ndim and max(x.shape) > 1)
    if x is None:
        return None
    value = draw[x]
    axis = draw.chance.choice([axis for axis, length in enumerate(value.shape) if length > 1])
    length = value.shape[axis]
    shift = draw.chance.randrange(1, length)
    pairs = [(f"{shift}:", f":{length - shift}"), (f":{length - shift}", f"{shift}:"), (":", "::-1"), ("::-1", ":")]
    if length % 2 == 0:
        pairs += [(f":{length // 2}", "::2"), ("::2", f"{length // 2}:"), ("::-2", f":{length // 2}")]
    target, source = draw.chance.choice(pairs)
    before = ":, " * axis
    text = f"{x}[{before}{target}] = {x}[{before}{source}]"
    if value.ndim == 2 and value.shape[0] == value.shape[1] and draw.often(0.4):
        text = f"{x}[...] = {x}.T"
    return write("assign shifted", x, text, text)


def assign(draw: Draw) -> Statement | None:
    """One variable over a part of another, converted."""
    x, y = draw.written(), draw.array(lambda x: x.size < 10_000)
    if x is None or y is None or not convertible(draw[y].dtype, draw[x].dtype):
        return None
    index = draw.basic_index(draw[x])
    selected = np.asarray(eval(f"x[{index}]", {"x": draw[x]}))
    part = _fitted(draw, y, selected.shape)
    if part is None:
        return None
    dtype = draw[x].dtype.name
    theirs = f"support.convert({part}, {dtype!r})"
    return write("assign", x, f"{x}[{index}] = {part}", f"{x}[{index}] = {theirs}", y)


def _fitted(draw: Draw, y: str, shape: tuple[int, ...]) -> str | None:
    """A part of y that broadcasts to the shape."""
    value, parts = draw[y], []
    if value.ndim > len(shape):
        return None
    for length, wanted in zip(value.shape, shape[len(shape) - value.ndim :], strict=True):
        if length == wanted or length == 1:
            parts.append("::-1" if draw.often(0.2) else ":")
        elif length >= wanted:
            parts.append(f":{wanted}" if draw.often() else f"{length - wanted}:")
        else:
            return None
    return f"{y}[{', '.join(parts)}]" if parts else y


def assign_chosen(draw: Draw) -> Statement | None:
    """Through a mask, or through index arrays, distinct ones."""
    x = draw.written(lambda x: x.ndim and x.size)
    if x is None:
        return None
    value, scalar = draw[x], draw.scalar(draw[x].dtype.name)
    if draw.often():
        axes = draw.chance.randrange(1, value.ndim + 1)
        mask = f"pattern({value.shape[:axes]}, 'bool', {draw.chance.randrange(100)})"
        return write("assign mask", x, f"{x}[nd.asarray({mask})] = {scalar!r}", f"{x}[{mask}] = {scalar!r}")
    length = value.shape[0]
    chosen = draw.chance.sample(range(length), draw.chance.randrange(1, min(length, 6) + 1))
    chosen = [each - length if draw.often(0.3) else each for each in chosen]
    numbers = repr(chosen)
    return write(
        "assign indices",
        x,
        f"{x}[nd.asarray({numbers})] = {x}[:{len(chosen)}]",
        f"{x}[np.array({numbers})] = {x}[:{len(chosen)}]",
    )


def put_along_axis(draw: Draw) -> Statement | None:
    x = draw.written(lambda x: x.ndim and x.size)
    if x is None:
        return None
    value, axis = draw[x], draw.axis(draw[x])
    scalar = draw.scalar(value.dtype.name)
    shape = list(value.shape)
    shape[axis] = 1
    places = f"(pattern({tuple(shape)}, 'int64', 5) % {value.shape[axis]})"
    return write(
        "put_along_axis",
        x,
        f"nd.put_along_axis({x}, nd.asarray({places}), {scalar!r}, axis={axis})",
        f"np.put_along_axis({x}, {places}, {scalar!r}, axis={axis})",
    )


def in_place(draw: Draw) -> Statement | None:
    """x += y, where y may see the memory of x in another order."""
    op = draw.chance.choice(list(_OPERATORS))
    kinds = "biufc" if op in ("add", "multiply") else "iu" if op.startswith("bitwise") else "iufc"
    x = draw.written(lambda x: x.dtype.kind in kinds and x.size)
    if x is None:
        return None
    value = draw[x]

    def suits(y: Values) -> bool:
        return np.result_type(y, value) == value.dtype and y.ndim <= value.ndim and y.dtype.kind in kinds

    y = draw.array(suits) if draw.often(0.4) else x
    part = _fitted(draw, y, value.shape) if y else None
    if part is None:
        return None
    if y == x and value.ndim == 2 and value.shape[0] == value.shape[1]:
        part = f"{x}.T"
    dtype = value.dtype.name
    ours = f"{x} {_OPERATORS[op]} {part}"
    theirs = f"{x}[...] = np.{op}({x}, {part}.astype({dtype!r}))"
    return write(f"in-place {op}", x, ours, theirs, y or x)


def out(draw: Draw) -> Statement | None:
    """An op of the table into memory that its operand may share."""
    op = draw.chance.choice(family(Family.UNARY) + family(Family.BINARY))
    x = draw.array(lambda x: x.size and x.dtype.kind in "biuf")
    if x is None:
        return None
    names = (x,) if op.family is Family.UNARY else (x, x)
    made = expression(draw, op, names)
    if made is None:
        return None
    dtype = oracle.result_dtype(op, oracle.operand_dtype(op, *(draw[name].dtype for name in names)))
    shape = draw[x].shape
    target = draw.written(lambda y: y.dtype == dtype and y.shape == shape)
    if target is None:
        return None
    ours = f"nd.{op.name}({', '.join(names)}, out={target})"
    theirs = f"{target}[...] = {made}"
    ulps = oracle.ulps(OPS[op.name])
    uses = (target, *names)
    return Statement(
        f"out {op.name}", target, ours, theirs, uses, makes=False, ulps=ulps and 2 * ulps, slack=zero_slack(op.name)
    )

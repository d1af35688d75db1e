"""Statements that gather, join and lay out elements anew: exact in every dtype."""

from fuzz.compute import _fresh
from fuzz.draw import Draw
from fuzz.machine import Statement


def alike(draw: Draw, op: str, text: str, *uses: str) -> Statement:
    """A fresh array from a call that both libraries write alike; {xp} stands for their names."""
    return _fresh(draw, op, text.format(xp="nd"), text.format(xp="np"), *uses)


def take(draw: Draw) -> Statement | None:
    """Along an axis, by index arrays in brackets, or with one place for each line."""
    x = draw.array(lambda x: x.ndim and x.size)
    if x is None:
        return None
    value, axis = draw[x], draw.axis(draw[x])
    length = value.shape[axis]
    chosen = [draw.chance.randrange(-length, length) for _ in range(draw.chance.randrange(1, 6))]
    indices = f"{{xp}}.asarray({chosen}, dtype={{xp}}.int64)"
    if draw.often(0.4):
        return alike(draw, "take", f"{{xp}}.take({x}, {indices}, axis={axis})", x)
    if draw.often(0.3) and value.size < 10_000:
        shape = list(value.shape)
        shape[axis] = 2
        places = f"{{xp}}.asarray(pattern({tuple(shape)}, 'int64', 3) % {length})"
        return alike(draw, "take_along_axis", f"{{xp}}.take_along_axis({x}, {places}, axis={axis})", x)
    first = value.shape[0]
    chosen = [draw.chance.randrange(-first, first) for _ in range(draw.chance.randrange(1, 6))]
    rest = ", ::-1" if value.ndim > 1 and draw.often() else ""
    return alike(draw, "gather", f"{x}[{{xp}}.asarray({chosen}, dtype={{xp}}.int64){rest}]", x)


def select(draw: Draw) -> Statement | None:
    """Through a mask: one written down, or a variable."""
    x = draw.array(lambda x: x.ndim)
    if x is None:
        return None
    value = draw[x]
    mask = draw.array(lambda m: m.dtype.kind == "b" and m.ndim and m.shape == value.shape[: m.ndim])
    if mask is not None and draw.often(0.7):
        return alike(draw, "select", f"{x}[{mask}]", x, mask)
    axes = draw.chance.randrange(1, value.ndim + 1)
    return alike(draw, "select", f"{x}[{{xp}}.asarray(pattern({value.shape[:axes]}, 'bool', 7))]", x)


def join(draw: Draw) -> Statement | None:
    x = draw.array(lambda x: x.ndim and x.size < 5000)
    if x is None:
        return None
    value, axis = draw[x], draw.axis(draw[x])
    y = draw.array(lambda y: y.dtype == value.dtype and y.shape == value.shape) or x
    if draw.often(0.4):
        return alike(draw, "stack", f"{{xp}}.stack(({x}, {y}, {x}), axis={axis})", x, y)
    return alike(draw, "concat", f"{{xp}}.concat(({x}, {y}[::-1]), axis={axis})", x, y)


def lay_out(draw: Draw) -> Statement | None:
    """Rolled, tiled, repeated, padded, cut to a triangle, copied."""
    x = draw.array(lambda x: x.ndim and x.size < 3000)
    if x is None:
        return None
    value, axis = draw[x], draw.axis(draw[x])
    shift, count = draw.chance.randrange(-7, 8), draw.chance.randrange(0, 3)
    kinds = {
        "roll": f"{{xp}}.roll({x}, {shift}, axis={draw.chance.choice([None, axis])})",
        "tile": f"{{xp}}.tile({x}, ({count}, 2))",
        "repeat": f"{{xp}}.repeat({x}, {count}, axis={axis})",
        "pad": f"{{xp}}.pad({x}, (({count}, 1),) * {value.ndim})",
        "copy": f"{{xp}}.copy({x})",
        "diff": f"{{xp}}.diff({x}, axis={axis})",
    }
    if value.ndim > 1:
        kinds["tril"] = f"{{xp}}.tril({x}, k={shift % 4 - 2})"
        kinds["triu"] = f"{{xp}}.triu({x}, k={shift % 4 - 2})"
    op = draw.chance.choice(list(kinds))
    return alike(draw, op, kinds[op], x)

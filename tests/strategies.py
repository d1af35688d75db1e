"""What the property tests draw: shapes, values with the nasty ones among them, and views of every layout.

An :class:`Operand` is a NumPy array and the text of the views taken of it. It makes the same view in NumPy and on
any device, and prints itself as code, so that a failing example can be pasted into a session.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle.ndarray.opset import Accepts, Op

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = {"complex64": "float32", "complex128": "float64"}
"""The complex dtypes and those of their parts. Tests of their own draw these and the halves; NumPy lacks bfloat16."""
INTEGERS = DTYPES[1:9]
FLOATS = DTYPES[9:]
ACCEPTED = {
    Accepts.ALL: DTYPES,
    Accepts.NUMERIC: DTYPES[1:],
    Accepts.FLOATING: DTYPES,  # those that are no floats are converted
    Accepts.INTEGER: INTEGERS,
    Accepts.BITWISE: DTYPES[:9],
}


def _devices() -> list[str]:
    """The emulation is there wherever treadle-cuda is installed: where it fails, so do the tests."""
    names = ["cpu", "numpy"]
    if importlib.util.find_spec("treadle.cuda") is not None:
        import treadle.cuda

        names += ["cuda_emulated", "cuda"] if treadle.cuda.is_available() else ["cuda_emulated"]
    for name in names:
        nd.zeros((1,), device=name)
    return names


DEVICES = _devices()
"""The devices of this machine, by the name that asks for them."""


@dataclass(frozen=True)
class Operand:
    """``base`` with the views of ``views`` taken one after another; ``{x}`` stands for what is viewed."""

    base: Any
    views: tuple[str, ...] = ()

    def _viewed(self, namespace: Any, x: Any) -> Any:
        for view in self.views:
            x = eval(view.format(x="x", xp="xp"), {"x": x, "xp": namespace})
        return x

    def numpy(self) -> Any:
        return self._viewed(np, self.base)

    def array(self, device: str) -> nd.NDArray:
        array: nd.NDArray = self._viewed(nd, nd.asarray(self.base, device=device, copy=True))
        return array

    def code(self, device: str) -> str:
        """Source text that makes the array."""
        nested = repr(self.base.tolist()).replace("inf", "np.inf").replace("nan", "np.nan")
        array = f"np.array({nested}, {self.base.dtype.name!r})"
        if 0 in self.base.shape:
            array = f"np.zeros({self.base.shape}, {self.base.dtype.name!r})"
        text = f"nd.asarray({array}, device={device!r})"
        for view in self.views:
            text = view.format(x=text, xp="nd")
        return text


def _nasty(dtype: str) -> list[Any]:
    if dtype == "bool":
        return [False, True]
    if dtype in FLOATS:
        limits = np.finfo(dtype)
        tiny, huge, least = float(limits.tiny), float(limits.max), float(limits.smallest_subnormal)
        return [
            0.0,
            -0.0,
            1.0,
            -1.0,
            np.nan,
            np.inf,
            -np.inf,
            tiny,
            -tiny,
            huge,
            -huge,
            least,
            -least,
            tiny / 2,
            0.5,
            1.5,
        ]
    bounds = np.iinfo(dtype)
    return [0, 1, bounds.min, bounds.max, bounds.max - 1]


def elements(
    dtype: str, domain: tuple[float, float] = (-10.0, 10.0), nasty: Callable[[Any], bool] = lambda value: True
) -> st.SearchStrategy[Any]:
    """Values of a dtype: of the domain, and those nasty ones that the filter lets pass."""
    if dtype in COMPLEX:
        part = elements(COMPLEX[dtype], domain, nasty)
        return st.builds(complex, part, part)
    edge = st.sampled_from([value for value in _nasty(dtype) if nasty(value)] or [0])
    if dtype == "bool":
        return st.booleans()
    if dtype in FLOATS:
        return st.floats(*domain, width=32 if dtype == "float32" else 64) | edge
    bounds = np.iinfo(dtype)
    low, high = max(int(domain[0]), int(bounds.min)), min(int(domain[1]), int(bounds.max))
    return st.integers(low, high) | edge


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5) | st.sampled_from(
    [(), (1,), (0,), (17,), (33,), (130,), (3, 37), (2, 0, 3), (1, 1, 1), (2, 3, 2, 2, 2)]
)
"""Small ones, and lengths that fill a vector register, with and without a rest."""


def _spread(shape: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size * abs(step) for size, step in zip(shape, steps, strict=True))


@st.composite
def operands(
    draw: st.DrawFn,
    dtype: str,
    shape: tuple[int, ...],
    domain: tuple[float, float] = (-10.0, 10.0),
    nasty: Callable[[Any], bool] = lambda value: True,
) -> Operand:
    """An operand of a shape, in a drawn layout: dense, transposed, stepped, reversed, or with zero strides."""
    layout = draw(st.sampled_from(["dense", "transposed", "stepped", "offset", "broadcast"]))
    base_shape = shape
    views: tuple[str, ...] = ()
    if layout == "transposed":
        axes = tuple(draw(st.permutations(range(len(shape)))))
        base_shape = tuple(shape[axes.index(axis)] for axis in range(len(shape)))
        views = (f"{{xp}}.permute_dims({{x}}, {axes})",)
    elif layout == "stepped" and shape:
        steps = tuple(draw(st.sampled_from([-2, -1, 1, 2])) for _ in shape)
        base_shape = _spread(shape, steps)
        views = ("{x}[" + ", ".join(f"::{step}" for step in steps) + "]",)
    elif layout == "offset" and shape:
        base_shape = (shape[0] + 1, *shape[1:])
        views = ("{x}[1:]",)
    elif layout == "broadcast" and shape:
        base_shape = tuple(1 if draw(st.booleans()) else size for size in shape)
        views = (f"{{xp}}.broadcast_to({{x}}, {shape})",)
    each = elements(dtype, domain, nasty)
    fill = each if dtype in COMPLEX else None  # what repeats in large arrays; of built values it would be none
    base = draw(hnp.arrays(np.dtype(dtype), base_shape, elements=each, fill=fill))
    return Operand(base, views)


@st.composite
def broadcastable(draw: st.DrawFn, count: int) -> tuple[tuple[int, ...], ...]:
    """``count`` shapes that broadcast together; equal ones often."""
    if draw(st.booleans()):
        return (draw(SHAPES),) * count
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=5))
    return drawn.input_shapes


def accepted(op: Op) -> st.SearchStrategy[str]:
    """A dtype that the op is defined on; floats half of the time."""
    names = ACCEPTED[op.accepts]
    floats = [name for name in names if name in FLOATS]
    return st.sampled_from(names) | st.sampled_from(floats or names)

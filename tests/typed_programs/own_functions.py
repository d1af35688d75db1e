"""Functions of one's own over arrays: annotated with NDArray, generic, passed around, and with typed errors."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, assert_type

import treadle.ndarray as nd
from treadle.ndarray import DType, NDArray

Function = Callable[[NDArray], NDArray]


class Fit(NamedTuple):
    """A line, and how far it is from the points."""

    slope: float
    offset: float
    residual: NDArray


def standardize(x: NDArray, /, *, axis: int = 0, eps: float = 1e-6) -> NDArray:
    return (x - nd.mean(x, axis=axis, keepdims=True)) / (nd.std(x, axis=axis, keepdims=True) + eps)


def fit(x: NDArray, y: NDArray) -> Fit:
    left = nd.stack([x, nd.ones_like(x)], axis=1)
    solution = nd.linalg.solve(left.T @ left, left.T @ y[:, None])[:, 0]
    return Fit(float(solution[0]), float(solution[1]), y - left @ solution)


def compose(functions: Sequence[Function]) -> Function:
    def composed(x: NDArray) -> NDArray:
        for function in functions:
            x = function(x)
        return x

    return composed


def derivative(function: Function, x: NDArray, step: float = 1e-3) -> NDArray:
    return (function(x + step) - function(x - step)) / (2 * step)


def checked(x: object, dtype: DType | str = nd.float32) -> NDArray | None:
    try:
        return nd.asarray(x, dtype=dtype)
    except nd.DTypeError:
        return None
    except (nd.ShapeError, ValueError) as error:
        raise SystemExit(str(error)) from error


x = nd.linspace(0.0, 1.0, 11, dtype=nd.float64)
line = fit(x, 3.0 * x - 1.0)
assert_type(line, Fit)
assert_type(line.residual, NDArray)
assert abs(line.slope - 3.0) < 1e-9 and abs(line.offset + 1.0) < 1e-9
assert_type(derivative(nd.sin, x), NDArray)
assert nd.allclose(derivative(nd.sin, x), nd.cos(x), atol=1e-5)
assert_type(compose([standardize, nd.exp, lambda each: each * 2])(x), NDArray)
assert_type(checked([1, 2]), NDArray | None)
assert checked(["no number"]) is None

table: dict[str, Function] = {"exp": nd.exp, "softmax": nd.softmax, "mine": standardize}
results = {name: function(x) for name, function in table.items()}
assert_type(results, dict[str, NDArray])
assert_type(results["exp"].tolist(), Any)

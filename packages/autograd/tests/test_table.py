"""The op table and its ops: none lacks its function or class; scalars, dtypes and shapes of gradients.

Derivatives of every op are checked in ``test_whole_table.py``.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
from treadle.ndarray.opset import OPS, Family, Op


def _class(row: Op) -> Any:
    return getattr(ag.ops, "".join(part.capitalize() for part in row.name.split("_")))


def _rows(family: Family) -> list[Any]:
    return [pytest.param(row, id=row.name) for row in OPS.values() if row.family is family and row.differentiable]


def test_every_row_has_its_function_and_every_differentiable_one_its_op() -> None:
    for row in OPS.values():
        assert callable(getattr(ag, row.name)), row.name
        assert callable(getattr(ag.functions, row.name)), row.name
        if row.differentiable:
            assert issubclass(_class(row), ag.Op), row.name


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in OPS.values() if not row.differentiable])
def test_rows_without_derivative_give_constants(row: Op) -> None:
    integers = row.accepts in ("integer", "bitwise")
    x = ag.Tensor([1, 2]) if integers else ag.Tensor([1.0, 2.0], requires_grad=True)
    y = getattr(ag, row.name)(*(x, x)[: 2 if row.family is Family.BINARY else 1])
    assert type(y) is ag.Tensor and y.is_leaf and not y.requires_grad


def _check(function: Callable[..., Any], *inputs: ag.Tensor) -> None:
    assert ag.gradcheck(function, inputs)
    assert ag.gradgradcheck(function, inputs)


@pytest.mark.parametrize("scalar", [2.0, 3])
@pytest.mark.parametrize("row", _rows(Family.BINARY))
def test_binary_with_scalars(row: Op, scalar: float, device: str) -> None:
    low, high = row.smooth or (-3.0, 3.0)
    x = ag.Tensor(np.linspace(low, high, 4) + 0.01, requires_grad=True, device=device)
    _check(lambda x: getattr(ag, row.name)(x, scalar), x)
    _check(lambda x: getattr(ag, row.name)(scalar, x), x)
    expected = getattr(ag, row.name)(x, ag.full((), scalar, dtype="float64"))
    np.testing.assert_array_equal(_class(row)(right=scalar)(x).numpy(), expected.numpy())


def test_products_with_zeros_can_be_differentiated_twice(device: str) -> None:
    for values in ([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]], [[2.0, 1.0, 3.0], [0.0, -1.0, 1.0]]):
        x = ag.Tensor(values, dtype="float64", requires_grad=True)
        _check(lambda x: ag.prod(x, axis=1), x)
        _check(lambda x: ag.prod(x), x)
        _check(lambda x: ag.cumprod(x, axis=1), x)


def test_clip(device: str) -> None:
    x = ag.Tensor([[-2.0, 0.5], [1.0, 3.0]], dtype="float64", requires_grad=True)
    _check(lambda x: ag.clip(x, -1.0, 2.0), x)
    _check(lambda x: ag.clip(x, max=2.0), x)
    low = ag.Tensor([-1.0, 0.6], dtype="float64", requires_grad=True)
    _check(lambda x, low: ag.clip(x, low, 2.0), x, low)


@pytest.mark.parametrize("left", ["float32", "float64"])
@pytest.mark.parametrize("right", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", ["add", "multiply", "matmul", "divide"])
def test_gradients_have_the_operands_dtypes(name: str, left: str, right: str) -> None:
    x = ag.ones((2, 2), dtype=left).requires_grad_()
    y = ag.ones((2, 2), dtype=right)
    y.requires_grad = right != "int64"
    getattr(ag, name)(x, y).sum().backward()
    assert x.grad is not None and x.grad.dtype == left
    assert y.grad is None if right == "int64" else y.grad is not None and y.grad.dtype == right


@pytest.mark.parametrize(
    ("a", "b"), [((4, 1), (1, 3)), ((3,), (2, 3)), ((), (2, 3)), ((), ()), ((1, 1), (2, 2)), ((0, 1), (1, 3))]
)
# pytorch/pytorch#1787
def test_gradients_have_the_operands_shapes(a: tuple[int, ...], b: tuple[int, ...], device: str) -> None:
    x = ag.Tensor(np.arange(1.0, 1 + math.prod(a)).reshape(a), requires_grad=True)
    y = ag.Tensor(np.arange(1.0, 1 + math.prod(b)).reshape(b), requires_grad=True)
    (x * y).sum().backward()
    assert x.grad is not None and y.grad is not None
    ones = np.ones(np.broadcast_shapes(a, b))
    for gradient, shape, other in ((x.grad, a, y), (y.grad, b, x)):
        wide = other.numpy() * ones
        added = wide.ndim - len(shape)
        axes = tuple(range(added)) + tuple(i + added for i, n in enumerate(shape) if n == 1)
        assert gradient.shape == shape
        np.testing.assert_allclose(gradient.numpy(), wide.sum(axis=axes).reshape(shape))

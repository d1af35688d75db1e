"""Every differentiable op of the op table: first and second derivatives against central differences, by iteration."""

import math
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.ndarray.opset import OPS, Family, Op

EXAMPLES = settings(max_examples=12, deadline=None)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


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


def _layouts(draw: Any, values: Any, device: str) -> ag.Tensor:
    """A tensor of the values, contiguous or as a strided view."""
    kind = draw(st.sampled_from(["contiguous", "reversed", "transposed"]))
    if kind == "reversed" and values.ndim:
        data = nd.asarray(np.ascontiguousarray(values[::-1]), device=device, copy=True)[::-1]
    elif kind == "transposed" and values.ndim > 1:
        data = nd.asarray(np.ascontiguousarray(values.T), device=device, copy=True).transpose()
    else:
        data = nd.asarray(values, device=device, copy=True)
    np.testing.assert_array_equal(data.numpy(), values)
    return ag.Tensor(data, requires_grad=True)


def _values(draw: Any, row: Op, shape: tuple[int, ...], device: str) -> ag.Tensor:
    """Values where the derivative exists, a good way from kinks and pairwise different."""
    low, high = row.smooth or (-3.0, 3.0)
    size = math.prod(shape)
    places = draw(st.permutations(range(size)))
    values = np.array([low + (high - low) * (place + 0.5) / size for place in places]).reshape(shape)
    return _layouts(draw, values, device)


def _check(function: Callable[..., Any], *inputs: ag.Tensor) -> None:
    assert ag.gradcheck(function, inputs)
    assert ag.gradgradcheck(function, inputs)


@pytest.mark.parametrize("row", _rows(Family.UNARY))
@EXAMPLES
@given(data=st.data(), shape=SHAPES)
def test_unary(row: Op, data: Any, shape: tuple[int, ...]) -> None:
    device = data.draw(st.sampled_from(["cpu", "numpy"]))
    _check(_class(row)(), _values(data.draw, row, shape, device))


@pytest.mark.parametrize("row", _rows(Family.BINARY))
@EXAMPLES
@given(data=st.data(), shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0))
def test_binary(row: Op, data: Any, shapes: Any) -> None:
    device = data.draw(st.sampled_from(["cpu", "numpy"]))
    x, y = (_values(data.draw, row, shape, device) for shape in shapes.input_shapes)
    if row.name in ("maximum", "minimum"):
        y.data = y.data * 0.9 + 0.05  # no ties
    _check(_class(row)(), x, y)


@pytest.mark.parametrize("scalar", [2.0, 3])
@pytest.mark.parametrize("row", _rows(Family.BINARY))
def test_binary_with_scalars(row: Op, scalar: float, device: str) -> None:
    low, high = row.smooth or (-3.0, 3.0)
    x = ag.Tensor(np.linspace(low, high, 4) + 0.01, requires_grad=True, device=device)
    _check(lambda x: getattr(ag, row.name)(x, scalar), x)
    _check(lambda x: getattr(ag, row.name)(scalar, x), x)
    expected = getattr(ag, row.name)(x, ag.full((), scalar, dtype="float64"))
    np.testing.assert_array_equal(_class(row)(right=scalar)(x).numpy(), expected.numpy())


def _axes(draw: Any, ndim: int) -> Any:
    if draw(st.booleans()) or ndim == 0:
        return None
    axes = draw(st.lists(st.integers(-ndim, ndim - 1), unique_by=lambda axis: axis % ndim, max_size=ndim))
    return axes[0] if len(axes) == 1 and draw(st.booleans()) else tuple(axes)


@pytest.mark.parametrize(
    "name", [row.values[0].name for row in _rows(Family.REDUCE)] + ["var", "std", "norm", "logsumexp"]
)
@EXAMPLES
@given(data=st.data(), shape=SHAPES)
def test_reductions(name: str, data: Any, shape: tuple[int, ...]) -> None:
    device = data.draw(st.sampled_from(["cpu", "numpy"]))
    row = OPS["sqrt" if name == "norm" else name if name in OPS else "sum"]  # a norm has a kink at 0
    axis, keepdims = _axes(data.draw, len(shape)), data.draw(st.booleans())
    x = _values(data.draw, row, shape, device)
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    count = math.prod(shape[each] for each in axes)
    if count == 0 and name in ("max", "min", "mean", "var", "std"):
        return
    options: dict[str, Any] = {"correction": data.draw(st.sampled_from([0.0, 1.0]))} if name in ("var", "std") else {}
    if count <= options.get("correction", 0.0) or (name == "std" and count == 1):
        return
    _check(lambda x: getattr(ag, name)(x, axis=axis, keepdims=keepdims, **options), x)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax", "log_softmax"])
@EXAMPLES
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
def test_along_an_axis(name: str, data: Any, shape: tuple[int, ...]) -> None:
    device = data.draw(st.sampled_from(["cpu", "numpy"]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    _check(lambda x: getattr(ag, name)(x, axis=axis), _values(data.draw, OPS["sum"], shape, device))


def test_products_with_zeros_can_be_differentiated_twice(device: str) -> None:
    for values in ([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]], [[2.0, 1.0, 3.0], [0.0, -1.0, 1.0]]):
        x = ag.Tensor(values, dtype="float64", requires_grad=True)
        _check(lambda x: ag.prod(x, axis=1), x)
        _check(lambda x: ag.prod(x), x)
        _check(lambda x: ag.cumprod(x, axis=1), x)


@EXAMPLES
@given(data=st.data(), shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3, min_side=0))
def test_where(data: Any, shapes: Any) -> None:
    device = data.draw(st.sampled_from(["cpu", "numpy"]))
    condition = ag.Tensor(data.draw(hnp.arrays(np.bool_, shapes.input_shapes[0])), device=device)
    x, y = (_values(data.draw, OPS["add"], shape, device) for shape in shapes.input_shapes[1:])
    _check(lambda x, y: ag.where(condition, x, y), x, y)
    _check(lambda x: ag.where(condition, x, 1.5), x)
    _check(lambda x: ag.where(condition, 1.5, x), x)


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

"""Gradients where they are delicate: overflow, unused branches, singular points, ties, zeros."""

import math
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag

pytestmark = pytest.mark.usefixtures("device")


def _run(function: Any, values: Any, dtype: str = "float64") -> tuple[Any, Any]:
    """The value and the gradient of its sum."""
    x = ag.Tensor(values, dtype=dtype, requires_grad=True)
    y = function(x)
    y.backward()
    assert x.grad is not None
    return y.tolist(), x.grad.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_softmax_of_large_logits(dtype: str) -> None:  # pytorch/pytorch#795
    x = ag.Tensor([1000.0, 1000.5, -1000.0], dtype=dtype, requires_grad=True)
    y = ag.log_softmax(x)
    y[0].backward()
    assert x.grad is not None
    np.testing.assert_allclose(y.numpy(), [-0.97407698, -0.47407698, -2000.97407698], rtol=3e-7)
    np.testing.assert_allclose(x.grad.numpy(), [0.62245933, -0.62245933, 0.0], rtol=1e-6)
    value, gradient = _run(lambda x: ag.softmax(x)[1:], [1000.0, 1000.5, -1000.0], dtype)
    assert np.isfinite(value).all() and np.isfinite(gradient).all()


def test_softplus_of_large_values() -> None:  # tracel-ai/burn#5373
    value, gradient = _run(ag.softplus, [-1000.0, 0.0, 100.0, 1000.0], "float32")
    np.testing.assert_allclose(value, [0.0, 0.6931472, 100.0, 1000.0], rtol=1e-6)
    assert gradient == [0.0, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (lambda x: ag.where(x > 0, ag.sqrt(ag.where(x > 0, x, 1.0)), x), [-2.0, -9.0, -0.5], [1, 1, 1]),
        (lambda x: ag.where(x > 0, ag.sqrt(x), x), [-2.0, -9.0, -0.5], [1, 1, 1]),
        (lambda x: ag.where(x > 0, ag.sqrt(x), x), [0.0, 4.0], [1, 0.25]),
        (lambda x: ag.where(x > 0, ag.log(x), x), [0.0, -1.0, 2.0], [1, 1, 0.5]),
        (lambda x: ag.where(x > -1, ag.log1p(x), x), [-1.0, -3.0, 1.0], [1, 1, 0.5]),
        (lambda x: ag.where(x < 10, ag.exp(x), x), [1e4, 0.0], [1, 1]),
        (lambda x: ag.where(x < 10, ag.expm1(x), x), [1e4, 0.0], [1, 1]),
        (lambda x: ag.where(x != 0, ag.reciprocal(x), x), [0.0, 2.0], [1, -0.25]),
        (lambda x: ag.where(x != 0, 1.0 / x, x), [0.0, 2.0], [1, -0.25]),
        (lambda x: ag.where(x != 0, ag.ones_like(x) / x, x), [0.0, 2.0], [1, -0.25]),
        (lambda x: ag.where(x > 0, x**-1.5, x), [0.0, -1.0, 1.0], [1, 1, -1.5]),
        (lambda x: ag.where(x > 0, x**x, x), [0.0, 1.0], [1, 1]),
    ],
)
# pytorch/pytorch#187297
def test_branch_not_selected_contributes_nothing(function: Any, at: Any, expected: Any) -> None:
    assert _run(function, at)[1] == expected
    x = ag.Tensor(at, dtype="float64", requires_grad=True)
    (gradient,) = ag.grad(function(x), x, create_graph=True)
    assert gradient is not None and gradient.tolist() == expected
    if gradient.op is not None:
        (second,) = ag.grad(gradient, x, allow_unused=True)
        assert second is None or np.isfinite(second.numpy()).all()


def test_norm_and_sqrt_at_zero() -> None:  # pytorch/pytorch#2421
    assert _run(ag.norm, [0.0, 0.0, 0.0])[1] == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(
        _run(lambda x: ag.norm(x, axis=1), [[0.0, 0.0], [3.0, 4.0]])[1], [[0.0, 0.0], [0.6, 0.8]], rtol=1e-12
    )
    assert _run(ag.sqrt, 0.0)[1] == math.inf
    assert _run(lambda x: (x * x).sum(), [0.0, 0.0, 0.0])[1] == [0.0, 0.0, 0.0]
    assert _run(ag.std, [2.0, 2.0])[1] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("power", "at", "expected"),
    [
        (0, 0.0, 0.0),
        (1, 0.0, 1.0),
        (2, 0.0, 0.0),
        (3, 0.0, 0.0),
        (2, -3.0, -6.0),
        (3, -2.0, 12.0),
        (0.5, 0.0, math.inf),
    ],
)
def test_powers_at_singular_points(power: float, at: float, expected: float) -> None:  # tinygrad/tinygrad#9075
    assert _run(lambda x: x**power, at)[1] == expected
    x = ag.Tensor(at, dtype="float64", requires_grad=True)
    (x ** ag.Tensor(float(power), dtype="float64")).backward()
    assert x.grad is not None and x.grad.item() == expected


@pytest.mark.parametrize(
    ("base", "power", "expected"), [(0.0, 2.0, 0.0), (0.0, 0.0, 0.0), (2.0, 3.0, 8 * math.log(2.0)), (1.0, 5.0, 0.0)]
)
def test_derivative_by_the_exponent(base: float, power: float, expected: float) -> None:  # tinygrad/tinygrad#9075
    assert _run(lambda y: base**y, power)[1] == pytest.approx(expected)
    assert _run(lambda y: ag.Tensor(base, dtype="float64") ** y, power)[1] == pytest.approx(expected)


def test_ties_share_a_gradient_of_one() -> None:  # pytorch/pytorch#76522
    for function in (ag.maximum, ag.minimum):
        a, b = (ag.Tensor(2.0, requires_grad=True) for _ in range(2))
        function(a, b).backward()
        assert a.grad is not None and b.grad is not None
        assert (a.grad.item(), b.grad.item()) == (0.5, 0.5)
    assert _run(ag.max, [1.0, 3.0, 3.0])[1] == [0.0, 0.5, 0.5]
    assert _run(ag.min, [1.0, 1.0, 3.0])[1] == [0.5, 0.5, 0.0]
    assert _run(lambda x: ag.max(x, axis=0), [[1.0, 5.0], [1.0, 2.0]])[1] == [[0.5, 1.0], [0.5, 0.0]]
    assert _run(abs, 0.0)[1] == 0.0
    assert _run(ag.relu, 0.0)[1] == 0.0


def test_nan_is_the_extreme() -> None:
    value, gradient = _run(ag.max, [1.0, math.nan, 3.0])
    assert math.isnan(value) and gradient == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("at", "expected"),
    [([2.0, 0.0, 3.0], [0, 6, 0]), ([2.0, 0.0, 0.0], [0, 0, 0]), ([2.0, 5.0], [5, 2]), ([7.0], [1]), ([], [])],
)
def test_products_with_zeros(at: Any, expected: Any) -> None:  # pytorch/pytorch#773
    assert _run(ag.prod, at)[1] == expected


def test_products_over_several_axes() -> None:  # pytorch/pytorch#773
    x = np.array([[[1.0, 0.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]])
    gradient = np.array(_run(lambda x: ag.prod(x, axis=(0, 2)), x)[1])
    for index in np.ndindex(x.shape):
        others = x[:, index[1], :].copy()
        others[index[0], index[2]] = 1.0
        assert gradient[index] == others.prod()


def test_running_products_with_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    others = [np.where(np.arange(5) == i, 1.0, x) for i in range(5)]
    expected = [np.cumprod(others[i])[i:].sum() for i in range(5)]
    np.testing.assert_allclose(_run(ag.cumprod, x)[1], expected)


def test_clip_passes_at_its_ends() -> None:
    assert _run(lambda x: ag.clip(x, 1.0, 2.0), [0.5, 1.0, 1.5, 2.0, 2.5])[1] == [0, 1, 1, 1, 0]
    assert _run(lambda x: ag.clip(x, min=1.0), [0.5, 1.5])[1] == [0, 1]
    low = ag.Tensor([1.0, 1.0], requires_grad=True)
    ag.clip(ag.Tensor([0.5, 1.5]), low, None).sum().backward()
    assert low.grad is not None and low.grad.tolist() == [1.0, 0.0]


def test_logsumexp_of_infinities() -> None:
    assert _run(ag.logsumexp, [-math.inf, 0.0, 0.0])[1] == [0.0, 0.5, 0.5]
    value, gradient = _run(ag.logsumexp, [-math.inf, -math.inf])
    assert value == -math.inf and gradient == [0.0, 0.0]


def test_logsumexp_of_infinity_is_undefined_there_and_zero_elsewhere() -> None:
    value, gradient = _run(ag.logsumexp, [math.inf, 1.0])
    assert value == math.inf
    np.testing.assert_array_equal(gradient, [math.nan, 0.0])
    _, gradient = _run(lambda x: ag.logsumexp(x, axis=1), [[-math.inf, -math.inf], [math.inf, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(gradient, [[0.0, 0.0], [math.nan, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 0.0,
        lambda x: x / -0.0,
        lambda x: x / 0,
        lambda x: x / math.nan,
        lambda x: x / 1e-300,
        lambda x: x * math.inf,
        lambda x: -math.inf * x,
        lambda x: math.nan * x,
        lambda x: x * 1e300,
        lambda x: (-1.0) ** x,
        lambda x: 0.0**x,
        lambda x: math.inf**x,
        lambda x: math.nan**x,
    ],
)
def test_zero_gradient_stays_zero_beside_a_scalar(function: Any, zero: float, dtype: str) -> None:
    for values in ([2.0, 0.0], [-0.5, 1.0]):
        x = ag.Tensor(values, dtype=dtype, requires_grad=True)
        seed = ag.Tensor([zero, zero], dtype=dtype, requires_grad=True)
        (plain,) = ag.grad(function(x), x, seed)
        assert plain is not None and plain.tolist() == [0.0, 0.0]
        (gradient,) = ag.grad(function(x), x, seed, create_graph=True)
        assert gradient is not None and gradient.tolist() == [0.0, 0.0]
        for second in ag.grad(gradient, [x, seed], allow_unused=True) if gradient.op is not None else ():
            assert second is None or np.isfinite(second.numpy()).all()


def test_poles_beside_a_scalar() -> None:
    assert _run(lambda x: x / 0.0, 3.0)[1] == math.inf
    assert _run(lambda x: x / -0.0, 3.0)[1] == -math.inf
    assert _run(lambda x: x * math.inf, 3.0)[1] == math.inf
    assert _run(lambda x: x * 1e200, 3.0)[1] == 1e200
    assert _run(lambda x: x / 1e-200, 3.0)[1] == 1 / 1e-200
    assert math.isnan(_run(lambda x: (-1.0) ** x, 2.0)[1])
    assert _run(lambda x: 0.0**x, -1.0)[1] == -math.inf
    assert _run(lambda x: math.inf**x, 1.0)[1] == math.inf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gelu_tanh_of_values_whose_square_overflows(dtype: str) -> None:
    largest = float(np.finfo(dtype).max)
    x = ag.Tensor(np.array([-largest, -100.0, 100.0, largest], dtype), requires_grad=True)
    ag.gelu_tanh(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logaddexp_of_infinities_twice(dtype: str) -> None:  # pytorch/pytorch#49724, pytorch/pytorch#196787
    pairs = [(-math.inf, -math.inf), (-math.inf, 1.0), (1.0, math.inf), (1000.0, 0.0), (0.0, -800.0), (5.0, 5.0)]
    expected = [(0.0, 0.0), (0.0, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, 0.0), (0.5, 0.5)]
    x, y = (ag.Tensor(list(each), dtype=dtype, requires_grad=True) for each in zip(*pairs, strict=True))
    first = ag.grad(ag.logaddexp(x, y).sum(), [x, y], create_graph=True)
    for found, wanted in zip(first, zip(*expected, strict=True), strict=True):
        assert found is not None and found.tolist() == list(wanted)
    for found in ag.grad((first[0] * 2.0 + first[1]).sum(), [x, y]):  # type: ignore[operator, union-attr]
        assert found is not None and [abs(each) for each in found.tolist()] == [0.0] * 5 + [0.25]
    for scalar in (lambda x: ag.logaddexp(x, -math.inf), lambda x: ag.logaddexp(-math.inf, x)):
        z = ag.Tensor([-math.inf, 2.0], dtype=dtype, requires_grad=True)
        scalar(z).sum().backward()
        assert z.grad is not None and z.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [(ag.atan, 300.0, 1 / 90001), (ag.log10, 60000.0, 1 / (60000 * math.log(10))), (ag.asinh, 300.0, 1 / 300)],
)
def test_derivatives_in_float16_whose_parts_would_overflow(function: Any, at: float, expected: float) -> None:
    x = ag.Tensor([at, -at], dtype="float16", requires_grad=True)
    function(x)[0].backward()
    assert x.grad is not None and x.grad[0].item() == pytest.approx(expected, abs=6e-8, rel=2e-3)


@pytest.mark.parametrize("name", ["identity", "equal", "zero", "rank 1", "nothing"])
def test_pseudo_inverses_with_equal_singular_values(name: str) -> None:  # pytorch/pytorch#65911, jax-ml/jax#2794
    values, expected = {
        "identity": (np.eye(3), -np.ones((3, 3))),
        "equal": (np.diag([2.0, 2.0]), -np.full((2, 2), 0.25)),
        "zero": (np.zeros((2, 3)), np.zeros((2, 3))),
        "rank 1": (np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[-1.0, 1.0], [1.0, 0.0]])),
        "nothing": (np.zeros((0, 3)), np.zeros((0, 3))),
    }[name]
    x = ag.Tensor(values, requires_grad=True)
    ag.linalg.pinv(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)


def test_pseudo_inverses_of_rank_1_are_differentiable_twice() -> None:  # pytorch/pytorch#65911
    draw = np.random.default_rng(0)
    a, b = (ag.Tensor(draw.normal(size=(n, 1)), requires_grad=True) for n in (6, 5))
    function = lambda a, b: ag.linalg.pinv(a @ ag.matrix_transpose(b))  # noqa: E731
    assert ag.gradcheck(function, [a, b]) and ag.gradgradcheck(function, [a, b])

"""vmap against a loop over the examples, values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd.functional import grad, vmap

RNG = np.random.default_rng(5)
W = ag.Tensor(RNG.normal(size=(4, 3)), requires_grad=True)
V = ag.Tensor(RNG.normal(size=(3,)), requires_grad=True)

FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], Any]] = {
    "elementwise": (lambda x: ag.exp(x) * 2.0 + x, [(5, 2, 3)], 0),
    "different dimensions": (lambda x, y: x * y + 1.0, [(5, 2, 3), (5, 3)], 0),
    "beside a constant": (lambda x: x * V + W, [(5, 4, 3)], 0),
    "scalar examples": (lambda x, y: x * y, [(5,), (5, 3)], 0),
    "maximum": (lambda x, y: ag.maximum(x, y), [(5, 3), (5, 3)], 0),
    "clip": (lambda x: ag.clip(x, -0.5, 0.5), [(5, 3)], 0),
    "astype": (lambda x: x.astype("float32").astype("float64"), [(5, 3)], 0),
    "matmul": (lambda x, y: x @ y, [(5, 2, 3), (5, 3, 4)], 0),
    "matmul shared": (lambda x: W @ x, [(5, 3, 2)], 0),
    "matrix vector": (lambda x: W @ x, [(5, 3)], 0),
    "vector matrix": (lambda x, y: x @ y, [(5, 3), (5, 3, 2)], 0),
    "vectors": (lambda x: x @ V, [(5, 3)], 0),
    "batched products": (lambda x, y: x @ y, [(5, 2, 2, 3), (5, 3, 2)], 0),
    "transposed": (lambda x, y: ag.ops.MatMul(transpose_b=True)(x, y), [(5, 2, 3), (5, 4, 3)], 0),
    "linear": (lambda x: ag.linear(x, W), [(5, 3)], 0),
    "sum": (lambda x: x.sum(), [(5, 2, 3)], 0),
    "sum of a scalar": (lambda x: x.sum(), [(5,)], 0),
    "mean": (lambda x: x.mean(axis=-1, keepdims=True), [(5, 2, 3)], 0),
    "norm": (lambda x: ag.norm(x, axis=0), [(5, 2, 3)], 0),
    "logsumexp": (lambda x: ag.logsumexp(x, axis=(0, 1)), [(5, 2, 3)], 0),
    "softmax": (lambda x: ag.softmax(x, axis=0), [(5, 2, 3)], 0),
    "views": (lambda x: ag.flip(ag.permute_dims(ag.reshape(x, (3, 2)), (1, 0)), axis=0), [(5, 6)], 0),
    "broadcast": (lambda x: ag.broadcast_to(x, (2, 4, 3)), [(5, 3)], 0),
    "squeeze": (lambda x: ag.squeeze(ag.expand_dims(x, axis=0), 0), [(5, 3)], 0),
    "an op without a rule": (lambda x: ag.cumsum(x, axis=0) + x[0], [(5, 3)], 0),
    "several results": (lambda x: ag.linalg.qr(x).R ** 2, [(5, 3, 3)], 0),
    "other axes": (lambda x, y: x * y, [(3, 5), (5, 3)], (1, 0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_a_loop(name: str) -> None:
    function, shapes, in_axes = FUNCTIONS[name]
    inputs = [ag.Tensor(RNG.normal(size=shape), requires_grad=True) for shape in shapes]
    axes = [in_axes] * len(inputs) if isinstance(in_axes, int) else in_axes
    result = vmap(function, in_axes)(*inputs)
    examples = [
        function(*[x[(slice(None),) * axis + (at,)] for x, axis in zip(inputs, axes, strict=True)]) for at in range(5)
    ]
    expected = ag.stack(examples)
    assert type(result) is ag.Tensor
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-12)
    targets = [*inputs, *[each for each in (W, V) if ag.reaches(each, expected)]]
    weights = ag.Tensor(RNG.normal(size=result.shape))
    for ours, theirs in zip(
        ag.grad((result * weights).sum(), targets), ag.grad((expected * weights).sum(), targets), strict=True
    ):
        assert ours is not None and theirs is not None
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_products_elementwise_ops_and_reductions_run_once_for_the_batch() -> None:
    class Count(ag.Op):
        calls = 0

    x = ag.Tensor(RNG.normal(size=(50, 3)), requires_grad=True)
    before = ag.live_tensor_count()
    y = vmap(lambda x: (ag.tanh(W @ x) * 2.0).sum())(x)
    assert y.shape == (50,) and len(ag.Graph.of(y)) <= 10 and ag.live_tensor_count() - before <= 10


def test_gradients_of_each_example() -> None:
    x = ag.Tensor(RNG.normal(size=(5, 3)))
    per_example = ag.stack([grad(lambda x: (ag.tanh(x) ** 2).sum())(each) for each in x])
    inside = ag.Tensor(x.data, requires_grad=True)
    (whole,) = ag.grad(vmap(lambda x: (ag.tanh(x) ** 2).sum())(inside).sum(), inside)
    assert whole is not None
    np.testing.assert_allclose(whole.numpy(), per_example.numpy(), rtol=1e-12)


def test_out_axes_constants_and_several_outputs() -> None:
    x = ag.Tensor(RNG.normal(size=(5, 3)))
    assert vmap(lambda x: x * 2.0, out_axes=1)(x).shape == (3, 5)
    first, second = vmap(lambda x: (x, V * 1.0))(x)
    assert first.shape == second.shape == (5, 3)


def test_errors() -> None:
    x = ag.ones((5, 3))
    with pytest.raises(nd.ShapeError, match="lengths"):
        vmap(lambda x, y: x + y)(x, ag.ones((4, 3)))
    with pytest.raises(nd.ShapeError, match="in_axes"):
        vmap(lambda x: x, in_axes=(0, 0))(x)
    with pytest.raises(ag.GradientError, match="looks at values"):
        vmap(lambda x: x if x.sum() > 0.0 else -x)(x)
    with pytest.raises(nd.DTypeError, match="argument 1"):
        vmap(lambda x, y: x)(x, 3.0)
    with pytest.raises(nd.ShapeError, match="one"):
        vmap(lambda x: x, in_axes=None)(x)

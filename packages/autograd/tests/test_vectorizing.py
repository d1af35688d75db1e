"""vmap against a loop over the examples, values and gradients."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd.functional import grad, jacobian, vmap

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
    "attention": (lambda x, y: ag.attention(x, W[:, :2], W, y), [(5, 3, 2), (5, 3, 4)], 0),
    "attention by its mask alone": (lambda x: ag.attention(W, W, W, x), [(5, 4, 4)], 0),
    "matmul": (lambda x, y: x @ y, [(5, 2, 3), (5, 3, 4)], 0),
    "matmul shared": (lambda x: W @ x, [(5, 3, 2)], 0),
    "matrix vector": (lambda x: W @ x, [(5, 3)], 0),
    "vector matrix": (lambda x, y: x @ y, [(5, 3), (5, 3, 2)], 0),
    "vectors": (lambda x: x @ V, [(5, 3)], 0),
    "batched products": (lambda x, y: x @ y, [(5, 2, 2, 3), (5, 3, 2)], 0),
    "transposed": (lambda x, y: ag.ops.MatMul(transpose_b=True)(x, y), [(5, 2, 3), (5, 4, 3)], 0),
    "linear": (lambda x: ag.linear(x, W), [(5, 3)], 0),
    "sum": (lambda x: x.sum(), [(5, 2, 3)], 0),
    "an index of its own": (lambda x: x[ag.argsort(x[:, 0]), 1:] * 2.0, [(5, 4, 3)], 0),
    "shared, at an index of its own": (lambda x: W[ag.argmax(x)] * x, [(5, 3)], 0),
    "along": (lambda x: ag.take_along_axis(W, ag.argsort(x, axis=0), axis=0) * x, [(5, 4, 3)], 0),
    "topk": (lambda x: ag.topk(x, 2, axis=0).values * 2.0, [(5, 4, 3)], 0),
    "smallest": (lambda x: ag.take(x, ag.topk(x[0], 1, largest=False).indices, axis=1), [(5, 2, 3)], 0),
    "in its likeness": (lambda x: ag.full_like(x, 2.0) * x + ag.ones_like(x), [(5, 3)], 0),
    "one hot": (lambda x: ag.one_hot(ag.argmax(x, axis=1), 3, dtype="float64") @ x[0], [(5, 2, 3)], 0),
    "scans without an axis": (lambda x: ag.cumsum(x) + ag.logcumsumexp(x), [(5, 2, 3)], 0),
    "two axes moved": (lambda x: ag.moveaxis(x, (0, 1), (2, 0)), [(5, 2, 3, 2)], 0),
    "a diagonal": (lambda x: ag.diagonal(x, axis1=2, axis2=0), [(5, 2, 3, 2)], 0),
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
    "comparisons": (lambda x, y: ag.where((x > y) | ~(x <= 0.0), x, y * 2.0), [(5, 2, 3), (5, 3)], 0),
    "scalar comparisons": (lambda x: ag.where((x > 0.0) & (x != 0.5), x, -x), [(5, 3)], 0),
    "without gradient": (lambda x: x * ag.sign(x) + ag.floor(x) // 2.0 + ag.isnan(x).astype("float64"), [(5, 3)], 0),
    "argmax": (lambda x: x + ag.argmax(x, axis=-1, keepdims=True).astype("float64"), [(5, 2, 3)], 0),
    "argmax of all": (lambda x: x * ag.argmax(x).astype("float64"), [(5, 2, 3)], 0),
    "any": (lambda x: ag.where(ag.any(x > 1.0, axis=(0, 1), keepdims=True), x, 0.0), [(5, 2, 3)], 0),
    "all of all": (lambda x: ag.where(ag.all(x > -1.0, keepdims=True), x, 0.0), [(5, 2, 3)], 0),
    "argsort": (lambda x: ag.take_along_axis(x, ag.argsort(x, axis=0), axis=0), [(5, 2, 3)], 0),
    "joined": (lambda x: ag.concat([x, ag.stack([V, V])], axis=0), [(5, 2, 3)], 0),
    "parts": (lambda x: ag.real(ag.conj(x * 1j) * (1 + 2j)) + ag.abs(x + 1j), [(5, 3)], 0),
    "nested": (lambda x: vmap(lambda row: row * x.sum() + V)(x), [(5, 2, 3)], 0),
    "nested products": (lambda x: vmap(lambda column: W @ column, in_axes=1, out_axes=1)(x), [(5, 3, 2)], 0),
    "nested, outer alone": (lambda x: vmap(lambda v: v * x)(V), [(5, 2)], 0),
    "nested three deep": (lambda x: vmap(vmap(lambda v: ag.where(v > 0.0, v, x.sum())))(x), [(5, 2, 3)], 0),
    "nested without a rule": (lambda x: vmap(lambda row: ag.cumsum(row, axis=0) * ag.max(x))(x), [(5, 2, 3)], 0),
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


class Pair(NamedTuple):
    total: Any
    parts: Any


def test_results_in_named_tuples_lists_and_dicts() -> None:
    x = ag.Tensor(RNG.normal(size=(5, 3)))
    result = vmap(lambda x: Pair(x.sum(), {"twice": x * 2.0, "list": [x]}))(x)
    assert type(result) is Pair and type(result.parts["list"]) is list
    np.testing.assert_allclose(result.total.numpy(), x.numpy().sum(axis=1))
    np.testing.assert_allclose(result.parts["twice"].numpy(), x.numpy() * 2.0)
    (decomposed,) = [vmap(lambda m: ag.linalg.qr(m))(ag.Tensor(RNG.normal(size=(5, 3, 2))))]
    assert decomposed.Q.shape == (5, 3, 2) and decomposed.R.shape == (5, 2, 2)


def test_what_is_kept_of_a_call_refuses_to_be_used() -> None:
    kept: list[ag.Tensor] = []
    vmap(lambda x: kept.append(x * 2.0) or x)(ag.Tensor(RNG.normal(size=(5, 3)), requires_grad=True))
    (late,) = kept
    for use in (
        lambda: late + 1.0,
        lambda: ag.exp(late),
        lambda: late @ W,
        lambda: late > 0.0,
        lambda: ag.argmax(late),
        lambda: late.numpy(),
        lambda: late.sum(),
        lambda: ag.where(ag.Tensor([True]), late, 1.0),
        lambda: vmap(lambda x: x + late)(ag.ones(2)),
        lambda: ag.linalg.qr(late),
        lambda: late.backward(),
    ):
        for lazy in (False, True):
            with ag.lazy(lazy), pytest.raises(ag.GradientError, match=r"vmap that is over|requires no grad"):
                use()
    assert "batch=5" in repr(late)


def test_gradients_of_nested_calls() -> None:
    x, y = (ag.Tensor(RNG.normal(size=shape), requires_grad=True) for shape in ((4, 2), (3, 2)))
    table = vmap(lambda a: vmap(lambda b: ag.exp(-((a - b) ** 2).sum()))(y))(x)
    expected = ag.exp(-((ag.expand_dims(x, axis=1) - y) ** 2).sum(axis=2))
    np.testing.assert_allclose(table.numpy(), expected.numpy(), rtol=1e-12)
    assert len(ag.Graph.of(table)) <= 20  # once for the whole table, not for each pair
    weights = ag.Tensor(RNG.normal(size=table.shape))
    for ours, theirs in zip(ag.grad(table, [x, y], weights), ag.grad(expected, [x, y], weights), strict=True):
        assert ours is not None and theirs is not None
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10)


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
    with pytest.raises(ag.GradientError, match="looks at values"):
        vmap(lambda x: x[x > 0.0])(x)
    with pytest.raises(TypeError, match="no length"):
        vmap(lambda x: len(x.sum()))(x)
    with pytest.raises(nd.ShapeError, match="one"):
        vmap(lambda x: x, in_axes=None)(x)
    for function in (lambda w, x: (w * x).sum(), lambda x, w: (w * x).sum()):
        with pytest.raises(ag.GradientError, match=r"gradients are not taken inside vmap\(\); take them of it"):
            vmap(grad(function), in_axes=(None, 0))(ag.ones((3,)), x)


def test_the_gradient_of_each_example_by_what_they_share() -> None:
    weight, batch = ag.Tensor([2.0, -1.0]), ag.Tensor([[1.0, 2.0], [3.0, 5.0]])
    found = jacobian(lambda w: vmap(lambda x: (w * w * x).sum())(batch))(weight)
    assert found.tolist() == [[4.0, -4.0], [12.0, -10.0]]  # 2 w x


def test_none_is_equal_to_no_example() -> None:
    x = ag.ones((2, 3))
    assert vmap(lambda each: each * 2.0 if each != None else each)(x).tolist() == (x * 2.0).tolist()  # noqa: E711
    with pytest.raises(TypeError, match="not supported between"):
        vmap(lambda each: each < "x")(x)

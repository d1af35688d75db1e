"""Faults that users of other libraries reported of gradients, as kinds: each is looked for in every op of the table.

The cases themselves stand beside the ops in ``packages/autograd/tests``. Expected values come from mathematics, NumPy
and PyTorch.
"""

import gc
import math
import operator
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle.autograd as ag
import treadle.ndarray as nd
from samplers import SAMPLERS, Draw, Sample
from treadle.ndarray.opset import OPS, Family

EVERY_OP = pytest.mark.parametrize("name", SAMPLERS)
FEW = settings(max_examples=2, deadline=None)
NASTY = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e4, -1e4, 1e-4]


def _rows(family: Family) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [r.name for r in OPS.values() if r.family is family and r.differentiable])


def _leaves(sample: Sample) -> list[ag.Tensor]:
    return [ag.Tensor(np.array(each), requires_grad=each.dtype.kind == "f") for each in sample.operands]


def _outputs(result: Any) -> list[ag.Tensor]:
    given = result if isinstance(result, tuple) else (result,)
    return [each for each in given if each.requires_grad]


# --- a branch that is not selected ----------------------------------------------------------------------------------
@_rows(Family.UNARY)
def test_a_branch_not_taken_gives_nothing_whatever_its_derivative(name: str) -> None:
    """pytorch/pytorch#187297, tinygrad/tinygrad#12409: at poles, beyond the domain, where the value overflows."""
    x = ag.Tensor(np.array(NASTY), requires_grad=True)
    y = ag.where(ag.Tensor(np.zeros(len(NASTY), bool)), getattr(ag, name)(x), x * 3.0)
    (plain,) = ag.grad(y.sum(), x, retain_graph=True)
    (kept,) = ag.grad(y.sum(), x, create_graph=True)
    assert plain is not None and kept is not None
    assert plain.tolist() == kept.tolist() == [3.0] * len(NASTY)
    (second,) = ag.grad(kept.sum(), x, allow_unused=True) if kept.requires_grad else (None,)
    assert second is None or not second.numpy().any()


@_rows(Family.BINARY)
def test_a_branch_of_two_operands_not_taken_gives_nothing(name: str) -> None:
    """pytorch/pytorch#187297 for every pair of nasty operands."""
    a, b = np.meshgrid(NASTY, NASTY)
    x, y = ag.Tensor(a, requires_grad=True), ag.Tensor(b, requires_grad=True)
    z = ag.where(ag.Tensor(np.zeros(a.shape, bool)), getattr(ag, name)(x, y), x + y * 2.0)
    for create_graph in (False, True):
        first, second = ag.grad(z.sum(), [x, y], retain_graph=True, create_graph=create_graph)
        assert first is not None and second is not None
        assert (first.numpy() == 1.0).all() and (second.numpy() == 2.0).all()


# --- singular points ------------------------------------------------------------------------------------------------
NORMS: dict[str, Any] = {
    "norm": ag.norm,
    "norm of rows": lambda x: ag.norm(x, axis=1).sum(),
    "frobenius": ag.linalg.matrix_norm,
    "largest row": lambda x: ag.linalg.matrix_norm(x, ord=math.inf),
    "std": ag.std,
    "hypot": lambda x: ag.hypot(x, x).sum(),
    "abs": lambda x: ag.abs(x).sum(),
} | {f"order {n}": lambda x, n=n: ag.linalg.vector_norm(x, ord=n) for n in (0, 0.5, 1, 3, math.inf, -math.inf)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", NORMS)
def test_magnitudes_of_nothing_have_the_gradient_zero(name: str, dtype: str) -> None:
    """pytorch/pytorch#2421, HIPS/autograd#151: 0 lies in every subdifferential."""
    if name == "hypot" and dtype.startswith("complex"):
        return
    x = ag.zeros((2, 3), dtype=dtype).requires_grad_()
    NORMS[name](x).backward()
    assert x.grad is not None and not x.grad.numpy().any()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_angles_near_and_far_from_the_origin(size: float) -> None:
    """pytorch/pytorch#165427, #98276: no square in between that overflows or vanishes, and 0 at the origin itself."""
    x, y = (
        ag.Tensor(np.array(each) * size, requires_grad=True) for each in ([3.0, 0.0, 1.0, 0.0], [4.0, 2.0, 0.0, 0.0])
    )
    ag.atan2(x, y).sum().backward()
    assert x.grad is not None and y.grad is not None
    np.testing.assert_allclose(x.grad.numpy() * size, [4.0 / 25.0, 0.5, 0.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(y.grad.numpy() * size, [-3.0 / 25.0, 0.0, -1.0, 0.0], rtol=1e-12)
    z = ag.Tensor(np.array([5.6843e-14 + 1e-13j, 0.0], np.complex64), requires_grad=True)
    ag.angle(z).sum().backward()
    assert z.grad is not None and z.grad.tolist() == pytest.approx([-7.5579e12 + 4.2962e12j, 0.0], rel=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_powers_on_a_grid(dtype: str) -> None:
    """tenstorrent/tt-metal#5082, tinygrad/tinygrad#9075: 0 and negative bases, exponents 0, 1, 2, 3, -1, 1/2."""
    a, b = np.meshgrid([0.0, 1.0, -3.0, 2.5], [0.0, 1.0, 2.0, 3.0])
    x = ag.Tensor(a.astype(dtype), requires_grad=True)
    (x ** ag.Tensor(b)).backward(ag.Tensor(np.ones_like(a).astype(dtype)))
    assert x.grad is not None
    expected = np.where(b == 0.0, 0.0, b * a ** np.maximum(b - 1.0, 0.0))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-12)
    for exponent in (0, 1, 2, 3, -1, 0.5):
        base = ag.Tensor(np.array([2.0, 1.0]).astype(dtype), requires_grad=True)
        (base**exponent).backward(ag.ones(2, dtype=dtype))
        assert base.grad is not None
        np.testing.assert_allclose(base.grad.numpy(), exponent * np.array([2.0, 1.0]) ** (exponent - 1.0), rtol=1e-12)


TIES: dict[str, Any] = {
    "max": lambda x: ag.max(x, axis=1),
    "min": lambda x: ag.min(x, axis=1),
    "max of all": ag.max,
    "maximum": lambda x: ag.maximum(x[:, :2], x[:, 2:]),
    "minimum": lambda x: ag.minimum(x[:, :2], x[:, 2:]),
    "max_pool": lambda x: ag.max_pool(ag.reshape(x, (1, 3, 4)), 2),
    "sort": lambda x: ag.sort(x, axis=1),
    "topk": lambda x: ag.topk(x, 2, axis=1).values,
    "logaddexp": lambda x: ag.logaddexp(x[:, :2], x[:, 2:]),
    "logsumexp": lambda x: ag.logsumexp(x, axis=0),
    "infinity norm": lambda x: ag.linalg.vector_norm(x, ord=math.inf, axis=1),
}


@pytest.mark.parametrize("name", TIES)
def test_every_choice_among_equals_hands_on_a_mass_of_one(name: str) -> None:
    """pytorch/pytorch#76522"""
    x = ag.Tensor(np.full((3, 4), 2.0), requires_grad=True)
    y = TIES[name](x)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().sum() == pytest.approx(y.size) and (x.grad.numpy() >= 0.0).all()


@pytest.mark.parametrize("zeros", [(), (0,), (1,), (0, 2), (0, 1, 2)])
def test_products_of_all_kinds_at_zero(zeros: tuple[int, ...]) -> None:
    """pytorch/pytorch#773, apache/mxnet#18078: prod, cumprod, multiply chains and determinants of diagonal matrices."""
    values = np.array([2.0, -3.0, 5.0])
    values[list(zeros)] = 0.0
    others = np.array([np.prod(np.delete(values, at)) for at in range(3)])
    for function in (
        ag.prod,
        lambda x: ag.cumprod(x)[-1],
        lambda x: x[0] * x[1] * x[2],
        lambda x: ag.linalg.det(ag.eye(3, dtype="float64") * x),
        lambda x: ag.einsum("i,j,k->", x[:1], x[1:2], x[2:]),
    ):
        x = ag.Tensor(values, requires_grad=True)
        function(x).backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), others, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_have_gradients(dtype: str) -> None:
    """tensorflow/tensorflow#6365, jax-ml/jax#11466: 1, and -floor(x / y), also below 0, beside infinity."""
    a, b = np.array([-19.0, 19.0, -7.5, 5.5, 2.0], dtype), np.array([3.0, -3.0, -2.0, 2.0, math.inf], dtype)
    x, y = ag.Tensor(a, requires_grad=True), ag.Tensor(b, requires_grad=True)
    (x % y).sum().backward()
    assert x.grad is not None and y.grad is not None
    assert x.grad.tolist() == [1.0] * 5 and y.grad.tolist() == [7.0, 7.0, -3.0, -2.0, 0.0]
    (by_divisor,) = ag.grad((7.0 % y[:4]).sum(), y)
    assert by_divisor is not None and by_divisor.tolist() == [-2.0, 3.0, 4.0, -3.0, 0.0]


SCANS: dict[str, tuple[list[float], list[float]]] = {
    "far from 0": ([1e5, 1e5 + 1.0, 1e5 - 1.0], [1.513670, 1.396300, 0.090031]),
    "nothing in front": ([-math.inf, -math.inf, 1.0, 2.0], [0.0, 0.0, 1.268941, 0.731059]),
    "nothing at all": ([-math.inf] * 3, [0.0] * 3),
    "far apart": ([0.0, -1000.0, 1000.0], [2.0, 0.0, 1.0]),
    "falling": ([1000.0, 0.0, -1000.0], [3.0, 0.0, 0.0]),
    "endless": ([1.0, math.inf, 2.0], [1.0, math.nan, 0.0]),
    "undefined": ([1.0, math.nan, 2.0], [math.nan] * 3),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCANS)
def test_gradients_of_running_logarithms_of_sums(name: str, dtype: str) -> None:
    """pytorch/pytorch#49724, tinygrad/tinygrad#17853: the sum over j >= i of exp(x_i - y_j)."""
    values, expected = SCANS[name]
    x = ag.Tensor(values, dtype=dtype, requires_grad=True)
    ag.logcumsumexp(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-6)


# --- repeated uses --------------------------------------------------------------------------------------------------
USES: dict[str, tuple[Any, Any]] = {
    "list": (lambda x: x[[0, 0, 2, -1]], lambda x: x[[0, 0, 2, -1]]),
    "negative beside positive": (lambda x: x[np.array([0, -4])], lambda x: x[np.array([0, -4])]),
    "mask": (lambda x: x[np.array([True, False, True, True])], lambda x: x[[True, False, True, True]]),
    "two arrays": (lambda x: x[[0, 0], [1, 1]], lambda x: x[[0, 0], [1, 1]]),
    "take": (lambda x: ag.take(x, ag.Tensor([[1, 1], [0, 1]]), axis=1), lambda x: np.take(x, [[1, 1], [0, 1]], axis=1)),
    "along": (
        lambda x: ag.take_along_axis(x, ag.Tensor([[1, 1, 1]] * 4), axis=1),
        lambda x: np.take_along_axis(x, np.array([[1, 1, 1]] * 4), axis=1),
    ),
    "repeat": (lambda x: ag.repeat(x, 3, axis=0), lambda x: np.repeat(x, 3, axis=0)),
    "tile": (lambda x: ag.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3))),
    "wrap": (lambda x: ag.pad(x, 3, mode="wrap"), lambda x: np.pad(x, 3, mode="wrap")),
    "reflect": (lambda x: ag.pad(x, 2, mode="reflect"), lambda x: np.pad(x, 2, mode="reflect")),
    "edge": (lambda x: ag.pad(x, 2, mode="edge"), lambda x: np.pad(x, 2, mode="edge")),
    "broadcast": (lambda x: ag.broadcast_to(x, (2, 4, 4)), lambda x: np.broadcast_to(x, (2, 4, 4))),
    "concat": (lambda x: ag.concat([x, x[:2], x]), lambda x: np.concatenate([x, x[:2], x])),
    "overlapping slices": (lambda x: ag.concat([x[:3], x[1:]]), lambda x: np.concatenate([x[:3], x[1:]])),
}


@pytest.mark.parametrize("name", USES)
def test_every_use_of_an_element_adds(name: str) -> None:
    """pytorch/pytorch#1528, #1631, #971"""
    ours, theirs = USES[name]
    x = ag.Tensor(np.arange(16.0).reshape(4, 4), requires_grad=True)
    y = ours(x)
    places = theirs(np.arange(16).reshape(4, 4))
    seed = np.random.default_rng(0).normal(size=places.shape)
    y.backward(ag.Tensor(seed))
    expected = np.zeros(16)
    np.add.at(expected, places.reshape(-1), seed.reshape(-1))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), expected, atol=1e-12)


# --- deep graphs ----------------------------------------------------------------------------------------------------
DEEP: dict[str, Any] = {
    "elementwise": lambda y: y + 0.5,
    "two operands": lambda y: y + y * 0.0,
    "views": lambda y: ag.flip(y),
    "several results": lambda y: ag.linalg.slogdet(ag.reshape(y, (1, 1))).logabsdet + 2.0 + y * 0.0,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_graphs_of_any_ops_are_differentiated_twice_and_freed(name: str) -> None:
    """pytorch/pytorch#5534, karpathy/micrograd#90"""
    gc.collect()
    before = ag.live_tensor_count()
    x = ag.Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(1_000 if name == "several results" else 10_000):
        y = DEEP[name](y)
    (first,) = ag.grad(y.sum() ** 2, x, create_graph=True)
    assert first is not None
    (second,) = ag.grad(first.sum(), x, allow_unused=True)
    assert np.isfinite(first.numpy()).all() and second is not None
    del x, y, first, second
    assert ag.live_tensor_count() == before


# --- over the whole table -------------------------------------------------------------------------------------------
@EVERY_OP
@FEW
@given(data=st.data())
def test_no_operand_is_overwritten_unnoticed(name: str, data: Any) -> None:
    """pytorch/pytorch#24853, #18523: the gradient is that of the values at the call, or an error tells."""
    sample = SAMPLERS[name](Draw(data.draw))
    expected = _leaves(sample)
    targets = [each for each in expected if each.requires_grad]
    outputs = _outputs(sample.call(*expected))
    if not outputs:
        return
    wanted = ag.grad(outputs, targets, [_seed(each) for each in outputs], allow_unused=True)
    for index in range(len(sample.operands)):
        leaves = _leaves(sample)
        if not leaves[index].requires_grad:
            continue
        outputs = _outputs(sample.call(*leaves))
        with ag.no_grad():
            leaves[index].data[...] = leaves[index].data * 0.5 + 0.25
        try:
            found = ag.grad(
                outputs, [x for x in leaves if x.requires_grad], [_seed(x) for x in outputs], allow_unused=True
            )
        except ag.SavedValueError:
            continue
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def _seed(output: ag.Tensor) -> ag.Tensor:
    return ag.ones(output.shape, dtype=output.dtype, device=output.device)


@EVERY_OP
@FEW
@given(data=st.data())
def test_gradients_share_memory_with_nothing(name: str, data: Any) -> None:
    """Oneflow-Inc/oneflow#9497, pytorch/pytorch#119334: not with each other, the operands, the result or the seed."""
    sample = SAMPLERS[name](Draw(data.draw))
    leaves = _leaves(sample)
    outputs = _outputs(sample.call(*leaves))
    if not outputs:
        return
    seeds = [_seed(each) for each in outputs]
    ag.backward(outputs, seeds)
    gradients = [each.grad.numpy() for each in leaves if each.grad is not None]
    others = [each.numpy() for each in (*leaves, *outputs, *seeds)]
    for at, gradient in enumerate(gradients):
        for other in (*gradients[:at], *others):
            assert not np.shares_memory(gradient, other)


@EVERY_OP
@FEW
@given(data=st.data())
def test_results_die_with_their_last_reference(name: str, data: Any) -> None:
    """pytorch/pytorch#25340, #5569: no cycle, so reference counting alone frees a graph, run or not."""
    sample = SAMPLERS[name](Draw(data.draw))
    leaves = _leaves(sample)
    gc.disable()
    try:
        before = ag.live_tensor_count()
        for run in (False, True):
            outputs = [each for each in _outputs(sample.call(*leaves)) if not each.is_leaf]
            watched = [weakref.ref(each) for each in outputs]
            if run and outputs:
                ag.grad(outputs, [x for x in leaves if x.requires_grad], [_seed(x) for x in outputs], allow_unused=True)
            del outputs
            assert ag.live_tensor_count() == before and all(each() is None for each in watched)
    finally:
        gc.enable()


# --- modes and threads ----------------------------------------------------------------------------------------------
def test_modes_of_every_kind_belong_to_their_thread_and_end_with_an_exception() -> None:
    """pytorch/pytorch#20528, kyutai-labs/pocket-tts#16"""
    seen: list[tuple[bool, bool, bool]] = []

    def state() -> tuple[bool, bool, bool]:
        return ag.is_grad_enabled(), ag.is_inference_mode_enabled(), ag.is_lazy()

    usual = state()
    for mode in (ag.no_grad, ag.inference_mode, ag.lazy, lambda: ag.set_grad_enabled(False)):
        with pytest.raises(KeyError), mode():
            thread = threading.Thread(target=lambda: seen.append(state()))
            thread.start()
            thread.join()
            raise KeyError
        assert state() == usual and seen.pop() == usual
        with pytest.raises(nd.ShapeError), mode():
            ag.ones(2) + ag.ones(3)
        assert state() == usual


# --- NumPy on the left ----------------------------------------------------------------------------------------------
SCALARS = [np.float32(2), np.float64(2), np.int64(2), np.int8(2), np.bool_(True), np.complex64(2j), np.complex128(2)]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("scalar", SCALARS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("left", [True, False])
def test_numpy_scalars_are_weak_beside_every_operator(scalar: Any, function: Any, left: bool) -> None:
    """pytorch/pytorch#9651, odlgroup/odl#180, numpy/numpy#27348: a tensor, of its own precision, with a gradient."""
    plain = scalar.item()
    if isinstance(plain, complex) and function in (operator.floordiv, operator.mod):
        return
    x = ag.Tensor([1.5, 2.5], requires_grad=True)
    y = function(scalar, x) if left else function(x, scalar)
    expected = function(plain, x) if left else function(x, plain)
    assert type(y) is ag.Tensor and y.dtype is expected.dtype
    assert y.dtype == ("complex64" if isinstance(plain, complex) else "float32")
    np.testing.assert_array_equal(y.numpy(), expected.numpy())
    if function not in (operator.floordiv, operator.mod):
        y.backward(_seed(y))
        found, x.grad = x.grad, None
        expected.backward(_seed(expected))
        assert found is not None and x.grad is not None
        np.testing.assert_array_equal(found.numpy(), x.grad.numpy())


def test_numpy_arrays_on_either_side_are_refused_by_name() -> None:
    """numpy/numpy#27348: never an array of objects."""
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    for function in (*OPERATORS, operator.matmul, operator.lt, operator.ge):
        for pair in ((np.ones(2), x), (x, np.ones(2))):
            with pytest.raises(nd.DTypeError, match="wrap it"):
                function(*pair)

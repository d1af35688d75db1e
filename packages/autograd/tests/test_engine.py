"""The engine: accumulation, order, release, checks of what rules return."""

import gc
import os
import threading
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd

UNCOMPILED = bool(os.environ.get("TREADLE_TEST_UNCOMPILED"))


def _leaf(*values: float) -> ag.Tensor:
    return ag.Tensor(list(values), requires_grad=True, dtype="float64")


def _grad(x: ag.Tensor) -> list[float]:
    assert x.grad is not None
    result: list[float] = x.grad.tolist()
    return result


def test_leaves_accumulate_over_uses_and_runs(device: str) -> None:
    x = _leaf(2.0, 3.0)
    (x * x).sum().backward()
    assert _grad(x) == [4.0, 6.0]
    before = x.grad
    (x * 10).sum().backward()
    assert _grad(x) == [14.0, 16.0]
    assert before is not None and before.tolist() == [4.0, 6.0]  # a gradient that somebody holds stays as it was


def test_fan_out_and_repeated_inputs(device: str) -> None:
    x = _leaf(-1.0, 2.0)
    y = x * 3
    (ag.relu(y) + y + y * y).sum().backward()
    assert _grad(x) == [3 + 2 * 9 * -1, 3 + 3 + 2 * 9 * 2]


def test_first_gradient_is_ones_or_given(device: str) -> None:
    x = _leaf(1.0, 2.0)
    (x * x).backward()
    assert _grad(x) == [2.0, 4.0]
    x.grad = None
    (x * x).backward(ag.Tensor([1.0, 10.0], dtype="float64"))
    assert _grad(x) == [2.0, 40.0]
    with pytest.raises(nd.ShapeError, match=r"\(3,\)"):
        (x * x).backward(ag.zeros(3, dtype="float64"))
    with pytest.raises(ag.OpContractError, match="float32"):
        (x * x).backward(ag.zeros(2, dtype="float32"))


def test_leaf_as_root() -> None:
    x = _leaf(1.0)
    x.backward()
    assert _grad(x) == [1.0]


def test_several_roots_in_one_run() -> None:
    x = _leaf(1.0, 2.0)
    y = x * 2
    ag.backward([y, y * 3, y], [ag.ones(2, dtype="float64"), None, ag.full(2, 10.0, dtype="float64")])
    assert _grad(x) == [28.0, 28.0]


def test_gradients_never_alias(device: str) -> None:  # pytorch/pytorch#119334
    x, y = _leaf(1.0, 2.0), _leaf(5.0, 6.0)
    z = x + y
    p = z + 3 * x
    p.sum().backward()
    assert (_grad(x), _grad(y)) == ([4.0, 4.0], [1.0, 1.0])
    assert x.grad is not None and y.grad is not None
    x.grad.data[...] = 100.0
    assert _grad(y) == [1.0, 1.0]

    seed = ag.ones(2, dtype="float64")
    a, b = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    (a + b).backward(seed)
    assert a.grad is not None
    a.grad.data[...] = 7.0
    assert (_grad(b), seed.tolist()) == ([1.0, 1.0], [1.0, 1.0])

    inner = _leaf(1.0, 2.0) + b
    inner.retain_grad()
    (inner + b).sum().backward()
    assert inner.grad is not None
    inner.grad.data[...] = 9.0
    assert _grad(b) == [3.0, 3.0]


def test_gradient_of_a_reduction_owns_its_memory() -> None:
    x = _leaf(1.0, 2.0, 3.0)
    x.sum().backward()
    assert x.grad is not None and x.grad.data.is_contiguous and not x.grad.data.readonly
    x.grad.data[0] = 5.0
    assert _grad(x) == [5.0, 1.0, 1.0]


class Keeper(ag.Op):
    """Returns an array that it keeps, which the engine must not hand out."""

    def __init__(self) -> None:
        self.kept = nd.ones(2, dtype="float64")

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays[0] + 0.0, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return self.kept


def test_gradient_kept_by_an_op_is_copied() -> None:
    op, x = Keeper(), _leaf(1.0, 2.0)
    op(x).sum().backward()
    assert x.grad is not None
    x.grad.data[...] = 5.0
    assert op.kept.tolist() == [1.0, 1.0]


def test_inner_gradients_are_scratch_unless_retained() -> None:
    x = _leaf(1.0, 2.0)
    y, z = x * 2, x * 3
    assert z.retain_grad() is z
    (y * z).sum().backward()
    assert y.grad is None
    assert _grad(z) == [2.0, 4.0]
    with pytest.raises(ag.GradientError, match="does not require grad"):
        ag.zeros(1).retain_grad()


def test_backward_frees_the_graph() -> None:
    x = _leaf(1.0)
    y = x * 2
    z = y * y
    z.backward()
    assert not y.is_leaf and y.op is not None and repr(y.op) == "Multiply(right=2)"
    for use in (
        lambda: z.backward(),
        lambda: y.inputs,
        lambda: z.saved,
        lambda: ag.Graph.of(z),
        lambda: (z + 1).backward(),
    ):
        with pytest.raises(ag.GraphFreedError, match="retain_graph=True"):
            use()
    z = x * x
    z.backward(retain_graph=True)
    z.backward()
    assert _grad(x) == [8 + 2 + 2]


def test_backward_without_anything_to_differentiate() -> None:
    for y in (ag.Tensor([1.0]), ag.Tensor([1.0], requires_grad=True).detach() * 2):
        with pytest.raises(ag.GradientError, match="requires no grad"):
            y.backward()


def test_inputs_without_grad_get_none() -> None:
    x, c = _leaf(1.0), ag.Tensor([2.0], dtype="float64")
    (x * c).backward()
    assert _grad(x) == [2.0] and c.grad is None


def test_results_of_integer_ops_have_no_graph() -> None:
    x = _leaf(1.5)
    y = x.astype("int64")
    assert y.is_leaf and not y.requires_grad


# --- grad() -------------------------------------------------------------------------------------------------------


def test_grad_gives_values_and_leaves_grad_alone(device: str) -> None:
    x, w = _leaf(2.0), _leaf(3.0)
    y = x * w
    z = y * y
    by_y, by_x = ag.grad(z, [y, x])
    assert by_y is not None and by_x is not None
    assert (by_y.tolist(), by_x.tolist()) == ([12.0], [36.0])
    assert x.grad is None and w.grad is None and not by_x.requires_grad


def test_grad_of_an_iterator() -> None:
    """As model.parameters() gives one; what is no tensor is told."""
    x, w = _leaf(2.0), _leaf(3.0)
    by_x, by_w = ag.grad(x * w, (each for each in (x, w)))
    assert by_x is not None and by_w is not None
    assert (by_x.tolist(), by_w.tolist()) == ([3.0], [2.0])
    ag.backward(iter([x * w]))
    assert x.grad is not None and x.grad.tolist() == [3.0]
    for wrong, kind in ((2.0, "float"), (nd.ones(2), "NDArray"), ({"x": x}, "str")):
        with pytest.raises(nd.DTypeError, match=f"grad: the inputs must be tensors, not {kind}"):
            ag.grad(x * w, wrong)  # type: ignore[arg-type]


def test_grad_of_unused_inputs() -> None:
    x, other = _leaf(2.0), _leaf(1.0)
    with pytest.raises(ag.GradientError, match=r"input 1 .*allow_unused"):
        ag.grad(x * 2, [x, other])
    assert ag.grad(x * 2, [x, other], allow_unused=True)[1] is None
    with pytest.raises(ag.GradientError, match="does not require grad"):
        ag.grad(x * 2, ag.zeros(1))


class Loud(ag.Op):
    """Fails if its rule runs."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays[0] * 1.0, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        raise AssertionError("this rule is on no path to the input")


def test_grad_runs_rules_on_paths_to_the_inputs_only() -> None:
    x, other = _leaf(2.0), _leaf(1.0)
    (gradient,) = ag.grad(x * 2 + Loud()(other), x)
    assert gradient is not None and gradient.tolist() == [2.0]


def test_grad_outputs() -> None:
    x = _leaf(1.0, 2.0)
    (gradient,) = ag.grad([x * 2, x * 3], x, [ag.Tensor([1.0, 0.0], dtype="float64"), None])
    assert gradient is not None and gradient.tolist() == [5.0, 3.0]
    with pytest.raises(ag.GradientError, match="2 gradients for 1"):
        ag.grad(x * 2, x, [None, None])


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [(lambda x: x**3, 2.0, 12.0), (ag.exp, 0.0, 1.0), (ag.sin, 1.0, -0.8414709848078965)],
)
def test_second_derivatives(function: Any, at: float, expected: float, device: str) -> None:  # pytorch/pytorch#15353
    x = ag.Tensor(at, dtype="float64", requires_grad=True)
    (first,) = ag.grad(function(x), x, create_graph=True)
    assert first is not None and first.requires_grad
    (second,) = ag.grad(first, x)
    assert second is not None and second.item() == pytest.approx(expected, rel=1e-12)


def test_create_graph_works_inside_no_grad_and_into_grad() -> None:
    x = ag.Tensor(2.0, dtype="float64", requires_grad=True)
    y = x**3
    with ag.no_grad():
        y.backward(create_graph=True)
    assert x.grad is not None and x.grad.requires_grad and x.grad.item() == 12.0
    (second,) = ag.grad(x.grad, x)
    assert second is not None and second.item() == 12.0
    x.grad = None  # it refers to x, which refers to it


def test_third_derivative_of_a_composition() -> None:
    x = ag.Tensor(0.5, dtype="float64", requires_grad=True)
    value = ag.sin(ag.exp(2.0 * x))
    first = ag.grad(value, x, create_graph=True)[0]
    assert first is not None
    u = np.exp(1.0)
    assert first.item() == pytest.approx(np.cos(u) * 2 * u, rel=1e-12)
    second = ag.grad(first, x, create_graph=True)[0]
    assert second is not None
    assert second.item() == pytest.approx(4 * u * np.cos(u) - 4 * u * u * np.sin(u), rel=1e-12)
    third = ag.grad(second, x)[0]
    assert third is not None
    assert third.item() == pytest.approx(8 * u * np.cos(u) - 24 * u**2 * np.sin(u) - 8 * u**3 * np.cos(u), rel=1e-12)


# --- size ---------------------------------------------------------------------------------------------------------


def test_a_million_ops_without_recursion() -> None:  # pytorch/pytorch#5534
    count = 50_000 if UNCOMPILED else 1_000_000
    gc.disable()
    try:
        before = ag.live_tensor_count()
        x = ag.Tensor([0.0], requires_grad=True)
        y = x
        for _ in range(count):
            y = y + 0.5
        y.backward()
        assert _grad(x) == [1.0]
        del y
        z = x
        for _ in range(count):  # released without having been differentiated
            z = z + 0.5
        del z
        del x
        assert ag.live_tensor_count() == before
    finally:
        gc.enable()


def test_diamonds_take_linear_time() -> None:
    x = _leaf(1.0)
    y = x
    for _ in range(60):  # 2^60 paths
        y = y + y
    y.backward()
    assert _grad(x) == [2.0**60]


@pytest.mark.parametrize(
    "function",
    [ag.exp, ag.tanh, ag.sqrt, ag.sigmoid, ag.softmax, ag.norm, lambda x: x * x, ag.prod, lambda x: x[[0, 0]]],
)
def test_no_cycles(function: Any) -> None:  # pytorch/pytorch#25340
    gc.disable()
    try:
        x = _leaf(1.0, 2.0)
        y = function(x)
        dead = weakref.ref(y)
        del y
        assert dead() is None
        y = function(x)
        dead = weakref.ref(y)
        y.sum().backward(retain_graph=True)
        del y
        assert dead() is None
    finally:
        gc.enable()


def test_training_steps_leave_nothing_behind() -> None:
    gc.disable()
    try:
        w, x = _leaf(1.0, 2.0), ag.Tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64")

        def step() -> int:
            w.grad = None
            loss = ag.softmax(ag.tanh(x @ w)).max()
            loss.backward()
            return ag.live_tensor_count()

        first = step()
        assert [step() for _ in range(100)] == [first] * 100
    finally:
        gc.enable()


class Watch(ag.Op):
    """Notes what is alive, and where its gradient lies, when its rule runs."""

    def __init__(self) -> None:
        self.alive: list[int] = []
        self.places: list[int] = []

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays[0] * 1.0, ()

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        result = grad * 1.0
        self.alive.append(ag.live_tensor_count())
        self.places.append(result.data_pointer)
        return result


def test_memory_falls_while_backward_runs() -> None:
    before = ag.live_tensor_count()
    watch, x = Watch(), _leaf(1.0)
    y = x
    for _ in range(50):
        y = watch(y)
    y.backward()
    assert [earlier - later for earlier, later in pairwise(watch.alive)][1:] == [1] * 48
    assert watch.alive[-1] - before <= 4


@pytest.mark.skipif(UNCOMPILED, reason="more references are counted uncompiled, so it copies to be safe")
def test_a_gradient_of_its_own_is_not_copied() -> None:
    watch, x = Watch(), _leaf(*range(100))
    watch(x).sum().backward()
    assert x.grad is not None and x.grad.data.data_pointer == watch.places[0]


# --- threads ------------------------------------------------------------------------------------------------------


def test_two_threads_on_one_leaf_lose_nothing() -> None:  # pytorch/pytorch#20528
    x = ag.Tensor(np.zeros(4096), requires_grad=True)
    barrier = threading.Barrier(2)

    def work() -> None:
        barrier.wait()
        for _ in range(200):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert x.grad is not None and set(x.grad.tolist()) == {400.0}


def test_gradients_replace_what_was_there_on_demand(device: str) -> None:
    x, y, unused = _leaf(2.0, 3.0), _leaf(1.0, 1.0), _leaf(0.0, 0.0)
    (x * x + y + unused).sum().backward()
    before = x.grad
    (x * 10 * y + x * y).sum().backward(accumulate=False)
    assert _grad(x) == [11.0, 11.0] and _grad(y) == [22.0, 33.0]  # the sum over all uses in the one run
    assert _grad(unused) == [1.0, 1.0]  # not reached, so not touched
    assert before is not None and before.tolist() == [4.0, 6.0]
    inner = x * 3
    inner.retain_grad()
    (inner * inner).sum().backward(retain_graph=True)
    ag.backward([inner.sum(), inner.sum()], accumulate=False)
    assert _grad(inner) == [2.0, 2.0] and _grad(x) == [6.0, 6.0]
    (x**3).sum().backward(create_graph=True, accumulate=False)
    assert x.grad is not None and _grad(x) == [12.0, 27.0] and x.grad.requires_grad


def _knotted() -> ag.Tensor:
    """A result whose leaf has a hook that refers to the result."""
    x = _leaf(1.0, 2.0)
    y = (x * x + x) * 2.0
    x.register_hook(lambda grad: grad + y.detach())
    return y


def test_cycles_through_hooks_are_collected() -> None:
    """Operands are visited through their nodes: no cycle is kept, and nothing that is in use is cleared."""
    gc.collect()
    before = ag.live_tensor_count()
    y = _knotted()
    del y
    gc.collect()
    assert ag.live_tensor_count() == before
    holds: list[Any] = [lambda y: y, lambda y: y.inputs[0], lambda y: y.inputs, lambda y: y.inputs[0].inputs]
    for hold in holds:
        held = hold(_knotted())
        gc.collect()
        inner = held[0] if isinstance(held, tuple) else held
        inner.sum().backward()  # the hook of the leaf reads the knotted result
        del held, inner
        gc.collect()
        assert ag.live_tensor_count() == before

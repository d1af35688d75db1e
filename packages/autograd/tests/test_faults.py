"""Faults that were found once, each with the right value."""

import threading
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import functional as F


def _leaf(*values: float) -> ag.Tensor:
    return ag.Tensor(np.array(values), requires_grad=True)


def _scalar(value: float) -> ag.Tensor:
    return ag.Tensor(np.array(value), requires_grad=True)


def _second(function: Any, x: ag.Tensor) -> float:
    (first,) = ag.grad(function(x), x, create_graph=True)
    assert first is not None
    if not first.requires_grad:
        return 0.0
    (second,) = ag.grad(first, x, allow_unused=True)
    return 0.0 if second is None else second.item()


def test_a_detached_factor_is_a_constant_in_second_derivatives() -> None:
    assert _second(lambda x: x * x.detach(), _scalar(3.0)) == 0.0
    assert _second(lambda x: x / x.detach(), _scalar(3.0)) == 0.0
    x = _scalar(3.0)
    p = ag.Tensor(x.data, requires_grad=True)
    (first,) = ag.grad(x * p, x, create_graph=True)
    assert first is not None
    (by_p,) = ag.grad(first, p)
    assert by_p is not None and by_p.item() == 1.0


def test_transformations_see_tensors_of_a_closure() -> None:
    c = ag.Tensor(np.array(3.0))
    f = F.grad(lambda x: F.grad(lambda y: x * y * y)(c))
    assert f(ag.Tensor(np.array(2.0))).item() == 6.0
    w = _scalar(3.0)
    g = F.grad(lambda y: w * y * y)(ag.Tensor(np.array(2.0)))
    (g * g + w).backward()
    assert w.grad is not None and w.grad.item() == 2 * 12.0 * 4.0 + 1.0
    w2 = w * w
    F.grad(lambda x: (x * x * w2).sum())(ag.Tensor(np.array([1.0])))
    w2.sum().backward()


def test_nothing_is_differentiated_in_inference_mode() -> None:
    with ag.inference_mode(), pytest.raises(ag.GradientError, match="inference_mode"):
        F.grad(lambda x: x * x)(ag.Tensor(np.array(2.0)))


def test_checkpoint_tells_arguments_and_closures_apart() -> None:
    x = _scalar(3.0)
    ag.checkpoint(lambda a: a * x, x).backward()
    assert x.grad is not None and x.grad.item() == 6.0
    for function, expected in (
        (lambda: ag.checkpoint(lambda a, b: a * b, x, x), 6.0),
        (lambda: ag.checkpoint(lambda a, b: a * b, x, x * 2.0), 12.0),
        (lambda: ag.checkpoint(lambda a: a * x, x * 2.0), 12.0),
    ):
        (plain,) = ag.grad(function(), x)
        (again,) = ag.grad(function(), x, create_graph=True)
        assert plain is not None and again is not None and plain.item() == again.item() == expected


def test_checkpoint_calls_the_function_once_where_nothing_is_differentiated() -> None:
    calls = []
    plain = ag.ones(2)

    def function(x: ag.Tensor) -> ag.Tensor:
        calls.append(1)
        return x * 2.0

    assert ag.checkpoint(function, plain).tolist() == [2.0, 2.0] and len(calls) == 1
    x = _leaf(1.0)
    assert ag.checkpoint(lambda x: x, x) is x


def test_checkpoint_runs_hooks_once_and_leaves_the_outside_alone() -> None:
    w = _scalar(2.0)
    w.register_hook(lambda grad: grad * 10.0)
    ag.checkpoint(lambda a: a * w, _scalar(3.0)).backward()
    assert w.grad is not None and w.grad.item() == 30.0
    v = _leaf(1.0, 2.0)
    v2 = v * 2.0
    (ag.checkpoint(lambda a: a * v2, _leaf(3.0, 4.0)).sum() + ag.checkpoint(lambda a: a + v2, v).sum()).backward()
    assert v.grad is not None and v.grad.tolist() == [2 * 3.0 + 3.0, 2 * 4.0 + 3.0]
    w.grad = None
    ag.checkpoint(lambda a: w, _scalar(1.0)).backward()
    assert w.grad is not None


@pytest.mark.eager_only("what was put off is not made yet")
def test_watchers_of_threads_that_leave_in_any_order() -> None:
    entered, leave = threading.Event(), threading.Event()
    first = ag.track_memory()

    def other() -> None:
        with ag.track_memory():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with first:
        thread.start()
        entered.wait(30)
    with ag.track_memory() as inner:
        kept = ag.ones(3) * 2.0
        leave.set()
        thread.join()
        also = ag.ones(3) * 3.0
        assert sum(line.count for line in inner.live()) == 2
    assert kept is not also
    with first, pytest.raises(ag.GradientError, match="active already"), first:
        pass


def test_vmap_refuses_what_it_would_get_wrong() -> None:
    ys = ag.Tensor(np.array([10.0, 20.0]))
    with pytest.raises(ag.GradientError, match="two vmaps"):
        F.vmap(lambda a: F.vmap(lambda b: a * b)(ys).sum())(ag.Tensor(np.array([1.0, 2.0])))
    x = ag.Tensor(np.array([3.0, -4.0]))
    assert F.vmap(ag.var)(x).tolist() == [0.0, 0.0]
    assert F.vmap(ag.norm)(x).tolist() == [3.0, 4.0]
    assert F.vmap(lambda x: ag.sum(x) / x.size)(ag.ones((2, 3))).tolist() == [1.0, 1.0]


def test_hooks_of_nodes_that_are_not_asked_for_stay_still() -> None:
    x, w = _leaf(1.0), _leaf(2.0)
    w.register_hook(lambda grad: ag.clip(grad, -1.0, 1.0))
    (found,) = ag.grad((x * ag.exp(w * 2.0)).sum(), x, create_graph=True)
    assert found is not None and found.item() == pytest.approx(np.exp(4.0))


def test_norms_of_zero_have_the_gradient_zero() -> None:
    x = ag.Tensor(np.array([[0.0, 0.0], [3.0, 0.0]]), requires_grad=True)
    for order in (0.5, 3, 4):
        (gradient,) = ag.grad(ag.linalg.vector_norm(x, axis=1, ord=order).sum(), x)
        assert gradient is not None
        np.testing.assert_allclose(gradient.numpy(), [[0.0, 0.0], [1.0, 0.0]], rtol=1e-14)


def test_lengths_of_one_broadcast_in_einsum_and_in_set_item() -> None:
    for subscripts, shapes in (("ij,jk->ik", [(2, 1), (3, 4)]), ("...i,...i->...", [(2, 1, 3), (4, 1)])):
        inputs = [ag.Tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True) for shape in shapes]
        assert ag.gradcheck(lambda *xs, s=subscripts: ag.einsum(s, *xs), inputs)
    x, v = _leaf(1.0, 2.0, 3.0), ag.Tensor(np.array([[7.0, 8.0, 9.0]]), requires_grad=True)
    assert ag.gradcheck(lambda x, v: ag.set_item(x, slice(None), v), [x, v])


def test_tools_look_into_ops_with_several_results() -> None:
    x = ag.Tensor(np.array([[2.0, 1.0], [1.0, 3.0]]), requires_grad=True)
    values, vectors = ag.linalg.eigh(x * 1.0)
    loss = values.sum() + (vectors * vectors).sum()
    stepper = ag.Stepper(loss)
    assert [step.node.label for step in stepper.forward()].count("Eigh()") == 1
    stepper.break_on(norm_above=1e9)
    assert stepper.backward().run() is None
    gradient = stepper.gradient_of(x)
    reasons = ag.why(x, loss)
    assert reasons.paths(k=2).count >= 2
    loss.backward()
    assert x.grad is not None and gradient is not None
    np.testing.assert_array_equal(gradient.numpy(), x.grad.numpy())
    with ag.detect_anomaly():
        ag.linalg.eigh(x * 1.0).eigenvalues.sum().backward()
    before = ag.live_tensor_count()
    y = ag.checkpoint(lambda x: ag.linalg.qr(x).R, x)
    assert len(y.inputs) == 1 and ag.live_tensor_count() == before + 1
    for wrong in ((3, ()), ((), ()), ((nd.ones(1),), [1])):

        class Wrong(ag.TupleOp):
            result: Any = wrong

            def forward(self, xp: Any, *arrays: Any) -> Any:
                return self.result

        with pytest.raises(ag.OpContractError, match="Wrong"):
            Wrong()(x)


def test_comparisons_are_told_as_breaks() -> None:
    w = _leaf(1.0, 2.0)
    answer = ag.connection(w, (w > 0.0).astype("float64").sum())
    assert not answer and "comparison" in answer.breaks[0].reason

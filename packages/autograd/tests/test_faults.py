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


def test_vmap_of_examples_without_axes() -> None:
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
    for order in (0, 0.5, 3, 4):
        (gradient,) = ag.grad(ag.linalg.vector_norm(x, axis=1, ord=order).sum(), x)
        assert gradient is not None
        np.testing.assert_allclose(gradient.numpy(), [[0.0, 0.0], [float(order > 0), 0.0]], rtol=1e-14)
    assert ag.linalg.vector_norm(x, ord=0).item() == 1.0  # how many are not 0
    z = ag.Tensor(np.array([0j, 2j, np.nan]), requires_grad=True)
    count = ag.linalg.vector_norm(z, ord=0)
    count.backward()
    assert (count.item(), count.dtype) == (2.0, "float64") and z.grad is not None and not z.grad.numpy().any()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_determinants_of_singular_matrices_have_two_derivatives(rank: int, kind: str) -> None:
    random = np.random.default_rng(rank)
    parts = [random.integers(-3, 4, size=shape).astype(float) for shape in ((2, 3, rank), (2, rank, 3)) * 2]
    a, b = (parts[0] + 1j * parts[2], parts[1] + 1j * parts[3]) if kind == "complex" else parts[:2]
    x = ag.Tensor(a @ b, requires_grad=True)
    assert ag.gradcheck(ag.linalg.det, x)
    assert ag.gradgradcheck(ag.linalg.det, x)
    if kind == "real" and rank < 3:  # the second derivative of a 2 x 2 determinant is that of ad - bc everywhere
        zero = ag.Tensor(np.zeros((2, 2)), requires_grad=True)
        second = F.hessian(ag.linalg.det)(zero).numpy().reshape(4, 4)
        np.testing.assert_array_equal(second, [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]])


@pytest.mark.parametrize(
    ("stride", "dilation", "more", "padding"), [(1, 3, 2, 0), (2, 5, 3, 1), (2, 5, 4, 0), (3, 2, 2, 1)]
)
def test_transposed_convolutions_with_a_large_output_padding(
    stride: int, dilation: int, more: int, padding: int
) -> None:
    """PyTorch takes an output padding below the stride or below the dilation."""
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((2, 2, 3), (2, 1, 2), (1,))]
    mine = [ag.Tensor(each, requires_grad=True) for each in arrays]
    options: dict[str, Any] = {"stride": stride, "dilation": dilation, "output_padding": more, "padding": padding}
    theirs = [torch.tensor(each, requires_grad=True) for each in arrays]
    expected = torch.nn.functional.conv_transpose1d(*theirs, **options)
    result = ag.conv_transpose(*mine, **options)
    np.testing.assert_allclose(result.numpy(), expected.detach().numpy(), atol=1e-12)
    seed = random.normal(size=result.shape)
    result.backward(ag.Tensor(seed))
    expected.backward(torch.tensor(seed))
    for x, y in zip(mine, theirs, strict=True):
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-12)


def test_operators_with_a_scalar_on_the_left() -> None:
    x, i = ag.Tensor([3.0, -2.0]), ag.Tensor([6, 3])
    assert (7 // x).tolist() == [2.0, -4.0] and (7 % x).tolist() == [1.0, -1.0]
    assert (20 // i).tolist() == [3, 6] and (20 % i).tolist() == [2, 2]
    assert (np.float32(7) // x).tolist() == [2.0, -4.0] and (np.int64(20) % i).tolist() == [2, 2]
    assert (5 & i).tolist() == [4, 1] and (8 | i).tolist() == [14, 11] and (1 ^ i).tolist() == [7, 2]
    with pytest.raises(nd.DTypeError, match="wrap it"):
        [1.0] // x  # type: ignore[operator]


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


OPS = [
    name
    for name, each in sorted(vars(ag.ops).items())
    if isinstance(each, type) and issubclass(each, ag.Op) and name not in ("BinaryOp", "ReduceOp", "UnaryOp")
]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", OPS)
def test_ops_tell_a_wrong_number_of_operands(name: str, lazy: bool) -> None:
    try:
        op = getattr(ag.ops, name)()
    except TypeError:  # one that must be configured
        return
    for count in (0,) if name in ("Concat", "Stack") else (0, 5):
        with ag.lazy(lazy), pytest.raises(nd.TreadleError):
            op(*[_leaf(1.0, 2.0)] * count)


def test_an_error_of_an_own_op_is_not_taken_for_one_of_the_number_of_operands() -> None:
    class Faulty(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            first, second = [1]
            return arrays[0], (first, second)

    class Two(ag.Op):
        def forward(self, xp: Any, x: Any, y: Any) -> Any:  # type: ignore[override]
            return x, ()

        def infer(self, shapes: Any, dtypes: Any) -> Any:
            (shape, _), (dtype, _) = shapes, dtypes
            return shape, dtype

    for lazy in (False, True):
        with ag.lazy(lazy):
            with pytest.raises(ValueError, match="unpack"):
                Faulty()(_leaf(1.0))
            with pytest.raises(ag.OpContractError, match=r"Two\(\) does not take 1 tensor$"):
                Two()(_leaf(1.0))
            with pytest.raises(ag.OpContractError, match=r"Two\(\) does not take 3 tensors$"):
                Two()(*[_leaf(1.0)] * 3)


def test_a_rule_that_writes_into_its_gradient_is_told() -> None:
    """Another rule, and the caller, may hold the same array."""
    tripled = ag.function_op(lambda xp, x: x * 3.0, lambda xp, grad, x: grad.__imul__(3.0), name="Tripled")
    x, seed = _leaf(1.0, 2.0), ag.Tensor(np.ones(2))
    with pytest.raises(ag.OpContractError, match=r"Tripled\(\): backward writes into the gradient"):
        tripled(x).backward(seed)
    with pytest.raises(ag.OpContractError, match=r"Tripled\(\): backward writes"):
        y = x * 1.0
        ag.backward([tripled(y) + y], [ag.Tensor(np.ones(2))])


@pytest.mark.parametrize("check", [ag.gradcheck, ag.gradgradcheck])
def test_gradient_checks_tell_what_is_no_tensor(check: Any) -> None:
    with pytest.raises(nd.DTypeError, match="input 0 is a ndarray"):
        check(ag.exp, np.ones(2))
    with pytest.raises(nd.DTypeError, match="input 1 is a float"):
        check(ag.add, [_leaf(1.0), 2.0])
    with pytest.raises(nd.DTypeError, match="gives a float"):
        check(lambda x: 1.0, _leaf(1.0))


@pytest.mark.parametrize(("x", "y"), [(1, 0), (1.5, 0), (1, 0.5), (True, False), (2, float("-inf"))])
def test_where_takes_two_scalars_as_the_array_does(x: float, y: float) -> None:
    chosen = ag.where(ag.Tensor([1.0, -1.0]) > 0.0, x, y)
    expected = nd.where(nd.asarray([True, False]), x, y)
    assert chosen.tolist() == expected.tolist() == [x, y]
    assert chosen.dtype == expected.dtype
    with ag.lazy():
        assert ag.where(ag.Tensor([True, False]), x, y).tolist() == [x, y]


def test_an_axis_that_is_no_integer_is_an_error_of_shapes() -> None:
    with pytest.raises(nd.ShapeError, match=r"axis is an int, not 0\.5"):
        ag.sum(ag.ones((2, 3)), 0.5)  # type: ignore[arg-type]

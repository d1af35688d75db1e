"""What a prediction says against what is then measured, by hand formulas, and by PyTorch's counter."""

import gc
import math
from collections.abc import Callable
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import linalg

Loss = Callable[..., Any]  # (the library's functions, *parameters) -> the loss


def _mlp(xp: Any, x: Any, first: Any, bias: Any, second: Any) -> Any:
    hidden = xp.tanh(xp.matmul(x, first) + bias)
    return xp.sum(xp.log_softmax(xp.matmul(hidden, second), axis=-1) ** 2)


def _conv_net(xp: Any, x: Any, first: Any, second: Any, last: Any) -> Any:
    x = xp.relu(xp.conv(x, first, padding=1))
    mean, spread = xp.mean(x, axis=(0, 2, 3), keepdims=True), xp.var(x, axis=(0, 2, 3), keepdims=True)
    x = (x - mean) / xp.sqrt(spread + 1e-5)
    x = xp.relu(xp.conv(xp.avg_pool(x, 2), second, padding=1, stride=2))
    return xp.logsumexp(xp.matmul(xp.reshape(x, (x.shape[0], -1)), last), axis=-1).sum()


def _pooled_net(xp: Any, x: Any, first: Any) -> Any:
    return xp.sum(xp.gelu(xp.max_pool(xp.conv(x, first, stride=1), 2)) ** 2)


def _attention(xp: Any, x: Any, q: Any, k: Any, v: Any) -> Any:
    queries, keys, values = xp.matmul(x, q), xp.matmul(x, k), xp.matmul(x, v)
    scores = xp.matmul(queries, xp.matrix_transpose(keys)) * (1.0 / math.sqrt(q.shape[1]))
    return xp.sum(xp.square(xp.matmul(xp.softmax(scores, axis=-1), values) + x))


CASES: dict[str, tuple[Loss, list[tuple[int, ...]]]] = {
    "mlp": (_mlp, [(64, 128), (128, 256), (256,), (256, 32)]),
    "conv net": (_conv_net, [(8, 3, 16, 16), (16, 3, 3, 3), (32, 16, 3, 3), (32 * 16, 10)]),
    "pooled net": (_pooled_net, [(4, 3, 18, 18), (8, 3, 3, 3)]),
    "attention": (_attention, [(4, 48, 32), (32, 32), (32, 32), (32, 32)]),
}
PRODUCTS = {  # multiply-adds of the forward run
    "mlp": 64 * 128 * 256 + 64 * 256 * 32,
    "conv net": 8 * 16 * 16 * 16 * 27 + 8 * 32 * 4 * 4 * 16 * 9 + 8 * 512 * 10,
    "pooled net": 4 * 8 * 16 * 16 * 27,
    "attention": 4 * (3 * 48 * 32 * 32 + 2 * 48 * 48 * 32),
}


def _parameters(shapes: list[tuple[int, ...]]) -> list[ag.Tensor]:
    generator = nd.random.Generator(0)
    return [ag.Tensor(generator.normal(0.0, 0.1, shape), requires_grad=True) for shape in shapes]


def _predicted(name: str) -> ag.Prediction:
    loss, shapes = CASES[name]
    with ag.lazy():
        output = loss(ag, *_parameters(shapes))
    found = ag.predict(output)
    assert not output.is_realized
    return found


def _held() -> int:
    """The bytes in use, without what earlier tests have left in cycles: it would be freed in the middle of this one."""
    gc.collect()
    return nd.memory_statistics()["in_use"]


def _peak_above(base: int) -> int:
    return nd.memory_statistics()["peak"] - base


@pytest.mark.parametrize("name", CASES)
def test_memory_is_what_is_measured(name: str) -> None:
    loss, shapes = CASES[name]
    predicted = _predicted(name)
    parameters = _parameters(shapes)
    with ag.lazy(False):
        base = _held()
        nd.reset_peak_memory()
        output = loss(ag, *parameters)
        assert predicted.graph_memory == pytest.approx(nd.memory_statistics()["in_use"] - base, rel=0.1)
        output.backward()
        assert predicted.peak_memory == pytest.approx(_peak_above(base), rel=0.1)
        del output
        assert predicted.gradient_memory == nd.memory_statistics()["in_use"] - base
    assert predicted.peak_memory >= predicted.graph_memory >= 0


@pytest.mark.parametrize("name", CASES)
def test_memory_of_a_graph_that_is_computed_later(name: str) -> None:
    loss, shapes = CASES[name]
    parameters = _parameters(shapes)
    with ag.lazy():
        output = loss(ag, *parameters)
    predicted = ag.predict(output)
    base = _held()
    nd.reset_peak_memory()
    output.realize()
    output.backward()
    assert predicted.peak_memory == pytest.approx(_peak_above(base), rel=0.1)
    for each in parameters:
        each.grad = None
    assert ag.predict(loss(ag, *parameters)) == predicted  # of a graph that is computed already, just the same


@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_the_formula(name: str) -> None:
    predicted = _predicted(name)
    assert predicted.forward.flops_by_kind["products"] == 2 * PRODUCTS[name]
    assert predicted.backward.flops_by_kind["products"] == 4 * PRODUCTS[name]  # each operand's gradient costs as much
    assert predicted.flops == predicted.forward.flops + predicted.backward.flops > 6 * PRODUCTS[name]
    assert predicted.bytes_moved > predicted.graph_memory


def test_elementwise_work_and_bytes_by_hand() -> None:
    x, w = (ag.Tensor(nd.zeros((100, 20)), requires_grad=True) for _ in range(2))
    with ag.lazy():
        output = (x * w).sum()
    found = ag.predict(output)
    assert found.forward.flops_by_kind == {"elementwise": 2000, "reductions": 2000}
    assert found.forward.bytes_moved == 4 * (3 * 2000 + 2000 + 1)
    assert found.backward.flops_by_kind == {"elementwise": 4000}
    assert found.peak_memory == pytest.approx(4 * 3 * 2000, rel=0.15)  # x * w, and two gradients


def test_the_forward_run_alone_and_what_cannot_be_told() -> None:
    x = ag.Tensor(nd.zeros((8, 8)))
    with ag.lazy():
        y = ag.exp(x) * 2.0
        z = ag.exp(x) + y
    found = ag.predict(y, z, backward=False)
    assert found.forward.flops == 64 * 4 and found.backward.flops == 0 and found.gradient_memory == 0
    with pytest.raises(ag.GradientError, match="backward=False"):
        ag.predict(z)
    w = ag.Tensor(nd.zeros((8, 8)), requires_grad=True)
    loss = (w * w).sum()
    assert ag.predict(ag.Graph.of(loss)) == ag.predict(loss)
    picked = w[w.data > 0.0]
    with pytest.raises(nd.BackendError, match="mask"):
        ag.predict(picked.sum())
    loss.backward()
    with pytest.raises(nd.DTypeError, match="predict: an output is a int"):
        ag.predict(3)  # type: ignore[arg-type]
    with pytest.raises(ag.GraphFreedError):
        ag.predict(loss)


def test_gradients_that_are_there_already_are_counted() -> None:
    w = ag.Tensor(nd.ones((64, 64)), requires_grad=True)
    w.sum().backward()
    loss = (w * w).sum().realize()
    predicted = ag.predict(loss)
    base = _held() - loss.inputs[0].data.nbytes - 64
    nd.reset_peak_memory()
    loss.backward()
    assert predicted.peak_memory == pytest.approx(_peak_above(base), rel=0.1)


def test_constants_are_let_go_when_nobody_needs_them() -> None:
    x = ag.Tensor(nd.zeros((64, 64)))
    with ag.lazy():
        y = x
        for _ in range(6):
            y = ag.exp(y)
    predicted = ag.predict(y, backward=False)
    base = _held()
    nd.reset_peak_memory()
    y.realize()
    assert predicted.peak_memory == pytest.approx(_peak_above(base), rel=0.1)
    assert predicted.peak_memory == 2 * x.data.nbytes and predicted.graph_memory == x.data.nbytes


def test_a_prediction_changes_nothing() -> None:
    w = ag.Tensor(nd.ones((32, 32)), requires_grad=True)
    with ag.lazy():
        loss = ag.sum(ag.matmul(w, w) ** 2)
        live, in_use = ag.live_tensor_count(), nd.memory_statistics()["in_use"]
        ag.predict(loss)
        assert (ag.live_tensor_count(), nd.memory_statistics()["in_use"]) == (live, in_use)
        assert ag.is_lazy() and nd.default_device() == "cpu"
    assert w.grad is None and loss.item() == 32.0**4


def test_branches_of_many_uses_and_several_results() -> None:
    generator = nd.random.Generator(0)
    w = ag.Tensor(generator.normal(0.0, 1.0, (16, 16)), requires_grad=True)

    def build() -> ag.Tensor:
        q, r = linalg.qr(w)
        y = q @ r + linalg.inv(w)
        for _ in range(3):
            y = y * y + w.to("numpy").to("cpu")
        return ag.sum(ag.concat([y, w]))

    found = ag.predict(build())
    assert found.forward.flops > 0 and found.backward.flops > found.forward.flops


def _torch_functions() -> Any:
    torch = pytest.importorskip("torch")
    from torch.nn import functional

    class Functions:
        tanh, matmul, sum, relu, sqrt, square, gelu = (
            torch.tanh, torch.matmul, torch.sum, torch.relu, torch.sqrt, torch.square, functional.gelu
        )  # fmt: skip
        reshape, conv, avg_pool, max_pool = (
            torch.reshape,
            functional.conv2d,
            functional.avg_pool2d,
            functional.max_pool2d,
        )

        @staticmethod
        def log_softmax(x: Any, axis: int) -> Any:
            return torch.log_softmax(x, axis)

        @staticmethod
        def softmax(x: Any, axis: int) -> Any:
            return torch.softmax(x, axis)

        @staticmethod
        def mean(x: Any, axis: Any, keepdims: bool) -> Any:
            return torch.mean(x, axis, keepdims)

        @staticmethod
        def var(x: Any, axis: Any, keepdims: bool) -> Any:
            return torch.var(x, axis, correction=0, keepdim=keepdims)

        @staticmethod
        def logsumexp(x: Any, axis: int) -> Any:
            return torch.logsumexp(x, axis)

        @staticmethod
        def matrix_transpose(x: Any) -> Any:
            return x.mT

    return torch, Functions


@pytest.mark.parametrize("name", CASES)
def test_products_against_torch(name: str) -> None:
    torch, functions = _torch_functions()
    from torch.utils.flop_counter import FlopCounterMode

    loss, shapes = CASES[name]
    with FlopCounterMode(display=False) as forward:
        output = loss(functions, *[torch.zeros(shape, requires_grad=True) for shape in shapes])
    with FlopCounterMode(display=False) as backward:
        output.backward()
    predicted = _predicted(name)
    assert predicted.forward.flops_by_kind["products"] == forward.get_total_flops()
    assert predicted.backward.flops_by_kind["products"] == backward.get_total_flops()

"""Graphs: a step recorded once and replayed. In the emulation a capture records the launches and runs none."""

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import CaptureError, Graph, Stream


def test_a_capture_computes_nothing_and_a_replay_all(device: str, schedule: str) -> None:
    x = nd.zeros(1000, device=device)
    graph = Graph(device)
    with graph.capture() as same:
        x += 1.0
        total = nd.sum(x * 2.0)
    assert same is graph and graph.nodes >= 3
    assert (x.numpy() == 0).all()
    for count in range(1, 4):
        graph.replay()
        assert (x.numpy() == count).all()
        assert total.item() == 2000 * count


def test_a_replay_reads_what_is_there_then(device: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (nd.asarray(rng.normal(size=(20, 20)).astype(np.float32), device=device) for _ in range(2))
    graph = Graph(device)
    with graph.capture():
        out = nd.softmax(x @ y) + nd.mean(x, axis=0)
    for _ in range(2):
        x[...] = nd.asarray(rng.normal(size=(20, 20)).astype(np.float32), device=device)
        graph.replay()
        assert out.numpy().tobytes() == (nd.softmax(x @ y) + nd.mean(x, axis=0)).numpy().tobytes()


def test_what_a_graph_reads_stays_alive(device: str) -> None:
    x = nd.full(5000, 3.0, device=device)
    host = np.arange(5000.0)
    graph = Graph(device)
    with graph.capture():
        y = x * nd.asarray(host, dtype="float32", device=device)
    del x
    host[...] = 0.0
    other = [nd.full(5000, 9.0, device=device) for _ in range(3)]
    graph.replay()
    assert np.array_equal(y.numpy(), 3 * np.arange(5000, dtype=np.float32))
    assert (other[0].numpy() == 9).all()


def test_the_memory_of_a_graph_is_its_own(device: str) -> None:
    treadle.cuda.empty_cache(device)
    before = treadle.cuda.memory_statistics(device)
    x = nd.ones(5000, device=device)
    graph = Graph(device)
    with graph.capture():
        y = (x * 2.0) * 3.0
    during = treadle.cuda.memory_statistics(device)
    assert during["captured"] >= 20_000, "the product in between has been given back to the graph alone"
    treadle.cuda.empty_cache(device)
    others = [nd.full(5000, 9.0, device=device) for _ in range(4)]
    graph.replay()
    assert (y.numpy() == 6).all()
    assert all((other.numpy() == 9).all() for other in others)
    del graph, x, others
    assert treadle.cuda.memory_statistics(device)["captured"] > 0, "y still lies in it"
    del y
    after = treadle.cuda.memory_statistics(device)
    assert (after["captured"], after["in_use"]) == (before["captured"], before["in_use"])


REFUSED = {
    "item": lambda x: x[0].item(),
    "numpy": lambda x: x.numpy(),
    "condition": lambda x: bool((x > 0).all()),
    "nonzero": lambda x: nd.nonzero(x),
    "random": lambda x: nd.random.Generator(0).uniform(0.0, 1.0, (3,), device=x.device),
    "synchronize": lambda x: treadle.cuda.synchronize(x.device),
    "stream": lambda x: Stream(x.device).__enter__(),
    "capture": lambda x: Graph(x.device).capture().__enter__(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_captured_is_refused_and_all_stays_usable(device: str, what: str) -> None:
    x = nd.ones(3, device=device)
    graph = Graph(device)
    with pytest.raises(CaptureError), graph.capture():
        REFUSED[what](x)
    with pytest.raises(CaptureError, match="nothing was captured"):
        graph.replay()
    assert (x + 1.0).tolist() == [2.0] * 3
    with graph.capture():
        y = x + 1.0
    graph.replay()
    assert y.tolist() == [2.0] * 3


def test_adam_is_refused_because_its_factors_change(device: str) -> None:
    x = nd.ones(3, device=device)
    step = getattr(x.device.backend, "adam_step")  # noqa: B009
    with pytest.raises(CaptureError, match="outside"), Graph(device).capture():
        step(x, x, x, x, (0.1, 0.9, 0.99, 1e-8, 0.0, 0.0, 1.0, 1.0, 1.0))


def test_other_errors_pass_through(device: str) -> None:
    with pytest.raises(ZeroDivisionError), Graph(device).capture():
        raise ZeroDivisionError
    assert nd.ones(3, device=device).sum().item() == 3


def test_a_graph_is_captured_once(device: str) -> None:
    graph = Graph(device)
    with graph.capture():
        nd.ones(3, device=device)
    with pytest.raises(CaptureError, match="make another"), graph.capture():
        pass
    assert "nodes=1" in repr(graph)


def test_replays_are_in_order_on_a_stream(device: str) -> None:
    x = nd.ones(3, device=device)
    graph = Graph(device)
    with graph.capture():
        x *= 2.0
    with Stream(device) as stream:
        x += 1.0
        graph.replay()
        graph.replay()
        x += 1.0
    stream.synchronize()
    assert x.tolist() == [9.0] * 3


def test_a_captured_function(device: str) -> None:
    weight = nd.full((3, 3), 2.0, device=device)
    captured = treadle.cuda.capture(lambda x, y: (x @ weight, y + 1.0), *(nd.ones((3, 3), device=device),) * 2)
    for value in (1.0, 4.0):
        product, more = captured(nd.full((3, 3), value), nd.zeros((3, 3), device=device))
        assert (product.numpy() == 6 * value).all()
        assert (more.numpy() == 1).all()
    with pytest.raises(TypeError, match="1 inputs, and 2"):
        captured(weight)
    with pytest.raises(nd.ShapeError, match="input 1"):
        captured(weight, weight[0])
    with pytest.raises(nd.DTypeError, match="input 0 is float64"):
        captured(weight.astype("float64"), weight)
    with pytest.raises(nd.DeviceError, match="one device"):
        treadle.cuda.capture(lambda x, y: x, weight, nd.ones(3))


def test_a_training_step(device: str) -> None:
    """The same parameters, to the bit, as by steps that are not captured."""
    autograd = pytest.importorskip("treadle.autograd")
    nn = pytest.importorskip("treadle.nn")
    optim = pytest.importorskip("treadle.optim")
    rng = np.random.default_rng(0)
    batches = rng.normal(size=(6, 8, 5)).astype(np.float32), rng.normal(size=(6, 8, 2)).astype(np.float32)

    def make() -> tuple[object, object]:
        nd.random.manual_seed(0)
        with nd.use_device(device):
            model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(autograd.Tensor(x)), autograd.Tensor(y))
            loss.backward()
            optimizer.step()
            return loss.data

        return model, step

    (plain, step), (graphed, step_to_capture) = make(), make()
    arrays = [tuple(nd.asarray(each, device=device) for each in pair) for pair in zip(*batches, strict=True)]
    captured = treadle.cuda.capture(step_to_capture, *arrays[0])
    expected = [step(*arrays[0])]
    losses = []
    for pair in arrays[1:]:
        expected.append(step(*pair))
        losses.append(captured(*pair).item())
    assert losses == [loss.item() for loss in expected[1:]]
    for one, other in zip(plain.parameters(), graphed.parameters(), strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()

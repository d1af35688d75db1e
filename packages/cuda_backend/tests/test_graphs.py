"""Graphs: a step recorded once and replayed. In the emulation a capture records the launches and runs none."""

import threading
from collections.abc import Callable

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


def _another(seed: int) -> nd.random.Generator:
    return nd.random.Generator(nd.random.default_generator.seed + seed)


REFUSED = {
    "item": lambda x: x[0].item(),
    "numpy": lambda x: x.numpy(),
    "condition": lambda x: bool((x > 0).all()),
    "nonzero": lambda x: nd.nonzero(x),
    "another generator": lambda x: _another(7).uniform(0.0, 1.0, (3,), device=x.device),
    "another generator of the same seed": lambda x: _another(0).uniform(0.0, 1.0, (3,), device=x.device),
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


def test_replays_draw_on_where_the_default_generator_stands(device: str) -> None:
    """As if each replay were the step itself: also between other draws, and after another seed."""

    def step() -> nd.NDArray:
        return nd.random.uniform(shape=(5,), device=device) + nd.random.normal(shape=(3, 1), device=device)

    nd.random.manual_seed(3)
    expected = [step(), nd.random.uniform(shape=(7,), device=device), step(), step()]
    nd.random.manual_seed(4)
    expected.append(step())
    after = nd.random.default_generator.state()

    nd.random.manual_seed(3)
    graph = Graph(device)
    with graph.capture():
        out = step()
    assert nd.random.default_generator.state() == {"seed": 3, "counter": 0}, "nothing has been drawn"
    got = []
    for number in range(4):
        if number == 1:
            got.append(nd.random.uniform(shape=(7,), device=device))
        if number == 3:
            nd.random.manual_seed(4)
        graph.replay()
        got.append(out.copy())
    assert [each.tolist() for each in got] == [each.tolist() for each in expected]
    assert nd.random.default_generator.state() == after


def test_a_capture_that_fails_has_drawn_nothing(device: str) -> None:
    nd.random.manual_seed(3)
    with pytest.raises(ZeroDivisionError), Graph(device).capture():
        nd.random.uniform(shape=(5,), device=device)
        raise ZeroDivisionError
    assert nd.random.default_generator.state() == {"seed": 3, "counter": 0}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_factors_of_adam_follow_the_replays(device: str, dtype: str) -> None:
    """Against the same steps one by one; two groups of parameters with settings of their own."""
    start = np.random.default_rng(0).normal(size=(2, 50)).astype(dtype)
    settings = ({"lr": 0.1, "weight_decay": 0.01}, {"lr": 0.3, "beta1": 0.5, "beta2": 0.9, "decoupled": True})

    def make() -> list[tuple[nd.NDArray, ...]]:
        place = {"device": device, "dtype": dtype}
        return [(nd.asarray(each, **place), nd.zeros(50, **place), nd.zeros(50, **place)) for each in start]

    def step(groups: list[tuple[nd.NDArray, ...]], count: int) -> None:
        for (parameter, first, second), options in zip(groups, settings, strict=True):
            nd.adam_step(parameter, parameter * 2.0 + 0.5, first, second, step=count, **options)

    plain, graphed = make(), make()
    for count in range(1, 8):
        step(plain, count)
    step(graphed, 1)
    step(graphed, 2)
    graph = Graph(device)
    with graph.capture():
        step(graphed, 3)
    with Stream(device) as stream:
        for _ in range(3):
            graph.replay()
    stream.synchronize()
    for _ in range(2):
        graph.replay()
    for one, other in zip(plain, graphed, strict=True):
        for expected, found in zip(one, other, strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=4 * np.finfo(dtype).eps, atol=1e-12)


def test_indices_are_read_anew_and_counted_from_the_end(device: str, schedule: str) -> None:
    x = nd.reshape(nd.arange(12.0, device=device), (6, 2))
    index = nd.asarray([0, -1, 3], device=device)
    total = nd.zeros((6, 2), device=device)
    graph = Graph(device)
    with graph.capture():
        rows = x[index] * 1.0
        total[index] = x[index]
        sums = nd.scatter_add(total * 0.0, index, rows)
    for places in ([0, -1, 3], [5, 5, -6]):
        index[...] = nd.asarray(places, device=device)
        graph.replay()
        host = np.arange(12.0).reshape(6, 2)
        expected = np.zeros((6, 2))
        np.add.at(expected, places, host[places])
        assert rows.tolist() == host[places].tolist()
        assert sums.tolist() == expected.tolist()
    assert total.tolist() == [[0, 1], [0, 0], [0, 0], [6, 7], [0, 0], [10, 11]]


TOLD_BY: dict[str, Callable[[Graph, nd.NDArray], object]] = {
    "replay": lambda graph, x: graph.replay(),
    "synchronize": lambda graph, x: treadle.cuda.synchronize(x.device),
    "stream": lambda graph, x: treadle.cuda.current_stream(x.device).synchronize(),
    "event": lambda graph, x: treadle.cuda.current_stream(x.device).record().synchronize(),
    "copy to the host": lambda graph, x: x.numpy(),
}


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("way", TOLD_BY)
def test_a_replay_does_nothing_where_an_index_is_wrong_and_what_follows_says_so(
    device: str, dtype: str, way: str
) -> None:
    x = nd.ones((4, 3), dtype=dtype, device=device)
    index = nd.asarray([0, 1], device=device)
    written, added = nd.zeros((4, 3), dtype=dtype, device=device), nd.zeros((4, 3), dtype=dtype, device=device)
    graph = Graph(device)
    with graph.capture():
        read = x[index, index]
        written[index] = x[index]
        added[...] = nd.scatter_add(written * 0, index, x[index])
    index[...] = nd.asarray([4, 2], device=device)
    graph.replay()
    with pytest.raises(nd.IndexingError, match="gather: index 4 is out of bounds for axis 0 of length 4, in a replay"):
        TOLD_BY[way](graph, x)
    treadle.cuda.synchronize(device)
    assert read.tolist() == [0, 1]
    assert written.tolist() == added.tolist() == [[0] * 3, [0] * 3, [1] * 3, [0] * 3]
    index[...] = nd.asarray([0, -1], device=device)
    graph.replay()
    assert read.tolist() == [1, 1] and written[0].tolist() == [1] * 3


def _losses(logits: nd.NDArray, targets: nd.NDArray) -> "dict[str, Callable[[], nd.NDArray]]":
    autograd, functional = pytest.importorskip("treadle.autograd"), pytest.importorskip("treadle.nn").functional
    x, y = autograd.Tensor(logits), autograd.Tensor(targets)
    weight = autograd.Tensor(nd.ones(logits.shape[1], device=logits.device))
    return {
        "cross-entropy": lambda: functional.cross_entropy(x, y, reduction="none").data,
        "CrossEntropy": lambda: functional.cross_entropy(x, y, weight, reduction="none").data,
        "embedding": lambda: functional.embedding(y, autograd.Tensor(logits.T)).data,
        "one_hot": lambda: functional.one_hot(y, logits.shape[1]).data,
        "nll_loss": lambda: functional.nll_loss(x, y, reduction="none").data,
    }


@pytest.mark.parametrize("op", ["cross-entropy", "CrossEntropy", "embedding", "one_hot", "nll_loss"])
def test_class_numbers_are_checked_by_the_replay(device: str, op: str) -> None:
    """The values are those outside of a graph, and so is what is refused."""
    logits = nd.asarray(np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32), device=device)
    targets = nd.asarray([0, 4, 2, 1, 3, 3], device=device)
    call = _losses(logits, targets)[op]
    call()
    graph = Graph(device)
    with graph.capture():
        out = call()
    for numbers in ([4, 4, 0, 1, 2, 3], [1, 0, 3, 2, 4, 0]):
        targets[...] = nd.asarray(numbers, device=device)
        graph.replay()
        assert out.numpy().tobytes() == call().numpy().tobytes()
    for wrong in (5, -1):
        targets[1] = wrong
        graph.replay()
        with pytest.raises(nd.IndexingError, match=rf"{op}.*: .*{wrong}.*, in a replay"):
            treadle.cuda.synchronize(device)
        with pytest.raises(nd.IndexingError, match=rf"{wrong}"):
            call()
        targets[1] = 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_norms_are_captured(device: str, dtype: str) -> None:
    """Where squares overflow or vanish too."""
    x = nd.ones((3, 4), dtype=dtype, device=device)
    graph = Graph(device)
    with graph.capture():
        out, total = nd.linalg.vector_norm(x, axis=1), nd.linalg.vector_norm(x)
    extreme = {"float16": 1e4, "float32": 1e25, "float64": 1e200}[dtype]
    rows = np.array([[1, 2, 3, 4], [extreme, 0, extreme, 0], [1 / extreme, 0, 0, 1 / extreme]]).astype(dtype)
    x[...] = nd.asarray(rows, device=device)
    graph.replay()
    rtol = 4 * np.finfo(dtype).eps
    scales = np.abs(rows).max(axis=1).astype(np.longdouble)
    expected = np.sqrt(((rows / scales[:, None]) ** 2).sum(axis=1)) * scales
    np.testing.assert_allclose(out.numpy(), expected.astype(dtype), rtol=rtol)
    np.testing.assert_allclose(total.numpy(), expected.max().astype(dtype), rtol=rtol)


def test_masked_attention_and_clipping_are_captured(device: str) -> None:
    """A row of the mask is blind in one replay and sees in the next; squares of the gradient overflow in float32."""
    autograd, nn = pytest.importorskip("treadle.autograd"), pytest.importorskip("treadle.nn")
    x = nd.asarray(np.random.default_rng(0).normal(size=(2, 3, 8)).astype(np.float32), device=device)
    mask = nd.ones((3, 3), dtype="bool", device=device)
    attend = nn.functional.attention.attention_weights
    weight = autograd.Tensor(nd.zeros(3, device=device), requires_grad=True)
    weight.grad = autograd.Tensor(nd.zeros(3, device=device))
    graph = Graph(device)
    with graph.capture():
        shares = attend(autograd.Tensor(x), autograd.Tensor(x), autograd.Tensor(mask)).data
        norm = nn.utils.clip_grad_norm_([weight], 1.0).data
    for sees in (False, True):
        mask[1] = sees
        weight.grad.data[...] = nd.asarray(np.float32([3e25, 0, 4e25]), device=device)
        graph.replay()
        scores = x.numpy() @ x.numpy().swapaxes(1, 2) / np.sqrt(8)
        powers = np.exp(scores - scores.max(axis=2, keepdims=True)) * mask.numpy()
        expected = powers / np.maximum(powers.sum(axis=2, keepdims=True), 1e-30)
        np.testing.assert_allclose(shares.numpy(), expected, rtol=1e-5, atol=1e-7)
        assert norm.item() == pytest.approx(5e25) and norm.dtype is nd.float32
        assert weight.grad.tolist() == pytest.approx([0.6, 0.0, 0.8])


def test_what_is_dropped_meanwhile_does_not_end_a_capture(device: str) -> None:
    """A graph and page-locked memory are waited for before they go, which is forbidden while a stream is captured."""
    other, x = Graph(device), nd.ones(3, device=device)
    with other.capture():
        x * 2.0
    pinned, unused = (treadle.cuda.pinned_empty(3, device=device) for _ in range(2))
    graph = Graph(device)
    with graph.capture():
        del other, unused
        y = x + treadle.cuda.copy_async(pinned, nd.empty(3, device=device))
        del pinned
    graph.replay()
    assert y.tolist() == [1.0] * 3


def test_another_thread_that_waits_for_the_device_ends_a_capture() -> None:
    device, told = "cuda_emulated", []

    def wait() -> None:
        try:
            treadle.cuda.synchronize(device)
        except nd.BackendError as error:
            told.append(str(error))

    graph = Graph(device)
    with pytest.raises(nd.BackendError, match="Invalidated"), graph.capture():
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert "capturing" in told[0]
    assert nd.ones(3, device=device).sum().item() == 3


def test_an_index_out_of_bounds_is_an_error_at_once_outside_of_a_graph(device: str) -> None:
    x = nd.ones((3, 4), device=device)
    wrong = nd.asarray([0, 4], device=device)
    for act in (lambda: x[wrong], lambda: x[:, -wrong - 1], lambda: nd.zeros((3, 0), device=device)[wrong]):
        with pytest.raises(nd.IndexingError, match=r"index (4|-5) is out of bounds for axis 0 of length (3|4)"):
            act()
    for values in (1.0, nd.zeros((2, 4), device=device)):
        with pytest.raises(nd.IndexingError, match="out of bounds for axis 0 of length 3"):
            x[wrong] = values
    assert (x == 1.0).all()


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


@pytest.mark.parametrize("optimizer_name", ["SGD", "AdamW"])
def test_a_training_step(device: str, optimizer_name: str) -> None:
    """With a table of rows, dropout, a loss of class numbers: the same parameters, to the bit, as by steps that are not
    captured."""
    autograd = pytest.importorskip("treadle.autograd")
    nn = pytest.importorskip("treadle.nn")
    optim = pytest.importorskip("treadle.optim")
    rng = np.random.default_rng(0)
    batches = rng.integers(0, 7, (6, 8, 3)), rng.integers(0, 4, (6, 8))

    def make() -> tuple[list[object], Callable[..., nd.NDArray]]:
        nd.random.manual_seed(0)
        with nd.use_device(device):
            layers = (nn.Flatten(), nn.Linear(15, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
            model = nn.Sequential(*layers)
            table = nn.Parameter(nd.random.normal(shape=(7, 5)))
        parameters = [table, *model.parameters()]
        options = {"momentum": 0.9} if optimizer_name == "SGD" else {}
        optimizer = getattr(optim, optimizer_name)(parameters, lr=0.1, **options)

        def step(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
            optimizer.zero_grad()
            losses = -autograd.log_softmax(model(table[autograd.Tensor(x)]), axis=1)
            loss = losses[nd.arange(8, device=device), autograd.Tensor(y)].mean()
            loss.backward()
            optimizer.step()
            return loss.data

        return parameters, step

    arrays = [tuple(nd.asarray(each, device=device) for each in pair) for pair in zip(*batches, strict=True)]
    plain, step = make()
    expected = [step(*pair) for pair in arrays]
    graphed, step_to_capture = make()
    captured = treadle.cuda.capture(step_to_capture, *arrays[0])
    losses = [captured(*pair).item() for pair in arrays[1:]]
    assert losses == [loss.item() for loss in expected[1:]]
    for one, other in zip(plain, graphed, strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()

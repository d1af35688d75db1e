"""Integer programs: the C's bits against the simulation, and how far both are from the float program."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import ExportError
from treadle.autograd.export import Program, capture, to_c, trace, write_c
from treadle.autograd.export.quantizing import QuantizationReport, quantized
from treadle.autograd.export.tracing import replay

RANDOM = np.random.default_rng(5)


def _w(*shape: int) -> ag.Tensor:
    return ag.Tensor((RANDOM.normal(size=shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype("float32"))


def _lstm(x: ag.Tensor) -> ag.Tensor:
    h = c = ag.zeros((x.shape[0], 4))
    for step in range(x.shape[1]):
        i, f, new, o = ag.split(ag.linear(x[:, step], W["gates"]) + ag.linear(h, W["hidden"]), 4, axis=1)
        c = ag.sigmoid(f) * c + ag.sigmoid(i) * ag.tanh(new)
        h = ag.sigmoid(o) * ag.tanh(c)
    return h


def _relu6(x: ag.Tensor) -> ag.Tensor:
    """As a layer has it, whose gradient is 0 at the bounds."""
    inside = ag.logical_and(x.detach() > 0.0, x.detach() < 6.0)
    return ag.where(inside, x, ag.clip(x.detach(), 0.0, 6.0))


W = {
    "linear": _w(12, 8), "bias": _w(12), "conv": _w(6, 3, 3, 3), "groups": _w(6, 1, 3, 2), "gates": _w(16, 8),
    "hidden": _w(16, 4), "square": _w(8, 8),
}  # fmt: skip
IMAGE, ROW = (2, 3, 7, 6), (4, 8)
MODELS: dict[str, tuple[Callable[[ag.Tensor], ag.Tensor], tuple[int, ...], float]] = {
    "linear": (lambda x: ag.linear(x, W["linear"], W["bias"]), ROW, 35),
    "relu": (lambda x: ag.relu(ag.linear(x, W["linear"], W["bias"])), ROW, 35),
    "clamped": (lambda x: ag.clip(ag.linear(x, W["linear"]), 0.0, 1.0), ROW, 30),
    "conv": (lambda x: ag.relu(ag.conv(x, W["conv"], padding=1, stride=2)), IMAGE, 35),
    "groups": (lambda x: ag.conv(x, W["groups"], groups=3, padding=(0, 1), dilation=(1, 2)), IMAGE, 35),
    "max_pool": (lambda x: ag.max_pool(ag.conv(x, W["conv"]), 2, padding=1), IMAGE, 35),
    "avg_pool": (lambda x: ag.avg_pool(ag.conv(x, W["conv"]), 2), IMAGE, 25),
    "padded avg_pool": (lambda x: ag.avg_pool(ag.conv(x, W["conv"], padding=1), 3, padding=1), IMAGE, 25),
    "residual": (lambda x: (lambda y: ag.relu(y) + y)(x @ W["square"]), ROW, 30),
    "difference": (lambda x: (x @ W["square"]) - ag.tanh(x @ W["square"]), ROW, 20),
    "product": (lambda x: (lambda y: ag.sigmoid(y) * y)(x @ W["square"]), ROW, 25),
    "concat": (lambda x: ag.concat([x @ W["square"], ag.sigmoid(x @ W["square"])], axis=1), ROW, 30),
    "softmax": (lambda x: ag.softmax(x @ W["square"]), ROW, 25),
    "gelu": (lambda x: ag.gelu(x @ W["square"]) @ W["square"], ROW, 25),
    "lstm": (_lstm, (2, 5, 8), 20),
    "views": (lambda x: ag.relu((x @ W["square"])[1:, ::-1].T).reshape(2, -1), ROW, 30),
    "relu6": (lambda x: _relu6(x @ W["square"]) @ W["square"], ROW, 30),
    "hardswish": (lambda x: (lambda y: y * _relu6(y + 3.0) / 6.0)(x @ W["square"]), ROW, 30),
    "attention": (lambda x: ag.softmax((x @ W["square"]) @ ag.matrix_transpose(x)) @ (x @ W["square"]), ROW, 20),
}


def _data(name: str) -> list[np.ndarray]:
    return [np.random.default_rng(seed).normal(size=MODELS[name][1]).astype("float32") for seed in range(20)]


def _program(name: str) -> tuple[Program, Program, QuantizationReport]:
    program = capture(MODELS[name][0], ag.Tensor(_data(name)[0]))
    return program, *quantized(program, [ag.Tensor(each) for each in _data(name)])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    library = Library(tmp_path_factory.mktemp("int8"))
    found = {name: _program(name) for name in MODELS}
    for at, (_, integer, _) in enumerate(found.values()):
        library.add(f"model{at}", integer)
    return library, found


@pytest.mark.parametrize("name", MODELS)
def test_the_c_has_the_bits_of_the_simulation(models: Any, name: str) -> None:
    library, found = models
    _, integer, _ = found[name]
    floats = {call.function for call in integer.calls} - {"copy", "reshape", "get_item", "concat", "max_pool"}
    exact = all(each.startswith("int8.") for each in floats)
    for seed in range(8):
        x = (np.random.default_rng(seed).normal(size=MODELS[name][1]) * 10.0 ** (seed - 4)).astype("float32")
        if seed == 7:
            x.flat[:3] = [np.nan, np.inf, -np.inf]
        (got,) = library.call(f"model{list(MODELS).index(name)}", [x])
        (python,) = replay(integer, [nd.asarray(x)])
        if exact:
            assert got.tobytes() == python.numpy().tobytes()
        else:  # what stays in float32 may round otherwise, and then be a step of the next scale apart
            np.testing.assert_allclose(got, python.numpy(), atol=0.05 * np.abs(python.numpy()).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_integer_program_is_close_to_the_float_one(models: Any, name: str) -> None:
    program, integer, report = models[1][name]
    x = _data(name)[1]
    exact, rough = (replay(each, [nd.asarray(x)])[0].numpy() for each in (program, integer))
    assert 10 * np.log10(np.sum(exact**2) / np.sum((exact - rough) ** 2)) > MODELS[name][2]
    assert report.layers and str(report).count("\n") == len(report.layers)
    for layer in report.layers:
        assert layer.decibels > MODELS[name][2] - 5 and layer.largest < 40 * layer.scale, layer


@pytest.mark.parametrize(
    "name", ["linear", "relu", "conv", "groups", "residual", "max_pool", "lstm", "relu6", "hardswish"]
)
def test_layers_are_integers(models: Any, name: str) -> None:
    functions = [call.function for call in models[1][name][1].calls]
    assert not {"conv", "matmul", "add", "multiply", "relu", "sigmoid", "tanh", "where"} & set(functions)


EDGES: dict[str, tuple[Callable[[ag.Tensor], ag.Tensor], float]] = {
    "zero weights": (lambda x: x @ ag.zeros((8, 3)), 1.0),
    "one dead channel": (lambda x: x @ ag.Tensor(np.eye(8, 3, dtype="float32") * [1, 0, 1e-20]), 1.0),
    "zero activation": (lambda x: ag.relu(x @ W["square"] - 1e6) @ W["square"], 1.0),
    "zero inputs": (lambda x: ag.relu(x @ W["square"]), 0.0),
    "x - x": (lambda x: (lambda y: (y - y) + y)(x @ W["square"]), 1.0),
    "huge": (lambda x: (x @ W["square"]) * 1e30, 1e5),
    "tiny": (lambda x: (x @ W["square"]) * 1e-30, 1e-5),
    "huge bias": (lambda x: ag.relu(x @ W["square"] + 1e12), 1.0),
    "infinite weight": (lambda x: ag.clip(x @ ag.Tensor(np.full((8, 2), np.inf, "float32")), -1.0, 1.0), 1.0),
    "tiny channel": (lambda x: x @ ag.Tensor(np.eye(8, 3, dtype="float32") * [1, 1e-30, 1e-42]) + 2.0, 1.0),
    "crossed bounds": (lambda x: ag.minimum(ag.maximum(x @ W["square"], 1.0), -1.0), 1.0),
    "relu behind a bound": (lambda x: ag.relu(ag.maximum(x @ W["square"], 1.0)), 1.0),
    "bound behind a bound": (lambda x: ag.maximum(ag.minimum(ag.minimum(x @ W["square"], 1.0), 3.0), -2.0), 1.0),
    "infinite bound": (lambda x: ag.minimum(ag.relu(x @ W["square"]), float("inf")), 1.0),
    "infinite beyond the data": (lambda x: ag.reciprocal(ag.clip(x @ W["square"], 0.0, 0.01) * 1e-30 + 1.0), 1.0),
    "no rows": (lambda x: ag.relu(x[:0] @ W["square"]), 1.0),
    "infinite where it is not chosen": (
        lambda x: (lambda y: ag.where(y > 0.0, ag.log(ag.relu(y) + 1.0), ag.log(ag.relu(-y))) * 0.0)(x @ W["square"]),
        1.0,
    ),
    "large bounds": (lambda x: ag.clip(x @ W["square"], -1e9, 1e9), 1.0),
    "nearly equal": (lambda x: (x @ W["square"]) * 1e6 - (x @ W["square"]) * 1e6, 1.0),
}


def test_edges_of_calibration(tmp_path: Any) -> None:
    library = Library(tmp_path)
    data, programs = {}, {}
    for at, (name, (function, size)) in enumerate(EDGES.items()):
        data[name] = [(RANDOM.normal(size=ROW) * size).astype("float32") for _ in range(3)]
        program = trace(function, [ag.Tensor(data[name][0])])
        programs[name] = (program, quantized(program, [ag.Tensor(each) for each in data[name]])[0])
        library.add(f"edge{at}", programs[name][1])
    for at, (name, (exact, integer)) in enumerate(programs.items()):
        for x in data[name]:
            (got,), (python,) = library.call(f"edge{at}", [x]), replay(integer, [nd.asarray(x)])
            np.testing.assert_allclose(got, python.numpy(), rtol=1e-6)
            (wanted,) = replay(exact, [nd.asarray(x)])
            most = float(np.abs(wanted.numpy()).max(initial=0.0))
            np.testing.assert_allclose(got, wanted.numpy(), atol=max(0.03 * most, 1e-30), err_msg=name)


def test_bad_calibration() -> None:
    program = trace(lambda x: ag.relu(x @ W["square"]), [ag.ones(ROW)])
    with pytest.raises(ExportError, match="needed"):
        quantized(program, [])
    with pytest.raises(ExportError, match=r"\(4, 7\)"):
        quantized(program, [ag.ones((4, 7))])
    with pytest.raises(ExportError, match="float64"):
        quantized(program, [ag.ones(ROW, dtype="float64")])
    for value in (np.nan, np.inf):
        with pytest.raises(ExportError, match="not finite"):
            quantized(program, [ag.full(ROW, value)])
    leaf = ag.ones((8, 2)).requires_grad_()
    step = trace(
        lambda x: ag.sum(x @ leaf), [ag.ones(ROW)], parameters=[leaf], names=["w"], update=lambda p, g: (g,), slots=[[]]
    )
    with pytest.raises(ExportError, match="training step"):
        quantized(step, [ag.ones(ROW)])


def test_float64_stays_as_it_is(tmp_path: Any) -> None:
    w = ag.Tensor(RANDOM.normal(size=(8, 2)))
    x = RANDOM.normal(size=ROW)
    report = to_c(lambda x: ag.relu(x @ w), ag.Tensor(x), tmp_path / "wide.c", quantize=[ag.Tensor(x)])
    assert report.quantization is not None and not report.quantization.layers


def test_the_turns_of_a_loop_share_scales_tables_and_functions() -> None:
    """Not one of each for every step of a sequence: an LSTM of 24 steps takes hardly more constants than one of 8."""
    sizes = []
    for steps in (8, 24):
        data = [
            ag.Tensor(np.random.default_rng(seed).normal(size=(1, steps, 8)).astype("float32")) for seed in range(4)
        ]
        integer, _ = quantized(capture(_lstm, data[0]), data)
        sizes.append(write_c(integer, "lstm"))
    short, long = sizes
    assert long.steps > 2.5 * short.steps
    assert long.source.count("static void") == short.source.count("static void") < 40
    assert long.constant_bytes == short.constant_bytes

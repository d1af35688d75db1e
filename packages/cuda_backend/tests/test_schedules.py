"""A kernel without races gives the same bits whichever thread and block runs first."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import _emulated, emulated_backend
from treadle.ndarray import _layers as compiled
from treadle.ndarray.attention import attention, attention_gradient

_layers: Any = compiled  # that a kernel serves is what is tested


def real(*shape: int) -> nd.NDArray:
    return nd.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32), device="cuda_emulated")


def half(*shape: int) -> nd.NDArray:
    return real(*shape).astype("bfloat16")


def in_tf32(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
    before = treadle.cuda.allow_tf32(True, "cuda_emulated")
    product = x @ y
    treadle.cuda.allow_tf32(before, "cuda_emulated")
    return product


def whole(high: int, *shape: int) -> nd.NDArray:
    return nd.asarray(np.random.default_rng(1).integers(0, high, shape), device="cuda_emulated")


def flat(*arrays: nd.NDArray | None) -> nd.NDArray:
    """All elements of what a kernel made, one after the other."""
    return nd.concat([nd.reshape(each, (-1,)).astype("float32") for each in arrays if each is not None])


def normalised(kind: str) -> nd.NDArray:
    """Normalised rows, or channels, and their gradients."""
    x, line = real(90, 70), real(70)
    if kind == "rows":
        out, mean, scale = _layers.norm_rows(x, 70, True, 1e-5, line, line)
        return flat(out, mean, scale, *_layers.norm_rows_gradient(out, x, 70, mean, scale, line, (True, True, True)))
    image = real(8, 5, 1100) if kind == "planes" else real(90, 70, 1)
    of_channels = real(image.shape[1]), real(image.shape[1])
    out = _layers.norm_channels(image, *of_channels, None, None)
    return flat(out, *_layers.norm_channels_gradient(out, image, *of_channels, None, (True, True, True)))


def stepped_in_time() -> nd.NDArray:
    gates, cell = real(7, 4 * 45), real(7, 45)
    made = [nd.empty_like(gates), *(nd.empty_like(cell) for _ in range(3))]
    assert _layers.lstm_step(gates, gates, cell, *made)
    d_cell, d_gates = real(7, 45), nd.empty_like(gates)
    assert _layers.lstm_step_gradient(made[0], cell, made[2], cell, d_cell, d_gates)
    return flat(*made, d_cell, d_gates)


def entropies() -> nd.NDArray:
    logits, targets = real(70, 40), whole(40, 70)
    losses = _layers.entropy("test", logits, targets, 3, 0.1)
    return flat(losses, _layers.entropy_gradient(logits, targets, 3, 0.1, losses))


def pooled() -> nd.NDArray:
    values, indices = nd.max_pool(real(2, 9, 20, 21), 3, stride=1, padding=1)
    return flat(values, indices, nd.max_pool_gradient(values, indices, (2, 9, 20, 21)))


def attended(gradient: bool, dtype: str = "float32") -> nd.NDArray:
    x = real(3, 70, 20).astype(dtype)
    out, total = attention(x, x, x, causal=True)
    return flat(*attention_gradient(x, x, x, x, out, total, causal=True)) if gradient else flat(out, total)


def written(x: nd.NDArray, index: nd.NDArray, values: nd.NDArray) -> nd.NDArray:
    """Of repeated indices the last wins, in either schedule."""
    x[index] = values
    return x


def stepped(parameter: nd.NDArray, gradient: nd.NDArray) -> nd.NDArray:
    """A step of each optimizer that has a kernel."""
    first, second = nd.zeros_like(parameter), nd.zeros_like(parameter)
    emulated_backend().adam_step(parameter, gradient, first, second, (0.1, 0.9, 0.99, 1e-8, 0.0, 0.0, 1.0, 1.0, 1.0))
    emulated_backend().sgd_step(parameter, gradient, first, (0.1, 0.9, 0.0, 0.0, 0.0, 0.0, 1.0))
    return nd.stack([parameter, first, second])


def replayed() -> nd.NDArray:
    """Two replays of a graph that draws."""
    nd.random.manual_seed(3)
    graph = treadle.cuda.Graph("cuda_emulated")
    with graph.capture():
        out = nd.random.uniform(shape=(700,), device="cuda_emulated") + 1.0
    graph.replay()
    graph.replay()
    return out


FAMILIES: dict[str, Callable[[], nd.NDArray]] = {
    "layers_gradients": lambda: _layers.activation_gradient("gelu", real(9000), real(9000)),
    "layers_norm rows": lambda: normalised("rows"),
    "layers_norm planes": lambda: normalised("planes"),
    "layers_norm channels": lambda: normalised("channels"),
    "layers_lstm": stepped_in_time,
    "layers_entropy": entropies,
    "layers_pool": pooled,
    "attention": lambda: attended(False),
    "attention_gradient": lambda: attended(True),
    "attention_mma": lambda: attended(False, "float16"),
    "attention_mma_gradient": lambda: attended(True, "bfloat16"),
    "unary": lambda: nd.exp(real(70, 40).T),
    "binary": lambda: real(70, 40) + real(40),
    "ternary": lambda: nd.where(real(70, 40) > 0, real(70, 40), 0.0),
    "copy": lambda: real(70, 40)[::-1].astype("float64"),
    "reduce rows": lambda: nd.sum(real(70, 40), axis=1),
    "reduce columns": lambda: nd.sum(real(700, 40), axis=0),
    "reduce columns in parts": lambda: nd.sum(real(1500, 40), axis=0),
    "reduce in parts": lambda: nd.sum(real(70000)),
    "arg_reduce rows": lambda: nd.argmax(real(70, 300), axis=1),
    "arg_reduce columns": lambda: nd.argmin(real(700, 40), axis=0),
    "arg_reduce columns in parts": lambda: nd.argmin(real(1500, 40), axis=0),
    "arg_reduce": lambda: nd.argmax(whole(3, 70000)),
    "reduce variance": lambda: nd.var(real(70, 40), axis=1),
    "reduce variance in parts": lambda: nd.var(real(70000)),
    "sort": lambda: nd.sort(real(70, 40)),
    "sort of long lines": lambda: nd.argsort(real(2, 5000), axis=1),
    "scan": lambda: nd.cumsum(real(3, 700), axis=1),
    "matmul": lambda: real(70, 90) @ real(90, 40),
    "matmul in parts": lambda: real(40, 700) @ real(700, 33),
    "matmul_mma": lambda: (half(70, 90) @ half(90, 40)).astype("float32"),
    "matmul_mma in parts": lambda: (half(40, 700) @ half(700, 33)).astype("float32"),
    "matmul_wgmma": lambda: (half(136, 200) @ half(200, 136)).astype("float32"),
    "matmul_wgmma transposed": lambda: (half(200, 136).mT @ half(136, 200).mT).astype("float32"),
    "matmul_wgmma in parts": lambda: (half(72, 1040) @ half(1040, 72)).astype("float32"),
    "matmul_wgmma TF32": lambda: in_tf32(real(136, 200), real(200, 136)),
    "matmul_wgmma TF32 turned": lambda: in_tf32(real(200, 136).mT, real(200, 136)),
    "conv": lambda: nd.conv(real(2, 4, 9, 9), real(6, 2, 3, 3), stride=2, padding=1, groups=2),
    "conv in parts": lambda: nd.conv(real(2, 70, 5, 5), real(3, 70, 3, 3)),
    "indexing gather": lambda: real(50, 3)[whole(50, 700)],
    "indexing accumulate": lambda: nd.scatter_add(whole(5, 50), whole(50, 700), whole(9, 700)),
    "indexing accumulate floats": lambda: nd.scatter_add(real(5, 50), whole(5, 700), real(700, 50)),
    "nonzero": lambda: nd.nonzero(whole(2, 70, 40))[1],
    "copy fill": lambda: nd.full((70, 40), 3.5, device="cuda_emulated"),
    "copy arange": lambda: nd.arange(700, device="cuda_emulated"),
    "indexing write": lambda: written(whole(5, 50), whole(50, 700), whole(9, 700)),
    "optimizer": lambda: stepped(real(700), real(700)),
    "graphs": replayed,
    "random bits": lambda: nd.random.Generator(3).integers(0, 1000, (1001,), device="cuda_emulated"),
    "random": lambda: nd.random.Generator(3).normal(0.0, 1.0, (1001,), device="cuda_emulated"),
    "softmax rows": lambda: nd.softmax(real(70, 40)),
    "softmax columns": lambda: nd.softmax(real(70, 40), axis=0),
    "softmax sums": lambda: nd.logsumexp(real(70, 40), axis=1),
}


def test_every_file_with_kernels_has_a_family() -> None:
    files = Path(treadle.cuda.__file__).parent.joinpath("kernels").glob("*.cu")
    families = {file.stem for file in files if re.search(r"TD_LAUNCH|\btd::map<", file.read_text())}
    assert families <= {name.partition(" ")[0] for name in FAMILIES}


@pytest.mark.parametrize("blocks", [0, 2], ids=["any_grid", "small_grid"])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_schedules_give_the_same_bits(family: str, blocks: int) -> None:
    results = []
    before = _emulated.get_schedule()
    emulated_backend().limit_blocks(blocks)
    for schedule in ("forward", "reversed"):
        _emulated.set_schedule(schedule)
        results.append(FAMILIES[family]().numpy().tobytes())
    _emulated.set_schedule(before)
    emulated_backend().limit_blocks(0)
    assert results[0] == results[1]

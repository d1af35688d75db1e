"""A kernel without races gives the same bits whichever thread and block runs first."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import _emulated, emulated_backend


def real(*shape: int) -> nd.NDArray:
    return nd.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32), device="cuda_emulated")


def whole(high: int, *shape: int) -> nd.NDArray:
    return nd.asarray(np.random.default_rng(1).integers(0, high, shape), device="cuda_emulated")


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


FAMILIES: dict[str, Callable[[], nd.NDArray]] = {
    "unary": lambda: nd.exp(real(70, 40).T),
    "binary": lambda: real(70, 40) + real(40),
    "ternary": lambda: nd.where(real(70, 40) > 0, real(70, 40), 0.0),
    "copy": lambda: real(70, 40)[::-1].astype("float64"),
    "reduce rows": lambda: nd.sum(real(70, 40), axis=1),
    "reduce columns": lambda: nd.sum(real(700, 40), axis=0),
    "reduce in parts": lambda: nd.sum(real(70000)),
    "arg_reduce rows": lambda: nd.argmax(real(70, 300), axis=1),
    "arg_reduce columns": lambda: nd.argmin(real(700, 40), axis=0),
    "arg_reduce": lambda: nd.argmax(whole(3, 70000)),
    "scan": lambda: nd.cumsum(real(3, 700), axis=1),
    "matmul": lambda: real(70, 90) @ real(90, 40),
    "indexing gather": lambda: real(50, 3)[whole(50, 700)],
    "indexing accumulate": lambda: nd.scatter_add(whole(5, 50), whole(50, 700), whole(9, 700)),
    "nonzero": lambda: nd.nonzero(whole(2, 70, 40))[1],
    "copy fill": lambda: nd.full((70, 40), 3.5, device="cuda_emulated"),
    "copy arange": lambda: nd.arange(700, device="cuda_emulated"),
    "indexing write": lambda: written(whole(5, 50), whole(50, 700), whole(9, 700)),
    "optimizer": lambda: stepped(real(700), real(700)),
    "random bits": lambda: nd.random.Generator(3).integers(0, 1000, (1001,), device="cuda_emulated"),
    "random": lambda: nd.random.Generator(3).normal(0.0, 1.0, (1001,), device="cuda_emulated"),
    "softmax rows": lambda: nd.softmax(real(70, 40)),
    "softmax columns": lambda: nd.softmax(real(70, 40), axis=0),
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

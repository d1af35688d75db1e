"""The LSTM over a sequence: against its definition in float64, on every instruction set, with any number of threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import _recurrent

pytestmark = pytest.mark.usefixtures("instruction_set")
GENERATOR = np.random.default_rng(0)
SIZES = [(1, 1, 1), (3, 2, 5), (4, 33, 17), (2, 70, 40), (9, 14, 64)]  # steps, batch, size
NEAR = {"float32": 2e-5, "float64": 1e-12}


def draw(*shape: int) -> Any:
    return GENERATOR.normal(size=shape)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def defined(gates: Any, hidden: Any, cell: Any, weight: Any) -> tuple[Any, Any]:
    hiddens, cells = [], []
    for given in gates:
        i, f, g, o = np.split(given + hidden @ weight.T, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        hiddens.append(hidden)
        cells.append(cell)
    return np.array(hiddens), np.array(cells)


def run(operands: Any, seeds: Any, dtype: str) -> tuple[Any, ...]:
    """The states, and the gradients of gates, hidden state and cell."""
    gates, hidden, cell, weight = (nd.asarray(each, dtype=dtype) for each in operands)
    steps, batch, size = gates.shape[0], gates.shape[1], hidden.shape[1]
    on = nd.empty((steps, batch, 4, size), dtype=dtype)
    cells, shown, hiddens = (nd.empty((steps, batch, size), dtype=dtype) for _ in range(3))
    assert _recurrent.lstm(gates, hidden, cell, weight, on, cells, shown, hiddens)
    by_gates, by_hidden, by_cell = nd.empty_like(on), nd.zeros_like(hidden), nd.zeros_like(cell)
    outside = [None if each is None else nd.asarray(each, dtype=dtype) for each in seeds]
    assert _recurrent.lstm_gradient(
        on, cells, shown, cell, weight, outside[0], outside[1], by_gates, by_hidden, by_cell
    )
    return hiddens, cells, by_gates.reshape(gates.shape), by_hidden, by_cell


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_states(size: Any, dtype: str) -> None:
    steps, batch, width = size
    operands = draw(steps, batch, 4 * width), draw(batch, width), draw(batch, width), 0.3 * draw(4 * width, width)
    hiddens, cells, *_ = run(operands, (None, None), dtype)
    for found, expected in zip((hiddens, cells), defined(*operands), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=NEAR[dtype], atol=NEAR[dtype])


@pytest.mark.parametrize("seeded", [(True, True), (True, False), (False, True)])
def test_gradients_are_those_of_differences(seeded: tuple[bool, bool]) -> None:
    steps, batch, width = 3, 17, 4
    operands = [draw(steps, batch, 4 * width), draw(batch, width), draw(batch, width), draw(4 * width, width)]
    seeds = [draw(steps, batch, width) if each else None for each in seeded]
    _, _, *found = run(operands, seeds, "float64")

    def loss(*changed: Any) -> float:
        states = defined(*changed)
        return sum(float((a * b).sum()) for a, b in zip(seeds, states, strict=True) if a is not None)

    for at, gradient in enumerate(found):
        for _ in range(40):
            place = tuple(GENERATOR.integers(length) for length in operands[at].shape)
            values = []
            for step in (1e-6, -1e-6):
                moved = [each.copy() for each in operands]
                moved[at][place] += step
                values.append(loss(*moved))
            assert abs((values[0] - values[1]) / 2e-6 - gradient.numpy()[place]) < 1e-7


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_float32_agrees_with_float64(size: Any) -> None:
    steps, batch, width = size
    operands = draw(steps, batch, 4 * width), draw(batch, width), draw(batch, width), 0.3 * draw(4 * width, width)
    seeds = draw(steps, batch, width), draw(steps, batch, width)
    for narrow, wide in zip(run(operands, seeds, "float32"), run(operands, seeds, "float64"), strict=True):
        np.testing.assert_allclose(narrow.numpy(), wide.numpy(), rtol=1e-4, atol=1e-4)


def test_what_others_must_serve() -> None:
    gates, state, weight = nd.ones((2, 3, 8)), nd.ones((3, 2)), nd.ones((8, 2))
    results = nd.ones((2, 3, 4, 2)), nd.ones((2, 3, 2)), nd.ones((2, 3, 2)), nd.ones((2, 3, 2))
    for wrong in (
        (gates, nd.ones((3, 3)), state, weight), (gates, state, nd.ones((2, 2)), weight),
        (gates, state, state, nd.ones((2, 8))), (gates, state, state, nd.ones((8, 2))[::-1]),
        (gates[:0], state, state, weight), (gates.astype("float64"), state, state, weight),
    ):  # fmt: skip
        assert not _recurrent.lstm(*wrong, *results)
    assert not _recurrent.lstm(gates, state, state, weight, *results[:3], nd.ones((1, 3, 2)))


def test_results_do_not_depend_on_threads(threads: Callable[[int], None]) -> None:
    operands = draw(5, 50, 160), draw(50, 40), draw(50, 40), 0.3 * draw(160, 40)
    seeds = draw(5, 50, 40), draw(5, 50, 40)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append([each.numpy().tobytes() for each in run(operands, seeds, "float32")])
    assert results[0] == results[1] == results[2]

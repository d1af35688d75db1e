"""What the elements of a layer's arguments must be, in a graph: the replay finds what is wrong."""

import re
from collections.abc import Callable

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import Graph
from treadle.ndarray.ranges import check_none, check_range

FLOATS = ["variance", "probabilities", "targets"]
NUMBERS = ["label", "index"]


def checking(values: nd.NDArray) -> "dict[str, Callable[[], nd.NDArray]]":
    """Calls by what is said of a wrong element among the values."""
    autograd, functional = pytest.importorskip("treadle.autograd"), pytest.importorskip("treadle.nn").functional
    Tensor = autograd.Tensor
    x, shares = Tensor(values), Tensor(nd.full((2, 3), 0.25, device=values.device))
    scores = autograd.log_softmax(Tensor(nd.ones((5, 2, 4), device=values.device)), axis=2)

    def numbers() -> object:
        return Tensor(nd.astype(values, "int64"))

    return {
        "variance": lambda: functional.gaussian_nll_loss(shares, shares, x, reduction="none").data,
        "probabilities": lambda: functional.binary_cross_entropy(x, shares, reduction="none").data,
        "targets": lambda: functional.binary_cross_entropy(shares, x, reduction="none").data,
        "label": lambda: functional.ctc_loss(scores, numbers(), [5, 5], [3, 3], reduction="none").data,
        "index": lambda: functional.max_unpool1d(shares, numbers(), 2, output_size=(4,)).data,
    }


@pytest.mark.parametrize("said", FLOATS + NUMBERS)
def test_a_wrong_element_is_found_by_the_replay(device: str, said: str) -> None:
    values = nd.ones((2, 3), device=device)
    call = checking(values)[said]
    graph = Graph(device)
    with graph.capture():
        out = call()
    values[...] = nd.asarray([[3.0, 0.0, 1.0] if said in NUMBERS else [0.5, 0.0, 1.0]] * 2, device=device)
    graph.replay()
    assert out.numpy().tobytes() == call().numpy().tobytes()
    values[1, 2] = -1.0
    graph.replay()
    with pytest.raises(nd.IndexingError, match=rf"{said} .*, in a replay"):
        treadle.cuda.synchronize(device)
    values[1, 2] = 1.0
    graph.replay()
    assert out.numpy().tobytes() == call().numpy().tobytes()


@pytest.mark.parametrize("said", FLOATS + NUMBERS)
def test_a_wrong_element_is_told_at_once_outside_of_a_graph(device: str, said: str) -> None:
    """With the error of the host."""
    wrong = np.array([[1, 0, 1], [0, 1, -1]], np.float32)
    with pytest.raises((ValueError, nd.IndexingError), match=rf"{said} ") as expected:
        checking(nd.asarray(wrong, device="cpu"))[said]()
    with pytest.raises(expected.type, match=f"^{re.escape(str(expected.value))}$"):
        checking(nd.asarray(wrong, device=device))[said]()


def test_nothing_is_wrong_with_no_elements(device: str) -> None:
    none = nd.zeros((0, 3), device=device)
    check_none(none < 0.0, ValueError("not said"))
    check_range(nd.astype(none, "int64"), 0, "not said")


def test_any_place_of_an_array_is_looked_at(device: str, grid: int, schedule: str) -> None:
    for size in (1, 31, 700, 5000):
        x = nd.zeros(size, device=device)
        for place in {0, size // 2, size - 1}:
            x[place] = 1.0
            for seen in (x, x[::-1]):
                with pytest.raises(nd.DTypeError, match=r"^one is there$"):
                    check_none(seen > 0.0, nd.DTypeError("one is there"))
            x[place] = 0.0
        check_none(x > 0.0, ValueError("not said"))

"""x @ weight.T + bias in one call: every way that a product goes, on every instruction set, with any threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray._linear import linear

pytestmark = pytest.mark.usefixtures("instruction_set")
GENERATOR = np.random.default_rng(0)
SIZES = [  # leading shape of x, inputs, outputs
    ((), 5, 7),  # a row
    ((1,), 300, 70),  # dot products
    ((3, 1), 9, 1),  # turned round
    ((40,), 11, 33),  # straight from the operands
    ((2, 200), 37, 50),  # blocked
    ((130,), 900, 1601),  # several panels
    ((2,), 9000, 3),  # long sums
    ((3, 4, 5), 6, 2),
]


def operands(size: Any, dtype: str) -> list[Any]:
    lead, inputs, outputs = size
    shapes = (*lead, inputs), (outputs, inputs), (outputs,)
    return [GENERATOR.normal(size=shape).astype(dtype) for shape in shapes]


def check(found: Any, x: Any, weight: Any, bias: Any) -> None:
    exact = x.astype("float64") @ weight.astype("float64").T + (0.0 if bias is None else bias.astype("float64"))
    near = (1e-6 if x.dtype == "float32" else 1e-14) * (1 + x.shape[-1]) ** 0.5
    np.testing.assert_allclose(found.numpy(), exact, rtol=near, atol=5 * near)
    assert found.dtype.name == x.dtype.name and found.shape == exact.shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_way(size: Any, dtype: str) -> None:
    x, weight, bias = operands(size, dtype)
    arrays = [nd.asarray(each) for each in (x, weight, bias)]
    check(linear(*arrays), x, weight, bias)
    check(linear(*arrays[:2]), x, weight, None)


def test_views() -> None:
    x, weight, bias = operands(((4, 150), 31, 40), "float32")
    turned = nd.asarray(x).transpose(1, 0, 2)
    check(linear(turned, nd.asarray(weight), nd.asarray(bias)), x.transpose(1, 0, 2), weight, bias)
    backwards = nd.asarray(x)[:, ::-2]
    check(linear(backwards, nd.asarray(np.asarray(weight, order="F")), nd.asarray(bias)), x[:, ::-2], weight, bias)


def test_what_others_must_serve() -> None:
    x, weight, bias = (nd.ones(shape) for shape in ((2, 3), (4, 3), (4,)))
    for wrong in (
        (x, weight, nd.ones((3,))), (x, nd.ones((4, 2)), bias), (x, nd.ones((3,)), bias),
        (nd.ones((0, 3)), weight, bias), (x.astype("float64"), weight, bias), (x, weight, nd.ones((8,))[::2]),
        (nd.ones(()), weight, bias), (x, weight, nd.ones((1, 4))), (x.to_device("numpy"), weight, bias),
        tuple(each.astype("int64") for each in (x, weight, bias)),
    ):  # fmt: skip
        assert linear(*wrong) is None


def test_results_do_not_depend_on_threads(threads: Callable[[int], None]) -> None:
    arrays = [nd.asarray(each) for each in operands(((600,), 450, 800), "float32")]
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(linear(*arrays).numpy().tobytes())  # type: ignore[union-attr]
    assert results[0] == results[1] == results[2]

"""Attention against its definition in float64; its gradient against PyTorch and differences in ``autograd``'s tests."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray.attention import attention, attention_gradient

pytestmark = pytest.mark.filterwarnings("error")
RANDOM = np.random.default_rng(0)
SHAPES = [
    ((3, 4), (5, 4), (5, 2)),
    ((2, 3, 7, 8), (2, 3, 9, 8), (2, 3, 9, 5)),
    ((2, 1, 4, 3), (3, 1, 3), (2, 3, 1, 6)),
    ((1, 1), (1, 1), (4, 1, 1)),
    ((2, 0, 3), (4, 3), (4, 2)),
    ((2, 3, 4), (0, 4), (0, 5)),
    ((0, 3, 4), (5, 4), (5, 5)),
]


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def defined(query: Any, key: Any, value: Any, seen: Any, added: Any, scale: float) -> tuple[Any, Any]:
    """The weighted mean, row by row, and the logarithm of the sum."""
    scores = np.where(seen, query @ np.swapaxes(key, -1, -2) * scale + added, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return weights / np.where(total, total, 1.0) @ value, np.log(total) + top


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", ["none", "chosen", "added"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_attention(device: str, shapes: tuple[tuple[int, ...], ...], causal: bool, mask: str, dtype: str) -> None:
    given = [nd.asarray(RANDOM.normal(size=shape), dtype=dtype, device=device) for shape in shapes]
    exact = [each.astype("float64").numpy() for each in given]
    queries, keys = shapes[0][-2], shapes[1][-2]
    seen, added = np.ones((queries, keys), bool), np.zeros((queries, keys))
    more = []
    if mask == "chosen":
        seen = RANDOM.random((queries, keys)) > 0.4
        seen[:1] = False  # the first query sees nothing
        more = [nd.asarray(seen, device=device)]
    elif mask == "added":
        added = RANDOM.normal(size=(1, keys))
        more = [nd.asarray(added, device=device)]
    if causal:
        seen = seen & np.tri(queries, keys, 1, dtype=bool)
    expected, total = defined(*exact, seen, added, 0.3)
    out, logsumexp = attention(*given, *more, causal=causal, past=1, scale=0.3)
    assert out.dtype.name == dtype and logsumexp.dtype.name == ("float32" if dtype.endswith("16") else dtype)
    near = {"float64": 1e-13, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(out.astype("float64").numpy(), expected, rtol=near, atol=near)
    total = np.broadcast_to(total, (*expected.shape[:-1], 1))
    close = near if dtype in ("float32", "float64") else 1e-5
    found = logsumexp.astype("float64").numpy()
    np.testing.assert_allclose(np.where(np.isinf(found), 0, found), np.where(total < -1e299, 0, total), close, close)
    assert np.array_equal(np.isneginf(found), total < -1e299)


def test_large_scores_do_not_overflow(device: str) -> None:
    query, key = (nd.asarray(each, device=device) for each in ([[1000.0]], [[1.0], [0.999], [-1.0]]))
    out, total = attention(query, key, nd.asarray([[1.0], [3.0], [100.0]], device=device), scale=1.0)
    share = 1.0 / (1.0 + np.exp(-1000 * (1.0 - np.float32(0.999))))
    np.testing.assert_allclose(out.numpy(), [[share + 3.0 * (1.0 - share)]], rtol=1e-5)
    np.testing.assert_allclose(total.numpy(), [[1000.0 - np.log(share)]], rtol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_gradient_is_that_of_differences(device: str, causal: bool) -> None:
    operands = [RANDOM.normal(size=shape) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 2))]
    mask = RANDOM.random((3, 5)) > 0.3
    mask[1] = False
    gradient = RANDOM.normal(size=(2, 3, 2))
    more = nd.asarray(mask, device=device)

    def loss(*arrays: Any) -> float:
        out, _ = attention(*[nd.asarray(each, device=device) for each in arrays], more, causal=causal)
        return float((out.numpy() * gradient).sum())

    given = [nd.asarray(each, device=device) for each in operands]
    made = attention(*given, more, causal=causal)
    found = attention_gradient(nd.asarray(gradient, device=device), *given, *made, more, causal=causal)
    for at, operand in enumerate(operands):
        for place in np.ndindex(operand.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [each.copy() for each in operands]
                moved[at][place] += step
                values.append(loss(*moved))
            assert abs((values[0] - values[1]) / 2e-6 - found[at].numpy()[place]) < 1e-7


def test_what_does_not_fit_is_refused() -> None:
    x = nd.ones((2, 3))
    with pytest.raises(nd.ShapeError, match="last dimensions, the features"):
        attention(x, nd.ones((2, 4)), x)
    with pytest.raises(nd.ShapeError, match=r"keys of shape \(2, 3\) and values of shape \(3, 3\)"):
        attention(x, x, nd.ones((3, 3)))
    with pytest.raises(nd.ShapeError, match=r"queries \(2, 2, 3\), keys \(3, 2, 3\)"):
        attention(nd.ones((2, 2, 3)), nd.ones((3, 2, 3)), x)
    with pytest.raises(nd.ShapeError, match=r"mask of shape \(2, 2, 2\)"):
        attention(x, x, x, nd.ones((2, 2, 2)))
    with pytest.raises(nd.DTypeError, match="of booleans, or of floats"):
        attention(x, x, x, nd.ones((2, 2), dtype="int64"))
    with pytest.raises(nd.DTypeError, match="complex"):
        attention(x.astype("complex64"), x, x)
    with pytest.raises(nd.DeviceError, match="operands on cpu, numpy"):
        attention(x, x.to_device("numpy"), x)
    with pytest.raises(nd.ShapeError, match="a gradient of shape"):
        attention_gradient(nd.ones((2, 2)), x, x, x, *attention(x, x, x))


@pytest.mark.parametrize("past", [2**70, 2**63 - 1, 9, 5])
def test_a_past_beyond_all_keys_hides_none(device: str, past: int) -> None:
    query, key, value = (nd.asarray(RANDOM.normal(size=shape), device=device) for shape in ((4, 3), (5, 3), (5, 2)))
    made, expected = attention(query, key, value, causal=True, past=past), attention(query, key, value)
    blind = attention(query, key, value, causal=True, past=-past)
    assert blind[0].tolist() == [[0.0, 0.0]] * 4
    found = attention_gradient(made[0], query, key, value, *made, causal=True, past=past)
    wanted = attention_gradient(made[0], query, key, value, *expected)
    for mine, other in zip((*made, *found), (*expected, *wanted), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-12)
    with pytest.raises(TypeError):
        attention(query, key, value, causal=True, past=0.5)  # type: ignore[arg-type]


def test_gradient_refuses_what_attention_did_not_give(device: str) -> None:
    query, key, value = (nd.ones(shape, device=device) for shape in ((4, 8), (5, 8), (5, 3)))
    out, total = attention(query, key, value)
    with pytest.raises(nd.ShapeError, match="result of shape"):
        attention_gradient(out, query, key, value, out[:1, :1], total)
    with pytest.raises(nd.ShapeError, match="logsumexp of shape"):
        attention_gradient(out, query, key, value, out, total[:1])
    with pytest.raises(nd.DTypeError, match="logsumexp of int64"):
        attention_gradient(out, query, key, value, out, total.astype("int64"))
    with pytest.raises(nd.DeviceError, match="logsumexp on"):
        attention_gradient(out, query, key, value, out, total.to_device("numpy" if device == "cpu" else "cpu"))
    expected = attention_gradient(out, query, key, value, out, total)
    for mine, other in zip(
        attention_gradient(out, query, key, value, out, total.astype("float64")), expected, strict=True
    ):
        assert mine.tolist() == other.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_query_that_sees_nothing_gives_zeros_whatever_the_values_are(device: str, dtype: str) -> None:
    query, key, value = (nd.ones((rows, 4), dtype=dtype, device=device) for rows in (3, 150, 150))
    mask = np.ones((3, 150), bool)
    mask[1] = False
    value[...] = float("nan")
    seen = nd.asarray(mask, device=device)
    with np.errstate(all="ignore"):
        out, total = attention(query, key, value, seen)
        by_query, *_ = attention_gradient(out * 0.0 + 1.0, query, key, value, out, total, seen)
    assert np.isnan(out.numpy()[::2]).all() and (out.numpy()[1] == 0.0).all()
    assert total.numpy()[1, 0] == -np.inf and (by_query.numpy()[1] == 0.0).all()

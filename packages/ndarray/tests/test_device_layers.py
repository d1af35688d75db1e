"""Optional methods of a backend: asked where they are, as their protocol says; False leaves it to composition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import _layers as compiled
from treadle.ndarray.attention import attention, attention_gradient
from treadle.ndarray.numpy_backend import NumpyBackend

_layers: Any = compiled
Calls = list[tuple[Any, ...]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], Calls]:
    """Gives the numpy device a method, which answers what it is told to, and the calls of it."""

    def give(name: str, answer: Any) -> Calls:
        calls: Calls = []

        def method(self: NumpyBackend, *arguments: Any) -> Any:
            calls.append(arguments)
            return answer

        monkeypatch.setattr(NumpyBackend, name, method, raising=False)
        return calls

    return give


def ones(*shape: int, dtype: str = "float32") -> nd.NDArray:
    return nd.ones(shape, dtype=dtype, device="numpy")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_norms_get_statistics_in_float32_at_least(served: Callable[[str, Any], Calls], dtype: str) -> None:
    calls, backwards = served("norm_rows", None), served("norm_rows_gradient", None)
    x, line = ones(200, 3, 4, dtype=dtype), ones(12, dtype=dtype)
    out, mean, scale = _layers.norm_rows(x, 12, True, 1e-5, line, None)
    (given,) = calls
    assert given[0] is x and given[1] is line and given[2] is None and given[3] == 1e-5
    assert given[4] is out and given[5] is mean and given[6] is scale
    wide = "float32" if dtype == "bfloat16" else dtype
    assert mean.dtype.name == scale.dtype.name == wide and scale.shape == (200,) and out.dtype.name == dtype
    found = _layers.norm_rows_gradient(x, x, 12, mean, scale, line, (True, False, True))
    assert found[0].shape == x.shape and found[1] is None and found[2].shape == (1, 12)
    assert found[2].dtype.name == dtype
    (given,) = backwards
    assert given[5] is found[0] and given[6] is None and given[7].dtype.name == wide and given[7].shape == (7, 12)


def test_false_leaves_it_to_the_composition(served: Callable[[str, Any], Calls]) -> None:
    x, line, whole = ones(2, 3), ones(3), nd.zeros(2, dtype="int64", device="numpy")
    for name, call in {
        "norm_rows": lambda: _layers.norm_rows(x, 3, True, 1e-5, None, None),
        "norm_channels": lambda: _layers.norm_channels(x, line, line, None, None),
        "entropy": lambda: _layers.entropy("loss", x, whole, -100, 0.0),
        "entropy_gradient": lambda: _layers.entropy_gradient(x, whole, -100, 0.0, line[0]),
        "activation_gradient": lambda: _layers.activation_gradient("gelu", x, x),
        "lstm_step_gradient": lambda: _layers.lstm_step_gradient(x, x, x, x, x, x) or None,
    }.items():
        assert call() is None, name
        calls = served(name, False)
        assert call() is None and len(calls) == 1, name
        calls = served(name, None)
        assert call() is not None and len(calls) == 1, name
    served("max_pool", False)
    assert nd.max_pool(ones(1, 1, 4), 2)[0].tolist() == [[[1.0, 1.0]]]


def test_what_a_method_writes_has_a_new_version(served: Callable[[str, Any], Calls]) -> None:
    served("lstm_step", None)
    results = [ones(2, 3) for _ in range(4)]
    versions = [each.version for each in results]
    assert _layers.lstm_step(ones(2, 3), ones(2, 3), ones(2, 3), *results)
    assert all(each.version > version for each, version in zip(results, versions, strict=True))


def test_attention_is_asked_for_with_views_of_one_batch(served: Callable[[str, Any], Calls]) -> None:
    generator = np.random.default_rng(0)
    shapes = (2, 3, 4, 5), (6, 5), (3, 6, 7), (4, 6)
    query, key, value, mask = (nd.asarray(generator.normal(size=s), device="numpy") for s in shapes)
    composed = attention(query, key, value, mask, past=1)
    for answer in (False, True):
        calls = served("attention", answer)
        found = attention(query, key, value, mask, past=1)
        (given,) = calls
        assert [each.shape for each in given[:4]] == [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7), (2, 3, 4, 6)]
        assert given[4:7] == (False, 1, 5**-0.5)
        assert [each.shape for each in given[7:]] == [(2, 3, 4, 7), (2, 3, 4, 1)]
        assert (found[0] is given[7]) is answer
        if not answer:
            np.testing.assert_array_equal(found[0].numpy(), composed[0].numpy())
    calls = served("attention_gradient", True)
    by_query, by_key, by_value = attention_gradient(composed[0], query, key, value, *composed, mask)
    assert (by_query.shape, by_key.shape, by_value.shape) == ((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7))
    assert calls[0][10] is by_query and calls[0][11] is by_key and calls[0][12] is by_value

"""Faults that were found once, each with the right value."""

import math

import numpy as np
import pytest

import treadle.ndarray as nd


@pytest.mark.parametrize("stride", [2**31, 2**33, 2**62])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_stride_beyond_the_input_has_one_place(stride: int, dtype: str) -> None:
    x, w = nd.ones((1, 1, 5), dtype=dtype), nd.ones((1, 1, 3), dtype=dtype)
    assert nd.conv(x, w, stride=stride).tolist() == [[[3.0]]]
    gradient = nd.ones((1, 1, 1), dtype=dtype)
    assert nd.conv_weight_gradient(gradient, x, (1, 1, 3), stride=stride).tolist() == [[[1.0] * 3]]
    assert nd.conv_input_gradient(gradient, w, (1, 1, 5), stride=stride).tolist() == [[[1.0, 1.0, 1.0, 0.0, 0.0]]]
    assert nd.conv(x, nd.ones((1, 1, 1), dtype=dtype), dilation=stride).shape == (1, 1, 5)


def test_padding_beyond_any_memory_is_refused() -> None:
    with pytest.raises((MemoryError, nd.ShapeError)):
        nd.conv(nd.ones((1, 1, 5)), nd.ones((1, 1, 3)), padding=2**60)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_are_added_in_float32_and_rounded_once(name: str) -> None:
    gradient, weight = nd.ones((1, 1, 2000), dtype=name), nd.ones((1, 1, 1000), dtype=name)
    assert nd.conv_input_gradient(gradient, weight, (1, 1, 2999))[0, 0, 1500].item() == 1000.0
    assert (
        nd.avg_pool_gradient(nd.ones((1, 1, 1000), dtype=name), (1, 1, 1999), 1000, stride=1)[0, 0, 999].item() == 1.0
    )
    assert nd.nanmean(nd.ones(70000, dtype=name)).item() == 1.0
    assert nd.nanstd(nd.asarray([1.0, nd.nan, 3.0] * 9000, dtype=name)).item() == 1.0
    assert nd.avg_pool(nd.full((1, 1, 400, 400), 3.0, dtype=name), 400).item() == 3.0
    assert nd.linalg.vector_norm(nd.full(4, 300.0, dtype=name)).item() == 600.0
    assert nd.linalg.matrix_norm(nd.full((2, 2), 300.0, dtype=name)).item() == 600.0
    assert nd.quantile(nd.asarray([-60000.0, 60000.0], dtype=name), 0.25).dtype == name


def test_quantiles_between_far_ends() -> None:
    assert nd.median(nd.asarray([1.0, math.inf])).item() == math.inf
    assert nd.median(nd.asarray([-3e38, 3e38])).item() == 0.0
    assert nd.quantile(nd.asarray([-60000.0, 60000.0], dtype="float16"), 0.25).item() == -30000.0


def test_repetitions_do_not_wrap() -> None:
    for counts in (nd.asarray([2**62] * 3), nd.asarray([2**64 - 1, 3, 0], dtype="uint64")):
        with pytest.raises((MemoryError, nd.ShapeError)):
            nd.repeat(nd.ones(3), counts)


def test_running_products_start_from_their_first_element() -> None:
    found = nd.cumprod(nd.asarray([complex(math.inf, -3.0), 1j]))[0].item()
    assert (found.real, found.imag) == (math.inf, -3.0)


def test_means_of_integers_lose_nothing_on_the_way() -> None:
    assert nd.var(nd.asarray([2**30, 2**30 + 1], dtype="int32")).item() == 0.25
    assert nd.mean(nd.asarray([16777217, -16777216])).item() == 0.5
    assert nd.mean(nd.asarray([1, 2])).dtype == "float32"
    values = np.arange(-50, 50, dtype="int8")
    assert nd.mean(nd.asarray(values)).item() == values.mean()


def test_errors_are_ours() -> None:
    with pytest.raises(nd.ShapeError, match="solve"):
        nd.linalg.solve(nd.ones((2, 5, 5)), nd.ones((5, 5, 2)))
    with pytest.raises(nd.ShapeError, match="one_hot"):
        nd.one_hot(nd.asarray([0]), -1)

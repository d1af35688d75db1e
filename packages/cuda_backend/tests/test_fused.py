"""The fused kernels against float64 formulas."""

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import updates


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7), (40, 33), (3, 2, 5)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax(
    device: str, grid: int, schedule: str, shape: tuple[int, ...], axis: int, dtype: str, logarithm: bool
) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)
    shifted = x.astype(np.float64) - x.max(axis=axis, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    got = (nd.log_softmax if logarithm else nd.softmax)(nd.asarray(x, device=device), axis=axis)
    expected = expected if logarithm else np.exp(expected)
    scale = 40.0 if logarithm else 1.0
    np.testing.assert_allclose(got.numpy(), expected, rtol=64 * np.finfo(dtype).eps, atol=scale * np.finfo(dtype).eps)


def test_softmax_of_infinities_and_nan(device: str) -> None:
    x = np.array([[-np.inf, 0, 0], [np.inf, 0, 0], [np.nan, 0, 0], [-np.inf] * 3], np.float32)
    got = nd.softmax(nd.asarray(x, device=device)).numpy()
    np.testing.assert_array_equal(got[0], np.array([0, 0.5, 0.5], np.float32))
    assert np.isnan(got[1:]).all()  # inf - inf is NaN, and so is the sum that all are divided by


def test_log_softmax_of_large_logits(device: str) -> None:
    got = nd.log_softmax(nd.asarray([1000.0, 1000.5, -1000.0], device=device)).numpy()
    np.testing.assert_allclose(got, [-0.97407698, -0.47407698, -2000.97407698], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("decoupled", [False, True])
def test_adam(device: str, grid: int, dtype: str, decoupled: bool) -> None:
    generator = np.random.default_rng(0)
    host = [generator.normal(size=1500).astype(dtype) for _ in range(3)] + [generator.random(1500).astype(dtype)]
    on_device = [nd.asarray(each, device=device, copy=True) for each in host]
    exact = [nd.asarray(each.astype("float64"), device="numpy", copy=True) for each in host]
    hyper = {"lr": 0.01, "weight_decay": 0.1, "decoupled": decoupled, "step": 3, "maximize": True}
    nd.adam_step(*on_device, **hyper)
    updates.adam_step(*exact, **hyper)
    for got, expected in zip(on_device, exact, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=16 * np.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("first_step", [False, True])
def test_sgd(device: str, dtype: str, momentum: float, nesterov: bool, first_step: bool) -> None:
    generator = np.random.default_rng(0)
    host = [generator.normal(size=1500).astype(dtype) for _ in range(3 if momentum else 2)]
    on_device = [nd.asarray(each, device=device, copy=True) for each in host]
    exact = [nd.asarray(each.astype("float64"), device="numpy", copy=True) for each in host]
    hyper = {"lr": 0.1, "momentum": momentum, "weight_decay": 0.1, "nesterov": nesterov and momentum > 0,
             "first_step": first_step}  # fmt: skip
    nd.sgd_step(*on_device, **hyper)
    updates.sgd_step(*exact, **hyper)
    for got, expected in zip(on_device, exact, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=16 * np.finfo(dtype).eps, atol=1e-6)

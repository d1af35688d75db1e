"""The fused kernels against float64 formulas."""

from typing import Any

import numpy as np
import pytest

import treadle.cuda
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


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7), (3, 2, 5)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logsumexp(device: str, grid: int, schedule: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)
    top = x.max(axis=axis, keepdims=True).astype(np.float64)
    expected = np.log(np.exp(x - top).sum(axis=axis)) + top.squeeze(axis)
    got = nd.logsumexp(nd.asarray(x, device=device), axis=axis).numpy()
    np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)


def test_logsumexp_of_infinities_and_nan(device: str) -> None:
    x = np.array([[-np.inf, 0.0], [np.inf, 0.0], [np.nan, 0.0], [-np.inf, -np.inf]], np.float32)
    got = nd.logsumexp(nd.asarray(x, device=device), axis=1).numpy()
    np.testing.assert_array_equal(got, np.array([0.0, np.inf, np.nan, -np.inf], np.float32))


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7), (40000, 1), (3, 2, 5)])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("correction", [0, 1, 2.5])
def test_variance(device: str, schedule: str, shape: tuple[int, ...], axis: Any, correction: float) -> None:
    """About a mean that is large against the deviations; NumPy's in float64."""
    x = (np.random.default_rng(0).normal(size=shape) + 1000).astype(np.float32)
    got = nd.var(nd.asarray(x, device=device), axis=axis, correction=correction).numpy()
    count = x.size // got.size
    squares = np.square(x - x.mean(axis=axis, keepdims=True, dtype=np.float64)).sum(axis=axis)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, squares / np.float64(max(count - correction, 0)), rtol=1e-6)


def test_variance_of_infinity_and_nan_is_nan(device: str) -> None:
    x = nd.asarray([[np.inf, 1.0], [np.nan, 1.0], [np.inf, np.inf]], device=device)
    assert np.isnan(nd.var(x, axis=1).numpy()).all() and np.isnan(nd.var(x[:, :1], axis=1).numpy()).all()


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["adam_step", "sgd_step"])
def test_one_kernel_steps_halves_with_the_bits_of_float32_rounded(device: str, grid: int, dtype: str, op: str) -> None:
    rng, place = np.random.default_rng(0), {"device": device}
    half, gradient = (nd.asarray(rng.normal(size=1500).astype(np.float32), **place).astype(dtype) for _ in range(2))
    state = [nd.asarray(rng.random(1500).astype(np.float32), **place) for _ in range(2 if op == "adam_step" else 1)]
    wide, wide_state = half.astype("float32"), [each.copy() for each in state]
    hyper = {"lr": 0.1, "weight_decay": 0.1, **({"step": 3} if op == "adam_step" else {"momentum": 0.9})}
    graph = treadle.cuda.Graph(device)
    with graph.capture():
        getattr(nd, op)(half, gradient, *state, **hyper)
    assert graph.nodes == 1
    graph.replay()
    getattr(nd, op)(wide, gradient.astype("float32"), *wide_state, **hyper)
    assert half.astype("float32").tolist() == wide.astype(dtype).astype("float32").tolist()
    for one, other in zip(state, wide_state, strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()
    with pytest.raises(nd.DTypeError, match="the state float32 beside halves"):
        getattr(nd, op)(half, gradient, *(each.astype(dtype) for each in state), **hyper)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_optimizers_of_halves_step_in_float32(device: str, dtype: str, name: str) -> None:
    """As on the cpu, with a float32 state, and rounded once a step."""
    autograd = pytest.importorskip("treadle.autograd")
    optim = pytest.importorskip("treadle.optim")
    start = np.random.default_rng(0).normal(size=100).astype(np.float32)
    found = []
    for place in ("cpu", device):
        parameter = autograd.Tensor(nd.asarray(start, device=place).astype(dtype), requires_grad=True)
        optimizer = getattr(optim, name)([parameter], lr=0.01, **({"momentum": 0.9} if name == "SGD" else {}))
        for _ in range(5):
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()
        state = next(iter(optimizer.state_dict()["state"].values()))
        assert all(each.dtype == "float32" for each in state.values() if hasattr(each, "dtype"))
        found.append(parameter.data.astype("float32").to_device("cpu").numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=float(nd.finfo(nd.dtype(dtype)).eps) * 2)
    assert (found[0] != start).any()

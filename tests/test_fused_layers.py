"""Layers of fused kernels: each device gives the same results and gradients, which are those of differences."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
import treadle.nn as nn
from treadle.nn import functional

DEVICES = ["numpy", *(["cuda_emulated"] if importlib.util.find_spec("treadle.cuda") else [])]
Call = Callable[..., ag.Tensor]


def lstm(x: ag.Tensor, weight: ag.Tensor, state: ag.Tensor) -> ag.Tensor:
    hidden, cell = functional.lstm(x, state, state, weight)
    return ag.sum(hidden) + ag.sum(cell * cell)


def entropy(x: ag.Tensor) -> ag.Tensor:
    targets = ag.Tensor(np.array([2, 0, -100, 1]), device=x.device)
    return functional.cross_entropy(x, targets, label_smoothing=0.1)


def pooled(x: ag.Tensor) -> ag.Tensor:
    out = functional.max_pool2d(x, 3, 2, 1)
    assert isinstance(out, ag.Tensor)
    return out


CALLS: dict[str, tuple[Call, list[tuple[int, ...]]]] = {
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (5,), w, b), [(3, 2, 5), (5,), (5,)]),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (5,), w), [(3, 2, 5), (5,)]),
    "group_norm": (lambda x, w, b: functional.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "batch_norm": (
        lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True), [(3, 2, 4), (2,), (2,)],
    ),
    "instance_norm": (functional.instance_norm, [(2, 3, 5)]),
    "lstm": (lstm, [(3, 2, 8), (8, 2), (2, 2)]),
    "cross_entropy": (entropy, [(4, 3)]),
    "max_pool": (pooled, [(2, 2, 5, 4)]),
    "gelu": (lambda x: functional.gelu(x) * functional.gelu(x, "tanh"), [(7,)]),
    "attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 2)],
    ),
    "attention of a mask": (
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m),
        [(2, 3, 4), (2, 5, 4), (2, 5, 2), (3, 5)],
    ),
    "grouped attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [(4, 3, 4), (2, 5, 4), (2, 5, 2)],
    ),
}  # fmt: skip


def operands(name: str, device: str, dtype: str) -> list[ag.Tensor]:
    generator = np.random.default_rng(3)
    shapes = CALLS[name][1]
    return [ag.Tensor(generator.normal(size=s).astype(dtype), device=device, requires_grad=True) for s in shapes]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str, device: str) -> None:
    given = operands(name, device, "float64")
    assert ag.gradcheck(CALLS[name][0], given)
    assert ag.gradgradcheck(CALLS[name][0], given)


def results(name: str, device: str, dtype: str = "float32") -> list[Any]:
    given = [each.detach().astype(dtype).requires_grad_() for each in operands(name, device, "float32")]
    out = CALLS[name][0](*given)
    (out * ag.sin(out)).sum().backward()
    arrays = [out.data, *[each.grad.data for each in given if each.grad is not None]]
    assert all(each.dtype.name == dtype for each in arrays)
    return [each.to_device("cpu").astype("float64").numpy() for each in arrays]


def takes(device: str, dtype: str) -> bool:
    backend = nd.zeros(1, device=device).device.backend
    return dtype in getattr(backend, "dtypes", (dtype,))


@pytest.mark.parametrize(
    ("device", "dtype"),
    [(device, dtype) for device in DEVICES for dtype in ("float16", "bfloat16") if takes(device, dtype)],
)
@pytest.mark.parametrize("name", CALLS)
def test_halves(name: str, device: str, dtype: str) -> None:
    near = 2e-2 if dtype == "float16" else 1e-1
    for mine, other in zip(results(name, device, dtype), results(name, "cpu"), strict=True):
        np.testing.assert_allclose(mine, other, rtol=near, atol=near * max(1.0, np.abs(other).max(initial=0.0)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_devices_agree(name: str, device: str) -> None:
    for mine, other in zip(results(name, device), results(name, "cpu"), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_target_that_is_no_class_is_told(device: str) -> None:
    logits, targets = nn.Parameter(nd.zeros((2, 3), device=device)), ag.Tensor(np.array([0, 3]), device=device)
    with pytest.raises(nd.IndexingError, match="outside of the 3 classes"):
        functional.cross_entropy(logits, targets)

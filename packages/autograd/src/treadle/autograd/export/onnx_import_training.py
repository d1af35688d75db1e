"""Steps of optimizers as ONNX has them: any number of tensors, their gradients and what is kept about each."""

from collections.abc import Callable
from typing import Any

import treadle.autograd.functions as F
from treadle.autograd._tensor import Tensor
from treadle.autograd.export.onnx_import_arithmetic import numbers

__all__ = ["TRAINING"]


def _stepped(kept: int, update: Callable[..., tuple[Tensor, ...]]) -> Callable[..., Any]:
    """An optimizer that keeps ``kept`` tensors about each one that it trains."""

    def op(at: Any, rate: Tensor, turn: Tensor, *tensors: Tensor) -> Any:
        count = len(tensors) // (kept + 2)
        groups = [tensors[each * count : (each + 1) * count] for each in range(kept + 2)]
        rows = [update(at, numbers(rate)[0], int(numbers(turn)[0]), *each) for each in zip(*groups, strict=True)]
        return tuple(each for group in zip(*rows, strict=True) for each in group)

    return op


def _regularized(at: Any, x: Tensor, g: Tensor) -> Any:
    return g + x * at.get("norm_coefficient", 0.0)


def _adagrad(at: Any, rate: float, turn: int, x: Tensor, g: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    g = _regularized(at, x, g)
    h = h + F.square(g)
    step = rate / (1.0 + turn * at.get("decay_factor", 0.0))
    return x - g * step / (F.sqrt(h) + at.get("epsilon", 1e-6)), h


def _momentum(at: Any, rate: float, turn: int, x: Tensor, g: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    g, alpha = _regularized(at, x, g), at.attributes["alpha"]
    v = v * alpha + g * (at.attributes["beta"] if turn > 0 else 1.0)
    step = g + v * alpha if at.attributes["mode"] == "nesterov" else v
    return x - step * rate, v


def _adam(at: Any, rate: float, turn: int, x: Tensor, g: Tensor, v: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    alpha, beta = at.get("alpha", 0.9), at.get("beta", 0.999)
    g = _regularized(at, x, g)
    v, h = v * alpha + g * (1.0 - alpha), h * beta + F.square(g) * (1.0 - beta)
    step = rate * ((1.0 - beta**turn) ** 0.5 / (1.0 - alpha**turn) if turn > 0 else 1.0)
    x = x - v * step / (F.sqrt(h) + at.get("epsilon", 1e-6))
    return x * (1.0 - at.get("norm_coefficient_post", 0.0)), v, h


TRAINING: dict[str, Callable[..., Any]] = {
    f"ai.onnx.preview.training:{name}": op
    for name, op in {
        "Adagrad": _stepped(1, _adagrad), "Momentum": _stepped(1, _momentum), "Adam": _stepped(2, _adam),
    }.items()
}  # fmt: skip
"""By domain and name."""

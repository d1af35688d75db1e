"""Dead and exploding gradients, parameter by parameter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.ndarray import DTypeError, NDArray

__all__ = ["GradientHealth", "gradient_health"]


@dataclass(frozen=True, slots=True)
class GradientHealth:
    """A parameter's gradient in numbers. ``verdict`` is "ok", "no gradient", "zero", "mostly zero", "vanishing",
    "exploding" or "not finite"; ``ratio`` is the gradient's norm over the parameter's.
    """

    name: str
    shape: tuple[int, ...]
    norm: float
    largest: float
    zeros: float
    ratio: float
    verdict: str

    def __str__(self) -> str:
        return (
            f"{self.name:32} {self.shape!s:16} norm {self.norm:10.4g}  largest {self.largest:10.4g}  "
            f"zero {self.zeros:6.1%}  grad/param {self.ratio:10.4g}  {self.verdict}"
        )


def gradient_health(
    parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]],
    *,
    vanishing: float = 1e-7,
    exploding: float = 1e3,
    mostly_zero: float = 0.9,
) -> list[GradientHealth]:
    """Look at ``.grad`` of named parameters, such as ``model.named_parameters()``, after a backward.

    A gradient is called vanishing or exploding by the ratio of its norm to the parameter's (to 1 for a parameter that
    is zero), and mostly zero by its share of exact zeros.

    >>> import treadle.autograd as ag
    >>> w, v = (ag.Tensor([1.0, -1.0], requires_grad=True) for _ in range(2))
    >>> ag.relu(w * 0.0 - 1.0).sum().backward()
    >>> [(each.name, each.verdict) for each in ag.gradient_health({"w": w, "v": v})]
    [('w', 'zero'), ('v', 'no gradient')]
    """
    pairs: Any = parameters.items() if isinstance(parameters, Mapping) else parameters
    named: list[Any] = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, Tensor) else [pairs]
    for pair in named:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Tensor):
            raise DTypeError(
                "gradient_health: expected pairs of a name and a Tensor, as model.named_parameters() gives them, not "
                f"{type(pair).__name__}"
            )
    return [_health(name, each, vanishing, exploding, mostly_zero) for name, each in named]


def _health(name: str, parameter: Tensor, vanishing: float, exploding: float, mostly_zero: float) -> GradientHealth:
    if parameter.grad is None:
        return GradientHealth(name, parameter.shape, 0.0, 0.0, 0.0, 0.0, "no gradient")
    grad = _magnitudes(parameter.grad.data)
    if grad.size == 0:
        return GradientHealth(name, parameter.shape, 0.0, 0.0, 0.0, 0.0, "ok")
    largest = float(nd.max(grad))
    norm = float(nd.sqrt(nd.sum(grad * grad)))
    zeros = float(nd.mean(nd.astype(grad == 0.0, nd.float64)))
    values = _magnitudes(parameter.data)
    scale = float(nd.sqrt(nd.sum(values * values))) or 1.0
    ratio = norm / scale
    verdict = "ok"
    if not bool(nd.all(nd.isfinite(grad))):
        verdict = "not finite"
    elif largest == 0.0:
        verdict = "zero"
    elif ratio > exploding:
        verdict = "exploding"
    elif ratio < vanishing:
        verdict = "vanishing"
    elif zeros > mostly_zero:
        verdict = "mostly zero"
    return GradientHealth(name, parameter.shape, norm, largest, zeros, ratio, verdict)


def _magnitudes(array: NDArray) -> NDArray:
    return nd.astype(nd.abs(array), nd.float64)

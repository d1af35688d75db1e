"""Momentum made orthogonal."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.composed import average
from treadle.optim.optimizer import Optimizer, require

__all__ = ["Muon", "orthogonalized"]

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Muon, for matrices only: steps along the momentum with all its singular values brought near 1.

    With gradient g and momentum m: b = m * b + (1 - m) * g from b = 0; the step is :func:`orthogonalized` b, or
    m * b + (1 - m) * g with ``nesterov``, times lr * sqrt(max(1, rows / columns)), or with
    ``adjust_lr_fn="match_rms_adamw"`` times lr * 0.2 * sqrt(max(rows, columns)), which suits rates found for AdamW.
    ``weight_decay`` shrinks the matrix by lr * weight_decay. Biases, embeddings and last layers go to another
    optimizer. ShapeError for a parameter that is no matrix.

    Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; Liu et al. 2025, "Muon is scalable
    for LLM training". The iteration is computed in the parameter's dtype, at least float32; PyTorch rounds it to
    bfloat16.

    >>> w = Tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Muon([w], lr=0.5, weight_decay=0.0).step()
    >>> [[round(value, 1) for value in row] for row in w.tolist()]
    [[2.6, 0.0], [0.0, 3.4]]
    """

    nonnegative = ("lr", "momentum", "weight_decay", "eps")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Sequence[float] = _COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        require(options["momentum"] <= 1.0, "momentum", options["momentum"], "a number from 0 to 1")
        require(len(options["ns_coefficients"]) == 3, "ns_coefficients", options["ns_coefficients"], "three numbers")
        require(0 <= options["ns_steps"] < 100, "ns_steps", options["ns_steps"], "from 0 to 99")
        fits = options["adjust_lr_fn"] in _ADJUSTMENTS
        require(fits, "adjust_lr_fn", options["adjust_lr_fn"], "None, 'original' or 'match_rms_adamw'")
        for parameter in options.get("params", ()):
            if isinstance(parameter, Tensor) and parameter.ndim != 2:
                raise nd.ShapeError(
                    f"Muon steps along matrices; a parameter has shape {parameter.shape}: give it to another optimizer"
                )

    def state_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",)

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = nd.zeros_like(gradient)
        buffer, momentum = state["momentum_buffer"], options["momentum"]
        average(buffer, gradient, momentum)
        ahead = gradient * (1.0 - momentum) + buffer * momentum if options["nesterov"] else buffer
        rows, columns = parameter.shape
        scale = sqrt(max(1.0, rows / max(1, columns)))
        if options["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * sqrt(max(rows, columns))
        step = orthogonalized(ahead, options["ns_coefficients"], options["ns_steps"], options["eps"])
        parameter.data *= 1.0 - options["lr"] * options["weight_decay"]
        parameter.data -= step * (options["lr"] * scale)


def orthogonalized(
    matrix: nd.NDArray, coefficients: Sequence[float] = _COEFFICIENTS, steps: int = 5, eps: float = 1e-7
) -> nd.NDArray:
    """A matrix with the same singular vectors whose singular values lie near 1, between about 0.7 and 1.2.

    The matrix is divided by its Frobenius norm, at least ``eps``, and then x = a x + b (x x') x + c (x x')^2 x is
    taken ``steps`` times, a Newton-Schulz iteration with coefficients that lift small values quickly.

    >>> [[round(value, 2) for value in row] for row in orthogonalized(nd.asarray([[2.0, 0.0], [0.0, 1.0]])).tolist()]
    [[0.69, 0.0], [0.0, 1.11]]
    """
    a, b, c = coefficients
    upright = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if upright else matrix
    x = x / nd.maximum(nd.linalg.vector_norm(x), eps)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * (square @ square)) @ x
    return x.T if upright else x

"""Clipping of gradients, in place.

Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks" (by norm).
"""

import warnings
from collections.abc import Iterable, Iterator
from math import inf, isfinite
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.functional._fused import is_host

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

_LEAST = 1e-18
"""Shorter float32 vectors have squares that are subnormal."""


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients together so that their common norm is at most ``max_norm``; returns the norm before.

    The factor is min(1, max_norm / (norm + 1e-6)). A norm that is infinite or NaN is a RuntimeError with
    ``error_if_nonfinite``, and the gradients stay as they were. Without it an infinite norm turns finite entries into 0
    and infinite ones into NaN, and a NaN norm turns all into NaN.

    >>> w = Tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = Tensor([3.0, 4.0])
    >>> clip_grad_norm_(w, 1.0).item()
    5.0
    >>> [round(g, 4) for g in w.grad.numpy().tolist()]
    [0.6, 0.8]
    """
    gradients, max_norm = _gradients(parameters), _limit("max_norm", max_norm)
    if not gradients:
        return Tensor(0.0)
    total = _checked_norm(gradients, norm_type, error_if_nonfinite)
    _scale(gradients, max_norm, total)
    return Tensor(total)


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The common norm of all tensors, such as gradients; errors as in :func:`clip_grad_norm_`.

    >>> get_total_norm([Tensor([3.0]), Tensor([4.0])]).item()
    5.0
    """
    arrays = [each.data for each in ([tensors] if isinstance(tensors, Tensor) else tensors)]
    return Tensor(_checked_norm(arrays, norm_type, error_if_nonfinite) if arrays else 0.0)


def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor) -> None:
    """Scale all gradients by min(1, max_norm / (total_norm + 1e-6)), for a norm that is known already.

    >>> w = Tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = Tensor([3.0, 4.0])
    >>> clip_grads_with_norm_(w, 2.5, Tensor(5.0))
    >>> [round(g, 4) for g in w.grad.tolist()]
    [1.5, 2.0]
    """
    _scale(_gradients(parameters), _limit("max_norm", max_norm), total_norm.data)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Cut every element of every gradient to the interval from -clip_value to clip_value.

    >>> w = Tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = Tensor([3.0, -0.5])
    >>> clip_grad_value_(w, 1.0)
    >>> w.grad.numpy().tolist()
    [1.0, -0.5]
    """
    clip_value = _limit("clip_value", clip_value)
    for gradient in _gradients(parameters):
        gradient[...] = nd.clip(gradient, -clip_value, clip_value)


def _limit(name: str, value: Any) -> float:
    """A number, also from a Tensor of one element."""
    limit = float(value)
    if not limit >= 0.0:
        raise ValueError(f"{name} must be 0 or more, not {limit}")
    return limit


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[nd.NDArray]:
    """The gradient arrays there are; of a parameter that comes twice only once."""
    if hasattr(parameters, "parameters"):
        raise TypeError(
            f"gradients are those of parameters, not of a {type(parameters).__name__}: pass its parameters()"
        )
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    unique = {id(tensor): tensor for tensor in tensors}
    if not unique and isinstance(parameters, Iterator):
        message = "the iterator of parameters is empty, perhaps used up by an earlier call: no gradient is clipped"
        warnings.warn(message, stacklevel=3)
    return [tensor.grad.data for tensor in unique.values() if tensor.grad is not None]


def _scale(gradients: list[nd.NDArray], max_norm: float, total: nd.NDArray) -> None:
    factor = nd.minimum(max_norm / (total + 1e-6), 1.0)
    for gradient in gradients:
        gradient *= factor.astype(gradient.dtype, copy=False).to_device(gradient.device)


def _checked_norm(arrays: list[nd.NDArray], norm_type: float, error_if_nonfinite: bool) -> nd.NDArray:
    norm_type = float(norm_type)  # also "inf"
    if not norm_type > 0.0:
        raise ValueError(f"norm_type must be above 0, not {norm_type}")
    total = _total_norm(arrays, norm_type)
    if error_if_nonfinite and not isfinite(total.item()):
        raise RuntimeError(
            f"the norm of order {norm_type} of {len(arrays)} gradients is {total.item()}, so they cannot be clipped"
            "; error_if_nonfinite=False scales by it all the same"
        )
    return total


def _roomy(gradient: nd.NDArray) -> nd.NDArray:
    """Where the result cannot be looked at without waiting: in float64, in which no square of a float32 overflows."""
    return gradient if is_host(gradient.device) or gradient.dtype is not nd.float32 else gradient.astype(nd.float64)


def _total_norm(gradients: list[nd.NDArray], norm_type: float) -> nd.NDArray:
    """The norm of all elements as a 0-d array on the first gradient's device; that of halves in float32."""
    device = gradients[0].device
    gradients = [each.astype(nd.float32) if each.itemsize == 2 else each for each in gradients]
    if norm_type == inf:
        parts = [nd.max(nd.abs(gradient)) for gradient in gradients if gradient.size]
    elif norm_type == 2.0:
        parts = [nd.sum(nd.square(_roomy(gradient))) for gradient in gradients]
    else:
        parts = [nd.sum(nd.pow(nd.abs(gradient), norm_type)) for gradient in gradients]
    if not parts:
        return nd.zeros((), dtype=gradients[0].dtype, device=device)
    stacked = nd.stack([part.to_device(device) for part in parts])
    if norm_type == inf:
        return nd.max(stacked)
    total = nd.sum(stacked)
    if norm_type != 2.0:
        return nd.pow(total, 1.0 / norm_type)
    length = nd.sqrt(total).astype(gradients[0].dtype, copy=False)
    if is_host(device) and not _LEAST < length.item() < inf:  # squares overflowed, or vanished
        length = nd.linalg.vector_norm(nd.stack([nd.linalg.vector_norm(each) for each in gradients]))
    return length

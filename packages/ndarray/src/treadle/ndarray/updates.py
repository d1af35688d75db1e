"""Optimizer updates in place: one fused kernel a parameter, or the same composed from array operations."""

import math

from treadle.ndarray import _updates
from treadle.ndarray._array import NDArray
from treadle.ndarray.elementwise import sqrt

__all__ = ["adam_step", "sgd_step"]


def adam_step(
    parameter: NDArray,
    gradient: NDArray,
    first: NDArray,
    second: NDArray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    step: int,
    maximize: bool = False,
) -> None:
    """One step of Adam, in place; ``step`` counts from 1.

    ``parameter``, ``gradient``, ``first`` and ``second`` (the moments) are of one shape and floating dtype; where they
    are C-contiguous one fused kernel does it all. A parameter and gradient of float16 or bfloat16 have moments of
    float32, and their step is computed in it and rounded once. ``weight_decay`` joins the gradient, or with
    ``decoupled`` shrinks the parameter (AdamW).

    Source: D. Kingma, J. Ba, "Adam" (2015), algorithm 1; I. Loshchilov, F. Hutter (2019), algorithm 2.

    >>> import treadle.ndarray as nd
    >>> p, m, v = nd.ones(1), nd.zeros(1), nd.zeros(1)
    >>> nd.adam_step(p, nd.full(1, 1e-3), m, v, lr=0.1, eps=1e-2, step=1)
    >>> f"{p.item():.6f}"
    '0.990909'
    """
    if step < 1:
        raise ValueError(f"adam_step: step is {step}; it counts from 1")
    corrections = (1 - beta1**step, 1 - beta2**step)
    sign = -1.0 if maximize else 1.0
    hyper = (lr, beta1, beta2, eps, weight_decay, float(decoupled), *corrections, sign)
    _adam(parameter, gradient, first, second, hyper)


def _adam(parameter: NDArray, gradient: NDArray, first: NDArray, second: NDArray, hyper: tuple[float, ...]) -> None:
    if _dense(parameter, first, second) and _updates.adam_step(parameter, gradient, first, second, hyper):
        return
    if parameter.itemsize == 2:
        wide = parameter.astype("float32")
        _adam(wide, gradient.astype("float32"), first, second, hyper)
        parameter[...] = wide
        return
    compose_adam(parameter, gradient, first, second, hyper)


def _dense(*arrays: NDArray | None) -> bool:
    return all(each is None or each.is_contiguous for each in arrays)


def compose_adam(
    parameter: NDArray, gradient: NDArray, first: NDArray, second: NDArray, hyper: tuple[float, ...]
) -> None:
    """:func:`adam_step` from array operations, for devices without the fused kernel."""
    lr, beta1, beta2, eps, weight_decay, decoupled, correction1, correction2, sign = hyper
    gradient = gradient * sign
    if decoupled:
        parameter *= 1 - lr * weight_decay
    elif weight_decay:
        gradient = gradient + parameter * weight_decay
    first *= beta1
    first += gradient * (1 - beta1)
    second *= beta2
    second += gradient * gradient * (1 - beta2)
    parameter -= first * (lr / correction1) / (sqrt(second) / math.sqrt(correction2) + eps)


def sgd_step(
    parameter: NDArray,
    gradient: NDArray,
    momentum_buffer: NDArray | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    first_step: bool = False,
    maximize: bool = False,
) -> None:
    """One step of stochastic gradient descent, in place.

    With a ``momentum_buffer`` b (of the parameter's shape and dtype, or float32 beside halves): b = momentum * b +
    (1 - dampening) * gradient, the first time b = gradient; the step goes along b, or along gradient + momentum * b
    with ``nesterov``.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013), in the form
    that PyTorch documents.

    >>> import treadle.ndarray as nd
    >>> p = nd.ones(1)
    >>> nd.sgd_step(p, nd.full(1, 0.5), lr=0.1, weight_decay=0.1)
    >>> f"{p.item():.6f}"
    '0.940000'
    """
    hyper = (lr, momentum, dampening, weight_decay, float(nesterov), float(first_step), -1.0 if maximize else 1.0)
    _sgd(parameter, gradient, momentum_buffer, hyper)


def _sgd(parameter: NDArray, gradient: NDArray, momentum_buffer: NDArray | None, hyper: tuple[float, ...]) -> None:
    if _dense(parameter, momentum_buffer) and _updates.sgd_step(parameter, gradient, momentum_buffer, hyper):
        return
    if parameter.itemsize == 2:
        wide = parameter.astype("float32")
        _sgd(wide, gradient.astype("float32"), momentum_buffer, hyper)
        parameter[...] = wide
        return
    compose_sgd(parameter, gradient, momentum_buffer, hyper)


def compose_sgd(
    parameter: NDArray, gradient: NDArray, momentum_buffer: NDArray | None, hyper: tuple[float, ...]
) -> None:
    """:func:`sgd_step` from array operations, for devices without the fused kernel."""
    lr, momentum, dampening, weight_decay, nesterov, first_step, sign = hyper
    gradient = gradient * sign
    if weight_decay:
        gradient = gradient + parameter * weight_decay
    if momentum_buffer is not None:
        if first_step:
            momentum_buffer[...] = gradient
        else:
            momentum_buffer *= momentum
            momentum_buffer += gradient * (1 - dampening)
        gradient = gradient + momentum_buffer * momentum if nesterov else momentum_buffer
    parameter -= gradient * lr

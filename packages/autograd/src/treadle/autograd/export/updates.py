"""Optimizer steps as functions of tensors, for training on the device: PyTorch's SGD and Adam.

Any callable with ``slots(parameter)``, the first values of what it keeps for each parameter, and
``__call__(parameter, gradient, *slots)``, which gives the new values in the same order, will do.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor
from treadle.autograd.functions import sqrt

__all__ = ["SGD", "Adam", "Update"]


class Update(Protocol):
    """What an optimizer step is."""

    def slots(self, parameter: Tensor) -> list[Tensor]:
        """The first values of what is kept for a parameter."""

    def __call__(self, parameter: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        """The new values of the parameter and of what is kept."""


def _zeros(parameter: Tensor) -> Tensor:
    return Tensor(nd.zeros(parameter.shape, dtype=parameter.dtype))


def _within(least: float, below: float = math.inf, **given: float) -> None:
    """Raise ValueError for an option outside of its range."""
    for name, value in given.items():
        if not least <= value < below:
            raise ValueError(f"{name} must lie in [{least:g}, {below:g}), not {value}")


@dataclass(frozen=True, slots=True)
class SGD:
    """Stochastic gradient descent as ``torch.optim.SGD`` does it. Raises ValueError for options out of their range."""

    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        _within(0.0, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay)
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov needs a momentum above 0")

    def slots(self, parameter: Tensor) -> list[Tensor]:
        """The momentum, if there is one."""
        return [_zeros(parameter)] if self.momentum else []

    def __call__(self, parameter: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if not self.momentum:
            return (parameter - self.lr * gradient,)
        kept = self.momentum * slots[0] + gradient
        step = gradient + self.momentum * kept if self.nesterov else kept
        return parameter - self.lr * step, kept


@dataclass(frozen=True, slots=True)
class Adam:
    """Adam (D. Kingma, J. Ba, 2015, algorithm 1), bias-corrected; with ``decoupled``, AdamW.

    Raises ValueError for options out of their range.
    """

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    def __post_init__(self) -> None:
        _within(0.0, lr=self.lr, eps=self.eps, weight_decay=self.weight_decay)
        _within(0.0, 1.0, beta1=self.beta1, beta2=self.beta2)

    def slots(self, parameter: Tensor) -> list[Tensor]:
        """The two moments, and 1 - beta1^t and 1 - beta2^t after t steps.

        Not the powers: 1 minus one near to 1 would have few right digits, and hundreds of steps make them subnormal.
        """
        none = nd.zeros((), dtype=parameter.dtype)
        return [_zeros(parameter), _zeros(parameter), Tensor(none.copy()), Tensor(none.copy())]

    def __call__(self, parameter: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        first, second, share1, share2 = slots
        if self.weight_decay and self.decoupled:
            parameter = parameter * (1.0 - self.lr * self.weight_decay)
        elif self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        first = self.beta1 * first + (1.0 - self.beta1) * gradient
        second = self.beta2 * second + (1.0 - self.beta2) * gradient * gradient
        share1, share2 = (self.beta1 * share1 + (1.0 - self.beta1), self.beta2 * share2 + (1.0 - self.beta2))
        spread = sqrt(second) / sqrt(share2) + self.eps
        return parameter - self.lr / share1 * (first / spread), first, second, share1, share2

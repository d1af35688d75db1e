"""Optimizer steps as functions of tensors, for training on the device: PyTorch's SGD and Adam.

Any callable with ``slots(parameter)``, the first values of what it keeps for each parameter, and
``__call__(parameter, gradient, *slots)``, which gives the new values in the same order, will do.
"""

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


@dataclass(frozen=True, slots=True)
class SGD:
    """Stochastic gradient descent as ``torch.optim.SGD`` does it."""

    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def slots(self, parameter: Tensor) -> list[Tensor]:
        """The momentum, if there is one."""
        return [_zeros(parameter)] if self.momentum else []

    def __call__(self, parameter: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if not self.momentum:
            return (parameter - self.lr * gradient,)
        kept = self.momentum * slots[0] + gradient
        return parameter - self.lr * kept, kept


@dataclass(frozen=True, slots=True)
class Adam:
    """Adam (D. Kingma, J. Ba, 2015, algorithm 1), bias-corrected; with ``decoupled``, AdamW."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    def slots(self, parameter: Tensor) -> list[Tensor]:
        """The two moments, and beta1 and beta2 to the power of the steps taken."""
        one = nd.ones((), dtype=parameter.dtype)
        return [_zeros(parameter), _zeros(parameter), Tensor(one.copy()), Tensor(one.copy())]

    def __call__(self, parameter: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        first, second, power1, power2 = slots
        if self.weight_decay and self.decoupled:
            parameter = parameter * (1.0 - self.lr * self.weight_decay)
        elif self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        first = self.beta1 * first + (1.0 - self.beta1) * gradient
        second = self.beta2 * second + (1.0 - self.beta2) * gradient * gradient
        power1, power2 = power1 * self.beta1, power2 * self.beta2
        spread = sqrt(second) / sqrt(1.0 - power2) + self.eps
        step = self.lr / (1.0 - power1)
        return parameter - step * (first / spread), first, second, power1, power2

"""Activations."""

import treadle.autograd as autograd
from treadle.autograd import Tensor

__all__ = ["relu"]


def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``, with gradient 0 at 0.

    >>> relu(Tensor([-1.0, 2.0])).numpy().tolist()
    [0.0, 2.0]
    """
    return autograd.relu(input)

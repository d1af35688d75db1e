"""Layers around which their input passes."""

from typing import Any

from treadle.autograd import Tensor
from treadle.nn.layers.sequential import Sequential
from treadle.nn.module import Module

__all__ = ["Residual"]


class Residual(Module):
    """``input + module(input)``; several modules are called in a row. He et al. 2016, "Deep residual learning".

    >>> import treadle.nn as nn
    >>> nn.Residual(nn.ReLU())(Tensor([-1.0, 2.0])).tolist()
    [-1.0, 4.0]
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        self.module = modules[0] if len(modules) == 1 else Sequential(*modules)

    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The sum; further arguments go to the module."""
        result: Tensor = input + self.module(input, *args, **kwargs)
        return result

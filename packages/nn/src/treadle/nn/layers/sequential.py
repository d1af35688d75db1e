"""Modules in a row."""

from collections.abc import Iterable
from typing import Any

from treadle.nn.layers.container import ListContainer
from treadle.nn.module import Module

__all__ = ["Sequential"]


class Sequential(ListContainer):
    """Calls modules one after the other, each with the result of the one before.

    The modules are given as arguments, or as one dict that names them.

    >>> import treadle.nn as nn
    >>> nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            self._items = {name: self._checked(module) for name, module in modules[0].items()}
        else:
            self._reset(modules)

    def forward(self, input: Any) -> Any:
        """The result of the last module; ``input`` itself where there are none."""
        for module in self._items.values():
            input = module(input)
        return input

    def __add__(self, other: Iterable[Module]) -> "Sequential":
        return Sequential(*self, *other)

"""The layer that does nothing."""

from typing import Any

from treadle.nn.module import Module

__all__ = ["Identity"]


class Identity(Module):
    """Returns its input; whatever arguments it is built with are ignored, so that it can stand in for any layer.

    >>> import treadle.nn as nn
    >>> nn.Identity(54, anything="goes")(3)
    3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """``input`` itself."""
        return input

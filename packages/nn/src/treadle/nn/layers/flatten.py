"""Dimensions joined into one, and cut again."""

from collections.abc import Sequence

from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from ``start_dim`` to ``end_dim`` (inclusive) into one; by default all but the first.

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> nn.Flatten()(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).shape
    (1, 4)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The reshaped ``input``."""
        return functional.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Cuts dimension ``dim`` into ``unflattened_size``, one of which may be -1.

    >>> import treadle.nn as nn
    >>> from treadle.autograd import Tensor
    >>> nn.Unflatten(1, (2, 2))(Tensor([[1.0, 2.0, 3.0, 4.0]])).shape
    (1, 2, 2)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """The reshaped ``input``."""
        return functional.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

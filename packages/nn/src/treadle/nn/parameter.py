"""The tensor that a module learns."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A leaf tensor that a :class:`~treadle.nn.Module` counts among its parameters.

    An NDArray (or a Tensor's) that is C-contiguous is held without a copy; optimizers write into it.

    >>> weight = Parameter([[1.0, 2.0]])
    >>> weight.requires_grad, weight.shape
    (True, (1, 2))
    """

    def __init__(self, data: Any, requires_grad: bool = True, *, dtype: Any = None, device: Any = None) -> None:
        if isinstance(data, Tensor):
            data = data.data
        array = nd.asarray(data, dtype=dtype, device=device)
        super().__init__(array if array.is_contiguous else array.copy(), requires_grad=requires_grad)

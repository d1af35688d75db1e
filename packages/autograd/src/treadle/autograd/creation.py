"""Tensors from data."""

from typing import Any

import treadle.ndarray as nd
from treadle.autograd._tensor import Tensor

__all__ = ["tensor"]


def tensor(
    data: Any,
    *,
    requires_grad: bool = False,
    dtype: Any = None,
    device: Any = None,
    name: str | None = None,
) -> Tensor:
    """A leaf with a copy of ``data``; :class:`Tensor` shares the memory where it can.

    >>> import treadle.autograd as ag
    >>> ag.tensor([1, 2], dtype="float32").shape
    (2,)
    """
    array = data.data if isinstance(data, Tensor) else data
    return Tensor(nd.asarray(array, dtype=dtype, device=device, copy=True), requires_grad=requires_grad, name=name)

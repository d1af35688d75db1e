"""All parameters as one vector, and back."""

from collections.abc import Iterable

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other; gradients flow back.

    >>> parameters_to_vector([Tensor([[1.0, 2.0]]), Tensor([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    flat = [autograd.reshape(each, (each.size,)) for each in parameters]
    if not flat:
        raise ValueError("parameters_to_vector got no parameters")
    return autograd.concat(flat, axis=0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the elements of ``vec`` into the parameters, in place. ShapeError, and no change, for another number.

    >>> weight = Tensor([[0.0, 0.0]])
    >>> vector_to_parameters(Tensor([1.0, 2.0]), [weight])
    >>> weight.tolist()
    [[1.0, 2.0]]
    """
    targets = list(parameters)
    size = sum(each.size for each in targets)
    if vec.shape != (size,):
        raise nd.ShapeError(f"vector_to_parameters: a vector of shape {vec.shape} for {size} elements")
    start = 0
    for each in targets:
        part = vec.data[start : start + each.size]
        each.data[...] = part.reshape(each.shape).astype(each.dtype, copy=False).to_device(each.device)
        start += each.size

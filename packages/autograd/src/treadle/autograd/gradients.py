"""Asking for gradients: into ``.grad`` of the leaves, or as values."""

from collections.abc import Iterable, Sequence
from typing import Any

from treadle.autograd._engine import differentiate
from treadle.autograd._tensor import Tensor
from treadle.autograd._tuples import TensorTuple
from treadle.autograd.errors import GradientError
from treadle.ndarray import DTypeError

__all__ = ["backward", "grad"]

Tensors = Tensor | Iterable[Tensor]
Gradients = Tensor | Sequence[Tensor | None] | None


def _tensors(given: Any, what: str) -> tuple[Tensor, ...]:
    tensors = tuple(given) if isinstance(given, Iterable) and not hasattr(given, "shape") else (given,)
    for each in tensors:
        if not isinstance(each, Tensor):
            raise DTypeError(f"{what} must be tensors, not {type(each).__name__}; wrap it with Tensor(...)")
    return tensors


def _gradients(given: Gradients, count: int, what: str) -> tuple[Tensor | None, ...]:
    gradients = (None,) * count if given is None else (given,) if isinstance(given, Tensor) else tuple(given)
    if len(gradients) != count:
        raise GradientError(f"{what}: {len(gradients)} gradients for {count} tensors")
    return gradients


def backward(
    tensors: Tensors,
    gradients: Gradients = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    accumulate: bool = True,
) -> None:
    """Add the gradients of the tensors, summed, to ``.grad`` of every leaf they depend on, in one run.

    ``gradients`` are those of the tensors themselves, ones by default. ``accumulate=False`` replaces what stands in
    ``.grad``. See :meth:`Tensor.backward`.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([1.0], requires_grad=True)
    >>> ag.backward([x * 2, x * 3])
    >>> x.grad.item()
    5.0
    """
    roots = _tensors(tensors, "backward: the tensors")
    seeds = _gradients(gradients, len(roots), "backward")
    differentiate(roots, seeds, None, retain_graph, create_graph, accumulate=accumulate)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    *,
    retain_graph: bool = False,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs, summed, with respect to the inputs, leaves or not; ``.grad`` stays as it is.

    Rules run only on paths to the inputs. ``grad_outputs`` are the gradients of the outputs, ones by default. With
    ``create_graph`` the results can be differentiated again.

    Raises GradientError for an input that the outputs do not depend on, unless ``allow_unused``, which gives None.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor(2.0, requires_grad=True)
    >>> (first,) = ag.grad(x**3, x, create_graph=True)
    >>> (second,) = ag.grad(first, x)
    >>> first.item(), second.item()
    (12.0, 12.0)
    """
    roots = _tensors(outputs, "grad: the outputs")
    targets = _tensors(inputs, "grad: the inputs")
    for index, target in enumerate(targets):
        if isinstance(target, TensorTuple):
            raise GradientError(f"grad: input {index} is all results of {target.op} together; name one of them")
        if not target.requires_grad:
            raise GradientError(f"grad: input {index} does not require grad")
    seeds = _gradients(grad_outputs, len(roots), "grad")
    found = differentiate(roots, seeds, targets, retain_graph, create_graph) or []
    for index, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise GradientError(
                f"grad: the outputs do not depend on input {index} (shape {targets[index].shape}); "
                "pass allow_unused=True to get None for it"
            )
    return tuple(found)

"""Parameters with a mask: some of their elements, or whole channels, are 0 and stay so.

The parameter is parametrized by a :class:`Mask`, so that ``parametrizations.<name>.original`` is what is learnt, and
``remove`` makes it a plain parameter again. Pruning again counts ``amount`` among what is left. Han et al. 2015,
"Learning both weights and connections for efficient neural networks".
"""

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.module import Module
from treadle.nn.utils.parametrize import is_parametrized, register_parametrization, remove_parametrizations

__all__ = [
    "L1Unstructured", "Mask", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class Mask(Module):
    """Puts 0 in place of a parameter's elements where a mask of 0 and 1, a buffer, is 0.

    >>> Mask(Tensor([1.0, 0.0]))(Tensor([3.0, 4.0])).tolist()
    [3.0, 0.0]
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """The parameter, with 0 where the mask is 0."""
        return autograd.where(self.mask != 0.0, x, 0.0)  # a product with 0 is NaN where x is not finite

    def right_inverse(self, x: Tensor) -> Tensor:
        """What is assigned is masked when it is read."""
        return x


class L1Unstructured:
    """The least magnitudes go first."""

    @staticmethod
    def order(scores: nd.NDArray) -> nd.NDArray:
        """The places of scores, those to go first in front."""
        return nd.argsort(nd.abs(scores))


class RandomUnstructured:
    """Whatever chance says goes first."""

    @staticmethod
    def order(scores: nd.NDArray) -> nd.NDArray:
        """The places of scores in a random order, from the default generator."""
        return nd.random.permutation(scores.size, device=scores.device)


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of least magnitude, or of least importance: a share of them, or a number if an int is given.

    >>> import treadle.nn as nn
    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data[...] = nd.asarray([[3.0, 1.0]])
    >>> l1_unstructured(layer, "weight", amount=0.5).weight.tolist()
    [[3.0, 0.0]]
    """
    global_unstructured([(module, name)], L1Unstructured, _scores_of(module, name, importance_scores), amount=amount)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random elements: a share of them, or a number if an int is given.

    >>> import treadle.nn as nn
    >>> (random_unstructured(nn.Linear(4, 4), "weight", amount=3).weight.data == 0.0).sum().item()
    3
    """
    global_unstructured([(module, name)], RandomUnstructured, amount=amount)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: int | float, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the channels along ``dim`` whose norm of order ``n`` is least.

    >>> import treadle.nn as nn
    >>> layer = nn.Linear(1, 2)
    >>> layer.weight.data[...] = nd.asarray([[3.0], [1.0]])
    >>> ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.tolist()
    [[3.0], [0.0]]
    """
    values = _checked_scores(module, name, importance_scores)
    rows = _rows(values, dim)
    return _without_channels(module, name, amount, dim, nd.linalg.vector_norm(rows, axis=1, ord=n), L1Unstructured)


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random channels along ``dim``.

    >>> import treadle.nn as nn
    >>> (random_structured(nn.Linear(2, 4), "weight", amount=0.5, dim=0).weight.data == 0.0).sum().item()
    4
    """
    rows = _rows(_values(module, name), dim)
    places = nd.zeros(len(rows), device=rows.device)
    return _without_channels(module, name, amount, dim, places, RandomUnstructured)


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    *,
    amount: float,
) -> None:
    """Prune elements of several parameters, given as (module, name), as if they were one.

    ``pruning_method`` is :class:`L1Unstructured`, :class:`RandomUnstructured`, or anything with such an ``order``.

    >>> import treadle.nn as nn
    >>> first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> first.weight.data[...], second.weight.data[...] = nd.asarray([[9.0, 8.0]]), nd.asarray([[1.0, 2.0]])
    >>> global_unstructured([(first, "weight"), (second, "weight")], L1Unstructured, amount=0.5)
    >>> first.weight.tolist(), second.weight.tolist()
    ([[9.0, 8.0]], [[0.0, 0.0]])
    """
    given = list(parameters)
    if not given:
        raise ValueError("global_unstructured: there are no parameters to prune")
    scores = [_checked_scores(*each, (importance_scores or {}).get(each)) for each in given]
    kept = [_kept(*each) for each in given]
    flat = nd.concat([nd.reshape(each, (-1,)) for each in scores])
    mask = _mask(pruning_method, flat, nd.concat([nd.reshape(each, (-1,)) for each in kept]), amount)
    start = 0
    for (module, name), each in zip(given, scores, strict=True):
        _apply(module, name, nd.reshape(mask[start : start + each.size], each.shape))
        start += each.size


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where ``mask``, of the parameter's shape, is 0.

    >>> import treadle.nn as nn
    >>> layer = custom_from_mask(nn.Linear(2, 1), "bias", Tensor([0.0]))
    >>> layer.bias.tolist()
    [0.0]
    """
    if not isinstance(mask, Tensor):
        raise nd.DTypeError(f"custom_from_mask: the mask is a {type(mask).__name__}; write Tensor(...)")
    if mask.shape != _values(module, name).shape:
        raise nd.ShapeError(f"custom_from_mask: mask {mask.shape} for {name!r} of {_values(module, name).shape}")
    return _apply(module, name, mask.data != 0)


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but have the mask.

    >>> import treadle.nn as nn
    >>> is_pruned(identity(nn.Linear(2, 1), "weight"))
    True
    """
    return _apply(module, name, nd.full_like(_values(module, name), True, dtype=nd.bool))


def remove(module: Module, name: str) -> Module:
    """Make the parameter a plain one again, with its zeros; ValueError where it is not pruned.

    >>> import treadle.nn as nn
    >>> layer = l1_unstructured(nn.Linear(2, 1), "weight", amount=1)
    >>> list(remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    if _present(module, name) is None:
        raise ValueError(f"{type(module).__name__} has no pruned {name!r} to remove the mask of")
    if len(vars(module)["parametrizations"][name]) > 1:
        raise ValueError(f"{name!r} is parametrized otherwise as well: parametrize.remove_parametrizations ends both")
    return remove_parametrizations(module, name)


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one in it, is pruned.

    >>> import treadle.nn as nn
    >>> is_pruned(nn.Linear(2, 1))
    False
    """
    return any(isinstance(each, Mask) for each in module.modules())


def _present(module: Module, name: str) -> Mask | None:
    if not is_parametrized(module, name):
        return None
    last = list(vars(module)["parametrizations"][name])[-1]
    return last if isinstance(last, Mask) else None


def _values(module: Module, name: str) -> nd.NDArray:
    value = getattr(module, name, None)
    if not isinstance(value, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r} to prune")
    return value.detach().data


def _kept(module: Module, name: str) -> nd.NDArray:
    present = _present(module, name)
    values = _values(module, name)
    return nd.full_like(values, True, dtype=nd.bool) if present is None else present.mask.data != 0


def _scores_of(module: Module, name: str, scores: Tensor | None) -> dict[tuple[Module, str], Tensor]:
    return {} if scores is None else {(module, name): scores}


def _checked_scores(module: Module, name: str, scores: Tensor | None) -> nd.NDArray:
    values = _values(module, name)
    if scores is not None and scores.shape != values.shape:
        raise nd.ShapeError(f"prune: importance_scores {scores.shape} for {name!r} of {values.shape}")
    return values if scores is None else scores.data


def _rows(values: nd.NDArray, dim: int) -> nd.NDArray:
    """A row for each channel."""
    return nd.reshape(nd.moveaxis(values, dim, 0), (values.shape[dim], -1))


def _without_channels(module: Module, name: str, amount: float, dim: int, scores: nd.NDArray, method: Any) -> Module:
    kept = _kept(module, name)
    mask = _mask(method, scores, nd.any(_rows(kept, dim), axis=1), amount)
    shape = [1] * kept.ndim
    shape[dim] = mask.size
    return _apply(module, name, nd.broadcast_to(nd.reshape(mask, tuple(shape)), kept.shape))


def _mask(method: Any, scores: nd.NDArray, kept: nd.NDArray, amount: float) -> nd.NDArray:
    """False where the first of what is left go."""
    places = nd.nonzero(kept)[0]
    number = -1
    if isinstance(amount, Integral) and not isinstance(amount, bool):
        number = int(amount)
    elif isinstance(amount, Real) and not isinstance(amount, bool) and 0.0 <= amount <= 1.0:
        number = round(amount * places.size)
    if not 0 <= number <= places.size:
        raise ValueError(f"prune: amount must be a share from 0.0 to 1.0 or up to {places.size} places, not {amount!r}")
    mask = kept.copy()
    mask[places[method.order(scores[places])[:number]]] = False
    return mask


def _apply(module: Module, name: str, kept: nd.NDArray) -> Module:
    present = _present(module, name)
    if present is not None:
        present.mask.data[...] = present.mask.data * kept.astype(present.mask.dtype)
        return module
    return register_parametrization(module, name, Mask(Tensor(kept.astype(_values(module, name).dtype))))
